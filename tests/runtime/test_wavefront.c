/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers of a recurrent network, a rank each: which of them run at one moment
 * is told by what is held there, not by a clock.
 */
#include "eddy/ranks.h"
#include "tests/aid/probe_ops.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { LAYERS = 4, STEPS = 9 };

#define COUNTER                                                                \
    "zero int32=0\nn int32=9\nx0 float64=0.5\ni/e Enter@L#8 zero\n"            \
    "i/m Merge i/e i/n\ni/l Enter@L!#8 n\ni/less Less i/m i/l\n"               \
    "i/c LoopCond i/less\ni/s Switch i/m i/c\ni/b Identity i/s:1\n"            \
    "i/one int32=1 ^i/b\ni/a AddV2 i/b i/one\ni/n NextIteration i/a\n"         \
    "in Cast i/b DstT=float64\n"

/* h = h / 2 + what is below, a layer upon the other, each held for a while. */
static void build(program *p, const char *hold)
{
    char text[4096] = COUNTER;
    const char *below = "in";
    char name[16] = "";

    for (int l = 0; l < LAYERS; l++) {
        const size_t length = strlen(text);

        snprintf(text + length, sizeof text - length,
                 "h%d/e Enter@L#8 x0\nh%d/m Merge h%d/e h%d/n\n"
                 "h%d/s Switch h%d/m i/c\nh%d/x Exit h%d/s:0\n"
                 "h%d/half float64=0.5 ^h%d/s:1\nh%d/p Mul h%d/s:1 h%d/half\n"
                 "h%d/y AddV2 h%d/p %s\nh%d/z %s h%d/y\n"
                 "h%d/n NextIteration h%d/z\n",
                 l, l, l, l, l, l, l, l, l, l, l, l, l, l, l, below, l, hold, l,
                 l, l);
        snprintf(name, sizeof name, "h%d/z", l);
        below = name;
    }
    program_build(p, text);
}

static eddy_ranks *make_ranks(program *p)
{
    static const eddy_place places[] = {
        {"h0/", 0}, {"h1/", 1}, {"h2/", 2}, {"h3/", 3}};
    const eddy_output last = program_output(p, "h3/x");
    eddy_partition *partition = NULL;
    eddy_ranks *ranks = NULL;

    program_want_ok(
        p, eddy_partition_create(
               p->graph,
               &(eddy_partition_options){.size = sizeof(eddy_partition_options),
                                         .n_ranks = LAYERS,
                                         .places = places,
                                         .n_places = LAYERS,
                                         .fetches = &last,
                                         .n_fetches = 1},
               &partition, &p->err));
    program_want_ok(p, eddy_ranks_create(partition, NULL, &ranks, &p->err));
    eddy_partition_destroy(partition);
    return ranks;
}

typedef struct job {
    eddy_ranks *ranks;
    eddy_tensor *out;
    eddy_status status;
} job;

static void *execute(void *arg)
{
    job *j = arg;

    j->status = eddy_ranks_run(j->ranks, NULL, &j->out, NULL);
    return NULL;
}

/* How many layers are held in wave `w`, in which layer l is at w - l. */
static uint32_t in_wave(int w)
{
    uint32_t n = 0;

    for (int l = 0; l < LAYERS; l++)
        n += w - l >= 0 && w - l < STEPS;
    return n;
}

/* The wave's, which started as the last ones: one for each step there is. */
static void want_wave(int w, uint32_t first, uint32_t n)
{
    bool is_held[STEPS] = {false};

    ck_assert_uint_eq(hold_open(), n);
    for (uint32_t i = first; i < first + n; i++) {
        const int64_t t = hold_iteration(i);

        ck_assert(t >= 0 && t < STEPS);
        ck_assert(!is_held[t]);
        is_held[t] = true;
    }
    for (int l = 0; l < LAYERS; l++)
        if (w - l >= 0 && w - l < STEPS)
            ck_assert(is_held[w - l]);
}

/* All layers are let go at once, wave by wave: the next ones then run. */
START_TEST(test_layers_are_at_steps_of_their_own)
{
    uint32_t started = 0;
    double expected, got;
    pthread_t thread;
    program p;
    job j = {NULL, NULL, EDDY_OK};

    program_init(&p, 0);
    probe_ops_register(&p);
    build(&p, "Identity");
    program_plan(&p, NULL, "h3/x");
    program_run(&p);
    memcpy(&expected, eddy_tensor_data(eddy_run_fetch(p.run, 0)), 8);
    program_clear(&p);
    build(&p, "Hold");
    j.ranks = make_ranks(&p);
    ck_assert_int_eq(pthread_create(&thread, NULL, execute, &j), 0);
    for (int w = 0; w < STEPS + LAYERS - 1; w++) {
        const uint32_t n = in_wave(w);

        hold_await(started + n);
        want_wave(w, started, n);
        started += n;
        ck_assert_uint_eq(hold_complete_all(EDDY_OK), n);
    }
    pthread_join(thread, NULL);
    ck_assert_int_eq(j.status, EDDY_OK);
    ck_assert_uint_eq(hold_started(), started);
    memcpy(&got, eddy_tensor_data(j.out), 8);
    ck_assert_double_eq(got, expected);
    eddy_tensor_release(j.out);
    eddy_ranks_destroy(j.ranks);
    program_deinit(&p);
}
END_TEST

TCase *wavefront_tests(void)
{
    TCase *tc = tcase_create("wavefront");

    tcase_add_test(tc, test_layers_are_at_steps_of_their_own);
    return tc;
}
