/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pass of levels exact and full: a node of a loop that reads constant Enters
 * and constants alone computes the same in every iteration.  It is computed
 * where the loop is entered, once, and comes in by a constant Enter of its own.
 *
 * It lives and dies as before: where it waited for something, or a constant
 * that it reads did, an Identity that waits for the same hands the value on;
 * else it is live where all of its Enters are, and so is the new one.  It can't
 * fail, so that it does no harm where the loop makes no trip.  A node that
 * waits for nothing runs in any case; of others those that are cheap are moved.
 *
 * Frames and shapes must be known.  One loop outwards is what one call moves.
 */
#include "runtime/plan/rewrites.h"

#include "core/base/status.h"
#include "core/graph/names.h"
#include "runtime/plan/pure.h"

#include <string.h>

/* Elements of inputs and output of a node that may turn out not to be needed.
 */
#define MOST_ELEMENTS 65536
#define MOST_PORTS 16

/* A node that is moved. */
typedef struct moved {
    eddy_node node;
    eddy_node enter; /* a constant Enter that it reads, by way of others too */
    eddy__few_controls controls; /* what it waits for inside */
    eddy_output outside;         /* in the copy: its value before the loop */
} moved;

typedef struct moving {
    eddy__readers readers;
    const eddy_graph *graph;
    const eddy_analysis *analysis;
    const uint8_t *standing;
    moved *moved;
    uint32_t n;
    uint32_t *number; /* a node: 1 + its number there, or 0 */
    /* A constant: its last copy and what that waits for, or EDDY_NO_NODE. */
    eddy_node *copied, *copied_for;
    eddy_graph *copy;
} moving;

/* ---- which nodes ---- */

static bool is_constant(const moving *m, eddy_node v)
{
    return eddy__node_role(eddy__graph_node(m->graph, v)) == EDDY__ROLE_CONST &&
           !eddy__readers_is_fed(&m->readers, v);
}

/* A constant Enter of the frame, which waits for its input alone. */
static bool is_entry(const moving *m, eddy_node v, uint32_t frame)
{
    const eddy__node *node = eddy__graph_node(m->graph, v);

    return eddy__node_role(node) == EDDY__ROLE_ENTER &&
           !node->op->has_references && node->n_controls == 0 &&
           eddy__node_bool(node, "is_constant") &&
           m->analysis->output_frame[v] == frame;
}

/* Is what the node reads the same in every iteration?  Fills `made`. */
static bool reads_invariants(const moving *m, const eddy__node *node,
                             moved *made)
{
    const uint32_t frame = m->analysis->node_frame[made->node];

    if (!eddy__few_controls_add(&made->controls, node->controls,
                                node->n_controls))
        return false;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const eddy_node from = node->inputs[i].node;
        const eddy__node *maker = eddy__graph_node(m->graph, from);
        const moved *other =
            m->number[from] > 0 ? &m->moved[m->number[from] - 1] : NULL;

        if (other) {
            made->enter = other->enter;
            if (!eddy__few_controls_add(&made->controls,
                                        other->controls.waits_for,
                                        other->controls.n))
                return false;
        } else if (is_entry(m, from, frame)) {
            made->enter = from;
        } else if (!is_constant(m, from) ||
                   !eddy__few_controls_add(&made->controls, maker->controls,
                                           maker->n_controls)) {
            return false;
        }
    }
    return made->enter != EDDY_NO_NODE;
}

static bool is_small(const moving *m, eddy_output output)
{
    int64_t count;

    return eddy__shape_count(eddy__readers_seen_shape(&m->readers, output), 1,
                             &count) &&
           count <= MOST_ELEMENTS;
}

/* Is it done in no time, whether or not anybody wants it? */
static bool is_cheap(const moving *m, eddy_node v)
{
    const eddy__node *node = eddy__graph_node(m->graph, v);
    uint32_t i = 0;

    if (node->op->flags & EDDY_OP_HEAVY)
        return false;
    while (i < node->n_inputs && is_small(m, node->inputs[i]))
        i++;
    return i == node->n_inputs && is_small(m, (eddy_output){v, 0});
}

static void consider(moving *m, eddy_node v)
{
    const eddy__node *node = eddy__graph_node(m->graph, v);
    const uint32_t frame = m->analysis->node_frame[v];
    moved made = {.node = v, .enter = EDDY_NO_NODE};

    if (frame == 0 || frame >= m->analysis->n_frames || !eddy__is_pure(node) ||
        node->n_outputs != 1 || node->n_inputs > MOST_PORTS ||
        m->standing[v] & (EDDY__IS_NAMED | EDDY__IS_MERGED) ||
        !reads_invariants(m, node, &made) ||
        !eddy__pure_cannot_fail(&m->readers, v))
        return;
    if (made.controls.n > 0 && !is_cheap(m, v))
        return;
    m->moved[m->n++] = made;
    m->number[v] = m->n;
}

/* Is it read by anything that is not moved itself? */
static void find_used(const moving *m, uint8_t *is_used)
{
    for (eddy_node v = 0; v < m->graph->n_nodes; v++) {
        const eddy__node *node = eddy__graph_node(m->graph, v);

        if (!eddy__selected(m->readers.build->selection, v))
            continue;
        for (uint32_t i = 0; m->number[v] == 0 && i < node->n_inputs; i++)
            is_used[node->inputs[i].node] = 1;
        for (uint32_t i = 0; i < node->n_controls; i++)
            is_used[node->controls[i]] = 1;
    }
}

/* ---- moving ---- */

/* A name that no node of the copy has. */
static const char *name_of(moving *m, eddy_node v, const char *role)
{
    const char *base = eddy__names_print(
        &m->copy->arena, "%s/%s", eddy__graph_node(m->graph, v)->name, role);
    const eddy__names names = eddy__names_of_nodes(m->copy);

    return eddy__names_free(&names, &m->copy->arena, base, NULL);
}

static eddy_status add(moving *m, const eddy_node_spec *spec,
                       eddy_node *out_node)
{
    const eddy__add_options options = {.strict = false};

    if (!spec->name)
        return eddy__fail_memory(m->readers.build->err);
    return eddy__graph_add(m->copy, spec, &options, out_node,
                           m->readers.build->err);
}

/*
 * A copy of a constant before the loop.  In a loop around it waits for a value
 * with which the loop is entered, which places it there.
 */
static eddy_status copy_constant(moving *m, const moved *of, eddy_node from,
                                 eddy_output *out)
{
    const eddy__node *node = eddy__graph_node(m->graph, from);
    const eddy_node entered =
        eddy__graph_node(m->graph, of->enter)->inputs[0].node;
    eddy_node_spec spec = {
        .size = sizeof spec,
        .op = node->op_name,
        .controls = &entered,
        .n_controls = m->analysis->node_frame[of->enter] != 0,
        .attrs = node->attrs,
        .n_attrs = node->op->n_attrs,
    };

    out->index = 0;
    out->node = m->copied[from];
    if (out->node != EDDY_NO_NODE &&
        (spec.n_controls == 0 || m->copied_for[from] == entered))
        return EDDY_OK;
    spec.name = name_of(m, from, "outside");
    EDDY_TRY(add(m, &spec, &out->node));
    m->copied[from] = out->node;
    m->copied_for[from] = entered;
    return EDDY_OK;
}

static eddy_status find_outside(moving *m, const moved *of, eddy_output from,
                                eddy_output *out)
{
    if (m->number[from.node] > 0)
        *out = m->moved[m->number[from.node] - 1].outside;
    else if (is_constant(m, from.node))
        return copy_constant(m, of, from.node, out);
    else
        *out = eddy__graph_node(m->graph, from.node)->inputs[0];
    return EDDY_OK;
}

static eddy_status make_outside(moving *m, moved *of)
{
    const eddy__node *node = eddy__graph_node(m->graph, of->node);
    eddy_output inputs[MOST_PORTS];
    const eddy_node_spec spec = {
        .size = sizeof spec,
        .op = node->op_name,
        .name = name_of(m, of->node, "outside"),
        .inputs = inputs,
        .n_inputs = node->n_inputs,
        .attrs = node->attrs,
        .n_attrs = node->op->n_attrs,
    };

    for (uint32_t i = 0; i < node->n_inputs; i++)
        EDDY_TRY(find_outside(m, of, node->inputs[i], &inputs[i]));
    of->outside.index = 0;
    return add(m, &spec, &of->outside.node);
}

/* The constant Enter, in place of the node unless something is waited for. */
static eddy_status make_entry(moving *m, const moved *of)
{
    const eddy__node *like = eddy__graph_node(m->graph, of->enter);
    const eddy_dtype dtype =
        (eddy_dtype)eddy__graph_node(m->graph, of->node)->output_dtypes[0];
    const eddy_string frame = eddy__node_string(like, "frame_name");
    const int64_t parallel = eddy__node_int(like, "parallel_iterations");
    const bool yes = true;
    const eddy_attr attrs[] = {eddy_attr_type("T", &dtype),
                               eddy_attr_string("frame_name", &frame),
                               eddy_attr_bool("is_constant", &yes),
                               eddy_attr_int("parallel_iterations", &parallel)};
    eddy_node_spec spec = {
        .size = sizeof spec,
        .op = "Enter",
        .inputs = &of->outside,
        .n_inputs = 1,
        .attrs = attrs,
        .n_attrs = 4,
    };
    eddy_output entry = {0};

    if (of->controls.n == 0)
        return eddy__readers_replace_node(m->copy, of->node, &spec,
                                          m->readers.build->err);
    spec.name = name_of(m, of->node, "Enter");
    EDDY_TRY(add(m, &spec, &entry.node));
    spec = (eddy_node_spec){
        .size = sizeof spec,
        .op = "Identity",
        .inputs = &entry,
        .n_inputs = 1,
        .controls = of->controls.waits_for,
        .n_controls = of->controls.n,
        .attrs = attrs,
        .n_attrs = 1,
    };
    return eddy__readers_replace_node(m->copy, of->node, &spec,
                                      m->readers.build->err);
}

static eddy_status move_all(moving *m, const uint8_t *is_used)
{
    for (uint32_t i = 0; i < m->n; i++) {
        EDDY_TRY(make_outside(m, &m->moved[i]));
        if (is_used[m->moved[i].node])
            EDDY_TRY(make_entry(m, &m->moved[i]));
    }
    return EDDY_OK;
}

/* So many more nodes the limit allows, each taking MOST_PORTS at the most. */
static bool has_room(const moving *m)
{
    const eddy__plan_build *build = m->readers.build;
    const uint64_t most = build->options->max_nodes;

    return most == 0 ||
           build->plan->n_nodes + (uint64_t)m->n * (MOST_PORTS + 2) <= most;
}

static eddy_status find_all(moving *m, eddy__arena *scratch,
                            uint8_t **out_is_used)
{
    const eddy__plan_build *build = m->readers.build;
    const size_t n_nodes = m->graph->n_nodes;
    eddy_node *order = NULL;
    uint8_t *standing = NULL;
    uint32_t n = 0;

    EDDY_TRY(eddy__count_readers(build, scratch, &m->readers));
    EDDY_TRY(eddy__find_standing(build, scratch, &standing));
    EDDY_TRY(eddy__readers_order_values(build, scratch, &order, &n));
    m->standing = standing;
    m->moved = eddy__arena_allocate(scratch, n_nodes, sizeof *m->moved);
    m->number =
        eddy__arena_allocate_zeroed(scratch, n_nodes, sizeof *m->number);
    m->copied = eddy__arena_allocate(scratch, n_nodes, sizeof *m->copied);
    m->copied_for =
        eddy__arena_allocate(scratch, n_nodes, sizeof *m->copied_for);
    *out_is_used = eddy__arena_allocate_zeroed(scratch, n_nodes, 1);
    if (!m->moved || !m->number || !m->copied || !m->copied_for ||
        !*out_is_used)
        return eddy__fail_memory(build->err);
    for (size_t v = 0; v < n_nodes; v++)
        m->copied[v] = EDDY_NO_NODE;
    for (uint32_t i = 0; i < n; i++)
        consider(m, order[i]);
    find_used(m, *out_is_used);
    return EDDY_OK;
}

eddy_status eddy__move_invariants(const eddy__plan_build *build,
                                  eddy__arena *scratch, eddy_graph **out_graph)
{
    moving m = {.readers.build = build,
                .graph = build->selection->graph,
                .analysis = build->analysis};
    eddy_status status;
    uint8_t *is_used = NULL;

    *out_graph = NULL;
    if (build->analysis->n_frames == 1)
        return EDDY_OK;
    EDDY_TRY(find_all(&m, scratch, &is_used));
    if (m.n == 0 || !has_room(&m))
        return EDDY_OK;
    EDDY_TRY(eddy__graph_clone(m.graph, build->budget, &m.copy, build->err));
    status = move_all(&m, is_used);
    if (status == EDDY_OK)
        *out_graph = m.copy;
    else
        eddy_graph_destroy(m.copy);
    return status;
}
