/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libeddy-onednn.so gives to eddy: oneDNN and OpenMP behind one table of
 * functions.  Library and provider are built together; `version` says so.
 */
#ifndef EDDY_OPS_ONEDNN_PROVIDER_H
#define EDDY_OPS_ONEDNN_PROVIDER_H

#include <stdbool.h>
#include <stdint.h>

/* Terms of a product: k rows of `b`, which are `row_b` elements apart. */
typedef struct eddy__onednn_terms {
    int64_t m, n, k;
    const float *a, *b;
    int64_t row_a, row_b, row_out;
    char transpose_a, transpose_b;
    float *out;
    bool adds;
} eddy__onednn_terms;

typedef struct eddy__onednn_provider {
    const char *version; /* EDDY_VERSION_STRING */
    const char *name;    /* oneDNN's own, with its version */
    bool (*multiply)(const eddy__onednn_terms *terms);
    /*
     * The number of OpenMP threads that the calling thread allows: what it was,
     * and setting it.
     */
    int (*get_threads)(void);
    void (*set_threads)(int n);
} eddy__onednn_provider;

/* The one symbol that the library exports, and its file. */
extern const eddy__onednn_provider eddy_onednn_provider;
#define EDDY__ONEDNN_SYMBOL "eddy_onednn_provider"

#endif
