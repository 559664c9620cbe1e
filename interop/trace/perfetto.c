/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perfetto's protocol buffers, by their field numbers: protos/perfetto/trace of
 * the Perfetto project (trace_packet.proto, track_event/track_event.proto,
 * track_event/track_descriptor.proto, track_event/debug_annotation.proto).
 *
 * A track is a worker; a token is a slice, begun and ended by an event each; a
 * push and its pop share a flow.
 */
#include "interop/trace/out.h"

#include "core/base/memory.h"
#include "core/base/status.h"

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

/* Tracks: the process, its bytes, then one a worker. */
enum { UUID_PROCESS = 1, UUID_BYTES = 2, UUID_WORKERS = 3 };

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

static void write_process(eddy__out *out, message *m)
{
    nested packet = begin_packet(m), track, process;

    track = begin(m, PACKET_TRACK_DESCRIPTOR);
    put_number(m, DESCRIPTOR_UUID, UUID_PROCESS);
    process = begin(m, DESCRIPTOR_PROCESS);
    put_number(m, PROCESS_PID, 1);
    put_text(m, PROCESS_NAME, "eddy");
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
    put_number(m, DESCRIPTOR_PARENT_UUID, UUID_PROCESS);
    counter = begin(m, DESCRIPTOR_COUNTER);
    put_number(m, COUNTER_UNIT, UNIT_SIZE_BYTES);
    end(m, counter);
    end(m, track);
    end_packet(out, m, packet);
}

static void write_worker(eddy__out *out, message *m, uint32_t worker)
{
    static const char digits[] = "0123456789";
    char name[] = "worker 000";
    nested packet = begin_packet(m), track, thread;

    name[7] = digits[worker / 100 % 10];
    name[8] = digits[worker / 10 % 10];
    name[9] = digits[worker % 10];
    track = begin(m, PACKET_TRACK_DESCRIPTOR);
    put_number(m, DESCRIPTOR_UUID, UUID_WORKERS + (uint64_t)worker);
    thread = begin(m, DESCRIPTOR_THREAD);
    put_number(m, THREAD_PID, 1);
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

static void write_begin(eddy__out *out, message *m, const eddy_trace *trace,
                        size_t i, const uint32_t *flow_of)
{
    static const char *const states[] = {"live", "dead", "failed"};
    const eddy_trace_record *r = eddy_trace_record_at(trace, i);
    nested packet = begin_packet(m), event;

    put_number(m, PACKET_TIMESTAMP, r->start_ns);
    event = begin(m, PACKET_TRACK_EVENT);
    put_number(m, EVENT_TYPE, TYPE_SLICE_BEGIN);
    put_number(m, EVENT_TRACK_UUID, UUID_WORKERS + (uint64_t)r->worker);
    put_text(m, EVENT_CATEGORIES, states[r->state]);
    put_text(m, EVENT_NAME, eddy_trace_node_at(trace, r->node)->name);
    if (flow_of[i] != EDDY_TRACE_NONE) {
        const eddy_trace_pair *pair = eddy_trace_pair_at(trace, flow_of[i]);

        put_fixed(m,
                  pair->push == i ? EVENT_FLOW_IDS : EVENT_TERMINATING_FLOW_IDS,
                  (uint64_t)flow_of[i] + 1);
    }
    put_details(m, trace, i);
    end(m, event);
    end_packet(out, m, packet);
}

static void write_end(eddy__out *out, message *m, const eddy_trace_record *r)
{
    nested packet = begin_packet(m), event;

    put_number(m, PACKET_TIMESTAMP, r->start_ns + r->duration_ns);
    event = begin(m, PACKET_TRACK_EVENT);
    put_number(m, EVENT_TYPE, TYPE_SLICE_END);
    put_number(m, EVENT_TRACK_UUID, UUID_WORKERS + (uint64_t)r->worker);
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

static void list_flows(const eddy_trace *trace, uint32_t *flow_of)
{
    memset(flow_of, 0xff, eddy_trace_records(trace) * sizeof *flow_of);
    for (size_t i = 0; i < eddy_trace_pairs(trace); i++) {
        const eddy_trace_pair *pair = eddy_trace_pair_at(trace, i);

        if (pair->push == EDDY_TRACE_NOT_FOUND ||
            pair->pop == EDDY_TRACE_NOT_FOUND)
            continue;
        flow_of[pair->push] = flow_of[pair->pop] = (uint32_t)i;
    }
}

eddy_status eddy__trace_write_perfetto(eddy__out *out, const eddy_trace *trace,
                                       eddy_error *err)
{
    const eddy_allocator *a = eddy__default_allocator();
    const size_t n = eddy_trace_records(trace);
    const uint32_t n_workers = eddy_trace_total(trace).n_workers;
    uint32_t *flow_of = eddy__allocate(a, n, sizeof *flow_of);
    message m = {.bytes = NULL};
    bool has_failed;

    if (!flow_of)
        return eddy__fail_memory(err);
    list_flows(trace, flow_of);
    write_process(out, &m);
    write_counter(out, &m);
    for (uint32_t i = 0; i < n_workers; i++)
        write_worker(out, &m, i);
    for (size_t i = 0; i < n; i++) {
        const eddy_trace_record *r = eddy_trace_record_at(trace, i);

        write_begin(out, &m, trace, i, flow_of);
        write_end(out, &m, r);
        if (r->allocated != 0)
            write_bytes(out, &m, r);
    }
    has_failed = m.has_failed;
    eddy__free(a, m.bytes, m.room, 1);
    eddy__free(a, flow_of, n, sizeof *flow_of);
    return has_failed ? eddy__fail_memory(err) : EDDY_OK;
}
