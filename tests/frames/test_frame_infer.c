/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes and constants over a graph with loops and branches. */
#include "frames/analysis/infer.h"

#include "core/context.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <string.h>

static program p;
static eddy_analysis *analysis;
static eddy__arena arena;
static eddy__shapes shapes;

static void setup(void)
{
    program_init(&p, 0);
    analysis = NULL;
}

static void teardown(void)
{
    eddy__arena_destroy(&arena);
    eddy_analysis_destroy(analysis);
    program_deinit(&p);
}

/* `feed` is the node that is fed, and the shape that it is fed with. */
static eddy_status try_to(const char *text, const char *feed, eddy_shape shape)
{
    eddy__selection all = {.graph = p.graph};
    static uint8_t is_fed[64];
    eddy_output fed;

    program_build(&p, text);
    if (feed) {
        fed = program_output(&p, feed);
        memset(is_fed, 0, sizeof is_fed);
        is_fed[fed.node] = 1;
        all.is_fed = is_fed;
        all.feeds = &fed;
        all.n_feeds = 1;
    }
    program_want_ok(&p, eddy_analysis_create(p.graph, &analysis, &p.err));
    arena = (eddy__arena){.allocator = &p.ctx->allocator};
    return eddy__infer_shapes(&all, analysis, &shape, &arena, &shapes, &p.err);
}

static void infer(const char *text)
{
    program_want_ok(&p, try_to(text, NULL, (eddy_shape){.rank = -1}));
}

/* Fails the test unless the shape is a vector of `n`, -1 for any. */
static void want_vector(const char *name, int64_t n)
{
    const eddy_shape *shape = eddy__shape_at(&shapes, program_output(&p, name));

    ck_assert_msg(shape->rank == 1 && shape->dims[0] == n, "%s: rank %d, %lld",
                  name, (int)shape->rank, (long long)shape->dims[0]);
}

static void want_any(const char *name)
{
    const eddy_shape *shape = eddy__shape_at(&shapes, program_output(&p, name));

    ck_assert_msg(shape->rank == -1, "%s has rank %d", name, (int)shape->rank);
}

/* A loop of a vector that starts with two elements. */
#define LOOP(body)                                                             \
    "x float64[2]=1\nb ?bool\n"                                                \
    "e Enter@f x\nm Merge e n\nbe Enter@f! b\n"                                \
    "c LoopCond be\ns Switch m c\n" body "o Exit s\n"

START_TEST(a_shape_that_stays_goes_round)
{
    infer(LOOP("v Neg s:1\nn NextIteration v\n"));
    want_vector("m", 2);
    want_vector("v", 2);
    want_vector("o", 2);
}
END_TEST

START_TEST(a_dimension_that_changes_is_unknown)
{
    infer(LOOP("axis int32=0\nae Enter@f! axis\n"
               "v ConcatV2 s:1 s:1 ae\nn NextIteration v\n"));
    want_vector("m", -1);
    want_vector("v", -1);
    want_vector("o", -1);
}
END_TEST

START_TEST(a_rank_that_changes_is_unknown)
{
    infer(LOOP("axis int32=0\nae Enter@f! axis\n"
               "v ExpandDims s:1 ae\nn NextIteration v\n"));
    want_any("m");
    want_any("o");
}
END_TEST

START_TEST(a_merge_joins_its_branches)
{
    infer("x float64[2]=1\nb ?bool\nw Switch x b\naxis int32=0\n"
          "two Neg w\nfour ConcatV2 w:1 w:1 axis\n"
          "m Merge two four\nsame Merge two w:1\n");
    want_vector("m", -1);
    want_vector("same", 2);
}
END_TEST

START_TEST(a_constant_is_seen_through_what_hands_it_on)
{
    infer("x float64[2]=1\nb ?bool\nw Switch x b\ne Enter@f! w:1\n"
          "i Identity e\nv Neg i\n");
    ck_assert_ptr_nonnull(
        eddy__infer_constant_at(&shapes, program_output(&p, "i")));
    ck_assert_ptr_eq(eddy__infer_constant_at(&shapes, program_output(&p, "i")),
                     eddy__infer_constant_at(&shapes, program_output(&p, "x")));
    ck_assert_ptr_null(
        eddy__infer_constant_at(&shapes, program_output(&p, "v")));
}
END_TEST

#define OPEN "x Placeholder dtype=float64 shape=?\ny float64[3]=1\nb ?bool\n"

START_TEST(shapes_that_do_not_fit_are_refused_where_they_meet)
{
    const eddy_shape two = {.rank = 1, .dims = {2}};

    program_want(&p, try_to(OPEN "v Neg x\nz Add v y\n", "x", two),
                 EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    ck_assert_str_eq(p.err.node, "z");
}
END_TEST

START_TEST(a_branch_that_may_not_be_taken_is_not_refused)
{
    const eddy_shape two = {.rank = 1, .dims = {2}};

    program_want_ok(&p, try_to(OPEN "w Switch x b\nz Add w:1 y\n"
                                    "after Neg z\n",
                               "x", two));
    want_vector("w", 2);
    want_any("z");
    want_any("after");
}
END_TEST

TCase *frame_infer_tests(void)
{
    TCase *tc = tcase_create("frame_infer");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_shape_that_stays_goes_round);
    tcase_add_test(tc, a_dimension_that_changes_is_unknown);
    tcase_add_test(tc, a_rank_that_changes_is_unknown);
    tcase_add_test(tc, a_merge_joins_its_branches);
    tcase_add_test(tc, a_constant_is_seen_through_what_hands_it_on);
    tcase_add_test(tc, shapes_that_do_not_fit_are_refused_where_they_meet);
    tcase_add_test(tc, a_branch_that_may_not_be_taken_is_not_refused);
    return tc;
}
