/* SPDX-License-Identifier: Apache-2.0 */
/* Reading bundles: the index as a whole, the data as it is asked for. */
#include "core/bundle/bundle.h"

#include "core/base/crc32c.h"
#include "core/base/memory.h"
#include "core/base/status.h"
#include "core/base/varint.h"
#include "core/bundle/bundle_file.h"
#include "core/value/dtype.h"
#include "core/value/shape.h"

#include <inttypes.h>
#include <string.h>

/* An index is read into memory, and its names may share what precedes them. */
#define LARGEST_INDEX ((int64_t)256 << 20)
#define LARGEST_NAMES(index) (16 * (index) + ((size_t)1 << 20))

/* What is left of some bytes. */
typedef struct cursor {
    const unsigned char *at, *end;
} cursor;

typedef struct reader {
    eddy__bundle *bundle;
    const unsigned char *bytes; /* of the index */
    size_t length;
    char *key;
    size_t key_length, key_capacity;
    eddy_error *err;
} reader;

static eddy_status fail_damaged(eddy_error *err, const char *what)
{
    return eddy__fail(err, EDDY_DATA_LOSS, EDDY_E_TENSOR_DATA,
                      "the checkpoint is damaged: %s", what);
}

/* ---- numbers and messages ---- */

static bool take_varint(cursor *c, uint64_t *out)
{
    return eddy__varint_take(&c->at, c->end, out);
}

static bool take_bytes(cursor *c, uint64_t n, cursor *out)
{
    if (n > (uint64_t)(c->end - c->at))
        return false;
    *out = (cursor){c->at, c->at + n};
    c->at += n;
    return true;
}

/* The next field of a message; `value` for numbers, `bytes` for the rest. */
typedef struct field {
    uint64_t number, value;
    cursor bytes;
} field;

static bool take_field(cursor *c, field *f)
{
    uint64_t tag, length;

    /* A field of another kind than it should have is empty. */
    f->value = 0;
    f->bytes = (cursor){c->at, c->at};
    if (!take_varint(c, &tag))
        return false;
    f->number = tag >> 3;
    switch (tag & 7) {
    case 0:
        return take_varint(c, &f->value);
    case 1:
        return take_bytes(c, 8, &f->bytes);
    case 2:
        return take_varint(c, &length) && take_bytes(c, length, &f->bytes);
    case 5:
        if (!take_bytes(c, 4, &f->bytes))
            return false;
        f->value = eddy__bundle_get_u32(f->bytes.at);
        return true;
    default:
        return false;
    }
}

static bool read_dim(cursor c, int64_t *out_size)
{
    field f;

    *out_size = 0;
    while (c.at < c.end) {
        if (!take_field(&c, &f))
            return false;
        if (f.number == 1)
            *out_size = (int64_t)f.value;
    }
    return *out_size >= 0;
}

/* Ranks above 8 are told by a rank of -1. */
static bool read_shape(cursor c, eddy_shape *shape)
{
    field f;
    int32_t rank = 0;
    int64_t dim;

    while (c.at < c.end) {
        if (!take_field(&c, &f))
            return false;
        if (f.number != 2)
            continue;
        if (!read_dim(f.bytes, &dim))
            return false;
        if (rank < EDDY_MAX_RANK)
            shape->dims[rank] = dim;
        rank++;
    }
    shape->rank = rank <= EDDY_MAX_RANK ? rank : -1;
    return true;
}

static bool read_entry(cursor c, eddy__bundle_entry *e)
{
    field f;

    while (c.at < c.end) {
        if (!take_field(&c, &f))
            return false;
        switch (f.number) {
        case 1:
            e->tf_dtype = (int32_t)f.value;
            break;
        case 2:
            if (!read_shape(f.bytes, &e->shape))
                return false;
            break;
        case 3:
            e->shard = (int32_t)f.value;
            break;
        case 4:
            e->offset = (int64_t)f.value;
            break;
        case 5:
            e->size = (int64_t)f.value;
            break;
        case 6:
            e->checksum = (uint32_t)f.value;
            break;
        case 7:
            e->is_sliced = true;
            break;
        default:
            break;
        }
    }
    return e->offset >= 0 && e->size >= 0 && e->shard >= 0;
}

static eddy_status read_header(reader *r, cursor c)
{
    field f;

    r->bundle->n_shards = 1;
    while (c.at < c.end) {
        if (!take_field(&c, &f))
            return fail_damaged(r->err, "its header can't be read");
        if (f.number == 1 && f.value >= 1 && f.value <= 99999)
            r->bundle->n_shards = (int32_t)f.value;
        if (f.number == 2 && f.value != 0)
            return eddy__fail(r->err, EDDY_UNIMPLEMENTED, EDDY_E_TENSOR_DATA,
                              "the checkpoint was written by a big-endian "
                              "machine");
    }
    return EDDY_OK;
}

/* ---- blocks ---- */

/* The entries of a block, without the places where names begin anew. */
static eddy_status find_block(reader *r, uint64_t offset, uint64_t size,
                              cursor *out)
{
    const unsigned char *block;
    uint32_t n;

    if (size < 4 || size > r->length || offset > r->length - size ||
        r->length - size - offset < EDDY__BLOCK_TRAILER)
        return fail_damaged(r->err, "a block is not within its index");
    block = r->bytes + offset;
    if (eddy__bundle_get_u32(block + size + 1) !=
        eddy__crc32c_mask(eddy__crc32c(0, block, size + 1)))
        return fail_damaged(r->err,
                            "a block of its index has another checksum");
    if (block[size] != 0)
        return eddy__fail(r->err, EDDY_UNIMPLEMENTED, EDDY_E_TENSOR_DATA,
                          "the index of the checkpoint is compressed");
    n = eddy__bundle_get_u32(block + size - 4);
    if (n > (size - 4) / 4)
        return fail_damaged(r->err, "a block of its index ends too early");
    *out = (cursor){block, block + size - 4 - (uint64_t)n * 4};
    return EDDY_OK;
}

/* The next entry of a block; its name is r->key. */
static eddy_status take_entry(reader *r, cursor *c, cursor *value)
{
    uint64_t shared, more, length;
    cursor name;
    void *key = r->key;
    bool ok;

    if (!take_varint(c, &shared) || !take_varint(c, &more) ||
        !take_varint(c, &length) || shared > r->key_length ||
        !take_bytes(c, more, &name) || !take_bytes(c, length, value))
        return fail_damaged(r->err, "an entry of its index can't be read");
    ok = eddy__grow(r->bundle->allocator, &key, &r->key_capacity,
                    (size_t)(shared + more) + 1, 1);
    r->key = key;
    if (!ok)
        return eddy__fail_memory(r->err);
    if (more > 0)
        memcpy(r->key + shared, name.at, more);
    r->key_length = (size_t)(shared + more);
    return EDDY_OK;
}

static bool keep_name(reader *r)
{
    eddy__bundle *b = r->bundle;
    void *names = b->names;
    bool ok;

    if (r->key_length > LARGEST_NAMES(r->length) - b->names_length)
        return false;
    ok = eddy__grow(b->allocator, &names, &b->names_capacity,
                    b->names_length + r->key_length + 1, 1);
    b->names = names;
    if (!ok)
        return false;
    memcpy(b->names + b->names_length, r->key, r->key_length);
    b->names_length += r->key_length;
    return true;
}

static eddy_status add_entry(reader *r, cursor value)
{
    eddy__bundle *b = r->bundle;
    void *entries = b->entries;
    eddy__bundle_entry *e;
    bool ok = eddy__grow(b->allocator, &entries, &b->capacity, b->n + 1,
                         sizeof *b->entries);

    b->entries = entries;
    if (!ok || !keep_name(r))
        return eddy__fail_memory(r->err);
    e = &b->entries[b->n++];
    *e = (eddy__bundle_entry){.name.length = r->key_length};
    return read_entry(value, e)
               ? EDDY_OK
               : fail_damaged(r->err, "an entry of its index is malformed");
}

static eddy_status read_data_block(reader *r, cursor handle)
{
    uint64_t offset, size;
    cursor block = {NULL, NULL}, value = {NULL, NULL};

    if (!take_varint(&handle, &offset) || !take_varint(&handle, &size))
        return fail_damaged(r->err, "its index can't be read");
    EDDY_TRY(find_block(r, offset, size, &block));
    r->key_length = 0;
    while (block.at < block.end) {
        EDDY_TRY(take_entry(r, &block, &value));
        if (r->key_length == 0)
            EDDY_TRY(read_header(r, value));
        else
            EDDY_TRY(add_entry(r, value));
    }
    return EDDY_OK;
}

static int compare(eddy_string a, eddy_string b)
{
    const size_t least = a.length < b.length ? a.length : b.length;
    const int order = least > 0 ? memcmp(a.data, b.data, least) : 0;

    return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

/* Names stand one behind the other and must rise. */
static eddy_status set_names(reader *r)
{
    eddy__bundle *b = r->bundle;
    size_t at = 0;

    for (size_t i = 0; i < b->n; i++) {
        b->entries[i].name.data = b->names + at;
        at += b->entries[i].name.length;
        if (i > 0 && compare(b->entries[i - 1].name, b->entries[i].name) >= 0)
            return fail_damaged(r->err, "the names in its index are not in "
                                        "order");
    }
    return EDDY_OK;
}

static eddy_status read_index(reader *r)
{
    const unsigned char *footer;
    uint64_t offset, size;
    cursor index = {NULL, NULL}, value = {NULL, NULL};
    cursor c;

    if (!r->bytes || r->length < EDDY__TABLE_FOOTER)
        return fail_damaged(r->err, "its index is no table");
    footer = r->bytes + r->length - EDDY__TABLE_FOOTER;
    c = (cursor){footer, footer + EDDY__TABLE_FOOTER - 8};
    if ((eddy__bundle_get_u32(footer + 40) |
         (uint64_t)eddy__bundle_get_u32(footer + 44) << 32) !=
        EDDY__TABLE_MAGIC)
        return fail_damaged(r->err, "its index is no table");
    if (!take_varint(&c, &offset) || !take_varint(&c, &size) ||
        !take_varint(&c, &offset) || !take_varint(&c, &size))
        return fail_damaged(r->err, "its index can't be read");
    EDDY_TRY(find_block(r, offset, size, &index));
    while (index.at < index.end) {
        uint64_t shared, more, length;
        cursor name;

        if (!take_varint(&index, &shared) || !take_varint(&index, &more) ||
            !take_varint(&index, &length) || !take_bytes(&index, more, &name) ||
            !take_bytes(&index, length, &value))
            return fail_damaged(r->err, "its index can't be read");
        EDDY_TRY(read_data_block(r, value));
    }
    return set_names(r);
}

/* ---- opening ---- */

static eddy_status load_index(eddy__bundle *b, const char *path,
                              eddy_error *err)
{
    reader r = {.bundle = b, .err = err};
    unsigned char *bytes = NULL;
    eddy_status status;
    int64_t size = 0;
    FILE *file;

    EDDY_TRY(eddy__bundle_open_file(path, &file, &size, err));
    if (size > LARGEST_INDEX || size < EDDY__TABLE_FOOTER) {
        (void)fclose(file);
        return fail_damaged(err, "its index is too short or too long");
    }
    bytes = eddy__allocate(b->allocator, (size_t)size, 1);
    if (!bytes)
        status = eddy__fail_memory(err);
    else if (fread(bytes, 1, (size_t)size, file) != (size_t)size)
        status = eddy__bundle_fail_io(err, "read", path);
    else
        status = EDDY_OK;
    (void)fclose(file);
    r.bytes = bytes;
    r.length = (size_t)size;
    if (status == EDDY_OK)
        status = read_index(&r);
    eddy__free(b->allocator, r.key, r.key_capacity, 1);
    eddy__free(b->allocator, bytes, (size_t)size, 1);
    return status;
}

eddy_status eddy__bundle_open(const eddy_allocator *allocator,
                              eddy_string prefix, eddy__bundle *out_bundle,
                              eddy_error *err)
{
    eddy__bundle b = {.allocator = allocator, .n_shards = 1};
    eddy_status status;
    size_t size;
    char *path;

    if (prefix.length == 0 || memchr(prefix.data, '\0', prefix.length))
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "the prefix of a checkpoint is empty or has a NUL");
    b.prefix = eddy__bundle_path(allocator, prefix, "", &b.prefix_size);
    path = eddy__bundle_path(allocator, prefix, ".index", &size);
    status =
        b.prefix && path ? load_index(&b, path, err) : eddy__fail_memory(err);
    eddy__free(allocator, path, 1, path ? size : 0);
    if (status != EDDY_OK)
        eddy__bundle_close(&b);
    else
        *out_bundle = b;
    return status;
}

void eddy__bundle_close(eddy__bundle *b)
{
    eddy__free(b->allocator, b->entries, b->capacity, sizeof *b->entries);
    eddy__free(b->allocator, b->names, b->names_capacity, 1);
    eddy__free(b->allocator, b->prefix, 1, b->prefix ? b->prefix_size : 0);
}

const eddy__bundle_entry *eddy__bundle_find(const eddy__bundle *b,
                                            eddy_string name)
{
    size_t low = 0, high = b->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = compare(b->entries[middle].name, name);

        if (order == 0)
            return &b->entries[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* ---- data ---- */

static eddy_status fail_checksum(eddy_error *err,
                                 const eddy__bundle_entry *entry)
{
    char name[100];

    eddy__copy_text(name, sizeof name, entry->name.data, entry->name.length);
    return eddy__fail(err, EDDY_DATA_LOSS, EDDY_E_TENSOR_DATA,
                      "the checkpoint is damaged: the bytes of '%s' are not "
                      "those that were written",
                      name);
}

/*
 * The lengths of all strings, their checksum, and then their bytes.  The
 * checksum of the entry is that of the lengths, 4 bytes each (8 above 2^32),
 * of their checksum, and of the bytes.
 */
static eddy_status set_strings(const eddy__bundle_entry *entry, cursor c,
                               eddy_tensor *tensor, eddy_error *err)
{
    cursor lengths = c, text, sum;
    unsigned char number[8] = {0};
    uint64_t length, total = 0;
    uint32_t crc = 0;

    for (int64_t i = 0; i < tensor->count; i++) {
        if (!take_varint(&c, &length) || length > (uint64_t)entry->size)
            return fail_checksum(err, entry);
        total += length;
        eddy__bundle_set_u32(number, (uint32_t)length);
        eddy__bundle_set_u32(number + 4, (uint32_t)(length >> 32));
        crc = eddy__crc32c(crc, number, length > UINT32_MAX ? 8 : 4);
    }
    if (!take_bytes(&c, 4, &sum) ||
        eddy__bundle_get_u32(sum.at) != eddy__crc32c_mask(crc) ||
        total != (uint64_t)(c.end - c.at))
        return fail_checksum(err, entry);
    crc = eddy__crc32c(crc, sum.at, 4);
    crc = eddy__crc32c(crc, c.at, (size_t)(c.end - c.at));
    if (eddy__crc32c_mask(crc) != entry->checksum)
        return fail_checksum(err, entry);
    for (int64_t i = 0; i < tensor->count; i++) {
        if (!take_varint(&lengths, &length) || !take_bytes(&c, length, &text))
            return fail_checksum(err, entry);
        if (!eddy__tensor_set_string(tensor, i, (const char *)text.at, length))
            return eddy__fail_memory(err);
    }
    return EDDY_OK;
}

static eddy_status read_bytes(FILE *file, const char *path,
                              const eddy__bundle_entry *entry, void *to,
                              eddy_error *err)
{
    if (fseeko(file, entry->offset, SEEK_SET) != 0 ||
        fread(to, 1, (size_t)entry->size, file) != (size_t)entry->size)
        return eddy__bundle_fail_io(err, "read", path);
    return EDDY_OK;
}

static eddy_status fill(const eddy__bundle *b, FILE *file, const char *path,
                        const eddy__bundle_entry *entry, eddy_tensor *tensor,
                        eddy_error *err)
{
    const size_t size = (size_t)entry->size;
    unsigned char *bytes;
    eddy_status status;

    if (tensor->dtype != EDDY_STRING) {
        if (size != tensor->bytes)
            return fail_checksum(err, entry);
        if (size > 0)
            EDDY_TRY(read_bytes(file, path, entry, tensor->data, err));
        return eddy__crc32c_mask(eddy__crc32c(0, tensor->data, size)) ==
                       entry->checksum
                   ? EDDY_OK
                   : fail_checksum(err, entry);
    }
    bytes = eddy__allocate(b->allocator, size > 0 ? size : 1, 1);
    if (!bytes)
        return eddy__fail_memory(err);
    status = read_bytes(file, path, entry, bytes, err);
    if (status == EDDY_OK)
        status = set_strings(entry, (cursor){bytes, bytes + size}, tensor, err);
    eddy__free(b->allocator, bytes, size > 0 ? size : 1, 1);
    return status;
}

eddy_status eddy__bundle_read(const eddy__bundle *b,
                              const eddy__bundle_entry *entry,
                              eddy_tensor *tensor, eddy_error *err)
{
    char ending[48];
    eddy_status status;
    int64_t length = 0;
    size_t size;
    FILE *file;
    char *path;

    if (entry->shard >= b->n_shards)
        return fail_checksum(err, entry);
    (void)snprintf(ending, sizeof ending, ".data-%05d-of-%05d",
                   (int)entry->shard, (int)b->n_shards);
    path = eddy__bundle_path(b->allocator,
                             (eddy_string){b->prefix, b->prefix_size - 1},
                             ending, &size);
    if (!path)
        return eddy__fail_memory(err);
    status = eddy__bundle_open_file(path, &file, &length, err);
    if (status == EDDY_OK) {
        status = entry->size > length || entry->offset > length - entry->size
                     ? fail_checksum(err, entry)
                     : fill(b, file, path, entry, tensor, err);
        (void)fclose(file);
    }
    eddy__free(b->allocator, path, 1, size);
    return status;
}
