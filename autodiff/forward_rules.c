/* SPDX-License-Identifier: Apache-2.0 */
/* Tangents of ops that are linear, in all of some inputs or in each of two. */
#include "autodiff/forward.h"

#include "autodiff/custom.h"

#include "core/base/status.h"

#include <string.h>

/* ---- the table ---- */

typedef enum rule_kind { PASSES, IS_LINEAR, IS_BILINEAR } rule_kind;

typedef struct rule {
    const char *op;
    rule_kind kind;
    uint32_t inputs; /* a set of bits; two numbers of a bilinear one */
} rule;

#define IN(i) (1u << (i))
#define EACH (~0u)
#define BUT_LAST 0u

static const rule rules[] = {
#define PASS(op) {op, PASSES, 0},
#define LINEAR(op, set) {op, IS_LINEAR, set},
#define BILINEAR(op, a, b) {op, IS_BILINEAR, (a) | (b) << 8},
#include "autodiff/tangents.def"
#undef PASS
#undef LINEAR
#undef BILINEAR
};

/* Has a program brought a gradient?  That goes before a row of the table. */
static bool has_own(const eddy__node *n)
{
    return n->op->gradient || eddy__custom_name(n).length > 0;
}

static const rule *find(const eddy__node *n)
{
    for (size_t i = 0; !has_own(n) && i < sizeof rules / sizeof rules[0]; i++)
        if (strcmp(rules[i].op, n->op_name) == 0)
            return &rules[i];
    return NULL;
}

/* ---- sums ---- */

static eddy_output *new_inputs(eddy__forward *f, const eddy__node *n)
{
    eddy_output *inputs =
        eddy__emit_room(&f->e, n->n_inputs + 1u, sizeof *inputs);

    if (inputs && n->n_inputs > 0)
        memcpy(inputs, n->inputs, n->n_inputs * sizeof *inputs);
    return inputs;
}

static bool has_tangent(const eddy__forward *f, eddy_output v)
{
    return eddy__output_exists(eddy__tangent_of(f, v));
}

/* The sum of those tangents that there are. */
static void add_n(eddy__forward *f, eddy_node node)
{
    const eddy__node n = *eddy__graph_node(f->e.core.graph, node);
    eddy_output *inputs = new_inputs(f, &n);
    uint32_t count = 0;

    for (uint32_t i = 0; inputs && i < n.n_inputs; i++)
        if (has_tangent(f, n.inputs[i]))
            inputs[count++] = eddy__tangent_of(f, n.inputs[i]);
    if (count == 0)
        return;
    eddy__tangent_set_guarded(
        f, (eddy_output){node, 0},
        count == 1 ? inputs[0] : eddy__emit(&f->e, "AddN", inputs, count));
}

static bool same_shape(const eddy__forward *f, eddy_output a, eddy_output b)
{
    const eddy_shape *x = eddy__value_shapes_find(&f->shapes, a);

    return eddy__shape_is_known(x) &&
           eddy__shape_equal(x, eddy__value_shapes_find(&f->shapes, b));
}

/* Addition and subtraction, where one summand has no tangent. */
static bool add_one(eddy__forward *f, eddy_node node)
{
    const eddy__node n = *eddy__graph_node(f->e.core.graph, node);
    const eddy_output y = {node, 0};
    const bool is_sub = strcmp(n.op_name, "Sub") == 0;
    const bool first = has_tangent(f, n.inputs[0]);
    const eddy_output v = n.inputs[first ? 0 : 1];
    eddy_output t = eddy__tangent_of(f, v);

    if (first == has_tangent(f, n.inputs[1]) || !same_shape(f, v, y))
        return false;
    if (is_sub && !first)
        t = eddy__emit_op(&f->e, "Neg", t);
    eddy__tangent_set_guarded(f, y, t);
    return true;
}

/* ---- the kinds ---- */

static void pass(eddy__forward *f, eddy_node node)
{
    const eddy__node n = *eddy__graph_node(f->e.core.graph, node);

    for (uint32_t i = 0; i < n.n_outputs && i < n.n_inputs; i++)
        eddy__tangent_set_guarded(f, (eddy_output){node, i},
                                  eddy__tangent_of(f, n.inputs[i]));
}

/* A node that waits for one with an effect waits for its second, too. */
static void order_effects(eddy__forward *f, eddy_node node, eddy_node second)
{
    const eddy__flow *flow = &f->study.flow;

    for (size_t e = flow->first_out[node]; e < flow->first_out[node + 1]; e++)
        if (flow->edge[e].input == EDDY__CONTROL)
            eddy__emit_control(&f->e, flow->edge[e].to, second);
}

static void set_outputs(eddy__forward *f, eddy_node node, eddy_output made)
{
    const eddy__node n = *eddy__graph_node(f->e.core.graph, node);

    for (uint32_t i = 0; i < n.n_outputs; i++) {
        const eddy_output y = {node, i};
        const eddy_dtype dtype = eddy_graph_output_dtype(f->e.core.graph, y);

        if (eddy__forward_is_handle(f, y) || eddy__study_has_gradient(dtype))
            eddy__tangent_set(f, y, eddy__output_port(made, i));
    }
}

static void linear(eddy__forward *f, eddy_node node, uint32_t set)
{
    const eddy__node n = *eddy__graph_node(f->e.core.graph, node);
    eddy_output *inputs = new_inputs(f, &n);
    const bool is_use =
        n.n_inputs > 0 && eddy__forward_is_handle(f, n.inputs[0]);
    bool any = false;
    eddy_output made;

    for (uint32_t i = 0; inputs && i < n.n_inputs; i++) {
        const bool is_in =
            set == BUT_LAST ? i + 1 < n.n_inputs
                            : set == EACH || (i < 32 && (set & IN(i)) != 0) ||
                                  (i >= 32 && (set & IN(31)) != 0);

        any = any || (is_in && has_tangent(f, n.inputs[i]));
        if (is_in && (!is_use || has_tangent(f, n.inputs[0])))
            inputs[i] = eddy__tangent_full(f, n.inputs[i]);
    }
    /* A use of a stack or array that has no second tells nothing. */
    if (!inputs || !any || (is_use && !has_tangent(f, n.inputs[0])))
        return;
    made = eddy__tangent_repeat(f, node, inputs);
    set_outputs(f, node, made);
    if (is_use && eddy__output_exists(made))
        order_effects(f, node, made.node);
}

static void bilinear(eddy__forward *f, eddy_node node, uint32_t both)
{
    const eddy__node n = *eddy__graph_node(f->e.core.graph, node);
    const uint32_t which[] = {both & 0xff, both >> 8};
    eddy_output terms[2], sum;
    size_t count = 0;

    for (int i = 0; i < 2; i++) {
        eddy_output *inputs = new_inputs(f, &n);

        if (!inputs || !has_tangent(f, n.inputs[which[i]]))
            continue;
        inputs[which[i]] = eddy__tangent_of(f, n.inputs[which[i]]);
        terms[count++] = eddy__tangent_repeat(f, node, inputs);
    }
    if (count == 0)
        return;
    sum = count == 1 ? terms[0] : eddy__emit(&f->e, "AddV2", terms, 2);
    eddy__tangent_set(f, (eddy_output){node, 0}, sum);
}

static bool is_add(const eddy__node *n)
{
    return strcmp(n->op_name, "AddV2") == 0 || strcmp(n->op_name, "Add") == 0 ||
           strcmp(n->op_name, "Sub") == 0;
}

/* As from rank 0, which all receive from (broadcasts.h). */
static void receive(eddy__forward *f, eddy_node node, const eddy__sent_value *b)
{
    static const int64_t root;
    const eddy_attr attr = eddy_attr_int("root_rank", &root);
    const eddy_output tangent = eddy__tangent_of(f, b->sent);

    if (eddy__study_frame(&f->study, b->sent) !=
        f->study.analysis->node_frame[node])
        eddy__emit_fail(&f->e, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT, node,
                        "what it receives is sent in another loop");
    else if (eddy__output_exists(tangent))
        eddy__tangent_set_guarded(
            f, (eddy_output){node, 0},
            eddy__emit_spec(&f->e, &(eddy_node_spec){.op = "HorovodBroadcast",
                                                     .inputs = &tangent,
                                                     .n_inputs = 1,
                                                     .attrs = &attr,
                                                     .n_attrs = 1}));
}

bool eddy__forward_rule(eddy__forward *f, eddy_node node)
{
    const eddy__node *n = eddy__graph_node(f->e.core.graph, node);
    const rule *r = find(n);
    const eddy__sent_value *b =
        eddy__broadcast_received(&f->study.broadcasts, node);

    if (b) {
        receive(f, node, b);
        return true;
    }
    if (!has_own(n) && strcmp(n->op_name, "AddN") == 0) {
        add_n(f, node);
        return true;
    }
    if (!has_own(n) && is_add(n)) {
        if (!add_one(f, node))
            linear(f, node, EACH);
        return true;
    }
    if (!r)
        return false;
    if (r->kind == PASSES)
        pass(f, node);
    else if (r->kind == IS_LINEAR)
        linear(f, node, r->inputs);
    else
        bilinear(f, node, r->inputs);
    return true;
}
