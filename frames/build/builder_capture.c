/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a node comes to belong to a loop or a branch: what it reads from outside
 * is brought in, level by level, and what nothing holds back gets the pivot of
 * its level as a control input.
 *
 * A value enters a loop through a constant Enter, and a branch through a Switch
 * by the branch's predicate.  Each is made once for a level and value.
 */
#include "core/base/status.h"
#include "core/graph/draft.h"
#include "core/value/shape.h"
#include "frames/build/builder.h"

#include <string.h>

/* So many inputs or controls of a node are kept on the stack. */
#define FEW 16

/* ---- captures that were made ---- */

static uint32_t *chain_of(const eddy__captures *c, uint32_t level,
                          eddy_output from)
{
    const uint64_t key =
        ((uint64_t)level << 32 | from.node) ^ (uint64_t)from.index << 48;
    const uint64_t mixed = (key ^ key >> 29) * 0x9e3779b97f4a7c15u;

    return &c->chains[(mixed >> 32) & (c->n_chains - 1)];
}

static const eddy__captured *find(const eddy__captures *c, uint32_t level,
                                  eddy_output from)
{
    if (c->n == 0)
        return NULL;
    for (uint32_t i = *chain_of(c, level, from); i != EDDY__NOT_FOUND;
         i = c->items[i].next)
        if (c->items[i].level == level && c->items[i].from.node == from.node &&
            c->items[i].from.index == from.index)
            return &c->items[i];
    return NULL;
}

static void link_last(eddy__captures *c, uint32_t i)
{
    uint32_t *chain = chain_of(c, c->items[i].level, c->items[i].from);

    c->items[i].next = *chain;
    *chain = i;
}

/* Twice as many chains; the items go into them in their order. */
static bool grow_chains(eddy__captures *c, const eddy_allocator *allocator)
{
    const size_t n = c->n_chains > 0 ? 2 * c->n_chains : 64;
    uint32_t *chains = eddy__allocate(allocator, n, sizeof *chains);

    if (!chains)
        return false;
    eddy__free(allocator, c->chains, c->n_chains, sizeof *chains);
    memset(chains, 0xff, n * sizeof *chains);
    c->chains = chains;
    c->n_chains = n;
    for (uint32_t i = 0; i < c->n; i++)
        link_last(c, i);
    return true;
}

static bool reserve_capture(eddy__builder *b)
{
    eddy__captures *c = &b->captures;

    return c->n < EDDY__NOT_FOUND &&
           eddy__grow(b->allocator, (void **)&c->items, &c->capacity, c->n + 1,
                      sizeof *c->items) &&
           (c->n < c->n_chains || grow_chains(c, b->allocator));
}

void eddy__captures_truncate(eddy__captures *captures, size_t n_nodes)
{
    while (captures->n > 0 &&
           captures->items[captures->n - 1].to.node >= n_nodes) {
        const eddy__captured *last = &captures->items[--captures->n];

        *chain_of(captures, last->level, last->from) = last->next;
    }
}

void eddy__captures_deinit(eddy__captures *captures,
                           const eddy_allocator *allocator)
{
    eddy__free(allocator, captures->items, captures->capacity,
               sizeof *captures->items);
    eddy__free(allocator, captures->chains, captures->n_chains,
               sizeof *captures->chains);
}

/* ---- making a capture ---- */

static bool is_around(const eddy__builder *b, uint32_t outer, uint32_t level)
{
    while (level > outer)
        level = b->levels[level].parent;
    return level == outer;
}

eddy_status eddy__builder_want_around(const eddy__builder *b, uint32_t level,
                                      eddy_node node, eddy_error *err)
{
    const uint32_t lives_in = eddy__level_of(b, node);
    const eddy__level *l = &b->levels[lives_in];

    if (is_around(b, lives_in, level))
        return EDDY_OK;
    return eddy__graph_fail_at(
        err, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE_SCOPE, &b->graph->nodes[node],
        "'%.64s' is inside %s '%.64s', which has ended; only "
        "the results of that may be used outside of it",
        b->graph->nodes[node].name,
        l->kind == EDDY__LEVEL_LOOP ? "the loop" : "a branch of", l->scope);
}

/* Is it a reference to a variable, which enters as one? */
static bool is_reference(const eddy_graph *graph, eddy_output output)
{
    return eddy__node_gives_reference(&graph->nodes[output.node], output.index);
}

static eddy_status enter_loop(eddy__builder *b, uint32_t level,
                              eddy_output value, eddy_output *out,
                              eddy_error *err)
{
    const eddy__level *l = &b->levels[level];
    const eddy_string frame = {l->frame_name, strlen(l->frame_name)};
    const bool is_constant = true;
    const eddy_attr attrs[] = {
        eddy_attr_string("frame_name", &frame),
        eddy_attr_bool("is_constant", &is_constant),
        eddy_attr_int("parallel_iterations", &l->parallel_iterations),
    };
    eddy_node_spec spec = eddy__builder_spec(
        is_reference(b->graph, value) ? "RefEnter" : "Enter", &value, 1);

    spec.controls = l->controls;
    spec.n_controls = l->n_controls;
    spec.attrs = attrs;
    spec.n_attrs = sizeof attrs / sizeof attrs[0];
    out->index = 0;
    return eddy__builder_place(b,
                               (eddy__site){.level = level, .scope = l->scope},
                               &spec, &out->node, err);
}

static eddy_status enter_branch(eddy__builder *b, uint32_t level,
                                eddy_output value, eddy_output *out,
                                eddy_error *err)
{
    const eddy__level *l = &b->levels[level];
    const eddy_output inputs[] = {value, l->selector};
    const int64_t n_sides = l->n_sides;
    const eddy_attr n_outs = eddy_attr_int("num_outs", &n_sides);
    eddy_node_spec spec = eddy__builder_spec(
        is_reference(b->graph, value) ? "RefSwitch" : "Switch", inputs, 2);

    if (n_sides > 0) {
        spec.op = "_SwitchN";
        spec.attrs = &n_outs;
        spec.n_attrs = 1;
    }
    out->index = l->side;
    return eddy__builder_place(b,
                               (eddy__site){.level = level, .scope = l->scope},
                               &spec, &out->node, err);
}

/* The sides of a _SwitchN share it: it is kept as that of side 0. */
static uint32_t level_of_capture(const eddy__builder *b, uint32_t level)
{
    return b->levels[level].n_sides > 0 ? b->levels[level].first_side : level;
}

static bool find_in(const eddy__builder *b, uint32_t level, eddy_output from,
                    eddy_output *out)
{
    const eddy__captured *found =
        find(&b->captures, level_of_capture(b, level), from);

    if (!found)
        return false;
    *out = found->to;
    if (b->levels[level].kind == EDDY__LEVEL_BRANCH)
        out->index = b->levels[level].side;
    return true;
}

/* `value` is `from` as it is seen in the parent of `level`. */
static eddy_status capture_once(eddy__builder *b, uint32_t level,
                                eddy_output from, eddy_output value,
                                eddy_output *out, eddy_error *err)
{
    eddy__captures *c = &b->captures;

    if (!reserve_capture(b))
        return eddy__fail_memory(err);
    if (b->levels[level].kind == EDDY__LEVEL_LOOP)
        EDDY_TRY(enter_loop(b, level, value, out, err));
    else
        EDDY_TRY(enter_branch(b, level, value, out, err));
    c->items[c->n] = (eddy__captured){
        .level = level_of_capture(b, level), .from = from, .to = *out};
    link_last(c, (uint32_t)c->n++);
    return EDDY_OK;
}

eddy_status eddy__capture(eddy__builder *b, uint32_t level, eddy_output value,
                          eddy_output *out, eddy_error *err)
{
    const uint32_t lives_in = eddy__level_of(b, value.node);
    eddy_output seen = value;
    size_t n = 0;

    EDDY_TRY(eddy__builder_want_around(b, level, value.node, err));
    for (; level != lives_in && !find_in(b, level, value, &seen);
         level = b->levels[level].parent) {
        if (!eddy__grow(b->allocator, (void **)&b->path, &b->path_capacity,
                        n + 1, sizeof *b->path))
            return eddy__fail_memory(err);
        b->path[n++] = level;
    }
    while (n > 0)
        EDDY_TRY(capture_once(b, b->path[--n], value, seen, &seen, err));
    *out = seen;
    return EDDY_OK;
}

/* ---- what nothing holds back ---- */

/* One of that loop: a frame that was made by hand in it has its own. */
static bool is_invariant(const eddy_graph *graph, const eddy__level *loop,
                         eddy_output value)
{
    const eddy__node *node = &graph->nodes[value.node];
    const eddy_attr *frame = eddy__node_attr(node, "frame_name");

    return eddy__node_role(node) == EDDY__ROLE_ENTER &&
           eddy__node_bool(node, "is_constant") &&
           frame->as.strings[0].length == strlen(loop->frame_name) &&
           memcmp(frame->as.strings[0].data, loop->frame_name,
                  frame->as.strings[0].length) == 0;
}

/* Does a node of a branch wait for one that is in the branch? */
static bool waits_inside(const eddy__builder *b, uint32_t level,
                         const eddy_node_spec *spec)
{
    for (size_t i = 0; i < spec->n_controls; i++)
        if (is_around(b, level, eddy__level_of(b, spec->controls[i])))
            return true;
    return false;
}

/*
 * In a loop, a node that reads nothing but invariants would run in the last
 * iteration too, whose body is not taken.  What a branch captures is dead when
 * the branch is.  Of the controls, `n_inside` were in the loop from the start:
 * as in TensorFlow those that were brought in do not count.
 */
static bool needs_pivot(const eddy__builder *b, uint32_t level,
                        const eddy_node_spec *spec, size_t n_inside)
{
    if (b->levels[level].kind == EDDY__LEVEL_ROOT)
        return false;
    if (b->levels[level].kind == EDDY__LEVEL_BRANCH)
        return spec->n_inputs == 0 && !waits_inside(b, level, spec);
    for (size_t i = 0; i < spec->n_inputs; i++)
        if (!is_invariant(b->graph, &b->levels[level], spec->inputs[i]))
            return false;
    return n_inside == 0;
}

/* Adds a node whose inputs and controls are in the level; see above. */
static eddy_status place_held(eddy__builder *b, eddy__site site,
                              const eddy_node_spec *spec, size_t n_inside,
                              eddy_node *out_node, eddy_error *err)
{
    eddy_node few[FEW + 1] = {0}, *controls = few;
    eddy_node_spec held = *spec;
    const size_t room = spec->n_controls + 1;
    eddy_status status;

    if (!needs_pivot(b, site.level, spec, n_inside))
        return eddy__builder_place(b, site, spec, out_node, err);
    if (spec->n_controls > FEW)
        controls = eddy__allocate(b->allocator, room, sizeof *controls);
    if (!controls)
        return eddy__fail_memory(err);
    for (size_t i = 0; i < spec->n_controls; i++)
        controls[i] = spec->controls[i];
    controls[held.n_controls++] = b->levels[site.level].pivot;
    held.controls = controls;
    status = eddy__builder_place(b, site, &held, out_node, err);
    if (controls != few)
        eddy__free(b->allocator, controls, room, sizeof *controls);
    return status;
}

/* ---- controls from outside ---- */

static bool crosses_loop(const eddy__builder *b, uint32_t outer, uint32_t level)
{
    for (; level != outer; level = b->levels[level].parent)
        if (b->levels[level].kind == EDDY__LEVEL_LOOP)
            return true;
    return false;
}

/* Is its output 0 a value that is live whenever the node is? */
static bool has_sign(const eddy_graph *graph, eddy_node node)
{
    const eddy__node *n = &graph->nodes[node];

    return n->n_outputs > 0 && eddy__node_role(n) != EDDY__ROLE_SWITCH &&
           n->output_dtypes[0] != EDDY_INVALID;
}

eddy_status eddy__adopt_const(eddy__builder *b, eddy__site site,
                              eddy_tensor *value, eddy_node after,
                              eddy_output *out, eddy_error *err)
{
    const eddy_dtype dtype = eddy_tensor_dtype(value);
    const eddy_attr attrs[] = {eddy_attr_tensor("value", &value),
                               eddy_attr_type("dtype", &dtype)};
    eddy_node_spec spec = eddy__builder_spec("Const", NULL, 0);

    spec.controls = &after;
    spec.n_controls = after != EDDY_NO_NODE;
    spec.attrs = attrs;
    spec.n_attrs = 2;
    out->index = 0;
    return place_held(b, site, &spec, spec.n_controls, &out->node, err);
}

static eddy_status make_scalar(const eddy__builder *b, eddy_dtype dtype,
                               int64_t value, eddy_tensor **out_tensor,
                               eddy_error *err)
{
    const eddy_shape scalar = eddy__shape_scalar();
    unsigned char *data;

    EDDY_TRY(
        eddy_tensor_create(b->graph->ctx, dtype, &scalar, out_tensor, err));
    data = eddy_tensor_mutable_data(*out_tensor);
    switch (eddy_dtype_size(dtype)) {
    case 1:
        memcpy(data, &(const int8_t){(int8_t)value}, 1);
        break;
    case 2:
        memcpy(data, &(const int16_t){(int16_t)value}, 2);
        break;
    case 4:
        memcpy(data, &(const int32_t){(int32_t)value}, 4);
        break;
    default:
        memcpy(data, &value, 8);
        break;
    }
    return EDDY_OK;
}

eddy_status eddy__builder_adopt_scalar(eddy__builder *b, eddy__site site,
                                       eddy_dtype dtype, int64_t value,
                                       eddy_output *out, eddy_error *err)
{
    eddy_tensor *tensor = NULL;
    eddy_status status = make_scalar(b, dtype, value, &tensor, err);

    if (status == EDDY_OK)
        status = eddy__adopt_const(b, site, tensor, EDDY_NO_NODE, out, err);
    eddy_tensor_release(tensor);
    return status;
}

eddy_status eddy__builder_sign_of(eddy__builder *b, eddy__site site,
                                  eddy_node node, eddy_output *out,
                                  eddy_error *err)
{
    eddy_tensor *tensor = NULL;
    eddy_status status = make_scalar(b, EDDY_BOOL, 1, &tensor, err);

    if (status == EDDY_OK)
        status = eddy__adopt_const(b, site, tensor, node, out, err);
    eddy_tensor_release(tensor);
    return status;
}

/*
 * Within the frame a control edge may come from outside a branch.  Into a loop
 * it comes as a value does: as an Identity of what is captured.
 */
eddy_status eddy__builder_bring_control(eddy__builder *b, uint32_t level,
                                        eddy_node from, eddy_node *out_node,
                                        eddy_error *err)
{
    const uint32_t lives_in = eddy__level_of(b, from);
    eddy__site site = {.level = lives_in, .scope = b->levels[level].scope};
    eddy_output sign = {from, 0};
    eddy_node_spec spec;

    EDDY_TRY(eddy__builder_want_around(b, level, from, err));
    if (!crosses_loop(b, lives_in, level)) {
        *out_node = from;
        return EDDY_OK;
    }
    if (!has_sign(b->graph, from))
        EDDY_TRY(eddy__builder_sign_of(b, site, from, &sign, err));
    EDDY_TRY(eddy__capture(b, level, sign, &sign, err));
    spec = eddy__builder_spec("Identity", &sign, 1);
    site.level = level;
    return place_held(b, site, &spec, 0, out_node, err);
}

/* ---- adopting ---- */

/* Counts those that are as they were. */
static eddy_status bring_controls(eddy__builder *b, uint32_t level,
                                  const eddy_node_spec *spec,
                                  eddy_node *controls, size_t *out_n_inside,
                                  eddy_error *err)
{
    *out_n_inside = 0;
    for (size_t i = 0; i < spec->n_controls; i++) {
        if (spec->controls[i] >= b->graph->n_nodes)
            return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_UNKNOWN_INPUT,
                              "control input %zu is node %u of %zu", i,
                              (unsigned)spec->controls[i], b->graph->n_nodes);
        EDDY_TRY(eddy__builder_bring_control(b, level, spec->controls[i],
                                             &controls[i], err));
        *out_n_inside += controls[i] == spec->controls[i];
    }
    return EDDY_OK;
}

static eddy_status bring_inputs(eddy__builder *b, uint32_t level,
                                const eddy_node_spec *spec, eddy_output *inputs,
                                eddy_error *err)
{
    for (size_t i = 0; i < spec->n_inputs; i++) {
        EDDY_TRY(eddy__graph_check_output(b->graph, spec->inputs[i], err));
        EDDY_TRY(eddy__capture(b, level, spec->inputs[i], &inputs[i], err));
    }
    return EDDY_OK;
}

/* Where what a node reads in its level is put. */
typedef struct brought {
    eddy_output *inputs;
    eddy_node *controls;
} brought;

static eddy_status adopt(eddy__builder *b, eddy__site site,
                         const eddy_node_spec *spec, brought room,
                         eddy_node *out_node, eddy_error *err)
{
    eddy_node_spec inside = *spec;
    size_t n_inside;

    EDDY_TRY(bring_inputs(b, site.level, spec, room.inputs, err));
    EDDY_TRY(
        bring_controls(b, site.level, spec, room.controls, &n_inside, err));
    inside.inputs = room.inputs;
    inside.controls = room.controls;
    return place_held(b, site, &inside, n_inside, out_node, err);
}

eddy_status eddy__builder_adopt(eddy__builder *b, eddy__site site,
                                const eddy_node_spec *spec, eddy_node *out_node,
                                eddy_error *err)
{
    eddy_output few_inputs[FEW] = {{0, 0}};
    eddy_node few_controls[FEW] = {0};
    brought room = {few_inputs, few_controls};
    eddy_status status;

    if (spec->n_inputs > FEW)
        room.inputs =
            eddy__allocate(b->allocator, spec->n_inputs, sizeof *room.inputs);
    if (spec->n_controls > FEW)
        room.controls = eddy__allocate(b->allocator, spec->n_controls,
                                       sizeof *room.controls);
    status = room.inputs && room.controls
                 ? adopt(b, site, spec, room, out_node, err)
                 : eddy__fail_memory(err);
    if (room.inputs != few_inputs)
        eddy__free(b->allocator, room.inputs, spec->n_inputs,
                   sizeof *room.inputs);
    if (room.controls != few_controls)
        eddy__free(b->allocator, room.controls, spec->n_controls,
                   sizeof *room.controls);
    return status;
}
