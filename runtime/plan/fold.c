/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pass of levels exact and full: a node that reads constants alone is computed
 * here, by its own kernel, and a Const that waits for what all of these waited
 * for takes its place.  What Shape, Size and Rank say of a tensor whose shape
 * is known is a Const that waits for the tensor.  Then more shapes are known,
 * so the pass is done again while it finds something.
 *
 * What may be flushed in a run, and what not, the plan does not know, so a node
 * is computed in both modes and stays if they differ.  One whose kernel fails,
 * or asks too often whether to go on, stays too: a run will say.  Shapes must
 * be inferred.
 */
#include "runtime/plan/rewrites.h"

#include "core/base/float_mode.h"
#include "core/base/status.h"
#include "core/context.h"
#include "core/value/dtype.h"
#include "runtime/plan/pure.h"
#include "runtime/plan/refine.h"

#include <string.h>

/* Elements that a node may read and write to be computed here. */
#define MOST_ELEMENTS 16384
/* Elements over all nodes of a plan: a few milliseconds. */
#define MOST_IN_ALL 4194304
/* Times that a kernel may ask: it has done more than its elements tell. */
#define MOST_QUESTIONS 4
/* What a kernel may hold while it computes. */
#define MOST_BYTES ((int64_t)4 << 20)
/* Inputs and outputs. */
#define MOST_PORTS EDDY__REFINE_MOST_PORTS

/* A node that has been computed. */
typedef struct folded {
    eddy_node node;
    eddy_tensor *value;
    eddy__few_controls controls;
} folded;

typedef struct folding {
    eddy__readers readers;
    eddy__refined refined;
    const eddy_graph *graph;
    eddy__arena *scratch;
    const uint8_t *standing;
    folded *done;
    uint32_t n_done;
    uint32_t *done_of; /* a node: 1 + its number there, or 0 */
    int64_t n_elements;
} folding;

/* ---- which nodes ---- */

/* The constant that an input is, NULL if it is none. */
static eddy_tensor *constant_input(const folding *f, eddy_output from)
{
    const eddy__node *node = eddy__graph_node(f->graph, from.node);
    const eddy_attr *value;

    if (eddy__readers_is_fed(&f->readers, from.node))
        return NULL;
    if (f->done_of[from.node] > 0)
        return f->done[f->done_of[from.node] - 1].value;
    value = eddy__node_role(node) == EDDY__ROLE_CONST
                ? eddy__node_attr(node, "value")
                : NULL;
    return value ? value->as.tensors[0] : NULL;
}

/* What the Const has to wait for; false if that is too much. */
static bool find_controls(const folding *f, const eddy__node *node,
                          folded *made)
{
    bool fits = eddy__few_controls_add(&made->controls, node->controls,
                                       node->n_controls);

    for (uint32_t i = 0; fits && i < node->n_inputs; i++) {
        const eddy_node from = node->inputs[i].node;
        const uint32_t number = f->done_of[from];

        if (number > 0)
            fits = eddy__few_controls_add(
                &made->controls, f->done[number - 1].controls.waits_for,
                f->done[number - 1].controls.n);
        else
            fits = eddy__few_controls_add(
                &made->controls, eddy__graph_node(f->graph, from)->controls,
                eddy__graph_node(f->graph, from)->n_controls);
    }
    return fits;
}

static bool is_candidate(const folding *f, eddy_node v)
{
    const eddy__node *node = eddy__graph_node(f->graph, v);
    const eddy_shape *shape;
    int64_t n = 0, count;

    if (f->standing[v] & EDDY__IS_NAMED || !eddy__is_pure(node) ||
        (node->op->flags & EDDY_OP_HEAVY) || node->n_outputs != 1 ||
        node->n_inputs == 0 || node->n_inputs >= MOST_PORTS)
        return false;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const eddy_tensor *in = constant_input(f, node->inputs[i]);

        if (!in || in->count > MOST_ELEMENTS)
            return false;
        n += in->count;
    }
    shape = eddy__refined_shape(&f->refined, (eddy_output){v, 0});
    return eddy__shape_is_known(shape) && eddy__shape_count(shape, 1, &count) &&
           count <= MOST_ELEMENTS - n;
}

/* ---- one node ---- */

static bool is_to_stop(const eddy_kernel *k)
{
    uint32_t *n_questions = k->run;

    return ++*n_questions > MOST_QUESTIONS;
}

static int64_t first_iteration(const eddy_kernel *k)
{
    (void)k;
    return 0;
}

static void say_nothing(const eddy_kernel *k, eddy_log_level level,
                        const char *line)
{
    (void)k;
    (void)level;
    (void)line;
}

const eddy__services eddy__fold_services = {
    .cancelled = is_to_stop,
    .iteration = first_iteration,
    .log = say_nothing,
};

/* What the kernel of one node stands on. */
typedef struct bench {
    const eddy__node *node;
    eddy__kernel_node info;
    eddy__value values[MOST_PORTS];
    uint32_t ports[MOST_PORTS];
    eddy_kernel_fn kernel;
    eddy__heap heap;
} bench;

/* The node's kernel and what its prepare leaves for it; false if it has none.
 */
static bool choose_kernel(const folding *f, bench *at, eddy__arena *arena)
{
    eddy_shape in[MOST_PORTS], out[1];
    const eddy_tensor *constants[MOST_PORTS];
    eddy_error err = {0};
    eddy__marks marks = {0};
    eddy_infer infer = {.node = at->node,
                        .graph = f->graph,
                        .inputs = in,
                        .constants = constants,
                        .outputs = out,
                        .arena = arena,
                        .marks = &marks,
                        .kernel = at->node->op->kernel,
                        .err = &err};

    for (uint32_t i = 0; i < at->node->n_inputs; i++) {
        constants[i] = constant_input(f, at->node->inputs[i]);
        in[i] = constants[i]->shape;
    }
    out[0] = *eddy__refined_shape(
        &f->refined, (eddy_output){(eddy_node)(at->node - f->graph->nodes), 0});
    if (at->node->op->prepare && at->node->op->prepare(&infer) != EDDY_OK)
        return false;
    at->kernel = infer.kernel;
    at->info.state = infer.state;
    return at->kernel != NULL;
}

static void lay_out(const folding *f, bench *at)
{
    const uint32_t n = at->node->n_inputs;

    for (uint32_t i = 0; i <= n; i++)
        at->ports[i] = i;
    at->info.in = at->ports;
    at->info.out = at->ports + n;
    at->info.n_in = n;
    at->info.n_out = 1;
    at->info.in_dtypes = at->node->input_dtypes;
    at->info.out_dtypes = at->node->output_dtypes;
    at->info.name = at->node->name;
    at->info.op_name = at->node->op_name;
    at->info.user = at->node->op->user;
    for (uint32_t i = 0; i < n; i++) {
        eddy_tensor *tensor = constant_input(f, at->node->inputs[i]);
        eddy__value *value = &at->values[i];

        *value = (eddy__value){.kind = EDDY__CONSTANT,
                               .dtype = tensor->dtype,
                               .uses = 2,
                               .as.tensor = tensor};
        if (tensor->shape.rank == 0 &&
            eddy__dtype_is_inline((eddy_dtype)tensor->dtype)) {
            value->kind = EDDY__SCALAR;
            memcpy(&value->as, tensor->data, tensor->bytes);
        }
    }
}

/* Runs the kernel in one mode; the value is in the last place of the bench. */
static bool run_kernel(const folding *f, bench *at, bool keep_denormals)
{
    eddy_error err = {0};
    uint32_t n_questions = 0;
    eddy_kernel k = {
        .values = at->values,
        .in = at->info.in,
        .out = at->info.out,
        .node = &at->info,
        .heap = &at->heap,
        .account = at->heap.account,
        .allocator = &f->graph->ctx->allocator,
        .services = &eddy__fold_services,
        .err = &err,
        .run = &n_questions,
    };
    eddy__value *out = &at->values[at->info.n_in];
    const eddy__float_mode before = eddy__float_mode_enter(keep_denormals);
    eddy_status status;

    *out = (eddy__value){.kind = EDDY__NONE, .uses = 1};
    status = at->kernel(&k);
    eddy__float_mode_leave(before);
    return status == EDDY_OK && n_questions <= MOST_QUESTIONS &&
           eddy__value_has_elements(out);
}

/* A tensor of the context's own with the value; NULL without memory. */
static eddy_tensor *keep_value(const folding *f, const eddy__value *value)
{
    const eddy_view view = eddy__view(value);
    const eddy_shape shape = eddy__view_shape(&view);
    eddy_tensor *kept = eddy__tensor_create(
        NULL, NULL, &f->graph->ctx->allocator, view.dtype, &shape);

    if (kept && kept->bytes > 0)
        memcpy(kept->data, view.data, kept->bytes);
    return kept;
}

static bool has_bits(const eddy_tensor *kept, const eddy__value *value)
{
    const eddy_view view = eddy__view(value);

    return view.count == kept->count &&
           (kept->bytes == 0 ||
            memcmp(view.data, kept->data, kept->bytes) == 0);
}

/* The value in both modes; NULL if they differ, or either fails. */
static eddy_tensor *compute(const folding *f, bench *at)
{
    eddy__value *out = &at->values[at->info.n_in];
    eddy_tensor *value = NULL;

    if (run_kernel(f, at, false))
        value = keep_value(f, out);
    eddy__value_clear(&at->heap, out);
    if (!value || !EDDY__CAN_FLUSH_DENORMALS)
        return value;
    if (!run_kernel(f, at, true) || !has_bits(value, out)) {
        eddy_tensor_release(value);
        value = NULL;
    }
    eddy__value_clear(&at->heap, out);
    return value;
}

static eddy_tensor *evaluate(const folding *f, eddy_node v)
{
    bench at = {.node = eddy__graph_node(f->graph, v)};
    eddy__arena arena = {.allocator = f->scratch->allocator};
    eddy_tensor *value = NULL;

    if (!eddy__heap_init(&at.heap, &f->graph->ctx->allocator))
        return NULL;
    at.heap.account->limit = MOST_BYTES;
    lay_out(f, &at);
    if (choose_kernel(f, &at, &arena))
        value = compute(f, &at);
    eddy__heap_deinit(&at.heap);
    eddy__arena_destroy(&arena);
    return value;
}

/* ---- what is said of a shape ---- */

/*
 * May a node wait for `from` in place of reading it?  That a side of a Switch
 * is dead is not known to those that wait for the Switch.
 */
static bool can_wait_for(const folding *f, eddy_output from)
{
    const eddy__role role =
        eddy__node_role(eddy__graph_node(f->graph, from.node));

    return eddy__readers_is_fed(&f->readers, from.node) ||
           role == EDDY__ROLE_NONE || role == EDDY__ROLE_FORWARD ||
           role == EDDY__ROLE_MERGE || role == EDDY__ROLE_ENTER ||
           role == EDDY__ROLE_EXIT;
}

/* Writes what the node gives for `shape`; false: another op, or no room. */
static bool measure(const eddy__node *node, const eddy_shape *shape,
                    int64_t values[EDDY_MAX_RANK], eddy_shape *out_shape)
{
    const bool is_narrow = node->output_dtypes[0] == EDDY_INT32;
    bool fits = shape->rank >= 0;

    *out_shape = (eddy_shape){.rank = 0};
    if (strcmp(node->op_name, "Shape") == 0) {
        *out_shape = (eddy_shape){.rank = 1, .dims = {shape->rank}};
        for (int32_t i = 0; i < shape->rank; i++) {
            values[i] = shape->dims[i];
            fits =
                fits && values[i] >= 0 && !(is_narrow && values[i] > INT32_MAX);
        }
        return fits;
    }
    if (strcmp(node->op_name, "Rank") == 0) {
        values[0] = shape->rank;
        return fits;
    }
    return strcmp(node->op_name, "Size") == 0 && eddy__shape_is_known(shape) &&
           eddy__shape_count(shape, 1, &values[0]) &&
           !(is_narrow && values[0] > INT32_MAX);
}

static eddy_tensor *write_numbers(const folding *f, const eddy__node *node,
                                  const eddy_shape *shape,
                                  const int64_t *values)
{
    const eddy_dtype dtype = (eddy_dtype)node->output_dtypes[0];
    eddy_tensor *tensor = eddy__tensor_create(
        NULL, NULL, &f->graph->ctx->allocator, dtype, shape);

    for (int64_t i = 0; tensor && i < tensor->count; i++)
        if (dtype == EDDY_INT32)
            ((int32_t *)tensor->data)[i] = (int32_t)values[i];
        else
            ((int64_t *)tensor->data)[i] = values[i];
    return tensor;
}

/* The node as a constant, if all that it reads is a shape that is known. */
static bool fold_shape(folding *f, eddy_node v, folded *made)
{
    const eddy__node *node = eddy__graph_node(f->graph, v);
    int64_t values[EDDY_MAX_RANK] = {0};
    eddy_shape shape;
    eddy_output from;

    if (f->standing[v] & EDDY__IS_NAMED || node->n_inputs != 1 ||
        node->n_outputs != 1 || !eddy__is_pure(node))
        return false;
    from = node->inputs[0];
    if (!measure(node, eddy__refined_shape(&f->refined, from), values,
                 &shape) ||
        !can_wait_for(f, from) ||
        !eddy__few_controls_add(&made->controls, node->controls,
                                node->n_controls) ||
        (!eddy__readers_is_fed(&f->readers, from.node) &&
         !eddy__few_controls_add(&made->controls, &from.node, 1)))
        return false;
    made->value = write_numbers(f, node, &shape, values);
    return made->value != NULL;
}

/* ---- all of them ---- */

/* What constants that are new say of the node's outputs. */
static void refine(folding *f, eddy_node v)
{
    const eddy__node *node = eddy__graph_node(f->graph, v);
    const eddy_tensor *constants[MOST_PORTS];

    if (f->n_done == 0 || node->n_inputs > MOST_PORTS)
        return;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const eddy_output from = node->inputs[i];

        constants[i] = constant_input(f, from);
        if (!constants[i] && !eddy__readers_is_fed(&f->readers, from.node))
            constants[i] =
                eddy__infer_constant_at(&f->readers.build->shapes, from);
    }
    eddy__refined_visit(&f->refined, v, constants);
}

static void fold(folding *f, eddy_node v)
{
    const eddy__node *node = eddy__graph_node(f->graph, v);
    folded made = {.node = v}, of_shape = {.node = v};

    refine(f, v);
    if (f->n_elements > MOST_IN_ALL)
        return;
    if (is_candidate(f, v) && find_controls(f, node, &made))
        made.value = evaluate(f, v);
    else if (fold_shape(f, v, &of_shape))
        made = of_shape;
    else
        return;
    f->n_elements += MOST_ELEMENTS / 64;
    if (!made.value)
        return;
    f->n_elements += made.value->count;
    f->done[f->n_done++] = made;
    f->done_of[v] = f->n_done;
}

static eddy_status make_constant(eddy_graph *copy, const folded *made,
                                 eddy_error *err)
{
    const eddy_dtype dtype = (eddy_dtype)made->value->dtype;
    eddy_tensor *const value = made->value;
    const eddy_attr attrs[] = {eddy_attr_tensor("value", &value),
                               eddy_attr_type("dtype", &dtype)};
    const eddy_node_spec spec = {
        .size = sizeof spec,
        .op = "Const",
        .controls = made->controls.waits_for,
        .n_controls = made->controls.n,
        .attrs = attrs,
        .n_attrs = 2,
    };

    return eddy__readers_replace_node(copy, made->node, &spec, err);
}

static eddy_status make_constants(const folding *f, eddy_graph **out_graph)
{
    const eddy__plan_build *build = f->readers.build;
    eddy_status status =
        eddy__graph_clone(f->graph, build->budget, out_graph, build->err);

    for (uint32_t i = 0; status == EDDY_OK && i < f->n_done; i++)
        status = make_constant(*out_graph, &f->done[i], build->err);
    if (status != EDDY_OK) {
        eddy_graph_destroy(*out_graph);
        *out_graph = NULL;
    }
    return status;
}

static eddy_status fold_all(folding *f, eddy__arena *scratch)
{
    const eddy__plan_build *build = f->readers.build;
    const size_t n_nodes = f->graph->n_nodes;
    eddy_node *order = NULL;
    uint8_t *standing = NULL;
    uint32_t n = 0;

    EDDY_TRY(eddy__count_readers(build, scratch, &f->readers));
    EDDY_TRY(eddy__find_standing(build, scratch, &standing));
    EDDY_TRY(eddy__readers_order_values(build, scratch, &order, &n));
    EDDY_TRY(eddy__refined_init(&f->refined, &f->readers, scratch));
    f->standing = standing;
    f->done = eddy__arena_allocate(scratch, n_nodes, sizeof *f->done);
    f->done_of =
        eddy__arena_allocate_zeroed(scratch, n_nodes, sizeof *f->done_of);
    if (!f->done || !f->done_of)
        return eddy__fail_memory(build->err);
    for (uint32_t i = 0; i < n && eddy__budget_lasts(build->budget); i++)
        fold(f, order[i]);
    return EDDY_OK;
}

eddy_status eddy__fold_constants(const eddy__plan_build *build,
                                 eddy__arena *scratch, eddy_graph **out_graph)
{
    folding f = {.readers.build = build,
                 .graph = build->selection->graph,
                 .scratch = scratch};
    eddy_status status = fold_all(&f, scratch);

    *out_graph = NULL;
    if (status == EDDY_OK && f.n_done > 0)
        status = make_constants(&f, out_graph);
    for (uint32_t i = 0; i < f.n_done; i++)
        eddy_tensor_release(f.done[i].value);
    return status;
}
