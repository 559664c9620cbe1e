/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrences by past and future values against loops in C. */
#include "core/base/status.h"
#include "eddy/analysis.h"
#include "tests/aid/trial.h"
#include "tests/suites.h"

#include <string.h>

#define N_OF(array) (sizeof(array) / sizeof(array)[0])
#define MOST 16

typedef eddy_cntk_value value;

static program p;
static eddy_cntk *net;
static trial_feed feeds[8];
static size_t n_feeds;
static bool is_static;

static const eddy_shape scalar = {.rank = 0};

static void setup(void)
{
    program_init(&p, 0);
    net = NULL;
    n_feeds = 0;
    is_static = true;
}

static void teardown(void)
{
    eddy_cntk_destroy(net);
    program_deinit(&p);
}

static void restart(void)
{
    eddy_cntk_destroy(net);
    net = NULL;
    program_clear(&p);
    n_feeds = 0;
}

/* ---- describing ---- */

static void open_net(void)
{
    program_want_ok(&p, eddy_cntk_create(p.graph, NULL, &net, &p.err));
}

static eddy_output feed(eddy_dtype dtype, eddy_shape shape,
                        const double *elements)
{
    ck_assert_uint_lt(n_feeds, N_OF(feeds));
    feeds[n_feeds] = trial_placeholder(&p, dtype, &shape, elements, is_static);
    return feeds[n_feeds++].at;
}

static value sequence(eddy_output tensor)
{
    value v = 0;

    program_want_ok(&p, eddy_cntk_sequence(net, tensor, &v, &p.err));
    return v;
}

static value outside(eddy_output x)
{
    value v = 0;

    program_want_ok(&p, eddy_cntk_outside(net, x, &v, &p.err));
    return v;
}

static value declare(const char *name)
{
    value v = 0;

    program_want_ok(&p, eddy_cntk_declare(net, name, NULL, &v, &p.err));
    return v;
}

static value past(value x, int64_t delay, eddy_output initial)
{
    value v = 0;

    program_want_ok(&p,
                    eddy_cntk_past_value(net, x, delay, initial, &v, &p.err));
    return v;
}

static value future(value x, int64_t delay, eddy_output initial)
{
    value v = 0;

    program_want_ok(&p,
                    eddy_cntk_future_value(net, x, delay, initial, &v, &p.err));
    return v;
}

static value op(const char *name, value x, value y)
{
    value v = 0;

    program_want_ok(
        &p, eddy_cntk_op(net, name, (const value[]){x, y}, 2, &v, &p.err));
    return v;
}

static void resolve(value declared, value x)
{
    program_want_ok(&p, eddy_cntk_resolve(net, declared, x, &p.err));
}

static eddy_status try_build(value x, bool is_final, eddy_output *out)
{
    const eddy_cntk_wanted wanted = {x, is_final};

    return eddy_cntk_build(net, &wanted, 1, out, &p.err);
}

static eddy_output build_one(value x)
{
    eddy_output out = {0, 0};

    program_want_ok(&p, try_build(x, false, &out));
    return out;
}

static size_t count_loops(void)
{
    eddy_analysis *analysis;
    size_t n;

    program_want_ok(&p, eddy_analysis_create(p.graph, &analysis, &p.err));
    n = eddy_analysis_frames(analysis) - 1;
    eddy_analysis_destroy(analysis);
    return n;
}

/* A fetch in a vector of `n` steps. */
static void want_steps(eddy_output fetch, const double *steps, int64_t n)
{
    const trial_result found = trial_both(&p, feeds, n_feeds, fetch);

    trial_want(&found, &TRIAL_SHAPE(n), steps);
}

static double item(int64_t i)
{
    return (double)((i * 5 + 2) % 7 - 3);
}

static void fill(double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = item(i);
}

/* `at` of a sequence, or the initial value beyond its ends. */
static double at(const double *x, int64_t i, int64_t n, double initial)
{
    return i >= 0 && i < n ? x[i] : initial;
}

/* ---- one recurrence ---- */

static const eddy_dtype dtypes[] = {EDDY_FLOAT32, EDDY_FLOAT64, EDDY_INT32,
                                    EDDY_INT64};

START_TEST(a_value_decays_over_any_number_of_steps)
{
    const eddy_dtype dtype = dtypes[_i];
    const double three = 3, two = 2;
    double x[MOST], h[MOST];

    fill(x, MOST);
    for (int64_t n = 0; n < 6; n++) {
        eddy_output initial, decay;
        double last = 2;
        value v;

        for (int64_t t = 0; t < n; t++)
            last = h[t] = 3 * last + x[t];
        is_static = n % 2 == 0;
        open_net();
        decay = feed(dtype, scalar, &three);
        initial = feed(dtype, scalar, &two);
        v = declare("h");
        resolve(v, op("AddV2", op("Mul", outside(decay), past(v, 1, initial)),
                      sequence(feed(dtype, TRIAL_SHAPE(n), x))));
        want_steps(build_one(v), h, n);
        ck_assert_uint_eq(count_loops(), 1);
        program_want_ok(&p, try_build(v, true, &initial));
        {
            const trial_result found = trial_both(&p, feeds, n_feeds, initial);

            trial_want(&found, &scalar, &last);
        }
        restart();
    }
}
END_TEST

/* h_t = x_t + 2 h_(t-1) - h_(t-3), with other values before the first. */
START_TEST(a_value_is_referred_to_by_several_delays)
{
    const double before[] = {1, -2};
    double x[MOST], h[MOST];

    fill(x, MOST);
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (int64_t n = 0; n < 6; n++) {
            eddy_output first, third;
            value v;

            for (int64_t k = 0; k < n; k++) {
                const int64_t t = sign > 0 ? k : n - 1 - k;

                h[t] = x[t] + 2 * at(h, t - sign, n, before[0]) -
                       at(h, t - (int64_t)3 * sign, n, before[1]);
            }
            open_net();
            first = feed(EDDY_FLOAT64, scalar, &before[0]);
            third = feed(EDDY_FLOAT64, scalar, &before[1]);
            v = declare("h");
            {
                const value one =
                    sign > 0 ? past(v, 1, first) : future(v, 1, first);
                const value three =
                    sign > 0 ? past(v, 3, third) : future(v, 3, third);

                resolve(v,
                        op("Sub",
                           op("AddV2",
                              sequence(feed(EDDY_FLOAT64, TRIAL_SHAPE(n), x)),
                              op("AddV2", one, one)),
                           three));
            }
            first = build_one(v);
            want_steps(first, h, n);
            ck_assert_uint_eq(count_loops(), 1);
            if (n > 0)
                trial_gradients(&p, feeds, n_feeds, first);
            restart();
        }
    }
}
END_TEST

/* ---- several ---- */

/* h_t = c_(t-1) * k + x_t, c_t = h_(t-2) - x_t + c_(t-1): one loop. */
static void describe_mutual(int64_t n, value *h, value *c)
{
    const double half = 0.5, one = 1;
    double elements[MOST];
    eddy_output k, initial;
    value x;

    fill(elements, MOST);
    k = feed(EDDY_FLOAT64, scalar, &half);
    initial = feed(EDDY_FLOAT64, scalar, &one);
    x = sequence(feed(EDDY_FLOAT64, TRIAL_SHAPE(n), elements));
    *h = declare("h");
    *c = declare("c");
    resolve(*h, op("AddV2", op("Mul", past(*c, 1, initial), outside(k)), x));
    resolve(*c,
            op("AddV2", op("Sub", past(*h, 2, k), x), past(*c, 1, initial)));
}

START_TEST(values_that_depend_on_each_other_are_one_loop)
{
    for (int64_t n = 0; n < 6; n++) {
        double x[MOST], h[MOST], c[MOST];
        eddy_output results[2];
        value a, b;

        fill(x, MOST);
        for (int64_t t = 0; t < n; t++) {
            h[t] = at(c, t - 1, n, 1) * 0.5 + x[t];
            c[t] = at(h, t - 2, n, 0.5) - x[t] + at(c, t - 1, n, 1);
        }
        open_net();
        describe_mutual(n, &a, &b);
        program_want_ok(
            &p, eddy_cntk_build(
                    net, (const eddy_cntk_wanted[]){{a, false}, {b, false}}, 2,
                    results, &p.err));
        ck_assert_uint_eq(count_loops(), 1);
        want_steps(results[0], h, n);
        want_steps(results[1], c, n);
        if (n > 0) {
            trial_gradients(&p, feeds, n_feeds, results[0]);
            trial_gradients(&p, feeds, n_feeds, results[1]);
        }
        restart();
    }
}
END_TEST

/* Sums forward and backward, and what is made of both at every step. */
START_TEST(independent_recurrences_are_loops_of_their_own)
{
    double x[MOST], f[MOST], b[MOST], y[MOST];
    const double zero = 0;
    const int64_t n = 5;
    eddy_output initial, result;
    value v, forward, backward;

    fill(x, MOST);
    for (int64_t t = 0; t < n; t++)
        f[t] = at(f, t - 1, n, 0) + x[t];
    for (int64_t t = n; t-- > 0;)
        b[t] = at(b, t + 1, n, 0) - x[t];
    for (int64_t t = 0; t < n; t++)
        y[t] = f[t] * b[t] + at(f, t + 1, n, 0);
    open_net();
    initial = feed(EDDY_FLOAT64, scalar, &zero);
    v = sequence(feed(EDDY_FLOAT64, TRIAL_SHAPE(n), x));
    forward = declare("forward");
    backward = declare("backward");
    resolve(forward, op("AddV2", past(forward, 1, initial), v));
    resolve(backward, op("Sub", future(backward, 1, initial), v));
    result = build_one(
        op("AddV2", op("Mul", forward, backward), future(forward, 1, initial)));
    /* What is made of both is computed in the later loop. */
    ck_assert_uint_eq(count_loops(), 2);
    want_steps(result, y, n);
    trial_gradients(&p, feeds, n_feeds, result);
}
END_TEST

START_TEST(a_recurrence_reads_another_one)
{
    double x[MOST], h[MOST], g[MOST];
    const double zero = 0;
    const int64_t n = 6;
    eddy_output initial, result;
    value v, first, second;

    fill(x, MOST);
    for (int64_t t = 0; t < n; t++)
        h[t] = 0.5 * at(h, t - 1, n, 0) + x[t] * x[t];
    for (int64_t t = n; t-- > 0;)
        g[t] = h[t] - at(g, t + 2, n, 0) + at(h, t - 1, n, 0);
    open_net();
    initial = feed(EDDY_FLOAT64, scalar, &zero);
    v = sequence(feed(EDDY_FLOAT64, TRIAL_SHAPE(n), x));
    first = declare("first");
    second = declare("second");
    resolve(
        first,
        op("AddV2",
           op("Mul", outside(feed(EDDY_FLOAT64, scalar, &(const double){0.5})),
              past(first, 1, initial)),
           op("Mul", v, v)));
    /* The past of `first` is in the cycle of `first`; here it is a shift. */
    resolve(second, op("AddV2", op("Sub", first, future(second, 2, initial)),
                       past(first, 1, initial)));
    result = build_one(second);
    ck_assert_uint_eq(count_loops(), 2);
    want_steps(result, g, n);
    trial_gradients(&p, feeds, n_feeds, result);
}
END_TEST

/* ---- shifts ---- */

START_TEST(what_is_in_no_cycle_is_only_shifted)
{
    static const int64_t delays[] = {1, 2, 5, 9};
    double x[MOST], y[MOST];
    const double minus = -7;

    fill(x, MOST);
    for (int64_t n = 0; n < 6; n++)
        for (size_t d = 0; d < 2 * N_OF(delays); d++) {
            const int64_t k = delays[d / 2];
            eddy_output initial, result;
            value v;

            for (int64_t t = 0; t < n; t++)
                y[t] = at(x, d % 2 != 0 ? t + k : t - k, n, -7);
            is_static = n % 2 == 0;
            open_net();
            initial = feed(EDDY_FLOAT64, scalar, &minus);
            v = sequence(feed(EDDY_FLOAT64, TRIAL_SHAPE(n), x));
            result = build_one(d % 2 != 0 ? future(v, k, initial)
                                          : past(v, k, initial));
            ck_assert_uint_eq(count_loops(), 0);
            want_steps(result, y, n);
            if (n > 0)
                trial_gradients(&p, feeds, n_feeds, result);
            restart();
        }
}
END_TEST

START_TEST(shifts_of_rows_and_of_shifts)
{
    const double x[] = {1, 2, 3, 4, 5, 6}, row[] = {8, 9};
    const double want[] = {5, 6, 0, 0, 8, 9};
    eddy_output zero, initial, result;

    open_net();
    zero = feed(EDDY_FLOAT64, scalar, &(const double){0});
    initial = feed(EDDY_FLOAT64, TRIAL_SHAPE(2), row);
    result = feed(EDDY_FLOAT64, TRIAL_SHAPE(3, 2), x);
    /* [x1 x2 x3] -> [x3 0 0] -> [x3 0 8]: by two ahead, then a mixture. */
    result = build_one(op(
        "AddV2", future(sequence(result), 2, zero),
        future(future(past(past(sequence(result), 1, zero), 2, zero), 2, zero),
               1, initial)));
    {
        const trial_result found = trial_both(&p, feeds, n_feeds, result);

        trial_want(&found, &TRIAL_SHAPE(3, 2), want);
    }
    ck_assert_uint_eq(count_loops(), 1);
    trial_gradients(&p, feeds, n_feeds, result);
}
END_TEST

/* A future item of an input may be read in a loop that goes by the past. */
START_TEST(shifts_and_functions_go_into_the_loops)
{
    double x[MOST], h[MOST], y[MOST];
    const double zero = 0;
    const int64_t n = 6;
    eddy_output initial, result;
    value v, state, before;

    fill(x, MOST);
    for (int64_t t = 0; t < n; t++) {
        h[t] = at(h, t - 1, n, 0) * x[t] + at(x, t + 1, n, 0) * x[t];
        y[t] = h[t] * h[t] + at(h, t - 1, n, 0);
    }
    open_net();
    initial = feed(EDDY_FLOAT64, scalar, &zero);
    v = sequence(feed(EDDY_FLOAT64, TRIAL_SHAPE(n), x));
    state = declare("h");
    before = past(state, 1, initial);
    resolve(state, op("AddV2", op("Mul", before, v),
                      op("Mul", future(v, 1, initial), v)));
    result = build_one(op("AddV2", op("Mul", state, state), before));
    ck_assert_uint_eq(count_loops(), 1);
    want_steps(result, y, n);
    trial_gradients(&p, feeds, n_feeds, result);
}
END_TEST

/* ---- functions, nested ---- */

static eddy_output factors[2];

static eddy_status multiply_add(eddy_graph *graph, void *user,
                                const eddy_output *inputs, size_t n,
                                eddy_output *out_results, eddy_error *err)
{
    const eddy_output *factor = user;
    eddy_output product;

    ck_assert_uint_eq(n, 2);
    EDDY_TRY(eddy_graph_add_op(graph, "Mul", NULL,
                               (const eddy_output[]){inputs[0], *factor}, 2,
                               &product, err));
    return eddy_graph_add_op(graph, "AddV2", NULL,
                             (const eddy_output[]){product, inputs[1]}, 2,
                             out_results, err);
}

/* The state before plus what a row folds to, which begins with the state. */
static eddy_status fold_row(eddy_graph *graph, void *user,
                            const eddy_output *inputs, size_t n,
                            eddy_output *out_results, eddy_error *err)
{
    const eddy_cntk_recurrence_spec spec = {
        .size = sizeof spec,
        .step = multiply_add,
        .user = &factors[1],
        .sequences = &inputs[1],
        .n_sequences = 1,
        .initial = &inputs[0],
        .n_states = 1,
    };

    (void)user;
    ck_assert_uint_eq(n, 2);
    EDDY_TRY(eddy_cntk_fold(graph, &spec, out_results, err));
    return eddy_graph_add_op(graph, "AddV2", NULL,
                             (const eddy_output[]){*out_results, factors[0]}, 2,
                             out_results, err);
}

/* Over the rows of a matrix; rounds of it in a loop, in a branch. */
START_TEST(recurrences_nest_in_each_other_and_in_loops)
{
    const int64_t rows = 3, columns = 2, trips = 3;
    double x[6], sum = 0.5;
    const double half = 0.5, third = 0.25;
    eddy_cntk_recurrence_spec spec = {
        .size = sizeof spec, .step = fold_row, .n_sequences = 1, .n_states = 1};
    eddy_output matrix, start, result;
    counted c;

    fill(x, rows * columns);
    for (int64_t k = 0; k < trips; k++)
        for (int64_t i = 0; i < rows; i++) {
            for (int64_t j = 0; j < columns; j++)
                sum = sum * 0.25 + x[i * columns + j];
            sum += 0.5;
        }
    matrix = feed(EDDY_FLOAT64, TRIAL_SHAPE(rows, columns), x);
    start = feed(EDDY_FLOAT64, scalar, &half);
    factors[0] = feed(EDDY_FLOAT64, scalar, &half);
    factors[1] = feed(EDDY_FLOAT64, scalar, &third);
    spec.sequences = &matrix;
    spec.initial = &result;
    c = construct_counted(&p, program_int(&p, trips), start);
    construct_cond(&p, program_binary(&p, "Less", c.i, program_int(&p, trips)));
    result = c.now;
    program_want_ok(&p, eddy_cntk_fold(p.graph, &spec, &result, &p.err));
    construct_else(&p, result);
    result = construct_end_cond(&p, c.now);
    construct_end_counted(&p, &c, result);
    ck_assert_uint_eq(count_loops(), 3);
    {
        const trial_result found = trial_both(&p, feeds, n_feeds, c.results[1]);

        trial_want(&found, &scalar, &sum);
    }
    trial_gradients(&p, feeds, n_feeds, c.results[1]);
}
END_TEST

/* ---- layers ---- */

/* (h, c, x, y) -> (h + c * x, c - y) */
static eddy_status two_states(eddy_graph *graph, void *user,
                              const eddy_output *inputs, size_t n,
                              eddy_output *out_results, eddy_error *err)
{
    eddy_output product;

    (void)user;
    ck_assert_uint_eq(n, 4);
    EDDY_TRY(eddy_graph_add_op(graph, "Mul", NULL,
                               (const eddy_output[]){inputs[1], inputs[2]}, 2,
                               &product, err));
    EDDY_TRY(eddy_graph_add_op(graph, "AddV2", NULL,
                               (const eddy_output[]){inputs[0], product}, 2,
                               &out_results[0], err));
    return eddy_graph_add_op(graph, "Sub", NULL,
                             (const eddy_output[]){inputs[1], inputs[3]}, 2,
                             &out_results[1], err);
}

START_TEST(layers_run_either_way_and_give_all_states)
{
    double x[MOST], h[MOST], c[MOST];

    fill(x, MOST);
    for (int variant = 0; variant < 24; variant++) {
        const int64_t n = variant % 6;
        const bool back = variant / 6 % 2 != 0, full = variant / 12 != 0;
        const int sign = back ? -1 : 1;
        double a = 1, b = 0.5;
        eddy_output sequences[2], initial[2], all[2], last[2];
        eddy_cntk_recurrence_spec spec = {.size = sizeof spec,
                                          .step = two_states,
                                          .sequences = sequences,
                                          .n_sequences = 2,
                                          .initial = initial,
                                          .n_states = 2,
                                          .go_backwards = back,
                                          .return_full_state = full};

        initial[0] = feed(EDDY_FLOAT64, scalar, &a);
        initial[1] = feed(EDDY_FLOAT64, scalar, &b);
        sequences[0] = feed(EDDY_FLOAT64, TRIAL_SHAPE(n), x);
        sequences[1] = feed(EDDY_FLOAT64, TRIAL_SHAPE(n), x + 3);
        for (int64_t k = 0; k < n; k++) {
            const int64_t t = back ? n - 1 - k : k;

            h[t] = at(h, t - sign, n, 1) + at(c, t - sign, n, 0.5) * x[t];
            c[t] = at(c, t - sign, n, 0.5) - x[t + 3];
            a = h[t];
            b = c[t];
        }
        program_want_ok(&p, eddy_cntk_recurrence(p.graph, &spec, all, &p.err));
        program_want_ok(&p, eddy_cntk_fold(p.graph, &spec, last, &p.err));
        for (int i = 0; i < (full ? 2 : 1); i++) {
            const trial_result found = trial_both(&p, feeds, n_feeds, last[i]);

            want_steps(all[i], i == 0 ? h : c, n);
            trial_want(&found, &scalar, i == 0 ? &a : &b);
        }
        if (n == 3)
            trial_gradients(&p, feeds, n_feeds, all[0]);
        restart();
    }
}
END_TEST

/* ---- unfolding ---- */

/* s -> 2 s + 1, or, with an output, (s * s, 2 s + 1). */
static eddy_status double_state(eddy_graph *graph, void *user,
                                const eddy_output *inputs, size_t n,
                                eddy_output *out_results, eddy_error *err)
{
    const bool *has_output = user;
    const double one = 1;
    eddy_output next;

    ck_assert_uint_eq(n, 1);
    if (*has_output)
        EDDY_TRY(eddy_graph_add_op(graph, "Mul", NULL,
                                   (const eddy_output[]){inputs[0], inputs[0]},
                                   2, &out_results[0], err));
    EDDY_TRY(
        eddy_graph_add_scalar(graph, NULL, EDDY_FLOAT64, &one, &next, err));
    EDDY_TRY(eddy_graph_add_op(graph, "AddV2", NULL,
                               (const eddy_output[]){next, inputs[0]}, 2, &next,
                               err));
    return eddy_graph_add_op(graph, "AddV2", NULL,
                             (const eddy_output[]){next, inputs[0]}, 2,
                             &out_results[*has_output], err);
}

static eddy_status is_above_twenty(eddy_graph *graph, void *user,
                                   const eddy_output *inputs, size_t n,
                                   eddy_output *out_results, eddy_error *err)
{
    const double twenty = 20;
    eddy_output limit;

    (void)user;
    ck_assert_uint_eq(n, 1);
    EDDY_TRY(
        eddy_graph_add_scalar(graph, NULL, EDDY_FLOAT64, &twenty, &limit, err));
    return eddy_graph_add_op(graph, "Greater", NULL,
                             (const eddy_output[]){inputs[0], limit}, 2,
                             out_results, err);
}

START_TEST(an_unfolding_ends_by_its_predicate_or_its_length)
{
    static const double increases[] = {0, 0.5, 1.5, 3};

    for (int variant = 0; variant < 96; variant++) {
        const int64_t length = variant / 16;
        const double increase = increases[variant / 4 % 4];
        bool has_output = variant % 2 != 0;
        const bool has_until = variant / 2 % 2 != 0;
        const int64_t most =
            (int64_t)((double)length * (increase != 0 ? increase : 1));
        double want[MOST], state = 0.5;
        int64_t n = 0;
        eddy_output initial, like, items, count;
        eddy_cntk_unfold_spec spec = {.size = sizeof spec,
                                      .generator = double_state,
                                      .user = &has_output,
                                      .initial = &initial,
                                      .n_states = 1,
                                      .has_output = has_output,
                                      .like = &like,
                                      .length_increase = increase};
        trial_result found;

        initial = feed(EDDY_FLOAT64, scalar, &state);
        is_static = variant % 3 == 0;
        like = feed(EDDY_FLOAT32, TRIAL_SHAPE(length), NULL);
        is_static = true;
        spec.until = has_until ? is_above_twenty : NULL;
        while (n < most) {
            want[n] = has_output ? state * state : 2 * state + 1;
            state = 2 * state + 1;
            if (want[n++] > 20 && has_until)
                break;
        }
        program_want_ok(
            &p, eddy_cntk_unfold_from(p.graph, &spec, &items, &count, &p.err));
        want_steps(items, want, n);
        found = trial_run(&p, feeds, n_feeds, count);
        trial_want(&found, &scalar, &(const double){(double)n});
        if (n == 4)
            trial_gradients(&p, feeds, n_feeds, items);
        restart();
    }
}
END_TEST

START_TEST(an_unfolding_may_be_given_its_length)
{
    bool has_output = false;
    const double want[] = {3, 7, 15};
    const eddy_output initial = feed(EDDY_FLOAT64, scalar, &(const double){1});
    const eddy_output most = feed(EDDY_INT64, scalar, &(const double){3});
    eddy_cntk_unfold_spec spec = {.size = sizeof spec,
                                  .generator = double_state,
                                  .user = &has_output,
                                  .initial = &initial,
                                  .n_states = 1,
                                  .max_length = &most};
    eddy_output items;

    program_want_ok(
        &p, eddy_cntk_unfold_from(p.graph, &spec, &items, NULL, &p.err));
    want_steps(items, want, 3);
    spec.length_increase = -1;
    program_want(&p,
                 eddy_cntk_unfold_from(p.graph, &spec, &items, NULL, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    spec.max_length = NULL;
    program_want(&p,
                 eddy_cntk_unfold_from(p.graph, &spec, &items, NULL, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    spec.max_length = &most;
    spec.n_states = 0;
    program_want(&p,
                 eddy_cntk_unfold_from(p.graph, &spec, &items, NULL, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT);
}
END_TEST

/* ---- shapes ---- */

START_TEST(initial_values_are_broadcast_to_a_declared_shape)
{
    const double x[] = {1, 2, 3, 4}, want[] = {1, 2, 5, 8};
    eddy_output zero, result;
    value h;

    for (int64_t delay = 1; delay < 3; delay++) {
        const double later[] = {1, 2, 3, 4};

        open_net();
        zero = feed(EDDY_FLOAT64, scalar, &(const double){0});
        program_want_ok(
            &p, eddy_cntk_declare(net, "h", &TRIAL_SHAPE(2), &h, &p.err));
        resolve(h, op("AddV2",
                      op("AddV2", past(h, delay, zero), past(h, delay, zero)),
                      sequence(feed(EDDY_FLOAT64, TRIAL_SHAPE(2, 2), x))));
        result = build_one(h);
        {
            const trial_result found = trial_both(&p, feeds, n_feeds, result);

            trial_want(&found, &TRIAL_SHAPE(2, 2), delay == 1 ? want : later);
        }
        restart();
    }
}
END_TEST

/* ---- what is wrong ---- */

static void want_refused(value x, eddy_detail detail, const char *what)
{
    const size_t before = eddy_graph_size(p.graph);
    eddy_output out;

    program_want(&p, try_build(x, false, &out), EDDY_INVALID_ARGUMENT, detail);
    ck_assert_msg(strstr(p.err.message, what) != NULL, "%s", p.err.message);
    ck_assert_uint_eq(eddy_graph_size(p.graph), before);
    ck_assert_uint_eq(eddy_construct_depth(p.graph), 0);
}

START_TEST(what_is_no_loop_is_refused_by_name)
{
    const double elements[MOST] = {0};
    eddy_output zero, result;
    value x, h, g;

    open_net();
    zero = feed(EDDY_FLOAT64, scalar, elements);
    x = sequence(feed(EDDY_FLOAT64, TRIAL_SHAPE(3), elements));
    h = declare("h");
    want_refused(op("AddV2", h, x), EDDY_E_RECURRENCE, "'h'");
    resolve(h, op("AddV2", past(h, 1, zero), future(h, 1, zero)));
    want_refused(h, EDDY_E_RECURRENCE, "future_value(h)");
    want_refused(op("AddV2", h, x), EDDY_E_RECURRENCE, "past_value(h)");
    g = declare("g");
    resolve(g, op("Mul", op("AddV2", g, x), past(g, 1, zero)));
    want_refused(g, EDDY_E_RECURRENCE, "Mul");
    want_refused(past(outside(zero), 1, zero), EDDY_E_RECURRENCE, "outside");
    want_refused(outside(zero), EDDY_E_INPUT_COUNT, "recurrence");
    program_want(&p, try_build(x, true, &result), EDDY_INVALID_ARGUMENT,
                 EDDY_E_RECURRENCE);
    /* Of independent parts only what is wanted counts. */
    program_want_ok(&p, try_build(past(x, 1, zero), false, &result));
}
END_TEST

START_TEST(a_declared_value_is_resolved_once_and_to_another)
{
    const double elements[MOST] = {0};
    eddy_output zero;
    value x, h, g, out;

    open_net();
    zero = feed(EDDY_FLOAT64, scalar, elements);
    x = sequence(zero);
    h = declare("h");
    g = declare("g");
    program_want(&p, eddy_cntk_resolve(net, h, h, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_RECURRENCE);
    resolve(h, g);
    program_want(&p, eddy_cntk_resolve(net, g, h, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_RECURRENCE);
    program_want(&p, eddy_cntk_resolve(net, h, x, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_RECURRENCE);
    program_want(&p, eddy_cntk_resolve(net, x, h, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_RECURRENCE);
    program_want(&p, eddy_cntk_resolve(net, g, 99, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    program_want(&p, eddy_cntk_past_value(net, x, 0, zero, &out, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    program_want(&p, eddy_cntk_past_value(net, x, 1025, zero, &out, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    program_want(&p, eddy_cntk_past_value(net, 99, 1, zero, &out, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    want_refused(x, EDDY_E_SHAPE, "scalar");
}
END_TEST

START_TEST(sequences_have_one_length)
{
    const double elements[MOST] = {0};
    eddy_output result;

    open_net();
    want_refused(op("AddV2",
                    sequence(feed(EDDY_FLOAT64, TRIAL_SHAPE(3), elements)),
                    sequence(feed(EDDY_FLOAT64, TRIAL_SHAPE(4), elements))),
                 EDDY_E_SHAPE, "another length");
    restart();
    is_static = false;
    open_net();
    result = build_one(
        op("AddV2", sequence(feed(EDDY_FLOAT64, TRIAL_SHAPE(3), elements)),
           sequence(feed(EDDY_FLOAT64, TRIAL_SHAPE(4), elements))));
    trial_want_failure(&p, feeds, n_feeds, result, EDDY_INVALID_ARGUMENT,
                       EDDY_E_ASSERTION);
}
END_TEST

START_TEST(dtypes_and_shapes_are_kept)
{
    const double elements[MOST] = {0};
    eddy_output zero;
    value x, h;

    open_net();
    zero = feed(EDDY_INT32, scalar, elements);
    x = sequence(feed(EDDY_FLOAT64, TRIAL_SHAPE(3, 2), elements));
    want_refused(past(x, 1, zero), EDDY_E_INPUT_DTYPE, "int32");
    h = declare("h");
    resolve(h,
            op("AddV2", past(h, 1, feed(EDDY_FLOAT64, scalar, elements)), x));
    want_refused(h, EDDY_E_SHAPE, "initial value");
}
END_TEST

/* ---- memory ---- */

static eddy_output memory_x, memory_zero;

/* h = past(c) + x, c = past(h, 2) and a shift of it. */
static eddy_status describe_all(eddy_cntk *n, eddy_output *out, eddy_error *err)
{
    const eddy_cntk_function function = {.size = sizeof function,
                                         .build = multiply_add,
                                         .user = &memory_zero,
                                         .n_results = 1};
    value h, c, x, v[2];
    eddy_cntk_wanted wanted[2];

    EDDY_TRY(eddy_cntk_sequence(n, memory_x, &x, err));
    EDDY_TRY(eddy_cntk_declare(n, "h", NULL, &h, err));
    EDDY_TRY(eddy_cntk_past_value(n, h, 2, memory_zero, &c, err));
    EDDY_TRY(eddy_cntk_past_value(n, c, 1, memory_zero, &v[0], err));
    v[1] = x;
    EDDY_TRY(eddy_cntk_apply(n, &function, v, 2, &v[0], err));
    EDDY_TRY(eddy_cntk_resolve(n, h, v[0], err));
    EDDY_TRY(eddy_cntk_future_value(n, h, 1, memory_zero, &v[1], err));
    EDDY_TRY(eddy_cntk_op(n, "Mul", v, 2, &v[1], err));
    wanted[0] = (eddy_cntk_wanted){v[1], false};
    wanted[1] = (eddy_cntk_wanted){h, true};
    return eddy_cntk_build(n, wanted, 2, out, err);
}

static eddy_status build_network(program *program_, eddy_error *err)
{
    eddy_cntk *n;
    eddy_output results[2];
    eddy_status status;

    EDDY_TRY(eddy_cntk_create(program_->graph, "memory", &n, err));
    status = describe_all(n, results, err);
    eddy_cntk_destroy(n);
    return status;
}

START_TEST(memory_may_run_out_anywhere)
{
    const double elements[MOST] = {0};

    memory_x = feed(EDDY_FLOAT64, TRIAL_SHAPE(3), elements);
    memory_zero = feed(EDDY_FLOAT64, scalar, elements);
    trial_memory(&p, build_network);
}
END_TEST

TCase *cntk_tests(void)
{
    TCase *tc = tcase_create("cntk");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, a_value_decays_over_any_number_of_steps, 0,
                        N_OF(dtypes));
    tcase_add_test(tc, a_value_is_referred_to_by_several_delays);
    tcase_add_test(tc, values_that_depend_on_each_other_are_one_loop);
    tcase_add_test(tc, independent_recurrences_are_loops_of_their_own);
    tcase_add_test(tc, a_recurrence_reads_another_one);
    tcase_add_test(tc, what_is_in_no_cycle_is_only_shifted);
    tcase_add_test(tc, shifts_of_rows_and_of_shifts);
    tcase_add_test(tc, shifts_and_functions_go_into_the_loops);
    tcase_add_test(tc, recurrences_nest_in_each_other_and_in_loops);
    tcase_add_test(tc, layers_run_either_way_and_give_all_states);
    tcase_add_test(tc, an_unfolding_ends_by_its_predicate_or_its_length);
    tcase_add_test(tc, an_unfolding_may_be_given_its_length);
    tcase_add_test(tc, initial_values_are_broadcast_to_a_declared_shape);
    tcase_add_test(tc, what_is_no_loop_is_refused_by_name);
    tcase_add_test(tc, a_declared_value_is_resolved_once_and_to_another);
    tcase_add_test(tc, sequences_have_one_length);
    tcase_add_test(tc, dtypes_and_shapes_are_kept);
    tcase_add_test(tc, memory_may_run_out_anywhere);
    return tc;
}
