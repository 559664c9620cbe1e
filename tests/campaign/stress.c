/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many threads run the same plans at once, in shared sessions, and disturb each
 * other as hosts do: with deadlines, cancels, polls, runs that are destroyed
 * while they are under way, and kernels that a foreign thread completes.
 *
 *     stress [--seconds N] [--threads N] [--seed N] DIRECTORY...
 *
 * Each directory holds a graph.pb.  A run that was not disturbed must end as
 * the reference did, to the bit; one that was may end with what disturbed it.
 * The last line is `N passed, N failed`, a run each.  `make stress` runs it
 * under ThreadSanitizer.
 */
#include "tests/campaign/later.h"
#include "tests/campaign/request.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_FILE (1 << 20)
#define MAX_SUBJECTS 128
#define MAX_THREADS 64

/* A plan that all threads share, and how it ends undisturbed. */
typedef struct subject {
    const char *name;
    request wanted;
    eddy_plan *plan;
    eddy_session *session;
    outcome reference;
    bool is_settled;
} subject;

static subject subjects[MAX_SUBJECTS];
static size_t n_subjects;
static atomic_bool is_over;
static atomic_ullong n_passed, n_failed;

typedef enum disturbance {
    NOTHING,
    A_DEADLINE,
    A_CANCEL,
    A_POLL,
    A_DESTROY,
    N_DISTURBANCES
} disturbance;

/* ---- subjects ---- */

static bool add_graph(const char *name, eddy_context *ctx,
                      eddy_session *session, eddy_graph *graph)
{
    subject *s = &subjects[n_subjects];
    eddy_run_options options = {.size = sizeof options};

    if (n_subjects == MAX_SUBJECTS)
        return false;
    *s = (subject){.name = name, .session = session};
    s->is_settled = outcome_is_settled(graph);
    request_init(&s->wanted, ctx, graph);
    s->plan = request_plan_any(&s->wanted, graph);
    if (s->plan == NULL) {
        request_deinit(&s->wanted);
        return true;
    }
    eddy_run_options_untrusted(&options);
    s->reference.n = s->wanted.n_fetches;
    s->reference.code = eddy_plan_run(s->plan, &options, s->wanted.values,
                                      s->reference.values, &s->reference.err);
    n_subjects++;
    return true;
}

static bool add_file(const char *directory, eddy_context *ctx,
                     eddy_session *session)
{
    static char bytes[MAX_FILE];
    char path[1024];
    eddy_graph *graph = NULL;
    eddy_error err;
    FILE *file;
    size_t n;
    bool good;

    snprintf(path, sizeof path, "%s/graph.pb", directory);
    file = fopen(path, "rb");
    if (file == NULL)
        return false;
    n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    if (eddy_graphdef_read(ctx, bytes, n, NULL, &graph, &err) != EDDY_OK)
        return false;
    good = add_graph(directory, ctx, session, graph);
    eddy_graph_destroy(graph);
    return good;
}

/* ---- one run ---- */

static uint64_t draw(uint64_t *state)
{
    *state =
        *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static void sleep_us(uint64_t us)
{
    const struct timespec time = {0, (long)us * 1000};

    nanosleep(&time, NULL);
}

static void fill_outcome(const eddy_run *run, size_t n, eddy_status code,
                         outcome *o)
{
    o->code = code;
    o->n = n;
    for (size_t i = 0; code == EDDY_OK && i < n; i++)
        o->values[i] = eddy_tensor_retain(eddy_run_fetch(run, i));
}

/* Did it end as the reference, or by what disturbed it? */
static bool is_right(const subject *s, disturbance how, outcome *o)
{
    if ((how == A_DEADLINE && o->code == EDDY_DEADLINE_EXCEEDED) ||
        (how == A_CANCEL && o->code == EDDY_CANCELLED))
        return true;
    if (!s->is_settled)
        return o->code != EDDY_INTERNAL;
    return outcome_agree(&s->reference, o);
}

static void end_by(eddy_run *run, disturbance how, uint64_t *state,
                   eddy_error *err, eddy_status *out_code)
{
    if (how == A_CANCEL) {
        sleep_us(draw(state) % 300);
        eddy_run_cancel(run);
    }
    while (how == A_POLL && !eddy_run_poll(run))
        if (draw(state) % 8 == 0)
            sleep_us(1);
    *out_code = eddy_run_wait(run, err);
}

static bool run_once(const subject *s, uint64_t *state)
{
    const disturbance how = (disturbance)(draw(state) % N_DISTURBANCES);
    eddy_run_options options = {.size = sizeof options};
    outcome o = {.n = 0};
    eddy_run *run;
    bool good = true;

    eddy_run_options_untrusted(&options);
    options.timeout_ns =
        how == A_DEADLINE ? 1 + draw(state) % 500000 : UINT64_C(60000000000);
    options.session = s->session;
    if (eddy_run_create(s->plan, &options, &run, &o.err) != EDDY_OK)
        return false;
    for (size_t i = 0; good && i < s->wanted.n_feeds; i++)
        good = eddy_run_feed(run, i, s->wanted.values[i], &o.err) == EDDY_OK;
    for (size_t times = 1 + draw(state) % 3; good && times > 0; times--) {
        eddy_status code = eddy_run_start(run, &o.err);

        if (code != EDDY_OK || how == A_DESTROY)
            break;
        end_by(run, how, state, &o.err, &code);
        fill_outcome(run, s->wanted.n_fetches, code, &o);
        good = is_right(s, how, &o);
        if (!good)
            printf("%s: %s: %s\n", s->name, eddy_status_name(code),
                   o.err.message);
        outcome_deinit(&o);
    }
    eddy_run_destroy(run);
    return good;
}

static void *disturb(void *argument)
{
    uint64_t state = *(const uint64_t *)argument;

    while (!atomic_load(&is_over)) {
        const subject *s = &subjects[draw(&state) % n_subjects];

        if (run_once(s, &state))
            atomic_fetch_add(&n_passed, 1);
        else
            atomic_fetch_add(&n_failed, 1);
    }
    return NULL;
}

/* ---- the command ---- */

static void run_threads(size_t n, size_t seconds, size_t seed)
{
    pthread_t threads[MAX_THREADS];
    uint64_t states[MAX_THREADS];
    const struct timespec time = {(time_t)seconds, 0};

    if (n > MAX_THREADS)
        n = MAX_THREADS;
    for (size_t i = 0; i < n; i++) {
        states[i] = seed * MAX_THREADS + i;
        if (pthread_create(&threads[i], NULL, disturb, &states[i]) != 0)
            abort();
    }
    nanosleep(&time, NULL);
    atomic_store(&is_over, true);
    for (size_t i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

static void drop_subjects(void)
{
    for (size_t i = 0; i < n_subjects; i++) {
        outcome_deinit(&subjects[i].reference);
        request_deinit(&subjects[i].wanted);
        eddy_plan_release(subjects[i].plan);
    }
}

static bool read_number(int argc, char **argv, int *i, const char *option,
                        size_t *out)
{
    if (strcmp(argv[*i], option) != 0 || *i + 1 == argc)
        return false;
    *out = (size_t)strtoul(argv[++*i], NULL, 10);
    return true;
}

/* Without workers, and with four. */
#define N_CONTEXTS 2

int main(int argc, char **argv)
{
    eddy_context_options options = {.size = sizeof options};
    eddy_context *ctxs[N_CONTEXTS];
    eddy_session *sessions[N_CONTEXTS];
    size_t seconds = 10, n_threads = 16, seed = 1;
    eddy_error err;

    later_start();
    for (size_t i = 0; i < N_CONTEXTS; i++, options.n_workers = 4) {
        eddy_graph *graph = NULL;

        if (eddy_context_create(&options, &ctxs[i], &err) != EDDY_OK ||
            eddy_session_create(ctxs[i], &sessions[i], &err) != EDDY_OK ||
            !later_graph(ctxs[i], &graph) ||
            !add_graph("later", ctxs[i], sessions[i], graph))
            return 2;
        eddy_graph_destroy(graph);
    }
    for (int i = 1; i < argc; i++) {
        if (read_number(argc, argv, &i, "--seconds", &seconds) ||
            read_number(argc, argv, &i, "--threads", &n_threads) ||
            read_number(argc, argv, &i, "--seed", &seed))
            continue;
        for (size_t c = 0; c < N_CONTEXTS; c++)
            if (!add_file(argv[i], ctxs[c], sessions[c])) {
                fprintf(stderr, "stress: %s: no graph\n", argv[i]);
                return 2;
            }
    }
    run_threads(n_threads, seconds, seed);
    drop_subjects();
    for (size_t i = 0; i < N_CONTEXTS; i++) {
        eddy_session_release(sessions[i]);
        eddy_context_destroy(ctxs[i]);
    }
    later_stop();
    printf("%llu passed, %llu failed\n", atomic_load(&n_passed),
           atomic_load(&n_failed));
    return atomic_load(&n_failed) == 0 && atomic_load(&n_passed) > 0 ? 0 : 1;
}
