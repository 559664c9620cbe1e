/* SPDX-License-Identifier: Apache-2.0 */
/* `eddy grad`: a graph with the nodes that compute its gradients. */
#include "tools/commands.h"

#include "tools/differentiate.h"
#include "tools/format.h"
#include "tools/program.h"

#include "eddy/graphdef.h"
#include "eddy/lower.h"

#include <stdlib.h>

/* What the options name, in the graph. */
typedef struct job {
    eddy_graph *graph;
    eddy_output *ys, *xs, *grad_ys, *stop;
    eddy_output *results; /* one an x */
} job;

static eddy__exit check(const eddy__options *options)
{
    const char *problem = NULL;

    if (options->ys.n == 0)
        problem = "no --ys is given";
    else if (options->xs.n == 0)
        problem = "no --xs is given";
    else if (options->grad_ys.n != 0 && options->grad_ys.n != options->ys.n)
        problem = "--grad-ys is not given once for each --ys";
    else if (options->out == NULL)
        problem = "no -o OUT.pb is given";
    if (problem == NULL)
        return EDDY__EXIT_DONE;
    eddy__message_complain("%s", problem);
    return EDDY__EXIT_USAGE;
}

static eddy__exit look_up(const eddy__named *named, const char *option,
                          const eddy__texts *names, eddy_output **out)
{
    eddy_error err = {.code = EDDY_OK};

    *out = calloc(names->n + 1, sizeof **out);
    if (*out == NULL) {
        eddy__message_complain("out of memory");
        return EDDY__EXIT_FAILED;
    }
    for (size_t i = 0; i < names->n; i++)
        if (eddy__names_find_output(named, names->items[i], &(*out)[i], &err) !=
            EDDY_OK) {
            eddy__message_complain_error(option, &err);
            return EDDY__EXIT_USAGE;
        }
    return EDDY__EXIT_DONE;
}

static eddy__exit look_up_all(job *j, const eddy__named *named,
                              const eddy__options *options)
{
    const struct {
        const char *option;
        const eddy__texts *names;
        eddy_output **out;
    } lists[] = {
        {"--ys", &options->ys, &j->ys},
        {"--xs", &options->xs, &j->xs},
        {"--grad-ys", &options->grad_ys, &j->grad_ys},
        {"--stop", &options->stop, &j->stop},
    };
    eddy__exit result = EDDY__EXIT_DONE;

    for (size_t i = 0;
         i < sizeof lists / sizeof lists[0] && result == EDDY__EXIT_DONE; i++)
        result = look_up(named, lists[i].option, lists[i].names, lists[i].out);
    j->results = calloc(options->xs.n + 1, sizeof *j->results);
    if (result == EDDY__EXIT_DONE && j->results == NULL) {
        eddy__message_complain("out of memory");
        result = EDDY__EXIT_FAILED;
    }
    return result;
}

/* An output 0 goes without its number, as in a GraphDef. */
static void print_output(const eddy_graph *graph, eddy_output output)
{
    if (output.node == EDDY_NO_NODE) {
        fputs("none", stdout);
        return;
    }
    eddy__format_name(stdout, eddy_graph_node_name(graph, output.node));
    if (output.index > 0)
        printf(":%u", (unsigned)output.index);
}

static void print_results(const job *j, const eddy__options *options)
{
    for (size_t i = 0; i < options->xs.n; i++) {
        eddy__format_name(stdout, options->xs.items[i]);
        fputc('\t', stdout);
        print_output(j->graph, j->results[i]);
        fputc('\n', stdout);
    }
}

static eddy__exit differentiate(job *j, const eddy__options *options)
{
    const eddy__differentiation asked = {
        .ys = j->ys,
        .n_ys = options->ys.n,
        .xs = j->xs,
        .n_xs = options->xs.n,
        .grad_ys = options->grad_ys.n > 0 ? j->grad_ys : NULL,
        .stop = j->stop,
        .n_stop = options->stop.n,
        .order = options->order,
        .options = options};
    eddy_error err = {.code = EDDY_OK};
    const char *subject = options->paths.items[0];
    eddy_status status =
        eddy__differentiate(j->graph, &asked, j->results, &err);

    if (status == EDDY_OK) {
        subject = options->out;
        status = eddy_graphdef_save(j->graph, options->out, &err);
    }
    if (status != EDDY_OK) {
        eddy__message_complain_error(subject, &err);
        return EDDY__EXIT_FAILED;
    }
    print_results(j, options);
    return EDDY__EXIT_DONE;
}

/* The graph itself, unless functions are called in it. */
static eddy__exit lower(eddy__program *program, const eddy__options *options,
                        job *j)
{
    eddy_error err = {.code = EDDY_OK};
    const eddy_limits limits = eddy__options_limits(options);
    const eddy_lower_options how = {.size = sizeof how, .limits = &limits};
    eddy_graph *lowered = NULL;

    if (eddy_graph_function_name(program->graph, 0) != NULL) {
        if (eddy_graph_lower(program->graph, &how, &lowered, &err) != EDDY_OK) {
            eddy__message_complain_error(options->paths.items[0], &err);
            return EDDY__EXIT_FAILED;
        }
        eddy_graph_destroy(program->graph);
        program->graph = lowered;
    }
    j->graph = program->graph;
    return EDDY__EXIT_DONE;
}

static eddy__exit run(const eddy__options *options)
{
    eddy__program program = {.ctx = NULL};
    job j = {.graph = NULL};
    eddy__exit result = check(options);

    if (result == EDDY__EXIT_DONE)
        result = eddy__program_load(&program, options);
    if (result == EDDY__EXIT_DONE)
        result = lower(&program, options, &j);
    if (result == EDDY__EXIT_DONE)
        result = look_up_all(
            &j, &(eddy__named){program.ctx, j.graph, program.onnx}, options);
    if (result == EDDY__EXIT_DONE)
        result = differentiate(&j, options);
    free(j.ys);
    free(j.xs);
    free(j.grad_ys);
    free(j.stop);
    free(j.results);
    eddy__program_deinit(&program);
    return result;
}

const eddy__command eddy__command_grad = {
    .name = "grad",
    .arguments = "GRAPH --ys NAME --xs NAME -o OUT.pb [OPTION]...",
    .summary = "write a graph with its gradients",
    .details =
        "Adds to GRAPH the nodes that compute the gradient of the sum of all\n"
        "elements of the ys with respect to each of the xs, and writes it to\n"
        "OUT.pb.  Functions are lowered first.  Prints a line for each x: its\n"
        "name, a tab, and the name of its gradient, or none where no y\n"
        "depends on it.\n",
    .examples = "  eddy grad model.pb --ys loss --xs w --xs b -o train.pb\n"
                "  eddy grad model.pb --ys y --xs x --order 2 -o second.pb\n",
    .options = EDDY__FOR_GRAD,
    .run = run,
};
