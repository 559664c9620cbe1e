/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tangents by transposition: the rule of a node makes its gradient g(u), linear
 * in gradients u that stand for any.  What the rule adds, a linear part of the
 * graph without control flow, is itself differentiated with respect to u,
 * starting from the inputs' tangents; so this is the second host of rules.
 *
 * The nodes of the linear part are numbered in topological order, so the way
 * back is a loop from its last to its first.
 */
#include "autodiff/forward.h"

#include "autodiff/rule_table.h"

/* A summand of a gradient. */
typedef struct term {
    eddy_output value;
    struct term *next;
} term;

typedef struct transposing {
    eddy__forward *f;
    eddy_node base; /* whose tangents are made */
    bool is_back;   /* the linear part is done, and on the way back */
    eddy_node first, end;
    eddy_output *u;   /* one an output of the base */
    term **of_input;  /* of the base: its g(u) */
    term **of_output; /* of the linear part: by slot */
    uint8_t *depends; /* a node of the linear part: on some u? */
} transposing;

/* The number of an output among those of the linear part. */
static size_t slot_of(const transposing *p, eddy_output output)
{
    const eddy__emitted_shapes *emitted = p->f->shapes.emitted;
    const size_t n = p->f->study.n_nodes;

    return emitted[output.node - n].first - emitted[p->first - n].first +
           output.index;
}

static bool is_inside(const transposing *p, eddy_output output)
{
    return output.node >= p->first && output.node < p->end;
}

/* ---- sums ---- */

static void add_term(transposing *p, term **list, eddy_output value)
{
    eddy__gradient_emitter *e = &p->f->e;
    term *added;

    if (e->core.status != EDDY_OK || !eddy__output_exists(value))
        return;
    added = eddy__emit_room(e, 1, sizeof *added);
    if (!added)
        return;
    *added = (term){.value = value, .next = *list};
    *list = added;
}

static eddy_output sum_terms(transposing *p, const term *list)
{
    eddy__gradient_emitter *e = &p->f->e;
    eddy_output sum = EDDY__NO_OUTPUT;

    for (; list && e->core.status == EDDY_OK; list = list->next)
        sum = eddy__output_exists(sum)
                  ? eddy__emit_op(e, "AddV2", sum, list->value)
                  : list->value;
    return e->core.status == EDDY_OK ? sum : EDDY__NO_OUTPUT;
}

/* ---- what a rule asks ---- */

static const term *given_terms(const transposing *p, eddy_output y)
{
    return p->of_output[slot_of(p, y)];
}

static bool may_carry(const transposing *p, eddy_output v)
{
    return eddy__study_has_gradient(
        eddy_graph_output_dtype(p->f->study.graph, v));
}

/* All is where the rule is. */
static eddy_output find_value(eddy_gradient *g, eddy_output v)
{
    (void)g;
    return v;
}

/* The shape of an input, there and not in another loop. */
static eddy_output find_shape(eddy_gradient *g, eddy_output v)
{
    const eddy_shape *shape = eddy__value_shapes_find(g->shapes, v);

    return eddy__emit_has_shape(shape) ? eddy__emit_shape(g->e, shape)
                                       : eddy__emit_op(g->e, "Shape", v);
}

static eddy_output find_length(eddy_gradient *g, eddy_output v)
{
    return eddy__emit_op(g->e, "TensorListLength", v);
}

static bool is_given(const eddy_gradient *g, eddy_output y)
{
    const transposing *p = g->self;

    return p->is_back ? given_terms(p, y) != NULL
                      : eddy__output_exists(p->u[y.index]);
}

static eddy_output find_given(eddy_gradient *g, eddy_output y)
{
    transposing *p = g->self;

    if (!is_given(g, y))
        return eddy__emit_op(g->e, "ZerosLike", y);
    return p->is_back ? sum_terms(p, given_terms(p, y)) : p->u[y.index];
}

static bool is_wanted(const eddy_gradient *g, eddy_output x)
{
    const transposing *p = g->self;

    if (!p->is_back)
        return may_carry(p, x) &&
               eddy__output_exists(eddy__tangent_of(p->f, x));
    return is_inside(p, x) && p->depends[x.node - p->first] && may_carry(p, x);
}

static void set_gradient(eddy_gradient *g, uint32_t i, eddy_output gradient)
{
    transposing *p = g->self;
    const eddy_output x = eddy__rule_host_node(g)->inputs[i];

    if (p->is_back)
        add_term(p, &p->of_output[slot_of(p, x)], gradient);
    else
        add_term(p, &p->of_input[i], gradient);
}

/* No node with a list comes here, but a program's rule may add one. */
static void refuse_item(eddy_gradient *g, uint32_t i, eddy_output index,
                        eddy_output gradient)
{
    const transposing *p = g->self;

    (void)i, (void)index, (void)gradient;
    eddy__emit_fail(g->e, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, p->base,
                    "its gradient reads a list, which has no tangent");
}

static const eddy__rule_host host = {
    .value = find_value,
    .shape_of = find_shape,
    .length_of = find_length,
    .bring = find_value,
    .is_given = is_given,
    .given = find_given,
    .is_wanted = is_wanted,
    .set = set_gradient,
    .set_item = refuse_item,
};

/* ---- there ---- */

static void use_rule(transposing *p, eddy_node node)
{
    eddy__gradient_emitter *e = &p->f->e;
    const eddy__node *n = eddy__graph_node(e->core.graph, node);
    const eddy_gradient_fn rule = eddy__rule_table_find(e->core.graph, n);
    eddy_gradient g = {.host = &host,
                       .self = p,
                       .e = e,
                       .shapes = &p->f->shapes,
                       .source = p->f->source,
                       .node = node};
    eddy_status status;

    if (e->core.status != EDDY_OK)
        return;
    if (!rule) {
        eddy__emit_fail(e, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, p->base,
                        p->is_back ? "op %s of its gradient has no gradient"
                                   : "op %s has no gradient",
                        n->op_name);
        return;
    }
    status = rule(&g);
    if (status != EDDY_OK && e->core.status == EDDY_OK)
        eddy__emit_fail(e, status, EDDY_E_NO_GRADIENT, p->base,
                        "its gradient failed");
}

/* Lists and handles only have tangents by rules of their own. */
static bool check(eddy__forward *f, eddy_node node)
{
    const eddy__node *n = eddy__graph_node(f->e.core.graph, node);
    bool is_plain = true;

    for (uint32_t i = 0; i < n->n_inputs; i++)
        is_plain = is_plain && n->input_dtypes[i] != EDDY_RESOURCE &&
                   n->input_dtypes[i] != EDDY_VARIANT;
    for (uint32_t i = 0; i < n->n_outputs; i++)
        is_plain = is_plain && n->output_dtypes[i] != EDDY_RESOURCE &&
                   n->output_dtypes[i] != EDDY_VARIANT;
    if (!is_plain)
        eddy__emit_fail(&f->e, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, node,
                        "the op has no tangent");
    return is_plain;
}

/* A gradient of each output; only its shape matters. */
static bool make_unknowns(transposing *p, const eddy__node *n)
{
    eddy__gradient_emitter *e = &p->f->e;

    p->u = eddy__emit_room(e, n->n_outputs + 1u, sizeof *p->u);
    p->of_input = eddy__emit_zeroed_room(e, n->n_inputs + 1u, sizeof(term *));
    if (!p->u || !p->of_input)
        return false;
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        const eddy_output y = {p->base, i};

        p->u[i] = EDDY__NO_OUTPUT;
        if (eddy__study_has_gradient(eddy_graph_output_dtype(e->core.graph, y)))
            p->u[i] = eddy__emit_op(e, "Identity", y);
    }
    return e->core.status == EDDY_OK;
}

/* ---- and back ---- */

static bool reads_dependent(const transposing *p, const eddy__node *n)
{
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (is_inside(p, n->inputs[i]) &&
            p->depends[n->inputs[i].node - p->first] &&
            may_carry(p, n->inputs[i]))
            return true;
    return false;
}

static bool is_unknown(const transposing *p, eddy_node node, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (p->u[i].node == node)
            return true;
    return false;
}

static bool begin_back(transposing *p, uint32_t n_unknowns)
{
    eddy__gradient_emitter *e = &p->f->e;
    const size_t n_slots =
        p->f->shapes.n_outputs -
        p->f->shapes.emitted[p->first - p->f->study.n_nodes].first;

    p->end = (eddy_node)e->core.graph->n_nodes;
    p->is_back = true;
    p->of_output = eddy__emit_zeroed_room(e, n_slots + 1, sizeof(term *));
    p->depends = eddy__emit_zeroed_room(e, p->end - p->first + 1u, 1);
    if (!p->of_output || !p->depends)
        return false;
    for (eddy_node v = p->first; v < p->end; v++) {
        const eddy__node *n = eddy__graph_node(e->core.graph, v);

        p->depends[v - p->first] =
            is_unknown(p, v, n_unknowns) ||
            (!(n->op->flags & EDDY_OP_NOT_DIFFERENTIABLE) &&
             reads_dependent(p, n));
    }
    return true;
}

/* The tangents of inputs go where the gradients of these come from. */
static void start_back(transposing *p, const eddy__node *n)
{
    for (uint32_t i = 0; i < n->n_inputs; i++)
        for (const term *t = p->of_input[i]; t; t = t->next)
            if (is_inside(p, t->value) && p->depends[t->value.node - p->first])
                add_term(p, &p->of_output[slot_of(p, t->value)],
                         eddy__tangent_of(p->f, n->inputs[i]));
}

static bool is_asked(const transposing *p, eddy_node node)
{
    const eddy__node *n = eddy__graph_node(p->f->e.core.graph, node);

    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (p->of_output[slot_of(p, (eddy_output){node, i})])
            return true;
    return false;
}

static void go_back(transposing *p, uint32_t n_unknowns)
{
    for (eddy_node v = p->end;
         v-- > p->first && p->f->e.core.status == EDDY_OK;)
        if (p->depends[v - p->first] && !is_unknown(p, v, n_unknowns) &&
            is_asked(p, v))
            use_rule(p, v);
}

void eddy__transpose(eddy__forward *f, eddy_node node)
{
    const eddy__node n = *eddy__graph_node(f->e.core.graph, node);
    transposing p = {
        .f = f, .base = node, .first = (eddy_node)f->e.core.graph->n_nodes};

    if (!check(f, node) || !make_unknowns(&p, &n))
        return;
    use_rule(&p, node);
    if (f->e.core.status != EDDY_OK || !begin_back(&p, n.n_outputs))
        return;
    start_back(&p, &n);
    go_back(&p, n.n_outputs);
    for (uint32_t i = 0; i < n.n_outputs && f->e.core.status == EDDY_OK; i++)
        if (eddy__output_exists(p.u[i]))
            eddy__tangent_set_guarded(
                f, (eddy_output){node, i},
                sum_terms(&p, p.of_output[slot_of(&p, p.u[i])]));
}
