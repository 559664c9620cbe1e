/* SPDX-License-Identifier: Apache-2.0 */
/* `eddy inspect`: what is in a graph. */
#include "tools/commands.h"

#include "tools/inspect.h"
#include "tools/inspect_json.h"
#include "tools/inspect_pass.h"
#include "tools/program.h"

#include "eddy/dot.h"
#include "eddy/drawing.h"
#include "eddy/lower.h"

static bool write_text(void *user, const char *text, size_t length)
{
    (void)user;
    return fwrite(text, 1, length, stdout) == length;
}

static eddy__exit print_drawing(const eddy_graph *graph,
                                const eddy_analysis *analysis, bool is_page)
{
    eddy_error err = {.code = EDDY_OK};

    if (eddy_drawing_write(graph, analysis,
                           is_page ? EDDY_DRAWING_PAGE : EDDY_DRAWING_SVG,
                           write_text, NULL, &err) == EDDY_OK)
        return EDDY__EXIT_DONE;
    eddy__message_complain_error(NULL, &err);
    return EDDY__EXIT_FAILED;
}

static eddy__exit print_dot(const eddy_graph *graph,
                            const eddy_analysis *analysis)
{
    eddy_error err = {.code = EDDY_OK};

    if (eddy_dot_write(graph, analysis, write_text, NULL, &err) == EDDY_OK)
        return EDDY__EXIT_DONE;
    /* main() says what standard output has come to. */
    if (err.code != EDDY_CANCELLED)
        eddy__message_complain_error(NULL, &err);
    return EDDY__EXIT_FAILED;
}

/* What can be fed and fetched are nodes of the graph as it came. */
static eddy__exit print_ends(const eddy_graph *graph, eddy_error *err)
{
    eddy_analysis *analysis = NULL;
    eddy__exit result = EDDY__EXIT_FAILED;

    if (eddy_analysis_create(graph, &analysis, err) == EDDY_OK)
        result = eddy__inspect_ends(graph, analysis);
    eddy_analysis_destroy(analysis);
    return result;
}

/* Frames and branches are those of `graph`, in which nothing takes a function.
 */
static eddy__exit print_structure(const eddy__program *program,
                                  const eddy_graph *graph,
                                  const eddy__options *options, eddy_error *err)
{
    eddy_analysis *analysis = NULL;
    eddy__exit result = EDDY__EXIT_FAILED;

    if (eddy_analysis_create(graph, &analysis, err) != EDDY_OK)
        return result;
    if (options->svg || options->html) {
        result = print_drawing(graph, analysis, options->html);
    } else if (options->dot) {
        result = print_dot(graph, analysis);
    } else if (options->json) {
        result =
            eddy__inspect_json(program->ctx, graph, analysis, program->model);
    } else {
        result = eddy__inspect_frames(graph, analysis);
        if (result == EDDY__EXIT_DONE)
            result = eddy__inspect_branches(graph, analysis);
    }
    eddy_analysis_destroy(analysis);
    return result;
}

/* What is of the graph as it came: signatures, ops, and what can be fed. */
static eddy__exit print_contents(const eddy__program *program, eddy_error *err)
{
    eddy__exit result;

    if (program->model != NULL)
        eddy__signatures_print(program->model);
    result = eddy__inspect_ops(program->ctx, program->graph);
    return result == EDDY__EXIT_DONE ? print_ends(program->graph, err) : result;
}

/*
 * A graph whose frames make no sense, or whose functions can't be called, still
 * has ops to list.
 */
static eddy__exit inspect(const eddy__program *program,
                          const eddy__options *options)
{
    const eddy_graph *graph = program->graph;
    eddy_error err = {.code = EDDY_OK};
    const eddy_limits limits = eddy__options_limits(options);
    const eddy_lower_options how = {.size = sizeof how, .limits = &limits};
    eddy_graph *lowered = NULL;
    eddy__exit result = EDDY__EXIT_DONE;

    if (!options->dot && !options->json && !options->svg && !options->html)
        result = print_contents(program, &err);
    if (result == EDDY__EXIT_DONE &&
        eddy_graph_function_name(graph, 0) != NULL) {
        if (eddy_graph_lower(graph, &how, &lowered, &err) != EDDY_OK)
            result = EDDY__EXIT_FAILED;
        graph = lowered;
    }
    if (result == EDDY__EXIT_DONE)
        result = print_structure(program, graph, options, &err);
    if (err.code != EDDY_OK)
        eddy__message_complain_error(options->paths.items[0], &err);
    eddy_graph_destroy(lowered);
    return result;
}

static eddy__exit run(const eddy__options *options)
{
    eddy__program program;
    eddy__exit result = eddy__program_load(&program, options);

    if (result == EDDY__EXIT_DONE && options->linear)
        result = eddy__inspect_linear(&program, options);
    else if (result == EDDY__EXIT_DONE && options->native)
        result = eddy__inspect_native(&program, options);
    else if (result == EDDY__EXIT_DONE)
        result = options->dump_after ? eddy__inspect_pass(&program, options)
                                     : inspect(&program, options);
    eddy__program_deinit(&program);
    return result;
}

const eddy__command eddy__command_inspect = {
    .name = "inspect",
    .arguments = "GRAPH [--dot | --svg | --linear | --dump-after PASS]...",
    .summary = "print the ops, frames, loops and branches of a graph",
    .details =
        "Prints how often each op occurs in GRAPH and its functions, and\n"
        "which of them this build does not have (which is no failure of\n"
        "inspect); what can be fed and fetched; the frames as a tree, each\n"
        "with its predicate, its trip counter if it counts, its loop\n"
        "variables (the five primitives of each) and its loop invariants;\n"
        "what is odd; the branches with their nodes; and hints: nodes that\n"
        "run always though only one branch uses what they compute.\n"
        "--json prints an object for programs instead.\n"
        "--dot draws it: frames as boxes, branches as colours, back edges\n"
        "dashed, control edges dotted.  --svg and --html draw it without\n"
        "Graphviz: loop variables in lanes, a gradient's loop beside its "
        "loop.\n"
        "--dump-after plans what --feed, --fetch and --target ask for, and\n"
        "prints the graph as a pass of planning leaves it, a node a line:\n"
        "name = Op(inputs, ^controls) -> dtypes.  The passes: options, feeds,\n"
        "controls, prune, lower, groups, references, ops, fed, dtypes, "
        "frames,\n"
        "count, fetches, shapes, ends, warnings, saving, identities, fold,\n"
        "powers, invariants, panels, common, overlap, ahead, gates, rolls,\n"
        "fuse, chains, layout, linear.\n"
        "--linear prints the code that the linear executor runs for loops,\n"
        "and of each loop that it leaves, the node that is the reason.\n"
        "--native prints their machine code, by objdump if it is there, with\n"
        "the node of each instruction.\n"
        "--fetch NAME says what the plan is for that these print.\n",
    .examples = "  eddy inspect model.pb\n"
                "  eddy inspect model.pb --dot | dot -Tsvg > model.svg\n"
                "  eddy inspect model.pb --dump-after lower --fetch y\n",
    .options = EDDY__FOR_INSPECT,
    .run = run,
};
