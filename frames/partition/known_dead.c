/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which values are dead in the last iteration of a loop because its predicate
 * is false, and live in all others: the rank that receives such a value knows
 * the predicate, too, so the value need not be sent when it is dead.  Never to
 * the letter.
 *
 * Say that a loop *goes* in its iteration 0 if it was entered live, and in any
 * other if the predicate of the one before was true; entered live is a loop of
 * the root, and within another loop one whose outer iteration goes with a true
 * predicate.  A node is live
 *
 *     EXACTLY    if and only if the loop goes in that iteration
 *     AT_LEAST   if it does; perhaps otherwise (invariants of the loop)
 *     IN_BODY    if and only if it goes, and the predicate is true
 *
 * or nothing is known of it.  In the root, EXACTLY is always.  An ordinary node
 * is live if all that it reads is.  A Switch of the predicate, which must be
 * EXACTLY live itself, makes IN_BODY of the other two; its side 0 is live once,
 * if the loop was entered live, and so is the Exit in the frame around.  A
 * Merge is as live as its Enter says if its NextIteration is IN_BODY, which is
 * taken for granted and looked at when all else is known: so it holds by
 * induction on iterations.  Branches within a loop are not followed.
 */
#include "core/base/status.h"
#include "frames/partition/partitioning.h"

#include <string.h>

enum { UNKNOWN, EXACTLY, AT_LEAST, IN_BODY };

/* Nothing is known if that is not settled after so many rounds. */
#define MOST_ROUNDS 16

typedef struct knowing {
    eddy__partitioning *p;
    eddy_node *order; /* topological, back edges left out */
    size_t n_order;
    uint8_t *is_broken; /* of a Merge: what comes round is not IN_BODY */
} knowing;

static const eddy__node *node_of(const knowing *k, eddy_node v)
{
    return eddy__partition_node(k->p, v);
}

static bool is_switch(const eddy__node *node)
{
    return eddy__node_role(node) == EDDY__ROLE_SWITCH &&
           strcmp(node->op_name, "Switch") == 0;
}

/* ---- what is known of an edge ---- */

static uint8_t of_output(const eddy__partitioning *p, eddy_output of)
{
    if (of.node >= p->n_when)
        return UNKNOWN;
    return is_switch(eddy__partition_node(p, of.node)) && of.index != 1
               ? UNKNOWN
               : p->when[of.node];
}

/* A Switch runs on whichever side. */
static uint8_t of_control(const eddy__partitioning *p, eddy_node of)
{
    if (of >= p->n_when)
        return UNKNOWN;
    return is_switch(eddy__partition_node(p, of)) && p->when[of] == IN_BODY
               ? EXACTLY
               : p->when[of];
}

/* Live when both are. */
static uint8_t both(uint8_t a, uint8_t b)
{
    if (a == UNKNOWN || b == UNKNOWN)
        return UNKNOWN;
    if (a == IN_BODY || b == IN_BODY)
        return IN_BODY;
    return a == EXACTLY || b == EXACTLY ? EXACTLY : AT_LEAST;
}

/* What an Enter of a first iteration gives only a Merge makes one of all. */
static bool is_first_alone(const knowing *k, eddy_node from)
{
    const eddy__node *node = node_of(k, from);

    return eddy__node_role(node) == EDDY__ROLE_ENTER &&
           !eddy__node_bool(node, "is_constant");
}

/* Of all that a node reads and waits for; in a loop it must be something. */
static uint8_t of_all(const knowing *k, eddy_node v)
{
    const eddy__node *node = node_of(k, v);
    uint8_t when = k->p->placed[v].frame == 0 ? EXACTLY : AT_LEAST;

    if (k->p->placed[v].frame != 0 && node->n_inputs + node->n_controls == 0)
        return UNKNOWN;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        when = is_first_alone(k, node->inputs[i].node)
                   ? UNKNOWN
                   : both(when, of_output(k->p, node->inputs[i]));
    for (uint32_t i = 0; i < node->n_controls; i++)
        when = is_first_alone(k, node->controls[i])
                   ? UNKNOWN
                   : both(when, of_control(k->p, node->controls[i]));
    return when;
}

/* ---- what is known of a node ---- */

static uint8_t of_enter(const knowing *k, eddy_node v)
{
    const eddy__placed *placed = &k->p->placed[v];
    const uint8_t outer = of_all(k, v);

    if (outer == UNKNOWN || placed->output_frame == 0)
        return UNKNOWN;
    return is_first_alone(k, v) &&
                   (placed->frame == 0 ? outer == EXACTLY : outer == IN_BODY)
               ? EXACTLY
               : AT_LEAST;
}

/* The Enter of a Merge that is a loop's, or EDDY_NO_NODE. */
static eddy_node enter_of(const knowing *k, eddy_node v)
{
    const eddy__node *node = node_of(k, v);
    eddy_node enter = EDDY_NO_NODE;
    bool has_next = false;

    if (node->n_inputs != 2 || node->n_controls > 0)
        return EDDY_NO_NODE;
    for (uint32_t i = 0; i < 2; i++) {
        const eddy__role role =
            eddy__node_role(node_of(k, node->inputs[i].node));

        if (role == EDDY__ROLE_ENTER && is_first_alone(k, node->inputs[i].node))
            enter = node->inputs[i].node;
        has_next = has_next || role == EDDY__ROLE_NEXT_ITERATION;
    }
    return has_next ? enter : EDDY_NO_NODE;
}

static uint8_t of_merge(const knowing *k, eddy_node v)
{
    const eddy_node enter = enter_of(k, v);

    return enter == EDDY_NO_NODE || k->is_broken[v] ? UNKNOWN
                                                    : k->p->when[enter];
}

/* Is it the predicate of the frame, or a rank's own? */
static bool is_predicate(const knowing *k, uint32_t frame, eddy_node v)
{
    const eddy__partitioning *p = k->p;

    return p->analysis->frames[frame].loop_cond == v ||
           p->predicate_copy[eddy__partition_at(p, frame, p->placed[v].rank)] ==
               v;
}

static uint8_t of_switch(const knowing *k, eddy_node v)
{
    const eddy__node *node = node_of(k, v);
    const uint32_t frame = k->p->placed[v].frame;
    uint8_t data;

    if (!is_switch(node) || frame == 0 || node->n_controls > 0 ||
        !is_predicate(k, frame, node->inputs[1].node) ||
        of_output(k->p, node->inputs[1]) != EXACTLY ||
        is_first_alone(k, node->inputs[0].node))
        return UNKNOWN;
    data = of_output(k->p, node->inputs[0]);
    return data == EXACTLY || data == AT_LEAST ? IN_BODY : UNKNOWN;
}

static uint8_t of_exit(const knowing *k, eddy_node v)
{
    const eddy__node *node = node_of(k, v);
    const eddy_output in = node->inputs[0];

    if (node->n_controls > 0 || in.node >= k->p->n_when || in.index != 0 ||
        !is_switch(node_of(k, in.node)) || k->p->when[in.node] != IN_BODY)
        return UNKNOWN;
    return k->p->placed[v].output_frame == 0 ? EXACTLY : IN_BODY;
}

static uint8_t judge(const knowing *k, eddy_node v)
{
    const eddy__node *node = node_of(k, v);

    if (!node->op || (node->op->flags & EDDY__OP_TRANSFER))
        return UNKNOWN;
    switch (eddy__node_role(node)) {
    case EDDY__ROLE_ENTER:
        return of_enter(k, v);
    case EDDY__ROLE_MERGE:
        return of_merge(k, v);
    case EDDY__ROLE_SWITCH:
        return of_switch(k, v);
    case EDDY__ROLE_EXIT:
        return of_exit(k, v);
    case EDDY__ROLE_CONTROL_TRIGGER:
    case EDDY__ROLE_CALL:
    case EDDY__ROLE_BRANCH:
    case EDDY__ROLE_WHILE:
        return UNKNOWN;
    case EDDY__ROLE_NONE:
    case EDDY__ROLE_NEXT_ITERATION:
    case EDDY__ROLE_LOOP_COND:
    case EDDY__ROLE_CONST:
    case EDDY__ROLE_PLACEHOLDER:
    case EDDY__ROLE_FORWARD:
        break;
    }
    return of_all(k, v);
}

/* Does what comes round bear out what was taken for granted? */
static bool is_borne_out(const knowing *k, eddy_node v)
{
    const eddy__node *node = node_of(k, v);

    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const eddy_node from = node->inputs[i].node;

        if (eddy__node_role(node_of(k, from)) == EDDY__ROLE_NEXT_ITERATION &&
            k->p->when[from] != IN_BODY)
            return false;
    }
    return true;
}

/* Goes through all nodes; were all Merges borne out? */
static bool go_round(const knowing *k)
{
    bool is_settled = true;

    for (size_t i = 0; i < k->n_order; i++)
        k->p->when[k->order[i]] = judge(k, k->order[i]);
    for (size_t i = 0; i < k->n_order; i++) {
        const eddy_node v = k->order[i];

        if (eddy__node_role(node_of(k, v)) != EDDY__ROLE_MERGE ||
            k->p->when[v] == UNKNOWN || is_borne_out(k, v))
            continue;
        k->is_broken[v] = 1;
        is_settled = false;
    }
    return is_settled;
}

eddy_status eddy__partition_find_known(eddy__partitioning *p)
{
    const size_t n = p->whole->n_nodes;
    knowing k = {.p = p,
                 .is_broken = eddy__arena_allocate_zeroed(&p->arena, n, 1)};

    p->when = eddy__arena_allocate_zeroed(&p->arena, n, 1);
    if (!k.is_broken || !p->when)
        return eddy__fail_memory(p->err);
    p->n_when = n;
    EDDY_TRY(eddy__partition_order(p, &k.order, &k.n_order));
    for (int round = 0; round < MOST_ROUNDS; round++)
        if (go_round(&k))
            return EDDY_OK;
    memset(p->when, UNKNOWN, n);
    return EDDY_OK;
}

bool eddy__partition_is_known(const eddy__partitioning *p, eddy_output of)
{
    return p->placed[of.node].output_frame != 0 && of_output(p, of) == IN_BODY;
}

bool eddy__partition_control_is_known(const eddy__partitioning *p, eddy_node of)
{
    return p->placed[of].output_frame != 0 && of_control(p, of) == IN_BODY;
}
