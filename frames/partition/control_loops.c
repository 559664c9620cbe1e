/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control loops: the fourth step of a partition.  A rank that receives a value
 * in a frame must know when each iteration begins and whether there is another.
 * So it gets, once a frame, a loop of its own that carries nothing and is
 * stopped by the predicate of the frame, and another for each frame around
 * that, as TensorFlow's AddControlFlow makes them.  So does a rank that sends
 * what is made of invariants alone, where nothing else would begin iterations.
 */
#include "core/base/status.h"
#include "core/graph/names.h"
#include "frames/partition/partitioning.h"

#include <string.h>

/* A loop that is being made for a rank: what all of its nodes share. */
typedef struct control_loop {
    eddy__partitioning *p;
    uint32_t frame, rank;
    const char *base; /* for names: the node that made it necessary */
    const char *device;
} control_loop;

static eddy_node *merge_of(const eddy__partitioning *p, uint32_t frame,
                           uint32_t rank)
{
    return &p->control_merge[eddy__partition_at(p, frame, rank)];
}

static const char *name_of(const control_loop *l)
{
    return eddy__names_print(&l->p->arena, "%s/_cloop", l->base);
}

/* Says where the node is that has just been added, if it has. */
static void note(const control_loop *l, eddy_output out, eddy__placed placed)
{
    eddy__partitioning *p = l->p;

    placed.rank = l->rank;
    placed.is_needed = true;
    if (p->emitter.status == EDDY_OK)
        eddy__emitter_keep(&p->emitter,
                           eddy__partition_note(p, out.node, placed));
}

/* Adds a node of the loop, all of whose values are floats. */
/* NOLINTNEXTLINE(readability-function-size): what a node is made of. */
static eddy_output add(const control_loop *l, const char *op,
                       const eddy_output *inputs, size_t n_inputs,
                       const eddy_attr *attrs, size_t n_attrs,
                       eddy__placed placed)
{
    eddy__partitioning *p = l->p;
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = op,
                                 .inputs = inputs,
                                 .n_inputs = n_inputs,
                                 .attrs = attrs,
                                 .n_attrs = n_attrs};
    eddy_output out;

    p->emitter.options.device = l->device;
    out = eddy__emitter_add_as(&p->emitter, name_of(l), &spec);
    p->emitter.options.device = NULL;
    note(l, out, placed);
    return out;
}

/* The empty vector that the outermost loop carries. */
static eddy_output add_nothing(const control_loop *l)
{
    eddy__partitioning *p = l->p;
    const eddy_output out = eddy__partition_nothing(&p->emitter, name_of(l),
                                                    l->device, EDDY_NO_NODE);

    note(l, out, (eddy__placed){.frame = 0});
    return out;
}

/* The Enter; its input is what stands for the frame around it. */
static eddy_output add_enter(const control_loop *l, eddy_output outer)
{
    const eddy_frame *frame = &l->p->analysis->frames[l->frame];
    const eddy_string name = {frame->name, strlen(frame->name)};
    const bool is_constant = false;
    const eddy_attr attrs[] = {
        eddy_attr_string("frame_name", &name),
        eddy_attr_bool("is_constant", &is_constant),
        eddy_attr_int("parallel_iterations", &frame->parallel_iterations)};

    return add(
        l, "Enter", &outer, 1, attrs, 3,
        (eddy__placed){.frame = frame->parent, .output_frame = l->frame});
}

/* The loop's predicate, or what this rank has instead. */
static eddy_output find_predicate(const control_loop *l)
{
    const eddy__partitioning *p = l->p;
    const eddy_node copy =
        p->predicate_copy[eddy__partition_at(p, l->frame, l->rank)];

    return (eddy_output){
        copy != EDDY_NO_NODE ? copy : p->analysis->frames[l->frame].loop_cond,
        0};
}

/* Enter, Merge, Switch, NextIteration; gives the Merge. */
static eddy_output add_loop(const control_loop *l, eddy_output outer)
{
    eddy__partitioning *p = l->p;
    const eddy_output predicate = find_predicate(l);
    const eddy__placed inside = {.frame = l->frame, .output_frame = l->frame};
    const int64_t two = 2;
    const eddy_attr n = eddy_attr_int("N", &two);
    const eddy_output enter = add_enter(l, outer);
    const eddy_output into[] = {enter, enter};
    const eddy_output merge = add(l, "Merge", into, 2, &n, 1, inside);
    const eddy_output by[] = {merge, predicate};
    const eddy_output turn = add(l, "Switch", by, 2, NULL, 0, inside);
    const eddy_output on = {turn.node, 1};
    const eddy_output next = add(l, "NextIteration", &on, 1, NULL, 0, inside);

    eddy__emitter_connect(&p->emitter, merge.node, 1, next);
    p->control_switch[eddy__partition_at(p, l->frame, l->rank)] = turn.node;
    return merge;
}

static eddy_status refuse(const eddy__partitioning *p, uint32_t frame,
                          eddy_node node)
{
    return eddy__graph_fail_at(
        p->err, EDDY_INVALID_ARGUMENT, EDDY_E_LOOP_CONDS,
        eddy__partition_node(p, node),
        "an edge to it leads from one rank to another in the loop '%.64s', "
        "which has no LoopCond",
        p->analysis->frames[frame].name);
}

/* The loops of `frame` and those around it, from the outside in. */
static eddy_status make_loops(eddy__partitioning *p, uint32_t frame,
                              eddy_node for_node)
{
    const eddy__node *node = eddy__partition_node(p, for_node);
    control_loop l = {.p = p,
                      .rank = p->placed[for_node].rank,
                      .base = node->name,
                      .device = node->device};

    while (*merge_of(p, frame, l.rank) == EDDY_NO_NODE) {
        eddy_output outer;

        /* The outermost one that has none. */
        l.frame = frame;
        while (p->analysis->frames[l.frame].parent != 0 &&
               *merge_of(p, p->analysis->frames[l.frame].parent, l.rank) ==
                   EDDY_NO_NODE)
            l.frame = p->analysis->frames[l.frame].parent;
        if (p->analysis->frames[l.frame].loop_cond == EDDY_NO_NODE)
            return refuse(p, l.frame, for_node);
        outer =
            p->analysis->frames[l.frame].parent == 0
                ? add_nothing(&l)
                : (eddy_output){
                      *merge_of(p, p->analysis->frames[l.frame].parent, l.rank),
                      0};
        *merge_of(p, l.frame, l.rank) = add_loop(&l, outer).node;
        EDDY_TRY(p->emitter.status);
        p->result->counts[l.rank].n_control_loops++;
    }
    return EDDY_OK;
}

/* `v` runs in each iteration that the control loop of its frame begins. */
static eddy_status drive(eddy__partitioning *p, eddy_node v)
{
    const uint32_t frame = p->placed[v].output_frame;
    eddy_node merge;

    EDDY_TRY(make_loops(p, frame, v));
    merge = *merge_of(p, frame, p->placed[v].rank);
    for (uint32_t i = 0; i < eddy__partition_node(p, v)->n_controls; i++)
        if (eddy__partition_node(p, v)->controls[i] == merge)
            return EDDY_OK;
    return eddy__graph_add_control(p->whole, v, merge, p->err);
}

/* Are there loops to be for the edge from `from` to `v`? */
static eddy_status look_at_edge(eddy__partitioning *p, eddy_node from,
                                eddy_node v)
{
    const uint32_t frame = p->placed[from].output_frame;

    if (frame == 0 || !eddy__partition_crosses(p, from, v))
        return EDDY_OK;
    EDDY_TRY(make_loops(p, frame, v));
    if (eddy__partition_iterates(p, from))
        return EDDY_OK;
    /* An Enter runs in the frame around, but is sent in each iteration. */
    return p->placed[from].frame == frame ? drive(p, from)
                                          : make_loops(p, frame, from);
}

/* Of a graph without copies: to the letter. */
static eddy_status find_begun(eddy__partitioning *p)
{
    const size_t n = p->whole->n_nodes;
    uint8_t *keep = eddy__arena_allocate(&p->arena, n, 1);

    if (!keep)
        return eddy__fail_memory(p->err);
    for (size_t v = 0; v < n; v++)
        keep[v] = p->placed[v].is_needed;
    return eddy__partition_find_begun(p, keep);
}

eddy_status eddy__partition_control_loops(eddy__partitioning *p)
{
    p->result->counts = eddy__arena_allocate_zeroed(
        &p->result->arena, p->options->n_ranks, sizeof *p->result->counts);
    if (!p->result->counts)
        return eddy__fail_memory(p->err);
    if (!p->is_begun)
        EDDY_TRY(find_begun(p));
    /* Those that are added cut only the predicate, where there is a loop. */
    for (eddy_node v = 0; v < p->whole->n_nodes; v++) {
        if (!p->placed[v].is_needed)
            continue;
        for (uint32_t i = 0; i < eddy__partition_node(p, v)->n_inputs; i++)
            EDDY_TRY(
                look_at_edge(p, eddy__partition_node(p, v)->inputs[i].node, v));
        for (uint32_t i = 0; i < eddy__partition_node(p, v)->n_controls; i++)
            EDDY_TRY(
                look_at_edge(p, eddy__partition_node(p, v)->controls[i], v));
    }
    return EDDY_OK;
}
