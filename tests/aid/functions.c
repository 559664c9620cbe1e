/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/functions.h"

#include "core/graph/graph.h"
#include "tests/aid/text.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define MOST 24

typedef struct draft {
    program *p;
    eddy__function function;
    eddy_node args[MOST], controls[MOST];
    const char *arg_names[MOST], *result_names[MOST];
    eddy_output results[MOST];
    uint8_t dtypes[MOST];
    char texts[2][1024];
} draft;

static void add_opaque(program *p, const char *op, const char *name,
                       const eddy_output *inputs, size_t n_inputs,
                       const eddy_dtype *dtype)
{
    const eddy__add_options options = {.opaque = true};
    const eddy_attr attr = eddy_attr_type("T", dtype);
    const eddy_node_spec spec = {
        .size = sizeof spec,
        .op = op,
        .name = name,
        .inputs = inputs,
        .n_inputs = n_inputs,
        .attrs = &attr,
        .n_attrs = dtype != NULL,
    };

    program_want_ok(p,
                    eddy__graph_add(p->graph, &spec, &options, NULL, &p->err));
}

static void add_args(draft *d, const char *text)
{
    char *rest, *word;

    snprintf(d->texts[0], sizeof d->texts[0], "%s", text);
    for (word = strtok_r(d->texts[0], " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        char *equals = strchr(word, '=');
        const size_t i = d->function.n_args++;
        eddy_dtype dtype;

        ck_assert(equals && i < MOST);
        *equals = '\0';
        dtype = text_dtype(equals + 1, strlen(equals + 1));
        add_opaque(d->p, "_Arg", word, NULL, 0, &dtype);
        d->args[i] = (eddy_node)i;
        d->arg_names[i] = word;
    }
}

static eddy_dtype result_dtype(const draft *d, eddy_output output,
                               const char *given)
{
    const eddy_attr *attr;

    if (given)
        return text_dtype(given + 1, strlen(given + 1));
    attr = eddy__node_attr(&d->p->graph->nodes[output.node], "T");
    return output.node < d->function.n_args
               ? attr->as.types[0]
               : eddy_graph_output_dtype(d->p->graph, output);
}

static void add_results(draft *d, const char *text)
{
    char *rest, *word;

    snprintf(d->texts[1], sizeof d->texts[1], "%s", text);
    for (word = strtok_r(d->texts[1], " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        char *equals = strchr(word, '=');
        const size_t i = d->function.n_results;

        ck_assert_uint_lt(i, MOST);
        if (word[0] == '^') {
            d->controls[d->function.n_control_results++] =
                program_output(d->p, word + 1).node;
            continue;
        }
        if (equals)
            *equals = '\0';
        d->results[i] = program_output(d->p, word);
        d->dtypes[i] = (uint8_t)result_dtype(d, d->results[i], equals);
        d->result_names[i] = word;
        d->function.n_results++;
    }
}

void functions_add(program *p, const char *name, const char *args,
                   const char *body, const char *results)
{
    eddy_graph *graph = p->graph;
    draft d = {.p = p, .function.name = name};

    program_want_ok(p, eddy_graph_create(p->ctx, &p->graph, &p->err));
    add_args(&d, args);
    program_build(p, body);
    add_results(&d, results);
    d.function.body = p->graph;
    d.function.args = d.args;
    d.function.arg_names = d.arg_names;
    d.function.results = d.results;
    d.function.result_names = d.result_names;
    d.function.result_dtypes = d.dtypes;
    d.function.control_results = d.controls;
    p->graph = graph;
    program_want_ok(p, eddy__graph_add_function(graph, &d.function, &p->err));
}

void functions_call(program *p, const char *function, const char *name,
                    const char *inputs)
{
    eddy_output outputs[MOST];
    char copy[256], *rest, *word;
    size_t n = 0;

    snprintf(copy, sizeof copy, "%s", inputs);
    for (word = strtok_r(copy, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        ck_assert_uint_lt(n, MOST);
        outputs[n++] = program_output(p, word);
    }
    add_opaque(p, function, name, outputs, n, NULL);
}
