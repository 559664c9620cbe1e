/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loop, If, Scan and SequenceMap: their bodies are built by the calls of
 * eddy/onnx_loop.h, so that nothing but the primitives is left of them.
 *
 * Values of bodies are matched by their order.  A sequence is carried as the
 * list that it is; what a Loop or a Scan stacks are tensors.
 */
#include "core/base/status.h"
#include "core/graph/graph.h"
#include "frontends/onnx/onnx.h"
#include "interop/onnx/loader.h"
#include "interop/onnx/ops/lists.h"

#include <string.h>

/* A body while it is built, and what it was found to give. */
typedef struct part {
    eddy__onnx_op *op;
    eddy__onnx_body body;
    const eddy__onnx_value *like; /* kinds of what comes in; NULL: tensors */
    eddy__onnx_value *inputs;
    size_t n_carried; /* of a Loop's, which are results 1 and on */
} part;

static void *take(eddy__onnx_op *op, size_t n, size_t size)
{
    void *memory = NULL;

    if (eddy__onnx_ok(op)) {
        memory = eddy__scratch_allocate(&op->loader->scratch, n, size);
        if (!memory)
            op->w->status =
                eddy__scratch_fail(&op->loader->scratch, op->w->err);
    }
    return memory;
}

/* Room for a body of `n_inputs` and as many results as the graph says. */
static void make_part(eddy__onnx_op *op, const char *attr, size_t n_inputs,
                      part *p)
{
    const Eddy__OnnxPb__GraphProto *graph = eddy__onnx_graph(op, attr);

    *p = (part){.op = op};
    if (!graph)
        return;
    p->inputs = take(op, n_inputs, sizeof *p->inputs);
    p->body = (eddy__onnx_body){
        .op = op,
        .attr = attr,
        .graph = graph,
        .inputs = p->inputs,
        .n_inputs = n_inputs,
        .results = take(op, graph->n_output, sizeof *p->body.results),
        .n_results = graph->n_output,
    };
}

/* Is `value` what the optional value `like` may hold? */
static bool is_inside(const eddy__onnx_value *value,
                      const eddy__onnx_value *like)
{
    return value->dtype == like->dtype &&
           ((like->kind == EDDY__ONNX_OPTIONAL &&
             value->kind == EDDY__ONNX_TENSOR) ||
            (like->kind == EDDY__ONNX_OPTIONAL_SEQUENCE &&
             value->kind == EDDY__ONNX_SEQUENCE));
}

/* Builds a part; `inputs` of it have the kinds of `like`. */
static eddy_status build(eddy_graph *graph, void *user,
                         const eddy_output *inputs, size_t n,
                         eddy_output *out_results, eddy_error *err)
{
    part *p = user;

    (void)err;
    for (size_t i = 0; i < p->body.n_inputs && i < n; i++)
        p->inputs[i] = (eddy__onnx_value){
            .output = inputs[i],
            .kind = p->like ? p->like[i].kind : EDDY__ONNX_TENSOR,
            .dtype = p->like && p->like[i].kind != EDDY__ONNX_TENSOR
                         ? p->like[i].dtype
                         : (uint8_t)eddy_graph_output_dtype(graph, inputs[i]),
        };
    EDDY_TRY(eddy__onnx_emit_body(&p->body));
    for (size_t i = 0; i < p->body.n_results; i++)
        out_results[i] = p->body.results[i].output;
    /* A value is good for the next trip where an optional one is carried. */
    for (size_t i = 0; p->like && i < p->n_carried; i++)
        if (is_inside(&p->body.results[1 + i], &p->like[2 + i]))
            out_results[1 + i] =
                eddy__onnx_optional_of(p->op, p->body.results[1 + i]);
    return p->op->w->status;
}

/* Are the results from `first` on tensors?  Others can't be stacked. */
static void want_tensors(eddy__onnx_op *op, const part *p, size_t first)
{
    for (size_t i = first; i < p->body.n_results; i++)
        if (eddy__onnx_ok(op) && p->body.results[i].kind != EDDY__ONNX_TENSOR)
            eddy__onnx_fail(op, EDDY_E_INPUT_DTYPE,
                            "output %zu of '%s' is no tensor and can't be "
                            "stacked",
                            i, p->body.attr);
}

/* Carried values keep their kind. */
static void want_kinds(eddy__onnx_op *op, const part *p, size_t first,
                       const eddy__onnx_value *like, size_t n)
{
    for (size_t i = 0; i < n && eddy__onnx_ok(op); i++) {
        const eddy__onnx_value *got = &p->body.results[first + i];

        if (!is_inside(got, &like[i]) &&
            (got->kind != like[i].kind ||
             (got->kind != EDDY__ONNX_TENSOR && got->dtype != like[i].dtype)))
            eddy__onnx_fail(op, EDDY_E_INPUT_DTYPE,
                            "carried value %zu of '%s' changes its type", i,
                            p->body.attr);
    }
}

/* The shapes that a body declares for its outputs from `first` on. */
static eddy_shape *declared_shapes(eddy__onnx_op *op, const part *p,
                                   size_t first)
{
    const Eddy__OnnxPb__GraphProto *graph = p->body.graph;
    const size_t n = p->body.n_results - first;
    eddy_shape *shapes = take(op, n, sizeof *shapes);

    for (size_t i = 0; graph && shapes && i < n && eddy__onnx_ok(op); i++) {
        const Eddy__OnnxPb__ValueInfoProto *info = graph->output[first + i];
        eddy__onnx_value value;

        op->w->status =
            eddy__onnx_read_type(op->loader, eddy__onnx_text_of(info->name),
                                 info->type, &value, &shapes[i]);
    }
    return shapes;
}

/* How many outputs a node may name: `n`, and not fewer. */
static void want_outputs(eddy__onnx_op *op, size_t n)
{
    if (eddy__onnx_ok(op) && op->n_outputs > n)
        eddy__onnx_fail(op, EDDY_E_OUTPUT_INDEX,
                        "%zu outputs, where its body gives %zu", op->n_outputs,
                        n);
}

static void give_values(eddy__onnx_op *op, const eddy_output *outputs,
                        const eddy__onnx_value *like, size_t n)
{
    for (size_t i = 0; outputs && like && i < n; i++)
        eddy__onnx_give_value(op, i, outputs[i], (eddy__onnx_kind)like[i].kind,
                              (eddy_dtype)like[i].dtype);
}

/* ---- Loop ---- */

/* What the body gets: iteration, condition, carried values. */
static eddy__onnx_value *like_of_loop(eddy__onnx_op *op, size_t n)
{
    eddy__onnx_value *like = take(op, 2 + n, sizeof *like);

    if (!like)
        return NULL;
    like[0] =
        (eddy__onnx_value){.kind = EDDY__ONNX_TENSOR, .dtype = EDDY_INT64};
    like[1] = (eddy__onnx_value){.kind = EDDY__ONNX_TENSOR, .dtype = EDDY_BOOL};
    for (size_t i = 0; i < n; i++)
        like[2 + i] = eddy__onnx_in_value(op, 2 + i);
    return like;
}

static void run_loop(eddy__onnx_op *op, part *p, size_t n)
{
    const size_t k = p->body.n_results - 1 - n;
    const eddy_shape *declared = declared_shapes(op, p, 1 + n);
    eddy_output *initial = take(op, n, sizeof *initial);
    eddy_output *results = take(op, n + k, sizeof *results);
    const eddy_output m =
        eddy__onnx_given(op, 0) ? op->inputs[0].output : (eddy_output){0, 0};
    const eddy_output cond =
        eddy__onnx_given(op, 1) ? op->inputs[1].output : (eddy_output){0, 0};
    const eddy_onnx_loop_spec spec = {
        .size = sizeof spec,
        .name = eddy__onnx_scope_name(op),
        .trip_count = eddy__onnx_given(op, 0) ? &m : NULL,
        .condition = eddy__onnx_given(op, 1) ? &cond : NULL,
        .initial = initial,
        .n_carried = n,
        .n_scan_outputs = k,
        .body = build,
        .user = p,
    };

    if (!eddy__onnx_ok(op))
        return;
    for (size_t i = 0; i < n; i++)
        initial[i] = p->like[2 + i].output;
    eddy_emit_check(op->w,
                    eddy__onnx_loop_declared(op->w->graph, &spec, declared,
                                             results, op->w->err));
    want_tensors(op, p, 1 + n);
    want_kinds(op, p, 1, p->like + 2, n);
    for (size_t i = 0; i < n && eddy__onnx_ok(op); i++)
        if (is_inside(&p->body.results[1 + i], &p->like[2 + i]))
            results[i] = eddy__onnx_optional_inside(
                op, (eddy__onnx_value){results[i], p->like[2 + i].kind,
                                       p->like[2 + i].dtype});
    if (eddy__onnx_ok(op))
        give_values(op, results, p->body.results + 1, n + k);
}

static void emit_loop(eddy__onnx_op *op)
{
    const size_t n = op->n_inputs > 2 ? op->n_inputs - 2 : 0;
    part p;

    make_part(op, "body", 2 + n, &p);
    p.like = like_of_loop(op, n);
    p.n_carried = n;
    if (!eddy__onnx_ok(op))
        return;
    if (p.body.n_results < 1 + n)
        eddy__onnx_fail(op, EDDY_E_INPUT_COUNT,
                        "'body' has %zu outputs, where a condition and %zu "
                        "carried values are wanted",
                        p.body.n_results, n);
    else
        want_outputs(op, p.body.n_results - 1);
    if (eddy__onnx_ok(op))
        run_loop(op, &p, n);
}

/* ---- If ---- */

/* Do both branches give the same?  Shapes may differ. */
static void compare_branches(eddy__onnx_op *op, const part *a, const part *b)
{
    for (size_t i = 0; i < a->body.n_results && eddy__onnx_ok(op); i++) {
        const eddy__onnx_value *x = &a->body.results[i];
        const eddy__onnx_value *y = &b->body.results[i];

        if (x->kind != y->kind || x->dtype != y->dtype)
            eddy__onnx_fail(op, EDDY_E_INPUT_DTYPE,
                            "output %zu is %s in the one branch and %s in the "
                            "other, or of another kind",
                            i, eddy_dtype_name((eddy_dtype)x->dtype),
                            eddy_dtype_name((eddy_dtype)y->dtype));
    }
}

static void emit_if(eddy__onnx_op *op)
{
    part then_part, else_part;
    eddy_onnx_if_spec spec = {.size = sizeof spec};
    eddy_output *results;

    make_part(op, "then_branch", 0, &then_part);
    make_part(op, "else_branch", 0, &else_part);
    spec.name = eddy__onnx_scope_name(op);
    spec.condition = eddy__onnx_in(op, 0);
    spec.then_branch = (eddy_branch){build, &then_part};
    spec.else_branch = (eddy_branch){build, &else_part};
    spec.n_results = then_part.body.n_results;
    results = take(op, spec.n_results, sizeof *results);
    if (!eddy__onnx_ok(op))
        return;
    if (else_part.body.n_results != spec.n_results)
        eddy__onnx_fail(op, EDDY_E_INPUT_COUNT,
                        "the branches have %zu and %zu outputs", spec.n_results,
                        else_part.body.n_results);
    want_outputs(op, spec.n_results);
    if (!eddy__onnx_ok(op))
        return;
    eddy_emit_check(op->w,
                    eddy_onnx_if(op->w->graph, &spec, results, op->w->err));
    compare_branches(op, &then_part, &else_part);
    if (eddy__onnx_ok(op))
        give_values(op, results, then_part.body.results, spec.n_results);
}

/* ---- Scan ---- */

/* The axes and directions of a Scan's inputs, or of its outputs. */
static eddy_onnx_scan_axis *read_axes(eddy__onnx_op *op, const char *axes_name,
                                      const char *directions_name, size_t n)
{
    eddy_onnx_scan_axis *axes = take(op, n, sizeof *axes);
    eddy__onnx_ints places = {.n = 0}, directions = {.n = 0};
    const bool has_places =
        axes_name && eddy__onnx_ints_of(op, axes_name, &places);
    const bool has_directions =
        eddy__onnx_ints_of(op, directions_name, &directions);

    if (!eddy__onnx_ok(op))
        return NULL;
    if ((has_places && places.n != n) ||
        (has_directions && directions.n != n)) {
        eddy__onnx_fail(
            op, EDDY_E_ATTR_VALUE, "'%s' has %zu numbers, where %zu are wanted",
            has_places && places.n != n ? axes_name : directions_name,
            has_places && places.n != n ? places.n : directions.n, n);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        axes[i] = (eddy_onnx_scan_axis){.axis = has_places ? places.at[i] : 0,
                                        .reverse = has_directions &&
                                                   directions.at[i] == 1};
        if (has_directions && (directions.at[i] < 0 || directions.at[i] > 1))
            eddy__onnx_fail(op, EDDY_E_ATTR_VALUE,
                            "'%s' has %lld, 0 and 1 are directions",
                            directions_name, (long long)directions.at[i]);
    }
    return axes;
}

/* How many inputs are scanned; fails if there are not so many. */
static size_t count_scanned(eddy__onnx_op *op, size_t n_inputs)
{
    const int64_t m = eddy__onnx_int(op, "num_scan_inputs", -1);

    if (eddy__onnx_ok(op) && (m < 1 || (uint64_t)m > n_inputs))
        eddy__onnx_fail(op, EDDY_E_ATTR_VALUE,
                        "'num_scan_inputs' is %lld, with %zu inputs",
                        (long long)m, n_inputs);
    return eddy__onnx_ok(op) ? (size_t)m : 1;
}

/* The inputs from `first` on, all of them tensors. */
static eddy_output *read_inputs(eddy__onnx_op *op, size_t first)
{
    const size_t n = op->n_inputs - first;
    eddy_output *inputs = take(op, n, sizeof *inputs);

    for (size_t i = 0; i < n && inputs && eddy__onnx_ok(op); i++)
        inputs[i] = eddy__onnx_in(op, first + i);
    return inputs;
}

static void want_results(eddy__onnx_op *op, const part *p, size_t n)
{
    if (eddy__onnx_ok(op) && p->body.n_results < n)
        eddy__onnx_fail(op, EDDY_E_INPUT_COUNT,
                        "'body' has %zu outputs, where %zu states are wanted",
                        p->body.n_results, n);
    if (eddy__onnx_ok(op))
        want_outputs(op, p->body.n_results);
}

static void emit_scan(eddy__onnx_op *op)
{
    const size_t m = count_scanned(op, op->n_inputs), n = op->n_inputs - m;
    const eddy_output *inputs = read_inputs(op, 0);
    eddy_onnx_scan_spec spec = {.size = sizeof spec};
    eddy_output *results;
    part p;

    make_part(op, "body", n + m, &p);
    want_results(op, &p, n);
    if (!eddy__onnx_ok(op))
        return;
    spec.name = eddy__onnx_scope_name(op);
    spec.initial = inputs;
    spec.n_states = n;
    spec.inputs = inputs + n;
    spec.n_inputs = m;
    spec.n_outputs = p.body.n_results - n;
    spec.input_axes =
        read_axes(op, "scan_input_axes", "scan_input_directions", m);
    spec.output_axes = read_axes(op, "scan_output_axes",
                                 "scan_output_directions", spec.n_outputs);
    spec.body = build;
    spec.user = &p;
    results = take(op, p.body.n_results, sizeof *results);
    if (!eddy__onnx_ok(op))
        return;
    eddy_emit_check(op->w, eddy__onnx_scan_declared(op->w->graph, &spec,
                                                    declared_shapes(op, &p, n),
                                                    results, op->w->err));
    want_tensors(op, &p, 0);
    if (eddy__onnx_ok(op))
        give_values(op, results, p.body.results, p.body.n_results);
}

/* ---- Scan of opset 8 ---- */

/* One batch row after the other, each a Scan over its own length. */
typedef struct rows {
    eddy__onnx_op *op;
    part *part;
    size_t n, m, k; /* states, inputs, outputs */
    bool has_lengths;
    const eddy_onnx_scan_axis *directions;
    eddy_output longest; /* how long the sequence axis is; int32 */
} rows;

/* The first `n` (an int32 scalar) slices of `x` along its first axis. */
static eddy_output write_head(eddy__onnx_op *op, eddy_output x, eddy_output n)
{
    const eddy_output range =
        eddy__onnx_emit3(op, "Range", eddy__onnx_index(op, EDDY_INT32, 0), n,
                         eddy__onnx_index(op, EDDY_INT32, 1));

    return eddy__onnx_emit3(op, "GatherV2", x, range,
                            eddy__onnx_index(op, EDDY_INT32, 0));
}

/* `x`, with zeros behind it so that it is `n` long. */
static eddy_output write_padded(eddy__onnx_op *op, eddy_output x, eddy_output n)
{
    const int64_t zero = 0, one = 1;
    const eddy_output shape = eddy__onnx_emit1(op, "Shape", x);
    const eddy_output length =
        eddy__onnx_emit3(op, "GatherV2", shape, eddy__onnx_int32s(op, &zero, 1),
                         eddy__onnx_index(op, EDDY_INT32, 0));
    const eddy_output missing = eddy__onnx_emit2(op, "Sub", n, length);
    const eddy_output rank =
        eddy__onnx_emit2(op, "Reshape", eddy__onnx_emit1(op, "Rank", x),
                         eddy__onnx_int32s(op, &one, 1));
    const eddy_output two = eddy__onnx_index(op, EDDY_INT32, 2);
    const eddy_output size = eddy__onnx_emit2(op, "Mul", rank, two);
    /* [0, missing, 0, 0, ...], a pair a dimension. */
    const eddy_output place = eddy__onnx_int32s(op, &one, 1);
    const eddy_output where = eddy__onnx_emit2(
        op, "ExpandDims", place, eddy__onnx_index(op, EDDY_INT32, 1));
    const eddy_output flat =
        eddy__onnx_emit3(op, "ScatterNd", where, missing, size);
    const int64_t pairs[] = {-1, 2};
    const eddy_output paddings =
        eddy__onnx_emit2(op, "Reshape", flat, eddy__onnx_int32s(op, pairs, 2));

    return eddy__onnx_emit2(op, "Pad", x, paddings);
}

/* Gets a row's length (if there are any) and inputs, and its states. */
static eddy_status build_row(eddy_graph *graph, void *user,
                             const eddy_output *inputs, size_t n_in,
                             eddy_output *out_results, eddy_error *err)
{
    const rows *r = user;
    eddy__onnx_op *op = r->op;
    eddy_output *sliced = take(op, r->n + r->m, sizeof *sliced);
    const size_t first = r->has_lengths ? 1 : 0;
    const eddy_onnx_scan_spec spec = {
        .size = sizeof spec,
        .name = "row",
        .initial = sliced,
        .n_states = r->n,
        .inputs = sliced + r->n,
        .n_inputs = r->m,
        .n_outputs = r->k,
        .input_axes = r->directions,
        .body = build,
        .user = r->part,
    };

    (void)n_in;
    (void)err;
    for (size_t i = 0; i < r->n + r->m && eddy__onnx_ok(op); i++) {
        sliced[i] = inputs[first + i];
        if (i >= r->n && r->has_lengths)
            sliced[i] = write_head(op, sliced[i],
                                   eddy__onnx_cast(op, inputs[0], EDDY_INT32));
    }
    EDDY_TRY(op->w->status);
    EDDY_TRY(eddy_onnx_scan(graph, &spec, out_results, op->w->err));
    for (size_t i = r->n; i < r->n + r->k && r->has_lengths; i++)
        out_results[i] = write_padded(op, out_results[i], r->longest);
    return op->w->status;
}

static void emit_scan_8(eddy__onnx_op *op)
{
    const bool has_lengths = eddy__onnx_given(op, 0);
    const size_t m = count_scanned(op, op->n_inputs > 0 ? op->n_inputs - 1 : 0);
    const size_t n = eddy__onnx_ok(op) ? op->n_inputs - 1 - m : 0,
                 first = has_lengths ? 1 : 0;
    const eddy_output *given = eddy__onnx_ok(op) ? read_inputs(op, 1) : NULL;
    eddy_output *inputs = take(op, 1 + n + m, sizeof *inputs);
    eddy_onnx_scan_spec spec = {.size = sizeof spec};
    eddy_output *results;
    rows r = {.op = op, .n = n, .m = m, .has_lengths = has_lengths};
    part p;

    make_part(op, "body", n + m, &p);
    want_results(op, &p, n);
    r.directions = read_axes(op, NULL, "directions", m);
    if (!eddy__onnx_ok(op))
        return;
    r.part = &p;
    r.k = p.body.n_results - n;
    if (has_lengths)
        inputs[0] = eddy__onnx_in(op, 0);
    memcpy(inputs + first, given, (n + m) * sizeof *inputs);
    r.longest = eddy__onnx_emit3(op, "GatherV2",
                                 eddy__onnx_emit1(op, "Shape", given[n]),
                                 eddy__onnx_int32s(op, &(int64_t){1}, 1),
                                 eddy__onnx_index(op, EDDY_INT32, 0));
    spec.name = eddy__onnx_scope_name(op);
    spec.inputs = inputs;
    spec.n_inputs = first + n + m;
    spec.n_outputs = n + r.k;
    spec.body = build_row;
    spec.user = &r;
    results = take(op, n + r.k, sizeof *results);
    if (!eddy__onnx_ok(op))
        return;
    eddy_emit_check(op->w,
                    eddy_onnx_scan(op->w->graph, &spec, results, op->w->err));
    want_tensors(op, &p, 0);
    if (eddy__onnx_ok(op))
        give_values(op, results, p.body.results, n + r.k);
}

/* ---- SequenceMap ---- */

/* A Loop over the positions of the first sequence. */
typedef struct map {
    eddy__onnx_op *op;
    part part;
    eddy__onnx_value *items; /* what the body gets */
} map;

static eddy_status build_map(eddy_graph *graph, void *user,
                             const eddy_output *inputs, size_t n,
                             eddy_output *out_results, eddy_error *err)
{
    map *q = user;
    eddy__onnx_op *op = q->op;
    const eddy__onnx_body *body = &q->part.body;

    (void)graph;
    (void)n;
    (void)err;
    for (size_t i = 0; i < op->n_inputs && eddy__onnx_ok(op); i++) {
        q->part.inputs[i] = op->inputs[i];
        if (op->inputs[i].kind != EDDY__ONNX_SEQUENCE)
            continue;
        q->part.inputs[i].kind = EDDY__ONNX_TENSOR;
        q->part.inputs[i].output =
            eddy__onnx_list_get(op, op->inputs[i].output,
                                (eddy_dtype)op->inputs[i].dtype, inputs[0]);
    }
    EDDY_TRY(op->w->status);
    EDDY_TRY(eddy__onnx_emit_body(body));
    want_tensors(op, &q->part, 0);
    out_results[0] = inputs[1];
    for (size_t i = 0; i < body->n_results; i++) {
        if (eddy__onnx_ok(op) && op->outputs[i].dtype == EDDY_INVALID)
            op->outputs[i].dtype = body->results[i].dtype;
        out_results[1 + i] =
            eddy__onnx_list_push(op, inputs[2 + i], body->results[i].output);
    }
    return op->w->status;
}

static eddy_dtype declared_dtype(eddy__onnx_op *op,
                                 const Eddy__OnnxPb__ValueInfoProto *info)
{
    eddy__onnx_value declared;

    if (eddy__onnx_ok(op))
        op->w->status =
            eddy__onnx_read_type(op->loader, eddy__onnx_text_of(info->name),
                                 info->type, &declared, NULL);
    if (!eddy__onnx_ok(op))
        return EDDY_INVALID;
    if (declared.dtype == EDDY_INVALID)
        eddy__onnx_fail(op, EDDY_E_DTYPE,
                        "output '%.80s' of 'body' has no type",
                        eddy__onnx_text_of(info->name));
    return (eddy_dtype)declared.dtype;
}

static void emit_sequence_map(eddy__onnx_op *op)
{
    const eddy__onnx_value first = eddy__onnx_in_value(op, 0);
    eddy_onnx_loop_spec spec = {.size = sizeof spec};
    eddy_output *lists, *results, count;
    map q = {.op = op};
    size_t k;

    if (eddy__onnx_ok(op) && first.kind != EDDY__ONNX_SEQUENCE)
        eddy__onnx_fail(op, EDDY_E_INPUT_DTYPE, "input 0 is no sequence");
    make_part(op, "body", op->n_inputs, &q.part);
    k = q.part.body.n_results;
    want_outputs(op, k);
    lists = take(op, k, sizeof *lists);
    results = take(op, k, sizeof *results);
    for (size_t i = 0; i < k && eddy__onnx_ok(op); i++)
        lists[i] = eddy__onnx_list_new(
            op, declared_dtype(op, q.part.body.graph->output[i]));
    count = eddy__onnx_cast(
        op, eddy__onnx_emit1(op, "TensorListLength", first.output), EDDY_INT64);
    spec.name = eddy__onnx_scope_name(op);
    spec.trip_count = &count;
    spec.initial = lists;
    spec.n_carried = k;
    spec.body = build_map;
    spec.user = &q;
    if (!eddy__onnx_ok(op))
        return;
    eddy_emit_check(op->w,
                    eddy_onnx_loop(op->w->graph, &spec, results, op->w->err));
    for (size_t i = 0; i < k && eddy__onnx_ok(op); i++)
        eddy__onnx_give_value(op, i, results[i], EDDY__ONNX_SEQUENCE,
                              (eddy_dtype)q.part.body.results[i].dtype);
}

#define ANY EDDY__ONNX_ANY

const eddy__onnx_row eddy__onnx_control[] = {
    {"If", 1, EDDY__ONNX_NEWEST, 1, 1, 1, ANY, emit_if},
    {"Loop", 1, EDDY__ONNX_NEWEST, 0, ANY, 1, ANY, emit_loop},
    {"Scan", 8, 8, 0, ANY, 1, ANY, emit_scan_8},
    {"Scan", 9, EDDY__ONNX_NEWEST, 1, ANY, 1, ANY, emit_scan},
    {"SequenceMap", 17, EDDY__ONNX_NEWEST, 1, ANY, 1, ANY, emit_sequence_map},
    {.name = NULL},
};
