/* SPDX-License-Identifier: Apache-2.0 */
/* `eddy trace`: a graph once, and what every node of it did. */
#include "tools/commands.h"

#include "tools/program.h"
#include "tools/recording.h"

static size_t count_messages(const eddy_trace *trace)
{
    size_t n = 0;

    for (size_t i = 0; i < eddy_trace_records(trace); i++)
        n += eddy_trace_message(trace, i) != EDDY_TRACE_NOT_FOUND;
    return n;
}

static void print_totals(const eddy_trace *trace)
{
    const eddy_trace_totals t = eddy_trace_total(trace);

    printf("%llu live, %llu dead, %llu iterations, %llu frames, ",
           (unsigned long long)t.live, (unsigned long long)t.dead,
           (unsigned long long)t.stats.iterations,
           (unsigned long long)t.stats.frames);
    if (eddy__recording_linear_frames(trace) > 0)
        printf("%zu by the linear executor, ",
               eddy__recording_linear_frames(trace));
    if (eddy_trace_ranks(trace) > 1)
        printf("%zu messages, %u ranks, ", count_messages(trace),
               (unsigned)eddy_trace_ranks(trace));
    printf("%u worker%s, %llu us\n", t.n_workers, t.n_workers == 1 ? "" : "s",
           (unsigned long long)t.duration_ns / 1000);
    if (t.n_dropped > 0)
        printf("%llu of %llu records were not kept (--max-records)\n",
               (unsigned long long)t.n_dropped, (unsigned long long)t.n_seen);
}

static eddy__exit execute(eddy__program *program, const eddy__options *options)
{
    eddy_error err = {.code = EDDY_OK};
    const eddy_status status =
        eddy__program_execute(program, options, NULL, &err);
    eddy__exit result = EDDY__EXIT_FAILED;

    if (program->trace != NULL)
        result = eddy__recording_write(program->trace, options);
    if (result == EDDY__EXIT_DONE)
        print_totals(program->trace);
    if (status == EDDY_OK)
        return result;
    eddy__message_complain_error(options->paths.items[0], &err);
    return EDDY__EXIT_FAILED;
}

static eddy__exit run(const eddy__options *options)
{
    /* Every node of the graph is to be seen, unless it is asked otherwise. */
    eddy__options own = *options;
    eddy__program program;
    eddy__exit result;

    if (options->trace == NULL) {
        eddy__message_complain("no -o FILE is given");
        return EDDY__EXIT_USAGE;
    }
    if (!eddy__recording_is_known(options->trace))
        return EDDY__EXIT_USAGE;
    if (own.optimize == EDDY_OPTIMIZE_DEFAULT)
        own.optimize = EDDY_OPTIMIZE_NONE;
    result = eddy__program_load(&program, &own);
    if (result == EDDY__EXIT_DONE)
        result = eddy__program_prepare(&program, &own);
    if (result == EDDY__EXIT_DONE)
        result = execute(&program, &own);
    eddy__program_deinit(&program);
    return result;
}

const eddy__command eddy__command_trace = {
    .name = "trace",
    .arguments = "GRAPH [--feed NAME=VALUE]... [--fetch NAME]... -o FILE",
    .summary = "record a run: every node in every iteration",
    .details =
        "Runs GRAPH as `eddy run` does, but for machine code, and writes what\n"
        "every node did: frame path, live or dead, output of a Switch, "
        "worker,\n"
        "time, bytes, and a summary of every value.  FILE ends in\n"
        "\n"
        ".html for one page that needs nothing else: the graph, wavefront,\n"
        "timeline, tape, memory, and why a node is dead; of more than 100,000\n"
        "records it has the first and the last.\n"
        ".json for Chrome's trace events, .pftrace for Perfetto, both with\n"
        "pushes tied to their pops; or .dot for one iteration, that of --at\n"
        "or the first of the first loop, as Graphviz draws it.\n"
        "\n"
        "The graph is not optimized unless --optimize says so, so that each\n"
        "node is there.  A run that fails is recorded up to there.\n"
        "\n"
        "With --place or --ranks GRAPH is cut as `eddy run` does it, and all\n"
        "ranks, which are threads, are in one file: each with workers of its\n"
        "own, and what one sends tied to who receives it.\n",
    .examples =
        "  eddy trace loop.pb --fetch while/Exit -o run.html\n"
        "  eddy trace loop.pb --fetch y --frame while --iterations 90..110 -o "
        "run.json\n"
        "  eddy trace loop.pb --fetch y --check-numerics -o run.pftrace\n"
        "  eddy trace loop.pb --fetch y --at 'while[3]' -o three.dot\n",
    .options = EDDY__FOR_TRACE,
    .run = run,
};
