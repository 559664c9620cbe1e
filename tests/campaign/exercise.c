/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of exercise_graph: load; what has no values (analysis, drawings);
 * a plan of some outputs that nothing reads; the reference run, without
 * workers; then each rewrite of the graph (lowered, unrolled, saved and loaded,
 * differentiated), run in its turn and held against the reference.
 */
#include "tests/campaign/exercise.h"

#include "tests/campaign/request.h"

#include <stdlib.h>

#define MAX_NODES REQUEST_NODES
#define MAX_BYTES (UINT64_C(64) << 20)

void exercise_init(exercise *e)
{
    eddy_context_options options = {.size = sizeof options};
    eddy_error err;

    *e = (exercise){0};
    if (eddy_context_create(&options, &e->inline_ctx, &err) != EDDY_OK)
        abort();
    options.n_workers = 4;
    if (eddy_context_create(&options, &e->workers_ctx, &err) != EDDY_OK)
        abort();
}

void exercise_deinit(exercise *e)
{
    eddy_context_destroy(e->inline_ctx);
    eddy_context_destroy(e->workers_ctx);
}

static void run_plan(eddy_plan *plan, const request *r, outcome *o)
{
    eddy_run_options options = {.size = sizeof options};

    eddy_run_options_untrusted(&options);
    options.timeout_ns = UINT64_C(4000000000);
    options.max_iterations = 3000;
    options.max_frames = 3000;
    options.max_bytes = MAX_BYTES;
    o->n = r->n_fetches;
    o->code = eddy_plan_run(plan, &options, r->values, o->values, &o->err);
}

/* Plans and runs `graph`, and holds the results against the reference. */
static void run_and_compare(const eddy_graph *graph, const request *r,
                            eddy_optimize level, const outcome *reference,
                            const char *what)
{
    eddy_error err;
    eddy_plan *plan = request_plan(r, graph, level, &err);
    outcome o = {0};

    /*
     * What is known of shapes may tell before the run that it must fail.  Which
     * nodes are needed, and so have to be of a known op, lowering may change.
     */
    if (plan == NULL) {
        if (err.code != EDDY_RESOURCE_EXHAUSTED &&
            err.detail != EDDY_E_UNKNOWN_OP && reference->code == EDDY_OK)
            outcome_fail(what, err.message);
        return;
    }
    run_plan(plan, r, &o);
    outcome_compare(reference, &o, what);
    outcome_deinit(&o);
    eddy_plan_release(plan);
}

/* ---- rewrites ---- */

static void try_lowered(const eddy_graph *graph, const request *r,
                        const outcome *reference)
{
    const eddy_lower_options options = {.size = sizeof options,
                                        .max_nodes = MAX_NODES};
    eddy_graph *lowered = NULL;
    eddy_error err;

    if (eddy_graph_lower(graph, &options, &lowered, &err) != EDDY_OK)
        return;
    run_and_compare(lowered, r, EDDY_OPTIMIZE_NONE, reference, "lowered");
    eddy_graph_destroy(lowered);
}

static void try_unrolled(const eddy_graph *graph, const request *r,
                         const outcome *reference)
{
    for (uint64_t trips = 0; trips <= 3; trips += 3) {
        const eddy_unroll_options options = {
            .size = sizeof options, .trips = trips, .max_nodes = MAX_NODES};
        eddy_graph *unrolled = NULL;
        eddy_error err;

        if (eddy_graph_unroll(graph, &options, &unrolled, &err) != EDDY_OK)
            continue;
        run_and_compare(unrolled, r, EDDY_OPTIMIZE_EXACT, reference,
                        trips == 0 ? "unrolled" : "unrolled by 3");
        eddy_graph_destroy(unrolled);
    }
}

static eddy_graph *save_and_load(const exercise *e, const eddy_graph *graph)
{
    eddy_graph *again = NULL;
    void *bytes = NULL;
    size_t length = 0;
    eddy_error err;

    if (eddy_graphdef_write(graph, &bytes, &length, &err) != EDDY_OK)
        return NULL;
    if (eddy_graphdef_read(e->workers_ctx, bytes, length, NULL, &again, &err) !=
            EDDY_OK &&
        err.code != EDDY_RESOURCE_EXHAUSTED)
        outcome_fail("saved", err.message);
    eddy_graphdef_free(graph, bytes, length);
    return again;
}

static void run_gradient(const exercise *e, const eddy_graph *graph,
                         const request *asked)
{
    eddy_error err;
    eddy_plan *plan = request_plan(asked, graph, EDDY_OPTIMIZE_EXACT, &err);
    eddy_graph *again;
    outcome o = {0};

    if (plan == NULL)
        return;
    again = save_and_load(e, graph);
    run_plan(plan, asked, &o);
    if (again != NULL && outcome_is_settled(graph))
        run_and_compare(again, asked, EDDY_OPTIMIZE_EXACT, &o,
                        "a gradient that was saved");
    eddy_graph_destroy(again);
    outcome_deinit(&o);
    eddy_plan_release(plan);
}

/*
 * The derivative of all that is fetched by the first floats of the graph; the
 * graph's size says which way.
 */
static void try_gradient(const exercise *e, const eddy_graph *graph,
                         const request *r)
{
    const eddy_lower_options options = {.size = sizeof options,
                                        .max_nodes = MAX_NODES};
    const request_way way =
        (request_way)(eddy_graph_size(graph) % REQUEST_WAYS);
    eddy_graph *lowered = NULL;
    request asked;
    eddy_error err;

    if (eddy_graph_lower(graph, &options, &lowered, &err) != EDDY_OK)
        return;
    if (request_gradients(r, way, lowered, &asked, &err) == EDDY_OK)
        run_gradient(e, lowered, &asked);
    request_deinit(&asked);
    eddy_graph_destroy(lowered);
}

static void try_analysis(const eddy_graph *graph)
{
    eddy_analysis *analysis = NULL;
    eddy_error err;

    if (eddy_analysis_create(graph, &analysis, &err) == EDDY_OK)
        eddy_analysis_destroy(analysis);
}

static void try_rewrites(const exercise *e, const eddy_graph *graph,
                         const request *r, const outcome *reference)
{
    eddy_graph *again = save_and_load(e, graph);

    if (again != NULL && outcome_is_settled(graph)) {
        run_and_compare(graph, r, EDDY_OPTIMIZE_NONE, reference,
                        "at level none");
        run_and_compare(again, r, EDDY_OPTIMIZE_EXACT, reference,
                        "with four workers");
        try_lowered(graph, r, reference);
        try_unrolled(graph, r, reference);
    }
    eddy_graph_destroy(again);
    try_gradient(e, graph, r);
}

/* Does everything to a graph of the context without workers. */
static void exercise_loaded(const exercise *e, const eddy_graph *graph)
{
    request r;
    outcome reference = {0};
    eddy_plan *plan;

    try_analysis(graph);
    request_init(&r, e->inline_ctx, graph);
    plan = request_plan_any(&r, graph);
    if (plan != NULL) {
        run_plan(plan, &r, &reference);
        try_rewrites(e, graph, &r, &reference);
    }
    outcome_deinit(&reference);
    eddy_plan_release(plan);
    request_deinit(&r);
}

bool exercise_graph(const exercise *e, const void *bytes, size_t length)
{
    const eddy_graphdef_options options = {
        .size = sizeof options, .max_bytes = MAX_BYTES, .max_nodes = MAX_NODES};
    eddy_graph *graph = NULL;
    eddy_error err;

    if (eddy_graphdef_read(e->inline_ctx, bytes, length, &options, &graph,
                           &err) != EDDY_OK)
        return false;
    exercise_loaded(e, graph);
    eddy_graph_destroy(graph);
    return true;
}

bool exercise_onnx(const exercise *e, const void *bytes, size_t length)
{
    const eddy_limits limits = {.size = sizeof limits, .max_nodes = MAX_NODES};
    const eddy_onnx_options options = {
        .size = sizeof options, .max_bytes = MAX_BYTES, .limits = &limits};
    eddy_onnx_model *model = NULL;
    eddy_error err;

    if (eddy_onnx_read(e->inline_ctx, bytes, length, &options, &model, &err) !=
        EDDY_OK)
        return false;
    exercise_loaded(e, eddy_onnx_model_graph(model));
    eddy_onnx_model_destroy(model);
    return true;
}
