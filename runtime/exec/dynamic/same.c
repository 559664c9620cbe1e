/* SPDX-License-Identifier: Apache-2.0 */
/* Compares two values bit for bit, texts by their bytes. */
#include "runtime/exec/dynamic/same.h"

#include "core/value/dtype.h"
#include "core/value/shape.h"

#include <string.h>

static bool same_texts(const eddy_tensor *a, const eddy_tensor *b)
{
    for (int64_t i = 0; i < a->count; i++) {
        const eddy_string x = eddy_tensor_string(a, i);
        const eddy_string y = eddy_tensor_string(b, i);

        if (x.length != y.length ||
            (x.length > 0 && memcmp(x.data, y.data, x.length) != 0))
            return false;
    }
    return true;
}

static bool same_tensors(const eddy_tensor *a, const eddy_tensor *b)
{
    if (a == b)
        return true;
    if (!eddy__shape_equal(&a->shape, &b->shape))
        return false;
    if (a->dtype == EDDY_STRING)
        return same_texts(a, b);
    return a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0;
}

bool eddy__value_same(const eddy__value *a, const eddy__value *b)
{
    if (a->dtype != b->dtype)
        return false;
    if (a->kind == EDDY__SCALAR && b->kind == EDDY__SCALAR)
        return memcmp(&a->as, &b->as, eddy_dtype_size((eddy_dtype)a->dtype)) ==
               0;
    if (eddy__value_is_tensor(a) && eddy__value_is_tensor(b))
        return same_tensors(a->as.tensor, b->as.tensor);
    return a->kind > EDDY__SCALAR && b->kind > EDDY__SCALAR &&
           a->as.refs == b->as.refs;
}
