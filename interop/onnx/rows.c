/* SPDX-License-Identifier: Apache-2.0 */
/* The table of operators: the rows of all families. */
#include "interop/onnx/op.h"

#include <string.h>

#define X(family) extern const eddy__onnx_row eddy__onnx_##family[];
#include "interop/onnx/ops/families.def"
#undef X

static const eddy__onnx_row *const families[] = {
#define X(family) eddy__onnx_##family,
#include "interop/onnx/ops/families.def"
#undef X
};

#define N_FAMILIES (sizeof families / sizeof families[0])

const eddy__onnx_row *eddy__onnx_row_at(size_t i)
{
    for (size_t f = 0; f < N_FAMILIES; f++)
        for (const eddy__onnx_row *row = families[f]; row->name; row++)
            if (i-- == 0)
                return row;
    return NULL;
}

/* "Add" is of ONNX's own domain, "com.microsoft.Gelu" of another. */
static bool is_named(const eddy__onnx_row *row, const char *domain,
                     const char *op_type)
{
    const size_t n = strlen(domain);

    if (n == 0)
        return strcmp(row->name, op_type) == 0;
    return strncmp(row->name, domain, n) == 0 && row->name[n] == '.' &&
           strcmp(row->name + n + 1, op_type) == 0;
}

const eddy__onnx_row *eddy__onnx_find(const char *domain, const char *op_type,
                                      int64_t opset)
{
    if (strcmp(domain, "ai.onnx") == 0)
        domain = "";
    for (size_t f = 0; f < N_FAMILIES; f++)
        for (const eddy__onnx_row *row = families[f]; row->name; row++)
            if (opset >= row->first && opset <= row->last &&
                is_named(row, domain, op_type))
                return row;
    return NULL;
}
