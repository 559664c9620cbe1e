/*
 * The loops of vector_math.h, for one width of vectors.  Who includes this
 * defines LANES, LOAD(from), STORE(to, vector) and SLEEF(name, bound), SLEEF's
 * function for such vectors.
 */
#include "ops/vector_math.h"

#include <sleef.h>

#define X(function, name, bound)                                               \
    static void loop_##function(double *x, const double *y, int64_t n)         \
    {                                                                          \
        (void)y;                                                               \
        for (int64_t i = 0; i < n; i += LANES)                                 \
            STORE(x + i, SLEEF(name, bound)(LOAD(x + i)));                     \
    }
EDDY__MATH_UNARY_MAP(X)
#undef X

#define X(function, name, bound)                                               \
    static void loop_##function(double *x, const double *y, int64_t n)         \
    {                                                                          \
        for (int64_t i = 0; i < n; i += LANES)                                 \
            STORE(x + i, SLEEF(name, bound)(LOAD(x + i), LOAD(y + i)));        \
    }
EDDY__MATH_BINARY_MAP(X)
#undef X

static const eddy__math_loop math_loops[EDDY__MATH_COUNT] = {
#define X(function, name, bound) [EDDY__MATH_##function] = loop_##function,
    EDDY__MATH_UNARY_MAP(X) EDDY__MATH_BINARY_MAP(X)
#undef X
};
