/* SPDX-License-Identifier: Apache-2.0 */
/* eddy partition, and graphs on several ranks, from outside. */
#include "tests/aid/command_runner.h"
#include "tests/aid/program.h"
#include "tests/aid/scratch_folder.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

#define CASES "tests/conformance/tf"
#define LOOP CASES "/programs/p01/graph.pb"
#define COUNT CASES "/while/count/graph.pb"

static char folder[SCRATCH_PATH];

static void set_up(void)
{
    scratch_folder_create(folder);
}

static void tear_down(void)
{
    scratch_folder_remove(folder);
}

/* A file of places with that text. */
static void write_places(char path[SCRATCH_PATH + 32], const char *text)
{
    FILE *file;

    snprintf(path, SCRATCH_PATH + 32, "--place=%s/places", folder);
    file = fopen(path + strlen("--place="), "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

/* ---- every recorded case ---- */

START_TEST(test_cases_on_ranks)
{
    static const char *const ranks[] = {"--ranks=2", "--ranks=3", "--ranks=4",
                                        "--ranks=5"};
    /* A sanitizer has no time for all of them. */
    const char *cases = program_is_release() ? CASES : CASES "/programs";
    char seed[32];
    command_result r;

    snprintf(seed, sizeof seed, "--seed=%d", 17 + _i);
    r = command_run("verify", "--forward", ranks[_i], seed, "--timeout=60",
                    cases, NULL);
    ck_assert_msg(r.status == 0, "%s: %s%s", ranks[_i], r.out, r.err);
    ck_assert_msg(strstr(r.out, " 0 failed") != NULL, "%s", r.out);
    command_result_free(&r);
}
END_TEST

START_TEST(test_cases_cut_literally)
{
    const char *cases = program_is_release() ? CASES : CASES "/cond";
    command_result r =
        command_run("verify", "--forward", "--ranks=2", "--seed=3", "--literal",
                    "--timeout=60", cases, NULL);

    ck_assert_msg(r.status == 0, "%s%s", r.out, r.err);
    command_result_free(&r);
}
END_TEST

/* The programs among them with processes, which meet anew in each run. */
START_TEST(test_cases_on_processes)
{
    command_result r = command_run(
        "verify", "--forward", "--processes",
        _i == 0 ? "--ranks=2" : "--ranks=3", "--seed=11", "--timeout=60",
        program_is_release() ? CASES "/programs" : CASES "/programs/p01", NULL);

    ck_assert_msg(r.status == 0, "%s%s", r.out, r.err);
    ck_assert_msg(strstr(r.out, " 0 failed") != NULL, "%s", r.out);
    command_result_free(&r);
}
END_TEST

/* ---- the commands ---- */

START_TEST(test_processes_print_what_one_does)
{
    command_result one =
        command_run("run", COUNT, "--feed=n=9", "--fetch=y", NULL);
    command_result three =
        command_run("run", COUNT, "--feed=n=9", "--fetch=y", "--ranks=3",
                    "--seed=2", "--processes", NULL);
    command_result wrong = command_run("run", COUNT, "--feed=n=9", "--fetch=y",
                                       "--processes", NULL);

    ck_assert_int_eq(one.status, 0);
    ck_assert_int_eq(three.status, one.status);
    ck_assert_str_eq(three.out, one.out);
    ck_assert_int_eq(wrong.status, 2);
    ck_assert_ptr_nonnull(strstr(wrong.err, "wants --ranks or --place"));
    command_result_free(&one);
    command_result_free(&three);
    command_result_free(&wrong);
}
END_TEST

START_TEST(test_partition_writes_a_graph_a_rank)
{
    char path[SCRATCH_PATH + 32], out[SCRATCH_PATH + 32];
    command_result r;

    write_places(path, "# the body apart\n\"\" rank 0\nwhile rank 1\n");
    snprintf(out, sizeof out, "%s/parts", folder);
    r = command_run("partition", LOOP, path, "-o", out, NULL);
    ck_assert_msg(r.status == 0, "%s%s", r.out, r.err);
    ck_assert_msg(strncmp(r.out, "rank 0\t", 7) == 0, "%s", r.out);
    ck_assert_msg(strstr(r.out, "\nrank 1\t") != NULL, "%s", r.out);
    command_result_free(&r);
    snprintf(out, sizeof out, "%s/parts/rank1.pb", folder);
    r = command_run("inspect", out, NULL);
    ck_assert_msg(r.status == 0, "%s%s", r.out, r.err);
    ck_assert_msg(strstr(r.out, "unsupported ops: none") != NULL, "%s", r.out);
    command_result_free(&r);
}
END_TEST

START_TEST(test_wrong_places)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"while 1\n", "`PREFIX rank N`"},
        {"while rank\n", "`PREFIX rank N`"},
        {"while rank 1 2\n", "`PREFIX rank N`"},
        {"while rank 5000\n", "`PREFIX rank N`"},
        {"while rank -1\n", "`PREFIX rank N`"},
    };
    char path[SCRATCH_PATH + 32], out[SCRATCH_PATH + 32];
    command_result r;

    snprintf(out, sizeof out, "%s/parts", folder);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_places(path, cases[i].text);
        r = command_run("partition", LOOP, path, "-o", out, NULL);
        ck_assert_int_eq(r.status, 1);
        ck_assert_msg(strstr(r.err, cases[i].words) != NULL, "%s", r.err);
        command_result_free(&r);
    }
    r = command_run("partition", LOOP, "--ranks=2", NULL);
    ck_assert_int_eq(r.status, 2);
    ck_assert_ptr_nonnull(strstr(r.err, "no -o DIR is given"));
    command_result_free(&r);
}
END_TEST

TCase *command_ranks_tests(void)
{
    TCase *tc = tcase_create("command_ranks");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 240);
    tcase_add_loop_test(tc, test_cases_on_ranks, 0, 4);
    tcase_add_test(tc, test_cases_cut_literally);
    tcase_add_loop_test(tc, test_cases_on_processes, 0, 2);
    tcase_add_test(tc, test_processes_print_what_one_does);
    tcase_add_test(tc, test_partition_writes_a_graph_a_rank);
    tcase_add_test(tc, test_wrong_places);
    return tc;
}
