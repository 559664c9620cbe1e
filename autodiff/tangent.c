/* SPDX-License-Identifier: Apache-2.0 */
/* The tangents of values, each added where the value is that it belongs to. */
#include "autodiff/forward.h"

#include "core/base/status.h"

void eddy__tangent_set(eddy__forward *f, eddy_output v, eddy_output tangent)
{
    eddy_shape *emitted;

    if (!eddy__output_exists(tangent))
        return;
    f->tangents[eddy__study_slot(&f->study, v)] = tangent;
    emitted = eddy__value_shapes_emitted(&f->shapes, tangent);
    if (emitted && eddy__value_shapes_find(&f->shapes, v)->rank >= 0)
        *emitted = *eddy__value_shapes_find(&f->shapes, v);
}

static eddy_output zeros_of(eddy__forward *f, eddy_output v)
{
    eddy_output *zeros = &f->zeros[eddy__study_slot(&f->study, v)];

    if (eddy__output_exists(*zeros) || f->e.core.status != EDDY_OK)
        return *zeros;
    if (eddy__forward_is_handle(f, v)) {
        eddy__emit_fail(&f->e, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, f->e.at,
                        "it reads a handle of which there is no second for "
                        "tangents");
        return EDDY__NO_OUTPUT;
    }
    *zeros = eddy__emit_op(&f->e, "ZerosLike", v);
    return *zeros;
}

eddy_output eddy__tangent_full(eddy__forward *f, eddy_output v)
{
    const eddy_output tangent = eddy__tangent_of(f, v);

    return eddy__output_exists(tangent) ? tangent : zeros_of(f, v);
}

/* But for those with a '_', which say where a node was to be. */
static eddy_attr *copy_attrs(eddy__forward *f, const eddy__node *n,
                             size_t *out_n)
{
    eddy_attr *attrs = eddy__emit_room(&f->e, n->n_attrs + 1u, sizeof *attrs);

    *out_n = 0;
    if (!attrs)
        return NULL;
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (n->attrs[i].name[0] != '_')
            attrs[(*out_n)++] = n->attrs[i];
    return attrs;
}

eddy_output eddy__tangent_repeat(eddy__forward *f, eddy_node node,
                                 const eddy_output *inputs)
{
    const eddy__node n = *eddy__graph_node(f->e.core.graph, node);
    size_t n_attrs = 0;
    const eddy_attr *attrs =
        f->e.core.status == EDDY_OK ? copy_attrs(f, &n, &n_attrs) : NULL;

    return eddy__emit_spec(&f->e, &(eddy_node_spec){.op = n.op_name,
                                                    .inputs = inputs,
                                                    .n_inputs = n.n_inputs,
                                                    .controls = n.controls,
                                                    .n_controls = n.n_controls,
                                                    .attrs = attrs,
                                                    .n_attrs = n_attrs});
}

/* ---- where a node is live ---- */

bool eddy__tangent_is_always_live(const eddy__forward *f, eddy_node node)
{
    return f->study.branches.of_node[node] == 0 && !f->in_body[node] &&
           f->study.branches.is_exact[node];
}

/* Is `from` live just when the node is that reads it? */
static bool is_as_live(const eddy__forward *f, eddy_node node, eddy_output from)
{
    return f->study.branches.is_exact[node] &&
           f->study.branches.is_exact[from.node] &&
           eddy__study_branch(&f->study, from) ==
               f->study.branches.of_node[node] &&
           f->in_body[from.node] == f->in_body[node];
}

static bool needs_guard(const eddy__forward *f, eddy_node node)
{
    const eddy__node *n = eddy__graph_node(f->e.core.graph, node);

    if (eddy__tangent_is_always_live(f, node))
        return false;
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (eddy__output_exists(eddy__tangent_of(f, n->inputs[i])) &&
            is_as_live(f, node, n->inputs[i]))
            return false;
    return true;
}

void eddy__tangent_set_guarded(eddy__forward *f, eddy_output v,
                               eddy_output tangent)
{
    if (eddy__output_exists(tangent) && needs_guard(f, v.node))
        tangent = eddy__emit_after(&f->e, v.node, "Identity", &tangent, 1);
    eddy__tangent_set(f, v, tangent);
}
