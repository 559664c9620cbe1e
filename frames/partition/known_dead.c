/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which values are dead in the last iteration of a loop because its predicate
 * is false, or in a branch because that is not taken, and live in all other
 * iterations: a rank that knows the predicates, too, need not be sent such a
 * value when it is dead.  Never to the letter.
 *
 * Say that a loop *goes* in its iteration 0 if it was entered live, and in any
 * other if the predicate of the one before was true; entered live is a loop of
 * the root, and within another loop one whose outer iteration goes with a true
 * predicate, in both cases if the condition of the branch holds that it is in
 * (that of what enters it, which is found as the rest is).  A node is live
 *
 *     EDDY__EXACTLY    if and only if the loop goes in that iteration
 *     EDDY__AT_LEAST   if it does; perhaps otherwise (invariants of the loop)
 *     EDDY__IN_BODY    if and only if it goes, and the predicate is true
 *
 * or nothing is known of it.  In the root, EDDY__EXACTLY is always.  An
 * ordinary node is live if all that it reads is.  A Switch of the predicate,
 * which must be EDDY__EXACTLY live itself, makes EDDY__IN_BODY of the other
 * two; its side 0 is live once, if the loop was entered live, and so is the
 * Exit in the frame around, under the condition of the loop.  A Merge is as
 * live as its Enter says if its NextIteration is EDDY__IN_BODY, which is taken
 * for granted and looked at when all else is known: so it holds by induction on
 * iterations.
 *
 * A Switch by any other predicate opens two branches, a _SwitchN by an index as
 * many as it has sides.  What is live in one of
 * them has a condition besides (conditions.c): it is live, for EDDY__EXACTLY
 * and EDDY__IN_BODY if and only if that holds too.  A Merge of all sides is
 * as live as their Switch is.
 */
#include "core/base/status.h"
#include "frames/partition/partitioning.h"

#include <string.h>

/* Nothing is known if that is not settled after so many rounds. */
#define MOST_ROUNDS 32

typedef struct knowing {
    eddy__partitioning *p;
    eddy_node *order; /* topological, back edges left out */
    size_t n_order;
    uint8_t *is_broken; /* of a Merge: what comes round is not EDDY__IN_BODY */
    uint32_t *found;    /* a frame: its entry, by what this round says */
    uint8_t *is_fed;
    /* A condition: which Merge its side came to last, of so many as [0] says.
     */
    uint32_t *met;
} knowing;

static const eddy__known nothing = {.when = EDDY__UNKNOWN};

static const eddy__node *node_of(const knowing *k, eddy_node v)
{
    return eddy__partition_node(k->p, v);
}

static eddy__known plain(uint8_t when)
{
    return (eddy__known){.when = when};
}

/* Is it known, and under no condition? */
static bool is_just(eddy__known known, uint8_t when)
{
    return known.when == when && known.condition == 0;
}

static bool is_switch(const eddy__node *node)
{
    return eddy__node_role(node) == EDDY__ROLE_SWITCH &&
           (strcmp(node->op_name, "Switch") == 0 ||
            strcmp(node->op_name, "_SwitchN") == 0);
}

/* ---- what is known of an edge ---- */

/* Live when both are. */
static eddy__known both(const knowing *k, eddy__known a, eddy__known b)
{
    eddy__known known = nothing;

    if (a.when == EDDY__UNKNOWN || b.when == EDDY__UNKNOWN ||
        !eddy__branches_both(k->p, a.condition, b.condition, &known.condition))
        return nothing;
    if (a.when == EDDY__IN_BODY || b.when == EDDY__IN_BODY)
        known.when = EDDY__IN_BODY;
    else if (a.when == EDDY__EXACTLY || b.when == EDDY__EXACTLY)
        known.when = EDDY__EXACTLY;
    else
        known.when = EDDY__AT_LEAST;
    return known;
}

/* What an Enter of a first iteration gives only a Merge makes one of all. */
static bool is_first_alone(const knowing *k, eddy_node from)
{
    const eddy__node *node = node_of(k, from);

    return eddy__node_role(node) == EDDY__ROLE_ENTER &&
           !eddy__node_bool(node, "is_constant");
}

/* Of all that a node reads and waits for; in a loop it must be something. */
static eddy__known of_all(const knowing *k, eddy_node v)
{
    const eddy__node *node = node_of(k, v);
    eddy__known known =
        plain(k->p->placed[v].frame == 0 ? EDDY__EXACTLY : EDDY__AT_LEAST);

    if (k->p->placed[v].frame != 0 && node->n_inputs + node->n_controls == 0)
        return nothing;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        known = is_first_alone(k, node->inputs[i].node)
                    ? nothing
                    : both(k, known,
                           eddy__partition_known_output(k->p, node->inputs[i]));
    for (uint32_t i = 0; i < node->n_controls; i++)
        known =
            is_first_alone(k, node->controls[i])
                ? nothing
                : both(k, known,
                       eddy__partition_known_control(k->p, node->controls[i]));
    return known;
}

/* ---- what is known of a node ---- */

/* Does it begin its loop, just where that may be entered? */
static bool is_entry(const knowing *k, eddy_node v, eddy__known outer)
{
    return is_first_alone(k, v) &&
           outer.when ==
               (k->p->placed[v].frame == 0 ? EDDY__EXACTLY : EDDY__IN_BODY);
}

static eddy__known of_enter(const knowing *k, eddy_node v)
{
    const eddy__placed *placed = &k->p->placed[v];
    const eddy__known outer = of_all(k, v);
    const uint32_t entry = k->p->entry[placed->output_frame];
    uint32_t both_hold;

    if (outer.when == EDDY__UNKNOWN || placed->output_frame == 0 ||
        entry == EDDY__NOT_FOUND ||
        !eddy__branches_both(k->p, entry, outer.condition, &both_hold) ||
        both_hold != entry)
        return nothing;
    return plain(is_entry(k, v, outer) && outer.condition == entry
                     ? EDDY__EXACTLY
                     : EDDY__AT_LEAST);
}

/* The Enter of a Merge that is a loop's, or EDDY_NO_NODE. */
static eddy_node enter_of(const knowing *k, eddy_node v, bool *out_has_next)
{
    const eddy__node *node = node_of(k, v);
    eddy_node enter = EDDY_NO_NODE;

    *out_has_next = false;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const eddy__role role =
            eddy__node_role(node_of(k, node->inputs[i].node));

        if (role == EDDY__ROLE_ENTER && is_first_alone(k, node->inputs[i].node))
            enter = node->inputs[i].node;
        *out_has_next = *out_has_next || role == EDDY__ROLE_NEXT_ITERATION;
    }
    return node->n_inputs == 2 ? enter : EDDY_NO_NODE;
}

/* A Merge of all sides of a branch, one each, is as live as what they part. */
static eddy__known of_sides(const knowing *k, eddy_node v)
{
    const eddy__node *node = node_of(k, v);
    const uint32_t number = ++k->met[0];
    eddy__known known = nothing;
    const eddy__branch *branch = NULL;

    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const eddy__known side =
            eddy__partition_known_output(k->p, node->inputs[i]);

        if (side.when == EDDY__UNKNOWN || side.condition == 0 ||
            (i > 0 && (side.when != known.when ||
                       eddy__branches_at(k->p, side.condition) != branch)))
            return nothing;
        known.when = side.when;
        branch = eddy__branches_at(k->p, side.condition);
        if (node->n_inputs != branch->n_sides ||
            k->met[side.condition] == number)
            return nothing;
        k->met[side.condition] = number;
    }
    known.condition = branch ? branch->outer : 0;
    return known;
}

static eddy__known of_merge(const knowing *k, eddy_node v)
{
    bool has_next;
    const eddy_node enter = enter_of(k, v, &has_next);

    if (node_of(k, v)->n_controls > 0 || k->is_broken[v])
        return nothing;
    if (enter == EDDY_NO_NODE && !has_next)
        return of_sides(k, v);
    return enter == EDDY_NO_NODE || !has_next ? nothing : k->p->known[enter];
}

/* Is it the predicate of the frame, or a rank's own? */
static bool is_predicate(const knowing *k, uint32_t frame, eddy_node v)
{
    const eddy__partitioning *p = k->p;

    return p->analysis->frames[frame].loop_cond == v ||
           p->predicate_copy[eddy__partition_at(p, frame, p->placed[v].rank)] ==
               v;
}

/* By the predicate of the loop, on which all its iterations go. */
static eddy__known of_turn(const knowing *k, eddy_node v)
{
    const eddy__node *node = node_of(k, v);
    const eddy__known data =
        eddy__partition_known_output(k->p, node->inputs[0]);

    if (node->n_controls > 0 || is_first_alone(k, node->inputs[0].node) ||
        !is_just(eddy__partition_known_output(k->p, node->inputs[1]),
                 EDDY__EXACTLY))
        return nothing;
    return is_just(data, EDDY__EXACTLY) || is_just(data, EDDY__AT_LEAST)
               ? (eddy__known){.when = EDDY__IN_BODY, .is_turn = true}
               : nothing;
}

/* Who reads it later may read something else. */
static bool is_reference(const knowing *k, eddy_output of)
{
    return eddy__node_gives_reference(node_of(k, of.node), of.index);
}

/* The value of another rank's copy, and of an Identity, is the same. */
static eddy_output same_as(const knowing *k, eddy_output of)
{
    const eddy__partitioning *p = k->p;

    for (;;) {
        const eddy__node *node = node_of(k, of.node);

        if (p->placed[of.node].is_copy)
            of.node = p->placed[of.node].original;
        else if (strcmp(node->op_name, "Identity") == 0 &&
                 node->n_controls == 0 && !is_reference(k, node->inputs[0]))
            of = node->inputs[0];
        else
            return of;
    }
}

static eddy__known of_switch(const knowing *k, eddy_node v)
{
    const eddy__node *node = node_of(k, v);
    const uint32_t frame = k->p->placed[v].frame;
    eddy__known known;

    if (!is_switch(node) || is_reference(k, node->inputs[1]))
        return nothing;
    if (frame != 0 && is_predicate(k, frame, node->inputs[1].node))
        return of_turn(k, v);
    known = of_all(k, v);
    if (known.when == EDDY__UNKNOWN)
        return nothing;
    known.sides = eddy__branches_sides(
        k->p, known.condition, same_as(k, node->inputs[1]), node->n_outputs);
    return known.sides > 0 ? known : nothing;
}

static eddy__known of_exit(const knowing *k, eddy_node v)
{
    const eddy__node *node = node_of(k, v);
    const eddy_output in = node->inputs[0];

    if (node->n_controls > 0 || in.node >= k->p->n_known || in.index != 0 ||
        !k->p->known[in.node].is_turn)
        return nothing;
    return (eddy__known){.when = k->p->placed[v].output_frame == 0
                                     ? EDDY__EXACTLY
                                     : EDDY__IN_BODY,
                         .condition = k->p->entry[k->p->placed[v].frame]};
}

static eddy__known judge(const knowing *k, eddy_node v)
{
    const eddy__node *node = node_of(k, v);

    if (!node->op || (node->op->flags & EDDY__OP_TRANSFER))
        return nothing;
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
        return nothing;
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

/* What is fed is there, whatever the node reads. */
static eddy__known judge_fed(const knowing *k, eddy_node v)
{
    const eddy__known known = judge(k, v);

    return k->is_fed[v] && !is_just(known, EDDY__EXACTLY) ? nothing : known;
}

/* Does what comes round bear out what was taken for granted? */
static bool is_borne_out(const knowing *k, eddy_node v)
{
    const eddy__node *node = node_of(k, v);

    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const eddy_node from = node->inputs[i].node;

        if (eddy__node_role(node_of(k, from)) == EDDY__ROLE_NEXT_ITERATION &&
            !is_just(k->p->known[from], EDDY__IN_BODY))
            return false;
    }
    return true;
}

static uint32_t depth_of(const knowing *k, uint32_t condition)
{
    return condition > 0 ? eddy__branches_at(k->p, condition)->depth : 0;
}

/*
 * Under which conditions loops are entered, by what is known now: for each the
 * outermost of those that its Enters have.  Was that taken for granted?
 */
static bool find_entries(const knowing *k)
{
    const size_t n_frames = k->p->analysis->n_frames;
    bool is_same;

    memset(k->found, 0xff, n_frames * sizeof *k->found);
    for (size_t i = 0; i < k->n_order; i++) {
        const eddy_node v = k->order[i];
        uint32_t *found = &k->found[k->p->placed[v].output_frame];
        eddy__known outer;

        if (eddy__node_role(node_of(k, v)) != EDDY__ROLE_ENTER)
            continue;
        outer = of_all(k, v);
        if (is_entry(k, v, outer) &&
            (*found == EDDY__NOT_FOUND ||
             depth_of(k, outer.condition) < depth_of(k, *found)))
            *found = outer.condition;
    }
    is_same = memcmp(k->p->entry, k->found, n_frames * sizeof *k->found) == 0;
    memcpy(k->p->entry, k->found, n_frames * sizeof *k->found);
    return is_same;
}

/* Goes through all nodes; was all borne out that was taken for granted? */
static bool go_round(const knowing *k)
{
    bool is_settled = true;

    for (size_t i = 0; i < k->n_order; i++)
        k->p->known[k->order[i]] = judge_fed(k, k->order[i]);
    if (!find_entries(k))
        return false;
    for (size_t i = 0; i < k->n_order; i++) {
        const eddy_node v = k->order[i];

        if (eddy__node_role(node_of(k, v)) != EDDY__ROLE_MERGE ||
            k->p->known[v].when == EDDY__UNKNOWN || is_borne_out(k, v))
            continue;
        k->is_broken[v] = 1;
        is_settled = false;
    }
    return is_settled;
}

static void settle(const knowing *k)
{
    for (int round = 0; round < MOST_ROUNDS; round++)
        if (go_round(k))
            return;
    memset(k->p->known, 0, k->p->n_known * sizeof *k->p->known);
    memset(k->p->entry, 0xff, k->p->analysis->n_frames * sizeof *k->p->entry);
}

eddy_status eddy__partition_find_known(eddy__partitioning *p)
{
    const size_t n = p->whole->n_nodes;
    knowing k = {.p = p,
                 .is_broken = eddy__arena_allocate_zeroed(&p->arena, n, 1),
                 .is_fed = eddy__arena_allocate_zeroed(&p->arena, n, 1),
                 .found = eddy__arena_allocate(&p->arena, p->analysis->n_frames,
                                               sizeof *k.found)};

    p->known = eddy__arena_allocate_zeroed(&p->arena, n, sizeof *p->known);
    p->entry = eddy__arena_allocate_zeroed(&p->arena, p->analysis->n_frames,
                                           sizeof *p->entry);
    if (!k.is_broken || !k.is_fed || !k.found || !p->known || !p->entry)
        return eddy__fail_memory(p->err);
    p->n_known = n;
    for (size_t i = 0; i < p->options->n_feeds; i++)
        if (p->feeds[i].node < n)
            k.is_fed[p->feeds[i].node] = 1;
    EDDY_TRY(eddy__branches_begin(p));
    k.met = eddy__arena_allocate_zeroed(&p->arena, p->branches.most_conditions,
                                        sizeof *k.met);
    if (!k.met)
        return eddy__fail_memory(p->err);
    EDDY_TRY(eddy__partition_order(p, &k.order, &k.n_order));
    settle(&k);
    return eddy__branches_find_witnesses(p);
}
