/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/suites.h"
#include "tools/options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_ARGUMENTS 16

/* Sends standard error to a new file; returns what it was. */
static int divert(FILE **out_file)
{
    const int before = dup(STDERR_FILENO);

    ck_assert_int_ge(before, 0);
    *out_file = tmpfile();
    ck_assert_ptr_nonnull(*out_file);
    ck_assert_int_ge(dup2(fileno(*out_file), STDERR_FILENO), 0);
    return before;
}

/* Ends that; returns how much was written. */
static long restore(int before, FILE *file)
{
    long length;

    fflush(stderr);
    ck_assert_int_ge(dup2(before, STDERR_FILENO), 0);
    close(before);
    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    length = ftell(file);
    ck_assert_int_eq(fclose(file), 0);
    return length;
}

/* Parses arguments that must have this result; what is wrong is said. */
static void parse(unsigned subcommand, const char *const *arguments,
                  eddy__exit want)
{
    eddy__options options;
    char *argv[MOST_ARGUMENTS] = {NULL};
    int argc = 0, before;
    FILE *file;
    eddy__exit got;
    long said;

    for (; arguments[argc] != NULL; argc++) {
        ck_assert_int_lt(argc, MOST_ARGUMENTS);
        argv[argc] = strdup(arguments[argc]);
        ck_assert_ptr_nonnull(argv[argc]);
    }
    before = divert(&file);
    got = eddy__options_init(&options, subcommand, argc, argv);
    said = restore(before, file);
    ck_assert_msg(got == want, "%s", arguments[0]);
    ck_assert((said > 0) == (want != EDDY__EXIT_DONE));
    eddy__options_deinit(&options);
    for (int i = 0; i < argc; i++)
        free(argv[i]);
}

START_TEST(options_repeat_and_keep_their_order)
{
    char graph[] = "g.pb", fetch[] = "--fetch", a[] = "a", b[] = "--fetch=b:1",
         feed[] = "--feed=x=y=1", target[] = "--target", t[] = "t";
    char *const argv[] = {fetch, a, graph, b, feed, target, t};
    eddy__options options;

    ck_assert_int_eq(eddy__options_init(&options, EDDY__FOR_RUN, 7, argv),
                     EDDY__EXIT_DONE);
    ck_assert_uint_eq(options.paths.n, 1);
    ck_assert_str_eq(options.paths.items[0], "g.pb");
    ck_assert_uint_eq(options.fetches.n, 2);
    ck_assert_str_eq(options.fetches.items[0], "a");
    ck_assert_str_eq(options.fetches.items[1], "b:1");
    ck_assert_uint_eq(options.feeds.n, 1);
    ck_assert_str_eq(options.feeds.items[0], "x=y=1");
    ck_assert_uint_eq(options.targets.n, 1);
    ck_assert_str_eq(options.targets.items[0], "t");
    eddy__options_deinit(&options);
}
END_TEST

START_TEST(passes_to_leave_out_repeat)
{
    char graph[] = "g.pb", without[] = "--without", a[] = "chains",
         b[] = "--without=panels";
    char *const argv[] = {graph, without, a, b};
    eddy__options options;

    ck_assert_int_eq(eddy__options_init(&options, EDDY__FOR_BENCH, 4, argv),
                     EDDY__EXIT_DONE);
    ck_assert_uint_eq(options.without.n, 2);
    ck_assert_str_eq(options.without.items[0], "chains");
    ck_assert_str_eq(options.without.items[1], "panels");
    eddy__options_deinit(&options);
}
END_TEST

START_TEST(every_common_option_reaches_its_place)
{
    char argument[][32] = {
        "--workers=4",        "--optimize=none", "--max-iterations=7",
        "--max-bytes=8",      "--timeout=1.5",   "--parallel-iterations=3",
        "--executor=dynamic", "--repeat=5",      "--json",
    };
    char *argv[9];
    eddy__options options;
    eddy_run_options run;

    for (int i = 0; i < 9; i++)
        argv[i] = argument[i];
    ck_assert_int_eq(eddy__options_init(&options, EDDY__FOR_BENCH, 9, argv),
                     EDDY__EXIT_DONE);
    ck_assert_uint_eq(options.n_workers, 4);
    ck_assert_int_eq(options.optimize, EDDY_OPTIMIZE_NONE);
    ck_assert_uint_eq(options.parallel_iterations, 3);
    ck_assert_uint_eq(options.repeat, 5);
    ck_assert(options.json);
    run = eddy__options_run(&options);
    ck_assert_uint_eq(run.max_iterations, 7);
    ck_assert_uint_eq(run.max_bytes, 8);
    ck_assert_uint_eq(run.timeout_ns, 1500000000);
    eddy__options_deinit(&options);
}
END_TEST

START_TEST(defaults_are_no_workers_and_no_limits)
{
    char *const argv[] = {NULL};
    eddy__options options;
    eddy_run_options run;

    ck_assert_int_eq(eddy__options_init(&options, EDDY__FOR_BENCH, 0, argv),
                     EDDY__EXIT_DONE);
    ck_assert_uint_eq(options.n_workers, 0);
    ck_assert_uint_eq(options.repeat, 10);
    ck_assert_int_eq(options.optimize, EDDY_OPTIMIZE_DEFAULT);
    run = eddy__options_run(&options);
    ck_assert_uint_eq(run.max_iterations, 0);
    ck_assert_uint_eq(run.max_bytes, 0);
    ck_assert_uint_eq(run.timeout_ns, 0);
    eddy__options_deinit(&options);
}
END_TEST

START_TEST(wrong_options_are_refused)
{
    static const char *const bad[][3] = {
        {"--nonsense"},          {"-x"},
        {"--workers"},           {"--workers", "-1"},
        {"--workers", "1.5"},    {"--workers", "99999"},
        {"--workers", ""},       {"--timeout", "soon"},
        {"--max-iterations=1k"}, {"--executor", "fast"},
        {"--optimize", "most"},  {"--help=yes"},
        {"--traces", "t.json"},  {"--parallel-iterations=0"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        parse(EDDY__FOR_RUN, bad[i], EDDY__EXIT_USAGE);
}
END_TEST

START_TEST(an_option_belongs_to_its_subcommands)
{
    static const char *const json[] = {"--json", NULL};
    static const char *const forward[] = {"--forward", NULL};
    static const char *const fetch[] = {"--fetch", "x", NULL};
    static const char *const dot[] = {"--dot", NULL};
    static const char *const nought[] = {"--repeat", "0", NULL};

    parse(EDDY__FOR_BENCH, json, EDDY__EXIT_DONE);
    parse(EDDY__FOR_RUN, json, EDDY__EXIT_USAGE);
    parse(EDDY__FOR_VERIFY, forward, EDDY__EXIT_DONE);
    parse(EDDY__FOR_BENCH, forward, EDDY__EXIT_USAGE);
    parse(EDDY__FOR_BENCH, fetch, EDDY__EXIT_DONE);
    parse(EDDY__FOR_VERIFY, fetch, EDDY__EXIT_USAGE);
    parse(EDDY__FOR_INSPECT, dot, EDDY__EXIT_DONE);
    parse(EDDY__FOR_RUN, dot, EDDY__EXIT_USAGE);
    parse(EDDY__FOR_BENCH, nought, EDDY__EXIT_USAGE);
}
END_TEST

START_TEST(two_dashes_end_the_options)
{
    char dashes[] = "--", path[] = "--fetch", lone[] = "-";
    char *const argv[] = {lone, dashes, path};
    eddy__options options;

    ck_assert_int_eq(eddy__options_init(&options, EDDY__FOR_RUN, 3, argv),
                     EDDY__EXIT_DONE);
    ck_assert_uint_eq(options.paths.n, 2);
    ck_assert_str_eq(options.paths.items[0], "-");
    ck_assert_str_eq(options.paths.items[1], "--fetch");
    eddy__options_deinit(&options);
}
END_TEST

START_TEST(help_lists_the_options_of_the_subcommand)
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);

    ck_assert_ptr_nonnull(stream);
    eddy__options_help(EDDY__FOR_VERIFY, stream);
    ck_assert_int_eq(fclose(stream), 0);
    ck_assert_ptr_nonnull(strstr(text, "--forward "));
    ck_assert_ptr_nonnull(strstr(text, "--workers N "));
    ck_assert_ptr_null(strstr(text, "--fetch"));
    ck_assert_ptr_null(strstr(text, "--traces"));
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        ck_assert_uint_le(strlen(line), 80);
    free(text);
}
END_TEST

TCase *tools_options_tests(void)
{
    TCase *tc = tcase_create("tools_options");

    tcase_add_test(tc, options_repeat_and_keep_their_order);
    tcase_add_test(tc, passes_to_leave_out_repeat);
    tcase_add_test(tc, every_common_option_reaches_its_place);
    tcase_add_test(tc, defaults_are_no_workers_and_no_limits);
    tcase_add_test(tc, wrong_options_are_refused);
    tcase_add_test(tc, an_option_belongs_to_its_subcommands);
    tcase_add_test(tc, two_dashes_end_the_options);
    tcase_add_test(tc, help_lists_the_options_of_the_subcommand);
    return tc;
}
