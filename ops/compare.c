#include "ops/elementwise.h"
#include "ops/ops.h"
#include "runtime/base/status.h"

#include <string.h>

/* ---- kernels ---- */

#define NARROW(D, name, e) EDDY__BINARY_KERNEL(D, name, B, EDDY__NO_LOCALS, e)
#define WIDE(D, name, e) EDDY__BINARY_WIDE(D, name, B, EDDY__NO_LOCALS, e)
#define COMPARE(name, e)                                                       \
    WIDE(F16, name, e)                                                         \
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
    NARROW(C64, name, e)
#define LOGICAL(name, e) NARROW(B, name, e)
#include "ops/compare.def"
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
        REALS(name) EDDY__KERNEL_ENTRY(B, name) EDDY__KERNEL_ENTRY(            \
            C64, name)[EDDY_STRING] = run_##name##_strings};                   \
    static eddy_status prepare_##name(eddy_infer *infer)                       \
    {                                                                          \
        eddy_infer_set_kernel(                                                 \
            infer, kernels_##name[eddy_infer_input_dtype(infer, 0)]);          \
        return prepare_answer(infer, answer);                                  \
    }
#define LOGICAL(name, e)
#include "ops/compare.def"
#undef COMPARE
#undef EQUAL
#undef LOGICAL

/* ---- definitions ---- */

#define ROW(name, inputs, attrs, infer, kernel, prepare)                       \
    {sizeof(eddy_op_spec),                                                     \
     #name,                                                                    \
     inputs,                                                                   \
     "z: bool",                                                                \
     attrs,                                                                    \
     infer,                                                                    \
     kernel,                                                                   \
     prepare,                                                                  \
     EDDY_OP_NOT_DIFFERENTIABLE},

static const eddy_op_spec specs[] = {
#define COMPARE(name, e)                                                       \
    ROW(name, "x: T, y: T", "T: real", eddy__infer_broadcast, NULL,            \
        prepare_##name)
#define EQUAL(name, e, answer)                                                 \
    ROW(name, "x: T, y: T", "T: type, incompatible_shape_error: bool = true",  \
        infer_equal, NULL, prepare_##name)
#define LOGICAL(name, e)                                                       \
    ROW(name, "x: bool, y: bool", "", eddy__infer_broadcast, run_##name##_B,   \
        NULL)
#include "ops/compare.def"
#undef COMPARE
#undef EQUAL
#undef LOGICAL
};

const eddy__op_table eddy__compare_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};
