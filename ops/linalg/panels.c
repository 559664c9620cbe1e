/* SPDX-License-Identifier: Apache-2.0 */
/* Products of few rows by panels of 32 columns (panels.h). */
#include "ops/linalg/panels.h"

#include "core/base/cpu.h"
#include "core/base/status.h"
#include "core/value/tensor.h"

#include <string.h>

#define COLUMNS 32
#define LEAST_ROWS 3
#define MOST_ROWS 32
#define LEAST_INNER 64
#define MOST_INNER 256
/* A distance of rows that falls into few lines of the cache. */
#define BAD_STRIDE 512
/* Elements of which a plan may keep a second copy. */
#define MOST_ELEMENTS ((int64_t)1 << 20)

void eddy__panels_make(const eddy__product *p, float *out)
{
    const int64_t step = eddy__product_row_b(p);

    for (int64_t column = 0; column < p->n; column += COLUMNS)
        for (int64_t i = 0; i < p->k; i++, out += COLUMNS)
            memcpy(out, (const float *)p->b + i * step + column,
                   COLUMNS * sizeof *out);
}

eddy_status eddy__panels_prepare(eddy_infer *infer, bool transpose_a,
                                 bool transpose_b, const float **out_panels)
{
    const eddy_tensor *b = infer->constants ? infer->constants[1] : NULL;
    const eddy_shape *a = &infer->inputs[0];
    eddy__product p = {.transpose_a = transpose_a, .transpose_b = transpose_b};
    float *panels;

    *out_panels = NULL;
    if (!b || b->dtype != EDDY_FLOAT32 || b->shape.rank != 2 || a->rank != 2)
        return EDDY_OK;
    p.m = a->dims[transpose_a];
    p.k = b->shape.dims[0];
    p.n = b->shape.dims[1];
    p.b = b->data;
    if (!eddy__panels_pay(&p))
        return EDDY_OK;
    panels =
        eddy__arena_allocate(infer->arena, (size_t)(p.k * p.n), sizeof *panels);
    if (!panels)
        return eddy__fail_memory(infer->err);
    eddy__panels_make(&p, panels);
    *out_panels = panels;
    return EDDY_OK;
}

#if defined(__x86_64__)

#include <immintrin.h>

/* Rows of the first factor that are summed at a time. */
#define TILE 8

/* What one tile reads and writes: a panel, and so many rows. */
typedef struct tile {
    const float *a;
    int64_t row_a, step_a;
    const float *panel;
    int64_t k;
    float *out;
    int64_t row_out;
} tile;

/* Inlined with a number of rows that is known, so that sums are registers. */
__attribute__((target("avx512f"), always_inline)) static inline void
sum_rows(const tile *t, const int rows)
{
    __m512 sum[TILE][2];

#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
        sum[r][0] = sum[r][1] = _mm512_setzero_ps();
    for (int64_t i = 0; i < t->k; i++) {
        const __m512 low = _mm512_loadu_ps(t->panel + i * COLUMNS);
        const __m512 high = _mm512_loadu_ps(t->panel + i * COLUMNS + 16);

#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            const __m512 x = _mm512_set1_ps(t->a[r * t->row_a + i * t->step_a]);

            sum[r][0] = _mm512_fmadd_ps(x, low, sum[r][0]);
            sum[r][1] = _mm512_fmadd_ps(x, high, sum[r][1]);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        _mm512_storeu_ps(t->out + r * t->row_out, sum[r][0]);
        _mm512_storeu_ps(t->out + r * t->row_out + 16, sum[r][1]);
    }
}

__attribute__((target("avx512f"))) static void sum_tile(const tile *t,
                                                        int64_t rows)
{
    switch (rows) {
    case 1:
        sum_rows(t, 1);
        break;
    case 2:
        sum_rows(t, 2);
        break;
    case 3:
        sum_rows(t, 3);
        break;
    case 4:
        sum_rows(t, 4);
        break;
    case 5:
        sum_rows(t, 5);
        break;
    case 6:
        sum_rows(t, 6);
        break;
    case 7:
        sum_rows(t, 7);
        break;
    default:
        sum_rows(t, 8);
        break;
    }
}

bool eddy__panels_pay(const eddy__product *p)
{
    return p->m >= LEAST_ROWS && p->m <= MOST_ROWS && p->k >= LEAST_INNER &&
           p->k <= MOST_INNER && p->n > 0 && p->n <= MOST_ELEMENTS / p->k &&
           p->n % BAD_STRIDE == 0 && !p->transpose_b && !p->adds &&
           eddy__cpu_vectors() >= EDDY__VECTORS_AVX512;
}

void eddy__panels_multiply(const eddy__product *p, const float *panels)
{
    const int64_t row_a = eddy__product_row_a(p);
    tile t = {
        .row_a = p->transpose_a ? 1 : row_a,
        .step_a = p->transpose_a ? row_a : 1,
        .k = p->k,
        .row_out = eddy__product_row_out(p),
    };

    for (int64_t column = 0; column < p->n; column += COLUMNS) {
        t.panel = panels + column * p->k;
        for (int64_t row = 0; row < p->m; row += TILE) {
            t.a = (const float *)p->a + row * t.row_a;
            t.out = (float *)p->out + row * t.row_out + column;
            sum_tile(&t, p->m - row < TILE ? p->m - row : TILE);
        }
    }
}

#else

bool eddy__panels_pay(const eddy__product *p)
{
    (void)p;
    return false;
}

void eddy__panels_multiply(const eddy__product *p, const float *panels)
{
    (void)p;
    (void)panels;
}

#endif
