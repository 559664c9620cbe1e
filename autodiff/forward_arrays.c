/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks and arrays in forward mode: which node allocates what a handle stands
 * for, and which uses it has.
 */
#include "autodiff/forward.h"

#include "core/base/map.h"
#include "core/base/status.h"

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

/* Where a handle comes from; every node on the way learns it. */
static eddy_node find_origin(const eddy__forward *f, eddy_node node)
{
    eddy_node at = node, origin, before;
    size_t n = 0;

    /* A way that goes round in a circle has no origin: any node of it does. */
    while (f->origin[at] == EDDY_NO_NODE && n++ <= f->study.n_nodes) {
        before = step_back(f, (eddy_output){at, 0}).node;
        if (before == EDDY_NO_NODE)
            break;
        at = before;
    }
    origin = f->origin[at] == EDDY_NO_NODE ? at : f->origin[at];
    for (at = node; f->origin[at] == EDDY_NO_NODE; at = before) {
        f->origin[at] = origin;
        before = step_back(f, (eddy_output){at, 0}).node;
        if (before == EDDY_NO_NODE)
            break;
    }
    return origin;
}

static eddy_node find_allocation(const eddy__forward *f, eddy_output handle)
{
    const eddy_node origin = find_origin(f, handle.node);

    return eddy__forward_allocates(eddy__graph_node(f->e.core.graph, origin))
               ? f->allocated_by[origin]
               : EDDY_NO_NODE;
}

static bool same_source(const eddy__node *a, const eddy__node *b)
{
    const eddy_string x = eddy__node_string(a, "source");
    const eddy_string y = eddy__node_string(b, "source");

    return x.length == y.length && memcmp(x.data, y.data, x.length) == 0;
}

/*
 * Nodes that ask for one array of gradients count as the first of them.  In
 * `firsts` that is found by what is differentiated and the hash of the source,
 * with the next number where two sources have one hash.
 */
static eddy_node first_of_array(eddy__forward *f, eddy__output_map *firsts,
                                eddy_node node)
{
    const eddy__node *n = eddy__graph_node(f->e.core.graph, node);
    const eddy_node base = find_allocation(f, n->inputs[0]);
    const eddy_output key = {
        base == EDDY_NO_NODE ? (eddy_node)f->study.n_nodes : base, 0};
    const eddy_string source = eddy__node_string(n, "source");
    uint64_t tag = (uint64_t)eddy__map_hash(source.data, source.length) << 32;
    eddy_output first;

    while ((first = eddy__output_map_find(firsts, key, tag)).node !=
           EDDY_NO_NODE) {
        if (same_source(n, eddy__graph_node(f->e.core.graph, first.node)))
            return first.node;
        tag++;
    }
    eddy__emit_keep(&f->e, firsts, key, tag, (eddy_output){node, 0});
    return node;
}

static void find_allocations(eddy__forward *f, eddy__output_map *firsts)
{
    for (size_t i = 0; i < f->n_order; i++) {
        const eddy_node v = f->order[i];
        const eddy__node *n = eddy__graph_node(f->e.core.graph, v);

        if (is_gradient_array(n))
            f->allocated_by[v] = first_of_array(f, firsts, v);
        else if (eddy__forward_allocates(n))
            f->allocated_by[v] = v;
        else if (is_writer(n))
            f->allocated_by[v] = find_allocation(f, n->inputs[0]);
    }
}

static void list_uses(eddy__forward *f)
{
    for (size_t i = f->n_order; i-- > 0;) {
        const eddy_node v = f->order[i], by = f->allocated_by[v];

        if (by == EDDY_NO_NODE)
            continue;
        f->next_use[v] = f->first_use[by];
        f->first_use[by] = v;
    }
}

/* A list of as many nodes as there are, all of them NO_NODE. */
static eddy_node *no_nodes(eddy__forward *f)
{
    eddy_node *list = eddy__emit_room(&f->e, f->study.n_nodes, sizeof *list);

    for (size_t i = 0; list && i < f->study.n_nodes; i++)
        list[i] = EDDY_NO_NODE;
    return list;
}

eddy_status eddy__forward_find_arrays(eddy__forward *f)
{
    eddy__output_map firsts = {.allocator = f->e.arena.allocator};

    f->allocated_by = no_nodes(f);
    f->first_use = no_nodes(f);
    f->next_use = no_nodes(f);
    f->origin = no_nodes(f);
    EDDY_TRY(f->e.core.status);
    find_allocations(f, &firsts);
    eddy__output_map_deinit(&firsts);
    list_uses(f);
    return f->e.core.status;
}

/* ---- handles ---- */

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
