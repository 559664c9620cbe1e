/* SPDX-License-Identifier: Apache-2.0 */
/* Sigmoid and Tanh of float32 by vectors: what squash_loops.def wants of each.
 */
#include "ops/math/squash.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include "ops/math/float_math.h"

#include <immintrin.h>
#include <string.h>

#define NAME(name) eddy__squash_wide_##name
#define TARGET __attribute__((target("avx2,fma")))
#define FLOATS __m256
#define DOUBLES __m256d
#define LANES 8
#define WIDE 2
#define LOAD _mm256_loadu_ps
#define STORE _mm256_storeu_ps
#define EACH _mm256_set1_ps
#define MORE _mm256_max_ps
#define MINUS(x) _mm256_or_ps(x, EACH(-0.0f))
#define SIGNED(x, sign)                                                        \
    _mm256_or_ps(_mm256_andnot_ps(EACH(-0.0f), x),                             \
                 _mm256_and_ps(EACH(-0.0f), sign))
#define ONE_NAN(y, x)                                                          \
    _mm256_blendv_ps(y, EACH(NAN), _mm256_cmp_ps(x, x, _CMP_UNORD_Q))
#define ADD_FLOATS _mm256_add_ps
#define LOW(x) _mm256_cvtps_pd(_mm256_castps256_ps128(x))
#define HIGH(x) _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1))
#define JOIN(low, high)                                                        \
    _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low))
#define NEAR_INVERSE(x)                                                        \
    _mm256_cvtps_pd(_mm_div_ps(_mm_set1_ps(1), _mm256_cvtpd_ps(x)))
#define INTEGERS(x, half)                                                      \
    ((half) ? _mm256_extracti128_si256(_mm256_castps_si256(x), 1)              \
            : _mm256_castsi256_si128(_mm256_castps_si256(x)))
#define MUL_BELOW(x, half, a, b)                                               \
    _mm256_blendv_pd(                                                          \
        a, MUL(a, b),                                                          \
        _mm256_castsi256_pd(_mm256_cvtepi32_epi64(INTEGERS(x, half))))
#define ALL _mm256_set1_pd
#define ADD _mm256_add_pd
#define SUB _mm256_sub_pd
#define MUL _mm256_mul_pd
#define FMA _mm256_fmadd_pd
#define FMS _mm256_fmsub_pd
#define FNMA _mm256_fnmadd_pd
#define RAISE(x)                                                               \
    _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_castpd_si256(x), 52))
#include "ops/math/squash_loops.def"

#define NAME(name) eddy__squash_widest_##name
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define FLOATS __m512
#define DOUBLES __m512d
#define LANES 16
#define WIDE 2
#define LOAD _mm512_loadu_ps
#define STORE _mm512_storeu_ps
#define EACH _mm512_set1_ps
#define MORE _mm512_max_ps
#define MINUS(x) _mm512_or_ps(x, EACH(-0.0f))
#define SIGNED(x, sign)                                                        \
    _mm512_or_ps(_mm512_andnot_ps(EACH(-0.0f), x),                             \
                 _mm512_and_ps(EACH(-0.0f), sign))
#define ONE_NAN(y, x)                                                          \
    _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), y, EACH(NAN))
#define ADD_FLOATS _mm512_add_ps
#define LOW(x) _mm512_cvtps_pd(_mm512_castps512_ps256(x))
#define HIGH(x) _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1))
#define JOIN(low, high)                                                        \
    _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)),           \
                       _mm512_cvtpd_ps(high), 1)
#define NEAR_INVERSE(x)                                                        \
    _mm512_cvtps_pd(_mm256_div_ps(_mm256_set1_ps(1), _mm512_cvtpd_ps(x)))
#define MUL_BELOW(x, half, a, b)                                               \
    _mm512_mask_mul_pd(                                                        \
        a,                                                                     \
        (__mmask8)(_mm512_movepi32_mask(_mm512_castps_si512(x)) >>             \
                   8 * (half)),                                                \
        a, b)
#define ALL _mm512_set1_pd
#define ADD _mm512_add_pd
#define SUB _mm512_sub_pd
#define MUL _mm512_mul_pd
#define FMA _mm512_fmadd_pd
#define FMS _mm512_fmsub_pd
#define FNMA _mm512_fnmadd_pd
#define RAISE(x)                                                               \
    _mm512_castsi512_pd(_mm512_slli_epi64(_mm512_castpd_si512(x), 52))
#include "ops/math/squash_loops.def"

#endif
