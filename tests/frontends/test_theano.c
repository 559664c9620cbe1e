/* SPDX-License-Identifier: Apache-2.0 */
/* Theano's scan against loops in C that compute the same. */
#include "tests/aid/trial.h"
#include "tests/suites.h"

#include <math.h>
#include <string.h>

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

static program p;

static const eddy_shape scalar = {.rank = 0};

static void setup(void)
{
    program_init(&p, 0);
}

static void teardown(void)
{
    program_deinit(&p);
}

static eddy_output write_binary(const char *op, eddy_output x, eddy_output y)
{
    return program_binary(&p, op, x, y);
}

/* ---- any taps ---- */

/* Twice what came before and the next, from the first argument on. */
static eddy_output combine(const eddy_output *args, size_t n)
{
    eddy_output sum = args[0];

    for (size_t i = 1; i < n; i++)
        sum = write_binary("AddV2", write_binary("AddV2", sum, sum), args[i]);
    return sum;
}

typedef struct taps {
    size_t n;
    int64_t k[4];
    int64_t length; /* of a sequence; of an output: 0 for a map */
} taps;

typedef struct tapped {
    size_t n_sequences, n_outputs;
    taps sequences[2], outputs[2];
    int64_t n_steps; /* -1: none are given */
    bool backward;
} tapped;

static const tapped tapped_cases[] = {
    /* The running example, and without steps, and with one. */
    {1, 1, {{1, {0}, 4}}, {{1, {-1}, 1}}, -1, false},
    {1, 1, {{1, {0}, 0}}, {{1, {-1}, 1}}, -1, false},
    {1, 1, {{1, {0}, 1}}, {{1, {-1}, 1}}, -1, false},
    /* Past and future items, in any order. */
    {1, 1, {{3, {-2, 0, 1}, 7}}, {{1, {-1}, 1}}, -1, false},
    {1, 1, {{3, {1, -2, 0}, 7}}, {{1, {-1}, 1}}, -1, false},
    {1, 1, {{2, {2, 1}, 6}}, {{1, {-1}, 1}}, -1, false},
    {1, 1, {{2, {-1, -3}, 6}}, {{1, {-1}, 1}}, -1, false},
    {1, 1, {{3, {-2, 0, 1}, 2}}, {{1, {-1}, 1}}, -1, false},
    {1, 1, {{3, {-2, 0, 1}, 7}}, {{1, {-1}, 1}}, -1, true},
    {1, 1, {{2, {-1, -3}, 6}}, {{1, {-1}, 1}}, -1, true},
    /* Several past values, of a second output as well. */
    {1, 1, {{1, {0}, 6}}, {{2, {-3, -1}, 3}}, -1, false},
    {1, 1, {{1, {0}, 6}}, {{2, {-1, -3}, 5}}, -1, false},
    {1, 1, {{1, {0}, 6}}, {{1, {-2}, 2}}, -1, true},
    {1, 2, {{1, {0}, 5}}, {{2, {-3, -1}, 3}, {1, {-1}, 1}}, -1, false},
    {0, 2, {{0}}, {{2, {-2, -1}, 2}, {1, {-4}, 4}}, 6, false},
    /* Maps, alone and beside a recurrence. */
    {1, 1, {{2, {0, 1}, 5}}, {{0, {0}, 0}}, -1, false},
    {1, 2, {{1, {0}, 5}}, {{0, {0}, 0}, {2, {-1, -2}, 2}}, -1, false},
    /* As many steps as the shortest sequence serves, or fewer. */
    {2, 1, {{1, {0}, 5}, {2, {1, 0}, 4}}, {{1, {-1}, 1}}, -1, false},
    {2, 1, {{1, {0}, 5}, {2, {1, 0}, 4}}, {{1, {-1}, 1}}, -1, true},
    {2, 1, {{1, {0}, 5}, {2, {1, 0}, 4}}, {{1, {-1}, 1}}, 2, true},
    {1, 1, {{1, {0}, 5}}, {{1, {-1}, 1}}, 0, false},
    {1, 1, {{1, {0}, 5}}, {{1, {-1}, 1}}, 5, false},
};

static double element(size_t which, int64_t i)
{
    return (double)((i * 7 + (int64_t)which * 3) % 5 - 2);
}

static int64_t lowest(const taps *t)
{
    int64_t low = 0;

    for (size_t i = 0; i < t->n; i++)
        low = t->k[i] < low ? t->k[i] : low;
    return low;
}

static int64_t highest(const taps *t)
{
    int64_t high = 0;

    for (size_t i = 0; i < t->n; i++)
        high = t->k[i] > high ? t->k[i] : high;
    return high;
}

/* How many steps a sequence serves. */
static int64_t served(const taps *t)
{
    const int64_t n = t->length - highest(t) + lowest(t);

    return n > 0 ? n : 0;
}

/* The values of the outputs in C; returns how many steps there are. */
static int64_t compute(const tapped *c, double rows[2][16])
{
    double past[2][32];
    int64_t n = c->n_steps;

    for (size_t s = 0; s < c->n_sequences && c->n_steps < 0; s++)
        if (n < 0 || served(&c->sequences[s]) < n)
            n = served(&c->sequences[s]);
    for (size_t o = 0; o < c->n_outputs; o++)
        for (int64_t i = 0; i < -lowest(&c->outputs[o]); i++)
            past[o][i] = element(5 + o, i);
    for (int64_t t = 0; t < n; t++) {
        double args[16] = {0}, sum;
        size_t m = 0;

        for (size_t s = 0; s < c->n_sequences; s++) {
            const taps *sequence = &c->sequences[s];
            const int64_t at = c->backward ? served(sequence) - 1 - t : t;

            for (size_t i = 0; i < sequence->n; i++)
                args[m++] = element(s, at + sequence->k[i] - lowest(sequence));
        }
        for (size_t o = 0; o < c->n_outputs; o++)
            for (size_t i = 0; i < c->outputs[o].n; i++)
                args[m++] =
                    past[o][t + c->outputs[o].k[i] - lowest(&c->outputs[o])];
        sum = args[0];
        for (size_t i = 1; i < m; i++)
            sum = 2 * sum + args[i];
        for (size_t o = 0; o < c->n_outputs; o++)
            rows[o][t] = past[o][t - lowest(&c->outputs[o])] = sum + args[o];
    }
    return n;
}

static eddy_status combine_step(eddy_graph *graph, void *user,
                                const eddy_output *args, size_t n,
                                eddy_output *out_outputs, eddy_error *err)
{
    const tapped *c = user;

    (void)graph;
    (void)err;
    for (size_t o = 0; o < c->n_outputs; o++)
        out_outputs[o] = write_binary("AddV2", combine(args, n), args[o]);
    return EDDY_OK;
}

/* What a case is built of. */
typedef struct built {
    trial_feed feeds[8];
    size_t n_feeds;
    eddy_output outputs[2], last[2], n_steps;
} built;

static trial_feed *feed_elements(built *b, eddy_dtype dtype, bool is_static,
                                 size_t which, const eddy_shape *shape)
{
    double elements[16];

    for (int64_t i = 0; i < 16; i++)
        elements[i] = element(which, i);
    b->feeds[b->n_feeds] =
        trial_placeholder(&p, dtype, shape, elements, is_static);
    return &b->feeds[b->n_feeds++];
}

static void build(const tapped *c, eddy_dtype dtype, bool is_static,
                  int64_t truncate, built *b)
{
    eddy_theano_sequence sequences[2];
    eddy_theano_output outputs[2];
    tapped own = *c;
    eddy_theano_spec spec = {
        .size = sizeof spec,
        .step = combine_step,
        .user = &own,
        .sequences = sequences,
        .n_sequences = c->n_sequences,
        .outputs = outputs,
        .n_outputs = c->n_outputs,
        .truncate_gradient = truncate,
        .go_backwards = c->backward,
    };
    eddy_output n_steps;

    memset(outputs, 0, sizeof outputs);
    b->n_feeds = 0;
    for (size_t s = 0; s < c->n_sequences; s++) {
        const taps *t = &c->sequences[s];

        sequences[s] = (eddy_theano_sequence){
            .input =
                feed_elements(b, dtype, is_static, s, &TRIAL_SHAPE(t->length))
                    ->at,
            .taps = t->k,
            .n_taps = t->n,
        };
    }
    for (size_t o = 0; o < c->n_outputs; o++) {
        const taps *t = &c->outputs[o];
        const bool is_one = t->n == 1 && t->k[0] == -1;

        if (t->n == 0)
            continue;
        outputs[o].initial =
            &feed_elements(b, dtype, is_static, 5 + o,
                           is_one ? &scalar : &TRIAL_SHAPE(t->length))
                 ->at;
        outputs[o].taps = is_one ? NULL : t->k;
        outputs[o].n_taps = t->n;
    }
    if (c->n_steps >= 0) {
        n_steps = program_int(&p, c->n_steps);
        spec.n_steps = &n_steps;
    }
    program_want_ok(&p, eddy_theano_scan(p.graph, &spec, b->outputs, b->last,
                                         &b->n_steps, &p.err));
}

static const eddy_dtype dtypes[] = {EDDY_FLOAT64, EDDY_FLOAT32, EDDY_INT64,
                                    EDDY_INT32};

START_TEST(any_taps_are_computed)
{
    const tapped *c = &tapped_cases[_i];
    double rows[2][16];
    const int64_t n = compute(c, rows);

    for (size_t d = 0; d < 2 * N_OF(dtypes); d++) {
        built b;
        trial_result steps;

        build(c, dtypes[d / 2], d % 2 != 0, d == 3 ? 2 : 0, &b);
        for (size_t o = 0; o < c->n_outputs; o++) {
            const trial_result found =
                trial_both(&p, b.feeds, b.n_feeds, b.outputs[o]);

            ck_assert_int_eq(found.dtype, dtypes[d / 2]);
            trial_want(&found, &TRIAL_SHAPE(n), rows[o]);
            if (c->outputs[o].n > 0 && n > 0) {
                const trial_result last =
                    trial_run(&p, b.feeds, b.n_feeds, b.last[o]);

                trial_want(&last, &scalar, &rows[o][n - 1]);
            }
        }
        steps = trial_run(&p, b.feeds, b.n_feeds, b.n_steps);
        trial_want(&steps, &scalar, &(const double){(double)n});
        program_clear(&p);
    }
}
END_TEST

START_TEST(gradients_of_any_taps_agree_with_differences)
{
    const tapped *c = &tapped_cases[_i];
    built b;

    build(c, EDDY_FLOAT64, _i % 2 == 0, 0, &b);
    for (size_t o = 0; o < c->n_outputs; o++)
        trial_gradients(&p, b.feeds, b.n_feeds, b.outputs[o]);
}
END_TEST

TCase *theano_tests(void)
{
    TCase *tc = tcase_create("theano");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, any_taps_are_computed, 0, N_OF(tapped_cases));
    tcase_add_loop_test(tc, gradients_of_any_taps_agree_with_differences, 0,
                        N_OF(tapped_cases));
    return tc;
}
