/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise nodes that only one another reads become one (chains.h). */
#include "runtime/plan/chains.h"

#include "core/base/status.h"
#include "core/value/shape.h"
#include "ops/chain.h"
#include "runtime/plan/readers.h"

#include <string.h>

#define NONE UINT32_MAX
#define SEVERAL (UINT32_MAX - 1)

/* What is known of one node that a chain may hold. */
typedef struct candidate {
    eddy_node node;
    eddy__chain_op op;
    uint32_t n_unplaced; /* edges to candidates that are in no chain yet */
    uint32_t n_placed;   /* edges to members of chains */
    uint32_t chain;      /* that of all these members, NONE, or SEVERAL */
    uint32_t next;       /* in the chain: the one that was placed after */
} candidate;

/* Members from the last to the first: readers come before what they read. */
typedef struct chain {
    uint32_t first, last; /* candidates */
    uint32_t n;
    int64_t columns; /* of inputs that are repeated along rows; 0: none are */
} chain;

typedef struct joining {
    eddy__readers readers;
    const eddy_graph *graph;
    candidate *candidates;
    uint32_t n;
    uint32_t *candidate_of; /* a node: its number, or NONE */
    chain *chains;
    uint32_t n_chains;
    uint32_t *ready; /* candidates whose readers all have a chain */
    uint32_t n_ready;
} joining;

/* ---- candidates ---- */

static bool is_candidate(const joining *j, eddy_node v, eddy__chain_op *out_op)
{
    const eddy__node *node = eddy__graph_node(j->graph, v);
    const eddy_output result = {v, 0};
    const eddy_shape *shape;

    if (!eddy__selected(j->readers.build->selection, v) || !node->op ||
        node->n_controls > 0 || node->n_outputs != 1 || node->n_inputs == 0 ||
        eddy__is_fed(&j->readers, v) ||
        !eddy__chain_takes(node, (eddy_dtype)node->input_dtypes[0], out_op) ||
        out_op->output != (eddy_dtype)node->output_dtypes[0])
        return false;
    shape = eddy__seen_shape(&j->readers, result);
    return shape->rank > 0 && eddy__shape_is_known(shape);
}

static eddy_status find_candidates(joining *j, eddy__arena *scratch)
{
    const size_t n = j->graph->n_nodes;

    j->candidate_of = eddy__arena_allocate(scratch, n, sizeof *j->candidate_of);
    j->candidates = eddy__arena_allocate(scratch, n, sizeof *j->candidates);
    if (!j->candidate_of || !j->candidates)
        return eddy__fail_memory(j->readers.build->err);
    for (eddy_node v = 0; v < n; v++) {
        candidate *c = &j->candidates[j->n];

        *c = (candidate){.node = v, .chain = NONE, .next = NONE};
        j->candidate_of[v] = is_candidate(j, v, &c->op) ? j->n++ : NONE;
    }
    j->chains = eddy__arena_allocate(scratch, j->n, sizeof *j->chains);
    j->ready = eddy__arena_allocate(scratch, j->n, sizeof *j->ready);
    return j->chains && j->ready ? EDDY_OK
                                 : eddy__fail_memory(j->readers.build->err);
}

static candidate *maker_of(const joining *j, eddy_output output)
{
    const uint32_t i = j->candidate_of[output.node];

    return i == NONE ? NULL : &j->candidates[i];
}

/* ---- chains ---- */

/* Do the node's inputs fit its result, in rows like those of the chain? */
static bool inputs_fit(const joining *j, const candidate *c, int64_t *columns)
{
    const eddy__node *node = eddy__graph_node(j->graph, c->node);
    const eddy_output result = {c->node, 0};
    const eddy_shape *shape = eddy__seen_shape(&j->readers, result);

    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const eddy_shape *in = eddy__seen_shape(&j->readers, node->inputs[i]);
        int64_t n;
        eddy__chain_fit fit;

        if (!eddy__shape_is_known(in))
            return false;
        fit = eddy__chain_fit_of(in, shape, &n);
        if (fit == EDDY__CHAIN_NO_FIT ||
            (c->op.is_pair && fit != EDDY__CHAIN_WHOLE))
            return false;
        if (fit != EDDY__CHAIN_ROW && fit != EDDY__CHAIN_COLUMN)
            continue;
        if (*columns != 0 && *columns != n)
            return false;
        *columns = n;
    }
    return true;
}

/* Adds the candidate to the chain that alone reads it; false if none does. */
static bool join(joining *j, uint32_t i)
{
    candidate *c = &j->candidates[i];
    const eddy_output result = {c->node, 0};
    eddy_output other;
    int64_t columns;
    chain *to;

    if (c->chain >= SEVERAL || c->n_placed != j->readers.n[c->node])
        return false;
    to = &j->chains[c->chain];
    other = (eddy_output){j->candidates[to->first].node, 0};
    columns = to->columns;
    if (to->n == EDDY__CHAIN_MEMBERS ||
        !eddy__shape_equal(eddy__seen_shape(&j->readers, result),
                           eddy__seen_shape(&j->readers, other)) ||
        !inputs_fit(j, c, &columns))
        return false;
    to->columns = columns;
    j->candidates[to->last].next = i;
    to->last = i;
    to->n++;
    return true;
}

/* A chain that nothing joins if the node's own inputs do not fit. */
static void begin(joining *j, uint32_t i)
{
    chain *made = &j->chains[j->n_chains];

    *made = (chain){.first = i, .last = i, .n = 1};
    j->candidates[i].chain = j->n_chains++;
    if (!inputs_fit(j, &j->candidates[i], &made->columns))
        made->n = EDDY__CHAIN_MEMBERS;
}

/* The candidate has its chain: those that it reads may have theirs. */
static void release(joining *j, const candidate *c)
{
    const eddy__node *node = eddy__graph_node(j->graph, c->node);

    for (uint32_t i = 0; i < node->n_inputs; i++) {
        candidate *maker = maker_of(j, node->inputs[i]);

        if (!maker)
            continue;
        if (maker->n_placed++ == 0)
            maker->chain = c->chain;
        else if (maker->chain != c->chain)
            maker->chain = SEVERAL;
        if (--maker->n_unplaced == 0)
            j->ready[j->n_ready++] = (uint32_t)(maker - j->candidates);
    }
}

/*
 * Readers first: a candidate's chain is decided when those of all its readers
 * are.  Candidates are no Merges, so no circle leads through them alone.
 */
static void place_all(joining *j)
{
    for (uint32_t i = 0; i < j->n; i++) {
        const eddy__node *node =
            eddy__graph_node(j->graph, j->candidates[i].node);

        for (uint32_t k = 0; k < node->n_inputs; k++)
            if (maker_of(j, node->inputs[k]))
                maker_of(j, node->inputs[k])->n_unplaced++;
    }
    for (uint32_t i = 0; i < j->n; i++)
        if (j->candidates[i].n_unplaced == 0)
            j->ready[j->n_ready++] = i;
    while (j->n_ready > 0) {
        const uint32_t i = j->ready[--j->n_ready];

        if (!join(j, i))
            begin(j, i);
        release(j, &j->candidates[i]);
    }
}

/* ---- the node of a chain ---- */

typedef struct program {
    eddy_output inputs[EDDY__CHAIN_INPUTS];
    size_t n_inputs;
    eddy_node members[EDDY__CHAIN_MEMBERS]; /* from the first on */
    uint32_t n_members;
    eddy_string ops[EDDY__CHAIN_MEMBERS];
    eddy_dtype types[EDDY__CHAIN_MEMBERS];
    int64_t wires[2 * EDDY__CHAIN_MEMBERS];
    size_t n_wires;
} program;

static int64_t wire_to(program *p, eddy_output from)
{
    for (uint32_t i = 0; i < p->n_members; i++)
        if (p->members[i] == from.node)
            return -(int64_t)i - 1;
    for (size_t i = 0; i < p->n_inputs; i++)
        if (p->inputs[i].node == from.node && p->inputs[i].index == from.index)
            return (int64_t)i;
    p->inputs[p->n_inputs++] = from;
    return (int64_t)p->n_inputs - 1;
}

static void add_member(program *p, const eddy_graph *graph, eddy_node v)
{
    const eddy__node *node = eddy__graph_node(graph, v);

    for (uint32_t i = 0; i < node->n_inputs; i++)
        p->wires[p->n_wires++] = wire_to(p, node->inputs[i]);
    p->ops[p->n_members] = (eddy_string){node->op_name, strlen(node->op_name)};
    p->types[p->n_members] = (eddy_dtype)node->input_dtypes[0];
    p->members[p->n_members++] = v;
}

static eddy_attr list_of(eddy_attr attr, size_t n)
{
    attr.is_list = true;
    attr.n = n;
    return attr;
}

static eddy_status make_node(eddy_graph *copy, eddy_node v, const program *p,
                             eddy_error *err)
{
    const eddy_dtype dtype =
        (eddy_dtype)eddy__graph_node(copy, v)->output_dtypes[0];
    const eddy_attr attrs[] = {
        list_of(eddy_attr_string("ops", p->ops), p->n_members),
        list_of(eddy_attr_type("types", p->types), p->n_members),
        list_of(eddy_attr_int("wires", p->wires), p->n_wires),
        eddy_attr_type("T", &dtype),
    };
    const eddy_node_spec spec = {
        .size = sizeof spec,
        .op = EDDY__CHAIN,
        .inputs = p->inputs,
        .n_inputs = p->n_inputs,
        .attrs = attrs,
        .n_attrs = sizeof attrs / sizeof attrs[0],
    };

    return eddy__replace_node(copy, v, &spec, err);
}

static bool is_long(const chain *c, const joining *j)
{
    return c->n > 1 && j->candidates[c->first].next != NONE;
}

static eddy_status make_chain(const joining *j, const chain *c,
                              eddy_graph *copy)
{
    uint32_t order[EDDY__CHAIN_MEMBERS], n = 0;
    program p;

    for (uint32_t i = c->first; i != NONE; i = j->candidates[i].next)
        order[n++] = i;
    p.n_inputs = p.n_wires = p.n_members = 0;
    while (n > 0)
        add_member(&p, j->graph, j->candidates[order[--n]].node);
    return make_node(copy, j->candidates[c->first].node, &p,
                     j->readers.build->err);
}

static eddy_status make_chains(const joining *j, eddy_graph *copy)
{
    for (uint32_t i = 0; i < j->n_chains; i++)
        if (is_long(&j->chains[i], j))
            EDDY_TRY(make_chain(j, &j->chains[i], copy));
    return EDDY_OK;
}

eddy_status eddy__join_chains(const eddy__plan_build *build,
                              eddy__arena *scratch, eddy_graph **out_graph)
{
    joining j = {.graph = build->selection->graph};
    eddy_status status;
    uint32_t i = 0;

    *out_graph = NULL;
    if (build->options->optimize == EDDY_OPTIMIZE_NONE)
        return EDDY_OK;
    EDDY_TRY(eddy__count_readers(build, scratch, &j.readers));
    EDDY_TRY(find_candidates(&j, scratch));
    place_all(&j);
    while (i < j.n_chains && !is_long(&j.chains[i], &j))
        i++;
    if (i == j.n_chains)
        return EDDY_OK;
    EDDY_TRY(eddy__graph_clone(j.graph, build->budget, out_graph, build->err));
    status = make_chains(&j, *out_graph);
    if (status != EDDY_OK) {
        eddy_graph_destroy(*out_graph);
        *out_graph = NULL;
    }
    return status;
}
