/* SPDX-License-Identifier: Apache-2.0 */
/* Theano's scan with a dictionary of updates. */
#include "tests/aid/trial.h"
#include "tests/suites.h"

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

/*
 * A linear congruence as the shared state s, and h beside it: with arguments x,
 * h, s, factor
 *
 *     s' = s * factor + x,  h' = h + s',  put out h', stop when s' > 60
 */
static eddy_status step(eddy_graph *graph, void *user, const eddy_output *args,
                        size_t n, eddy_output *out, eddy_error *err)
{
    const bool *stops = user;

    (void)graph;
    (void)err;
    ck_assert_uint_eq(n, 4);
    out[1] = program_binary(
        &p, "AddV2", program_binary(&p, "Mul", args[2], args[3]), args[0]);
    out[0] = program_binary(&p, "AddV2", args[1], out[1]);
    if (*stops)
        out[2] = program_binary(
            &p, "Greater", out[1],
            program_constant(&p, EDDY_FLOAT64, &(const double){60}));
    return EDDY_OK;
}

typedef struct built {
    trial_feed feeds[2]; /* x, s */
    eddy_output h, last, shared;
} built;

static void build(built *b, bool stops, int64_t truncate)
{
    static const double three = 3, zero = 0;
    const eddy_output factor = program_constant(&p, EDDY_FLOAT64, &three);
    const eddy_output first = program_constant(&p, EDDY_FLOAT64, &zero);
    const eddy_theano_output outputs[] = {{.initial = &first}};
    eddy_theano_sequence sequences[1] = {{.taps = NULL}};
    eddy_theano_update updates[1] = {{.out_value = &b->shared}};
    eddy_theano_spec spec = {
        .size = sizeof spec,
        .step = step,
        .user = &stops,
        .sequences = sequences,
        .n_sequences = 1,
        .outputs = outputs,
        .n_outputs = 1,
        .non_sequences = &factor,
        .n_non_sequences = 1,
        .has_until = stops,
        .truncate_gradient = truncate,
        .updates = updates,
        .n_updates = 1,
    };

    b->feeds[0] =
        trial_placeholder(&p, EDDY_FLOAT64, &TRIAL_SHAPE(4), NULL, true);
    b->feeds[1] = trial_placeholder(&p, EDDY_FLOAT64, &(eddy_shape){.rank = 0},
                                    &(const double){2}, true);
    sequences[0].input = b->feeds[0].at;
    updates[0].shared = b->feeds[1].at;
    program_want_ok(
        &p, eddy_theano_scan(p.graph, &spec, &b->h, &b->last, NULL, &p.err));
}

/* s: 2, 7, 23, 72, 220; h: 7, 30, 102, 322. */
START_TEST(each_step_reads_what_the_one_before_has_left)
{
    static const eddy_shape scalar = {.rank = 0};
    built b;
    trial_result found;

    build(&b, false, 0);
    found = trial_both(&p, b.feeds, 2, b.h);
    trial_want(&found, &TRIAL_SHAPE(4), PROGRAM_NUMBERS(7, 30, 102, 322));
    found = trial_both(&p, b.feeds, 2, b.shared);
    trial_want(&found, &scalar, PROGRAM_NUMBERS(220));
}
END_TEST

START_TEST(the_last_step_has_updated_too)
{
    static const eddy_shape scalar = {.rank = 0};
    built b;
    trial_result found;

    build(&b, true, 0);
    found = trial_both(&p, b.feeds, 2, b.h);
    trial_want(&found, &TRIAL_SHAPE(3), PROGRAM_NUMBERS(7, 30, 102));
    found = trial_both(&p, b.feeds, 2, b.shared);
    trial_want(&found, &scalar, PROGRAM_NUMBERS(72));
}
END_TEST

START_TEST(gradients_go_through_updates)
{
    built b;

    build(&b, false, 0);
    trial_gradients(&p, b.feeds, 2, b.h);
    trial_gradients(&p, b.feeds, 2, b.shared);
}
END_TEST

/* d s_4 / d s_0 is 0 when only two steps count; of x the last two have one. */
START_TEST(a_truncated_gradient_truncates_them_too)
{
    built b;
    eddy_output xs[2], dx[2];
    trial_result found;

    build(&b, false, 2);
    xs[0] = b.feeds[0].at;
    xs[1] = b.feeds[1].at;
    program_want_ok(
        &p, eddy_gradients(p.graph, &b.shared, 1, xs, 2, NULL, dx, &p.err));
    found = trial_run(&p, b.feeds, 2, dx[0]);
    trial_want(&found, &TRIAL_SHAPE(4), PROGRAM_NUMBERS(0, 0, 3, 1));
    found = trial_run(&p, b.feeds, 2, dx[1]);
    trial_want(&found, &(const eddy_shape){.rank = 0}, PROGRAM_NUMBERS(0));
}
END_TEST

START_TEST(updates_must_be_there)
{
    eddy_theano_spec spec = {.size = sizeof spec, .step = step, .n_updates = 1};

    program_want(&p, eddy_theano_scan(p.graph, &spec, NULL, NULL, NULL, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(p.err.message, "NULL for its updates"));
}
END_TEST

TCase *theano_updates_tests(void)
{
    TCase *tc = tcase_create("theano_updates");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, each_step_reads_what_the_one_before_has_left);
    tcase_add_test(tc, the_last_step_has_updated_too);
    tcase_add_test(tc, gradients_go_through_updates);
    tcase_add_test(tc, a_truncated_gradient_truncates_them_too);
    tcase_add_test(tc, updates_must_be_there);
    return tc;
}
