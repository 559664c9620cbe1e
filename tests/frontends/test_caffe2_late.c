/* SPDX-License-Identifier: Apache-2.0 */
/* Caffe2's links to the row that the same step writes. */
#include "tests/aid/recurrent.h"
#include "tests/suites.h"

#include <string.h>

#define STEPS 4

static program p;
static eddy_graph *net;

static void setup(void)
{
    program_init(&p, 0);
}

static void teardown(void)
{
    eddy_graph_destroy(net);
    program_deinit(&p);
}

/*
 * a[t + 1] = a[t] + x[t];  b[t + 1] = b[t] * a[t + 1];
 * c[t] = the product of b[t] and b[t + 1], and has no initial row.
 * Placeholders come first, and those of late rows are read before they can be.
 */
static void make_net(void)
{
    eddy_output both, axis;

    recurrent_begin_net(&p);
    both = recurrent_blob(&p, "b_both", EDDY_FLOAT64);
    axis = program_constant(&p, EDDY_INT32, &(const int32_t){0});
    recurrent_named(&p, "Prod", "c_now", both, axis);
    recurrent_named(&p, "Mul", "b_next",
                    recurrent_blob(&p, "b_prev", EDDY_FLOAT64),
                    recurrent_blob(&p, "a_now", EDDY_FLOAT64));
    recurrent_named(&p, "AddV2", "a_next",
                    recurrent_blob(&p, "a_prev", EDDY_FLOAT64),
                    recurrent_blob(&p, "x_t", EDDY_FLOAT64));
    net = recurrent_end_net(&p);
}

typedef struct late {
    trial_feed feeds[3]; /* x, a and b before step 0 */
    eddy_output out[3];
} late;

static void build(late *l)
{
    static const eddy_caffe2_link links[] = {
        {"b_both", "b", 0, 2}, {"c_now", "c", 0, 0},  {"b_prev", "b", 0, 0},
        {"a_now", "a", 1, 0},  {"b_next", "b", 1, 0}, {"a_prev", "a", 0, 0},
        {"x_t", "x", 0, 0},    {"a_next", "a", 1, 0},
    };
    static const eddy_caffe2_alias aliases[] = {
        {"a", NULL, 1}, {"b", NULL, 1}, {"c", NULL, 0}};
    eddy_caffe2_blob x = {"x", {0, 0}};
    eddy_caffe2_state states[] = {{.name = "c"}, {.name = "b"}, {.name = "a"}};
    const eddy_caffe2_spec spec = {
        .size = sizeof spec,
        .step_net = net,
        .inputs = &x,
        .n_inputs = 1,
        .states = states,
        .n_states = 3,
        .links = links,
        .n_links = 8,
        .aliases = aliases,
        .n_aliases = 3,
    };
    static const eddy_shape scalar = {.rank = 0};

    l->feeds[0] =
        trial_placeholder(&p, EDDY_FLOAT64, &TRIAL_SHAPE(STEPS), NULL, true);
    l->feeds[1] = trial_placeholder(&p, EDDY_FLOAT64, &scalar,
                                    &(const double){0.5}, true);
    l->feeds[2] = trial_placeholder(&p, EDDY_FLOAT64, &scalar,
                                    &(const double){0.25}, true);
    x.value = l->feeds[0].at;
    states[1].initial = &l->feeds[2].at;
    states[2].initial = &l->feeds[1].at;
    program_want_ok(
        &p, eddy_caffe2_recurrent_network(p.graph, &spec, l->out, &p.err));
}

START_TEST(a_step_reads_the_row_that_it_writes)
{
    double a[STEPS], b[STEPS], c[STEPS], now = 0.5, product = 0.25;
    const double *rows[] = {a, b, c};
    late l;

    for (int64_t t = 0; t < STEPS; t++) {
        const double before = product;

        a[t] = now = now + (double)(t + 1);
        b[t] = product = before * now;
        c[t] = before * product;
    }
    make_net();
    build(&l);
    for (size_t i = 0; i < 3; i++) {
        const trial_result found = trial_both(&p, l.feeds, 3, l.out[i]);

        trial_want(&found, &TRIAL_SHAPE(STEPS), rows[i]);
    }
    trial_gradients(&p, l.feeds, 3, l.out[2]);
}
END_TEST

TCase *caffe2_late_tests(void)
{
    TCase *tc = tcase_create("caffe2_late");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_step_reads_the_row_that_it_writes);
    return tc;
}
