/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that a kernel needs while it runs. */
#ifndef EDDY_OPS_SCRATCH_H
#define EDDY_OPS_SCRATCH_H

#include "core/base/status.h"
#include "core/kernel.h"
#include "core/value/tensor.h"

#include <inttypes.h>

/*
 * `n` >= 0 elements of a numeric dtype, uninitialised, in `*out_scratch`, which
 * eddy__scratch_free takes back.
 */
static inline eddy_status eddy__scratch(eddy_kernel *k, eddy_dtype dtype,
                                        int64_t n, eddy_tensor **out_scratch)
{
    const eddy_shape shape = eddy__shape_vector(n);

    *out_scratch =
        eddy__tensor_create(k->heap, k->account, k->allocator, dtype, &shape);
    if (*out_scratch)
        return EDDY_OK;
    (void)eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                      "no memory for %" PRId64 " elements of %s to work with",
                      n, eddy_dtype_name(dtype));
    return EDDY_RESOURCE_EXHAUSTED;
}

/* Accepts NULL. */
static inline void eddy__scratch_free(eddy_kernel *k, eddy_tensor *scratch)
{
    if (scratch)
        eddy__tensor_recycle(k->heap, scratch);
}

#endif
