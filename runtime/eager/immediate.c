/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops run at once: a plan of one node and a placeholder for each input, kept
 * under what the op, its attributes and the dtypes of its inputs are in bytes.
 */
#include "eddy/immediate.h"

#include "core/base/status.h"
#include "core/context.h"
#include "core/graph/attr.h"
#include "core/graph/graph.h"
#include "runtime/eager/plan_cache.h"

#include <string.h>

#define DEFAULT_PLANS 256

/*
 * A run keeps as many bytes as it had in use at once, for its next execution.
 * Beyond so many it is not worth what making it anew costs.
 */
#define MOST_KEPT_BYTES ((uint64_t)1 << 18)

struct eddy_immediate {
    eddy_context *ctx;
    eddy_session *session;
    bool keep_denormals;
    eddy__plan_cache cache;
};

/* ---- making and freeing ---- */

static eddy_status init(eddy_immediate *now,
                        const eddy_immediate_options *options, eddy_error *err)
{
    const size_t wanted = options ? options->max_plans : 0;
    eddy_status status;

    if (options && options->session)
        now->session = eddy_session_retain(options->session);
    else
        EDDY_TRY(eddy_session_create(now->ctx, &now->session, err));
    status = eddy__plan_cache_init(&now->cache, &now->ctx->allocator,
                                   wanted > 0 ? wanted : DEFAULT_PLANS, err);
    if (status != EDDY_OK)
        eddy_session_release(now->session);
    return status;
}

bool eddy_immediate_keeps_denormals(const eddy_immediate *now)
{
    return now->keep_denormals;
}

eddy_status eddy_immediate_create(eddy_context *ctx,
                                  const eddy_immediate_options *options,
                                  eddy_immediate **out_now, eddy_error *err)
{
    eddy_immediate *now;
    eddy_status status;

    if (out_now)
        *out_now = NULL;
    EDDY_REFUSE_IF(!ctx, err, "no context");
    EDDY_REFUSE_IF(!out_now, err, "nowhere to put the result");
    EDDY_REFUSE_IF(options && options->size != sizeof *options, err,
                   "the options of ops at once have the wrong size");
    now = eddy__allocate_zeroed(&ctx->allocator, 1, sizeof *now);
    if (!now)
        return eddy__fail_memory(err);
    now->ctx = ctx;
    now->keep_denormals = options && options->keep_denormals;
    status = init(now, options, err);
    if (status == EDDY_OK)
        *out_now = now;
    else
        eddy__free(&ctx->allocator, now, 1, sizeof *now);
    return status;
}

void eddy_immediate_destroy(eddy_immediate *now)
{
    if (!now)
        return;
    eddy__plan_cache_deinit(&now->cache);
    eddy_session_release(now->session);
    eddy__free(&now->ctx->allocator, now, 1, sizeof *now);
}

eddy_context *eddy_immediate_context(const eddy_immediate *now)
{
    return now->ctx;
}

size_t eddy_immediate_plans(eddy_immediate *now)
{
    return eddy__plan_cache_size(&now->cache);
}

/* ---- keys ---- */

/* Bytes that are being put together; most keys need no more than are here. */
typedef struct key_bytes {
    const eddy_allocator *allocator;
    unsigned char *bytes;
    size_t n, capacity;
    bool no_memory;
    unsigned char few[256];
} key_bytes;

static void key_init(key_bytes *k, const eddy_allocator *allocator)
{
    k->allocator = allocator;
    k->bytes = k->few;
    k->n = 0;
    k->capacity = sizeof k->few;
    k->no_memory = false;
}

static void key_deinit(key_bytes *k)
{
    if (k->bytes != k->few)
        eddy__free(k->allocator, k->bytes, k->capacity, 1);
}

/* Room for `n` more bytes. */
static bool key_reserve(key_bytes *k, size_t n)
{
    unsigned char *bytes;
    size_t needed, capacity;

    if (k->no_memory || !eddy__add_size(k->n, n, &needed)) {
        k->no_memory = true;
        return false;
    }
    if (needed <= k->capacity)
        return true;
    capacity = k->capacity;
    while (capacity < needed && capacity <= SIZE_MAX / 2)
        capacity *= 2;
    bytes =
        capacity < needed ? NULL : eddy__allocate(k->allocator, capacity, 1);
    if (!bytes) {
        k->no_memory = true;
        return false;
    }
    memcpy(bytes, k->bytes, k->n);
    key_deinit(k);
    k->bytes = bytes;
    k->capacity = capacity;
    return true;
}

static void key_put(key_bytes *k, const void *from, size_t n)
{
    if (n == 0 || !key_reserve(k, n))
        return;
    memcpy(k->bytes + k->n, from, n);
    k->n += n;
}

/* With the length before it, so that no two texts run into each other. */
static void key_put_text(key_bytes *k, const char *text, size_t length)
{
    key_put(k, &length, sizeof length);
    key_put(k, text, length);
}

static void key_put_shapes(key_bytes *k, const eddy_attr *attr)
{
    for (size_t i = 0; i < attr->n; i++) {
        const eddy_shape *shape = &attr->as.shapes[i];

        key_put(k, &shape->rank, sizeof shape->rank);
        if (shape->rank > 0)
            key_put(k, shape->dims, (size_t)shape->rank * sizeof *shape->dims);
    }
}

static void key_put_attr(key_bytes *k, const eddy_attr *attr)
{
    const unsigned char head[] = {(unsigned char)attr->kind, attr->is_list};

    key_put_text(k, attr->name, strlen(attr->name));
    key_put(k, head, sizeof head);
    key_put(k, &attr->n, sizeof attr->n);
    switch (attr->kind) {
    case EDDY_ATTR_STRING:
    case EDDY_ATTR_FUNCTION:
    case EDDY_ATTR_OPAQUE:
        for (size_t i = 0; i < attr->n; i++)
            key_put_text(k, attr->as.strings[i].data,
                         attr->as.strings[i].length);
        break;
    case EDDY_ATTR_SHAPE:
        key_put_shapes(k, attr);
        break;
    case EDDY_ATTR_INT:
    case EDDY_ATTR_FLOAT:
    case EDDY_ATTR_BOOL:
    case EDDY_ATTR_TYPE:
    case EDDY_ATTR_TENSOR:
        key_put(k, attr->as.ints,
                attr->n * eddy__attr_element_size(attr->kind));
        break;
    }
}

static void key_fill(key_bytes *k, const eddy_immediate_call *call)
{
    key_put_text(k, call->op, strlen(call->op));
    key_put(k, &call->n_inputs, sizeof call->n_inputs);
    for (size_t i = 0; i < call->n_inputs; i++) {
        const unsigned char dtype =
            (unsigned char)eddy_tensor_dtype(call->inputs[i]);

        key_put(k, &dtype, 1);
    }
    for (size_t i = 0; i < call->n_attrs; i++)
        key_put_attr(k, &call->attrs[i]);
}

/* ---- plans ---- */

/* The primitives say where values go, of which there is nothing here. */
static eddy_status refuse_primitive(const eddy_graph *graph, eddy_node id,
                                    eddy_error *err)
{
    const eddy__node *node = &graph->nodes[id];

    switch (eddy__node_role(node)) {
    case EDDY__ROLE_SWITCH:
    case EDDY__ROLE_MERGE:
    case EDDY__ROLE_ENTER:
    case EDDY__ROLE_EXIT:
    case EDDY__ROLE_NEXT_ITERATION:
        return eddy__fail_node(err, EDDY_INVALID_ARGUMENT, EDDY_E_NOT_IN_FRAME,
                               node->name, node->op_name,
                               "%.48s is a primitive of control flow, which "
                               "cannot be run on its own",
                               node->op_name);
    default:
        return EDDY_OK;
    }
}

/* Adds the node of the call to a graph, with placeholders for its inputs. */
static eddy_status add_node(eddy_graph *graph, const eddy_immediate_call *call,
                            eddy_output *inputs, eddy_node *out_node,
                            eddy_error *err)
{
    const eddy_node_spec spec = {
        .size = sizeof spec,
        .op = call->op,
        /* Random ops draw by their name, which is always the same. */
        .name = call->op,
        .inputs = inputs,
        .n_inputs = call->n_inputs,
        .attrs = call->attrs,
        .n_attrs = call->n_attrs,
    };

    for (size_t i = 0; i < call->n_inputs; i++)
        EDDY_TRY(eddy_graph_add_placeholder(graph, NULL,
                                            eddy_tensor_dtype(call->inputs[i]),
                                            NULL, &inputs[i], err));
    return eddy_graph_add(graph, &spec, out_node, err);
}

static eddy_status plan_node(eddy_graph *graph, const eddy_immediate_call *call,
                             eddy__arena *arena, eddy_plan **out_plan,
                             eddy_error *err)
{
    eddy_output *inputs =
        eddy__arena_allocate(arena, call->n_inputs, sizeof *inputs);
    eddy_output *outputs;
    eddy_node node;
    size_t n;

    if (!inputs)
        return eddy__fail_memory(err);
    EDDY_TRY(add_node(graph, call, inputs, &node, err));
    EDDY_TRY(refuse_primitive(graph, node, err));
    n = eddy_graph_node_outputs(graph, node);
    outputs = eddy__arena_allocate(arena, n, sizeof *outputs);
    if (!outputs)
        return eddy__fail_memory(err);
    for (size_t i = 0; i < n; i++)
        outputs[i] = (eddy_output){node, (uint32_t)i};
    return eddy_plan_create(graph,
                            &(eddy_plan_options){
                                .size = sizeof(eddy_plan_options),
                                .feeds = inputs,
                                .n_feeds = call->n_inputs,
                                .fetches = outputs,
                                .n_fetches = n,
                                .targets = &node,
                                .n_targets = 1,
                            },
                            out_plan, err);
}

static eddy_status make_plan(eddy_immediate *now,
                             const eddy_immediate_call *call,
                             eddy_plan **out_plan, eddy_error *err)
{
    eddy__arena arena = {.allocator = &now->ctx->allocator};
    eddy_graph *graph = NULL;
    eddy_status status = eddy_graph_create(now->ctx, &graph, err);

    if (status == EDDY_OK)
        status = plan_node(graph, call, &arena, out_plan, err);
    eddy__arena_destroy(&arena);
    eddy_graph_destroy(graph);
    return status;
}

/* ---- running ---- */

static eddy_status make_run(eddy_immediate *now, eddy_plan *plan,
                            eddy_run **out_run, eddy_error *err)
{
    const eddy_run_options options = {.size = sizeof options,
                                      .session = now->session,
                                      .keep_denormals = now->keep_denormals};

    return eddy_run_create(plan, &options, out_run, err);
}

static eddy_status execute(eddy_run *run, const eddy_immediate_call *call,
                           eddy_tensor **out_outputs, size_t n_outputs,
                           eddy_error *err)
{
    for (size_t i = 0; i < call->n_inputs; i++)
        EDDY_TRY(eddy_run_feed(run, i, call->inputs[i], err));
    EDDY_TRY(eddy_run_execute(run, err));
    for (size_t i = 0; out_outputs && i < n_outputs; i++)
        out_outputs[i] = eddy_tensor_retain(eddy_run_fetch(run, i));
    return EDDY_OK;
}

static eddy_status check_outputs(const eddy_immediate_call *call,
                                 const eddy_plan *plan, size_t n_outputs,
                                 eddy_error *err)
{
    size_t n = 0;

    while (eddy_plan_fetch_dtype(plan, n) != EDDY_INVALID)
        n++;
    if (n == n_outputs)
        return EDDY_OK;
    return eddy__fail_node(err, EDDY_INVALID_ARGUMENT, EDDY_E_OUTPUT_INDEX, "",
                           call->op, "%.48s has %zu outputs, %zu are wanted",
                           call->op, n, n_outputs);
}

/* Puts a run away for the next call, if it is worth it. */
static void put_away(eddy_immediate *now, const eddy__plan_key *key,
                     eddy_plan *plan, eddy_run *run)
{
    if (run && eddy_run_stats(run).peak_bytes <= MOST_KEPT_BYTES) {
        eddy_run_clear(run);
        eddy__plan_cache_give(&now->cache, key, plan, run);
    } else {
        eddy_run_destroy(run);
    }
}

static bool has_tensor(const eddy_immediate_call *call)
{
    for (size_t i = 0; i < call->n_attrs; i++)
        if (call->attrs[i].kind == EDDY_ATTR_TENSOR)
            return true;
    return false;
}

/* Finds or makes the plan, and perhaps a run of it that is ready. */
static eddy_status find_plan(eddy_immediate *now,
                             const eddy_immediate_call *call,
                             const eddy__plan_key *key, eddy_plan **out_plan,
                             eddy_run **out_run, eddy_error *err)
{
    if (eddy__plan_cache_take(&now->cache, key, out_plan, out_run))
        return EDDY_OK;
    EDDY_TRY(make_plan(now, call, out_plan, err));
    /* A tensor may have the place of one that is gone, and so its key. */
    if (!has_tensor(call))
        eddy__plan_cache_add(&now->cache, key, *out_plan);
    return EDDY_OK;
}

static eddy_status run_with_key(eddy_immediate *now,
                                const eddy_immediate_call *call,
                                const eddy__plan_key *key,
                                eddy_tensor **out_outputs, size_t n_outputs,
                                eddy_error *err)
{
    eddy_plan *plan = NULL;
    eddy_run *run = NULL;
    eddy_status status = find_plan(now, call, key, &plan, &run, err);

    if (status == EDDY_OK)
        status = check_outputs(call, plan, n_outputs, err);
    if (status == EDDY_OK && !run)
        status = make_run(now, plan, &run, err);
    if (status == EDDY_OK)
        status = execute(run, call, out_outputs, n_outputs, err);
    put_away(now, key, plan, run);
    eddy_plan_release(plan);
    return status;
}

/* Everything that a key is made of must be well formed. */
static eddy_status check_call(const eddy_immediate *now,
                              const eddy_immediate_call *call,
                              eddy_tensor **out_outputs, size_t n_outputs,
                              eddy_error *err)
{
    EDDY_REFUSE_IF(!now || !call, err, "eddy_immediate_run: no %s",
                   now ? "call" : "eddy_immediate");
    EDDY_REFUSE_IF(call->size != sizeof *call, err,
                   "eddy_immediate_run: a call of the wrong size");
    EDDY_REFUSE_IF(!call->op, err, "eddy_immediate_run: no op");
    EDDY_REFUSE_IF(call->n_inputs > 0 && !call->inputs, err,
                   "eddy_immediate_run: NULL for %zu inputs", call->n_inputs);
    EDDY_REFUSE_IF(call->n_attrs > 0 && !call->attrs, err,
                   "eddy_immediate_run: NULL for %zu attributes",
                   call->n_attrs);
    EDDY_REFUSE_IF(n_outputs > 0 && !out_outputs, err,
                   "eddy_immediate_run: nowhere to put %zu outputs", n_outputs);
    for (size_t i = 0; i < call->n_inputs; i++)
        EDDY_REFUSE_IF(!call->inputs[i], err,
                       "eddy_immediate_run: NULL for input %zu", i);
    for (size_t i = 0; i < call->n_attrs; i++)
        EDDY_TRY(eddy__attr_check(&call->attrs[i], err));
    return EDDY_OK;
}

eddy_status eddy_immediate_run(eddy_immediate *now,
                               const eddy_immediate_call *call,
                               eddy_tensor **out_outputs, size_t n_outputs,
                               eddy_error *err)
{
    eddy_status status;
    key_bytes bytes;

    for (size_t i = 0; out_outputs && i < n_outputs; i++)
        out_outputs[i] = NULL;
    EDDY_TRY(check_call(now, call, out_outputs, n_outputs, err));
    key_init(&bytes, &now->ctx->allocator);
    key_fill(&bytes, call);
    if (bytes.no_memory) {
        status = eddy__fail_memory(err);
    } else {
        const eddy__plan_key key = {bytes.bytes, bytes.n,
                                    eddy__plan_hash(bytes.bytes, bytes.n)};

        status = run_with_key(now, call, &key, out_outputs, n_outputs, err);
    }
    key_deinit(&bytes);
    return status;
}

eddy_status eddy_immediate_op(eddy_immediate *now, const char *op,
                              eddy_tensor *const *inputs, size_t n_inputs,
                              eddy_tensor **out_output, eddy_error *err)
{
    const eddy_immediate_call call = {
        .size = sizeof call, .op = op, .inputs = inputs, .n_inputs = n_inputs};

    return eddy_immediate_run(now, &call, out_output, 1, err);
}
