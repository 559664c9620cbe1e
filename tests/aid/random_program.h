/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs: assignments, branches and loops in each other over a few
 * variables.  A direct interpreter says what the variables end with, and how
 * many iterations and frames a run of the same program as a graph must have.
 */
#ifndef EDDY_TESTS_RANDOM_PROGRAM_H
#define EDDY_TESTS_RANDOM_PROGRAM_H

#include "tests/aid/program.h"

/* Two scalars and two vectors each of int64 and float32. */
#define RANDOM_VARIABLES 8u
#define RANDOM_STATEMENTS 64
#define NO_STATEMENT UINT32_MAX

typedef enum random_kind {
    RANDOM_ASSIGN, /* target = op(a, b) */
    RANDOM_BRANCH, /* if (a < b) block 0, else block 1 */
    RANDOM_LOOP,   /* at most `trips` times, while (a < b): block 0 */
} random_kind;

/* A variable, or a constant. */
typedef struct random_operand {
    bool is_constant;
    uint32_t variable;
    int64_t value;
} random_operand;

typedef struct random_statement {
    random_kind kind;
    uint32_t next; /* in its block */
    const char *op;
    uint32_t target;
    bool is_float;
    random_operand a, b; /* scalars of one dtype but in assignments */
    /* Of a loop: a number, or the value of a variable cut to 0..3. */
    random_operand trips;
    bool has_condition; /* of a loop: a < b counts */
    int64_t parallel_iterations;
    uint32_t blocks[2]; /* their first statements */
} random_statement;

typedef struct random_program {
    uint64_t seed;
    int64_t width; /* of the vectors */
    bool is_async; /* some values go through the op Later */
    uint32_t first;
    uint32_t n;
    random_statement statements[RANDOM_STATEMENTS];
} random_program;

static inline bool random_is_float(uint32_t variable)
{
    return (variable & 1) != 0;
}

static inline bool random_is_vector(uint32_t variable)
{
    return variable >= RANDOM_VARIABLES / 2;
}

void random_program_generate(random_program *r, uint64_t seed, int64_t width,
                             bool is_async);

/* Which variables the block that starts at `first` assigns, a bit each. */
uint32_t random_program_assigned(const random_program *r, uint32_t first);

/* What all variables start with: element `i`. */
int64_t random_program_start(uint32_t variable, int64_t i);

typedef struct random_result {
    /* One a variable: a scalar or `width` elements. */
    int64_t *ints[RANDOM_VARIABLES];
    float *floats[RANDOM_VARIABLES];
    uint64_t iterations, frames;
} random_result;

/* Runs the program in C; the result is freed by random_result_deinit. */
void random_program_interpret(const random_program *r, random_result *result);
void random_result_deinit(random_result *result);

/*
 * Adds the program to the graph of `p`: a node an element of `out_values` holds
 * a variable's last value.  Every loop is a target in `out_targets`, so that
 * none is pruned; returns how many there are.
 */
size_t random_program_build(const random_program *r, program *p,
                            eddy_output *out_values, eddy_node *out_targets);

#endif
