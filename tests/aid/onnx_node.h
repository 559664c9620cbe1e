/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One ONNX node as a model of its own, for tests.  Its inputs are declared
 * without a shape, so all that depends on one is computed in the run.
 */
#ifndef EDDY_TESTS_ONNX_NODE_H
#define EDDY_TESTS_ONNX_NODE_H

#include "tests/aid/program.h"

#define ONNX_NODE_MOST 5

/* A tensor as numbers; rank -1 is an input that is absent. */
typedef struct onnx_node_tensor {
    eddy_dtype dtype;
    int32_t rank;
    int64_t dims[4];
    double elements[24];
} onnx_node_tensor;

/*
 * `attrs` is "axis=1 alpha=0.5 mode=edge pads=[1,-2]": numbers with a point are
 * floats.
 */
typedef struct onnx_node {
    const char *op;
    int64_t opset;
    const char *attrs;
    size_t n_inputs;
    onnx_node_tensor inputs[ONNX_NODE_MOST];
    size_t n_outputs; /* of the node; 0: 1 */
    size_t output;    /* the one that is looked at */
    onnx_node_tensor want;
} onnx_node;

/* Fails the test unless the node gives that. */
void onnx_node_check(const onnx_node *node);

/* Fails the test unless loading the node, or running it, is that mistake. */
void onnx_node_check_fails(const onnx_node *node, eddy_status code,
                           eddy_detail detail);

/*
 * Fails the test unless the gradient of the sum of the output's squares by
 * input 0, both float64, is what central differences give.
 */
void onnx_node_check_gradient(const onnx_node *node);

#endif
