/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints: SaveV2, RestoreV2, MergeV2Checkpoints, ShardedFilename and
 * ShardedFilespec.  The files are core/bundle/bundle.h; a run may be forbidden
 * to touch any (eddy_run_options.no_files).
 */
#include "core/base/memory.h"
#include "core/bundle/bundle.h"
#include "ops/misc/text.h"
#include "ops/ops.h"
#include "ops/state/saved.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PREFIX, NAMES, SLICES, TENSORS };

static eddy_string string_at(const eddy_kernel *k, uint32_t input, int64_t i)
{
    const eddy__string *s = &eddy__in_strings(k, input)[i];

    return (eddy_string){s->data ? s->data : "", s->length};
}

eddy_status eddy__saved_want_files(eddy_kernel *k)
{
    if (!k->services->forbids_files(k))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_PERMISSION_DENIED, EDDY_E_IO,
                       "this run may not read or write files");
}

static eddy_status want_scalar(eddy_kernel *k, uint32_t i, const char *what)
{
    if (eddy__in_count(k, i) == 1)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "%s must be one text, but it has shape %s", what,
                       eddy__shape_print(eddy__in_shape(k, i)).text);
}

/* As many names, and specifications of slices, as there are tensors. */
static eddy_status check_lists(eddy_kernel *k, int64_t n)
{
    char text[100];

    EDDY_TRY(want_scalar(k, PREFIX, "the prefix"));
    for (uint32_t i = NAMES; i <= SLICES; i++)
        if (eddy__in_shape(k, i)->rank != 1 || eddy__in_count(k, i) != n)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "%s must be a vector of %" PRId64
                               " texts, but it has shape %s",
                               i == NAMES ? "tensor_names" : "shape_and_slices",
                               n, eddy__shape_print(eddy__in_shape(k, i)).text);
    for (int64_t i = 0; i < n; i++) {
        const eddy_string slice = string_at(k, SLICES, i);

        if (slice.length == 0)
            continue;
        eddy__copy_text(text, sizeof text, slice.data, slice.length);
        return eddy__kfail(k, EDDY_UNIMPLEMENTED, EDDY_E_VALUE,
                           "slices of tensors in checkpoints are not "
                           "supported: '%s'",
                           text);
    }
    return EDDY_OK;
}

/* ---- SaveV2 ---- */

static eddy_status run_save(eddy_kernel *k)
{
    const size_t n = k->node->n_in - TENSORS;
    eddy__bundle_item *items;
    eddy_status status;

    EDDY_TRY(eddy__saved_want_files(k));
    EDDY_TRY(check_lists(k, (int64_t)n));
    items = eddy__allocate(k->allocator, n, sizeof *items);
    if (!items)
        return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                           "no memory for %zu names", n);
    for (size_t i = 0; i < n; i++) {
        const uint32_t input = TENSORS + (uint32_t)i;

        items[i] = (eddy__bundle_item){.name = string_at(k, NAMES, (int64_t)i),
                                       .dtype = eddy__in_dtype(k, input),
                                       .shape = eddy__in_shape(k, input),
                                       .count = eddy__in_count(k, input),
                                       .data = eddy__in_elements(k, input)};
    }
    status = eddy__bundle_write(k->allocator, string_at(k, PREFIX, 0), items, n,
                                k->err);
    eddy__free(k->allocator, items, n, sizeof *items);
    return status;
}

/* Lists and handles have no form in a file. */
static eddy_status prepare_save(eddy_infer *infer)
{
    for (uint32_t i = TENSORS; i < eddy_infer_inputs(infer); i++)
        if (!eddy__dtype_in(eddy_infer_input_dtype(infer, i), EDDY__MOVABLE))
            return eddy_infer_fail(
                infer, EDDY_UNIMPLEMENTED, EDDY_E_NO_KERNEL,
                "%s can't be saved",
                eddy_dtype_name(eddy_infer_input_dtype(infer, i)));
    return EDDY_OK;
}

/* ---- RestoreV2 ---- */

eddy_status eddy__saved_entry(eddy_kernel *k, const eddy__bundle *b,
                              eddy_string name,
                              const eddy__bundle_entry **out_entry)
{
    char text[100];

    *out_entry = eddy__bundle_find(b, name);
    eddy__copy_text(text, sizeof text, name.data, name.length);
    if (!*out_entry)
        return eddy__kfail(k, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME,
                           "the checkpoint '%.150s' has no '%s'", b->prefix,
                           text);
    if ((*out_entry)->is_sliced || (*out_entry)->shape.rank < 0)
        return eddy__kfail(k, EDDY_UNIMPLEMENTED, EDDY_E_TENSOR_DATA,
                           "'%s' is stored in slices, or has a rank above %d",
                           text, EDDY_MAX_RANK);
    return EDDY_OK;
}

/* A byte of a file other than 0 and 1 would not be a bool. */
static void fix_bools(eddy_tensor *tensor)
{
    unsigned char *bytes = tensor->data;

    for (int64_t i = 0; i < tensor->count; i++)
        bytes[i] = bytes[i] != 0;
}

/* Nothing is allocated for what the file can't hold. */
static bool is_whole(const eddy__bundle_entry *entry, eddy_dtype dtype)
{
    const size_t size = eddy_dtype_size(dtype);
    int64_t count;

    if (dtype == EDDY_STRING)
        return eddy__shape_count(&entry->shape, 1, &count) &&
               count <= entry->size;
    return eddy__shape_count(&entry->shape, size, &count) &&
           count * (int64_t)size == entry->size;
}

eddy_status eddy__saved_read(eddy_kernel *k, const eddy__bundle *b,
                             const eddy__bundle_entry *entry, eddy_dtype dtype,
                             eddy_tensor **out_tensor)
{
    eddy_status status;

    *out_tensor = NULL;
    if (!is_whole(entry, dtype))
        return eddy__kfail(k, EDDY_DATA_LOSS, EDDY_E_TENSOR_DATA,
                           "the checkpoint '%.150s' is damaged: %" PRId64
                           " bytes are no %s%s",
                           b->prefix, entry->size, eddy_dtype_name(dtype),
                           eddy__shape_print(&entry->shape).text);
    EDDY_TRY(eddy__new_tensor(k, dtype, &entry->shape, out_tensor));
    assert(*out_tensor);
    status = eddy__bundle_read(b, entry, *out_tensor, k->err);
    if (dtype == EDDY_BOOL && status == EDDY_OK)
        fix_bools(*out_tensor);
    return status;
}

static eddy_status restore(eddy_kernel *k, const eddy__bundle *b, uint32_t i)
{
    const eddy_dtype dtype = (eddy_dtype)k->node->out_dtypes[i];
    const eddy__bundle_entry *entry;
    eddy__value value;
    eddy_tensor *tensor;
    eddy_status status;

    EDDY_TRY(eddy__saved_entry(k, b, string_at(k, NAMES, i), &entry));
    if (entry->tf_dtype != eddy__dtype_to_tf(dtype))
        return eddy__kfail(
            k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
            "tensor %u is %s in the checkpoint, not %s", i,
            eddy_dtype_name(eddy__dtype_from_tf(entry->tf_dtype)),
            eddy_dtype_name(dtype));
    status = eddy__saved_read(k, b, entry, dtype, &tensor);
    if (!tensor)
        return status;
    value = eddy__value_take_tensor(k->heap, tensor);
    eddy__out_value(k, i, &value);
    return status;
}

static eddy_status run_restore(eddy_kernel *k)
{
    eddy_status status;
    eddy__bundle b;

    EDDY_TRY(eddy__saved_want_files(k));
    EDDY_TRY(check_lists(k, k->node->n_out));
    EDDY_TRY(
        eddy__bundle_open(k->allocator, string_at(k, PREFIX, 0), &b, k->err));
    status = EDDY_OK;
    for (uint32_t i = 0; i < k->node->n_out && status == EDDY_OK; i++)
        status = restore(k, &b, i);
    eddy__bundle_close(&b);
    return status;
}

static eddy_status prepare_restore(eddy_infer *infer)
{
    for (uint32_t i = 0; i < eddy_infer_outputs(infer); i++)
        if (!eddy__dtype_in(eddy_infer_output_dtype(infer, i), EDDY__MOVABLE))
            return eddy_infer_fail(
                infer, EDDY_UNIMPLEMENTED, EDDY_E_NO_KERNEL,
                "%s can't be restored",
                eddy_dtype_name(eddy_infer_output_dtype(infer, i)));
    return EDDY_OK;
}

/* ---- MergeV2Checkpoints ---- */

typedef struct merging {
    bool deletes, may_miss;
} merging;

/* What is merged: bundles, and the tensors of all of them. */
typedef struct merge {
    eddy_kernel *k;
    eddy__bundle *bundles;
    size_t n_bundles, n_items, capacity, tensors_capacity;
    eddy__bundle_item *items;
    eddy_tensor **tensors; /* one an item */
} merge;

static eddy_status add_item(merge *m, const eddy__bundle *b,
                            const eddy__bundle_entry *entry)
{
    const eddy_allocator *allocator = m->k->allocator;
    const eddy_dtype dtype = eddy__dtype_from_tf(entry->tf_dtype);
    void *items = m->items, *tensors = m->tensors;
    const eddy__bundle_entry *found;
    eddy_status status;
    eddy_tensor *tensor;
    bool ok = eddy__grow(allocator, &items, &m->capacity, m->n_items + 1,
                         sizeof *m->items);

    m->items = items;
    ok = ok && eddy__grow(allocator, &tensors, &m->tensors_capacity,
                          m->n_items + 1, sizeof(eddy_tensor *));
    m->tensors = tensors;
    if (!ok)
        return eddy__fail_memory(m->k->err);
    EDDY_TRY(eddy__saved_entry(m->k, b, entry->name, &found));
    if (!eddy__dtype_in(dtype, EDDY__MOVABLE))
        return eddy__kfail(m->k, EDDY_UNIMPLEMENTED, EDDY_E_DTYPE,
                           "dtype %d of a tensor to merge is not supported",
                           (int)entry->tf_dtype);
    status = eddy__saved_read(m->k, b, entry, dtype, &tensor);
    if (status != EDDY_OK) {
        if (tensor)
            eddy__tensor_recycle(m->k->heap, tensor);
        return status;
    }
    assert(m->tensors && tensor);
    m->tensors[m->n_items] = tensor;
    m->items[m->n_items++] = (eddy__bundle_item){.name = entry->name,
                                                 .dtype = dtype,
                                                 .shape = &tensor->shape,
                                                 .count = tensor->count,
                                                 .data = tensor->data};
    return EDDY_OK;
}

static eddy_status add_bundle(merge *m, eddy_string prefix, bool may_miss)
{
    eddy__bundle *b = &m->bundles[m->n_bundles];
    const eddy_status status =
        eddy__bundle_open(m->k->allocator, prefix, b, m->k->err);

    if (status == EDDY_NOT_FOUND && may_miss)
        return EDDY_OK;
    if (status != EDDY_OK)
        return status;
    m->n_bundles++;
    for (size_t i = 0; i < b->n; i++)
        EDDY_TRY(add_item(m, b, &b->entries[i]));
    return EDDY_OK;
}

static void delete_bundle(const eddy__bundle *b, eddy__text *path)
{
    const size_t length = b->prefix_size - 1;
    char *slash;

    for (int32_t i = -1; i < b->n_shards; i++) {
        eddy__text_clear(path);
        eddy__text_add(path, b->prefix, length);
        if (i < 0)
            eddy__text_print(path, ".index");
        else
            eddy__text_print(path, ".data-%05d-of-%05d", (int)i,
                             (int)b->n_shards);
        eddy__text_fill(path, '\0', 1);
        if (!path->failed)
            (void)unlink(path->data);
    }
    slash = strrchr(b->prefix, '/');
    if (slash && slash != b->prefix) {
        *slash = '\0';
        (void)rmdir(b->prefix); /* if nothing else is in it */
    }
}

static void end_merge(merge *m)
{
    const eddy_allocator *allocator = m->k->allocator;

    for (size_t i = 0; m->tensors && i < m->n_items; i++)
        eddy__tensor_recycle(m->k->heap, m->tensors[i]);
    for (size_t i = 0; i < m->n_bundles; i++)
        eddy__bundle_close(&m->bundles[i]);
    eddy__free(allocator, m->items, m->capacity, sizeof *m->items);
    eddy__free(allocator, m->tensors, m->tensors_capacity,
               sizeof(eddy_tensor *));
}

static bool is_prefix(const eddy__bundle *b, eddy_string prefix)
{
    return b->prefix_size - 1 == prefix.length &&
           memcmp(b->prefix, prefix.data, prefix.length) == 0;
}

static eddy_status merge_all(merge *m)
{
    const merging *state = eddy__state(m->k);
    const int64_t n = eddy__in_count(m->k, 0);
    eddy__text path = eddy__text_begin(m->k);

    for (int64_t i = 0; i < n; i++)
        EDDY_TRY(add_bundle(m, string_at(m->k, 0, i), state->may_miss));
    EDDY_TRY(eddy__bundle_write(m->k->allocator, string_at(m->k, 1, 0),
                                m->items, m->n_items, m->k->err));
    for (size_t i = 0; state->deletes && i < m->n_bundles; i++)
        if (!is_prefix(&m->bundles[i], string_at(m->k, 1, 0)))
            delete_bundle(&m->bundles[i], &path);
    eddy__text_end(&path);
    return EDDY_OK;
}

static eddy_status run_merge(eddy_kernel *k)
{
    const size_t n = (size_t)eddy__in_count(k, 0);
    merge m = {.k = k};
    eddy_status status;

    EDDY_TRY(eddy__saved_want_files(k));
    EDDY_TRY(want_scalar(k, 1, "the destination"));
    m.bundles = eddy__allocate(k->allocator, n > 0 ? n : 1, sizeof *m.bundles);
    if (!m.bundles)
        return eddy__fail_memory(k->err);
    status = merge_all(&m);
    end_merge(&m);
    eddy__free(k->allocator, m.bundles, n > 0 ? n : 1, sizeof *m.bundles);
    return status;
}

static eddy_status prepare_merge(eddy_infer *infer)
{
    merging *state = eddy__prepare_state(infer, sizeof *state);

    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    state->deletes = eddy__infer_bool(infer, "delete_old_dirs");
    state->may_miss = eddy__infer_bool(infer, "allow_missing_files");
    return EDDY_OK;
}

/* ---- ShardedFilename and ShardedFilespec ---- */

static eddy_status put_name(eddy_kernel *k, const char *ending)
{
    const eddy_shape scalar = eddy__shape_scalar();
    const eddy_string base = string_at(k, 0, 0);
    eddy__text text = eddy__text_begin(k);
    eddy_status status;
    eddy_tensor *out;

    EDDY_TRY(eddy__output_strings(k, 0, &scalar, &out));
    eddy__text_add(&text, base.data, base.length);
    eddy__text_add(&text, ending, strlen(ending));
    status = eddy__text_put(k, &text, out, 0);
    eddy__text_end(&text);
    return status;
}

static eddy_status run_filename(eddy_kernel *k)
{
    int32_t shard, n;
    char ending[48];
    eddy_view view;

    EDDY_TRY(want_scalar(k, 0, "the name"));
    for (uint32_t i = 1; i < k->node->n_in; i++)
        if (eddy__in(k, i)->kind != EDDY__SCALAR)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "input %u must be a scalar", i);
    view = eddy__in_view(k, 1);
    shard = *(const int32_t *)view.data;
    view = eddy__in_view(k, k->node->n_in - 1);
    n = *(const int32_t *)view.data;
    if (k->node->n_in == 3)
        (void)snprintf(ending, sizeof ending, "-%05d-of-%05d", (int)shard,
                       (int)n);
    else
        (void)snprintf(ending, sizeof ending, "-?\?\?\?\?-of-%05d", (int)n);
    return put_name(k, ending);
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("SaveV2",
                 .inputs = "prefix: string, tensor_names: string, "
                           "shape_and_slices: string, tensors: dtypes",
                 .attrs = "dtypes: list(type) >= 1", .kernel = run_save,
                 .prepare = prepare_save,
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE | EDDY_OP_STATEFUL,
                 .doc = "Writes tensors to the files of a checkpoint."),
    EDDY__OP_ROW(
        "RestoreV2",
        .inputs =
            "prefix: string, tensor_names: string, shape_and_slices: string",
        .outputs = "tensors: dtypes", .attrs = "dtypes: list(type) >= 1",
        .kernel = run_restore, .prepare = prepare_restore,
        .flags = EDDY_OP_NOT_DIFFERENTIABLE | EDDY_OP_STATEFUL,
        .doc = "Tensors from the files of a checkpoint."),
    EDDY__OP_ROW(
        "MergeV2Checkpoints",
        .inputs = "checkpoint_prefixes: string, destination_prefix: string",
        .attrs =
            "delete_old_dirs: bool = true, allow_missing_files: bool = false",
        .kernel = run_merge, .prepare = prepare_merge,
        .flags = EDDY_OP_NOT_DIFFERENTIABLE | EDDY_OP_STATEFUL,
        .doc = "Makes one checkpoint of several."),
    EDDY__OP_ROW("ShardedFilename",
                 .inputs = "basename: string, shard: int32, num_shards: int32",
                 .outputs = "filename: string", .infer = eddy__infer_scalar,
                 .kernel = run_filename, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The name of one of several files."),
    EDDY__OP_ROW("ShardedFilespec",
                 .inputs = "basename: string, num_shards: int32",
                 .outputs = "filename: string", .infer = eddy__infer_scalar,
                 .kernel = run_filename, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The pattern of the names of several files."),
};

const eddy__op_table eddy__save_ops = {specs, NULL,
                                       sizeof specs / sizeof *specs};
