/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole of libeddy-onednn.so, which alone is linked with oneDNN and OpenMP:
 * they take three milliseconds to load, and bring OpenCL's loader and the C++
 * runtime with them.
 */
#include "ops/linalg/onednn_provider.h"

#include "eddy/version.h"

#include <dnnl.h>

/* OpenMP's own header is not where every compiler finds it. */
int omp_get_max_threads(void);
void omp_set_num_threads(int n);

static bool multiply(const eddy__onednn_terms *t)
{
    return dnnl_sgemm(t->transpose_a, t->transpose_b, t->m, t->n, t->k, 1, t->a,
                      t->row_a, t->b, t->row_b, t->adds ? 1.0F : 0.0F, t->out,
                      t->row_out) == dnnl_success;
}

#define TEXT_OF(number) #number
#define JOIN(major, minor, patch)                                              \
    TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

EDDY_API const eddy__onednn_provider eddy_onednn_provider = {
    .version = EDDY_VERSION_STRING,
    .name = "oneDNN " JOIN(DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR,
                           DNNL_VERSION_PATCH),
    .multiply = multiply,
    .get_threads = omp_get_max_threads,
    .set_threads = omp_set_num_threads,
};
