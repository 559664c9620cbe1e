/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host of rules in the walk: forward values come as primals, and what a
 * rule sets is summed for the inputs.
 */
#include "autodiff/reverse.h"

#include "autodiff/rule.h"
#include "autodiff/rule_table.h"

static eddy_output find_value(eddy_gradient *g, eddy_output v)
{
    eddy__reverse *r = g->self;

    return eddy__primal_value(&r->primals, v);
}

static eddy_output find_shape(eddy_gradient *g, eddy_output v)
{
    eddy__reverse *r = g->self;

    return eddy__primal_shape(&r->primals, v);
}

static eddy_output find_length(eddy_gradient *g, eddy_output v)
{
    eddy__reverse *r = g->self;

    return eddy__primal_length(&r->primals, v);
}

static eddy_output bring_constant(eddy_gradient *g, eddy_output constant)
{
    eddy__reverse *r = g->self;

    return eddy__place_import(
        &r->places, constant,
        &r->places.scopes[r->study.analysis->node_frame[g->node]]);
}

static bool is_given(const eddy_gradient *g, eddy_output y)
{
    const eddy__reverse *r = g->self;

    return eddy__contribution_list(&r->sums, y);
}

/* What the node receives, if somebody asks for the gradient of that. */
static const eddy__sent_value *received(const eddy_gradient *g)
{
    const eddy__reverse *r = g->self;
    const eddy__sent_value *b =
        eddy__broadcast_received(&r->study.broadcasts, g->node);

    return b && eddy__activity_is_edge(&r->activity, b->sent) ? b : NULL;
}

static eddy_output find_given(eddy_gradient *g, eddy_output y)
{
    eddy__reverse *r = g->self;
    const eddy__sent_value *b = received(g);
    eddy_output zeros;
    uint32_t from;

    if (is_given(g, y) && b)
        return eddy__sum_lead_out(&r->sums, b->sent,
                                  eddy__sum_make(&r->sums, y),
                                  r->study.branches.of_node[g->node]);
    if (is_given(g, y))
        return eddy__sum_make(&r->sums, y);
    zeros = eddy__zeros_like(&r->primals, y, &from);
    return eddy__primal_guard(&r->primals, zeros, from,
                              eddy__study_branch(&r->study, y));
}

static bool is_wanted(const eddy_gradient *g, eddy_output x)
{
    const eddy__reverse *r = g->self;

    return eddy__activity_is_edge(&r->activity, x);
}

static void add_gradient(eddy_gradient *g, uint32_t i, eddy_output gradient)
{
    eddy__reverse *r = g->self;

    eddy__sum_add(&r->sums, eddy__rule_host_node(g)->inputs[i], gradient,
                  r->study.branches.of_node[g->node]);
}

static void add_item(eddy_gradient *g, uint32_t i, eddy_output index,
                     eddy_output gradient)
{
    eddy__reverse *r = g->self;

    eddy__list_sum_add(&r->sums, eddy__rule_host_node(g)->inputs[i], index,
                       gradient, r->study.branches.of_node[g->node]);
}

static void add_sent(eddy_gradient *g, eddy_output gradient)
{
    eddy__reverse *r = g->self;
    const eddy__sent_value *b = received(g);

    if (b)
        eddy__contribution_add_whole(&r->sums, b->sent, gradient);
}

static const eddy__rule_host host = {
    .value = find_value,
    .shape_of = find_shape,
    .length_of = find_length,
    .bring = bring_constant,
    .is_given = is_given,
    .given = find_given,
    .is_wanted = is_wanted,
    .set = add_gradient,
    .set_item = add_item,
    .set_sent = add_sent,
};

static eddy_gradient_fn find_rule(const eddy__reverse *r, eddy_node node)
{
    if (r->is_inner && r->is_write[node])
        return eddy__grad_ta_written;
    return eddy__rule_table_find(r->e.core.graph,
                                 eddy__graph_node(r->e.core.graph, node));
}

void eddy__reverse_rule_use(eddy__reverse *r, eddy_node node)
{
    const eddy__node *n = eddy__graph_node(r->e.core.graph, node);
    const eddy_gradient_fn rule = find_rule(r, node);
    eddy_gradient g = {.host = &host,
                       .self = r,
                       .e = &r->e,
                       .shapes = &r->shapes,
                       .source = r->source,
                       .node = node};
    eddy_status status;
    bool any = false;

    for (uint32_t i = 0; i < n->n_outputs; i++)
        any = any || is_given(&g, (eddy_output){node, i});
    if (!any)
        return;
    if (!rule) {
        eddy__emit_fail(&r->e, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, node,
                        "the op has no gradient");
        return;
    }
    status = rule(&g);
    if (status != EDDY_OK && r->e.core.status == EDDY_OK)
        eddy__emit_fail(&r->e, status, EDDY_E_NO_GRADIENT, node,
                        "its gradient failed");
}
