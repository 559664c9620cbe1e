/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which nodes need a tangent: those through which some y depends on some x.
 *
 * Dependence follows data edges of dtypes that have gradients.  A handle
 * depends on what is put into its stack or array: once something that depends
 * is, all uses of it do.
 */
#include "autodiff/forward.h"

#include <string.h>

static bool is_op(const eddy__node *node, const char *op)
{
    return strcmp(node->op_name, op) == 0;
}

/* Is it that op by a handle, by two strings or by a reference? */
static bool is_array_op(const eddy__node *node, const char *op)
{
    const size_t length = strlen(op);
    const char *form = node->op_name + length;

    return strncmp(node->op_name, op, length) == 0 &&
           (*form == '\0' || strcmp(form, "V2") == 0 ||
            strcmp(form, "V3") == 0);
}

static bool is_gradient_array(const eddy__node *node)
{
    return is_array_op(node, "TensorArrayGrad") ||
           is_op(node, "TensorArrayGradWithShape");
}

bool eddy__forward_allocates(const eddy__node *node)
{
    return is_op(node, "StackV2") || is_op(node, "Stack") ||
           is_array_op(node, "TensorArray") || is_gradient_array(node);
}

/* Does the node put a value in? */
static bool is_writer(const eddy__node *node)
{
    return is_op(node, "StackPushV2") || is_op(node, "StackPush") ||
           is_array_op(node, "TensorArrayWrite") ||
           is_array_op(node, "TensorArrayScatter") ||
           is_array_op(node, "TensorArraySplit");
}

/* ---- what allocates what a handle stands for ---- */

/* One step back on the way of a handle; none where it comes from. */
static eddy_output step_back(const eddy__forward *f, eddy_output handle)
{
    const eddy__node *n = eddy__graph_node(f->e.core.graph, handle.node);
    const eddy__tape_stack *tape = eddy__tape_of(&f->study.tapes, handle.node);

    switch ((eddy__role)f->study.flow.role[handle.node]) {
    case EDDY__ROLE_SWITCH:
    case EDDY__ROLE_MERGE:
    case EDDY__ROLE_ENTER:
    case EDDY__ROLE_EXIT:
    case EDDY__ROLE_NEXT_ITERATION:
    case EDDY__ROLE_FORWARD:
        return n->inputs[0];
    default:
        break;
    }
    /* A handle may itself have been put on a tape. */
    if (tape && tape->is_tape && tape->pop == handle.node)
        return eddy__graph_node(f->e.core.graph, tape->push)->inputs[1];
    return EDDY__NO_OUTPUT;
}

static eddy_node find_allocation(const eddy__forward *f, eddy_output handle)
{
    for (size_t i = 0; i <= f->study.n_nodes; i++) {
        const eddy_output before = step_back(f, handle);

        if (!eddy__output_exists(before))
            break;
        handle = before;
    }
    return eddy__forward_allocates(
               eddy__graph_node(f->e.core.graph, handle.node))
               ? f->allocated_by[handle.node]
               : EDDY_NO_NODE;
}

static bool same_source(const eddy__node *a, const eddy__node *b)
{
    const eddy_string x = eddy__node_string(a, "source");
    const eddy_string y = eddy__node_string(b, "source");

    return x.length == y.length && memcmp(x.data, y.data, x.length) == 0;
}

/* Nodes that ask for one array of gradients count as the first of them. */
static eddy_node first_of_array(const eddy__forward *f, size_t place)
{
    const eddy_node node = f->order[place];
    const eddy__node *n = eddy__graph_node(f->e.core.graph, node);
    const eddy_node base = find_allocation(f, n->inputs[0]);

    for (size_t i = 0; i < place; i++) {
        const eddy_node other = f->order[i];
        const eddy__node *o = eddy__graph_node(f->e.core.graph, other);

        if (is_gradient_array(o) && same_source(n, o) &&
            find_allocation(f, o->inputs[0]) == base)
            return f->allocated_by[other];
    }
    return node;
}

static void find_allocations(eddy__forward *f)
{
    for (eddy_node v = 0; v < f->study.n_nodes; v++)
        f->allocated_by[v] = EDDY_NO_NODE;
    for (size_t i = 0; i < f->n_order; i++) {
        const eddy_node v = f->order[i];
        const eddy__node *n = eddy__graph_node(f->e.core.graph, v);

        if (is_gradient_array(n))
            f->allocated_by[v] = first_of_array(f, i);
        else if (eddy__forward_allocates(n))
            f->allocated_by[v] = v;
        else if (is_writer(n))
            f->allocated_by[v] = find_allocation(f, n->inputs[0]);
    }
}

/* ---- forward from the xs ---- */

typedef struct marking {
    eddy__forward *f;
    eddy_node *list;
    size_t n;
} marking;

bool eddy__forward_is_handle(const eddy__forward *f, eddy_output v)
{
    const eddy_dtype dtype = eddy_graph_output_dtype(f->e.core.graph, v);

    /* The reference of an old stack is one to its name. */
    return dtype == EDDY_RESOURCE ||
           (dtype == EDDY_STRING &&
            (eddy__node_gives_reference(
                 eddy__graph_node(f->e.core.graph, v.node), v.index) ||
             find_allocation(f, v) != EDDY_NO_NODE));
}

static bool may_carry(const eddy__forward *f, eddy_output from)
{
    return eddy__forward_is_handle(f, from) ||
           eddy__study_has_gradient(
               eddy_graph_output_dtype(f->e.core.graph, from));
}

/* The edge over which the next iteration of a frame that is cut starts. */
static bool is_cut(const eddy__forward *f, eddy_node from, eddy__flow_edge edge)
{
    return eddy__is_back_edge(&f->study.flow, from, edge.to, true) &&
           f->is_cut[f->study.analysis->node_frame[edge.to]];
}

static void mark(marking *m, eddy_node node, uint8_t bit)
{
    if (m->f->activity.state[node] & (bit | EDDY__STOPPED))
        return;
    m->f->activity.state[node] |= bit;
    m->list[m->n++] = node;
}

/* All nodes that allocate or, if `writers`, write what `allocation` does. */
static void mark_array(marking *m, eddy_node allocation, bool writers,
                       uint8_t bit)
{
    for (size_t i = 0; allocation != EDDY_NO_NODE && i < m->f->n_order; i++) {
        const eddy_node v = m->f->order[i];
        const bool allocates =
            eddy__forward_allocates(eddy__graph_node(m->f->e.core.graph, v));

        if (m->f->allocated_by[v] == allocation && (allocates || writers) &&
            (bit == EDDY__REACHED || (m->f->activity.state[v] & EDDY__REACHED)))
            mark(m, v, bit);
    }
}

static bool is_x(const marking *m, eddy_output output)
{
    for (size_t i = 0; i < m->f->asked.n_xs; i++)
        if (m->f->asked.xs[i].node == output.node &&
            m->f->asked.xs[i].index == output.index)
            return true;
    return false;
}

static void reach_readers(marking *m, eddy_node node, bool as_x)
{
    const eddy__flow *flow = &m->f->study.flow;

    for (size_t e = flow->first_out[node]; e < flow->first_out[node + 1]; e++) {
        const eddy__flow_edge edge = flow->edge[e];
        const eddy__node *reader = eddy__flow_node(flow, edge.to);

        if (edge.input == EDDY__CONTROL || eddy__activity_ends(reader) ||
            is_cut(m->f, node, edge) ||
            !may_carry(m->f, reader->inputs[edge.input]) ||
            (as_x && !is_x(m, reader->inputs[edge.input])))
            continue;
        mark(m, edge.to, EDDY__REACHED);
        mark_array(m, m->f->allocated_by[edge.to], false, EDDY__REACHED);
    }
}

static void mark_reached(marking *m)
{
    for (size_t i = 0; i < m->f->asked.n_xs; i++) {
        m->f->activity.state[m->f->asked.xs[i].node] |= EDDY__IS_X;
        reach_readers(m, m->f->asked.xs[i].node, true);
    }
    for (size_t i = 0; i < m->n; i++)
        reach_readers(m, m->list[i], false);
}

/* ---- back from the ys ---- */

static bool is_reached(const eddy__forward *f, eddy_output from)
{
    return (f->activity.state[from.node] & EDDY__REACHED) && may_carry(f, from);
}

static void mark_needed(marking *m)
{
    const eddy_graph *graph = m->f->e.core.graph;
    const eddy_output *ys = m->f->asked.ys;

    m->n = 0;
    for (size_t i = 0; i < m->f->asked.n_ys; i++)
        if (is_reached(m->f, ys[i]))
            mark(m, ys[i].node, EDDY__NEEDED);
    for (size_t i = 0; i < m->n; i++) {
        const eddy__node *n = eddy__graph_node(graph, m->list[i]);

        for (uint32_t j = 0; j < n->n_inputs; j++)
            if (is_reached(m->f, n->inputs[j]))
                mark(m, n->inputs[j].node, EDDY__NEEDED);
        mark_array(m, m->f->allocated_by[m->list[i]], true, EDDY__NEEDED);
    }
}

eddy_status eddy__forward_find_active(eddy__forward *f)
{
    marking m = {.f = f};

    m.list = eddy__emit_room(&f->e, f->study.n_nodes + 1, sizeof *m.list);
    if (!m.list)
        return f->e.core.status;
    eddy__activity_begin(&f->activity);
    find_allocations(f);
    mark_reached(&m);
    mark_needed(&m);
    return EDDY_OK;
}
