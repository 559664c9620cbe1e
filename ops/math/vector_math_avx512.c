/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled with the flag that lets the compiler use such vectors. */
#include "ops/math/vector_math_wide.h"

#include <stddef.h>

#if defined(__AVX512F__)

#define LANES 8
#define LOAD _mm512_load_pd
#define STORE _mm512_store_pd
#define SLEEF(name, bound) Sleef_cinz_##name##d8_##bound##avx512fnofma

#include "ops/math/vector_math_loops.def"

const eddy__math_loop *eddy__math_loops_avx512(void)
{
    return math_loops;
}

#else

const eddy__math_loop *eddy__math_loops_avx512(void)
{
    return NULL;
}

#endif
