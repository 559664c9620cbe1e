/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome's trace events: "Trace Event Format" by N. Duca and D. Sinclair, its
 * events X (complete), C (counter), s and f (flow) and M (metadata).
 *
 * A thread of the viewer is a worker, a process a rank.  What the format has no
 * place for is in `args`: frame path, state, values and hashes, which `eddy
 * diff` reads.
 */
#include "interop/trace/out.h"

static const char *const states[] = {"live", "dead", "failed"};

static void write_time(eddy__out *out, const char *name, uint64_t ns)
{
    eddy__out_print(out, "\"%s\":%llu.%03llu", name,
                    (unsigned long long)(ns / 1000),
                    (unsigned long long)(ns % 1000));
}

static void write_shape(eddy__out *out, const eddy_shape *shape)
{
    eddy__out_text(out, "[");
    for (int32_t i = 0; i < shape->rank; i++)
        eddy__out_print(out, "%s%lld", i > 0 ? "," : "",
                        (long long)shape->dims[i]);
    eddy__out_text(out, "]");
}

static void write_value(eddy__out *out, const eddy_trace_value *v)
{
    char text[192];

    eddy_trace_value_format(v, text, sizeof text);
    eddy__out_print(out,
                    "{\"dtype\":\"%s\",\"text\":", eddy_dtype_name(v->dtype));
    eddy__out_quoted(out, text);
    if (v->dtype != EDDY_INVALID && v->hash != 0) {
        eddy__out_text(out, ",\"shape\":");
        write_shape(out, &v->shape);
        eddy__out_text(out, ",\"min\":");
        eddy__out_double(out, v->min);
        eddy__out_text(out, ",\"max\":");
        eddy__out_double(out, v->max);
        eddy__out_text(out, ",\"mean\":");
        eddy__out_double(out, v->mean);
        eddy__out_print(out, ",\"nan\":%llu,\"inf\":%llu,\"hash\":\"%016llx\"",
                        (unsigned long long)v->n_nan,
                        (unsigned long long)v->n_infinite,
                        (unsigned long long)v->hash);
    }
    eddy__out_text(out, "}");
}

static void write_args(eddy__out *out, const eddy_trace *trace, size_t i)
{
    const eddy_trace_record *r = eddy_trace_record_at(trace, i);
    const eddy_trace_node *node = eddy_trace_node_at(trace, r->node);

    eddy__out_text(out, "{\"op\":");
    eddy__out_quoted(out, node->op);
    eddy__out_text(out, ",\"path\":");
    eddy__out_path(out, trace, r->frame, r->iteration);
    eddy__out_print(out, ",\"number\":%llu,\"nodes\":%u,\"bytes\":%llu",
                    (unsigned long long)r->number, r->n_nodes,
                    (unsigned long long)r->bytes);
    if (r->output != EDDY_TRACE_NONE)
        eddy__out_print(out, ",\"%s\":%u",
                        node->kind == EDDY_TRACE_SWITCH ? "output" : "input",
                        r->output);
    if (r->n_values > 0) {
        eddy__out_text(out, ",\"values\":[");
        for (size_t k = 0; k < r->n_values; k++) {
            if (k > 0)
                eddy__out_text(out, ",");
            write_value(out, eddy_trace_value_at(trace, i, k));
        }
        eddy__out_text(out, "]");
    }
    eddy__out_text(out, "}");
}

/* The process and the thread of a worker: its rank, and which one it is there.
 */
static void write_thread(eddy__out *out, const eddy_trace *trace,
                         uint32_t worker)
{
    uint32_t own;
    const uint32_t rank = eddy_trace_worker_rank(trace, worker, &own);

    eddy__out_print(out, "\"pid\":%u,\"tid\":%u,", rank + 1, own + 1);
}

static void write_record(eddy__out *out, const eddy_trace *trace, size_t i)
{
    const eddy_trace_record *r = eddy_trace_record_at(trace, i);

    eddy__out_text(out, ",\n{\"ph\":\"X\",\"name\":");
    eddy__out_quoted(out, eddy_trace_node_at(trace, r->node)->name);
    eddy__out_print(out, ",\"cat\":\"%s\",", states[r->state]);
    write_thread(out, trace, r->worker);
    write_time(out, "ts", r->start_ns);
    eddy__out_text(out, ",");
    write_time(out, "dur", r->duration_ns);
    if (r->state != EDDY_TRACE_LIVE)
        eddy__out_text(out, ",\"cname\":\"terrible\"");
    eddy__out_text(out, ",\"args\":");
    write_args(out, trace, i);
    eddy__out_text(out, "}");
}

/* Where it changes. */
static void write_bytes(eddy__out *out, const eddy_trace_record *r)
{
    if (r->allocated == 0)
        return;
    eddy__out_text(out, ",\n{\"ph\":\"C\",\"name\":\"bytes\",\"pid\":1,");
    write_time(out, "ts", r->start_ns + r->duration_ns);
    eddy__out_print(out, ",\"args\":{\"in use\":%llu}}",
                    (unsigned long long)r->bytes);
}

/* An arrow from a record to a later one. */
typedef struct flow {
    const char *name;
    size_t id, from, to;
} flow;

static void write_flow_end(eddy__out *out, const eddy_trace *trace,
                           const flow *f, bool is_end)
{
    const eddy_trace_record *r =
        eddy_trace_record_at(trace, is_end ? f->to : f->from);

    eddy__out_print(out, ",\n{\"ph\":%s,\"name\":\"%s\",\"cat\":\"%s\",",
                    is_end ? "\"f\",\"bp\":\"e\"" : "\"s\"", f->name, f->name);
    eddy__out_print(out, "\"id\":%zu,", f->id);
    write_thread(out, trace, r->worker);
    write_time(out, "ts", r->start_ns);
    eddy__out_text(out, "}");
}

static void write_flow(eddy__out *out, const eddy_trace *trace, flow f)
{
    if (f.from == EDDY_TRACE_NOT_FOUND || f.to == EDDY_TRACE_NOT_FOUND)
        return;
    write_flow_end(out, trace, &f, false);
    write_flow_end(out, trace, &f, true);
}

static void write_flows(eddy__out *out, const eddy_trace *trace)
{
    const size_t n = eddy_trace_pairs(trace);

    for (size_t i = 0; i < n; i++) {
        const eddy_trace_pair *pair = eddy_trace_pair_at(trace, i);

        write_flow(out, trace, (flow){"tape", i + 1, pair->push, pair->pop});
    }
    for (size_t i = 0; i < eddy_trace_records(trace); i++)
        write_flow(
            out, trace,
            (flow){"message", n + i + 1, eddy_trace_message(trace, i), i});
}

static void write_totals(eddy__out *out, const eddy_trace *trace)
{
    const eddy_trace_totals t = eddy_trace_total(trace);

    eddy__out_print(out,
                    "\"otherData\":{\"maker\":\"eddy\",\"status\":\"%s\","
                    "\"live\":%llu,\"dead\":%llu,\"records\":%llu,"
                    "\"dropped\":%llu,\"iterations\":%llu,\"frames\":%llu}",
                    eddy_status_name(t.status), (unsigned long long)t.live,
                    (unsigned long long)t.dead, (unsigned long long)t.n_seen,
                    (unsigned long long)t.n_dropped,
                    (unsigned long long)t.stats.iterations,
                    (unsigned long long)t.stats.frames);
}

static void write_threads(eddy__out *out, const eddy_trace *trace)
{
    const uint32_t n_ranks = eddy_trace_ranks(trace);

    for (uint32_t i = 0; i < n_ranks; i++) {
        eddy__out_print(out,
                        "%s\n{\"ph\":\"M\",\"name\":\"process_name\","
                        "\"pid\":%u,\"tid\":0,\"args\":{\"name\":\"",
                        i > 0 ? "," : "", i + 1);
        eddy__out_print(out, n_ranks > 1 ? "rank %u\"}}" : "eddy\"}}", i);
    }
    for (uint32_t i = 0; i < eddy_trace_total(trace).n_workers; i++) {
        uint32_t own;

        (void)eddy_trace_worker_rank(trace, i, &own);
        eddy__out_text(out, ",\n{\"ph\":\"M\",\"name\":\"thread_name\",");
        write_thread(out, trace, i);
        eddy__out_print(out, "\"args\":{\"name\":\"worker %u\"}}", own);
    }
}

void eddy__trace_write_json(eddy__out *out, const eddy_trace *trace)
{
    eddy__out_text(out, "{\"displayTimeUnit\":\"ns\",");
    write_totals(out, trace);
    eddy__out_text(out, ",\"traceEvents\":[");
    write_threads(out, trace);
    for (size_t i = 0; i < eddy_trace_records(trace); i++) {
        write_record(out, trace, i);
        write_bytes(out, eddy_trace_record_at(trace, i));
    }
    write_flows(out, trace);
    eddy__out_text(out, "\n]}\n");
}
