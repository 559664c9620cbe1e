/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop over time whose step reads items of sequences and earlier values of
 * its own outputs by taps: what tap -2 gives step t is the item, or the value,
 * of step t - 2.
 *
 * Sequences are TensorArrays; the past of an output, as far back as its taps
 * reach, is a shift register of loop variables; every output is written to a
 * TensorArray too, which is pruned where only the last value is used.
 */
#ifndef EDDY_FRONTENDS_TAPS_H
#define EDDY_FRONTENDS_TAPS_H

#include "core/base/memory.h"
#include "frontends/shared/writer.h"

/* How far back the taps of an output may reach. */
#define EDDY__MAX_PAST 1024

/* A sequence. */
typedef struct eddy__tapped_input {
    eddy_output value; /* items along its first dimension */
    const int64_t *taps;
    size_t n_taps;

    int64_t before, after; /* how far the taps reach */
    eddy__sequence items;
    int64_t known_steps; /* that it has items for, */
    eddy_output steps;   /* or if that is -1 the same, int32 */
    eddy_output last;    /* steps - 1, for going backward */
} eddy__tapped_input;

/* An output; with an initial value its taps are all negative. */
typedef struct eddy__tapped_output {
    const eddy_output *initial; /* NULL: it is not read by later steps */
    bool has_rows; /* that is a row for each value before the first step */
    const int64_t *taps;
    size_t n_taps;

    size_t n_past, first; /* its registers: so many, from this one on */
    eddy__sequence rows;
    eddy_dtype dtype; /* of an initial value */
    eddy_shape item;  /* what is known of a value's shape */
    /* The results: all values, and the newest, where there is a past. */
    eddy_output stacked, newest;
} eddy__tapped_output;

/* What a step computes from: the taps of inputs, those of outputs, the rest. */
typedef struct eddy__taps_now {
    const eddy_output *args;
    size_t n_args;
    eddy_output time; /* the number of the step, int32 */
} eddy__taps_now;

/* There is room for one output more than there are. */
typedef eddy_status (*eddy__taps_step)(eddy_graph *graph, void *user,
                                       const eddy__taps_now *now,
                                       eddy_output *out_outputs,
                                       eddy_output *out_until, eddy_error *err);

typedef struct eddy__taps {
    const char *name; /* of the loop; not NULL */
    eddy__taps_step step;
    void *user;
    eddy__tapped_input *inputs;
    size_t n_inputs;
    eddy__tapped_output *outputs;
    size_t n_outputs;
    const eddy_output *rest; /* handed to every step */
    size_t n_rest;
    const eddy_output *n_steps; /* NULL: as many as the inputs have items for */
    int64_t parallel_iterations;
    int64_t truncate; /* 0: all steps have gradients, else only so many last */
    bool is_backward, has_until;
    bool is_strict; /* nothing but `rest` comes in from outside */
    /*
     * NULL, or how many of the items, of as many sequences as the first
     * dimension of every value says, count (int32): in the other steps the past
     * of a sequence stays as it is, and its rows are zeros.
     */
    const eddy_output *lengths;

    /* The result: how many steps were taken. */
    eddy_output n_taken;

    /* The state of the call that builds it. */
    eddy_emitter w;
    eddy__arena arena;
    size_t n_past, n_args;
    eddy_output steps; /* at most, int32 */
} eddy__taps;

/*
 * Builds the loop and fills in the results.  The caller takes the graph back if
 * it fails.  Errors name the loop and the node.
 */
eddy_status eddy__taps_build(eddy_graph *graph, eddy__taps *t, eddy_error *err);

/* ---- taps_steps.c ---- */

/* The sequences as TensorArrays, and the number of steps. */
void eddy__taps_prepare_inputs(eddy__taps *t);

/* ---- taps_loop.c ---- */

/* A stretch of the steps. */
typedef struct eddy__span {
    eddy_output first, end; /* int32; `end` is captured */
    bool stops;             /* as soon as a step says so */
    eddy_output *past;      /* the registers before it, then after it */
    eddy_output *flows;     /* of the outputs' rows, likewise */
    eddy_output at;         /* the step after the last that was taken */
} eddy__span;

/* Adds a loop that takes the steps. */
void eddy__taps_add_loop(eddy__taps *t, eddy__span *span);

/* ---- small things ---- */

eddy_output eddy__taps_row(eddy_emitter *w, eddy_output rows,
                           eddy_output index);

/* Fails at the node of `value`. */
void eddy__taps_fail(eddy_emitter *w, eddy_output value, eddy_detail detail,
                     const char *format, ...) EDDY_PRINTF(4, 5);

#endif
