/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/kernel_harness.h"

#include "core/base/status.h"
#include "core/graph/graph.h"
#include "core/graph/infer.h"

#include <stdlib.h>
#include <string.h>

/* How one of the runs sees its inputs. */
typedef struct mode {
    bool shapes_known;
    bool constants_known; /* and the inputs are constants of the plan */
    bool last_use;        /* the kernel may take over input buffers */
    bool off_driver;      /* without a heap, as on a worker */
} mode;

static const mode modes[] = {
    {.shapes_known = false},
    {.shapes_known = true, .last_use = true},
    {.shapes_known = true, .constants_known = true, .off_driver = true},
    {.shapes_known = true, .last_use = true, .off_driver = true},
};

/* What a run needs besides the harness; made afresh for every run. */
typedef struct bench {
    const eddy__node *node;
    size_t n_in, n_out;
    eddy__value *values; /* inputs first, then outputs */
    uint32_t *in, *out;
    eddy_shape *shapes, *inferred;
    const eddy_tensor **constants;
    eddy__arena arena;
    eddy__heap heap;
    eddy__resource_set resources;
    eddy__resource_table named;
    eddy_kernel_fn kernel;
    const void *state;
} bench;

static void *allocate(void *user, size_t size, size_t alignment)
{
    harness *h = user;
    void *memory = NULL;

    if (h->allowed == 0)
        return NULL;
    if (h->allowed > 0)
        h->allowed--;
    if (alignment < sizeof(void *))
        alignment = sizeof(void *);
    if (posix_memalign(&memory, alignment, size > 0 ? size : 1) != 0)
        return NULL;
    memset(memory, 0xa5, size);
    h->live_bytes += (int64_t)size;
    return memory;
}

static void release(void *user, void *memory, size_t size)
{
    harness *h = user;

    h->live_bytes -= (int64_t)size;
    free(memory);
}

static void *zeroed(size_t n, size_t size)
{
    void *memory = calloc(n > 0 ? n : 1, size);

    ck_assert_ptr_nonnull(memory);
    return memory;
}

void harness_init(harness *h, const eddy__op_table *table)
{
    const eddy_op_spec source = {.size = sizeof(eddy_op_spec),
                                 .name = "HarnessSource",
                                 .outputs = "output: T",
                                 .attrs = "T: type"};

    memset(h, 0, sizeof *h);
    h->allowed = -1;
    h->ctx.allocator = (eddy_allocator){allocate, release, h};
    eddy__registry_init(&h->ctx.registry, &h->ctx.allocator);
    ck_assert_int_eq(
        eddy__registry_add(&h->ctx.registry, &source, EDDY__ROLE_NONE, &h->err),
        EDDY_OK);
    for (size_t i = 0; table && i < table->n; i++) {
        const eddy__role role =
            table->roles ? table->roles[i] : EDDY__ROLE_NONE;
        const eddy_status status = eddy__registry_add(
            &h->ctx.registry, &table->specs[i], role, &h->err);

        ck_assert_msg(status == EDDY_OK, "%s: %s", table->specs[i].name,
                      h->err.message);
    }
    ck_assert_int_eq(eddy_graph_create(&h->ctx, &h->graph, &h->err), EDDY_OK);
    h->sources = zeroed(EDDY_DTYPE_COUNT, sizeof *h->sources);
    for (eddy_dtype d = EDDY_FLOAT16; d < EDDY_DTYPE_COUNT; d++) {
        const eddy_attr attr = eddy_attr_type("T", &d);
        const eddy_node_spec spec = {.size = sizeof spec,
                                     .op = "HarnessSource",
                                     .attrs = &attr,
                                     .n_attrs = 1};

        ck_assert_int_eq(
            eddy_graph_add(h->graph, &spec, &h->sources[d], &h->err), EDDY_OK);
    }
}

static void drop_outputs(harness *h)
{
    for (size_t i = 0; i < h->n_outputs; i++)
        eddy_tensor_release(h->outputs[i]);
    h->n_outputs = 0;
}

void harness_deinit(harness *h)
{
    drop_outputs(h);
    for (size_t i = 0; i < h->n_made; i++)
        eddy_tensor_release(h->made[i]);
    free(h->made);
    free(h->sources);
    eddy_graph_destroy(h->graph);
    eddy__registry_deinit(&h->ctx.registry);
    ck_assert_int_eq(h->live_bytes, 0);
}

/* ---- tensors ---- */

static eddy_tensor *keep(harness *h, eddy_tensor *tensor)
{
    if (h->n_made == h->made_capacity) {
        h->made_capacity = 2 * h->made_capacity + 16;
        h->made = realloc(h->made, h->made_capacity * sizeof *h->made);
        ck_assert_ptr_nonnull(h->made);
    }
    h->made[h->n_made++] = tensor;
    return tensor;
}

static eddy_tensor *create(harness *h, eddy_dtype dtype, int32_t rank,
                           const int64_t *dims)
{
    eddy_shape shape = {.rank = rank};
    eddy_tensor *tensor = NULL;

    for (int32_t i = 0; i < rank; i++)
        shape.dims[i] = dims[i];
    ck_assert_int_eq(
        eddy_tensor_create(&h->ctx, dtype, &shape, &tensor, &h->err), EDDY_OK);
    return keep(h, tensor);
}

eddy_tensor *harness_tensor(harness *h, eddy_dtype dtype, int32_t rank,
                            const int64_t *dims, const void *elements)
{
    eddy_tensor *tensor = create(h, dtype, rank, dims);

    if (tensor->bytes > 0)
        memcpy(tensor->data, elements, tensor->bytes);
    return tensor;
}

eddy_tensor *harness_strings(harness *h, int32_t rank, const int64_t *dims,
                             const char *const *texts)
{
    eddy_tensor *tensor = create(h, EDDY_STRING, rank, dims);

    for (int64_t i = 0; i < tensor->count; i++)
        ck_assert(
            eddy__tensor_set_string(tensor, i, texts[i], strlen(texts[i])));
    return tensor;
}

static uint64_t to_uint64(double value)
{
    return value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
}

static void set(eddy_dtype dtype, void *elements, int64_t i, double value)
{
    switch (dtype) {
    case EDDY_FLOAT16:
        ((uint16_t *)elements)[i] = eddy_float16_from_float((float)value);
        break;
    case EDDY_FLOAT32:
        ((float *)elements)[i] = (float)value;
        break;
    case EDDY_FLOAT64:
        ((double *)elements)[i] = value;
        break;
    case EDDY_INT8:
        ((int8_t *)elements)[i] = (int8_t)value;
        break;
    case EDDY_INT16:
        ((int16_t *)elements)[i] = (int16_t)value;
        break;
    case EDDY_INT32:
        ((int32_t *)elements)[i] = (int32_t)value;
        break;
    case EDDY_INT64:
        ((int64_t *)elements)[i] = (int64_t)value;
        break;
    case EDDY_UINT8:
        ((uint8_t *)elements)[i] = (uint8_t)to_uint64(value);
        break;
    case EDDY_UINT16:
        ((uint16_t *)elements)[i] = (uint16_t)to_uint64(value);
        break;
    case EDDY_UINT32:
        ((uint32_t *)elements)[i] = (uint32_t)to_uint64(value);
        break;
    case EDDY_UINT64:
        ((uint64_t *)elements)[i] = to_uint64(value);
        break;
    case EDDY_BOOL:
        ((bool *)elements)[i] = value != 0;
        break;
    case EDDY_COMPLEX64:
        ((float *)elements)[2 * i] = (float)value;
        ((float *)elements)[2 * i + 1] = 0;
        break;
    case EDDY_COMPLEX128:
        ((double *)elements)[2 * i] = value;
        ((double *)elements)[2 * i + 1] = 0;
        break;
    case EDDY_BFLOAT16:
        ((uint16_t *)elements)[i] = eddy_bfloat16_from_float((float)value);
        break;
    default:
        ck_abort_msg("no numbers of dtype %s", eddy_dtype_name(dtype));
    }
}

eddy_tensor *harness_numbers(harness *h, eddy_dtype dtype, int32_t rank,
                             const int64_t *dims, const double *values)
{
    eddy_tensor *tensor = create(h, dtype, rank, dims);

    for (int64_t i = 0; i < tensor->count; i++)
        set(dtype, tensor->data, i, values[i]);
    return tensor;
}

eddy_tensor *harness_scalar(harness *h, eddy_dtype dtype, double value)
{
    return harness_numbers(h, dtype, 0, NULL, &value);
}

double harness_get(const eddy_tensor *tensor, int64_t i)
{
    const void *data = tensor->data;

    ck_assert(i >= 0 && i < tensor->count);
    switch ((eddy_dtype)tensor->dtype) {
    case EDDY_FLOAT16:
        return eddy_float16_to_float(((const uint16_t *)data)[i]);
    case EDDY_FLOAT32:
        return ((const float *)data)[i];
    case EDDY_FLOAT64:
        return ((const double *)data)[i];
    case EDDY_INT8:
        return ((const int8_t *)data)[i];
    case EDDY_INT16:
        return ((const int16_t *)data)[i];
    case EDDY_INT32:
        return ((const int32_t *)data)[i];
    case EDDY_INT64:
        return (double)((const int64_t *)data)[i];
    case EDDY_UINT8:
        return ((const uint8_t *)data)[i];
    case EDDY_UINT16:
        return ((const uint16_t *)data)[i];
    case EDDY_UINT32:
        return ((const uint32_t *)data)[i];
    case EDDY_UINT64:
        return (double)((const uint64_t *)data)[i];
    case EDDY_BOOL:
        return ((const bool *)data)[i];
    case EDDY_COMPLEX64:
        return ((const float *)data)[2 * i];
    case EDDY_COMPLEX128:
        return ((const double *)data)[2 * i];
    case EDDY_BFLOAT16:
        return eddy_bfloat16_to_float(((const uint16_t *)data)[i]);
    default:
        ck_abort_msg("no numbers of dtype %s",
                     eddy_dtype_name((eddy_dtype)tensor->dtype));
        return 0;
    }
}

/* A tensor with the same elements; only numeric ones are really copied. */
static eddy_tensor *duplicate(harness *h, eddy_tensor *from)
{
    eddy_tensor *tensor = NULL;

    if (eddy_dtype_size((eddy_dtype)from->dtype) == 0)
        return eddy_tensor_retain(from);
    ck_assert_int_eq(eddy_tensor_create(&h->ctx, (eddy_dtype)from->dtype,
                                        &from->shape, &tensor, &h->err),
                     EDDY_OK);
    if (from->bytes > 0)
        memcpy(tensor->data, from->data, from->bytes);
    return tensor;
}

static void want_same(const eddy_tensor *a, const eddy_tensor *b,
                      const char *what)
{
    ck_assert_msg(a->dtype == b->dtype && a->count == b->count &&
                      eddy__shape_equal(&a->shape, &b->shape),
                  "%s: another dtype or shape", what);
    if (eddy__dtype_is_inline((eddy_dtype)a->dtype)) {
        ck_assert_msg(a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0,
                      "%s: other elements", what);
        return;
    }
    for (int64_t i = 0; a->dtype == EDDY_STRING && i < a->count; i++) {
        const eddy_string x = eddy_tensor_string(a, i);
        const eddy_string y = eddy_tensor_string(b, i);

        ck_assert_msg(
            x.length == y.length &&
                (x.length == 0 || memcmp(x.data, y.data, x.length) == 0),
            "%s: other strings", what);
    }
}

/* ---- running ---- */

static bool never_cancelled(const eddy_kernel *kernel)
{
    (void)kernel;
    return false;
}

static int64_t iteration_zero(const eddy_kernel *kernel)
{
    (void)kernel;
    return 0;
}

static void keep_line(const eddy_kernel *kernel, eddy_log_level level,
                      const char *line)
{
    harness *h = kernel->run;

    (void)level;
    strncpy(h->log, line, sizeof h->log - 1);
}

static eddy__resource_table *table_of(const eddy_kernel *kernel)
{
    const harness *h = kernel->run;

    return h->named;
}

static const eddy__services services = {
    .cancelled = never_cancelled,
    .iteration = iteration_zero,
    .log = keep_line,
    .table = table_of,
};

static void bench_init(harness *h, bench *b, const eddy__node *node)
{
    memset(b, 0, sizeof *b);
    b->node = node;
    b->n_in = node->n_inputs;
    b->n_out = node->n_outputs;
    b->values = zeroed(b->n_in + b->n_out, sizeof *b->values);
    b->in = zeroed(b->n_in, sizeof *b->in);
    b->out = zeroed(b->n_out, sizeof *b->out);
    b->shapes = zeroed(b->n_in, sizeof *b->shapes);
    b->inferred = zeroed(b->n_out, sizeof *b->inferred);
    b->constants = zeroed(b->n_in, sizeof *b->constants);
    b->arena.allocator = &h->ctx.allocator;
    ck_assert(eddy__heap_init(&b->heap, &h->ctx.allocator));
    b->resources.heap = &b->heap;
    ck_assert_int_eq(
        eddy__resource_table_init(&b->named, &h->ctx.allocator, NULL), EDDY_OK);
    h->named = &b->named;
}

static void bench_deinit(bench *b)
{
    for (size_t i = 0; i < b->n_in + b->n_out; i++)
        eddy__value_clear(&b->heap, &b->values[i]);
    eddy__arena_destroy(&b->arena);
    eddy__resource_set_clear(&b->resources);
    eddy__resource_table_deinit(&b->named);
    eddy__heap_deinit(&b->heap);
    free(b->values);
    free(b->in);
    free(b->out);
    free(b->shapes);
    free(b->inferred);
    free(b->constants);
}

static void bench_load(harness *h, bench *b, eddy_tensor *const *inputs,
                       const mode *m)
{
    for (uint32_t i = 0; i < b->n_in; i++) {
        uint32_t first = 0;

        b->shapes[i] =
            m->shapes_known ? inputs[i]->shape : eddy__shape_unknown();
        b->constants[i] = m->constants_known ? inputs[i] : NULL;
        while (inputs[first] != inputs[i])
            first++;
        b->in[i] = first;
        if (first != i) {
            b->values[first].uses++;
            continue;
        }
        b->values[i] = eddy__value_take_tensor(
            &b->heap, m->last_use ? duplicate(h, inputs[i])
                                  : eddy_tensor_retain(inputs[i]));
        b->values[i].uses = m->last_use ? 1 : 2;
        if (m->constants_known && b->values[i].kind == EDDY__TENSOR) {
            eddy__value_clear(&b->heap, &b->values[i]);
            b->values[i].kind = EDDY__CONSTANT;
            b->values[i].dtype = inputs[i]->dtype;
            b->values[i].as.tensor = inputs[i];
        }
    }
    for (uint32_t i = 0; i < b->n_out; i++) {
        b->out[i] = (uint32_t)b->n_in + i;
        b->inferred[i] = eddy__shape_unknown();
    }
}

static eddy_status bench_prepare(harness *h, bench *b)
{
    const eddy__op *op = b->node->op;
    eddy_infer infer = {.node = b->node,
                        .inputs = b->shapes,
                        .constants = b->constants,
                        .outputs = b->inferred,
                        .kernel = op->kernel,
                        .err = &h->err};

    if (op->infer)
        EDDY_TRY(op->infer(&infer));
    infer.arena = &b->arena;
    if (op->prepare)
        EDDY_TRY(op->prepare(&infer));
    b->kernel = infer.kernel;
    b->state = infer.state;
    if (!b->kernel) /* as a plan says it */
        return eddy_infer_fail(&infer, EDDY_INVALID_ARGUMENT, EDDY_E_NO_KERNEL,
                               "the op has no kernel for these dtypes");
    return EDDY_OK;
}

static eddy_status bench_run(harness *h, bench *b, const mode *m)
{
    /* As in a plan, where no kernel runs a Const. */
    const bool sees_attrs = !(b->node->op->flags & EDDY__OP_BUILTIN) ||
                            b->node->op->role == EDDY__ROLE_CONST;
    const eddy__kernel_node node = {
        .in = b->in,
        .out = b->out,
        .state = b->state,
        .n_in = (uint32_t)b->n_in,
        .n_out = (uint32_t)b->n_out,
        .in_dtypes = b->node->input_dtypes,
        .out_dtypes = b->node->output_dtypes,
        .attrs = b->node->attrs,
        .n_attrs = sees_attrs ? b->node->n_attrs : 0,
        .name = b->node->name,
        .op_name = b->node->op_name,
    };
    eddy_kernel kernel = {
        .values = b->values,
        .in = b->in,
        .out = b->out,
        .node = &node,
        .heap = m->off_driver ? NULL : &b->heap,
        .account = b->heap.account,
        .allocator = &h->ctx.allocator,
        .services = &services,
        .resources = m->off_driver ? NULL : &b->resources,
        .err = &h->err,
        .run = h,
    };

    return b->kernel(&kernel);
}

/* Moves the outputs out, having checked them against what was inferred. */
static void bench_collect(harness *h, bench *b, eddy_tensor **outputs)
{
    for (size_t i = 0; i < b->n_out; i++) {
        eddy__value *v = &b->values[b->out[i]];
        eddy_tensor *t;

        ck_assert_msg(v->kind == EDDY__SCALAR || v->kind == EDDY__TENSOR ||
                          v->kind == EDDY__CONSTANT,
                      "%s left output %zu unset", b->node->op_name, i);
        t = eddy__value_to_tensor(v, NULL, NULL, &h->ctx.allocator);
        ck_assert_ptr_nonnull(t);
        ck_assert_msg(v->kind == EDDY__SCALAR || t->shape.rank > 0 ||
                          !eddy__dtype_is_inline((eddy_dtype)t->dtype),
                      "%s made a scalar that is not inline", b->node->op_name);
        ck_assert_str_eq(
            eddy_dtype_name((eddy_dtype)t->dtype),
            eddy_dtype_name((eddy_dtype)b->node->output_dtypes[i]));
        ck_assert_msg(eddy__shape_compatible(&b->inferred[i], &t->shape),
                      "%s: inferred %s, got %s", b->node->op_name,
                      eddy__shape_print(&b->inferred[i]).text,
                      eddy__shape_print(&t->shape).text);
        for (int64_t j = 0; t->dtype == EDDY_BOOL && j < t->count; j++)
            ck_assert_uint_le(((const uint8_t *)t->data)[j], 1);
        outputs[i] = t;
    }
}

/* One run from shape inference to outputs, which the caller then owns. */
static eddy_status run_once(harness *h, const eddy__node *node,
                            eddy_tensor *const *inputs, const mode *m,
                            int64_t allowed, eddy_tensor **outputs)
{
    bench b;
    eddy_status status;

    bench_init(h, &b, node);
    bench_load(h, &b, inputs, m);
    h->allowed = allowed;
    status = bench_prepare(h, &b);
    if (status == EDDY_OK)
        status = bench_run(h, &b, m);
    h->allowed = -1;
    if (status == EDDY_OK) {
        bench_collect(h, &b, outputs);
        if (m->shapes_known && !m->constants_known)
            memcpy(h->inferred, b.inferred, b.n_out * sizeof *b.inferred);
    }
    bench_deinit(&b);
    return status;
}

static void want_same_outputs(harness *h, eddy_tensor **outputs, const char *op)
{
    for (size_t i = 0; i < h->n_outputs; i++) {
        want_same(h->outputs[i], outputs[i], op);
        eddy_tensor_release(outputs[i]);
    }
}

/* The other ways to run it must do as the first one did. */
static void run_again(harness *h, const eddy__node *node,
                      eddy_tensor *const *inputs, eddy_status first)
{
    const eddy_error err = h->err;
    eddy_tensor *outputs[HARNESS_MAX_OUTPUTS];

    for (size_t i = 1; i < sizeof modes / sizeof modes[0]; i++) {
        const eddy_status status =
            run_once(h, node, inputs, &modes[i], -1, outputs);

        ck_assert_msg(status == first, "%s: %s, then %s: %s", node->op_name,
                      eddy_status_name(first), eddy_status_name(status),
                      h->err.message);
        if (status == EDDY_OK)
            want_same_outputs(h, outputs, node->op_name);
        else
            ck_assert_str_eq(eddy_detail_name(h->err.detail),
                             eddy_detail_name(err.detail));
    }
    for (int64_t n = 0; first == EDDY_OK; n++) {
        const eddy_status status =
            run_once(h, node, inputs, &modes[0], n, outputs);

        if (status == EDDY_OK) {
            want_same_outputs(h, outputs, node->op_name);
            break;
        }
        ck_assert_int_eq(status, EDDY_RESOURCE_EXHAUSTED);
    }
    h->err = err;
}

static eddy_status run_node(harness *h, const eddy__node *node,
                            eddy_tensor *const *inputs)
{
    eddy_tensor **copies = zeroed(node->n_inputs, sizeof *copies);
    eddy_status status;

    for (size_t i = 0; i < node->n_inputs; i++)
        copies[i] = duplicate(h, inputs[i]);
    status = run_once(h, node, inputs, &modes[0], -1, h->outputs);
    h->n_outputs = status == EDDY_OK ? node->n_outputs : 0;
    run_again(h, node, inputs, status);
    for (size_t i = 0; i < node->n_inputs; i++) {
        want_same(inputs[i], copies[i], "an input");
        eddy_tensor_release(copies[i]);
    }
    free(copies);
    return status;
}

eddy_status harness_run_attrs(harness *h, const char *op,
                              eddy_tensor *const *inputs, size_t n_inputs,
                              const eddy_attr *attrs, size_t n_attrs)
{
    eddy_output *edges = zeroed(n_inputs, sizeof *edges);
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = op,
                                 .inputs = edges,
                                 .n_inputs = n_inputs,
                                 .attrs = attrs,
                                 .n_attrs = n_attrs};
    eddy_node node;
    eddy_status status;

    drop_outputs(h);
    memset(&h->err, 0, sizeof h->err);
    for (size_t i = 0; i < n_inputs; i++)
        edges[i].node = h->sources[inputs[i]->dtype];
    status = eddy_graph_add(h->graph, &spec, &node, &h->err);
    free(edges);
    if (status != EDDY_OK)
        return status;
    ck_assert_uint_le(eddy__graph_node(h->graph, node)->n_outputs,
                      HARNESS_MAX_OUTPUTS);
    return run_node(h, eddy__graph_node(h->graph, node), inputs);
}

void harness_want(const harness *h, size_t i, eddy_dtype dtype, int32_t rank,
                  const int64_t *dims)
{
    const eddy_tensor *t;

    ck_assert_msg(i < h->n_outputs, "no output %zu: %s", i, h->err.message);
    t = h->outputs[i];
    ck_assert_str_eq(eddy_dtype_name((eddy_dtype)t->dtype),
                     eddy_dtype_name(dtype));
    ck_assert_int_eq(t->shape.rank, rank);
    for (int32_t d = 0; d < rank; d++)
        ck_assert_int_eq(t->shape.dims[d], dims[d]);
}

void harness_want_texts(const harness *h, int32_t rank, const int64_t *dims,
                        const char *const *texts)
{
    harness_want(h, 0, EDDY_STRING, rank, dims);
    for (int64_t i = 0; i < eddy_tensor_count(h->outputs[0]); i++) {
        const eddy_string got = eddy_tensor_string(h->outputs[0], i);

        ck_assert_uint_eq(got.length, strlen(texts[i]));
        ck_assert_mem_eq(got.data, texts[i], got.length);
    }
}

void harness_want_error(const harness *h, eddy_status status, eddy_status code,
                        eddy_detail detail)
{
    ck_assert_msg(status == code && h->err.detail == detail, "got %s, %s: %s",
                  eddy_status_name(status), eddy_detail_name(h->err.detail),
                  h->err.message);
}
