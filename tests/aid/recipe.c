/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/recipe.h"

#include <check.h>

/* Which of the arrays a register is in, and where. */
static int kind_of(int x)
{
    return x / 16;
}

static size_t place_of(int x)
{
    return (size_t)(x % 16);
}

static eddy_output output_at(const recipe *r, const eddy_output *inputs,
                             const eddy_output *done, int x)
{
    switch (kind_of(x)) {
    case 0:
        return inputs[place_of(x)];
    case 1:
        return r->outer[place_of(x)];
    default:
        return done[place_of(x)];
    }
}

eddy_status recipe_build(eddy_graph *graph, void *user,
                         const eddy_output *inputs, size_t n,
                         eddy_output *out_results, eddy_error *err)
{
    recipe *r = user;
    eddy_output done[RECIPE_MAX];

    (void)n;
    r->calls++;
    for (size_t i = 0; i < r->n_ops; i++) {
        const recipe_op *op = &r->ops[i];
        const bool is_unary = op->y == RECIPE_NONE;
        const eddy_output both[] = {
            output_at(r, inputs, done, op->x),
            output_at(r, inputs, done, is_unary ? op->x : op->y)};
        const eddy_status status = eddy_graph_add_op(
            graph, op->op, NULL, both, is_unary ? 1 : 2, &done[i], err);

        if (status != EDDY_OK)
            return status;
    }
    for (size_t i = 0; i < r->n_results; i++)
        out_results[i] = output_at(r, inputs, done, r->results[i]);
    return EDDY_OK;
}

static eddy_tensor *tensor_at(const recipe *r, eddy_tensor *const *inputs,
                              eddy_tensor *const *done, int x)
{
    switch (kind_of(x)) {
    case 0:
        return inputs[place_of(x)];
    case 1:
        return r->outer_tensors[place_of(x)];
    default:
        return done[place_of(x)];
    }
}

eddy_status recipe_run(eddy_immediate *now, void *user,
                       eddy_tensor *const *inputs, size_t n,
                       eddy_tensor **out_results, eddy_error *err)
{
    recipe *r = user;
    eddy_tensor *done[RECIPE_MAX] = {NULL};
    eddy_status status = EDDY_OK;

    (void)n;
    r->calls++;
    for (size_t i = 0; i < r->n_ops && status == EDDY_OK; i++) {
        const recipe_op *op = &r->ops[i];
        const bool is_unary = op->y == RECIPE_NONE;
        eddy_tensor *const both[] = {
            tensor_at(r, inputs, done, op->x),
            tensor_at(r, inputs, done, is_unary ? op->x : op->y)};

        status = eddy_immediate_op(now, op->op, both, is_unary ? 1 : 2,
                                   &done[i], err);
    }
    for (size_t i = 0; i < r->n_results && status == EDDY_OK; i++)
        out_results[i] =
            eddy_tensor_retain(tensor_at(r, inputs, done, r->results[i]));
    for (size_t i = 0; i < r->n_ops; i++)
        eddy_tensor_release(done[i]);
    return status;
}

eddy_status recipe_build_condition(eddy_graph *graph, void *user,
                                   const eddy_output *inputs, size_t n,
                                   eddy_output *out_results, eddy_error *err)
{
    recipe_pair *pair = user;

    return recipe_build(graph, &pair->condition, inputs, n, out_results, err);
}

eddy_status recipe_build_body(eddy_graph *graph, void *user,
                              const eddy_output *inputs, size_t n,
                              eddy_output *out_results, eddy_error *err)
{
    recipe_pair *pair = user;

    return recipe_build(graph, &pair->body, inputs, n, out_results, err);
}

eddy_status recipe_run_condition(eddy_immediate *now, void *user,
                                 eddy_tensor *const *inputs, size_t n,
                                 eddy_tensor **out_results, eddy_error *err)
{
    recipe_pair *pair = user;

    return recipe_run(now, &pair->condition, inputs, n, out_results, err);
}

eddy_status recipe_run_body(eddy_immediate *now, void *user,
                            eddy_tensor *const *inputs, size_t n,
                            eddy_tensor **out_results, eddy_error *err)
{
    recipe_pair *pair = user;

    return recipe_run(now, &pair->body, inputs, n, out_results, err);
}

eddy_status recipe_build_part_before(eddy_graph *graph, void *user,
                                     const eddy_output *inputs, size_t n,
                                     eddy_output *out_results, eddy_error *err)
{
    return recipe_build(graph, &((recipe_parts *)user)->before, inputs, n,
                        out_results, err);
}

eddy_status recipe_build_part_after(eddy_graph *graph, void *user,
                                    const eddy_output *inputs, size_t n,
                                    eddy_output *out_results, eddy_error *err)
{
    return recipe_build(graph, &((recipe_parts *)user)->after, inputs, n,
                        out_results, err);
}
