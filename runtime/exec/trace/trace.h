/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a trace holds, and what engines tell it.  Main invariant: a record is
 * added when a node's outputs are there and nobody has read them, and gets its
 * end when what the node makes ready has been queued (eddy__trace_done).
 * @thread the run's driver
 */
#ifndef EDDY_EXEC_TRACE_TRACE_H
#define EDDY_EXEC_TRACE_TRACE_H

#include "eddy/explain.h"
#include "runtime/exec/run.h"
#include "runtime/exec/trace/ticks.h"

#define EDDY__TRACE_THREADS 256

/* Summaries of outputs, of as many records as there is room for. */
typedef struct eddy__trace_block {
    struct eddy__trace_block *spare; /* the next one that nobody uses */
    uint32_t n_users, used, room;
    eddy_trace_value values[];
} eddy__trace_block;

/* What a record has kept of its outputs: n_values of it, in `block`. */
typedef struct eddy__trace_values {
    eddy__trace_block *block;
    eddy_trace_value *first;
} eddy__trace_values;

/* Records lie in chunks, which never move; `values` is only of those that have
 * some. */
#define EDDY__TRACE_CHUNK 512

typedef struct eddy__trace_chunk {
    eddy_trace_record records[EDDY__TRACE_CHUNK];
    eddy__trace_values values[EDDY__TRACE_CHUNK];
} eddy__trace_chunk;

struct eddy_trace {
    eddy_plan *plan; /* a reference */
    const eddy_allocator *allocator;
    eddy_trace_options options; /* names copied */

    /* Of the plan; immutable. */
    bool is_plain; /* no values, no limits, no host: all tokens are alike */
    eddy__arena arena;
    eddy_trace_node *nodes;
    eddy_trace_static_frame *static_frames;
    uint8_t *wanted; /* one a node */
    uint32_t frame;  /* of the options; NONE: all */

    /* Of the last execution. */
    eddy__trace_chunk **chunks; /* a ring, if the last are kept */
    size_t n_chunks, chunks_room;
    size_t n_records;
    size_t oldest; /* in the ring */
    size_t max_records;
    eddy__trace_block *block;  /* where the next values go */
    eddy__trace_block *spares; /* blocks that nobody uses */
    /*
     * Places from `next` on are free for records that need nothing but to be
     * written; those from `window` to it are not counted yet.
     */
    eddy_trace_record *window, *next, *limit;
    eddy_trace_frame *frames;
    size_t n_frames, frames_room;
    eddy__thread threads[EDDY__TRACE_THREADS];
    eddy_trace_totals totals;
    uint32_t worker;            /* who drives */
    eddy__ticks ticks;          /* the clock that is read at each token */
    uint64_t began_ns, mark_ns; /* the execution; the last token's end */
    int64_t in_use;             /* at the last token's end */
    eddy_trace_record *open;    /* waits for its end; NULL: none does */
    eddy_trace_record passing;  /* one that is told and not kept */
    eddy__trace_values told;    /* of the open one; NULL: none */
    bool inputs_are_finite;     /* of the kernel that is about to run */

    /* Made by eddy_trace_index. */
    bool is_indexed;
    uint32_t *by_node;   /* places of records by node, frame, iteration */
    uint32_t *first_of;  /* a node: in by_node; one more at the end */
    uint32_t *by_parent; /* frames by parent, iteration, static frame */
    uint32_t *pair_of;   /* a record: its push or pop, or NONE */
    eddy_trace_pair *pairs;
    size_t n_pairs;
    size_t n_indexed, n_indexed_frames;
};

/* Where place `at` of the ring is. */
static inline eddy_trace_record *eddy__trace_place(const eddy_trace *trace,
                                                   size_t at)
{
    return &trace->chunks[at / EDDY__TRACE_CHUNK]
                ->records[at % EDDY__TRACE_CHUNK];
}

/* Its values, if it has some. */
static inline eddy__trace_values *eddy__trace_kept(const eddy_trace *trace,
                                                   size_t at)
{
    return &trace->chunks[at / EDDY__TRACE_CHUNK]
                ->values[at % EDDY__TRACE_CHUNK];
}

/* Describes the plan's nodes and frames in `trace->arena`. */
eddy_status eddy__trace_describe(eddy_trace *trace, eddy_error *err);

/* What there is to say of a value; `value` may be NULL or NONE. */
void eddy__trace_summarise(const eddy__value *value, eddy_trace_value *out);

/* Has it a NaN or an infinity?  False for what has no such elements. */
bool eddy__trace_is_non_finite(const eddy__value *value);

/* The execution of a static frame that was entered from there, or NONE. */
uint32_t eddy__trace_child(const eddy_trace *trace, uint32_t static_frame,
                           uint32_t frame, int64_t iteration);

/* eddy_trace_producer for a node in an iteration, recorded or not. */
size_t eddy__trace_producer_at(const eddy_trace *trace, uint32_t node,
                               uint32_t frame, int64_t iteration, size_t k);

/* Forgets what eddy_trace_index has made. */
void eddy__trace_drop_index(eddy_trace *trace);

/* ---- what engines tell; the rest is in record.h ---- */

/*
 * An execution begins, a slice of it begins on this thread (some hundred nodes
 * at the most), it is over.
 */
void eddy__trace_begin(eddy_run *run);
void eddy__trace_resume(eddy_run *run);
void eddy__trace_end(eddy_run *run);

/* The inputs of a kernel that is about to run, for check_numerics. */
void eddy__trace_check_inputs(eddy_run *run, const eddy__step *step,
                              const eddy__value *values);

/* As eddy__trace_add of record.h, for any record. */
void eddy__trace_add_any(eddy_run *run, const eddy__step *step,
                         const eddy__place *at, eddy_trace_state state,
                         const eddy__value *values, const uint32_t *slots,
                         uint32_t n, uint32_t output, uint64_t resource);

/* The record that has got its end is told to the host. */
void eddy__trace_tell(eddy_trace *trace, eddy_trace_record *record);

/* A kernel that ran outside, before its task's outputs are moved. */
void eddy__trace_add_task(eddy_run *run, const eddy__task *task,
                          eddy_trace_state state);

#endif
