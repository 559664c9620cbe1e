/* SPDX-License-Identifier: Apache-2.0 */
/* Values as texts, the way TensorFlow's Assert and Print show them. */
#ifndef EDDY_OPS_SUMMARY_H
#define EDDY_OPS_SUMMARY_H

#include "core/value/value.h"

/* A line that is put together piece by piece and cut when it is full. */
typedef struct eddy__line {
    size_t length;
    char text[1024];
} eddy__line;

void eddy__line_add(eddy__line *line, const char *format, ...)
    EDDY_PRINTF(2, 3);

/* Long enough for any number that is written so. */
#define EDDY__NUMBER_TEXT 40

/* A number as TensorFlow writes it: with the fewest of 6 or 9 (15 or 17) digits
 * that are read back as the same. */
void eddy__summary_print_float(char text[EDDY__NUMBER_TEXT], float v);
void eddy__summary_print_double(char text[EDDY__NUMBER_TEXT], double v);

/* Adds bytes, of which those that do not print are escaped. */
void eddy__line_add_text(eddy__line *line, const char *text, size_t length);

/*
 * Adds the first `limit` elements of a live value (all of them if it is
 * negative): "1 2 3..." for a vector, "[1 2][3 4]" for a matrix.
 */
void eddy__line_add_value(eddy__line *line, const eddy__value *v,
                          int64_t limit);

#endif
