/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trials of graphs that a front end has built: run with numbers of any dtype,
 * saved and loaded again, differentiated, and built while memory runs out.
 * Every call fails the test when something is not as it should be.
 */
#ifndef EDDY_TESTS_TRIAL_H
#define EDDY_TESTS_TRIAL_H

#include "tests/aid/construct.h"

#define TRIAL_ELEMENTS 256

/* A feed, and what it is fed with. */
typedef struct trial_feed {
    eddy_output at;
    eddy_dtype dtype;
    eddy_shape shape; /* of the tensor */
    double elements[TRIAL_ELEMENTS];
} trial_feed;

typedef struct trial_result {
    eddy_dtype dtype;
    eddy_shape shape;
    int64_t n;
    double elements[TRIAL_ELEMENTS];
} trial_result;

/* TRIAL_SHAPE(2, 3) is a shape; for a scalar (eddy_shape){.rank = 0}. */
#define TRIAL_SHAPE(...)                                                       \
    (eddy_shape)                                                               \
    {                                                                          \
        .rank = (int32_t)(sizeof((const int64_t[]){__VA_ARGS__}) /             \
                          sizeof(int64_t)),                                    \
        .dims = {                                                              \
            __VA_ARGS__                                                        \
        }                                                                      \
    }

/*
 * A placeholder and what to feed it with: elements NULL stand for 1, 2, ....
 * It knows its rank, but none of its dimensions unless `is_static`.
 */
trial_feed trial_placeholder(program *p, eddy_dtype dtype,
                             const eddy_shape *shape, const double *elements,
                             bool is_static);

/* Runs the graph of `p`. */
trial_result trial_run(program *p, const trial_feed *feeds, size_t n,
                       eddy_output fetch);

/* The same where the run is to fail. */
void trial_want_failure(program *p, const trial_feed *feeds, size_t n,
                        eddy_output fetch, eddy_status code,
                        eddy_detail detail);

/* A result with these elements, equal to 1e-6 relative. */
void trial_want(const trial_result *result, const eddy_shape *shape,
                const double *elements);

/*
 * Runs the graph, and once more after it was written as a GraphDef and read
 * again, with equal results.
 */
trial_result trial_both(program *p, const trial_feed *feeds, size_t n,
                        eddy_output fetch);

/*
 * The gradients of the sum of `y` with respect to all float64 feeds against
 * central differences, to 1e-6 relative.
 */
void trial_gradients(program *p, const trial_feed *feeds, size_t n,
                     eddy_output y);

/* Builds something into the graph of `p` with the public calls. */
typedef eddy_status (*trial_build_fn)(program *p, eddy_error *err);

/*
 * Builds it with the first, second, ... allocation failing until none does:
 * each failure is of memory and leaves the graph and its constructs as before.
 */
void trial_memory(program *p, trial_build_fn build);

#endif
