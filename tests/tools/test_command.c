/* SPDX-License-Identifier: Apache-2.0 */
/* eddy run, bench and inspect from outside; test_command_verify.c has verify.
 */
#include "tests/aid/command_runner.h"
#include "tests/aid/scratch_folder.h"
#include "tests/suites.h"

#include "eddy/npy.h"
#include "eddy/plan.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CASES "tests/conformance/tf/"

/* while i < n: i = i + 1, a = a + 2; v1 = i + 3, v2 = n + 4, aa = a. */
#define BLOG CASES "while/blog_example/graph.pb"
#define COUNTER "benchmarks/graphs/counter.pb"
#define UNKNOWN_OP CASES "errors/unknown_op/graph.pb"

static char folder[SCRATCH_PATH];

static void set_up(void)
{
    scratch_folder_create(folder);
}

static void tear_down(void)
{
    scratch_folder_remove(folder);
}

/* Checks how a command ended, and what its messages say, and frees it. */
static void end(command_result *r, int status, const char *words)
{
    ck_assert_msg(r->status == status, "status %d: %s%s", r->status, r->out,
                  r->err);
    if (words == NULL)
        ck_assert_str_eq(r->err, "");
    else
        ck_assert_msg(strstr(r->err, words) != NULL, "%s", r->err);
    /* Whatever goes wrong, no half result is printed. */
    if (status != 0)
        ck_assert_str_eq(r->out, "");
    command_result_free(r);
}

static void check_contains(const char *text, const char *words)
{
    ck_assert_msg(strstr(text, words) != NULL, "no '%s' in:\n%s", words, text);
}

START_TEST(run_prints_a_line_for_each_fetch)
{
    command_result r =
        command_run("run", BLOG, "--feed", "i=1", "--feed", "n=10",
                    "--feed=a:0=0", "--fetch", "v1", "--fetch=v2:0", "--fetch",
                    "aa", "--fetch", "v1", NULL);

    ck_assert_str_eq(r.out, "v1\tint32\t[]\t13\nv2:0\tint32\t[]\t14\n"
                            "aa\tint32\t[]\t18\nv1\tint32\t[]\t13\n");
    end(&r, 0, NULL);
}
END_TEST

START_TEST(run_gives_the_same_whatever_the_options)
{
    static const char *const options[] = {
        "--workers=1",     "--workers=4",     "--parallel-iterations=1",
        "--optimize=none", "--optimize=full", "--executor=dynamic",
    };

    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        command_result r =
            command_run("run", BLOG, "--feed=i=1", "--feed=n=1000",
                        "--feed=a=0", "--fetch=aa", options[i], NULL);

        ck_assert_str_eq(r.out, "aa\tint32\t[]\t1998\n");
        end(&r, 0, NULL);
    }
}
END_TEST

#define HELD "tests/conformance/onnx/own/held_values/"
#define HELD_DATA HELD "test_data_set_0/"

START_TEST(run_takes_and_prints_sequences_and_optional_values)
{
    char out[128], path[192];
    eddy_error err = {.code = EDDY_OK};
    eddy_tensor *tensor = NULL;
    command_result r;

    snprintf(out, sizeof out, "%s/held", folder);
    r = command_run("run", HELD "model.onnx", "--out", out, "--feed",
                    "xs=@" HELD_DATA "input_0.pb", "--feed",
                    "words=@" HELD_DATA "input_1.pb", "--feed",
                    "maybe=@" HELD_DATA "input_2.pb", "--feed",
                    "none=@" HELD_DATA "input_3.pb", "--feed",
                    "some=@" HELD_DATA "input_4.pb", NULL);
    ck_assert_str_eq(
        r.out, "more\tsequence(float32)\t[[1,1],[2],[]]\t[[[7.5]],[1,2.5],3]\n"
               "same_words\tsequence(string)\t[[2],[]]\t[[\"a\",\"bc\"],"
               "\"d\xc3\xa9"
               "f\"]\n"
               "given\toptional(float32)\t[2]\t[4,5]\n"
               "absent\toptional(float32)\tnone\tnone\n"
               "several\toptional(sequence(float32))\t[[1,1]]\t[[[6]]]\n"
               "empty\tsequence(int64)\t[]\t[]\n");
    end(&r, 0, NULL);
    snprintf(path, sizeof path, "%s/more%%5B1%%5D.npy", out);
    ck_assert_int_eq(eddy_npy_load(NULL, path, &tensor, &err), EDDY_OK);
    ck_assert_int_eq(eddy_tensor_count(tensor), 2);
    ck_assert_float_eq(((const float *)eddy_tensor_data(tensor))[1], 2.5f);
    eddy_tensor_release(tensor);
    snprintf(path, sizeof path, "%s/given.npy", out);
    ck_assert_int_eq(eddy_npy_load(NULL, path, &tensor, &err), EDDY_OK);
    eddy_tensor_release(tensor);
}
END_TEST

START_TEST(sequences_are_fed_from_files_and_only_to_run)
{
    command_result r = command_run("run", HELD "model.onnx", "--feed=xs=[1]",
                                   "--fetch=more", NULL);

    end(&r, 2,
        "--feed xs: INVALID_ARGUMENT: a sequence or an optional value "
        "is fed from a file");
    r = command_run("run", HELD "model.onnx",
                    "--feed=xs=@" HELD_DATA "absent.pb", "--fetch=more", NULL);
    end(&r, 1, "absent.pb");
    r = command_run("run", HELD "model.onnx", "--fetch=xs",
                    "--feed=xs=@" HELD_DATA "input_0.pb", NULL);
    end(&r, 2, "'xs' is a sequence or an optional value");
    r = command_run("bench", HELD "model.onnx", "--fetch=empty", NULL);
    end(&r, 2, "only `eddy run` takes and gives these");
}
END_TEST

START_TEST(any_tensor_can_be_fed)
{
    command_result r = command_run("run", BLOG, "--feed=while/Exit=[10, 20]",
                                   "--fetch=v1", NULL);

    ck_assert_str_eq(r.out, "v1\tint32\t[2]\t[13,23]\n");
    end(&r, 0, NULL);
}
END_TEST

START_TEST(out_writes_files_with_names_that_every_system_takes)
{
    eddy_error err = {.code = EDDY_OK};
    eddy_tensor *tensor = NULL;
    char out[128], path[192], feed[256];
    command_result r;

    snprintf(out, sizeof out, "%s/results", folder);
    r = command_run("run", BLOG, "--feed=i=1", "--feed=n=10", "--feed=a=0",
                    "--fetch=while/Exit_2:0", "--fetch=v1", "--out", out, NULL);
    check_contains(r.out, "while/Exit_2:0\tint32\t[]\t18\n");
    end(&r, 0, NULL);
    snprintf(path, sizeof path, "%s/while%%2FExit_2%%3A0.npy", out);
    ck_assert_int_eq(eddy_npy_load(NULL, path, &tensor, &err), EDDY_OK);
    ck_assert_int_eq(eddy_tensor_dtype(tensor), EDDY_INT32);
    ck_assert_int_eq(*(const int32_t *)eddy_tensor_data(tensor), 18);
    eddy_tensor_release(tensor);

    /* Into a folder that is there, and back as a feed. */
    snprintf(feed, sizeof feed, "--feed=while/Exit=@%s", path);
    r = command_run("run", BLOG, feed, "--fetch=v1", "--out", out, NULL);
    ck_assert_str_eq(r.out, "v1\tint32\t[]\t21\n");
    end(&r, 0, NULL);
    r = command_run("run", BLOG, feed, "--fetch=v1", "--out", path, NULL);
    ck_assert_int_eq(r.status, 1);
    check_contains(r.err, "--out");
    command_result_free(&r);
}
END_TEST

START_TEST(a_file_is_cast_to_the_dtype_of_what_it_feeds)
{
    const eddy_shape scalar = {.rank = 0};
    eddy_error err = {.code = EDDY_OK};
    eddy_tensor *tensor = NULL;
    char path[128], feed[192];
    command_result r;

    snprintf(path, sizeof path, "%s/x.npy", folder);
    snprintf(feed, sizeof feed, "--feed=while/Exit=@%s", path);
    ck_assert_int_eq(
        eddy_tensor_create(NULL, EDDY_FLOAT64, &scalar, &tensor, &err),
        EDDY_OK);
    *(double *)eddy_tensor_mutable_data(tensor) = 5;
    ck_assert_int_eq(eddy_npy_save(tensor, path, &err), EDDY_OK);
    r = command_run("run", BLOG, feed, "--fetch=v1", NULL);
    ck_assert_str_eq(r.out, "v1\tint32\t[]\t8\n");
    end(&r, 0, NULL);
    *(double *)eddy_tensor_mutable_data(tensor) = 5.5;
    ck_assert_int_eq(eddy_npy_save(tensor, path, &err), EDDY_OK);
    r = command_run("run", BLOG, feed, "--fetch=v1", NULL);
    end(&r, 2, "element []: 5.5 is not a whole number");
    eddy_tensor_release(tensor);
}
END_TEST

START_TEST(targets_run_without_being_printed)
{
    command_result r = command_run("run", BLOG, "--feed=i=1", "--feed=n=10",
                                   "--feed=a=0", "--target=v1", NULL);

    ck_assert_str_eq(r.out, "");
    end(&r, 0, NULL);
    r = command_run("run", BLOG, "--feed=i=1", "--feed=n=10", "--feed=a=0",
                    "--target=v1:0", "--target=v2", NULL);
    end(&r, 0, NULL);
}
END_TEST

/* Each row: the arguments, and what the message says. */
START_TEST(wrong_use_ends_with_2)
{
    static const char *const rows[][7] = {
        {"unknown command 'runs'", "runs"},
        {"no GRAPH", "run", "--fetch=v1"},
        {"more than one GRAPH", "run", BLOG, BLOG, "--fetch=v1"},
        {"eddy inspect", "run", BLOG},
        {"eddy inspect", "bench", BLOG},
        {"unknown option --nonsense", "run", BLOG, "--nonsense"},
        {"no -o FILE", "trace", BLOG, "--fetch=v1"},
        {"no -o DIR", "partition", BLOG},
        {"--executor: 'fast'", "run", BLOG, "--fetch=v1", "--executor=fast"},
        {"--fetch v9", "run", BLOG, "--fetch=v9"},
        {"--fetch v1:1", "run", BLOG, "--fetch=v1:1"},
        {"--target v9", "run", BLOG, "--target=v9"},
        {"--feed v9", "run", BLOG, "--feed=v9=1", "--fetch=v1"},
        {"NAME=VALUE", "run", BLOG, "--feed=i", "--fetch=v1"},
        {"NAME=VALUE", "run", BLOG, "--feed==1", "--fetch=v1"},
        {"range of int32", "run", BLOG, "--feed=i=2147483648", "--fetch=v1"},
        {"whole number", "run", BLOG, "--feed=i=1.5", "--fetch=v1"},
        {"not a JSON literal", "run", BLOG, "--feed=i=one", "--fetch=v1"},
        {"no PATH", "verify"},
        {"no GRAPH", "inspect"},
        {"unknown option -o", "run", BLOG, "-o", "x.pb"},
    };
    command_result r = command_run(NULL);

    end(&r, 2, "Usage");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const *a = rows[i];

        r = command_run(a[1], a[2], a[3], a[4], a[5], a[6], NULL);
        end(&r, 2, a[0]);
    }
}
END_TEST

START_TEST(a_program_that_fails_ends_with_1)
{
    command_result r = command_run("run", CASES "errors/assert_loop/graph.pb",
                                   "--feed=n=5", "--fetch=y", NULL);

    end(&r, 1, "while/Assert/Assert");
    r = command_run("run", "nowhere.pb", "--fetch=y", NULL);
    end(&r, 1, "nowhere.pb");
    r = command_run("run", "Makefile", "--fetch=y", NULL);
    end(&r, 1, "Makefile");
    r = command_run("run", UNKNOWN_OP, "--feed=x=1", "--fetch=a", NULL);
    end(&r, 1, "Frobnicate");
    r = command_run("run", BLOG, "--fetch=v1", NULL);
    end(&r, 1, "EDDY_E_NOT_FED");
    r = command_run("run", BLOG, "--feed=i=@nowhere.npy", "--fetch=v1", NULL);
    end(&r, 1, "nowhere.npy");
    r = command_run("run", BLOG, "--feed=i=1", "--feed=i=1", "--fetch=v1",
                    NULL);
    end(&r, 1, "EDDY_E_FEED_TWICE");
}
END_TEST

START_TEST(limits_end_a_run)
{
    command_result r = command_run("run", COUNTER, "--fetch=while/Exit",
                                   "--max-iterations=1000", NULL);

    end(&r, 1, "EDDY_E_LIMIT_ITERATIONS");
    r = command_run("run", COUNTER, "--fetch=while/Exit", "--timeout=0.00001",
                    NULL);
    end(&r, 1, "EDDY_E_DEADLINE");
    r = command_run("run", COUNTER, "--fetch=while/Exit", "--max-bytes=1",
                    NULL);
    end(&r, 1, "RESOURCE_EXHAUSTED");
}
END_TEST

START_TEST(a_full_disk_is_noticed)
{
    ck_assert_int_eq(command_run_into("/dev/full", "run", BLOG, "--feed=i=1",
                                      "--feed=n=10", "--feed=a=0", "--fetch=v1",
                                      NULL),
                     1);
    ck_assert_int_eq(command_run_into("/dev/full", "--help", NULL), 1);
    ck_assert_int_eq(
        command_run_into("/dev/full", "inspect", BLOG, "--dot", NULL), 1);
    ck_assert_int_eq(command_run_into("/dev/null", "--help", NULL), 0);
}
END_TEST

START_TEST(every_subcommand_has_a_help_with_examples)
{
    static const char *const names[] = {"run",  "verify",   "bench", "inspect",
                                        "grad", "convert",  "trace", "explain",
                                        "diff", "partition"};
    command_result all = command_run("--help", NULL);

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        command_result r = command_run(names[i], "--help", NULL);
        char start[32];

        snprintf(start, sizeof start, "Usage: eddy %s ", names[i]);
        ck_assert_ptr_eq(strstr(r.out, start), r.out);
        check_contains(r.out, "\nExamples:\n");
        check_contains(all.out, names[i]);
        for (char *line = strtok(r.out, "\n"); line; line = strtok(NULL, "\n"))
            ck_assert_uint_le(strlen(line), 80);
        end(&r, 0, NULL);
    }
    end(&all, 0, NULL);
}
END_TEST

/* The number of that name in an object that has it. */
static json_int_t count_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);

    ck_assert_msg(json_is_integer(value), "%s", name);
    return json_integer_value(value);
}

static json_t *bench(const char *option, const char *repeat)
{
    command_result r = command_run("bench", COUNTER, "--fetch=while/Exit",
                                   "--json", option, repeat, NULL);
    json_t *object = json_loads(r.out, JSON_REJECT_DUPLICATES, NULL);

    ck_assert_msg(object != NULL, "%s", r.out);
    end(&r, 0, NULL);
    return object;
}

START_TEST(bench_prints_one_json_object)
{
    static const char *const names[] = {
        "load_ns",    "plan_ns",         "min_ns",          "median_ns",
        "max_ns",     "live_executions", "dead_executions", "iterations",
        "frames",     "peak_bytes",      "allocations",     "compile_ns",
        "code_bytes", "cpu_ns",          "first_ns",        "first_cpu_ns",
    };
    const size_t n = sizeof names / sizeof names[0];
    json_t *object = bench("--repeat", "3");

    ck_assert_uint_eq(json_object_size(object), n + 2);
    ck_assert_ptr_nonnull(json_string_value(json_object_get(object, "tier")));
    ck_assert_str_eq(json_string_value(json_object_get(object, "products")),
                     "nothing measured");
    for (size_t i = 0; i < n; i++)
        ck_assert_int_ge(count_of(object, names[i]), 0);
    ck_assert_int_le(count_of(object, "min_ns"), count_of(object, "median_ns"));
    ck_assert_int_le(count_of(object, "median_ns"), count_of(object, "max_ns"));
    ck_assert_int_gt(count_of(object, "load_ns"), 0);
    ck_assert_int_gt(count_of(object, "plan_ns"), 0);
    ck_assert_int_gt(count_of(object, "cpu_ns"), 0);
    ck_assert_int_gt(count_of(object, "first_ns"), 0);
    ck_assert_int_gt(count_of(object, "first_cpu_ns"), 0);
    /* 100,000 trips and the one in which the predicate is false. */
    ck_assert_int_eq(count_of(object, "iterations"), 100001);
    ck_assert_int_eq(count_of(object, "frames"), 1);
    json_decref(object);
}
END_TEST

START_TEST(bench_says_which_library_is_asked_for)
{
    static const char *const asked[][2] = {
        {"openblas", "OpenBLAS, as asked for"},
        {"onednn", "oneDNN, as asked for"}};

    for (size_t i = 0; i < 2; i++) {
        json_t *object;

        ck_assert_int_eq(setenv("EDDY_PRODUCTS", asked[i][0], 1), 0);
        object = bench("--repeat", "1");
        ck_assert_int_eq(unsetenv("EDDY_PRODUCTS"), 0);
        ck_assert_str_eq(json_string_value(json_object_get(object, "products")),
                         asked[i][1]);
        json_decref(object);
    }
}
END_TEST

START_TEST(bench_counts_one_execution_however_often_it_repeats)
{
    static const char *const names[] = {"live_executions", "dead_executions",
                                        "iterations", "frames"};
    json_t *once = bench("--repeat=1", NULL);
    json_t *often = bench("--repeat=4", "--workers=1");

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        ck_assert_int_eq(count_of(once, names[i]), count_of(often, names[i]));
    json_decref(once);
    json_decref(often);
}
END_TEST

/* The shell says whose number stands in the path: the command takes its place.
 */
START_TEST(a_map_for_perf_has_a_line_an_instruction)
{
    char command[512], line[512];
    const char *eddy = getenv("EDDY") ? getenv("EDDY") : "build/eddy";
    size_t n = 0;
    long pid = 0;
    FILE *from;

    snprintf(command, sizeof command,
             "sh -c 'echo $$; exec %s run %s --fetch while/Exit --perf-map'",
             eddy, COUNTER);
    from = popen(command, "r");
    ck_assert_ptr_nonnull(from);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, from));
    pid = strtol(line, NULL, 10);
    while (fgets(line, sizeof line, from))
        ;
    ck_assert_int_eq(pclose(from), 0);
    snprintf(command, sizeof command, "/tmp/perf-%ld.map", pid);
    from = fopen(command, "r");
    ck_assert_ptr_nonnull(from);
    while (fgets(line, sizeof line, from)) {
        unsigned long long at = 0, size = 0;
        char name[256];

        ck_assert_int_eq(
            sscanf(line, "%llx %llx eddy %255[^\n]", &at, &size, name), 3);
        ck_assert(at != 0 && size != 0 && size < 4096);
        ck_assert_ptr_nonnull(strstr(name, "frame '"));
        n++;
    }
    fclose(from);
    unlink(command);
    ck_assert(eddy_native_machine() == NULL ? n == 0 : n > 5);
}
END_TEST

START_TEST(bench_prints_a_table_for_people)
{
    command_result r =
        command_run("bench", COUNTER, "--fetch=while/Exit", "--repeat=1", NULL);

    check_contains(r.out, "median");
    check_contains(r.out, "an iteration");
    check_contains(r.out, "100001\n");
    end(&r, 0, NULL);
}
END_TEST

START_TEST(inspect_shows_what_the_graph_is_made_of)
{
    command_result r = command_run("inspect", BLOG, NULL);

    check_contains(r.out, "  Enter\n");
    check_contains(r.out, "unsupported ops: none\n");
    check_contains(r.out, "inputs:\n");
    check_contains(r.out, "  i  int32");
    check_contains(r.out, "outputs:\n");
    check_contains(r.out, "  v1  int32\n");
    check_contains(r.out, "while/while_context: ");
    check_contains(r.out, "parallel_iterations 10\n");
    check_contains(r.out, "predicate: while/Less loop_cond while/LoopCond\n");
    check_contains(r.out, "variable: enter while/Enter merge while/Merge "
                          "switch while/Switch next while/NextIteration "
                          "exit while/Exit\n");
    end(&r, 0, NULL);
}
END_TEST

START_TEST(inspect_shows_invariants_and_branches)
{
    command_result r =
        command_run("inspect", "benchmarks/graphs/cond_in_loop.pb", NULL);

    check_contains(r.out, "branches:\n  predicate ");
    end(&r, 0, NULL);
    r = command_run("inspect", CASES "primitives/enter_is_constant/graph.pb",
                    NULL);
    check_contains(r.out, "invariant: enter ");
    end(&r, 0, NULL);
}
END_TEST

START_TEST(inspect_lists_ops_that_are_not_there)
{
    command_result r = command_run("inspect", UNKNOWN_OP, NULL);

    check_contains(r.out, "unsupported ops:\n  Frobnicate: 1 node, the first "
                          "a\n");
    end(&r, 0, NULL);
}
END_TEST

START_TEST(inspect_draws_the_graph)
{
    command_result r = command_run("inspect", BLOG, "--dot", NULL);

    ck_assert_ptr_eq(strstr(r.out, "digraph"), r.out);
    check_contains(r.out, "while/while_context");
    check_contains(r.out, "subgraph");
    end(&r, 0, NULL);
}
END_TEST

START_TEST(inspect_refuses_frames_that_make_no_sense)
{
    command_result r =
        command_run("inspect", CASES "errors/frames_mixed/graph.pb", NULL);

    ck_assert_int_eq(r.status, 1);
    check_contains(r.out, "ops:\n");
    check_contains(r.err, "EDDY_E_FRAME_MIXED");
    command_result_free(&r);
}
END_TEST

TCase *command_tests(void)
{
    TCase *tc = tcase_create("command");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, run_prints_a_line_for_each_fetch);
    tcase_add_test(tc, run_gives_the_same_whatever_the_options);
    tcase_add_test(tc, run_takes_and_prints_sequences_and_optional_values);
    tcase_add_test(tc, sequences_are_fed_from_files_and_only_to_run);
    tcase_add_test(tc, any_tensor_can_be_fed);
    tcase_add_test(tc, out_writes_files_with_names_that_every_system_takes);
    tcase_add_test(tc, a_file_is_cast_to_the_dtype_of_what_it_feeds);
    tcase_add_test(tc, targets_run_without_being_printed);
    tcase_add_test(tc, wrong_use_ends_with_2);
    tcase_add_test(tc, a_program_that_fails_ends_with_1);
    tcase_add_test(tc, limits_end_a_run);
    tcase_add_test(tc, a_full_disk_is_noticed);
    tcase_add_test(tc, every_subcommand_has_a_help_with_examples);
    tcase_add_test(tc, bench_prints_one_json_object);
    tcase_add_test(tc, bench_says_which_library_is_asked_for);
    tcase_add_test(tc, bench_counts_one_execution_however_often_it_repeats);
    tcase_add_test(tc, a_map_for_perf_has_a_line_an_instruction);
    tcase_add_test(tc, bench_prints_a_table_for_people);
    tcase_add_test(tc, inspect_shows_what_the_graph_is_made_of);
    tcase_add_test(tc, inspect_shows_invariants_and_branches);
    tcase_add_test(tc, inspect_lists_ops_that_are_not_there);
    tcase_add_test(tc, inspect_draws_the_graph);
    tcase_add_test(tc, inspect_refuses_frames_that_make_no_sense);
    return tc;
}
