/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers by longest path, places by means of neighbours: Sugiyama's method
 * without the nodes that long edges would have on their way.
 *
 * An edge belongs to the innermost frame that holds both of its ends; there its
 * ends are items: nodes, or the boxes of frames.  Frames are laid out from the
 * inside out, since a box must know its size.
 */
#include "interop/draw/layout.h"

#include "core/base/memory.h"
#include "core/base/status.h"

#include <stdlib.h>
#include <string.h>

#define GAP_X 14.0
#define GAP_Y 26.0
#define SIDE 46.0 /* what pushes the sides of a branch apart */
#define LANE_WEIGHT 6.0
#define SWEEPS 14

typedef struct link {
    uint32_t frame, from, to; /* items */
    double weight, offset;    /* `to` wants to be so far to the right */
    bool is_back;             /* pulls, and has no direction */
} link;

typedef struct item {
    uint32_t node;  /* or NONE: */
    uint32_t frame; /* the box of that one */
    uint32_t layer, floor;
    double width, height, x, wanted;
    uint32_t n_waiting; /* items before it that have no layer yet */
    uint32_t beside;    /* the item whose layer it shares, or NONE */
} item;

typedef struct work {
    eddy__drawing *d;
    eddy__arena arena;
    uint32_t *depth;    /* a frame */
    uint32_t *beside;   /* a frame: the one that it mirrors, or NONE */
    uint32_t *item_of;  /* a node: its number in its home */
    uint32_t *box_of;   /* a frame: its number in its parent */
    uint32_t *n_items;  /* a frame */
    link *links;        /* by frame */
    size_t *first_link; /* a frame */
    size_t n_links;
    /* Of the frame at hand. */
    uint32_t frame, n, n_layers;
    item *items;
    uint32_t *order; /* items by layer, from left to right */
    uint32_t *first; /* a layer: in `order` */
    uint32_t *queue;
    double *left, *right;
} work;

double eddy__drawn_width(const eddy__drawn_frame *box)
{
    return box->is_closed ? EDDY__DRAW_NODE_WIDTH + 40 : box->width;
}

double eddy__drawn_height(const eddy__drawn_frame *box)
{
    return box->is_closed ? 2.0 * EDDY__DRAW_NODE_HEIGHT : box->height;
}

static const eddy_trace_node *node_at(const work *w, uint32_t node)
{
    return &w->d->nodes[node];
}

static uint32_t parent_of(const work *w, uint32_t frame)
{
    return w->d->frames[frame].parent;
}

/* ---- frames ---- */

static void find_homes(work *w)
{
    eddy__drawing *d = w->d;

    for (uint32_t f = 1; f < d->n_frames; f++)
        w->depth[f] = w->depth[parent_of(w, f)] + 1;
    for (uint32_t i = 0; i < d->n_nodes; i++) {
        d->home[i] = d->nodes[i].kind == EDDY_TRACE_ENTER
                         ? d->nodes[i].output_frame
                         : d->nodes[i].frame;
        d->boxes[d->home[i]].n_nodes++;
    }
    for (uint32_t f = d->n_frames; f-- > 1;)
        d->boxes[parent_of(w, f)].n_nodes += d->boxes[f].n_nodes;
    for (uint32_t f = 1; f < d->n_frames; f++)
        d->boxes[f].is_closed = d->boxes[f].n_nodes > d->most_open;
}

static bool is_op(const eddy_trace_node *node, const char *op)
{
    return strncmp(node->op, op, strlen(op)) == 0;
}

/* The node that makes the handle that `node` reads. */
static uint32_t stack_of(const work *w, uint32_t node)
{
    uint32_t steps = 0;

    while (node_at(w, node)->n_inputs > 0 && steps++ < w->d->n_nodes) {
        const eddy_trace_node *from =
            node_at(w, node_at(w, node)->inputs[0].node);

        node = node_at(w, node)->inputs[0].node;
        if (from->kind != EDDY_TRACE_ENTER && from->kind != EDDY_TRACE_SWITCH &&
            !is_op(from, "Identity"))
            break;
    }
    return node;
}

/* Goes up from both until they are in one frame; false if one holds the other.
 */
static bool find_siblings(const work *w, uint32_t *a, uint32_t *b)
{
    while (w->depth[*a] > w->depth[*b])
        *a = parent_of(w, *a);
    while (w->depth[*b] > w->depth[*a])
        *b = parent_of(w, *b);
    while (*a != *b && parent_of(w, *a) != parent_of(w, *b)) {
        *a = parent_of(w, *a);
        *b = parent_of(w, *b);
    }
    return *a != *b;
}

/* Frames that pop what one before them pushes. */
static void find_mirrored(work *w, uint32_t *pushed_in)
{
    eddy__drawing *d = w->d;

    memset(pushed_in, 0xff, d->n_nodes * sizeof *pushed_in);
    for (uint32_t i = 0; i < d->n_nodes; i++)
        if (is_op(&d->nodes[i], "StackPush"))
            pushed_in[stack_of(w, i)] = d->home[i];
    for (uint32_t i = 0; i < d->n_nodes; i++) {
        uint32_t pops = d->home[i], pushes;

        if (!is_op(&d->nodes[i], "StackPop"))
            continue;
        pushes = pushed_in[stack_of(w, i)];
        if (pushes != EDDY_TRACE_NONE && find_siblings(w, &pushes, &pops) &&
            w->beside[pushes] != pops)
            w->beside[pops] = pushes;
    }
    for (uint32_t f = 1; f < d->n_frames; f++)
        d->boxes[f].is_mirrored = w->beside[f] != EDDY_TRACE_NONE ||
                                  d->boxes[parent_of(w, f)].is_mirrored;
}

/* ---- items and links ---- */

static void number_items(work *w)
{
    const eddy__drawing *d = w->d;

    for (uint32_t f = 1; f < d->n_frames; f++)
        w->box_of[f] = w->n_items[parent_of(w, f)]++;
    for (uint32_t i = 0; i < d->n_nodes; i++)
        w->item_of[i] = w->n_items[d->home[i]]++;
}

static bool is_lane(eddy_trace_kind kind)
{
    return kind == EDDY_TRACE_ENTER || kind == EDDY_TRACE_MERGE ||
           kind == EDDY_TRACE_SWITCH || kind == EDDY_TRACE_NEXT_ITERATION ||
           kind == EDDY_TRACE_EXIT;
}

/* An edge, in the frame where both of its ends are items. */
static link link_of(const work *w, uint32_t from, uint32_t to,
                    const eddy_trace_input *edge)
{
    const eddy_trace_node *source = node_at(w, from), *sink = node_at(w, to);
    uint32_t a = w->d->home[from], b = w->d->home[to];
    link l = {.from = w->item_of[from],
              .to = w->item_of[to],
              .weight = edge->output == EDDY_TRACE_NONE ? 0.3 : 1,
              .is_back = source->kind == EDDY_TRACE_NEXT_ITERATION};

    for (; w->depth[a] > w->depth[b]; a = parent_of(w, a))
        l.from = w->box_of[a];
    for (; w->depth[b] > w->depth[a]; b = parent_of(w, b))
        l.to = w->box_of[b];
    for (; a != b; a = parent_of(w, a), b = parent_of(w, b)) {
        l.from = w->box_of[a];
        l.to = w->box_of[b];
    }
    l.frame = a;
    if (is_lane(source->kind) && is_lane(sink->kind) && source->frame != 0)
        l.weight = LANE_WEIGHT;
    else if (source->kind == EDDY_TRACE_SWITCH && edge->output == 0)
        l.offset = -SIDE;
    else if (source->kind == EDDY_TRACE_SWITCH &&
             edge->output != EDDY_TRACE_NONE)
        l.offset = SIDE;
    return l;
}

static int compare_links(const void *left, const void *right)
{
    const link *a = left, *b = right;

    if (a->frame != b->frame)
        return a->frame < b->frame ? -1 : 1;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

static void list_links(work *w)
{
    const eddy__drawing *d = w->d;
    uint32_t frame = 0;

    for (uint32_t i = 0; i < d->n_nodes; i++)
        for (uint32_t k = 0; k < d->nodes[i].n_inputs + d->nodes[i].n_controls;
             k++) {
            const eddy_trace_input *edge = &d->nodes[i].inputs[k];
            const link l = link_of(w, edge->node, i, edge);

            if (l.from != l.to)
                w->links[w->n_links++] = l;
        }
    qsort(w->links, w->n_links, sizeof *w->links, compare_links);
    for (size_t i = 0; i < w->n_links; i++)
        while (frame <= w->links[i].frame)
            w->first_link[frame++] = i;
    while (frame <= d->n_frames)
        w->first_link[frame++] = w->n_links;
}

static void make_items(work *w, uint32_t frame)
{
    const eddy__drawing *d = w->d;

    w->frame = frame;
    w->n = w->n_items[frame];
    memset(w->items, 0, w->n * sizeof *w->items);
    for (uint32_t f = frame + 1; f < d->n_frames; f++) {
        item *box = &w->items[w->box_of[f]];

        if (parent_of(w, f) != frame)
            continue;
        *box = (item){.node = EDDY_TRACE_NONE,
                      .frame = f,
                      .width = eddy__drawn_width(&d->boxes[f]),
                      .height = eddy__drawn_height(&d->boxes[f]),
                      .beside = w->beside[f] == EDDY_TRACE_NONE
                                    ? EDDY_TRACE_NONE
                                    : w->box_of[w->beside[f]]};
    }
    for (uint32_t i = 0; i < d->n_nodes; i++)
        if (d->home[i] == frame)
            w->items[w->item_of[i]] = (item){.node = i,
                                             .width = EDDY__DRAW_NODE_WIDTH,
                                             .height = EDDY__DRAW_NODE_HEIGHT,
                                             .beside = EDDY_TRACE_NONE};
}

/* ---- layers ---- */

static const link *first_link(const work *w)
{
    return w->links + w->first_link[w->frame];
}

static const link *end_link(const work *w)
{
    return w->links + w->first_link[w->frame + 1];
}

/* Does the link say that one is below the other? */
static bool is_down(const work *w, const link *l)
{
    return !l->is_back && w->items[l->to].beside == EDDY_TRACE_NONE;
}

/* Of the links from one item: they stand together. */
static const link *links_from(const work *w, uint32_t from)
{
    const link *low = first_link(w), *high = end_link(w);

    while (low < high) {
        const link *middle = low + (high - low) / 2;

        if (middle->from < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A circle through boxes is cut at the first item that waits. */
static uint32_t take_any(work *w, uint32_t *next)
{
    while (*next < w->n && w->items[*next].n_waiting == 0)
        ++*next;
    if (*next == w->n)
        return EDDY_TRACE_NONE;
    w->items[*next].n_waiting = 0;
    return (*next)++;
}

static void settle_beside(work *w)
{
    for (uint32_t i = 0; i < w->n; i++) {
        uint32_t other = w->items[i].beside, steps = 0;

        while (other != EDDY_TRACE_NONE &&
               w->items[other].beside != EDDY_TRACE_NONE && steps++ < w->n)
            other = w->items[other].beside;
        if (other != EDDY_TRACE_NONE &&
            w->items[i].floor < w->items[other].layer)
            w->items[i].floor = w->items[other].layer;
    }
}

/* Longest paths, from the floors on. */
static void find_layers(work *w)
{
    uint32_t head = 0, tail = 0, next = 0;

    for (uint32_t i = 0; i < w->n; i++) {
        w->items[i].n_waiting = 0;
        w->items[i].layer = w->items[i].floor;
    }
    for (const link *l = first_link(w); l < end_link(w); l++)
        w->items[l->to].n_waiting += is_down(w, l);
    for (uint32_t i = 0; i < w->n; i++)
        if (w->items[i].n_waiting == 0)
            w->queue[tail++] = i;
    while (head < w->n) {
        uint32_t from;

        if (head == tail) {
            const uint32_t any = take_any(w, &next);

            if (any == EDDY_TRACE_NONE)
                return;
            w->queue[tail++] = any;
        }
        from = w->queue[head++];
        for (const link *l = links_from(w, from);
             l < end_link(w) && l->from == from; l++) {
            item *to = &w->items[l->to];

            if (!is_down(w, l) || to->n_waiting == 0)
                continue;
            if (to->layer < w->items[from].layer + 1)
                to->layer = w->items[from].layer + 1;
            if (--to->n_waiting == 0)
                w->queue[tail++] = l->to;
        }
    }
}

static bool is_loop_switch(const work *w, uint32_t node)
{
    const eddy_trace_node *n = node_at(w, node);

    return n->kind == EDDY_TRACE_SWITCH && n->n_inputs > 1 &&
           node_at(w, n->inputs[1].node)->kind == EDDY_TRACE_LOOP_COND;
}

/* All of a kind go as far down as the lowest of them. */
static void align(work *w, bool (*is_meant)(const work *w, uint32_t node))
{
    uint32_t lowest = 0;

    for (uint32_t i = 0; i < w->n; i++)
        if (w->items[i].node != EDDY_TRACE_NONE &&
            is_meant(w, w->items[i].node) && w->items[i].layer > lowest)
            lowest = w->items[i].layer;
    for (uint32_t i = 0; i < w->n; i++)
        if (w->items[i].node != EDDY_TRACE_NONE &&
            is_meant(w, w->items[i].node))
            w->items[i].floor = lowest;
    find_layers(w);
}

static bool is_loop_end(const work *w, uint32_t node)
{
    return node_at(w, node)->kind == EDDY_TRACE_NEXT_ITERATION ||
           node_at(w, node)->kind == EDDY_TRACE_EXIT;
}

/* What reads nothing here goes down to its readers, the last ones first. */
static void pull_down(work *w)
{
    for (uint32_t i = 0; i < w->n; i++)
        w->items[i].n_waiting = 0;
    for (const link *l = first_link(w); l < end_link(w); l++)
        w->items[l->to].n_waiting += is_down(w, l);
    for (uint32_t i = w->n; i-- > 0;) {
        uint32_t least = EDDY_TRACE_NONE;

        if (w->items[i].n_waiting > 0 || w->items[i].node == EDDY_TRACE_NONE)
            continue;
        for (const link *l = links_from(w, i); l < end_link(w) && l->from == i;
             l++)
            if (is_down(w, l) && w->items[l->to].layer < least)
                least = w->items[l->to].layer;
        if (least != EDDY_TRACE_NONE && least > w->items[i].layer + 1)
            w->items[i].layer = least - 1;
    }
}

static void make_layers(work *w)
{
    find_layers(w);
    align(w, is_loop_switch);
    align(w, is_loop_end);
    settle_beside(w);
    find_layers(w);
    pull_down(w);
    w->n_layers = 0;
    for (uint32_t i = 0; i < w->n; i++)
        if (w->items[i].layer >= w->n_layers)
            w->n_layers = w->items[i].layer + 1;
}

/* ---- places ---- */

static void fill_order(work *w)
{
    memset(w->first, 0, ((size_t)w->n_layers + 1) * sizeof *w->first);
    for (uint32_t i = 0; i < w->n; i++)
        w->first[w->items[i].layer + 1]++;
    for (uint32_t k = 0; k < w->n_layers; k++) {
        w->first[k + 1] += w->first[k];
        w->queue[k] = w->first[k];
    }
    for (uint32_t i = 0; i < w->n; i++)
        w->order[w->queue[w->items[i].layer]++] = i;
}

static double gap(const work *w, uint32_t a, uint32_t b)
{
    return (w->items[a].width + w->items[b].width) / 2 + GAP_X;
}

/*
 * Places near what is wanted, without overlap: the mean of the places pushed
 * from the left and of those pushed from the right.
 */
static void place_layer(work *w, uint32_t layer)
{
    const uint32_t from = w->first[layer], to = w->first[layer + 1];

    for (uint32_t k = from; k < to; k++) {
        const double wanted = w->items[w->order[k]].wanted;
        const double least =
            k == from ? wanted
                      : w->left[k - 1] + gap(w, w->order[k - 1], w->order[k]);

        w->left[k] = wanted > least ? wanted : least;
    }
    for (uint32_t k = to; k-- > from;) {
        const double wanted = w->items[w->order[k]].wanted;
        const double most =
            k + 1 == to
                ? wanted
                : w->right[k + 1] - gap(w, w->order[k], w->order[k + 1]);

        w->right[k] = wanted < most ? wanted : most;
    }
    for (uint32_t k = from; k < to; k++)
        w->items[w->order[k]].x = (w->left[k] + w->right[k]) / 2;
}

/* Every item wants the mean of where its neighbours would have it. */
static void want_places(work *w)
{
    for (uint32_t i = 0; i < w->n; i++) {
        w->items[i].wanted = 0;
        w->left[i] = 0; /* the weights, for now */
    }
    for (const link *l = first_link(w); l < end_link(w); l++) {
        item *from = &w->items[l->from], *to = &w->items[l->to];

        to->wanted += l->weight * (from->x + l->offset);
        w->left[l->to] += l->weight;
        from->wanted += l->weight * (to->x - l->offset);
        w->left[l->from] += l->weight;
    }
    for (uint32_t i = 0; i < w->n; i++)
        w->items[i].wanted =
            w->left[i] > 0 ? w->items[i].wanted / w->left[i] : w->items[i].x;
}

/* By what is wanted; stable, and nearly sorted already. */
static void sort_layer(work *w, uint32_t layer)
{
    for (uint32_t k = w->first[layer] + 1; k < w->first[layer + 1]; k++) {
        const uint32_t moved = w->order[k];
        uint32_t at = k;

        for (; at > w->first[layer] &&
               w->items[w->order[at - 1]].wanted > w->items[moved].wanted;
             at--)
            w->order[at] = w->order[at - 1];
        w->order[at] = moved;
    }
}

static void find_places(work *w)
{
    for (uint32_t layer = 0; layer < w->n_layers; layer++) {
        double x = 0;

        for (uint32_t k = w->first[layer]; k < w->first[layer + 1]; k++) {
            item *it = &w->items[w->order[k]];

            it->x = x + it->width / 2;
            x += it->width + GAP_X;
        }
    }
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        want_places(w);
        for (uint32_t layer = 0; layer < w->n_layers; layer++) {
            if (sweep < SWEEPS - 4)
                sort_layer(w, layer);
            place_layer(w, layer);
        }
    }
}

/* ---- the frame's own box ---- */

static void put_item(work *w, const item *it, double x, double y)
{
    eddy__drawing *d = w->d;

    if (it->node != EDDY_TRACE_NONE) {
        d->x[it->node] = x;
        d->y[it->node] = y;
    } else {
        d->boxes[it->frame].x = x - it->width / 2;
        d->boxes[it->frame].y = y - it->height / 2;
    }
}

static double layer_height(const work *w, uint32_t layer)
{
    double height = 0;

    for (uint32_t k = w->first[layer]; k < w->first[layer + 1]; k++)
        if (w->items[w->order[k]].height > height)
            height = w->items[w->order[k]].height;
    return height;
}

static void finish_frame(work *w)
{
    eddy__drawn_frame *box = &w->d->boxes[w->frame];
    double left = 0, right = 0, y = EDDY__DRAW_TITLE_HEIGHT + EDDY__DRAW_MARGIN;

    for (uint32_t i = 0; i < w->n; i++) {
        const item *it = &w->items[i];

        left = i == 0 || it->x - it->width / 2 < left ? it->x - it->width / 2
                                                      : left;
        right = i == 0 || it->x + it->width / 2 > right ? it->x + it->width / 2
                                                        : right;
    }
    box->height = 2.0 * EDDY__DRAW_MARGIN + EDDY__DRAW_TITLE_HEIGHT - GAP_Y;
    for (uint32_t k = 0; k < w->n_layers; k++)
        box->height += layer_height(w, k) + GAP_Y;
    box->width = right - left + 2.0 * EDDY__DRAW_MARGIN;
    for (uint32_t layer = 0; layer < w->n_layers; layer++) {
        const double height = layer_height(w, layer);
        const double middle = y + height / 2;

        for (uint32_t k = w->first[layer]; k < w->first[layer + 1]; k++)
            put_item(w, &w->items[w->order[k]],
                     w->items[w->order[k]].x - left + EDDY__DRAW_MARGIN,
                     box->is_mirrored
                         ? box->height + EDDY__DRAW_TITLE_HEIGHT - middle
                         : middle);
        y += height + GAP_Y;
    }
}

static void lay_out(work *w)
{
    for (uint32_t f = w->d->n_frames; f-- > 0;) {
        make_items(w, f);
        make_layers(w);
        fill_order(w);
        find_places(w);
        finish_frame(w);
    }
}

/* ---- memory ---- */

static void *keep(size_t n, size_t size)
{
    return eddy__allocate_zeroed(eddy__default_allocator(), n, size);
}

static void *scratch(work *w, size_t n, size_t size)
{
    return eddy__arena_allocate_zeroed(&w->arena, n, size);
}

static bool allocate_work(work *w)
{
    const eddy__drawing *d = w->d;
    const size_t n_items = (size_t)d->n_nodes + d->n_frames + 1;
    size_t n_links = 0;

    for (uint32_t i = 0; i < d->n_nodes; i++)
        n_links += (size_t)d->nodes[i].n_inputs + d->nodes[i].n_controls;
    w->depth = scratch(w, d->n_frames, sizeof *w->depth);
    w->beside = scratch(w, d->n_frames, sizeof *w->beside);
    w->item_of = scratch(w, d->n_nodes, sizeof *w->item_of);
    w->box_of = scratch(w, d->n_frames, sizeof *w->box_of);
    w->n_items = scratch(w, d->n_frames, sizeof *w->n_items);
    w->links = scratch(w, n_links, sizeof *w->links);
    w->first_link = scratch(w, (size_t)d->n_frames + 2, sizeof *w->first_link);
    w->items = scratch(w, n_items, sizeof *w->items);
    w->order = scratch(w, n_items, sizeof *w->order);
    w->first = scratch(w, n_items + 2, sizeof *w->first);
    w->queue = scratch(w, n_items, sizeof *w->queue);
    w->left = scratch(w, n_items, sizeof *w->left);
    w->right = scratch(w, n_items, sizeof *w->right);
    return w->depth && w->beside && w->item_of && w->box_of && w->n_items &&
           w->links && w->first_link && w->items && w->order && w->first &&
           w->queue && w->left && w->right;
}

eddy_status eddy__drawing_init(eddy__drawing *d, eddy_error *err)
{
    work w = {.d = d, .arena = {.allocator = eddy__default_allocator()}};
    bool is_made;

    d->home = keep(d->n_nodes, sizeof *d->home);
    d->x = keep(d->n_nodes, sizeof *d->x);
    d->y = keep(d->n_nodes, sizeof *d->y);
    d->boxes = keep(d->n_frames, sizeof *d->boxes);
    is_made = d->home && d->x && d->y && d->boxes && allocate_work(&w);
    if (is_made) {
        memset(w.beside, 0xff, d->n_frames * sizeof *w.beside);
        find_homes(&w);
        find_mirrored(&w, w.item_of);
        number_items(&w);
        list_links(&w);
        lay_out(&w);
    }
    eddy__arena_destroy(&w.arena);
    return is_made ? EDDY_OK : eddy__fail_memory(err);
}

void eddy__drawing_deinit(eddy__drawing *d)
{
    const eddy_allocator *a = eddy__default_allocator();

    eddy__free(a, d->home, d->n_nodes, sizeof *d->home);
    eddy__free(a, d->x, d->n_nodes, sizeof *d->x);
    eddy__free(a, d->y, d->n_nodes, sizeof *d->y);
    eddy__free(a, d->boxes, d->n_frames, sizeof *d->boxes);
    d->home = NULL;
    d->x = d->y = NULL;
    d->boxes = NULL;
}
