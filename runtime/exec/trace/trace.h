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
#include "runtime/exec/trace/stream.h"
#include "runtime/exec/trace/ticks.h"

#define EDDY__TRACE_THREADS 256

/* A tensor with its summary. */
typedef struct eddy__trace_seen {
    const eddy_tensor *tensor;
    eddy_trace_value value;
} eddy__trace_seen;

#define EDDY__TRACE_SEEN 127

/* A node of a joined trace: where what it receives is from. */
typedef struct eddy__trace_end_node {
    uint32_t sender; /* the _Send; NONE: it receives nothing */
    bool is_known_dead;
} eddy__trace_end_node;

/* What a trace of several ranks has besides (join.c). */
typedef struct eddy__trace_joined {
    uint32_t n_ranks;
    uint32_t *first_worker;     /* a rank, and one more */
    eddy__trace_end_node *ends; /* a node */
} eddy__trace_joined;

struct eddy_trace {
    eddy_plan *plan; /* a reference; of a joined trace, that of rank 0 */
    const eddy_allocator *allocator;
    eddy_trace_options options; /* names copied */

    /* What the plan has; immutable. */
    bool is_part;  /* names that it does not have are another's */
    bool is_plain; /* no limits, no host, no checks: all tokens are alike */
    eddy__arena arena;
    eddy_trace_node *nodes;
    eddy_trace_static_frame *static_frames;
    uint32_t n_nodes, n_static_frames;
    eddy__trace_joined *joined; /* in the arena; NULL: it is of one run */
    uint8_t *wanted;            /* one a node */
    uint32_t frame;             /* of the options; NONE: all */
    uint64_t max_records;

    /*
     * What the last execution told.  Items are written at `next`; as long as
     * that is below `limit`, a plain token of an iteration that was told has
     * room, and is wanted.
     */
    unsigned char *next, *limit;
    eddy__trace_told told;
    uint32_t n_pending; /* tokens whose time has not been told */
    uint32_t clock_at;  /* with how many of them the clock is read */
    bool open;          /* one has been put that is not through */
    bool is_passing;    /* likewise, and the host waits for it */
    eddy_trace_totals totals;
    uint64_t n_lost;        /* records that were seen, and are nowhere */
    uint64_t mark_ns;       /* when the clock was read, since began_ns */
    int64_t in_use;         /* at the last token's end */
    uint32_t worker;        /* who drives */
    bool inputs_are_finite; /* of the kernel that is about to run */
    eddy__ticks ticks;
    uint64_t began_ns;
    eddy__trace_chunk *oldest, *newest, *spares;
    eddy_trace_frame *frames;
    size_t n_frames, frames_room;
    eddy__thread threads[EDDY__TRACE_THREADS];
    eddy__trace_seen seen[EDDY__TRACE_SEEN]; /* by their addresses */
    eddy_trace_record passing;               /* the open one, for the host */
    eddy_trace_value *passed;                /* its values */
    size_t passed_room;

    /* Made of the items by eddy__trace_decode. */
    uint64_t decoded; /* when n_seen was one less; 0: never */
    eddy_trace_record *records;
    size_t records_room;
    eddy_trace_value *values;
    size_t values_room;
    size_t *first_value; /* a record: in `values` */
    size_t first_value_room;
    size_t n_skipped; /* records that are older than those to be kept */

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

/* Records that the items have, wanted or too old. */
static inline uint64_t eddy__trace_held(const eddy_trace *trace)
{
    const uint64_t n = trace->totals.n_seen - trace->n_lost;

    if (trace->joined)
        return n;
    return trace->oldest ? n - trace->oldest->first : 0;
}

/* The items that are kept. */
static inline size_t eddy__trace_kept(const eddy_trace *trace)
{
    const uint64_t n = eddy__trace_held(trace);

    return (size_t)(n < trace->max_records ? n : trace->max_records);
}

/* Bytes that are left in the newest chunk. */
static inline size_t eddy__trace_room(const eddy_trace *trace)
{
    const eddy__trace_chunk *chunk = trace->newest;

    return chunk ? (size_t)(chunk->items + chunk->room - trace->next) : 0;
}

/* Have all records since the newest chunk began been put in it? */
static inline bool eddy__trace_is_gapless(const eddy_trace *trace)
{
    return trace->newest &&
           trace->newest->number - trace->newest->first == trace->n_lost;
}

/* For how many of the statistics' nodes a step stands. */
static inline uint32_t eddy__trace_weight(const eddy__step *step)
{
    if (step->kind == EDDY__STEP_KERNEL)
        return 1 + step->aux;
    return step->kind != EDDY__STEP_FEED && step->kind != EDDY__STEP_FETCH;
}

/* What comes is in that iteration; there is room. */
static inline void eddy__trace_put_place(eddy_trace *trace, uint32_t frame,
                                         int64_t iteration)
{
    const bool is_next =
        frame == trace->told.frame && iteration == trace->told.iteration + 1;
    const eddy__trace_item item = {
        .what = frame, .kind = is_next ? EDDY__ITEM_NEXT : EDDY__ITEM_PLACE};

    trace->next = eddy__item_put(trace->next, &item, sizeof item);
    if (!is_next)
        trace->next = eddy__item_put(trace->next, &iteration, sizeof iteration);
    trace->told.frame = frame;
    trace->told.iteration = iteration;
}

/* ---- store.c: chunks of items ---- */

/*
 * Sees to `n` bytes at `next`, for one token at least; false without memory.
 * The time of all tokens so far has been told.
 */
bool eddy__trace_make_room(eddy_trace *trace, size_t n);

/* As long as `next` is below `limit`, plain tokens may be written. */
void eddy__trace_set_limit(eddy_trace *trace);

/* No items, but their chunks; not those either. */
void eddy__trace_forget(eddy_trace *trace);
void eddy__trace_free_chunks(eddy_trace *trace);

/*
 * eddy_trace_create for one rank of several: names of nodes and of the frame
 * that its plan does not have are no error.
 */
eddy_status eddy__trace_create_part(eddy_plan *plan,
                                    const eddy_trace_options *options,
                                    eddy_trace **out_trace, eddy_error *err);

/* ---- join.c ---- */

/*
 * One trace of those of all ranks, whose executions are over and whose clocks
 * are one: frames of the same names and iterations are one frame, a _Recv reads
 * its _Send.  It does not depend on them afterwards.
 */
eddy_status eddy__trace_join(eddy_trace *const *parts, uint32_t n_parts,
                             eddy_trace **out_trace, eddy_error *err);

/* ---- decode.c ---- */

/* Sees to it that `records` and `values` are those of the items. */
bool eddy__trace_decode(eddy_trace *trace);
void eddy__trace_free_decoded(eddy_trace *trace);

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
 * at the most) and ends, it is over.
 */
void eddy__trace_begin(eddy_run *run);
void eddy__trace_resume(eddy_run *run);
void eddy__trace_pause(eddy_run *run);
void eddy__trace_end(eddy_run *run);

/* The inputs of a kernel that is about to run, for check_numerics. */
void eddy__trace_check_inputs(eddy_trace *trace, const eddy__value *values,
                              const uint32_t *slots, uint32_t n);

/* As eddy__trace_add of record.h, for any record. */
void eddy__trace_add_any(eddy_run *run, const eddy__step *step,
                         const eddy__place *at, eddy_trace_state state,
                         const eddy__value *values, const uint32_t *slots,
                         uint32_t n, uint32_t output, uint64_t resource);

/* As eddy__trace_done of record.h, with what the run has in use. */
void eddy__trace_done_any(eddy_run *run, int64_t in_use);

/* Tokens so far have taken until now. */
void eddy__trace_tell_time(eddy_trace *trace);

/* A kernel that ran outside, before its task's outputs are moved. */
void eddy__trace_add_task(eddy_run *run, const eddy__task *task,
                          eddy_trace_state state);

#endif
