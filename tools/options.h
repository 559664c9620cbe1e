/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of the subcommands, parsed into one struct.  Every option
 * is a row of one table, which says which subcommands take it.
 */
#ifndef EDDY_TOOLS_OPTIONS_H
#define EDDY_TOOLS_OPTIONS_H

#include "eddy/plan.h"
#include "eddy/run.h"
#include "tools/message.h"

/* Which subcommands take an option: a set of bits. */
enum {
    EDDY__FOR_RUN = 1,
    EDDY__FOR_VERIFY = 2,
    EDDY__FOR_BENCH = 4,
    EDDY__FOR_INSPECT = 8,
    EDDY__FOR_GRAD = 16,
    EDDY__FOR_CONVERT = 32,
    EDDY__FOR_TRACE = 64,
    EDDY__FOR_EXPLAIN = 128,
    EDDY__FOR_DIFF = 256,
    EDDY__FOR_PARTITION = 512
};

/* Texts borrowed from the command line, in its order. */
typedef struct eddy__texts {
    const char **items;
    size_t n;
} eddy__texts;

typedef struct eddy__options {
    eddy__texts paths; /* what is no option: GRAPH or PATH... */
    eddy__texts feeds; /* NAME=VALUE */
    eddy__texts fetches;
    eddy__texts targets;
    eddy__texts init;      /* targets to run before */
    const char *signature; /* of a SavedModel */
    eddy__texts ys, xs, grad_ys, stop;
    eddy__texts tapes; /* POLICY or LOOP=POLICY */
    const char *out;
    const char *dump_after; /* a pass of planning */
    const char *place;      /* a file that says which node has which rank */
    bool literal;
    bool help, forward, json, dot, svg, html, linear, native, keep_denormals,
        external_data, perf_map;
    /* What is recorded of a run. */
    const char *trace; /* a file to write; NULL: none */
    const char *frame, *iterations;
    const char *at; /* an iteration's path */
    eddy__texts nodes;
    uint64_t max_records;
    bool keep_last, no_values, check_numerics, record;
    uint64_t repeat;
    uint64_t order;
    uint64_t opset, ir_version; /* 0: not given */
    uint64_t n_workers;
    uint64_t n_ranks;
    bool replicated;    /* each rank has the whole graph */
    bool deterministic; /* nobody need ask: there is no other way */
    bool processes;     /* each rank is one, which this one starts */
    bool mpi;           /* an MPI has started them, and this is one */
    const char *socket; /* the folder where ranks meet; this one is `rank` */
    uint64_t rank;
    uint64_t seed;
    eddy__texts without; /* passes of planning */
    eddy_optimize optimize;
    eddy_plan_executor executor;
    uint64_t parallel_iterations;
    const char *checkpoint_folder; /* NULL: no loop is saved */
    const char *checkpoint_loop;   /* NULL: the only one */
    uint64_t checkpoint;           /* trips */
    bool resume;
    uint64_t max_iterations;
    uint64_t max_bytes;
    uint64_t tape_bytes;
    uint64_t spill_above, max_spill_bytes;
    const char *spill_folder; /* NULL: the system's */
    uint64_t timeout_ns;
    unsigned subcommand; /* EDDY__FOR_... */
    uint64_t begin_ns;   /* of the clock, when they were parsed */
} eddy__options;

/*
 * Parses the `argc` arguments after the subcommand, one of EDDY__FOR_....  When
 * it fails it has complained; `out_options` must be deinitialised either way.
 */
EDDY_MUST_USE eddy__exit eddy__options_init(eddy__options *out_options,
                                            unsigned subcommand, int argc,
                                            char *const *argv);

void eddy__options_deinit(eddy__options *options);

/* An option as people see it; `value` is NULL for a flag. */
typedef struct eddy__option_info {
    const char *name, *value, *help;
} eddy__option_info;

/* Option `i` of those that `subcommand` takes; false past the end. */
bool eddy__option_at(unsigned subcommand, size_t i,
                     eddy__option_info *out_info);

/* The part of a help text on options, those of `subcommand`. */
void eddy__options_help(unsigned subcommand, FILE *stream);

/*
 * A context as the options want it: workers, one thread for OpenBLAS, and a
 * logger that writes to standard error.
 */
EDDY_MUST_USE eddy_status eddy__options_context(const eddy__options *options,
                                                eddy_context **out_ctx,
                                                eddy_error *err);

/*
 * The limits of what is done on a graph before it runs: what is left of the
 * time since the options were parsed.  Each case of `verify` has all of it.
 */
eddy_limits eddy__options_limits(const eddy__options *options);

/* What --checkpoint and the like say. */
eddy_checkpoint eddy__options_checkpoint(const eddy__options *options);

/* The limits of a run; each execution of `bench` has all of the time. */
eddy_run_options eddy__options_run(const eddy__options *options);

#endif
