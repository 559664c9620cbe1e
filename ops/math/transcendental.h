/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementwise kernels of transcendental functions: formulas of float_math.h,
 * which are expressions like any other, or functions of vector_math.h, to which
 * elements go a block at a time.  The scalar path does the same with one
 * element, so that it gives the same bits.
 */
#ifndef EDDY_OPS_TRANSCENDENTAL_H
#define EDDY_OPS_TRANSCENDENTAL_H

#include "ops/math/elementwise.h"
#include "ops/math/float_math.h"
#include "ops/math/vector_math.h"

/* ---- one input ---- */

/* The element, called `at`, as `x` in double. */
#define EDDY__IN_DOUBLE(D) const double x = (double)at;

/* float16 and float32 by an expression over `x`, which is a float. */
#define EDDY__UNARY_SHORT(D, name, OUT, e)                                     \
    EDDY__UNARY_ELEMENT(name, D, OUT, EDDY__NO_LOCALS,                         \
                        eddy__settle((double)(e)))                             \
    EDDY__UNARY_LOOPS(name, D, OUT)                                            \
    EDDY__UNARY_RUN(name, D, OUT, EDDY__ALL_FORMS)

/* The same; FORMS names its loops for wide vectors, made by hand. */
#define EDDY__UNARY_SHORT_AND(D, name, OUT, FORMS, e)                          \
    EDDY__UNARY_ELEMENT(name, D, OUT, EDDY__NO_LOCALS,                         \
                        eddy__settle((double)(e)))                             \
    EDDY__UNARY_LOOP(, loop, name, D, OUT)                                     \
    EDDY__UNARY_RUN(name, D, OUT, FORMS)

/* As the first of float32 and bfloat16; a denormal `x` is the result itself. */
#define EDDY__UNARY_KEPT(D, name, e)                                           \
    EDDY__UNARY_ELEMENT(name, D, D, EDDY__NO_LOCALS,                           \
                        eddy__kept_float(x, eddy__settle((double)(e))))        \
    EDDY__UNARY_LOOPS(name, D, D)                                              \
    EDDY__UNARY_RUN(name, D, D, EDDY__ALL_FORMS)

/* So many elements are computed before anything is done with them. */
#define EDDY__BLOCK 64

/*
 * float16 and float32 by the expression `e` where `x`, a float, is positive,
 * and elsewhere by `other` over `x` in double, an element at a time.  The
 * output may be the input.
 */
#define EDDY__UNARY_PARTLY_LOOP(target, loop, name, D)                         \
    target static void loop##_##name##_##D(void *to, const void *from,         \
                                           int64_t n)                          \
    {                                                                          \
        eddy__stored_##D *out = to;                                            \
        const eddy__stored_##D *in = from;                                     \
        eddy__stored_##D kept[EDDY__BLOCK];                                    \
                                                                               \
        for (int64_t first = 0; first < n; first += EDDY__BLOCK) {             \
            const int64_t m =                                                  \
                n - first < EDDY__BLOCK ? n - first : EDDY__BLOCK;             \
                                                                               \
            memcpy(kept, in + first, (size_t)m * sizeof kept[0]);              \
            EDDY__FOR_EACH(i, m,                                               \
                           out[first + i] =                                    \
                               quick_##name##_##D(eddy__load_##D(kept[i])));   \
            for (int64_t i = 0; i < m; i++)                                    \
                if (!(eddy__load_##D(kept[i]) > 0))                            \
                    out[first + i] =                                           \
                        slow_##name##_##D((double)eddy__load_##D(kept[i]));    \
        }                                                                      \
    }

#define EDDY__UNARY_PARTLY(D, name, e, other)                                  \
    static inline eddy__stored_##D quick_##name##_##D(                         \
        const eddy__computed_##D x)                                            \
    {                                                                          \
        return EDDY__STORE_##D(eddy__settle((double)(e)));                     \
    }                                                                          \
    static eddy__stored_##D slow_##name##_##D(const double x)                  \
    {                                                                          \
        return EDDY__STORE_##D(eddy__settle_double(other));                    \
    }                                                                          \
    static inline eddy__stored_##D element_##name##_##D(                       \
        const eddy__computed_##D x)                                            \
    {                                                                          \
        return x > 0 ? quick_##name##_##D(x) : slow_##name##_##D((double)x);   \
    }                                                                          \
    EDDY__UNARY_PARTLY_LOOP(, loop, name, D)                                   \
    EDDY__UNARY_PARTLY_LOOP(EDDY__WIDE, wide, name, D)                         \
    EDDY__IF_WIDEST_##D(                                                       \
        EDDY__UNARY_PARTLY_LOOP(EDDY__WIDEST, widest, name, D), )              \
        EDDY__UNARY_RUN(name, D, D, EDDY__ALL_FORMS)

/* Fills up the last lanes of a block with something harmless. */
static inline int64_t eddy__fill_lanes(double *block, int64_t n)
{
    for (; n % EDDY__MATH_LANES != 0; n++)
        block[n] = 1;
    return n;
}

/*
 * By way of a function of vector_math.h: `before` is its argument by `x`, and
 * the result is `after` by `x` and by `t`, what it gave.  `x` is the element in
 * double.
 */
#define EDDY__UNARY_VIA_LOOP(target, loop, name, D, OUT, function)             \
    target static void loop##_##name##_##D(void *to, const void *from,         \
                                           int64_t n)                          \
    {                                                                          \
        const eddy__math_loop compute =                                        \
            eddy__math_loops()[EDDY__MATH_##function];                         \
        _Alignas(64) double block[EDDY__BLOCK];                                \
        eddy__stored_##OUT *out = to;                                          \
        const eddy__stored_##D *in = from;                                     \
                                                                               \
        for (int64_t left = n; left > 0; left -= EDDY__BLOCK) {                \
            const int64_t m = left < EDDY__BLOCK ? left : EDDY__BLOCK;         \
                                                                               \
            EDDY__FOR_EACH(i, m,                                               \
                           block[i] = before_##name##_##D(                     \
                               (double)eddy__load_##D(in[i])));                \
            compute(block, NULL, eddy__fill_lanes(block, m));                  \
            EDDY__FOR_EACH(i, m,                                               \
                           out[i] = after_##name##_##D(                        \
                               (double)eddy__load_##D(in[i]), block[i]));      \
            in += m;                                                           \
            out += m;                                                          \
        }                                                                      \
    }

#define EDDY__UNARY_VIA(D, name, OUT, function, before, after)                 \
    static inline double before_##name##_##D(const double x)                   \
    {                                                                          \
        return before;                                                         \
    }                                                                          \
    static inline eddy__stored_##OUT after_##name##_##D(const double x,        \
                                                        const double t)        \
    {                                                                          \
        (void)x;                                                               \
        return EDDY__STORE_##OUT(eddy__settle_double(after));                  \
    }                                                                          \
    static inline eddy__stored_##OUT element_##name##_##D(                     \
        const eddy__computed_##D at)                                           \
    {                                                                          \
        const double x = (double)at;                                           \
                                                                               \
        return after_##name##_##D(                                             \
            x, eddy__math_##function(before_##name##_##D(x)));                 \
    }                                                                          \
    EDDY__UNARY_VIA_LOOP(, loop, name, D, OUT, function)                       \
    EDDY__UNARY_VIA_LOOP(EDDY__WIDE, wide, name, D, OUT, function)             \
    EDDY__IF_WIDEST_##D(                                                       \
        EDDY__UNARY_VIA_LOOP(EDDY__WIDEST, widest, name, D, OUT, function), )  \
        EDDY__UNARY_RUN(name, D, OUT, EDDY__ALL_FORMS)

/* ---- two inputs, broadcast ---- */

/* As EDDY__UNARY_SHORT, by an expression over what is called X and Y. */
#define EDDY__PAIR_SHORT(D, name, X, Y, e)                                     \
    EDDY__PAIR_ELEMENT(name, D, D, X, Y, EDDY__NO_LOCALS,                      \
                       eddy__settle((double)(e)))                              \
    EDDY__BINARY_LOOPS(name, D, D)

/*
 * As EDDY__UNARY_VIA: the function's arguments are `first` and `second`, which
 * functions of one number do without; and `after` sees X, Y and `t`.
 */
#define EDDY__PAIR_VIA(D, name, X, Y, function, apply, first, second, after)   \
    static inline double first_##name##_##D(const double X, const double Y)    \
    {                                                                          \
        (void)X;                                                               \
        (void)Y;                                                               \
        return first;                                                          \
    }                                                                          \
    static inline double second_##name##_##D(const double X, const double Y)   \
    {                                                                          \
        (void)X;                                                               \
        (void)Y;                                                               \
        return second;                                                         \
    }                                                                          \
    static inline eddy__stored_##D after_##name##_##D(                         \
        const double X, const double Y, const double t)                        \
    {                                                                          \
        (void)X;                                                               \
        (void)Y;                                                               \
        return EDDY__STORE_##D(eddy__settle_double(after));                    \
    }                                                                          \
    static inline eddy__stored_##D element_##name##_##D(                       \
        const eddy__computed_##D at_x, const eddy__computed_##D at_y)          \
    {                                                                          \
        const double X = (double)at_x, Y = (double)at_y;                       \
        const double u = first_##name##_##D(X, Y);                             \
        const double v = second_##name##_##D(X, Y);                            \
                                                                               \
        return after_##name##_##D(X, Y, apply(eddy__math_##function, u, v));   \
    }                                                                          \
    EDDY__PAIR_VIA_LOOP(D, name, X, Y, function)

/* The loop of EDDY__PAIR_VIA, which asks the function for a block at a time. */
#define EDDY__PAIR_VIA_LOOP(D, name, X, Y, function)                           \
    static void block_##name##_##D(                                            \
        eddy__stored_##D *out, const eddy__stored_##D *a, int64_t step_a,      \
        const eddy__stored_##D *b, int64_t step_b, int64_t n)                  \
    {                                                                          \
        _Alignas(64) double u[EDDY__BLOCK], v[EDDY__BLOCK];                    \
                                                                               \
        for (int64_t i = 0; i < n; i++) {                                      \
            const double X = (double)eddy__load_##D(a[i * step_a]);            \
            const double Y = (double)eddy__load_##D(b[i * step_b]);            \
                                                                               \
            u[i] = first_##name##_##D(X, Y);                                   \
            v[i] = second_##name##_##D(X, Y);                                  \
        }                                                                      \
        (void)eddy__fill_lanes(v, n);                                          \
        eddy__math_loops()[EDDY__MATH_##function](u, v,                        \
                                                  eddy__fill_lanes(u, n));     \
        for (int64_t i = 0; i < n; i++)                                        \
            out[i] = after_##name##_##D((double)eddy__load_##D(a[i * step_a]), \
                                        (double)eddy__load_##D(b[i * step_b]), \
                                        u[i]);                                 \
    }                                                                          \
    static void loop_##name##_##D(const eddy__rows *r)                         \
    {                                                                          \
        for (int64_t row = 0; row < r->n_rows; row++) {                        \
            eddy__stored_##D *out = (eddy__stored_##D *)r->out + row * r->n;   \
            const eddy__stored_##D *a =                                        \
                (const eddy__stored_##D *)r->a + row * r->stride_a;            \
            const eddy__stored_##D *b =                                        \
                (const eddy__stored_##D *)r->b + row * r->stride_b;            \
                                                                               \
            for (int64_t i = 0; i < r->n; i += EDDY__BLOCK)                    \
                block_##name##_##D(out + i, a + i * r->step_a, r->step_a,      \
                                   b + i * r->step_b, r->step_b,               \
                                   r->n - i < EDDY__BLOCK ? r->n - i           \
                                                          : EDDY__BLOCK);      \
        }                                                                      \
    }

/* What EDDY__PAIR_VIA takes for `apply`. */
#define EDDY__APPLY_ONE(function, u, v) ((void)(v), function(u))
#define EDDY__APPLY_TWO(function, u, v) function(u, v)

/* The same as kernels that broadcast `x` and `y`. */
#define EDDY__BINARY_SHORT(D, name, e)                                         \
    EDDY__PAIR_SHORT(D, name, x, y, e)                                         \
    EDDY__BINARY_RUN(name, D, D, EDDY__ALL_FORMS, EDDY__NONE_BAD, NULL, NULL)
#define EDDY__BINARY_VIA(D, name, function, apply, first, second, after)       \
    EDDY__PAIR_VIA(D, name, x, y, function, apply, first, second, after)       \
    EDDY__BINARY_RUN(name, D, D, EDDY__NARROW_FORM, EDDY__NONE_BAD, NULL, NULL)

#endif
