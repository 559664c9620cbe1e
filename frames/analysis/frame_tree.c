/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk is breadth-first, as TensorFlow's.  A node gets its frame from the
 * first edge that reaches it; every other edge must agree.  Back edges come
 * last, so that a mistake in a loop is found where it is, not at its Merge.
 * A name stands for one frame: a second parent is an error, so frames are found
 * by name alone.  While it walks, frames have numbers in the order in which
 * they are met; only at the end do they get those of eddy_analysis.
 */
#include "frames/analysis/frame_tree.h"

#include "core/base/status.h"
#include "frames/analysis/report.h"

#include <stdio.h>
#include <string.h>

typedef struct walk {
    const eddy__flow *flow;
    eddy_analysis *analysis;
    const eddy_allocator *allocator;
    eddy_frame *frames;
    size_t n_frames, capacity;
    eddy_node *enters; /* a frame: the Enter that was met first */
    size_t enters_capacity;
    eddy__map names;
    eddy_node *reached_by; /* EDDY_NO_NODE: by being a root, or by a feed */
    eddy_node *queue;
    size_t n_queued;
    eddy_node stray; /* the first that must not be in the root frame */
    eddy_error *err;
} walk;

static eddy_status fail_at(const walk *w, eddy_detail detail, eddy_node node,
                           uint32_t frame, const char *text)
{
    return eddy__report_refuse(w->err, detail, eddy__flow_node(w->flow, node),
                               w->frames, frame, "%s", text);
}

/* ---- frames ---- */

static eddy_status add_frame(walk *w, eddy_node enter, uint32_t parent,
                             const char *name)
{
    const uint32_t depth = w->n_frames ? w->frames[parent].depth + 1 : 0;

    if (depth > EDDY__MAX_FRAME_DEPTH)
        return eddy__report_refuse(
            w->err, EDDY_E_FRAME_DEPTH, eddy__flow_node(w->flow, enter),
            w->frames, parent, "its frame is nested %u deep; the limit is %d",
            depth, EDDY__MAX_FRAME_DEPTH);
    if (!eddy__grow(w->allocator, (void **)&w->frames, &w->capacity,
                    w->n_frames + 1, sizeof *w->frames) ||
        !eddy__grow(w->allocator, (void **)&w->enters, &w->enters_capacity,
                    w->n_frames + 1, sizeof *w->enters) ||
        !eddy__map_set(&w->names, name, (uint32_t)w->n_frames))
        return eddy__fail_memory(w->err);
    w->frames[w->n_frames] = (eddy_frame){
        .name = name,
        .parent = parent,
        .depth = depth,
        .loop_cond = EDDY_NO_NODE,
    };
    w->enters[w->n_frames++] = enter;
    return EDDY_OK;
}

static eddy_status refuse_parents(const walk *w, eddy_node enter,
                                  uint32_t parent, uint32_t frame)
{
    const eddy_frame *f = &w->frames[frame];
    const eddy_node other = w->enters[frame];

    return eddy__report_refuse(
        w->err, EDDY_E_FRAME_PARENTS, eddy__flow_node(w->flow, enter),
        w->frames, parent,
        "enters %s from %s, but '%s' enters it from %s; a frame has one "
        "parent, so this needs another frame_name",
        eddy__name_frame(f).text, eddy__name_frame(&w->frames[parent]).text,
        eddy__shorten(eddy__flow_node(w->flow, other)->name).text,
        eddy__name_frame(&w->frames[f->parent]).text);
}

/* The frame that `enter` leads to from `parent`. */
static eddy_status enter_frame(walk *w, eddy_node enter, uint32_t parent,
                               uint32_t *out_frame)
{
    const eddy__node *node = eddy__flow_node(w->flow, enter);
    const eddy_string name = eddy__node_string(node, "frame_name");
    const char *text;
    uint32_t found;

    if (name.length == 0)
        return fail_at(w, EDDY_E_FRAME_NAME, enter, parent,
                       "an Enter must have a frame_name");
    if (memchr(name.data, '\0', name.length))
        return fail_at(w, EDDY_E_FRAME_NAME, enter, parent,
                       "a frame_name may not hold a NUL byte");
    found = eddy__map_find(&w->names, name.data, name.length);
    if (found != EDDY__NOT_FOUND) {
        *out_frame = found;
        return w->frames[found].parent == parent
                   ? EDDY_OK
                   : refuse_parents(w, enter, parent, found);
    }
    text = eddy__arena_text(&w->analysis->arena, name.data, name.length);
    if (!text)
        return eddy__fail_memory(w->err);
    *out_frame = (uint32_t)w->n_frames;
    return add_frame(w, enter, parent, text);
}

/* ---- the walk ---- */

/* What reached a node, for a message: 'a', or the feed of 'a:0'. */
static void describe_source(const walk *w, eddy_node node, eddy_node by,
                            char *text, size_t size)
{
    const eddy__node *n = eddy__flow_node(w->flow, node);
    const size_t begin = w->flow->first_in[node];
    uint32_t i = 0;

    if (by != EDDY_NO_NODE) {
        snprintf(text, size, "'%s'",
                 eddy__shorten(eddy__flow_node(w->flow, by)->name).text);
        return;
    }
    while (i < n->n_inputs && w->flow->source[begin + i] != EDDY__FED)
        i++;
    if (i == n->n_inputs) {
        snprintf(text, size, "the node itself");
        return;
    }
    snprintf(
        text, size, "the feed of '%s:%u'",
        eddy__shorten(eddy__flow_node(w->flow, n->inputs[i].node)->name).text,
        n->inputs[i].index);
}

static eddy_status refuse_mixed(const walk *w, eddy_node node, uint32_t frame,
                                eddy_node by)
{
    const uint32_t first = w->analysis->node_frame[node];
    const eddy_node first_by = w->reached_by[node];
    const bool is_deeper = w->frames[frame].depth > w->frames[first].depth;
    const uint32_t inner = is_deeper ? frame : first;
    char a[100], b[100];

    describe_source(w, node, first_by, a, sizeof a);
    describe_source(w, node, by, b, sizeof b);
    return eddy__report_refuse(
        w->err, EDDY_E_FRAME_MIXED, eddy__flow_node(w->flow, node), w->frames,
        inner,
        "inputs from different frames: %s is in %s, %s is in %s; bring %s in "
        "through an Enter with frame_name '%s' and is_constant = true",
        a, eddy__name_frame(&w->frames[first]).text, b,
        eddy__name_frame(&w->frames[frame]).text, is_deeper ? a : b,
        eddy__shorten(w->frames[inner].name).text);
}

/*
 * The frame of what `node`, which runs in `frame`, puts out.  An Exit or a
 * NextIteration in the root frame often comes of a mistake further up, a
 * constant without an Enter; so the walk goes on to look for that.
 */
static eddy_status leave_node(walk *w, eddy_node node, uint32_t frame,
                              uint32_t *out_frame)
{
    const uint8_t role = w->flow->role[node];

    *out_frame = frame;
    if (role == EDDY__ROLE_ENTER)
        return enter_frame(w, node, frame, out_frame);
    if (role == EDDY__ROLE_EXIT)
        *out_frame = w->frames[frame].parent;
    if (frame == 0 && w->stray == EDDY_NO_NODE &&
        (role == EDDY__ROLE_EXIT || role == EDDY__ROLE_NEXT_ITERATION))
        w->stray = node;
    return EDDY_OK;
}

static eddy_status reach(walk *w, eddy_node node, uint32_t frame, eddy_node by)
{
    eddy_analysis *a = w->analysis;

    if (a->node_frame[node] == frame)
        return EDDY_OK;
    if (a->node_frame[node] != EDDY__NOT_FOUND)
        return refuse_mixed(w, node, frame, by);
    a->node_frame[node] = frame;
    w->reached_by[node] = by;
    w->queue[w->n_queued++] = node;
    return leave_node(w, node, frame, &a->output_frame[node]);
}

/* No edge leads to it, or one that is cut. */
static bool is_root(const eddy__flow *flow, eddy_node node)
{
    for (size_t i = flow->first_in[node]; i < flow->first_in[node + 1]; i++)
        if (!eddy__flow_is_node(flow->source[i]))
            return true;
    return flow->first_in[node] == flow->first_in[node + 1];
}

/* Follows the back edges of `node`, or all its other edges. */
static eddy_status follow(walk *w, eddy_node node, bool is_back)
{
    const eddy__flow *flow = w->flow;
    const uint32_t frame = w->analysis->output_frame[node];

    for (size_t i = flow->first_out[node]; i < flow->first_out[node + 1]; i++) {
        const eddy__flow_edge edge = flow->edge[i];

        if (eddy__is_back_edge(flow, node, edge.to,
                               edge.input != EDDY__CONTROL) == is_back)
            EDDY_TRY(reach(w, edge.to, frame, node));
    }
    return EDDY_OK;
}

/* Every node can be reached without back edges, see frames/analysis/cycle.h. */
static eddy_status visit_all(walk *w)
{
    const eddy__flow *flow = w->flow;

    for (eddy_node v = 0; v < flow->n_nodes; v++)
        if (eddy__selected(flow->selection, v) && is_root(flow, v))
            EDDY_TRY(reach(w, v, 0, EDDY_NO_NODE));
    for (size_t next = 0; next < w->n_queued; next++)
        EDDY_TRY(follow(w, w->queue[next], false));
    for (eddy_node v = 0; v < flow->n_nodes; v++)
        if (flow->role[v] == EDDY__ROLE_NEXT_ITERATION)
            EDDY_TRY(follow(w, v, true));
    if (w->stray == EDDY_NO_NODE)
        return EDDY_OK;
    return fail_at(w, EDDY_E_NOT_IN_FRAME, w->stray, 0,
                   flow->role[w->stray] == EDDY__ROLE_EXIT
                       ? "an Exit in the root frame; no Enter leads to it"
                       : "a NextIteration in the root frame, which has one "
                         "iteration; no Enter leads to it");
}

/* ---- numbers ---- */

/* The children of each frame as a list, by their lowest Enter. */
typedef struct family {
    uint32_t first_child, last_child, next_sibling;
} family;

static void list_children(const walk *w, family *families)
{
    memset(families, 0xff, w->n_frames * sizeof *families);
    for (eddy_node v = 0; v < w->flow->n_nodes; v++) {
        uint32_t child, parent;

        if (w->flow->role[v] != EDDY__ROLE_ENTER)
            continue;
        child = w->analysis->output_frame[v];
        parent = w->analysis->node_frame[v];
        if (families[child].next_sibling != EDDY__NOT_FOUND ||
            families[parent].last_child == child)
            continue;
        if (families[parent].last_child == EDDY__NOT_FOUND)
            families[parent].first_child = child;
        else
            families[families[parent].last_child].next_sibling = child;
        families[parent].last_child = child;
    }
}

/* Numbers a frame, then its children and theirs: number[old] = new. */
static void number_frames(const walk *w, const family *families,
                          uint32_t *number)
{
    uint32_t frame = 0, next = 0;

    for (;;) {
        number[frame] = next++;
        if (families[frame].first_child != EDDY__NOT_FOUND) {
            frame = families[frame].first_child;
            continue;
        }
        while (frame != 0 && families[frame].next_sibling == EDDY__NOT_FOUND)
            frame = w->frames[frame].parent;
        if (frame == 0)
            return;
        frame = families[frame].next_sibling;
    }
}

static eddy_status store_frames(walk *w, eddy__arena *scratch)
{
    eddy_analysis *a = w->analysis;
    family *families =
        eddy__arena_allocate(scratch, w->n_frames, sizeof *families);
    uint32_t *number =
        eddy__arena_allocate(scratch, w->n_frames, sizeof *number);

    a->frames = eddy__arena_allocate(&a->arena, w->n_frames, sizeof *a->frames);
    a->n_enters = eddy__arena_allocate_zeroed(&a->arena, w->n_frames,
                                              sizeof *a->n_enters);
    a->has_next = eddy__arena_allocate_zeroed(&a->arena, w->n_frames,
                                              sizeof *a->has_next);
    if (!families || !number || !a->frames || !a->n_enters || !a->has_next)
        return eddy__fail_memory(w->err);
    list_children(w, families);
    number_frames(w, families, number);
    for (size_t f = 0; f < w->n_frames; f++) {
        a->frames[number[f]] = w->frames[f];
        a->frames[number[f]].parent = number[w->frames[f].parent];
    }
    a->n_frames = w->n_frames;
    for (eddy_node v = 0; v < w->flow->n_nodes; v++) {
        if (a->node_frame[v] == EDDY__NOT_FOUND)
            continue;
        a->node_frame[v] = number[a->node_frame[v]];
        a->output_frame[v] = number[a->output_frame[v]];
    }
    return EDDY_OK;
}

/* ---- what the nodes of a frame say about it ---- */

static eddy_status note_enter(eddy_analysis *a, const eddy__node *node,
                              uint32_t frame, eddy_error *err)
{
    const int64_t asked = eddy__node_int(node, "parallel_iterations");
    eddy_frame *f = &a->frames[frame];
    int64_t used = asked;

    if (asked < 1)
        return eddy__report_refuse(err, EDDY_E_PARALLEL_ITERATIONS, node,
                                   a->frames, f->parent,
                                   "parallel_iterations is %lld; it must be at "
                                   "least 1",
                                   (long long)asked);
    if (used > EDDY__MAX_PARALLEL_ITERATIONS)
        used = EDDY__MAX_PARALLEL_ITERATIONS;
    if (a->n_enters[frame]++ == 0)
        f->parallel_iterations = used;
    else if (f->parallel_iterations != used)
        return eddy__report_warn(
            a, err,
            "node '%s' (%s): parallel_iterations is %lld, but "
            "%s has %lld from its first Enter, which counts",
            eddy__shorten(node->name).text, node->op_name, (long long)asked,
            eddy__name_frame(f).text, (long long)f->parallel_iterations);
    return EDDY_OK;
}

static bool is_loop_counter(const eddy__node *node)
{
    return strstr(node->name, "LoopCounter") != NULL;
}

/*
 * TensorFlow's rule: each LoopCond is held against the one before, and one of
 * the two may be a LoopCounter, which a pass may add to a loop.
 */
static eddy_status note_loop_cond(const eddy__flow *flow, eddy_analysis *a,
                                  eddy_node node, eddy_node *before,
                                  eddy_error *err)
{
    const uint32_t frame = a->node_frame[node];
    const eddy__node *new = eddy__flow_node(flow, node);
    const eddy__node *old;

    if (before[frame] != EDDY_NO_NODE) {
        old = eddy__flow_node(flow, before[frame]);
        if (!is_loop_counter(old) && !is_loop_counter(new))
            return eddy__report_refuse(
                err, EDDY_E_LOOP_CONDS, new, a->frames, frame,
                "%s has two LoopConds, this one and '%s'",
                eddy__name_frame(&a->frames[frame]).text,
                eddy__shorten(old->name).text);
    }
    before[frame] = node;
    if (a->frames[frame].loop_cond == EDDY_NO_NODE ||
        is_loop_counter(eddy__flow_node(flow, a->frames[frame].loop_cond)))
        a->frames[frame].loop_cond = node;
    return EDDY_OK;
}

static eddy_status note_nodes(const eddy__flow *flow, eddy_analysis *a,
                              eddy__arena *scratch, eddy_error *err)
{
    eddy_node *before =
        eddy__arena_allocate(scratch, a->n_frames, sizeof *before);

    if (!before)
        return eddy__fail_memory(err);
    memset(before, 0xff, a->n_frames * sizeof *before);
    for (eddy_node v = 0; v < flow->n_nodes; v++) {
        const eddy__node *node = eddy__flow_node(flow, v);

        if (flow->role[v] == EDDY__ROLE_ENTER)
            EDDY_TRY(note_enter(a, node, a->output_frame[v], err));
        else if (flow->role[v] == EDDY__ROLE_NEXT_ITERATION)
            a->has_next[a->node_frame[v]] = true;
        else if (flow->role[v] == EDDY__ROLE_LOOP_COND)
            EDDY_TRY(note_loop_cond(flow, a, v, before, err));
    }
    return EDDY_OK;
}

/* ---- all of it ---- */

static eddy_status build(walk *w, eddy__arena *scratch)
{
    const size_t n = w->flow->n_nodes;
    eddy_analysis *a = w->analysis;

    a->n_nodes = n;
    a->node_frame = eddy__arena_allocate(&a->arena, n, sizeof(uint32_t));
    a->output_frame = eddy__arena_allocate(&a->arena, n, sizeof(uint32_t));
    w->reached_by = eddy__arena_allocate(scratch, n, sizeof *w->reached_by);
    w->queue = eddy__arena_allocate(scratch, n, sizeof *w->queue);
    if (!a->node_frame || !a->output_frame || !w->reached_by || !w->queue)
        return eddy__fail_memory(w->err);
    memset(a->node_frame, 0xff, n * sizeof(uint32_t));
    memset(a->output_frame, 0xff, n * sizeof(uint32_t));
    EDDY_TRY(add_frame(w, EDDY_NO_NODE, 0, ""));
    w->frames[0].parallel_iterations = 1;
    EDDY_TRY(visit_all(w));
    EDDY_TRY(store_frames(w, scratch));
    return note_nodes(w->flow, a, scratch, w->err);
}

eddy_status eddy__frame_tree_build(const eddy__flow *flow,
                                   eddy_analysis *analysis,
                                   eddy__arena *scratch, eddy_error *err)
{
    walk w = {
        .flow = flow,
        .analysis = analysis,
        .allocator = analysis->arena.allocator,
        .names = {.allocator = analysis->arena.allocator},
        .stray = EDDY_NO_NODE,
        .err = err,
    };
    eddy_status status = build(&w, scratch);

    eddy__free(w.allocator, w.frames, w.capacity, sizeof *w.frames);
    eddy__free(w.allocator, w.enters, w.enters_capacity, sizeof *w.enters);
    eddy__map_deinit(&w.names);
    return status;
}
