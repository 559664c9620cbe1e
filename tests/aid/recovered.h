/* SPDX-License-Identifier: Apache-2.0 */
/* What an analysis says of a graph, as texts that tests compare. */
#ifndef EDDY_TESTS_RECOVERED_H
#define EDDY_TESTS_RECOVERED_H

#include "eddy.h"

#include <stddef.h>

/* Appends to `text`; fails the test unless it has room. */
void recovered_append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * The branch from the outside in, a part an enclosing one: "p:1/q:0" is side 0
 * of q inside side 1 of p; an output that is not the first is written "p#2:1".
 * "-" is branch 0.
 */
void recovered_branch(const eddy_graph *graph, const eddy_analysis *analysis,
                      uint32_t branch, char *text, size_t size);

/*
 * "merge from start + step while < limit, trips 3", with " and more" before the
 * comma if something else may end the loop; or "none".
 */
void recovered_counter(const eddy_graph *graph, const eddy_frame *frame,
                       char *text, size_t size);

#endif
