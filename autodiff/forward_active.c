/*
 * Which nodes need a tangent: those through which some y depends on some x.
 *
 * Dependence follows data edges of dtypes that have gradients.  A handle
 * depends on what is put into its stack or array: once something that depends
 * is, all uses of it do.
 */
#include "autodiff/forward.h"

#include "core/base/status.h"

#include <string.h>

static bool is_op(const eddy__node *node, const char *op)
{
    return strcmp(node->op_name, op) == 0;
}

static bool is_gradient_array(const eddy__node *node)
{
    return is_op(node, "TensorArrayGradV3") ||
           is_op(node, "TensorArrayGradWithShape");
}

bool eddy__is_maker(const eddy__node *node)
{
    return is_op(node, "StackV2") || is_op(node, "Stack") ||
           is_op(node, "TensorArrayV3") || is_gradient_array(node);
}

/* Does the node put a value in? */
static bool is_writer(const eddy__node *node)
{
    return is_op(node, "StackPushV2") || is_op(node, "StackPush") ||
           is_op(node, "TensorArrayWriteV3") ||
           is_op(node, "TensorArrayScatterV3") ||
           is_op(node, "TensorArraySplitV3");
}

/* ---- makers ---- */

/* One step back on the way of a handle; none where it comes from. */
static eddy_output step_back(const eddy__forward *f, eddy_output handle)
{
    const eddy__node *n = eddy__graph_node(f->w.graph, handle.node);
    const eddy__tape *tape = eddy__tape_of(&f->w.tapes, handle.node);

    switch ((eddy__role)f->w.flow.role[handle.node]) {
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
        return eddy__graph_node(f->w.graph, tape->push)->inputs[1];
    return EDDY__NO_OUTPUT;
}

static eddy_node find_maker(const eddy__forward *f, eddy_output handle)
{
    for (size_t i = 0; i <= f->w.n_nodes; i++) {
        const eddy_output before = step_back(f, handle);

        if (!eddy__is_output(before))
            break;
        handle = before;
    }
    return eddy__is_maker(eddy__graph_node(f->w.graph, handle.node))
               ? f->maker[handle.node]
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
    const eddy__node *n = eddy__graph_node(f->w.graph, node);
    const eddy_node base = find_maker(f, n->inputs[0]);

    for (size_t i = 0; i < place; i++) {
        const eddy_node other = f->order[i];
        const eddy__node *o = eddy__graph_node(f->w.graph, other);

        if (is_gradient_array(o) && same_source(n, o) &&
            find_maker(f, o->inputs[0]) == base)
            return f->maker[other];
    }
    return node;
}

static void find_makers(eddy__forward *f)
{
    for (eddy_node v = 0; v < f->w.n_nodes; v++)
        f->maker[v] = EDDY_NO_NODE;
    for (size_t i = 0; i < f->n_order; i++) {
        const eddy_node v = f->order[i];
        const eddy__node *n = eddy__graph_node(f->w.graph, v);

        if (is_gradient_array(n))
            f->maker[v] = first_of_array(f, i);
        else if (eddy__is_maker(n))
            f->maker[v] = v;
        else if (is_writer(n))
            f->maker[v] = find_maker(f, n->inputs[0]);
    }
}

/* ---- forward from the xs ---- */

typedef struct marking {
    eddy__forward *f;
    eddy_node *list;
    size_t n;
} marking;

bool eddy__is_handle(const eddy__forward *f, eddy_output v)
{
    const eddy_dtype dtype = eddy_graph_output_dtype(f->w.graph, v);

    /* The reference of an old stack is one to its name. */
    return dtype == EDDY_RESOURCE ||
           (dtype == EDDY_STRING &&
            eddy__node_gives_reference(eddy__graph_node(f->w.graph, v.node),
                                       v.index));
}

static bool may_carry(const eddy__forward *f, eddy_output from)
{
    return eddy__is_handle(f, from) ||
           eddy__dtype_has_gradient(eddy_graph_output_dtype(f->w.graph, from));
}

static bool ends_dependence(const eddy__node *node)
{
    return !node->op || (node->op->flags & EDDY_OP_NOT_DIFFERENTIABLE) ||
           is_op(node, "StopGradient");
}

/* The edge over which the next iteration of a frame that is cut starts. */
static bool is_cut(const eddy__forward *f, eddy_node from, eddy__edge edge)
{
    return eddy__is_back_edge(&f->w.flow, from, edge.to, true) &&
           f->is_cut[f->w.analysis->node_frame[edge.to]];
}

static void mark(marking *m, eddy_node node, uint8_t bit)
{
    if (m->f->w.state[node] & (bit | EDDY__STOPPED))
        return;
    m->f->w.state[node] |= bit;
    m->list[m->n++] = node;
}

/* All nodes that make or, if `writers`, write what `maker` does. */
static void mark_array(marking *m, eddy_node maker, bool writers, uint8_t bit)
{
    for (size_t i = 0; maker != EDDY_NO_NODE && i < m->f->n_order; i++) {
        const eddy_node v = m->f->order[i];
        const bool makes = eddy__is_maker(eddy__graph_node(m->f->w.graph, v));

        if (m->f->maker[v] == maker && (makes || writers) &&
            (bit == EDDY__REACHED || (m->f->w.state[v] & EDDY__REACHED)))
            mark(m, v, bit);
    }
}

static bool is_x(const marking *m, eddy_output output)
{
    for (size_t i = 0; i < m->f->n_xs; i++)
        if (m->f->xs[i].node == output.node &&
            m->f->xs[i].index == output.index)
            return true;
    return false;
}

static void reach_readers(marking *m, eddy_node node, bool as_x)
{
    const eddy__flow *flow = &m->f->w.flow;

    for (size_t e = flow->first_out[node]; e < flow->first_out[node + 1]; e++) {
        const eddy__edge edge = flow->edge[e];
        const eddy__node *reader = eddy__flow_node(flow, edge.to);

        if (edge.input == EDDY__CONTROL || ends_dependence(reader) ||
            is_cut(m->f, node, edge) ||
            !may_carry(m->f, reader->inputs[edge.input]) ||
            (as_x && !is_x(m, reader->inputs[edge.input])))
            continue;
        mark(m, edge.to, EDDY__REACHED);
        mark_array(m, m->f->maker[edge.to], false, EDDY__REACHED);
    }
}

static void mark_reached(marking *m)
{
    for (size_t i = 0; i < m->f->n_xs; i++) {
        m->f->w.state[m->f->xs[i].node] |= EDDY__IS_X;
        reach_readers(m, m->f->xs[i].node, true);
    }
    for (size_t i = 0; i < m->n; i++)
        reach_readers(m, m->list[i], false);
}

/* ---- back from the ys ---- */

static bool is_reached(const eddy__forward *f, eddy_output from)
{
    return (f->w.state[from.node] & EDDY__REACHED) && may_carry(f, from);
}

static void mark_needed(marking *m, const eddy_output *ys, size_t n_ys)
{
    const eddy_graph *graph = m->f->w.graph;

    m->n = 0;
    for (size_t i = 0; i < n_ys; i++)
        if (is_reached(m->f, ys[i]))
            mark(m, ys[i].node, EDDY__NEEDED);
    for (size_t i = 0; i < m->n; i++) {
        const eddy__node *n = eddy__graph_node(graph, m->list[i]);

        for (uint32_t j = 0; j < n->n_inputs; j++)
            if (is_reached(m->f, n->inputs[j]))
                mark(m, n->inputs[j].node, EDDY__NEEDED);
        mark_array(m, m->f->maker[m->list[i]], true, EDDY__NEEDED);
    }
}

eddy_status eddy__forward_find_active(eddy__forward *f, const eddy_output *ys,
                                      size_t n_ys)
{
    marking m = {.f = f};

    m.list =
        eddy__arena_allocate(&f->w.arena, f->w.n_nodes + 1, sizeof *m.list);
    if (!m.list)
        return eddy__fail_memory(f->w.err);
    eddy__begin_marks(&f->w);
    find_makers(f);
    mark_reached(&m);
    mark_needed(&m, ys, n_ys);
    return EDDY_OK;
}
