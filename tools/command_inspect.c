/* `eddy inspect`: what is in a graph. */
#include "tools/commands.h"

#include "tools/inspect.h"
#include "tools/program.h"

#include "eddy/dot.h"

static bool write_text(void *user, const char *text, size_t length)
{
    (void)user;
    return fwrite(text, 1, length, stdout) == length;
}

static eddy__exit print_dot(const eddy_graph *graph,
                            const eddy_analysis *analysis)
{
    eddy_error err = {.code = EDDY_OK};

    if (eddy_dot_write(graph, analysis, write_text, NULL, &err) == EDDY_OK)
        return EDDY__EXIT_DONE;
    /* main() says what standard output has come to. */
    if (err.code != EDDY_CANCELLED)
        eddy__complain_error(NULL, &err);
    return EDDY__EXIT_FAILED;
}

static eddy__exit print_structure(const eddy_graph *graph,
                                  const eddy_analysis *analysis)
{
    eddy__exit result = eddy__inspect_ends(graph, analysis);

    if (result == EDDY__EXIT_DONE)
        result = eddy__inspect_frames(graph, analysis);
    if (result == EDDY__EXIT_DONE)
        result = eddy__inspect_branches(graph, analysis);
    return result;
}

/* A graph whose frames make no sense still has ops to list. */
static eddy__exit inspect(const eddy__program *program,
                          const eddy__options *options)
{
    eddy_error err = {.code = EDDY_OK};
    eddy_analysis *analysis = NULL;
    eddy__exit result = EDDY__EXIT_DONE;

    if (!options->dot)
        result = eddy__inspect_ops(program->ctx, program->graph);
    if (result != EDDY__EXIT_DONE)
        return result;
    if (eddy_analysis_create(program->graph, &analysis, &err) != EDDY_OK) {
        eddy__complain_error(options->paths.items[0], &err);
        return EDDY__EXIT_FAILED;
    }
    result = options->dot ? print_dot(program->graph, analysis)
                          : print_structure(program->graph, analysis);
    eddy_analysis_destroy(analysis);
    return result;
}

static eddy__exit run(const eddy__options *options)
{
    eddy__program program;
    eddy__exit result = eddy__program_load(&program, options);

    if (result == EDDY__EXIT_DONE)
        result = inspect(&program, options);
    eddy__program_deinit(&program);
    return result;
}

const eddy__command eddy__command_inspect = {
    .name = "inspect",
    .arguments = "GRAPH [--dot]",
    .summary = "print the ops, frames, loops and branches of a graph",
    .details =
        "Prints how often each op occurs in GRAPH and its functions, and\n"
        "which of them this build does not have (which is no failure of\n"
        "inspect); what can be fed and fetched; the frames as a tree, each\n"
        "with its predicate, its loop variables (the five primitives of\n"
        "each) and its loop invariants; what is odd; and the branches.\n",
    .examples = "  eddy inspect model.pb\n"
                "  eddy inspect model.pb --dot | dot -Tsvg > model.svg\n",
    .options = EDDY__FOR_INSPECT,
    .run = run,
};
