/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BLAS and LAPACK as the shared library and the command have them: loaded when
 * the first product or decomposition wants them.  blas_linked.c is the other
 * way, for those who link libeddy.a.
 */
#include "ops/linalg/blas.h"
#include "core/base/provider.h"
#include "eddy/version.h"
#include "ops/ops.h"

#include <limits.h>
#include <stdatomic.h>
#include <string.h>

/* The Makefile says it. */
#ifndef EDDY__SOVERSION
#define EDDY__SOVERSION "0"
#endif

#define FILE_NAME "libeddy-openblas.so." EDDY__SOVERSION

static const eddy__blas_provider missing;

/*
 * Globals, since the loader's table of libraries and the threads of OpenBLAS
 * are.  `provider` is NULL until somebody has tried; two threads at once load
 * the same library and write the same pointer.  `threads` is what the host
 * asked for before that, 0 for nothing.  Both are sequentially consistent: who
 * sets the number either finds the provider, or whoever loads it finds the
 * number.
 */
static _Atomic(const eddy__blas_provider *) provider;
static _Atomic(int) threads;

static const eddy__blas_provider *load(void)
{
    const eddy__blas_provider *p =
        eddy__provider_load(FILE_NAME, EDDY__BLAS_SYMBOL);
    int n;

    if (p == NULL || strcmp(p->version, EDDY_VERSION_STRING) != 0)
        p = &missing;
    atomic_store(&provider, p);
    n = atomic_load(&threads);
    if (p != &missing && n > 0)
        p->set_threads(n);
    return p;
}

const eddy__blas_provider *eddy__blas_get(void)
{
    const eddy__blas_provider *p =
        atomic_load_explicit(&provider, memory_order_acquire);

    if (p == NULL)
        p = load();
    return p == &missing ? NULL : p;
}

void eddy__gemm_set_threads(uint32_t n)
{
    const int count = n < INT_MAX ? (int)n : INT_MAX;
    const eddy__blas_provider *p;

    atomic_store(&threads, count);
    p = atomic_load(&provider);
    if (p != NULL && p != &missing)
        p->set_threads(count);
}
