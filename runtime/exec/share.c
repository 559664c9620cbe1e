/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a kernel's work is shared follows from how long it took before
 * (profile.h), or else from how long its first part takes: a worker that sleeps
 * takes tens of microseconds to come, one that has just worked looks out for
 * more and comes at once.
 *
 * An error is that of the first part that fails, as without workers: parts are
 * begun in their order, and what was begun is finished.
 */
#include "runtime/exec/share.h"

#include "core/base/float_mode.h"
#include "runtime/exec/run.h"

#include <string.h>

/* Work from which sharing pays, if a worker is awake, and if all sleep. */
#define WORTH_NS ((uint64_t)12 * 1000)
#define WORTH_WAKING_NS ((uint64_t)60 * 1000)

/* Parts a thread gets, so that none is left long after the others. */
#define PARTS_EACH 4

/* Threads that a share has use for. */
#define MOST_THREADS 64

/* How often its owner looks whether all have left before it sleeps. */
#define LOOKS 4000

struct eddy__share {
    struct eddy__share *next; /* guarded by pool->mu */
    const eddy_kernel *kernel;
    eddy_items_fn body;
    void *arg;
    int64_t begin, end, size; /* of a part */
    uint32_t n_parts;
    uint32_t room; /* helpers that may still come; guarded by pool->mu */
    bool keep_denormals;
    atomic_uint taken; /* relaxed: parts that were begun */
    /*
     * atomic: raised under pool->mu by who comes, lowered with release as the
     * last that a helper does with the share; the owner reads it with acquire.
     */
    atomic_uint n_inside;
    _Atomic uint64_t spent_ns; /* relaxed, complete once all have left */
    atomic_bool gave_up;       /* relaxed */
    /* Guarded by pool->mu: the first part that failed. */
    uint32_t failed;
    eddy_status status;
    eddy_error *err;
};

/* ---- parts ---- */

static void fail(eddy__pool *pool, eddy__share *s, uint32_t part,
                 eddy_status status, const eddy_error *err)
{
    atomic_store_explicit(&s->taken, s->n_parts, memory_order_relaxed);
    uv_mutex_lock(&pool->mu);
    if (s->status == EDDY_OK || part < s->failed) {
        s->failed = part;
        s->status = status;
        if (s->err)
            *s->err = *err;
    }
    uv_mutex_unlock(&pool->mu);
}

/* A kernel object for the parts that one thread does. */
static eddy_kernel part_kernel(const eddy_kernel *of, eddy_error *err)
{
    eddy_kernel part = *of;

    part.heap = NULL;
    part.resources = NULL;
    part.may_share = false;
    part.work = 0;
    part.err = err;
    err->code = EDDY_OK;
    return part;
}

static void do_parts(eddy__pool *pool, eddy__share *s)
{
    const uint64_t begun = eddy__clock_now_ns();
    eddy_error err;
    eddy_kernel part = part_kernel(s->kernel, &err);

    for (;;) {
        const uint32_t i =
            atomic_fetch_add_explicit(&s->taken, 1, memory_order_relaxed);
        const int64_t from = s->begin + (int64_t)i * s->size;
        eddy_status status;

        if (i >= s->n_parts)
            break;
        status = s->body(&part, s->arg, from,
                         s->end - from < s->size ? s->end : from + s->size);
        if (status != EDDY_OK)
            fail(pool, s, i, status, &err);
        else if (eddy__gives_up(&part))
            atomic_store_explicit(&s->gave_up, true, memory_order_relaxed);
        else
            continue;
        break;
    }
    atomic_fetch_add_explicit(&s->spent_ns, eddy__clock_now_ns() - begun,
                              memory_order_relaxed);
}

/* ---- helpers ---- */

static bool has_parts(const eddy__share *s)
{
    return s->room > 0 &&
           atomic_load_explicit(&s->taken, memory_order_relaxed) < s->n_parts;
}

/* @thread holds pool->mu */
static eddy__share *find_open(const eddy__pool *pool)
{
    eddy__share *s = pool->shares;

    while (s && !has_parts(s))
        s = s->next;
    return s;
}

bool eddy__share_is_open(const eddy__pool *pool)
{
    return find_open(pool) != NULL;
}

static eddy__share *join(eddy__pool *pool)
{
    eddy__share *s;

    uv_mutex_lock(&pool->mu);
    s = find_open(pool);
    if (s) {
        s->room--;
        atomic_fetch_add_explicit(&s->n_inside, 1, memory_order_relaxed);
    }
    uv_mutex_unlock(&pool->mu);
    return s;
}

/* The share may be gone as soon as the count is lowered, the pool is not. */
static void leave(eddy__pool *pool, eddy__share *s)
{
    atomic_fetch_sub_explicit(&s->n_inside, 1, memory_order_release);
    uv_mutex_lock(&pool->mu);
    if (pool->n_owners_asleep > 0)
        uv_cond_broadcast(&pool->left);
    uv_mutex_unlock(&pool->mu);
}

bool eddy__share_help(eddy__pool *pool)
{
    eddy__share *s;
    eddy__float_mode mode;

    if (atomic_load_explicit(&pool->n_shares, memory_order_relaxed) == 0)
        return false;
    s = join(pool);
    if (!s)
        return false;
    mode = eddy__float_mode_enter(s->keep_denormals);
    do_parts(pool, s);
    eddy__float_mode_leave(mode);
    leave(pool, s);
    return true;
}

/* ---- helpers that a host's executor runs ---- */

/*
 * A host may run what it was handed long after it was handed over, when the
 * share and even the pool are gone.  So what it gets is this, which the last
 * that knows of it frees; its memory is the C library's, since the context's
 * allocator may be gone too.
 */
struct eddy__crew {
    uv_mutex_t mu;
    uv_cond_t left;
    eddy__pool *pool;   /* NULL: gone; guarded by mu */
    uint32_t n_pending; /* handed over, and not done; guarded by mu */
    uint32_t n_inside;  /* use the pool; guarded by mu */
    uint32_t most;
};

eddy__crew *eddy__crew_create(eddy__pool *pool)
{
    const eddy_allocator *a = eddy__default_allocator();
    eddy__crew *crew = eddy__allocate_zeroed(a, 1, sizeof *crew);
    const unsigned n_cores = uv_available_parallelism();

    if (!crew)
        return NULL;
    crew->pool = pool;
    crew->most = n_cores > 2 ? n_cores - 1 : 1;
    if (eddy__mutex_init(&crew->mu, NULL) != EDDY_OK)
        goto no_mutex;
    if (eddy__cond_init(&crew->left, NULL) == EDDY_OK)
        return crew;
    uv_mutex_destroy(&crew->mu);
no_mutex:
    eddy__free(a, crew, 1, sizeof *crew);
    return NULL;
}

static void free_crew(eddy__crew *crew)
{
    uv_cond_destroy(&crew->left);
    uv_mutex_destroy(&crew->mu);
    eddy__free(eddy__default_allocator(), crew, 1, sizeof *crew);
}

void eddy__crew_release(eddy__crew *crew)
{
    bool is_last;

    if (!crew)
        return;
    uv_mutex_lock(&crew->mu);
    while (crew->n_inside > 0)
        uv_cond_wait(&crew->left, &crew->mu);
    crew->pool = NULL;
    is_last = crew->n_pending == 0;
    uv_mutex_unlock(&crew->mu);
    if (is_last)
        free_crew(crew);
}

/* What the host calls. */
static void help_hosted(void *arg)
{
    eddy__crew *crew = arg;
    eddy__pool *pool;
    bool is_last;

    uv_mutex_lock(&crew->mu);
    pool = crew->pool;
    crew->n_inside += pool != NULL;
    uv_mutex_unlock(&crew->mu);
    if (pool)
        eddy__share_help(pool);
    uv_mutex_lock(&crew->mu);
    crew->n_pending--;
    crew->n_inside -= pool != NULL;
    uv_cond_signal(&crew->left);
    is_last = !crew->pool && crew->n_pending == 0;
    uv_mutex_unlock(&crew->mu);
    if (is_last)
        free_crew(crew);
}

static bool count_pending(eddy__crew *crew)
{
    bool is_counted;

    uv_mutex_lock(&crew->mu);
    is_counted = crew->n_pending < crew->most;
    crew->n_pending += is_counted;
    uv_mutex_unlock(&crew->mu);
    return is_counted;
}

/* The pool is there: the owner of the share is in a run of its context. */
static void call_crew(eddy__pool *pool, uint32_t wanted)
{
    eddy__crew *crew = pool->crew;

    while (crew && wanted-- > 0 && count_pending(crew)) {
        if (pool->executor.schedule(pool->executor.user, help_hosted, crew))
            continue;
        uv_mutex_lock(&crew->mu);
        crew->n_pending--;
        uv_mutex_unlock(&crew->mu);
        return;
    }
}

/* ---- owners ---- */

static void open_share(eddy__pool *pool, eddy__share *s)
{
    uint32_t n_idle, wanted = s->room;

    uv_mutex_lock(&pool->mu);
    s->next = pool->shares;
    pool->shares = s;
    atomic_fetch_add_explicit(&pool->n_shares, 1, memory_order_relaxed);
    n_idle = atomic_load(&pool->n_idle);
    for (uint32_t i = 0; i < wanted && i < n_idle; i++)
        uv_cond_signal(&pool->wake);
    uv_mutex_unlock(&pool->mu);
    if (pool->executor.schedule)
        call_crew(pool, wanted);
}

static void close_share(eddy__pool *pool, const eddy__share *s)
{
    eddy__share **at = &pool->shares;

    uv_mutex_lock(&pool->mu);
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    atomic_fetch_sub_explicit(&pool->n_shares, 1, memory_order_relaxed);
    uv_mutex_unlock(&pool->mu);
    for (int i = 0; i < LOOKS; i++)
        if (atomic_load_explicit(&s->n_inside, memory_order_acquire) == 0)
            return;
    uv_mutex_lock(&pool->mu);
    pool->n_owners_asleep++;
    while (atomic_load_explicit(&s->n_inside, memory_order_acquire) > 0)
        uv_cond_wait(&pool->left, &pool->mu);
    pool->n_owners_asleep--;
    uv_mutex_unlock(&pool->mu);
}

/* So many whole grains that every thread gets some parts. */
static void cut(eddy__share *s, int64_t grain, uint32_t n_threads)
{
    const int64_t n = s->end - s->begin;
    const int64_t n_grains = n / grain + (n % grain > 0);
    const int64_t most_parts = (int64_t)n_threads * PARTS_EACH;
    const int64_t each = (n_grains + most_parts - 1) / most_parts;

    s->size = each * grain;
    s->n_parts = (uint32_t)((n_grains + each - 1) / each);
    s->room = n_threads - 1;
}

/* NOLINTNEXTLINE(readability-function-size): what a kernel asks for. */
static eddy_status share(eddy_kernel *k, int64_t begin, int64_t end,
                         int64_t grain, eddy_items_fn body, void *arg,
                         uint64_t *out_ns)
{
    const eddy_run *run = k->run;
    eddy__pool *pool = run->ctx->pool;
    eddy__share s = {.kernel = k,
                     .body = body,
                     .arg = arg,
                     .begin = begin,
                     .end = end,
                     .keep_denormals = run->options.keep_denormals,
                     .status = EDDY_OK,
                     .err = k->err};

    cut(&s, grain, pool->width < MOST_THREADS ? pool->width : MOST_THREADS);
    open_share(pool, &s);
    do_parts(pool, &s);
    close_share(pool, &s);
    *out_ns = atomic_load_explicit(&s.spent_ns, memory_order_relaxed);
    if (atomic_load_explicit(&s.gave_up, memory_order_relaxed))
        k->work = EDDY__PATIENCE;
    return s.status;
}

/* The rest after a first part of `grain` items took `ns`. */
static uint64_t rest_ns(int64_t n, int64_t grain, uint64_t ns)
{
    return (uint64_t)((double)ns * (double)(n - grain) / (double)grain);
}

static bool is_worth(const eddy__pool *pool, uint64_t ns)
{
    const bool is_awake =
        atomic_load_explicit(&pool->n_looking, memory_order_relaxed) > 0;

    return ns >= (is_awake ? WORTH_NS : WORTH_WAKING_NS);
}

/* NOLINTNEXTLINE(readability-function-size): what a kernel asks for. */
eddy_status eddy__share_run(eddy_kernel *k, int64_t begin, int64_t end,
                            int64_t grain, eddy_items_fn body, void *arg)
{
    const eddy_run *run = k->run;
    eddy__pool *pool = run->ctx->pool;
    const uint64_t key = eddy__profile_key(
        k->node, (uint64_t)(end - begin) ^ ((uint64_t)(uintptr_t)body << 20));
    uint64_t known = eddy__profile_get(&pool->profile, key);
    uint64_t first = 0, ns = 0;
    const uint64_t start = eddy__clock_now_ns();
    eddy_status status;

    k->may_share = false; /* what the body calls runs here */
    if (known == 0) {
        status = body(k, arg, begin, begin + grain);
        if (status != EDDY_OK || eddy__gave_up(k))
            goto out;
        first = eddy__clock_now_ns() - start;
        known = rest_ns(end - begin, grain, first);
        begin += grain;
    }
    if (is_worth(pool, known)) {
        status = share(k, begin, end, grain, body, arg, &ns);
        ns += first;
    } else {
        status = body(k, arg, begin, end);
        ns = eddy__clock_now_ns() - start;
    }
    if (status == EDDY_OK && !eddy__gave_up(k))
        eddy__profile_add(&pool->profile, key, ns);
out:
    k->may_share = true;
    return status;
}
