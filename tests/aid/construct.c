/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/construct.h"

#include <check.h>

void construct_while_with(program *p, const eddy_while_spec *spec,
                          eddy_output *variables)
{
    program_want_ok(p, eddy_while_begin(p->graph, spec, variables, &p->err));
}

void construct_while(program *p, const eddy_output *initial, size_t n,
                     eddy_output *variables)
{
    const eddy_while_spec spec = {
        .size = sizeof spec, .initial = initial, .n_variables = n};

    construct_while_with(p, &spec, variables);
}

void construct_body(program *p, eddy_output predicate, eddy_output *variables)
{
    program_want_ok(p,
                    eddy_while_body(p->graph, predicate, variables, &p->err));
}

void construct_end(program *p, const eddy_output *next, size_t n,
                   eddy_output *results)
{
    program_want_ok(p, eddy_while_end(p->graph, next, n, results, &p->err));
}

void construct_cond(program *p, eddy_output predicate)
{
    const eddy_cond_spec spec = {.size = sizeof spec, .predicate = predicate};

    program_want_ok(p, eddy_cond_begin(p->graph, &spec, &p->err));
}

void construct_else(program *p, eddy_output result)
{
    program_want_ok(p, eddy_cond_else(p->graph, &result, 1, &p->err));
}

eddy_output construct_end_cond(program *p, eddy_output result)
{
    program_want_ok(p, eddy_cond_end(p->graph, &result, 1, &result, &p->err));
    return result;
}

void construct_next(program *p, eddy_output result)
{
    program_want_ok(p, eddy_case_next(p->graph, &result, 1, &p->err));
}

eddy_output construct_end_case(program *p, eddy_output result)
{
    program_want_ok(p, eddy_case_end(p->graph, &result, 1, &result, &p->err));
    return result;
}

eddy_output construct_feed(program *p, const char *name, eddy_dtype dtype)
{
    const eddy_shape scalar = {.rank = 0};
    eddy_output out;

    program_want_ok(p, eddy_graph_add_placeholder(p->graph, name, dtype,
                                                  &scalar, &out, &p->err));
    return out;
}

counted construct_counted(program *p, eddy_output trips, eddy_output value)
{
    const eddy_output initial[] = {program_int(p, 0), value};
    eddy_output now[2];

    construct_while(p, initial, 2, now);
    construct_body(p, program_binary(p, "Less", now[0], trips), now);
    return (counted){.i = now[0], .now = now[1]};
}

void construct_end_counted(program *p, counted *c, eddy_output next)
{
    const eddy_output both[] = {
        program_binary(p, "AddV2", c->i, program_int(p, 1)), next};

    construct_end(p, both, 2, c->results);
}

void construct_plan(program *p, eddy_output fetch, const eddy_output *feeds,
                    size_t n)
{
    const eddy_plan_options options = {
        .size = sizeof options,
        .feeds = feeds,
        .n_feeds = n,
        .fetches = &fetch,
        .n_fetches = 1,
    };

    eddy_run_destroy(p->run);
    eddy_plan_release(p->plan);
    p->run = NULL;
    p->plan = NULL;
    program_want_ok(p, eddy_plan_create(p->graph, &options, &p->plan, &p->err));
}

int64_t construct_run(program *p, eddy_output fetch, const eddy_output *feeds,
                      const int64_t *values, size_t n)
{
    construct_plan(p, fetch, feeds, n);
    for (size_t i = 0; i < n; i++) {
        if (eddy_graph_output_dtype(p->graph, feeds[i]) == EDDY_INT32)
            program_feed_int32(p, i, (int32_t)values[i]);
        else
            program_feed_int(p, i, values[i]);
    }
    program_run(p);
    return program_fetch_int(p, 0);
}

int64_t construct_run_one(program *p, eddy_output fetch, eddy_output feed,
                          int64_t value)
{
    return construct_run(p, fetch, &feed, &value, 1);
}

eddy_output construct_input(const program *p, eddy_node node, size_t i)
{
    size_t n;
    const eddy_output *inputs = eddy_graph_node_inputs(p->graph, node, &n);

    ck_assert_uint_lt(i, n);
    return inputs[i];
}
