/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads, in the body of a loop, of an array that one scatter has filled.
 *
 * Such a read gives a row of the tensor that was scattered.  A gradient
 * that is asked for in the body, one an iteration, must not go through the
 * array: there is one array of gradients for all iterations, and trips that are
 * made again would read items that are gone.  So a Gather of the tensor, which
 * enters the loop beside the flow, takes the place of the read: the values are
 * the same, and it has no state.
 */
#include "autodiff/array_reads.h"

#include "core/base/status.h"
#include "core/graph/names.h"

#include <string.h>

/* A flow may come to its read through so many Enters and Switches. */
#define MOST_HOPS 64

typedef struct hop {
    eddy_output at;   /* an output of an Enter or a Switch of the flow */
    eddy_node filler; /* the scatter that it comes from */
    eddy_output made; /* the tensor beside it */
} hop;

typedef struct rewriting {
    eddy_graph *graph;
    const char *prefix;
    size_t n_nodes;
    eddy__arena arena;
    uint8_t *seen;
    eddy_node *list; /* what the ys come from */
    size_t n;
    hop *hops;
    size_t n_hops, hops_capacity;
    eddy_output *gathers; /* by read: in place of it */
    eddy_error *err;
} rewriting;

static const eddy__node *node_at(const rewriting *r, eddy_node node)
{
    return eddy__graph_node(r->graph, node);
}

static bool is_op(const rewriting *r, eddy_node node, const char *op)
{
    return strcmp(node_at(r, node)->op_name, op) == 0;
}

/* ---- what comes from where ---- */

/* Past Identities. */
static eddy_output skip(const rewriting *r, eddy_output v)
{
    while (eddy__node_role(node_at(r, v.node)) == EDDY__ROLE_FORWARD &&
           node_at(r, v.node)->n_inputs == 1)
        v = node_at(r, v.node)->inputs[0];
    return v;
}

/* Does it bring its input 0 into a loop, or a branch, unchanged? */
static bool is_hop(const rewriting *r, eddy_output v)
{
    const eddy__node *node = node_at(r, v.node);
    const eddy__role role = eddy__node_role(node);

    return role == EDDY__ROLE_SWITCH ||
           (role == EDDY__ROLE_ENTER && eddy__node_bool(node, "is_constant"));
}

static eddy_output origin(const rewriting *r, eddy_output v)
{
    v = skip(r, v);
    for (int i = 0; i < MOST_HOPS && is_hop(r, v); i++)
        v = skip(r, node_at(r, v.node)->inputs[0]);
    return v;
}

static bool is_constant_int(const rewriting *r, eddy_output v, int32_t wanted)
{
    const eddy_tensor *tensor;

    v = skip(r, v);
    if (eddy__node_role(node_at(r, v.node)) != EDDY__ROLE_CONST)
        return false;
    tensor = eddy__node_attr(node_at(r, v.node), "value")->as.tensors[0];
    return eddy_tensor_dtype(tensor) == EDDY_INT32 &&
           eddy_tensor_count(tensor) == 1 &&
           *(const int32_t *)eddy_tensor_data(tensor) == wanted;
}

/* Is it 0, 1, 2, ...? */
static bool is_range(const rewriting *r, eddy_output v)
{
    const eddy__node *node;

    v = skip(r, v);
    node = node_at(r, v.node);
    if (is_op(r, v.node, "Range"))
        return is_constant_int(r, node->inputs[0], 0) &&
               is_constant_int(r, node->inputs[2], 1);
    if (eddy__node_role(node) == EDDY__ROLE_CONST) {
        const eddy_tensor *tensor =
            eddy__node_attr(node, "value")->as.tensors[0];
        const int32_t *elements = eddy_tensor_data(tensor);
        bool is = eddy_tensor_dtype(tensor) == EDDY_INT32;

        for (int64_t i = 0; is && i < eddy_tensor_count(tensor); i++)
            is = elements[i] == i;
        return is;
    }
    return false;
}

/*
 * The scatter that has filled what the node reads, from the first item on and
 * at once; EDDY_NO_NODE if it is not that simple.
 */
static eddy_node find_filler(const rewriting *r, eddy_node read)
{
    const eddy__node *node = node_at(r, read);
    const eddy_output array = origin(r, node->inputs[0]);
    const eddy_output flow = origin(r, node->inputs[2]);
    const eddy__node *filler = node_at(r, flow.node);
    eddy_output first;

    if (!is_op(r, array.node, "TensorArrayV3") ||
        !is_op(r, flow.node, "TensorArrayScatterV3") ||
        origin(r, filler->inputs[0]).node != array.node ||
        !is_range(r, filler->inputs[1]))
        return EDDY_NO_NODE;
    first = origin(r, filler->inputs[3]);
    return first.node == array.node && first.index == 1 ? flow.node
                                                        : EDDY_NO_NODE;
}

/* ---- the tensor beside the flow ---- */

static eddy_status add(rewriting *r, const char *op, eddy_node like,
                       eddy_node_spec *spec, eddy_output *out)
{
    eddy__emitter emitter = {.graph = r->graph, .err = r->err};

    spec->op = op;
    *out = eddy__emitter_add_as(&emitter,
                                eddy__names_print(&r->arena, "%s/rows/%s",
                                                  r->prefix,
                                                  node_at(r, like)->name),
                                spec);
    return emitter.status;
}

/* The same Enter or Switch, of another value. */
static eddy_status repeat(rewriting *r, eddy_output at, eddy_output value,
                          eddy_output *out)
{
    const eddy__node node = *node_at(r, at.node);
    const bool is_switch = eddy__node_role(&node) == EDDY__ROLE_SWITCH;
    eddy_output inputs[2] = {value, {0, 0}};
    eddy_attr attrs[3];
    eddy_node_spec spec = {.inputs = inputs,
                           .n_inputs = node.n_inputs,
                           .controls = node.controls,
                           .n_controls = node.n_controls};

    if (is_switch) {
        inputs[1] = node.inputs[1];
    } else {
        attrs[0] = *eddy__node_attr(&node, "frame_name");
        attrs[1] = *eddy__node_attr(&node, "is_constant");
        attrs[2] = *eddy__node_attr(&node, "parallel_iterations");
        spec.attrs = attrs;
        spec.n_attrs = 3;
    }
    EDDY_TRY(add(r, node.op_name, at.node, &spec, out));
    out->index = at.index;
    return EDDY_OK;
}

static const hop *find_hop(const rewriting *r, eddy_output at, eddy_node filler)
{
    for (size_t i = 0; i < r->n_hops; i++)
        if (r->hops[i].at.node == at.node && r->hops[i].at.index == at.index &&
            r->hops[i].filler == filler)
            return &r->hops[i];
    return NULL;
}

/* The tensor that was scattered, where the flow `v` is. */
static eddy_status bring(rewriting *r, eddy_output v, eddy_node filler,
                         eddy_output *out)
{
    eddy_output hops[MOST_HOPS];
    int n = 0;

    *out = node_at(r, filler)->inputs[2];
    for (v = skip(r, v); is_hop(r, v) && n < MOST_HOPS;
         v = skip(r, node_at(r, v.node)->inputs[0]))
        hops[n++] = v;
    while (n-- > 0) {
        const hop *known = find_hop(r, hops[n], filler);
        hop made = {.at = hops[n], .filler = filler};

        if (known) {
            *out = known->made;
            continue;
        }
        EDDY_TRY(repeat(r, hops[n], *out, &made.made));
        if (!eddy__grow(r->arena.allocator, (void **)&r->hops,
                        &r->hops_capacity, r->n_hops + 1, sizeof made))
            return eddy__fail_memory(r->err);
        r->hops[r->n_hops++] = made;
        *out = made.made;
    }
    return EDDY_OK;
}

static eddy_status replace(rewriting *r, eddy_node read)
{
    const eddy__node node = *node_at(r, read);
    const eddy_node filler = find_filler(r, read);
    eddy_output inputs[2] = {{0, 0}, node.inputs[1]};
    eddy_node_spec spec = {.inputs = inputs,
                           .n_inputs = 2,
                           .controls = node.controls,
                           .n_controls = node.n_controls};

    if (filler == EDDY_NO_NODE)
        return EDDY_OK;
    EDDY_TRY(bring(r, node.inputs[2], filler, &inputs[0]));
    r->gathers[read].index = 0;
    return add(r, "Gather", read, &spec, &r->gathers[read]);
}

/* ---- which reads ---- */

/*
 * Does `v` live in a loop?  Any way back to where the graph begins tells: into
 * a frame leads an Enter, out of it an Exit.
 */
static bool is_in_loop(const rewriting *r, eddy_output v)
{
    int64_t depth = 0;

    for (size_t i = 0; i < r->n_nodes; i++) {
        const eddy__node *node = node_at(r, v.node);
        const eddy__role role = eddy__node_role(node);

        depth += (role == EDDY__ROLE_ENTER) - (role == EDDY__ROLE_EXIT);
        if (node->n_inputs > 0)
            v = node->inputs[0];
        else if (node->n_controls > 0)
            v.node = node->controls[0];
        else
            return depth > 0;
    }
    return true;
}

static void reach(rewriting *r, eddy_node node)
{
    if (r->seen[node])
        return;
    r->seen[node] = 1;
    r->list[r->n++] = node;
}

static void reach_all(rewriting *r, const eddy_output *ys, size_t n_ys)
{
    for (size_t i = 0; i < n_ys; i++)
        reach(r, ys[i].node);
    for (size_t i = 0; i < r->n; i++) {
        const eddy__node *node = node_at(r, r->list[i]);

        for (uint32_t k = 0; k < node->n_inputs; k++)
            reach(r, node->inputs[k].node);
        for (uint32_t k = 0; k < node->n_controls; k++)
            reach(r, node->controls[k]);
    }
}

/* Is it asked for by name? */
static bool is_listed(eddy_node node, const eddy_output *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].node == node)
            return true;
    return false;
}

/* Nothing can fail here: the gathers are of the dtype of the reads. */
static void lead_readers(const rewriting *r)
{
    for (eddy_node v = 0; v < r->n_nodes; v++) {
        const eddy__node *node = node_at(r, v);

        for (uint32_t i = 0; i < node->n_inputs; i++) {
            const eddy_node from = node->inputs[i].node;

            if (from < r->n_nodes && r->gathers[from].node != EDDY_NO_NODE)
                (void)eddy__graph_connect(r->graph, v, i, r->gathers[from],
                                          NULL);
        }
    }
}

static eddy_status rewrite(rewriting *r, const eddy__asked *asked)
{
    const size_t n = r->n_nodes;

    r->seen = eddy__arena_allocate_zeroed(&r->arena, n, 1);
    r->list = eddy__arena_allocate(&r->arena, n, sizeof *r->list);
    r->gathers = eddy__arena_allocate(&r->arena, n, sizeof *r->gathers);
    if (!r->seen || !r->list || !r->gathers)
        return eddy__fail_memory(r->err);
    memset(r->gathers, 0xff, n * sizeof *r->gathers);
    reach_all(r, asked->ys, asked->n_ys);
    for (size_t i = 0; i < r->n; i++) {
        const eddy_node v = r->list[i];

        if (is_op(r, v, "TensorArrayReadV3") &&
            is_in_loop(r, (eddy_output){v, 0}) &&
            !is_listed(v, asked->ys, asked->n_ys) &&
            !is_listed(v, asked->xs, asked->n_xs) &&
            !is_listed(v, asked->stop, asked->n_stop))
            EDDY_TRY(replace(r, v));
    }
    lead_readers(r);
    return EDDY_OK;
}

eddy_status eddy__array_reads_gather(eddy_graph *graph, const char *prefix,
                                     const eddy__asked *asked, eddy_error *err)
{
    rewriting r = {.graph = graph,
                   .prefix = prefix,
                   .n_nodes = graph->n_nodes,
                   .arena.allocator = graph->arena.allocator,
                   .err = err};
    eddy_status status = EDDY_OK;

    if (asked->n_ys > 0 && is_in_loop(&r, asked->ys[0]) &&
        eddy__graph_check_closed(graph, NULL) == EDDY_OK)
        status = rewrite(&r, asked);
    eddy__free(r.arena.allocator, r.hops, r.hops_capacity, sizeof *r.hops);
    eddy__arena_destroy(&r.arena);
    return status;
}
