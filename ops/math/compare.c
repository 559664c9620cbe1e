/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/status.h"
#include "ops/math/elements.h"
#include "ops/math/elementwise.h"
#include "ops/math/strip.h"
#include "ops/ops.h"

#include <string.h>

/* ---- kernels ---- */

#define NARROW(D, name, e) EDDY__BINARY_KERNEL(D, name, B, EDDY__NO_LOCALS, e)
#define WIDE(D, name, e) EDDY__BINARY_WIDE(D, name, B, EDDY__NO_LOCALS, e)
#define COMPARE(name, e)                                                       \
    WIDE(F16, name, e)                                                         \
    WIDE(BF16, name, e)                                                        \
    WIDE(F32, name, e)                                                         \
    WIDE(F64, name, e)                                                         \
    NARROW(I8, name, e)                                                        \
    NARROW(I16, name, e)                                                       \
    WIDE(I32, name, e)                                                         \
    WIDE(I64, name, e)                                                         \
    EDDY__EACH_UNSIGNED(NARROW, name, e)
#define EQUAL(name, e, answer)                                                 \
    COMPARE(name, e)                                                           \
    NARROW(B, name, e)                                                         \
    EDDY__EACH_COMPLEX(NARROW, name, e)
#define LOGICAL(name, e) NARROW(B, name, e)
#include "ops/math/compare.def"
#undef COMPARE
#undef EQUAL
#undef LOGICAL

/* ---- strings ---- */

static bool strings_equal(const eddy__string *x, const eddy__string *y)
{
    return x->length == y->length &&
           (x->length == 0 || memcmp(x->data, y->data, x->length) == 0);
}

static void compare_strings(const eddy__rows *r, bool answer)
{
    uint8_t *out = r->out;
    const eddy__string *a = r->a, *b = r->b;

    for (int64_t row = 0; row < r->n_rows; row++) {
        for (int64_t i = 0; i < r->n; i++)
            out[i] =
                strings_equal(&a[i * r->step_a], &b[i * r->step_b]) == answer;
        out += r->n;
        a += r->stride_a;
        b += r->stride_b;
    }
}

static void loop_Equal_strings(const eddy__rows *r)
{
    compare_strings(r, true);
}

static void loop_NotEqual_strings(const eddy__rows *r)
{
    compare_strings(r, false);
}

#define STRINGS(name)                                                          \
    static eddy_status run_##name##_strings(eddy_kernel *k)                    \
    {                                                                          \
        static const eddy__binary binary = {                                   \
            .loop = loop_##name##_strings,                                     \
            .out = EDDY_BOOL,                                                  \
            .in_size = sizeof(eddy__string),                                   \
        };                                                                     \
                                                                               \
        return eddy__binary_run(k, &binary);                                   \
    }

STRINGS(Equal)
STRINGS(NotEqual)

/* ---- shapes that do not broadcast ---- */

static eddy_status infer_equal(eddy_infer *infer)
{
    eddy_shape shape;

    if (eddy__infer_bool(infer, "incompatible_shape_error"))
        return eddy__infer_broadcast(infer);
    if (!eddy__shape_broadcast(eddy_infer_input(infer, 0),
                               eddy_infer_input(infer, 1), &shape))
        shape = eddy__shape_scalar();
    else if (!eddy__shape_is_known(eddy_infer_input(infer, 0)) ||
             !eddy__shape_is_known(eddy_infer_input(infer, 1)))
        shape = eddy__shape_unknown();
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

/* Leaves the state that eddy__binary_run looks for. */
static eddy_status prepare_answer(eddy_infer *infer, uint8_t answer)
{
    uint8_t *state;

    if (eddy__infer_bool(infer, "incompatible_shape_error"))
        return EDDY_OK;
    state = eddy_infer_state(infer, sizeof *state);
    if (!state)
        return eddy__fail_memory(infer->err);
    *state = answer;
    return EDDY_OK;
}

/* ---- the kernels of each op by dtype ---- */

#define REALS(name)                                                            \
    EDDY__EACH_FLOAT(EDDY__KERNEL_ENTRY, name)                                 \
    EDDY__EACH_SIGNED(EDDY__KERNEL_ENTRY, name)                                \
    EDDY__EACH_UNSIGNED(EDDY__KERNEL_ENTRY, name)
#define COMPARE(name, e)                                                       \
    static const eddy_kernel_fn kernels_##name[EDDY_DTYPE_COUNT] = {           \
        REALS(name)};                                                          \
    EDDY__CHOOSER(name)
#define EQUAL(name, e, answer)                                                 \
    static const eddy_kernel_fn kernels_##name[EDDY_DTYPE_COUNT] = {           \
        REALS(name) EDDY__KERNEL_ENTRY(B, name) EDDY__EACH_COMPLEX(            \
            EDDY__KERNEL_ENTRY, name)[EDDY_STRING] = run_##name##_strings};    \
    static eddy_status prepare_##name(eddy_infer *infer)                       \
    {                                                                          \
        eddy_infer_set_kernel(                                                 \
            infer, kernels_##name[eddy_infer_input_dtype(infer, 0)]);          \
        return prepare_answer(infer, answer);                                  \
    }
#define LOGICAL(name, e)
#include "ops/math/compare.def"
#undef COMPARE
#undef EQUAL
#undef LOGICAL

/* ---- the loops of each op by dtype, for chains ---- */

#define COMPARE(name, e)                                                       \
    static const eddy__binary *const loops_##name[EDDY_DTYPE_COUNT] = {        \
        EDDY__EACH_FLOAT(EDDY__LOOPS_ENTRY, name)                              \
            EDDY__EACH_SIGNED(EDDY__LOOPS_ENTRY, name)                         \
                EDDY__EACH_UNSIGNED(EDDY__LOOPS_ENTRY, name)};
#define EQUAL(name, e, answer) COMPARE(name, e)
#define LOGICAL(name, e)                                                       \
    static const eddy__binary *const loops_##name[EDDY_DTYPE_COUNT] = {        \
        EDDY__LOOPS_ENTRY(B, name)};
#include "ops/math/compare.def"
#undef COMPARE
#undef EQUAL
#undef LOGICAL

static const eddy__strip_row strips[] = {
#define COMPARE(name, e) {#name, NULL, loops_##name},
#define EQUAL(name, e, answer) {#name, NULL, loops_##name},
#define LOGICAL(name, e) {#name, NULL, loops_##name},
#include "ops/math/compare.def"
#undef COMPARE
#undef EQUAL
#undef LOGICAL
};

const eddy__strip_table eddy__compare_strips = {
    .rows = strips,
    .n = sizeof strips / sizeof strips[0],
};

/* ---- ApproximateEqual ---- */

/* `tolerance` in the type of the elements; infinities are never near. */
#define NEAR(D, ...)                                                           \
    static void near_##D(uint8_t *out, const void *a, const void *b,           \
                         int64_t n, float tolerance)                           \
    {                                                                          \
        const eddy__stored_##D *x = a, *y = b;                                 \
        const eddy__computed_##D most = (eddy__computed_##D)tolerance;         \
                                                                               \
        for (int64_t i = 0; i < n; i++) {                                      \
            const eddy__computed_##D off = x[i] - y[i];                        \
                                                                               \
            out[i] = (off < 0 ? -off : off) < most;                            \
        }                                                                      \
    }

NEAR(F32, )
NEAR(F64, )

static eddy_status run_approximate_equal(eddy_kernel *k)
{
    const float *tolerance = eddy__state(k);
    const eddy_shape *shape = eddy__in_shape(k, 0);
    const void *a = eddy__in_elements(k, 0), *b = eddy__in_elements(k, 1);
    const int64_t n = eddy__in_count(k, 0);
    void *out;

    if (!eddy__shape_equal(shape, eddy__in_shape(k, 1)))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "shapes %s and %s must be the same",
                           eddy__shape_print(shape).text,
                           eddy__shape_print(eddy__in_shape(k, 1)).text);
    EDDY_TRY(eddy__output(k, 0, EDDY_BOOL, shape, &out));
    if (eddy__in_dtype(k, 0) == EDDY_FLOAT32)
        near_F32(out, a, b, n, *tolerance);
    else
        near_F64(out, a, b, n, *tolerance);
    return EDDY_OK;
}

static eddy_status infer_approximate_equal(eddy_infer *infer)
{
    const eddy_shape *a = eddy_infer_input(infer, 0);
    const eddy_shape *b = eddy_infer_input(infer, 1);
    eddy_shape shape;

    if (!eddy__shape_merge(a, b, &shape))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "shapes %s and %s must be the same",
                               eddy__shape_print(a).text,
                               eddy__shape_print(b).text);
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status prepare_approximate_equal(eddy_infer *infer)
{
    const eddy_dtype dtype = eddy_infer_input_dtype(infer, 0);
    float *tolerance = eddy__prepare_state(infer, sizeof *tolerance);
    eddy_attr attr;

    if (!tolerance)
        return EDDY_RESOURCE_EXHAUSTED;
    if (eddy_infer_attr(infer, "tolerance", &attr))
        *tolerance = attr.as.floats[0];
    eddy_infer_set_kernel(infer, dtype == EDDY_FLOAT32 || dtype == EDDY_FLOAT64
                                     ? run_approximate_equal
                                     : NULL);
    return EDDY_OK;
}

/* ---- definitions ---- */

static const eddy_op_spec specs[] = {
#define COMPARE(name, e)                                                       \
    EDDY__OP_ROW(#name, .inputs = "x: T, y: T", .outputs = "z: bool",          \
                 .attrs = "T: real", .infer = eddy__infer_broadcast,           \
                 .prepare = prepare_##name,                                    \
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE, .doc = "Is " #e "?"),
#define EQUAL(name, e, answer)                                                 \
    EDDY__OP_ROW(#name, .inputs = "x: T, y: T", .outputs = "z: bool",          \
                 .attrs = "T: type, incompatible_shape_error: bool = true",    \
                 .infer = infer_equal, .prepare = prepare_##name,              \
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE, .doc = "Is " #e "?"),
#define LOGICAL(name, e)                                                       \
    EDDY__OP_ROW(#name, .inputs = "x: bool, y: bool", .outputs = "z: bool",    \
                 .infer = eddy__infer_broadcast, .kernel = run_##name##_B,     \
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE, .doc = #e),
#include "ops/math/compare.def"
#undef COMPARE
#undef EQUAL
#undef LOGICAL
    EDDY__OP_ROW(
        "ApproximateEqual", .inputs = "x: T, y: T", .outputs = "z: bool",
        .attrs = "T: number, tolerance: float = 1e-5",
        .infer = infer_approximate_equal, .prepare = prepare_approximate_equal,
        .flags = EDDY_OP_NOT_DIFFERENTIABLE,
        .doc = "Is |x - y| below the tolerance?"),
};

const eddy__op_table eddy__compare_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};
