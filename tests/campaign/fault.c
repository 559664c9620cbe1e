/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation k fails, for every k, from loading a graph to the run of its
 * gradient:
 *
 *     fault [--stride N] [--seed N] [--places N] DIRECTORY...
 *
 * Each directory holds a graph.pb.  Without a fault every stage has some
 * status; with one it must have the same, or say that there is no memory, and
 * then the same stage must work when it is called again.  At the end nothing
 * may be held.  Then the same with each other way to differentiate, where only
 * the allocations from that stage on fail.  A stride above 1 takes every N-th
 * k, from one that the seed says.  With --places only those k are taken on
 * whose way down some call has failed fewer than N times, in all directories:
 * every call that can lead to an allocation fails, few of them often.  The last
 * line is `N passed, N failed`, a
 * directory each.
 */
#include "tests/aid/counting_allocator.h"
#include "tests/campaign/places.h"
#include "tests/campaign/request.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE (1 << 20)

/* What the stages hand on. */
typedef struct subject {
    counting_allocator counting;
    eddy_allocator noting; /* the one that counts, and `places` looks on */
    places *places;        /* NULL: nobody looks on */
    request_way way;
    eddy_context *ctx;
    const char *bytes;
    size_t n_bytes;
    eddy_graph *graph, *lowered, *unrolled;
    eddy_analysis *analysis;
    request wanted, gradients;
    eddy_plan *plan, *gradient_plan;
    void *saved;
    size_t n_saved;
    eddy_error err;
} subject;

typedef struct stage {
    const char *name;
    eddy_status (*enter)(subject *s);
} stage;

/* Until `resume` no allocation fails or is counted towards one that does. */
static long long pause_faults(subject *s)
{
    return atomic_exchange(&s->counting.failing, -1);
}

static void resume_faults(subject *s, long long left)
{
    atomic_store(&s->counting.failing, left);
}

/* ---- stages ---- */

static eddy_status load(subject *s)
{
    return eddy_graphdef_read(s->ctx, s->bytes, s->n_bytes, NULL, &s->graph,
                              &s->err);
}

static eddy_status analyse(subject *s)
{
    return eddy_analysis_create(s->graph, &s->analysis, &s->err);
}

/* The request is the campaign's, so its own memory is not what fails. */
static eddy_status choose(subject *s)
{
    const long long left = pause_faults(s);

    request_init(&s->wanted, s->ctx, s->graph);
    eddy_plan_release(request_plan_any(&s->wanted, s->graph));
    resume_faults(s, left);
    return EDDY_OK;
}

static eddy_status plan(subject *s)
{
    s->plan = request_plan(&s->wanted, s->graph, EDDY_OPTIMIZE_EXACT, &s->err);
    return s->plan != NULL ? EDDY_OK : s->err.code;
}

static eddy_status run_of(subject *s, eddy_plan *plan, const request *r)
{
    eddy_run_options options = {.size = sizeof options};
    outcome o = {.n = r->n_fetches};

    if (plan == NULL)
        return EDDY_NOT_FOUND;
    eddy_run_options_untrusted(&options);
    options.max_iterations = 2000;
    o.code = eddy_plan_run(plan, &options, r->values, o.values, &s->err);
    outcome_deinit(&o);
    return s->err.code;
}

static eddy_status run(subject *s)
{
    s->err.code = EDDY_OK;
    return run_of(s, s->plan, &s->wanted);
}

static eddy_status unroll(subject *s)
{
    const eddy_unroll_options options = {.size = sizeof options, .trips = 2};

    return eddy_graph_unroll(s->graph, &options, &s->unrolled, &s->err);
}

static eddy_status lower(subject *s)
{
    const eddy_status status =
        eddy_graph_lower(s->graph, NULL, &s->lowered, &s->err);

    s->wanted.n_own = status == EDDY_OK ? eddy_graph_size(s->lowered) : 0;
    return status;
}

static eddy_status differentiate(subject *s)
{
    return request_gradients(&s->wanted, s->way, s->lowered, &s->gradients,
                             &s->err);
}

static eddy_status save(subject *s)
{
    return eddy_graphdef_write(s->lowered, &s->saved, &s->n_saved, &s->err);
}

static eddy_status plan_gradient(subject *s)
{
    if (s->gradients.n_fetches == 0)
        return EDDY_NOT_FOUND;
    s->gradient_plan =
        request_plan(&s->gradients, s->lowered, EDDY_OPTIMIZE_EXACT, &s->err);
    return s->gradient_plan != NULL ? EDDY_OK : s->err.code;
}

static eddy_status run_gradient(subject *s)
{
    s->err.code = EDDY_OK;
    return run_of(s, s->gradient_plan, &s->gradients);
}

/* A graph that a failed gradient has left nodes in is not gone on with. */
static const stage stages[] = {
    {"load", load},
    {"analyse", analyse},
    {"choose", choose},
    {"plan", plan},
    {"run", run},
    {"unroll", unroll},
    {"lower", lower},
    {"differentiate", differentiate},
    {"save", save},
    {"plan of the gradient", plan_gradient},
    {"run of the gradient", run_gradient},
};

#define N_STAGES (sizeof stages / sizeof stages[0])

/* May an allocation of this stage fail?  Before the graph is differentiated
 * they have, the first way. */
static bool is_tried(const subject *s, size_t i)
{
    size_t first = 0;

    while (s->way != REQUEST_REVERSE && stages[first].enter != differentiate)
        first++;
    return i >= first;
}

/* ---- a pass through all stages ---- */

/* Only an allocation that a fault would count is one that can be asked for. */
static void *allocate_noted(void *user, size_t size, size_t alignment)
{
    subject *s = user;

    if (s->places != NULL && atomic_load(&s->counting.failing) >= 0)
        places_note(s->places);
    return s->counting.allocator.allocate(&s->counting, size, alignment);
}

static void release_noted(void *user, void *memory, size_t size)
{
    subject *s = user;

    s->counting.allocator.release(&s->counting, memory, size);
}

static void init(subject *s, request_way way, const char *bytes, size_t n_bytes)
{
    const eddy_context_options options = {.size = sizeof options};
    eddy_context_options all = options;

    *s = (subject){.way = way, .bytes = bytes, .n_bytes = n_bytes};
    counting_allocator_init(&s->counting);
    s->noting = (eddy_allocator){
        .allocate = allocate_noted, .release = release_noted, .user = s};
    all.allocator = s->noting;
    if (eddy_context_create(&all, &s->ctx, &s->err) != EDDY_OK)
        abort();
}

/* True if nothing is held any more. */
static bool deinit(subject *s)
{
    pause_faults(s);
    request_deinit(&s->wanted);
    request_deinit(&s->gradients);
    eddy_plan_release(s->plan);
    eddy_plan_release(s->gradient_plan);
    eddy_analysis_destroy(s->analysis);
    if (s->saved != NULL)
        eddy_graphdef_free(s->lowered, s->saved, s->n_saved);
    eddy_graph_destroy(s->graph);
    eddy_graph_destroy(s->lowered);
    eddy_graph_destroy(s->unrolled);
    eddy_context_destroy(s->ctx);
    return atomic_load(&s->counting.live_bytes) == 0;
}

/*
 * How each stage ends without a fault; stages after a failed load do not run.
 * `noted` gets the allocations that may fail.  False if memory is still held.
 */
static bool pass_clean(request_way way, const char *bytes, size_t n_bytes,
                       places *noted, eddy_status *statuses)
{
    subject s;

    init(&s, way, bytes, n_bytes);
    places_begin(noted);
    s.places = noted;
    for (size_t i = 0; i < N_STAGES; i++) {
        if (atomic_load(&s.counting.failing) < 0 && is_tried(&s, i))
            counting_allocator_fail(&s.counting, LLONG_MAX);
        statuses[i] =
            s.graph == NULL && i > 0 ? EDDY_NOT_FOUND : stages[i].enter(&s);
        if (stages[i].enter == lower && statuses[i] != EDDY_OK)
            break;
    }
    return deinit(&s);
}

static bool complain(const char *path, size_t k, const char *format, ...)
{
    va_list arguments;

    printf("%s: allocation %zu: ", path, k);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    return false;
}

static bool is_memory(const subject *s, eddy_status status)
{
    return status == EDDY_RESOURCE_EXHAUSTED && s->err.detail == EDDY_E_MEMORY;
}

/* Enters stage `i`, again if its allocation failed; false if it is odd. */
static bool enter(subject *s, size_t i, eddy_status wanted, const char *path,
                  size_t k)
{
    eddy_status status = stages[i].enter(s);

    if (is_memory(s, status) && status != wanted) {
        if (s->err.message[0] == '\0')
            return complain(path, k, "%s: no message", stages[i].name);
        status = stages[i].enter(s);
    }
    return status == wanted ||
           complain(path, k, "%s: %s (%s): %s, want %s", stages[i].name,
                    eddy_status_name(status), eddy_detail_name(s->err.detail),
                    s->err.message, eddy_status_name(wanted));
}

static bool pass_with_fault(const char *path, request_way way,
                            const char *bytes, size_t n_bytes,
                            const eddy_status *statuses, size_t k)
{
    bool good = true, is_set = false;
    subject s;

    init(&s, way, bytes, n_bytes);
    for (size_t i = 0; good && i < N_STAGES; i++) {
        if (i > 0 && s.graph == NULL)
            break;
        if (!is_set && is_tried(&s, i)) {
            counting_allocator_fail(&s.counting, (long long)k);
            is_set = true;
        }
        good = enter(&s, i, statuses[i], path, k);
        if (stages[i].enter == lower && s.lowered == NULL)
            break;
    }
    if (!deinit(&s))
        return complain(path, k, "memory is still held");
    return good;
}

/* ---- the command ---- */

static size_t read_graph(const char *directory, char *bytes)
{
    char path[1024];
    FILE *file;
    size_t n;

    snprintf(path, sizeof path, "%s/graph.pb", directory);
    file = fopen(path, "rb");
    if (file == NULL)
        return 0;
    n = fread(bytes, 1, MAX_FILE, file);
    fclose(file);
    return n;
}

/* Which allocations fail. */
typedef struct choice {
    size_t stride, seed;
    unsigned times; /* that a call is to fail; 0: all allocations fail */
    places *places;
} choice;

static bool try_way(const char *path, request_way way, const char *bytes,
                    size_t n, const choice *c)
{
    eddy_status statuses[N_STAGES] = {EDDY_OK};
    bool good = true;
    size_t n_calls, n_failed = 0;

    if (!pass_clean(way, bytes, n, c->places, statuses))
        return complain(path, 0, "holds memory");
    n_calls = places_count(c->places);
    for (size_t k = c->seed % c->stride; k < n_calls; k += c->stride) {
        if (c->times > 0 && !places_choose(c->places, k, c->times))
            continue;
        good = pass_with_fault(path, way, bytes, n, statuses, k) && good;
        n_failed++;
    }
    printf("%s: way %d: %zu of %zu allocations\n", path, (int)way, n_failed,
           n_calls);
    fflush(stdout);
    return good;
}

static bool try_directory(const char *path, const choice *c)
{
    static char bytes[MAX_FILE];
    const size_t n = read_graph(path, bytes);
    bool good = true;

    if (n == 0)
        return complain(path, 0, "cannot be read");
    for (int way = 0; way < REQUEST_WAYS; way++)
        good = try_way(path, (request_way)way, bytes, n, c) && good;
    return good;
}

/* Takes what argv[*i] says; false if that is no option. */
static bool take_option(choice *c, char **argv, int argc, int *i)
{
    const char *name = argv[*i];
    unsigned long number;

    if (name[0] != '-' || *i + 1 >= argc)
        return false;
    number = strtoul(argv[++*i], NULL, 10);
    if (strcmp(name, "--stride") == 0)
        c->stride = number > 0 ? number : 1;
    else if (strcmp(name, "--seed") == 0)
        c->seed = number;
    else if (strcmp(name, "--places") == 0)
        c->times = (unsigned)number;
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    choice c = {.stride = 1, .places = places_create()};
    size_t passed = 0, failed = 0;

    for (int i = 1; i < argc; i++)
        if (take_option(&c, argv, argc, &i))
            continue;
        else if (try_directory(argv[i], &c))
            passed++;
        else
            failed++;
    places_destroy(c.places);
    printf("%zu passed, %zu failed\n", passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}
