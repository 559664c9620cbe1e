/* SPDX-License-Identifier: Apache-2.0 */
/* `eddy inspect --dump-after`: the graph as a pass of planning leaves it. */
#include "tools/inspect_pass.h"

#include "tools/disassemble.h"

#include "tools/inspect.h"

#include <string.h>

typedef struct dump {
    const char *pass;
    bool is_done;
} dump;

/* name = Op(input, input:1, ^control) -> dtype[shape], dtype[shape] */
static void print_node(const eddy_graph *graph, eddy_node node)
{
    const char *separator = "";
    size_t n;
    const eddy_output *inputs = eddy_graph_node_inputs(graph, node, &n);
    const eddy_node *controls;
    size_t n_outputs = eddy_graph_node_outputs(graph, node);

    printf("%s = %s(", eddy_graph_node_name(graph, node),
           eddy_graph_node_op(graph, node));
    for (size_t i = 0; i < n; i++, separator = ", ") {
        fputs(separator, stdout);
        eddy__inspect_print_output(graph, inputs[i]);
    }
    controls = eddy_graph_node_controls(graph, node, &n);
    for (size_t i = 0; i < n; i++, separator = ", ")
        printf("%s^%s", separator, eddy_graph_node_name(graph, controls[i]));
    putchar(')');
    for (size_t i = 0; i < n_outputs; i++) {
        const eddy_output output = {.node = node, .index = (uint32_t)i};

        printf("%s%s", i == 0 ? " -> " : ", ",
               eddy_dtype_name(eddy_graph_output_dtype(graph, output)));
    }
    putchar('\n');
}

static void see(void *user, const char *pass, const eddy_graph *graph,
                const uint8_t *keep)
{
    dump *d = user;

    if (d->is_done || strcmp(pass, d->pass) != 0)
        return;
    d->is_done = true;
    for (size_t i = 0; i < eddy_graph_size(graph); i++)
        if (keep == NULL || keep[i])
            print_node(graph, (eddy_node)i);
}

static bool is_pass(const char *name)
{
    const char *pass;

    for (size_t i = 0; (pass = eddy_plan_pass_name(i)) != NULL; i++)
        if (strcmp(pass, name) == 0)
            return true;
    return false;
}

static eddy__exit refuse(const char *name)
{
    const char *pass;
    char list[512] = "";
    size_t length = 0;

    for (size_t i = 0; (pass = eddy_plan_pass_name(i)) != NULL; i++)
        if (length + strlen(pass) + 3 < sizeof list)
            length += (size_t)snprintf(list + length, sizeof list - length,
                                       "%s%s", i == 0 ? "" : ", ", pass);
    eddy__message_complain("--dump-after: there is no pass '%s'; those are: %s",
                           name, list);
    return EDDY__EXIT_USAGE;
}

eddy__exit eddy__inspect_pass(eddy__program *program,
                              const eddy__options *options)
{
    eddy_error err = {.code = EDDY_OK};
    dump d = {.pass = options->dump_after};
    eddy__exit result;

    if (!is_pass(d.pass))
        return refuse(d.pass);
    result = eddy__program_ask(program, options);
    if (result != EDDY__EXIT_DONE)
        return result;
    program->request.observe = see;
    program->request.user = &d;
    /* Of a plan that is refused, the graph may still be there to see. */
    if (eddy__request_plan(&program->request, program->graph, options,
                           &program->plan, &err) == EDDY_OK)
        return EDDY__EXIT_DONE;
    eddy__message_complain_error(options->paths.items[0], &err);
    return EDDY__EXIT_FAILED;
}

static bool write_text(void *user, const char *text, size_t length)
{
    (void)user;
    return fwrite(text, 1, length, stdout) == length;
}

/* The plan of what the options ask for. */
static eddy__exit make_plan(eddy__program *program,
                            const eddy__options *options)
{
    eddy_error err = {.code = EDDY_OK};
    eddy__exit result = eddy__program_ask(program, options);

    if (result != EDDY__EXIT_DONE ||
        eddy__request_plan(&program->request, program->graph, options,
                           &program->plan, &err) == EDDY_OK)
        return result;
    eddy__message_complain_error(options->paths.items[0], &err);
    return EDDY__EXIT_FAILED;
}

eddy__exit eddy__inspect_native(eddy__program *program,
                                const eddy__options *options)
{
    eddy__exit result = make_plan(program, options);

    if (result != EDDY__EXIT_DONE)
        return result;
    if (!eddy_native_machine()) {
        eddy__message_complain("this build makes no machine code");
        return EDDY__EXIT_FAILED;
    }
    return eddy__disassemble(program->plan) ? EDDY__EXIT_DONE
                                            : EDDY__EXIT_FAILED;
}

eddy__exit eddy__inspect_linear(eddy__program *program,
                                const eddy__options *options)
{
    eddy__exit result = make_plan(program, options);

    if (result != EDDY__EXIT_DONE)
        return result;
    /* main() says what standard output has come to. */
    return eddy_plan_print_linear(program->plan, write_text, NULL)
               ? EDDY__EXIT_DONE
               : EDDY__EXIT_FAILED;
}
