/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random loops as text: loops and branches in each other over variables of many
 * dtypes, scalars and vectors, captured values, early exits, and one division
 * that may fail.  For executors to be held against each other; nothing here
 * knows what comes out.
 */
#ifndef EDDY_TESTS_RANDOM_LOOP_H
#define EDDY_TESTS_RANDOM_LOOP_H

#include "eddy/tensor.h"

#include <stdbool.h>
#include <stdint.h>

#define RANDOM_LOOP_VARIABLES 6
#define RANDOM_LOOP_TEXT (1 << 17)

typedef struct random_loop {
    char text[RANDOM_LOOP_TEXT]; /* of a program (tests/aid/program.h) */
    char fetches[1024];
    bool has_fault; /* the division is there */
} random_loop;

void random_loop_generate(random_loop *r, uint64_t seed);

/* Of one dtype and the same bits; but a NaN's payload is nobody's promise. */
bool random_loop_is_same(const eddy_tensor *x, const eddy_tensor *y);

#endif
