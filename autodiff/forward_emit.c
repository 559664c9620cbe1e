/* Adding tangents, each where the value is that it belongs to. */
#include "autodiff/forward.h"

#include "core/base/status.h"

void eddy__set_tangent(eddy__forward *f, eddy_output v, eddy_output tangent)
{
    eddy_shape *late;

    if (!eddy__is_output(tangent))
        return;
    f->tangents[eddy__forward_slot(f, v)] = tangent;
    late = eddy__late_shape(&f->w, tangent);
    if (late && eddy__static_shape(&f->w, v)->rank >= 0)
        *late = *eddy__static_shape(&f->w, v);
}

static eddy_output zeros_of(eddy__forward *f, eddy_output v)
{
    eddy_output *zeros = &f->zeros[eddy__forward_slot(f, v)];

    if (eddy__is_output(*zeros) || f->w.status != EDDY_OK)
        return *zeros;
    if (eddy__is_handle(f, v)) {
        eddy__walk_fail(&f->w, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, f->w.at,
                        "it reads a handle of which there is no second for "
                        "tangents");
        return EDDY__NO_OUTPUT;
    }
    *zeros = eddy__emit_op(&f->w, "ZerosLike", v);
    return *zeros;
}

eddy_output eddy__full_tangent(eddy__forward *f, eddy_output v)
{
    const eddy_output tangent = eddy__tangent(f, v);

    return eddy__is_output(tangent) ? tangent : zeros_of(f, v);
}

/* But for those with a '_', which say where a node was to be. */
static eddy_attr *copy_attrs(eddy__forward *f, const eddy__node *n,
                             size_t *out_n)
{
    eddy_attr *attrs =
        eddy__arena_allocate(&f->w.arena, n->n_attrs + 1u, sizeof *attrs);

    *out_n = 0;
    if (!attrs) {
        f->w.status = eddy__fail_memory(f->w.err);
        return NULL;
    }
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (n->attrs[i].name[0] != '_')
            attrs[(*out_n)++] = n->attrs[i];
    return attrs;
}

eddy_output eddy__emit_like(eddy__forward *f, eddy_node node,
                            const eddy_output *inputs)
{
    const eddy__node n = *eddy__graph_node(f->w.graph, node);
    size_t n_attrs = 0;
    const eddy_attr *attrs =
        f->w.status == EDDY_OK ? copy_attrs(f, &n, &n_attrs) : NULL;

    return eddy__emit_spec(&f->w, &(eddy_node_spec){.op = n.op_name,
                                                    .inputs = inputs,
                                                    .n_inputs = n.n_inputs,
                                                    .controls = n.controls,
                                                    .n_controls = n.n_controls,
                                                    .attrs = attrs,
                                                    .n_attrs = n_attrs});
}

/* ---- where a node is live ---- */

bool eddy__is_always_live(const eddy__forward *f, eddy_node node)
{
    return f->w.branches.of_node[node] == 0 && !f->in_body[node] &&
           f->w.branches.is_exact[node];
}

/* Is `from` live just when the node is that reads it? */
static bool is_as_live(const eddy__forward *f, eddy_node node, eddy_output from)
{
    return f->w.branches.is_exact[node] && f->w.branches.is_exact[from.node] &&
           eddy__branch_of(&f->w, from) == f->w.branches.of_node[node] &&
           f->in_body[from.node] == f->in_body[node];
}

static bool needs_guard(const eddy__forward *f, eddy_node node)
{
    const eddy__node *n = eddy__graph_node(f->w.graph, node);

    if (eddy__is_always_live(f, node))
        return false;
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (eddy__is_output(eddy__tangent(f, n->inputs[i])) &&
            is_as_live(f, node, n->inputs[i]))
            return false;
    return true;
}

void eddy__set_guarded(eddy__forward *f, eddy_output v, eddy_output tangent)
{
    if (eddy__is_output(tangent) && needs_guard(f, v.node))
        tangent = eddy__emit_after(&f->w, v.node, "Identity", &tangent, 1);
    eddy__set_tangent(f, v, tangent);
}
