/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked of a graph: its feeds with their values, fetches and targets,
 * looked up by name; and from there to a plan and to a run.
 */
#ifndef EDDY_TOOLS_REQUEST_H
#define EDDY_TOOLS_REQUEST_H

#include "tools/names.h"
#include "tools/options.h"

#include "eddy/trace.h"

typedef struct eddy__request {
    eddy_output *feeds;
    eddy_tensor **values; /* one a feed; references, may be NULL */
    size_t n_feeds;
    eddy_output *fetches;
    size_t n_fetches;
    eddy_node *targets;
    size_t n_targets;
    eddy_session *session; /* to run in; borrowed, may be NULL */
    eddy_trace *recorder;  /* of the run; borrowed, may be NULL */
    /* How ranks are recorded; borrowed, NULL: not. */
    const eddy_trace_options *recording;
    eddy_trace *recorded;      /* what was made when it was executed, or NULL */
    eddy_progress_cb progress; /* likewise */
    void *progress_user;
    eddy_plan_observer observe; /* of the plan; NULL: nobody */
    void *user;
    bool is_saved; /* its loop has the checkpoints of the options */
} eddy__request;

/* Room for so many; it must be deinitialised, also when this fails. */
EDDY_MUST_USE eddy_status eddy__request_init(eddy__request *request,
                                             size_t n_feeds, size_t n_fetches,
                                             size_t n_targets, eddy_error *err);
/* Makes room for `n` feeds more than there are. */
EDDY_MUST_USE eddy_status eddy__request_make_room(eddy__request *request,
                                                  size_t n, eddy_error *err);
void eddy__request_deinit(eddy__request *request);

/* Looks up a node that is a target, written `node` or `node:index`. */
EDDY_MUST_USE eddy_status eddy__request_find_target(const eddy_graph *graph,
                                                    const char *name,
                                                    eddy_node *out_node,
                                                    eddy_error *err);

EDDY_MUST_USE eddy_status eddy__request_plan(const eddy__request *request,
                                             const eddy_graph *graph,
                                             const eddy__options *options,
                                             eddy_plan **out_plan,
                                             eddy_error *err);

/* A run of `plan` with the limits of `options` and all feeds bound. */
EDDY_MUST_USE eddy_status eddy__request_bind(const eddy__request *request,
                                             eddy_plan *plan,
                                             const eddy__options *options,
                                             eddy_run **out_run,
                                             eddy_error *err);

/*
 * The same, and runs it.  With --record the run is recorded and the record held
 * against what the run counted, and where the linear executor ran a loop,
 * against one of the dynamic executor; what does not agree is an error of its
 * own.  `graph` is that of the plan.
 */
EDDY_MUST_USE eddy_status eddy__request_execute(
    eddy__request *request, const eddy_graph *graph, eddy_plan *plan,
    const eddy__options *options, eddy_run **out_run, eddy_error *err);

/*
 * A request from the names and values of the command line, and `fetches`.  When
 * it fails it has complained; it must be deinitialised either way.
 */
EDDY_MUST_USE eddy__exit eddy__request_from_options(
    eddy__request *request, const eddy__named *named,
    const eddy__texts *fetches, const eddy__options *options);

#endif
