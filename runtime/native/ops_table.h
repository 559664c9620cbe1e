/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a table of operations, for makers of code: a row for each that
 * there is code for, of how it is emitted, a detail of that, and the dtype of
 * its operands.  The file that includes this one has `emit_fn`, `emit_cast` and
 * `emit_comparison`, and is formatted by hand where it has rows.
 */
#ifndef EDDY_NATIVE_OPS_TABLE_H
#define EDDY_NATIVE_OPS_TABLE_H

#include "runtime/plan/linear.h"

/* `detail` of comparisons. */
enum { LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, NOT_EQUAL };

#define ROW(name, D, dtype, fn, detail)                                        \
    [EDDY__LINEAR_##name##_##D] = {fn, detail, dtype},
#define SIGNED(name, fn, detail)                                               \
    ROW(name, I8, EDDY_INT8, fn, detail)                                       \
    ROW(name, I16, EDDY_INT16, fn, detail)                                     \
    ROW(name, I32, EDDY_INT32, fn, detail)                                     \
    ROW(name, I64, EDDY_INT64, fn, detail)
#define UNSIGNED(name, fn, detail)                                             \
    ROW(name, U8, EDDY_UINT8, fn, detail)                                      \
    ROW(name, U16, EDDY_UINT16, fn, detail)                                    \
    ROW(name, U32, EDDY_UINT32, fn, detail)                                    \
    ROW(name, U64, EDDY_UINT64, fn, detail)
#define INTS(name, fn, detail)                                                 \
    SIGNED(name, fn, detail) UNSIGNED(name, fn, detail)
#define FLOATS(name, fn, detail)                                               \
    ROW(name, F32, EDDY_FLOAT32, fn, detail)                                   \
    ROW(name, F64, EDDY_FLOAT64, fn, detail)
/* Alone, and fused with a branch. */
#define BOTH_ROWS(name, D, dtype, detail)                                      \
    ROW(name, D, dtype, emit_comparison, detail)                               \
    ROW(UNLESS_##name, D, dtype, emit_comparison, detail)                      \
    ROW(BACK_IF_##name, D, dtype, emit_comparison, detail)
#define COMPARISON(name, detail)                                               \
    BOTH_ROWS(name, I8, EDDY_INT8, detail)                                     \
    BOTH_ROWS(name, I16, EDDY_INT16, detail)                                   \
    BOTH_ROWS(name, I32, EDDY_INT32, detail)                                   \
    BOTH_ROWS(name, I64, EDDY_INT64, detail)                                   \
    BOTH_ROWS(name, U8, EDDY_UINT8, detail)                                    \
    BOTH_ROWS(name, U16, EDDY_UINT16, detail)                                  \
    BOTH_ROWS(name, U32, EDDY_UINT32, detail)                                  \
    BOTH_ROWS(name, U64, EDDY_UINT64, detail)                                  \
    BOTH_ROWS(name, F32, EDDY_FLOAT32, detail)                                 \
    BOTH_ROWS(name, F64, EDDY_FLOAT64, detail)

/* To each dtype from one. */
#define CAST(D, dtype)                                                         \
    ROW(to_F32, D, dtype, emit_cast, EDDY_FLOAT32)                             \
    ROW(to_F64, D, dtype, emit_cast, EDDY_FLOAT64)                             \
    ROW(to_I8, D, dtype, emit_cast, EDDY_INT8)                                 \
    ROW(to_I16, D, dtype, emit_cast, EDDY_INT16)                               \
    ROW(to_I32, D, dtype, emit_cast, EDDY_INT32)                               \
    ROW(to_I64, D, dtype, emit_cast, EDDY_INT64)                               \
    ROW(to_U8, D, dtype, emit_cast, EDDY_UINT8)                                \
    ROW(to_U16, D, dtype, emit_cast, EDDY_UINT16)                              \
    ROW(to_U32, D, dtype, emit_cast, EDDY_UINT32)                              \
    ROW(to_B, D, dtype, emit_cast, EDDY_BOOL)
#define CAST_INT(D, dtype)                                                     \
    CAST(D, dtype) ROW(to_U64, D, dtype, emit_cast, EDDY_UINT64)

#endif
