/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses a library or a loop for a product by dtype and shape, and holds the
 * loops.
 */
#include "ops/linalg/product.h"

#include "ops/linalg/choice.h"
#include "ops/linalg/onednn.h"
#include "ops/linalg/tiles.h"
#include "ops/math/elements.h"
#include "ops/math/elementwise.h"
#include "ops/template.h"

#define TILE 64 /* columns of the output that are summed at a time */

/* ---- plain loops ---- */

/* How far it is between elements of the operands. */
typedef struct strides {
    int64_t row_a, column_a, row_b, column_b;
} strides;

static strides strides_of(const eddy__product *p)
{
    return (strides){
        .row_a = p->transpose_a ? 1 : eddy__product_row_a(p),
        .column_a = p->transpose_a ? eddy__product_row_a(p) : 1,
        .row_b = p->transpose_b ? 1 : eddy__product_row_b(p),
        .column_b = p->transpose_b ? eddy__product_row_b(p) : 1,
    };
}

/* Counts `n` elements of which each is a sum of k products; is it to stop? */
static inline bool stop(const eddy__product *p, int64_t n)
{
    return p->kernel && eddy__spent(p->kernel, n * p->k);
}

#define EACH "ops/linalg/product_loops.def"
#define A D
#define B D
#define OUT D
#define SUM EDDY__COMPUTED
#include "ops/each_float.def"
#undef SUM
#define SUM EDDY__WRAPPED
#define D I16
#include EACH
#define D I32
#include EACH
#define D I64
#include EACH
#include "ops/each_unsigned.def"
#undef SUM
#undef OUT
#undef B
#undef A
#define SUM uint32_t
#define OUT I32
#define D I8_I8
#define A I8
#define B I8
#include EACH
#undef B
#undef A
#define D I8_U8
#define A I8
#define B U8
#include EACH
#undef B
#undef A
#define D U8_I8
#define A U8
#define B I8
#include EACH
#undef B
#undef A
#define D U8_U8
#define A U8
#define B U8
#include EACH
#undef B
#undef A
#undef OUT
#undef SUM
#undef EACH

#define MULTIPLY_COMPLEX(D, conj)                                              \
    static eddy__stored_##D conjugated_##D(eddy__stored_##D x, bool conjugate) \
    {                                                                          \
        return conjugate ? conj(x) : x;                                        \
    }                                                                          \
    static void multiply_##D(const eddy__product *p)                           \
    {                                                                          \
        const strides s = strides_of(p);                                       \
        const eddy__stored_##D *a = p->a, *b = p->b;                           \
        eddy__stored_##D *out = p->out;                                        \
                                                                               \
        for (int64_t at = 0; at < p->m * p->n && !stop(p, 1); at++) {          \
            const int64_t row = at / p->n, column = at % p->n;                 \
            eddy__stored_##D sum = 0;                                          \
                                                                               \
            for (int64_t i = 0; i < p->k; i++)                                 \
                sum += eddy__complex_mul_##D(                                  \
                    conjugated_##D(a[row * s.row_a + i * s.column_a],          \
                                   p->conjugate_a),                            \
                    conjugated_##D(b[i * s.row_b + column * s.column_b],       \
                                   p->conjugate_b));                           \
            out[row * eddy__product_row_out(p) + column] = sum;                \
        }                                                                      \
    }

MULTIPLY_COMPLEX(C64, conjf)
MULTIPLY_COMPLEX(C128, conj)

/* ---- which one ---- */

static void whole_F32(const eddy__product *p)
{
    if (eddy__choice_is_onednn(p) && eddy__onednn_multiply(p))
        return;
    /* The other library where one is missing. */
    if (!eddy__gemm_float32(p) && !eddy__onednn_multiply(p))
        multiply_F32(p);
}

static void whole_F64(const eddy__product *p)
{
    if (!eddy__gemm_float64(p))
        multiply_F64(p);
}

static void whole_C64(const eddy__product *p)
{
    if (!eddy__gemm_complex64(p))
        multiply_C64(p);
}

static void whole_C128(const eddy__product *p)
{
    if (!eddy__gemm_complex128(p))
        multiply_C128(p);
}

/*
 * ---- large products in panels, which workers may share, and between which it
 * is asked whether to stop
 */

/*
 * Multiplications of numbers in a panel: some ten milliseconds of one thread.
 * Smaller products go in one piece, but those that are worth two workers in
 * two, or four.  A library may sum in another order in a smaller panel: so
 * which there are follows from the shape alone, as all of a product's bits do,
 * and since it also packs more for smaller ones, they are no smaller.
 */
#define PANEL_VOLUME ((int64_t)1 << 28)
#define PANEL_UNIT INT64_C(64)
#define LEAST_VOLUME ((int64_t)1 << 25)

/* A product that one panel could hold: halved, and halved again. */
static void halve(eddy__product *panel, int64_t volume)
{
    const int64_t wanted = volume == PANEL_VOLUME ? volume / 4 : volume / 2;

    while (panel->m * panel->n * panel->k > wanted) {
        int64_t *side = panel->n >= panel->m ? &panel->n : &panel->m;

        if (*side < 2 * PANEL_UNIT)
            return;
        *side = (*side / 2 + PANEL_UNIT - 1) / PANEL_UNIT * PANEL_UNIT;
    }
}

/* So much of `n` that it and `others` are a panel. */
static int64_t panel_side(int64_t n, int64_t others)
{
    const int64_t side = PANEL_VOLUME / others / PANEL_UNIT * PANEL_UNIT;

    if (side < PANEL_UNIT)
        return n < PANEL_UNIT ? n : PANEL_UNIT;
    return n < side ? n : side;
}

/* Rows and columns about as many, and all of k unless that is very long. */
static eddy__product panel_of(const eddy__product *p)
{
    eddy__product panel = *p;
    const double volume = (double)p->m * (double)p->n * (double)p->k;
    int64_t both = PANEL_VOLUME / p->k, side = PANEL_UNIT;

    if (volume <= (double)PANEL_VOLUME) {
        halve(&panel, p->m * p->n * p->k);
    } else {
        while (side * side * 4 <= both)
            side *= 2;
        panel.m = p->m < side ? p->m : side;
        panel.n = panel_side(p->n, panel.m * p->k);
        panel.m = panel_side(p->m, panel.n * p->k);
        panel.k = panel_side(p->k, panel.m * panel.n);
    }
    panel.row_a = eddy__product_row_a(p);
    panel.row_b = eddy__product_row_b(p);
    panel.row_out = eddy__product_row_out(p);
    return panel;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The panel's product for these rows, columns, and part of the sums. */
static void multiply_panel(const eddy__product *all, eddy__product panel,
                           const int64_t at[3], size_t size,
                           eddy__multiply_fn whole)
{
    const int64_t row = at[0], column = at[1], inner = at[2];
    const int64_t a = panel.transpose_a ? inner * panel.row_a + row
                                        : row * panel.row_a + inner;
    const int64_t b = panel.transpose_b ? column * panel.row_b + inner
                                        : inner * panel.row_b + column;

    panel.m = least(panel.m, all->m - row);
    panel.n = least(panel.n, all->n - column);
    panel.k = least(panel.k, all->k - inner);
    panel.adds = all->adds || inner > 0;
    panel.a = (const unsigned char *)all->a + (size_t)a * size;
    panel.b = (const unsigned char *)all->b + (size_t)b * size;
    panel.out = (unsigned char *)all->out +
                (size_t)(row * panel.row_out + column) * size;
    whole(&panel);
}

/* What workers may do panels of. */
typedef struct panel_work {
    const eddy__product *all;
    eddy__product panel;
    size_t size; /* of an element */
    eddy__multiply_fn whole;
    int64_t across; /* panels beside each other */
} panel_work;

/* All of k for some of the panels of the output. */
static eddy_status multiply_some(eddy_kernel *k, void *arg, int64_t begin,
                                 int64_t end)
{
    const panel_work *w = arg;
    eddy__product panel = w->panel;

    panel.kernel = k; /* this thread's, which plain loops ask */
    for (int64_t i = begin; i < end; i++) {
        int64_t at[3] = {i / w->across * w->panel.m, i % w->across * w->panel.n,
                         0};

        for (; at[2] < w->all->k; at[2] += w->panel.k) {
            if (eddy__spent(k, EDDY__PATIENCE))
                return EDDY_OK;
            multiply_panel(w->all, panel, at, w->size, w->whole);
        }
    }
    return EDDY_OK;
}

static void by_panels(const eddy__product *p, size_t size,
                      eddy__multiply_fn whole)
{
    const double volume = (double)p->m * (double)p->n * (double)p->k;
    panel_work w = {.all = p, .size = size, .whole = whole};

    if (!p->kernel || volume < (double)LEAST_VOLUME) {
        whole(p);
        return;
    }
    w.panel = panel_of(p);
    w.across = (p->n + w.panel.n - 1) / w.panel.n;
    /* It never fails. */
    (void)eddy__parallel_for(p->kernel,
                             (p->m + w.panel.m - 1) / w.panel.m * w.across, 1,
                             multiply_some, &w);
}

/* Multiplications of a small product. */
#define SMALL 128

/*
 * So small that a library's call takes longer than the product.  The linear
 * form does the same in registers (runtime/plan/linear_spread_code.c).
 */
static bool is_small(const eddy__product *p)
{
    return !p->adds && !p->gates && p->m <= SMALL && p->n <= SMALL &&
           p->k <= SMALL && p->m * p->n * p->k <= SMALL;
}

/* Sums along k in order, as multiply_F32 has them. */
#define MULTIPLY_SMALL(D, type)                                                \
    static void multiply_small_##D(const eddy__product *p)                     \
    {                                                                          \
        const strides s = strides_of(p);                                       \
        const int64_t row_out = eddy__product_row_out(p);                      \
        type *out = p->out;                                                    \
                                                                               \
        for (int64_t i = 0; i < p->m; i++)                                     \
            for (int64_t j = 0; j < p->n; j++) {                               \
                const type *a = (const type *)p->a + i * s.row_a;              \
                const type *b = (const type *)p->b + j * s.column_b;           \
                type sum = 0;                                                  \
                                                                               \
                for (int64_t k = 0; k < p->k; k++)                             \
                    sum += a[k * s.column_a] * b[k * s.row_b];                 \
                out[i * row_out + j] = sum;                                    \
            }                                                                  \
    }

MULTIPLY_SMALL(F32, float)
MULTIPLY_SMALL(F64, double)

static void library_F32(const eddy__product *p)
{
    if (is_small(p))
        multiply_small_F32(p);
    else if (eddy__tiles_take(p))
        eddy__tiles_multiply(p);
    else
        by_panels(p, sizeof(float), whole_F32);
}

static void library_F64(const eddy__product *p)
{
    if (is_small(p))
        multiply_small_F64(p);
    else
        by_panels(p, sizeof(double), whole_F64);
}

static void library_C64(const eddy__product *p)
{
    by_panels(p, sizeof(eddy__complex64), whole_C64);
}

static void library_C128(const eddy__product *p)
{
    by_panels(p, sizeof(eddy__complex128), whole_C128);
}

eddy__multiply_fn eddy__product_of(eddy_dtype dtype)
{
    static const eddy__multiply_fn fns[EDDY_DTYPE_COUNT] = {
        [EDDY_FLOAT16] = multiply_F16,    [EDDY_FLOAT32] = library_F32,
        [EDDY_FLOAT64] = library_F64,     [EDDY_INT16] = multiply_I16,
        [EDDY_INT32] = multiply_I32,      [EDDY_INT64] = multiply_I64,
        [EDDY_UINT8] = multiply_U8,       [EDDY_UINT16] = multiply_U16,
        [EDDY_UINT32] = multiply_U32,     [EDDY_UINT64] = multiply_U64,
        [EDDY_COMPLEX64] = library_C64,   [EDDY_BFLOAT16] = multiply_BF16,
        [EDDY_COMPLEX128] = library_C128,
    };

    return fns[dtype];
}

eddy__multiply_fn eddy__product_bytes_of(eddy_dtype a, eddy_dtype b)
{
    if (a == EDDY_INT8)
        return b == EDDY_INT8    ? multiply_I8_I8
               : b == EDDY_UINT8 ? multiply_I8_U8
                                 : NULL;
    if (a == EDDY_UINT8)
        return b == EDDY_INT8    ? multiply_U8_I8
               : b == EDDY_UINT8 ? multiply_U8_U8
                                 : NULL;
    return NULL;
}

/* ---- batches ---- */

/*
 * Rows of `a` that follow each other over the innermost dimension of the
 * batch, with one `b` for all, are one taller matrix.
 */
static void merge_rows(eddy__products *all)
{
    while (all->rank > 0) {
        const int32_t last = all->rank - 1;

        if (all->one.transpose_a || all->step_b[last] != 0 ||
            all->step_a[last] != all->one.m * all->one.k)
            return;
        all->one.m *= all->dims[last];
        all->rank = last;
    }
}

/* The factors of product `i` of a batch. */
static eddy__product batch_at(const eddy__products *all, int64_t i)
{
    eddy__product one = all->one;
    int64_t a = 0, b = 0, rest = i;

    for (int32_t d = all->rank - 1; d >= 0; d--) {
        a += rest % all->dims[d] * all->step_a[d];
        b += rest % all->dims[d] * all->step_b[d];
        rest /= all->dims[d];
    }
    one.a = (const unsigned char *)one.a + a * (int64_t)all->size_a;
    one.b = (const unsigned char *)one.b + b * (int64_t)all->size_b;
    one.out =
        (unsigned char *)one.out + (size_t)(i * one.m * one.n) * all->size_out;
    return one;
}

/* Workers may do products of a batch. */
static eddy_status multiply_batch(eddy_kernel *k, void *arg, int64_t begin,
                                  int64_t end)
{
    const eddy__products *all = arg;

    for (int64_t i = begin; i < end; i++) {
        eddy__product one = batch_at(all, i);

        one.kernel = one.kernel ? k : NULL;
        if (stop(&one, one.m * one.n))
            break;
        all->multiply(&one);
    }
    return EDDY_OK;
}

void eddy__product_all(const eddy__products *products)
{
    eddy__products all = *products;
    int64_t count = 1, work;
    eddy_kernel *k = all.one.kernel;

    merge_rows(&all);
    for (int32_t d = 0; d < all.rank; d++)
        count *= all.dims[d];
    if (count == 0 || all.one.m == 0 || all.one.n == 0)
        return;
    if (all.one.k == 0) {
        eddy__zero_bytes(k, all.one.out,
                         (size_t)(count * all.one.m * all.one.n) *
                             all.size_out);
        return;
    }
    /* Some tens of multiplications a nanosecond. */
    work = all.one.m * all.one.n / 64 * all.one.k;
    if (k)
        (void)eddy__parallel_for(k, count, eddy__grain(work, 1), multiply_batch,
                                 &all);
    else
        (void)multiply_batch(NULL, &all, 0, count);
}
