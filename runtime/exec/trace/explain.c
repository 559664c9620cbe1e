/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a token is dead, and where a NaN or an infinity comes from: walks back
 * along what was read, a record at a time.
 *
 * Both walks end: a record's producers came before it, and each link is one.
 */
#include "runtime/exec/trace/trace.h"

typedef struct chain {
    eddy_trace_link *links;
    size_t n, capacity;
} chain;

/* False when it is full. */
static bool add_link(chain *c, size_t record)
{
    if (c->n == c->capacity)
        return false;
    c->links[c->n++] =
        (eddy_trace_link){.record = record, .input = EDDY_TRACE_NONE};
    return true;
}

static const eddy_trace_node *node_of(const eddy_trace *trace,
                                      const eddy_trace_record *r)
{
    return &trace->nodes[r->node];
}

static uint32_t n_edges(const eddy_trace_node *node)
{
    return node->n_inputs + node->n_controls;
}

/* ---- why dead ---- */

/* Is what record `from` put out on that edge dead? */
static bool is_dead_edge(const eddy_trace *trace, const eddy_trace_record *from,
                         const eddy_trace_input *edge)
{
    if (from->state == EDDY_TRACE_DEAD)
        return true;
    return node_of(trace, from)->kind == EDDY_TRACE_SWITCH &&
           edge->output != EDDY_TRACE_NONE && edge->output != from->output;
}

/*
 * The in-edge by which record `i` died: a live Switch that chose otherwise
 * before all others, since it is the end of the answer.
 */
static size_t find_killer(const eddy_trace *trace, size_t i, uint32_t *out_k)
{
    const eddy_trace_node *node =
        node_of(trace, eddy_trace_record_at(trace, i));
    size_t killer = EDDY_TRACE_NOT_FOUND;

    for (uint32_t k = 0; k < n_edges(node); k++) {
        const size_t at = eddy_trace_producer(trace, i, k);
        const eddy_trace_record *from = eddy_trace_record_at(trace, at);

        if (!from || !is_dead_edge(trace, from, &node->inputs[k]))
            continue;
        if (killer == EDDY_TRACE_NOT_FOUND) {
            killer = at;
            *out_k = k;
        }
        if (from->state != EDDY_TRACE_DEAD) {
            *out_k = k;
            return at;
        }
    }
    return killer;
}

size_t eddy_trace_why_dead(const eddy_trace *trace, size_t i,
                           eddy_trace_link *links, size_t capacity,
                           eddy_trace_end *out_end)
{
    chain c = {.links = links, .capacity = capacity};
    const eddy_trace_record *r = eddy_trace_record_at(trace, i);

    *out_end = EDDY_TRACE_END_NO_REASON;
    if (!r || r->state != EDDY_TRACE_DEAD)
        return 0;
    for (;;) {
        *out_end = EDDY_TRACE_END_CUT;
        if (!add_link(&c, i))
            return c.n;
        r = eddy_trace_record_at(trace, i);
        *out_end = EDDY_TRACE_END_SWITCH;
        if (r->state != EDDY_TRACE_DEAD)
            return c.n;
        *out_end = EDDY_TRACE_END_UNKNOWN;
        i = find_killer(trace, i, &c.links[c.n - 1].input);
        if (i == EDDY_TRACE_NOT_FOUND)
            return c.n;
    }
}

/* ---- where a NaN or an infinity comes from ---- */

static bool is_bad(const eddy_trace_value *value)
{
    return value && (value->n_nan > 0 || value->n_infinite > 0);
}

/* The output on an edge, of the record that made it; NULL: not kept. */
static const eddy_trace_value *edge_value(const eddy_trace *trace, size_t from,
                                          const eddy_trace_input *edge)
{
    const eddy_trace_record *r = eddy_trace_record_at(trace, from);

    if (edge->output == EDDY_TRACE_NONE)
        return NULL;
    return eddy_trace_value_at(
        trace, from,
        node_of(trace, r)->kind == EDDY_TRACE_SWITCH ? 0 : edge->output);
}

/* What record `i` read that was not finite. */
static size_t find_bad_input(const eddy_trace *trace, size_t i, uint32_t *out_k,
                             bool *out_is_known)
{
    const eddy_trace_record *r = eddy_trace_record_at(trace, i);
    const eddy_trace_node *node = node_of(trace, r);

    *out_is_known = true;
    for (uint32_t k = 0; k < node->n_inputs; k++) {
        const size_t at = eddy_trace_producer(trace, i, k);

        if (node->kind == EDDY_TRACE_MERGE && k != r->output)
            continue;
        if (at == EDDY_TRACE_NOT_FOUND)
            *out_is_known = *out_is_known &&
                            trace->nodes[node->inputs[k].node].is_dissolved;
        else if (is_bad(edge_value(trace, at, &node->inputs[k]))) {
            *out_k = k;
            return at;
        }
    }
    return EDDY_TRACE_NOT_FOUND;
}

/* Who put it into what `i` reads by a handle. */
static size_t find_writer(const eddy_trace *trace, size_t i)
{
    const eddy_trace_record *r = eddy_trace_record_at(trace, i);
    const uint64_t resource = r->resource;
    const uint32_t pair = trace->pair_of[i];
    bool is_known;
    uint32_t k;

    if (resource == 0)
        return EDDY_TRACE_NOT_FOUND;
    if (pair != EDDY_TRACE_NONE && trace->pairs[pair].pop == i)
        return trace->pairs[pair].push;
    while (i-- > 0) {
        r = eddy_trace_record_at(trace, i);
        if (r->resource == resource && r->state == EDDY_TRACE_LIVE &&
            node_of(trace, r)->kind == EDDY_TRACE_OP &&
            find_bad_input(trace, i, &k, &is_known) != EDDY_TRACE_NOT_FOUND)
            return i;
    }
    return EDDY_TRACE_NOT_FOUND;
}

size_t eddy_trace_origin(const eddy_trace *trace, size_t i,
                         eddy_trace_link *links, size_t capacity,
                         eddy_trace_end *out_end)
{
    chain c = {.links = links, .capacity = capacity};
    const eddy_trace_record *r = eddy_trace_record_at(trace, i);

    *out_end = EDDY_TRACE_END_NO_REASON;
    if (!r || !trace->is_indexed || !r->is_non_finite)
        return 0;
    for (;;) {
        bool is_known = true;
        size_t from;

        *out_end = EDDY_TRACE_END_CUT;
        if (!add_link(&c, i))
            return c.n;
        from = find_bad_input(trace, i, &c.links[c.n - 1].input, &is_known);
        if (from == EDDY_TRACE_NOT_FOUND)
            from = find_writer(trace, i);
        *out_end = is_known ? EDDY_TRACE_END_SOURCE : EDDY_TRACE_END_UNKNOWN;
        if (from == EDDY_TRACE_NOT_FOUND)
            return c.n;
        i = from;
    }
}
