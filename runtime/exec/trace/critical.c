/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The longest chain of work in a recorded run, and what a bound on parallel
 * iterations adds to it.
 *
 * Each record ends when the last of what it reads has ended and its own time
 * has passed, with as many workers as there is work.  An iteration that is
 * beyond a frame's parallel_iterations begins when the one so far before it has
 * ended.  Ends only grow, and are gone over until none does.
 */
#include "runtime/exec/trace/trace.h"

#include "core/base/status.h"

#include <string.h>

#define MOST_PASSES 64

typedef struct schedule {
    const eddy_trace *trace;
    eddy__arena arena;
    size_t n;
    uint32_t *first;     /* a record: its producers in `producers` */
    uint32_t *producers; /* records, or NONE */
    uint64_t *end;       /* a record */
    uint32_t *cause;     /* a record: what it waited for last, or NONE */
    size_t *base;        /* a frame: its iterations in `over` */
    uint64_t *over;      /* an iteration: when it has ended */
    uint32_t *closer;    /* an iteration: the record that ended last */
    size_t n_over;
    uint32_t frame, parallel; /* a static frame with another bound */
} schedule;

static size_t count_producers(const eddy_trace *trace)
{
    size_t total = 0;

    for (size_t i = 0; i < eddy__trace_kept(trace); i++) {
        const eddy_trace_node *node =
            &trace->nodes[eddy_trace_record_at(trace, i)->node];

        total += (size_t)node->n_inputs + node->n_controls;
    }
    return total;
}

static void list_producers(schedule *s)
{
    uint32_t at = 0;

    for (size_t i = 0; i < s->n; i++) {
        const eddy_trace_node *node =
            &s->trace->nodes[eddy_trace_record_at(s->trace, i)->node];

        s->first[i] = at;
        for (uint32_t k = 0; k < node->n_inputs + node->n_controls; k++) {
            const size_t from = eddy_trace_producer(s->trace, i, k);

            s->producers[at++] =
                from == EDDY_TRACE_NOT_FOUND ? EDDY_TRACE_NONE : (uint32_t)from;
        }
    }
    s->first[s->n] = at;
}

/* Room for every iteration that was recorded; false if they are too many. */
static bool number_iterations(schedule *s)
{
    const eddy_trace *trace = s->trace;
    size_t *most = eddy__arena_allocate_zeroed(&s->arena, trace->n_frames + 1,
                                               sizeof *most);

    s->base =
        eddy__arena_allocate(&s->arena, trace->n_frames + 1, sizeof *s->base);
    if (!most || !s->base)
        return false;
    for (size_t i = 0; i < s->n; i++) {
        const eddy_trace_record *r = eddy_trace_record_at(trace, i);

        if ((size_t)r->iteration + 1 > most[r->frame])
            most[r->frame] = (size_t)r->iteration + 1;
    }
    for (size_t f = 0; f < trace->n_frames; f++) {
        s->base[f] = s->n_over;
        s->n_over += most[f] + 1;
    }
    s->base[trace->n_frames] = s->n_over;
    s->over = eddy__arena_allocate(&s->arena, s->n_over, sizeof *s->over);
    s->closer = eddy__arena_allocate(&s->arena, s->n_over, sizeof *s->closer);
    return s->over && s->closer;
}

static bool allocate(schedule *s)
{
    s->n = eddy__trace_kept(s->trace);
    s->first = eddy__arena_allocate(&s->arena, s->n + 1, sizeof *s->first);
    s->producers = eddy__arena_allocate(&s->arena, count_producers(s->trace),
                                        sizeof *s->producers);
    s->end = eddy__arena_allocate(&s->arena, s->n, sizeof *s->end);
    s->cause = eddy__arena_allocate(&s->arena, s->n, sizeof *s->cause);
    return s->first && s->producers && s->end && s->cause &&
           number_iterations(s);
}

/* ---- going over it ---- */

static uint32_t bound_of(const schedule *s, uint32_t static_frame)
{
    return static_frame == s->frame
               ? s->parallel
               : s->trace->static_frames[static_frame].parallel_iterations;
}

/* What reads a NextIteration waits for room for its iteration. */
static void wait_for_room(const schedule *s, const eddy_trace_record *r,
                          uint32_t from, uint64_t *start, uint32_t *cause)
{
    const uint32_t bound = bound_of(s, s->trace->frames[r->frame].static_frame);
    size_t at;

    if (s->trace->nodes[eddy_trace_record_at(s->trace, from)->node].kind !=
            EDDY_TRACE_NEXT_ITERATION ||
        r->iteration < (int64_t)bound)
        return;
    at = s->base[r->frame] + (size_t)(r->iteration - (int64_t)bound);
    if (s->over[at] > *start) {
        *start = s->over[at];
        *cause = s->closer[at];
    }
}

/* It counts in its iteration and in those around it. */
static void close_iterations(schedule *s, size_t i, uint64_t end)
{
    const eddy_trace_record *r = eddy_trace_record_at(s->trace, i);
    uint32_t frame = r->frame;
    int64_t iteration = r->iteration;

    for (;;) {
        const size_t at = s->base[frame] + (size_t)iteration;

        if (s->over[at] < end) {
            s->over[at] = end;
            s->closer[at] = (uint32_t)i;
        }
        if (frame == 0)
            return;
        iteration = s->trace->frames[frame].parent_iteration;
        frame = s->trace->frames[frame].parent;
        if (s->base[frame] + (size_t)iteration >= s->base[frame + 1])
            return; /* nothing of it was recorded */
    }
}

/* True if some end has grown. */
static bool go_over(schedule *s)
{
    bool has_grown = false;

    for (size_t i = 0; i < s->n; i++) {
        const eddy_trace_record *r = eddy_trace_record_at(s->trace, i);
        uint32_t cause = EDDY_TRACE_NONE;
        uint64_t start = 0;

        for (uint32_t k = s->first[i]; k < s->first[i + 1]; k++) {
            const uint32_t from = s->producers[k];

            if (from == EDDY_TRACE_NONE)
                continue;
            if (s->end[from] > start) {
                start = s->end[from];
                cause = from;
            }
            wait_for_room(s, r, from, &start, &cause);
        }
        if (start + r->duration_ns > s->end[i]) {
            s->end[i] = start + r->duration_ns;
            s->cause[i] = cause;
            has_grown = true;
        }
        close_iterations(s, i, s->end[i]);
    }
    return has_grown;
}

static size_t find_last(const schedule *s)
{
    size_t last = 0;

    for (size_t i = 1; i < s->n; i++)
        if (s->end[i] > s->end[last])
            last = i;
    return last;
}

static void answer(const schedule *s, eddy_trace_link *links, size_t capacity,
                   size_t *out_n, uint64_t *out_ns)
{
    uint32_t at;

    *out_n = 0;
    *out_ns = 0;
    if (s->n == 0)
        return;
    at = (uint32_t)find_last(s);
    *out_ns = s->end[at];
    for (size_t n = 0; at != EDDY_TRACE_NONE && n < s->n; n++) {
        if (n < capacity) {
            links[n] =
                (eddy_trace_link){.record = at, .input = EDDY_TRACE_NONE};
            ++*out_n;
        }
        at = s->cause[at];
    }
}

/* NOLINTNEXTLINE(readability-function-size): a public call, two results. */
eddy_status eddy_trace_critical(eddy_trace *trace, uint32_t static_frame,
                                uint32_t parallel, eddy_trace_link *links,
                                size_t capacity, size_t *out_n,
                                uint64_t *out_ns, eddy_error *err)
{
    schedule s = {.trace = trace,
                  .arena = {.allocator = trace->allocator},
                  .frame = static_frame,
                  .parallel = parallel > 0 ? parallel : 1};
    bool is_made;

    EDDY_TRY(eddy_trace_index(trace, err));
    is_made = allocate(&s);
    if (is_made) {
        list_producers(&s);
        memset(s.end, 0, s.n * sizeof *s.end);
        memset(s.over, 0, s.n_over * sizeof *s.over);
        memset(s.cause, 0xff, s.n * sizeof *s.cause);
        memset(s.closer, 0xff, s.n_over * sizeof *s.closer);
        for (int pass = 0; pass < MOST_PASSES && go_over(&s); pass++)
            ;
        answer(&s, links, capacity, out_n, out_ns);
    }
    eddy__arena_destroy(&s.arena);
    return is_made ? EDDY_OK : eddy__fail_memory(err);
}
