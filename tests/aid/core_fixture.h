/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A context that counts its memory, a graph in it, and a few ops without
 * kernels, for tests of graphs and of what reads them:
 *
 *     Const Placeholder Identity NoOp    as in TensorFlow
 *     Add      x: T, y: T -> z: T        T: number
 *     Join     values: N * T -> out: T, index: int32
 *     Pair     a: N * T, b: N * U -> out: T
 *     Two      a: N * T, b: M * T -> out: T
 *     List     data: L -> out: L         L: list(number) >= 1
 *     Split    dim: int32, value: T -> out: num_split * T
 *     Fixed    x: float32, y: ref bool -> z: int64
 *     Options  x: T -> y: U              attributes with defaults
 *     Holder   -> y: float32             value: tensor, f: func
 */
#ifndef EDDY_TESTS_CORE_FIXTURE_H
#define EDDY_TESTS_CORE_FIXTURE_H

#include "core/context.h"
#include "core/graph/graph.h"
#include "tests/aid/counting_allocator.h"

typedef struct core_fixture {
    counting_allocator counting;
    eddy_context ctx;
    eddy_graph *graph;
    eddy_error err;
} core_fixture;

void core_fixture_init(core_fixture *f);

/* Fails the test if memory is still held. */
void core_fixture_deinit(core_fixture *f);

/* A Placeholder of any shape; fails the test if that fails. */
eddy_output core_fixture_source(core_fixture *f, const char *name,
                                eddy_dtype dtype);

/* Fails the test unless `status` and f->err are that mistake. */
void core_fixture_want(const core_fixture *f, eddy_status status,
                       eddy_status code, eddy_detail detail);

#endif
