/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the words of a generator into numbers of a distribution, group by
 * group.
 */
#include "ops/random/distribution.h"

#include "core/base/status.h"
#include "core/kernel.h"
#include "ops/math/half.h"

#include <math.h>

#define TWO_PI 6.283185307179586
#define LEAST_UNIFORM 1.0e-7 /* what a logarithm is taken of */
#define LEAST_UNIFORMF 1.0e-7f
#define TRUNCATE_AT 2
#define RESERVED 256 /* words set aside for a truncated number */

/* ---- one group ---- */

/* Two normal numbers (Box and Muller) from two words. */
static inline void normal_floats(uint32_t a, uint32_t b, float out[2])
{
    const float u = eddy__distribution_uniform_float(a);
    const float angle =
        (float)(TWO_PI * (double)eddy__distribution_uniform_float(b));
    const float radius =
        sqrtf(-2.0f * logf(u < LEAST_UNIFORMF ? LEAST_UNIFORMF : u));

    out[0] = sinf(angle) * radius;
    out[1] = cosf(angle) * radius;
}

static inline void normal_doubles(const uint32_t words[4], double out[2])
{
    const double u = eddy__distribution_uniform_double(words[0], words[1]);
    const double angle =
        TWO_PI * eddy__distribution_uniform_double(words[2], words[3]);
    const double radius =
        sqrt(-2.0 * log(u < LEAST_UNIFORM ? LEAST_UNIFORM : u));

    out[0] = sin(angle) * radius;
    out[1] = cos(angle) * radius;
}

void eddy__distribution_normal_pair(const uint32_t words[EDDY__PHILOX_WORDS],
                                    double out[2])
{
    normal_doubles(words, out);
}

static inline uint64_t join(const uint32_t words[2])
{
    return words[0] | (uint64_t)words[1] << 32;
}

static inline void uniform_half(const uint32_t *words,
                                const eddy__interval *interval, uint16_t *out)
{
    (void)interval;
    for (int i = 0; i < 4; i++)
        out[i] = eddy__half_from_float((float)(words[i] & 0x3ffu) * 0x1p-10f);
}

static inline void uniform_bfloat(const uint32_t *words,
                                  const eddy__interval *interval, uint16_t *out)
{
    (void)interval;
    for (int i = 0; i < 4; i++)
        out[i] = eddy__bfloat_from_float((float)(words[i] & 0x7fu) * 0x1p-7f);
}

static inline void uniform_float(const uint32_t *words,
                                 const eddy__interval *interval, float *out)
{
    (void)interval;
    for (int i = 0; i < 4; i++)
        out[i] = eddy__distribution_uniform_float(words[i]);
}

static inline void uniform_double(const uint32_t *words,
                                  const eddy__interval *interval, double *out)
{
    (void)interval;
    for (size_t i = 0; i < 2; i++)
        out[i] =
            eddy__distribution_uniform_double(words[2 * i], words[2 * i + 1]);
}

static inline void normal_float(const uint32_t *words,
                                const eddy__interval *interval, float *out)
{
    (void)interval;
    normal_floats(words[0], words[1], out);
    normal_floats(words[2], words[3], out + 2);
}

static inline void normal_half(const uint32_t *words,
                               const eddy__interval *interval, uint16_t *out)
{
    float wide[4];

    normal_float(words, interval, wide);
    for (int i = 0; i < 4; i++)
        out[i] = eddy__half_from_float(wide[i]);
}

static inline void normal_bfloat(const uint32_t *words,
                                 const eddy__interval *interval, uint16_t *out)
{
    float wide[4];

    normal_float(words, interval, wide);
    for (int i = 0; i < 4; i++)
        out[i] = eddy__bfloat_from_float(wide[i]);
}

static inline void normal_double(const uint32_t *words,
                                 const eddy__interval *interval, double *out)
{
    (void)interval;
    normal_doubles(words, out);
}

static inline void uniform_int32(const uint32_t *words,
                                 const eddy__interval *interval, uint32_t *out)
{
    const uint32_t low = (uint32_t)interval->low;
    const uint32_t span = (uint32_t)interval->span;

    for (int i = 0; i < 4; i++)
        out[i] = low + words[i] % span;
}

static inline void uniform_int64(const uint32_t *words,
                                 const eddy__interval *interval, uint64_t *out)
{
    for (size_t i = 0; i < 2; i++)
        out[i] = interval->low + join(words + 2 * i) % interval->span;
}

static inline void full_int32(const uint32_t *words,
                              const eddy__interval *interval, uint32_t *out)
{
    (void)interval;
    for (int i = 0; i < 4; i++)
        out[i] = words[i];
}

static inline void full_int64(const uint32_t *words,
                              const eddy__interval *interval, uint64_t *out)
{
    (void)interval;
    for (size_t i = 0; i < 2; i++)
        out[i] = join(words + 2 * i);
}

/* ---- all groups ---- */

#define DEFINE_FILL(name, type, group)                                         \
    static void fill_##name(eddy_kernel *k, const eddy__philox *start,         \
                            const eddy__interval *interval, void *to,          \
                            int64_t n)                                         \
    {                                                                          \
        eddy__philox p = *start;                                               \
        uint32_t words[EDDY__PHILOX_WORDS];                                    \
        type *out = to, last[group];                                           \
                                                                               \
        for (; n >= (group) && !eddy__spent_at(k, n / (group));                \
             n -= (group), out += (group)) {                                   \
            eddy__philox_next(&p, words);                                      \
            name(words, interval, out);                                        \
        }                                                                      \
        if (n == 0 || n >= (group))                                            \
            return;                                                            \
        eddy__philox_next(&p, words);                                          \
        name(words, interval, last);                                           \
        for (int64_t i = 0; i < n; i++)                                        \
            out[i] = last[i];                                                  \
    }

DEFINE_FILL(uniform_half, uint16_t, 4)
DEFINE_FILL(uniform_bfloat, uint16_t, 4)
DEFINE_FILL(uniform_float, float, 4)
DEFINE_FILL(uniform_double, double, 2)
DEFINE_FILL(normal_half, uint16_t, 4)
DEFINE_FILL(normal_bfloat, uint16_t, 4)
DEFINE_FILL(normal_float, float, 4)
DEFINE_FILL(normal_double, double, 2)
DEFINE_FILL(uniform_int32, uint32_t, 4)
DEFINE_FILL(uniform_int64, uint64_t, 2)
DEFINE_FILL(full_int32, uint32_t, 4)
DEFINE_FILL(full_int64, uint64_t, 2)

/* ---- truncated ---- */

static inline void draw_floats(eddy__philox_words *p, float out[2])
{
    const uint32_t a = eddy__philox_word(p), b = eddy__philox_word(p);

    normal_floats(a, b, out);
}

static inline void draw_doubles(eddy__philox_words *p, double out[2])
{
    uint32_t words[4];

    for (int i = 0; i < 4; i++)
        words[i] = eddy__philox_word(p);
    normal_doubles(words, out);
}

/* Pairs are drawn until a group is full. */
#define DEFINE_TRUNCATED(name, type, number, draw, group, STORE)               \
    static void fill_##name(eddy_kernel *k, const eddy__philox *start,         \
                            const eddy__interval *interval, void *to,          \
                            int64_t n)                                         \
    {                                                                          \
        type *out = to;                                                        \
                                                                               \
        (void)interval;                                                        \
        for (int64_t at = 0; at < n && !eddy__spent(k, 256); at += (group)) {  \
            eddy__philox p = *start;                                           \
            eddy__philox_words words;                                          \
            const int64_t end = n - at < (group) ? n : at + (group);           \
            int64_t i = at;                                                    \
                                                                               \
            eddy__philox_skip(&p,                                              \
                              (uint64_t)at *RESERVED / EDDY__PHILOX_WORDS);    \
            words = eddy__philox_words_of(p);                                  \
            while (i < end) {                                                  \
                number pair[2];                                                \
                                                                               \
                draw(&words, pair);                                            \
                for (int j = 0; j < 2 && i < end; j++)                         \
                    if (pair[j] > -TRUNCATE_AT && pair[j] < TRUNCATE_AT)       \
                        out[i++] = STORE(pair[j]);                             \
            }                                                                  \
        }                                                                      \
    }

DEFINE_TRUNCATED(truncated_half, uint16_t, float, draw_floats, 4,
                 eddy__half_from_float)
DEFINE_TRUNCATED(truncated_bfloat, uint16_t, float, draw_floats, 4,
                 eddy__bfloat_from_float)
DEFINE_TRUNCATED(truncated_float, float, float, draw_floats, 4, )
DEFINE_TRUNCATED(truncated_double, double, double, draw_doubles, 2, )

eddy__fill eddy__distribution_fill_of(eddy__distribution distribution,
                                      eddy_dtype dtype)
{
    static const eddy__fill fills[EDDY__DISTRIBUTIONS][EDDY_DTYPE_COUNT] = {
        [EDDY__UNIFORM] = {[EDDY_FLOAT16] = fill_uniform_half,
                           [EDDY_BFLOAT16] = fill_uniform_bfloat,
                           [EDDY_FLOAT32] = fill_uniform_float,
                           [EDDY_FLOAT64] = fill_uniform_double},
        [EDDY__NORMAL] = {[EDDY_FLOAT16] = fill_normal_half,
                          [EDDY_BFLOAT16] = fill_normal_bfloat,
                          [EDDY_FLOAT32] = fill_normal_float,
                          [EDDY_FLOAT64] = fill_normal_double},
        [EDDY__TRUNCATED_NORMAL] = {[EDDY_FLOAT16] = fill_truncated_half,
                                    [EDDY_BFLOAT16] = fill_truncated_bfloat,
                                    [EDDY_FLOAT32] = fill_truncated_float,
                                    [EDDY_FLOAT64] = fill_truncated_double},
        [EDDY__UNIFORM_INT] = {[EDDY_INT32] = fill_uniform_int32,
                               [EDDY_UINT32] = fill_uniform_int32,
                               [EDDY_INT64] = fill_uniform_int64,
                               [EDDY_UINT64] = fill_uniform_int64},
        [EDDY__FULL_INT] = {[EDDY_INT32] = fill_full_int32,
                            [EDDY_UINT32] = fill_full_int32,
                            [EDDY_INT64] = fill_full_int64,
                            [EDDY_UINT64] = fill_full_int64},
    };

    return fills[distribution][dtype];
}

eddy_status eddy__distribution_output(eddy_kernel *k, const eddy_shape *shape,
                                      void **out_data, int64_t *out_n)
{
    EDDY_TRY(eddy__output(k, 0, (eddy_dtype)k->node->out_dtypes[0], shape,
                          out_data));
    *out_n = shape->rank == 0 ? 1 : eddy__out(k, 0)->as.tensor->count;
    return EDDY_OK;
}

eddy_status eddy__distribution_output_of(eddy_kernel *k, uint32_t from,
                                         void **out_data, int64_t *out_n)
{
    const eddy_view dims = eddy__in_view(k, from);
    eddy_shape shape;

    EDDY_TRY(eddy__shape_from_view(k, &dims, 0, &shape));
    return eddy__distribution_output(k, &shape, out_data, out_n);
}
