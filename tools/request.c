/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks up feeds, fetches and targets, and makes the plan and the run's values
 * from them.
 */
#include "tools/request.h"

#include "tools/recording.h"
#include "tools/same_tokens.h"

#include <stdlib.h>

/* Between two looks at how far a run is. */
#define PROGRESS_NS 200000000

/* Never NULL for want of elements. */
static void *allocate(size_t n, size_t size)
{
    return calloc(n + 1, size);
}

eddy_status eddy__request_init(eddy__request *request, size_t n_feeds,
                               size_t n_fetches, size_t n_targets,
                               eddy_error *err)
{
    *request = (eddy__request){
        .feeds = allocate(n_feeds, sizeof *request->feeds),
        .values = allocate(n_feeds, sizeof(eddy_tensor *)),
        .n_feeds = n_feeds,
        .fetches = allocate(n_fetches, sizeof *request->fetches),
        .n_fetches = n_fetches,
        .targets = allocate(n_targets, sizeof *request->targets),
        .n_targets = n_targets,
    };
    if (request->feeds == NULL || request->values == NULL ||
        request->fetches == NULL || request->targets == NULL)
        return eddy__message_raise_memory(err);
    return EDDY_OK;
}

eddy_status eddy__request_make_room(eddy__request *request, size_t n,
                                    eddy_error *err)
{
    const size_t all = request->n_feeds + n + 1;
    eddy_output *feeds = realloc(request->feeds, all * sizeof *request->feeds);
    eddy_tensor **values =
        feeds != NULL ? realloc(request->values, all * sizeof(eddy_tensor *))
                      : NULL;

    if (feeds != NULL)
        request->feeds = feeds;
    if (values == NULL)
        return eddy__message_raise_memory(err);
    request->values = values;
    return EDDY_OK;
}

void eddy__request_deinit(eddy__request *request)
{
    if (request->values != NULL) {
        for (size_t i = 0; i < request->n_feeds; i++)
            eddy_tensor_release(request->values[i]);
    }
    eddy_trace_destroy(request->recorded);
    free(request->feeds);
    free(request->values);
    free(request->fetches);
    free(request->targets);
    *request = (eddy__request){.n_feeds = 0};
}

eddy_status eddy__request_find_target(const eddy_graph *graph, const char *name,
                                      eddy_node *out_node, eddy_error *err)
{
    eddy_output output;
    eddy_status status;

    *out_node = eddy_graph_find(graph, name);
    if (*out_node != EDDY_NO_NODE)
        return EDDY_OK;
    status = eddy_graph_find_output(graph, name, &output, err);
    if (status == EDDY_OK)
        *out_node = output.node;
    return status;
}

/* Is what runs told of, node by node? */
static bool is_recorded(const eddy__options *options)
{
    return options->record || options->trace != NULL ||
           options->subcommand == EDDY__FOR_EXPLAIN;
}

eddy_status eddy__request_plan(const eddy__request *request,
                               const eddy_graph *graph,
                               const eddy__options *options,
                               eddy_plan **out_plan, eddy_error *err)
{
    const eddy_limits limits = eddy__options_limits(options);
    const eddy_checkpoint checkpoint = eddy__options_checkpoint(options);
    const eddy_plan_options plan = {
        .size = sizeof plan,
        .feeds = request->feeds,
        .n_feeds = request->n_feeds,
        .fetches = request->fetches,
        .n_fetches = request->n_fetches,
        .targets = request->targets,
        .n_targets = request->n_targets,
        .optimize = options->optimize,
        .parallel_iterations = (int64_t)options->parallel_iterations,
        .limits = &limits,
        .executor = options->executor,
        .without = options->without.items,
        .n_without = options->without.n,
        .observe = request->observe,
        .user = request->user,
        .checkpoint = request->is_saved ? &checkpoint : NULL,
        .record = is_recorded(options),
    };

    return eddy_plan_create(graph, &plan, out_plan, err);
}

eddy_status eddy__request_bind(const eddy__request *request, eddy_plan *plan,
                               const eddy__options *options, eddy_run **out_run,
                               eddy_error *err)
{
    eddy_run_options limits = eddy__options_run(options);
    eddy_run *run = NULL;
    eddy_status status;

    limits.session = request->session;
    limits.recorder = request->recorder;
    limits.progress = request->progress;
    limits.progress_ns = PROGRESS_NS;
    limits.progress_user = request->progress_user;
    status = eddy_run_create(plan, &limits, &run, err);

    for (size_t i = 0; status == EDDY_OK && i < request->n_feeds; i++)
        status = eddy_run_feed(run, i, request->values[i], err);
    if (status == EDDY_OK)
        *out_run = run;
    else
        eddy_run_destroy(run);
    return status;
}

/* The same by the dynamic executor alone: it has the same tokens. */
static eddy_status check_tokens(const eddy__request *request,
                                const eddy_graph *graph,
                                const eddy__options *options, eddy_error *err)
{
    const eddy_trace_options how = {.size = sizeof how, .values = true};
    eddy__options own = *options;
    eddy__request other = *request;
    eddy_plan *plan = NULL;
    eddy_run *run = NULL;
    eddy_status status;

    own.executor = EDDY_EXECUTOR_DYNAMIC;
    other.recorder = NULL;
    status = eddy__request_plan(request, graph, &own, &plan, err);
    if (status == EDDY_OK)
        status = eddy_trace_create(plan, &how, &other.recorder, err);
    if (status == EDDY_OK)
        status = eddy__request_bind(&other, plan, &own, &run, err);
    if (status == EDDY_OK)
        status = eddy_run_execute(run, err);
    if (status == EDDY_OK)
        status = eddy__same_tokens(request->recorded, other.recorder, err);
    eddy_run_destroy(run);
    eddy_trace_destroy(other.recorder);
    eddy_plan_release(plan);
    return status;
}

eddy_status eddy__request_execute(eddy__request *request,
                                  const eddy_graph *graph, eddy_plan *plan,
                                  const eddy__options *options,
                                  eddy_run **out_run, eddy_error *err)
{
    const eddy_trace_options how = {.size = sizeof how, .values = true};
    eddy_status status = EDDY_OK;

    if (options->record)
        status = eddy_trace_create(plan, &how, &request->recorded, err);
    if (status == EDDY_OK) {
        request->recorder = request->recorded;
        status = eddy__request_bind(request, plan, options, out_run, err);
    }
    if (status == EDDY_OK)
        status = eddy_run_execute(*out_run, err);
    if (status == EDDY_OK && options->record)
        status = eddy__recording_check(request->recorded, err);
    if (status == EDDY_OK && options->record &&
        eddy__recording_linear_frames(request->recorded) > 0)
        status = check_tokens(request, graph, options, err);
    return status;
}
