/* SPDX-License-Identifier: Apache-2.0 */
/* The loops that put elements together two by two, by operation and dtype. */
#include "ops/math/combine.h"

#include "ops/math/elements.h"

/* NOLINTBEGIN(readability-function-size): the strips of a loop nest in it. */

/* Dividing the least integer by -1 would trap. */
#define QUOTIENT(type) (y == -1 ? (type)(0 - ux) : x / y)

#define LOOP(D, name, e)                                                       \
    EDDY__BINARY_ELEMENT(name, D, D, EDDY__NO_LOCALS, e)                       \
    EDDY__BINARY_LOOP(, loop, name, D, D)
#define INTEGER_LOOP(D, name, e)                                               \
    EDDY__BINARY_ELEMENT(name, D, D, EDDY__WRAPPED_XY, e)                      \
    EDDY__BINARY_LOOP(, loop, name, D, D)
#define WIDE_LOOP(D, name, e)                                                  \
    LOOP(D, name, e)                                                           \
    EDDY__BINARY_LOOP(EDDY__WIDE, wide, name, D, D)

#define EACH_INTEGER(X, ...)                                                   \
    EDDY__EACH_SIGNED(X, __VA_ARGS__) EDDY__EACH_UNSIGNED(X, __VA_ARGS__)

EDDY__EACH_FLOAT(WIDE_LOOP, Add, x + y)
EDDY__EACH_FLOAT(WIDE_LOOP, Sub, x - y)
EDDY__EACH_FLOAT(LOOP, Mul, (x * y))
EDDY__EACH_FLOAT(LOOP, Div, x / y)
EDDY__EACH_FLOAT(LOOP, Min, y < x ? y : x)
EDDY__EACH_FLOAT(LOOP, Max, x < y ? y : x)
EACH_INTEGER(INTEGER_LOOP, Add, ux + uy)
EACH_INTEGER(INTEGER_LOOP, Sub, ux - uy)
EACH_INTEGER(INTEGER_LOOP, Mul, (ux * uy))
INTEGER_LOOP(I8, Div, QUOTIENT(int32_t))
INTEGER_LOOP(I16, Div, QUOTIENT(int32_t))
INTEGER_LOOP(I32, Div, QUOTIENT(int32_t))
INTEGER_LOOP(I64, Div, QUOTIENT(int64_t))
EDDY__EACH_UNSIGNED(LOOP, Div, x / y)
EACH_INTEGER(LOOP, Min, y < x ? y : x)
EACH_INTEGER(LOOP, Max, x < y ? y : x)
LOOP(B, Add, x | y)
EDDY__EACH_COMPLEX(LOOP, Add, x + y)
EDDY__EACH_COMPLEX(LOOP, Sub, x - y)
EDDY__EACH_COMPLEX(LOOP, Mul, eddy__complex_mul(x, y))
EDDY__EACH_COMPLEX(LOOP, Div, eddy__complex_div(x, y))

/* NOLINTEND(readability-function-size) */

/* ---- which of them ---- */

#define ENTRY(D, name) [EDDY__DTYPE_##D] = loop_##name##_##D,
#define WIDE_ENTRY(D, name) [EDDY__DTYPE_##D] = wide_##name##_##D,
#define REALS(name)                                                            \
    EDDY__EACH_FLOAT(ENTRY, name)                                              \
    EACH_INTEGER(ENTRY, name)
#define NUMBERS(name) REALS(name) EDDY__EACH_COMPLEX(ENTRY, name)

eddy__binary_loop eddy__combiner_of(eddy__combination what, eddy_dtype dtype)
{
    static const eddy__binary_loop loops[EDDY__COMBINATIONS][EDDY_DTYPE_COUNT] =
        {
            [EDDY__COMBINE_ADD] = {NUMBERS(Add) ENTRY(B, Add)},
            [EDDY__COMBINE_SUB] = {NUMBERS(Sub)},
            [EDDY__COMBINE_MUL] = {NUMBERS(Mul)},
            [EDDY__COMBINE_DIV] = {NUMBERS(Div)},
            [EDDY__COMBINE_MIN] = {REALS(Min)},
            [EDDY__COMBINE_MAX] = {REALS(Max)},
        };
    static const eddy__binary_loop wide[2][EDDY_DTYPE_COUNT] = {
        [EDDY__COMBINE_ADD] = {EDDY__EACH_FLOAT(WIDE_ENTRY, Add)},
        [EDDY__COMBINE_SUB] = {EDDY__EACH_FLOAT(WIDE_ENTRY, Sub)},
    };

    if (what >= EDDY__COMBINATIONS)
        return NULL;
    if (what <= EDDY__COMBINE_SUB && wide[what][dtype] && EDDY__HAS_WIDE())
        return wide[what][dtype];
    return loops[what][dtype];
}

bool eddy__combine_has_zero(eddy_dtype dtype, const void *elements, int64_t n)
{
    const eddy_view view = {.dtype = dtype, .count = n, .data = elements};

    for (int64_t i = 0; i < n; i++)
        if (eddy__index_at(&view, i) == 0)
            return true;
    return false;
}
