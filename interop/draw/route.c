/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways of edges: out of the frames that hold where they begin, through the
 * layers between, and into the frames that hold where they end.
 *
 * What stands in a layer of a frame is there by its middle, which a layout has
 * set: nothing else of how it was found is asked.
 */
#include "interop/draw/route.h"

#include "core/base/memory.h"
#include "core/base/status.h"

#include <stdlib.h>
#include <string.h>

/* From a way to what it passes; two of it are less than a gap. */
#define CLEARANCE 6.0

/* How deep a way between two of one layer hangs below it. */
#define SAG 10.0

/* ---- what stands where ---- */

static uint32_t parent_of(const eddy__drawing *d, uint32_t frame)
{
    return d->frames[frame].parent;
}

static void place_frames(eddy__routes *r)
{
    const eddy__drawing *d = r->d;

    for (uint32_t f = 1; f < d->n_frames; f++) {
        r->left[f] = r->left[parent_of(d, f)] + d->boxes[f].x;
        r->top[f] = r->top[parent_of(d, f)] + d->boxes[f].y;
    }
}

static eddy__drawn_item item_of_node(const eddy__routes *r, uint32_t node)
{
    const uint32_t frame = r->d->home[node];
    const double x = r->left[frame] + r->d->x[node];
    const double y = r->top[frame] + r->d->y[node];

    return (eddy__drawn_item){.frame = frame,
                              .left = x - EDDY__DRAW_NODE_WIDTH / 2.0,
                              .right = x + EDDY__DRAW_NODE_WIDTH / 2.0,
                              .top = y - EDDY__DRAW_NODE_HEIGHT / 2.0,
                              .bottom = y + EDDY__DRAW_NODE_HEIGHT / 2.0,
                              .middle = y};
}

static eddy__drawn_item item_of_frame(const eddy__routes *r, uint32_t frame)
{
    const eddy__drawn_frame *box = &r->d->boxes[frame];
    const double height = eddy__drawn_height(box);

    return (eddy__drawn_item){.frame = parent_of(r->d, frame),
                              .left = r->left[frame],
                              .right = r->left[frame] + eddy__drawn_width(box),
                              .top = r->top[frame],
                              .bottom = r->top[frame] + height,
                              .middle = r->top[frame] + height / 2};
}

/* Those of a layer differ by less than this, those of two by more. */
static bool is_above(double a, double b)
{
    return a < b - 1;
}

static int compare_rows(const void *left, const void *right)
{
    const eddy__drawn_item *a = left, *b = right;

    if (a->frame != b->frame)
        return a->frame < b->frame ? -1 : 1;
    return a->middle < b->middle ? -1 : a->middle > b->middle;
}

static int compare_places(const void *left, const void *right)
{
    const eddy__drawn_item *a = left, *b = right;

    return a->left < b->left ? -1 : a->left > b->left;
}

static void end_layer(eddy__drawn_layer *layer)
{
    for (size_t i = 0; i < layer->n_items; i++) {
        if (layer->items[i].top < layer->top)
            layer->top = layer->items[i].top;
        if (layer->items[i].bottom > layer->bottom)
            layer->bottom = layer->items[i].bottom;
    }
}

static void list_layers(eddy__routes *r, size_t n_items)
{
    uint32_t frame = 0;
    size_t n = 0;

    for (size_t i = 0; i < n_items;) {
        const eddy__drawn_item *first = &r->items[i];
        eddy__drawn_layer *layer = &r->layers[n];

        while (frame <= first->frame)
            r->first_layer[frame++] = n;
        *layer = (eddy__drawn_layer){
            .top = first->top, .bottom = first->bottom, .items = first};
        while (i < n_items && r->items[i].frame == first->frame &&
               !is_above(first->middle, r->items[i].middle)) {
            layer->n_items++;
            i++;
        }
        qsort(r->items + (i - layer->n_items), layer->n_items, sizeof *r->items,
              compare_places);
        end_layer(layer);
        n++;
    }
    while (frame <= r->d->n_frames)
        r->first_layer[frame++] = n;
}

/* ---- one way ---- */

static void add(eddy__routes *r, double x, double y)
{
    r->points[r->n_points++] = (eddy__drawn_point){.x = x, .y = y};
}

static double here(const eddy__routes *r)
{
    return r->points[r->n_points - 1].x;
}

/* The layer of a frame that an item of it stands in. */
static size_t layer_of(const eddy__routes *r, const eddy__drawn_item *item)
{
    size_t at = r->first_layer[item->frame];

    while (at + 1 < r->first_layer[item->frame + 1] &&
           is_above(r->layers[at].items[0].middle, item->middle))
        at++;
    return at;
}

/* Where nothing stands in a layer, as near to `wanted` as can be. */
static double find_gap(const eddy__drawn_layer *layer, double wanted)
{
    for (size_t i = 0; i < layer->n_items; i++) {
        const double left = layer->items[i].left - CLEARANCE;
        const double right = layer->items[i].right + CLEARANCE;

        if (wanted <= left)
            return wanted;
        if (wanted >= right)
            continue;
        return wanted - left < right - wanted ? left : right;
    }
    return wanted;
}

/* Upright through a layer, down or up, where it is nearest to `wanted`. */
static void pass(eddy__routes *r, size_t at, bool is_down, double wanted)
{
    const eddy__drawn_layer *layer = &r->layers[at];
    const double x = find_gap(layer, wanted);

    add(r, x, is_down ? layer->top : layer->bottom);
    add(r, x, is_down ? layer->bottom : layer->top);
}

/*
 * From the space beside layer `from` to that beside layer `to`, through all
 * between, and through `to` itself if it is `within`; heads for `goal`.
 */
static void pass_all(eddy__routes *r, size_t from, size_t to, bool is_down,
                     double goal)
{
    const size_t n = is_down ? to - from : from - to;

    for (size_t i = 1; i < n; i++) {
        const double x = here(r);

        pass(r, is_down ? from + i : from - i, is_down,
             x + (goal - x) / (double)(n - i + 1));
    }
}

/* From where the way is, in its frame, to the frame's edge. */
static void leave_frame(eddy__routes *r, const eddy__drawn_item *item,
                        bool is_down, double goal)
{
    const size_t first = r->first_layer[item->frame];
    const size_t end = r->first_layer[item->frame + 1];
    const eddy__drawn_frame *box = &r->d->boxes[item->frame];
    const double left = r->left[item->frame] + CLEARANCE;
    const double right = r->left[item->frame] + box->width - CLEARANCE;
    const size_t n =
        is_down ? end - 1 - layer_of(r, item) : layer_of(r, item) - first;

    for (size_t i = 1; i <= n; i++)
        pass(r, is_down ? layer_of(r, item) + i : layer_of(r, item) - i,
             is_down, here(r));
    goal = goal < left ? left : goal > right ? right : goal;
    add(r, goal, r->top[item->frame] + (is_down ? box->height : 0));
}

/* From the edge of the frame that `item` stands in to the item's layer. */
static void enter_frame(eddy__routes *r, const eddy__drawn_item *item,
                        bool is_down, double goal)
{
    const size_t at = layer_of(r, item);
    const size_t first = r->first_layer[item->frame];
    const size_t n =
        is_down ? at - first : r->first_layer[item->frame + 1] - 1 - at;

    for (size_t i = n; i > 0; i--) {
        const double x = here(r);

        pass(r, is_down ? at - i : at + i, is_down,
             x + (goal - x) / (double)(i + 1));
    }
}

/* To the side of an item's layer, in the item's own column, and back. */
static void step_off(eddy__routes *r, const eddy__drawn_item *item,
                     bool is_down)
{
    const eddy__drawn_layer *layer = &r->layers[layer_of(r, item)];

    add(r, here(r), is_down ? layer->bottom : layer->top);
}

static void step_on(eddy__routes *r, const eddy__drawn_item *item, bool is_down,
                    double goal)
{
    const eddy__drawn_layer *layer = &r->layers[layer_of(r, item)];

    goal = goal < item->left + CLEARANCE    ? item->left + CLEARANCE
           : goal > item->right - CLEARANCE ? item->right - CLEARANCE
                                            : goal;
    add(r, goal, is_down ? layer->top : layer->bottom);
    add(r, goal, is_down ? item->top : item->bottom);
}

static uint32_t depth_of(const eddy__drawing *d, uint32_t frame)
{
    uint32_t depth = 0;

    for (; frame != 0; frame = parent_of(d, frame))
        depth++;
    return depth;
}

/* The innermost frame that holds both. */
static uint32_t common_frame(const eddy__drawing *d, uint32_t a, uint32_t b)
{
    uint32_t depth_a = depth_of(d, a), depth_b = depth_of(d, b);

    for (; depth_a > depth_b; depth_a--)
        a = parent_of(d, a);
    for (; depth_b > depth_a; depth_b--)
        b = parent_of(d, b);
    for (; a != b; a = parent_of(d, a))
        b = parent_of(d, b);
    return a;
}

/* What of `frame` a node is, or is in. */
static eddy__drawn_item item_in(const eddy__routes *r, uint32_t node,
                                uint32_t frame)
{
    uint32_t at = r->d->home[node];

    if (at == frame)
        return item_of_node(r, node);
    while (parent_of(r->d, at) != frame)
        at = parent_of(r->d, at);
    return item_of_frame(r, at);
}

/* Out of all frames up to `frame`, beside the layer there. */
static void leave(eddy__routes *r, uint32_t node, uint32_t frame, bool is_down,
                  double goal)
{
    eddy__drawn_item item = item_of_node(r, node);

    add(r, (item.left + item.right) / 2, is_down ? item.bottom : item.top);
    step_off(r, &item, is_down);
    while (item.frame != frame) {
        const uint32_t left = item.frame;

        leave_frame(r, &item, is_down, goal);
        item = item_of_frame(r, left);
        step_off(r, &item, is_down);
    }
}

/* Into all frames from `frame` on, to the node. */
static void enter(eddy__routes *r, uint32_t node, uint32_t frame, bool is_down,
                  double goal)
{
    const eddy__drawn_item last = item_of_node(r, node);
    size_t n = 0;

    for (uint32_t at = last.frame; at != frame; at = parent_of(r->d, at))
        r->way_in[n++] = at;
    while (n > 0) {
        const eddy__drawn_item box = item_of_frame(r, r->way_in[--n]);
        const eddy__drawn_item item = item_in(r, node, r->way_in[n]);

        step_on(r, &box, is_down, goal);
        enter_frame(r, &item, is_down, goal);
    }
    step_on(r, &last, is_down, goal);
}

void eddy__routes_find(eddy__routes *r, uint32_t to, uint32_t k)
{
    const uint32_t from = r->d->nodes[to].inputs[k].node;
    const uint32_t frame = common_frame(r->d, r->d->home[from], r->d->home[to]);
    const eddy__drawn_item a = item_in(r, from, frame),
                           b = item_in(r, to, frame), end = item_of_node(r, to);
    const size_t above = layer_of(r, &a), below = layer_of(r, &b);
    const double goal = (end.left + end.right) / 2;

    r->n_points = 0;
    leave(r, from, frame, above <= below, goal);
    if (above == below) /* under what stands between them */
        add(r, (here(r) + goal) / 2, r->layers[above].bottom + SAG);
    else
        pass_all(r, above, below, above < below, goal);
    enter(r, to, frame, above < below, goal);
}

/* ---- memory ---- */

static size_t list_items(eddy__routes *r)
{
    size_t n = 0;

    for (uint32_t i = 0; i < r->d->n_nodes; i++)
        r->items[n++] = item_of_node(r, i);
    for (uint32_t f = 1; f < r->d->n_frames; f++)
        r->items[n++] = item_of_frame(r, f);
    qsort(r->items, n, sizeof *r->items, compare_rows);
    return n;
}

static void *keep(size_t n, size_t size)
{
    return eddy__allocate_zeroed(eddy__default_allocator(), n, size);
}

static size_t most_items(const eddy__drawing *d)
{
    return (size_t)d->n_nodes + d->n_frames;
}

/* A way passes a layer once, and each frame's edge once on either side. */
static size_t most_points(const eddy__drawing *d)
{
    return 2 * most_items(d) + 6 * ((size_t)d->n_frames + 1) + 8;
}

eddy_status eddy__routes_init(eddy__routes *r, const eddy__drawing *d,
                              eddy_error *err)
{
    *r = (eddy__routes){.d = d};
    r->left = keep(d->n_frames, sizeof *r->left);
    r->top = keep(d->n_frames, sizeof *r->top);
    r->items = keep(most_items(d), sizeof *r->items);
    r->layers = keep(most_items(d), sizeof *r->layers);
    r->first_layer = keep((size_t)d->n_frames + 1, sizeof *r->first_layer);
    r->way_in = keep(d->n_frames, sizeof *r->way_in);
    r->points = keep(most_points(d), sizeof *r->points);
    if (!r->left || !r->top || !r->items || !r->layers || !r->first_layer ||
        !r->way_in || !r->points)
        return eddy__fail_memory(err);
    place_frames(r);
    list_layers(r, list_items(r));
    return EDDY_OK;
}

void eddy__routes_deinit(eddy__routes *r)
{
    const eddy_allocator *a = eddy__default_allocator();
    const eddy__drawing *d = r->d;

    if (!d)
        return;
    eddy__free(a, r->left, d->n_frames, sizeof *r->left);
    eddy__free(a, r->top, d->n_frames, sizeof *r->top);
    eddy__free(a, r->items, most_items(d), sizeof *r->items);
    eddy__free(a, r->layers, most_items(d), sizeof *r->layers);
    eddy__free(a, r->first_layer, (size_t)d->n_frames + 1,
               sizeof *r->first_layer);
    eddy__free(a, r->way_in, d->n_frames, sizeof *r->way_in);
    eddy__free(a, r->points, most_points(d), sizeof *r->points);
    *r = (eddy__routes){.d = NULL};
}
