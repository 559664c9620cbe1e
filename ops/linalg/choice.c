/* SPDX-License-Identifier: Apache-2.0 */
/* Times both libraries once a class of products and process (choice.h). */
#include "ops/linalg/choice.h"

#include "core/base/thread.h"
#include "ops/linalg/blas.h"
#include "ops/linalg/onednn.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is asked for ---- */

eddy__maker eddy__choice_named(const char *name)
{
    if (name && strcmp(name, "openblas") == 0)
        return EDDY__MAKER_OPENBLAS;
    if (name && strcmp(name, "onednn") == 0)
        return EDDY__MAKER_ONEDNN;
    return EDDY__MAKER_FASTER;
}

static eddy__maker asked_for(void)
{
    /* One more than the answer; two threads that ask first find the same. */
    static atomic_int known;
    int answer = atomic_load_explicit(&known, memory_order_relaxed);

    if (answer == 0) {
        answer = 1 + (int)eddy__choice_named(getenv("EDDY_PRODUCTS"));
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return (eddy__maker)(answer - 1);
}

/* ---- classes ---- */

/* A class goes from `least` multiplications to those of the next of its kind.
 */
typedef struct class_row {
    int64_t least;
    int64_t m, n, k; /* what stands for it */
    uint32_t products, rounds;
} class_row;

typedef struct kind {
    size_t first, count;
} kind;

/* clang-format off */
static const class_row classes[] = {
    /* one row */
    {INT64_C(1) << 14,   1, 256,  128, 32, 5},
    {INT64_C(1) << 17,   1, 512,  512,  8, 5},
    /* few rows, or few columns */
    {INT64_C(1) << 14,  32,  16,   64, 32, 5},
    {INT64_C(1) << 17,  64,  16,  256,  4, 5},
    {INT64_C(1) << 20, 128,  16, 1024,  1, 5},
    /* others */
    {INT64_C(1) << 14,  40,  40,   40, 16, 5},
    {INT64_C(1) << 17,  64,  64,   64,  4, 5},
    {INT64_C(1) << 20, 128, 128,  128,  1, 5},
    {INT64_C(1) << 23, 256, 256,  256,  1, 3},
};
/* clang-format on */

#define N_CLASSES (sizeof classes / sizeof classes[0])
#define FEW 32

static const kind one_row = {0, 2}, few = {2, 3}, others = {5, 4};

size_t eddy__choice_count(void)
{
    return N_CLASSES;
}

size_t eddy__choice_class(int64_t m, int64_t n, int64_t k)
{
    const double volume = (double)m * (double)n * (double)k;
    const kind of = m == 1 ? one_row : m < FEW || n < FEW ? few : others;
    size_t found = N_CLASSES;

    if (n == 1)
        return N_CLASSES;
    for (size_t i = of.first; i < of.first + of.count; i++)
        if (volume >= (double)classes[i].least)
            found = i;
    return found;
}

/* ---- times ---- */

/*
 * Nanoseconds by OpenBLAS in the upper half, by oneDNN in the lower one; 0:
 * nobody has measured yet.  Of two threads that measure at once the first one's
 * figures are everybody's.
 */
static _Atomic(uint64_t) known[N_CLASSES];

static uint32_t time_products(const eddy__product *p, uint32_t n,
                              bool (*multiply)(const eddy__product *product))
{
    const uint64_t begin = eddy__clock_now_ns();
    uint64_t ns;

    for (uint32_t i = 0; i < n; i++)
        (void)multiply(p);
    ns = eddy__clock_now_ns() - begin;
    return ns == 0 ? 1 : ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

/* The least of some rounds, since what else the machine does only adds. */
static uint64_t time_both(const class_row *row, const eddy__product *p)
{
    uint32_t best[2] = {UINT32_MAX, UINT32_MAX};

    for (uint32_t i = 0; i < row->rounds; i++) {
        const uint32_t ns[2] = {
            time_products(p, row->products, eddy__gemm_float32),
            time_products(p, row->products, eddy__onednn_multiply)};

        for (int k = 0; k < 2; k++)
            best[k] = ns[k] < best[k] ? ns[k] : best[k];
    }
    return (uint64_t)best[0] << 32 | best[1];
}

/* Without memory both count as equal. */
static uint64_t measure(const class_row *row)
{
    const int64_t n_a = row->m * row->k, n_b = row->k * row->n;
    const size_t n = (size_t)(n_a + n_b + row->m * row->n);
    float *all = malloc(n * sizeof *all);
    uint64_t times = UINT64_C(1) << 32 | 1;

    for (size_t i = 0; all && i < n; i++)
        all[i] = (float)(i % 7) * 0.125F;
    if (all)
        times = time_both(row, &(eddy__product){.m = row->m,
                                                .n = row->n,
                                                .k = row->k,
                                                .a = all,
                                                .b = all + n_a,
                                                .out = all + n_a + n_b});
    free(all);
    return times;
}

static void write_times(size_t id, uint64_t times, eddy__choice_times *out)
{
    const class_row *row = &classes[id];

    *out = (eddy__choice_times){.m = row->m,
                                .n = row->n,
                                .k = row->k,
                                .products = row->products,
                                .openblas_ns = (uint32_t)(times >> 32),
                                .onednn_ns = (uint32_t)times};
}

bool eddy__choice_known(size_t id, eddy__choice_times *out)
{
    const uint64_t times =
        atomic_load_explicit(&known[id], memory_order_relaxed);

    write_times(id, times, out);
    return times != 0;
}

bool eddy__choice_measure(size_t id, eddy__choice_times *out)
{
    uint64_t before = 0, times;

    if (eddy__choice_known(id, out))
        return true;
    if (!eddy__onednn_is_there() || eddy__blas_get() == NULL)
        return false;
    times = measure(&classes[id]);
    if (!atomic_compare_exchange_strong_explicit(&known[id], &before, times,
                                                 memory_order_relaxed,
                                                 memory_order_relaxed))
        times = before;
    write_times(id, times, out);
    return true;
}

/* ---- the choice ---- */

/* By a twentieth at least: so it is seldom up to what else goes on. */
bool eddy__choice_prefers_onednn(const eddy__choice_times *times)
{
    return (uint64_t)times->onednn_ns * 20 < (uint64_t)times->openblas_ns * 19;
}

bool eddy__choice_is_onednn(const eddy__product *p)
{
    const eddy__maker asked = asked_for();
    const size_t id = eddy__choice_class(p->m, p->n, p->k);
    eddy__choice_times times;

    if (asked != EDDY__MAKER_FASTER)
        return asked == EDDY__MAKER_ONEDNN;
    return id < N_CLASSES && eddy__choice_measure(id, &times) &&
           eddy__choice_prefers_onednn(&times);
}

/* One class, such as "128x128x128 oneDNN (24.6 us, OpenBLAS 34.9)". */
static int print_class(char *text, size_t size, const eddy__choice_times *t)
{
    const bool is_onednn = eddy__choice_prefers_onednn(t);
    const double unit = 1e3 * (double)t->products;
    const double ours = is_onednn ? t->onednn_ns : t->openblas_ns;
    const double others_ns = is_onednn ? t->openblas_ns : t->onednn_ns;

    return snprintf(text, size, "%lldx%lldx%lld %s (%.1f us, %s %.1f)",
                    (long long)t->m, (long long)t->n, (long long)t->k,
                    is_onednn ? "oneDNN" : "OpenBLAS", ours / unit,
                    is_onednn ? "OpenBLAS" : "oneDNN", others_ns / unit);
}

void eddy__choice_format(char *text, size_t size)
{
    const eddy__maker asked = asked_for();
    size_t length = 0;

    (void)snprintf(text, size, "%s",
                   asked == EDDY__MAKER_OPENBLAS ? "OpenBLAS, as asked for"
                   : asked == EDDY__MAKER_ONEDNN ? "oneDNN, as asked for"
                                                 : "nothing measured");
    for (size_t i = 0; asked == EDDY__MAKER_FASTER && i < N_CLASSES; i++) {
        eddy__choice_times t;
        char one[96];
        int n;

        if (!eddy__choice_known(i, &t))
            continue;
        n = print_class(one, sizeof one, &t);
        if (n < 0 || length + (size_t)n + 3 > size)
            return;
        (void)snprintf(text + length, size - length, "%s%s",
                       length > 0 ? "; " : "", one);
        length = strlen(text);
    }
}
