/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The language in which tests write graphs: a line a node,
 *
 *     name Op input... ^control... attr=value...
 *
 * where an input is `name` or `name:index`; one of a Merge and a control may
 * stand further down.  An Enter is written Enter@frame, with `!` after it if it
 * is constant and #n for n parallel iterations.  The value of an attribute is a
 * number, with a point if it is a float, true or false, a dtype (also
 * `%int64`), a shape ([2,?], () or ?), a 'text', a function `@f`, or a list:
 * `[int64,bool]`, `[@f,@g]`, `["a","b"]` or `{1,2}`.  In place of an op there
 * may be
 *
 *     int64=5      float32=1.5      string=a    a Const of rank 0
 *     float32[9]=1.5                            a Const filled with one value
 *     int32[2,3]=1,2,3                          one with several, over and over
 *     ?int64       ?float32[9]                  a Placeholder of that shape
 *
 * A text that is not of this language fails the test.
 */
#ifndef EDDY_TESTS_TEXT_H
#define EDDY_TESTS_TEXT_H

#include "eddy.h"

/*
 * Adds the nodes of `text` to the graph.  Stops at the first that the graph
 * refuses, with its status.
 */
eddy_status text_read(eddy_graph *graph, const char *text, eddy_error *err);

/*
 * The same where every input may stand further down.  An op with a T that no
 * input tells by then has int32.
 */
eddy_status text_read_open(eddy_graph *graph, const char *text,
                           eddy_error *err);

/* `name` or `name:index`; the node is EDDY_NO_NODE if there is none. */
eddy_output text_output(const eddy_graph *graph, const char *word);

/* The dtype of that name, of `length` characters. */
eddy_dtype text_dtype(const char *text, size_t length);

#endif
