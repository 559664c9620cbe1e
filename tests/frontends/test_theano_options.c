/* SPDX-License-Identifier: Apache-2.0 */
/* What may be asked of Theano's scan. */
#include "tests/aid/decaying.h"
#include "tests/suites.h"

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

static eddy_output binary(const char *op, eddy_output x, eddy_output y)
{
    return program_binary(&p, op, x, y);
}

static trial_feed vector(int64_t n, const double *elements)
{
    return trial_placeholder(&p, EDDY_FLOAT64, &TRIAL_SHAPE(n), elements,
                             false);
}

static trial_feed number(eddy_dtype dtype, double value)
{
    return trial_placeholder(&p, dtype, &scalar, &value, true);
}

static const double ones_to_six[] = {1, 2, 3, 4, 5, 6};

START_TEST(values_from_outside_are_captured)
{
    trial_result found;
    decaying d;

    decaying_init(&d, &p, 4, 100);
    program_want_ok(&p, decaying_scan(&d, &p));
    found = decaying_run(&d, &p, d.outputs);
    trial_want(&found, &TRIAL_SHAPE(4), decaying_values);
    found = decaying_run(&d, &p, d.last);
    trial_want(&found, &scalar, &decaying_values[3]);
}
END_TEST

/* ---- until ---- */

/* The step that says so is the last; the one at which the items end too. */
START_TEST(until_ends_the_scan)
{
    static const struct {
        double most;
        int64_t n;
    } cases[] = {{-1, 1}, {1.5, 2}, {4, 3}, {6, 4}, {7, 5}, {100, 6}};

    for (size_t i = 0; i < N_OF(cases); i++) {
        trial_result found;
        decaying d;

        decaying_init(&d, &p, 6, cases[i].most);
        d.spec.has_until = true;
        program_want_ok(&p, decaying_scan(&d, &p));
        found = decaying_run(&d, &p, d.outputs);
        trial_want(&found, &TRIAL_SHAPE(cases[i].n), decaying_values);
        found = decaying_run(&d, &p, d.last);
        trial_want(&found, &scalar, &decaying_values[cases[i].n - 1]);
        found = decaying_run(&d, &p, d.n_steps);
        trial_want(&found, &scalar, &(const double){(double)cases[i].n});
        trial_gradients(&p, d.feeds, 3, d.outputs);
        program_clear(&p);
    }
}
END_TEST

START_TEST(until_may_find_no_items)
{
    trial_result found;
    decaying d;

    decaying_init(&d, &p, 0, 3);
    d.spec.has_until = true;
    program_want_ok(&p, decaying_scan(&d, &p));
    found = decaying_run(&d, &p, d.outputs);
    trial_want(&found, &TRIAL_SHAPE(0), NULL);
    found = decaying_run(&d, &p, d.last);
    trial_want(&found, &scalar, &(const double){0});
}
END_TEST

/* ---- n_steps ---- */

static const eddy_dtype step_dtypes[] = {EDDY_INT32, EDDY_INT64};

START_TEST(the_number_of_steps_comes_at_run_time)
{
    for (int64_t n = -2; n <= 8; n++) {
        trial_feed feeds[4];
        trial_result found;
        decaying d;

        decaying_init(&d, &p, 6, 0);
        memcpy(feeds, d.feeds, sizeof d.feeds);
        feeds[3] = number(step_dtypes[_i], (double)n);
        d.spec.n_steps = &feeds[3].at;
        program_want_ok(&p, decaying_scan(&d, &p));
        if (n < 0 || n > 6) {
            trial_want_failure(&p, feeds, 4, d.outputs, EDDY_INVALID_ARGUMENT,
                               EDDY_E_ASSERTION);
        } else {
            found = trial_both(&p, feeds, 4, d.outputs);
            trial_want(&found, &TRIAL_SHAPE(n), decaying_values);
        }
        program_clear(&p);
    }
}
END_TEST

/* ---- truncated gradients ---- */

/*
 * With rows: h[t] = w * h[t - 1] + x[t] * h[t - 3]; else w * h[t - 1] + x[t].
 * A step whose x is more than 2 is the last.
 */
typedef struct cut {
    bool has_rows, has_until;
    int64_t n, kept;
} cut;

#define PAST 3

static eddy_status cut_step(eddy_graph *graph, void *user,
                            const eddy_output *args, size_t n,
                            eddy_output *out_outputs, eddy_error *err)
{
    const cut *c = user;
    const eddy_output w = args[n - 1];
    eddy_output sum = binary("Mul", args[n - 2], w);

    (void)graph;
    (void)err;
    *out_outputs = binary(
        "AddV2", sum, c->has_rows ? binary("Mul", args[0], args[1]) : args[0]);
    if (c->has_until)
        out_outputs[1] =
            binary("Greater", args[0],
                   program_constant(&p, EDDY_FLOAT64, &(const double){2}));
    return EDDY_OK;
}

static const double cut_x[] = {0.5, -1.25, 1.5, 0.75, 2.5, -0.5, 1.25};
static const double cut_h[] = {0.75, -0.5, 1.75};
static const double cut_w = 0.875;

typedef struct slopes {
    double x[8], h[PAST], w;
} slopes;

/*
 * The gradients of the sum of all h, by hand: rows of gradients that the last
 * steps pass on to the rows that they have read, and earlier steps do not.
 */
static slopes cut_by_hand(const cut *c)
{
    const int64_t past = c->has_rows ? PAST : 1;
    double h[16], g[16] = {0};
    slopes found = {.w = 0};
    int64_t n = 0, i;

    for (i = 0; i < past; i++)
        h[i] = cut_h[i];
    for (; n < c->n && !(c->has_until && n > 0 && cut_x[n - 1] > 2); n++) {
        h[n + past] = cut_w * h[n + past - 1] +
                      cut_x[n] * (c->has_rows ? h[n + past - 3] : 1);
        g[n + past] = 1;
    }
    for (i = n - 1; i >= 0 && i >= n - c->kept; i--) {
        const double given = g[i + past];

        found.w += given * h[i + past - 1];
        found.x[i] += given * (c->has_rows ? h[i + past - 3] : 1);
        g[i + past - 1] += given * cut_w;
        if (c->has_rows)
            g[i + past - 3] += given * cut_x[i];
    }
    for (i = 0; i < past; i++)
        found.h[i] = g[i];
    return found;
}

static void check_cut(cut *c)
{
    static const int64_t taps[] = {-3, -1};
    const eddy_shape rows = TRIAL_SHAPE(PAST);
    const trial_feed feeds[] = {vector(c->n, cut_x),
                                trial_placeholder(&p, EDDY_FLOAT64,
                                                  c->has_rows ? &rows : &scalar,
                                                  cut_h, false),
                                number(EDDY_FLOAT64, cut_w)};
    const eddy_theano_sequence x = {.input = feeds[0].at};
    const eddy_theano_output h = {.initial = &feeds[1].at,
                                  .taps = c->has_rows ? taps : NULL,
                                  .n_taps = c->has_rows ? 2 : 0};
    const eddy_theano_spec spec = {
        .size = sizeof spec,
        .step = cut_step,
        .user = c,
        .sequences = &x,
        .n_sequences = 1,
        .outputs = &h,
        .n_outputs = 1,
        .non_sequences = &feeds[2].at,
        .n_non_sequences = 1,
        .has_until = c->has_until,
        .truncate_gradient = c->kept,
    };
    const eddy_output xs[] = {feeds[0].at, feeds[1].at, feeds[2].at};
    const slopes want = cut_by_hand(c);
    eddy_output y, dx[3];
    trial_result found;

    program_want_ok(&p,
                    eddy_theano_scan(p.graph, &spec, &y, NULL, NULL, &p.err));
    program_want_ok(&p,
                    eddy_gradients(p.graph, &y, 1, xs, 3, NULL, dx, &p.err));
    found = trial_both(&p, feeds, 3, dx[0]);
    trial_want(&found, &TRIAL_SHAPE(c->n), want.x);
    found = trial_both(&p, feeds, 3, dx[1]);
    trial_want(&found, c->has_rows ? &rows : &scalar, want.h);
    found = trial_both(&p, feeds, 3, dx[2]);
    trial_want(&found, &scalar, &want.w);
    program_clear(&p);
}

START_TEST(a_truncated_gradient_is_that_of_the_last_steps)
{
    cut c = {.has_rows = _i % 2 != 0, .has_until = _i / 2 != 0};

    for (c.n = 0; c.n <= 7; c.n++)
        for (c.kept = 1; c.kept <= 8; c.kept += c.kept > 3 ? 3 : 1)
            check_cut(&c);
}
END_TEST

/* What a step captures by itself has no gradient from early steps either. */
START_TEST(a_truncated_gradient_holds_for_captures)
{
    eddy_output dx;
    trial_result found;
    decaying d;

    decaying_init(&d, &p, 4, 0);
    d.spec.truncate_gradient = 2;
    program_want_ok(&p, decaying_scan(&d, &p));
    program_want_ok(&p, eddy_gradients(p.graph, &d.outputs, 1, &d.feeds[2].at,
                                       1, NULL, &dx, &p.err));
    found = decaying_run(&d, &p, dx);
    /* 1.5 * h[1] + h[2] */
    trial_want(&found, &scalar, &(const double){1.5 * 2.5 + 4.25});
}
END_TEST

/* ---- map, reduce, foldl, foldr ---- */

/* Of two: a - b. */
static eddy_status subtract_step(eddy_graph *graph, void *user,
                                 const eddy_output *args, size_t n,
                                 eddy_output *out_outputs, eddy_error *err)
{
    (void)user;
    ck_assert_uint_eq(n, 2);
    return eddy_graph_add_op(graph, "Sub", NULL, args, 2, out_outputs, err);
}

typedef eddy_status (*fold_fn)(eddy_graph *, const eddy_theano_spec *,
                               eddy_output *, eddy_error *);

/* x - y, and from both ends of x: item - what there was. */
START_TEST(maps_and_folds)
{
    static const struct {
        fold_fn fold;
        bool backward;
        double want;
    } folds[] = {{eddy_theano_reduce, false, 3},
                 {eddy_theano_reduce, true, -3},
                 {eddy_theano_foldl, true, 3},
                 {eddy_theano_foldr, false, -3}};
    static const double y[] = {0, 10, 20, 30, 40, 50};
    static const double differences[] = {1, -8, -17, -26, -35, -44};
    const trial_feed feeds[] = {vector(6, ones_to_six), vector(6, y),
                                number(EDDY_FLOAT64, 0)};
    const eddy_theano_sequence sequences[] = {{.input = feeds[0].at},
                                              {.input = feeds[1].at}};
    eddy_theano_output output = {.initial = NULL};
    eddy_theano_spec spec = {
        .size = sizeof spec,
        .step = subtract_step,
        .sequences = sequences,
        .n_sequences = 2,
        .outputs = &output,
        .n_outputs = 1,
    };
    trial_result found;
    eddy_output out;

    program_want_ok(&p, eddy_theano_map(p.graph, &spec, &out, &p.err));
    found = trial_both(&p, feeds, 3, out);
    trial_want(&found, &TRIAL_SHAPE(6), differences);
    program_want(&p, eddy_theano_reduce(p.graph, &spec, &out, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    spec.n_sequences = 1;
    output.initial = &feeds[2].at;
    program_want(&p, eddy_theano_map(p.graph, &spec, &out, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    for (size_t i = 0; i < N_OF(folds); i++) {
        spec.go_backwards = folds[i].backward;
        program_want_ok(&p, folds[i].fold(p.graph, &spec, &out, &p.err));
        found = trial_both(&p, feeds, 3, out);
        trial_want(&found, &scalar, &folds[i].want);
    }
}
END_TEST

/* ---- in each other ---- */

/* The inner scan of a row: h = decay * h + row[i] * scale. */
typedef struct nest {
    eddy_output decay, zero; /* from outside of both */
    eddy_output scale;       /* of the outer step */
    bool in_loop;
} nest;

static eddy_status inner_step(eddy_graph *graph, void *user,
                              const eddy_output *args, size_t n,
                              eddy_output *out_outputs, eddy_error *err)
{
    const nest *s = user;

    (void)graph;
    (void)n;
    (void)err;
    /* A branch in the loops, which are as deep as they go. */
    construct_cond(&p, binary("Less", args[0], s->scale));
    construct_else(&p, binary("Mul", args[1], s->decay));
    *out_outputs =
        construct_end_cond(&p, binary("AddV2", binary("Mul", args[1], s->decay),
                                      binary("Mul", args[0], s->scale)));
    return EDDY_OK;
}

/* The row's scan adds to the outer state; all rows of it are the outputs. */
static eddy_status outer_step(eddy_graph *graph, void *user,
                              const eddy_output *args, size_t n,
                              eddy_output *out_outputs, eddy_error *err)
{
    nest s = *(nest *)user;
    const eddy_theano_sequence row = {.input = args[0]};
    const eddy_theano_output h = {.initial = &s.zero};
    const eddy_theano_spec spec = {.size = sizeof spec,
                                   .step = inner_step,
                                   .user = &s,
                                   .sequences = &row,
                                   .n_sequences = 1,
                                   .outputs = &h,
                                   .n_outputs = 1};
    eddy_output last;

    (void)n;
    s.scale = args[1];
    program_want_ok(
        &p, eddy_theano_scan(graph, &spec, &out_outputs[1], &last, NULL, err));
    out_outputs[0] = binary("AddV2", args[1], last);
    return EDDY_OK;
}

static void nested_by_hand(const double *x, double decay, double *sums,
                           double *rows)
{
    double sum = 1;

    for (int64_t i = 0; i < 3; i++) {
        double h = 0;

        for (int64_t j = 0; j < 2; j++) {
            h = x[2 * i + j] < sum ? h * decay : h * decay + x[2 * i + j] * sum;
            rows[2 * i + j] = h;
        }
        sums[i] = sum = sum + h;
    }
}

START_TEST(a_scan_in_a_scan_captures_through_both)
{
    static const double x[] = {1.5, 0.5, 4, 9, 2, 70};
    const trial_feed feeds[] = {
        trial_placeholder(&p, EDDY_FLOAT64, &TRIAL_SHAPE(3, 2), x, false),
        number(EDDY_FLOAT64, 0.25), number(EDDY_FLOAT64, 1)};
    const double zero = 0;
    nest s = {.decay = feeds[1].at,
              .zero = program_constant(&p, EDDY_FLOAT64, &zero)};
    const eddy_theano_sequence rows = {.input = feeds[0].at};
    const eddy_theano_output outputs[] = {{.initial = &feeds[2].at},
                                          {.initial = NULL}};
    const eddy_theano_spec spec = {.size = sizeof spec,
                                   .name = "outer",
                                   .step = outer_step,
                                   .user = &s,
                                   .sequences = &rows,
                                   .n_sequences = 1,
                                   .outputs = outputs,
                                   .n_outputs = 2};
    double want_sums[3], want_rows[6];
    eddy_output out[2];
    trial_result found;

    nested_by_hand(x, 0.25, want_sums, want_rows);
    program_want_ok(&p,
                    eddy_theano_scan(p.graph, &spec, out, NULL, NULL, &p.err));
    found = trial_both(&p, feeds, 3, out[0]);
    trial_want(&found, &TRIAL_SHAPE(3), want_sums);
    found = trial_both(&p, feeds, 3, out[1]);
    trial_want(&found, &TRIAL_SHAPE(3, 2), want_rows);
    trial_gradients(&p, feeds, 3, out[0]);
}
END_TEST

/* A scan, with everything, in the body of a while and in a branch. */
START_TEST(a_scan_in_a_loop_and_in_a_branch)
{
    const eddy_output trips = program_int(&p, 3);
    trial_result found;
    decaying d;
    counted c;
    eddy_output next;

    decaying_init(&d, &p, 4, 100);
    c = construct_counted(&p, trips, d.feeds[1].at);
    construct_cond(&p, binary("Less", c.i, program_int(&p, 2)));
    d.h.initial = &c.now;
    d.spec.has_until = true;
    d.spec.truncate_gradient = 3;
    program_want_ok(&p, decaying_scan(&d, &p));
    construct_else(&p, d.last);
    next = construct_end_cond(&p, binary("Mul", c.now, d.feeds[2].at));
    construct_end_counted(&p, &c, next);
    found = decaying_run(&d, &p, c.results[1]);
    /* Twice through x, then halved: ((0 / 16 + 6.125) / 16 + 6.125) / 2. */
    trial_want(&found, &scalar, &(const double){(6.125 / 16 + 6.125) / 2});
}
END_TEST

TCase *theano_options_tests(void)
{
    TCase *tc = tcase_create("theano_options");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, values_from_outside_are_captured);
    tcase_add_test(tc, until_ends_the_scan);
    tcase_add_test(tc, until_may_find_no_items);
    tcase_add_loop_test(tc, the_number_of_steps_comes_at_run_time, 0,
                        N_OF(step_dtypes));
    tcase_add_loop_test(tc, a_truncated_gradient_is_that_of_the_last_steps, 0,
                        4);
    tcase_add_test(tc, a_truncated_gradient_holds_for_captures);
    tcase_add_test(tc, maps_and_folds);
    tcase_add_test(tc, a_scan_in_a_scan_captures_through_both);
    tcase_add_test(tc, a_scan_in_a_loop_and_in_a_branch);
    return tc;
}
