/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pass of levels exact and full: where each step of a loop multiplies its row
 * of a tensor by the same matrix, all rows are multiplied at once, before the
 * loop, and the step takes its part of that (ops/linalg/ahead.c):
 *
 *     MatMul(TensorArrayRead(i), w)      of an array that x was unstacked to
 *     MatMul(TensorListGetItem(i), w)    likewise
 *     MatMul(Gather(x, i), w)
 *
 * Rows are still read, so what that may fail with stays.  Only products that
 * tiles do are taken, whose bits are the same, and only where the loop makes as
 * many trips as there are rows, so that none is multiplied in vain.
 *
 * It pays where a loop reads more weights than a cache holds, since each is
 * then read once for many steps, and where a step has few rows.
 */
#include "runtime/plan/rewrites.h"

#include "core/base/status.h"
#include "core/graph/emit.h"
#include "core/graph/names.h"
#include "ops/products.h"
#include "runtime/plan/readers.h"

#include <string.h>

/* Nodes that one product adds: all products, and their Enter. */
#define MOST_ADDED 2
/* From so many elements on a loop's weights crowd each other out of a cache. */
#define MANY_WEIGHTS ((int64_t)1 << 18)
/* With fewer rows than these a product waits for sums, or for its weights. */
#define FEW_ROWS 8

typedef struct going {
    eddy__readers readers;
    const eddy__plan_build *build;
    const eddy_graph *graph;
    eddy_analysis *whole; /* with branches and trip counters */
    int64_t *weights;     /* a frame: elements of what products read */
} going;

/* What each step multiplies. */
typedef struct match {
    eddy_output rows;  /* all of them, before the loop */
    eddy_output size;  /* how many the array has room for, or EDDY_NO_NODE */
    eddy_output index; /* of the step's own */
    eddy_node enter;   /* of the second factor */
    bool transpose_b;
} match;

static const eddy__node *node_of(const going *g, eddy_node v)
{
    return eddy__graph_node(g->graph, v);
}

/* Is it that op, and what it gives not fed? */
static bool is_op(const going *g, eddy_node v, const char *op)
{
    const eddy__node *node = node_of(g, v);

    return node->op && strcmp(node->op_name, op) == 0 &&
           !eddy__readers_is_fed(&g->readers, v);
}

static bool is_same(eddy_output a, eddy_output b)
{
    return a.node == b.node && a.index == b.index;
}

/* ---- rows ---- */

/* What a constant Enter hands in, or EDDY_NO_NODE. */
static eddy_output entered(const going *g, eddy_output from)
{
    const eddy__node *node = node_of(g, from.node);

    if (eddy__node_role(node) != EDDY__ROLE_ENTER || node->n_controls > 0 ||
        eddy__readers_is_fed(&g->readers, from.node) ||
        !eddy__node_bool(node, "is_constant"))
        return EDDY__NO_OUTPUT;
    return node->inputs[0];
}

/* Is it a constant 0, 1, 2, ...? */
static bool counts_up(const going *g, eddy_output from)
{
    const eddy_tensor *t = eddy__infer_constant_at(&g->build->shapes, from);

    if (!t || t->dtype != EDDY_INT32 ||
        eddy__readers_is_fed(&g->readers, from.node))
        return false;
    for (int64_t i = 0; i < t->count; i++)
        if (((const int32_t *)t->data)[i] != i)
            return false;
    return true;
}

static bool is_number(const going *g, eddy_output from, int64_t wanted)
{
    const eddy_tensor *t =
        eddy__readers_is_fed(&g->readers, from.node)
            ? NULL
            : eddy__infer_constant_at(&g->build->shapes, from);

    if (!t || t->count != 1)
        return false;
    return t->dtype == EDDY_INT32   ? *(const int32_t *)t->data == wanted
           : t->dtype == EDDY_INT64 ? *(const int64_t *)t->data == wanted
                                    : false;
}

/* Is item i of the array row i of what is scattered to it? */
static bool is_unstacked(const going *g, const eddy__node *scatter)
{
    const eddy_output array = scatter->inputs[0], to = scatter->inputs[1];
    const eddy__node *range = node_of(g, to.node);

    if (!is_op(g, array.node, "TensorArrayV3") ||
        !is_same(scatter->inputs[3], (eddy_output){array.node, 1}))
        return false;
    return counts_up(g, to) || (is_op(g, to.node, "Range") &&
                                range->input_dtypes[0] == EDDY_INT32 &&
                                is_number(g, range->inputs[0], 0) &&
                                is_number(g, range->inputs[2], 1));
}

static bool match_array(const going *g, const eddy__node *read, match *m)
{
    const eddy_output array = entered(g, read->inputs[0]);
    const eddy_output flow = entered(g, read->inputs[2]);
    const eddy__node *scatter;

    if (array.node == EDDY_NO_NODE || flow.node == EDDY_NO_NODE ||
        !is_op(g, flow.node, "TensorArrayScatterV3"))
        return false;
    scatter = node_of(g, flow.node);
    m->rows = scatter->inputs[2];
    m->index = read->inputs[1];
    m->size = node_of(g, array.node)->inputs[0];
    return is_same(scatter->inputs[0], array) && is_unstacked(g, scatter);
}

static bool match_list(const going *g, const eddy__node *read, match *m)
{
    const eddy_output list = entered(g, read->inputs[0]);

    if (list.node == EDDY_NO_NODE ||
        !is_op(g, list.node, "TensorListFromTensor"))
        return false;
    m->rows = node_of(g, list.node)->inputs[0];
    m->index = read->inputs[1];
    return true;
}

static bool match_gather(const going *g, const eddy__node *read, match *m)
{
    m->rows = entered(g, read->inputs[0]);
    m->index = read->inputs[1];
    return m->rows.node != EDDY_NO_NODE &&
           eddy__node_int(read, "batch_dims") == 0 &&
           is_number(g, read->inputs[2], 0) &&
           eddy__readers_seen_shape(&g->readers, m->index)->rank == 0;
}

static bool match_read(const going *g, eddy_output from, match *m)
{
    const eddy__node *read = node_of(g, from.node);

    m->size = EDDY__NO_OUTPUT;
    if (from.index != 0)
        return false;
    if (is_op(g, from.node, "TensorArrayReadV3"))
        return match_array(g, read, m);
    if (is_op(g, from.node, "TensorListGetItem"))
        return match_list(g, read, m);
    return is_op(g, from.node, "GatherV2") && match_gather(g, read, m);
}

/* ---- products ---- */

/* A product of float32 matrices, the first one not transposed. */
static bool is_product(const going *g, eddy_node v, bool *transpose_b)
{
    const eddy__node *node = node_of(g, v);
    const bool is_batch = is_op(g, v, "BatchMatMulV2");

    if (!eddy__selected(g->build->selection, v) ||
        (!is_batch && !is_op(g, v, "MatMul") &&
         !is_op(g, v, EDDY__PANEL_PRODUCT)) ||
        node->input_dtypes[0] != EDDY_FLOAT32 ||
        node->output_dtypes[0] != EDDY_FLOAT32)
        return false;
    *transpose_b = eddy__node_bool(node, is_batch ? "adj_y" : "transpose_b");
    return !eddy__node_bool(node, is_batch ? "adj_x" : "transpose_a");
}

static const eddy_shape *second_factor(const going *g, eddy_node v)
{
    const eddy_shape *b =
        eddy__readers_seen_shape(&g->readers, node_of(g, v)->inputs[1]);

    return b->rank == 2 && eddy__shape_is_known(b) ? b : NULL;
}

/* Does the loop make as many trips as there are rows, and no fewer? */
static bool takes_all_rows(const going *g, uint32_t frame, const match *m)
{
    const eddy_trip_counter *c = g->whole->frames[frame].trip_counter;
    const int64_t n = eddy__readers_seen_shape(&g->readers, m->rows)->dims[0];

    if (!c || !c->is_only || c->comparison != EDDY_LESS || c->is_subtracted ||
        !is_number(g, c->start, 0) || !is_number(g, c->step, 1))
        return false;
    return n >= 0 ? c->trips == n
                  : m->size.node != EDDY_NO_NODE && is_same(c->limit, m->size);
}

static bool fits(const going *g, eddy_node v, const match *m)
{
    const eddy_shape *rows = eddy__readers_seen_shape(&g->readers, m->rows);
    const eddy_shape *a =
        eddy__readers_seen_shape(&g->readers, node_of(g, v)->inputs[0]);
    const eddy_shape *b = second_factor(g, v);
    const uint32_t frame = g->whole->node_frame[v];
    int64_t k, n;

    if (!b || rows->rank != 3 || a->rank != 2 || !eddy__shape_is_known(a) ||
        rows->dims[1] != a->dims[0] || rows->dims[2] != a->dims[1])
        return false;
    k = b->dims[m->transpose_b];
    n = b->dims[!m->transpose_b];
    return k == a->dims[1] &&
           (a->dims[0] < FEW_ROWS || g->weights[frame] >= MANY_WEIGHTS) &&
           eddy__products_may_go_ahead(rows->dims[0], a->dims[0], n, k) &&
           takes_all_rows(g, frame, m);
}

/* Does it read rows at all?  Asked before loops are looked at. */
static bool may_match(const going *g, eddy_node v, match *m)
{
    if (!is_product(g, v, &m->transpose_b) ||
        !match_read(g, node_of(g, v)->inputs[0], m))
        return false;
    m->enter = node_of(g, v)->inputs[1].node;
    return entered(g, node_of(g, v)->inputs[1]).node != EDDY_NO_NODE &&
           (node_of(g, v)->n_inputs == 2 ||
            entered(g, node_of(g, v)->inputs[2]).node != EDDY_NO_NODE);
}

static bool find(const going *g, eddy_node v, match *m)
{
    const eddy_node read = node_of(g, v)->inputs[0].node;
    const uint32_t frame = g->whole->node_frame[v];

    return may_match(g, v, m) && frame != 0 &&
           g->whole->node_frame[read] == frame &&
           g->whole->branches.of_node[v] == 0 &&
           g->whole->branches.is_exact[v] && fits(g, v, m);
}

static void count_weights(going *g)
{
    bool transpose_b;

    for (eddy_node v = 0; v < g->graph->n_nodes; v++) {
        const eddy_shape *b =
            is_product(g, v, &transpose_b) ? second_factor(g, v) : NULL;
        int64_t *weights = &g->weights[g->whole->node_frame[v]];

        if (b && b->dims[0] < MANY_WEIGHTS && b->dims[1] < MANY_WEIGHTS &&
            *weights < MANY_WEIGHTS)
            *weights += b->dims[0] * b->dims[1];
        else if (b)
            *weights = MANY_WEIGHTS;
    }
}

/* ---- nodes ---- */

/* All products, beside the loop, and their Enter. */
static eddy_output make_all(const going *g, eddy__emitter *e, eddy_node v,
                            const match *m)
{
    const eddy__node *node = node_of(g, v), *like = node_of(g, m->enter);
    const bool panels = node->n_inputs == 3, yes = true;
    const int64_t n = panels;
    const eddy_dtype dtype = EDDY_FLOAT32;
    const eddy_string frame = eddy__node_string(like, "frame_name");
    const int64_t parallel = eddy__node_int(like, "parallel_iterations");
    const char *name =
        eddy__names_print(&e->graph->arena, "%s/ahead", node->name);
    const eddy_attr attrs[] = {eddy_attr_int("N", &n),
                               eddy_attr_bool("transpose_b", &m->transpose_b)};
    const eddy_attr enters[] = {
        eddy_attr_type("T", &dtype), eddy_attr_string("frame_name", &frame),
        eddy_attr_bool("is_constant", &yes),
        eddy_attr_int("parallel_iterations", &parallel)};
    eddy_output inputs[3] = {m->rows, like->inputs[0]};
    eddy_output all;

    if (panels)
        inputs[2] = node_of(g, node->inputs[2].node)->inputs[0];
    all = eddy__emitter_add_as(e, name,
                               &(eddy_node_spec){.op = EDDY__PRODUCTS_AHEAD,
                                                 .inputs = inputs,
                                                 .n_inputs = 2 + panels,
                                                 .attrs = attrs,
                                                 .n_attrs = 2});
    return eddy__emitter_add_as(e, name,
                                &(eddy_node_spec){.op = "Enter",
                                                  .inputs = &all,
                                                  .n_inputs = 1,
                                                  .attrs = enters,
                                                  .n_attrs = 4});
}

static eddy_status make(const going *g, eddy__emitter *e, eddy_node v,
                        const match *m)
{
    const eddy__node *node = node_of(g, v);
    const eddy_dtype index = eddy_graph_output_dtype(g->graph, m->index);
    const bool panels = node->n_inputs == 3;
    const int64_t n = panels;
    const eddy_attr attrs[] = {eddy_attr_type("Tindex", &index),
                               eddy_attr_int("N", &n),
                               eddy_attr_bool("transpose_b", &m->transpose_b)};
    eddy_output inputs[5] = {node->inputs[0], node->inputs[1],
                             make_all(g, e, v, m), m->index};
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = EDDY__PRODUCT_ROW,
                                 .inputs = inputs,
                                 .n_inputs = 4 + panels,
                                 .controls = node->controls,
                                 .n_controls = node->n_controls,
                                 .attrs = attrs,
                                 .n_attrs = 3};

    if (panels)
        inputs[4] = node->inputs[2];
    return e->status == EDDY_OK
               ? eddy__readers_replace_node(e->graph, v, &spec, e->err)
               : e->status;
}

static bool has_room(const eddy__plan_build *build, uint64_t n)
{
    const uint64_t most = build->options->max_nodes;

    return most == 0 || build->plan->n_nodes + n * MOST_ADDED <= most;
}

static eddy_status go(const going *g, eddy__emitter *e)
{
    eddy_status status = EDDY_OK;
    match m;

    for (eddy_node v = 0; v < g->graph->n_nodes && status == EDDY_OK; v++)
        if (find(g, v, &m))
            status = make(g, e, v, &m);
    return status;
}

static eddy_status go_all(const going *g, eddy_graph **out_graph)
{
    eddy__emitter e = {.err = g->build->err};
    eddy_status status;
    uint64_t n = 0;
    match m;

    for (eddy_node v = 0; v < g->graph->n_nodes; v++)
        n += find(g, v, &m);
    if (n == 0 || !has_room(g->build, n))
        return EDDY_OK;
    EDDY_TRY(eddy__graph_clone(g->graph, g->build->budget, &e.graph, e.err));
    status = go(g, &e);
    if (status == EDDY_OK)
        *out_graph = e.graph;
    else
        eddy_graph_destroy(e.graph);
    return status;
}

eddy_status eddy__go_ahead(const eddy__plan_build *build, eddy__arena *scratch,
                           eddy_graph **out_graph)
{
    going g = {.build = build, .graph = build->selection->graph};
    eddy_status status = EDDY_OK;
    eddy_node v = 0;
    match m;

    *out_graph = NULL;
    if (build->analysis->n_frames == 1)
        return EDDY_OK;
    EDDY_TRY(eddy__count_readers(build, scratch, &g.readers));
    while (v < g.graph->n_nodes && !may_match(&g, v, &m))
        v++;
    if (v == g.graph->n_nodes)
        return EDDY_OK;
    EDDY_TRY(
        eddy__analysis_build_whole(build->selection, &g.whole, build->err));
    g.weights = eddy__arena_allocate_zeroed(scratch, g.whole->n_frames,
                                            sizeof *g.weights);
    if (g.weights) {
        count_weights(&g);
        status = go_all(&g, out_graph);
    } else {
        status = eddy__fail_memory(build->err);
    }
    eddy_analysis_destroy(g.whole);
    return status;
}
