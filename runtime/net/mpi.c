/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI, behind a provider that is loaded when it is started, and a wire of it.
 * A rank has one message on its way to each of the others; what is to follow
 * waits in the stream and goes together.  Every sixteenth must be noticed by
 * its receiver before it counts as sent, so that a rank can't run ahead of
 * another one for ever.
 *
 * Who waits looks again and again for some microseconds, then yields, then
 * sleeps longer and longer, since there may be more ranks than processors.
 */
#include "runtime/net/mpi.h"

#include "core/base/provider.h"
#include "core/base/status.h"
#include "core/base/thread.h"
#include "eddy/processes.h"
#include "eddy/version.h"
#include "runtime/net/mpi_provider.h"
#include "runtime/net/socket.h"
#include "runtime/net/star.h"

#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

/* The Makefile says it. */
#ifndef EDDY__SOVERSION
#define EDDY__SOVERSION "0"
#endif

#define FILE_NAME "libeddy-mpi.so." EDDY__SOVERSION

#define READ_SIZE ((size_t)64 << 10)
#define MOST_BYTES ((size_t)1 << 30) /* in one message */
#define NOTICED_EVERY 16

/* Looks before a rank yields, and then before it sleeps. */
#define SPINS 100
#define YIELDS 200
#define MOST_SLEEP_NS 200000L

/* How long the others may take to leave. */
#define LEAVE_NS (UINT64_C(2) * 1000 * 1000 * 1000)

/*
 * A global, since MPI is one for the process, and starts once; the thread that
 * starts it ends it, and meetings come one after the other.
 */
static struct {
    const eddy__mpi_provider *provider; /* NULL: it is not started */
    uint32_t rank, n_ranks;
    eddy__star_address address;
    int listener;
    uint64_t n_meetings;
    bool is_broken; /* some rank does not what the others do */
} mpi = {.listener = -1};

/* ---- starting and ending ---- */

static eddy_status find_provider(const eddy__mpi_provider **out,
                                 eddy_error *err)
{
    const eddy__mpi_provider *p =
        eddy__provider_load(FILE_NAME, EDDY__MPI_SYMBOL);

    *out = p;
    if (p && strcmp(p->version, EDDY_VERSION_STRING) == 0)
        return EDDY_OK;
    return eddy__fail(err, EDDY_UNIMPLEMENTED, EDDY_E_MESSAGE,
                      "there is no %s of this version: eddy was built without "
                      "MPI, or the MPI is not installed",
                      FILE_NAME);
}

/* Rank 0 says where it listens, or that it can't. */
static eddy_status hand_out_address(bool is_one_machine, eddy_error *err)
{
    eddy_status status = EDDY_OK;

    if (mpi.rank == 0)
        status =
            eddy__star_listen(is_one_machine, &mpi.address, &mpi.listener, err);
    if (!mpi.provider->share(&mpi.address, sizeof mpi.address))
        return eddy__fail(err, EDDY_UNAVAILABLE, EDDY_E_MESSAGE,
                          "MPI can't reach all ranks");
    if (status == EDDY_OK && mpi.address.port == 0)
        return eddy__fail(err, EDDY_UNAVAILABLE, EDDY_E_MESSAGE,
                          "rank 0 can't listen");
    return status;
}

eddy_status eddy_mpi_start(uint32_t *out_rank, uint32_t *out_n_ranks,
                           eddy_error *err)
{
    bool is_one_machine = false;

    EDDY_REFUSE_IF(!out_rank || !out_n_ranks, err,
                   "nowhere to put the rank and how many there are");
    if (!mpi.provider) {
        const eddy__mpi_provider *p = NULL;
        const char *why;

        EDDY_TRY(find_provider(&p, err));
        why = p->start(&mpi.rank, &mpi.n_ranks, &is_one_machine);
        if (why)
            return eddy__fail(err, EDDY_UNAVAILABLE, EDDY_E_MESSAGE, "%s", why);
        mpi.provider = p;
        mpi.is_broken = false;
        EDDY_TRY(hand_out_address(is_one_machine, err));
    }
    *out_rank = mpi.rank;
    *out_n_ranks = mpi.n_ranks;
    return EDDY_OK;
}

void eddy_mpi_end(void)
{
    if (!mpi.provider)
        return;
    eddy__sockets_close(&mpi.listener, 1);
    mpi.provider->end(mpi.is_broken);
    mpi.provider = NULL;
}

bool eddy__mpi_is_started(uint32_t *out_rank, uint32_t *out_n_ranks)
{
    *out_rank = mpi.rank;
    *out_n_ranks = mpi.n_ranks;
    return mpi.provider != NULL;
}

eddy_status eddy__mpi_meet(uint64_t fingerprint, uint64_t deadline_ns,
                           int *controls, eddy_error *err)
{
    const eddy__star star = {.address = &mpi.address,
                             .listener = mpi.listener,
                             .rank = mpi.rank,
                             .n_ranks = mpi.n_ranks,
                             .number = ++mpi.n_meetings,
                             .fingerprint = fingerprint,
                             .deadline_ns = deadline_ns};
    const eddy_status status = eddy__star_meet(&star, controls, err);

    if (status != EDDY_OK && status != EDDY_FAILED_PRECONDITION)
        mpi.is_broken = true;
    return status;
}

/* ---- the wire ---- */

/* A message on its way to a rank, which stays where it is until it is sent. */
typedef struct sending {
    eddy__bytes bytes;
    size_t begun; /* of them: sent, or on their way */
    eddy__mpi_request request;
    bool is_under_way;
    uint32_t n; /* messages */
} sending;

typedef struct mpi_wire {
    eddy__wire base;
    int tag;
    sending *sendings; /* a rank */
    atomic_bool is_woken;
} mpi_wire;

static mpi_wire *wire_of(eddy__wire *wire)
{
    return (mpi_wire *)(void *)wire;
}

/* Begins the next piece, if there is one and none is under way. */
static void go_on_sending(mpi_wire *w, uint32_t to)
{
    sending *s = &w->sendings[to];

    if (s->is_under_way && mpi.provider->is_sent(&s->request))
        s->is_under_way = false;
    if (!s->is_under_way && s->begun < s->bytes.n) {
        const size_t left = s->bytes.n - s->begun;
        const size_t n = left < MOST_BYTES ? left : MOST_BYTES;

        s->is_under_way =
            mpi.provider->send(to, w->tag, s->bytes.data + s->begun, n,
                               ++s->n % NOTICED_EVERY == 0, &s->request);
        s->begun += n;
    }
}

static bool is_sending(const sending *s)
{
    return s->is_under_way || s->begun < s->bytes.n;
}

static void write_rank(eddy__wire *wire, uint32_t to)
{
    mpi_wire *w = wire_of(wire);
    eddy__stream *stream = &wire->streams[to];
    sending *s = &w->sendings[to];

    go_on_sending(w, to);
    if (is_sending(s) || stream->out.n == 0)
        return;
    {
        const eddy__bytes full = stream->out;

        stream->out = s->bytes;
        stream->out.n = 0;
        s->bytes = full;
        s->begun = 0;
    }
    go_on_sending(w, to);
}

static bool is_written(const eddy__wire *wire, uint32_t to)
{
    const mpi_wire *w = (const mpi_wire *)(const void *)wire;

    return wire->streams[to].out.n == 0 && !is_sending(&w->sendings[to]);
}

/* Goes on with all; true if something more could be sent then. */
static bool go_on_with_all(mpi_wire *w)
{
    bool any = false;

    for (uint32_t i = 0; i < w->base.team.n_ranks; i++) {
        if (!is_sending(&w->sendings[i]))
            continue;
        go_on_sending(w, i);
        any = any || !is_sending(&w->sendings[i]);
    }
    return any;
}

/* Receives the message that was found. */
static eddy_status receive(mpi_wire *w, uint32_t from, size_t n, bool *out_any,
                           eddy_error *err)
{
    eddy__stream *s = &w->base.streams[from];

    if (!eddy__bytes_reserve(&s->in, n + READ_SIZE)) {
        /* What was found must be received all the same: the job is over. */
        mpi.is_broken = true;
        return eddy__fail_memory(err);
    }
    if (!mpi.provider->receive(s->in.data + s->in.n, n)) {
        mpi.is_broken = true;
        return eddy__fail(err, EDDY_UNAVAILABLE, EDDY_E_MESSAGE,
                          "MPI can't receive from rank %u", (unsigned)from);
    }
    s->in.n += n;
    return w->base.came(w->base.arg, s, out_any, err);
}

static eddy_status look(eddy__wire *wire, bool *out_any, eddy_error *err)
{
    mpi_wire *w = wire_of(wire);
    uint32_t from;
    size_t n;

    while (mpi.provider->find(w->tag, &from, &n))
        EDDY_TRY(receive(w, from, n, out_any, err));
    return EDDY_OK;
}

/* Waits a little before look number `n`. */
static void pause_before(unsigned n)
{
    struct timespec wait = {.tv_nsec = 1000};

    if (n < SPINS)
        return;
    if (n < SPINS + YIELDS) {
        (void)sched_yield();
        return;
    }
    n = (n - SPINS - YIELDS) / 4;
    wait.tv_nsec = n < 8 ? 1000L << n : MOST_SLEEP_NS;
    if (wait.tv_nsec > MOST_SLEEP_NS)
        wait.tv_nsec = MOST_SLEEP_NS;
    (void)nanosleep(&wait, NULL);
}

static eddy_status wait_for_bytes(eddy__wire *wire, uint64_t deadline_ns,
                                  eddy_error *err)
{
    mpi_wire *w = wire_of(wire);
    bool any = false;

    for (unsigned n = 0; !any; n = n < UINT_MAX ? n + 1 : n) {
        if (atomic_exchange(&w->is_woken, false) || go_on_with_all(w))
            return EDDY_OK;
        pause_before(n);
        EDDY_TRY(look(wire, &any, err));
        if (deadline_ns > 0 && n >= SPINS &&
            eddy__clock_now_ns() >= deadline_ns)
            return EDDY_OK;
    }
    return EDDY_OK;
}

static void wake(eddy__wire *wire)
{
    atomic_store(&wire_of(wire)->is_woken, true);
}

static void rest(eddy__wire *wire)
{
    (void)atomic_exchange(&wire_of(wire)->is_woken, false);
}

/* ---- its life ---- */

static eddy_status drop(void *arg, eddy__stream *stream, bool *out_any,
                        eddy_error *err)
{
    (void)arg;
    (void)err;
    stream->in.n = 0;
    *out_any = true;
    return EDDY_OK;
}

/* Drops what comes until `is_done`; false: that takes too long. */
static bool drop_until(mpi_wire *w, bool (*is_done)(mpi_wire *, void *),
                       void *arg)
{
    const uint64_t until = eddy__clock_now_ns() + LEAVE_NS;
    eddy_error err;

    for (unsigned n = 0; !is_done(w, arg); n++) {
        bool any = false;

        if (look(&w->base, &any, &err) != EDDY_OK ||
            eddy__clock_now_ns() >= until)
            return false;
        pause_before(n);
    }
    return true;
}

static bool is_all_sent(mpi_wire *w, void *arg)
{
    (void)arg;
    (void)go_on_with_all(w);
    for (uint32_t i = 0; i < w->base.team.n_ranks; i++)
        if (is_sending(&w->sendings[i]))
            return false;
    return true;
}

static bool is_passed(mpi_wire *w, void *arg)
{
    (void)w;
    return mpi.provider->is_sent(arg);
}

/*
 * Leaves nothing under way: what this rank sends, and then what the others do,
 * who come to the barrier when theirs is done.
 */
static bool settle(mpi_wire *w)
{
    eddy__mpi_request barrier;

    w->base.came = drop;
    return drop_until(w, is_all_sent, NULL) &&
           mpi.provider->begin_barrier(&barrier) &&
           drop_until(w, is_passed, &barrier);
}

static void destroy(eddy__wire *wire, bool is_broken)
{
    mpi_wire *w = wire_of(wire);
    const eddy__team team = wire->team;

    if (is_broken || mpi.is_broken || !settle(w))
        mpi.is_broken = true;
    /* What is still under way is MPI's until the job ends. */
    for (uint32_t i = 0; i < team.n_ranks; i++)
        if (!w->sendings[i].is_under_way)
            eddy__bytes_deinit(&w->sendings[i].bytes);
    eddy__free(team.allocator, w->sendings, team.n_ranks, sizeof *w->sendings);
    eddy__wire_deinit(wire);
    eddy__free(team.allocator, w, 1, sizeof *w);
}

static const eddy__wire_kind kind = {.write = write_rank,
                                     .is_written = is_written,
                                     .look = look,
                                     .wait = wait_for_bytes,
                                     .wake = wake,
                                     .rest = rest,
                                     .destroy = destroy};

eddy_status eddy__mpi_wire_create(const eddy__team *team, eddy__wire **out,
                                  eddy_error *err)
{
    mpi_wire *w = eddy__allocate_zeroed(team->allocator, 1, sizeof *w);

    *out = NULL;
    /* The others will wait for this one when they leave. */
    mpi.is_broken = true;
    if (!w)
        return eddy__fail_memory(err);
    w->sendings = eddy__allocate_zeroed(team->allocator, team->n_ranks,
                                        sizeof *w->sendings);
    if (!eddy__wire_init(&w->base, &kind, team) || !w->sendings) {
        eddy__wire_deinit(&w->base);
        eddy__free(team->allocator, w->sendings, team->n_ranks,
                   sizeof *w->sendings);
        eddy__free(team->allocator, w, 1, sizeof *w);
        return eddy__fail_memory(err);
    }
    mpi.is_broken = false;
    w->tag = (int)(mpi.n_meetings & 0x7fff);
    for (uint32_t i = 0; i < team->n_ranks; i++) {
        w->base.streams[i].is_open = i != team->rank;
        w->sendings[i].bytes.allocator = team->allocator;
    }
    *out = &w->base;
    return EDDY_OK;
}
