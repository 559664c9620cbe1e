/*
 * Tangents from gradients: a node's rule is called with gradients u that stand
 * for any, and what it adds, a fragment without control flow, is itself
 * differentiated with respect to u, starting from the inputs' tangents.
 *
 * The nodes of a fragment are numbered in topological order, so the way back is
 * a loop from its last to its first.
 */
#include "autodiff/forward.h"

#include "core/base/status.h"

#include <string.h>

/* A summand of a gradient. */
typedef struct term {
    eddy_output value;
    struct term *next;
} term;

typedef struct eddy__fragment {
    eddy__forward *f;
    eddy_node base; /* whose tangents are made */
    bool is_back;   /* the fragment is done, and on the way back */
    eddy_node first, end;
    eddy_output *u;   /* one an output of the base */
    term **of_input;  /* of the base: its g(u) */
    term **of_output; /* of the fragment: by slot */
    uint8_t *depends; /* of the fragment: on some u */
} eddy__fragment;

static size_t slot_of(const eddy__fragment *p, eddy_output output)
{
    const eddy__late_shapes *late = &p->f->w.late;
    const size_t n = p->f->w.n_nodes;

    return late->nodes[output.node - n].first -
           late->nodes[p->first - n].first + output.index;
}

static bool is_inside(const eddy__fragment *p, eddy_output output)
{
    return output.node >= p->first && output.node < p->end;
}

/* ---- sums ---- */

static void add_term(eddy__fragment *p, term **list, eddy_output value)
{
    eddy__walk *w = &p->f->w;
    term *added;

    if (w->status != EDDY_OK || !eddy__is_output(value))
        return;
    added = eddy__arena_allocate(&w->arena, 1, sizeof *added);
    if (!added) {
        w->status = eddy__fail_memory(w->err);
        return;
    }
    *added = (term){.value = value, .next = *list};
    *list = added;
}

static eddy_output sum_terms(eddy__fragment *p, const term *list)
{
    eddy__walk *w = &p->f->w;
    eddy_output sum = EDDY__NO_OUTPUT;

    for (; list && w->status == EDDY_OK; list = list->next)
        sum = eddy__is_output(sum) ? eddy__emit_op(w, "AddV2", sum, list->value)
                                   : list->value;
    return w->status == EDDY_OK ? sum : EDDY__NO_OUTPUT;
}

/* ---- what a rule asks ---- */

static const eddy__node *node_of(const eddy_gradient *g)
{
    return eddy__graph_node(g->walk->graph, g->node);
}

static const term *given_terms(const eddy_gradient *g, uint32_t i)
{
    return g->fragment
        ->of_output[slot_of(g->fragment, (eddy_output){g->node, i})];
}

static bool may_carry(const eddy_gradient *g, eddy_output v)
{
    return eddy__dtype_has_gradient(eddy_graph_output_dtype(g->walk->graph, v));
}

bool eddy__fragment_is_given(const eddy_gradient *g, uint32_t i)
{
    return i < node_of(g)->n_outputs &&
           (g->fragment->is_back ? given_terms(g, i) != NULL
                                 : eddy__is_output(g->fragment->u[i]));
}

eddy_output eddy__fragment_given(eddy_gradient *g, uint32_t i)
{
    const eddy_output y = {g->node, i};

    if (!eddy__fragment_is_given(g, i))
        return eddy__emit_op(g->walk, "ZerosLike", y);
    return g->fragment->is_back ? sum_terms(g->fragment, given_terms(g, i))
                                : g->fragment->u[i];
}

bool eddy__fragment_is_wanted(const eddy_gradient *g, uint32_t i)
{
    const eddy__fragment *p = g->fragment;
    eddy_output x;

    if (i >= node_of(g)->n_inputs)
        return false;
    x = node_of(g)->inputs[i];
    if (!p->is_back)
        return may_carry(g, x) && eddy__is_output(eddy__tangent(p->f, x));
    return is_inside(p, x) && p->depends[x.node - p->first] && may_carry(g, x);
}

void eddy__fragment_set(eddy_gradient *g, uint32_t i, eddy_output gradient)
{
    eddy__fragment *p = g->fragment;

    if (p->is_back)
        add_term(p, &p->of_output[slot_of(p, node_of(g)->inputs[i])], gradient);
    else
        add_term(p, &p->of_input[i], gradient);
}

eddy_output eddy__fragment_shape_of(eddy_gradient *g, uint32_t i)
{
    const eddy_output x = node_of(g)->inputs[i];
    const eddy_output known =
        eddy__emit_static_shape(g->walk, eddy__static_shape(g->walk, x));

    return eddy__is_output(known) ? known : eddy__emit_op(g->walk, "Shape", x);
}

/* ---- there ---- */

static void use_rule(eddy__fragment *p, eddy_node node)
{
    eddy__walk *w = &p->f->w;
    const eddy__node *n = eddy__graph_node(w->graph, node);
    const eddy_gradient_fn rule = eddy__rule_find(w->graph, n);
    eddy_gradient g = {.walk = w, .node = node, .fragment = p};
    eddy_status status;

    if (w->status != EDDY_OK)
        return;
    if (!rule) {
        eddy__walk_fail(w, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, p->base,
                        p->is_back ? "op %s of its gradient has no gradient"
                                   : "op %s has no gradient",
                        n->op_name);
        return;
    }
    status = rule(&g);
    if (status != EDDY_OK && w->status == EDDY_OK)
        eddy__walk_fail(w, status, EDDY_E_NO_GRADIENT, p->base,
                        "its gradient failed");
}

/* Lists and handles only have tangents by rules of their own. */
static bool check(eddy__forward *f, eddy_node node)
{
    const eddy__node *n = eddy__graph_node(f->w.graph, node);
    bool is_plain = true;

    for (uint32_t i = 0; i < n->n_inputs; i++)
        is_plain = is_plain && n->input_dtypes[i] != EDDY_RESOURCE &&
                   n->input_dtypes[i] != EDDY_VARIANT;
    for (uint32_t i = 0; i < n->n_outputs; i++)
        is_plain = is_plain && n->output_dtypes[i] != EDDY_RESOURCE &&
                   n->output_dtypes[i] != EDDY_VARIANT;
    if (!is_plain)
        eddy__walk_fail(&f->w, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, node,
                        "the op has no tangent");
    return is_plain;
}

/* A gradient of each output, of which only the shape matters. */
static bool make_unknowns(eddy__fragment *p, const eddy__node *n)
{
    eddy__walk *w = &p->f->w;

    p->u = eddy__arena_allocate(&w->arena, n->n_outputs + 1u, sizeof *p->u);
    p->of_input = eddy__arena_allocate_zeroed(&w->arena, n->n_inputs + 1u,
                                              sizeof(term *));
    if (!p->u || !p->of_input) {
        w->status = eddy__fail_memory(w->err);
        return false;
    }
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        const eddy_output y = {p->base, i};

        p->u[i] = EDDY__NO_OUTPUT;
        if (eddy__dtype_has_gradient(eddy_graph_output_dtype(w->graph, y)))
            p->u[i] = eddy__emit_op(w, "Identity", y);
    }
    return w->status == EDDY_OK;
}

/* ---- and back ---- */

static bool reads_dependent(const eddy__fragment *p, const eddy__node *n)
{
    const eddy_graph *graph = p->f->w.graph;

    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (is_inside(p, n->inputs[i]) &&
            p->depends[n->inputs[i].node - p->first] &&
            eddy__dtype_has_gradient(
                eddy_graph_output_dtype(graph, n->inputs[i])))
            return true;
    return false;
}

static bool is_unknown(const eddy__fragment *p, eddy_node node, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (p->u[i].node == node)
            return true;
    return false;
}

static bool begin_back(eddy__fragment *p, uint32_t n_unknowns)
{
    eddy__walk *w = &p->f->w;
    const size_t n_slots =
        w->late.n - w->late.nodes[p->first - w->n_nodes].first;

    p->end = (eddy_node)w->graph->n_nodes;
    p->is_back = true;
    p->of_output =
        eddy__arena_allocate_zeroed(&w->arena, n_slots + 1, sizeof(term *));
    p->depends =
        eddy__arena_allocate_zeroed(&w->arena, p->end - p->first + 1u, 1);
    if (!p->of_output || !p->depends) {
        w->status = eddy__fail_memory(w->err);
        return false;
    }
    for (eddy_node v = p->first; v < p->end; v++) {
        const eddy__node *n = eddy__graph_node(w->graph, v);

        p->depends[v - p->first] =
            is_unknown(p, v, n_unknowns) ||
            (!(n->op->flags & EDDY_OP_NOT_DIFFERENTIABLE) &&
             reads_dependent(p, n));
    }
    return true;
}

/* The tangents of inputs go where the gradients of these come from. */
static void start_back(eddy__fragment *p, const eddy__node *n)
{
    for (uint32_t i = 0; i < n->n_inputs; i++)
        for (const term *t = p->of_input[i]; t; t = t->next)
            if (is_inside(p, t->value) && p->depends[t->value.node - p->first])
                add_term(p, &p->of_output[slot_of(p, t->value)],
                         eddy__tangent(p->f, n->inputs[i]));
}

static bool is_asked(const eddy__fragment *p, eddy_node node)
{
    const eddy__node *n = eddy__graph_node(p->f->w.graph, node);

    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (p->of_output[slot_of(p, (eddy_output){node, i})])
            return true;
    return false;
}

static void go_back(eddy__fragment *p, uint32_t n_unknowns)
{
    for (eddy_node v = p->end; v-- > p->first && p->f->w.status == EDDY_OK;)
        if (p->depends[v - p->first] && !is_unknown(p, v, n_unknowns) &&
            is_asked(p, v))
            use_rule(p, v);
}

void eddy__forward_transpose(eddy__forward *f, eddy_node node)
{
    const eddy__node n = *eddy__graph_node(f->w.graph, node);
    eddy__fragment p = {
        .f = f, .base = node, .first = (eddy_node)f->w.graph->n_nodes};

    if (!check(f, node) || !make_unknowns(&p, &n))
        return;
    use_rule(&p, node);
    if (f->w.status != EDDY_OK || !begin_back(&p, n.n_outputs))
        return;
    start_back(&p, &n);
    go_back(&p, n.n_outputs);
    for (uint32_t i = 0; i < n.n_outputs && f->w.status == EDDY_OK; i++)
        if (eddy__is_output(p.u[i]))
            eddy__set_guarded(f, (eddy_output){node, i},
                              sum_terms(&p, p.of_output[slot_of(&p, p.u[i])]));
}
