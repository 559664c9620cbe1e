/* SPDX-License-Identifier: Apache-2.0 */
/* Caffe2's recurrent networks against loops in C that compute the same. */
#include "tests/aid/functions.h"
#include "tests/aid/recurrent.h"
#include "tests/suites.h"

#include <string.h>

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

static program p;
static eddy_graph *net;

static const eddy_shape scalar = {.rank = 0};

static void setup(void)
{
    program_init(&p, 0);
    net = NULL;
}

static void teardown(void)
{
    eddy_graph_destroy(net);
    program_deinit(&p);
}

/* ---- step nets ---- */

static void begin_net(void)
{
    eddy_graph_destroy(net);
    recurrent_begin_net(&p);
}

static void end_net(void)
{
    net = recurrent_end_net(&p);
}

static eddy_output blob(const char *name)
{
    return recurrent_blob(&p, name, EDDY_FLOAT64);
}

/* The running example, whose net is dropped with the test. */
static void decaying_of(recurrent *d, eddy_dtype dtype, int64_t n, double decay)
{
    recurrent_init(d, &p, dtype, n, decay);
    eddy_graph_destroy(net);
    net = d->net;
}

/* ---- the running example ---- */

/* With the initial 0 in front. */
static const double halved[] = {0, 1, 2.5, 4.25, 6.125};
static const double tripled[] = {0, 1, 5, 18, 58};

static const eddy_dtype dtypes[] = {EDDY_FLOAT64, EDDY_FLOAT32, EDDY_INT64,
                                    EDDY_INT32};

/* Rows from -2, -1, 0 and 1 on, after 0, 1 and 4 steps. */
START_TEST(rows_come_out_from_any_offset)
{
    static const int64_t lengths[] = {0, 1, 4};
    const bool is_float = _i < 2;
    const double *want = is_float ? halved : tripled;

    for (size_t l = 0; l < N_OF(lengths); l++) {
        const int64_t n = lengths[l];
        eddy_output out[4];
        recurrent d;

        decaying_of(&d, dtypes[_i], n, is_float ? 0.5 : 3);
        program_want_ok(
            &p, eddy_caffe2_recurrent_network(p.graph, &d.spec, out, &p.err));
        ck_assert_uint_eq(eddy_graph_find(p.graph, "hidden"), out[2].node);
        for (size_t i = 0; i < 4; i++) {
            const int64_t offset = (int64_t)i - 2;
            const int64_t first = offset >= 0          ? offset
                                  : n + 1 + offset > 0 ? n + 1 + offset
                                                       : 0;
            const trial_result found = trial_both(&p, d.feeds, 3, out[i]);

            ck_assert_int_eq(found.dtype, dtypes[_i]);
            trial_want(&found, &TRIAL_SHAPE(n + 1 - first), want + first);
        }
        program_clear(&p);
    }
}
END_TEST

START_TEST(a_cell_is_linked_by_itself)
{
    eddy_caffe2_cell_state h = {"h_prev", {0, 0}, "h_next"};
    eddy_caffe2_blob x = {"x_t", {0, 0}};
    eddy_caffe2_net_spec spec = {
        .size = sizeof spec,
        .name = "cell",
        .inputs = &x,
        .n_inputs = 1,
        .states = &h,
        .n_states = 1,
    };
    recurrent d;
    trial_result found;
    eddy_output out[2];

    decaying_of(&d, EDDY_FLOAT64, 4, 0.5);
    spec.cell_net = net;
    h.initial = d.feeds[1].at;
    x.value = d.feeds[0].at;
    /* decay is the node of that name. */
    program_want_ok(&p, eddy_graph_add_op(p.graph, "Identity", "decay",
                                          &d.feeds[2].at, 1, NULL, &p.err));
    program_want_ok(&p, eddy_caffe2_recurrent_net(p.graph, &spec, out, &p.err));
    found = trial_both(&p, d.feeds, 3, out[0]);
    trial_want(&found, &TRIAL_SHAPE(4), halved + 1);
    found = trial_both(&p, d.feeds, 3, out[1]);
    trial_want(&found, &TRIAL_SHAPE(1), halved + 4);
}
END_TEST

START_TEST(the_net_is_only_read)
{
    recurrent d;
    trial_result found;
    eddy_output out[4];
    size_t size;

    decaying_of(&d, EDDY_FLOAT64, 4, 0.5);
    size = eddy_graph_size(net);
    for (int i = 0; i < 2; i++) {
        d.aliases[2].dst = NULL;
        program_want_ok(
            &p, eddy_caffe2_recurrent_network(p.graph, &d.spec, out, &p.err));
        ck_assert_uint_eq(eddy_graph_size(net), size);
    }
    eddy_graph_destroy(net);
    net = NULL;
    found = trial_both(&p, d.feeds, 3, out[3]);
    trial_want(&found, &TRIAL_SHAPE(4), halved + 1);
}
END_TEST

START_TEST(a_net_may_come_from_a_file)
{
    recurrent d;
    trial_result found;
    eddy_output out[4];
    eddy_graph *loaded;

    decaying_of(&d, EDDY_FLOAT64, 4, 0.5);
    loaded = program_save_and_load(&p, net);
    d.spec.step_net = loaded;
    program_want_ok(
        &p, eddy_caffe2_recurrent_network(p.graph, &d.spec, out, &p.err));
    eddy_graph_destroy(loaded);
    found = trial_both(&p, d.feeds, 3, out[3]);
    trial_want(&found, &TRIAL_SHAPE(4), halved + 1);
}
END_TEST

/* h_next = twice(h_prev) + x_t */
START_TEST(a_net_may_call_functions)
{
    static const double doubled[] = {1, 4, 11, 26};
    eddy_output out[4];
    trial_result found;
    recurrent d;

    decaying_of(&d, EDDY_FLOAT64, 4, 0.5);
    begin_net();
    functions_add(&p, "twice", "x=float64", "y AddV2 x x T=%float64\n", "y");
    blob("h_prev");
    functions_call(&p, "twice", "kept", "h_prev");
    recurrent_named(&p, "AddV2", "h_next", program_output(&p, "kept"),
                    blob("x_t"));
    end_net();
    d.spec.step_net = net;
    d.spec.n_params = 0;
    program_want_ok(
        &p, eddy_caffe2_recurrent_network(p.graph, &d.spec, out, &p.err));
    found = trial_both(&p, d.feeds, 3, out[3]);
    trial_want(&found, &TRIAL_SHAPE(4), doubled);
}
END_TEST

/* ---- gradients ---- */

START_TEST(gradients_agree_with_differences)
{
    eddy_output out[4];
    recurrent d;

    decaying_of(&d, EDDY_FLOAT64, _i, 0.5);
    program_want_ok(
        &p, eddy_caffe2_recurrent_network(p.graph, &d.spec, out, &p.err));
    for (size_t i = 0; i < 4; i++)
        trial_gradients(&p, d.feeds, 3, out[i]);
}
END_TEST

START_TEST(outputs_without_gradients_are_constants)
{
    static const size_t with[] = {3, 1};
    recurrent d;

    for (size_t n = 0; n < 3; n++) {
        eddy_output out[4];

        decaying_of(&d, EDDY_FLOAT64, 4, 0.5);
        d.spec.outputs_with_grads = with;
        d.spec.n_outputs_with_grads = n;
        program_want_ok(
            &p, eddy_caffe2_recurrent_network(p.graph, &d.spec, out, &p.err));
        for (size_t i = 0; i < 4; i++) {
            const bool has = (i == 3 && n > 0) || (i == 1 && n > 1);
            const trial_result found = trial_run(&p, d.feeds, 3, out[i]);
            eddy_output dx;

            program_want_ok(&p,
                            eddy_gradients(p.graph, &out[i], 1, &d.feeds[0].at,
                                           1, NULL, &dx, &p.err));
            ck_assert_int_eq(dx.node != EDDY_NO_NODE, has);
            ck_assert(found.elements[found.n - 1] == 6.125);
        }
        program_clear(&p);
    }
}
END_TEST

/* ---- offsets and windows ---- */

/*
 * a[t + 3] = sum of w * a[t .. t + 2] + x[t] + y[t + 1] * y[t + 2], and
 * b[t] = that times t, which has no initial value.
 */
static void wide_net(eddy_dtype time, const eddy_shape *time_shape)
{
    static const double weights[] = {0.5, -0.25, 0.75};
    const eddy_shape three = TRIAL_SHAPE(3);
    const eddy_dtype to = EDDY_FLOAT64;
    const eddy_attr attr = eddy_attr_type("DstT", &to);
    eddy_tensor *w = program_tensor(&p, EDDY_FLOAT64, &three, weights);
    eddy_output rows, axis, sum, step;
    eddy_node_spec cast = {.size = sizeof cast,
                           .op = "Cast",
                           .inputs = &step,
                           .n_inputs = 1,
                           .attrs = &attr,
                           .n_attrs = 1};

    begin_net();
    program_want_ok(&p, eddy_graph_add_const(p.graph, "w", w, &rows, &p.err));
    eddy_tensor_release(w);
    program_want_ok(&p, eddy_graph_add_placeholder(p.graph, "step", time,
                                                   time_shape, &step, &p.err));
    axis = program_constant(&p, EDDY_INT32, &(const int32_t){0});
    rows = program_binary(&p, "Mul", rows, blob("a_prev"));
    sum = program_binary(&p, "Sum", rows, axis);
    sum = program_binary(&p, "AddV2", sum, blob("x_now"));
    rows = program_binary(&p, "Prod", blob("y_ahead"), axis);
    sum = recurrent_named(&p, "AddV2", "a_next", sum, rows);
    if (time_shape->rank == 1)
        step = program_binary(&p, "Sum", step, axis);
    program_want_ok(&p, eddy_graph_add(p.graph, &cast, &step.node, &p.err));
    step.index = 0;
    /* b comes with a dimension of time. */
    recurrent_named(&p, "ExpandDims", "b_now",
                    program_binary(&p, "Mul", sum, step), axis);
    end_net();
}

typedef struct wide {
    trial_feed feeds[3]; /* x, y, a before step 0 */
    eddy_output out[2];
} wide;

static const double wide_x[] = {1, -2, 0.5, 3, 1.5};
static const double wide_y[] = {4, 1, -3, 2, 0.5, -1.5, 2.5};
static const double wide_a[] = {0.5, -1, 2};

static eddy_status build_wide(wide *v, int64_t n_y, bool is_static)
{
    static const eddy_caffe2_link links[] = {
        {"x_now", "x", 0, 0},  {"y_ahead", "y", 1, 2}, {"a_prev", "a", 0, 3},
        {"a_next", "a", 3, 0}, {"b_now:0", "b", 0, 1},
    };
    static const eddy_caffe2_alias aliases[] = {{"a", NULL, 0}, {"b", NULL, 0}};
    const eddy_shape n = TRIAL_SHAPE(5), ahead = TRIAL_SHAPE(n_y);
    const eddy_shape three = TRIAL_SHAPE(3);
    eddy_caffe2_blob inputs[] = {{"x", {0, 0}}, {"y", {0, 0}}};
    eddy_caffe2_state states[] = {{.name = "a", .n_initial = 3}, {.name = "b"}};
    const eddy_caffe2_spec spec = {
        .size = sizeof spec,
        .step_net = net,
        .inputs = inputs,
        .n_inputs = 2,
        .states = states,
        .n_states = 2,
        .links = links,
        .n_links = N_OF(links),
        .aliases = aliases,
        .n_aliases = 2,
        .timestep = "step",
    };

    v->feeds[0] = trial_placeholder(&p, EDDY_FLOAT64, &n, wide_x, is_static);
    v->feeds[1] =
        trial_placeholder(&p, EDDY_FLOAT64, &ahead, wide_y, is_static);
    v->feeds[2] =
        trial_placeholder(&p, EDDY_FLOAT64, &three, wide_a, is_static);
    inputs[0].value = v->feeds[0].at;
    inputs[1].value = v->feeds[1].at;
    states[0].initial = &v->feeds[2].at;
    return eddy_caffe2_recurrent_network(p.graph, &spec, v->out, &p.err);
}

static const struct {
    eddy_dtype dtype;
    eddy_shape shape;
} times[] = {{EDDY_INT32, {.rank = 0}},
             {EDDY_INT64, {.rank = 0}},
             {EDDY_INT32, {.rank = 1, .dims = {1}}},
             {EDDY_INT64, {.rank = 1, .dims = {1}}}};

START_TEST(windows_and_offsets_reach_other_rows)
{
    double a[8], b[5];
    trial_result found;
    wide v;

    memcpy(a, wide_a, sizeof wide_a);
    for (int64_t t = 0; t < 5; t++) {
        a[t + 3] = 0.5 * a[t] - 0.25 * a[t + 1] + 0.75 * a[t + 2] + wide_x[t] +
                   wide_y[t + 1] * wide_y[t + 2];
        b[t] = a[t + 3] * (double)t;
    }
    wide_net(times[_i].dtype, &times[_i].shape);
    program_want_ok(&p, build_wide(&v, 7, _i % 2 != 0));
    found = trial_both(&p, v.feeds, 3, v.out[0]);
    trial_want(&found, &TRIAL_SHAPE(8), a);
    found = trial_both(&p, v.feeds, 3, v.out[1]);
    trial_want(&found, &TRIAL_SHAPE(5), b);
    trial_gradients(&p, v.feeds, 3, v.out[1]);
}
END_TEST

START_TEST(an_input_with_too_few_rows_is_refused)
{
    wide v;

    wide_net(EDDY_INT32, &scalar);
    program_want_ok(&p, build_wide(&v, 6, false));
    trial_want_failure(&p, v.feeds, 3, v.out[0], EDDY_INVALID_ARGUMENT,
                       EDDY_E_ASSERTION);
    program_want(&p, build_wide(&v, 6, true), EDDY_INVALID_ARGUMENT,
                 EDDY_E_SHAPE);
}
END_TEST

/* ---- in each other ---- */

/*
 * The step net holds a network itself, over the row x_t, whose step net is that
 * of the running example with a branch: h_next = the sum of h_prev and the last
 * of the row's h, which starts from h_prev.
 */
static void nested_net(void)
{
    const eddy_shape row = TRIAL_SHAPE(-1);
    eddy_caffe2_cell_state h = {"h_prev", {0, 0}, "h_next"};
    eddy_caffe2_blob x = {"x_t", {0, 0}};
    eddy_caffe2_net_spec spec = {
        .size = sizeof spec,
        .inputs = &x,
        .n_inputs = 1,
        .states = &h,
        .n_states = 1,
    };
    eddy_output out[2], decay, more;
    eddy_graph *inner;

    begin_net();
    decay = program_binary(&p, "Mul", blob("h_prev"), blob("decay"));
    h.initial = program_output(&p, "h_prev");
    x.value = blob("x_t");
    more = program_binary(&p, "Less", x.value, h.initial);
    construct_cond(&p, more);
    construct_else(&p, decay);
    more = construct_end_cond(&p, program_binary(&p, "AddV2", decay, x.value));
    program_want_ok(&p, eddy_graph_add_op(p.graph, "Identity", "h_next", &more,
                                          1, NULL, &p.err));
    end_net();
    inner = net;
    net = NULL;
    begin_net();
    h.initial = blob("h_prev");
    blob("decay"); /* which the inner net finds by its name */
    program_want_ok(&p, eddy_graph_add_placeholder(p.graph, "x_t", EDDY_FLOAT64,
                                                   &row, &x.value, &p.err));
    spec.cell_net = inner;
    program_want_ok(&p, eddy_caffe2_recurrent_net(p.graph, &spec, out, &p.err));
    more =
        program_binary(&p, "Sum", out[1],
                       program_constant(&p, EDDY_INT32, &(const int32_t){0}));
    recurrent_named(&p, "AddV2", "h_next", more, h.initial);
    end_net();
    eddy_graph_destroy(inner);
}

static double nested_by_hand(const double *x, double start, double decay,
                             double *h)
{
    double last = start;

    for (int64_t i = 0; i < 3; i++) {
        double row = last;

        for (int64_t j = 0; j < 2; j++)
            row = x[2 * i + j] < row ? row * decay : row * decay + x[2 * i + j];
        h[i] = last = last + row;
    }
    return last;
}

static const double nested_x[] = {1.5, 0.5, 4, 0.25, 2, 7};

/* The feeds are x, h before step 0, decay; `initial` may be another value. */
static eddy_output build_nested(const trial_feed feeds[3], eddy_output initial)
{
    const eddy_caffe2_cell_state h = {"h_prev", initial, "h_next"};
    const eddy_caffe2_blob x = {"x_t", feeds[0].at};
    const eddy_caffe2_net_spec spec = {
        .size = sizeof spec,
        .cell_net = net,
        .inputs = &x,
        .n_inputs = 1,
        .states = &h,
        .n_states = 1,
    };
    eddy_output out[2];

    program_want_ok(&p, eddy_caffe2_recurrent_net(p.graph, &spec, out, &p.err));
    return out[0];
}

static void nested_feeds(trial_feed feeds[3])
{
    const eddy_shape rows = TRIAL_SHAPE(3, 2);
    const double half = 0.5;

    nested_net();
    feeds[0] = trial_placeholder(&p, EDDY_FLOAT64, &rows, nested_x, false);
    feeds[1] = trial_placeholder(&p, EDDY_FLOAT64, &scalar, NULL, true);
    feeds[2] = trial_placeholder(&p, EDDY_FLOAT64, &scalar, &half, true);
    program_want_ok(&p, eddy_graph_add_op(p.graph, "Identity", "decay",
                                          &feeds[2].at, 1, NULL, &p.err));
}

START_TEST(a_net_may_hold_another)
{
    trial_feed feeds[3];
    trial_result found;
    eddy_output out;
    double h[3];

    nested_feeds(feeds);
    nested_by_hand(nested_x, 1, 0.5, h);
    out = build_nested(feeds, feeds[1].at);
    found = trial_both(&p, feeds, 3, out);
    trial_want(&found, &TRIAL_SHAPE(3), h);
    trial_gradients(&p, feeds, 3, out);
}
END_TEST

/* h_next = h_prev * decay^4 + x_t: the innermost loop reads one of the net. */
static void looping_net(void)
{
    eddy_output decay, two;
    counted outer, inner;

    begin_net();
    decay = blob("decay");
    two = program_int(&p, 2);
    outer = construct_counted(&p, two, blob("h_prev"));
    inner = construct_counted(&p, two, outer.now);
    construct_end_counted(&p, &inner,
                          program_binary(&p, "Mul", inner.now, decay));
    construct_end_counted(&p, &outer, inner.results[1]);
    recurrent_named(&p, "AddV2", "h_next", outer.results[1], blob("x_t"));
    end_net();
}

START_TEST(a_net_may_hold_loops_in_each_other)
{
    const double x[] = {1, 2, 3}, half = 0.5;
    trial_feed feeds[3];
    trial_result found;
    eddy_output out;
    double h[3] = {0};

    looping_net();
    feeds[0] = trial_placeholder(&p, EDDY_FLOAT64, &TRIAL_SHAPE(3), x, false);
    feeds[1] = trial_placeholder(&p, EDDY_FLOAT64, &scalar, NULL, true);
    feeds[2] = trial_placeholder(&p, EDDY_FLOAT64, &scalar, &half, true);
    program_want_ok(&p, eddy_graph_add_op(p.graph, "Identity", "decay",
                                          &feeds[2].at, 1, NULL, &p.err));
    for (int i = 0; i < 3; i++)
        h[i] = (i > 0 ? h[i - 1] : 1) / 16 + x[i];
    out = build_nested(feeds, feeds[1].at);
    found = trial_both(&p, feeds, 3, out);
    trial_want(&found, &TRIAL_SHAPE(3), h);
    trial_gradients(&p, feeds, 3, out);
}
END_TEST

/* Twice over all of it, in the branch taken: the last h is the next start. */
START_TEST(a_network_in_a_loop_and_in_a_branch)
{
    trial_feed feeds[3];
    trial_result found;
    eddy_output next;
    double h[3], want;
    counted c;

    nested_feeds(feeds);
    want = nested_by_hand(nested_x, 1, 0.5, h);
    want = nested_by_hand(nested_x, want, 0.5, h);
    c = construct_counted(&p, program_int(&p, 3), feeds[1].at);
    construct_cond(&p, program_binary(&p, "Less", c.i, program_int(&p, 2)));
    next = build_nested(feeds, c.now);
    next = program_binary(
        &p, "Max", next, program_constant(&p, EDDY_INT32, &(const int32_t){0}));
    construct_else(&p, next);
    construct_end_counted(&p, &c, construct_end_cond(&p, c.now));
    found = trial_both(&p, feeds, 3, c.results[1]);
    trial_want(&found, &scalar, &want);
}
END_TEST

TCase *caffe2_tests(void)
{
    TCase *tc = tcase_create("caffe2");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, rows_come_out_from_any_offset, 0, N_OF(dtypes));
    tcase_add_test(tc, a_cell_is_linked_by_itself);
    tcase_add_test(tc, the_net_is_only_read);
    tcase_add_test(tc, a_net_may_come_from_a_file);
    tcase_add_test(tc, a_net_may_call_functions);
    tcase_add_loop_test(tc, gradients_agree_with_differences, 0, 5);
    tcase_add_test(tc, outputs_without_gradients_are_constants);
    tcase_add_loop_test(tc, windows_and_offsets_reach_other_rows, 0,
                        N_OF(times));
    tcase_add_test(tc, an_input_with_too_few_rows_is_refused);
    tcase_add_test(tc, a_net_may_hold_another);
    tcase_add_test(tc, a_net_may_hold_loops_in_each_other);
    tcase_add_test(tc, a_network_in_a_loop_and_in_a_branch);
    return tc;
}
