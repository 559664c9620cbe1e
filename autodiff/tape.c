/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which stacks are tapes: the handle of each is followed to where it is used.
 */
#include "autodiff/tape.h"

#include "core/base/status.h"

#include <string.h>

/* Is the node's op `op` or its older form, which has no "V2" behind it? */
static bool has_form(const eddy__flow *flow, eddy_node node, const char *op)
{
    const char *name = eddy__flow_node(flow, node)->op_name;
    const size_t n_older = strlen(op) - strlen("V2");

    return strcmp(name, op) == 0 ||
           (strlen(name) == n_older && strncmp(name, op, n_older) == 0);
}

static bool is_stack(const eddy__flow *flow, eddy_node node)
{
    return eddy__selected(flow->selection, node) &&
           has_form(flow, node, "StackV2");
}

/* Does the node only hand a handle on? */
static bool is_way(const eddy__flow *flow, eddy_node node)
{
    const eddy__role role = (eddy__role)flow->role[node];

    return role == EDDY__ROLE_FORWARD || role == EDDY__ROLE_SWITCH ||
           (role == EDDY__ROLE_ENTER && flow->is_constant[node]);
}

static void note_use(const eddy__flow *flow, eddy__tapes *tapes,
                     eddy__flow_edge edge)
{
    eddy__tape_stack *tape = &tapes->tapes[tapes->n];

    if (edge.input == 0 && has_form(flow, edge.to, "StackPushV2")) {
        tape->is_tape = tape->is_tape && tape->push == EDDY_NO_NODE;
        tape->push = edge.to;
        tapes->of_push[edge.to] = (uint32_t)tapes->n + 1;
    } else if (edge.input == 0 && has_form(flow, edge.to, "StackPopV2")) {
        tape->is_tape = tape->is_tape && tape->pop == EDDY_NO_NODE;
        tape->pop = edge.to;
        tapes->of_pop[edge.to] = (uint32_t)tapes->n + 1;
    } else {
        tape->is_tape = false;
    }
}

/* Follows the handle; `way` has room for every node and `seen` starts 0. */
static void follow(const eddy__flow *flow, eddy__tapes *tapes, eddy_node *way,
                   uint8_t *seen)
{
    size_t n = 0;

    way[n++] = tapes->tapes[tapes->n].stack;
    for (size_t i = 0; i < n; i++)
        for (size_t e = flow->first_out[way[i]];
             e < flow->first_out[way[i] + 1]; e++) {
            const eddy__flow_edge edge = flow->edge[e];

            if (edge.input == EDDY__CONTROL)
                continue;
            if (!is_way(flow, edge.to)) {
                note_use(flow, tapes, edge);
            } else if (!seen[edge.to]) {
                seen[edge.to] = 1;
                way[n++] = edge.to;
            }
        }
}

static void close_tape(eddy__tapes *tapes, uint32_t id)
{
    eddy__tape_stack *tape = &tapes->tapes[id];

    if (tape->push == EDDY_NO_NODE || tape->pop == EDDY_NO_NODE)
        tape->is_tape = false;
    if (tape->push != EDDY_NO_NODE)
        tapes->of_node[tape->push] = id + 1;
    if (tape->pop != EDDY_NO_NODE)
        tapes->of_node[tape->pop] = id + 1;
}

eddy_status eddy__tapes_find(eddy__tapes *tapes, const eddy__flow *flow,
                             eddy__arena *arena, eddy_error *err)
{
    eddy_node *way =
        eddy__arena_allocate(arena, flow->n_nodes + 1, sizeof *way);
    uint8_t *seen = eddy__arena_allocate_zeroed(arena, flow->n_nodes, 1);
    size_t n = 0;

    for (eddy_node v = 0; v < flow->n_nodes; v++)
        n += is_stack(flow, v);
    tapes->tapes = eddy__arena_allocate_zeroed(arena, n, sizeof *tapes->tapes);
    tapes->of_node = eddy__arena_allocate_zeroed(arena, flow->n_nodes,
                                                 sizeof *tapes->of_node);
    tapes->of_push = eddy__arena_allocate_zeroed(arena, flow->n_nodes,
                                                 sizeof *tapes->of_push);
    tapes->of_pop = eddy__arena_allocate_zeroed(arena, flow->n_nodes,
                                                sizeof *tapes->of_pop);
    if (!way || !seen || !tapes->tapes || !tapes->of_node || !tapes->of_push ||
        !tapes->of_pop)
        return eddy__fail_memory(err);
    for (eddy_node v = 0; v < flow->n_nodes; v++) {
        if (!is_stack(flow, v))
            continue;
        tapes->tapes[tapes->n] = (eddy__tape_stack){.stack = v,
                                                    .push = EDDY_NO_NODE,
                                                    .pop = EDDY_NO_NODE,
                                                    .is_tape = true};
        follow(flow, tapes, way, seen);
        close_tape(tapes, (uint32_t)tapes->n++);
    }
    return EDDY_OK;
}
