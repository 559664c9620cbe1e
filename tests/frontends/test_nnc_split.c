/* SPDX-License-Identifier: Apache-2.0 */
/* Loops made of the nodes of a graph, as NNC makes them. */
#include "tests/aid/construct.h"
#include "tests/suites.h"

#include <string.h>

#define MOST 8

static program p;
static int64_t calls, trips; /* of the host's condition */

static void setup(void)
{
    program_init(&p, 0);
    calls = 0;
    trips = 0;
}

static void teardown(void)
{
    program_deinit(&p);
}

static eddy_status is_below(eddy_kernel *call, void *user, bool *out_value)
{
    calls++;
    *out_value = *(const int64_t *)eddy_kernel_input(call, 0).data <
                 *(const int64_t *)user;
    return EDDY_OK;
}

/* ---- splits, by names ---- */

/* "a b" */
typedef struct plan {
    const char *incoming, *outgoing, *ends;
    const char *carried;           /* "from to from to" */
    const char *tensors;           /* NULL: the host counts to `trips` */
    const char *counter, *initial; /* may be NULL */
    const char *name;
} plan;

static size_t find_outputs(const char *names, eddy_output *out)
{
    char text[256], *rest = text;
    size_t n = 0;

    ck_assert_uint_lt(strlen(names ? names : ""), sizeof text);
    strcpy(text, names ? names : "");
    for (char *name; (name = strtok_r(rest, " ", &rest));) {
        ck_assert_uint_lt(n, 2 * MOST);
        out[n++] = program_output(&p, name);
    }
    return n;
}

static size_t find_nodes(const char *names, eddy_node *out)
{
    eddy_output outputs[2 * MOST];
    const size_t n = find_outputs(names, outputs);

    for (size_t i = 0; i < n; i++)
        out[i] = outputs[i].node;
    return n;
}

static eddy_status try_split(const plan *wanted, eddy_graph **out_graph,
                             eddy_node *out_nodes)
{
    eddy_node incoming[2 * MOST], outgoing[2 * MOST], ends[2 * MOST];
    eddy_output carried[2 * MOST], tensors[2 * MOST], initial[2 * MOST];
    eddy_nnc_carried map[MOST];
    eddy_output counter;
    eddy_nnc_split_spec spec = {
        .size = sizeof spec,
        .name = wanted->name,
        .incoming = incoming,
        .n_incoming = find_nodes(wanted->incoming, incoming),
        .outgoing = outgoing,
        .n_outgoing = find_nodes(wanted->outgoing, outgoing),
        .ends = ends,
        .n_ends = find_nodes(wanted->ends, ends),
        .carried = map,
        .n_carried = find_outputs(wanted->carried, carried) / 2,
        .tensors = tensors,
        .n_tensors = find_outputs(wanted->tensors, tensors),
    };

    for (size_t i = 0; i < spec.n_carried; i++)
        map[i] = (eddy_nnc_carried){carried[2 * i], carried[2 * i + 1]};
    if (find_outputs(wanted->initial, initial) > 0)
        spec.initial = initial;
    if (find_outputs(wanted->counter, &counter) > 0)
        spec.counter = &counter;
    if (!wanted->tensors) {
        spec.condition = is_below;
        spec.condition_user = &trips;
    }
    return eddy_nnc_split(p.graph, &spec, out_graph, out_nodes, &p.err);
}

/* The new graph takes the place of the old one. */
static void split(const plan *wanted)
{
    eddy_graph *made = NULL;

    program_want_ok(&p, try_split(wanted, &made, NULL));
    eddy_graph_destroy(p.graph);
    p.graph = made;
}

static double value_of(eddy_output fetch)
{
    program_plan_outputs(&p, &fetch, 1);
    program_run(&p);
    return *(const double *)eddy_tensor_data(eddy_run_fetch(p.run, 0));
}

static double value(const char *name)
{
    return value_of(program_output(&p, name));
}

static eddy_output gradient(const char *y_name, const char *x_name)
{
    const eddy_output y = program_output(&p, y_name);
    const eddy_output x = program_output(&p, x_name);
    eddy_output dx;

    program_want_ok(&p,
                    eddy_gradients(p.graph, &y, 1, &x, 1, NULL, &dx, &p.err));
    ck_assert_uint_ne(dx.node, EDDY_NO_NODE);
    return dx;
}

static void want(double got, double wanted)
{
    ck_assert_double_eq_tol(got, wanted,
                            1e-9 * (wanted < 0 ? 1 - wanted : 1 + wanted));
}

/* ---- where the condition stands ---- */

/* y = x after some times x = x * k; z = y + x, outside. */
#define PLAIN "x float64=3\nk float64=2\ny Identity x\nf Mul x k\nz AddV2 y x\n"

static const plan plain = {
    .incoming = "y f", .outgoing = "y", .ends = "f", .carried = "f x"};

START_TEST(the_condition_comes_first)
{
    trips = _i;
    program_build(&p, PLAIN);
    split(&plain);
    want(value("y"), 3 * (double)(1 << _i));
    ck_assert_int_eq(calls, _i + 1);
    want(value("z"), 3 * (double)(1 << _i) + 3);
    ck_assert_str_eq(eddy_graph_node_op(p.graph, program_output(&p, "y").node),
                     "Identity");
    ck_assert_uint_eq(eddy_graph_find(p.graph, "f"), EDDY_NO_NODE);
}
END_TEST

/* f runs once before it is asked for the first time. */
START_TEST(the_condition_comes_last)
{
    const plan last = {
        .incoming = "f", .outgoing = "f", .ends = "f", .carried = "f x"};

    trips = _i;
    program_build(&p, "x float64=3\nk float64=2\nf Mul x k\nz Neg f\n");
    split(&last);
    want(value("z"), -6 * (double)(1 << _i));
    ck_assert_int_eq(calls, _i + 1);
}
END_TEST

/* s = 3 x + 2; out s; x = s - x / 2 */
#define MIDDLE                                                                 \
    "x float64=1.5\na float64=3\nb float64=2\nm Mul x a\ns AddV2 m b\n"        \
    "out Identity s\nh RealDiv x b\nn Sub s h\n"

static const plan middle = {
    .incoming = "m h", .outgoing = "out", .ends = "n", .carried = "n x"};

static double slow_middle(double x, double a, double b, int64_t n)
{
    double s = x * a + b;

    for (int64_t i = 0; i < n; i++) {
        x = s - x / b;
        s = x * a + b;
    }
    return s;
}

START_TEST(the_condition_stands_in_the_middle)
{
    trips = _i;
    program_build(&p, MIDDLE);
    split(&middle);
    want(value("out"), slow_middle(1.5, 3, 2, _i));
    ck_assert_int_eq(calls, _i + 1);
}
END_TEST

/* What it runs of it has a tensor for a condition, so it can be saved. */
START_TEST(a_loop_of_tensors_is_saved_and_loaded)
{
    const plan tensors = {.incoming = "m h",
                          .outgoing = "out",
                          .ends = "n",
                          .carried = "n x",
                          .tensors = "less"};

    program_build(&p, MIDDLE "limit float64=100\nless Less s limit\n");
    split(&tensors);
    want(value("out"), slow_middle(1.5, 3, 2, 3));
    program_reload(&p);
    want(value("out"), slow_middle(1.5, 3, 2, 3));
}
END_TEST

/* ---- what is carried ---- */

/* a <- b, b <- a * b */
#define SHIFT                                                                  \
    "a float64=3\nb float64=2\nya Identity a\nyb Identity b\nf Mul a b\n"

static const plan shift = {.incoming = "ya yb f",
                           .outgoing = "ya yb",
                           .ends = "f",
                           .carried = "b a f b"};

START_TEST(values_are_shifted)
{
    double a = 3, b = 2;

    trips = _i;
    program_build(&p, SHIFT);
    split(&shift);
    for (int i = 0; i < _i; i++) {
        const double next = a * b;

        a = b;
        b = next;
    }
    want(value("ya"), a);
    want(value("yb"), b);
}
END_TEST

/* Body parameters that are placeholders, and values to begin with. */
START_TEST(first_values_may_be_others)
{
    const plan other = {.incoming = "y f",
                        .outgoing = "y",
                        .ends = "f",
                        .carried = "f x",
                        .initial = "z",
                        .name = "power"};

    trips = 3;
    program_build(&p, "w float64=5\nz Neg w\nx ?float64\nk float64=2\n"
                      "y Identity x\nf Mul x k\n");
    split(&other);
    want(value("y"), -40);
    ck_assert_uint_ne(eddy_graph_find(p.graph, "power/f"), EDDY_NO_NODE);
    ck_assert_uint_ne(eddy_graph_find(p.graph, "power_first/y"), EDDY_NO_NODE);
}
END_TEST

/* x = x + count */
START_TEST(nodes_see_the_count)
{
    const plan counting = {.incoming = "y f",
                           .outgoing = "y",
                           .ends = "f",
                           .carried = "f x",
                           .counter = "count"};
    eddy_output y;

    trips = _i;
    program_build(&p, "x int64=10\ncount ?int64\ny Identity x\n"
                      "f AddV2 x count\n");
    split(&counting);
    y = program_output(&p, "y");
    ck_assert_int_eq(construct_run(&p, y, NULL, NULL, 0),
                     10 + _i * (_i - 1) / 2);
}
END_TEST

static const struct {
    const char *text;
    double k;
} kinds[] = {
    {"x int32=3\nk int32=2\ny Identity x\nf Mul x k\n", 2},
    {"x int64=3\nk int64=2\ny Identity x\nf Mul x k\n", 2},
    {"x uint8=3\nk uint8=2\ny Identity x\nf Mul x k\n", 2},
    {"x float32[2]=3,6\nk float32=2\ny Identity x\nf Mul x k\n", 2},
};

START_TEST(parameters_have_any_dtype)
{
    trips = 4;
    program_build(&p, kinds[_i].text);
    split(&plain);
    program_plan(&p, NULL, "y");
    program_run(&p);
    if (_i == 3)
        program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(48, 96));
    else
        program_want_fetch(&p, 0, 0, NULL, PROGRAM_NUMBERS(48));
}
END_TEST

/* ---- effects and order ---- */

/* The end adds to a variable, and nothing reads what it gives. */
START_TEST(ends_run_once_a_trip)
{
    const plan effect = {
        .incoming = "y f", .outgoing = "y", .ends = "add", .carried = "f x"};

    trips = 5;
    program_build(&p, "v VarHandleOp dtype=%float64 shape=() shared_name='v'\n"
                      "zero float64=0\nset AssignVariableOp v zero "
                      "dtype=%float64\n"
                      "x float64=1\nk float64=2\ny Identity x ^set\n"
                      "f Mul x k\nadd AssignAddVariableOp v f dtype=%float64 "
                      "\nread ReadVariableOp v dtype=%float64 ^y\n");
    split(&effect);
    program_plan(&p, NULL, "read y");
    program_run(&p);
    want(*(const double *)eddy_tensor_data(eddy_run_fetch(p.run, 0)), 62);
    want(*(const double *)eddy_tensor_data(eddy_run_fetch(p.run, 1)), 32);
}
END_TEST

/* ---- loops and branches inside ---- */

/*
 * inner: v = v + 10, as often as the outer count says; outer: w = inner(w).
 * The inner condition is a tensor that reads both counts.
 */
#define NESTED                                                                 \
    "w float64=1\nstep float64=10\nouter_count ?int64\ninner_count ?int64\n"   \
    "v Identity w\ninner_out Identity v\nadd AddV2 v step\n"                   \
    "less Less inner_count outer_count\nback Identity inner_out\n"             \
    "out Identity w\n"

static void split_nested(void)
{
    /* The placeholder is what the inner nodes read in place of v. */
    const plan inner = {.incoming = "inner_out add less",
                        .outgoing = "inner_out",
                        .ends = "add",
                        .carried = "add v",
                        .tensors = "less",
                        .counter = "inner_count",
                        .name = "inner"};
    const plan outer = {.incoming = "v out",
                        .outgoing = "out",
                        .ends = "back",
                        .carried = "back w",
                        .counter = "outer_count",
                        .name = "outer"};

    split(&inner);
    split(&outer);
}

START_TEST(an_inner_condition_sees_the_outer_count)
{
    trips = _i;
    program_build(&p, NESTED);
    split_nested();
    want(value("out"), 1 + 10 * (_i * (_i - 1) / 2));
    ck_assert_int_eq(calls, _i + 1);
}
END_TEST

START_TEST(nested_loops_have_gradients)
{
    trips = 5;
    program_build(&p, NESTED);
    split_nested();
    want(value_of(gradient("out", "w")), 1);
    want(value_of(gradient("out", "step")), 10);
}
END_TEST

/* f = x * k if x < limit, else x + k */
START_TEST(a_branch_is_inside)
{
    const plan branching = {
        .incoming = "y less c", .outgoing = "y", .ends = "f", .carried = "f x"};
    eddy_output x, k, result;
    double wanted = 1;

    trips = _i;
    program_build(&p, "x float64=1\nk float64=3\nlimit float64=20\n"
                      "y Identity x\nless Less x limit\nc Identity x\n");
    x = program_output(&p, "c");
    k = program_output(&p, "k");
    construct_cond(&p, program_output(&p, "less"));
    result = program_binary(&p, "Mul", x, k);
    construct_else(&p, result);
    result = construct_end_cond(&p, program_binary(&p, "AddV2", x, k));
    {
        const eddy_node_spec f = {
            .size = sizeof f,
            .op = "Identity",
            .name = "f",
            .inputs = &result,
            .n_inputs = 1,
        };

        program_want_ok(&p, eddy_graph_add(p.graph, &f, NULL, &p.err));
    }
    split(&branching);
    for (int i = 0; i < _i; i++)
        wanted = wanted < 20 ? wanted * 3 : wanted + 3;
    want(value("y"), wanted);
    if (_i > 0) {
        want(value_of(gradient("y", "x")), _i < 3 ? wanted : 27);
    }
}
END_TEST

/* A loop that is not part of it, before and behind. */
START_TEST(loops_outside_stay_as_they_are)
{
    eddy_output trips_of, x, k;
    counted c;

    trips = 2;
    program_build(&p, "x0 float64=1\nk float64=3\nn int64=3\n");
    trips_of = program_output(&p, "n");
    k = program_output(&p, "k");
    c = construct_counted(&p, trips_of, program_output(&p, "x0"));
    construct_end_counted(&p, &c, program_binary(&p, "Mul", c.now, k));
    {
        const eddy_node_spec nodes[] = {
            {sizeof nodes[0], "Identity", "x", &c.results[1], 1, NULL, 0, NULL,
             0},
            {sizeof nodes[0], "Identity", "y", &x, 1, NULL, 0, NULL, 0},
        };
        eddy_output inputs[2] = {{0, 0}, k}, y = {0, 0};

        x.index = 0;
        program_want_ok(&p,
                        eddy_graph_add(p.graph, &nodes[0], &x.node, &p.err));
        program_want_ok(&p,
                        eddy_graph_add(p.graph, &nodes[1], &y.node, &p.err));
        inputs[0] = x;
        program_want_ok(&p, eddy_graph_add_op(p.graph, "AddV2", "f", inputs, 2,
                                              NULL, &p.err));
        c = construct_counted(&p, trips_of, y);
        construct_end_counted(&p, &c, program_binary(&p, "Mul", c.now, k));
        program_want_ok(&p, eddy_graph_add_op(p.graph, "Neg", "z",
                                              &c.results[1], 1, NULL, &p.err));
    }
    split(&plain);
    /* (27 + 3 + 3) * 27 */
    want(value("z"), -33 * 27);
    want(value_of(gradient("z", "x0")), -27 * 27);
}
END_TEST

/* ---- gradients ---- */

START_TEST(shift_registers_have_gradients)
{
    program_build(&p, SHIFT);
    split(&shift);
    trips = 3;
    want(value("yb"), 72);
    want(value_of(gradient("yb", "a")), 48);
    trips = 2;
    want(value_of(gradient("yb", "b")), 12);
}
END_TEST

START_TEST(a_product_has_a_gradient_with_the_condition_first)
{
    program_build(&p, PLAIN);
    split(&plain);
    trips = 4;
    want(value_of(gradient("y", "x")), 16);
    want(value_of(gradient("y", "k")), 4 * 3 * 8);
    want(value_of(gradient("z", "x")), 17);
}
END_TEST

START_TEST(gradients_equal_differences)
{
    const double e = 1e-5;

    program_build(&p, MIDDLE);
    split(&middle);
    trips = _i;
    ck_assert_double_eq_tol(
        value_of(gradient("out", "x")),
        (slow_middle(1.5 + e, 3, 2, _i) - slow_middle(1.5 - e, 3, 2, _i)) /
            (2 * e),
        1e-4);
    ck_assert_double_eq_tol(
        value_of(gradient("out", "a")),
        (slow_middle(1.5, 3 + e, 2, _i) - slow_middle(1.5, 3 - e, 2, _i)) /
            (2 * e),
        1e-4);
    ck_assert_double_eq_tol(
        value_of(gradient("out", "b")),
        (slow_middle(1.5, 3, 2 + e, _i) - slow_middle(1.5, 3, 2 - e, _i)) /
            (2 * e),
        1e-4);
}
END_TEST

/* ---- bad use ---- */

static const struct {
    const char *text;
    plan plan;
    eddy_detail detail;
    const char *words[2];
} bad[] = {
    /* An edge from outside leads elsewhere. */
    {PLAIN "o Neg k\ng Mul f o\n",
     {.incoming = "y f", .outgoing = "y", .ends = "g", .carried = "g x"},
     EDDY_E_SUBGRAPH,
     {"'g'", "'o'"}},
    /* An edge to outside comes from elsewhere. */
    {PLAIN "o Neg f\n",
     {.incoming = "y f", .outgoing = "y", .ends = "f", .carried = "f x"},
     EDDY_E_SUBGRAPH,
     {"'f'", "'o'"}},
    /* An incoming node is reached from inside. */
    {PLAIN "g Mul f x\n",
     {.incoming = "y f g", .outgoing = "y", .ends = "g", .carried = "g x"},
     EDDY_E_SUBGRAPH,
     {"'g'", "'f'"}},
    /* An outgoing node points inside. */
    {"x float64=1\nk float64=2\ny Identity x\nf Mul y k\n",
     {.incoming = "y", .outgoing = "y", .ends = "f", .carried = "f x"},
     EDDY_E_SUBGRAPH,
     {"'y'", "'f'"}},
    /* An end points inside. */
    {PLAIN "g Mul f f\n",
     {.incoming = "y f", .outgoing = "y", .ends = "f g", .carried = "g x"},
     EDDY_E_SUBGRAPH,
     {"'f'", "'g'"}},
    /* By a control edge too. */
    {PLAIN "g Mul x k ^f\n",
     {.incoming = "y f", .outgoing = "y", .ends = "f g", .carried = "g x"},
     EDDY_E_SUBGRAPH,
     {"'f'", "'g'"}},
    {PLAIN "o Neg k\n",
     {.incoming = "y f o", .outgoing = "y", .ends = "f", .carried = "f x"},
     EDDY_E_SUBGRAPH,
     {"'o'", "leads to no outgoing"}},
    {PLAIN "o Neg k\n",
     {.incoming = "y f", .outgoing = "y", .ends = "f o", .carried = "f x"},
     EDDY_E_SUBGRAPH,
     {"'o'", "no incoming node leads"}},
    {PLAIN,
     {.incoming = "y f", .outgoing = "y y", .ends = "f", .carried = "f x"},
     EDDY_E_SUBGRAPH,
     {"'y'", "twice"}},
    /* What is carried: to a node inside, twice, to what nobody reads. */
    {PLAIN "g Mul f k\n",
     {.incoming = "y f", .outgoing = "y", .ends = "g", .carried = "g f"},
     EDDY_E_SUBGRAPH,
     {"'f'", "depends on what is inside"}},
    {PLAIN,
     {.incoming = "y f", .outgoing = "y", .ends = "f", .carried = "f x f x"},
     EDDY_E_SUBGRAPH,
     {"'x'", "two values"}},
    {PLAIN "o float64=1\n",
     {.incoming = "y f", .outgoing = "y", .ends = "f", .carried = "f o"},
     EDDY_E_SUBGRAPH,
     {"'o'", "no node inside reads"}},
    {PLAIN "i int64=1\ng Mul f k\n",
     {.incoming = "y f", .outgoing = "y", .ends = "g", .carried = "i x"},
     EDDY_E_INPUT_DTYPE,
     {"'i'", "'x'"}},
    {PLAIN,
     {.incoming = "y f",
      .outgoing = "y",
      .ends = "f",
      .carried = "f x",
      .initial = "z"},
     EDDY_E_SUBGRAPH,
     {"'z'", "first value"}},
    {PLAIN,
     {.incoming = "y f",
      .outgoing = "y",
      .ends = "f",
      .carried = "f x",
      .counter = "k"},
     EDDY_E_INPUT_DTYPE,
     {"counter", "int64"}},
    {PLAIN,
     {.incoming = "y f",
      .outgoing = "y",
      .ends = "f",
      .carried = "f x",
      .tensors = "x"},
     EDDY_E_PREDICATE,
     {"bool", "float64"}},
    {PLAIN "yes bool=1\n",
     {.incoming = "y f",
      .outgoing = "y",
      .ends = "f",
      .carried = "f x",
      .tensors = "yes yes"},
     EDDY_E_INPUT_COUNT,
     {"2 tensors", "bool"}},
    {PLAIN,
     {.incoming = "y f",
      .outgoing = "y",
      .ends = "f",
      .carried = "f x",
      .name = "bad name"},
     EDDY_E_BAD_NAME,
     {"", ""}},
    {PLAIN "n NoOp ^f\n",
     {.incoming = "y f", .outgoing = "y n", .ends = "f", .carried = "f x"},
     EDDY_E_SUBGRAPH,
     {"'n'", "no outputs"}},
};

START_TEST(bad_splits_are_refused)
{
    const size_t size =
        (program_build(&p, bad[_i].text), eddy_graph_size(p.graph));
    eddy_graph *made = NULL;

    program_want(&p, try_split(&bad[_i].plan, &made, NULL),
                 EDDY_INVALID_ARGUMENT, bad[_i].detail);
    for (int i = 0; i < 2; i++)
        ck_assert_msg(strstr(p.err.message, bad[_i].words[i]), "%s",
                      p.err.message);
    ck_assert_ptr_null(made);
    ck_assert_uint_eq(eddy_graph_size(p.graph), size);
}
END_TEST

START_TEST(bad_arguments_are_refused)
{
    const eddy_nnc_split_spec none = {.size = sizeof none};
    eddy_graph *made = NULL;

    program_build(&p, PLAIN);
    program_want(&p, eddy_nnc_split(p.graph, &none, &made, NULL, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    program_want(&p, eddy_nnc_split(p.graph, NULL, &made, NULL, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
}
END_TEST

START_TEST(nodes_of_a_loop_are_refused)
{
    const plan inside = {.incoming = "while/Identity",
                         .outgoing = "while/Identity",
                         .ends = "while/Identity"};
    eddy_graph *made = NULL;
    counted c = construct_counted(&p, program_int(&p, 3), program_int(&p, 0));

    construct_end_counted(&p, &c, c.now);
    program_want(&p, try_split(&inside, &made, NULL), EDDY_INVALID_ARGUMENT,
                 EDDY_E_FRAME_MIXED);
    ck_assert_ptr_nonnull(strstr(p.err.message, "while/while_context"));
}
END_TEST

/* What became of each node. */
START_TEST(nodes_are_accounted_for)
{
    eddy_graph *made = NULL;
    eddy_node nodes[8];

    program_build(&p, PLAIN);
    program_want_ok(&p, try_split(&plain, &made, nodes));
    for (eddy_node v = 0; v < eddy_graph_size(p.graph); v++) {
        const char *name = eddy_graph_node_name(p.graph, v);

        if (strcmp(name, "f") == 0)
            ck_assert_uint_eq(nodes[v], EDDY_NO_NODE);
        else
            ck_assert_str_eq(eddy_graph_node_name(made, nodes[v]), name);
    }
    eddy_graph_destroy(made);
}
END_TEST

START_TEST(nothing_is_left_without_memory)
{
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;
    eddy_graph *made = NULL;

    trips = 4;
    program_build(&p, MIDDLE);
    for (int n = 0; status != EDDY_OK; n++) {
        ck_assert_int_lt(n, 10000);
        counting_allocator_fail(&p.counting, n);
        status = try_split(&middle, &made, NULL);
        ck_assert(status == EDDY_OK || p.err.detail == EDDY_E_MEMORY);
    }
    counting_allocator_fail(&p.counting, -1);
    eddy_graph_destroy(p.graph);
    p.graph = made;
    want(value("out"), slow_middle(1.5, 3, 2, 4));
}
END_TEST

TCase *nnc_split_tests(void)
{
    TCase *tcase = tcase_create("nnc_split");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, the_condition_comes_first, 0, 6);
    tcase_add_loop_test(tcase, the_condition_comes_last, 0, 6);
    tcase_add_loop_test(tcase, the_condition_stands_in_the_middle, 0, 6);
    tcase_add_test(tcase, a_loop_of_tensors_is_saved_and_loaded);
    tcase_add_loop_test(tcase, values_are_shifted, 0, 6);
    tcase_add_test(tcase, first_values_may_be_others);
    tcase_add_loop_test(tcase, nodes_see_the_count, 0, 6);
    tcase_add_loop_test(tcase, parameters_have_any_dtype, 0, 4);
    tcase_add_test(tcase, ends_run_once_a_trip);
    tcase_add_loop_test(tcase, an_inner_condition_sees_the_outer_count, 0, 6);
    tcase_add_test(tcase, nested_loops_have_gradients);
    tcase_add_loop_test(tcase, a_branch_is_inside, 0, 6);
    tcase_add_test(tcase, loops_outside_stay_as_they_are);
    tcase_add_test(tcase, shift_registers_have_gradients);
    tcase_add_test(tcase, a_product_has_a_gradient_with_the_condition_first);
    tcase_add_loop_test(tcase, gradients_equal_differences, 0, 4);
    tcase_add_loop_test(tcase, bad_splits_are_refused, 0,
                        sizeof bad / sizeof bad[0]);
    tcase_add_test(tcase, bad_arguments_are_refused);
    tcase_add_test(tcase, nodes_of_a_loop_are_refused);
    tcase_add_test(tcase, nodes_are_accounted_for);
    tcase_add_test(tcase, nothing_is_left_without_memory);
    return tcase;
}
