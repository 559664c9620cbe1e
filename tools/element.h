/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One element of a numeric tensor, apart from its dtype: read, stored with a
 * check of the range, and written as text.  What one function writes, another
 * reads back to the same bits.
 */
#ifndef EDDY_TOOLS_ELEMENT_H
#define EDDY_TOOLS_ELEMENT_H

#include "eddy/tensor.h"

typedef enum eddy__number_kind {
    EDDY__NUMBER_BOOL,    /* magnitude 0 or 1 */
    EDDY__NUMBER_INTEGER, /* a sign and a magnitude: int64 and uint64 alike */
    EDDY__NUMBER_REAL,    /* re */
    EDDY__NUMBER_COMPLEX  /* re and im */
} eddy__number_kind;

typedef struct eddy__number {
    eddy__number_kind kind;
    bool negative;
    uint64_t magnitude;
    double re, im;
} eddy__number;

/* Enough for every element's text and its NUL. */
#define EDDY__ELEMENT_TEXT 96

/* True if the dtype has elements that are numbers or booleans. */
bool eddy__element_is_numeric(eddy_dtype dtype);

/* The element at `i`.  Requires: a numeric dtype. */
eddy__number eddy__element_load(eddy_dtype dtype, const void *data, int64_t i);

/*
 * Stores `number` at `i`; NULL, or why it does not fit, to be read after the
 * number: "is outside the range of int8".  Reals are rounded to the dtype;
 * integers must be whole and booleans 0 or 1.
 */
const char *eddy__element_store(const eddy__number *number, eddy_dtype dtype,
                                void *data, int64_t i);

/*
 * Writes the element at `i` as in JSON, with as many digits as it takes to read
 * the same value back; NaN, Infinity and -Infinity bare, a complex number as
 * the string "1.5-2j".
 */
void eddy__element_text(eddy_dtype dtype, const void *data, int64_t i,
                        char text[EDDY__ELEMENT_TEXT]);

#endif
