/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one kernel by itself, without a plan or an executor.
 *
 * harness_run adds a node to a graph (so the op's signature, attributes and
 * defaults are checked as always), infers, prepares, and then runs the kernel
 * several times: with shared inputs and unknown shapes, with inputs that it may
 * overwrite, with constant inputs that inference may read, and with every
 * allocation failing in turn.  All of these must agree bit for bit, the
 * inferred shapes must fit, and shared inputs must be left alone; a harness
 * that sees anything else fails the test.
 */
#ifndef EDDY_TESTS_KERNEL_HARNESS_H
#define EDDY_TESTS_KERNEL_HARNESS_H

#include "core/context.h"
#include "core/graph/registry.h"
#include "core/kernel.h"

#include <check.h>

#define HARNESS_MAX_OUTPUTS 64

typedef struct harness {
    eddy_context ctx;
    eddy_graph *graph;
    eddy_node *sources; /* a node without inputs for each dtype */
    eddy_tensor **made; /* by the functions below; freed with the harness */
    size_t n_made, made_capacity;
    /* Of the last run: */
    eddy_tensor *outputs[HARNESS_MAX_OUTPUTS];
    size_t n_outputs;
    eddy_shape inferred[HARNESS_MAX_OUTPUTS]; /* from known input shapes */
    eddy_error err;
    char log[1024];              /* the last line that the kernel logged */
    eddy__resource_table *named; /* while a kernel runs */
    /* Of the allocator: */
    int64_t live_bytes;
    int64_t allowed; /* allocations until one fails; negative: no end */
} harness;

/* `table` NULL: ops are registered later, through h->ctx.registry. */
void harness_init(harness *h, const eddy__op_table *table);

/* Fails the test if memory is still held. */
void harness_deinit(harness *h);

/*
 * Runs `op`.  A tensor given twice is one value with two uses.  Fills
 * h->outputs, or h->err with what refused the node: its signature, its shape
 * function, its preparation or its kernel.
 */
eddy_status harness_run_attrs(harness *h, const char *op,
                              eddy_tensor *const *inputs, size_t n_inputs,
                              const eddy_attr *attrs, size_t n_attrs);

/* harness_run(h, "Add", x, y): no attributes but what inputs determine. */
#define harness_run(h, op, ...)                                                \
    harness_run_attrs((h), (op), (eddy_tensor *[]){__VA_ARGS__},               \
                      sizeof((eddy_tensor *[]){__VA_ARGS__}) /                 \
                          sizeof(eddy_tensor *),                               \
                      NULL, 0)

/* Tensors that belong to the harness. */
eddy_tensor *harness_tensor(harness *h, eddy_dtype dtype, int32_t rank,
                            const int64_t *dims, const void *elements);
eddy_tensor *harness_scalar(harness *h, eddy_dtype dtype, double value);
eddy_tensor *harness_strings(harness *h, int32_t rank, const int64_t *dims,
                             const char *const *texts);

/* The same from doubles, each converted to `dtype` (real parts of a
 * complex one).
 */
eddy_tensor *harness_numbers(harness *h, eddy_dtype dtype, int32_t rank,
                             const int64_t *dims, const double *values);

/* harness_vector(h, EDDY_FLOAT32, 1, 2, 3) */
#define harness_vector(h, dtype, ...)                                          \
    harness_numbers((h), (dtype), 1,                                           \
                    (const int64_t[]){sizeof((const double[]){__VA_ARGS__}) /  \
                                      sizeof(double)},                         \
                    (const double[]){__VA_ARGS__})

/* HARNESS_DIMS(2, 3) is the two arguments `rank, dims`. */
#define HARNESS_DIMS(...)                                                      \
    (int32_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),       \
        (const int64_t[])                                                      \
    {                                                                          \
        __VA_ARGS__                                                            \
    }

/* Element `i` as a double; of a complex number the real part. */
double harness_get(const eddy_tensor *tensor, int64_t i);

/* Fails the test unless the last run gave output `i` this dtype and shape. */
void harness_want(const harness *h, size_t i, eddy_dtype dtype, int32_t rank,
                  const int64_t *dims);

/* The same for output 0, which has these texts. */
void harness_want_texts(const harness *h, int32_t rank, const int64_t *dims,
                        const char *const *texts);

/* Fails the test unless `status` and h->err are that mistake. */
void harness_want_error(const harness *h, eddy_status status, eddy_status code,
                        eddy_detail detail);

#endif
