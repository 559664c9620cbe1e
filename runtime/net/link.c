/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues, sockets, and the table of what has come.
 *
 * An execution has a number, its epoch, and so has each packet: what an
 * execution that failed has left in the sockets is dropped by the next.
 */
#include "runtime/net/link.h"

#include "core/base/status.h"
#include "core/base/thread.h"
#include "core/kernel.h"
#include "runtime/net/memory.h"
#include "runtime/net/packet.h"
#include "runtime/net/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A queue is written when it has so many bytes; a rank waits at the second. */
#define LONG_QUEUE ((size_t)32 << 10)
#define FULL_QUEUE ((size_t)4 << 20)
#define READ_SIZE ((size_t)64 << 10)

typedef struct peer {
    int socket; /* -1: this rank itself, or it is gone */
    eddy__bytes out, in;
    size_t written; /* of `out` */
} peer;

struct eddy__link {
    eddy__carrier base;
    const eddy_allocator *allocator;
    const eddy__edge_routes *routes;
    uint32_t rank, n_ranks;
    peer *peers;
    struct pollfd *polled; /* and the pipe last */
    eddy__memory_exchange *table;
    eddy__account *account;
    uint32_t epoch;
    uint64_t n_sent;
    bool has_unsent;
    int wake[2];
    atomic_bool is_woken, is_asleep, is_aborted, is_cancelled;
};

static eddy__link *link_of(eddy__exchange *exchange)
{
    return (eddy__link *)(void *)exchange;
}

/* It is for the agreement to say what has become of the rank. */
static void lose(peer *p)
{
    close(p->socket);
    p->socket = -1;
    p->out.n = p->written = 0;
}

/* ---- what comes ---- */

static eddy_status take_packet(eddy__link *l, const eddy__packet *packet,
                               const uint8_t *data, eddy_error *err)
{
    const eddy__edge_route *route;
    eddy__message_key key;
    eddy__value value;

    if (packet->epoch != l->epoch)
        return EDDY_OK;
    if (packet->edge >= l->routes->n)
        return eddy__fail(err, EDDY_DATA_LOSS, EDDY_E_MALFORMED,
                          "a message for edge %u has come, of %zu",
                          (unsigned)packet->edge, l->routes->n);
    EDDY_TRY(eddy__packet_read(data, (size_t)packet->bytes, l->account,
                               l->allocator, &value, err));
    route = &l->routes->items[packet->edge];
    key = (eddy__message_key){
        .edge = route->edge,
        .hash = route->hash,
        .tag = {.frame = packet->frame, .iteration = packet->iteration}};
    return eddy__memory_exchange_put(l->table, &key, value, err);
}

/* Takes the packets that are whole; `*out_any`: there were some. */
static eddy_status take_packets(eddy__link *l, peer *p, bool *out_any,
                                eddy_error *err)
{
    eddy_status status = EDDY_OK;
    size_t at = 0;

    while (status == EDDY_OK && p->in.n - at >= sizeof(eddy__packet)) {
        eddy__packet packet;

        memcpy(&packet, p->in.data + at, sizeof packet);
        if (packet.bytes > p->in.n - at - sizeof packet) {
            if (packet.bytes > SIZE_MAX / 2 ||
                !eddy__bytes_reserve(
                    &p->in, sizeof packet + (size_t)packet.bytes + READ_SIZE))
                status = eddy__fail_memory(err);
            break;
        }
        at += sizeof packet;
        status = take_packet(l, &packet, p->in.data + at, err);
        at += (size_t)packet.bytes;
        *out_any = true;
    }
    p->in.n -= at;
    if (at > 0 && p->in.n > 0)
        memmove(p->in.data, p->in.data + at, p->in.n);
    return status;
}

/* Reads what there is of one rank. */
static eddy_status read_peer(eddy__link *l, peer *p, bool *out_any,
                             eddy_error *err)
{
    ssize_t n = 1;

    while (n > 0 && p->socket >= 0) {
        size_t room;

        if (!eddy__bytes_reserve(&p->in, READ_SIZE))
            return eddy__fail_memory(err);
        room = p->in.capacity - p->in.n;
        n = recv(p->socket, p->in.data + p->in.n, room, 0);
        if (n > 0) {
            p->in.n += (size_t)n;
            EDDY_TRY(take_packets(l, p, out_any, err));
            if ((size_t)n < room)
                return EDDY_OK;
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            lose(p);
            *out_any = true;
        }
    }
    return EDDY_OK;
}

/* ---- what goes ---- */

/* Writes what the socket takes. */
static void write_peer(peer *p)
{
    while (p->socket >= 0 && p->written < p->out.n) {
        const ssize_t n = send(p->socket, p->out.data + p->written,
                               p->out.n - p->written, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0)
            lose(p);
        else
            p->written += (size_t)n;
    }
    p->out.n = p->written = 0;
}

static void write_all(eddy__carrier *carrier)
{
    eddy__link *l = (eddy__link *)(void *)carrier;

    if (!l->has_unsent)
        return;
    l->has_unsent = false;
    for (uint32_t i = 0; i < l->n_ranks; i++) {
        peer *p = &l->peers[i];

        if (p->out.n > 0)
            write_peer(p);
        l->has_unsent = l->has_unsent || p->out.n > 0;
    }
}

/* ---- waiting ---- */

static bool is_aborted(const eddy__link *l)
{
    return atomic_load_explicit(&l->is_aborted, memory_order_relaxed);
}

static eddy_status read_ready(eddy__link *l, bool *out_any, eddy_error *err)
{
    for (uint32_t i = 0; i < l->n_ranks; i++) {
        peer *p = &l->peers[i];

        if (p->socket >= 0 && (l->polled[i].revents & ~POLLOUT) != 0)
            EDDY_TRY(read_peer(l, p, out_any, err));
        if (p->socket >= 0 && (l->polled[i].revents & POLLOUT) != 0)
            write_peer(p);
    }
    return EDDY_OK;
}

static int aim_poll(eddy__link *l, uint64_t deadline_ns)
{
    const uint64_t now = deadline_ns > 0 ? eddy__now_ns() : 0;
    uint64_t ms;

    for (uint32_t i = 0; i < l->n_ranks; i++) {
        const peer *p = &l->peers[i];
        const int wanted = p->out.n > 0 ? POLLIN | POLLOUT : POLLIN;

        l->polled[i] =
            (struct pollfd){.fd = p->socket, .events = (short)wanted};
    }
    l->polled[l->n_ranks] = (struct pollfd){.fd = l->wake[0], .events = POLLIN};
    if (deadline_ns == 0)
        return -1;
    ms = now < deadline_ns ? (deadline_ns - now + 999999) / 1000000 : 0;
    return ms > 1000000 ? 1000000 : (int)ms;
}

/* Sleeps until a socket is ready, the link is woken, or the deadline. */
static void sleep_on(eddy__link *l, uint64_t deadline_ns)
{
    const int ms = aim_poll(l, deadline_ns);
    uint8_t words[64];

    atomic_store(&l->is_asleep, true);
    if (!atomic_load(&l->is_woken))
        (void)poll(l->polled, l->n_ranks + 1, ms);
    atomic_store(&l->is_asleep, false);
    if (l->polled[l->n_ranks].revents != 0)
        while (read(l->wake[0], words, sizeof words) == sizeof words)
            ;
    /* An exchange, so that what was done before the call is seen. */
    (void)atomic_exchange(&l->is_woken, false);
}

/*
 * Reads what is there already.  It looks once and then sleeps: looking again
 * and again would take the processor from those who are to send.
 */
static eddy_status look(eddy__link *l, bool *out_any, eddy_error *err)
{
    for (uint32_t i = 0; i < l->n_ranks; i++)
        if (l->peers[i].socket >= 0)
            EDDY_TRY(read_peer(l, &l->peers[i], out_any, err));
    return EDDY_OK;
}

/* What failed is in the table, for who waits there. */
static void sleep_and_read(eddy__link *l, uint64_t deadline_ns)
{
    eddy_error err = {.code = EDDY_OK};
    bool any = false;

    sleep_on(l, deadline_ns);
    if (read_ready(l, &any, &err) != EDDY_OK)
        eddy__memory_exchange_fail(l->table, &err);
}

/* Waits until something has come or been said. */
static void wait_once(eddy__link *l, uint64_t deadline_ns)
{
    eddy_error err = {.code = EDDY_OK};
    bool any = false;

    write_all(&l->base);
    if (look(l, &any, &err) != EDDY_OK)
        eddy__memory_exchange_fail(l->table, &err);
    else if (!any)
        sleep_and_read(l, deadline_ns);
    (void)atomic_exchange(&l->is_woken, false);
}

static void wait_for_messages(eddy__carrier *carrier, uint64_t deadline_ns)
{
    wait_once((eddy__link *)(void *)carrier, deadline_ns);
}

static void wake(eddy__carrier *carrier)
{
    eddy__link *l = (eddy__link *)(void *)carrier;
    const uint8_t word = 1;

    atomic_store(&l->is_woken, true);
    /* A pipe that is full wakes it, too. */
    if (atomic_load(&l->is_asleep) && write(l->wake[1], &word, 1) < 0)
        return;
}

/* ---- sending and receiving ---- */

/* The queue is full: until it is not, or the run is to end. */
static void wait_for_room(eddy__link *l, const peer *p, const eddy_kernel *k)
{
    while (p->socket >= 0 && p->out.n - p->written > FULL_QUEUE &&
           !is_aborted(l) && !k->services->cancelled(k))
        sleep_and_read(l, eddy__now_ns() + UINT64_C(20) * 1000 * 1000);
}

static eddy_status queue(eddy__link *l, uint32_t to, const eddy__packet *packet,
                         const eddy__value *value, eddy_error *err)
{
    peer *p = &l->peers[to];

    if (p->socket < 0)
        return EDDY_OK;
    if (p->written > 0 && p->written * 2 > p->out.n) {
        memmove(p->out.data, p->out.data + p->written, p->out.n - p->written);
        p->out.n -= p->written;
        p->written = 0;
    }
    EDDY_TRY(eddy__packet_append(&p->out, *packet, value, err));
    l->has_unsent = true;
    if (p->out.n - p->written >= LONG_QUEUE)
        write_peer(p);
    return EDDY_OK;
}

static eddy_status send_message(eddy__exchange *exchange,
                                const eddy__message_key *key, eddy__value value,
                                eddy_kernel *k)
{
    eddy__link *l = link_of(exchange);
    const uint32_t edge = eddy__edge_routes_find(l->routes, key->edge);
    const eddy__packet packet = {.edge = edge,
                                 .epoch = l->epoch,
                                 .frame = key->tag.frame,
                                 .iteration = key->tag.iteration};
    eddy_error err = {.code = EDDY_OK};
    eddy_status status;

    if (edge == EDDY__NOT_FOUND) {
        eddy__value_clear(k->heap, &value);
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_MESSAGE,
                           "nothing receives '%.128s'", key->edge);
    }
    status = queue(l, l->routes->items[edge].to, &packet, &value, &err);
    eddy__value_clear(k->heap, &value);
    if (status != EDDY_OK)
        return eddy__kfail(k, status, err.detail, "%.500s", err.message);
    l->n_sent++;
    wait_for_room(l, &l->peers[l->routes->items[edge].to], k);
    return EDDY_OK;
}

static eddy_status receive_message(eddy__exchange *exchange,
                                   const eddy__message_key *key, eddy_kernel *k)
{
    eddy__exchange *table = eddy__memory_exchange_of(link_of(exchange)->table);

    return table->receive(table, key, k);
}

/* ---- fetches ---- */

static eddy__message_key key_of_fetch(const eddy__link *l, size_t i)
{
    const eddy__edge_route *route = &l->routes->items[l->routes->n_edges + i];

    return (eddy__message_key){.edge = route->edge, .hash = route->hash};
}

eddy_status eddy__link_send_fetch(eddy__link *l, size_t i, eddy__value value,
                                  eddy_error *err)
{
    const eddy__packet packet = {.edge = (uint32_t)(l->routes->n_edges + i),
                                 .epoch = l->epoch};
    eddy_status status = EDDY_OK;

    for (uint32_t to = 0; to < l->n_ranks && status == EDDY_OK; to++)
        if (to != l->rank)
            status = queue(l, to, &packet, &value, err);
    eddy__value_clear(NULL, &value);
    return status;
}

static eddy_status fail_waiting(const eddy__link *l, uint64_t deadline_ns,
                                eddy_error *err)
{
    if (is_aborted(l))
        return eddy__fail(err, EDDY_ABORTED, EDDY_E_MESSAGE,
                          "another rank has failed");
    if (atomic_load_explicit(&l->is_cancelled, memory_order_relaxed))
        return eddy__fail(err, EDDY_CANCELLED, EDDY_E_CANCELLED,
                          "the run was cancelled");
    if (deadline_ns > 0 && eddy__now_ns() >= deadline_ns)
        return eddy__fail(err, EDDY_DEADLINE_EXCEEDED, EDDY_E_DEADLINE,
                          "the deadline passed while the rank waited for the "
                          "others to end");
    return EDDY_OK;
}

eddy_status eddy__link_take_fetch(eddy__link *l, size_t i, uint64_t deadline_ns,
                                  eddy__value *out, eddy_error *err)
{
    const eddy__message_key key = key_of_fetch(l, i);

    while (!eddy__memory_exchange_take(l->table, &key, out)) {
        EDDY_TRY(fail_waiting(l, deadline_ns, err));
        EDDY_TRY(eddy__memory_exchange_failure(l->table, err));
        wait_once(l, deadline_ns);
    }
    return EDDY_OK;
}

eddy_status eddy__link_settle(eddy__link *l, uint64_t deadline_ns,
                              eddy_error *err)
{
    for (write_all(&l->base); l->has_unsent; write_all(&l->base)) {
        EDDY_TRY(fail_waiting(l, deadline_ns, err));
        sleep_and_read(l, deadline_ns);
    }
    return EDDY_OK;
}

/* ---- its life ---- */

void eddy__link_abort(eddy__link *l, uint32_t rank, bool is_lost)
{
    eddy_error error;

    if (atomic_exchange(&l->is_aborted, true))
        return;
    (void)eddy__fail(&error, EDDY_ABORTED, EDDY_E_MESSAGE, "rank %u %s",
                     (unsigned)rank, is_lost ? "is lost" : "has failed");
    eddy__memory_exchange_fail(l->table, &error);
    wake(&l->base);
}

void eddy__link_cancel(eddy__link *l)
{
    atomic_store(&l->is_cancelled, true);
    wake(&l->base);
}

eddy_status eddy__link_begin(eddy__link *l, eddy__account *account,
                             eddy_error *err)
{
    eddy__memory_exchange *table;

    EDDY_TRY(eddy__memory_exchange_create(l->allocator, 0, &table, err));
    eddy__memory_exchange_destroy(l->table);
    l->table = table;
    l->account = account;
    l->epoch++;
    l->n_sent = 0;
    atomic_store(&l->is_aborted, false);
    atomic_store(&l->is_cancelled, false);
    return EDDY_OK;
}

static bool fill(eddy__link *l, int *values)
{
    l->peers =
        eddy__allocate_zeroed(l->allocator, l->n_ranks, sizeof *l->peers);
    l->polled = eddy__allocate_zeroed(l->allocator, (size_t)l->n_ranks + 1,
                                      sizeof *l->polled);
    if (!l->peers || !l->polled)
        return false;
    for (uint32_t i = 0; i < l->n_ranks; i++) {
        l->peers[i] = (peer){.socket = values[i],
                             .in.allocator = l->allocator,
                             .out.allocator = l->allocator};
        values[i] = -1;
    }
    return true;
}

eddy_status eddy__link_create(const eddy__team *team,
                              const eddy__edge_routes *routes, int *values,
                              eddy__link **out, eddy_error *err)
{
    eddy__link *l = eddy__allocate_zeroed(team->allocator, 1, sizeof *l);
    eddy_status status = EDDY_OK;

    *out = NULL;
    if (!l) {
        eddy__sockets_close(values, team->n_ranks);
        return eddy__fail_memory(err);
    }
    l->base = (eddy__carrier){
        .base = {.send = send_message, .receive = receive_message},
        .wait = wait_for_messages,
        .flush = write_all,
        .wake = wake};
    l->allocator = team->allocator;
    l->routes = routes;
    l->rank = team->rank;
    l->n_ranks = team->n_ranks;
    l->wake[0] = l->wake[1] = -1;
    if (!fill(l, values))
        status = eddy__fail_memory(err);
    else if (pipe(l->wake) != 0)
        status = eddy__fail(err, EDDY_UNAVAILABLE, EDDY_E_IO, "no pipe: %s",
                            strerror(errno));
    for (int i = 0; i < 2 && status == EDDY_OK; i++) {
        (void)fcntl(l->wake[i], F_SETFL, O_NONBLOCK);
        (void)fcntl(l->wake[i], F_SETFD, FD_CLOEXEC);
    }
    eddy__sockets_close(values, team->n_ranks);
    if (status == EDDY_OK)
        *out = l;
    else
        eddy__link_destroy(l);
    return status;
}

void eddy__link_destroy(eddy__link *l)
{
    if (!l)
        return;
    for (uint32_t i = 0; l->peers && i < l->n_ranks; i++) {
        eddy__bytes_deinit(&l->peers[i].in);
        eddy__bytes_deinit(&l->peers[i].out);
        if (l->peers[i].socket >= 0)
            close(l->peers[i].socket);
    }
    for (int i = 0; i < 2; i++)
        if (l->wake[i] >= 0)
            close(l->wake[i]);
    eddy__memory_exchange_destroy(l->table);
    eddy__free(l->allocator, l->peers, l->n_ranks, sizeof *l->peers);
    eddy__free(l->allocator, l->polled, (size_t)l->n_ranks + 1,
               sizeof *l->polled);
    eddy__free(l->allocator, l, 1, sizeof *l);
}

eddy__carrier *eddy__link_carrier(eddy__link *link)
{
    return &link->base;
}

uint64_t eddy__link_sent(const eddy__link *link)
{
    return link->n_sent;
}

uint64_t eddy__link_left(const eddy__link *link)
{
    return eddy__memory_exchange_left(link->table);
}
