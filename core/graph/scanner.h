/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the words, numbers and marks of an op signature.  Space between them
 * does not matter.  What fails says at which offset.
 */
#ifndef EDDY_CORE_SCANNER_H
#define EDDY_CORE_SCANNER_H

#include "eddy/tensor.h"

#include <stddef.h>

typedef struct eddy__scanner {
    const char *op; /* the op and the part of its signature, for messages */
    const char *part;
    const char *text;
    const char *at;   /* what is read next */
    const char *last; /* where what was read last began */
    eddy_error *err;
} eddy__scanner;

/* A name; of length 0 where there is none. */
typedef struct eddy__word {
    const char *text;
    size_t length;
} eddy__word;

bool eddy__word_is(eddy__word word, const char *text);

/* True, and past it, if `mark` is next. */
bool eddy__scan(eddy__scanner *in, char mark);
bool eddy__scan_end(eddy__scanner *in);

/* Letters, digits and '_', not starting with a digit. */
eddy__word eddy__scan_word(eddy__scanner *in);

/* False, at the same place, if no number that fits is next. */
bool eddy__scan_int(eddy__scanner *in, int64_t *out);
bool eddy__scan_float(eddy__scanner *in, float *out);

/* What stands between single quotes; it has no escapes. */
bool eddy__scan_quoted(eddy__scanner *in, eddy_string *out);

/* EDDY_E_OP_SPEC at what was read last: "expected `wanted`". */
eddy_status eddy__scanner_fail(const eddy__scanner *in, const char *wanted);

#endif
