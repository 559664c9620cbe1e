/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what can be written: the rules of all families. */
#include "interop/onnx/write/writer.h"

#include <string.h>

extern const eddy__onnx_rule eddy__onnx_write_arrays[];
extern const eddy__onnx_rule eddy__onnx_write_elementwise[];
extern const eddy__onnx_rule eddy__onnx_write_products[];
extern const eddy__onnx_rule eddy__onnx_write_scatters[];
extern const eddy__onnx_rule eddy__onnx_write_shaping[];

static const eddy__onnx_rule *const families[] = {
    eddy__onnx_write_arrays,   eddy__onnx_write_elementwise,
    eddy__onnx_write_products, eddy__onnx_write_scatters,
    eddy__onnx_write_shaping,
};

#define N_FAMILIES (sizeof families / sizeof families[0])

const eddy__onnx_rule *eddy__onnx_rule_of(const char *op)
{
    for (size_t f = 0; f < N_FAMILIES; f++)
        for (const eddy__onnx_rule *rule = families[f]; rule->op; rule++)
            if (strcmp(rule->op, op) == 0)
                return rule;
    return NULL;
}
