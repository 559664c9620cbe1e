/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Staging areas: tuples of tensors that some nodes put in and others take out,
 * in the order in which they went in.  An area is found by its name, and is
 * what the first node that finds it says of it.
 */
#include "core/base/memory.h"
#include "ops/array/items.h"
#include "ops/ops.h"
#include "ops/state/named.h"
#include "ops/state/waiting.h"

#include <inttypes.h>
#include <string.h>

#define TEXT_HEADER 24

/* What a node says of its area. */
typedef struct making {
    int64_t capacity, bytes; /* 0: any number */
    const char *name;
} making;

typedef struct tuple {
    uint32_t n;
    uint64_t bytes;
    eddy__value values[];
} tuple;

typedef struct area {
    eddy__resource base;
    eddy__waiting waiting; /* guards what follows */
    tuple **tuples;        /* in the order in which they came */
    size_t n, capacity;
    uint64_t bytes;
    int64_t most, most_bytes; /* immutable */
} area;

static area *area_of(eddy__resource *resource)
{
    return (area *)(void *)resource;
}

/* ---- tuples ---- */

static void free_tuple(const area *a, eddy__heap *heap, tuple *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        eddy__value_clear(heap, &t->values[i]);
    eddy__free(a->base.allocator, t, 1, sizeof *t + t->n * sizeof *t->values);
}

static tuple *make_tuple(const area *a, uint32_t n)
{
    tuple *t = eddy__allocate_zeroed(a->base.allocator, 1,
                                     sizeof *t + n * sizeof *t->values);

    if (t)
        t->n = n;
    return t;
}

/* As TensorFlow counts them: a text is its length and a header. */
static uint64_t bytes_of(const eddy__value *value)
{
    const int64_t n =
        eddy__value_is_tensor(value) ? value->as.tensor->count : 1;
    const eddy__string *texts = (const void *)eddy__value_elements(value);
    uint64_t bytes = (uint64_t)n * TEXT_HEADER;

    if (value->dtype != EDDY_STRING)
        return (uint64_t)n * eddy_dtype_size((eddy_dtype)value->dtype);
    for (int64_t i = 0; i < n; i++)
        bytes += texts[i].length;
    return bytes;
}

/* Takes the tuple that came first out of the area; it is the caller's. */
static tuple *take_first(area *a)
{
    tuple *t = a->tuples[0];

    a->n--;
    memmove(&a->tuples[0], &a->tuples[1], a->n * sizeof(tuple *));
    a->bytes -= t->bytes;
    return t;
}

static bool put_last(area *a, tuple *t)
{
    void *tuples = a->tuples;
    const bool ok = eddy__grow(a->base.allocator, &tuples, &a->capacity,
                               a->n + 1, sizeof(tuple *));

    a->tuples = tuples;
    if (!ok)
        return false;
    a->tuples[a->n++] = t;
    a->bytes += t->bytes;
    return true;
}

/* ---- the resource ---- */

static void clear(eddy__resource *resource, eddy__heap *heap)
{
    area *a = area_of(resource);

    while (a->n > 0)
        free_tuple(a, heap, take_first(a));
    eddy__free(resource->allocator, a->tuples, a->capacity, sizeof(tuple *));
    a->tuples = NULL;
    a->capacity = 0;
}

static void deinit(eddy__resource *resource)
{
    eddy__waiting_deinit(&area_of(resource)->waiting);
}

static const eddy__resource_type areas = {
    .name = "a staging area", .clear = clear, .deinit = deinit};

static eddy__resource *make(const eddy_allocator *allocator, const void *arg)
{
    const making *m = arg;
    eddy__resource *resource =
        eddy__resource_create_named(allocator, &areas, sizeof(area));
    area *a = area_of(resource);

    if (!resource || !eddy__waiting_init(&a->waiting, allocator, a)) {
        eddy__free(allocator, resource, 1, sizeof *a);
        return NULL;
    }
    a->most = m->capacity;
    a->most_bytes = m->bytes;
    return resource;
}

/* Does `wish` with the area that the node means. */
static eddy_status with_area(eddy_kernel *k, eddy__wish wish, bool waits)
{
    const making *m = eddy__state(k);
    eddy__resource *resource = NULL;
    eddy_status status;

    EDDY_TRY(eddy__find_resource(k, &areas, m->name, make, m, &resource));
    status = eddy__waiting_do(k, &area_of(resource)->waiting, wish, waits);
    eddy__resource_release(resource);
    return status;
}

static eddy_status fail_memory(eddy_kernel *k)
{
    return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                       "no memory for a tuple of a staging area");
}

/* Is there room for one more tuple of so many bytes? */
static eddy_status has_room(eddy_kernel *k, const area *a, uint64_t bytes,
                            bool *out_room)
{
    const uint64_t most = (uint64_t)a->most_bytes;

    if (a->most_bytes > 0 && bytes > most)
        return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_SIZE,
                           "tensors of %" PRIu64
                           " bytes don't fit a staging area of %" PRIu64,
                           bytes, most);
    *out_room = (a->most == 0 || a->n < (size_t)a->most) &&
                (a->most_bytes == 0 || a->bytes + bytes <= most);
    return EDDY_OK;
}

static eddy_status put_outputs(eddy_kernel *k, const tuple *t)
{
    if (t->n != k->node->n_out)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                           "the tuple has %u components, not %u", t->n,
                           k->node->n_out);
    for (uint32_t i = 0; i < t->n; i++) {
        eddy__value value;

        if (t->values[i].dtype != k->node->out_dtypes[i])
            return eddy__kfail(
                k, EDDY_INTERNAL, EDDY_E_DTYPE,
                "component %u of the tuple is %s; %s is wanted", i,
                eddy_dtype_name((eddy_dtype)t->values[i].dtype),
                eddy_dtype_name((eddy_dtype)k->node->out_dtypes[i]));
        value = eddy__value_copy(&t->values[i]);
        eddy__out_value(k, i, &value);
    }
    return EDDY_OK;
}

/* ---- kernels ---- */

static eddy_status stage(eddy_kernel *k, void *resource, bool *out_done)
{
    area *a = resource;
    uint64_t bytes = 0;
    tuple *t;

    for (uint32_t i = 0; i < k->node->n_in; i++)
        bytes += bytes_of(eddy__in(k, i));
    EDDY_TRY(has_room(k, a, bytes, out_done));
    if (!*out_done)
        return EDDY_OK;
    t = make_tuple(a, k->node->n_in);
    if (!t)
        return fail_memory(k);
    t->bytes = bytes;
    for (uint32_t i = 0; i < t->n; i++) {
        t->values[i] = eddy__value_copy(eddy__in(k, i));
        eddy__value_keep(&t->values[i]);
    }
    if (put_last(a, t))
        return EDDY_OK;
    free_tuple(a, NULL, t);
    return fail_memory(k);
}

static eddy_status unstage(eddy_kernel *k, void *resource, bool *out_done)
{
    area *a = resource;
    eddy_status status;
    tuple *t;

    *out_done = a->n > 0;
    if (a->n == 0)
        return EDDY_OK;
    t = take_first(a);
    status = put_outputs(k, t);
    free_tuple(a, NULL, t);
    return status;
}

static eddy_status peek(eddy_kernel *k, void *resource, bool *out_done)
{
    const area *a = resource;
    const eddy_view at = eddy__in_view(k, 0);
    const int32_t i = *(const int32_t *)at.data;

    *out_done = i >= 0 && (size_t)i < a->n;
    return *out_done ? put_outputs(k, a->tuples[i]) : EDDY_OK;
}

static eddy_status run_stage(eddy_kernel *k)
{
    return with_area(k, stage, true);
}

static eddy_status run_unstage(eddy_kernel *k)
{
    return with_area(k, unstage, true);
}

static eddy_status run_peek(eddy_kernel *k)
{
    EDDY_TRY(eddy__want_single(k, 0, 0, "the index"));
    return with_area(k, peek, true);
}

static eddy_status size(eddy_kernel *k, void *resource, bool *out_done)
{
    const area *a = resource;

    *out_done = true;
    eddy__out_scalar(eddy__out(k, 0), EDDY_INT32, (uint32_t)a->n);
    return EDDY_OK;
}

static eddy_status empty(eddy_kernel *k, void *resource, bool *out_done)
{
    (void)k;
    *out_done = true;
    clear(resource, NULL);
    return EDDY_OK;
}

static eddy_status run_size(eddy_kernel *k)
{
    return with_area(k, size, false);
}

static eddy_status run_clear(eddy_kernel *k)
{
    return with_area(k, empty, false);
}

/* ---- for a plan ---- */

static eddy_status prepare(eddy_infer *infer)
{
    const char *name;
    making *m;

    EDDY_TRY(eddy__prepare_shared_name(infer, &name));
    m = eddy__prepare_state(infer, sizeof *m);
    if (!m)
        return EDDY_RESOURCE_EXHAUSTED;
    *m = (making){.capacity = eddy__infer_int(infer, "capacity"),
                  .bytes = eddy__infer_int(infer, "memory_limit"),
                  .name = name};
    return EDDY_OK;
}

#define STATE EDDY_OP_STATEFUL | EDDY_OP_NOT_DIFFERENTIABLE
#define ATTRS(least)                                                           \
    "capacity: int >= 0 = 0, memory_limit: int >= 0 = 0, dtypes: list(type) "  \
    ">= " least ", container: string = '', shared_name: string = ''"
#define ROW(op, in, out, least, run, more, text)                               \
    EDDY__OP_ROW(op, .inputs = in, .outputs = out, .attrs = ATTRS(least),      \
                 .kernel = run, .prepare = prepare, .flags = STATE | (more),   \
                 .doc = text)

static const eddy_op_spec specs[] = {
    ROW("Stage", "values: dtypes", "", "1", run_stage, EDDY_OP_ASYNC,
        "Puts a tuple into a staging area; waits until there is room."),
    ROW("Unstage", "", "values: dtypes", "1", run_unstage, EDDY_OP_ASYNC,
        "Takes out the tuple that came first; waits until there is one."),
    ROW("StagePeek", "index: int32", "values: dtypes", "1", run_peek,
        EDDY_OP_ASYNC, "The tuple of that index, which stays."),
    ROW("StageSize", "", "size: int32", "0", run_size, 0,
        "How many tuples there are."),
    ROW("StageClear", "", "", "0", run_clear, 0, "Drops all tuples."),
};

const eddy__op_table eddy__stage_ops = {specs, NULL,
                                        sizeof specs / sizeof *specs};
