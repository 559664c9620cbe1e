/* SPDX-License-Identifier: Apache-2.0 */
/* What there is of typed operations, by op and dtype. */
#include "runtime/plan/linear.h"

#include <string.h>

/* As in ops/math/numeric.h, which is not for this layer. */
#define DTYPE_F32 EDDY_FLOAT32
#define DTYPE_F64 EDDY_FLOAT64
#define DTYPE_I8 EDDY_INT8
#define DTYPE_I16 EDDY_INT16
#define DTYPE_I32 EDDY_INT32
#define DTYPE_I64 EDDY_INT64
#define DTYPE_U8 EDDY_UINT8
#define DTYPE_U16 EDDY_UINT16
#define DTYPE_U32 EDDY_UINT32
#define DTYPE_U64 EDDY_UINT64
#define DTYPE_B EDDY_BOOL

typedef struct row {
    const char *name, *operands, *op; /* `op` NULL: no elementwise op */
    uint8_t dtype;
    bool is_checked;
    uint16_t unless, back_if; /* of a comparison; of UNLESS its BACK_IF */
    bool is_back_if;
} row;

static const row rows[] = {
#define X(name, operands, doc) {#name, operands, NULL, 0, false, 0, 0},
    EDDY__LINEAR_MAP(X)
#undef X
#define UNARY_OP(name, D, OUT, LOCALS, e)                                      \
    {#name "_" #D, "wr-", #name, DTYPE_##D, false, 0, 0},
#define BINARY_OP(name, D, OUT, LOCALS, e)                                     \
    {#name "_" #D, "wrr", #name, DTYPE_##D, false, 0, 0},
#define CHECKED_OP(name, D, BAD, e)                                            \
    {#name "_" #D, "wrr", #name, DTYPE_##D, true, 0, 0},
#define COMPARE_OP(name, D, e)                                                 \
    {#name "_" #D,                                                             \
     "wrr",                                                                    \
     #name,                                                                    \
     DTYPE_##D,                                                                \
     false,                                                                    \
     EDDY__LINEAR_UNLESS_##name##_##D,                                         \
     0},                                                                       \
        {"UNLESS_" #name "_" #D,           "trr", NULL, 0, false, 0,           \
         EDDY__LINEAR_BACK_IF_##name##_##D},                                   \
        {"BACK_IF_" #name "_" #D, "trr", NULL, 0, false, 0, 0, true},
#include "runtime/plan/linear_ops.def"
};

#define N_ROWS (sizeof rows / sizeof rows[0])

_Static_assert(N_ROWS == EDDY__LINEAR_N_OPS, "a row an operation");

/* Ops that have the kernels of another. */
static const char *const aliases[][2] = {
#define BINARY(name, types, kernels, flags, doc)
#define UNARY(name, types, kernels, flags, doc)
#define ACTIVATION(name, types, kernels, flags, doc)
#define TEST(name, e, doc)
#define ALIAS(name, of, types, flags, doc) {#name, #of},
#include "ops/math/binary.def"
#include "ops/math/unary.def"
    {"Add", "AddV2"},
};

#define N_ALIASES (sizeof aliases / sizeof aliases[0])

const char *eddy__linear_name(uint32_t op)
{
    return rows[op].name;
}

const char *eddy__linear_operands(uint32_t op)
{
    return rows[op].operands;
}

bool eddy__linear_has_aux_call(uint32_t op)
{
    return rows[op].is_checked ||
           (op >= EDDY__LINEAR_PUSH_8 && op <= EDDY__LINEAR_WRITE_64);
}

uint32_t eddy__linear_unless(uint32_t op)
{
    return rows[op].unless;
}

uint32_t eddy__linear_back_if(uint32_t unless)
{
    return rows[unless].back_if;
}

bool eddy__linear_is_back_if(uint32_t op)
{
    return rows[op].is_back_if;
}

static uint32_t find(const char *name, eddy_dtype dtype)
{
    for (uint32_t i = 0; i < N_ROWS; i++)
        if (rows[i].op && rows[i].dtype == (uint8_t)dtype &&
            strcmp(rows[i].op, name) == 0)
            return i;
    return EDDY__LINEAR_DONE;
}

/* The name of the casts to a dtype; NULL: there are none. */
static const char *name_of_cast(eddy_dtype to)
{
    static const char *const names[EDDY_DTYPE_COUNT] = {
        [EDDY_FLOAT32] = "to_F32", [EDDY_FLOAT64] = "to_F64",
        [EDDY_INT8] = "to_I8",     [EDDY_INT16] = "to_I16",
        [EDDY_INT32] = "to_I32",   [EDDY_INT64] = "to_I64",
        [EDDY_UINT8] = "to_U8",    [EDDY_UINT16] = "to_U16",
        [EDDY_UINT32] = "to_U32",  [EDDY_UINT64] = "to_U64",
        [EDDY_BOOL] = "to_B",
    };

    return to < EDDY_DTYPE_COUNT ? names[to] : NULL;
}

uint32_t eddy__linear_find_cast(eddy_dtype from, eddy_dtype to)
{
    const char *name = name_of_cast(to);

    return name ? find(name, from) : (uint32_t)EDDY__LINEAR_DONE;
}

uint32_t eddy__linear_find(const char *op_name, eddy_dtype dtype)
{
    uint32_t op = find(op_name, dtype);

    for (size_t i = 0; i < N_ALIASES && op == EDDY__LINEAR_DONE; i++)
        if (strcmp(aliases[i][0], op_name) == 0)
            op = find(aliases[i][1], dtype);
    return op;
}
