/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks, which are how a gradient's loop gets what the forward loop had.
 *
 * A stack is a resource that nodes change; ONNX has only values.  So the items
 * of a stack are a sequence that goes from graph to graph: a Loop or If in
 * which something is pushed or popped takes it as one more value and gives it
 * back. What pops comes after what pushes, which the walk must be told.
 */
#include "core/base/status.h"
#include "interop/onnx/loader.h"
#include "interop/onnx/write/writer.h"

#include <string.h>

static bool is_op(const eddy__onnx_writer *w, eddy_node node, const char *op)
{
    return strcmp(w->graph->nodes[node].op_name, op) == 0;
}

/* ---- finding ---- */

static size_t find_stack(const eddy__onnx_writer *w, eddy_node handle_reader)
{
    const eddy_node maker =
        eddy__onnx_maker(w, w->graph->nodes[handle_reader].inputs[0]).node;
    size_t i = 0;

    while (i < w->n_stacks && w->stacks[i].maker != maker)
        i++;
    return i;
}

static void note_use(eddy__onnx_writer *w, eddy_node node, bool is_push)
{
    const size_t i = find_stack(w, node);
    eddy_node *of;

    if (i == w->n_stacks) {
        eddy__onnx_decline_node(w, node, "of a stack that is not known");
        return;
    }
    of = is_push ? &w->stacks[i].push : &w->stacks[i].pop;
    if (*of != EDDY_NO_NODE)
        eddy__onnx_decline_node(w, node, "one of several of a stack");
    *of = node;
}

void eddy__onnx_find_stacks(eddy__onnx_writer *w)
{
    const size_t n = w->graph->n_nodes;
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += w->is_needed[i] && is_op(w, (eddy_node)i, "StackV2");
    w->stacks = eddy__onnx_take(w, count, sizeof *w->stacks);
    w->states = eddy__onnx_take(w, count, sizeof(void *));
    if (!eddy__onnx_well(w))
        return;
    for (size_t i = 0; i < n; i++)
        if (w->is_needed[i] && is_op(w, (eddy_node)i, "StackV2"))
            w->stacks[w->n_stacks++] = (eddy__onnx_stack){
                .maker = (eddy_node)i,
                .push = EDDY_NO_NODE,
                .pop = EDDY_NO_NODE,
                .dtype = eddy__node_type(&w->graph->nodes[i], "elem_type")};
    for (size_t i = 0; i < n; i++)
        if (w->is_needed[i] && (is_op(w, (eddy_node)i, "StackPushV2") ||
                                is_op(w, (eddy_node)i, "StackPopV2")))
            note_use(w, (eddy_node)i, is_op(w, (eddy_node)i, "StackPushV2"));
}

/* ---- where something is done ---- */

/* Is the node in the frame and branch, or in what is within them? */
static bool is_within(const eddy__onnx_writer *w, eddy_node node,
                      uint32_t frame, uint32_t branch, eddy_node group)
{
    uint32_t f = eddy_analysis_node_frame(w->analysis, node);
    uint32_t b = eddy_analysis_node_branch(w->analysis, node);

    while (f != frame || b != branch) {
        if (b > 0) {
            b = eddy_analysis_branch(w->analysis, b)->outer;
        } else if (f > 0) {
            b = eddy_analysis_frame(w->analysis, f)->branch;
            f = eddy_analysis_frame(w->analysis, f)->parent;
        } else {
            return false;
        }
    }
    return branch == 0 || group == EDDY_NO_NODE ||
           w->groups[w->region_depth[branch]].parent[node] == group;
}

bool eddy__onnx_touches(const eddy__onnx_writer *w, size_t i, uint32_t frame,
                        uint32_t branch, eddy_node group)
{
    const eddy__onnx_stack *stack = &w->stacks[i];

    if (is_within(w, stack->maker, frame, branch, EDDY_NO_NODE))
        return false;
    return (stack->push != EDDY_NO_NODE &&
            is_within(w, stack->push, frame, branch, group)) ||
           (stack->pop != EDDY_NO_NODE &&
            is_within(w, stack->pop, frame, branch, group));
}

/*
 * What stands for the push in `place`: itself, or an output of the Loop or If
 * that it is in there.  Node EDDY_NO_NODE: it is not within `place`.
 */
static eddy_output stand_in(const eddy__onnx_writer *w, size_t i,
                            const eddy__onnx_place *place)
{
    const eddy_node push = w->stacks[i].push;
    uint32_t f = eddy_analysis_node_frame(w->analysis, push);
    uint32_t b = eddy_analysis_node_branch(w->analysis, push);
    eddy_output at = {push, 0};

    while (f != place->frame || b != place->branch) {
        if (b > 0) {
            const eddy__onnx_groups *groups = &w->groups[w->region_depth[b]];
            const eddy_branch_info *branch =
                eddy_analysis_branch(w->analysis, b);
            eddy_node node = groups->first[groups->parent[push]];

            /* A Merge of the group, which is around the branch. */
            while (
                node != EDDY_NO_NODE &&
                (eddy__node_role(&w->graph->nodes[node]) != EDDY__ROLE_MERGE ||
                 w->variable_of[node] > 0 ||
                 eddy_analysis_node_branch(w->analysis, node) !=
                     branch->outer ||
                 eddy_analysis_node_frame(w->analysis, node) != f))
                node = groups->next[node];
            at.node = node;
            b = branch->outer;
        } else if (f > 0) {
            const eddy_frame *frame = eddy_analysis_frame(w->analysis, f);

            at.node = EDDY_NO_NODE;
            for (size_t k = 0; k < frame->n_variables; k++)
                if (frame->variables[k].exit != EDDY_NO_NODE &&
                    w->is_needed[frame->variables[k].exit])
                    at.node = frame->variables[k].exit;
            b = frame->branch;
            f = frame->parent;
        } else {
            return (eddy_output){EDDY_NO_NODE, 0};
        }
    }
    return at;
}

/* Is the pop of the stack by the node, or within what the node is of? */
static bool pops_by(const eddy__onnx_writer *w, size_t i,
                    const eddy__onnx_place *home, eddy_node node)
{
    const eddy_node pop = w->stacks[i].pop;
    const eddy__node *at = &w->graph->nodes[node];

    if (pop == EDDY_NO_NODE)
        return false;
    if (pop == node)
        return true;
    if (eddy__node_role(at) == EDDY__ROLE_EXIT)
        return is_within(w, pop, eddy_analysis_node_frame(w->analysis, node), 0,
                         EDDY_NO_NODE);
    if (eddy__node_role(at) == EDDY__ROLE_MERGE && w->variable_of[node] == 0) {
        const uint32_t side =
            eddy_analysis_output_branch(w->analysis, at->inputs[0]);

        if (side == 0)
            return false;
        for (uint32_t s = 0;
             s < eddy_analysis_branch(w->analysis, side)->n_sides; s++)
            if (is_within(w, pop, home->frame,
                          side - eddy_analysis_branch(w->analysis, side)->side +
                              s,
                          w->groups[w->region_depth[side]].parent[node]))
                return true;
    }
    return false;
}

void eddy__onnx_want_pushes(eddy__onnx_writer *w, eddy__onnx_place *home,
                            eddy_node node)
{
    for (size_t i = 0; i < w->n_stacks; i++) {
        eddy_output push;

        if (w->stacks[i].push == EDDY_NO_NODE || !pops_by(w, i, home, node))
            continue;
        push = stand_in(w, i, home);
        if (push.node != EDDY_NO_NODE && push.node != node)
            eddy__onnx_want(w, home, push);
    }
}

void eddy__onnx_force_pushes(eddy__onnx_writer *w, eddy__onnx_place *body)
{
    for (size_t i = 0; i < w->n_stacks && eddy__onnx_well(w); i++) {
        const eddy_node push = w->stacks[i].push;
        eddy_output at;

        if (push == EDDY_NO_NODE ||
            !is_within(w, push, body->frame, body->branch, body->group))
            continue;
        at = stand_in(w, i, body);
        if (at.node == EDDY_NO_NODE)
            eddy__onnx_decline_node(w, push, "in what gives nothing");
        else
            (void)eddy__onnx_demand(w, body, at);
    }
}

/* ---- the sequences ---- */

void eddy__onnx_set_state(eddy__onnx_writer *w, const eddy__onnx_place *place,
                          size_t i, const eddy__onnx_written *value)
{
    eddy__onnx_state *state = w->states[i];

    while (state && state->place != place)
        state = state->next;
    if (!state) {
        state = eddy__onnx_take(w, 1, sizeof *state);
        if (!state)
            return;
        state->next = w->states[i];
        state->place = place;
        w->states[i] = state;
    }
    state->value = *value;
}

static const eddy__onnx_written *
find_state(const eddy__onnx_writer *w, const eddy__onnx_place *place, size_t i)
{
    for (; place; place = place->outer)
        for (const eddy__onnx_state *s = w->states[i]; s; s = s->next)
            if (s->place == place)
                return &s->value;
    return NULL;
}

eddy__onnx_written eddy__onnx_state_in(eddy__onnx_writer *w,
                                       eddy__onnx_place *place, size_t i)
{
    const eddy__onnx_written *found = find_state(w, place, i);
    const eddy__onnx_stack *stack = &w->stacks[i];
    eddy__onnx_written value = {.form = EDDY__ONNX_FRESH,
                                .dtype = (uint8_t)stack->dtype};
    eddy__onnx_place *home = eddy__onnx_home(
        place, eddy_analysis_node_frame(w->analysis, stack->maker),
        eddy_analysis_node_branch(w->analysis, stack->maker));
    const eddy__onnx_writing before = {w->node, w->place, w->binding};

    if (found)
        return *found;
    w->place = home ? home : place;
    w->node = stack->maker;
    value = eddy__onnx_as_items(w, &value);
    eddy__onnx_set_state(w, w->place, i, &value);
    w->node = before.node;
    w->place = before.place;
    return value;
}
