/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the generators of stateful random ops live, and in what order nodes in
 * loops draw from them.
 */
#include "tests/aid/loops.h"
#include "tests/aid/probe_ops.h"
#include "tests/suites.h"

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
 * TensorFlow 2.21, the first element of RandomUniformInt(shape=[1], minval=0,
 * maxval=1000, seed=7, seed2=9) in one execution after the other.
 */
static const int64_t draws[] = {51,  800, 136, 589, 277, 948,
                                463, 506, 9,   170, 199, 855};

#define N_DRAWS ((int)(sizeof draws / sizeof *draws))

#define SOURCE                                                                 \
    "n int32[1]=1\n"                                                           \
    "low int64=0\n"                                                            \
    "high int64=1000\n"
#define DRAW "RandomUniformInt n low high seed=7 seed2=9\n"

static eddy_session *make_session(void)
{
    eddy_session *session;

    ck_assert_int_eq(eddy_session_create(p.ctx, &session, &p.err), EDDY_OK);
    return session;
}

static void want_draw(int i)
{
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), draws[i]);
}

START_TEST(a_session_goes_on_where_it_was)
{
    eddy_session *session = make_session();

    program_build(&p, SOURCE "r " DRAW);
    p.run_options.session = session;
    program_plan(&p, NULL, "r");
    for (int i = 0; i < 3; i++)
        want_draw(i);
    /* Another run of another plan is still the same node. */
    program_plan(&p, NULL, "r");
    for (int i = 3; i < 6; i++)
        want_draw(i);
    eddy_session_release(session);
    p.run_options.session = make_session();
    program_plan(&p, NULL, "r");
    want_draw(0);
    eddy_session_release(p.run_options.session);
}
END_TEST

START_TEST(without_a_session_every_execution_starts_afresh)
{
    program_build(&p, SOURCE "r " DRAW);
    program_plan(&p, NULL, "r");
    for (int i = 0; i < 3; i++)
        want_draw(0);
}
END_TEST

START_TEST(nodes_of_the_same_seeds_draw_for_themselves)
{
    program_build(&p, SOURCE "r " DRAW "s " DRAW);
    p.run_options.session = make_session();
    program_plan(&p, NULL, "r");
    want_draw(0);
    want_draw(1);
    program_plan(&p, NULL, "s");
    want_draw(0);
    program_plan(&p, NULL, "r");
    want_draw(2);
    eddy_session_release(p.run_options.session);
}
END_TEST

START_TEST(a_node_of_other_seeds_is_another)
{
    eddy_session *session = make_session();

    program_build(&p, SOURCE "r " DRAW);
    p.run_options.session = session;
    program_plan(&p, NULL, "r");
    want_draw(0);
    program_clear(&p);
    program_build(&p, SOURCE "r RandomUniformInt n low high seed=9 seed2=7\n");
    program_plan(&p, NULL, "r");
    program_run(&p);
    ck_assert_int_ne(program_fetch_int(&p, 0), draws[1]);
    program_clear(&p);
    program_build(&p, SOURCE "r " DRAW);
    program_plan(&p, NULL, "r");
    want_draw(1);
    eddy_session_release(session);
}
END_TEST

/* That two numbers of 62 bits are the same does not happen. */
START_TEST(nobody_foresees_a_node_without_seeds)
{
    int64_t first;

    program_build(&p, "n int32[1]=1\n"
                      "low int64=0\n"
                      "high int64=4611686018427387904\n"
                      "r RandomUniformInt n low high\n"
                      "s RandomUniformInt n low high\n");
    program_plan(&p, NULL, "r s");
    program_run(&p);
    first = program_fetch_int(&p, 0);
    ck_assert_int_ne(first, program_fetch_int(&p, 1));
    program_run(&p);
    ck_assert_int_ne(first, program_fetch_int(&p, 0));
}
END_TEST

/* ---- in loops ---- */

/* What a loop brings in from outside. */
typedef struct level {
    loop loop;
    eddy_output zero, one, base, trips; /* base: of the accumulator */
    eddy_output n, low, high, axis;     /* of the node */
} level;

static level begin_level(const level *outside, const char *frame,
                         eddy_output trips)
{
    const eddy_output initial[] = {outside->zero, outside->zero};
    level l = {.loop = {.p = &p, .frame = frame, .parallel_iterations = 32}};

    if (outside->loop.p)
        l.loop.within = &outside->loop.body;
    loop_begin(&l.loop, initial, 2);
    l.zero = loop_invariant(&l.loop, outside->zero);
    l.one = loop_invariant(&l.loop, outside->one);
    l.base = loop_invariant(&l.loop, outside->base);
    l.n = loop_invariant(&l.loop, outside->n);
    l.low = loop_invariant(&l.loop, outside->low);
    l.high = loop_invariant(&l.loop, outside->high);
    l.axis = loop_invariant(&l.loop, outside->axis);
    l.trips = loop_invariant(&l.loop, trips);
    loop_while(&l.loop, program_binary(&p, "Less", l.loop.merge[0], l.trips));
    return l;
}

/* a = a * base + addend */
static void end_level(level *l, eddy_output addend)
{
    const eddy_output next[] = {
        program_binary(&p, "AddV2", l->loop.inside[0], l->one),
        program_binary(&p, "AddV2",
                       program_binary(&p, "Mul", l->loop.inside[1], l->base),
                       addend)};

    loop_end(&l->loop, next);
}

/*
 * What the node draws in the loop's body, as a scalar.  It waits for something
 * that comes sooner in some iterations than in others; nothing else would keep
 * it from being late.
 */
static eddy_output draw_in(const level *l)
{
    const int64_t seed = 7, seed2 = 9;
    const eddy_attr attrs[] = {eddy_attr_int("seed", &seed),
                               eddy_attr_int("seed2", &seed2)};
    const eddy_output late = program_unary(&p, "Later", l->n);
    const eddy_output inputs[] = {late, l->low, l->high};
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = "RandomUniformInt",
                                 .name = "r",
                                 .inputs = inputs,
                                 .n_inputs = 3,
                                 .attrs = attrs,
                                 .n_attrs = 2};
    eddy_output out = {.index = 0};

    program_control(&p, late.node, l->loop.body);
    ck_assert_msg(eddy_graph_add(p.graph, &spec, &out.node, &p.err) == EDDY_OK,
                  "%s", p.err.message);
    return program_binary(&p, "Sum", out, l->axis);
}

static level begin_root(void)
{
    program_build(&p, SOURCE "zero int64=0\n"
                             "one int64=1\n"
                             "base int64=31\n"
                             "axis int32=0\n");
    return (level){.zero = program_output(&p, "zero"),
                   .one = program_output(&p, "one"),
                   .base = program_output(&p, "base"),
                   .n = program_output(&p, "n"),
                   .low = program_output(&p, "low"),
                   .high = program_output(&p, "high"),
                   .axis = program_output(&p, "axis")};
}

static void run_loop(const eddy_output *result, int n_draws, int64_t base,
                     int64_t n_outer)
{
    uint64_t want = 0;

    program_plan_outputs(&p, result, 1);
    for (int i = 0; i < n_draws;) {
        uint64_t part = 0;

        for (int64_t j = 0; j < n_draws / n_outer; j++)
            part = part * (uint64_t)base + (uint64_t)draws[i++];
        want = want * (uint64_t)base + part;
    }
    for (int again = 0; again < 3; again++) {
        later_start(0, 1000 * 1000);
        program_run(&p);
        later_stop();
        ck_assert((uint64_t)program_fetch_int(&p, 0) == want);
    }
}

static const uint32_t worker_counts[] = {0, 1, 4};

static void restart(uint32_t n_workers)
{
    program_deinit(&p);
    program_init(&p, n_workers);
    probe_ops_register(&p);
}

START_TEST(iterations_draw_in_order)
{
    level root, l;

    restart(worker_counts[_i]);
    root = begin_root();
    l = begin_level(&root, "loop", program_int(&p, N_DRAWS));
    end_level(&l, draw_in(&l));
    run_loop(&l.loop.exit[1], N_DRAWS, 31, N_DRAWS);
}
END_TEST

/* 4 iterations, each with a loop of 3. */
START_TEST(iterations_of_inner_loops_draw_in_order)
{
    level root, outer, inner;

    restart(worker_counts[_i]);
    root = begin_root();
    outer = begin_level(&root, "outer", program_int(&p, 4));
    inner = begin_level(&outer, "inner",
                        loop_invariant(&outer.loop, program_int(&p, 3)));
    end_level(&inner, draw_in(&inner));
    end_level(&outer, inner.loop.exit[1]);
    run_loop(&outer.loop.exit[1], N_DRAWS, 31, 4);
}
END_TEST

TCase *random_state_tests(void)
{
    TCase *tc = tcase_create("random_state");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_session_goes_on_where_it_was);
    tcase_add_test(tc, without_a_session_every_execution_starts_afresh);
    tcase_add_test(tc, nodes_of_the_same_seeds_draw_for_themselves);
    tcase_add_test(tc, a_node_of_other_seeds_is_another);
    tcase_add_test(tc, nobody_foresees_a_node_without_seeds);
    tcase_add_loop_test(tc, iterations_draw_in_order, 0, 3);
    tcase_add_loop_test(tc, iterations_of_inner_loops_draw_in_order, 0, 3);
    return tc;
}
