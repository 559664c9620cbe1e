/*
 * dnnl_sgemm keeps no state of ours: it has no primitive to make and nothing to
 * cache.  Its kernels are made once, at the first call, by the library itself.
 *
 * It runs on as many OpenMP threads as the calling thread allows.  That number
 * belongs to the thread, so it is set to one around the call and then set back:
 * no other thread sees it, and a host that calls eddy finds its own unchanged.
 */
#include "ops/linalg/onednn.h"

#if defined(EDDY_ONEDNN) && defined(__x86_64__)

#include <dnnl.h>
#include <string.h>

/* OpenMP's own header is not where every compiler finds it. */
int omp_get_max_threads(void);
void omp_set_num_threads(int n);

/* ---- which shapes ---- */

/*
 * Rows of the second factor that are a multiple of 2 KiB apart all fall into
 * the same few lines of the cache, where oneDNN reads them as they stand.
 */
#define BAD_STRIDE 512

static bool has_bad_stride(const eddy__product *p)
{
    return !p->transpose_b && eddy__product_row_b(p) % BAD_STRIDE == 0;
}

/*
 * From measurements of one thread; docs/kernels.md has the figures.  Where both
 * use AVX-512, oneDNN is ahead where the first factor has few rows; where it
 * alone does, or both use AVX2, everywhere but in the smallest products.  Those
 * by a vector are BLAS's, unless its vectors are the shorter ones.
 */
static bool is_faster(const eddy__product *p)
{
    const double volume = (double)p->m * (double)p->n * (double)p->k;

    if (!__builtin_cpu_supports("avx512f"))
        return __builtin_cpu_supports("avx2") && p->m > 1 && p->n > 1 &&
               volume >= 0x1p14;
    if (!eddy__gemm_is_wide())
        return p->n > 1 && volume >= 0x1p14;
    return p->m > 1 && p->m <= 32 && p->n >= 64 && p->k >= 64 &&
           volume >= 0x1p18;
}

/* ---- the product ---- */

/* Terms of a product: k rows of `b`, which are `row_b` elements apart. */
typedef struct terms {
    int64_t m, n, k;
    const float *a, *b;
    int64_t row_a, row_b, row_out;
    char transpose_a, transpose_b;
    float *out;
    bool adds;
} terms;

static bool multiply(const terms *t)
{
    return dnnl_sgemm(t->transpose_a, t->transpose_b, t->m, t->n, t->k, 1, t->a,
                      t->row_a, t->b, t->row_b, t->adds ? 1.0F : 0.0F, t->out,
                      t->row_out) == dnnl_success;
}

/*
 * Copies a panel of the second factor at a time to where its rows are an odd
 * number of cache lines apart.
 */
enum { PANEL_ROWS = 256, PANEL_COLUMNS = 64, PANEL_STRIDE = 80 };

static bool multiply_panel(const terms *all, int64_t row, int64_t column,
                           float *panel)
{
    const int64_t rows = all->k - row, columns = all->n - column;
    terms t = *all;

    t.k = rows < PANEL_ROWS ? rows : PANEL_ROWS;
    t.n = columns < PANEL_COLUMNS ? columns : PANEL_COLUMNS;
    t.a += all->transpose_a == 'T' ? row * all->row_a : row;
    t.b = panel;
    t.row_b = PANEL_STRIDE;
    t.out += column;
    t.adds = all->adds || row > 0;
    for (int64_t i = 0; i < t.k; i++)
        memcpy(panel + i * PANEL_STRIDE,
               all->b + (row + i) * all->row_b + column,
               (size_t)t.n * sizeof *panel);
    return multiply(&t);
}

static bool multiply_by_panels(const terms *all)
{
    _Alignas(64) float panel[PANEL_ROWS * PANEL_STRIDE];

    for (int64_t column = 0; column < all->n; column += PANEL_COLUMNS)
        for (int64_t row = 0; row < all->k; row += PANEL_ROWS)
            if (!multiply_panel(all, row, column, panel))
                return false;
    return true;
}

/* Fewer rows are not worth the copies; with AVX-512 nobody has measured. */
static bool wants_panels(const eddy__product *p)
{
    return has_bad_stride(p) && p->m >= 8 && !__builtin_cpu_supports("avx512f");
}

bool eddy__onednn_multiply(const eddy__product *p)
{
    const terms t = {
        .m = p->m,
        .n = p->n,
        .k = p->k,
        .a = p->a,
        .b = p->b,
        .row_a = eddy__product_row_a(p),
        .row_b = eddy__product_row_b(p),
        .row_out = eddy__product_row_out(p),
        .transpose_a = p->transpose_a ? 'T' : 'N',
        .transpose_b = p->transpose_b ? 'T' : 'N',
        .out = p->out,
        .adds = p->adds,
    };
    int threads;
    bool done;

    if (!is_faster(p))
        return false;
    threads = omp_get_max_threads();
    omp_set_num_threads(1);
    done = wants_panels(p) ? multiply_by_panels(&t) : multiply(&t);
    omp_set_num_threads(threads);
    return done;
}

#else

bool eddy__onednn_multiply(const eddy__product *p)
{
    (void)p;
    return false;
}

#endif
