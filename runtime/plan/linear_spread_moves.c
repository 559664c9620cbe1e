/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops that bring elements to other places: Pack, StridedSlice, Transpose and
 * the like.  Where each element of the result comes from is found by running
 * the kernel itself, on tensors whose elements are their own numbers.
 */
#include "core/base/status.h"
#include "core/context.h"
#include "core/value/dtype.h"
#include "core/value/shape.h"
#include "runtime/plan/linear_spread.h"
#include "runtime/plan/rewrites.h"

#include <string.h>

/* Inputs and outputs that are looked at. */
#define MOST_PORTS 72
/* What a kernel may hold meanwhile. */
#define MOST_BYTES ((int64_t)1 << 20)

/* Of each op, the inputs that are read as elements: from one to another. */
typedef struct row {
    const char *op;
    uint32_t first;
    int32_t last; /* -1: the last but none, -2: but one */
} row;

/* What PadV2 and TensorScatterUpdate read between these are constants. */
static const row rows[] = {
    {"BroadcastTo", 0, 0},
    {"Concat", 1, -1},
    {"ConcatV2", 0, -2},
    {"DiagPart", 0, 0},
    {"ExpandDims", 0, 0},
    {"Fill", 1, 1},
    {"Gather", 0, 0},
    {"GatherNd", 0, 0},
    {"GatherV2", 0, 0},
    {"MatrixDiag", 0, 0},
    {"MatrixDiagPart", 0, 0},
    {"Pack", 0, -1},
    {"Pad", 0, 0},
    {"Reshape", 0, 0},
    {"ReverseV2", 0, 0},
    {"Roll", 0, 0},
    {"Slice", 0, 0},
    {"Split", 1, 1},
    {"SplitV", 0, 0},
    {"Squeeze", 0, 0},
    {"StridedSlice", 0, 0},
    {"TensorScatterUpdate", 0, -1},
    {"Tile", 0, 0},
    {"Transpose", 0, 0},
    {"Unpack", 0, 0},
};

static const row *find_row(const char *op)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].op, op) == 0)
            return &rows[i];
    return NULL;
}

bool eddy__spread_is_move(const char *op)
{
    return find_row(op) != NULL;
}

bool eddy__spread_move_reads(const eddy__kernel_node *node, uint32_t i)
{
    const row *r = find_row(node->op_name);
    const int64_t last =
        r->last < 0 ? (int64_t)node->n_in + r->last : (int64_t)r->last;

    /* Its indices stand between. */
    if (strcmp(r->op, "TensorScatterUpdate") == 0 && i == 1)
        return false;
    return i >= r->first && (int64_t)i <= last;
}

/* ---- a kernel on numbers ---- */

typedef struct bench {
    eddy__linear_build *w;
    uint32_t id;
    const eddy__step *step;
    uint32_t n_in, n_out;
    eddy__value values[MOST_PORTS];
    uint32_t ports[MOST_PORTS];
    uint32_t first[MOST_PORTS]; /* an input: elements before it */
    uint32_t n_elements;        /* of inputs */
    eddy__heap heap;
} bench;

static const eddy_shape *shape_of(const bench *at, uint32_t i)
{
    return eddy__layout_shape(at->w->l,
                              eddy__layout_input(at->w->l, at->id, i));
}

/* A kernel does not write what is lent to it. */
static eddy__value value_of(const eddy_tensor *tensor)
{
    eddy__value value = {
        .kind = EDDY__CONSTANT, .dtype = tensor->dtype, .uses = 2};
    const void *lent = tensor;

    memcpy(&value.as.tensor, &lent, sizeof lent);
    if (tensor->shape.rank == 0 &&
        eddy__dtype_is_inline((eddy_dtype)tensor->dtype)) {
        value.kind = EDDY__SCALAR;
        memcpy(&value.as, tensor->data, tensor->bytes);
    }
    return value;
}

/* Elements from 1 on: all that come as elements are numbered in a row. */
static bool put_numbers(bench *at, uint32_t i)
{
    const eddy_dtype dtype = (eddy_dtype)at->step->node->in_dtypes[i];
    const size_t size = eddy_dtype_size(dtype);
    eddy_tensor *tensor = eddy__tensor_create(&at->heap, at->heap.account,
                                              &at->w->plan->ctx->allocator,
                                              dtype, shape_of(at, i));

    if (!tensor)
        return false;
    at->first[i] = at->n_elements;
    for (int64_t j = 0; j < tensor->count; j++) {
        const uint64_t number = ++at->n_elements;

        memcpy((unsigned char *)tensor->data + (size_t)j * size, &number, size);
    }
    at->values[i] = value_of(tensor);
    if (at->values[i].kind == EDDY__SCALAR)
        eddy__tensor_recycle(&at->heap, tensor);
    return size > 1 || at->n_elements <= UINT8_MAX;
}

static bool put_constant(bench *at, uint32_t i)
{
    const eddy_tensor *constant =
        eddy__layout_constant_input(at->w->l, at->id, i);

    if (!constant)
        return false;
    at->values[i] = value_of(constant);
    at->first[i] = EDDY__NO;
    return true;
}

static bool put_inputs(bench *at)
{
    bool is_fit = true;

    for (uint32_t i = 0; i < at->n_in && is_fit; i++)
        is_fit = eddy__spread_move_reads(at->step->node, i)
                     ? put_numbers(at, i)
                     : put_constant(at, i);
    return is_fit;
}

static bool run(bench *at)
{
    eddy_error err = {0};
    uint32_t n_questions = 0;
    eddy_kernel k = {
        .values = at->values,
        .in = at->ports,
        .out = at->ports + at->n_in,
        .node = at->step->node,
        .heap = &at->heap,
        .account = at->heap.account,
        .allocator = &at->w->plan->ctx->allocator,
        .services = &eddy__fold_services,
        .err = &err,
        .run = &n_questions,
    };

    for (uint32_t i = 0; i < at->n_out; i++)
        at->values[at->n_in + i].uses = 1;
    return at->step->kernel(&k) == EDDY_OK;
}

/* Which element a number is. */
static eddy__spread_source source_of(const bench *at, uint64_t number)
{
    uint32_t i = at->n_in;

    if (number == 0)
        return (eddy__spread_source){.input = EDDY__NO};
    while (i > 0 &&
           (at->first[i - 1] == EDDY__NO || at->first[i - 1] >= number))
        i--;
    return (eddy__spread_source){
        .input = i - 1, .element = (uint32_t)number - 1 - at->first[i - 1]};
}

/* How many elements output `i` has, as the plan knows it. */
static uint32_t count_of(const bench *at, uint32_t i)
{
    const eddy__held *v = &at->w->values[eddy__linear_output(at->w, at->id, i)];

    return v->is_raw ? 1 : v->n_parts;
}

static bool read_outputs(const bench *at, eddy__spread_source *sources)
{
    for (uint32_t i = 0; i < at->n_out; i++) {
        const eddy__value *value = &at->values[at->n_in + i];
        const size_t size =
            eddy_dtype_size((eddy_dtype)at->step->node->out_dtypes[i]);
        eddy_view view;

        if (!eddy__value_has_elements(value))
            return false;
        view = eddy__view(value);
        if (view.count != (int64_t)count_of(at, i))
            return false;
        for (int64_t j = 0; j < view.count; j++) {
            uint64_t number = 0;

            memcpy(&number, (const unsigned char *)view.data + (size_t)j * size,
                   size);
            if (number > at->n_elements)
                return false;
            *sources++ = source_of(at, number);
        }
    }
    return true;
}

static void clear(bench *at)
{
    for (uint32_t i = 0; i < at->n_in + at->n_out; i++) {
        eddy__value *value = &at->values[i];

        /* What numbers stand in is the bench's. */
        if (i < at->n_in && value->kind == EDDY__CONSTANT &&
            at->first[i] != EDDY__NO)
            value->kind = EDDY__TENSOR;
        eddy__value_clear(&at->heap, value);
    }
}

static bool lay_out(bench *at, eddy__linear_build *w, uint32_t id)
{
    at->w = w;
    at->id = id;
    at->step = &w->plan->steps[id];
    at->n_in = at->step->node->n_in;
    at->n_out = at->step->node->n_out;
    if (at->n_in + at->n_out > MOST_PORTS)
        return false;
    for (uint32_t i = 0; i < at->n_in + at->n_out; i++)
        at->ports[i] = i;
    return true;
}

eddy_status eddy__spread_find_move(eddy__linear_build *w, uint32_t id,
                                   eddy__spread **out_spread)
{
    eddy__spread *spread = *out_spread;
    bench at = {.n_elements = 0};
    eddy__spread_source *sources;
    uint32_t n = 0;
    bool is_done = false;

    *out_spread = NULL;
    if (!lay_out(&at, w, id) ||
        at.step->node->out_dtypes[0] == (uint8_t)EDDY_BOOL)
        return EDDY_OK;
    for (uint32_t i = 0; i < at.n_out; i++)
        n += count_of(&at, i);
    sources = eddy__arena_allocate(&w->scratch, n, sizeof *sources);
    if (!sources || !eddy__heap_init(&at.heap, &w->plan->ctx->allocator))
        return eddy__fail_memory(w->err);
    at.heap.account->limit = MOST_BYTES;
    is_done = put_inputs(&at) && run(&at) && read_outputs(&at, sources);
    clear(&at);
    eddy__heap_deinit(&at.heap);
    spread->sources = sources;
    *out_spread = is_done ? spread : NULL;
    return EDDY_OK;
}
