/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/core_fixture.h"

#include <check.h>
#include <string.h>

#define OP(name, in, out, attrs)                                               \
    {                                                                          \
        sizeof(eddy_op_spec), name, in, out, attrs, NULL, NULL, NULL, 0        \
    }

static const eddy_op_spec ops[] = {
    OP("Const", "", "output: dtype", "value: tensor, dtype: type"),
    OP("Placeholder", "", "output: dtype", "dtype: type, shape: shape = ?"),
    OP("Identity", "input: T", "output: T", "T: type"),
    OP("NoOp", "", "", ""),
    OP("Add", "x: T, y: T", "z: T", "T: number"),
    OP("Join", "values: N * T", "out: T, index: int32", "T: type, N: int"),
    OP("Pair", "a: N * T, b: N * U", "out: T", "N: int, T: type, U: type"),
    OP("Two", "a: N * T, b: M * T", "out: T", "N: int, M: int, T: type"),
    OP("List", "data: L", "out: L", "L: list(number) >= 1"),
    OP("Split", "dim: int32, value: T", "out: num_split * T",
       "num_split: int, T: type"),
    OP("Fixed", "x: float32, y: ref bool", "z: int64", ""),
    OP("Options", "x: T", "y: U",
       "T: type, U: {float32, index} = int64, axis: int >= -2 = -1, "
       "rate: float = 0.5, keep: bool = true, text: string = 'a b', "
       "shape: shape = [2, ?], dims: list(int) >= 1 = [1, -2]"),
    OP("Holder", "", "y: float32", "value: tensor, f: func"),
};

void core_fixture_init(core_fixture *f)
{
    const eddy__op_table table = {.specs = ops, .n = sizeof ops / sizeof *ops};

    memset(f, 0, sizeof *f);
    counting_allocator_init(&f->counting);
    f->ctx.allocator = f->counting.allocator;
    eddy__registry_init(&f->ctx.registry, &f->ctx.allocator);
    ck_assert_msg(eddy__registry_add_table(&f->ctx.registry, &table, &f->err) ==
                          EDDY_OK &&
                      eddy_graph_create(&f->ctx, &f->graph, &f->err) == EDDY_OK,
                  "%s: %s", f->err.op, f->err.message);
}

void core_fixture_deinit(core_fixture *f)
{
    eddy_graph_destroy(f->graph);
    eddy__registry_deinit(&f->ctx.registry);
    counting_allocator_want_none(&f->counting);
}

eddy_output core_fixture_source(core_fixture *f, const char *name,
                                eddy_dtype dtype)
{
    eddy_output out = {.node = EDDY_NO_NODE};

    ck_assert_int_eq(
        eddy_graph_add_placeholder(f->graph, name, dtype, NULL, &out, &f->err),
        EDDY_OK);
    return out;
}

void core_fixture_want(const core_fixture *f, eddy_status status,
                       eddy_status code, eddy_detail detail)
{
    ck_assert_msg(status == code && f->err.code == code &&
                      f->err.detail == detail,
                  "got %s %s (%s), wanted %s %s", eddy_status_name(status),
                  eddy_detail_name(f->err.detail), f->err.message,
                  eddy_status_name(code), eddy_detail_name(detail));
}
