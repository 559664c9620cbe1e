/* SPDX-License-Identifier: Apache-2.0 */
/* A rank in a process of its own: its link, and what it agrees on. */
#include "runtime/net/process.h"

#include "core/base/status.h"
#include "core/base/thread.h"
#include "runtime/exec/run.h"
#include "runtime/net/agree.h"
#include "runtime/net/link.h"
#include "runtime/net/mpi.h"
#include "runtime/net/socket.h"

#include <stdio.h>
#include <string.h>

#define MEETING_NS (UINT64_C(30) * 1000 * 1000 * 1000)

struct eddy__process {
    const eddy_allocator *allocator;
    uint32_t rank;
    eddy__edge_routes routes;
    eddy__link *link;
    eddy__agreement *agreement;
    uint64_t n_sent, n_left; /* of the last execution */
    eddy__mutex mu;
    eddy_run *run; /* under way, or NULL; guarded by mu */
    bool is_cancelled;
};

/* @thread the agreement's */
static void end_round(void *arg, uint32_t rank, bool is_lost)
{
    eddy__process *p = arg;

    eddy__mutex_lock(&p->mu);
    if (p->run) {
        eddy__link_abort(p->link, rank, is_lost);
        eddy_run_cancel(p->run);
    }
    eddy__mutex_unlock(&p->mu);
}

/* ---- joining and leaving ---- */

/* What is needed to meet the others, in arrays with room for all. */
typedef struct meeting {
    const eddy__process_place *place;
    eddy__team team;
    uint64_t deadline_ns;
    int *values, *controls;
} meeting;

static eddy_status meet_by_sockets(const eddy__process *p, const meeting *m,
                                   eddy__wire **out, eddy_error *err)
{
    const eddy__meeting how = {.folder = m->place->folder,
                               .rank = m->team.rank,
                               .n_ranks = m->team.n_ranks,
                               .fingerprint = p->routes.fingerprint,
                               .deadline_ns = m->deadline_ns};

    EDDY_TRY(eddy__sockets_meet(&how, m->values, m->controls, err));
    return eddy__socket_wire_create(&m->team, m->values, true, out, err);
}

static eddy_status meet_by_mpi(const eddy__process *p, const meeting *m,
                               eddy__wire **out, eddy_error *err)
{
    EDDY_TRY(eddy__mpi_meet(p->routes.fingerprint, m->deadline_ns, m->controls,
                            err));
    return eddy__mpi_wire_create(&m->team, out, err);
}

static eddy_status connect_all(eddy__process *p, const meeting *m,
                               eddy_error *err)
{
    eddy__wire *wire;

    EDDY_TRY(m->place->folder ? meet_by_sockets(p, m, &wire, err)
                              : meet_by_mpi(p, m, &wire, err));
    EDDY_TRY(eddy__link_create(wire, &p->routes, &p->link, err));
    return eddy__agreement_create(&m->team, m->controls, end_round, p,
                                  &p->agreement, err);
}

/* One for each rank, and each of their workers, if all are here. */
static bool has_processors(const eddy_partition *partition)
{
    const eddy_context *ctx = eddy_partition_graph(partition, 0)->ctx;
    const uint64_t each = (uint64_t)1 + ctx->n_workers;

    return eddy_partition_ranks(partition) * each <= eddy__thread_processors();
}

static eddy_status join(eddy__process *p, const eddy_partition *partition,
                        const eddy__process_place *place, eddy_error *err)
{
    const uint32_t n = eddy_partition_ranks(partition);
    const uint64_t wait =
        place->timeout_ns > 0 ? place->timeout_ns : MEETING_NS;
    const uint64_t now = eddy__clock_now_ns();
    meeting m = {.place = place,
                 .team = {.allocator = p->allocator,
                          .rank = place->rank,
                          .n_ranks = n,
                          .may_look = has_processors(partition)},
                 .deadline_ns =
                     wait < UINT64_MAX - now ? now + wait : UINT64_MAX};
    eddy_status status;

    EDDY_TRY(eddy__edge_routes_init(&p->routes, partition, p->allocator, err));
    m.values = eddy__allocate(p->allocator, 2 * (size_t)n, sizeof *m.values);
    if (!m.values)
        return eddy__fail_memory(err);
    m.controls = m.values + n;
    for (size_t i = 0; i < 2 * (size_t)n; i++)
        m.values[i] = -1;
    status = connect_all(p, &m, err);
    eddy__sockets_close(m.values, 2 * n);
    eddy__free(p->allocator, m.values, 2 * (size_t)n, sizeof *m.values);
    return status;
}

eddy_status eddy__process_join(const eddy_partition *partition,
                               const eddy_allocator *allocator,
                               const eddy__process_place *place,
                               eddy__process **out, eddy_error *err)
{
    eddy__process *p = eddy__allocate_zeroed(allocator, 1, sizeof *p);
    eddy_status status;

    *out = NULL;
    if (!p)
        return eddy__fail_memory(err);
    p->allocator = allocator;
    p->rank = place->rank;
    status = eddy__mutex_init(&p->mu, err);
    if (status != EDDY_OK) {
        eddy__free(allocator, p, 1, sizeof *p);
        return status;
    }
    status = join(p, partition, place, err);
    if (status == EDDY_OK)
        *out = p;
    else
        eddy__process_leave(p);
    return status;
}

void eddy__process_leave(eddy__process *p)
{
    if (!p)
        return;
    eddy__agreement_destroy(p->agreement);
    eddy__link_destroy(p->link);
    eddy__edge_routes_deinit(&p->routes);
    eddy__mutex_destroy(&p->mu);
    eddy__free(p->allocator, p, 1, sizeof *p);
}

/* ---- agreeing ---- */

/* Names the rank before the message, as eddy_ranks_run does. */
static eddy_status conclude(eddy__process *p, const eddy__report *all,
                            eddy_error *err)
{
    p->n_sent = all->n_sent;
    p->n_left = all->n_left;
    if (all->error.code != EDDY_OK && err) {
        *err = all->error;
        snprintf(err->message, sizeof err->message, "rank %u: %.490s",
                 (unsigned)all->rank, all->error.message);
    }
    return all->error.code;
}

static eddy_status agree(eddy__process *p, eddy__report *mine,
                         uint64_t deadline_ns, eddy_error *err)
{
    eddy__report all;

    eddy__agreement_reach(p->agreement, mine, deadline_ns, &all);
    return conclude(p, &all, err);
}

eddy_status eddy__process_agree(eddy__process *p, eddy_status mine,
                                eddy_error *err)
{
    eddy__report report = {.rank = p->rank};

    if (mine != EDDY_OK && err)
        report.error = *err;
    report.error.code = mine;
    eddy__agreement_begin(p->agreement);
    return agree(p, &report, 0, err);
}

/* ---- executing ---- */

static void set_run(eddy__process *p, eddy_run *run)
{
    eddy__mutex_lock(&p->mu);
    p->run = run;
    if (run)
        p->is_cancelled = false;
    eddy__mutex_unlock(&p->mu);
}

void eddy__process_cancel(eddy__process *p)
{
    eddy__mutex_lock(&p->mu);
    p->is_cancelled = true;
    if (p->run) {
        eddy_run_cancel(p->run);
        eddy__link_cancel(p->link);
    }
    eddy__mutex_unlock(&p->mu);
}

static bool is_cancelled(eddy__process *p)
{
    bool is;

    eddy__mutex_lock(&p->mu);
    is = p->is_cancelled;
    eddy__mutex_unlock(&p->mu);
    return is;
}

static eddy_status send_fetches(eddy__process *p, const eddy__process_run *r,
                                eddy_tensor **out, eddy_error *err)
{
    for (size_t i = 0; i < r->n_fetches; i++) {
        eddy_tensor *tensor;

        if (r->fetches[i].rank != p->rank)
            continue;
        tensor = eddy_run_fetch(r->run, r->fetches[i].index);
        out[i] = eddy_tensor_retain(tensor);
        EDDY_TRY(eddy__link_send_fetch(
            p->link, i,
            eddy__value_take_tensor(NULL, eddy_tensor_retain(tensor)), err));
    }
    return EDDY_OK;
}

static eddy_status take_fetches(eddy__process *p, const eddy__process_run *r,
                                uint64_t deadline_ns, eddy_tensor **out,
                                eddy_error *err)
{
    for (size_t i = 0; i < r->n_fetches; i++) {
        eddy__value value;

        if (r->fetches[i].rank == p->rank)
            continue;
        EDDY_TRY(eddy__link_take_fetch(p->link, i, deadline_ns, &value, err));
        out[i] = eddy__value_to_tensor(&value, NULL, NULL, p->allocator);
        eddy__value_clear(NULL, &value);
        if (!out[i])
            return eddy__fail_memory(err);
    }
    return EDDY_OK;
}

/* The run, and what its ranks exchange when it is over. */
static eddy_status run_all(eddy__process *p, const eddy__process_run *r,
                           eddy_tensor **out, eddy_error *err)
{
    eddy_run *run = r->run;
    uint64_t deadline_ns;

    EDDY_TRY(eddy_run_execute(run, err));
    deadline_ns = run->deadline_ns;
    EDDY_TRY(send_fetches(p, r, out, err));
    EDDY_TRY(take_fetches(p, r, deadline_ns, out, err));
    return eddy__link_settle(p->link, deadline_ns, err);
}

/* Did it only fail because another rank has? */
static bool is_consequence(eddy__process *p, const eddy_error *error)
{
    return (error->code == EDDY_ABORTED && error->detail == EDDY_E_MESSAGE) ||
           (error->code == EDDY_CANCELLED && !is_cancelled(p) &&
            eddy__agreement_is_broken(p->agreement));
}

eddy_status eddy__process_execute(eddy__process *p, const eddy__process_run *r,
                                  eddy_status fed, eddy_tensor **out_fetches,
                                  eddy_error *err)
{
    eddy__report mine = {.rank = p->rank};
    eddy_status status = fed;

    if (status != EDDY_OK && err)
        mine.error = *err;
    if (status == EDDY_OK)
        status = eddy__link_begin(p->link, r->run->heap.account, &mine.error);
    r->run->carrier = eddy__link_carrier(p->link);
    r->run->exchange = &r->run->carrier->base;
    if (status == EDDY_OK)
        set_run(p, r->run);
    eddy__agreement_begin(p->agreement);
    if (status == EDDY_OK)
        status = run_all(p, r, out_fetches, &mine.error);
    mine.error.code = status;
    mine.is_consequence = status != EDDY_OK && is_consequence(p, &mine.error);
    if (fed == EDDY_OK && p->run) {
        mine.n_sent = eddy__link_sent(p->link);
        mine.n_left = eddy__link_left(p->link);
    }
    status = agree(p, &mine, r->run->deadline_ns, err);
    set_run(p, NULL);
    if (status == EDDY_OK)
        return EDDY_OK;
    for (size_t i = 0; i < r->n_fetches; i++) {
        eddy_tensor_release(out_fetches[i]);
        out_fetches[i] = NULL;
    }
    return status;
}

uint64_t eddy__process_messages(const eddy__process *p, uint64_t *out_left)
{
    *out_left = p->n_left;
    return p->n_sent;
}
