/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connectionist temporal classification, with the values that TensorFlow 2.21
 * gives in float64.
 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/ops/parts.h"

#include <math.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__ctc_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

/* Four times, one sequence, three classes, the last of them the blank. */
#define TIMES 4
#define CLASSES 3
#define ALL (TIMES * CLASSES)

static const double logits[ALL] = {0.5,   -1,   2,   1, 0,   -0.5,
                                   -0.25, 0.75, 0.5, 0, 1.5, -1};

enum { PLAIN, COLLAPSES, KEEPS_REPEATS };

static const struct {
    double labels[4];
    int n, mode;
    double loss, gradient[ALL];
} losses[] = {
    {{0, 0},
     2,
     0,
     3.21970107241989,
     {-0.0584769683088006, 0.0391125732706875, 0.0193644248404355,
      -0.30867049598294, 0.231223897622149, 0.0774466356136936,
      0.146722050834347, 0.465835567266526, -0.612557573397389,
      -0.822417991210291, 0.766157206556342, 0.0562608037460613}},
    {{0, 0},
     2,
     1,
     2.9999104945314,
     {0.0248663587366401, 0.0391125732706875, -0.0639789022050051,
      -0.134295140739257, 0.231223897622149, -0.0969287568828922,
      -0.403380346965145, 0.465835567266526, -0.0624552203013807,
      -0.386459426928827, 0.766157206556342, -0.379697779627515}},
    {{0, 0},
     2,
     2,
     3.13552713229776,
     {0.0763088701163589, 0.0391125732706875, -0.115421465738788,
      -0.25606480741101, 0.231223897622149, 0.0248408799865383,
      -0.0313655114882701, 0.465835567266526, -0.434470040877095,
      -0.642732338954279, 0.766157206556342, -0.123424867602063}},
    {{1, 0},
     2,
     0,
     3.08928218319536,
     {0.175290392140037, -0.0432335978699833, -0.132056764467731,
      0.594578302119201, -0.52983693630882, -0.0647413695356709,
      -0.0229155398123973, -0.0603551904849389, 0.0832707451984973,
      -0.76447738890774, 0.766157206556342, -0.0016798400003445}},
    {{0, 1, 2, 2},
     4,
     0,
     0.639068564618833,
     {-0.0531076477969827, 0.0391125732706875, 0.013995059625134,
      -0.281713758941466, 0.199813404665511, 0.0819003393747944,
      -0.00628207392628125, -0.0237435738734582, 0.0300256179974169,
      0.17095278019779, -0.194952014425256, 0.0239992603044975}},
};

#define N_LOSSES (int)(sizeof losses / sizeof losses[0])

/* Labels of one sequence, as a sparse matrix. */
static eddy_tensor *places(int64_t n)
{
    double at[16] = {0};

    for (int64_t i = 0; i < n; i++)
        at[2 * i + 1] = (double)i;
    return harness_numbers(&h, EDDY_INT64, HARNESS_DIMS(n, 2), at);
}

static eddy_status run(const char *op, eddy_tensor *x, int64_t n,
                       const double *labels, double length, int mode)
{
    const bool yes = true, no = false;
    const eddy_attr attrs[] = {
        eddy_attr_bool("preprocess_collapse_repeated",
                       mode == COLLAPSES ? &yes : &no),
        eddy_attr_bool("ctc_merge_repeated",
                       mode == KEEPS_REPEATS ? &no : &yes)};
    eddy_tensor *inputs[] = {x, places(n),
                             harness_numbers(&h, EDDY_INT32, 1, &n, labels),
                             harness_vector(&h, EDDY_INT32, length)};

    return harness_run_attrs(&h, op, inputs, 4, attrs, 2);
}

static eddy_tensor *input(eddy_dtype dtype)
{
    return harness_numbers(&h, dtype, HARNESS_DIMS(TIMES, 1, CLASSES), logits);
}

static void want_near(const eddy_tensor *t, int64_t i, double value, double by)
{
    const double got = harness_get(t, i);

    ck_assert_msg(fabs(got - value) <= by, "[%d]: got %.17g, want %.17g",
                  (int)i, got, value);
}

START_TEST(losses_are_tensorflows)
{
    const eddy_dtype dtype = _i % 2 ? EDDY_FLOAT64 : EDDY_FLOAT32;
    const double by = 1e-6; /* TensorFlow computes in float32 */
    const int l = _i / 2;

    ck_assert_int_eq(run("CTCLoss", input(dtype), losses[l].n, losses[l].labels,
                         TIMES, losses[l].mode),
                     EDDY_OK);
    harness_want(&h, 0, dtype, HARNESS_DIMS(1));
    harness_want(&h, 1, dtype, HARNESS_DIMS(TIMES, 1, CLASSES));
    want_near(h.outputs[0], 0, losses[l].loss, by);
    for (int64_t i = 0; i < ALL; i++)
        want_near(h.outputs[1], i, losses[l].gradient[i], by);
}
END_TEST

/* The same with the classes turned round, since the blank is the first. */
START_TEST(the_second_form_has_its_blank_first)
{
    double turned[ALL], labels[4];

    for (int i = 0; i < ALL; i++)
        turned[i / CLASSES * CLASSES + (i + 1) % CLASSES] = logits[i];
    for (int i = 0; i < losses[3].n; i++)
        labels[i] = losses[3].labels[i] + 1;
    ck_assert_int_eq(
        run("CTCLossV2",
            harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(TIMES, 1, CLASSES),
                            turned),
            losses[3].n, labels, TIMES, PLAIN),
        EDDY_OK);
    want_near(h.outputs[0], 0, losses[3].loss, 1e-6);
    for (int i = 0; i < ALL; i++)
        want_near(h.outputs[1], i / CLASSES * CLASSES + (i + 1) % CLASSES,
                  losses[3].gradient[i], 1e-6);
}
END_TEST

/* What is likely is the gradient, since nothing is known of the labels. */
START_TEST(labels_that_no_way_leads_to_are_infinitely_unlikely)
{
    const double same[] = {1, 1, 1};
    double sum = 0;

    ck_assert_int_eq(run("CTCLoss", input(EDDY_FLOAT64), 3, same, TIMES, PLAIN),
                     EDDY_OK);
    ck_assert(harness_get(h.outputs[0], 0) == (double)INFINITY);
    for (int64_t i = 0; i < CLASSES; i++)
        sum += harness_get(h.outputs[1], i);
    ck_assert(fabs(sum - 1) < 1e-12);
}
END_TEST

/* TensorFlow 2.21 reads beside its arrays here. */
START_TEST(a_sequence_may_be_blanks_alone)
{
    const double blank[] = {2};
    double want = 0;

    ck_assert_int_eq(
        run("CTCLoss", input(EDDY_FLOAT64), 1, blank, TIMES, PLAIN), EDDY_OK);
    for (int t = 0; t < TIMES; t++) {
        const double *x = logits + t * CLASSES;

        want += log(exp(x[0]) + exp(x[1]) + exp(x[2])) - x[2];
    }
    want_near(h.outputs[0], 0, want, 1e-12);
}
END_TEST

static const struct {
    double labels[5];
    int64_t n;
    double length;
    eddy_detail detail;
} bad[] = {
    {{0, 1, 0, 1, 0}, 5, 4, EDDY_E_VALUE}, /* more than times */
    {{0}, 0, 4, EDDY_E_VALUE},             /* none */
    {{-1}, 1, 4, EDDY_E_VALUE},
    {{2, 0}, 2, 4, EDDY_E_VALUE}, /* after the end */
    {{0}, 1, 5, EDDY_E_VALUE},
    {{0}, 1, -1, EDDY_E_VALUE},
};

START_TEST(labels_must_fit)
{
    harness_want_error(&h,
                       run("CTCLoss", input(EDDY_FLOAT32), bad[_i].n,
                           bad[_i].labels, bad[_i].length, PLAIN),
                       EDDY_INVALID_ARGUMENT, bad[_i].detail);
}
END_TEST

static const double orders[][4] = {
    {0, 1, 0, 0}, {0, 0, 0, 0}, {1, 0, 1, 1}, {-1, 0, 0, 0}, {0, -1, 0, 0}};

START_TEST(labels_must_be_in_order)
{
    harness_want_error(
        &h,
        harness_run(
            &h, "CTCLoss", input(EDDY_FLOAT32),
            harness_numbers(&h, EDDY_INT64, HARNESS_DIMS(2, 2), orders[_i]),
            harness_vector(&h, EDDY_INT32, 0, 1),
            harness_vector(&h, EDDY_INT32, 4)),
        EDDY_INVALID_ARGUMENT, EDDY_E_INDEX);
}
END_TEST

START_TEST(a_decoder_takes_the_likeliest)
{
    const bool yes = true;
    const int64_t first = 0, beyond = CLASSES;
    const eddy_attr merges = eddy_attr_bool("merge_repeated", &yes);
    const eddy_attr blank = eddy_attr_int("blank_index", &first);
    eddy_tensor *inputs[] = {input(EDDY_FLOAT32),
                             harness_vector(&h, EDDY_INT32, 4)};

    /* Of the times 2, 0, 1, 1. */
    ck_assert_int_eq(
        harness_run_attrs(&h, "CTCGreedyDecoder", inputs, 2, NULL, 0), EDDY_OK);
    harness_want(&h, 0, EDDY_INT64, HARNESS_DIMS(3, 2));
    harness_want(&h, 1, EDDY_INT64, HARNESS_DIMS(3));
    ck_assert(harness_get(h.outputs[1], 0) == 0);
    ck_assert(harness_get(h.outputs[1], 2) == 1);
    ck_assert(harness_get(h.outputs[2], 1) == 3);
    ck_assert(harness_get(h.outputs[3], 0) == -5.25);
    ck_assert_int_eq(
        harness_run_attrs(&h, "CTCGreedyDecoder", inputs, 2, &merges, 1),
        EDDY_OK);
    harness_want(&h, 1, EDDY_INT64, HARNESS_DIMS(2));
    ck_assert_int_eq(
        harness_run_attrs(&h, "CTCGreedyDecoder", inputs, 2, &blank, 1),
        EDDY_OK);
    ck_assert(harness_get(h.outputs[1], 0) == 2);
    {
        const eddy_attr bad_blank = eddy_attr_int("blank_index", &beyond);

        harness_want_error(
            &h,
            harness_run_attrs(&h, "CTCGreedyDecoder", inputs, 2, &bad_blank, 1),
            EDDY_INVALID_ARGUMENT, EDDY_E_VALUE);
    }
    inputs[1] = harness_vector(&h, EDDY_INT32, 5);
    harness_want_error(
        &h, harness_run_attrs(&h, "CTCGreedyDecoder", inputs, 2, NULL, 0),
        EDDY_FAILED_PRECONDITION, EDDY_E_VALUE);
}
END_TEST

void ops_ctc_add_tests(TCase *tests)
{
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, losses_are_tensorflows, 0, 2 * N_LOSSES);
    tcase_add_test(tests, the_second_form_has_its_blank_first);
    tcase_add_test(tests, labels_that_no_way_leads_to_are_infinitely_unlikely);
    tcase_add_test(tests, a_sequence_may_be_blanks_alone);
    tcase_add_loop_test(tests, labels_must_fit, 0,
                        (int)(sizeof bad / sizeof bad[0]));
    tcase_add_loop_test(tests, labels_must_be_in_order, 0,
                        (int)(sizeof orders / sizeof orders[0]));
    tcase_add_test(tests, a_decoder_takes_the_likeliest);
}
