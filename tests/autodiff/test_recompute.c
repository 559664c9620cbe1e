/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients asked for in the body of a loop, with respect to what is outside of
 * it and has many elements, or none that are known: trips are made again.
 */
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define TRIPS 4

/*
 * while (i < n) { i += 1; BODY; s += d }: s sums what is asked for in the body,
 * from z, of x's shape; v starts from x.
 */
#define LOOP(body)                                                             \
    "i0 int32=0\nn int32=4\none int32=1\n"                                     \
    "i/e Enter@w i0\ni/m Merge i/e i/n\ni/l Enter@w! n\n"                      \
    "less Less i/m i/l\nc LoopCond less\ni/s Switch i/m c\n"                   \
    "i/o Enter@w! one\ni/a AddV2 i/s:1 i/o\ni/n NextIteration i/a\n"           \
    "i/x Exit i/s\nz ZerosLike x\n"                                            \
    "v/e Enter@w x\nv/m Merge v/e v/n\nv/s Switch v/m c\n" body                \
    "v/n NextIteration v/b\nv/x Exit v/s\n"                                    \
    "s/e Enter@w z\ns/m Merge s/e s/n\ns/s Switch s/m c\n"                     \
    "s/b AddV2 s/s:1 s/s:1\ns/n NextIteration s/b\ns/x Exit s/s\n"

static program p;

static eddy_output named(const char *name)
{
    return program_output(&p, name);
}

/* What the copies do for the values of their trips, in turn. */
static eddy_tape_policy policy;

static eddy_output gradient(eddy_output y, eddy_output x)
{
    const eddy_gradient_options options = {.size = sizeof options,
                                           .tape = policy};
    eddy_output dx;

    if (eddy_gradients(p.graph, &y, 1, &x, 1, &options, &dx, &p.err) != EDDY_OK)
        ck_abort_msg("%s: %s", p.err.node, p.err.message);
    ck_assert_uint_ne(dx.node, EDDY_NO_NODE);
    return dx;
}

/* What stands in the body is summed over the trips. */
static void sum_up(const char *sum, eddy_output in_body)
{
    ck_assert_int_eq(
        eddy_graph_set_input(p.graph, named(sum).node, 1, in_body, &p.err),
        EDDY_OK);
}

static const double *values_of(eddy_output fetch)
{
    program_plan_outputs(&p, &fetch, 1);
    program_run(&p);
    return eddy_tensor_data(eddy_run_fetch(p.run, 0));
}

/* ---- closed forms ---- */

#define X20                                                                    \
    "x float64[20]=0.5,0.6,0.7,0.8,0.9,1,1.1,1.2,1.25,1.3,0.4,0.3,0.2,0.1,"    \
    "-0.1,-0.2,-0.3,-0.5,-0.7,-1\n"

static double x20(int i)
{
    static const double x[] = {0.5,  0.6,  0.7,  0.8,  0.9,  1,   1.1,
                               1.2,  1.25, 1.3,  0.4,  0.3,  0.2, 0.1,
                               -0.1, -0.2, -0.3, -0.5, -0.7, -1};

    return x[i];
}

/* v is x^(2^k) at trip k. */
static double sum_of_squares(double x)
{
    double sum = 0;

    for (int k = 1; k <= TRIPS; k++)
        sum += pow(2, k) * pow(x, pow(2, k) - 1);
    return sum;
}

static void want_squares(uint32_t n_workers, const char *x)
{
    const double *sums;
    char text[2000];

    (void)snprintf(text, sizeof text, "%s%s", x, LOOP("v/b Mul v/s:1 v/s:1\n"));
    program_init(&p, n_workers);
    program_build(&p, text);
    sum_up("s/b", gradient(named("v/b"), named("x")));
    sums = values_of(named("s/x"));
    for (int i = 0; i < 20; i++)
        ck_assert_double_eq_tol(sums[i], sum_of_squares(x20(i)), 1e-9);
    program_deinit(&p);
}

START_TEST(a_vector_of_many_elements)
{
    want_squares(_i ? 4 : 0, X20);
}
END_TEST

/* y in a branch of the body: zero in the trips that do not take it. */
START_TEST(in_a_branch_of_the_body)
{
    const double *sums;

    program_init(&p, 0);
    program_build(&p, X20 "twos int32=2\nzeros int32=0\n" LOOP(
                          "two Enter@w! twos\nodd FloorMod i/s:1 two\n"
                          "zero Enter@w! zeros\np Greater odd zero\n"
                          "b/s Switch v/s:1 p\nb/t Mul b/s:1 b/s:1\n"
                          "v/b Merge b/s b/t\n"));
    sum_up("s/b", gradient(named("b/t"), named("x")));
    sums = values_of(named("s/x"));
    /* x^2 in the second trip, x^4 in the last. */
    for (int i = 0; i < 20; i++)
        ck_assert_double_eq_tol(sums[i], 2 * x20(i) + 4 * pow(x20(i), 3),
                                1e-12);
    program_deinit(&p);
}
END_TEST

/* y where the loop decides whether to go on, which it does once more. */
START_TEST(in_the_condition)
{
    const double *sums;
    eddy_output dx;

    program_init(&p, 0);
    program_build(&p, X20 LOOP("y Mul v/m v/m\nv/b Mul v/s:1 v/s:1\n"));
    dx = program_binary(&p, "Switch", gradient(named("y"), named("x")),
                        named("c"));
    dx.index = 1;
    sum_up("s/b", dx);
    sums = values_of(named("s/x"));
    for (int i = 0; i < 20; i++)
        ck_assert_double_eq_tol(sums[i], sum_of_squares(x20(i)), 1e-9);
    program_deinit(&p);
}
END_TEST

/* Sum of d2/dx2 of x^(2^k). */
START_TEST(the_second_order)
{
    const double *sums;

    program_init(&p, 0);
    program_build(&p, X20 LOOP("v/b Mul v/s:1 v/s:1\n"));
    sum_up("s/b", gradient(gradient(named("v/b"), named("x")), named("x")));
    sums = values_of(named("s/x"));
    for (int i = 0; i < 20; i++) {
        double sum = 0;

        for (int k = 1; k <= TRIPS; k++)
            sum += pow(2, k) * (pow(2, k) - 1) * pow(x20(i), pow(2, k) - 2);
        ck_assert_double_eq_tol(sums[i], sum, 1e-9);
    }
    program_deinit(&p);
}
END_TEST

/* ---- against the gradient of the whole, and differences ---- */

#define N 6
#define STEP 1e-5

static const double at[N] = {0.3, 0.7, 0.9, 0.2, 0.6, 0.5};

/* The sums over the trips: of y, of its gradient by x, and of that's. */
#define SUM(name, start)                                                       \
    name "/e Enter@w " start "\n" name "/m Merge " name "/e " name "/n\n" name \
         "/s Switch " name "/m c\n" name "/b AddV2 " name "/s:1 " name         \
         "/s:1\n" name "/n NextIteration " name "/b\n" name "/x Exit " name    \
         "/s\n"
#define SUMS(y, s) SUM("t", y) SUM("s", s) SUM("h", s)
#define COUNTER                                                                \
    "i/e Enter@w i0\ni/m Merge i/e i/n\ni/l Enter@w! n\n"                      \
    "less Less i/m i/l\nc LoopCond less\ni/s Switch i/m c\n"                   \
    "i/o Enter@w! one\ni/a AddV2 i/s:1 i/o\ni/n NextIteration i/a\n"           \
    "i/x Exit i/s\n"
#define OUTSIDE                                                                \
    "i0 int32=0\nn int32=4\none int32=1\naxes int32[2]=0,1\nz ZerosLike x\n"   \
    "t0 Sum z axes\nw float64[3,3]=0.3,-0.7,0.9,0.4,0.6,-0.6,0.2,0.5,-0.1\n"
/* y is made in the body of what the trip makes. */
#define BODY(body)                                                             \
    OUTSIDE COUNTER                                                            \
        "v/e Enter@w x\nv/m Merge v/e v/n\nv/s Switch v/m c\n" body            \
        "v/n NextIteration v/b\nax Enter@w! axes\ny Sum q ax\n" SUMS("t0",     \
                                                                     "z")

typedef struct summed {
    const char *text;
    const char *dims; /* of x; what is fed is 2 x 3 */
} summed;

static const summed programs[] = {
    {BODY("v/b Mul v/s:1 v/s:1\nq Sin v/b\n"), "?,?"},
    {BODY("v/b Mul v/s:1 v/s:1\nq Sin v/s:1\n"), "?,3"},
    /* A matrix, an invariant; several uses of the state. */
    {BODY("w/e Enter@w! w\nu MatMul v/s:1 w/e\nv/b Tanh u\nq Mul v/b v/s:1\n"),
     "2,?"},
    /* x is an invariant, too. */
    {BODY("x/e Enter@w! x\nu Mul v/s:1 x/e\nv/b Sin u\nq Mul v/b x/e\n"),
     "?,?"},
    /* Several states, which x starts in two ways. */
    {"x2 Mul x x\n" BODY("u/e Enter@w x2\nu/m Merge u/e u/n\nu/s Switch u/m c\n"
                         "u/b Sin v/s:1\nu/n NextIteration u/b\n"
                         "v/b AddV2 v/s:1 u/s:1\nq Mul u/s:1 v/b\n"),
     "?,?"},
    /* A state that only the others' next values read. */
    {"k float64=0.5\n" BODY(
         "u/e Enter@w k\nu/m Merge u/e u/n\nu/s Switch u/m c\n"
         "u/b Mul u/s:1 u/s:1\nu/n NextIteration u/b\n"
         "v/a Cos v/s:1\nv/b Mul v/a u/s:1\nq Square v/b\n"),
     "?,?"},
    /* A branch in the body, by the state and by the counter. */
    {"zero int32=0\ntwo int32=2\n" BODY(
         "zero/e Enter@w! zero\ntwo/e Enter@w! two\n"
         "odd FloorMod i/s:1 two/e\np Greater odd zero/e\n"
         "b/s Switch v/s:1 p\nb/t Mul b/s:1 b/s:1\nb/f Sin b/s\n"
         "v/b Merge b/f b/t\nq Mul v/b v/s:1\n"),
     "?,?"},
    /* A loop in the body. */
    {"j0 int32=0\nm int32=3\n" BODY(
         "j0/i Enter@w! j0\nm/i Enter@w! m\nj1/i Enter@w! one\n"
         "j/e Enter@q j0/i\nj/m Merge j/e j/n\nj/l Enter@q! m/i\n"
         "jl Less j/m j/l\nd LoopCond jl\nj/s Switch j/m d\n"
         "j/o Enter@q! j1/i\nj/a AddV2 j/s:1 j/o\nj/n NextIteration j/a\n"
         "j/x Exit j/s\n"
         "u/e Enter@q v/s:1\nu/m Merge u/e u/n\nu/s Switch u/m d\n"
         "g/e Enter@q! v/s:1\nu/a Sin u/s:1\nu/b AddV2 u/a g/e\n"
         "u/n NextIteration u/b\nu/x Exit u/s\n"
         "v/b Sin u/x\nq Mul v/b v/s:1\n"),
     "?,?"},
    /* The state is a list. */
    {"e0 int32[1]=3\ni1 int32=1\nl0 TensorListFromTensor x e0\n" BODY(
         "l/e Enter@w l0\nl/m Merge l/e l/n\nl/s Switch l/m c\n"
         "e0/e Enter@w! e0\ni0/e Enter@w! i0\ni1/e Enter@w! i1\n"
         "a TensorListGetItem l/s:1 i0/e e0/e element_dtype=float64\n"
         "b TensorListGetItem l/s:1 i1/e e0/e element_dtype=float64\n"
         "aa Sin b\nbb Mul a b\n"
         "la TensorListSetItem l/s:1 i0/e aa\n"
         "lb TensorListSetItem la i1/e bb\nl/n NextIteration lb\n"
         "v/b Identity v/s:1\nq0 Mul a bb\nax0 Enter@w! i0\n"
         "q ExpandDims q0 ax0\n"),
     "2,?"},
};

#define N_PROGRAMS ((int)(sizeof programs / sizeof programs[0]))

static const double *values_at(size_t fetch, const double *x)
{
    const eddy_shape shape = {.rank = 2, .dims = {2, 3}};
    eddy_tensor *fed = program_tensor(&p, EDDY_FLOAT64, &shape, x);

    program_make_run(&p);
    ck_assert_int_eq(eddy_run_feed(p.run, 0, fed, &p.err), EDDY_OK);
    eddy_tensor_release(fed);
    program_run(&p);
    return eddy_tensor_data(eddy_run_fetch(p.run, fetch));
}

static void plan_sums(const char *sums, eddy_output whole, eddy_output second)
{
    char fetches[600];

    (void)snprintf(fetches, sizeof fetches, "%s %s:%u %s:%u", sums,
                   eddy_graph_node_name(p.graph, whole.node), whole.index,
                   eddy_graph_node_name(p.graph, second.node), second.index);
    program_plan(&p, "x", fetches);
}

static void want_equal(const char *what, const double *got, const double *want,
                       double tolerance)
{
    for (int i = 0; i < N; i++)
        ck_assert_msg(fabs(got[i] - want[i]) <= tolerance * (1 + fabs(want[i])),
                      "%s[%d]: %.12g, wanted %.12g", what, i, got[i], want[i]);
}

/* The gradients of the trips, summed, are those of the sum. */
static void want_sums(void)
{
    double sums[4][N], differences[N];

    (void)values_at(0, at);
    for (size_t f = 0; f < 4; f++)
        memcpy(sums[f], eddy_tensor_data(eddy_run_fetch(p.run, f + 1)),
               sizeof sums[f]);
    for (int i = 0; i < N; i++) {
        double moved[N], up;

        memcpy(moved, at, sizeof moved);
        moved[i] += STEP;
        up = values_at(0, moved)[0];
        moved[i] -= 2 * STEP;
        differences[i] = (up - values_at(0, moved)[0]) / (2 * STEP);
    }
    want_equal("by differences", sums[0], differences, 1e-6);
    want_equal("of the whole", sums[0], sums[2], 1e-11);
    want_equal("second order", sums[1], sums[3], 1e-11);
}

/* The name of the sum of y; that, and those of its gradients. */
static void check_sums(const summed *s, uint32_t n_workers, const char *sum,
                       const char *sums)
{
    eddy_output x, y, dx, whole;
    char declared[64];

    (void)snprintf(declared, sizeof declared, "x ?float64[%s]\n", s->dims);
    program_init(&p, n_workers);
    program_build(&p, declared);
    program_build(&p, s->text);
    x = named("x");
    y = named("y");
    dx = gradient(y, x);
    sum_up("t/b", y);
    sum_up("h/b", gradient(dx, x));
    sum_up("s/b", dx);
    whole = gradient(named(sum), x);
    plan_sums(sums, whole, gradient(whole, x));
    want_sums();
    program_deinit(&p);
}

START_TEST(sums_over_the_trips_agree)
{
    policy = _i % 4 < 2 ? EDDY_TAPE_DEFAULT : EDDY_TAPE_RECOMPUTE;
    check_sums(&programs[_i / 4], _i % 2 ? 4 : 0, "t/x", "t/x s/x h/x");
}
END_TEST

/* ---- loops in loops ---- */

/*
 * The body that asks is that of a loop in a loop, x outside of both: `o` makes
 * 3 trips, `w` 4 in each; sums go through both.
 */
#define OUTER(name, start)                                                     \
    name "/oe Enter@o " start "\n" name "/om Merge " name "/oe " name          \
         "/on\n" name "/os Switch " name "/om oc\n"
#define OUTER_END(name)                                                        \
    name "/on NextIteration " name "/x\n" name "/ox Exit " name "/os\n"

static const char nested[] =
    "i0 int32=0\nn int32=3\none int32=1\naxes int32[2]=0,1\nz ZerosLike x\n"
    "t0 Sum z axes\nm int32=4\n"
    "k/e Enter@o i0\nk/m Merge k/e k/n\nk/l Enter@o! n\nkl Less k/m k/l\n"
    "oc LoopCond kl\nk/s Switch k/m oc\nk/o Enter@o! one\n"
    "k/a AddV2 k/s:1 k/o\nk/n NextIteration k/a\n"
    "i00 Enter@o! i0\nm/o Enter@o! m\nax/o Enter@o! axes\n"
    "x/o Enter@o! x\n" OUTER("v", "x") OUTER("t", "t0") OUTER("s", "z") OUTER(
        "h",
        "z") "v0 Sin v/os:1\n"
             "i/e Enter@w i00\ni/m Merge i/e i/n\ni/l Enter@w! m/o\n"
             "less Less i/m i/l\nc LoopCond less\ni/s Switch i/m c\n"
             "i/o Enter@w! k/o\ni/a AddV2 i/s:1 i/o\ni/n NextIteration i/a\n"
             "i/x Exit i/s\n"
             "v/e Enter@w v0\nv/m Merge v/e v/n\nv/s Switch v/m c\n"
             "a/e Enter@w! v/os:1\nx/e Enter@w! x/o\n"
             "va Mul v/s:1 a/e\nv/b AddV2 va x/e\nv/n NextIteration v/b\n"
             "v/xx Exit v/s\nv/x Cos v/xx\n"
             "ax Enter@w! ax/o\nq Mul v/b v/s:1\ny Sum q ax\n" SUM(
                 "t", "t/os:1") SUM("s", "s/os:1") SUM("h", "h/os:1")
                 OUTER_END("v") OUTER_END("t") OUTER_END("s") OUTER_END("h");

START_TEST(through_loops_around_the_body)
{
    const summed s = {nested, "?,?"};

    policy = EDDY_TAPE_DEFAULT;
    check_sums(&s, _i ? 4 : 0, "t/ox", "t/ox s/ox h/ox");
}
END_TEST

/* ---- what is constant, and what cannot be made again ---- */

/* A stop in the body holds in the trips that are over. */
START_TEST(a_stop_holds_in_every_trip)
{
    eddy_gradient_options options = {.size = sizeof options, .n_stop = 1};
    eddy_output y, x, dx, stop;
    const double *sums;

    program_init(&p, 0);
    program_build(&p, X20 LOOP("v/a Mul v/s:1 v/s:1\nv/c Identity v/s:1\n"
                               "v/b AddV2 v/a v/c\n"));
    y = named("v/b");
    x = named("x");
    stop = named("v/a");
    options.stop = &stop;
    ck_assert_int_eq(
        eddy_gradients(p.graph, &y, 1, &x, 1, &options, &dx, &p.err), EDDY_OK);
    sum_up("s/b", dx);
    sums = values_of(named("s/x"));
    for (int i = 0; i < 20; i++)
        ck_assert_double_eq_tol(sums[i], TRIPS, 1e-12);
    program_deinit(&p);
}
END_TEST

START_TEST(what_has_a_state_is_named)
{
    eddy_output y, x, dx;

    program_init(&p, 0);
    program_build(&p, X20 "shape int32[1]=20\n" LOOP(
                          "sh Enter@w! shape\n"
                          "noise RandomUniform sh ^i/a dtype=float64\n"
                          "v/b Mul v/s:1 noise\n"));
    y = named("v/b");
    x = named("x");
    program_want(&p, eddy_gradients(p.graph, &y, 1, &x, 1, NULL, &dx, &p.err),
                 EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT);
    ck_assert_str_eq(p.err.node, "noise");
    ck_assert_uint_eq(dx.node, EDDY_NO_NODE);
    /* The loop still runs. */
    (void)values_of(named("v/x"));
    program_deinit(&p);
}
END_TEST

START_TEST(a_complex_state)
{
    const float *sums;
    eddy_output fetch;

    program_init(&p, 0);
    program_build(&p, "re float32[2]=0.5,0.8\nim float32[2]=0.25,-0.5\n"
                      "x Complex re im\n" LOOP("v/b Mul v/s:1 v/s:1\n"));
    sum_up("s/b", gradient(named("v/b"), named("x")));
    fetch = named("s/x");
    program_plan_outputs(&p, &fetch, 1);
    program_run(&p);
    sums = eddy_tensor_data(eddy_run_fetch(p.run, 0));
    /* Of z^(2^k) the conjugate of the derivative, as all rules have it. */
    for (size_t i = 0; i < 2; i++) {
        double complex x = i ? 0.8 - 0.5 * I : 0.5 + 0.25 * I, want = 0;

        for (int k = 1; k <= TRIPS; k++)
            want += pow(2, k) * cpow(x, pow(2, k) - 1);
        ck_assert_double_eq_tol(sums[2 * i], creal(want), 1e-5);
        ck_assert_double_eq_tol(sums[2 * i + 1], -cimag(want), 1e-5);
    }
    program_deinit(&p);
}
END_TEST

START_TEST(failing_allocations_leave_a_usable_graph)
{
    bool done = false;

    for (long long n = 0; !done; n += 7) {
        eddy_output x, y, dx;
        eddy_status status;

        program_init(&p, 0);
        program_build(&p, X20 LOOP("v/b Mul v/s:1 v/s:1\n"));
        x = named("x");
        y = named("v/b");
        counting_allocator_allow(&p.counting, n);
        status = eddy_gradients(p.graph, &y, 1, &x, 1, NULL, &dx, &p.err);
        counting_allocator_allow(&p.counting, -1);
        done = status == EDDY_OK;
        if (!done)
            ck_assert_int_eq(status, EDDY_RESOURCE_EXHAUSTED);
        ck_assert_double_eq_tol(values_of(named("v/x"))[5], 1, 1e-12);
        program_deinit(&p);
    }
}
END_TEST

TCase *recompute_tests(void)
{
    TCase *tcase = tcase_create("recompute");

    tcase_add_loop_test(tcase, a_vector_of_many_elements, 0, 2);
    tcase_add_test(tcase, in_a_branch_of_the_body);
    tcase_add_test(tcase, in_the_condition);
    tcase_add_test(tcase, the_second_order);
    tcase_add_loop_test(tcase, sums_over_the_trips_agree, 0, 4 * N_PROGRAMS);
    tcase_add_loop_test(tcase, through_loops_around_the_body, 0, 2);
    tcase_add_test(tcase, a_stop_holds_in_every_trip);
    tcase_add_test(tcase, what_has_a_state_is_named);
    tcase_add_test(tcase, a_complex_state);
    tcase_add_test(tcase, failing_allocations_leave_a_usable_graph);
    return tcase;
}
