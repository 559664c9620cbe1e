/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A wire of sockets: a rank that waits looks, and then sleeps in poll().  Where
 * two ranks have a ring (ring.h), bytes go by that, and the socket is for what
 * wakes a rank that sleeps, and for its end.
 */
#include "core/base/status.h"
#include "core/base/thread.h"
#include "runtime/net/ring.h"
#include "runtime/net/socket.h"
#include "runtime/net/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_SIZE ((size_t)64 << 10)

typedef struct socket_wire {
    eddy__wire base;
    int *sockets;          /* a rank; -1: this one itself, or it is gone */
    eddy__ring *rings;     /* likewise */
    struct pollfd *polled; /* and the pipe last */
    int wake[2];
    atomic_bool is_woken, is_asleep;
} socket_wire;

static socket_wire *wire_of(eddy__wire *wire)
{
    return (socket_wire *)(void *)wire;
}

/* It is for the agreement to say what has become of the rank. */
static void lose(socket_wire *w, uint32_t rank)
{
    eddy__stream *s = &w->base.streams[rank];

    close(w->sockets[rank]);
    w->sockets[rank] = -1;
    s->is_open = false;
    s->out.n = s->written = 0;
}

/* ---- rings ---- */

static bool has_ring(const socket_wire *w, uint32_t rank)
{
    return w->rings[rank].in != NULL;
}

/* Wakes the other end.  A socket that is full does so, too. */
static void ring_bell(socket_wire *w, uint32_t rank)
{
    const uint8_t word = 1;
    ssize_t n;

    do
        n = send(w->sockets[rank], &word, 1, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
}

static eddy_status read_ring(socket_wire *w, uint32_t rank, bool *out_any,
                             eddy_error *err)
{
    const eddy__ring *ring = &w->rings[rank];
    eddy__stream *s = &w->base.streams[rank];
    size_t n = 1;

    while (n > 0) {
        bool ok;

        if (!eddy__bytes_reserve(&s->in, READ_SIZE))
            return eddy__fail_memory(err);
        ok = eddy__ring_read(ring, s->in.data + s->in.n,
                             s->in.capacity - s->in.n, &n);
        if (!ok)
            return eddy__fail(err, EDDY_DATA_LOSS, EDDY_E_MALFORMED,
                              "what rank %u shares makes no sense",
                              (unsigned)rank);
        if (n == 0)
            break;
        s->in.n += n;
        if (eddy__ring_must_wake_writer(ring))
            ring_bell(w, rank);
        EDDY_TRY(w->base.came(w->base.arg, s, out_any, err));
    }
    return EDDY_OK;
}

static void write_ring(socket_wire *w, uint32_t to)
{
    const eddy__ring *ring = &w->rings[to];
    eddy__stream *s = &w->base.streams[to];
    const size_t n =
        eddy__ring_write(ring, s->out.data + s->written, s->out.n - s->written);

    s->written += n;
    if (n > 0 && eddy__ring_must_wake_reader(ring))
        ring_bell(w, to);
    if (s->written == s->out.n)
        s->out.n = s->written = 0;
}

/* Takes what woke this rank.  What is in the ring outlives its writer. */
static eddy_status take_bells(socket_wire *w, uint32_t rank, bool *out_any,
                              eddy_error *err)
{
    uint8_t words[64];
    ssize_t n;

    do
        n = recv(w->sockets[rank], words, sizeof words, 0);
    while (n > 0 || (n < 0 && errno == EINTR));
    if (n < 0 && errno == EAGAIN)
        return EDDY_OK;
    EDDY_TRY(read_ring(w, rank, out_any, err));
    lose(w, rank);
    *out_any = true;
    return EDDY_OK;
}

/* ---- reading and writing ---- */

static eddy_status read_rank(socket_wire *w, uint32_t rank, bool *out_any,
                             eddy_error *err)
{
    eddy__stream *s = &w->base.streams[rank];
    ssize_t n = 1;

    if (has_ring(w, rank))
        return read_ring(w, rank, out_any, err);

    while (n > 0 && s->is_open) {
        size_t room;

        if (!eddy__bytes_reserve(&s->in, READ_SIZE))
            return eddy__fail_memory(err);
        room = s->in.capacity - s->in.n;
        n = recv(w->sockets[rank], s->in.data + s->in.n, room, 0);
        if (n > 0) {
            s->in.n += (size_t)n;
            EDDY_TRY(w->base.came(w->base.arg, s, out_any, err));
            if ((size_t)n < room)
                return EDDY_OK;
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            lose(w, rank);
            *out_any = true;
        }
    }
    return EDDY_OK;
}

/* Writes what the socket takes. */
static void write_rank(eddy__wire *wire, uint32_t to)
{
    socket_wire *w = wire_of(wire);
    eddy__stream *s = &wire->streams[to];

    if (has_ring(w, to)) {
        write_ring(w, to);
        return;
    }
    while (s->is_open && s->written < s->out.n) {
        const ssize_t n = send(w->sockets[to], s->out.data + s->written,
                               s->out.n - s->written, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0)
            lose(w, to);
        else
            s->written += (size_t)n;
    }
    s->out.n = s->written = 0;
}

static bool is_written(const eddy__wire *wire, uint32_t to)
{
    return wire->streams[to].out.n == 0;
}

/* Reads what is there already. */
static eddy_status look(eddy__wire *wire, bool *out_any, eddy_error *err)
{
    for (uint32_t i = 0; i < wire->team.n_ranks; i++)
        if (wire->streams[i].is_open)
            EDDY_TRY(read_rank(wire_of(wire), i, out_any, err));
    return EDDY_OK;
}

/* ---- waiting ---- */

static int aim_poll(socket_wire *w, uint64_t deadline_ns)
{
    const uint64_t now = deadline_ns > 0 ? eddy__clock_now_ns() : 0;
    const uint32_t n = w->base.team.n_ranks;
    uint64_t ms;

    for (uint32_t i = 0; i < n; i++) {
        const int wanted = w->base.streams[i].out.n > 0 && !has_ring(w, i)
                               ? POLLIN | POLLOUT
                               : POLLIN;

        w->polled[i] =
            (struct pollfd){.fd = w->sockets[i], .events = (short)wanted};
    }
    w->polled[n] = (struct pollfd){.fd = w->wake[0], .events = POLLIN};
    if (deadline_ns == 0)
        return -1;
    ms = now < deadline_ns ? (deadline_ns - now + 999999) / 1000000 : 0;
    return ms > 1000000 ? 1000000 : (int)ms;
}

/* Says by the rings that this rank sleeps; false: there is something to do. */
static bool lie_down(const socket_wire *w)
{
    bool ok = true;

    for (uint32_t i = 0; i < w->base.team.n_ranks; i++)
        if (w->base.streams[i].is_open && has_ring(w, i))
            ok = eddy__ring_sleep(&w->rings[i], w->base.streams[i].out.n > 0) &&
                 ok;
    return ok;
}

static void rise(const socket_wire *w)
{
    for (uint32_t i = 0; i < w->base.team.n_ranks; i++)
        if (has_ring(w, i))
            eddy__ring_rise(&w->rings[i]);
}

static void sleep_on(socket_wire *w, uint64_t deadline_ns)
{
    const uint32_t n = w->base.team.n_ranks;
    const int ms = aim_poll(w, deadline_ns);
    uint8_t words[64];

    atomic_store(&w->is_asleep, true);
    if (!atomic_load(&w->is_woken))
        (void)poll(w->polled, n + 1, lie_down(w) ? ms : 0);
    rise(w);
    atomic_store(&w->is_asleep, false);
    if (w->polled[n].revents != 0)
        while (read(w->wake[0], words, sizeof words) == sizeof words)
            ;
    /* An exchange, so that what was done before the call is seen. */
    (void)atomic_exchange(&w->is_woken, false);
}

static bool has_unsent(const eddy__wire *wire)
{
    for (uint32_t i = 0; i < wire->team.n_ranks; i++)
        if (wire->streams[i].out.n > 0)
            return true;
    return false;
}

/*
 * Looks for a while, if that is worth it (core/base/patience.h).  `*out_any`:
 * something has come, or the wire was woken.
 */
static eddy_status look_for_bytes(socket_wire *w, bool *out_any,
                                  eddy_error *err)
{
    eddy__patience *p = &w->base.patience;
    eddy_status status = EDDY_OK;

    if (!p->is_allowed || has_unsent(&w->base) ||
        !eddy__patience_begin(p, eddy__clock_now_ns()))
        return EDDY_OK;
    do {
        *out_any = atomic_load(&w->is_woken);
        if (!*out_any)
            status = look(&w->base, out_any, err);
    } while (status == EDDY_OK && !*out_any &&
             eddy__patience_goes_on(p, eddy__clock_now_ns()));
    eddy__patience_end(p, eddy__clock_now_ns(), *out_any);
    return status;
}

static eddy_status serve_ring(socket_wire *w, uint32_t rank, int ready,
                              eddy_error *err)
{
    bool any = false;

    if (ready != 0)
        EDDY_TRY(take_bells(w, rank, &any, err));
    if (!w->base.streams[rank].is_open)
        return EDDY_OK;
    if (w->base.streams[rank].out.n > 0)
        write_ring(w, rank);
    return read_ring(w, rank, &any, err);
}

static eddy_status wait_for_bytes(eddy__wire *wire, uint64_t deadline_ns,
                                  eddy_error *err)
{
    socket_wire *w = wire_of(wire);
    bool any = false;

    EDDY_TRY(look_for_bytes(w, &any, err));
    if (any)
        return EDDY_OK;
    sleep_on(w, deadline_ns);
    for (uint32_t i = 0; i < wire->team.n_ranks; i++) {
        const int ready = w->polled[i].revents;

        if (wire->streams[i].is_open && has_ring(w, i))
            EDDY_TRY(serve_ring(w, i, ready, err));
        else if (wire->streams[i].is_open && (ready & ~POLLOUT) != 0)
            EDDY_TRY(read_rank(w, i, &any, err));
        if (wire->streams[i].is_open && (ready & POLLOUT) != 0)
            write_rank(wire, i);
    }
    return EDDY_OK;
}

static void wake(eddy__wire *wire)
{
    socket_wire *w = wire_of(wire);
    const uint8_t word = 1;

    atomic_store(&w->is_woken, true);
    /* A pipe that is full wakes it, too. */
    if (atomic_load(&w->is_asleep) && write(w->wake[1], &word, 1) < 0)
        return;
}

static void rest(eddy__wire *wire)
{
    (void)atomic_exchange(&wire_of(wire)->is_woken, false);
}

/* ---- its life ---- */

static void destroy(eddy__wire *wire, bool is_broken)
{
    socket_wire *w = wire_of(wire);
    const eddy__team team = wire->team;

    (void)is_broken;
    if (w->sockets)
        eddy__sockets_close(w->sockets, team.n_ranks);
    eddy__sockets_close(w->wake, 2);
    eddy__free(team.allocator, w->sockets, team.n_ranks, sizeof *w->sockets);
    for (uint32_t i = 0; w->rings && i < team.n_ranks; i++)
        eddy__ring_destroy(&w->rings[i]);
    eddy__free(team.allocator, w->rings, team.n_ranks, sizeof *w->rings);
    eddy__free(team.allocator, w->polled, (size_t)team.n_ranks + 1,
               sizeof *w->polled);
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

static eddy_status fill(socket_wire *w, int *sockets, bool has_rings,
                        eddy_error *err)
{
    const eddy__team *team = &w->base.team;

    w->sockets =
        eddy__allocate(team->allocator, team->n_ranks, sizeof *w->sockets);
    w->polled = eddy__allocate_zeroed(
        team->allocator, (size_t)team->n_ranks + 1, sizeof *w->polled);
    w->rings =
        eddy__allocate_zeroed(team->allocator, team->n_ranks, sizeof *w->rings);
    for (uint32_t i = 0; w->sockets && i < team->n_ranks; i++) {
        w->sockets[i] = sockets[i];
        sockets[i] = -1;
    }
    if (!w->sockets || !w->polled || !w->rings)
        return eddy__fail_memory(err);
    if (has_rings)
        EDDY_TRY(eddy__rings_share(team->rank, team->n_ranks, w->sockets,
                                   w->rings, err));
    for (uint32_t i = 0; i < team->n_ranks; i++)
        w->base.streams[i].is_open = w->sockets[i] >= 0;
    if (pipe(w->wake) != 0)
        return eddy__fail(err, EDDY_UNAVAILABLE, EDDY_E_IO, "no pipe: %s",
                          strerror(errno));
    for (int i = 0; i < 2; i++) {
        (void)fcntl(w->wake[i], F_SETFL, O_NONBLOCK);
        (void)fcntl(w->wake[i], F_SETFD, FD_CLOEXEC);
    }
    return EDDY_OK;
}

eddy_status eddy__socket_wire_create(const eddy__team *team, int *sockets,
                                     bool has_rings, eddy__wire **out,
                                     eddy_error *err)
{
    socket_wire *w = eddy__allocate_zeroed(team->allocator, 1, sizeof *w);
    eddy_status status;

    *out = NULL;
    if (!w) {
        eddy__sockets_close(sockets, team->n_ranks);
        return eddy__fail_memory(err);
    }
    w->wake[0] = w->wake[1] = -1;
    status = eddy__wire_init(&w->base, &kind, team)
                 ? fill(w, sockets, has_rings, err)
                 : eddy__fail_memory(err);
    eddy__sockets_close(sockets, team->n_ranks);
    if (status == EDDY_OK)
        *out = &w->base;
    else
        destroy(&w->base, true);
    return status;
}
