/* SPDX-License-Identifier: Apache-2.0 */
/* Products that level full adds in place. */
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <string.h>

static void plan_at(program *p, eddy_optimize level, const char *feeds,
                    const char *fetches)
{
    p->plan_options.optimize = level;
    program_plan(p, feeds, fetches);
}

/* How many nodes level full saves. */
static size_t count_fused(program *p, const char *feeds, const char *fetches)
{
    size_t before;

    plan_at(p, EDDY_OPTIMIZE_EXACT, feeds, fetches);
    before = eddy_plan_nodes(p->plan);
    plan_at(p, EDDY_OPTIMIZE_FULL, feeds, fetches);
    return before - eddy_plan_nodes(p->plan);
}

/* a is [2,3], b [3,2]; the product [[14, 20], [32, 47]] with b as below. */
#define FACTORS                                                                \
    "a float32[2,3]=1,2,3,4,5,6\n"                                             \
    "b float32[3,2]=1,2,2,3,3,4\n"                                             \
    "ab MatMul a b\n"

static const struct sum_row {
    const char *text;
    int64_t dims[2];
    double want[9];
    size_t n_fused;
} sums[] = {
    {FACTORS "s float32[2,2]=1,2,3,4\ny AddV2 s ab",
     {2, 2},
     {15, 22, 35, 51},
     1},
    {FACTORS "s float32[2,2]=1,2,3,4\ny AddV2 ab s",
     {2, 2},
     {15, 22, 35, 51},
     1},
    {FACTORS "s float32[2,2]=1,2,3,4\ny Add s ab", {2, 2}, {15, 22, 35, 51}, 1},
    {FACTORS "s float32[2,2]=1,2,3,4\ny AddN s ab",
     {2, 2},
     {15, 22, 35, 51},
     1},
    /* Known to be of another shape: left as it is. */
    {FACTORS "s float32[1,2]=1,2\ny AddV2 s ab", {2, 2}, {15, 22, 33, 49}, 0},
    {FACTORS "s float32[2]=1,2\ny AddV2 s ab", {2, 2}, {15, 22, 33, 49}, 0},
    /* The factors' shapes come with a run. */
    {"a ?float32[?,?]\nb float32[3,2]=1,2,2,3,3,4\nab MatMul a b\n"
     "s float32[2,2]=1,2,3,4\ny AddV2 s ab",
     {2, 2},
     {15, 22, 35, 51},
     1},
    {"a ?float32[?,?]\nb float32[3,2]=1,2,2,3,3,4\nab MatMul a b\n"
     "s float32[1,2]=1,2\ny AddV2 s ab",
     {2, 2},
     {15, 22, 33, 49},
     1},
    {"a ?float32[?,?]\nb float32[3,2]=1,2,2,3,3,4\nab MatMul a b\n"
     "s float32[1,1]=1\ny AddV2 s ab",
     {2, 2},
     {15, 21, 33, 48},
     0},
    {"a ?float32[?,?]\nb ?float32[?,?]\nab MatMul a b transpose_a=true "
     "transpose_b=true\ns float32[3,3]=1,2,3\ny AddV2 s ab",
     {3, 3},
     {0},
     1},
};

START_TEST(sums_are_the_same)
{
    static const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 2, 2, 3, 3, 4};
    const struct sum_row *row = &sums[_i];
    const bool is_fed = strstr(row->text, "a ?") != NULL;
    const bool feeds_both = strstr(row->text, "b ?") != NULL;
    const char *feeds = feeds_both ? "a b" : is_fed ? "a" : NULL;
    double want[9];
    program p;

    program_init(&p, 0);
    program_build(&p, row->text);
    ck_assert_uint_eq(count_fused(&p, feeds, "y"), row->n_fused);
    for (eddy_optimize level = EDDY_OPTIMIZE_NONE; level <= EDDY_OPTIMIZE_FULL;
         level++) {
        const eddy_shape two_three = {.rank = 2, .dims = {2, 3}};
        const eddy_shape three_two = {.rank = 2, .dims = {3, 2}};
        eddy_tensor *fed_a = program_tensor(&p, EDDY_FLOAT32, &two_three, a);
        eddy_tensor *fed_b = program_tensor(&p, EDDY_FLOAT32, &three_two, b);

        plan_at(&p, level, feeds, "y");
        program_make_run(&p);
        if (is_fed)
            ck_assert_int_eq(eddy_run_feed(p.run, 0, fed_a, &p.err), EDDY_OK);
        if (feeds_both)
            ck_assert_int_eq(eddy_run_feed(p.run, 1, fed_b, &p.err), EDDY_OK);
        eddy_tensor_release(fed_a);
        eddy_tensor_release(fed_b);
        program_run(&p);
        if (level == EDDY_OPTIMIZE_NONE && feeds_both) {
            const float *got = eddy_tensor_data(eddy_run_fetch(p.run, 0));

            for (size_t i = 0; i < 9; i++)
                want[i] = (double)got[i];
        }
        program_want_fetch(&p, 0, 2, row->dims, feeds_both ? want : row->want);
    }
    program_deinit(&p);
}
END_TEST

/* One row of the product, repeated for each of the sum. */
START_TEST(a_product_may_be_repeated)
{
    static const float a[] = {1, 2}, b[] = {3, 4};
    const eddy_shape one_two = {.rank = 2, .dims = {1, 2}};
    const eddy_shape two_one = {.rank = 2, .dims = {2, 1}};
    eddy_tensor *fed;
    program p;

    program_init(&p, 0);
    program_build(&p, "a ?float32[?,?]\nb ?float32[?,?]\nab MatMul a b\n"
                      "s float32[2,2]=1,2,3,4\ny AddV2 s ab");
    ck_assert_uint_eq(count_fused(&p, "a b", "y"), 1);
    fed = program_tensor(&p, EDDY_FLOAT32, &one_two, a);
    program_make_run(&p);
    ck_assert_int_eq(eddy_run_feed(p.run, 0, fed, &p.err), EDDY_OK);
    eddy_tensor_release(fed);
    fed = program_tensor(&p, EDDY_FLOAT32, &two_one, b);
    ck_assert_int_eq(eddy_run_feed(p.run, 1, fed, &p.err), EDDY_OK);
    eddy_tensor_release(fed);
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2, 2),
                       PROGRAM_NUMBERS(12, 13, 14, 15));
    program_deinit(&p);
}
END_TEST

START_TEST(shapes_that_do_not_fit_are_an_error_at_the_sum)
{
    const eddy_shape shape = {.rank = 2, .dims = {3, 3}};
    const float a[9] = {0};
    eddy_tensor *fed;
    program p;

    program_init(&p, 0);
    program_build(&p, "a ?float32[?,?]\nb float32[3,3]=1\nab MatMul a b\n"
                      "s float32[2,3]=1\ny AddV2 s ab");
    ck_assert_uint_eq(count_fused(&p, "a", "y"), 1);
    fed = program_tensor(&p, EDDY_FLOAT32, &shape, a);
    program_make_run(&p);
    ck_assert_int_eq(eddy_run_feed(p.run, 0, fed, &p.err), EDDY_OK);
    eddy_tensor_release(fed);
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
    ck_assert_str_eq(p.err.node, "y");
    program_deinit(&p);
}
END_TEST

static const struct kept_row {
    const char *text, *feeds, *fetches;
} kept[] = {
    /* Somebody else reads the product. */
    {FACTORS "s float32[2,2]=1\ny AddV2 s ab\nz Neg ab", NULL, "y z"},
    {FACTORS "s float32[2,2]=1\ny AddV2 s ab", NULL, "y ab"},
    {FACTORS "s float32[2,2]=1\ny AddV2 s ab", NULL, "y ^ab"},
    {FACTORS "s float32[2,2]=1\ny AddV2 s ab\nz Identity s ^ab", NULL, "y z"},
    {FACTORS "y AddV2 ab ab", NULL, "y"},
    /* It is fed. */
    {FACTORS "s float32[2,2]=1\ny AddV2 s ab", "ab", "y"},
    {FACTORS "s float32[2,2]=1\ny AddV2 s ab\nz Neg y", "y", "z"},
    /* BLAS does not add integers up. */
    {"a int32[2,2]=1\nab MatMul a a\ny AddV2 a ab", NULL, "y"},
    {FACTORS "s float32[2,2]=1\nt float32[2,2]=1\ny AddN s ab t", NULL, "y"},
};

START_TEST(a_product_with_other_readers_stays)
{
    const struct kept_row *row = &kept[_i];
    program p;

    program_init(&p, 0);
    program_build(&p, row->text);
    ck_assert_uint_eq(count_fused(&p, row->feeds, row->fetches), 0);
    program_deinit(&p);
}
END_TEST

/* The loop that sums a gradient: nothing is allocated once it is warm. */
START_TEST(a_loop_adds_up_in_place)
{
    program p;

    program_init(&p, 0);
    program_build(&p, "zero int32=0\n"
                      "sum0 float64[3,3]=0\n"
                      "x0 float64[2,3]=1,2,3,4,5,6\n"
                      "i Enter@w zero\ns Enter@w sum0\nx Enter@w! x0\n"
                      "n0 int32=5\none0 int32=1\n"
                      "n Enter@w! n0\none Enter@w! one0\n"
                      "im Merge i inext\nsm Merge s snext\n"
                      "less Less im n\nlc LoopCond less\n"
                      "is Switch im lc\nss Switch sm lc\n"
                      "add AddV2 is:1 one\ninext NextIteration add\n"
                      "xx MatMul x x transpose_a=true ^is\n"
                      "sadd AddV2 ss:1 xx ^add\nsnext NextIteration sadd\n"
                      "out Exit ss");
    ck_assert_uint_eq(count_fused(&p, NULL, "out"), 1);
    program_run(&p);
    program_run(&p);
    program_want_fetch(
        &p, 0, PROGRAM_DIMS(3, 3),
        PROGRAM_NUMBERS(85, 110, 135, 110, 145, 180, 135, 180, 225));
    program_deinit(&p);
}
END_TEST

/* A plan that runs out of memory half-way leaves nothing behind. */
START_TEST(a_failed_allocation_leaves_nothing)
{
    program p;

    program_init(&p, 0);
    program_build(&p, FACTORS "s float32[2,2]=1\ny AddV2 s ab");
    p.plan_options.optimize = EDDY_OPTIMIZE_FULL;
    for (long long i = 0;; i++) {
        eddy_status status;

        counting_allocator_fail(&p.counting, i);
        status = program_try_plan(&p, NULL, "y");
        counting_allocator_fail(&p.counting, -1);
        if (status == EDDY_OK)
            break;
        ck_assert_int_eq(status, EDDY_RESOURCE_EXHAUSTED);
    }
    program_deinit(&p);
}
END_TEST

TCase *plan_fuse_tests(void)
{
    TCase *tc = tcase_create("plan_fuse");

    tcase_add_loop_test(tc, sums_are_the_same, 0, sizeof sums / sizeof sums[0]);
    tcase_add_test(tc, a_product_may_be_repeated);
    tcase_add_test(tc, shapes_that_do_not_fit_are_an_error_at_the_sum);
    tcase_add_loop_test(tc, a_product_with_other_readers_stays, 0,
                        sizeof kept / sizeof kept[0]);
    tcase_add_test(tc, a_loop_adds_up_in_place);
    tcase_add_test(tc, a_failed_allocation_leaves_nothing);
    return tc;
}
