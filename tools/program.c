/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, prepares and asks a program, and says what each step took. */
#include "tools/program.h"

#include "tools/clock.h"
#include "tools/number.h"
#include "tools/perf_map.h"
#include "tools/ranks.h"

#include "eddy/graphdef.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static eddy__exit fail(const eddy__options *options, const eddy_error *err)
{
    eddy__message_complain_error(options->paths.items[0], err);
    return EDDY__EXIT_FAILED;
}

static eddy_status load_onnx(eddy__program *program,
                             const eddy__options *options, eddy_error *err)
{
    const eddy_limits limits = eddy__options_limits(options);
    const eddy_onnx_options how = {.size = sizeof how,
                                   .limits = &limits,
                                   .external_data = options->external_data};
    const eddy_status status = eddy_onnx_load(
        program->ctx, options->paths.items[0], &how, &program->onnx, err);

    if (status == EDDY_OK)
        program->graph = eddy_onnx_model_take_graph(program->onnx);
    return status;
}

/* All outputs of a model stand in for fetches that are not given. */
static eddy__exit fetch_outputs(eddy__program *program)
{
    size_t n;
    const eddy_onnx_port *ports = eddy_onnx_model_outputs(program->onnx, &n);

    program->outputs = calloc(n + 1, sizeof *program->outputs);
    if (program->outputs == NULL) {
        eddy__message_complain("out of memory");
        return EDDY__EXIT_FAILED;
    }
    for (size_t i = 0; i < n; i++)
        program->outputs[i] = ports[i].name;
    program->fetches = (eddy__texts){program->outputs, n};
    return EDDY__EXIT_DONE;
}

/* The graph of a SavedModel's folder, or of a file. */
static eddy_status load_graph(eddy__program *program,
                              const eddy__options *options, eddy_error *err)
{
    const char *path = options->paths.items[0];
    const eddy_limits limits = eddy__options_limits(options);
    const eddy_graphdef_options load = {.size = sizeof load, .limits = &limits};
    const eddy_savedmodel_options whole = {.size = sizeof whole,
                                           .limits = &limits};
    eddy_status status;

    if (eddy__names_is_model_file(path))
        return load_onnx(program, options, err);
    if (!eddy_savedmodel_is_there(path))
        return eddy_graphdef_load(program->ctx, path, &load, &program->graph,
                                  err);
    status =
        eddy_savedmodel_load(program->ctx, path, &whole, &program->model, err);
    if (status == EDDY_OK)
        program->graph = eddy_savedmodel_take_graph(program->model);
    return status;
}

eddy__exit eddy__program_load(eddy__program *program,
                              const eddy__options *options)
{
    eddy_error err = {.code = EDDY_OK};
    uint64_t begin;

    *program = (eddy__program){.ctx = NULL};
    if (options->paths.n != 1) {
        eddy__message_complain(options->paths.n == 0
                                   ? "no GRAPH is given"
                                   : "more than one GRAPH is given");
        return EDDY__EXIT_USAGE;
    }
    if (eddy__options_context(options, &program->ctx, &err) != EDDY_OK) {
        eddy__message_complain_error(NULL, &err);
        return EDDY__EXIT_FAILED;
    }
    begin = eddy__clock_ns();
    if (load_graph(program, options, &err) != EDDY_OK)
        return fail(options, &err);
    program->load_ns = eddy__clock_ns() - begin;
    program->fetches = options->fetches;
    return program->onnx != NULL && options->fetches.n == 0 &&
                   options->targets.n == 0
               ? fetch_outputs(program)
               : EDDY__EXIT_DONE;
}

static void warn(const eddy_plan *plan)
{
    const char *warning;

    for (size_t i = 0; (warning = eddy_plan_warning(plan, i)) != NULL; i++)
        eddy__message_complain("warning: %s", warning);
}

/* A feed whose dtype or shape the graph does not take is wrong use. */
static bool is_bad_feed(const eddy_error *err)
{
    return err->detail == EDDY_E_FEED_DTYPE || err->detail == EDDY_E_FEED_SHAPE;
}

/* Variables of the model, and what --init names, before anything else runs. */
static eddy__exit begin_session(eddy__program *program,
                                const eddy__options *options)
{
    const eddy_limits limits = eddy__options_limits(options);
    eddy_error err = {.code = EDDY_OK};

    if (program->model == NULL && options->init.n == 0)
        return EDDY__EXIT_DONE;
    if (eddy_session_create(program->ctx, &program->session, &err) != EDDY_OK)
        return fail(options, &err);
    if (program->model != NULL &&
        eddy_savedmodel_restore(program->model, program->session, &limits,
                                &err) != EDDY_OK)
        return fail(options, &err);
    return EDDY__EXIT_DONE;
}

/* Runs the nodes of --init, one after the other. */
static eddy__exit run_init(eddy__program *program, const eddy__options *options)
{
    eddy__exit result = EDDY__EXIT_DONE;

    for (size_t i = 0; i < options->init.n && result == EDDY__EXIT_DONE; i++) {
        eddy__options one = *options;
        eddy_error err = {.code = EDDY_OK};
        eddy__request request = {.n_feeds = 0};
        eddy_plan *plan = NULL;
        eddy_run *run = NULL;

        one.feeds.n = one.fetches.n = 0;
        one.targets = (eddy__texts){.items = &options->init.items[i], .n = 1};
        result = eddy__request_from_options(
            &request,
            &(eddy__named){program->ctx, program->graph, program->onnx},
            &one.fetches, &one);
        request.session = program->session;
        if (result == EDDY__EXIT_DONE &&
            (eddy__request_plan(&request, program->graph, &one, &plan, &err) !=
                 EDDY_OK ||
             eddy__request_bind(&request, plan, &one, &run, &err) != EDDY_OK ||
             eddy_run_execute(run, &err) != EDDY_OK))
            result = fail(options, &err);
        eddy_run_destroy(run);
        eddy_plan_release(plan);
        eddy__request_deinit(&request);
    }
    return result;
}

/* Is it a signature that is asked, and not the graph below it? */
static bool asks_signature(const eddy__program *program,
                           const eddy__options *options)
{
    return options->signature != NULL ||
           (program->model != NULL && options->targets.n == 0 &&
            eddy__signature_has(program->model, options));
}

static eddy__exit ask_signature(eddy__program *program,
                                const eddy__options *options)
{
    const eddy__named named = {program->ctx, program->graph, NULL};
    eddy__exit result;

    if (program->model == NULL) {
        eddy__message_complain("--signature: %s is no SavedModel",
                               options->paths.items[0]);
        return EDDY__EXIT_USAGE;
    }
    result = eddy__signature_call(program->model, options, &program->called);
    if (result == EDDY__EXIT_DONE)
        result = eddy__request_from_options(&program->request, &named,
                                            &program->called.options.fetches,
                                            &program->called.options);
    return result;
}

const char *eddy__program_label(const eddy__program *program, size_t i)
{
    return program->called.labels != NULL ? program->called.labels[i]
                                          : program->fetches.items[i];
}

eddy__exit eddy__program_ask(eddy__program *program,
                             const eddy__options *options)
{
    const eddy__named named = {program->ctx, program->graph, program->onnx};

    if (asks_signature(program, options))
        return ask_signature(program, options);
    if (program->fetches.n == 0 && options->targets.n == 0) {
        eddy__message_complain(
            "neither --fetch nor --target is given; `eddy inspect "
            "%s` lists what there is",
            options->paths.items[0]);
        return EDDY__EXIT_USAGE;
    }
    return eddy__request_from_options(&program->request, &named,
                                      &program->fetches, options);
}

/* FIRST..LAST, FIRST.. or one number. */
static bool read_iterations(const char *text, eddy_trace_options *to)
{
    const char *dots = strstr(text, "..");
    uint64_t first = 0, last = 0;
    char digits[24] = "";

    if (!dots) {
        if (!eddy__number_read_count(text, INT64_MAX, &first))
            return false;
        to->first_iteration = to->last_iteration = (int64_t)first;
        return true;
    }
    if ((size_t)(dots - text) >= sizeof digits)
        return false;
    memcpy(digits, text, (size_t)(dots - text));
    if (!eddy__number_read_count(digits, INT64_MAX, &first) ||
        (dots[2] != '\0' &&
         !eddy__number_read_count(dots + 2, INT64_MAX, &last)) ||
        (dots[2] != '\0' && last < first))
        return false;
    to->first_iteration = (int64_t)first;
    to->last_iteration = (int64_t)last;
    return true;
}

static eddy__exit begin_recording(eddy__program *program,
                                  const eddy__options *options)
{
    eddy_error err = {.code = EDDY_OK};
    eddy_trace_options how = {.size = sizeof how,
                              .max_records = options->max_records,
                              .keep_last = options->keep_last,
                              .values = !options->no_values,
                              .check_numerics = options->check_numerics,
                              .frame = options->frame,
                              .nodes = options->nodes.items,
                              .n_nodes = options->nodes.n};

    if (options->trace == NULL && options->subcommand != EDDY__FOR_EXPLAIN)
        return EDDY__EXIT_DONE;
    if (options->iterations != NULL &&
        !read_iterations(options->iterations, &how)) {
        eddy__message_complain("--iterations: '%s' is not FIRST..LAST",
                               options->iterations);
        return EDDY__EXIT_USAGE;
    }
    program->recording = how;
    if (eddy__options_want_ranks(options)) {
        program->request.recording = &program->recording;
        return EDDY__EXIT_DONE;
    }
    if (eddy_trace_create(program->plan, &how, &program->trace, &err) !=
        EDDY_OK) {
        fail(options, &err);
        return err.detail == EDDY_E_UNKNOWN_NAME ? EDDY__EXIT_USAGE
                                                 : EDDY__EXIT_FAILED;
    }
    program->request.recorder = program->trace;
    return EDDY__EXIT_DONE;
}

static void tell(eddy_run *run, const eddy_progress *now, void *user)
{
    const double seconds = (double)now->elapsed_ns / 1e9;
    char text[256];

    (void)run;
    (void)snprintf(
        text, sizeof text,
        "%.0f s  %llu iterations, %.0f a second, %.1f MiB  %s%s%s", seconds,
        (unsigned long long)now->iterations, (double)now->iterations / seconds,
        (double)now->bytes / (1 << 20), now->frame,
        now->frame[0] != '\0' && now->node[0] != '\0' ? " " : "", now->node);
    eddy__progress_line(user, text);
}

/* On a terminal; not of what is timed. */
static void show_progress(eddy__program *program, const eddy__options *options)
{
    eddy__progress_begin(&program->progress);
    if (!program->progress.is_shown || options->subcommand == EDDY__FOR_BENCH)
        return;
    program->request.progress = tell;
    program->request.progress_user = &program->progress;
}

eddy__exit eddy__program_prepare(eddy__program *program,
                                 const eddy__options *options)
{
    eddy_error err = {.code = EDDY_OK};
    eddy__exit result = eddy__program_ask(program, options);
    uint64_t begin;

    if (result == EDDY__EXIT_DONE)
        result = begin_session(program, options);
    if (result == EDDY__EXIT_DONE)
        result = run_init(program, options);
    if (result != EDDY__EXIT_DONE)
        return result;
    program->request.session = program->session;
    program->request.is_saved = options->checkpoint_folder != NULL &&
                                !eddy__options_want_ranks(options);
    begin = eddy__clock_ns();
    if (eddy__request_plan(&program->request, program->graph, options,
                           &program->plan, &err) != EDDY_OK)
        return fail(options, &err);
    program->plan_ns = eddy__clock_ns() - begin;
    warn(program->plan);
    result = begin_recording(program, options);
    if (result != EDDY__EXIT_DONE)
        return result;
    if (options->perf_map) {
        result = eddy__perf_map_write(program->plan);
        if (result != EDDY__EXIT_DONE)
            return result;
    }
    show_progress(program, options);
    if (eddy__request_bind(&program->request, program->plan, options,
                           &program->run, &err) != EDDY_OK) {
        fail(options, &err);
        return is_bad_feed(&err) ? EDDY__EXIT_USAGE : EDDY__EXIT_FAILED;
    }
    return EDDY__EXIT_DONE;
}

static eddy_status execute_ranks(eddy__program *program,
                                 const eddy__options *options,
                                 eddy_tensor **fetched, eddy_error *err)
{
    const eddy_status status = eddy__request_run_ranks(
        &program->request, program->graph, options, fetched, err);

    program->trace = program->request.recorded;
    program->request.recorded = NULL;
    return status;
}

/* The same for whoever wants no values. */
static eddy_status execute_ranks_alone(eddy__program *program,
                                       const eddy__options *options,
                                       eddy_error *err)
{
    const size_t n = program->request.n_fetches;
    eddy_tensor **fetched = calloc(n + 1, sizeof(eddy_tensor *));
    eddy_status status;

    if (fetched == NULL)
        return eddy__message_raise_memory(err);
    status = execute_ranks(program, options, fetched, err);
    for (size_t i = 0; i < n; i++)
        eddy_tensor_release(fetched[i]);
    free(fetched);
    return status;
}

eddy_status eddy__program_execute(eddy__program *program,
                                  const eddy__options *options,
                                  eddy_tensor **fetched, eddy_error *err)
{
    eddy_status status;

    if (eddy__options_want_ranks(options))
        return fetched != NULL ? execute_ranks(program, options, fetched, err)
                               : execute_ranks_alone(program, options, err);
    status = eddy_run_execute(program->run, err);
    eddy__progress_clear(&program->progress);
    for (size_t i = 0;
         status == EDDY_OK && fetched != NULL && i < program->request.n_fetches;
         i++)
        fetched[i] = eddy_tensor_retain(eddy_run_fetch(program->run, i));
    return status;
}

void eddy__program_deinit(eddy__program *program)
{
    eddy__progress_clear(&program->progress);
    eddy_run_destroy(program->run);
    eddy_trace_destroy(program->trace);
    eddy_plan_release(program->plan);
    eddy__request_deinit(&program->request);
    eddy__called_deinit(&program->called);
    eddy_session_release(program->session);
    eddy_savedmodel_destroy(program->model);
    eddy_onnx_model_destroy(program->onnx);
    eddy_graph_destroy(program->graph);
    free(program->outputs);
    eddy_context_destroy(program->ctx);
    *program = (eddy__program){.ctx = NULL};
}
