/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk of the ONNX writer: from a value that is wanted to what it needs,
 * writing each node once in the scope where it is at home.
 */
#include "core/base/status.h"
#include "interop/onnx/loader.h"
#include "interop/onnx/write/writer.h"

#include <string.h>

/* A value that is wanted; its node is written once it comes up again. */
typedef struct eddy__onnx_step {
    eddy_output output;
    eddy__onnx_place *place;
    bool is_open;
} step;

/* What stands for a value that ONNX cannot give. */
static const eddy__onnx_written missing = {.name = ""};

static const eddy__node *node_of(const eddy__onnx_writer *w, eddy_node node)
{
    return &w->graph->nodes[node];
}

/* ---- scopes ---- */

eddy__onnx_place *eddy__onnx_home(eddy__onnx_place *place, uint32_t frame,
                                  uint32_t branch)
{
    while (place && (place->frame != frame || place->branch != branch))
        place = place->outer;
    return place;
}

/* Where an output lives, seen from `place`; NULL: not around it. */
static eddy__onnx_place *home_of(eddy__onnx_writer *w, eddy__onnx_place *place,
                                 eddy_node node)
{
    const eddy__role role = eddy__node_role(node_of(w, node));
    uint32_t frame = eddy_analysis_node_frame(w->analysis, node);
    uint32_t branch = eddy_analysis_node_branch(w->analysis, node);

    if (role == EDDY__ROLE_CONST || role == EDDY__ROLE_PLACEHOLDER)
        return &w->root;
    if (role == EDDY__ROLE_EXIT) {
        const eddy_frame *of = eddy_analysis_frame(w->analysis, frame);

        frame = of->parent;
        branch = of->branch;
    }
    return eddy__onnx_home(place, frame, branch);
}

eddy__onnx_binding *eddy__onnx_binding_in(eddy__onnx_writer *w,
                                          const eddy__onnx_place *place,
                                          eddy_node node)
{
    eddy__onnx_binding *b = w->bindings[node];
    uint32_t n = node_of(w, node)->n_outputs;

    while (b && b->place != place)
        b = b->next;
    if (b)
        return b;
    n = n > 0 ? n : 1;
    b = eddy__onnx_take(w, 1, sizeof *b + n * sizeof b->values[0]);
    if (!b)
        return NULL;
    b->place = place;
    b->next = w->bindings[node];
    for (uint32_t i = 0; i < n; i++)
        b->values[i] = missing;
    w->bindings[node] = b;
    return b;
}

static eddy__onnx_binding *find_binding(const eddy__onnx_writer *w,
                                        const eddy__onnx_place *place,
                                        eddy_node node)
{
    eddy__onnx_binding *b = w->bindings[node];

    while (b && b->place != place)
        b = b->next;
    return b;
}

eddy__onnx_writing eddy__onnx_begin(eddy__onnx_writer *w,
                                    eddy__onnx_place *place, eddy_node node)
{
    const eddy__onnx_writing before = {w->node, w->place, w->binding};

    w->node = node;
    w->place = place;
    w->binding = eddy__onnx_binding_in(w, place, node);
    return before;
}

void eddy__onnx_end(eddy__onnx_writer *w, eddy__onnx_writing before)
{
    if (w->binding)
        w->binding->is_done = true;
    w->node = before.node;
    w->place = before.place;
    w->binding = before.binding;
}

void eddy__onnx_bind(eddy__onnx_writer *w, uint32_t i, eddy__onnx_written value)
{
    if (w->binding)
        w->binding->values[i] = value;
}

/* ---- values without a node of their own ---- */

/* Does the loop's Switch give that side as the scope reads it? */
static bool is_read(const eddy__onnx_writer *w, eddy__onnx_place *place,
                    eddy_output at)
{
    const eddy__onnx_place *home =
        eddy__onnx_home(place, eddy_analysis_node_frame(w->analysis, at.node),
                        eddy_analysis_node_branch(w->analysis, at.node));

    return home && home->reading ==
                       (at.index == 1 ? EDDY__ONNX_BODY : EDDY__ONNX_AFTER);
}

/* Follows a value to the node that makes it; false where it is dead. */
static bool follow(eddy__onnx_writer *w, eddy__onnx_place *place,
                   eddy_output *at)
{
    for (;;) {
        const eddy__node *node = node_of(w, at->node);

        switch (eddy__node_role(node)) {
        case EDDY__ROLE_SWITCH:
            if (eddy__onnx_is_loop_switch(w, at->node) &&
                !is_read(w, place, *at))
                return false;
            break;
        case EDDY__ROLE_ENTER:
            if (!eddy__node_bool(node, "is_constant"))
                return false;
            break;
        case EDDY__ROLE_FORWARD:
        case EDDY__ROLE_LOOP_COND:
        case EDDY__ROLE_NEXT_ITERATION:
            break;
        default:
            return true;
        }
        *at = node->inputs[0];
    }
}

/* ---- inputs of the node that is written ---- */

static const eddy__onnx_written *constant_in(eddy__onnx_writer *w,
                                             eddy_node node);

static const eddy__onnx_written *
look_up(eddy__onnx_writer *w, eddy__onnx_place *place, eddy_output output)
{
    const eddy__onnx_binding *b;

    if (!follow(w, place, &output))
        return &missing;
    if (eddy__node_role(node_of(w, output.node)) == EDDY__ROLE_CONST)
        return constant_in(w, output.node);
    place = home_of(w, place, output.node);
    b = place ? find_binding(w, place, output.node) : NULL;
    if (b && (b->values[output.index].form == EDDY__ONNX_FRESH ||
              b->values[output.index].name[0] != '\0'))
        return &b->values[output.index];
    /* Most often something before it was refused; this says no more then. */
    if (w->n_refusals == 0 && eddy__onnx_well(w))
        eddy__onnx_decline_node(w, output.node, "output %u",
                                (unsigned)output.index);
    return &missing;
}

const eddy__onnx_written *eddy__onnx_input(eddy__onnx_writer *w, uint32_t i)
{
    return look_up(w, w->place, node_of(w, w->node)->inputs[i]);
}

const char *eddy__onnx_name_of(eddy__onnx_writer *w, uint32_t i)
{
    const eddy__onnx_written *value = eddy__onnx_input(w, i);

    if (value->form == EDDY__ONNX_PLAIN)
        return value->name;
    eddy__onnx_decline(w, "of an array or list");
    return "";
}

static const eddy__onnx_written *constant_in(eddy__onnx_writer *w,
                                             eddy_node node)
{
    const eddy__node *from = node_of(w, node);
    const eddy_attr *attr = eddy__node_attr(from, "value");
    eddy__onnx_binding *b = eddy__onnx_binding_in(w, &w->root, node);
    const eddy__onnx_written *made;

    if (!b || !attr)
        return &missing;
    if (b->is_done)
        return &b->values[0];
    b->is_done = true;
    if (eddy__onnx_dtype_to((eddy_dtype)from->output_dtypes[0]) == 0) {
        eddy__onnx_decline_node(
            w, node, "%s", eddy_dtype_name((eddy_dtype)from->output_dtypes[0]));
        return &missing;
    }
    made = eddy__onnx_initializer(w, from->name, attr->as.tensors[0]);
    if (made)
        b->values[0] = *made;
    return &b->values[0];
}

/* ---- one node ---- */

static bool all_dtypes_known(const eddy__node *node)
{
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        const eddy_dtype dtype = (eddy_dtype)node->output_dtypes[i];

        if (dtype != EDDY_VARIANT && dtype != EDDY_RESOURCE &&
            eddy__onnx_dtype_to(dtype) == 0)
            return false;
    }
    return true;
}

static void write_by_rule(eddy__onnx_writer *w, const eddy__node *node)
{
    const eddy__onnx_rule *rule =
        node->op ? w->parts->rule_of(node->op_name) : NULL;
    const eddy_dtype dtype =
        node->n_inputs > 0 ? (eddy_dtype)node->input_dtypes[0] : EDDY_INVALID;

    w->rule = rule;
    if (!rule)
        eddy__onnx_decline(w, "no operator");
    else if (!all_dtypes_known(node))
        eddy__onnx_decline(w, "%s",
                           eddy_dtype_name((eddy_dtype)node->output_dtypes[0]));
    else if (rule->dtypes != 0 && (rule->dtypes >> dtype & 1) == 0)
        eddy__onnx_decline(w, "of %s", eddy_dtype_name(dtype));
    else if (rule->from > w->opset)
        eddy__onnx_decline(w, "before opset %u", (unsigned)rule->from);
    else
        rule->write(w);
}

/* A Merge of a loop is bound by whoever reads the loop's nodes. */
static void write_node(eddy__onnx_writer *w, eddy__onnx_place *home,
                       eddy_node id)
{
    const eddy__node *node = node_of(w, id);
    const eddy__onnx_writing before = eddy__onnx_begin(w, home, id);

    if (eddy__node_role(node) == EDDY__ROLE_EXIT)
        w->parts->write_loop(w, home,
                             eddy_analysis_node_frame(w->analysis, id));
    else if (eddy__node_role(node) == EDDY__ROLE_MERGE &&
             w->variable_of[id] == 0)
        w->parts->write_if(w, home, id);
    else if (eddy__node_role(node) == EDDY__ROLE_MERGE)
        eddy__onnx_decline(w, "of a loop that is not structured");
    else
        write_by_rule(w, node);
    eddy__onnx_end(w, before);
}

/* ---- the walk ---- */

/* Handles are no values of a model: who takes one looks for its maker. */
static void want(eddy__onnx_writer *w, eddy__onnx_place *place, eddy_output o)
{
    if (eddy_graph_output_dtype(w->graph, o) != EDDY_RESOURCE &&
        eddy__onnx_more(w, (void **)&w->steps, &w->steps_capacity, w->n_steps,
                        sizeof *w->steps))
        w->steps[w->n_steps++] = (step){o, place, false};
}

/* What goes into a loop: its frame and those within take nothing else. */
static void want_entered(eddy__onnx_writer *w, eddy__onnx_place *home,
                         uint32_t frame)
{
    const eddy_frame *f = eddy_analysis_frame(w->analysis, frame);

    for (size_t i = 0; i < f->n_invariants; i++)
        if (w->is_needed[f->invariants[i]])
            want(w, home, node_of(w, f->invariants[i])->inputs[0]);
    for (size_t i = 0; i < f->n_variables; i++)
        if (f->variables[i].enter != EDDY_NO_NODE &&
            w->is_needed[f->variables[i].enter])
            want(w, home, node_of(w, f->variables[i].enter)->inputs[0]);
}

static void visit(eddy__onnx_writer *w, eddy_node node)
{
    if (w->visited[node] == w->visit ||
        !eddy__onnx_more(w, (void **)&w->visits, &w->visits_capacity,
                         w->n_visits, sizeof *w->visits))
        return;
    w->visited[node] = w->visit;
    w->visits[w->n_visits++] = node;
}

/* Is the node in a branch or loop that is within `home`? */
static bool is_inside(const eddy__onnx_writer *w, const eddy__onnx_place *home,
                      eddy_node node)
{
    uint32_t frame = eddy_analysis_node_frame(w->analysis, node);
    uint32_t branch = eddy_analysis_node_branch(w->analysis, node);
    bool is_deeper = false;

    while (frame != home->frame || branch != home->branch) {
        is_deeper = true;
        if (branch > 0) {
            branch = eddy_analysis_branch(w->analysis, branch)->outer;
        } else if (frame > 0) {
            branch = eddy_analysis_frame(w->analysis, frame)->branch;
            frame = eddy_analysis_frame(w->analysis, frame)->parent;
        } else {
            return false;
        }
    }
    return is_deeper;
}

static void want_outside(eddy__onnx_writer *w, eddy__onnx_place *home,
                         eddy_output value)
{
    if (follow(w, home, &value) && home_of(w, home, value.node))
        want(w, home, value);
}

/*
 * What goes into an If: whatever its sides read from around it.  They are gone
 * through backwards from what the group's Merges read.
 */
static void want_chosen(eddy__onnx_writer *w, eddy__onnx_place *home,
                        eddy_node merge)
{
    const uint32_t side =
        eddy_analysis_output_branch(w->analysis, node_of(w, merge)->inputs[0]);
    eddy__onnx_groups *groups = &w->groups[w->region_depth[side]];
    const eddy_branch_info *branch = eddy_analysis_branch(w->analysis, side);
    const size_t base = w->n_visits;

    w->visit++;
    if (branch->predicate.node != EDDY_NO_NODE)
        want(w, home, branch->predicate);
    for (eddy_node at = groups->first[groups->parent[merge]];
         at != EDDY_NO_NODE; at = groups->next[at])
        visit(w, at);
    while (w->n_visits > base && eddy__onnx_well(w)) {
        const eddy__node *node = node_of(w, w->visits[--w->n_visits]);

        for (uint32_t i = 0; i < node->n_inputs; i++)
            if (is_inside(w, home, node->inputs[i].node))
                visit(w, node->inputs[i].node);
            else
                want_outside(w, home, node->inputs[i]);
    }
}

static void want_inputs(eddy__onnx_writer *w, eddy__onnx_place *home,
                        eddy_node id)
{
    const eddy__node *node = node_of(w, id);
    const eddy__onnx_rule *rule = w->parts->rule_of(node->op_name);

    /* What has no rule is refused, and so may be what it reads. */
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if ((!rule || i >= 32 || (rule->skipped >> i & 1) == 0) &&
            !eddy__onnx_constant(w, node->inputs[i]))
            want(w, home, node->inputs[i]);
}

/* The stack is last in, first out: what is needed first is wanted last. */
static void open_node(eddy__onnx_writer *w, eddy__onnx_place *home,
                      eddy_node id)
{
    const eddy__role role = eddy__node_role(node_of(w, id));
    const bool is_choice =
        role == EDDY__ROLE_MERGE && w->variable_of[id] == 0 &&
        eddy_analysis_output_branch(w->analysis, node_of(w, id)->inputs[0]) > 0;

    if (role == EDDY__ROLE_EXIT)
        want_entered(w, home, eddy_analysis_node_frame(w->analysis, id));
    else if (is_choice)
        want_chosen(w, home, id);
    else if (role == EDDY__ROLE_NONE)
        want_inputs(w, home, id);
    w->parts->want_pushes(w, home, id);
}

void eddy__onnx_want(eddy__onnx_writer *w, eddy__onnx_place *place,
                     eddy_output output)
{
    want(w, place, output);
}

/* Takes the step on top: done with, opened, or written. */
static void take_step(eddy__onnx_writer *w)
{
    step *top = &w->steps[w->n_steps - 1];
    const step at = *top;
    eddy_output o = at.output;
    eddy__onnx_place *home = NULL;
    eddy__onnx_binding *b;

    if (follow(w, at.place, &o))
        home = home_of(w, at.place, o.node);
    if (!home) {
        eddy__onnx_decline_node(w, o.node, "dead where it is read");
        w->n_steps--;
        return;
    }
    b = find_binding(w, home, o.node);
    if (eddy__node_role(node_of(w, o.node)) == EDDY__ROLE_CONST ||
        (b && b->is_done)) {
        w->n_steps--;
    } else if (at.is_open) {
        w->n_steps--;
        write_node(w, home, o.node);
    } else if (b) {
        eddy__onnx_decline_node(w, o.node, "of control flow that needs itself");
        w->is_circular = true;
        b->is_done = true;
        w->n_steps--;
    } else if (!eddy_analysis_is_exact(w->analysis, o.node)) {
        eddy__onnx_decline_node(w, o.node, "not live whenever its branch is");
        b = eddy__onnx_binding_in(w, home, o.node);
        if (b)
            b->is_done = true;
        w->n_steps--;
    } else {
        top->is_open = true;
        (void)eddy__onnx_binding_in(w, home, o.node);
        open_node(w, home, o.node);
    }
}

const eddy__onnx_written *eddy__onnx_demand(eddy__onnx_writer *w,
                                            eddy__onnx_place *place,
                                            eddy_output output)
{
    const size_t base = w->n_steps;

    want(w, place, output);
    while (w->n_steps > base && eddy__onnx_well(w))
        take_step(w);
    w->n_steps = base;
    return eddy__onnx_well(w) ? look_up(w, place, output) : &missing;
}

/* ---- results ---- */

const char *eddy__onnx_as_result(eddy__onnx_writer *w, eddy__onnx_place *place,
                                 const eddy__onnx_written *value)
{
    const eddy__onnx_writing before = {w->node, w->place, w->binding};
    const char *name;

    w->place = place;
    name = eddy__onnx_node(w, "Identity", &value->name, 1, NULL, 0);
    w->place = before.place;
    return name;
}
