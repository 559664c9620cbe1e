/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of arrays, in loops, that one scatter has filled. */
#ifndef EDDY_AUTODIFF_ARRAY_READS_H
#define EDDY_AUTODIFF_ARRAY_READS_H

#include "autodiff/study.h"

/*
 * If the ys are in a loop: puts a Gather of the tensor in place of each read,
 * that they come from, of an array which that tensor has filled; but what is
 * asked for keeps its nodes.  Not while a construct is open.
 */
eddy_status eddy__array_reads_gather(eddy_graph *graph, const char *prefix,
                                     const eddy__asked *asked, eddy_error *err);

#endif
