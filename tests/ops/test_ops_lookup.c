/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookup tables: pairs go in, are found and go out, in loops and over several
 * runs, and mistakes.
 */
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <check.h>

static program p;

static void begin(void)
{
    program_init_session(&p);
}

static void end(void)
{
    program_deinit(&p);
}

#define MUTABLE "t MutableHashTableV2 key_dtype=%int64 value_dtype=%float32\n"

/* A table that a run fills is there in the next one of the session. */
START_TEST(pairs_outlive_the_run)
{
    program_build(&p,
                  MUTABLE "k int64[3]=5,-1,5\nv float32[3]=1,2,3\n"
                          "i LookupTableInsertV2 t k v\n"
                          "q int64[3]=5,7,-1\nd float32=9\n"
                          "f LookupTableFindV2 t q d\ns LookupTableSizeV2 t\n"
                          "r LookupTableRemoveV2 t q\n");
    program_plan(&p, NULL, "^i");
    program_run(&p);
    program_plan(&p, NULL, "f s");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(3), PROGRAM_NUMBERS(3, 9, 2));
    ck_assert_int_eq(program_fetch_int(&p, 1), 2);
    program_plan(&p, NULL, "^r");
    program_run(&p);
    program_plan(&p, NULL, "s");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 0);
}
END_TEST

/*
 * The loop puts 0..299 in, of which every key above 99 goes out again: slots of
 * what is left still lead to it.
 */
START_TEST(what_is_left_is_found)
{
    program_build(&p, MUTABLE
                  "i0 int64=0\nn int64=300\none int64=1\nhundred int64=100\n"
                  "ie Enter@f i0\nte Enter@f! t\nne Enter@f! n\n"
                  "oe Enter@f! one\nm Merge ie in\nl Less m ne\n"
                  "c LoopCond l\ns Switch m c\nx Cast s:1 DstT=%float32\n"
                  "put LookupTableInsertV2 te s:1 x\n"
                  "a AddV2 s:1 oe ^put\nin NextIteration a\nout Exit s\n"
                  "over Range hundred n one ^out\n"
                  "r LookupTableRemoveV2 t over\n"
                  "all Range i0 n one ^r\nd float32=-1\n"
                  "f LookupTableFindV2 t all d\nsum0 int32[1]=0\n"
                  "sum Sum f sum0\nz LookupTableSizeV2 t ^r\n"
                  "e LookupTableExportV2 t Tkeys=%int64 Tvalues=%float32 ^r\n"
                  "ek Sum e sum0\n");
    program_plan(&p, NULL, "sum z ek");
    program_run(&p);
    ck_assert(program_fetch_float(&p, 0) == 99 * 100 / 2 - 200);
    ck_assert_int_eq(program_fetch_int(&p, 1), 100);
    ck_assert_int_eq(program_fetch_int(&p, 2), 99 * 100 / 2);
}
END_TEST

START_TEST(texts_are_keys_and_values)
{
    program_build(&p, "t HashTableV2 key_dtype=%string value_dtype=%string\n"
                      "k string[2]=a,b\nv string[2]=one,two\nd string=none\n"
                      "i InitializeTableV2 t k v\n"
                      "q string[3]=b,z,a\n"
                      "f LookupTableFindV2 t q d ^i\n");
    program_plan(&p, NULL, "f");
    for (int i = 0; i < 2; i++) {
        const eddy_tensor *f;

        program_run(&p);
        f = eddy_run_fetch(p.run, 0);
        ck_assert_str_eq(eddy_tensor_string(f, 0).data, "two");
        ck_assert_str_eq(eddy_tensor_string(f, 1).data, "none");
        ck_assert_str_eq(eddy_tensor_string(f, 2).data, "one");
    }
}
END_TEST

/* Each execution has a table of its own. */
START_TEST(a_table_may_have_no_name)
{
    program_build(&p, "e string=\ng string=$\nk string=key\nv float32=4\n"
                      "t AnonymousMutableDenseHashTable e g "
                      "key_dtype=%string value_dtype=%float32\n"
                      "b LookupTableSizeV2 t\n"
                      "i LookupTableInsertV2 t k v ^b\n"
                      "s LookupTableSizeV2 t ^i\n");
    program_plan(&p, NULL, "b s");
    for (int i = 0; i < 2; i++) {
        program_run(&p);
        ck_assert_int_eq(program_fetch_int(&p, 0), 0);
        ck_assert_int_eq(program_fetch_int(&p, 1), 1);
    }
}
END_TEST

typedef struct mistake {
    const char *nodes;
    eddy_status code;
} mistake;

static const mistake mistakes[] = {
    {"t HashTableV2 key_dtype=%int64 value_dtype=%float32\n"
     "k int64=1\nd float32=1\nf LookupTableFindV2 t k d\n",
     EDDY_FAILED_PRECONDITION},
    {"t HashTableV2 key_dtype=%int64 value_dtype=%float32\n"
     "f LookupTableExportV2 t Tkeys=%int64 Tvalues=%float32\n",
     EDDY_ABORTED},
    {"t HashTableV2 key_dtype=%int64 value_dtype=%float32\n"
     "k int64=1\nd float32=1\nf LookupTableInsertV2 t k d\n",
     EDDY_UNIMPLEMENTED},
    {MUTABLE "k int32=1\nd float32=1\nf LookupTableFindV2 t k d\n",
     EDDY_INVALID_ARGUMENT},
    {MUTABLE "k int64[2]=1,2\nd float32[3]=1,2,3\n"
             "f LookupTableFindV2 t k d\n",
     EDDY_INVALID_ARGUMENT},
    {MUTABLE "k int64[2]=1,2\nd float32[3]=1,2,3\n"
             "f LookupTableInsertV2 t k d\n",
     EDDY_INVALID_ARGUMENT},
    {MUTABLE "k int64[2]=1,2\nd float32[2]=1,2\n"
             "f InitializeTableV2 t k d\n",
     EDDY_INVALID_ARGUMENT},
    {"e int64=0\ng int64=0\n"
     "f MutableDenseHashTableV2 e g key_dtype=%int64 value_dtype=%float32\n",
     EDDY_INVALID_ARGUMENT},
    {"e int64=0\ng int64=-1\n"
     "t MutableDenseHashTableV2 e g key_dtype=%int64 value_dtype=%float32\n"
     "d float32=1\nf LookupTableFindV2 t g d\n",
     EDDY_INVALID_ARGUMENT},
    {"e int64=0\ng int64=-1\n"
     "f MutableDenseHashTableV2 e g key_dtype=%int64 value_dtype=%float32 "
     "initial_num_buckets=6\n",
     EDDY_INVALID_ARGUMENT},
    {"f MutableHashTableOfTensorsV2 key_dtype=%int64 value_dtype=%float32\n",
     EDDY_INVALID_ARGUMENT},
};

START_TEST(mistakes_are_named)
{
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        eddy_status status;

        program_clear(&p);
        program_renew_session(&p);
        program_build(&p, mistakes[i].nodes);
        status = program_try_plan(&p, NULL, "^f");
        if (status == EDDY_OK)
            status = program_execute(&p);
        ck_assert_msg(status == mistakes[i].code, "row %zu: %s", i,
                      p.err.message);
        ck_assert_str_eq(p.err.node, "f");
    }
}
END_TEST

TCase *ops_lookup_tests(void)
{
    TCase *tests = tcase_create("ops_lookup");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, pairs_outlive_the_run);
    tcase_add_test(tests, what_is_left_is_found);
    tcase_add_test(tests, texts_are_keys_and_values);
    tcase_add_test(tests, a_table_may_have_no_name);
    tcase_add_test(tests, mistakes_are_named);
    return tests;
}
