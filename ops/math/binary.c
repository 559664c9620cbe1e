/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/array/broadcast.h"
#include "ops/math/binary_rows.h"
#include "ops/math/elements.h"
#include "ops/math/strip.h"
#include "ops/math/transcendental.h"
#include "ops/misc/scratch.h"
#include "ops/ops.h"
#include "ops/template.h"

#include <inttypes.h>
#include <string.h>
#include <tgmath.h>

#define EXACT EDDY_OP_NOT_DIFFERENTIABLE

static eddy_status fail_division(eddy_kernel *k, int64_t i)
{
    return eddy__kfail(
        k, EDDY_INVALID_ARGUMENT, EDDY_E_DIVISION_BY_ZERO,
        "integer division by zero: element %" PRId64 " of the divisor is 0", i);
}

static eddy_status fail_power(eddy_kernel *k, int64_t i)
{
    return eddy__kfail(
        k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
        "an integer to a negative integer power: element %" PRId64
        " of the exponent is below 0",
        i);
}

/* ---- powers ---- */

#define SMALL_POWER(x, y, other)                                               \
    ((y) == 2 ? (x) * (x) : (y) == 3 ? (x) * (x) * (x) : (other))

/* The elements of all rows to the power of 2 or 3. */
#define SMALL_POWERS(D, name, r, exponent)                                     \
    for (int64_t row_ = 0; row_ < (r)->n_rows; row_++) {                       \
        const eddy__stored_##D *in_ =                                          \
            (const eddy__stored_##D *)(r)->a + row_ * (r)->stride_a;           \
        eddy__stored_##D *out_ = (eddy__stored_##D *)(r)->out + row_ * (r)->n; \
                                                                               \
        EDDY__FOR_EACH(                                                        \
            i, (r)->n,                                                         \
            out_[i] = element_##name##_##D(eddy__load_##D(in_[i]), exponent)); \
    }

enum { POWER_BLOCK = 256 };

/*
 * The loop of the op by rows in which one side is a single element: it stands
 * in a block side by side, or GCC asks once what it is, in front of the loop,
 * and makes no vectors of what is left.
 */
#define SPREAD_LOOP(target, loop, D, name)                                     \
    target static void spread_##loop##_##D(const eddy__rows *r, int64_t row)   \
    {                                                                          \
        const eddy__stored_##D *a_ =                                           \
            (const eddy__stored_##D *)r->a + row * r->stride_a;                \
        const eddy__stored_##D *b_ =                                           \
            (const eddy__stored_##D *)r->b + row * r->stride_b;                \
        eddy__stored_##D *out_ = (eddy__stored_##D *)r->out + row * r->n;      \
        eddy__stored_##D same[POWER_BLOCK];                                    \
        eddy__rows part = {.step_a = 1, .step_b = 1, .n_rows = 1};             \
                                                                               \
        for (int64_t i = 0; i < POWER_BLOCK && i < r->n; i++)                  \
            same[i] = r->step_a ? b_[0] : a_[0];                               \
        for (int64_t i = 0; i < r->n; i += part.n) {                           \
            part.n = r->n - i < POWER_BLOCK ? r->n - i : POWER_BLOCK;          \
            part.a = r->step_a ? a_ + i : same;                                \
            part.b = r->step_a ? same : b_ + i;                                \
            part.out = out_ + i;                                               \
            loop##_##name##_##D(&part);                                        \
        }                                                                      \
    }

/* The loop of the op, and how its rows are done one by one. */
#define SHORT_ROWS(loop, D, name, r)                                           \
    if ((r)->step_a && (r)->step_b)                                            \
        loop##_##name##_##D(r);                                                \
    else                                                                       \
        for (int64_t row = 0; row < (r)->n_rows; row++)                        \
            spread_##loop##_##D(r, row);
#define LONG_ROWS(loop, D, name, r) loop_##name##_##D(r);

/* The op by `ROWS`, but for one exponent for all that is 2 or 3. */
#define POWER_LOOP(target, loop, ROWS, D, name)                                \
    target static void loop##_powers_##D(const eddy__rows *r)                  \
    {                                                                          \
        const eddy__computed_##D y =                                           \
            eddy__load_##D(*(const eddy__stored_##D *)r->b);                   \
        const bool is_one = r->step_a && !r->step_b && !r->stride_b;           \
                                                                               \
        if (is_one && y == 2)                                                  \
            SMALL_POWERS(D, name, r, 2)                                        \
        else if (is_one && y == 3)                                             \
            SMALL_POWERS(D, name, r, 3)                                        \
        else                                                                   \
            ROWS(loop, D, name, r)                                             \
    }

#define POWER_FORMS(name, D)                                                   \
    .loop = loop_powers_##D, .wide = wide_powers_##D,                          \
    .widest = EDDY__IF_WIDEST_##D(widest_powers_##D, NULL)
#define POWER_RUN(D, name)                                                     \
    EDDY__BINARY_RUN(name, D, D, POWER_FORMS, EDDY__NONE_BAD, NULL, NULL)

/* The element is inline wherever it is used, or no loop is vector code. */
#define POWER_ELEMENT(D, name, e)                                              \
    __attribute__((always_inline)) EDDY__PAIR_SHORT(D, name, x, y, e)

/* As EDDY__BINARY_SHORT. */
#define SHORT_LOOP(target, loop, D, name)                                      \
    SPREAD_LOOP(target, loop, D, name)                                         \
    POWER_LOOP(target, loop, SHORT_ROWS, D, name)
#define POWER_SHORT(D, name, e)                                                \
    POWER_ELEMENT(D, name, e)                                                  \
    SHORT_LOOP(, loop, D, name)                                                \
    SHORT_LOOP(EDDY__WIDE, wide, D, name)                                      \
    EDDY__IF_WIDEST_##D(SHORT_LOOP(EDDY__WIDEST, widest, D, name), )           \
        POWER_RUN(D, name)

/* ---- kernels ---- */

#define BINARY(name, types, kernels, flags, doc) kernels
#define ALIAS(name, of, types, flags, doc)
#define FLOAT_KERNEL(D, name, e)                                               \
    EDDY__BINARY_WIDE(D, name, D, EDDY__NO_LOCALS, e)
#define FLOATS(name, e) EDDY__EACH_FLOAT(FLOAT_KERNEL, name, e)
#define CALLS_KERNEL(D, name, e)                                               \
    EDDY__BINARY_KERNEL(D, name, D, EDDY__NO_LOCALS, e)
#define CALLS(name, e) EDDY__EACH_FLOAT(CALLS_KERNEL, name, e)
#define CALLS_WIDER(name, e)                                                   \
    CALLS_KERNEL(F32, name, e) CALLS_KERNEL(F64, name, e)
#define APPLY_ONE EDDY__APPLY_ONE
#define APPLY_TWO EDDY__APPLY_TWO
#define MATHS(name, e, function, apply, first, second, after)                  \
    EDDY__BINARY_SHORT(F16, name, e)                                           \
    EDDY__BINARY_SHORT(BF16, name, e)                                          \
    EDDY__BINARY_SHORT(F32, name, e)                                           \
    EDDY__BINARY_VIA(F64, name, function, apply, first, second, after)
#define POWERS(name, e, after)                                                 \
    POWER_SHORT(F16, name, e)                                                  \
    POWER_SHORT(BF16, name, e)                                                 \
    POWER_SHORT(F32, name, e)                                                  \
    EDDY__PAIR_VIA(F64, name, x, y, pow, APPLY_TWO, x, y, after)               \
    POWER_LOOP(, loop, LONG_ROWS, F64, name)                                   \
    POWER_LOOP(EDDY__WIDE, wide, LONG_ROWS, F64, name)                         \
    POWER_LOOP(EDDY__WIDEST, widest, LONG_ROWS, F64, name)                     \
    POWER_RUN(F64, name)
#define SIGNED(name, e)                                                        \
    EDDY__BINARY_KERNEL(I8, name, I8, EDDY__WRAPPED_XY, e)                     \
    EDDY__BINARY_KERNEL(I16, name, I16, EDDY__WRAPPED_XY, e)                   \
    EDDY__BINARY_WIDE(I32, name, I32, EDDY__WRAPPED_XY, e)                     \
    EDDY__BINARY_WIDE(I64, name, I64, EDDY__WRAPPED_XY, e)
#define UNSIGNED(name, e)                                                      \
    EDDY__BINARY_KERNEL(U8, name, U8, EDDY__WRAPPED_XY, e)                     \
    EDDY__BINARY_KERNEL(U16, name, U16, EDDY__WRAPPED_XY, e)                   \
    EDDY__BINARY_KERNEL(U32, name, U32, EDDY__WRAPPED_XY, e)                   \
    EDDY__BINARY_KERNEL(U64, name, U64, EDDY__WRAPPED_XY, e)
#define COMPLEX_KERNEL(D, name, e)                                             \
    EDDY__BINARY_KERNEL(D, name, D, EDDY__NO_LOCALS, e)
#define COMPLEX(name, e) EDDY__EACH_COMPLEX(COMPLEX_KERNEL, name, e)
#define CHECKED(D, name, BAD, fail, e)                                         \
    EDDY__BINARY_CHECKED(D, name, D, CHECKED_LOCALS, BAD, fail, e)
#define DIVIDED(name, e)                                                       \
    EDDY__EACH_SIGNED(CHECKED, name, EDDY__IS_ZERO, fail_division, e)
#define DIVIDED_UNSIGNED(name, e)                                              \
    EDDY__EACH_UNSIGNED(CHECKED, name, EDDY__IS_ZERO, fail_division, e)
#define RAISED(name, e)                                                        \
    EDDY__EACH_SIGNED(CHECKED, name, IS_NEGATIVE, fail_power, e)
#include "ops/math/binary.def"
#undef BINARY
#undef FLOATS
#undef CALLS
#undef CALLS_WIDER
#undef MATHS
#undef POWERS
#undef SIGNED
#undef UNSIGNED
#undef COMPLEX
#undef DIVIDED
#undef DIVIDED_UNSIGNED
#undef RAISED

/* ---- the kernels of each op by dtype ---- */

#define ENTRY EDDY__KERNEL_ENTRY
#define ENTRIES(name, ...)                                                     \
    static const eddy_kernel_fn kernels_##name[EDDY_DTYPE_COUNT] = {           \
        __VA_ARGS__};                                                          \
    EDDY__CHOOSER(name)
#define BINARY(name, types, kernels, flags, doc) ENTRIES(name, kernels)
#define FLOATS(name, e) EDDY__EACH_FLOAT(ENTRY, name)
#define CALLS FLOATS
#define CALLS_WIDER(name, e) ENTRY(F32, name) ENTRY(F64, name)
#define MATHS(name, e, function, apply, first, second, after) FLOATS(name, e)
#define POWERS(name, e, after) FLOATS(name, )
#define SIGNED(name, e) EDDY__EACH_SIGNED(ENTRY, name)
#define UNSIGNED(name, e) EDDY__EACH_UNSIGNED(ENTRY, name)
#define COMPLEX(name, e) EDDY__EACH_COMPLEX(ENTRY, name)
#define DIVIDED(name, e) EDDY__EACH_SIGNED(ENTRY, name)
#define DIVIDED_UNSIGNED(name, e) EDDY__EACH_UNSIGNED(ENTRY, name)
#define RAISED(name, e) EDDY__EACH_SIGNED(ENTRY, name)
#include "ops/math/binary.def"
#undef BINARY
#undef ALIAS

/* ---- the loops of each op by dtype, for chains ---- */

#undef ENTRY
#define ENTRY EDDY__LOOPS_ENTRY
#define BINARY(name, types, kernels, flags, doc)                               \
    static const eddy__binary *const loops_##name[EDDY_DTYPE_COUNT] = {kernels};
#define ALIAS(name, of, types, flags, doc)
#include "ops/math/binary.def"
#undef BINARY
#undef ALIAS

/* Add has a kernel of its own for strings alone. */
#define loops_Add loops_AddV2

static const eddy__strip_row strips[] = {
#define BINARY(name, types, kernels, flags, doc) {#name, NULL, loops_##name},
#define ALIAS(name, of, types, flags, doc) {#name, NULL, loops_##of},
#include "ops/math/binary.def"
#undef BINARY
#undef ALIAS
};

const eddy__strip_table eddy__binary_strips = {
    .rows = strips,
    .n = sizeof strips / sizeof strips[0],
};

/* ---- strings: Add joins them ---- */

/* Makes output element `i` of two inputs, through `scratch`. */
static bool join(eddy_tensor *out, int64_t i, const eddy__string *a,
                 const eddy__string *b, char *scratch)
{
    if (a->length > 0)
        memcpy(scratch, a->data, a->length);
    if (b->length > 0)
        memcpy(scratch + a->length, b->data, b->length);
    return eddy__tensor_set_string(out, i, scratch, a->length + b->length);
}

static size_t longest(const eddy__string *strings, int64_t n)
{
    size_t length = 0;

    for (int64_t i = 0; i < n; i++)
        if (strings[i].length > length)
            length = strings[i].length;
    return length;
}

static eddy_status join_all(eddy_kernel *k, const eddy_shape *shape,
                            char *scratch)
{
    const eddy_shape *const inputs[] = {eddy__in_shape(k, 0),
                                        eddy__in_shape(k, 1)};
    const eddy__string *a = (const void *)eddy__in_elements(k, 0);
    const eddy__string *b = (const void *)eddy__in_elements(k, 1);
    eddy__broadcast walk;
    void *unused;
    int64_t i = 0;

    EDDY_TRY(eddy__output(k, 0, EDDY_STRING, shape, &unused));
    if (eddy__out(k, 0)->as.tensor->count == 0)
        return EDDY_OK;
    eddy__broadcast_init(&walk, shape, inputs, 2);
    do {
        if (!join(eddy__out(k, 0)->as.tensor, i++, &a[walk.offsets[0]],
                  &b[walk.offsets[1]], scratch))
            return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                               "no memory for a string");
    } while (eddy__broadcast_next(&walk, 0));
    return EDDY_OK;
}

static eddy_status run_Add_strings(eddy_kernel *k)
{
    const eddy__string *a = (const void *)eddy__in_elements(k, 0);
    const eddy__string *b = (const void *)eddy__in_elements(k, 1);
    eddy_tensor *scratch = NULL;
    eddy_shape shape;
    eddy_status status;

    if (!eddy__shape_broadcast(eddy__in_shape(k, 0), eddy__in_shape(k, 1),
                               &shape))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "shapes %s and %s do not broadcast",
                           eddy__shape_print(eddy__in_shape(k, 0)).text,
                           eddy__shape_print(eddy__in_shape(k, 1)).text);
    EDDY_TRY(eddy__scratch(k, EDDY_UINT8,
                           (int64_t)(longest(a, eddy__in_count(k, 0)) +
                                     longest(b, eddy__in_count(k, 1)) + 1),
                           &scratch));
    status = join_all(k, &shape, scratch->data);
    eddy__scratch_free(k, scratch);
    return status;
}

static eddy_status prepare_Add(eddy_infer *infer)
{
    if (eddy_infer_input_dtype(infer, 0) != EDDY_STRING)
        return prepare_AddV2(infer);
    eddy_infer_set_kernel(infer, run_Add_strings);
    return EDDY_OK;
}

/* ---- definitions ---- */

#define FLOAT "T: float"
#define WIDER_FLOAT "T: {float32, float64} = float32"
#define REAL "T: real"
#define NUMBER "T: number"
#define INTEGER "T: integer"
#define FLOAT_COMPLEX "T: {float, complex}"
#define MODULO "T: {float, int32, int64}"
#define SIGNED_NUMBER "T: {float, int8, int16, int32, int64, complex}"
#define ADDABLE "T: {float, int8, int16, int32, int64, uint8, complex, string}"

/* The inputs and the outputs of an op, if they are not x, y and z. */
#define NAMES_Atan2 , "y: T, x: T", "z: T"
#define NAMES_NextAfter , "x1: T, x2: T", "output: T"
#define INPUTS(name) EDDY__SECOND_OF(NAMES_##name, "x: T, y: T", )
#define OUTPUTS(name) EDDY__THIRD_OF(NAMES_##name, , "z: T", )

static const eddy_op_spec specs[] = {
#define BINARY(name, types, kernels, more, text)                               \
    EDDY__OP_ROW(#name, .inputs = INPUTS(name), .outputs = OUTPUTS(name),      \
                 .attrs = types, .infer = eddy__infer_broadcast,               \
                 .prepare = prepare_##name, .flags = more, .doc = text),
#define ALIAS(name, of, types, more, text)                                     \
    EDDY__OP_ROW(#name, .inputs = "x: T, y: T", .outputs = "z: T",             \
                 .attrs = types, .infer = eddy__infer_broadcast,               \
                 .prepare = prepare_##of, .flags = more, .doc = text),
#include "ops/math/binary.def"
};

const eddy__op_table eddy__binary_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};
