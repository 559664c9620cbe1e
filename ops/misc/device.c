/* SPDX-License-Identifier: Apache-2.0 */
/* DeviceIndex: which of some devices the node is on, which is always a CPU. */
#include "core/graph/infer.h"
#include "core/kernel.h"
#include "ops/ops.h"

#include <string.h>

static eddy_status prepare_index(eddy_infer *infer)
{
    int32_t *index = eddy_infer_state(infer, sizeof *index);
    eddy_attr names;

    if (!index)
        return eddy_infer_fail(infer, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                               "no memory for the node's attributes");
    if (!eddy_infer_attr(infer, "device_names", &names))
        return EDDY_OK;
    while ((size_t)*index < names.n &&
           (names.as.strings[*index].length != 3 ||
            memcmp(names.as.strings[*index].data, "CPU", 3) != 0))
        ++*index;
    return EDDY_OK;
}

static eddy_status run_index(eddy_kernel *k)
{
    const int32_t *index = eddy__state(k);

    eddy__out_scalar(eddy__out(k, 0), EDDY_INT32, (uint32_t)*index);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "DeviceIndex", .outputs = "index: int32",
        .attrs = "device_names: list(string)", .infer = eddy__infer_scalar,
        .kernel = run_index, .prepare = prepare_index,
        .flags = EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE,
        .doc =
            "Where among the names 'CPU' is; how many there are if it is not."),
};

const eddy__op_table eddy__device_ops = {specs, NULL,
                                         sizeof specs / sizeof *specs};
