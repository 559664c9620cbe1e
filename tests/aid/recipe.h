/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the body of a loop computes, written down once for the graph and for
 * tensors: a list of ops on registers.
 */
#ifndef EDDY_TESTS_RECIPE_H
#define EDDY_TESTS_RECIPE_H

#include "tests/aid/program.h"

/* Registers: the inputs; values from outside; results of the ops so far. */
#define RECIPE_IN(i) (i)
#define RECIPE_OUTER(i) (16 + (i))
#define RECIPE_OP(i) (32 + (i))
#define RECIPE_NONE (-1)

#define RECIPE_MAX 16 /* of each kind */

typedef struct recipe_op {
    const char *op;
    int x, y; /* RECIPE_NONE: a unary op */
} recipe_op;

typedef struct recipe {
    const recipe_op *ops;
    size_t n_ops;
    const int *results;
    size_t n_results;
    const eddy_output *outer;          /* in a graph */
    eddy_tensor *const *outer_tensors; /* at once */
    size_t calls;                      /* how often it was built or run */
} recipe;

/* RECIPE(ops, results), of two arrays */
#define RECIPE(ops_, results_)                                                 \
    {                                                                          \
        .ops = (ops_), .n_ops = sizeof(ops_) / sizeof(ops_)[0],                \
        .results = (results_),                                                 \
        .n_results = sizeof(results_) / sizeof(results_)[0]                    \
    }

/* An eddy_part_fn whose user is a recipe. */
eddy_status recipe_build(eddy_graph *graph, void *user,
                         const eddy_output *inputs, size_t n,
                         eddy_output *out_results, eddy_error *err);

/* Two of them: the condition and the body of a loop, or two branches. */
typedef struct recipe_pair {
    recipe condition, body;
} recipe_pair;

/* eddy_part_fns whose user is a recipe_pair. */
eddy_status recipe_build_condition(eddy_graph *graph, void *user,
                                   const eddy_output *inputs, size_t n,
                                   eddy_output *out_results, eddy_error *err);
eddy_status recipe_build_body(eddy_graph *graph, void *user,
                              const eddy_output *inputs, size_t n,
                              eddy_output *out_results, eddy_error *err);

/* An eddy_immediate_fn, of a recipe. */
eddy_status recipe_run(eddy_immediate *now, void *user,
                       eddy_tensor *const *inputs, size_t n,
                       eddy_tensor **out_results, eddy_error *err);

/* eddy_immediate_fns, of a recipe_pair. */
eddy_status recipe_run_condition(eddy_immediate *now, void *user,
                                 eddy_tensor *const *inputs, size_t n,
                                 eddy_tensor **out_results, eddy_error *err);
eddy_status recipe_run_body(eddy_immediate *now, void *user,
                            eddy_tensor *const *inputs, size_t n,
                            eddy_tensor **out_results, eddy_error *err);

/* The two parts of an NNC loop; each builds its own. */
typedef struct recipe_parts {
    recipe before, after;
} recipe_parts;

eddy_status recipe_build_part_before(eddy_graph *graph, void *user,
                                     const eddy_output *inputs, size_t n,
                                     eddy_output *out_results, eddy_error *err);
eddy_status recipe_build_part_after(eddy_graph *graph, void *user,
                                    const eddy_output *inputs, size_t n,
                                    eddy_output *out_results, eddy_error *err);

#endif
