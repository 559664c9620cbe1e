/* SPDX-License-Identifier: Apache-2.0 */
/* eddy verify from outside, on recorded cases and on such as are wrong. */
#include "tests/aid/command_runner.h"
#include "tests/aid/scratch_folder.h"
#include "tests/suites.h"
#include "tools/literal.h"

#include "eddy/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CASES "tests/conformance/tf/"
#define BLOG CASES "while/blog_example"

static char folder[SCRATCH_PATH];

static void set_up(void)
{
    scratch_folder_create(folder);
}

static void tear_down(void)
{
    scratch_folder_remove(folder);
}

/* Writes a case over a recorded graph. */
static void make_case(const char *name, const char *graph, const char *json)
{
    char path[256];
    char *target = realpath(graph, NULL);

    ck_assert_ptr_nonnull(target);
    snprintf(path, sizeof path, "%s/case.json", name);
    scratch_folder_write(folder, path, json);
    snprintf(path, sizeof path, "%s/%s/graph.pb", folder, name);
    ck_assert_int_eq(symlink(target, path), 0);
    free(target);
}

static void save(const char *path, const char *literal, eddy_dtype dtype)
{
    eddy_error err = {.code = EDDY_OK};
    eddy_tensor *tensor = NULL;
    char full[256];

    snprintf(full, sizeof full, "%s/%s", folder, path);
    ck_assert_int_eq(eddy__literal_read(NULL, literal, dtype, &tensor, &err),
                     EDDY_OK);
    ck_assert_int_eq(eddy_npy_save(tensor, full, &err), EDDY_OK);
    eddy_tensor_release(tensor);
}

/* Verifies the folder and checks the last line and some words before it. */
static void check(const char *option, int status, const char *last,
                  const char *words)
{
    command_result r = option == NULL
                           ? command_run("verify", folder, NULL)
                           : command_run("verify", option, folder, NULL);
    const size_t length = strlen(r.out), n = strlen(last);

    ck_assert_msg(r.status == status, "status %d: %s%s", r.status, r.out,
                  r.err);
    ck_assert_msg(length >= n && strcmp(r.out + length - n, last) == 0, "%s",
                  r.out);
    if (words == NULL)
        ck_assert_str_eq(r.out, last);
    else
        ck_assert_msg(strstr(r.out, words) != NULL, "no '%s' in:\n%s", words,
                      r.out);
    command_result_free(&r);
}

/* A run of the graph of BLOG that feeds its result. */
#define RUN(fetch, expect)                                                     \
    "{\"runs\": [{\"feeds\": {\"while/Exit:0\": \"in.npy\"}, \"fetches\": "    \
    "[\"" fetch "\"], \"targets\": [], " expect "}]}"
#define WANT(file) "\"expect\": [\"" file "\"], \"rtol\": 0, \"atol\": 0"
#define FAILS(class)                                                           \
    "\"error\": {\"class\": \"" class "\", \"text\": \"t\", \"stage\": "       \
                                      "\"run\"}"

/* The case "c", fed with 5, so that v1 is 8. */
static void make_blog_case(const char *json)
{
    make_case("c", BLOG "/graph.pb", json);
    save("c/in.npy", "5", EDDY_INT32);
    save("c/eight.npy", "8", EDDY_INT32);
    save("c/nine.npy", "9", EDDY_INT32);
    save("c/wide.npy", "8", EDDY_INT64);
    save("c/vector.npy", "[8]", EDDY_INT32);
}

START_TEST(recorded_cases_pass_with_any_workers)
{
    static const char *const workers[] = {"--workers=0", "--workers=1",
                                          "--workers=4"};

    for (size_t i = 0; i < 3; i++) {
        command_result r = command_run(
            "verify", workers[i], BLOG, CASES "errors/assert_loop",
            CASES "errors/unknown_op", CASES "errors/unknown_fetch", NULL);

        ck_assert_str_eq(r.out, "4 passed, 0 failed, 0 skipped\n");
        ck_assert_str_eq(r.err, "");
        ck_assert_int_eq(r.status, 0);
        command_result_free(&r);
    }
}
END_TEST

START_TEST(a_case_passes_if_all_is_as_recorded)
{
    make_blog_case(RUN("v1:0", WANT("eight.npy")));
    check(NULL, 0, "1 passed, 0 failed, 0 skipped\n", NULL);
}
END_TEST

START_TEST(another_value_fails_with_what_differed)
{
    make_blog_case(RUN("v1:0", WANT("nine.npy")));
    check(NULL, 1, "0 passed, 1 failed, 0 skipped\n",
          "/c\n    runs[0]: v1:0 (nine.npy): element []: got 8, want 9\n");
}
END_TEST

START_TEST(another_dtype_or_shape_fails)
{
    make_blog_case(RUN("v1:0", WANT("wide.npy")));
    check(NULL, 1, "0 passed, 1 failed, 0 skipped\n",
          "got int32[], want int64[]\n");
    scratch_folder_write(folder, "c/case.json",
                         RUN("v1:0", WANT("vector.npy")));
    check(NULL, 1, "0 passed, 1 failed, 0 skipped\n",
          "got int32[], want int32[1]\n");
}
END_TEST

START_TEST(an_error_that_is_not_expected_fails)
{
    make_blog_case(RUN("v2:0", WANT("eight.npy")));
    check(NULL, 1, "0 passed, 1 failed, 0 skipped\n", "EDDY_E_NOT_FED");
}
END_TEST

START_TEST(an_expected_error_must_come_and_be_of_its_class)
{
    make_blog_case(RUN("v1:0", FAILS("InvalidArgumentError")));
    check(NULL, 1, "0 passed, 1 failed, 0 skipped\n",
          "no error, want InvalidArgumentError\n");
    scratch_folder_write(folder, "c/case.json",
                         RUN("v9:0", FAILS("InvalidArgumentError")));
    check(NULL, 1, "0 passed, 1 failed, 0 skipped\n",
          "want InvalidArgumentError, got NOT_FOUND");
    scratch_folder_write(folder, "c/case.json", RUN("v9:0", FAILS("KeyError")));
    check(NULL, 0, "1 passed, 0 failed, 0 skipped\n", NULL);
    scratch_folder_write(folder, "c/case.json",
                         RUN("v2:0", FAILS("InvalidArgumentError")));
    check(NULL, 0, "1 passed, 0 failed, 0 skipped\n", NULL);
}
END_TEST

START_TEST(an_unsupported_op_fails_and_is_not_skipped)
{
    make_case("c", CASES "errors/unknown_op/graph.pb",
              "{\"runs\": [{\"feeds\": {}, \"fetches\": [\"a:0\"], "
              "\"targets\": [], \"expect\": [\"x.npy\"], \"rtol\": 0, "
              "\"atol\": 0}]}");
    check(NULL, 1, "0 passed, 1 failed, 0 skipped\n", "Frobnicate");
    scratch_folder_write(
        folder, "c/case.json",
        "{\"runs\": [{\"feeds\": {}, \"fetches\": [\"a:0\"], \"targets\": [], "
        "\"error\": {\"class\": \"NotFoundError\", \"text\": \"no such "
        "table\", \"stage\": \"run\"}}]}");
    check(NULL, 1, "0 passed, 1 failed, 0 skipped\n", "Frobnicate");
}
END_TEST

/* A missing or malformed part is never the error that a case expects. */
START_TEST(a_broken_case_fails)
{
    static const struct {
        const char *json, *words;
    } rows[] = {
        {"{", "case.json: line 1"},
        {"[]", "no list of runs"},
        {"{}", "no list of runs"},
        {"{\"runs\": []}", "nothing to run"},
        {"{\"runs\": [1]}", "runs[0]: not as the format says"},
        {"{\"runs\": [{\"feeds\": [], \"fetches\": [], \"targets\": [], "
         "\"expect\": [], \"rtol\": 0, \"atol\": 0}]}",
         "not as the format says"},
        {RUN("v1:0", WANT("eight.npy\", \"nine.npy")),
         "not as the format says"},
        {RUN("v1:0", "\"expect\": [null], \"rtol\": 0, \"atol\": 0"),
         "not as the format says"},
        {RUN("v1:0", "\"expect\": [\"eight.npy\"]"), "not as the format says"},
        {RUN("v1:0", WANT("missing.npy")), "missing.npy"},
    };

    make_blog_case("");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        scratch_folder_write(folder, "c/case.json", rows[i].json);
        check(NULL, 1, "0 passed, 1 failed, 0 skipped\n", rows[i].words);
    }
}
END_TEST

START_TEST(a_missing_file_is_no_expected_error)
{
    char path[128];

    make_blog_case(RUN("v9:0", FAILS("NotFoundError")));
    check(NULL, 0, "1 passed, 0 failed, 0 skipped\n", NULL);
    snprintf(path, sizeof path, "%s/c/in.npy", folder);
    ck_assert_int_eq(unlink(path), 0);
    check(NULL, 1, "0 passed, 1 failed, 0 skipped\n", "in.npy");
    snprintf(path, sizeof path, "%s/c/graph.pb", folder);
    ck_assert_int_eq(unlink(path), 0);
    check(NULL, 1, "0 passed, 1 failed, 0 skipped\n", "no graph.pb");
}
END_TEST

START_TEST(gradients_are_compared_unless_they_are_left_out)
{
    static const char gradients[] = "{\"runs\": [], \"gradients\": {}}";

    make_blog_case(gradients);
    check(NULL, 1, "0 passed, 1 failed, 0 skipped\n",
          "gradients: not as the format says\n");
    check("--forward", 0, "0 passed, 0 failed, 1 skipped\n", NULL);
    scratch_folder_write(
        folder, "c/case.json",
        "{\"more_gradients\": [{}], \"runs\": [{\"feeds\": "
        "{\"while/Exit:0\": \"in.npy\"}, \"fetches\": "
        "[\"v1:0\"], \"targets\": [], " WANT("eight.npy") "}]}");
    check(NULL, 1, "0 passed, 1 failed, 0 skipped\n", "gradients");
    check("--forward", 0, "1 passed, 0 failed, 0 skipped\n", NULL);
}
END_TEST

/* A gradient of the fed tensor, with that order and those tolerances. */
#define GRADIENT(order, rtol, atol)                                            \
    "{\"runs\": [], \"gradients\": {\"ys\": [\"v1:0\"], \"xs\": "              \
    "[\"while/Exit:0\"], \"feeds\": {}, \"expect\": [null], \"order\": "       \
    "" order ", \"rtol\": " rtol ", \"atol\": " atol "}}"

START_TEST(absurd_numbers_are_refused_at_once)
{
    static const char *const rows[] = {
        GRADIENT("-9223372036854775808", "0", "0"),
        GRADIENT("-1", "0", "0"),
        GRADIENT("0", "0", "0"),
        GRADIENT("10", "0", "0"),
        GRADIENT("9223372036854775807", "0", "0"),
        GRADIENT("1.5", "0", "0"),
        GRADIENT("1.0", "0", "0"),
        GRADIENT("\"1\"", "0", "0"),
        GRADIENT("true", "0", "0"),
        GRADIENT("1", "-1e-9", "0"),
        GRADIENT("1", "1.5", "0"),
        GRADIENT("1", "0", "-1"),
        GRADIENT("1", "null", "0"),
        RUN("v1:0", "\"expect\": [\"eight.npy\"], \"rtol\": -1, \"atol\": 0"),
        RUN("v1:0", "\"expect\": [\"eight.npy\"], \"rtol\": 2, \"atol\": 0"),
        RUN("v1:0", "\"expect\": [\"eight.npy\"], \"rtol\": 0, \"atol\": -1"),
    };

    make_blog_case("");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        scratch_folder_write(folder, "c/case.json", rows[i]);
        check(NULL, 1, "0 passed, 1 failed, 0 skipped\n",
              "not as the format says\n");
    }
    scratch_folder_write(folder, "c/case.json",
                         RUN("v1:0", "\"expect\": [\"eight.npy\"], \"rtol\": "
                                     "0, \"atol\": 1e999"));
    check(NULL, 1, "0 passed, 1 failed, 0 skipped\n", "case.json: line 1");
}
END_TEST

START_TEST(a_file_that_never_ends_is_refused_at_once)
{
    static const char *const names[] = {"in.npy", "graph.pb", "case.json"};
    char path[128];

    make_blog_case(RUN("v1:0", WANT("eight.npy")));
    snprintf(path, sizeof path, "%s/c/%s", folder, names[_i]);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    if (_i == 2)
        scratch_folder_write(folder, "c/model.onnx", "");
    check(NULL, 1, "0 passed, 1 failed, 0 skipped\n", "/c\n");
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(symlink("/dev/zero", path), 0);
    check(NULL, 1, "0 passed, 1 failed, 0 skipped\n", "/c\n");
}
END_TEST

/* The file is there, and would do. */
START_TEST(names_do_not_lead_out_of_the_folder)
{
    static const char *const names[] = {"../c/eight.npy", "/eight.npy",
                                        "./../c/eight.npy", "eight.npy/.."};
    char want[128];

    make_blog_case(RUN("v1:0", WANT("eight.npy")));
    check(NULL, 0, "1 passed, 0 failed, 0 skipped\n", "");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char text[1024];

        snprintf(text, sizeof text, RUN("v1:0", WANT("%s")), names[i]);
        scratch_folder_write(folder, "c/case.json", text);
        snprintf(want, sizeof want,
                 "'%s' leads out of the folder of the case\n", names[i]);
        check(NULL, 1, "0 passed, 1 failed, 0 skipped\n", want);
    }
}
END_TEST

START_TEST(a_case_larger_than_any_is_not_read)
{
    char path[128];

    make_blog_case(RUN("v1:0", WANT("eight.npy")));
    snprintf(path, sizeof path, "%s/c/case.json", folder);
    ck_assert_int_eq(truncate(path, (off_t)1 << 40), 0);
    check(NULL, 1, "0 passed, 1 failed, 0 skipped\n", "no regular file of");
}
END_TEST

START_TEST(broken_onnx_models_fail)
{
    scratch_folder_write(folder, "m/model.onnx", "");
    scratch_folder_write(folder, "m/test_data_set_0/input_0.pb", "");
    check(NULL, 1, "0 passed, 1 failed, 0 skipped\n",
          "(EDDY_E_MALFORMED): the model has no graph\n");
}
END_TEST

START_TEST(limits_apply_to_each_run)
{
    command_result r = command_run("verify", "--max-iterations=2", BLOG, NULL);

    ck_assert_int_eq(r.status, 1);
    ck_assert_msg(strstr(r.out, "EDDY_E_LIMIT_ITERATIONS") != NULL, "%s",
                  r.out);
    command_result_free(&r);
}
END_TEST

START_TEST(a_path_without_cases_is_a_failure)
{
    check(NULL, 1, "0 passed, 0 failed, 0 skipped\n", NULL);
    scratch_folder_remove(folder);
    check(NULL, 1, "", NULL);
}
END_TEST

TCase *command_verify_tests(void)
{
    TCase *tc = tcase_create("command_verify");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, recorded_cases_pass_with_any_workers);
    tcase_add_test(tc, a_case_passes_if_all_is_as_recorded);
    tcase_add_test(tc, another_value_fails_with_what_differed);
    tcase_add_test(tc, another_dtype_or_shape_fails);
    tcase_add_test(tc, an_error_that_is_not_expected_fails);
    tcase_add_test(tc, an_expected_error_must_come_and_be_of_its_class);
    tcase_add_test(tc, an_unsupported_op_fails_and_is_not_skipped);
    tcase_add_test(tc, a_broken_case_fails);
    tcase_add_test(tc, a_missing_file_is_no_expected_error);
    tcase_add_test(tc, gradients_are_compared_unless_they_are_left_out);
    tcase_add_test(tc, absurd_numbers_are_refused_at_once);
    tcase_add_loop_test(tc, a_file_that_never_ends_is_refused_at_once, 0, 3);
    tcase_add_test(tc, names_do_not_lead_out_of_the_folder);
    tcase_add_test(tc, a_case_larger_than_any_is_not_read);
    tcase_add_test(tc, broken_onnx_models_fail);
    tcase_add_test(tc, limits_apply_to_each_run);
    tcase_add_test(tc, a_path_without_cases_is_a_failure);
    return tc;
}
