/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records and values as readers see them, made of the items of a trace.
 */
#include "runtime/exec/trace/trace.h"

/* A reader of items: what they have said so far, and what they have made. */
typedef struct reader {
    eddy_trace *trace;
    eddy__trace_told told;
    uint64_t number; /* of the next record */
    size_t n, n_values;
    size_t n_timed; /* records before it have their times */
} reader;

static eddy_trace_record *last_of(const reader *r)
{
    return &r->trace->records[r->n - 1];
}

/* A value's place in `values`; NULL: no memory. */
static eddy_trace_value *add_value(reader *r)
{
    eddy_trace *trace = r->trace;

    if (!eddy__grow(trace->allocator, (void **)&trace->values,
                    &trace->values_room, r->n_values + 1,
                    sizeof *trace->values))
        return NULL;
    return &trace->values[r->n_values++];
}

static void note_value(eddy_trace_record *record, const eddy_trace_value *value)
{
    record->is_non_finite =
        record->is_non_finite || value->n_nan > 0 || value->n_infinite > 0;
    record->n_values++;
}

static bool read_scalar(reader *r, const eddy__trace_item *item,
                        const unsigned char **at, eddy_trace_record *record)
{
    eddy__value scalar = {.kind = EDDY__SCALAR, .dtype = item->dtype};
    eddy_trace_value *value = add_value(r);

    *at = eddy__item_get(*at, &scalar.as, eddy__item_scalar_bytes(item->dtype));
    if (!value)
        return false;
    eddy__trace_summarise(&scalar, value);
    note_value(record, value);
    return true;
}

static bool read_values(reader *r, const unsigned char **at,
                        eddy_trace_record *record)
{
    uint32_t n;

    *at = eddy__item_get(*at, &n, sizeof n);
    for (uint32_t i = 0; i < n; i++) {
        eddy_trace_value *value = add_value(r);
        eddy__trace_sum sum;

        if (!value)
            return false;
        *at = eddy__item_get(*at, &sum, sizeof sum);
        *value = (eddy_trace_value){.dtype = (eddy_dtype)sum.dtype,
                                    .shape.rank = sum.rank,
                                    .count = sum.count,
                                    .min = sum.min,
                                    .max = sum.max,
                                    .mean = sum.mean,
                                    .n_nan = sum.n_nan,
                                    .n_infinite = sum.n_infinite,
                                    .hash = sum.hash,
                                    .bits = sum.bits};
        if (sum.rank > 0)
            *at = eddy__item_get(*at, value->shape.dims,
                                 (size_t)sum.rank * sizeof *value->shape.dims);
        note_value(record, value);
    }
    return true;
}

/* What stands behind the head of a token. */
static bool read_more(reader *r, const eddy__trace_item *item,
                      const unsigned char **at, eddy_trace_record *record)
{
    eddy__trace_task task;

    if ((item->flags & EDDY__ITEM_SCALAR) && !read_scalar(r, item, at, record))
        return false;
    if (item->flags & EDDY__ITEM_OUTPUT)
        *at = eddy__item_get(*at, &record->output, sizeof record->output);
    if (item->flags & EDDY__ITEM_RESOURCE)
        *at = eddy__item_get(*at, &record->resource, sizeof record->resource);
    if (item->flags & EDDY__ITEM_TASK) {
        *at = eddy__item_get(*at, &task, sizeof task);
        record->start_ns = task.start_ns;
        record->duration_ns = task.duration_ns;
        record->worker = task.worker;
        r->n_timed = r->n;
    }
    return !(item->flags & EDDY__ITEM_VALUES) || read_values(r, at, record);
}

static bool read_token(reader *r, const eddy__trace_item *item,
                       const unsigned char **at)
{
    eddy_trace *trace = r->trace;
    eddy_trace_record *record = &trace->records[r->n];

    trace->first_value[r->n++] = r->n_values;
    *record = (eddy_trace_record){
        .number = r->number++,
        .start_ns = r->told.ns,
        .bytes = r->told.in_use > 0 ? (uint64_t)r->told.in_use : 0,
        .iteration = r->told.iteration,
        .frame = r->told.frame,
        .node = item->what,
        .n_nodes = eddy__trace_weight(&trace->plan->steps[item->what]),
        .output = item->output == EDDY__ITEM_NO_OUTPUT ? EDDY_TRACE_NONE
                                                       : item->output,
        .worker = r->told.worker,
        .state = item->kind};
    return read_more(r, item, at, record);
}

/* Those that wait for a time share it. */
static void share_time(reader *r, uint64_t ns)
{
    const uint64_t n = r->n - r->n_timed;

    for (uint64_t i = 0; i < n; i++) {
        eddy_trace_record *record = &r->trace->records[r->n_timed + i];
        const uint64_t begin = ns / n * i + ns % n * i / n;
        const uint64_t end = ns / n * (i + 1) + ns % n * (i + 1) / n;

        record->start_ns = r->told.ns + begin;
        record->duration_ns = end - begin;
    }
    r->told.ns += ns;
    r->n_timed = r->n;
}

static int64_t read_number(const eddy__trace_item *item, bool is_signed,
                           const unsigned char **at)
{
    int64_t number = is_signed ? (int64_t)(int32_t)item->what : item->what;

    if (item->flags & EDDY__ITEM_LONG)
        *at = eddy__item_get(*at, &number, sizeof number);
    return number;
}

static bool read_item(reader *r, const unsigned char **at)
{
    eddy__trace_item item;

    *at = eddy__item_get(*at, &item, sizeof item);
    switch ((eddy__trace_item_kind)item.kind) {
    case EDDY__ITEM_LIVE:
    case EDDY__ITEM_DEAD:
    case EDDY__ITEM_FAILED:
        return read_token(r, &item, at);
    case EDDY__ITEM_TIME:
        share_time(r, (uint64_t)read_number(&item, false, at));
        break;
    case EDDY__ITEM_JUMP:
        *at = eddy__item_get(*at, &r->told.ns, sizeof r->told.ns);
        r->told.worker = item.what;
        r->n_timed = r->n;
        break;
    case EDDY__ITEM_PLACE:
        *at = eddy__item_get(*at, &r->told.iteration, sizeof r->told.iteration);
        r->told.frame = item.what;
        break;
    case EDDY__ITEM_NEXT:
        r->told.iteration++;
        break;
    case EDDY__ITEM_MEMORY:
        last_of(r)->allocated = read_number(&item, true, at);
        *at = eddy__item_get(*at, &r->told.in_use, sizeof r->told.in_use);
        last_of(r)->bytes = r->told.in_use > 0 ? (uint64_t)r->told.in_use : 0;
        break;
    }
    return true;
}

static bool read_chunk(reader *r, const eddy__trace_chunk *chunk)
{
    const unsigned char *at = chunk->items;
    const unsigned char *end =
        chunk == r->trace->newest ? r->trace->next : chunk->end;

    r->told = chunk->told;
    r->number = chunk->number;
    r->n_timed = r->n;
    while (at < end)
        if (!read_item(r, &at))
            return false;
    return true;
}

bool eddy__trace_decode(eddy_trace *trace)
{
    const uint64_t held = eddy__trace_held(trace);
    reader r = {.trace = trace};

    if (trace->decoded == trace->totals.n_seen + 1)
        return true;
    trace->decoded = 0;
    if (!eddy__grow(trace->allocator, (void **)&trace->records,
                    &trace->records_room, (size_t)held,
                    sizeof *trace->records) ||
        !eddy__grow(trace->allocator, (void **)&trace->first_value,
                    &trace->first_value_room, (size_t)held,
                    sizeof *trace->first_value))
        return false;
    for (const eddy__trace_chunk *c = trace->oldest; c; c = c->next)
        if (!read_chunk(&r, c))
            return false;
    trace->decoded = trace->totals.n_seen + 1;
    trace->n_skipped = (size_t)held - eddy__trace_kept(trace);
    return true;
}

void eddy__trace_free_decoded(eddy_trace *trace)
{
    const eddy_allocator *a = trace->allocator;

    eddy__free(a, trace->records, trace->records_room, sizeof *trace->records);
    eddy__free(a, trace->values, trace->values_room, sizeof *trace->values);
    eddy__free(a, trace->first_value, trace->first_value_room,
               sizeof *trace->first_value);
}
