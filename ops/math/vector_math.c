/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions for the baseline processor: SSE2, and elsewhere than on x86-64
 * SLEEF's portable forms; and the choice among them.
 */
#include "core/base/cpu.h"
#include "ops/math/vector_math_wide.h"

#include <stddef.h>

#if defined(__x86_64__)
#define LANES 2
#define LOAD _mm_load_pd
#define STORE _mm_store_pd
#define ONE_LANE _mm_set1_pd
#define FIRST_LANE _mm_cvtsd_f64
#define SLEEF(name, bound) Sleef_cinz_##name##d2_##bound##sse2
#else
#define LANES 1
#define LOAD(from) (*(from))
#define STORE(to, value) (*(to) = (value))
#define ONE_LANE(x) (x)
#define FIRST_LANE(x) (x)
#define SLEEF(name, bound) Sleef_cinz_##name##d1_##bound##purec
#endif

#include "ops/math/vector_math_loops.def"

#define X(function, name, bound)                                               \
    double eddy__math_##function(double x)                                     \
    {                                                                          \
        return FIRST_LANE(SLEEF(name, bound)(ONE_LANE(x)));                    \
    }
EDDY__MATH_UNARY_MAP(X)
#undef X

#define X(function, name, bound)                                               \
    double eddy__math_##function(double x, double y)                           \
    {                                                                          \
        return FIRST_LANE(SLEEF(name, bound)(ONE_LANE(x), ONE_LANE(y)));       \
    }
EDDY__MATH_BINARY_MAP(X)
#undef X

const eddy__math_loop *eddy__math_loops_of(int width)
{
    const eddy__vectors vectors = eddy__cpu_vectors();

    if (width == 0)
        return math_loops;
    if (width == 1)
        return vectors >= EDDY__VECTORS_AVX ? eddy__math_loops_avx() : NULL;
    return vectors >= EDDY__VECTORS_AVX512 ? eddy__math_loops_avx512() : NULL;
}

const eddy__math_loop *eddy__math_loops(void)
{
    const eddy__math_loop *loops = NULL;

    for (int width = EDDY__MATH_WIDTHS - 1; width > 0 && !loops; width--)
        loops = eddy__math_loops_of(width);
    return loops ? loops : math_loops;
}
