/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing bundles.  Blocks of the index start every name anew, which any reader
 * of such tables takes.
 */
#include "core/base/crc32c.h"
#include "core/base/memory.h"
#include "core/base/status.h"
#include "core/base/varint.h"
#include "core/bundle/bundle.h"
#include "core/bundle/bundle_file.h"
#include "core/value/dtype.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_BYTES ((size_t)64 << 10)

typedef struct buffer {
    const eddy_allocator *allocator;
    unsigned char *bytes;
    size_t length, capacity;
    bool failed;
} buffer;

static void add(buffer *b, const void *bytes, size_t length)
{
    void *grown = b->bytes;

    if (length == 0 || b->failed)
        return;
    b->failed =
        !eddy__grow(b->allocator, &grown, &b->capacity, b->length + length, 1);
    b->bytes = grown;
    if (b->failed)
        return;
    memcpy(b->bytes + b->length, bytes, length);
    b->length += length;
}

static void add_varint(buffer *b, uint64_t v)
{
    unsigned char bytes[EDDY__VARINT_MAX];

    add(b, bytes, eddy__varint_set(bytes, v));
}

static void add_u32(buffer *b, uint32_t v)
{
    unsigned char bytes[4];

    eddy__bundle_set_u32(bytes, v);
    add(b, bytes, sizeof bytes);
}

static void drop(buffer *b)
{
    eddy__free(b->allocator, b->bytes, b->capacity, 1);
}

/* ---- the index ---- */

typedef struct table {
    buffer file, block, restarts, index, index_restarts, message;
    uint32_t n, n_index; /* entries of the block, and of the index */
    eddy_string last;    /* name in the block */
} table;

static void add_entry(buffer *block, buffer *restarts, uint32_t *n,
                      eddy_string name, const buffer *value)
{
    add_u32(restarts, (uint32_t)block->length);
    add_varint(block, 0);
    add_varint(block, name.length);
    add_varint(block, value->length);
    add(block, name.data, name.length);
    add(block, value->bytes, value->length);
    ++*n;
}

/* Puts a block into the file; `handle` gets where it is. */
static void end_block(table *t, buffer *block, buffer *restarts, uint32_t n,
                      buffer *handle)
{
    const size_t offset = t->file.length;
    static const unsigned char plain = 0;

    add(block, restarts->bytes, restarts->length);
    if (n == 0)
        add_u32(block, 0);
    add_u32(block, n > 0 ? n : 1);
    add(&t->file, block->bytes, block->length);
    add(&t->file, &plain, 1);
    if (!t->file.failed)
        add_u32(&t->file, eddy__crc32c_mask(eddy__crc32c(
                              0, t->file.bytes + offset, block->length + 1)));
    add_varint(handle, offset);
    add_varint(handle, block->length);
    t->file.failed |= block->failed || restarts->failed;
    block->length = restarts->length = 0;
}

static void flush(table *t)
{
    buffer handle = {.allocator = t->file.allocator};

    if (t->n == 0)
        return;
    end_block(t, &t->block, &t->restarts, t->n, &handle);
    add_entry(&t->index, &t->index_restarts, &t->n_index, t->last, &handle);
    t->file.failed |= handle.failed;
    drop(&handle);
    t->n = 0;
}

/* Adds what `message` holds, and empties it. */
static void add_message(table *t, eddy_string name)
{
    add_entry(&t->block, &t->restarts, &t->n, name, &t->message);
    t->last = name;
    t->file.failed |= t->message.failed;
    t->message.length = 0;
    if (t->block.length >= BLOCK_BYTES)
        flush(t);
}

static void end_table(table *t)
{
    static const unsigned char zeros[40];
    buffer footer = {.allocator = t->file.allocator};
    buffer none = footer, none_restarts = footer;

    flush(t);
    end_block(t, &none, &none_restarts, 0, &footer);
    end_block(t, &t->index, &t->index_restarts, t->n_index, &footer);
    add(&footer, zeros, sizeof zeros - footer.length);
    add_u32(&footer, (uint32_t)EDDY__TABLE_MAGIC);
    add_u32(&footer, (uint32_t)(EDDY__TABLE_MAGIC >> 32));
    add(&t->file, footer.bytes, footer.length);
    t->file.failed |= footer.failed || none.failed || none_restarts.failed;
    drop(&footer);
    drop(&none);
    drop(&none_restarts);
}

/* One data file, written by version 1 of the format. */
static void add_header(table *t)
{
    static const unsigned char header[] = {0x08, 1, 0x1a, 2, 0x08, 1};

    add(&t->message, header, sizeof header);
    add_message(t, (eddy_string){"", 0});
}

static void add_shape(buffer *message, const eddy_shape *shape)
{
    unsigned char dims[EDDY_MAX_RANK * 13];
    size_t n = 0;

    for (int32_t d = 0; d < shape->rank; d++) {
        unsigned char size[EDDY__VARINT_MAX];
        const size_t length = eddy__varint_set(size, (uint64_t)shape->dims[d]);

        dims[n++] = 0x12;
        dims[n++] = (unsigned char)(length + 1);
        dims[n++] = 0x08;
        memcpy(dims + n, size, length);
        n += length;
    }
    add_varint(message, 0x12);
    add_varint(message, n);
    add(message, dims, n);
}

static void add_item(table *t, const eddy__bundle_item *item, uint64_t offset,
                     uint64_t size, uint32_t checksum)
{
    buffer *m = &t->message;

    add_varint(m, 0x08);
    add_varint(m, (uint64_t)eddy__dtype_to_tf(item->dtype));
    add_shape(m, item->shape);
    if (offset > 0) {
        add_varint(m, 0x20);
        add_varint(m, offset);
    }
    add_varint(m, 0x28);
    add_varint(m, size);
    add_varint(m, 0x35);
    add_u32(m, checksum);
    add_message(t, item->name);
}

static void drop_table(table *t)
{
    drop(&t->file);
    drop(&t->block);
    drop(&t->restarts);
    drop(&t->index);
    drop(&t->index_restarts);
    drop(&t->message);
}

/* ---- the data ---- */

/* See eddy__bundle_read for how strings are stored. */
static bool write_strings(FILE *file, const eddy__bundle_item *item,
                          uint64_t *size, uint32_t *crc)
{
    const eddy__string *strings = item->data;
    unsigned char bytes[EDDY__VARINT_MAX], number[8];
    bool ok = true;

    for (int64_t i = 0; i < item->count && ok; i++) {
        const uint64_t length = strings[i].length;
        const size_t n = eddy__varint_set(bytes, length);

        eddy__bundle_set_u32(number, (uint32_t)length);
        eddy__bundle_set_u32(number + 4, (uint32_t)(length >> 32));
        *crc = eddy__crc32c(*crc, number, length > UINT32_MAX ? 8 : 4);
        ok = fwrite(bytes, 1, n, file) == n;
        *size += n;
    }
    eddy__bundle_set_u32(bytes, eddy__crc32c_mask(*crc));
    *crc = eddy__crc32c(*crc, bytes, 4);
    ok = ok && fwrite(bytes, 1, 4, file) == 4;
    *size += 4;
    for (int64_t i = 0; i < item->count && ok; i++) {
        const size_t n = strings[i].length;

        *crc = eddy__crc32c(*crc, strings[i].data, n);
        ok = n == 0 || fwrite(strings[i].data, 1, n, file) == n;
        *size += n;
    }
    return ok;
}

static bool write_item(FILE *file, const eddy__bundle_item *item,
                       uint64_t *size, uint32_t *crc)
{
    *size = 0;
    *crc = 0;
    if (item->dtype == EDDY_STRING)
        return write_strings(file, item, size, crc);
    *size = (uint64_t)item->count * eddy_dtype_size(item->dtype);
    if (*size == 0)
        return true;
    *crc = eddy__crc32c(0, item->data, *size);
    return fwrite(item->data, 1, *size, file) == *size;
}

static bool write_all(FILE *file, const eddy__bundle_item *items, size_t n,
                      table *t)
{
    uint64_t offset = 0, size;
    uint32_t crc;

    add_header(t);
    for (size_t i = 0; i < n; i++) {
        if (!write_item(file, &items[i], &size, &crc))
            return false;
        add_item(t, &items[i], offset, size, eddy__crc32c_mask(crc));
        offset += size;
    }
    end_table(t);
    return true;
}

/* ---- files that appear as a whole ---- */

typedef struct draft {
    char *path, *name; /* what it will be, and what it is until then */
    size_t path_size, name_size;
    FILE *file;
    bool is_made;
} draft;

static eddy_status open_draft(const eddy_allocator *allocator,
                              eddy_string prefix, const char *ending,
                              const char *pattern, draft *d, eddy_error *err)
{
    int descriptor;

    d->path = eddy__bundle_path(allocator, prefix, ending, &d->path_size);
    d->name = eddy__bundle_path(allocator, prefix, pattern, &d->name_size);
    if (!d->path || !d->name)
        return eddy__fail_memory(err);
    descriptor = mkstemp(d->name);
    if (descriptor < 0)
        return eddy__bundle_fail_io(err, "write", d->path);
    d->is_made = true;
    (void)fchmod(descriptor, 0644);
    d->file = fdopen(descriptor, "wb");
    if (d->file)
        return EDDY_OK;
    (void)close(descriptor);
    return eddy__fail_memory(err);
}

static eddy_status finish_draft(draft *d, eddy_error *err)
{
    bool ok = fflush(d->file) == 0 && fsync(fileno(d->file)) == 0;

    ok = fclose(d->file) == 0 && ok;
    d->file = NULL;
    if (!ok)
        return eddy__bundle_fail_io(err, "write", d->path);
    return EDDY_OK;
}

static eddy_status place_draft(draft *d, eddy_error *err)
{
    if (rename(d->name, d->path) != 0)
        return eddy__bundle_fail_io(err, "rename to", d->path);
    d->is_made = false;
    return EDDY_OK;
}

static void drop_draft(const eddy_allocator *allocator, draft *d)
{
    if (d->file)
        (void)fclose(d->file);
    if (d->is_made)
        (void)unlink(d->name);
    eddy__free(allocator, d->path, 1, d->path ? d->path_size : 0);
    eddy__free(allocator, d->name, 1, d->name ? d->name_size : 0);
}

/* ---- the whole ---- */

static int compare(const void *a, const void *b)
{
    const eddy_string x = ((const eddy__bundle_item *)a)->name;
    const eddy_string y = ((const eddy__bundle_item *)b)->name;
    const size_t least = x.length < y.length ? x.length : y.length;
    const int order = least > 0 ? memcmp(x.data, y.data, least) : 0;

    return order != 0 ? order : (x.length > y.length) - (x.length < y.length);
}

static eddy_status check_names(eddy__bundle_item *items, size_t n,
                               eddy_error *err)
{
    char name[100];

    if (n > 0)
        qsort(items, n, sizeof *items, compare);
    for (size_t i = 0; i < n; i++) {
        if (items[i].name.length > 0 &&
            (i == 0 || compare(&items[i - 1], &items[i]) != 0))
            continue;
        eddy__copy_text(name, sizeof name, items[i].name.data,
                        items[i].name.length);
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "the name '%s' is empty or is there twice", name);
    }
    return EDDY_OK;
}

/* As TensorFlow: the folder of the prefix, but not those around it. */
static eddy_status make_folder(const eddy_allocator *allocator,
                               eddy_string prefix, eddy_error *err)
{
    size_t size;
    char *path = eddy__bundle_path(allocator, prefix, "", &size);
    char *slash;

    if (!path)
        return eddy__fail_memory(err);
    slash = strrchr(path, '/');
    if (slash && slash != path) {
        *slash = '\0';
        (void)mkdir(path, 0777);
    }
    eddy__free(allocator, path, 1, size);
    return EDDY_OK;
}

static eddy_status write_drafts(draft *data, draft *index, table *t,
                                const eddy__bundle_item *items, size_t n,
                                eddy_error *err)
{
    if (!write_all(data->file, items, n, t))
        return eddy__bundle_fail_io(err, "write", data->path);
    if (t->file.failed)
        return eddy__fail_memory(err);
    if (fwrite(t->file.bytes, 1, t->file.length, index->file) != t->file.length)
        return eddy__bundle_fail_io(err, "write", index->path);
    EDDY_TRY(finish_draft(data, err));
    EDDY_TRY(finish_draft(index, err));
    EDDY_TRY(place_draft(data, err));
    return place_draft(index, err);
}

eddy_status eddy__bundle_write(const eddy_allocator *allocator,
                               eddy_string prefix, eddy__bundle_item *items,
                               size_t n, eddy_error *err)
{
    const buffer empty = {.allocator = allocator};
    table t = {empty, empty, empty, empty, empty, empty, 0, 0, {"", 0}};
    draft data = {.path = NULL}, index = {.path = NULL};
    eddy_status status;

    if (prefix.length == 0 || memchr(prefix.data, '\0', prefix.length))
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "the prefix of a checkpoint is empty or has a NUL");
    EDDY_TRY(check_names(items, n, err));
    EDDY_TRY(make_folder(allocator, prefix, err));
    status = open_draft(allocator, prefix, ".data-00000-of-00001",
                        ".data-00000-of-00001.XXXXXX", &data, err);
    if (status == EDDY_OK)
        status = open_draft(allocator, prefix, ".index", ".index.XXXXXX",
                            &index, err);
    if (status == EDDY_OK)
        status = write_drafts(&data, &index, &t, items, n, err);
    drop_draft(allocator, &data);
    drop_draft(allocator, &index);
    drop_table(&t);
    return status;
}
