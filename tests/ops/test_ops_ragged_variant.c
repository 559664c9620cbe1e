/* SPDX-License-Identifier: Apache-2.0 */
/* Ragged tensors in variants: there and back, sums, mistakes, memory. */
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <check.h>

static program p;

static void begin(void)
{
    program_init(&p, 0);
}

static void end(void)
{
    program_deinit(&p);
}

#define RAGGED                                                                 \
    "x float32[6]=1,2,3,4,5,6\ns int64[4]=0,2,2,3\nt int64[4]=0,1,1,6\n"       \
    "z int32=0\none int32=1\n"                                                 \
    "whole RaggedTensorToVariant s t x batched_input=false\n"                  \
    "rows RaggedTensorToVariant s t x batched_input=true\n"
#define BACK(name, from, inner, outer)                                         \
    name " RaggedTensorFromVariant " from " input_ragged_rank=" inner          \
         " output_ragged_rank=" outer " Tvalues=float32\n"

START_TEST(what_goes_in_comes_out)
{
    static const char *const ways[] = {BACK("y", "whole", "2", "2"),
                                       BACK("y", "rows", "-1", "2")};

    program_build(&p, RAGGED);
    program_build(&p, ways[_i]);
    program_plan(&p, NULL, "y y:1 y:2");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(4), PROGRAM_NUMBERS(0, 2, 2, 3));
    program_want_fetch(&p, 1, PROGRAM_DIMS(4), PROGRAM_NUMBERS(0, 1, 1, 6));
    program_want_fetch(&p, 2, PROGRAM_DIMS(6),
                       PROGRAM_NUMBERS(1, 2, 3, 4, 5, 6));
}
END_TEST

START_TEST(each_row_is_a_variant)
{
    program_build(&p, RAGGED "row GatherV2 rows one z Tparams=variant\n" BACK(
                          "y", "row", "1", "1") "n Shape rows T=variant\n");
    program_plan(&p, NULL, "y y:1 n");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(1), PROGRAM_NUMBERS(0));
    program_want_fetch(&p, 1, PROGRAM_DIMS(0), NULL);
    program_want_fetch(&p, 2, PROGRAM_DIMS(1), PROGRAM_NUMBERS(3));
}
END_TEST

/* Splits stay, values are added. */
START_TEST(variants_have_sums_and_zeros)
{
    program_build(&p, RAGGED
                  "o ZerosLike whole T=variant\n"
                  "a AddN whole whole o T=variant\n" BACK("y", "a", "2", "2")
                      BACK("w", "o", "2", "2"));
    program_plan(&p, NULL, "y:1 y:2 w:1 w:2");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(4), PROGRAM_NUMBERS(0, 1, 1, 6));
    program_want_fetch(&p, 1, PROGRAM_DIMS(6),
                       PROGRAM_NUMBERS(2, 4, 6, 8, 10, 12));
    program_want_fetch(&p, 2, PROGRAM_DIMS(4), PROGRAM_NUMBERS(0, 1, 1, 6));
    program_want_fetch(&p, 3, PROGRAM_DIMS(6),
                       PROGRAM_NUMBERS(0, 0, 0, 0, 0, 0));
}
END_TEST

/* A variant that holds no ragged tensor stands for zeros. */
START_TEST(the_gradient_joins_what_variants_hold)
{
    program_build(&p, RAGGED
                  "u int64[3]=0,2,6\nn int32[1]=6\n"
                  "v RaggedTensorToVariant u x batched_input=true\n"
                  "q RaggedTensorToVariantGradient v u n Tvalues=float32\n"
                  "e OptionalNone\nw Pack e whole N=2 T=variant\n"
                  "r RaggedTensorToVariantGradient w u n Tvalues=float32\n"
                  "m int32[1]=8\n"
                  "k RaggedTensorToVariantGradient w u m Tvalues=float32\n");
    program_plan(&p, NULL, "q k");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(6),
                       PROGRAM_NUMBERS(1, 2, 3, 4, 5, 6));
    program_want_fetch(&p, 1, PROGRAM_DIMS(8),
                       PROGRAM_NUMBERS(0, 0, 1, 2, 3, 4, 5, 6));
    program_plan(&p, NULL, "r");
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE);
}
END_TEST

static const struct {
    const char *text;
    eddy_detail detail;
} mistakes[] = {
    {BACK("y", "whole", "1", "2"), EDDY_E_SHAPE},
    {BACK("y", "whole", "-1", "1"), EDDY_E_VALUE},
    {BACK("y", "rows", "-1", "3"), EDDY_E_VALUE},
    {"e OptionalNone\n" BACK("y", "e", "0", "0"), EDDY_E_DTYPE},
    {"y RaggedTensorFromVariant rows input_ragged_rank=1 output_ragged_rank=2 "
     "Tvalues=float64\n",
     EDDY_E_DTYPE},
    {"y RaggedTensorFromVariant rows input_ragged_rank=1 output_ragged_rank=2 "
     "Tvalues=float32 Tsplits=int32\n",
     EDDY_E_DTYPE},
    {"v RaggedTensorToVariant x batched_input=true Tsplits=int64\n" BACK(
         "y", "v", "0", "1"),
     EDDY_E_RANK},
    {"v RaggedTensorToVariant t x batched_input=true\n" BACK("y", "v", "-1",
                                                             "0"),
     EDDY_E_SHAPE},
    {"v RaggedTensorToVariant s x batched_input=true\n" BACK("y", "v", "0",
                                                             "1"),
     EDDY_E_VALUE},
    {"l AddN whole rows T=variant\n" BACK("y", "l", "1", "2"), EDDY_E_SHAPE},
};

START_TEST(mistakes_are_named)
{
    eddy_status status;

    program_build(&p, RAGGED);
    status = program_try_build(&p, mistakes[_i].text);
    if (status == EDDY_OK)
        status = program_try_plan(&p, NULL, "y");
    if (status == EDDY_OK)
        status = program_execute(&p);
    program_want(&p, status, EDDY_INVALID_ARGUMENT, mistakes[_i].detail);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;
    int n;

    program_build(&p,
                  RAGGED "o ZerosLike rows T=variant\n"
                         "a AddN rows o T=variant\n" BACK("y", "a", "1", "2"));
    for (n = 0; status != EDDY_OK; n++) {
        program_plan(&p, NULL, "y:1 y:2");
        program_make_run(&p);
        counting_allocator_allow(&p.counting, n);
        status = program_execute(&p);
        counting_allocator_allow(&p.counting, -1);
        if (status != EDDY_OK)
            program_want(&p, status, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY);
        program_run(&p);
        program_want_fetch(&p, 1, PROGRAM_DIMS(6),
                           PROGRAM_NUMBERS(1, 2, 3, 4, 5, 6));
    }
    ck_assert_int_gt(n, 4);
}
END_TEST

TCase *ops_ragged_variant_tests(void)
{
    TCase *tests = tcase_create("ops_ragged_variant");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_loop_test(tests, what_goes_in_comes_out, 0, 2);
    tcase_add_test(tests, each_row_is_a_variant);
    tcase_add_test(tests, variants_have_sums_and_zeros);
    tcase_add_test(tests, the_gradient_joins_what_variants_hold);
    tcase_add_loop_test(tests, mistakes_are_named, 0,
                        (int)(sizeof mistakes / sizeof *mistakes));
    tcase_add_test(tests, every_allocation_may_fail);
    return tests;
}
