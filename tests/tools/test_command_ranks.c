/* SPDX-License-Identifier: Apache-2.0 */
/* eddy partition, and graphs on several ranks, from outside. */
#include "tests/aid/command_runner.h"
#include "tests/aid/program.h"
#include "tests/aid/scratch_folder.h"
#include "tests/suites.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
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

/* ---- checkpoints ---- */

static command_result count(const char *ranks, const char *how, const char *dir)
{
    char where[SCRATCH_PATH + 32];

    snprintf(where, sizeof where, "--checkpoint-dir=%s/%s", folder, dir);
    return command_run("run", COUNT, "--feed=n=-9", "--fetch=y", where, how,
                       ranks, ranks ? "--seed=5" : NULL, NULL);
}

static void want_run(command_result r, int status, const char *out,
                     const char *err)
{
    ck_assert_msg(r.status == status, "%d: %s%s", r.status, r.out, r.err);
    ck_assert_msg(!out || strcmp(r.out, out) == 0, "%s", r.out);
    ck_assert_msg(!err || strstr(r.err, err) != NULL, "%s", r.err);
    command_result_free(&r);
}

/* By itself, and on two threads. */
START_TEST(test_a_loop_is_saved_and_gone_on_with)
{
    const char *ranks = _i == 0 ? NULL : "--ranks=2";
    command_result whole =
        command_run("run", COUNT, "--feed=n=-9", "--fetch=y", NULL);

    want_run(count(ranks, "--checkpoint=4", "saved"), 0, whole.out, NULL);
    want_run(count(ranks, "--checkpoint=4", "saved"), 1, NULL,
             "EDDY_E_CHECKPOINT");
    want_run(count(ranks, "--resume", "saved"), 0, whole.out, NULL);
    want_run(count(ranks, "--resume", "none"), 0, whole.out, NULL);
    command_result_free(&whole);
}
END_TEST

START_TEST(test_a_checkpoint_wants_a_folder)
{
    want_run(
        command_run("run", COUNT, "--feed=n=9", "--fetch=y", "--resume", NULL),
        2, NULL, "want --checkpoint-dir");
    want_run(command_run("run", COUNT, "--feed=n=9", "--fetch=y",
                         "--checkpoint=3", NULL),
             2, NULL, "want --checkpoint-dir");
}
END_TEST

/* ---- the commands ---- */

START_TEST(test_ranks_may_be_asked_for_the_same_bits)
{
    command_result one =
        command_run("run", COUNT, "--feed=n=9", "--fetch=y", NULL);

    for (int seed = 1; seed < 4; seed++) {
        char text[32];

        snprintf(text, sizeof text, "--seed=%d", seed);
        want_run(command_run("run", COUNT, "--feed=n=9", "--fetch=y",
                             "--ranks=2", "--deterministic", text, NULL),
                 0, one.out, NULL);
    }
    command_result_free(&one);
}
END_TEST

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

/* ---- METIS ---- */

/* Two chains that meet at their ends. */
#define CHAINS                                                                 \
    "x float32[4096]=0.5\nk int32=0\n"                                         \
    "a1 Exp x\na2 Sin a1\na3 Cos a2\na4 Exp a3\na5 Sin a4\na6 Sum a5 k\n"      \
    "b1 Exp x\nb2 Cos b1\nb3 Sin b2\nb4 Exp b3\nb5 Cos b4\nb6 Sum b5 k\n"      \
    "y AddV2 a6 b6\n"

static void save_graph(const char *text, char path[SCRATCH_PATH + 32])
{
    program p;

    snprintf(path, SCRATCH_PATH + 32, "%s/graph.pb", folder);
    program_init(&p, 0);
    program_build(&p, text);
    ck_assert_int_eq(eddy_graphdef_save(p.graph, path, &p.err), EDDY_OK);
    program_deinit(&p);
}

/* METIS is optional: without it the command must say so. */
static bool is_metis_there(const command_result *r)
{
    if (r->status == 0)
        return true;
    ck_assert_msg(strstr(r->err, "there is no METIS") != NULL, "%s", r->err);
    return false;
}

START_TEST(test_metis_cuts_where_least_is_sent)
{
    char graph[SCRATCH_PATH + 32], out[SCRATCH_PATH + 32];
    command_result r;

    save_graph(CHAINS, graph);
    snprintf(out, sizeof out, "%s/parts", folder);
    r = command_run("partition", graph, "--place=metis:2", "-o", out, NULL);
    if (is_metis_there(&r)) {
        /* All that goes from one rank to the other is the end of a chain. */
        ck_assert_msg(strstr(r.out, "\t1 sends\t0 receives") != NULL, "%s",
                      r.out);
        ck_assert_msg(strstr(r.out, "\t0 sends\t1 receives") != NULL, "%s",
                      r.out);
    }
    command_result_free(&r);
}
END_TEST

/* Measured, with a loop: what it writes is read, and gives the same values. */
START_TEST(test_metis_writes_places)
{
    char out[SCRATCH_PATH + 32], places[SCRATCH_PATH + 64];
    command_result r, one, many;

    snprintf(out, sizeof out, "%s/parts", folder);
    r = command_run("partition", COUNT, "--feed=n=9", "--fetch=y",
                    _i == 0 ? "--place=metis:1" : "--place=metis:3", "-o", out,
                    NULL);
    if (is_metis_there(&r)) {
        snprintf(places, sizeof places, "--place=%s/places.txt", out);
        one = command_run("run", COUNT, "--feed=n=9", "--fetch=y", NULL);
        many =
            command_run("run", COUNT, "--feed=n=9", "--fetch=y", places, NULL);
        ck_assert_msg(many.status == 0, "%s", many.err);
        ck_assert_str_eq(many.out, one.out);
        command_result_free(&one);
        command_result_free(&many);
    }
    command_result_free(&r);
}
END_TEST

START_TEST(test_metis_is_refused_by_a_run)
{
    command_result r = command_run("run", COUNT, "--feed=n=9", "--fetch=y",
                                   "--place=metis:2", NULL);

    ck_assert_int_eq(r.status, 1);
    ck_assert_msg(strstr(r.err, "is for `eddy partition`") != NULL, "%s",
                  r.err);
    command_result_free(&r);
}
END_TEST

/* What the system finds by that name is no library. */
START_TEST(test_without_metis)
{
    const char *before = getenv("LD_LIBRARY_PATH");
    char *kept = before ? strdup(before) : NULL;
    char out[SCRATCH_PATH + 32];
    command_result r;

    scratch_folder_write(folder, "libmetis.so.5", "this is no library");
    snprintf(out, sizeof out, "%s/parts", folder);
    ck_assert_int_eq(setenv("LD_LIBRARY_PATH", folder, 1), 0);
    r = command_run("partition", COUNT, "--place=metis:2", "-o", out, NULL);
    if (kept)
        setenv("LD_LIBRARY_PATH", kept, 1);
    else
        unsetenv("LD_LIBRARY_PATH");
    free(kept);
    ck_assert_int_eq(r.status, 1);
    ck_assert_msg(strstr(r.err, "UNAVAILABLE") != NULL &&
                      strstr(r.err, "there is no METIS") != NULL,
                  "%s", r.err);
    command_result_free(&r);
}
END_TEST

/* ---- recorded ---- */

static command_result trace_count(const char *name, char path[])
{
    char file[SCRATCH_PATH + 64];

    snprintf(path, SCRATCH_PATH + 32, "%s/%s", folder, name);
    snprintf(file, sizeof file, "--output=%s", path);
    return command_run("trace", COUNT, "--feed=n=-9", "--fetch=y", "--ranks=3",
                       "--seed=4", file, NULL);
}

/* An arrow from one process of the viewer to another for each message. */
START_TEST(test_a_trace_has_all_ranks)
{
    char path[SCRATCH_PATH + 32];
    command_result r = trace_count("run.json", path);
    json_t *root = json_load_file(path, 0, NULL);
    json_t *events = json_object_get(root, "traceEvents");
    json_int_t from = 0, n = 0;
    unsigned long n_messages = 0;
    const char *at = strstr(r.out, " frames, ");

    ck_assert_msg(r.status == 0 && root && at, "%s%s", r.out, r.err);
    ck_assert_int_eq(sscanf(at, " frames, %lu messages, 3 ranks", &n_messages),
                     1);
    for (size_t i = 0; i < json_array_size(events); i++) {
        json_t *e = json_array_get(events, i);
        const char *phase = json_string_value(json_object_get(e, "ph"));
        const json_int_t pid = json_integer_value(json_object_get(e, "pid"));

        ck_assert(pid >= 1 && pid <= 3);
        if (strcmp(phase, "s") == 0)
            from = pid;
        if (strcmp(phase, "f") == 0)
            ck_assert_int_ne(pid, from);
        n += strcmp(phase, "f") == 0;
    }
    ck_assert_int_gt(n, 1);
    ck_assert_int_eq(n, (json_int_t)n_messages);
    json_decref(root);
    command_result_free(&r);
}
END_TEST

/* A node has the values that it has on one rank. */
START_TEST(test_a_trace_of_ranks_is_that_of_one)
{
    char one[SCRATCH_PATH + 32], all[SCRATCH_PATH + 32];
    char file[SCRATCH_PATH + 64];
    command_result r = trace_count("all.json", all);

    ck_assert_int_eq(r.status, 0);
    command_result_free(&r);
    snprintf(one, sizeof one, "%s/one.json", folder);
    snprintf(file, sizeof file, "--output=%s", one);
    want_run(command_run("trace", COUNT, "--feed=n=-9", "--fetch=y",
                         "--node=while/add", file, NULL),
             0, NULL, NULL);
    want_run(command_run("diff", one, all, NULL), 0, NULL, NULL);
}
END_TEST

/* What is dead on one rank is so by a Switch, which may be on another. */
START_TEST(test_explain_goes_from_rank_to_rank)
{
    command_result r = command_run("explain", COUNT, "--feed=n=-9", "--fetch=y",
                                   "--ranks=3", "--seed=4", "while/add", NULL);

    ck_assert_msg(r.status == 0, "%s", r.err);
    ck_assert_msg(strstr(r.out, "that Switch took output 0") != NULL, "%s",
                  r.out);
    command_result_free(&r);
}
END_TEST

/* Before anything runs, and on each of them. */
START_TEST(test_processes_are_not_recorded)
{
    static const char *const how[] = {"--processes", "--socket=/nowhere"};
    char file[SCRATCH_PATH + 64];

    snprintf(file, sizeof file, "--trace=%s/run.json", folder);
    want_run(command_run("run", COUNT, "--feed=n=-9", "--fetch=y", "--ranks=2",
                         how[_i], file, NULL),
             2, "", "ranks are recorded as threads");
    want_run(command_run("verify", "--record", "--ranks=2", how[_i],
                         CASES "/while/count", NULL),
             2, "", "ranks are recorded as threads");
}
END_TEST

/* Counts, chains and pushes of cases on ranks, by what was recorded. */
START_TEST(test_cases_on_ranks_recorded)
{
    want_run(command_run("verify", "--forward", "--record", "--ranks=3",
                         "--seed=23", "--timeout=60",
                         program_is_release() ? CASES "/programs"
                                              : CASES "/programs/p01",
                         NULL),
             0, NULL, NULL);
    want_run(command_run("verify", "--forward", "--record", "--ranks=2",
                         "--literal", "--seed=29", "--timeout=60",
                         CASES "/while", NULL),
             0, NULL, NULL);
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
    tcase_add_test(tc, test_ranks_may_be_asked_for_the_same_bits);
    tcase_add_test(tc, test_processes_print_what_one_does);
    tcase_add_test(tc, test_partition_writes_a_graph_a_rank);
    tcase_add_test(tc, test_wrong_places);
    tcase_add_test(tc, test_metis_cuts_where_least_is_sent);
    tcase_add_loop_test(tc, test_metis_writes_places, 0, 2);
    tcase_add_test(tc, test_metis_is_refused_by_a_run);
    tcase_add_test(tc, test_without_metis);
    tcase_add_loop_test(tc, test_a_loop_is_saved_and_gone_on_with, 0, 2);
    tcase_add_test(tc, test_a_checkpoint_wants_a_folder);
    tcase_add_test(tc, test_a_trace_has_all_ranks);
    tcase_add_test(tc, test_a_trace_of_ranks_is_that_of_one);
    tcase_add_test(tc, test_explain_goes_from_rank_to_rank);
    tcase_add_loop_test(tc, test_processes_are_not_recorded, 0, 2);
    tcase_add_test(tc, test_cases_on_ranks_recorded);
    return tc;
}
