/* SPDX-License-Identifier: Apache-2.0 */
/* Maps from tensors to tensors: keys, values, sums, mistakes, gradients. */
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static program p;

static void begin(void)
{
    program_init(&p, 0);
}

static void end(void)
{
    program_deinit(&p);
}

#define KEYS                                                                   \
    "a string=a\nb string[2]='a',''\ni int32=1\nj int64=1\nk int32=2\n"        \
    "x float32=3\ny float32[2]=4,5\nm EmptyTensorMap\n"
#define LOOKUP(name, map, key, dtype)                                          \
    name " TensorMapLookup " map " " key " value_dtype=" dtype "\n"

START_TEST(keys_are_told_apart_by_dtype_shape_and_bits)
{
    program_build(&p, KEYS
                  "m1 TensorMapInsert m a x\nm2 TensorMapInsert m1 b y\n"
                  "m3 TensorMapInsert m2 i y\nm4 TensorMapInsert m3 j x\n"
                  "s TensorMapSize m4\n"
                  "h TensorMapHasKey m4 k\ng TensorMapHasKey m4 j\n" LOOKUP(
                      "v", "m4", "a", "float32")
                      LOOKUP("w", "m4", "b", "float32")
                          LOOKUP("u", "m4", "j", "float32") "n "
                                                            "TensorMapS"
                                                            "ize m1\n");
    program_plan(&p, NULL, "s h g v w u n");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 4);
    ck_assert_int_eq(program_fetch_int(&p, 1), 0);
    ck_assert_int_eq(program_fetch_int(&p, 2), 1);
    ck_assert(program_fetch_float(&p, 3) == 3);
    program_want_fetch(&p, 4, PROGRAM_DIMS(2), PROGRAM_NUMBERS(4, 5));
    ck_assert(program_fetch_float(&p, 5) == 3);
    ck_assert_int_eq(program_fetch_int(&p, 6), 1);
}
END_TEST

/* What is inserted twice is replaced; a map that others have is left alone. */
START_TEST(values_are_replaced_and_erased)
{
    program_build(&p,
                  KEYS "m1 TensorMapInsert m i x\nm2 TensorMapInsert m1 k y\n"
                       "m3 TensorMapInsert m2 i y\n"
                       "m4 TensorMapErase m3 i value_dtype=float32\n"
                       "s TensorMapSize m4\nt TensorMapSize m3\n" LOOKUP(
                           "v", "m2", "i", "float32")
                           LOOKUP("w", "m3", "i", "float32")
                               LOOKUP("u", "m4", "k", "float32"));
    program_plan(&p, NULL, "s t v w u");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 1);
    ck_assert_int_eq(program_fetch_int(&p, 1), 2);
    ck_assert(program_fetch_float(&p, 2) == 3);
    program_want_fetch(&p, 3, PROGRAM_DIMS(2), PROGRAM_NUMBERS(4, 5));
    program_want_fetch(&p, 4, PROGRAM_DIMS(2), PROGRAM_NUMBERS(4, 5));
}
END_TEST

START_TEST(keys_stand_in_rows)
{
    program_build(&p, KEYS "m1 TensorMapInsert m k x\n"
                           "m2 TensorMapInsert m1 i y\n"
                           "r TensorMapStackKeys m2 key_dtype=int32\n");
    program_plan(&p, NULL, "r");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(2, 1));
}
END_TEST

/* A sum has the keys of both; zeros have the keys. */
START_TEST(maps_have_sums_and_zeros)
{
    program_build(&p, KEYS
                  "e EmptyTensorMap\nz float32=2\n"
                  "m1 TensorMapInsert m i x\nm2 TensorMapInsert m1 k y\n"
                  "n1 TensorMapInsert e k y\nn2 TensorMapInsert n1 j x\n"
                  "o ZerosLike m2\nsum AddN m2 n2 o\n"
                  "s TensorMapSize sum\n" LOOKUP("v", "sum", "k", "float32")
                      LOOKUP("w", "sum", "i", "float32")
                          LOOKUP("u", "o", "k", "float32"));
    program_plan(&p, NULL, "s v w u");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 3);
    program_want_fetch(&p, 1, PROGRAM_DIMS(2), PROGRAM_NUMBERS(8, 10));
    ck_assert(program_fetch_float(&p, 2) == 3);
    program_want_fetch(&p, 3, PROGRAM_DIMS(2), PROGRAM_NUMBERS(0, 0));
}
END_TEST

/* They are compared and hashed in parts. */
START_TEST(keys_may_be_long)
{
    program_build(&p, "n int32=100000\nzero int32=0\none int32=1\n"
                      "r Range zero n one\nx float32=3\nt float32=4\n"
                      "m EmptyTensorMap\nq Neg r\n"
                      "m1 TensorMapInsert m r x\nm2 TensorMapInsert m1 q t\n"
                      "b AddV2 r zero\n" LOOKUP("v", "m2", "b", "float32")
                          LOOKUP("w", "m2", "q", "float32"));
    program_plan(&p, NULL, "v w");
    program_run(&p);
    ck_assert(program_fetch_float(&p, 0) == 3);
    ck_assert(program_fetch_float(&p, 1) == 4);
}
END_TEST

/* `n` keys, the last of which make m<n - 1>. */
static void add_many(const char *map, int n)
{
    char text[160], before[20];

    (void)snprintf(before, sizeof before, "%s", map);

    for (int i = 0; i < n; i++) {
        (void)snprintf(text, sizeof text,
                       "k%d int64=%d\nv%d int32=%d\n"
                       "m%d TensorMapInsert %s k%d v%d\n",
                       i, i * 37, i, i, i, before, i, i);
        (void)snprintf(before, sizeof before, "m%d", i);
        program_build(&p, text);
    }
}

START_TEST(each_of_many_keys_is_found_until_it_is_erased)
{
    enum { N = 70 };
    char text[400];

    program_build(&p, "e EmptyTensorMap\n");
    add_many("e", N);
    for (int i = 0; i < N; i++) {
        (void)snprintf(text, sizeof text,
                       "r%d TensorMapErase %s%d k%d value_dtype=int32\n"
                       "h%d TensorMapHasKey r%d k%d\n"
                       "l%d TensorMapLookup m%d k%d value_dtype=int32\n"
                       "g%d TensorMapHasKey r%d k%d\n"
                       "s%d TensorMapSize r%d\n",
                       i, i == 0 ? "m" : "r", i == 0 ? N - 1 : i - 1, i, i, i,
                       i, i, N - 1, i, i, i, i + 1 < N ? i + 1 : 0, i, i);
        program_build(&p, text);
    }
    for (int i = 0; i < N; i++) {
        (void)snprintf(text, sizeof text, "h%d l%d g%d s%d", i, i, i, i);
        program_plan(&p, NULL, text);
        program_run(&p);
        ck_assert_int_eq(program_fetch_int(&p, 0), 0);
        ck_assert_int_eq(program_fetch_int(&p, 1), i);
        ck_assert_int_eq(program_fetch_int(&p, 2), i + 1 < N);
        ck_assert_int_eq(program_fetch_int(&p, 3), N - 1 - i);
    }
}
END_TEST

static const struct {
    const char *fetch;
    eddy_status status;
    eddy_detail detail;
} mistakes[] = {
    {"none", EDDY_INVALID_ARGUMENT, EDDY_E_INDEX},
    {"gone", EDDY_INVALID_ARGUMENT, EDDY_E_INDEX},
    {"dtype", EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE},
    {"empty", EDDY_INVALID_ARGUMENT, EDDY_E_EMPTY},
    {"kinds", EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE},
    {"shapes", EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE},
    {"list", EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE},
    {"key", EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE},
    {"length", EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE},
    {"sum", EDDY_INTERNAL, EDDY_E_DTYPE},
    {"values", EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE},
};

START_TEST(mistakes_are_named)
{
    program_build(
        &p, KEYS
        "m1 TensorMapInsert m i x\nm2 TensorMapInsert m1 j x\n"
        "l int32[2]=1,2\nm3 TensorMapInsert m1 l x\n"
        "m4 TensorMapInsert m i k\n"
        "opt OptionalNone\n" LOOKUP("none", "m1", "k", "float32") LOOKUP(
            "dtype", "m1", "i", "int32") LOOKUP("list", "opt", "i", "float32")
            LOOKUP("key", "m1", "opt",
                   "float32") "gone TensorMapErase m1 k value_dtype=float32\n"
                              "empty TensorMapStackKeys m key_dtype=int32\n"
                              "kinds TensorMapStackKeys m2 key_dtype=int32\n"
                              "shapes TensorMapStackKeys m3 key_dtype=int32\n"
                              "length TensorListLength m1\n"
                              "sum AddN m1 opt\nvalues AddN m1 m4\n");
    program_plan(&p, NULL, mistakes[_i].fetch);
    program_want(&p, program_execute(&p), mistakes[_i].status,
                 mistakes[_i].detail);
}
END_TEST

TCase *ops_tensor_map_tests(void)
{
    TCase *tests = tcase_create("ops_tensor_map");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, keys_are_told_apart_by_dtype_shape_and_bits);
    tcase_add_test(tests, values_are_replaced_and_erased);
    tcase_add_test(tests, keys_stand_in_rows);
    tcase_add_test(tests, maps_have_sums_and_zeros);
    tcase_add_test(tests, keys_may_be_long);
    tcase_add_test(tests, each_of_many_keys_is_found_until_it_is_erased);
    tcase_add_loop_test(tests, mistakes_are_named, 0,
                        (int)(sizeof mistakes / sizeof *mistakes));
    return tests;
}
