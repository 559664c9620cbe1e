/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors, shapes and texts as lines for people and for other programs. */
#ifndef EDDY_TOOLS_FORMAT_H
#define EDDY_TOOLS_FORMAT_H

#include "eddy/tensor.h"

#include <stdio.h>

/* Enough for the index of an element and its NUL. */
#define EDDY__INDEX_TEXT (EDDY_MAX_RANK * 21 + 3)

/* Where element `i` of a tensor of this shape is: "[0,2]", "[]" at rank 0. */
void eddy__format_index(const eddy_shape *shape, int64_t i,
                        char text[EDDY__INDEX_TEXT]);

/* "[2,3]", "[]" at rank 0; unknown dimensions and ranks as "?". */
void eddy__format_shape(FILE *stream, const eddy_shape *shape);

/* The bytes as a JSON string; what is not UTF-8 becomes U+FFFD. */
void eddy__format_string(FILE *stream, eddy_string string);

/* A name as it is if it can be printed so, else as a JSON string. */
void eddy__format_name(FILE *stream, const char *name);

/* Element `i`, as JSON where JSON can say it. */
void eddy__format_element(FILE *stream, const eddy_tensor *tensor, int64_t i);

/* All elements as nested lists, in one line without its newline. */
void eddy__format_values(FILE *stream, const eddy_tensor *tensor);

#endif
