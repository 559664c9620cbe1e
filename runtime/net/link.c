/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues, and the table of what has come.
 *
 * An execution has a number, its epoch, and so has each packet: what an
 * execution that failed has left on the wire is dropped by the next.
 */
#include "runtime/net/link.h"

#include "core/base/status.h"
#include "core/base/thread.h"
#include "core/kernel.h"
#include "runtime/net/memory.h"
#include "runtime/net/packet.h"

#include <string.h>

/* A queue is written when it has so many bytes; a rank waits at the second. */
#define LONG_QUEUE ((size_t)32 << 10)
#define FULL_QUEUE ((size_t)4 << 20)
#define READ_SIZE ((size_t)64 << 10)

struct eddy__link {
    eddy__carrier base;
    const eddy_allocator *allocator;
    const eddy__edge_routes *routes;
    uint32_t rank, n_ranks;
    eddy__wire *wire;
    eddy__memory_exchange *table;
    eddy__account *account;
    uint32_t epoch;
    uint64_t n_sent;
    bool has_unsent;
    atomic_bool is_aborted, is_cancelled, is_broken;
};

static eddy__link *link_of(eddy__exchange *exchange)
{
    return (eddy__link *)(void *)exchange;
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

/* Takes the packets that are whole. */
static eddy_status take_packets(void *arg, eddy__stream *s, bool *out_any,
                                eddy_error *err)
{
    eddy__link *l = arg;
    eddy_status status = EDDY_OK;
    size_t at = 0;

    while (status == EDDY_OK && s->in.n - at >= sizeof(eddy__packet)) {
        eddy__packet packet;

        memcpy(&packet, s->in.data + at, sizeof packet);
        if (packet.bytes > s->in.n - at - sizeof packet) {
            if (packet.bytes > SIZE_MAX / 2 ||
                !eddy__bytes_reserve(
                    &s->in, sizeof packet + (size_t)packet.bytes + READ_SIZE))
                status = eddy__fail_memory(err);
            break;
        }
        at += sizeof packet;
        status = take_packet(l, &packet, s->in.data + at, err);
        at += (size_t)packet.bytes;
        *out_any = true;
    }
    s->in.n -= at;
    if (at > 0 && s->in.n > 0)
        memmove(s->in.data, s->in.data + at, s->in.n);
    return status;
}

/* ---- what goes ---- */

static void write_all(eddy__carrier *carrier)
{
    eddy__link *l = (eddy__link *)(void *)carrier;

    if (!l->has_unsent)
        return;
    l->has_unsent = false;
    for (uint32_t i = 0; i < l->n_ranks; i++) {
        const eddy__stream *s = &l->wire->streams[i];

        if (s->out.n > 0)
            l->wire->kind->write(l->wire, i);
        l->has_unsent = l->has_unsent || s->out.n > 0;
    }
}

/* ---- waiting ---- */

static bool is_aborted(const eddy__link *l)
{
    return atomic_load_explicit(&l->is_aborted, memory_order_relaxed);
}

/* What failed is in the table, for who waits there. */
static void sleep_and_read(eddy__link *l, uint64_t deadline_ns)
{
    eddy_error err = {.code = EDDY_OK};

    if (l->wire->kind->wait(l->wire, deadline_ns, &err) != EDDY_OK)
        eddy__memory_exchange_fail(l->table, &err);
}

/* Waits until something has come or been said. */
static void wait_once(eddy__link *l, uint64_t deadline_ns)
{
    eddy_error err = {.code = EDDY_OK};
    bool any = false;

    write_all(&l->base);
    if (l->wire->kind->look(l->wire, &any, &err) != EDDY_OK)
        eddy__memory_exchange_fail(l->table, &err);
    else if (!any)
        sleep_and_read(l, deadline_ns);
    l->wire->kind->rest(l->wire);
}

static void wait_for_messages(eddy__carrier *carrier, uint64_t deadline_ns)
{
    wait_once((eddy__link *)(void *)carrier, deadline_ns);
}

static void wake(eddy__carrier *carrier)
{
    eddy__wire *wire = ((eddy__link *)(void *)carrier)->wire;

    wire->kind->wake(wire);
}

/* ---- sending and receiving ---- */

/* The queue is full: until it is not, or the run is to end. */
static void wait_for_room(eddy__link *l, const eddy__stream *s,
                          const eddy_kernel *k)
{
    while (s->is_open && s->out.n - s->written > FULL_QUEUE && !is_aborted(l) &&
           !k->services->cancelled(k))
        sleep_and_read(l, eddy__clock_now_ns() + UINT64_C(20) * 1000 * 1000);
}

static eddy_status queue(eddy__link *l, uint32_t to, const eddy__packet *packet,
                         const eddy__value *value, eddy_error *err)
{
    eddy__stream *s = &l->wire->streams[to];

    if (!s->is_open)
        return EDDY_OK;
    if (s->written > 0 && s->written * 2 > s->out.n) {
        memmove(s->out.data, s->out.data + s->written, s->out.n - s->written);
        s->out.n -= s->written;
        s->written = 0;
    }
    EDDY_TRY(eddy__packet_append(&s->out, *packet, value, err));
    l->has_unsent = true;
    if (s->out.n - s->written >= LONG_QUEUE)
        l->wire->kind->write(l->wire, to);
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
    wait_for_room(l, &l->wire->streams[l->routes->items[edge].to], k);
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
    if (deadline_ns > 0 && eddy__clock_now_ns() >= deadline_ns)
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

static bool is_all_written(const eddy__link *l)
{
    for (uint32_t i = 0; i < l->n_ranks; i++)
        if (!l->wire->kind->is_written(l->wire, i))
            return false;
    return true;
}

eddy_status eddy__link_settle(eddy__link *l, uint64_t deadline_ns,
                              eddy_error *err)
{
    for (write_all(&l->base); !is_all_written(l); write_all(&l->base)) {
        EDDY_TRY(fail_waiting(l, deadline_ns, err));
        sleep_and_read(l, deadline_ns);
    }
    return EDDY_OK;
}

/* ---- its life ---- */

void eddy__link_abort(eddy__link *l, uint32_t rank, bool is_lost)
{
    eddy_error error;

    if (is_lost)
        atomic_store(&l->is_broken, true);
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

eddy_status eddy__link_create(eddy__wire *wire, const eddy__edge_routes *routes,
                              eddy__link **out, eddy_error *err)
{
    const eddy__team *team = &wire->team;
    eddy__link *l = eddy__allocate_zeroed(team->allocator, 1, sizeof *l);

    *out = l;
    if (!l) {
        wire->kind->destroy(wire, false);
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
    l->wire = wire;
    wire->came = take_packets;
    wire->arg = l;
    return EDDY_OK;
}

void eddy__link_destroy(eddy__link *l)
{
    if (!l)
        return;
    l->wire->kind->destroy(l->wire, atomic_load(&l->is_broken));
    eddy__memory_exchange_destroy(l->table);
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
