/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with the flag that lets the compiler use such vectors. */
#include "ops/math/vector_math_wide.h"

#include <stddef.h>

#if defined(__AVX__)

#define LANES 4
#define LOAD _mm256_load_pd
#define STORE _mm256_store_pd
#define SLEEF(name, bound) Sleef_cinz_##name##d4_##bound##avx

#include "ops/math/vector_math_loops.def"

const eddy__math_loop *eddy__math_loops_avx(void)
{
    return math_loops;
}

#else

const eddy__math_loop *eddy__math_loops_avx(void)
{
    return NULL;
}

#endif
