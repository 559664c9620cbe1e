/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a table of ops is written: one row an op, its fields by their names.
 *
 *   EDDY__OP_ROW("Identity", .inputs = "input: T", .outputs = "output: T",
 *                .attrs = "T: type", .kernel = run_identity,
 *                .doc = "The input as it is.")
 *
 * Fields that are NULL or 0 are left out.  The op is TensorFlow's of that name;
 * EDDY__OP_ROW_OF says of what other source it is.
 */
#ifndef EDDY_CORE_GRAPH_OP_ROW_H
#define EDDY_CORE_GRAPH_OP_ROW_H

#include "eddy/op.h"

#define EDDY__OP_ROW(op, ...) EDDY__OP_ROW_OF(op, "TensorFlow " op, __VA_ARGS__)
#define EDDY__OP_ROW_OF(op, from, ...)                                         \
    {                                                                          \
        .size = sizeof(eddy_op_spec), .name = op, .source = from, __VA_ARGS__  \
    }

#endif
