/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks for the items of a trace.  They grow to CHUNK_MOST, and are kept for
 * the next execution: memory that nobody has touched yet takes longer to write
 * than all else that the recorder does.  Where the last records are kept, the
 * oldest chunk is taken again when what comes after it has enough of them.
 */
#include "runtime/exec/trace/trace.h"

#define CHUNK_LEAST ((size_t)16 << 10)
#define CHUNK_MOST ((size_t)1 << 20)

/* What a token takes, about. */
#define TOKEN_BYTES 16

/* A ring is a few chunks, of which one more is needed than it keeps. */
static size_t size_after(const eddy_trace *trace, size_t size)
{
    const uint64_t ring = trace->max_records * TOKEN_BYTES / 4;

    size = size < CHUNK_LEAST ? CHUNK_LEAST : size * 2;
    size = size > CHUNK_MOST ? CHUNK_MOST : size;
    if (trace->options.keep_last && ring < size)
        size = ring < CHUNK_LEAST ? CHUNK_LEAST : (size_t)ring;
    return size;
}

static void free_chunk(const eddy_trace *trace, eddy__trace_chunk *chunk)
{
    eddy__free(trace->allocator, chunk, 1, sizeof *chunk + chunk->room);
}

/* One that is spare and large enough, or a new one; NULL: no memory. */
static eddy__trace_chunk *take_chunk(eddy_trace *trace, size_t n)
{
    const size_t last = trace->newest ? trace->newest->room : 0;
    size_t room = size_after(trace, last);
    eddy__trace_chunk **at = &trace->spares, *chunk;

    while (*at && (*at)->room < n)
        at = &(*at)->next;
    chunk = *at;
    if (chunk) {
        *at = chunk->next;
        return chunk;
    }
    room = room < n ? n : room;
    chunk = eddy__allocate(trace->allocator, 1, sizeof *chunk + room);
    if (chunk)
        chunk->room = room;
    return chunk;
}

/* Chunks of which the ring needs nothing any more are spare. */
static void drop_old(eddy_trace *trace)
{
    const uint64_t end = trace->totals.n_seen - trace->n_lost;
    eddy__trace_chunk *chunk = trace->oldest;

    while (trace->options.keep_last && chunk && chunk->next &&
           end - chunk->next->first >= trace->max_records) {
        trace->oldest = chunk->next;
        chunk->next = trace->spares;
        trace->spares = chunk;
        chunk = trace->oldest;
    }
}

bool eddy__trace_make_room(eddy_trace *trace, size_t n)
{
    eddy__trace_chunk *chunk;

    drop_old(trace);
    chunk = take_chunk(trace, n);
    if (!chunk)
        return false;
    *chunk = (eddy__trace_chunk){.room = chunk->room,
                                 .first = trace->totals.n_seen - trace->n_lost,
                                 .number = trace->totals.n_seen,
                                 .told = trace->told};
    if (trace->newest) {
        trace->newest->end = trace->next;
        trace->newest->next = chunk;
    } else {
        trace->oldest = chunk;
    }
    trace->newest = chunk;
    trace->next = chunk->items;
    return true;
}

void eddy__trace_set_limit(eddy_trace *trace)
{
    const eddy__trace_chunk *chunk = trace->newest;
    uint64_t left, tokens;

    trace->limit = trace->next;
    if (!trace->is_plain || !eddy__trace_is_gapless(trace) ||
        eddy__trace_room(trace) < EDDY__ITEM_MOST)
        return;
    left = eddy__trace_room(trace) - EDDY__ITEM_MOST;
    tokens = chunk->first - trace->oldest->first;
    tokens += trace->totals.n_seen - chunk->number;
    tokens = trace->max_records > tokens ? trace->max_records - tokens : 0;
    /* A token takes no less than its head. */
    if (!trace->options.keep_last && tokens < left / sizeof(eddy__trace_item))
        left = tokens * sizeof(eddy__trace_item);
    trace->limit += left;
}

void eddy__trace_forget(eddy_trace *trace)
{
    if (trace->newest) {
        trace->newest->next = trace->spares;
        trace->spares = trace->oldest;
    }
    trace->oldest = trace->newest = NULL;
    trace->next = trace->limit = NULL;
    trace->decoded = 0;
}

void eddy__trace_free_chunks(eddy_trace *trace)
{
    eddy__trace_forget(trace);
    while (trace->spares) {
        eddy__trace_chunk *chunk = trace->spares;

        trace->spares = chunk->next;
        free_chunk(trace, chunk);
    }
}
