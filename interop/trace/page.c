/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace as one page of HTML: the text of page.html around two pieces of data.
 *
 * The first is JSON: nodes with their places, frames, totals.  The second is
 * base64 of a row of numbers, 7 bits a byte, the last byte of each below 128;
 * signed ones have their sign in the lowest bit:
 *
 *     number of frames, of each: static frame, parent, parent's iteration
 *     number of records, of each:
 *         flags: state (2 bits), 4 worker, 8 frame, 16 output, 32 bytes,
 *                64 a value; then node, iteration and start as differences to
 *                the record before (start: to its end), duration, and what the
 *                flags say, in their order; a value is how many values ago it
 *                was told, or 0 and the value itself
 *     number of pairs of the tape, of each: push, pop (1 more; 0: none)
 *     number of messages between ranks, of each: sent, received (likewise)
 */
#include "interop/draw/route.h"
#include "interop/trace/out.h"

#include "core/base/memory.h"
#include "core/base/status.h"

#include <math.h>
#include <string.h>

/* Records in a page: half of them the first ones, half the last. */
#define MOST_RECORDS 100000

static const char *const lines[] = {
#include "interop/trace/page.inc"
};

enum { HAS_WORKER = 4, HAS_FRAME = 8, HAS_OUTPUT = 16, HAS_BYTES = 32 };
enum { HAS_VALUE = 64 };

/* How a value is told. */
enum {
    TELL_TEXT = 1,
    TELL_BOOL,
    TELL_INTEGER,
    TELL_FLOAT,
    TELL_DOUBLE,
    TELL_TENSOR
};

typedef struct stream {
    eddy__out *out;
    unsigned char held[3];
    unsigned n;
} stream;

typedef struct page {
    eddy__out *out;
    const eddy_trace *trace;
    eddy__routes *ways; /* of edges; NULL: the page draws them as it can */
    stream s;
    size_t n_head, n_tail; /* records at the begin and at the end */
    /* Values that were told, by hash: a table of a power of two. */
    uint64_t *hashes;
    uint32_t *numbers; /* 0: empty */
    size_t n_slots;
    uint32_t n_told;
} page;

/* ---- base64 ---- */

static void put_held(stream *s)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned a = s->held[0], b = s->n > 1 ? s->held[1] : 0U,
                   c = s->n > 2 ? s->held[2] : 0U;
    const char text[4] = {
        digits[a >> 2], digits[(a & 3) << 4 | b >> 4],
        (char)(s->n > 1 ? digits[(b & 15) << 2 | c >> 6] : '='),
        (char)(s->n > 2 ? digits[c & 63] : '=')};

    if (s->n > 0)
        eddy__out_bytes(s->out, text, sizeof text);
    s->n = 0;
}

static void put_byte(stream *s, unsigned byte)
{
    s->held[s->n++] = (unsigned char)byte;
    if (s->n == 3)
        put_held(s);
}

static void put_number(stream *s, uint64_t value)
{
    for (; value >= 128; value >>= 7)
        put_byte(s, (unsigned)(value & 127) | 128);
    put_byte(s, (unsigned)value);
}

static void put_signed(stream *s, int64_t value)
{
    put_number(s, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

static void put_bytes(stream *s, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put_byte(s, ((const unsigned char *)bytes)[i]);
}

static void put_float(stream *s, double x)
{
    const float value = (float)x;

    put_bytes(s, &value, sizeof value);
}

static void put_text(stream *s, const char *text)
{
    put_number(s, strlen(text));
    put_bytes(s, text, strlen(text));
}

/* ---- values ---- */

static void put_words(stream *s, const eddy_trace_value *value)
{
    char text[192];

    eddy_trace_value_format(value, text, sizeof text);
    put_byte(s, TELL_TEXT);
    put_text(s, text);
}

/* Beyond what a double holds exactly, an integer goes as text. */
static void put_integer(stream *s, const eddy_trace_value *value)
{
    const double most = 9007199254740992.0;

    if (value->mean >= most || value->mean <= -most) {
        put_words(s, value);
        return;
    }
    put_byte(s, TELL_INTEGER);
    put_signed(s, (int64_t)value->mean);
}

static void put_tensor(stream *s, const eddy_trace_value *value)
{
    put_byte(s, TELL_TENSOR);
    put_text(s, eddy_dtype_name(value->dtype));
    put_number(s, (uint64_t)value->shape.rank);
    for (int32_t i = 0; i < value->shape.rank; i++)
        put_number(s, (uint64_t)value->shape.dims[i]);
    put_float(s, value->min);
    put_float(s, value->max);
    put_float(s, value->mean);
    put_number(s, value->n_nan);
    put_number(s, value->n_infinite);
}

static void put_value(stream *s, const eddy_trace_value *value)
{
    if (eddy_dtype_size(value->dtype) == 0) {
        put_words(s, value);
        return;
    }
    if (value->shape.rank > 0 || value->dtype == EDDY_COMPLEX64 ||
        value->dtype == EDDY_COMPLEX128) {
        put_tensor(s, value);
        return;
    }
    switch (value->dtype) {
    case EDDY_BOOL:
        put_byte(s, TELL_BOOL);
        put_byte(s, value->bits & 1 ? 1 : 0);
        break;
    case EDDY_FLOAT64:
        put_byte(s, TELL_DOUBLE);
        put_bytes(s, &value->mean, sizeof value->mean);
        break;
    case EDDY_FLOAT16:
    case EDDY_BFLOAT16:
    case EDDY_FLOAT32:
        put_byte(s, TELL_FLOAT);
        put_float(s, value->mean);
        break;
    default:
        put_integer(s, value);
    }
}

/* Where a hash stands, or is to. */
static size_t slot_of(const page *p, uint64_t hash)
{
    size_t at = (size_t)(hash ^ hash >> 32) & (p->n_slots - 1);

    while (p->numbers[at] != 0 && p->hashes[at] != hash)
        at = (at + 1) & (p->n_slots - 1);
    return at;
}

static void tell_value(page *p, const eddy_trace_value *value)
{
    const size_t at = slot_of(p, value->hash);

    if (value->hash != 0 && p->numbers[at] != 0) {
        put_number(&p->s, p->n_told + 1 - p->numbers[at]);
        return;
    }
    p->n_told++;
    if (value->hash != 0) {
        p->hashes[at] = value->hash;
        p->numbers[at] = p->n_told;
    }
    put_number(&p->s, 0);
    put_value(&p->s, value);
}

/* ---- records ---- */

typedef struct before {
    uint32_t node, frame, worker;
    int64_t iteration;
    uint64_t end, bytes;
} before;

static unsigned flags_of(const eddy_trace_record *r, const before *b,
                         const eddy_trace_value *value)
{
    return r->state | (r->worker != b->worker ? HAS_WORKER : 0U) |
           (r->frame != b->frame ? HAS_FRAME : 0U) |
           (r->output != EDDY_TRACE_NONE ? HAS_OUTPUT : 0U) |
           (r->bytes != b->bytes ? HAS_BYTES : 0U) |
           (value && value->dtype != EDDY_INVALID ? HAS_VALUE : 0U);
}

static void put_record(page *p, size_t i, before *b)
{
    const eddy_trace_record *r = eddy_trace_record_at(p->trace, i);
    const eddy_trace_value *value = eddy_trace_value_at(p->trace, i, 0);
    const unsigned flags = flags_of(r, b, value);
    stream *s = &p->s;

    put_byte(s, flags);
    put_signed(s, (int64_t)r->node - (int64_t)b->node);
    put_signed(s, r->iteration - b->iteration);
    put_signed(s, (int64_t)(r->start_ns - b->end));
    put_number(s, r->duration_ns);
    if (flags & HAS_WORKER)
        put_number(s, r->worker);
    if (flags & HAS_FRAME)
        put_signed(s, (int64_t)r->frame - (int64_t)b->frame);
    if (flags & HAS_OUTPUT)
        put_number(s, r->output);
    if (flags & HAS_BYTES)
        put_signed(s, (int64_t)(r->bytes - b->bytes));
    if (flags & HAS_VALUE)
        tell_value(p, value);
    *b = (before){.node = r->node,
                  .frame = r->frame,
                  .worker = r->worker,
                  .iteration = r->iteration,
                  .end = r->start_ns + r->duration_ns,
                  .bytes = r->bytes};
}

static void put_records(page *p)
{
    const size_t n = eddy_trace_records(p->trace);
    before b = {.node = 0};

    put_number(&p->s, p->n_head + p->n_tail);
    for (size_t i = 0; i < p->n_head; i++)
        put_record(p, i, &b);
    for (size_t i = n - p->n_tail; i < n; i++)
        put_record(p, i, &b);
}

static void put_frames(page *p)
{
    const size_t n = eddy_trace_frames(p->trace);
    int64_t parent = 0, iteration = 0;

    put_number(&p->s, n);
    for (size_t i = 0; i < n; i++) {
        const eddy_trace_frame *f = eddy_trace_frame_at(p->trace, i);

        put_number(&p->s, f->static_frame);
        put_signed(&p->s, (int64_t)f->parent - parent);
        put_signed(&p->s, f->parent_iteration - iteration);
        parent = f->parent;
        iteration = f->parent_iteration;
    }
}

/* 1 more than the record's number in the page; 0: it is not there. */
static uint64_t number_in_page(const page *p, size_t record)
{
    const size_t n = eddy_trace_records(p->trace);

    if (record < p->n_head)
        return record + 1;
    if (record != EDDY_TRACE_NOT_FOUND && record >= n - p->n_tail)
        return record - (n - p->n_tail) + p->n_head + 1;
    return 0;
}

/* Of records in the page; `n` counts them, and with `is_told` they are put. */
static void put_pair(page *p, size_t from, size_t to, bool is_told, size_t *n)
{
    const uint64_t first = number_in_page(p, from);
    const uint64_t second = number_in_page(p, to);

    if (first == 0 && second == 0)
        return;
    ++*n;
    if (!is_told)
        return;
    put_number(&p->s, first);
    put_number(&p->s, second);
}

static size_t put_all_pairs(page *p, bool is_told)
{
    size_t n = 0;

    for (size_t i = 0; i < eddy_trace_pairs(p->trace); i++) {
        const eddy_trace_pair *pair = eddy_trace_pair_at(p->trace, i);

        put_pair(p, pair->push, pair->pop, is_told, &n);
    }
    return n;
}

static size_t put_all_messages(page *p, bool is_told)
{
    size_t n = 0;

    for (size_t i = 0; i < eddy_trace_records(p->trace); i++) {
        const size_t sent = eddy_trace_message(p->trace, i);

        if (sent != EDDY_TRACE_NOT_FOUND)
            put_pair(p, sent, i, is_told, &n);
    }
    return n;
}

static void put_pairs(page *p)
{
    put_number(&p->s, put_all_pairs(p, false));
    put_all_pairs(p, true);
    put_number(&p->s, put_all_messages(p, false));
    put_all_messages(p, true);
}

/* ---- the graph ---- */

static void write_inputs(eddy__out *out, const eddy_trace_node *node)
{
    eddy__out_text(out, "[");
    for (uint32_t k = 0; k < node->n_inputs + node->n_controls; k++)
        eddy__out_print(out, "%s%u,%d", k > 0 ? "," : "", node->inputs[k].node,
                        node->inputs[k].output == EDDY_TRACE_NONE
                            ? -1
                            : (int)node->inputs[k].output);
    eddy__out_text(out, "]");
}

static void write_node(eddy__out *out, const eddy_trace_node *node, bool first)
{
    eddy__out_text(out, first ? "\n[" : ",\n[");
    eddy__out_quoted(out, node->name);
    eddy__out_text(out, ",");
    eddy__out_quoted(out, node->op);
    eddy__out_print(out, ",%d,%u,%u,%u,", (int)node->kind, node->frame,
                    node->output_frame,
                    (node->is_constant ? 1U : 0U) |
                        (node->is_dissolved ? 2U : 0U) | node->rank << 2);
    write_inputs(out, node);
}

static void write_frame(eddy__out *out, const eddy_trace_static_frame *frame,
                        const eddy__drawn_frame *box, bool first)
{
    eddy__out_text(out, first ? "\n[" : ",\n[");
    eddy__out_quoted(out, frame->name);
    eddy__out_print(out, ",%u,%u", frame->parent, frame->parallel_iterations);
    if (box)
        eddy__out_print(out, ",%.0f,%.0f,%.0f,%.0f,%u,%d,%d", box->x, box->y,
                        box->width, box->height, box->n_nodes, box->is_closed,
                        box->is_mirrored);
    eddy__out_text(out, "]");
}

static void write_totals(page *p)
{
    const eddy_trace_totals t =
        p->trace ? eddy_trace_total(p->trace) : (eddy_trace_totals){0};
    const size_t n = p->trace ? eddy_trace_records(p->trace) : 0;

    eddy__out_print(p->out,
                    "\"status\":\"%s\",\"live\":%llu,\"dead\":%llu,"
                    "\"seen\":%llu,\"head\":%zu,\"tail\":%zu,\"cut\":%zu,",
                    eddy_status_name(t.status), (unsigned long long)t.live,
                    (unsigned long long)t.dead, (unsigned long long)t.n_seen,
                    p->n_head, p->n_tail, n - p->n_head - p->n_tail);
    eddy__out_print(p->out,
                    "\"iterations\":%llu,\"frames\":%llu,\"peak\":%llu,"
                    "\"ns\":%llu,\"workers\":%u,",
                    (unsigned long long)t.stats.iterations,
                    (unsigned long long)t.stats.frames,
                    (unsigned long long)t.stats.peak_bytes,
                    (unsigned long long)t.duration_ns, t.n_workers);
}

/* Of more than one rank: whose each worker is. */
static void write_workers(page *p)
{
    const uint32_t n = p->trace && eddy_trace_ranks(p->trace) > 1
                           ? eddy_trace_total(p->trace).n_workers
                           : 0;

    if (n == 0)
        return;
    eddy__out_text(p->out, "\"ranks\":[");
    for (uint32_t i = 0; i < n; i++)
        eddy__out_print(p->out, "%s%u", i > 0 ? "," : "",
                        eddy_trace_worker_rank(p->trace, i, NULL));
    eddy__out_text(p->out, "],");
}

/* A graph of more nodes has its edges drawn by the page, straight on. */
#define MOST_WITH_WAYS 500

/* One edge: where it begins, and then how far each point is from the last. */
static void write_way(page *p, uint32_t to, uint32_t k)
{
    const eddy__drawn_point *at = p->ways->points;
    long x = 0, y = 0;

    eddy__routes_find(p->ways, to, k);
    eddy__out_text(p->out, k > 0 ? ",[" : "[");
    for (size_t i = 0; i < p->ways->n_points; i++) {
        const long next_x = lround(at[i].x), next_y = lround(at[i].y);
        const bool goes_on = i > 0 && i + 1 < p->ways->n_points &&
                             next_x == x && lround(at[i + 1].x) == x;

        if (goes_on)
            continue;
        eddy__out_print(p->out, "%s%ld,%ld", i > 0 ? "," : "", next_x - x,
                        next_y - y);
        x = next_x;
        y = next_y;
    }
    eddy__out_text(p->out, "]");
}

static void write_ways(page *p, const eddy_trace_node *node, uint32_t id)
{
    eddy__out_text(p->out, ",[");
    for (uint32_t k = 0; k < node->n_inputs + node->n_controls; k++)
        write_way(p, id, k);
    eddy__out_text(p->out, "]");
}

static void write_graph(page *p, const eddy__drawing *d)
{
    const bool is_drawn = d->home != NULL;

    eddy__out_text(p->out, "{");
    write_totals(p);
    write_workers(p);
    eddy__out_print(p->out, "\"drawn\":%s,\"size\":[%d,%d],\"loops\":[",
                    is_drawn ? "true" : "false", EDDY__DRAW_NODE_WIDTH,
                    EDDY__DRAW_NODE_HEIGHT);
    for (uint32_t f = 0; f < d->n_frames; f++)
        write_frame(p->out, &d->frames[f], is_drawn ? &d->boxes[f] : NULL,
                    f == 0);
    eddy__out_text(p->out, "],\"nodes\":[");
    for (uint32_t i = 0; i < d->n_nodes; i++) {
        write_node(p->out, &d->nodes[i], i == 0);
        if (is_drawn)
            eddy__out_print(p->out, ",%.0f,%.0f", d->x[i], d->y[i]);
        if (p->ways)
            write_ways(p, &d->nodes[i], i);
        eddy__out_text(p->out, "]");
    }
    eddy__out_text(p->out, "]}");
}

static void write_data(page *p, const eddy__drawing *d)
{
    eddy__out_text(p->out, "<script type=\"application/json\" id=\"plan\">");
    write_graph(p, d);
    eddy__out_text(p->out,
                   "</script>\n<script type=\"text/plain\" id=\"records\">");
    p->s = (stream){.out = p->out};
    if (p->trace) {
        put_frames(p);
        put_records(p);
        put_pairs(p);
    } else {
        for (int i = 0; i < 4; i++)
            put_number(&p->s, 0);
    }
    put_held(&p->s);
    eddy__out_text(p->out, "</script>\n");
}

/* Without memory for them, edges have no ways of their own. */
static void write_page(page *p, const eddy__drawing *d)
{
    eddy__routes ways = {.d = NULL};

    if (d->home && d->n_nodes <= MOST_WITH_WAYS &&
        eddy__routes_init(&ways, d, NULL) == EDDY_OK)
        p->ways = &ways;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (strcmp(lines[i], "@DATA@\n") == 0)
            write_data(p, d);
        else
            eddy__out_text(p->out, lines[i]);
    }
    eddy__routes_deinit(&ways);
}

void eddy__page_write_drawing(eddy__out *out, const eddy__drawing *d)
{
    page p = {.out = out};

    write_page(&p, d);
}

/* ---- */

static bool make_table(page *p)
{
    const eddy_allocator *a = eddy__default_allocator();

    p->n_slots = 64;
    while (p->n_slots < 2 * (p->n_head + p->n_tail))
        p->n_slots *= 2;
    p->hashes = eddy__allocate_zeroed(a, p->n_slots, sizeof *p->hashes);
    p->numbers = eddy__allocate_zeroed(a, p->n_slots, sizeof *p->numbers);
    return p->hashes && p->numbers;
}

static void choose_records(page *p)
{
    const size_t n = eddy_trace_records(p->trace);

    p->n_head = n <= MOST_RECORDS ? n : MOST_RECORDS / 2;
    p->n_tail = n <= MOST_RECORDS ? 0 : MOST_RECORDS / 2;
}

eddy_status eddy__trace_write_page(eddy__out *out, const eddy_trace *trace,
                                   eddy_error *err)
{
    const eddy_allocator *a = eddy__default_allocator();
    page p = {.out = out, .trace = trace};
    eddy__drawing d = {.nodes = eddy_trace_node_at(trace, 0),
                       .frames = eddy_trace_static_frame_at(trace, 0),
                       .n_nodes = (uint32_t)eddy_trace_nodes(trace),
                       .most_open = EDDY__DRAW_MOST_OPEN,
                       .n_frames = (uint32_t)eddy_trace_static_frames(trace)};
    eddy_status status = EDDY_OK;

    choose_records(&p);
    if (d.n_nodes <= EDDY__DRAW_MOST_NODES)
        status = eddy__drawing_init(&d, err);
    if (status == EDDY_OK && !make_table(&p))
        status = eddy__fail_memory(err);
    if (status == EDDY_OK)
        write_page(&p, &d);
    eddy__free(a, p.hashes, p.n_slots, sizeof *p.hashes);
    eddy__free(a, p.numbers, p.n_slots, sizeof *p.numbers);
    eddy__drawing_deinit(&d);
    return status;
}
