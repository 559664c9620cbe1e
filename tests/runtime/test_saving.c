/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints of a loop: a run that was broken off and goes on must come to the
 * bits of one that was not, on one rank and on several.
 */
#include "eddy/processes.h"
#include "tests/aid/child.h"
#include "tests/aid/program.h"
#include "tests/aid/scratch_folder.h"
#include "tests/suites.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * while i < n: r = sum(two random numbers); x = x * v + r; v = v + r
 * v is a variable, 1 at first; what sets it comes before the loop.
 */
#define HEAD "n ?int32\nzero int32=0 ^init\nx0 float64=0.5\none float64=1\n"
#define VARIABLE                                                               \
    "v VarHandleOp dtype=float64 shape=()\ninit AssignVariableOp v one\n"
#define COUNTER                                                                \
    "i/e Enter@L#4 zero\ni/m Merge i/e i/n\ni/l Enter@L!#4 n\n"                \
    "i/less Less i/m i/l\ni/c LoopCond i/less\ni/s Switch i/m i/c\n"           \
    "i/x Exit i/s:0\ni/b Identity i/s:1\ni/one int32=1 ^i/b\n"                 \
    "i/a AddV2 i/b i/one\ni/n NextIteration i/a\n"
#define TRAINED                                                                \
    "x/e Enter@L#4 x0\nx/m Merge x/e x/n\nx/s Switch x/m i/c\n"                \
    "x/x Exit x/s:0\nx/b Identity x/s:1\nx/h Enter@L!#4 v\n"                   \
    "x/sh int32[1]=2 ^x/b\n"                                                   \
    "x/u RandomUniform x/sh dtype=float64 seed=7 seed2=9\n"                    \
    "x/ax int32=0 ^x/b\nx/r Sum x/u x/ax\n"                                    \
    "x/v ReadVariableOp x/h dtype=float64 ^x/b\nx/p Mul x/b x/v\n"             \
    "x/y AddV2 x/p x/r\nx/set AssignAddVariableOp x/h x/r ^x/v\n"              \
    "x/z Identity x/y ^x/set\nx/n NextIteration x/z\n"                         \
    "x/last ReadVariableOp v dtype=float64 ^x/x\n"
#define TRAINING HEAD VARIABLE COUNTER TRAINED

static char folder[SCRATCH_PATH];
static char files[SCRATCH_PATH + 16]; /* a folder in it, made when needed */

static void set_up(void)
{
    scratch_folder_create(folder);
    snprintf(files, sizeof files, "%s/saved", folder);
}

static void tear_down(void)
{
    scratch_folder_remove(folder);
}

/* What a run came to: the bits of two doubles. */
typedef struct result {
    uint64_t x, v;
} result;

typedef struct training {
    const char *text;
    int32_t n;
    eddy_checkpoint saved; /* folder NULL: none */
    uint64_t most;         /* iterations before it is broken off; 0: none */
    uint32_t n_workers;
} training;

static eddy_checkpoint every(int64_t n, bool resume)
{
    return (eddy_checkpoint){.size = sizeof(eddy_checkpoint),
                             .folder = files,
                             .every = n,
                             .resume = resume};
}

static eddy_status train_in(program *p, const training *t, result *out)
{
    eddy_status status;

    p->plan_options.checkpoint = t->saved.folder ? &t->saved : NULL;
    p->run_options.max_iterations = t->most;
    program_build(p, t->text ? t->text : TRAINING);
    status = program_try_plan(p, "n", "x/x x/last");
    if (status != EDDY_OK)
        return status;
    program_make_run(p);
    program_feed_int32(p, 0, t->n);
    status = program_execute(p);
    if (status == EDDY_OK && out) {
        memcpy(&out->x, eddy_tensor_data(eddy_run_fetch(p->run, 0)), 8);
        memcpy(&out->v, eddy_tensor_data(eddy_run_fetch(p->run, 1)), 8);
    }
    return status;
}

/* The trip that it began with, too. */
static eddy_status train(const training *t, result *out, int64_t *first,
                         eddy_error *err)
{
    eddy_status status;
    program p;

    program_init(&p, t->n_workers);
    status = train_in(&p, t, out);
    if (first && p.plan)
        *first = eddy_plan_first_trip(p.plan);
    if (err)
        *err = p.err;
    program_deinit(&p);
    return status;
}

static result whole(int32_t n)
{
    const training t = {.n = n};
    result r = {0, 0};

    ck_assert_int_eq(train(&t, &r, NULL, NULL), EDDY_OK);
    return r;
}

static void want_same(result a, result b)
{
    ck_assert_uint_eq(a.x, b.x);
    ck_assert_uint_eq(a.v, b.v);
}

static int count_files(void)
{
    DIR *dir = opendir(files);
    int n = 0;

    for (const struct dirent *e; dir && (e = readdir(dir));)
        n += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return n;
}

static void remove_files(void)
{
    DIR *dir = opendir(files);
    char path[512];

    for (const struct dirent *e; dir && (e = readdir(dir));) {
        snprintf(path, sizeof path, "%s/%.200s", files, e->d_name);
        if (e->d_name[0] != '.')
            ck_assert_int_eq(unlink(path), 0);
    }
    if (dir)
        closedir(dir);
}

/* ---- one rank ---- */

START_TEST(test_a_run_goes_on_to_the_same_bits)
{
    const result wanted = whole(20);

    for (int64_t k = 1; k < 8; k += 4) {
        for (uint64_t most = 1; most < 22; most += 10) {
            const training broken = {.n = 20,
                                     .saved = every(k, false),
                                     .most = most,
                                     .n_workers = 2};
            const training rest = {.n = 20, .saved = every(k, true)};
            int64_t first = -1;
            result r = {0, 0};

            ck_assert_int_eq(train(&broken, NULL, NULL, NULL),
                             most > 20 ? EDDY_OK : EDDY_RESOURCE_EXHAUSTED);
            ck_assert_int_eq(train(&rest, &r, &first, NULL), EDDY_OK);
            /* Iterations 0 to most - 1 have begun. */
            ck_assert_int_ge(first, ((int64_t)most - 1) / k * k - (k == 1));
            ck_assert_int_eq(first % k, 0);
            want_same(r, wanted);
            remove_files();
        }
    }
}
END_TEST

START_TEST(test_it_goes_on_more_than_once_and_further)
{
    const result wanted = whole(30);
    int64_t first = 0, before = -1;
    result r = {0, 0};

    for (;;) {
        const training part = {.n = 30, .saved = every(4, true), .most = 7};

        if (train(&part, &r, &first, NULL) == EDDY_OK)
            break;
        ck_assert_int_gt(first, before);
        before = first;
    }
    want_same(r, wanted);
    /* With more trips than it was to have at first. */
    {
        const training more = {.n = 35, .saved = every(0, true)};
        const result further = whole(35);

        ck_assert_int_eq(train(&more, &r, &first, NULL), EDDY_OK);
        ck_assert_int_eq(first, 28);
        want_same(r, further);
    }
}
END_TEST

START_TEST(test_one_whole_checkpoint_is_kept)
{
    const training t = {.n = 20, .saved = every(3, false)};

    ck_assert_int_eq(train(&t, NULL, NULL, NULL), EDDY_OK);
    ck_assert_int_eq(count_files(), 2);
}
END_TEST

START_TEST(test_the_state_of_a_session_comes_back)
{
    const training broken = {.n = 20, .saved = every(5, false), .most = 13};
    const training rest = {.n = 20, .saved = every(5, true)};
    const result wanted = whole(20);

    for (int i = 0; i < 2; i++) {
        eddy_session *session;
        eddy_tensor *v;
        uint64_t bits;
        program p;

        program_init(&p, 0);
        ck_assert_int_eq(eddy_session_create(p.ctx, &session, &p.err), EDDY_OK);
        p.run_options.session = session;
        ck_assert_int_eq(train_in(&p, i == 0 ? &broken : &rest, NULL),
                         i == 0 ? EDDY_RESOURCE_EXHAUSTED : EDDY_OK);
        ck_assert_int_eq(eddy_session_get_variable(session, "v", &v, &p.err),
                         EDDY_OK);
        memcpy(&bits, eddy_tensor_data(v), sizeof bits);
        ck_assert_int_eq(i, bits == wanted.v);
        eddy_tensor_release(v);
        eddy_session_release(session);
        program_deinit(&p);
    }
}
END_TEST

/* ---- refusals ---- */

static void want_refused(const training *t, eddy_status code,
                         eddy_detail detail, const char *words)
{
    eddy_error err;

    ck_assert_int_eq(train(t, NULL, NULL, &err), code);
    ck_assert_msg(err.detail == detail && strstr(err.message, words) != NULL,
                  "%s: %s", eddy_detail_name(err.detail), err.message);
}

static void save_some(void)
{
    const training t = {.n = 20, .saved = every(6, false)};

    ck_assert_int_eq(train(&t, NULL, NULL, NULL), EDDY_OK);
}

START_TEST(test_what_is_there_is_not_lost)
{
    const training again = {.n = 20, .saved = every(6, false)};
    training other = {.n = 20, .saved = every(6, true)};

    save_some();
    want_refused(&again, EDDY_FAILED_PRECONDITION, EDDY_E_CHECKPOINT,
                 "of trip 18");
    other.saved.n_parts = 2;
    want_refused(&other, EDDY_FAILED_PRECONDITION, EDDY_E_CHECKPOINT,
                 "of 1 ranks");
}
END_TEST

START_TEST(test_another_loop_is_refused)
{
    const training other = {.text = HEAD VARIABLE COUNTER TRAINED
                            "x/q Neg x/p\n"
                            "x/n2 NoOp ^x/q\n",
                            .n = 20,
                            .saved = every(6, true)};
    const training changed = {
        .text = HEAD VARIABLE COUNTER
        "x/e Enter@L#4 x0\nx/m Merge x/e x/n\nx/s Switch x/m i/c\n"
        "x/x Exit x/s:0\nx/y Neg x/s:1\nx/n NextIteration x/y\n"
        "x/last ReadVariableOp v dtype=float64 ^x/x\n",
        .n = 20,
        .saved = every(6, true)};
    eddy_error err;

    save_some();
    /* What nothing needs does not count. */
    ck_assert_int_eq(train(&other, NULL, NULL, &err), EDDY_OK);
    want_refused(&changed, EDDY_FAILED_PRECONDITION, EDDY_E_CHECKPOINT,
                 "another loop");
}
END_TEST

/* The only file with that ending. */
static void find_file(const char *ending, char path[512])
{
    DIR *dir = opendir(files);

    path[0] = '\0';
    for (const struct dirent *e; dir && (e = readdir(dir));)
        if (strstr(e->d_name, ending) != NULL)
            snprintf(path, 512, "%s/%.200s", files, e->d_name);
    if (dir)
        closedir(dir);
    ck_assert_int_ne(path[0], '\0');
}

START_TEST(test_a_damaged_one_is_told)
{
    const training t = {.n = 20, .saved = every(0, true)};
    char path[512];
    FILE *file;

    save_some();
    find_file(".data", path);
    file = fopen(path, "r+b");
    ck_assert_ptr_nonnull(file);
    fputc(0x55, file);
    fclose(file);
    want_refused(&t, EDDY_DATA_LOSS, EDDY_E_TENSOR_DATA, "damaged");
    find_file(".index", path);
    ck_assert_int_eq(truncate(path, 20), 0);
    want_refused(&t, EDDY_DATA_LOSS, EDDY_E_TENSOR_DATA, "damaged");
    /* Files of other names are let be. */
    ck_assert_int_eq(unlink(path), 0);
    scratch_folder_write(folder, "saved/trip-7.0-of-1.index", "x");
    ck_assert_int_eq(train(&t, NULL, NULL, NULL), EDDY_OK);
}
END_TEST

START_TEST(test_one_that_cannot_be_written_ends_the_run)
{
    const training t = {.n = 20, .saved = every(6, false)};
    const training rest = {.n = 20, .saved = every(6, true)};
    struct rlimit before, none;

    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    none = before;
    none.rlim_cur = 8;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
    {
        eddy_error err;
        const eddy_status status = train(&t, NULL, NULL, &err);

        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
        ck_assert_int_eq(status, EDDY_UNAVAILABLE);
        ck_assert_int_eq(err.detail, EDDY_E_IO);
        ck_assert_ptr_nonnull(strstr(err.message, "cannot write"));
    }
    ck_assert_int_eq(count_files(), 0);
    ck_assert_int_eq(train(&rest, NULL, NULL, NULL), EDDY_OK);
}
END_TEST

START_TEST(test_a_folder_that_is_none_is_told)
{
    training t = {.n = 20, .saved = every(6, false)};
    char path[SCRATCH_PATH + 16];

    scratch_folder_write(folder, "file", "x");
    snprintf(path, sizeof path, "%s/file", folder);
    t.saved.folder = path;
    want_refused(&t, EDDY_NOT_FOUND, EDDY_E_IO, "cannot read");
    t.saved.folder = "";
    want_refused(&t, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT, "no folder");
    t.saved = every(-1, false);
    want_refused(&t, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT, "every -1");
    t.saved = every(6, false);
    t.saved.loop = "K";
    want_refused(&t, EDDY_FAILED_PRECONDITION, EDDY_E_CHECKPOINT,
                 "no loop 'K'");
    t.saved.loop = "L";
    ck_assert_int_eq(train(&t, NULL, NULL, NULL), EDDY_OK);
}
END_TEST

START_TEST(test_a_run_without_files_is_refused)
{
    const training t = {.n = 20, .saved = every(6, false)};
    program p;

    program_init(&p, 0);
    p.run_options.no_files = true;
    ck_assert_int_eq(train_in(&p, &t, NULL), EDDY_PERMISSION_DENIED);
    ck_assert_int_eq(count_files(), 0);
    program_deinit(&p);
}
END_TEST

START_TEST(test_two_loops_must_be_told_apart)
{
    training t = {.text =
                      TRAINING "j/e Enter@K x/x\nj/m Merge j/e j/n\n"
                               "lim float64=1000000\nj/lim Enter@K! lim\n"
                               "j/less Less j/m j/lim\nj/c LoopCond j/less\n"
                               "j/s Switch j/m j/c\nj/x Exit j/s:0\n"
                               "j/two float64=2 ^j/s:1\nj/y Mul j/s:1 j/two\n"
                               "j/n NextIteration j/y\n",
                  .n = 5,
                  .saved = every(2, false)};
    program p;

    t.saved.loop = "L";
    program_init(&p, 0);
    p.plan_options.checkpoint = &t.saved;
    program_build(&p, t.text);
    ck_assert_int_eq(program_try_plan(&p, "n", "j/x"), EDDY_OK);
    t.saved.loop = NULL;
    program_want(&p, program_try_plan(&p, "n", "j/x"), EDDY_FAILED_PRECONDITION,
                 EDDY_E_CHECKPOINT);
    program_deinit(&p);
}
END_TEST

START_TEST(test_each_allocation_may_fail)
{
    const training rest = {.n = 20, .saved = every(0, true)};
    const result wanted = whole(20);
    int failed = 0;

    save_some();
    for (long long n = 0;; n++) {
        eddy_status status;
        result r = {0, 0};
        program p;

        program_init(&p, 0);
        p.plan_options.checkpoint = &rest.saved;
        program_build(&p, TRAINING);
        counting_allocator_fail(&p.counting, n);
        status = program_try_plan(&p, "n", "x/x x/last");
        if (status == EDDY_OK) {
            const long long left = atomic_load(&p.counting.failing);

            counting_allocator_fail(&p.counting, -1);
            program_make_run(&p);
            program_feed_int32(&p, 0, 20);
            program_run(&p);
            memcpy(&r.x, eddy_tensor_data(eddy_run_fetch(p.run, 0)), 8);
            memcpy(&r.v, eddy_tensor_data(eddy_run_fetch(p.run, 1)), 8);
            want_same(r, wanted);
            program_deinit(&p);
            if (left >= 0)
                break;
            continue;
        }
        ck_assert_int_eq(status, EDDY_RESOURCE_EXHAUSTED);
        counting_allocator_fail(&p.counting, -1);
        program_deinit(&p);
        failed++;
    }
    ck_assert_int_gt(failed, 20);
}
END_TEST

/* ---- ranks ---- */

/* Makes the ranks: threads, or the one of `place`. */
static eddy_status make_ranks(program *p, const training *t,
                              const eddy_ranks_place *place, uint64_t seed,
                              eddy_ranks **out)
{
    static const eddy_place places[] = {
        {"x/", 1}, {"x/p", 0}, {"v", 1}, {"init", 1}};
    const eddy_output fed = program_output(p, "n");
    const eddy_output fetched[] = {program_output(p, "x/x"),
                                   program_output(p, "x/last")};
    const eddy_plan_options plan = {
        .size = sizeof plan, .checkpoint = t->saved.folder ? &t->saved : NULL};
    const eddy_run_options run = {.size = sizeof run,
                                  .max_iterations = t->most,
                                  .timeout_ns = UINT64_C(60000000000)};
    const eddy_ranks_options how = {
        .size = sizeof how, .plan = &plan, .run = &run, .seed = seed};
    eddy_partition *partition = NULL;
    eddy_status status = eddy_partition_create(
        p->graph,
        &(eddy_partition_options){.size = sizeof(eddy_partition_options),
                                  .n_ranks = 2,
                                  .places = places,
                                  .n_places = 4,
                                  .feeds = &fed,
                                  .n_feeds = 1,
                                  .fetches = fetched,
                                  .n_fetches = 2},
        &partition, &p->err);

    if (status == EDDY_OK)
        status = place ? eddy_ranks_join(partition, &how, place, out, &p->err)
                       : eddy_ranks_create(partition, &how, out, &p->err);
    eddy_partition_destroy(partition);
    return status;
}

static eddy_status train_ranks(const training *t, const eddy_ranks_place *place,
                               uint64_t seed, result *out, eddy_error *err)
{
    eddy_tensor *fetched[2] = {NULL, NULL}, *feed;
    eddy_ranks *ranks = NULL;
    eddy_status status;
    program p;

    program_init(&p, 0);
    program_build(&p, TRAINING);
    feed = program_tensor(&p, EDDY_INT32, &(eddy_shape){.rank = 0}, &t->n);
    status = make_ranks(&p, t, place, seed, &ranks);
    if (status == EDDY_OK)
        status = eddy_ranks_run(ranks, &feed, fetched, &p.err);
    if (status == EDDY_OK && out) {
        memcpy(&out->x, eddy_tensor_data(fetched[0]), sizeof out->x);
        memcpy(&out->v, eddy_tensor_data(fetched[1]), sizeof out->v);
    }
    if (err)
        *err = p.err;
    eddy_tensor_release(fetched[0]);
    eddy_tensor_release(fetched[1]);
    eddy_tensor_release(feed);
    eddy_ranks_destroy(ranks);
    program_deinit(&p);
    return status;
}

START_TEST(test_ranks_go_on_to_the_same_bits)
{
    const result wanted = whole(20);

    for (uint64_t most = 3; most < 22; most += 9) {
        const training broken = {
            .n = 20, .saved = every(2, false), .most = most};
        const training rest = {.n = 20, .saved = every(2, true)};
        const training one = {.n = 20, .saved = every(2, true)};
        result r = {0, 0};
        eddy_error err;

        ck_assert_int_eq(train_ranks(&broken, NULL, most, NULL, NULL),
                         most > 20 ? EDDY_OK : EDDY_RESOURCE_EXHAUSTED);
        if (count_files() > 0) {
            ck_assert_int_eq(train(&one, NULL, NULL, &err),
                             EDDY_FAILED_PRECONDITION);
            ck_assert_ptr_nonnull(strstr(err.message, "of 2 ranks"));
        }
        ck_assert_int_eq(train_ranks(&rest, NULL, most + 1, &r, NULL), EDDY_OK);
        want_same(r, wanted);
        remove_files();
    }
}
END_TEST

/* ---- processes that are killed ---- */

/* Waits until a checkpoint of every part is there. */
static void wait_for_files(int n_parts)
{
    const struct timespec step = {.tv_nsec = 1000000};
    int n = 0;

    for (int i = 0; i < 20000 && n < n_parts; i++) {
        DIR *dir = opendir(files);

        n = 0;
        for (const struct dirent *e; dir && (e = readdir(dir));) {
            const size_t length = strlen(e->d_name);

            n += length > 6 && strcmp(e->d_name + length - 6, ".index") == 0;
        }
        if (dir)
            closedir(dir);
        nanosleep(&step, NULL);
    }
    ck_assert_int_ge(n, n_parts);
}

START_TEST(test_one_that_is_killed_goes_on)
{
    const training endless = {.n = 1000000000, .saved = every(5, false)};
    training rest = {.saved = every(0, true)};
    int64_t first = 0;
    result r = {0, 0};
    pid_t id = fork();

    ck_assert_int_ge(id, 0);
    if (id == 0) {
        (void)train(&endless, NULL, NULL, NULL);
        child_leave(1);
    }
    wait_for_files(1);
    ck_assert_int_eq(kill(id, SIGKILL), 0);
    ck_assert_int_eq(waitpid(id, NULL, 0), id);
    rest.n = 1;
    ck_assert_int_eq(train(&rest, NULL, &first, NULL), EDDY_OK);
    ck_assert_int_ge(first, 5);
    rest.n = (int32_t)first + 7;
    ck_assert_int_eq(train(&rest, &r, &first, NULL), EDDY_OK);
    want_same(r, whole(rest.n));
}
END_TEST

static void start_ranks(const training *t, pid_t ids[2], const result *wanted)
{
    for (uint32_t i = 0; i < 2; i++) {
        const eddy_ranks_place place = {
            .size = sizeof place, .folder = folder, .rank = i};
        result r = {0, 0};

        ids[i] = fork();
        ck_assert_int_ge(ids[i], 0);
        if (ids[i] > 0)
            continue;
        if (train_ranks(t, &place, 0, &r, NULL) != EDDY_OK)
            child_leave(1);
        child_leave(wanted && (r.x != wanted->x || r.v != wanted->v) ? 2 : 0);
    }
}

static int wait_for(pid_t id)
{
    int status = -1;

    ck_assert_int_eq(waitpid(id, &status, 0), id);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(test_ranks_of_which_one_is_killed_go_on)
{
    const training endless = {.n = 1000000000, .saved = every(5, false)};
    training rest = {.n = 20000, .saved = every(1000, true)};
    const result wanted = whole(rest.n);
    pid_t ids[2];

    start_ranks(&endless, ids, NULL);
    wait_for_files(2);
    ck_assert_int_eq(kill(ids[_i], SIGKILL), 0);
    ck_assert_int_eq(wait_for(ids[_i]), -1);
    ck_assert_int_eq(wait_for(ids[1 - _i]), 1);
    start_ranks(&rest, ids, &wanted);
    ck_assert_int_eq(wait_for(ids[0]), 0);
    ck_assert_int_eq(wait_for(ids[1]), 0);
}
END_TEST

TCase *saving_tests(void)
{
    TCase *tc = tcase_create("saving");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, test_a_run_goes_on_to_the_same_bits);
    tcase_add_test(tc, test_it_goes_on_more_than_once_and_further);
    tcase_add_test(tc, test_one_whole_checkpoint_is_kept);
    tcase_add_test(tc, test_the_state_of_a_session_comes_back);
    tcase_add_test(tc, test_what_is_there_is_not_lost);
    tcase_add_test(tc, test_another_loop_is_refused);
    tcase_add_test(tc, test_a_damaged_one_is_told);
    tcase_add_test(tc, test_one_that_cannot_be_written_ends_the_run);
    tcase_add_test(tc, test_a_folder_that_is_none_is_told);
    tcase_add_test(tc, test_a_run_without_files_is_refused);
    tcase_add_test(tc, test_two_loops_must_be_told_apart);
    tcase_add_test(tc, test_each_allocation_may_fail);
    tcase_add_test(tc, test_ranks_go_on_to_the_same_bits);
    tcase_add_test(tc, test_one_that_is_killed_goes_on);
    tcase_add_loop_test(tc, test_ranks_of_which_one_is_killed_go_on, 0, 2);
    return tc;
}
