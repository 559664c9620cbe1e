/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perfetto's protocol buffers, by their field numbers: protos/perfetto/trace of
 * the Perfetto project (trace_packet.proto, track_event/track_event.proto,
 * track_event/track_descriptor.proto, track_event/debug_annotation.proto).
 *
 * A track is a worker, in a process that is a rank; a token is a slice, begun
 * and ended by an event each; a push and its pop share a flow, and so do a
 * _Send and its _Recv.
 */
#include "interop/trace/out.h"

#include "core/base/memory.h"
#include "core/base/status.h"

#include <stdio.h>
#include <string.h>

enum {
    TRACE_PACKET = 1,

    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE_ID = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_TRACK_DESCRIPTOR = 60,

    EVENT_DEBUG_ANNOTATIONS = 4,
    EVENT_TYPE = 9,
    EVENT_TRACK_UUID = 11,
    EVENT_CATEGORIES = 22,
    EVENT_NAME = 23,
    EVENT_COUNTER_VALUE = 30,
    EVENT_FLOW_IDS = 47,
    EVENT_TERMINATING_FLOW_IDS = 48,

    TYPE_SLICE_BEGIN = 1,
    TYPE_SLICE_END = 2,
    TYPE_COUNTER = 4,

    ANNOTATION_UINT = 3,
    ANNOTATION_STRING = 6,
    ANNOTATION_NAME = 10,

    DESCRIPTOR_UUID = 1,
    DESCRIPTOR_NAME = 2,
    DESCRIPTOR_PROCESS = 3,
    DESCRIPTOR_THREAD = 4,
    DESCRIPTOR_PARENT_UUID = 5,
    DESCRIPTOR_COUNTER = 8,

    PROCESS_PID = 1,
    PROCESS_NAME = 6,
    THREAD_PID = 1,
    THREAD_TID = 2,
    THREAD_NAME = 5,
    COUNTER_UNIT = 3,
    UNIT_SIZE_BYTES = 3
};

/* Tracks: bytes in use, one a rank, then one a worker. */
enum { UUID_BYTES = 1, UUID_RANKS = 2 };

static uint64_t uuid_of_worker(const eddy_trace *trace, uint32_t worker)
{
    return UUID_RANKS + (uint64_t)eddy_trace_ranks(trace) + worker;
}

/* A message while it is made. */
typedef struct message {
    unsigned char *bytes;
    size_t n, room;
    bool has_failed;
} message;

static void put_bytes(message *m, const void *bytes, size_t n)
{
    if (m->has_failed ||
        !eddy__grow(eddy__default_allocator(), (void **)&m->bytes, &m->room,
                    m->n + n, 1)) {
        m->has_failed = true;
        return;
    }
    memcpy(m->bytes + m->n, bytes, n);
    m->n += n;
}

static size_t varint(uint64_t value, unsigned char *to)
{
    size_t n = 0;

    while (value >= 0x80) {
        to[n++] = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    to[n++] = (unsigned char)value;
    return n;
}

static void put_varint(message *m, uint64_t value)
{
    unsigned char bytes[10];

    put_bytes(m, bytes, varint(value, bytes));
}

static void put_number(message *m, uint32_t field, uint64_t value)
{
    put_varint(m, (uint64_t)field << 3);
    put_varint(m, value);
}

static void put_fixed(message *m, uint32_t field, uint64_t value)
{
    unsigned char bytes[8];

    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
    put_varint(m, (uint64_t)field << 3 | 1);
    put_bytes(m, bytes, sizeof bytes);
}

static void put_text(message *m, uint32_t field, const char *text)
{
    put_varint(m, (uint64_t)field << 3 | 2);
    put_varint(m, strlen(text));
    put_bytes(m, text, strlen(text));
}

/* A message in a message: what is written until its end. */
typedef struct nested {
    size_t at;
} nested;

static nested begin(message *m, uint32_t field)
{
    put_varint(m, (uint64_t)field << 3 | 2);
    return (nested){.at = m->n};
}

/* Its length goes before what has been written. */
static void end(message *m, nested inner)
{
    unsigned char length[10];
    const size_t body = m->n - inner.at, n = varint(body, length);

    put_bytes(m, length, n);
    if (m->has_failed)
        return;
    memmove(m->bytes + inner.at + n, m->bytes + inner.at, body);
    memcpy(m->bytes + inner.at, length, n);
}

/* ---- packets ---- */

static nested begin_packet(message *m)
{
    nested packet;

    m->n = 0;
    packet = begin(m, TRACE_PACKET);
    put_number(m, PACKET_SEQUENCE_ID, 1);
    return packet;
}

static void end_packet(eddy__out *out, message *m, nested packet)
{
    end(m, packet);
    if (!m->has_failed)
        eddy__out_bytes(out, m->bytes, m->n);
}

static void write_process(eddy__out *out, message *m, const eddy_trace *trace,
                          uint32_t rank)
{
    nested packet = begin_packet(m), track, process;
    char name[32] = "eddy";

    if (eddy_trace_ranks(trace) > 1)
        (void)snprintf(name, sizeof name, "rank %u", (unsigned)rank);
    track = begin(m, PACKET_TRACK_DESCRIPTOR);
    put_number(m, DESCRIPTOR_UUID, UUID_RANKS + (uint64_t)rank);
    process = begin(m, DESCRIPTOR_PROCESS);
    put_number(m, PROCESS_PID, (uint64_t)rank + 1);
    put_text(m, PROCESS_NAME, name);
    end(m, process);
    end(m, track);
    end_packet(out, m, packet);
}

static void write_counter(eddy__out *out, message *m)
{
    nested packet = begin_packet(m), track, counter;

    track = begin(m, PACKET_TRACK_DESCRIPTOR);
    put_number(m, DESCRIPTOR_UUID, UUID_BYTES);
    put_text(m, DESCRIPTOR_NAME, "bytes in use");
    put_number(m, DESCRIPTOR_PARENT_UUID, UUID_RANKS);
    counter = begin(m, DESCRIPTOR_COUNTER);
    put_number(m, COUNTER_UNIT, UNIT_SIZE_BYTES);
    end(m, counter);
    end(m, track);
    end_packet(out, m, packet);
}

static void write_worker(eddy__out *out, message *m, const eddy_trace *trace,
                         uint32_t worker)
{
    uint32_t own;
    const uint32_t rank = eddy_trace_worker_rank(trace, worker, &own);
    nested packet = begin_packet(m), track, thread;
    char name[32];

    (void)snprintf(name, sizeof name, "worker %03u", (unsigned)own);
    track = begin(m, PACKET_TRACK_DESCRIPTOR);
    put_number(m, DESCRIPTOR_UUID, uuid_of_worker(trace, worker));
    thread = begin(m, DESCRIPTOR_THREAD);
    put_number(m, THREAD_PID, (uint64_t)rank + 1);
    put_number(m, THREAD_TID, (uint64_t)worker + 1);
    put_text(m, THREAD_NAME, name);
    end(m, thread);
    end(m, track);
    end_packet(out, m, packet);
}

static void annotate(message *m, const char *name, const char *text)
{
    nested annotation = begin(m, EVENT_DEBUG_ANNOTATIONS);

    put_text(m, ANNOTATION_NAME, name);
    put_text(m, ANNOTATION_STRING, text);
    end(m, annotation);
}

static void annotate_number(message *m, const char *name, uint64_t number)
{
    nested annotation = begin(m, EVENT_DEBUG_ANNOTATIONS);

    put_text(m, ANNOTATION_NAME, name);
    put_number(m, ANNOTATION_UINT, number);
    end(m, annotation);
}

static void put_details(message *m, const eddy_trace *trace, size_t i)
{
    const eddy_trace_record *r = eddy_trace_record_at(trace, i);
    const eddy_trace_node *node = eddy_trace_node_at(trace, r->node);
    char text[1024];

    annotate(m, "op", node->op);
    eddy_trace_path(trace, r->frame, r->iteration, text, sizeof text);
    annotate(m, "path", text);
    annotate_number(m, "number", r->number);
    if (r->output != EDDY_TRACE_NONE)
        annotate_number(m, node->kind == EDDY_TRACE_SWITCH ? "output" : "input",
                        r->output);
    for (size_t k = 0; k < r->n_values; k++) {
        eddy_trace_value_format(eddy_trace_value_at(trace, i, k), text,
                                sizeof text);
        annotate(m, k == 0 ? "value" : "and", text);
    }
}

/* The arrow that begins or ends at a record. */
typedef struct flow {
    uint32_t id; /* 0: there is none */
    bool is_end;
} flow;

static void write_begin(eddy__out *out, message *m, const eddy_trace *trace,
                        size_t i, const flow *flows)
{
    static const char *const states[] = {"live", "dead", "failed"};
    const eddy_trace_record *r = eddy_trace_record_at(trace, i);
    nested packet = begin_packet(m), event;

    put_number(m, PACKET_TIMESTAMP, r->start_ns);
    event = begin(m, PACKET_TRACK_EVENT);
    put_number(m, EVENT_TYPE, TYPE_SLICE_BEGIN);
    put_number(m, EVENT_TRACK_UUID, uuid_of_worker(trace, r->worker));
    put_text(m, EVENT_CATEGORIES, states[r->state]);
    put_text(m, EVENT_NAME, eddy_trace_node_at(trace, r->node)->name);
    if (flows[i].id != 0)
        put_fixed(m,
                  flows[i].is_end ? EVENT_TERMINATING_FLOW_IDS : EVENT_FLOW_IDS,
                  flows[i].id);
    put_details(m, trace, i);
    end(m, event);
    end_packet(out, m, packet);
}

static void write_end(eddy__out *out, message *m, const eddy_trace *trace,
                      const eddy_trace_record *r)
{
    nested packet = begin_packet(m), event;

    put_number(m, PACKET_TIMESTAMP, r->start_ns + r->duration_ns);
    event = begin(m, PACKET_TRACK_EVENT);
    put_number(m, EVENT_TYPE, TYPE_SLICE_END);
    put_number(m, EVENT_TRACK_UUID, uuid_of_worker(trace, r->worker));
    end(m, event);
    end_packet(out, m, packet);
}

static void write_bytes(eddy__out *out, message *m, const eddy_trace_record *r)
{
    nested packet = begin_packet(m), event;

    put_number(m, PACKET_TIMESTAMP, r->start_ns + r->duration_ns);
    event = begin(m, PACKET_TRACK_EVENT);
    put_number(m, EVENT_TYPE, TYPE_COUNTER);
    put_number(m, EVENT_TRACK_UUID, UUID_BYTES);
    put_number(m, EVENT_COUNTER_VALUE, r->bytes);
    end(m, event);
    end_packet(out, m, packet);
}

static void add_flow(flow *flows, uint32_t *n, size_t from, size_t to)
{
    if (from == EDDY_TRACE_NOT_FOUND || to == EDDY_TRACE_NOT_FOUND)
        return;
    flows[from] = (flow){.id = ++*n};
    flows[to] = (flow){.id = *n, .is_end = true};
}

/* No record has two: it pushes, pops, sends or receives. */
static void list_flows(const eddy_trace *trace, flow *flows)
{
    uint32_t n = 0;

    for (size_t i = 0; i < eddy_trace_pairs(trace); i++) {
        const eddy_trace_pair *pair = eddy_trace_pair_at(trace, i);

        add_flow(flows, &n, pair->push, pair->pop);
    }
    for (size_t i = 0; i < eddy_trace_records(trace); i++)
        add_flow(flows, &n, eddy_trace_message(trace, i), i);
}

static void write_tracks(eddy__out *out, message *m, const eddy_trace *trace)
{
    for (uint32_t i = 0; i < eddy_trace_ranks(trace); i++)
        write_process(out, m, trace, i);
    write_counter(out, m);
    for (uint32_t i = 0; i < eddy_trace_total(trace).n_workers; i++)
        write_worker(out, m, trace, i);
}

eddy_status eddy__trace_write_perfetto(eddy__out *out, const eddy_trace *trace,
                                       eddy_error *err)
{
    const eddy_allocator *a = eddy__default_allocator();
    const size_t n = eddy_trace_records(trace);
    flow *flows = eddy__allocate_zeroed(a, n, sizeof *flows);
    message m = {.bytes = NULL};
    bool has_failed;

    if (!flows)
        return eddy__fail_memory(err);
    list_flows(trace, flows);
    write_tracks(out, &m, trace);
    for (size_t i = 0; i < n; i++) {
        const eddy_trace_record *r = eddy_trace_record_at(trace, i);

        write_begin(out, &m, trace, i, flows);
        write_end(out, &m, trace, r);
        if (r->allocated != 0)
            write_bytes(out, &m, r);
    }
    has_failed = m.has_failed;
    eddy__free(a, m.bytes, m.room, 1);
    eddy__free(a, flows, n, sizeof *flows);
    return has_failed ? eddy__fail_memory(err) : EDDY_OK;
}
