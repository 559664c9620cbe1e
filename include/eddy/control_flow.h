/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control flow as one writes it, made of the primitives that run it: Switch,
 * Merge, Enter, Exit, NextIteration and LoopCond.
 *
 * A construct is begun on a graph, its parts are built with the ordinary calls
 * of eddy/graph.h, and it is ended:
 *
 *     eddy_while_begin(graph, &spec, now, &err);      the condition, of `now`
 *     eddy_while_body(graph, predicate, now, &err);   the body, of `now`
 *     eddy_while_end(graph, next, n, results, &err);
 *
 * Between begin and end every node that is added belongs to the innermost open
 * construct.  It may read what was made outside, any number of constructs
 * further out: such a value is captured by itself, once for each construct that
 * it enters.  A node without inputs gets the control edge that it needs to run
 * in the loop or branch.  What is made inside may be used outside only through
 * the results of the construct.
 *
 * All of it becomes Enter, Merge, Switch, NextIteration and Exit, wired as
 * TensorFlow 1 wires them, so that a saved graph runs there.  See
 * docs/control_flow.md.
 *
 * Names: a construct has a scope, its name, which a number is added to where it
 * is taken; nodes that are added inside are named below it: `sum` in the loop
 * `while` is `while/sum`.
 *
 * A call that fails leaves the graph and its open constructs as they were, but
 * that names made up afterwards may have other numbers; so it may be tried
 * again, or the construct aborted.  All constructs must be closed before the
 * graph is planned or saved.  Where something is begun, ended or left that is
 * not open, the error is FAILED_PRECONDITION, EDDY_E_CONSTRUCT; where a value
 * is used outside its construct, INVALID_ARGUMENT, EDDY_E_VALUE_SCOPE.
 */
#ifndef EDDY_CONTROL_FLOW_H
#define EDDY_CONTROL_FLOW_H

#include "eddy/graph.h"

EDDY_BEGIN_DECLS

/*
 * As the index of a branch's result: not a value, but that the node has run.
 * The construct's result is then a bool, which is there once it has.
 */
#define EDDY_DONE UINT32_MAX

/* ---- while ---- */

typedef struct eddy_while_spec {
    size_t size;      /* sizeof(eddy_while_spec) */
    const char *name; /* NULL or "": `while` */
    /* The first values of the loop's variables, one at least. */
    const eddy_output *initial;
    size_t n_variables;
    int64_t parallel_iterations; /* 0: 10 */
    /*
     * NULL, or a scalar of an integer dtype: the loop ends after so many trips
     * even if its condition still holds.
     */
    const eddy_output *maximum_iterations;
    /*
     * NULL, or what the variables' shapes are promised to be in every
     * iteration, one each: first and next values of which it is known that they
     * are different are refused.
     */
    const eddy_shape *shape_invariants;
    /* Nodes outside that must have run before anything enters the loop. */
    const eddy_node *controls;
    size_t n_controls;
    /*
     * Kept as attributes `_back_prop` (false) and `_swap_memory` (true) of the
     * LoopCond: the loop contributes no gradient; values that a gradient saves
     * may be moved out of memory, to a file (EDDY_TAPE_SPILL).
     */
    bool no_back_prop;
    bool swap_memory;
} eddy_while_spec;

/*
 * Begins a loop, whose condition is built next.  `out_variables` gets what the
 * variables are when the condition is looked at.  Errors: EDDY_E_INPUT_COUNT
 * without variables, _PARALLEL_ITERATIONS, _DTYPE for maximum_iterations,
 * _SHAPE for first values that break a shape invariant.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_while_begin(eddy_graph *graph,
                                                    const eddy_while_spec *spec,
                                                    eddy_output *out_variables,
                                                    eddy_error *err);

/*
 * Ends the condition; the body is built next.  `out_variables` gets what the
 * variables are in the body.  EDDY_E_PREDICATE if `predicate` is no bool or is
 * known not to be a scalar.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_while_body(eddy_graph *graph,
                                                   eddy_output predicate,
                                                   eddy_output *out_variables,
                                                   eddy_error *err);

/*
 * Ends the loop: `next` are the values of its variables for the next iteration,
 * `out_results` gets what they are after the last.  Errors: EDDY_E_INPUT_COUNT
 * if `n` is not the number of variables, _INPUT_DTYPE if one changes its dtype,
 * _SHAPE if one breaks its shape invariant; those of eddy_gradients where a
 * gradient waited for the end.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_while_end(eddy_graph *graph,
                                                  const eddy_output *next,
                                                  size_t n,
                                                  eddy_output *out_results,
                                                  eddy_error *err);

/* ---- cond ---- */

typedef struct eddy_cond_spec {
    size_t size;      /* sizeof(eddy_cond_spec) */
    const char *name; /* NULL or "": `cond` */
    eddy_output predicate;
    /* Nodes outside that must have run before either branch does. */
    const eddy_node *controls;
    size_t n_controls;
} eddy_cond_spec;

/*
 * Begins a conditional; the branch that is taken when the predicate holds is
 * built next.  EDDY_E_PREDICATE if it is no bool or known to be no scalar.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_cond_begin(eddy_graph *graph,
                                                   const eddy_cond_spec *spec,
                                                   eddy_error *err);

/* Ends that branch with its results; the other one is built next. */
EDDY_API EDDY_MUST_USE eddy_status eddy_cond_else(eddy_graph *graph,
                                                  const eddy_output *results,
                                                  size_t n, eddy_error *err);

/*
 * Ends the conditional with the other branch's results: as many, of the same
 * dtypes (EDDY_E_INPUT_COUNT, _INPUT_DTYPE).  `out_results` gets those of the
 * branch that is taken.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_cond_end(eddy_graph *graph,
                                                 const eddy_output *results,
                                                 size_t n,
                                                 eddy_output *out_results,
                                                 eddy_error *err);

/* ---- case and switch_case ---- */

typedef struct eddy_case_spec {
    size_t size;      /* sizeof(eddy_case_spec) */
    const char *name; /* NULL or "": `case` */
    /* Boolean scalars.  The branch of the first that holds is taken. */
    const eddy_output *predicates;
    size_t n_predicates;
    /* A run fails (EDDY_E_ASSERTION) if more than one of them holds. */
    bool is_exclusive;
    /*
     * There is one more branch, which is taken if none of them holds; else a
     * run in which none does fails (EDDY_E_ASSERTION).
     */
    bool has_default;
} eddy_case_spec;

/* Begins a case; the branch of the first predicate is built next. */
EDDY_API EDDY_MUST_USE eddy_status eddy_case_begin(eddy_graph *graph,
                                                   const eddy_case_spec *spec,
                                                   eddy_error *err);

typedef struct eddy_switch_case_spec {
    size_t size;       /* sizeof(eddy_switch_case_spec) */
    const char *name;  /* NULL or "": `switch_case` */
    eddy_output index; /* an int32 scalar */
    /* An index that is no branch's takes the last one. */
    size_t n_branches;
} eddy_switch_case_spec;

/* Begins a case by index; branch 0 is built next. */
EDDY_API EDDY_MUST_USE eddy_status eddy_switch_case_begin(
    eddy_graph *graph, const eddy_switch_case_spec *spec, eddy_error *err);

/*
 * Ends a branch of either with its results; the next one is built next.
 * EDDY_E_CONSTRUCT if it is the last.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_case_next(eddy_graph *graph,
                                                  const eddy_output *results,
                                                  size_t n, eddy_error *err);

/* Ends either with the results of its last branch; as eddy_cond_end. */
EDDY_API EDDY_MUST_USE eddy_status eddy_case_end(eddy_graph *graph,
                                                 const eddy_output *results,
                                                 size_t n,
                                                 eddy_output *out_results,
                                                 eddy_error *err);

/* ---- any construct ---- */

/*
 * Gives up the innermost open construct with what is open in it, and takes back
 * every node that was added since it was begun; their numbers will be used
 * again.  Nothing happens if none is open.
 */
EDDY_API void eddy_construct_abort(eddy_graph *graph);

/*
 * The scope of the innermost open construct, such as `while/cond`, or NULL;
 * borrowed from the graph.
 */
EDDY_API const char *eddy_construct_scope(const eddy_graph *graph);

/* How many constructs are open in each other. */
EDDY_API size_t eddy_construct_depth(const eddy_graph *graph);

/* ---- the same with functions ---- */

/*
 * Builds a part of a construct from its `n` inputs; a branch of eddy_cond,
 * eddy_case and eddy_switch_case has none: NULL, and `n` is the number of its
 * results.  A
 * status other than OK ends the whole construct with it: what has been built is
 * taken back, as eddy_construct_abort does.  What it begins it must end.
 */
typedef eddy_status (*eddy_part_fn)(eddy_graph *graph, void *user,
                                    const eddy_output *inputs, size_t n,
                                    eddy_output *out_results, eddy_error *err);

/* What computes a loop: out of the variables the condition (one) and `n` next
 * values. */
typedef struct eddy_while_functions {
    eddy_part_fn condition;
    eddy_part_fn body;
    void *user; /* handed to both */
} eddy_while_functions;

/* A whole loop.  `out_results` gets `n_variables` values. */
EDDY_API EDDY_MUST_USE eddy_status
eddy_while_loop(eddy_graph *graph, const eddy_while_spec *spec,
                const eddy_while_functions *functions, eddy_output *out_results,
                eddy_error *err);

/* One branch: how to build it. */
typedef struct eddy_branch {
    eddy_part_fn build;
    void *user;
} eddy_branch;

/* A whole conditional, whose branches have `n` results each. */
EDDY_API EDDY_MUST_USE eddy_status
eddy_cond(eddy_graph *graph, const eddy_cond_spec *spec,
          const eddy_branch branches[2], size_t n, eddy_output *out_results,
          eddy_error *err); /* the first if the predicate holds */

/*
 * A whole case, with a branch for each predicate and one more if it has a
 * default; a whole switch_case.
 */
EDDY_API EDDY_MUST_USE eddy_status eddy_case(eddy_graph *graph,
                                             const eddy_case_spec *spec,
                                             const eddy_branch *branches,
                                             size_t n, eddy_output *out_results,
                                             eddy_error *err);
EDDY_API EDDY_MUST_USE eddy_status
eddy_switch_case(eddy_graph *graph, const eddy_switch_case_spec *spec,
                 const eddy_branch *branches, size_t n,
                 eddy_output *out_results, eddy_error *err);

EDDY_END_DECLS

#endif
