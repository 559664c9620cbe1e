/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constructs of control flow for tests, through the public headers: calls that
 * fail the test when they do.
 */
#ifndef EDDY_TESTS_CONSTRUCT_H
#define EDDY_TESTS_CONSTRUCT_H

#include "tests/aid/program.h"

/* A loop of `n` variables; `variables` gets what they are. */
void construct_while(program *p, const eddy_output *initial, size_t n,
                     eddy_output *variables);
void construct_while_with(program *p, const eddy_while_spec *spec,
                          eddy_output *variables);
void construct_body(program *p, eddy_output predicate, eddy_output *variables);
void construct_end(program *p, const eddy_output *next, size_t n,
                   eddy_output *results);

void construct_cond(program *p, eddy_output predicate);
void construct_else(program *p, eddy_output result);

/* Of one result each. */
eddy_output construct_end_cond(program *p, eddy_output result);
void construct_next(program *p, eddy_output result);
eddy_output construct_end_case(program *p, eddy_output result);

/* A placeholder of a scalar. */
eddy_output construct_feed(program *p, const char *name, eddy_dtype dtype);

/* i = 0; while (i < trips) i = i + 1, with what is in the body done by hand. */
typedef struct counted {
    eddy_output i;   /* in the body */
    eddy_output now; /* of the second variable, in the body */
    eddy_output results[2];
} counted;

counted construct_counted(program *p, eddy_output trips, eddy_output value);
void construct_end_counted(program *p, counted *c, eddy_output next);

/* Plans with that fetch; an earlier plan and its run are dropped. */
void construct_plan(program *p, eddy_output fetch, const eddy_output *feeds,
                    size_t n);

/* Runs with int64 or int32 feeds; gives the integer that is fetched. */
int64_t construct_run(program *p, eddy_output fetch, const eddy_output *feeds,
                      const int64_t *values, size_t n);

/* The only feed. */
int64_t construct_run_one(program *p, eddy_output fetch, eddy_output feed,
                          int64_t value);

/* The op type of the node that input `i` reads, and that node. */
eddy_output construct_input(const program *p, eddy_node node, size_t i);

#endif
