/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pass of levels exact and full, where there are workers: a loop that reads,
 * row by row, what a loop before it has stacked reads each row once it is
 * written, in place of all once the first loop has ended.  So the two overlap.
 *
 *     array -> Enter -> _WriteRow(i) -> ... -> Exit -> _RowsEnd
 *     array -> Enter -> _ReadRow(i)
 *
 * The stack is made no more unless something else reads it.  Values and bits
 * stay, and so do errors: _RowsEnd checks what stacking would have checked.
 * The length of the stack, where the second loop counts to it, becomes the
 * first loop's own limit, or the loop is left alone.  As nothing that the first
 * loop waits for can wait for the second, no read waits for ever.
 *
 * The two loops are then run a node at a time, not in a row (docs/linear.md),
 * so the pass changes them only where both have nodes that workers may take
 * over, or whoever made the plan wants them run so.
 */
#include "runtime/plan/overlap.h"

#include "core/base/status.h"
#include "core/context.h"
#include "core/graph/edit.h"
#include "core/graph/emit.h"
#include "core/graph/names.h"
#include "ops/rows.h"
#include "runtime/plan/readers.h"
#include "runtime/plan/rewrites.h"

/* Nodes that an array and a length, and that a read may take. */
#define MOST_ADDED 8

typedef struct weaving {
    const eddy__plan_build *build;
    eddy__emitter e; /* of the copy */
} weaving;

static const eddy__node *node_at(const weaving *w, eddy_node v)
{
    return eddy__graph_node(w->e.graph, v);
}

/* A node named after `near`, whose name goes before the role's. */
static eddy_output add(weaving *w, eddy_node near, const char *role,
                       const eddy_node_spec *spec)
{
    return eddy__emitter_add_as(&w->e,
                                eddy__names_print(&w->e.graph->arena, "%s/%s",
                                                  node_at(w, near)->name, role),
                                spec);
}

/* Makes the node another one, of the same controls. */
static void become(weaving *w, eddy_node v, eddy_node_spec *spec)
{
    spec->size = sizeof *spec;
    spec->controls = node_at(w, v)->controls;
    spec->n_controls = node_at(w, v)->n_controls;
    if (w->e.status == EDDY_OK)
        w->e.status =
            eddy__readers_replace_node(w->e.graph, v, spec, w->build->err);
}

/* ---- the first loop ---- */

static void keep_items(weaving *w, const eddy__stacking *s)
{
    const eddy_attr attr = eddy_attr_bool("clear_after_read", &(bool){false});

    if (w->e.status == EDDY_OK)
        w->e.status =
            eddy__edit_attr(w->e.graph, s->array, &attr, w->build->err);
}

static void write_rows(weaving *w, const eddy__stacking *s)
{
    const eddy__node *write = node_at(w, s->write);
    eddy_output inputs[4];
    eddy_node_spec spec = {
        .op = EDDY__WRITE_ROW, .inputs = inputs, .n_inputs = 4};

    for (uint32_t i = 0; i < 4; i++)
        inputs[i] = write->inputs[i];
    become(w, s->write, &spec);
}

static void end_rows(weaving *w, const eddy__stacking *s)
{
    const eddy_output inputs[] = {{s->array, 0}, s->n, s->flow};
    const eddy_shape unknown = {.rank = -1};
    const eddy_attr *stated =
        eddy__node_attr(node_at(w, s->gather), "element_shape");
    const eddy_attr attrs[] = {
        eddy_attr_shape("element_shape",
                        stated ? &stated->as.shapes[0] : &unknown),
        eddy_attr_bool("may_be_none", &s->may_be_none)};

    (void)add(w, s->gather, "end",
              &(eddy_node_spec){.op = EDDY__ROWS_END,
                                .inputs = inputs,
                                .n_inputs = 3,
                                .attrs = attrs,
                                .n_attrs = 2});
}

/* ---- the length ---- */

static eddy_output add_bound(weaving *w, const eddy__stacking *s,
                             const char *op, eddy_output x, int64_t bound)
{
    const eddy_node_spec constant = {.controls = &s->array, .n_controls = 1};
    const char *name = eddy__names_print(&w->e.graph->arena, "%s/bound",
                                         node_at(w, s->gather)->name);
    eddy_node_spec named = constant;
    eddy_output inputs[2] = {x};

    if (!eddy__emitter_need(&w->e, name))
        return EDDY__NO_OUTPUT;
    named.name = eddy__name_take(w->e.graph, name);
    if (!eddy__emitter_need(&w->e, named.name))
        return EDDY__NO_OUTPUT;
    inputs[1] = eddy__emitter_scalar(&w->e, &named, EDDY_INT64, &bound);
    return add(w, s->gather, "length",
               &(eddy_node_spec){.op = op, .inputs = inputs, .n_inputs = 2});
}

static eddy_output add_cast(weaving *w, const eddy__stacking *s, eddy_output x,
                            eddy_dtype from, eddy_dtype to)
{
    const eddy_attr attrs[] = {eddy_attr_type("SrcT", &from),
                               eddy_attr_type("DstT", &to)};

    return add(w, s->gather, "length",
               &(eddy_node_spec){.op = "Cast",
                                 .inputs = &x,
                                 .n_inputs = 1,
                                 .attrs = attrs,
                                 .n_attrs = 2});
}

/* The trips of the first loop, from 0 on and no more than an int32 has. */
static eddy_output add_trips(weaving *w, const eddy__stacking *s)
{
    const eddy_dtype dtype = eddy_graph_output_dtype(w->e.graph, s->trips);
    eddy_output n = s->trips;

    if (dtype != EDDY_INT64)
        n = add_cast(w, s, n, dtype, EDDY_INT64);
    n = add_bound(w, s, "Maximum", n, 0);
    return add_bound(w, s, "Minimum", n, INT32_MAX);
}

/* What gave the length gives the trips, and only where the array is live. */
static void know_lengths(weaving *w, const eddy__stacking *s)
{
    eddy_output trips = EDDY__NO_OUTPUT;

    if (s->n_lengths > 0)
        trips = add_trips(w, s);
    for (size_t i = 0; i < s->n_lengths; i++) {
        const eddy_dtype from = EDDY_INT64;
        const eddy_dtype to =
            (eddy_dtype)node_at(w, s->lengths[i])->output_dtypes[0];
        const eddy_attr attrs[] = {eddy_attr_type("SrcT", &from),
                                   eddy_attr_type("DstT", &to)};
        eddy_node_spec spec = {.op = "Cast",
                               .inputs = &trips,
                               .n_inputs = 1,
                               .attrs = attrs,
                               .n_attrs = 2};

        become(w, s->lengths[i], &spec);
    }
}

/* ---- loops that read ---- */

/* The array, as an invariant of the loop that `like` leads into. */
static eddy_output enter_array(weaving *w, const eddy__stacking *s,
                               eddy_node like)
{
    const eddy_dtype dtype = EDDY_RESOURCE;
    const eddy_output array = {s->array, 0};
    const eddy_string frame = eddy__node_string(node_at(w, like), "frame_name");
    const int64_t parallel =
        eddy__node_int(node_at(w, like), "parallel_iterations");
    const bool yes = true;
    const eddy_attr attrs[] = {eddy_attr_type("T", &dtype),
                               eddy_attr_string("frame_name", &frame),
                               eddy_attr_bool("is_constant", &yes),
                               eddy_attr_int("parallel_iterations", &parallel)};

    return add(w, like, "rows",
               &(eddy_node_spec){.op = "Enter",
                                 .inputs = &array,
                                 .n_inputs = 1,
                                 .attrs = attrs,
                                 .n_attrs = 4});
}

static void read_rows(weaving *w, const eddy__stacking *s)
{
    eddy_output entered = EDDY__NO_OUTPUT;

    for (size_t i = 0; i < s->n_reads; i++) {
        const eddy__row_read *read = &s->reads[i];
        const eddy_dtype dtype =
            (eddy_dtype)node_at(w, read->node)->output_dtypes[0];
        const eddy_attr attrs[] = {eddy_attr_type("dtype", &dtype)};
        eddy_output inputs[2] = {EDDY__NO_OUTPUT, read->index};
        eddy_node_spec spec = {.op = EDDY__READ_ROW,
                               .inputs = inputs,
                               .n_inputs = 2,
                               .attrs = attrs,
                               .n_attrs = 1};

        if (i == 0 || read->enter != s->reads[i - 1].enter)
            entered = enter_array(w, s, read->enter);
        inputs[0] = entered;
        become(w, read->node, &spec);
    }
}

/* ---- the pass ---- */

static bool has_workers(const eddy_context *ctx)
{
    /* A host's executor has threads enough for two. */
    return ctx->pool && ctx->n_workers != 1;
}

static bool has_room(const eddy__plan_build *build, const eddy__stacking *all,
                     size_t n)
{
    const uint64_t most = build->options->max_nodes;
    uint64_t n_added = 0;

    for (size_t i = 0; i < n; i++)
        n_added += MOST_ADDED + all[i].n_reads;
    return most == 0 || build->plan->n_nodes + n_added <= most;
}

static eddy_status weave(const eddy__plan_build *build,
                         const eddy__stacking *all, size_t n,
                         eddy_graph **out_graph)
{
    weaving w = {.build = build, .e = {.err = build->err}};

    EDDY_TRY(eddy__graph_clone(build->selection->graph, build->budget,
                               &w.e.graph, build->err));
    for (size_t i = 0; i < n; i++) {
        keep_items(&w, &all[i]);
        write_rows(&w, &all[i]);
        end_rows(&w, &all[i]);
        know_lengths(&w, &all[i]);
        read_rows(&w, &all[i]);
    }
    if (w.e.status == EDDY_OK)
        *out_graph = w.e.graph;
    else
        eddy_graph_destroy(w.e.graph);
    return w.e.status;
}

eddy_status eddy__overlap_loops(const eddy__plan_build *build,
                                eddy__arena *scratch, eddy_graph **out_graph)
{
    const eddy_plan_executor executor = build->now.executor;
    eddy__stacking *all = NULL;
    eddy_status status;
    size_t n = 0;

    *out_graph = NULL;
    if (build->analysis->n_frames < 3 || !has_workers(build->plan->ctx) ||
        executor == EDDY_EXECUTOR_LINEAR || executor == EDDY_EXECUTOR_NATIVE)
        return EDDY_OK;
    status = eddy__overlap_find(build, scratch, &all, &n);
    if (status == EDDY_OK && n > 0 && has_room(build, all, n))
        status = weave(build, all, n, out_graph);
    eddy__overlap_drop(build, all, n);
    return status;
}
