/* SPDX-License-Identifier: Apache-2.0 */
/* The ops of control flow: signatures, defaults, shapes. */
#include "core/graph/infer.h"
#include "tests/aid/kernel_harness.h"
#include "tests/aid/text_graph.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

static text_graph t;

static void setup(void)
{
    text_graph_init(&t);
}

static void teardown(void)
{
    text_graph_deinit(&t);
}

static const eddy__op *find_op(const char *name)
{
    const eddy__op *op = eddy__registry_find(&t.ctx.registry, name);

    ck_assert_msg(op != NULL, "no op '%s'", name);
    return op;
}

static const struct {
    const char *name;
    eddy__role role;
    uint32_t n_inputs, n_outputs;
    bool is_ref;
} rows[] = {
    {"Switch", EDDY__ROLE_SWITCH, 2, 2, false},
    {"RefSwitch", EDDY__ROLE_SWITCH, 2, 2, true},
    {"_SwitchN", EDDY__ROLE_SWITCH, 2, 1, false},
    {"Merge", EDDY__ROLE_MERGE, 1, 2, false},
    {"RefMerge", EDDY__ROLE_MERGE, 1, 2, true},
    {"Enter", EDDY__ROLE_ENTER, 1, 1, false},
    {"RefEnter", EDDY__ROLE_ENTER, 1, 1, true},
    {"Exit", EDDY__ROLE_EXIT, 1, 1, false},
    {"RefExit", EDDY__ROLE_EXIT, 1, 1, true},
    {"NextIteration", EDDY__ROLE_NEXT_ITERATION, 1, 1, false},
    {"RefNextIteration", EDDY__ROLE_NEXT_ITERATION, 1, 1, true},
    {"LoopCond", EDDY__ROLE_LOOP_COND, 1, 1, false},
    {"ControlTrigger", EDDY__ROLE_CONTROL_TRIGGER, 0, 0, false},
};

#define N_ROWS (sizeof rows / sizeof rows[0])

START_TEST(each_primitive_has_its_role_and_arity)
{
    const eddy__op *op = find_op(rows[_i].name);

    ck_assert_int_eq(op->role, rows[_i].role);
    ck_assert_uint_eq(op->n_inputs, rows[_i].n_inputs);
    ck_assert_uint_eq(op->n_outputs, rows[_i].n_outputs);
    if (rows[_i].n_inputs > 0) {
        ck_assert_int_eq(op->inputs[0].is_ref, rows[_i].is_ref);
        ck_assert_int_eq(op->outputs[0].is_ref, rows[_i].is_ref);
    }
    ck_assert(op->flags & EDDY_OP_CHEAP);
}
END_TEST

START_TEST(the_table_has_no_other_ops)
{
    ck_assert_uint_eq(eddy__control_ops.n, N_ROWS);
}
END_TEST

START_TEST(an_enter_has_tensorflows_defaults)
{
    const eddy_string frame = {"f", 1};
    const eddy_attr attr = eddy_attr_string("frame_name", &frame);
    eddy_node_spec spec = {.size = sizeof spec,
                           .op = "Enter",
                           .n_inputs = 1,
                           .attrs = &attr,
                           .n_attrs = 1};
    eddy_output x = {0, 0};
    eddy_node enter;
    const eddy__node *node;

    text_graph_build(&t, "x Source");
    spec.inputs = &x;
    ck_assert_int_eq(eddy_graph_add(t.graph, &spec, &enter, &t.err), EDDY_OK);
    node = eddy__graph_node(t.graph, enter);
    ck_assert(!eddy__node_bool(node, "is_constant"));
    ck_assert_int_eq(eddy__node_int(node, "parallel_iterations"), 10);
    ck_assert_int_eq(eddy__node_type(node, "T"), EDDY_INT32);
    spec.n_attrs = 0;
    ck_assert_int_eq(eddy_graph_add(t.graph, &spec, &enter, &t.err),
                     EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(t.err.detail, EDDY_E_ATTR_MISSING);
}
END_TEST

START_TEST(the_predicate_of_a_switch_is_boolean)
{
    eddy_output inputs[2] = {{0, 0}, {0, 0}}, out;

    text_graph_build(&t, "x Source");
    ck_assert_int_eq(
        eddy_graph_add_op(t.graph, "Switch", "s", inputs, 2, &out, &t.err),
        EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(t.err.detail, EDDY_E_INPUT_DTYPE);
}
END_TEST

START_TEST(a_merge_has_at_least_one_input_and_one_dtype)
{
    eddy_output inputs[2] = {{0, 0}, {1, 0}}, out;

    text_graph_build(&t, "x Source\np Pred");
    ck_assert_int_eq(
        eddy_graph_add_op(t.graph, "Merge", "m", NULL, 0, &out, &t.err),
        EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(
        eddy_graph_add_op(t.graph, "Merge", "m", inputs, 2, &out, &t.err),
        EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(t.err.detail, EDDY_E_INPUT_DTYPE);
    ck_assert_int_eq(
        eddy_graph_add_op(t.graph, "Merge", "m", inputs, 1, &out, &t.err),
        EDDY_OK);
    ck_assert_uint_eq(eddy_graph_node_outputs(t.graph, out.node), 2);
    out.index = 1;
    ck_assert_int_eq(eddy_graph_output_dtype(t.graph, out), EDDY_INT32);
}
END_TEST

/* ---- shapes ---- */

#define UNKNOWN                                                                \
    {                                                                          \
        .rank = -1                                                             \
    }
#define SCALAR                                                                 \
    {                                                                          \
        .rank = 0                                                              \
    }
#define VECTOR(n)                                                              \
    {                                                                          \
        .rank = 1, .dims = { n }                                               \
    }
#define MATRIX(n, m)                                                           \
    {                                                                          \
        .rank = 2, .dims = { n, m }                                            \
    }

static const struct {
    const char *node; /* the last line of its graph */
    eddy_shape inputs[3];
    eddy_detail detail; /* EDDY_E_NONE: it is accepted */
    const char *outputs[2];
} shapes[] = {
    {"n Switch x p", {MATRIX(2, -1), SCALAR}, 0, {"[2,?]", "[2,?]"}},
    {"n Switch x p", {VECTOR(3), UNKNOWN}, 0, {"[3]", "[3]"}},
    {"n Switch x p", {SCALAR, VECTOR(1)}, EDDY_E_PREDICATE, {0}},
    {"n _SwitchN x x", {VECTOR(3), VECTOR(1)}, EDDY_E_SHAPE, {0}},
    {"n _SwitchN x x", {VECTOR(3), SCALAR}, 0, {"[3]", "[3]"}},
    {"n Merge x x", {VECTOR(3), VECTOR(3)}, 0, {"[3]", "[]"}},
    {"n Merge x x", {VECTOR(3), VECTOR(4)}, 0, {"[?]", "[]"}},
    {"n Merge x x", {VECTOR(3), SCALAR}, 0, {"?", "[]"}},
    {"n Merge x x x", {SCALAR, SCALAR, UNKNOWN}, 0, {"?", "[]"}},
    {"n Enter@f x", {MATRIX(2, 5)}, 0, {"[2,5]", NULL}},
    {"n Exit x", {VECTOR(-1)}, 0, {"[?]", NULL}},
    {"n NextIteration x", {UNKNOWN}, 0, {"?", NULL}},
    {"n LoopCond p", {UNKNOWN}, 0, {"[]", NULL}},
    {"n LoopCond p", {SCALAR}, 0, {"[]", NULL}},
    {"n LoopCond p", {VECTOR(1)}, EDDY_E_PREDICATE, {0}},
};

#define N_SHAPES (sizeof shapes / sizeof shapes[0])

/* _SwitchN is the one node whose outputs no input tells. */
static void build_switch_n(void)
{
    const int64_t two = 2;
    const eddy_attr attr = eddy_attr_int("num_outs", &two);
    const eddy_output inputs[2] = {{0, 0}, {0, 0}};
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = "_SwitchN",
                                 .name = "n",
                                 .inputs = inputs,
                                 .n_inputs = 2,
                                 .attrs = &attr,
                                 .n_attrs = 1};

    text_graph_build(&t, "x Source");
    ck_assert_int_eq(eddy_graph_add(t.graph, &spec, &(eddy_node){0}, &t.err),
                     EDDY_OK);
}

START_TEST(shapes_follow)
{
    char text[128];
    eddy_shape outputs[2] = {UNKNOWN, UNKNOWN};
    const eddy_tensor *constants[3] = {NULL};
    eddy_infer infer = {.inputs = shapes[_i].inputs,
                        .constants = constants,
                        .outputs = outputs,
                        .err = &t.err};
    eddy_status status;

    snprintf(text, sizeof text, "x Source\np Pred\n%s", shapes[_i].node);
    if (strstr(text, "_SwitchN"))
        build_switch_n();
    else
        text_graph_build(&t, text);
    infer.node = eddy__graph_node(t.graph, text_graph_node(&t, "n"));
    status = infer.node->op->infer(&infer);
    if (shapes[_i].detail != EDDY_E_NONE) {
        ck_assert_int_eq(status, EDDY_INVALID_ARGUMENT);
        ck_assert_int_eq(t.err.detail, shapes[_i].detail);
        ck_assert_str_eq(t.err.node, "n");
        return;
    }
    ck_assert_int_eq(status, EDDY_OK);
    for (int i = 0; i < 2 && shapes[_i].outputs[i]; i++)
        ck_assert_str_eq(eddy__shape_print(&outputs[i]).text,
                         shapes[_i].outputs[i]);
}
END_TEST

START_TEST(loop_cond_passes_its_predicate_on)
{
    harness h;
    const bool values[2] = {false, true};

    harness_init(&h, &eddy__control_ops);
    for (int i = 0; i < 2; i++) {
        eddy_tensor *in = harness_tensor(&h, EDDY_BOOL, 0, NULL, &values[i]);

        ck_assert_int_eq(harness_run(&h, "LoopCond", in), EDDY_OK);
        harness_want(&h, 0, EDDY_BOOL, 0, NULL);
        ck_assert(harness_get(h.outputs[0], 0) == i);
    }
    harness_deinit(&h);
}
END_TEST

TCase *control_tests(void)
{
    TCase *tc = tcase_create("control");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, each_primitive_has_its_role_and_arity, 0, N_ROWS);
    tcase_add_test(tc, the_table_has_no_other_ops);
    tcase_add_test(tc, an_enter_has_tensorflows_defaults);
    tcase_add_test(tc, the_predicate_of_a_switch_is_boolean);
    tcase_add_test(tc, a_merge_has_at_least_one_input_and_one_dtype);
    tcase_add_loop_test(tc, shapes_follow, 0, N_SHAPES);
    tcase_add_test(tc, loop_cond_passes_its_predicate_on);
    return tc;
}
