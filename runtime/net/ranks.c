/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ranks of a partition: all of them in one process, a thread each, or one
 * of them in this process (process.c).
 */
#include "eddy/processes.h"

#include "core/base/status.h"
#include "core/context.h"
#include "runtime/exec/trace/trace.h"
#include "runtime/net/memory.h"
#include "runtime/net/mpi.h"
#include "runtime/net/parts.h"
#include "runtime/net/process.h"

#include <stdio.h>
#include <string.h>

typedef eddy__process_port port;

/* One rank of an execution. */
typedef struct member {
    eddy_ranks *ranks;
    uint32_t rank;
    eddy_plan *plan;
    eddy_trace *trace; /* NULL: it is not recorded */
    eddy_run *run;
    eddy__thread thread;
    bool is_started;
    eddy_status status;
    eddy_error error;
} member;

struct eddy_ranks {
    const eddy_allocator *allocator;
    eddy__arena arena;
    uint32_t n_ranks;
    member *members;
    port *feeds, *fetches;
    size_t n_feeds, n_fetches;
    uint64_t seed;
    eddy__memory_exchange *exchange; /* of the execution under way */
    eddy__process *process;          /* this one's part; NULL: all are here */
    uint64_t n_sent, n_left;         /* of the last one */
    eddy__parts parts;               /* of the loop that is saved, if any is */
};

/* ---- making ---- */

/* The outputs that a rank feeds and fetches, in the caller's order. */
typedef struct share {
    eddy_output *feeds, *fetches;
    size_t n_feeds, n_fetches;
} share;

static void place_feeds(eddy_ranks *r, const eddy_partition *p, share *shares)
{
    for (size_t i = 0; i < r->n_feeds; i++) {
        eddy_output output;
        uint32_t rank;
        share *s;

        r->feeds[i] = (port){.rank = EDDY__NOT_FOUND};
        if (!eddy_partition_feed(p, i, &rank, &output))
            continue;
        s = &shares[rank];
        r->feeds[i] = (port){.rank = rank, .index = s->n_feeds};
        s->feeds[s->n_feeds++] = output;
    }
}

static void place_fetches(eddy_ranks *r, const eddy_partition *p, share *shares)
{
    for (size_t i = 0; i < r->n_fetches; i++) {
        uint32_t rank = 0;
        const eddy_output output = eddy_partition_fetch(p, i, &rank);
        share *s = &shares[rank];

        r->fetches[i] = (port){.rank = rank, .index = s->n_fetches};
        s->fetches[s->n_fetches++] = output;
    }
}

/* Names the rank before the message. */
static eddy_status blame(eddy_error *err, uint32_t rank, eddy_status status)
{
    char text[sizeof err->message];

    if (!err || status == EDDY_OK)
        return status;
    memcpy(text, err->message, sizeof text);
    snprintf(err->message, sizeof err->message, "rank %u: %.490s",
             (unsigned)rank, text);
    return status;
}

/*
 * Ranks that are threads look for messages before they sleep if each may have
 * a processor, and each worker.
 */
static void set_patience(member *m)
{
    const uint64_t n = (uint64_t)m->ranks->n_ranks + m->run->ctx->n_workers;

    m->run->patience.is_allowed =
        !m->ranks->process && n <= eddy__thread_processors();
}

static eddy_status make_member(member *m, const eddy_partition *p,
                               const share *s,
                               const eddy_ranks_options *options,
                               eddy_error *err)
{
    const eddy__parts *parts = &m->ranks->parts;
    eddy_plan_options how = {.size = sizeof how};
    eddy_checkpoint saved = parts->how;
    eddy_run_options running = {.size = sizeof running};

    if (options->plan)
        memcpy(&how, options->plan, options->plan->size);
    if (options->run)
        memcpy(&running, options->run, options->run->size);
    how.feeds = s->feeds;
    how.n_feeds = s->n_feeds;
    how.fetches = s->fetches;
    how.n_fetches = s->n_fetches;
    how.targets = eddy_partition_targets(p, m->rank, &how.n_targets);
    running.done = NULL;
    how.checkpoint = NULL;
    how.record = how.record || options->trace != NULL;
    if (parts->part && parts->part[m->rank] != EDDY__NOT_FOUND) {
        saved.part = parts->part[m->rank];
        how.checkpoint = &saved;
    }
    EDDY_TRY(eddy_plan_create(eddy_partition_graph(p, m->rank), &how, &m->plan,
                              err));
    if (options->trace)
        EDDY_TRY(
            eddy__trace_create_part(m->plan, options->trace, &m->trace, err));
    running.recorder = m->trace;
    EDDY_TRY(eddy_run_create(m->plan, &running, &m->run, err));
    set_patience(m);
    return EDDY_OK;
}

/* This process's own, and what came of it everywhere. */
static eddy_status join(eddy_ranks *r, const eddy_partition *p,
                        const share *shares, const eddy_ranks_options *options,
                        const eddy_ranks_place *place, eddy_error *err)
{
    const eddy__process_place at = {.folder = place->folder,
                                    .rank = place->rank,
                                    .timeout_ns = place->meet_ns};
    member *m = &r->members[place->rank];
    eddy_error own = {.code = EDDY_OK};
    eddy_status status;

    EDDY_TRY(eddy__process_join(p, r->allocator, &at, &r->process, err));
    m->ranks = r;
    m->rank = place->rank;
    status = make_member(m, p, &shares[m->rank], options, &own);
    status = eddy__process_agree(r->process, status, &own);
    if (status != EDDY_OK && err)
        *err = own;
    return status;
}

static eddy_status make_members(eddy_ranks *r, const eddy_partition *p,
                                const share *shares,
                                const eddy_ranks_options *options,
                                eddy_error *err)
{
    for (uint32_t i = 0; i < r->n_ranks; i++) {
        member *m = &r->members[i];

        m->ranks = r;
        m->rank = i;
        EDDY_TRY(blame(err, i, make_member(m, p, &shares[i], options, err)));
    }
    return EDDY_OK;
}

static eddy_status make_shares(eddy_ranks *r, const eddy_partition *p,
                               share **out)
{
    share *shares =
        eddy__arena_allocate_zeroed(&r->arena, r->n_ranks, sizeof *shares);

    if (!shares)
        return EDDY_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < r->n_ranks; i++) {
        shares[i].feeds =
            eddy__arena_allocate(&r->arena, r->n_feeds, sizeof *shares->feeds);
        shares[i].fetches = eddy__arena_allocate(&r->arena, r->n_fetches,
                                                 sizeof *shares->fetches);
        if (!shares[i].feeds || !shares[i].fetches)
            return EDDY_RESOURCE_EXHAUSTED;
    }
    place_feeds(r, p, shares);
    place_fetches(r, p, shares);
    *out = shares;
    return EDDY_OK;
}

static eddy_status fill(eddy_ranks *r, const eddy_partition *p,
                        const eddy_ranks_options *options,
                        const eddy_ranks_place *place, eddy_error *err)
{
    eddy_plan_options how = {.size = sizeof how};
    share *shares;

    r->n_feeds = eddy_partition_feeds(p);
    r->n_fetches = eddy_partition_fetches(p);
    r->members =
        eddy__arena_allocate_zeroed(&r->arena, r->n_ranks, sizeof *r->members);
    r->feeds = eddy__arena_allocate(&r->arena, r->n_feeds, sizeof *r->feeds);
    r->fetches =
        eddy__arena_allocate(&r->arena, r->n_fetches, sizeof *r->fetches);
    if (!r->members || !r->feeds || !r->fetches ||
        make_shares(r, p, &shares) != EDDY_OK)
        return eddy__fail_memory(err);
    if (options->plan)
        memcpy(&how, options->plan, options->plan->size);
    if (how.checkpoint)
        EDDY_TRY(
            eddy__parts_find(p, how.checkpoint, &r->arena, &r->parts, err));
    return place ? join(r, p, shares, options, place, err)
                 : make_members(r, p, shares, options, err);
}

/* `place`: of the one that is here; NULL: all are. */
static eddy_status create(const eddy_partition *partition,
                          const eddy_ranks_options *options,
                          const eddy_ranks_place *place, eddy_ranks **out_ranks,
                          eddy_error *err)
{
    eddy_ranks_options copy = {.size = sizeof copy};
    const eddy_allocator *allocator;
    eddy_status status;
    eddy_ranks *r;

    EDDY_REFUSE_IF(!partition, err, "no partition");
    EDDY_REFUSE_IF(!out_ranks, err, "nowhere to put the ranks");
    *out_ranks = NULL;
    EDDY_REFUSE_IF(options &&
                       (options->size == 0 || options->size > sizeof copy),
                   err, "the options of ranks have the wrong size");
    if (options)
        memcpy(&copy, options, options->size);
    EDDY_REFUSE_IF((copy.plan && (copy.plan->size == 0 ||
                                  copy.plan->size > sizeof *copy.plan)) ||
                       (copy.run && (copy.run->size == 0 ||
                                     copy.run->size > sizeof *copy.run)),
                   err, "the options of a plan or a run have the wrong size");
    allocator = &eddy_partition_graph(partition, 0)->ctx->allocator;
    r = eddy__allocate_zeroed(allocator, 1, sizeof *r);
    if (!r)
        return eddy__fail_memory(err);
    r->allocator = allocator;
    r->arena.allocator = allocator;
    r->n_ranks = eddy_partition_ranks(partition);
    r->seed = copy.seed;
    status = fill(r, partition, &copy, place, err);
    if (status == EDDY_OK)
        *out_ranks = r;
    else
        eddy_ranks_destroy(r);
    return status;
}

eddy_status eddy_ranks_create(const eddy_partition *partition,
                              const eddy_ranks_options *options,
                              eddy_ranks **out_ranks, eddy_error *err)
{
    return create(partition, options, NULL, out_ranks, err);
}

/* Is the place the one that MPI has given? */
static eddy_status check_mpi(const eddy_partition *partition,
                             const eddy_ranks_place *place, eddy_error *err)
{
    uint32_t rank, n;

    EDDY_REFUSE_IF(!eddy__mpi_is_started(&rank, &n), err,
                   "no folder to meet in, and MPI is not started");
    EDDY_REFUSE_IF(n != eddy_partition_ranks(partition), err,
                   "MPI has started %u ranks, the partition has %u",
                   (unsigned)n, (unsigned)eddy_partition_ranks(partition));
    EDDY_REFUSE_IF(rank != place->rank, err, "this is rank %u, not %u",
                   (unsigned)rank, (unsigned)place->rank);
    return EDDY_OK;
}

eddy_status eddy_ranks_join(const eddy_partition *partition,
                            const eddy_ranks_options *options,
                            const eddy_ranks_place *place,
                            eddy_ranks **out_ranks, eddy_error *err)
{
    eddy_ranks_place copy = {.size = sizeof copy};

    if (out_ranks)
        *out_ranks = NULL;
    EDDY_REFUSE_IF(!place || place->size == 0 || place->size > sizeof copy, err,
                   "the place of a rank is missing, or has the wrong size");
    memcpy(&copy, place, place->size);
    EDDY_REFUSE_IF(!partition, err, "no partition");
    if (!copy.folder)
        EDDY_TRY(check_mpi(partition, &copy, err));
    EDDY_REFUSE_IF(copy.rank >= eddy_partition_ranks(partition), err,
                   "rank %u of %u", (unsigned)copy.rank,
                   (unsigned)eddy_partition_ranks(partition));
    return create(partition, options, &copy, out_ranks, err);
}

void eddy_ranks_destroy(eddy_ranks *ranks)
{
    if (!ranks)
        return;
    for (uint32_t i = 0; ranks->members && i < ranks->n_ranks; i++) {
        eddy_run_destroy(ranks->members[i].run);
        eddy_trace_destroy(ranks->members[i].trace);
        eddy_plan_release(ranks->members[i].plan);
    }
    eddy__process_leave(ranks->process);
    eddy__arena_destroy(&ranks->arena);
    eddy__free(ranks->allocator, ranks, 1, sizeof *ranks);
}

/* ---- running ---- */

static eddy_status bind_feeds(eddy_ranks *r, eddy_tensor *const *feeds,
                              eddy_error *err)
{
    for (size_t i = 0; i < r->n_feeds; i++) {
        const port *at = &r->feeds[i];
        eddy_run *run =
            at->rank == EDDY__NOT_FOUND ? NULL : r->members[at->rank].run;

        eddy_status status = EDDY_OK;

        if (run)
            status = eddy_run_feed(run, at->index, feeds[i], err);
        /* Processes name the rank when they have agreed. */
        if (status != EDDY_OK)
            return r->process ? status : blame(err, at->rank, status);
    }
    return EDDY_OK;
}

/* @thread the member's own */
static void execute(void *arg)
{
    member *m = arg;
    eddy__memory_exchange *exchange = m->ranks->exchange;
    eddy__exchange *base = eddy__memory_exchange_of(exchange);

    m->status = eddy_run_execute(m->run, &m->error);
    if (m->status != EDDY_OK)
        eddy__memory_exchange_abort(exchange, m->rank);
    /* It sends no more. */
    base->idle(base);
}

/* Starts a thread each for all ranks but 0, which is the caller's. */
static void execute_all(eddy_ranks *r)
{
    for (uint32_t i = 1; i < r->n_ranks; i++) {
        member *m = &r->members[i];

        /* Its status is the thread's once there is one. */
        m->status = EDDY_UNAVAILABLE;
        m->is_started =
            eddy__thread_start(&m->thread, 0, execute, m, &m->error) == EDDY_OK;
        if (!m->is_started)
            eddy__memory_exchange_abort(r->exchange, i);
    }
    execute(&r->members[0]);
    for (uint32_t i = 1; i < r->n_ranks; i++)
        if (r->members[i].is_started)
            eddy__thread_join(&r->members[i].thread);
}

/* Did the rank fail only because another one did? */
static bool is_consequence(const member *m)
{
    return m->status == EDDY_ABORTED && m->error.detail == EDDY_E_MESSAGE;
}

static eddy_status first_failure(const eddy_ranks *r, eddy_error *err)
{
    const member *worst = NULL;

    for (uint32_t i = 0; i < r->n_ranks; i++) {
        const member *m = &r->members[i];

        if (m->status != EDDY_OK &&
            (!worst || (is_consequence(worst) && !is_consequence(m))))
            worst = m;
    }
    if (!worst)
        return EDDY_OK;
    if (err)
        *err = worst->error;
    return blame(err, worst->rank, worst->status);
}

static void take_fetches(const eddy_ranks *r, eddy_tensor **out_fetches)
{
    for (size_t i = 0; i < r->n_fetches; i++)
        out_fetches[i] = eddy_tensor_retain(eddy_run_fetch(
            r->members[r->fetches[i].rank].run, r->fetches[i].index));
}

/* In this process one rank alone. */
static eddy_status run_process(eddy_ranks *r, eddy_tensor *const *feeds,
                               eddy_tensor **out_fetches, eddy_error *err)
{
    eddy_error own = {.code = EDDY_OK};
    eddy__process_run how = {.fetches = r->fetches, .n_fetches = r->n_fetches};
    eddy_status status = bind_feeds(r, feeds, &own);

    for (uint32_t i = 0; i < r->n_ranks; i++)
        if (r->members[i].run)
            how.run = r->members[i].run;
    status = eddy__process_execute(r->process, &how, status, out_fetches, &own);
    r->n_sent = eddy__process_messages(r->process, &r->n_left);
    if (status != EDDY_OK && err)
        *err = own;
    return status;
}

eddy_status eddy_ranks_run(eddy_ranks *ranks, eddy_tensor *const *feeds,
                           eddy_tensor **out_fetches, eddy_error *err)
{
    eddy_status status;

    EDDY_REFUSE_IF(!ranks, err, "no ranks");
    EDDY_REFUSE_IF((ranks->n_feeds > 0 && !feeds) ||
                       (ranks->n_fetches > 0 && !out_fetches),
                   err, "NULL for feeds or fetches");
    for (size_t i = 0; i < ranks->n_fetches; i++)
        out_fetches[i] = NULL;
    if (ranks->process)
        return run_process(ranks, feeds, out_fetches, err);
    EDDY_TRY(bind_feeds(ranks, feeds, err));
    EDDY_TRY(eddy__memory_exchange_create(ranks->allocator, ranks->seed,
                                          &ranks->exchange, err));
    for (uint32_t i = 0; i < ranks->n_ranks; i++)
        ranks->members[i].run->exchange =
            eddy__memory_exchange_of(ranks->exchange);
    execute_all(ranks);
    status = first_failure(ranks, err);
    if (status == EDDY_OK)
        take_fetches(ranks, out_fetches);
    ranks->n_sent = eddy__memory_exchange_sent(ranks->exchange);
    ranks->n_left = eddy__memory_exchange_left(ranks->exchange);
    eddy__memory_exchange_destroy(ranks->exchange);
    ranks->exchange = NULL;
    return status;
}

void eddy_ranks_cancel(eddy_ranks *ranks)
{
    for (uint32_t i = 0; i < ranks->n_ranks && !ranks->process; i++)
        eddy_run_cancel(ranks->members[i].run);
    if (ranks->process)
        eddy__process_cancel(ranks->process);
}

const eddy_run *eddy_ranks_at(const eddy_ranks *ranks, uint32_t rank)
{
    return rank < ranks->n_ranks ? ranks->members[rank].run : NULL;
}

uint64_t eddy_ranks_messages(const eddy_ranks *ranks, uint64_t *out_left)
{
    if (out_left)
        *out_left = ranks->n_left;
    return ranks->n_sent;
}

eddy_status eddy_ranks_trace(const eddy_ranks *ranks, eddy_trace **out_trace,
                             eddy_error *err)
{
    eddy__arena scratch;
    eddy_trace **traces;
    eddy_status status;

    EDDY_REFUSE_IF(!out_trace, err, "nowhere to put the trace");
    *out_trace = NULL;
    EDDY_REFUSE_IF(!ranks, err, "no ranks");
    for (uint32_t i = 0; i < ranks->n_ranks; i++)
        if (!ranks->members[i].trace)
            return eddy__fail(err, EDDY_FAILED_PRECONDITION, EDDY_E_ARGUMENT,
                              "rank %u is not recorded by this process",
                              (unsigned)i);
    scratch = (eddy__arena){.allocator = ranks->allocator};
    traces = eddy__arena_allocate_zeroed(&scratch, ranks->n_ranks,
                                         sizeof(eddy_trace *));
    if (!traces)
        return eddy__fail_memory(err);
    for (uint32_t i = 0; i < ranks->n_ranks; i++)
        traces[i] = ranks->members[i].trace;
    status = eddy__trace_join(traces, ranks->n_ranks, out_trace, err);
    eddy__arena_destroy(&scratch);
    return status;
}
