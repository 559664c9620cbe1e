/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GRAPH of the command line on its way to a run: context, graph, request,
 * plan, run, and how long the steps took.
 */
#ifndef EDDY_TOOLS_PROGRAM_H
#define EDDY_TOOLS_PROGRAM_H

#include "tools/progress.h"
#include "tools/request.h"
#include "tools/signature.h"

typedef struct eddy__program {
    eddy_context *ctx;
    eddy_graph *graph;
    eddy_savedmodel *model; /* whose graph it is; NULL: a graph's file */
    eddy_onnx_model *onnx;  /* the same of ONNX; NULL: it is none */
    eddy__texts fetches;    /* of the options, or all outputs of `onnx` */
    const char **outputs;   /* the names of those outputs */
    /* The session of the model or of --init; NULL: there is nothing to keep. */
    eddy_session *session;
    /* What is asked of a signature, in the graph's names. */
    eddy__called called;
    eddy__request request;
    eddy_plan *plan;
    eddy_run *run;
    eddy_trace *trace;            /* of the run, if it is recorded */
    eddy_trace_options recording; /* how ranks are */
    eddy__progress progress;
    uint64_t load_ns;
    uint64_t plan_ns;
} eddy__program;

/*
 * Each step complains when it fails.  The program must be deinitialised after
 * the first, also when that fails.
 */
EDDY_MUST_USE eddy__exit eddy__program_load(eddy__program *program,
                                            const eddy__options *options);

/* What the options ask of the loaded graph, by name: its `request`. */
EDDY_MUST_USE eddy__exit eddy__program_ask(eddy__program *program,
                                           const eddy__options *options);

/* From the loaded graph to a run with its feeds bound. */
EDDY_MUST_USE eddy__exit eddy__program_prepare(eddy__program *program,
                                               const eddy__options *options);

/*
 * Runs it once, on ranks if the options say so, and gives the values of the
 * fetches, which the caller releases; `fetched` may be NULL.
 */
EDDY_MUST_USE eddy_status eddy__program_execute(eddy__program *program,
                                                const eddy__options *options,
                                                eddy_tensor **fetched,
                                                eddy_error *err);

/* What fetch `i` is called in what is printed. */
const char *eddy__program_label(const eddy__program *program, size_t i);

void eddy__program_deinit(eddy__program *program);

#endif
