/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dnnl_sgemm keeps no state of ours: it has no primitive to make and nothing to
 * cache.  Its kernels are made once, at the first call, by the library itself.
 *
 * oneDNN is behind a provider, which is loaded when it is first asked for;
 * choice.h says who does a product.
 *
 * It runs on as many OpenMP threads as the calling thread allows.  That number
 * belongs to the thread, so it is set to one around the call and then set back:
 * no other thread sees it, and a host that calls eddy finds its own unchanged.
 */
#include "ops/linalg/onednn.h"

#if defined(EDDY_ONEDNN) && defined(__x86_64__)

#include "core/base/cpu.h"
#include "core/base/provider.h"
#include "eddy/version.h"
#include "ops/linalg/onednn_provider.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ---- the provider ---- */

/* The Makefile says it. */
#ifndef EDDY__SOVERSION
#define EDDY__SOVERSION "0"
#endif

#define FILE_NAME "libeddy-onednn.so." EDDY__SOVERSION

static const eddy__onednn_provider missing;

/*
 * A global, since the loader's table of libraries is one too.  Atomic: written
 * by whoever loads first, with release, so that who reads it with acquire sees
 * what the loader has set up.  Two threads at once load the same library and
 * write the same pointer.  NULL: nobody has tried yet.
 */
static _Atomic(const eddy__onednn_provider *) provider;

static const eddy__onednn_provider *get_provider(void)
{
    const eddy__onednn_provider *p =
        atomic_load_explicit(&provider, memory_order_acquire);

    if (p == NULL) {
        p = eddy__provider_load(FILE_NAME, EDDY__ONEDNN_SYMBOL);
        if (p == NULL || strcmp(p->version, EDDY_VERSION_STRING) != 0)
            p = &missing;
        atomic_store_explicit(&provider, p, memory_order_release);
    }
    return p == &missing ? NULL : p;
}

bool eddy__onednn_is_there(void)
{
    return get_provider() != NULL;
}

bool eddy__onednn_name(char *text, size_t size)
{
    const eddy__onednn_provider *p = get_provider();

    if (p == NULL)
        return false;
    (void)snprintf(text, size, "%s", p->name);
    return true;
}

/* ---- the product ---- */

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
 * Copies a panel of the second factor at a time to where its rows are an odd
 * number of cache lines apart.
 */
enum { PANEL_ROWS = 256, PANEL_COLUMNS = 64, PANEL_STRIDE = 80 };

static bool multiply_panel(const eddy__onednn_provider *with,
                           const eddy__onednn_terms *all, int64_t row,
                           int64_t column, float *panel)
{
    const int64_t rows = all->k - row, columns = all->n - column;
    eddy__onednn_terms t = *all;

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
    return with->multiply(&t);
}

static bool multiply_by_panels(const eddy__onednn_provider *with,
                               const eddy__onednn_terms *all)
{
    _Alignas(64) float panel[PANEL_ROWS * PANEL_STRIDE];

    for (int64_t column = 0; column < all->n; column += PANEL_COLUMNS)
        for (int64_t row = 0; row < all->k; row += PANEL_ROWS)
            if (!multiply_panel(with, all, row, column, panel))
                return false;
    return true;
}

/* Fewer rows are not worth the copies; with AVX-512 nobody has measured. */
static bool wants_panels(const eddy__product *p)
{
    return has_bad_stride(p) && p->m >= 8 &&
           eddy__cpu_vectors() < EDDY__VECTORS_AVX512;
}

bool eddy__onednn_multiply(const eddy__product *p)
{
    const eddy__onednn_terms t = {
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
    const eddy__onednn_provider *with = get_provider();
    int threads;
    bool done;

    if (with == NULL)
        return false;
    threads = with->get_threads();
    with->set_threads(1);
    done = wants_panels(p) ? multiply_by_panels(with, &t) : with->multiply(&t);
    with->set_threads(threads);
    return done;
}

#else

bool eddy__onednn_is_there(void)
{
    return false;
}

bool eddy__onednn_multiply(const eddy__product *p)
{
    (void)p;
    return false;
}

bool eddy__onednn_name(char *text, size_t size)
{
    (void)text;
    (void)size;
    return false;
}

#endif
