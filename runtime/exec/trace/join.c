/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One trace of what several ranks have recorded of one execution.
 *
 * A place is known by the names and iterations of its frames on every rank
 * alike, so frames are joined by these, and what a _Recv waits for is found as
 * any other input is: the record of its _Send in the same iteration.
 */
#include "runtime/exec/trace/trace.h"

#include "core/base/map.h"
#include "core/base/status.h"
#include "core/edge.h"

#include <stdio.h>
#include <string.h>

typedef struct part {
    eddy_trace *trace;
    uint32_t rank;
    uint64_t shift_ns; /* from its begin to that of the first */
    uint32_t *node_of, *static_of, *frame_of; /* there, by what it is here */
    uint32_t n_ordered; /* nodes that have a place there */
    size_t n_read;      /* records likewise */
    uint64_t bytes;     /* in use after these */
} part;

typedef struct joint {
    eddy_trace *trace; /* what is made */
    part *parts;
    uint32_t n_parts;
    eddy__arena scratch;
    eddy__map names;  /* how many nodes are called so */
    eddy__map sends;  /* the node that sends on an edge */
    eddy__map frames; /* executions by PARENT/ITERATION/STATIC */
} joint;

static void *keep(joint *j, size_t n, size_t size)
{
    return eddy__arena_allocate_zeroed(&j->trace->arena, n, size);
}

static uint32_t *hold(joint *j, size_t n)
{
    return eddy__arena_allocate_zeroed(&j->scratch, n, sizeof(uint32_t));
}

/* ---- frames of the graphs ---- */

static uint32_t find_static(const eddy_trace *trace, const char *name,
                            uint32_t parent)
{
    for (uint32_t f = 1; f < trace->n_static_frames; f++)
        if (trace->static_frames[f].parent == parent &&
            strcmp(trace->static_frames[f].name, name) == 0)
            return f;
    return EDDY_TRACE_NONE;
}

/* Frame 0 is the root everywhere; parents come first. */
static bool join_static(joint *j, part *p)
{
    eddy_trace *to = j->trace;

    for (uint32_t f = 0; f < p->trace->n_static_frames; f++) {
        const eddy_trace_static_frame *own = &p->trace->static_frames[f];
        const uint32_t parent = p->static_of[own->parent];
        uint32_t at = f == 0 ? 0 : find_static(to, own->name, parent);

        if (at == EDDY_TRACE_NONE || to->n_static_frames == 0) {
            at = to->n_static_frames++;
            to->static_frames[at] = (eddy_trace_static_frame){
                .name =
                    eddy__arena_text(&to->arena, own->name, strlen(own->name)),
                .parent = parent,
                .parallel_iterations = own->parallel_iterations};
            if (!to->static_frames[at].name)
                return false;
        }
        p->static_of[f] = at;
    }
    return true;
}

/* ---- nodes ---- */

/* The edge of a _Send or a _Recv; NULL: the node is neither. */
static const eddy__edge_state *edge_of(const part *p, uint32_t node)
{
    const eddy__step *step = &p->trace->plan->steps[node];

    return step->kind == EDDY__STEP_TRANSFER ? step->node->state : NULL;
}

static bool is_send(const part *p, uint32_t node)
{
    return p->trace->nodes[node].n_outputs == 0;
}

static bool count_names(joint *j)
{
    for (uint32_t i = 0; i < j->n_parts; i++)
        for (uint32_t k = 0; k < j->parts[i].trace->n_nodes; k++) {
            const char *name = j->parts[i].trace->nodes[k].name;
            const uint32_t n = eddy__map_find(&j->names, name, strlen(name));

            if (!eddy__map_set(&j->names, name,
                               n == EDDY__NOT_FOUND ? 1 : n + 1))
                return false;
        }
    return true;
}

/* NAME@RANK if others have a node of that name. */
static const char *name_node(joint *j, const part *p, const char *name)
{
    const size_t n = strlen(name);
    char end[16] = "";
    char *text = keep(j, n + sizeof end, 1);

    if (eddy__map_find(&j->names, name, n) > 1)
        (void)snprintf(end, sizeof end, "@%u", (unsigned)p->rank);
    if (text) {
        memcpy(text, name, n);
        memcpy(text + n, end, sizeof end);
    }
    return text;
}

/* All but the inputs, which are of nodes that may come later. */
static bool add_node(joint *j, part *p)
{
    const uint32_t own = p->n_ordered++;
    const uint32_t id = j->trace->n_nodes++;
    eddy_trace_node *node = &j->trace->nodes[id];
    const eddy__edge_state *edge = edge_of(p, own);
    const size_t n_op = strlen(p->trace->nodes[own].op);

    *node = p->trace->nodes[own];
    node->rank = p->rank;
    node->frame = p->static_of[node->frame];
    node->output_frame = p->static_of[node->output_frame];
    node->name = name_node(j, p, node->name);
    node->op = eddy__arena_text(&j->trace->arena, node->op, n_op);
    p->node_of[own] = id;
    if (!node->name || !node->op)
        return false;
    return !edge || !is_send(p, own) ||
           eddy__map_set(&j->sends, edge->text, id);
}

static uint32_t sender_of(const joint *j, const part *p, uint32_t node)
{
    const eddy__edge_state *edge = edge_of(p, node);

    return edge && !is_send(p, node)
               ? eddy__map_find(&j->sends, edge->text, strlen(edge->text))
               : EDDY__NOT_FOUND;
}

/* Must what it receives be sent first, by a node that has no place yet? */
static bool must_wait(const joint *j, const part *p)
{
    return edge_of(p, p->n_ordered) && !is_send(p, p->n_ordered) &&
           sender_of(j, p, p->n_ordered) == EDDY__NOT_FOUND;
}

/* As far as it goes in this part; `by_force`: a node more. */
static bool order_part(joint *j, part *p, bool by_force, bool *out_moved)
{
    const uint32_t n = p->trace->n_nodes;

    while (p->n_ordered < n && (by_force || !must_wait(j, p))) {
        if (!add_node(j, p))
            return false;
        *out_moved = true;
        by_force = false;
    }
    return true;
}

/* Senders before receivers, but for what goes around by another rank. */
static bool order_nodes(joint *j)
{
    bool by_force = false, has_moved;

    do {
        has_moved = false;
        for (uint32_t i = 0; i < j->n_parts; i++)
            if (!order_part(j, &j->parts[i], by_force && !has_moved,
                            &has_moved))
                return false;
        by_force = !by_force && !has_moved;
    } while (has_moved || by_force);
    return true;
}

static bool join_inputs(joint *j, const part *p, uint32_t own)
{
    const eddy_trace_node *from = &p->trace->nodes[own];
    eddy_trace_node *to = &j->trace->nodes[p->node_of[own]];
    const uint32_t sender = sender_of(j, p, own);
    const uint32_t n = from->n_inputs + from->n_controls;
    eddy_trace_input *inputs = keep(j, (size_t)n + 1, sizeof *inputs);
    uint32_t at = 0;

    if (!inputs)
        return false;
    j->trace->joined->ends[p->node_of[own]] =
        (eddy__trace_end_node){.sender = sender};
    for (uint32_t k = 0; k < n; k++) {
        if (k == from->n_inputs && sender != EDDY__NOT_FOUND)
            at++;
        inputs[at++] =
            (eddy_trace_input){.node = p->node_of[from->inputs[k].node],
                               .output = from->inputs[k].output};
    }
    to->inputs = inputs;
    if (sender == EDDY__NOT_FOUND)
        return true;
    inputs[to->n_inputs++] = (eddy_trace_input){.node = sender};
    j->trace->joined->ends[p->node_of[own]].is_known_dead =
        edge_of(p, own)->is_known_dead;
    return true;
}

static bool join_graphs(joint *j)
{
    size_t n_nodes = 0, n_frames = 0;

    for (uint32_t i = 0; i < j->n_parts; i++) {
        n_nodes += j->parts[i].trace->n_nodes;
        n_frames += j->parts[i].trace->n_static_frames;
    }
    j->trace->nodes = keep(j, n_nodes, sizeof *j->trace->nodes);
    j->trace->static_frames =
        keep(j, n_frames, sizeof *j->trace->static_frames);
    j->trace->joined->ends = keep(j, n_nodes, sizeof *j->trace->joined->ends);
    if (!j->trace->nodes || !j->trace->static_frames ||
        !j->trace->joined->ends || !count_names(j))
        return false;
    for (uint32_t i = 0; i < j->n_parts; i++)
        if (!join_static(j, &j->parts[i]))
            return false;
    if (!order_nodes(j))
        return false;
    for (uint32_t i = 0; i < j->n_parts; i++)
        for (uint32_t k = 0; k < j->parts[i].trace->n_nodes; k++)
            if (!join_inputs(j, &j->parts[i], k))
                return false;
    return true;
}

/* ---- frames of the execution ---- */

static bool join_frame(joint *j, part *p, uint32_t own)
{
    const eddy_trace_frame *from = &p->trace->frames[own];
    eddy_trace *to = j->trace;
    char key[64];
    const int n = snprintf(key, sizeof key, "%u/%lld/%u",
                           (unsigned)p->frame_of[from->parent],
                           (long long)from->parent_iteration,
                           (unsigned)p->static_of[from->static_frame]);
    uint32_t at = own == 0 ? 0 : eddy__map_find(&j->frames, key, (size_t)n);
    const char *text;

    if (own > 0 && at == EDDY__NOT_FOUND) {
        at = (uint32_t)to->n_frames++;
        text = eddy__arena_text(&j->scratch, key, (size_t)n);
        if (!text || !eddy__map_set(&j->frames, text, at))
            return false;
        to->frames[at] =
            (eddy_trace_frame){.static_frame = p->static_of[from->static_frame],
                               .parent = p->frame_of[from->parent],
                               .parent_iteration = from->parent_iteration};
    }
    to->frames[at].is_known = true;
    to->frames[at].is_linear = to->frames[at].is_linear || from->is_linear;
    p->frame_of[own] = at;
    return true;
}

/* A frame's number is above that of the one that it was entered from. */
static bool join_frames(joint *j)
{
    eddy_trace *to = j->trace;

    to->frames_room = 1;
    for (uint32_t i = 0; i < j->n_parts; i++)
        to->frames_room += j->parts[i].trace->n_frames;
    to->frames = eddy__allocate_zeroed(to->allocator, to->frames_room,
                                       sizeof *to->frames);
    if (!to->frames)
        return false;
    to->n_frames = 1;
    for (uint32_t i = 0; i < j->n_parts; i++)
        for (uint32_t f = 0; f < j->parts[i].trace->n_frames; f++)
            if (j->parts[i].trace->frames[f].is_known &&
                !join_frame(j, &j->parts[i], f))
                return false;
    return true;
}

/* ---- records ---- */

static bool make_room(joint *j)
{
    eddy_trace *to = j->trace;

    for (uint32_t i = 0; i < j->n_parts; i++) {
        const eddy_trace *from = j->parts[i].trace;

        to->records_room += eddy__trace_kept(from);
        for (size_t k = 0; k < eddy__trace_kept(from); k++)
            to->values_room += eddy_trace_record_at(from, k)->n_values;
    }
    to->first_value_room = to->records_room;
    to->records =
        eddy__allocate(to->allocator, to->records_room, sizeof *to->records);
    to->first_value = eddy__allocate(to->allocator, to->records_room,
                                     sizeof *to->first_value);
    to->values =
        eddy__allocate(to->allocator, to->values_room, sizeof *to->values);
    return to->records && to->first_value && to->values;
}

/* When the next record of a part ends, on the common clock. */
static uint64_t next_end(const part *p)
{
    const eddy_trace_record *r = eddy_trace_record_at(p->trace, p->n_read);

    return p->shift_ns + r->start_ns + r->duration_ns;
}

/* The part whose record comes next; NULL: there is none. */
static part *next_part(const joint *j)
{
    part *best = NULL;

    for (uint32_t i = 0; i < j->n_parts; i++) {
        part *p = &j->parts[i];

        if (p->n_read < eddy__trace_kept(p->trace) &&
            (!best || next_end(p) < next_end(best)))
            best = p;
    }
    return best;
}

/* Addresses are those of one process; of several they get a rank. */
static uint64_t resource_of(const part *p, uint64_t resource)
{
    return resource == 0 ? 0 : resource << 10 ^ p->rank;
}

static void add_record(joint *j, part *p, size_t *n_values, uint64_t *bytes)
{
    const size_t own = p->n_read++;
    const uint64_t number = j->trace->totals.n_seen++;
    eddy_trace_record *r = &j->trace->records[number];

    *r = *eddy_trace_record_at(p->trace, own);
    *bytes += r->bytes - p->bytes;
    p->bytes = r->bytes;
    r->number = number;
    r->start_ns += p->shift_ns;
    r->bytes = *bytes;
    r->resource = resource_of(p, r->resource);
    r->frame = p->frame_of[r->frame];
    r->node = p->node_of[r->node];
    r->worker += j->trace->joined->first_worker[p->rank];
    j->trace->first_value[number] = *n_values;
    for (uint32_t k = 0; k < r->n_values; k++)
        j->trace->values[(*n_values)++] =
            *eddy_trace_value_at(p->trace, own, k);
}

static bool join_records(joint *j)
{
    size_t n_values = 0;
    uint64_t bytes = 0;
    part *p;

    if (!make_room(j))
        return false;
    while ((p = next_part(j)))
        add_record(j, p, &n_values, &bytes);
    return true;
}

/* What a _Send has sent is its value: that of the output which it reads. */
static void show_sent(eddy_trace *trace, size_t i)
{
    eddy_trace_record *r = &trace->records[i];
    const eddy_trace_input *edge = trace->nodes[r->node].inputs;
    const size_t from = eddy_trace_producer(trace, i, 0);
    const eddy_trace_record *made = eddy_trace_record_at(trace, from);
    const bool is_switch =
        made && trace->nodes[made->node].kind == EDDY_TRACE_SWITCH;
    const uint32_t k = is_switch ? 0 : edge->output;
    const eddy_trace_value *value = eddy_trace_value_at(trace, from, k);

    if (!value || r->state != EDDY_TRACE_LIVE)
        return;
    trace->first_value[i] = trace->first_value[from] + k;
    r->n_values = 1;
    r->is_non_finite = value->n_nan > 0 || value->n_infinite > 0;
}

static void show_all_sent(eddy_trace *trace)
{
    for (size_t i = 0; i < eddy__trace_kept(trace); i++) {
        const eddy_trace_record *r = &trace->records[i];
        const size_t sent = eddy_trace_message(trace, i);

        if (sent != EDDY_TRACE_NOT_FOUND && r->state == EDDY_TRACE_LIVE)
            show_sent(trace, sent);
    }
}

/* ---- totals ---- */

static void add_stats(eddy_stats *to, const eddy_stats *from)
{
    to->live_executions += from->live_executions;
    to->dead_executions += from->dead_executions;
    to->iterations += from->iterations;
    to->frames += from->frames;
    to->peak_bytes += from->peak_bytes;
    to->allocations += from->allocations;
    to->peak_suspended += from->peak_suspended;
}

/* Where the failure of one ends the others, it is that of the lowest rank. */
static void add_totals(eddy_trace_totals *to, const part *p)
{
    const eddy_trace_totals from = eddy_trace_total(p->trace);
    const uint64_t end = p->shift_ns + from.duration_ns;

    to->live += from.live;
    to->dead += from.dead;
    to->duration_ns = end > to->duration_ns ? end : to->duration_ns;
    add_stats(&to->stats, &from.stats);
    if (to->status == EDDY_OK || to->status == EDDY_ABORTED)
        to->status = from.status != EDDY_OK ? from.status : to->status;
}

static void join_totals(joint *j)
{
    eddy_trace *to = j->trace;
    uint64_t n_seen = 0;

    for (uint32_t i = 0; i < j->n_parts; i++) {
        n_seen += eddy_trace_total(j->parts[i].trace).n_seen;
        add_totals(&to->totals, &j->parts[i]);
    }
    to->n_lost = n_seen - to->totals.n_seen;
    to->totals.n_seen = n_seen;
    to->totals.n_workers = to->joined->first_worker[j->n_parts];
    to->max_records = EDDY_TRACE_NONE - 1;
    to->decoded = n_seen + 1;
}

/* ---- */

static bool begin_parts(joint *j, eddy_trace *const *traces)
{
    uint64_t first_ns = UINT64_MAX;

    j->parts =
        eddy__arena_allocate_zeroed(&j->scratch, j->n_parts, sizeof *j->parts);
    if (!j->parts)
        return false;
    for (uint32_t i = 0; i < j->n_parts; i++)
        if (traces[i]->began_ns < first_ns)
            first_ns = traces[i]->began_ns;
    for (uint32_t i = 0; i < j->n_parts; i++) {
        part *p = &j->parts[i];

        *p = (part){.trace = traces[i],
                    .rank = i,
                    .shift_ns = traces[i]->began_ns - first_ns,
                    .node_of = hold(j, traces[i]->n_nodes),
                    .static_of = hold(j, traces[i]->n_static_frames),
                    .frame_of = hold(j, traces[i]->n_frames + 1)};
        if (!p->node_of || !p->static_of || !p->frame_of ||
            !eddy__trace_decode(traces[i]))
            return false;
    }
    return true;
}

/* A rank that has run nothing has a worker, too. */
static bool number_workers(joint *j)
{
    eddy__trace_joined *to = keep(j, 1, sizeof *to);

    if (!to)
        return false;
    j->trace->joined = to;
    to->n_ranks = j->n_parts;
    to->first_worker =
        keep(j, (size_t)j->n_parts + 1, sizeof *to->first_worker);
    for (uint32_t i = 0; to->first_worker && i < j->n_parts; i++) {
        const uint32_t n = eddy_trace_total(j->parts[i].trace).n_workers;

        to->first_worker[i + 1] = to->first_worker[i] + (n > 0 ? n : 1);
    }
    return to->first_worker != NULL;
}

static bool join(joint *j, eddy_trace *const *traces)
{
    if (!begin_parts(j, traces) || !number_workers(j) || !join_graphs(j) ||
        !join_frames(j) || !join_records(j))
        return false;
    join_totals(j);
    return true;
}

eddy_status eddy__trace_join(eddy_trace *const *parts, uint32_t n_parts,
                             eddy_trace **out_trace, eddy_error *err)
{
    const eddy_allocator *allocator = parts[0]->allocator;
    eddy_trace *trace = eddy__allocate_zeroed(allocator, 1, sizeof *trace);
    joint j = {.trace = trace,
               .n_parts = n_parts,
               .scratch.allocator = allocator,
               .names.allocator = allocator,
               .sends.allocator = allocator,
               .frames.allocator = allocator};
    bool is_made;

    *out_trace = NULL;
    if (!trace)
        return eddy__fail_memory(err);
    trace->allocator = allocator;
    trace->arena.allocator = allocator;
    trace->plan = eddy_plan_retain(parts[0]->plan);
    is_made = join(&j, parts) && eddy_trace_index(trace, NULL) == EDDY_OK;
    eddy__map_deinit(&j.names);
    eddy__map_deinit(&j.sends);
    eddy__map_deinit(&j.frames);
    eddy__arena_destroy(&j.scratch);
    if (!is_made) {
        eddy_trace_destroy(trace);
        return eddy__fail_memory(err);
    }
    show_all_sent(trace);
    *out_trace = trace;
    return EDDY_OK;
}
