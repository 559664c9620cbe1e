/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded runs: what every node did in every iteration, and questions to it.
 *
 * A trace is made for a plan and named in the options of a run; each execution
 * of that run fills it anew, with a record a token.  Loops go by the linear
 * executor where they do so without a recorder, or go by machine code, if the
 * plan was made with `record` or for that executor; all else goes by the
 * dynamic one.  Tokens, results, errors and counts are the same; what is not is
 * the order of tokens within an iteration.  Without a trace a run is not a test
 * slower.
 *
 * A trace belongs to the driver of its run while an execution is under way;
 * else anybody may read it, and the caller serialises.
 */
#ifndef EDDY_TRACE_H
#define EDDY_TRACE_H

#include "eddy/dot.h"
#include "eddy/plan.h"
#include "eddy/stats.h"

EDDY_BEGIN_DECLS

typedef struct eddy_trace eddy_trace;

/* No node, no output, no record. */
#define EDDY_TRACE_NONE UINT32_MAX

/* ---- what the plan is made of ---- */

typedef enum eddy_trace_kind {
    EDDY_TRACE_OP, /* anything else */
    EDDY_TRACE_CONST,
    EDDY_TRACE_SWITCH,
    EDDY_TRACE_MERGE,
    EDDY_TRACE_ENTER,
    EDDY_TRACE_EXIT,
    EDDY_TRACE_NEXT_ITERATION,
    EDDY_TRACE_LOOP_COND,
    EDDY_TRACE_CONTROL_TRIGGER,
    EDDY_TRACE_FEED, /* no node of the plan, and not counted, as is a ... */
    EDDY_TRACE_FETCH
} eddy_trace_kind;

/* An output that a node reads; EDDY_TRACE_NONE for a control edge. */
typedef struct eddy_trace_input {
    uint32_t node;
    uint32_t output;
} eddy_trace_input;

/* Nodes stand in plan order: topological but for back edges. */
typedef struct eddy_trace_node {
    const char *name;
    const char *op; /* "" for a feed and a fetch */
    eddy_trace_kind kind;
    uint32_t frame;        /* static: in which it runs */
    uint32_t output_frame; /* static: where its outputs are */
    bool is_constant;      /* Enter: of a loop invariant */
    bool is_dissolved;     /* Const: stands ready, and never runs */
    uint32_t n_inputs, n_controls, n_outputs;
    const eddy_trace_input *inputs; /* n_inputs of data, then n_controls */
    uint32_t rank; /* in a trace of several (eddy/ranks.h); else 0 */
} eddy_trace_node;

/* A loop in the graph; number 0 is the root, named "". */
typedef struct eddy_trace_static_frame {
    const char *name;
    uint32_t parent; /* 0 in the root */
    uint32_t parallel_iterations;
} eddy_trace_static_frame;

/* ---- what is recorded ---- */

typedef enum eddy_trace_state {
    EDDY_TRACE_LIVE,
    EDDY_TRACE_DEAD,  /* passed over, with dead outputs */
    EDDY_TRACE_FAILED /* its kernel failed */
} eddy_trace_state;

/* One execution of a static frame. */
typedef struct eddy_trace_frame {
    uint32_t static_frame;
    uint32_t parent; /* number of the frame that it was entered from */
    int64_t parent_iteration;
    bool is_known;  /* some record is of it, or of a frame in it */
    bool is_linear; /* the linear executor ran it (of several ranks: one's) */
} eddy_trace_frame;

typedef struct eddy_trace_record {
    uint64_t number;      /* in the order in which nodes were done, from 0 */
    uint64_t start_ns;    /* since the execution began */
    uint64_t duration_ns; /* of node and scheduling; short ones share theirs */
    uint64_t bytes;       /* that the run had in use afterwards */
    int64_t allocated;    /* how much more that is than before */
    uint64_t resource;    /* which its first input or its output is; 0: none */
    int64_t iteration;
    uint32_t frame; /* its number; 0 is the root's */
    uint32_t node;
    uint32_t n_nodes; /* for how many of the statistics' it stands */
    uint32_t output;  /* Switch: taken; Merge: the input; or NONE */
    uint32_t worker;  /* 0: who drove first, then by appearance */
    uint16_t n_values;
    uint8_t state;      /* eddy_trace_state */
    bool is_non_finite; /* some output has a NaN or an infinity */
} eddy_trace_record;

/*
 * What is kept of an output.  Of a list `count` is that of its items, and the
 * rest is of all their elements, if these are numbers and not above 4096;
 * else, and of a handle, there is the dtype alone, and hash is 0.
 */
typedef struct eddy_trace_value {
    eddy_dtype dtype; /* EDDY_INVALID: the output has no value */
    eddy_shape shape;
    int64_t count;
    double min, max, mean; /* of finite elements; a scalar as it is */
    uint64_t n_nan, n_infinite;
    uint64_t
        hash; /* of dtype, shape and bytes; the same value, the same hash */
    uint64_t bits; /* of a numeric scalar, as it lies in memory */
} eddy_trace_value;

/* Sees each record as it comes.  @thread the run's driver */
typedef void (*eddy_trace_cb)(void *user, const eddy_trace *trace,
                              const eddy_trace_record *record,
                              const eddy_trace_value *values);

typedef struct eddy_trace_options {
    size_t size;          /* sizeof(eddy_trace_options) */
    uint64_t max_records; /* 0: 1,000,000 */
    bool keep_last;       /* beyond that: the last ones; else the first */
    bool values;          /* keep summaries of outputs */
    /*
     * Fails the run with INVALID_ARGUMENT (EDDY_E_NUMERICS) at the first node
     * that makes a NaN or an infinity of finite inputs; implies `values`.
     */
    bool check_numerics;
    /* Only nodes in the frame of that name and frames within; NULL: all. */
    const char *frame;
    /*
     * Only in these iterations of that frame, or of every node's own frame if
     * there is none; `last_iteration` 0 is no limit.
     */
    int64_t first_iteration, last_iteration;
    /* Only these nodes; a name that ends in '*' stands for all that begin so;
     * 0 names: all. */
    const char *const *nodes;
    size_t n_nodes;
    eddy_trace_cb record; /* may be NULL */
    void *user;
} eddy_trace_options;

/*
 * Makes a trace of runs of `plan`, which it retains; `options` may be NULL.
 * Errors: NOT_FOUND (EDDY_E_UNKNOWN_NAME) for a frame or a node that the plan
 * does not have.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_trace_create(eddy_plan *plan, const eddy_trace_options *options,
                  eddy_trace **out_trace, eddy_error *err);

/* Not while a run that names it exists.  Accepts NULL. */
EDDY_API void eddy_trace_destroy(eddy_trace *trace);

/* ---- reading; everything is borrowed from the trace ---- */

EDDY_API size_t eddy_trace_nodes(const eddy_trace *trace);
EDDY_API const eddy_trace_node *eddy_trace_node_at(const eddy_trace *trace,
                                                   size_t i);

/*
 * The node of that name, or EDDY_TRACE_NONE.  Feeds and fetches are called
 * `node:index`; a feed is found without its `:0` too.
 */
EDDY_API uint32_t eddy_trace_find_node(const eddy_trace *trace,
                                       const char *name);

EDDY_API size_t eddy_trace_static_frames(const eddy_trace *trace);
EDDY_API const eddy_trace_static_frame *
eddy_trace_static_frame_at(const eddy_trace *trace, size_t i);

/* Frames of the last execution: their numbers are below this. */
EDDY_API size_t eddy_trace_frames(const eddy_trace *trace);
EDDY_API const eddy_trace_frame *eddy_trace_frame_at(const eddy_trace *trace,
                                                     size_t i);

/*
 * Records kept of the last execution, in the order of their numbers.  They are
 * made of what was kept when somebody reads them: NULL past the end, or without
 * memory, which eddy_trace_index has said then.
 */
EDDY_API size_t eddy_trace_records(const eddy_trace *trace);
EDDY_API const eddy_trace_record *eddy_trace_record_at(const eddy_trace *trace,
                                                       size_t i);

/* Output `k` of record `i` (a Switch: the one it took); NULL: not kept. */
EDDY_API const eddy_trace_value *eddy_trace_value_at(const eddy_trace *trace,
                                                     size_t i, size_t k);

typedef struct eddy_trace_totals {
    uint64_t n_seen;     /* records that were asked for */
    uint64_t n_dropped;  /* of them not kept: over the count, or no memory */
    uint64_t live, dead; /* as eddy_stats has them, of those seen */
    uint64_t duration_ns;
    uint32_t n_workers; /* threads that ran something */
    eddy_stats stats;   /* of the run */
    eddy_status status; /* likewise */
} eddy_trace_totals;

EDDY_API eddy_trace_totals eddy_trace_total(const eddy_trace *trace);

/*
 * Writes `outer[3]/inner[17]` for an iteration of a frame, cut to `size` with
 * its NUL; nothing for the root.  Returns the length that it has uncut.
 */
EDDY_API size_t eddy_trace_path(const eddy_trace *trace, uint32_t frame,
                                int64_t iteration, char *text, size_t size);

/*
 * A trace of several ranks (eddy_ranks_trace of eddy/ranks.h) is read as any
 * other.  A node whose name another rank has too is called NAME@RANK; frames of
 * the same names and iterations are one frame; a _Recv has an input more, its
 * _Send, whose value is what it has sent; bytes are those of all ranks; the
 * workers of rank 1 come after those of rank 0.
 */
EDDY_API uint32_t eddy_trace_ranks(const eddy_trace *trace);

/* Whose worker that is, and its number there; `out_own` may be NULL. */
EDDY_API uint32_t eddy_trace_worker_rank(const eddy_trace *trace,
                                         uint32_t worker, uint32_t *out_own);

/* ---- questions, of an execution that is over ---- */

#define EDDY_TRACE_NOT_FOUND SIZE_MAX

/*
 * Prepares the questions below, which take time logarithmic in the records
 * afterwards.  A new execution forgets it.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_trace_index(eddy_trace *trace,
                                                    eddy_error *err);

/* The record of a node in an iteration, or NOT_FOUND. */
EDDY_API size_t eddy_trace_find(const eddy_trace *trace, uint32_t node,
                                uint32_t frame, int64_t iteration);

/* Records of a node are those from here to the next node's: their places. */
EDDY_API size_t eddy_trace_node_records(const eddy_trace *trace, uint32_t node,
                                        const uint32_t **out_records);

/*
 * The record that put out what record `i` reads as input `k` (controls come
 * after inputs), or NOT_FOUND: it was not recorded.  For an Exit that is dead
 * it is that of the last iteration.
 */
EDDY_API size_t eddy_trace_producer(const eddy_trace *trace, size_t i,
                                    size_t k);

/* A link of an answer: a record, and through which of its inputs it goes on. */
typedef struct eddy_trace_link {
    size_t record;
    uint32_t input; /* NONE: it ends here */
} eddy_trace_link;

typedef enum eddy_trace_end {
    EDDY_TRACE_END_SWITCH,    /* a live Switch that took another output */
    EDDY_TRACE_END_SOURCE,    /* an op that made it; a feed or a constant */
    EDDY_TRACE_END_UNKNOWN,   /* what comes before was not recorded */
    EDDY_TRACE_END_NO_REASON, /* it is not so */
    EDDY_TRACE_END_CUT        /* there are more links than there was room */
} eddy_trace_end;

/* Why record `i` is dead, back to the Switch that killed it. */
EDDY_API size_t eddy_trace_why_dead(const eddy_trace *trace, size_t i,
                                    eddy_trace_link *links, size_t capacity,
                                    eddy_trace_end *out_end);

/*
 * Where the NaN or infinity in record `i` comes from: back through loops and
 * the tape to the first op whose inputs are finite.  Wants `values`.
 */
EDDY_API size_t eddy_trace_origin(const eddy_trace *trace, size_t i,
                                  eddy_trace_link *links, size_t capacity,
                                  eddy_trace_end *out_end);

/* What was pushed and what popped it; NOT_FOUND for one that is missing. */
typedef struct eddy_trace_pair {
    size_t push, pop;
} eddy_trace_pair;

/* Pairs of the tape, in the order of pushes.  Wants eddy_trace_index. */
EDDY_API size_t eddy_trace_pairs(const eddy_trace *trace);
EDDY_API const eddy_trace_pair *eddy_trace_pair_at(const eddy_trace *trace,
                                                   size_t i);

/*
 * The record of the _Send whose message, live or dead, record `i`, of a _Recv,
 * has got; NOT_FOUND if there was none, or it was not recorded.  Wants
 * eddy_trace_index.
 */
EDDY_API size_t eddy_trace_message(const eddy_trace *trace, size_t i);

/* ---- files ---- */

typedef enum eddy_trace_format {
    EDDY_TRACE_JSON,     /* Chrome's trace events; eddy's own data in `args` */
    EDDY_TRACE_PERFETTO, /* Perfetto's protocol buffers */
    /*
     * One page of HTML, which needs nothing else.  Of more than 100,000 records
     * it has the first and the last, and says so; a graph of more than 5,000
     * nodes is not drawn in it.
     */
    EDDY_TRACE_PAGE
} eddy_trace_format;

/*
 * Writes the trace; pushes are tied to their pops, and messages between ranks
 * to who got them; a rank is a process of its own there.  Indexes it if it is
 * not. CANCELLED if `write` stopped it.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_trace_write(eddy_trace *trace,
                                                    eddy_trace_format format,
                                                    eddy_write_cb write,
                                                    void *user,
                                                    eddy_error *err);

/*
 * Writes what nodes did in one iteration as Graphviz DOT: live blue, dead red
 * and dashed, with values.
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_trace_write_dot(eddy_trace *trace, uint32_t frame, int64_t iteration,
                     eddy_write_cb write, void *user, eddy_error *err);

EDDY_END_DECLS

#endif
