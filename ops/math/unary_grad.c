/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/status.h"
#include "ops/math/strip.h"
#include "ops/math/transcendental.h"
#include "ops/ops.h"

#include <string.h>
#include <tgmath.h>

/*
 * 1 if so and else 0, made of bits: of `x > 0 ? 1 : 0` compilers know that g
 * times it is g or g times 0, and a choice flushes no denormals.
 */
static inline float one_if_f32(bool is_so)
{
    const uint32_t bits = -(uint32_t)is_so & 0x3f800000;
    float one;

    memcpy(&one, &bits, sizeof one);
    return one;
}

static inline double one_if_f64(bool is_so)
{
    const uint64_t bits = -(uint64_t)is_so & 0x3ff0000000000000;
    double one;

    memcpy(&one, &bits, sizeof one);
    return one;
}

#define ONE_IF(x, c) _Generic((x), float : one_if_f32, double : one_if_f64)(c)
#define LIKE EDDY__LIKE
#define TIMES eddy__complex_mul

/* ---- kernels ---- */

/* FIRST and SECOND are what a row calls its inputs, AS_FLAT how they meet. */
#define KERNEL_RUN(name, D, FORMS)                                             \
    static const eddy__binary loops_##name##_##D = {                           \
        FORMS(name, D),                                                        \
        .out = EDDY__DTYPE_##D,                                                \
        .in_size = sizeof(eddy__stored_##D),                                   \
    };                                                                         \
    static eddy_status run_##name##_##D(eddy_kernel *k)                        \
    {                                                                          \
        const eddy__value *a = eddy__in(k, 0), *b = eddy__in(k, 1);            \
                                                                               \
        if (a->kind == EDDY__SCALAR && b->kind == EDDY__SCALAR) {              \
            eddy__put_##D(                                                     \
                eddy__out(k, 0),                                               \
                element_##name##_##D(eddy__get_##D(a), eddy__get_##D(b)));     \
            return EDDY_OK;                                                    \
        }                                                                      \
        return eddy__elementwise_run_pair(k, &loops_##name##_##D, AS_FLAT);    \
    }

#define KERNEL(D, name, LOCALS, e)                                             \
    EDDY__PAIR_ELEMENT(name, D, D, FIRST, SECOND, LOCALS, e)                   \
    EDDY__BINARY_LOOP(, loop, name, D, D)                                      \
    KERNEL_RUN(name, D, EDDY__NARROW_FORM)
#define KERNEL_WIDE(D, name, LOCALS, e)                                        \
    EDDY__PAIR_ELEMENT(name, D, D, FIRST, SECOND, LOCALS, e)                   \
    EDDY__BINARY_LOOPS(name, D, D)                                             \
    KERNEL_RUN(name, D, EDDY__ALL_FORMS)

#define WRAPPED_GRADIENT(D) const eddy__wrapped_##D ug = (eddy__wrapped_##D)g;

#define FLOATS(name, e) EDDY__EACH_FLOAT(KERNEL_WIDE, name, EDDY__NO_LOCALS, e)
#define SHORT_KERNEL(D, name, e)                                               \
    EDDY__PAIR_SHORT(D, name, FIRST, SECOND, e)                                \
    KERNEL_RUN(name, D, EDDY__ALL_FORMS)
#define MATHS(name, e, function, before, after)                                \
    EDDY__EACH_HALF(SHORT_KERNEL, name, e)                                     \
    SHORT_KERNEL(F32, name, e)                                                 \
    EDDY__PAIR_VIA(F64, name, FIRST, SECOND, function, EDDY__APPLY_ONE,        \
                   before, 1, after)                                           \
    KERNEL_RUN(name, F64, EDDY__NARROW_FORM)
#define SIGNED(name, e) EDDY__EACH_SIGNED(KERNEL, name, WRAPPED_GRADIENT, e)
#define UNSIGNED(name, e) EDDY__EACH_UNSIGNED(KERNEL, name, WRAPPED_GRADIENT, e)
#define COMPLEX(name, e) EDDY__EACH_COMPLEX(KERNEL, name, EDDY__NO_LOCALS, e)

#define FIRST y
#define SECOND dy
#define AS_FLAT true
#define OF_RESULT(name, kernels, doc) kernels
#define OF(name, input, types, kernels, doc)
#include "ops/math/unary_grad.def"
#undef OF_RESULT
#undef OF
#undef FIRST
#undef SECOND
#undef AS_FLAT

#define FIRST g
#define SECOND x
#define AS_FLAT false
#define OF_RESULT(name, kernels, doc)
#define OF(name, input, types, kernels, doc) kernels
#include "ops/math/unary_grad.def"
#undef OF_RESULT
#undef OF
#undef FLOATS
#undef MATHS
#undef SIGNED
#undef UNSIGNED
#undef COMPLEX

/* ---- the kernels of each op by dtype ---- */

#define ENTRY EDDY__KERNEL_ENTRY
#define ENTRIES(name, ...)                                                     \
    static const eddy_kernel_fn kernels_##name[EDDY_DTYPE_COUNT] = {           \
        __VA_ARGS__};                                                          \
    EDDY__CHOOSER(name)
#define OF_RESULT(name, kernels, doc) ENTRIES(name, kernels)
#define OF(name, input, types, kernels, doc) ENTRIES(name, kernels)
#define FLOATS(name, e) EDDY__EACH_FLOAT(ENTRY, name)
#define MATHS(name, e, function, before, after) FLOATS(name, e)
#define SIGNED(name, e) EDDY__EACH_SIGNED(ENTRY, name)
#define UNSIGNED(name, e) EDDY__EACH_UNSIGNED(ENTRY, name)
#define COMPLEX(name, e) EDDY__EACH_COMPLEX(ENTRY, name)
#include "ops/math/unary_grad.def"
#undef OF_RESULT
#undef OF

/* ---- the loops of each op by dtype, for chains ---- */

#undef ENTRY
#define ENTRY EDDY__LOOPS_ENTRY
#define LOOPS(name, ...)                                                       \
    static const eddy__binary *const loops_##name[EDDY_DTYPE_COUNT] = {        \
        __VA_ARGS__};
#define OF_RESULT(name, kernels, doc) LOOPS(name, kernels)
#define OF(name, input, types, kernels, doc) LOOPS(name, kernels)
#include "ops/math/unary_grad.def"
#undef OF_RESULT
#undef OF

static const eddy__strip_row strips[] = {
#define OF_RESULT(name, kernels, doc) {#name, NULL, loops_##name},
#define OF(name, input, types, kernels, doc) {#name, NULL, loops_##name},
#include "ops/math/unary_grad.def"
#undef OF_RESULT
#undef OF
};

const eddy__strip_table eddy__unary_grad_strips = {
    .rows = strips,
    .n = sizeof strips / sizeof strips[0],
};

/* ---- definitions ---- */

static eddy_status infer_same(eddy_infer *infer)
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

#define FLOAT "T: float"
#define REAL "T: real"

static const eddy_op_spec specs[] = {
#define OF_RESULT(name, kernels, text)                                         \
    EDDY__OP_ROW(#name, .inputs = "y: T, dy: T", .outputs = "z: T",            \
                 .attrs = "T: {float, complex}",                               \
                 .infer = eddy__infer_unchanged, .prepare = prepare_##name,    \
                 .doc = text),
#define OF(name, input, types, kernels, text)                                  \
    EDDY__OP_ROW(#name, .inputs = "gradients: T, " #input ": T",               \
                 .outputs = "backprops: T", .attrs = types,                    \
                 .infer = infer_same, .prepare = prepare_##name, .doc = text),
#include "ops/math/unary_grad.def"
};

const eddy__op_table eddy__unary_grad_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};
