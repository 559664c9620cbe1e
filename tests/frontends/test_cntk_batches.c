/* SPDX-License-Identifier: Apache-2.0 */
/* CNTK's batches of sequences of several lengths, against loops in C. */
#include "tests/aid/trial.h"
#include "tests/suites.h"

#include <string.h>

#define STEPS 5
#define BATCH 3

typedef eddy_cntk_value value;

static program p;
static eddy_cntk *net;
static trial_feed feeds[3]; /* x, initial, lengths */

static const double lengths[][BATCH] = {
    {5, 2, 0}, {5, 5, 5}, {0, 0, 0}, {1, 4, 3}, {9, 3, -2}};

static void setup(void)
{
    program_init(&p, 0);
    program_want_ok(&p, eddy_cntk_create(p.graph, NULL, &net, &p.err));
}

static void teardown(void)
{
    eddy_cntk_destroy(net);
    program_deinit(&p);
}

static double item(int64_t t, int64_t b)
{
    return (double)((t * 7 + b * 3) % 5 - 2) / 2;
}

static double initial(int64_t b)
{
    return (double)(b + 1);
}

/* x with something finite in the gaps, initial values, lengths. */
static value describe(const double *n, bool is_static, eddy_dtype dtype)
{
    double x[STEPS * BATCH], first[BATCH];
    value out = 0;

    for (int64_t t = 0; t < STEPS; t++)
        for (int64_t b = 0; b < BATCH; b++)
            x[t * BATCH + b] = t < n[b] ? item(t, b) : 77;
    for (int64_t b = 0; b < BATCH; b++)
        first[b] = initial(b);
    feeds[0] = trial_placeholder(&p, EDDY_FLOAT64, &TRIAL_SHAPE(STEPS, BATCH),
                                 x, is_static);
    feeds[1] = trial_placeholder(&p, EDDY_FLOAT64, &TRIAL_SHAPE(BATCH), first,
                                 is_static);
    feeds[2] = trial_placeholder(&p, dtype, &TRIAL_SHAPE(BATCH), n, is_static);
    program_want_ok(&p, eddy_cntk_set_lengths(net, feeds[2].at, &p.err));
    program_want_ok(&p, eddy_cntk_sequence(net, feeds[0].at, &out, &p.err));
    return out;
}

/* h = x + h / 2 of `delay` steps ago, or so many ahead. */
static value recur(value x, int64_t delay, eddy_output first)
{
    const eddy_shape shape = {.rank = 1, .dims = {BATCH}};
    const double half = 0.5;
    value h = 0, before = 0, factor = 0, v[2] = {0}, product = 0;

    program_want_ok(&p, eddy_cntk_declare(net, "h", &shape, &h, &p.err));
    program_want_ok(
        &p, (delay > 0 ? eddy_cntk_past_value : eddy_cntk_future_value)(
                net, h, delay > 0 ? delay : -delay, first, &before, &p.err));
    program_want_ok(
        &p, eddy_cntk_outside(net, program_constant(&p, EDDY_FLOAT64, &half),
                              &factor, &p.err));
    v[0] = factor;
    v[1] = before;
    program_want_ok(&p, eddy_cntk_op(net, "Mul", v, 2, &product, &p.err));
    v[0] = product;
    v[1] = x;
    program_want_ok(&p, eddy_cntk_op(net, "AddV2", v, 2, &v[0], &p.err));
    program_want_ok(&p, eddy_cntk_resolve(net, h, v[0], &p.err));
    return h;
}

static int64_t length_of(const double *n, int64_t b)
{
    return n[b] < 0 ? 0 : n[b] > STEPS ? STEPS : (int64_t)n[b];
}

/* The same in C: rows, zeros in gaps, and what each sequence ends with. */
static void compute(const double *n, int64_t delay, double *rows, double *last)
{
    const int64_t far = delay > 0 ? delay : -delay;

    for (int64_t b = 0; b < BATCH; b++) {
        const int64_t length = length_of(n, b);

        last[b] = initial(b);
        for (int64_t t = 0; t < STEPS; t++)
            rows[t * BATCH + b] = 0;
        for (int64_t i = 0; i < length; i++) {
            const int64_t t = delay > 0 ? i : length - 1 - i;
            const double before =
                i < far ? initial(b)
                        : rows[(delay > 0 ? t - far : t + far) * BATCH + b];

            rows[t * BATCH + b] = last[b] = item(t, b) + before / 2;
        }
    }
}

static const int64_t delays[] = {1, 2, 3, -1, -2, -3};

START_TEST(recurrences_go_by_the_items_of_each_sequence)
{
    const double *n = lengths[_i / 6];
    const int64_t delay = delays[_i % 6];
    double rows[STEPS * BATCH], last[BATCH];
    eddy_cntk_wanted wanted[2] = {{0, false}, {0, true}};
    eddy_output out[2];
    trial_result found;

    wanted[0].value = wanted[1].value =
        recur(describe(n, _i % 2 == 0, _i % 3 ? EDDY_INT32 : EDDY_INT64), delay,
              feeds[1].at);
    program_want_ok(&p, eddy_cntk_build(net, wanted, 2, out, &p.err));
    compute(n, delay, rows, last);
    found = trial_both(&p, feeds, 3, out[0]);
    trial_want(&found, &TRIAL_SHAPE(STEPS, BATCH), rows);
    found = trial_both(&p, feeds, 3, out[1]);
    trial_want(&found, &TRIAL_SHAPE(BATCH), last);
}
END_TEST

START_TEST(gradients_leave_gaps_out)
{
    const double *n = lengths[_i / 6];
    eddy_cntk_wanted wanted[2] = {{0, false}, {0, true}};
    eddy_output out[2];

    wanted[0].value = wanted[1].value =
        recur(describe(n, true, EDDY_INT32), delays[_i % 6], feeds[1].at);
    program_want_ok(&p, eddy_cntk_build(net, wanted, 2, out, &p.err));
    trial_gradients(&p, feeds, 3, out[0]);
    trial_gradients(&p, feeds, 3, out[1]);
}
END_TEST

/* In no cycle: x `delay` steps ago or ahead. */
START_TEST(shifts_go_by_the_items_of_each_sequence)
{
    const double *n = lengths[_i / 6];
    const int64_t delay = delays[_i % 6];
    double rows[STEPS * BATCH];
    eddy_cntk_wanted wanted = {0, false};
    eddy_output out;
    trial_result found;
    const value x = describe(n, _i % 2 == 0, EDDY_INT64);

    program_want_ok(&p,
                    (delay > 0 ? eddy_cntk_past_value : eddy_cntk_future_value)(
                        net, x, delay > 0 ? delay : -delay, feeds[1].at,
                        &wanted.value, &p.err));
    program_want_ok(&p, eddy_cntk_build(net, &wanted, 1, &out, &p.err));
    for (int64_t t = 0; t < STEPS; t++)
        for (int64_t b = 0; b < BATCH; b++) {
            const int64_t from = t - delay, length = length_of(n, b);

            rows[t * BATCH + b] = t >= length                  ? 0
                                  : from < 0 || from >= length ? initial(b)
                                                               : item(from, b);
        }
    found = trial_both(&p, feeds, 3, out);
    trial_want(&found, &TRIAL_SHAPE(STEPS, BATCH), rows);
}
END_TEST

static eddy_status add_up(eddy_graph *graph, void *user,
                          const eddy_output *inputs, size_t n, eddy_output *out,
                          eddy_error *err)
{
    (void)user;
    return eddy_graph_add_op(graph, "AddV2", NULL, inputs, n, out, err);
}

/* The sum of each sequence, from either end. */
START_TEST(layers_take_lengths)
{
    const double *n = lengths[_i / 2];
    eddy_cntk_recurrence_spec spec = {
        .size = sizeof spec,
        .step = add_up,
        .n_sequences = 1,
        .n_states = 1,
        .go_backwards = _i % 2 == 1,
    };
    double sums[BATCH];
    eddy_output out;
    trial_result found;

    (void)describe(n, true, EDDY_INT32);
    spec.sequences = &feeds[0].at;
    spec.initial = &feeds[1].at;
    spec.lengths = &feeds[2].at;
    program_want_ok(&p, eddy_cntk_fold(p.graph, &spec, &out, &p.err));
    for (int64_t b = 0; b < BATCH; b++) {
        sums[b] = initial(b);
        for (int64_t t = 0; t < length_of(n, b); t++)
            sums[b] += item(t, b);
    }
    found = trial_run(&p, feeds, 3, out);
    trial_want(&found, &TRIAL_SHAPE(BATCH), sums);
}
END_TEST

START_TEST(lengths_must_be_a_vector_of_integers)
{
    const double one = 1;
    const eddy_output number = program_int(&p, 3);
    const eddy_output real = program_constant(&p, EDDY_FLOAT64, &one);

    program_want(&p, eddy_cntk_set_lengths(net, number, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    program_want(&p, eddy_cntk_set_lengths(net, real, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE);
    program_want(&p, eddy_cntk_set_lengths(NULL, real, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
}
END_TEST

TCase *cntk_batches_tests(void)
{
    TCase *tc = tcase_create("cntk_batches");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, recurrences_go_by_the_items_of_each_sequence, 0,
                        30);
    tcase_add_loop_test(tc, gradients_leave_gaps_out, 0, 30);
    tcase_add_loop_test(tc, shifts_go_by_the_items_of_each_sequence, 0, 30);
    tcase_add_loop_test(tc, layers_take_lengths, 0, 10);
    tcase_add_test(tc, lengths_must_be_a_vector_of_integers);
    return tc;
}
