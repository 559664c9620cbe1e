/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How elementwise kernels are made from expressions.
 *
 * A table (unary.def, binary.def, compare.def) gives an expression an op and
 * group of dtypes.  From each the macros here make an inline function of one
 * element, and from that function both the scalar path of the kernel and its
 * loops over arrays, so all of them give the same bits.  A loop comes in two
 * forms, for the baseline processor and for one with wider vectors; expressions
 * that call the C library have the first alone.  Transcendental functions of
 * real numbers have macros of their own, in transcendental.h.
 */
#ifndef EDDY_OPS_ELEMENTWISE_H
#define EDDY_OPS_ELEMENTWISE_H

#include "core/base/cpu.h"
#include "core/graph/infer.h"
#include "ops/math/numeric.h"

/* ---- loops that compilers turn into vector code at -O2 ---- */

#if defined(__clang__)
/* Loops that it cannot vectorise, such as those that call a function, are meant
 * to be as they are. */
#pragma clang diagnostic ignored "-Wpass-failed"
#define EDDY__INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define EDDY__INDEPENDENT _Pragma("GCC ivdep")
#endif

#if defined(__x86_64__) && defined(__GNUC__)
#define EDDY__WIDE __attribute__((target("avx2")))
#define EDDY__WIDEST                                                           \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#else
#define EDDY__WIDE
#define EDDY__WIDEST
#endif
#define EDDY__HAS_WIDE() (eddy__cpu_vectors() >= EDDY__VECTORS_AVX2)

/* `yes` for the dtypes whose loops have a form for AVX-512, else `no`. */
#define EDDY__IF_WIDEST_F16(yes, no) no
#define EDDY__IF_WIDEST_BF16(yes, no) no
#define EDDY__IF_WIDEST_F32(yes, no) yes
#define EDDY__IF_WIDEST_F64(yes, no) yes
#define EDDY__IF_WIDEST_I8(yes, no) no
#define EDDY__IF_WIDEST_I16(yes, no) no
#define EDDY__IF_WIDEST_I32(yes, no) no
#define EDDY__IF_WIDEST_I64(yes, no) no
#define EDDY__IF_WIDEST_U8(yes, no) no
#define EDDY__IF_WIDEST_U16(yes, no) no
#define EDDY__IF_WIDEST_U32(yes, no) no
#define EDDY__IF_WIDEST_U64(yes, no) no
#define EDDY__IF_WIDEST_B(yes, no) no
#define EDDY__IF_WIDEST_C64(yes, no) no
#define EDDY__IF_WIDEST_C128(yes, no) no

/* Initialisers of the forms that a kernel has. */
#define EDDY__NARROW_FORM(name, D) .loop = loop_##name##_##D
#define EDDY__ALL_FORMS(name, D)                                               \
    .loop = loop_##name##_##D, .wide = wide_##name##_##D,                      \
    .widest = EDDY__IF_WIDEST_##D(widest_##name##_##D, NULL)

#define EDDY__STRIP 16

/*
 * Executes the statement for i = 0 .. n-1, in strips of constant length, which
 * is what gcc vectorises at -O2.  The executions must be independent, except
 * that one may write what it has read itself.
 */
#define EDDY__FOR_EACH(i, n, statement)                                        \
    do {                                                                       \
        const int64_t end_ = (n);                                              \
        int64_t at_ = 0;                                                       \
        for (; end_ - at_ >= EDDY__STRIP; at_ += EDDY__STRIP) {                \
            EDDY__INDEPENDENT                                                  \
            for (int64_t j_ = 0; j_ < EDDY__STRIP; j_++) {                     \
                const int64_t i = at_ + j_;                                    \
                statement;                                                     \
            }                                                                  \
        }                                                                      \
        for (; at_ < end_; at_++) {                                            \
            const int64_t i = at_;                                             \
            statement;                                                         \
        }                                                                      \
    } while (0)

/* ---- one input ---- */

typedef void (*eddy__unary_loop)(void *out, const void *in, int64_t n);

typedef struct eddy__unary {
    eddy__unary_loop loop, wide, widest; /* NULL: there is none */
    eddy_dtype out;
} eddy__unary;

/* The form for the vectors that may be used. */
static inline eddy__unary_loop eddy__unary_loop_of(const eddy__unary *unary)
{
    const eddy__vectors vectors = eddy__cpu_vectors();

    if (vectors >= EDDY__VECTORS_AVX512 && unary->widest)
        return unary->widest;
    return vectors >= EDDY__VECTORS_AVX2 && unary->wide ? unary->wide
                                                        : unary->loop;
}

eddy_status eddy__unary_run(eddy_kernel *k, const eddy__unary *unary);

/* The function of one element, called X; LOCALS may declare more. */
#define EDDY__UNARY_ELEMENT_OF(name, D, OUT, X, LOCALS, e)                     \
    static inline eddy__stored_##OUT element_##name##_##D(                     \
        const eddy__computed_##D X)                                            \
    {                                                                          \
        LOCALS(D)                                                              \
        return EDDY__STORE_##OUT(e);                                           \
    }

#define EDDY__UNARY_ELEMENT(name, D, OUT, LOCALS, e)                           \
    EDDY__UNARY_ELEMENT_OF(name, D, OUT, x, LOCALS, e)

#define EDDY__UNARY_LOOP(target, loop, name, D, OUT)                           \
    target static void loop##_##name##_##D(void *to, const void *from,         \
                                           int64_t n)                          \
    {                                                                          \
        eddy__stored_##OUT *out = to;                                          \
        const eddy__stored_##D *in = from;                                     \
                                                                               \
        EDDY__FOR_EACH(i, n,                                                   \
                       out[i] = element_##name##_##D(eddy__load_##D(in[i])));  \
    }

/* Every form that the dtype has. */
#define EDDY__UNARY_LOOPS(name, D, OUT)                                        \
    EDDY__UNARY_LOOP(, loop, name, D, OUT)                                     \
    EDDY__UNARY_LOOP(EDDY__WIDE, wide, name, D, OUT)                           \
    EDDY__IF_WIDEST_##D(EDDY__UNARY_LOOP(EDDY__WIDEST, widest, name, D, OUT), )

#define EDDY__UNARY_RUN(name, D, OUT, FORMS)                                   \
    static const eddy__unary loops_##name##_##D = {FORMS(name, D),             \
                                                   .out = EDDY__DTYPE_##OUT};  \
    static eddy_status run_##name##_##D(eddy_kernel *k)                        \
    {                                                                          \
        const eddy__value *in = eddy__in(k, 0);                                \
                                                                               \
        if (EDDY__IS_INLINE_##OUT && in->kind == EDDY__SCALAR) {               \
            eddy__put_##OUT(eddy__out(k, 0),                                   \
                            element_##name##_##D(eddy__get_##D(in)));          \
            return EDDY_OK;                                                    \
        }                                                                      \
        return eddy__unary_run(k, &loops_##name##_##D);                        \
    }

#define EDDY__UNARY_KERNEL(D, name, OUT, LOCALS, e)                            \
    EDDY__UNARY_ELEMENT(name, D, OUT, LOCALS, e)                               \
    EDDY__UNARY_LOOP(, loop, name, D, OUT)                                     \
    EDDY__UNARY_RUN(name, D, OUT, EDDY__NARROW_FORM)

#define EDDY__UNARY_WIDE(D, name, OUT, LOCALS, e)                              \
    EDDY__UNARY_ELEMENT(name, D, OUT, LOCALS, e)                               \
    EDDY__UNARY_LOOPS(name, D, OUT)                                            \
    EDDY__UNARY_RUN(name, D, OUT, EDDY__ALL_FORMS)

/* ---- two inputs, broadcast ---- */

/* Rows of the output; strides are in elements, those within a row 0 or 1. */
typedef struct eddy__rows {
    void *out;
    const void *a, *b;
    int64_t n, step_a, step_b;
    int64_t n_rows, stride_a, stride_b;
} eddy__rows;

typedef void (*eddy__binary_loop)(const eddy__rows *rows);

typedef struct eddy__binary {
    eddy__binary_loop loop, wide, widest; /* NULL: there is none */
    eddy_dtype out;
    size_t in_size; /* of one element */
    /* The first element of `b` that the op refuses, or -1; NULL: any will do.
     */
    int64_t (*find_bad)(const void *b, int64_t n);
    eddy_status (*fail_bad)(eddy_kernel *k, int64_t i);
} eddy__binary;

/* As eddy__unary_loop_of. */
static inline eddy__binary_loop eddy__binary_loop_of(const eddy__binary *binary)
{
    const eddy__vectors vectors = eddy__cpu_vectors();

    if (vectors >= EDDY__VECTORS_AVX512 && binary->widest)
        return binary->widest;
    return vectors >= EDDY__VECTORS_AVX2 && binary->wide ? binary->wide
                                                         : binary->loop;
}

eddy_status eddy__binary_run(eddy_kernel *k, const eddy__binary *binary);

/*
 * The same for inputs that are not broadcast.  `as_flat`: as many elements will
 * do, and the output has the shape of input 0; else the shapes must agree.
 */
eddy_status eddy__elementwise_run_pair(eddy_kernel *k,
                                       const eddy__binary *binary,
                                       bool as_flat);

/* The two elements are called X and Y. */
#define EDDY__PAIR_ELEMENT(name, D, OUT, X, Y, LOCALS, e)                      \
    static inline eddy__stored_##OUT element_##name##_##D(                     \
        const eddy__computed_##D X, const eddy__computed_##D Y)                \
    {                                                                          \
        LOCALS(D)                                                              \
        return EDDY__STORE_##OUT(e);                                           \
    }

#define EDDY__BINARY_ELEMENT(name, D, OUT, LOCALS, e)                          \
    EDDY__PAIR_ELEMENT(name, D, OUT, x, y, LOCALS, e)

#define EDDY__BINARY_LOOP(target, loop, name, D, OUT)                          \
    target static void loop##_##name##_##D(const eddy__rows *r)                \
    {                                                                          \
        for (int64_t row = 0; row < r->n_rows; row++) {                        \
            eddy__stored_##OUT *out =                                          \
                (eddy__stored_##OUT *)r->out + row * r->n;                     \
            const eddy__stored_##D *a =                                        \
                (const eddy__stored_##D *)r->a + row * r->stride_a;            \
            const eddy__stored_##D *b =                                        \
                (const eddy__stored_##D *)r->b + row * r->stride_b;            \
            const eddy__computed_##D x = eddy__load_##D(a[0]);                 \
            const eddy__computed_##D y = eddy__load_##D(b[0]);                 \
                                                                               \
            if (r->step_a && r->step_b)                                        \
                EDDY__FOR_EACH(                                                \
                    i, r->n,                                                   \
                    out[i] = element_##name##_##D(eddy__load_##D(a[i]),        \
                                                  eddy__load_##D(b[i])));      \
            else if (r->step_a)                                                \
                EDDY__FOR_EACH(                                                \
                    i, r->n,                                                   \
                    out[i] = element_##name##_##D(eddy__load_##D(a[i]), y));   \
            else                                                               \
                EDDY__FOR_EACH(                                                \
                    i, r->n,                                                   \
                    out[i] = element_##name##_##D(x, eddy__load_##D(b[i])));   \
        }                                                                      \
    }

/* Every form that the dtype has. */
#define EDDY__BINARY_LOOPS(name, D, OUT)                                       \
    EDDY__BINARY_LOOP(, loop, name, D, OUT)                                    \
    EDDY__BINARY_LOOP(EDDY__WIDE, wide, name, D, OUT)                          \
    EDDY__IF_WIDEST_##D(EDDY__BINARY_LOOP(EDDY__WIDEST, widest, name, D, OUT), )

/*
 * The scalar path comes first and calls nothing.  BAD(y) says which `y` the op
 * refuses, `find` and `fail` are as in eddy__binary.
 */
#define EDDY__BINARY_RUN(name, D, OUT, FORMS, BAD, find, fail)                 \
    static const eddy__binary loops_##name##_##D = {                           \
        FORMS(name, D),                                                        \
        .out = EDDY__DTYPE_##OUT,                                              \
        .in_size = sizeof(eddy__stored_##D),                                   \
        .find_bad = find,                                                      \
        .fail_bad = fail,                                                      \
    };                                                                         \
    static eddy_status run_##name##_##D(eddy_kernel *k)                        \
    {                                                                          \
        const eddy__value *a = eddy__in(k, 0), *b = eddy__in(k, 1);            \
                                                                               \
        if (EDDY__IS_INLINE_##OUT && a->kind == EDDY__SCALAR &&                \
            b->kind == EDDY__SCALAR && !BAD(eddy__get_##D(b))) {               \
            eddy__put_##OUT(                                                   \
                eddy__out(k, 0),                                               \
                element_##name##_##D(eddy__get_##D(a), eddy__get_##D(b)));     \
            return EDDY_OK;                                                    \
        }                                                                      \
        return eddy__binary_run(k, &loops_##name##_##D);                       \
    }

#define EDDY__NONE_BAD(y) false

#define EDDY__BINARY_KERNEL(D, name, OUT, LOCALS, e)                           \
    EDDY__BINARY_ELEMENT(name, D, OUT, LOCALS, e)                              \
    EDDY__BINARY_LOOP(, loop, name, D, OUT)                                    \
    EDDY__BINARY_RUN(name, D, OUT, EDDY__NARROW_FORM, EDDY__NONE_BAD, NULL,    \
                     NULL)

#define EDDY__BINARY_WIDE(D, name, OUT, LOCALS, e)                             \
    EDDY__BINARY_ELEMENT(name, D, OUT, LOCALS, e)                              \
    EDDY__BINARY_LOOPS(name, D, OUT)                                           \
    EDDY__BINARY_RUN(name, D, OUT, EDDY__ALL_FORMS, EDDY__NONE_BAD, NULL, NULL)

#define EDDY__BINARY_CHECKED(D, name, OUT, LOCALS, BAD, fail, e)               \
    EDDY__BINARY_ELEMENT(name, D, OUT, LOCALS, e)                              \
    EDDY__BINARY_LOOP(, loop, name, D, OUT)                                    \
    static int64_t find_##name##_##D(const void *b, int64_t n)                 \
    {                                                                          \
        const eddy__stored_##D *y = b;                                         \
                                                                               \
        for (int64_t i = 0; i < n; i++)                                        \
            if (BAD(y[i]))                                                     \
                return i;                                                      \
        return -1;                                                             \
    }                                                                          \
    EDDY__BINARY_RUN(name, D, OUT, EDDY__NARROW_FORM, BAD, find_##name##_##D,  \
                     fail)

/* ---- what expressions may use besides x and y ---- */

#define EDDY__NO_LOCALS(D)

/* The constant `c` in the type of the float or double `x`. */
#define EDDY__LIKE(x, c) _Generic((x), float : (float)(c), double : (double)(c))

#define EDDY__SELU_SCALE 1.0507009873554804934193349852946
#define EDDY__SELU_SCALE_ALPHA 1.7580993408473768599402175208123

/* Integers that wrap: x and y as eddy__wrapped_D. */
#define EDDY__WRAPPED_X(D)                                                     \
    const eddy__wrapped_##D ux = (eddy__wrapped_##D)x;                         \
    (void)ux;
#define EDDY__WRAPPED_XY(D)                                                    \
    EDDY__WRAPPED_X(D)                                                         \
    const eddy__wrapped_##D uy = (eddy__wrapped_##D)y;                         \
    (void)uy;

/* ---- rows of a table ---- */

/* In an initialiser of kernels by dtype. */
#define EDDY__KERNEL_ENTRY(D, name) [EDDY__DTYPE_##D] = run_##name##_##D,

/* In an initialiser of loops by dtype. */
#define EDDY__LOOPS_ENTRY(D, name) [EDDY__DTYPE_##D] = &loops_##name##_##D,

/* A prepare function: the kernel for the dtype of input 0. */
#define EDDY__CHOOSER(name)                                                    \
    static eddy_status prepare_##name(eddy_infer *infer)                       \
    {                                                                          \
        eddy_infer_set_kernel(                                                 \
            infer, kernels_##name[eddy_infer_input_dtype(infer, 0)]);          \
        return EDDY_OK;                                                        \
    }

#endif
