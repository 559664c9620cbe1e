/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes over a whole graph. */
#include "frames/analysis/infer.h"
#include "tests/aid/text_graph.h"
#include "tests/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static text_graph t;
static eddy__arena arena;
static eddy__shapes shapes;
static unsigned calls; /* of count_calls and alternate */
static unsigned wide_calls;

/* ---- ops whose shape functions do what the tests need ---- */

static eddy_status give(eddy_infer *infer, eddy_shape shape)
{
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status give_vector2(eddy_infer *infer)
{
    return give(infer, eddy__shape_vector(2));
}

static eddy_status give_vector3(eddy_infer *infer)
{
    return give(infer, eddy__shape_vector(3));
}

static eddy_status give_matrix(eddy_infer *infer)
{
    return give(infer, (eddy_shape){.rank = 2, .dims = {2, 3}});
}

/* One element more; a shape that is not a vector becomes unknown. */
static eddy_status grow(eddy_infer *infer)
{
    eddy_shape shape = *eddy_infer_input(infer, 0);

    if (shape.rank != 1)
        return EDDY_OK;
    shape.dims[0] += shape.dims[0] >= 0;
    return give(infer, shape);
}

static eddy_status want_same(eddy_infer *infer)
{
    eddy_shape both;

    if (!eddy__shape_merge(eddy_infer_input(infer, 0),
                           eddy_infer_input(infer, 1), &both))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "they differ");
    return give(infer, both);
}

/* Fails on what a loop variable starts with, but not on what it becomes. */
static eddy_status refuse_vector2(eddy_infer *infer)
{
    const eddy_shape *shape = eddy_infer_input(infer, 0);

    if (shape->rank == 1 && shape->dims[0] == 2)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "not [2]");
    return give(infer, *shape);
}

/* The other way round: fails once it knows less. */
static eddy_status want_vector2(eddy_infer *infer)
{
    const eddy_shape *shape = eddy_infer_input(infer, 0);

    (void)give(infer, eddy__shape_vector(2));
    if (shape->rank != 1 || shape->dims[0] != 2)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "only [2]");
    return EDDY_OK;
}

static eddy_status count_calls(eddy_infer *infer)
{
    calls++;
    return give(infer, *eddy_infer_input(infer, 0));
}

static eddy_status count_wide(eddy_infer *infer)
{
    wide_calls++;
    return give(infer, *eddy_infer_input(infer, 0));
}

/* Says something else each time. */
static eddy_status alternate(eddy_infer *infer)
{
    return give(infer,
                calls++ % 2 ? eddy__shape_scalar() : eddy__shape_vector(2));
}

/* A vector as long as the constant says. */
static eddy_status read_constant(eddy_infer *infer)
{
    int64_t n;

    if (!eddy__infer_constant_int(infer, 0, 0, &n))
        return give(infer, eddy__shape_of_rank(1));
    return give(infer, eddy__shape_vector(n));
}

#define OP(name, in, out, attrs, infer)                                        \
    {                                                                          \
        sizeof(eddy_op_spec), name, in, out, attrs, infer, NULL, NULL, 0       \
    }

static const eddy_op_spec specs[] = {
    OP("Vec2", "", "y: int32", "", give_vector2),
    OP("Vec3", "", "y: int32", "", give_vector3),
    OP("Mat", "", "y: int32", "", give_matrix),
    OP("ToMat", "x: int32", "y: int32", "", give_matrix),
    OP("Grow", "x: int32", "y: int32", "", grow),
    OP("Same", "x: int32, y: int32", "z: int32", "", want_same),
    OP("Refuse", "x: int32", "y: int32", "", refuse_vector2),
    OP("Want", "x: int32", "y: int32", "", want_vector2),
    OP("Count", "x: int32", "y: int32", "", count_calls),
    OP("Alternate", "x: int32", "y: int32", "", alternate),
    OP("Read", "x: int32", "y: int32", "", read_constant),
    OP("Wide", "x: N * int32", "y: int32", "N: int", count_wide),
    OP("Const", "", "y: dtype", "value: tensor, dtype: type", NULL),
    OP("Identity", "x: T", "y: T", "T: type", eddy__infer_unchanged),
};

static const eddy__role roles[] = {
    [12] = EDDY__ROLE_CONST,
    [13] = EDDY__ROLE_FORWARD,
};

_Static_assert(sizeof specs / sizeof *specs == sizeof roles / sizeof *roles,
               "each op has a role");

static void setup(void)
{
    const eddy__op_table table = {
        .specs = specs, .roles = roles, .n = sizeof specs / sizeof *specs};

    text_graph_init(&t);
    ck_assert_int_eq(eddy__registry_add_table(&t.ctx.registry, &table, &t.err),
                     EDDY_OK);
    arena = (eddy__arena){.allocator = &t.ctx.allocator};
    calls = wide_calls = 0;
}

static void teardown(void)
{
    eddy__arena_destroy(&arena);
    text_graph_deinit(&t);
}

/* ---- running the inference ---- */

static eddy_status infer_selection(const eddy__selection *selection,
                                   const eddy_shape *feed_shapes)
{
    eddy_analysis *analysis = NULL;
    eddy_status status;

    ck_assert_msg(eddy__analysis_build(selection, &analysis, &t.err) == EDDY_OK,
                  "%s: %s", t.err.node, t.err.message);
    status = eddy__infer_shapes(selection, analysis, feed_shapes, &arena,
                                &shapes, &t.err);
    eddy_analysis_destroy(analysis);
    return status;
}

static eddy_status infer_graph(void)
{
    const eddy__selection all = {.graph = t.graph};

    return infer_selection(&all, NULL);
}

static void infer_text(const char *text)
{
    text_graph_build(&t, text);
    ck_assert_msg(infer_graph() == EDDY_OK, "%s: %s", t.err.node,
                  t.err.message);
}

static void want(const char *output, const char *shape)
{
    eddy_output out;

    ck_assert_int_eq(eddy_graph_find_output(t.graph, output, &out, &t.err),
                     EDDY_OK);
    ck_assert_msg(strcmp(eddy__shape_print(eddy__shape_at(&shapes, out)).text,
                         shape) == 0,
                  "%s has shape %s, wanted %s", output,
                  eddy__shape_print(eddy__shape_at(&shapes, out)).text, shape);
}

/* A loop of one variable: body nodes read s:1, and `b` goes back. */
#define LOOP(init, body)                                                       \
    "p Pred\n"                                                                 \
    "i " init "\n"                                                             \
    "e Enter@f i\n"                                                            \
    "ep Enter@f! p\n"                                                          \
    "m Merge e n\n"                                                            \
    "c LoopCond ep\n"                                                          \
    "s Switch m c\n" body "\n"                                                 \
    "n NextIteration b\n"                                                      \
    "o Exit s:0\n"

/* ---- tests ---- */

START_TEST(shapes_follow_the_edges)
{
    infer_text("a Vec2\n"
               "b Grow a\n"
               "c Same b d\n"
               "d Vec3\n"
               "u Source\n"
               "v Same u d\n"
               "n NoOp ^a\n");
    want("a", "[2]");
    want("b", "[3]");
    want("c", "[3]");
    want("u", "?");
    want("v", "[3]");
}
END_TEST

START_TEST(a_merge_joins_its_inputs)
{
    infer_text("p Pred\n"
               "a Vec2\n"
               "s Switch a p\n"
               "g Grow s:1\n"
               "m Merge s g\n"
               "w Mat\n"
               "r Switch w p\n"
               "k Merge s:1 r\n");
    want("s:0", "[2]");
    want("s:1", "[2]");
    want("m", "[?]");
    want("m:1", "[]");
    want("k", "?");
}
END_TEST

START_TEST(a_loop_that_keeps_its_shape_keeps_it_known)
{
    infer_text(LOOP("Vec2", "b Count s:1"));
    want("m", "[2]");
    want("b", "[2]");
    want("o", "[2]");
    ck_assert_uint_eq(calls, 1);
}
END_TEST

START_TEST(a_dimension_that_grows_in_a_loop_becomes_unknown)
{
    infer_text(LOOP("Vec2", "b Grow s:1\n"
                            "ei Enter@f! i\n"
                            "k Count ei ^b") "after Grow o\n");
    ck_assert_uint_eq(calls, 1);
    want("m", "[?]");
    want("b", "[?]");
    want("o", "[?]");
    want("after", "[?]");
    want("e", "[2]");
    want("m:1", "[]");
}
END_TEST

START_TEST(a_rank_that_changes_in_a_loop_becomes_unknown)
{
    infer_text(LOOP("Vec2", "b ToMat s:1"));
    want("m", "?");
    want("o", "?");
    want("b", "[2,3]");
}
END_TEST

START_TEST(growth_in_an_inner_loop_reaches_the_outer_one)
{
    infer_text(LOOP("Vec2", "e2 Enter@g s:1\n"
                            "ep2 Enter@g! ep\n"
                            "m2 Merge e2 n2\n"
                            "c2 LoopCond ep2\n"
                            "s2 Switch m2 c2\n"
                            "b2 Grow s2:1\n"
                            "n2 NextIteration b2\n"
                            "b Exit s2:0") "w Vec3\nz Same o w\n");
    want("m", "[?]");
    want("m2", "[?]");
    want("o", "[?]");
    want("z", "[3]");
}
END_TEST

/* Node 0 is pruned away; output 0 of node 1 is fed. */
static const eddy_output feeds[] = {{1, 0}};
static const eddy_shape feed_shapes[] = {{.rank = 1, .dims = {7}}};
static const uint8_t keep[] = {0, 0, 1, 1}, is_fed[] = {0, 1, 0, 0};

static eddy_status infer_fed(const char *text)
{
    eddy__selection fed = {
        .keep = keep, .is_fed = is_fed, .feeds = feeds, .n_feeds = 1};

    text_graph_build(&t, text);
    fed.graph = t.graph;
    return infer_selection(&fed, feed_shapes);
}

START_TEST(a_fed_output_has_the_shape_of_its_feed)
{
    ck_assert_int_eq(infer_fed("a Vec2\n"
                               "x Grow a\n"
                               "y Grow x\n"
                               "z Same y y\n"),
                     EDDY_OK);
    want("y", "[8]");
    want("z", "[8]");
}
END_TEST

START_TEST(a_mistake_names_its_node)
{
    text_graph_build(&t, "a Vec2\n"
                         "b Vec3\n"
                         "c Same a b\n");
    ck_assert_int_eq(infer_graph(), EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(t.err.detail, EDDY_E_SHAPE);
    ck_assert_str_eq(t.err.node, "c");
    ck_assert_str_eq(t.err.op, "Same");
    ck_assert_str_eq(t.err.message, "they differ");
}
END_TEST

START_TEST(a_mistake_before_a_switch_or_loop_is_refused)
{
    text_graph_build(&t, "p Pred\n"
                         "a Vec2\n"
                         "b Vec3\n"
                         "c Same a b\n"
                         "s Switch c p\n");
    ck_assert_int_eq(infer_graph(), EDDY_INVALID_ARGUMENT);
    ck_assert_str_eq(t.err.node, "c");
    text_graph_build(&t, LOOP("Vec2", "w Same i k\n"
                                      "k Vec3\n"
                                      "b Same s:1 ew\n"
                                      "ew Enter@f! w"));
    ck_assert_int_eq(infer_graph(), EDDY_INVALID_ARGUMENT);
    ck_assert_str_eq(t.err.node, "w");
}
END_TEST

START_TEST(a_mistake_behind_a_switch_is_left_to_the_run)
{
    infer_text("p Pred\n"
               "a Vec2\n"
               "s Switch a p\n"
               "b Vec3\n"
               "c Same s:1 b\n"
               "m Merge s:0 c\n"
               "g Grow c\n");
    want("c", "?");
    want("m", "?");
    want("g", "?");
    want("s:0", "[2]");
}
END_TEST

START_TEST(a_mistake_behind_a_control_edge_from_a_branch_is_left_to_the_run)
{
    infer_text("p Pred\n"
               "a Vec2\n"
               "s Switch a p\n"
               "pivot Id s:1\n"
               "b Vec3\n"
               "c Same a b ^pivot\n");
    want("c", "?");
}
END_TEST

START_TEST(a_mistake_in_a_loop_is_left_to_the_run)
{
    infer_text(LOOP("Vec2", "k Vec3\n"
                            "ek Enter@f! k\n"
                            "b Same s:1 ek"));
    want("b", "?");
    want("m", "?");
    want("o", "?");
    want("e", "[2]");
}
END_TEST

START_TEST(a_mistake_of_a_loops_invariants_is_left_to_the_run)
{
    infer_text(LOOP("Vec2", "k Vec3\n"
                            "ek Enter@f! k\n"
                            "ei Enter@f! i\n"
                            "z Same ek ei\n"
                            "b Count s:1"));
    want("z", "?");
    want("m", "[2]");
}
END_TEST

START_TEST(a_mistake_after_a_loop_is_left_to_the_run)
{
    infer_text(LOOP("Vec2", "b Count s:1") "k Vec3\nz Same o k\n");
    want("o", "[2]");
    want("z", "?");
}
END_TEST

START_TEST(a_mistake_with_the_first_shape_only_is_none)
{
    infer_text(LOOP("Vec2", "b Grow s:1\n"
                            "r Refuse s:1"));
    want("m", "[?]");
    want("r", "[?]");
}
END_TEST

START_TEST(a_mistake_with_the_final_shape_makes_the_output_unknown)
{
    infer_text(LOOP("Vec2", "b Grow s:1\n"
                            "w Want s:1\n"
                            "g Grow w"));
    want("m", "[?]");
    want("w", "?");
    want("g", "?");
}
END_TEST

/* What goes back fails until it comes back once. */
START_TEST(a_loop_that_waits_for_a_mistake_is_settled)
{
    infer_text(LOOP("Vec2", "b Refuse s:1"));
    want("b", "?");
    want("m", "?");
    want("o", "?");
}
END_TEST

START_TEST(a_function_that_contradicts_itself_is_not_believed)
{
    infer_text(LOOP("Vec3", "g Grow s:1\n"
                            "b Alternate g"));
    want("b", "?");
    want("m", "?");
}
END_TEST

/* ---- constants ---- */

static eddy_output add_const(int32_t value)
{
    eddy_output out;

    ck_assert_int_eq(
        eddy_graph_add_scalar(t.graph, NULL, EDDY_INT32, &value, &out, &t.err),
        EDDY_OK);
    return out;
}

static eddy_output add(const char *op, const char *name, eddy_output a,
                       eddy_output b)
{
    const eddy__op *found = eddy__registry_find(&t.ctx.registry, op);
    const eddy_string frame = {"f", 1};
    const eddy_attr attr = eddy_attr_string("frame_name", &frame);
    const eddy_output inputs[] = {a, b};
    const eddy_node_spec spec = {
        .size = sizeof spec,
        .op = op,
        .name = name,
        .inputs = inputs,
        .n_inputs = b.node == EDDY_NO_NODE ? 1 : 2,
        .attrs = &attr,
        .n_attrs = found && found->role == EDDY__ROLE_ENTER ? 1 : 0,
    };
    eddy_output out = {EDDY_NO_NODE, 0};

    ck_assert_msg(eddy_graph_add(t.graph, &spec, &out.node, &t.err) == EDDY_OK,
                  "%s", t.err.message);
    return out;
}

static const eddy_output none = {EDDY_NO_NODE, 0};

START_TEST(a_constant_is_seen_through_what_hands_it_on)
{
    eddy_output c, p, s, e;

    text_graph_build(&t, "p Pred\n");
    p = (eddy_output){text_graph_node(&t, "p"), 0};
    c = add_const(5);
    s = add("Switch", "s", add("Identity", "c1", c, none), p);
    s.index = 1;
    e = add("Enter", "e", c, none);
    add("Read", "direct", c, none);
    add("Read", "switched", s, none);
    add("Read", "entered", add("Identity", "c2", e, none), none);
    add("Read", "grown", add("Grow", "g", c, none), none);
    ck_assert_int_eq(infer_graph(), EDDY_OK);
    want("direct", "[5]");
    want("switched", "[5]");
    want("entered", "[5]");
    want("grown", "[?]");
    ck_assert_ptr_nonnull(eddy__infer_constant_at(&shapes, s));
    ck_assert_ptr_null(eddy__infer_constant_at(&shapes, p));
}
END_TEST

START_TEST(what_comes_out_of_a_merge_is_not_constant)
{
    eddy_output c, p, s, other;

    text_graph_build(&t, "p Pred\n");
    p = (eddy_output){text_graph_node(&t, "p"), 0};
    c = add_const(5);
    s = add("Switch", "s", c, p);
    other = s;
    other.index = 1;
    add("Read", "r", add("Merge", "m", s, other), none);
    ck_assert_int_eq(infer_graph(), EDDY_OK);
    want("r", "[?]");
}
END_TEST

START_TEST(a_fed_constant_is_not_constant)
{
    const uint8_t is_fed_of_five[] = {0, 1, 0, 0, 0};
    eddy__selection fed = {
        .is_fed = is_fed_of_five, .feeds = feeds, .n_feeds = 1};

    text_graph_build(&t, "p Pred\n");
    fed.graph = t.graph;
    ck_assert_uint_eq(add_const(5).node, feeds[0].node);
    add("Read", "fed", feeds[0], none);
    add("Read", "own", add_const(4), none);
    ck_assert_int_eq(infer_selection(&fed, feed_shapes), EDDY_OK);
    want("fed", "[?]");
    want("own", "[4]");
}
END_TEST

/* ---- size ---- */

/* Loops inside each other, all of which a growing body widens. */
static char *nest(int depth)
{
    const size_t size = (size_t)depth * 400 + 100;
    char *text = malloc(size);
    size_t used = 0;

#define PUT(...) used += (size_t)snprintf(text + used, size - used, __VA_ARGS__)
    ck_assert_ptr_nonnull(text);
    PUT("s0 Vec2\nep0 Pred\n");
    for (int i = 1; i <= depth; i++) {
        PUT("e%d Enter@f%d s%d%s\n", i, i, i - 1, i > 1 ? ":1" : "");
        PUT("ep%d Enter@f%d! ep%d\n", i, i, i - 1);
        PUT("m%d Merge e%d n%d\n", i, i, i);
        PUT("c%d LoopCond ep%d\n", i, i);
        PUT("s%d Switch m%d c%d\n", i, i, i);
        PUT("n%d NextIteration %s%d\n", i, i < depth ? "o" : "g",
            i < depth ? i + 1 : i);
        PUT("o%d Exit s%d:0\n", i, i);
    }
    PUT("h Grow s%d:1\ng%d Count h\n", depth, depth);
#undef PUT
    return text;
}

START_TEST(nested_loops_settle_in_few_visits)
{
    char *text = nest(200);

    infer_text(text);
    free(text);
    want("m1", "[?]");
    want("m200", "[?]");
    want("o1", "[?]");
    ck_assert_uint_le(calls, 4);
}
END_TEST

/* Every node of a chain in a loop feeds one wide node. */
START_TEST(a_wide_node_is_not_visited_for_each_input)
{
    const int n = 2000;
    eddy_output *inputs = malloc((size_t)n * sizeof *inputs), last;
    eddy_node next;

    ck_assert_ptr_nonnull(inputs);
    text_graph_build(&t, LOOP("Vec2", "b Grow s:1"));
    next = text_graph_node(&t, "n");
    last = (eddy_output){text_graph_node(&t, "b"), 0};
    for (int i = 0; i < n; i++)
        inputs[i] = last = add("Count", NULL, last, none);
    ck_assert_int_eq(eddy_graph_add_op(t.graph, "Wide", "wide", inputs,
                                       (size_t)n, &last, &t.err),
                     EDDY_OK);
    free(inputs);
    last = add("Count", "last", last, none);
    ck_assert_int_eq(eddy_graph_set_input(t.graph, next, 0, last, &t.err),
                     EDDY_OK);
    ck_assert_int_eq(infer_graph(), EDDY_OK);
    want("wide", "[?]");
    ck_assert_uint_le(wide_calls, 4);
}
END_TEST

/* Chains of many lengths, which start at one growing variable and end in it. */
START_TEST(a_node_waits_for_all_that_change_before_it)
{
    enum { N_CHAINS = 60 };
    eddy_output ends[N_CHAINS], wide;

    text_graph_build(&t, LOOP("Vec2", "b Grow s:1"));
    for (int i = 0; i < N_CHAINS; i++) {
        ends[i] = (eddy_output){text_graph_node(&t, "s"), 1};
        for (int k = 0; k <= i * 7 % 11; k++)
            ends[i] = add("Count", NULL, ends[i], none);
    }
    ck_assert_int_eq(eddy_graph_add_op(t.graph, "Wide", "wide", ends, N_CHAINS,
                                       &wide, &t.err),
                     EDDY_OK);
    wide_calls = 0;
    ck_assert_int_eq(infer_graph(), EDDY_OK);
    want("wide", "[?]");
    ck_assert_uint_eq(wide_calls, 2);
}
END_TEST

/* Loop variables that pass what they hold on to the next, like a queue. */
static char *pass_on(int n)
{
    const size_t size = (size_t)n * 200 + 100;
    char *text = malloc(size);
    size_t used = 0;

    ck_assert_ptr_nonnull(text);
#define PUT(...) used += (size_t)snprintf(text + used, size - used, __VA_ARGS__)
    PUT("p Pred\nep Enter@f! p\nc LoopCond ep\n");
    for (int i = 0; i < n; i++) {
        PUT("i%d Vec2\ne%d Enter@f i%d\n", i, i, i);
        PUT("m%d Merge e%d n%d\ns%d Switch m%d c\n", i, i, i, i, i);
    }
    PUT("g Grow s0:1\nn0 NextIteration g\n");
    for (int i = 1; i < n; i++)
        PUT("n%d NextIteration s%d:1\n", i, i - 1);
#undef PUT
    return text;
}

/* Each time around one variable more has grown, and the wide node sees it. */
START_TEST(a_node_that_would_be_visited_too_often_becomes_unknown)
{
    enum { N_VARIABLES = 100 };
    char *text = pass_on(N_VARIABLES);
    eddy_output inputs[N_VARIABLES], wide;

    text_graph_build(&t, text);
    free(text);
    for (int i = 0; i < N_VARIABLES; i++) {
        char name[16];

        snprintf(name, sizeof name, "s%d", i);
        inputs[i] = (eddy_output){text_graph_node(&t, name), 1};
    }
    ck_assert_int_eq(eddy_graph_add_op(t.graph, "Wide", "wide", inputs,
                                       N_VARIABLES, &wide, &t.err),
                     EDDY_OK);
    wide_calls = 0;
    ck_assert_int_eq(infer_graph(), EDDY_OK);
    want("m0", "[?]");
    want("m99", "[?]");
    want("wide", "?");
    ck_assert_uint_eq(wide_calls, 64);
}
END_TEST

START_TEST(a_long_chain_is_quick_and_deep_recursion_free)
{
    const clock_t begin = clock();
    clock_t middle;
    eddy_output last;

    text_graph_build(&t, "v Vec3\n");
    last = (eddy_output){text_graph_node(&t, "v"), 0};
    for (int i = 0; i < 200000; i++)
        last = add("Identity", NULL, last, none);
    middle = clock();
    ck_assert_int_eq(infer_graph(), EDDY_OK);
    ck_assert_int_eq(eddy__shape_at(&shapes, last)->dims[0], 3);
    ck_assert_msg(clock() - middle < 4 * (middle - begin),
                  "its shapes took far longer than its nodes");
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    eddy__selection selection = {.graph = NULL};
    eddy_analysis *analysis = NULL;
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;

    text_graph_build(&t, LOOP("Vec2", "b Grow s:1"));
    selection.graph = t.graph;
    ck_assert_int_eq(eddy__analysis_build(&selection, &analysis, &t.err),
                     EDDY_OK);
    for (long long n = 0; status != EDDY_OK; n++) {
        eddy__arena_destroy(&arena);
        counting_allocator_allow(&t.counting, n);
        status = eddy__infer_shapes(&selection, analysis, NULL, &arena, &shapes,
                                    &t.err);
        counting_allocator_allow(&t.counting, -1);
        ck_assert(status == EDDY_OK || status == EDDY_RESOURCE_EXHAUSTED);
        ck_assert_int_lt(n, 100);
    }
    eddy_analysis_destroy(analysis);
    want("m", "[?]");
}
END_TEST

TCase *plan_infer_tests(void)
{
    TCase *tc = tcase_create("plan_infer");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, shapes_follow_the_edges);
    tcase_add_test(tc, a_merge_joins_its_inputs);
    tcase_add_test(tc, a_loop_that_keeps_its_shape_keeps_it_known);
    tcase_add_test(tc, a_dimension_that_grows_in_a_loop_becomes_unknown);
    tcase_add_test(tc, a_rank_that_changes_in_a_loop_becomes_unknown);
    tcase_add_test(tc, growth_in_an_inner_loop_reaches_the_outer_one);
    tcase_add_test(tc, a_fed_output_has_the_shape_of_its_feed);
    tcase_add_test(tc, a_mistake_names_its_node);
    tcase_add_test(tc, a_mistake_before_a_switch_or_loop_is_refused);
    tcase_add_test(tc, a_mistake_behind_a_switch_is_left_to_the_run);
    tcase_add_test(
        tc, a_mistake_behind_a_control_edge_from_a_branch_is_left_to_the_run);
    tcase_add_test(tc, a_mistake_in_a_loop_is_left_to_the_run);
    tcase_add_test(tc, a_mistake_of_a_loops_invariants_is_left_to_the_run);
    tcase_add_test(tc, a_mistake_after_a_loop_is_left_to_the_run);
    tcase_add_test(tc, a_mistake_with_the_first_shape_only_is_none);
    tcase_add_test(tc, a_mistake_with_the_final_shape_makes_the_output_unknown);
    tcase_add_test(tc, a_loop_that_waits_for_a_mistake_is_settled);
    tcase_add_test(tc, a_function_that_contradicts_itself_is_not_believed);
    tcase_add_test(tc, a_constant_is_seen_through_what_hands_it_on);
    tcase_add_test(tc, what_comes_out_of_a_merge_is_not_constant);
    tcase_add_test(tc, a_fed_constant_is_not_constant);
    tcase_add_test(tc, nested_loops_settle_in_few_visits);
    tcase_add_test(tc, a_wide_node_is_not_visited_for_each_input);
    tcase_add_test(tc, a_node_waits_for_all_that_change_before_it);
    tcase_add_test(tc, a_node_that_would_be_visited_too_often_becomes_unknown);
    tcase_add_test(tc, a_long_chain_is_quick_and_deep_recursion_free);
    tcase_add_test(tc, every_allocation_may_fail);
    return tc;
}
