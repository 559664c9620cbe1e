/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The builder lays constructs out node for node as TensorFlow 1 does: the same
 * programs, recorded from TensorFlow and built here, have the same pattern.
 */
#include "tests/aid/construct.h"
#include "tests/aid/graph_equal.h"
#include "tests/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static program p;

static void setup(void)
{
    program_init(&p, 0);
}

static void teardown(void)
{
    program_deinit(&p);
}

/* ---- comparing patterns ---- */

typedef struct matching {
    const eddy_graph *a, *b;
    eddy_node *to; /* of a node of `a`: the one of `b`, or EDDY_NO_NODE */
    eddy_node *stack;
    size_t n;
} matching;

static void match(matching *m, eddy_node a, eddy_node b)
{
    const char *name = eddy_graph_node_name(m->a, a);
    const char *other = eddy_graph_node_name(m->b, b);

    if (m->to[a] != EDDY_NO_NODE) {
        ck_assert_msg(m->to[a] == b, "'%s' is '%s' and '%s'", name,
                      eddy_graph_node_name(m->b, m->to[a]), other);
        return;
    }
    ck_assert_msg(
        strcmp(eddy_graph_node_op(m->a, a), eddy_graph_node_op(m->b, b)) == 0,
        "'%s' is a %s and '%s' a %s", name, eddy_graph_node_op(m->a, a), other,
        eddy_graph_node_op(m->b, b));
    m->to[a] = b;
    m->stack[m->n++] = a;
}

static void match_inputs(matching *m, eddy_node a)
{
    const eddy_node b = m->to[a];
    size_t n_a, n_b;
    const eddy_output *from_a = eddy_graph_node_inputs(m->a, a, &n_a);
    const eddy_output *from_b = eddy_graph_node_inputs(m->b, b, &n_b);
    const eddy_node *controls_a, *controls_b;

    ck_assert_uint_eq(n_a, n_b);
    for (size_t i = 0; i < n_a; i++) {
        ck_assert_uint_eq(from_a[i].index, from_b[i].index);
        match(m, from_a[i].node, from_b[i].node);
    }
    controls_a = eddy_graph_node_controls(m->a, a, &n_a);
    controls_b = eddy_graph_node_controls(m->b, b, &n_b);
    ck_assert_msg(n_a == n_b, "'%s' has %zu controls and '%s' %zu",
                  eddy_graph_node_name(m->a, a), n_a,
                  eddy_graph_node_name(m->b, b), n_b);
    if (n_a == 1)
        match(m, controls_a[0], controls_b[0]);
}

static bool is_among(const eddy_node *nodes, size_t n, eddy_node node)
{
    for (size_t i = 0; i < n; i++)
        if (nodes[i] == node)
            return true;
    return false;
}

static bool is_image(const matching *m, const eddy_node *controls, size_t n,
                     eddy_node b)
{
    for (size_t i = 0; i < n; i++)
        if (m->to[controls[i]] == b)
            return true;
    return false;
}

/*
 * Where there are several controls their order says nothing: those that have
 * been matched otherwise agree, and one that is left over is the other's.
 */
static void match_controls(matching *m, eddy_node a)
{
    eddy_node left = EDDY_NO_NODE, other = EDDY_NO_NODE;
    size_t n, n_b;
    const eddy_node *controls = eddy_graph_node_controls(m->a, a, &n);
    const eddy_node *others = eddy_graph_node_controls(m->b, m->to[a], &n_b);

    for (size_t i = 0; i < n; i++) {
        if (m->to[controls[i]] == EDDY_NO_NODE) {
            ck_assert_uint_eq(left, EDDY_NO_NODE);
            left = controls[i];
        } else {
            ck_assert_msg(is_among(others, n_b, m->to[controls[i]]),
                          "'%s' does not wait for '%s'",
                          eddy_graph_node_name(m->b, m->to[a]),
                          eddy_graph_node_name(m->a, controls[i]));
        }
    }
    for (size_t i = 0; i < n_b && left != EDDY_NO_NODE; i++)
        if (!is_image(m, controls, n, others[i]))
            other = others[i];
    if (left != EDDY_NO_NODE) {
        ck_assert_uint_ne(other, EDDY_NO_NODE);
        match(m, left, other);
    }
}

/* From node `y` of both on, backwards. */
static void want_same_pattern(const eddy_graph *a, const eddy_graph *b)
{
    const size_t size = eddy_graph_size(a);
    matching m = {.a = a, .b = b};

    m.to = malloc(size * sizeof *m.to);
    m.stack = malloc(size * sizeof *m.stack);
    ck_assert(m.to != NULL && m.stack != NULL);
    memset(m.to, 0xff, size * sizeof *m.to);
    match(&m, eddy_graph_find(a, "y"), eddy_graph_find(b, "y"));
    while (m.n > 0)
        match_inputs(&m, m.stack[--m.n]);
    for (eddy_node v = 0; v < size; v++)
        if (m.to[v] != EDDY_NO_NODE)
            match_controls(&m, v);
    while (m.n > 0)
        match_inputs(&m, m.stack[--m.n]);
    free(m.to);
    free(m.stack);
}

/* ---- the programs ---- */

static eddy_output binary(const char *op, eddy_output x, eddy_output y)
{
    return program_binary(&p, op, x, y);
}

static eddy_output number(int32_t value)
{
    return program_constant(&p, EDDY_INT32, &value);
}

static eddy_output real(float value)
{
    return program_constant(&p, EDDY_FLOAT32, &value);
}

static void finish(eddy_output y)
{
    ck_assert_int_eq(
        eddy_graph_add_op(p.graph, "Identity", "y", &y, 1, NULL, &p.err),
        EDDY_OK);
}

static void build_nested(void)
{
    const eddy_output n = construct_feed(&p, "n", EDDY_INT32);
    eddy_output outer[2] = {number(0), number(0)}, inner[2], i;

    construct_while(&p, outer, 2, outer);
    construct_body(&p, binary("Less", outer[0], n), outer);
    i = outer[0];
    inner[0] = number(0);
    inner[1] = outer[1];
    construct_while(&p, inner, 2, inner);
    construct_body(&p, binary("LessEqual", inner[0], i), inner);
    inner[1] = binary("AddV2", inner[1], binary("Mul", i, inner[0]));
    inner[0] = binary("AddV2", inner[0], number(1));
    construct_end(&p, inner, 2, inner);
    outer[0] = binary("AddV2", i, number(1));
    outer[1] = inner[1];
    construct_end(&p, outer, 2, outer);
    finish(outer[1]);
}

static void build_cond_in_while(void)
{
    const eddy_output n = construct_feed(&p, "n", EDDY_INT32);
    eddy_output v[2] = {n, number(0)}, even;

    construct_while(&p, v, 2, v);
    construct_body(&p, binary("Greater", v[0], number(1)), v);
    even = binary("Equal", binary("FloorMod", v[0], number(2)), number(0));
    construct_cond(&p, even);
    construct_else(&p, binary("FloorDiv", v[0], number(2)));
    v[0] = construct_end_cond(
        &p, binary("AddV2", binary("Mul", v[0], number(3)), number(1)));
    v[1] = binary("AddV2", v[1], number(1));
    construct_end(&p, v, 2, v);
    finish(v[1]);
}

static void build_maximum(void)
{
    const eddy_output x = construct_feed(&p, "x", EDDY_FLOAT32);
    const eddy_output maximum = number(5);
    const eddy_while_spec spec = {.size = sizeof spec,
                                  .initial = &x,
                                  .n_variables = 1,
                                  .maximum_iterations = &maximum};
    eddy_output now;

    construct_while_with(&p, &spec, &now);
    construct_body(&p, binary("Less", now, real(1e6F)), &now);
    now = binary("Mul", now, real(3));
    construct_end(&p, &now, 1, &now);
    finish(now);
}

static void build_while_in_cond(void)
{
    const eddy_output predicate = construct_feed(&p, "p", EDDY_BOOL);
    const eddy_output x = construct_feed(&p, "x", EDDY_FLOAT32);
    eddy_output now;

    construct_cond(&p, predicate);
    construct_while(&p, &x, 1, &now);
    construct_body(&p, binary("Less", now, real(50)), &now);
    now = binary("Mul", now, now);
    construct_end(&p, &now, 1, &now);
    construct_else(&p, now);
    finish(construct_end_cond(&p, program_unary(&p, "Neg", x)));
}

static eddy_output constant_after(const char *name, eddy_dtype dtype,
                                  eddy_node after)
{
    const eddy_shape scalar = {.rank = 0};
    eddy_tensor *tensor = program_tensor(&p, dtype, &scalar, &(const float){1});
    const eddy_attr attrs[] = {eddy_attr_tensor("value", &tensor),
                               eddy_attr_type("dtype", &dtype)};
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = "Const",
                                 .name = name,
                                 .controls = &after,
                                 .n_controls = 1,
                                 .attrs = attrs,
                                 .n_attrs = 2};
    eddy_output out = {.index = 0};

    ck_assert_msg(eddy_graph_add(p.graph, &spec, &out.node, &p.err) == EDDY_OK,
                  "%s", p.err.message);
    eddy_tensor_release(tensor);
    return out;
}

static void build_control_deps(void)
{
    const eddy_output x = construct_feed(&p, "x", EDDY_FLOAT32);
    const eddy_output text[] = {construct_feed(&p, "ok", EDDY_BOOL), x};
    eddy_while_spec spec = {
        .size = sizeof spec, .initial = &x, .n_variables = 1, .n_controls = 1};
    eddy_output now, assert_of[2] = {text[0]};
    eddy_output check;

    assert_of[1] = real(0);
    ck_assert_int_eq(eddy_graph_add_op(p.graph, "Assert", NULL, assert_of, 2,
                                       &check, &p.err),
                     EDDY_OK);
    spec.controls = &check.node;
    construct_while_with(&p, &spec, &now);
    construct_body(&p, binary("Less", now, real(10)), &now);
    now = binary("AddV2", now, real(3));
    construct_end(&p, &now, 1, &now);
    finish(binary("Mul", x, constant_after(NULL, EDDY_FLOAT32, now.node)));
}

static void build_nested_conds(void)
{
    const eddy_output a = construct_feed(&p, "a", EDDY_INT32);
    const eddy_output b = construct_feed(&p, "b", EDDY_INT32);
    eddy_output y;

    construct_cond(&p, binary("Less", a, b));
    construct_cond(&p, binary("Greater", a, number(0)));
    construct_else(&p, binary("AddV2", a, b));
    y = construct_end_cond(&p, binary("Mul", a, b));
    construct_else(&p, y);
    construct_cond(&p, binary("Greater", b, number(0)));
    construct_else(&p, binary("Sub", a, b));
    y = construct_end_cond(&p,
                           binary("FloorDiv", a, binary("Sub", b, number(1))));
    finish(construct_end_cond(&p, y));
}

static void build_controls_outside_cond(void)
{
    const eddy_output x = construct_feed(&p, "x", EDDY_FLOAT32);
    const eddy_output predicate = construct_feed(&p, "p", EDDY_BOOL);
    const eddy_output pre = program_unary(&p, "Identity", binary("Mul", x, x));
    const eddy_cond_spec spec = {.size = sizeof spec,
                                 .predicate = predicate,
                                 .controls = &pre.node,
                                 .n_controls = 1};
    eddy_output one, five;

    ck_assert_int_eq(eddy_cond_begin(p.graph, &spec, &p.err), EDDY_OK);
    one = constant_after("add/y", EDDY_FLOAT32, pre.node);
    construct_else(&p, binary("AddV2", x, one));
    five = constant_after("add_1/y", EDDY_FLOAT32, pre.node);
    finish(construct_end_cond(&p, binary("AddV2", pre, five)));
}

static void build_case(void)
{
    const eddy_output x = construct_feed(&p, "x", EDDY_INT32);
    const eddy_output predicates[] = {binary("Less", x, number(0)),
                                      binary("Equal", x, number(0)),
                                      binary("Greater", x, number(10))};
    const eddy_case_spec spec = {.size = sizeof spec,
                                 .predicates = predicates,
                                 .n_predicates = 3,
                                 .has_default = true};

    ck_assert_int_eq(eddy_case_begin(p.graph, &spec, &p.err), EDDY_OK);
    construct_next(&p, number(-1));
    construct_next(&p, number(0));
    construct_next(&p, binary("Mul", x, x));
    finish(construct_end_case(&p, binary("AddV2", x, number(100))));
}

static const struct {
    const char *recorded;
    void (*build)(void);
} programs[] = {
    {"while/nested2", build_nested},
    {"while/cond_in_while", build_cond_in_while},
    {"while/maximum_iterations", build_maximum},
    {"while/while_in_cond", build_while_in_cond},
    {"while/control_deps", build_control_deps},
    {"cond/nested", build_nested_conds},
    {"cond/control_deps_outside", build_controls_outside_cond},
    {"cond/case_default", build_case},
};

START_TEST(the_pattern_is_that_of_tensorflow)
{
    eddy_graph *recorded;
    char path[128];

    snprintf(path, sizeof path, "tests/conformance/tf/%s/graph.pb",
             programs[_i].recorded);
    ck_assert_msg(eddy_graphdef_load(p.ctx, path, NULL, &recorded, &p.err) ==
                      EDDY_OK,
                  "%s", p.err.message);
    programs[_i].build();
    want_same_pattern(p.graph, recorded);
    want_same_pattern(recorded, p.graph);
    eddy_graph_destroy(recorded);
}
END_TEST

START_TEST(what_was_built_is_saved_and_loaded_whole)
{
    eddy_graph *loaded;

    programs[_i].build();
    loaded = program_save_and_load(&p, p.graph);
    graph_want_equal(p.graph, loaded);
    eddy_graph_destroy(loaded);
}
END_TEST

/* An inner node that waits for one outside: through a captured Identity. */
START_TEST(a_control_from_outside_a_loop_comes_in_as_a_value)
{
    const eddy_output trips = construct_feed(&p, "trips", EDDY_INT64);
    const eddy_output outside = program_unary(&p, "Neg", trips);
    counted c = construct_counted(&p, trips, program_int(&p, 0));
    const eddy_output inside =
        constant_after("inside", EDDY_FLOAT32, outside.node);
    size_t n;
    const eddy_node *controls =
        eddy_graph_node_controls(p.graph, inside.node, &n);
    eddy_node identity;

    ck_assert_uint_eq(n, 2);
    identity = controls[0];
    ck_assert_str_eq(eddy_graph_node_op(p.graph, identity), "Identity");
    ck_assert_uint_eq(controls[1], c.i.node);
    ck_assert_str_eq(
        eddy_graph_node_op(p.graph, construct_input(&p, identity, 0).node),
        "Enter");
    controls = eddy_graph_node_controls(p.graph, identity, &n);
    ck_assert_uint_eq(n, 1);
    ck_assert_uint_eq(controls[0], c.i.node);
    construct_end_counted(&p, &c, c.now);
    ck_assert_int_eq(construct_run_one(&p, c.results[0], trips, 3), 3);
}
END_TEST

/* A NoOp has no value, a Switch perhaps none that lives: a Const stands in. */
START_TEST(a_control_without_a_value_comes_in_as_a_sign)
{
    const eddy_output trips = construct_feed(&p, "trips", EDDY_INT64);
    const eddy_output yes = program_constant(&p, EDDY_BOOL, &(bool){true});
    eddy_output outside, inside, next;
    counted c;

    if (_i == 0)
        ck_assert_int_eq(
            eddy_graph_add_op(p.graph, "NoOp", NULL, NULL, 0, &outside, &p.err),
            EDDY_OK);
    else
        outside = program_binary(&p, "Switch", yes, yes);
    c = construct_counted(&p, trips, program_int(&p, 0));
    inside = program_int(&p, 5);
    ck_assert_int_eq(
        eddy_graph_add_control(p.graph, inside.node, outside.node, &p.err),
        EDDY_OK);
    next = program_binary(&p, "AddV2", c.now, inside);
    construct_end_counted(&p, &c, next);
    ck_assert_int_eq(construct_run_one(&p, c.results[1], trips, 3), 15);
}
END_TEST

/* A body that reads nothing but invariants must not run after the last trip. */
START_TEST(what_reads_invariants_alone_waits_for_the_pivot)
{
    const eddy_output feeds[] = {construct_feed(&p, "trips", EDDY_INT64),
                                 construct_feed(&p, "x", EDDY_INT64)};
    counted c = construct_counted(&p, feeds[0], program_int(&p, 0));
    const eddy_output ratio =
        program_binary(&p, "FloorDiv", feeds[1], feeds[1]);
    size_t n;
    const eddy_node *controls =
        eddy_graph_node_controls(p.graph, ratio.node, &n);

    ck_assert_uint_eq(n, 1);
    ck_assert_uint_eq(controls[0], c.i.node);
    construct_end_counted(&p, &c, ratio);
    /* 0 / 0 is an error wherever it runs. */
    ck_assert_int_eq(
        construct_run(&p, c.results[1], feeds, (int64_t[]){0, 0}, 2), 0);
}
END_TEST

START_TEST(attributes_stand_where_they_belong)
{
    const eddy_output zero = program_int(&p, 0);
    const eddy_while_spec spec = {.size = sizeof spec,
                                  .name = "scan",
                                  .initial = &zero,
                                  .n_variables = 1,
                                  .parallel_iterations = 3,
                                  .no_back_prop = true,
                                  .swap_memory = true};
    eddy_output now;
    eddy_attr attr;
    eddy_node enter, loop_cond;

    construct_while_with(&p, &spec, &now);
    construct_body(&p, program_binary(&p, "Less", now, program_int(&p, 4)),
                   &now);
    now = program_binary(&p, "AddV2", now, zero);
    construct_end(&p, &now, 1, &now);
    enter = eddy_graph_find(p.graph, "scan/Enter");
    loop_cond = eddy_graph_find(p.graph, "scan/LoopCond");
    ck_assert(enter != EDDY_NO_NODE && loop_cond != EDDY_NO_NODE);
    ck_assert(
        eddy_graph_node_attr(p.graph, enter, "parallel_iterations", &attr));
    ck_assert_int_eq(attr.as.ints[0], 3);
    ck_assert(eddy_graph_node_attr(p.graph, enter, "frame_name", &attr));
    ck_assert_str_eq(attr.as.strings[0].data, "scan/while_context");
    ck_assert(eddy_graph_node_attr(p.graph, loop_cond, "_back_prop", &attr));
    ck_assert(!attr.as.bools[0]);
    ck_assert(eddy_graph_node_attr(p.graph, loop_cond, "_swap_memory", &attr));
    ck_assert(attr.as.bools[0]);
}
END_TEST

TCase *builder_pattern_tests(void)
{
    const int n = sizeof programs / sizeof programs[0];
    TCase *tc = tcase_create("builder_pattern");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, the_pattern_is_that_of_tensorflow, 0, n);
    tcase_add_loop_test(tc, what_was_built_is_saved_and_loaded_whole, 0, n);
    tcase_add_test(tc, a_control_from_outside_a_loop_comes_in_as_a_value);
    tcase_add_loop_test(tc, a_control_without_a_value_comes_in_as_a_sign, 0, 2);
    tcase_add_test(tc, what_reads_invariants_alone_waits_for_the_pivot);
    tcase_add_test(tc, attributes_stand_where_they_belong);
    return tc;
}
