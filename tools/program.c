#include "tools/program.h"

#include "tools/clock.h"

#include "eddy/graphdef.h"

static eddy__exit fail(const eddy__options *options, const eddy_error *err)
{
    eddy__complain_error(options->paths.items[0], err);
    return EDDY__EXIT_FAILED;
}

eddy__exit eddy__program_load(eddy__program *program,
                              const eddy__options *options)
{
    eddy_error err = {.code = EDDY_OK};
    eddy_graphdef_options load = {.size = sizeof load};
    eddy_limits limits;
    uint64_t begin;

    *program = (eddy__program){.ctx = NULL};
    if (options->paths.n != 1) {
        eddy__complain(options->paths.n == 0 ? "no GRAPH is given"
                                             : "more than one GRAPH is given");
        return EDDY__EXIT_USAGE;
    }
    if (eddy__options_context(options, &program->ctx, &err) != EDDY_OK) {
        eddy__complain_error(NULL, &err);
        return EDDY__EXIT_FAILED;
    }
    limits = eddy__options_limits(options);
    load.limits = &limits;
    begin = eddy__clock_ns();
    if (eddy_graphdef_load(program->ctx, options->paths.items[0], &load,
                           &program->graph, &err) != EDDY_OK)
        return fail(options, &err);
    program->load_ns = eddy__clock_ns() - begin;
    return EDDY__EXIT_DONE;
}

static void warn(const eddy_plan *plan)
{
    const char *warning;

    for (size_t i = 0; (warning = eddy_plan_warning(plan, i)) != NULL; i++)
        eddy__complain("warning: %s", warning);
}

/* A feed whose dtype or shape the graph does not take is wrong use. */
static bool is_bad_feed(const eddy_error *err)
{
    return err->detail == EDDY_E_FEED_DTYPE || err->detail == EDDY_E_FEED_SHAPE;
}

eddy__exit eddy__program_ask(eddy__program *program,
                             const eddy__options *options)
{
    if (options->fetches.n == 0 && options->targets.n == 0) {
        eddy__complain("neither --fetch nor --target is given; `eddy inspect "
                       "%s` lists what there is",
                       options->paths.items[0]);
        return EDDY__EXIT_USAGE;
    }
    return eddy__request_from_options(&program->request, program->ctx,
                                      program->graph, options);
}

eddy__exit eddy__program_prepare(eddy__program *program,
                                 const eddy__options *options)
{
    eddy_error err = {.code = EDDY_OK};
    eddy__exit result = eddy__program_ask(program, options);
    uint64_t begin;

    if (result != EDDY__EXIT_DONE)
        return result;
    begin = eddy__clock_ns();
    if (eddy__request_plan(&program->request, program->graph, options,
                           &program->plan, &err) != EDDY_OK)
        return fail(options, &err);
    program->plan_ns = eddy__clock_ns() - begin;
    warn(program->plan);
    if (eddy__request_bind(&program->request, program->plan, options,
                           &program->run, &err) != EDDY_OK) {
        fail(options, &err);
        return is_bad_feed(&err) ? EDDY__EXIT_USAGE : EDDY__EXIT_FAILED;
    }
    return EDDY__EXIT_DONE;
}

void eddy__program_deinit(eddy__program *program)
{
    eddy_run_destroy(program->run);
    eddy_plan_release(program->plan);
    eddy__request_deinit(&program->request);
    eddy_graph_destroy(program->graph);
    eddy_context_destroy(program->ctx);
    *program = (eddy__program){.ctx = NULL};
}
