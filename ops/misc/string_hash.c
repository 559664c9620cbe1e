/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that sort texts into buckets by their hashes, and Fingerprint. */
#include "core/base/siphash.h"
#include "ops/misc/hash.h"
#include "ops/misc/text.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <string.h>

typedef struct buckets {
    uint64_t n;
    uint64_t key[2];
} buckets;

typedef uint64_t (*hash)(const buckets *b, const eddy__string *s);

static const unsigned char *bytes_of(const eddy__string *s)
{
    return (const unsigned char *)s->data;
}

static uint64_t hash_farm(const buckets *b, const eddy__string *s)
{
    (void)b;
    return eddy__hash_farm(bytes_of(s), s->length);
}

static uint64_t hash_murmur(const buckets *b, const eddy__string *s)
{
    (void)b;
    return eddy__hash_murmur(bytes_of(s), s->length);
}

/* SipHash-2-4. */
static uint64_t hash_sip(const buckets *b, const eddy__string *s)
{
    return eddy__siphash(b->key, bytes_of(s), s->length, 2, 4);
}

static eddy_status sort(eddy_kernel *k, hash of)
{
    const buckets *b = eddy__state(k);
    const eddy__string *strings = eddy__in_strings(k, 0);
    const int64_t n = eddy__in_count(k, 0);
    void *out;

    EDDY_TRY(eddy__output(k, 0, EDDY_INT64, eddy__in_shape(k, 0), &out));
    for (int64_t i = 0; i < n; i++) {
        ((int64_t *)out)[i] = (int64_t)(of(b, &strings[i]) % b->n);
        EDDY_TRY(eddy__go_on(k, 16 + (int64_t)(strings[i].length / 4)));
    }
    return EDDY_OK;
}

static eddy_status run_fast(eddy_kernel *k)
{
    return sort(k, hash_farm);
}

static eddy_status run_old(eddy_kernel *k)
{
    return sort(k, hash_murmur);
}

static eddy_status run_strong(eddy_kernel *k)
{
    return sort(k, hash_sip);
}

static eddy_status prepare(eddy_infer *infer)
{
    buckets *b = eddy__prepare_state(infer, sizeof *b);
    eddy_attr key;

    if (!b)
        return EDDY_RESOURCE_EXHAUSTED;
    b->n = (uint64_t)eddy__infer_int(infer, "num_buckets");
    if (!eddy_infer_attr(infer, "key", &key))
        return EDDY_OK;
    if (key.n != 2)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                               "key has %zu elements, 2 are wanted", key.n);
    for (int i = 0; i < 2; i++)
        b->key[i] = (uint64_t)key.as.ints[i];
    return EDDY_OK;
}

/* ---- Fingerprint ---- */

/* The strings of a row are hashed one by one, and then their hashes. */
static uint64_t hash_strings(const eddy__string *s, int64_t n,
                             eddy__text *scratch)
{
    if (n == 1)
        return hash_farm(NULL, s);
    eddy__text_clear(scratch);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t h = hash_farm(NULL, &s[i]);

        eddy__text_add(scratch, (const char *)&h, sizeof h);
    }
    return eddy__hash_farm((const unsigned char *)scratch->data,
                           scratch->length);
}

static eddy_status run_fingerprint(eddy_kernel *k)
{
    const eddy_shape *of = eddy__in_shape(k, 0);
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    const int64_t rows = of->rank > 0 ? of->dims[0] : 0;
    const eddy_shape shape = {.rank = 2, .dims = {rows, 8}};
    const int64_t each = rows > 0 ? eddy__in_count(k, 0) / rows : 0;
    const size_t size = (size_t)each * eddy__element_size(dtype);
    const unsigned char *in = eddy__in_elements(k, 0);
    eddy__text scratch = eddy__text_begin(k);
    void *out;

    if (of->rank < 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "data must have at least one dimension");
    EDDY_TRY(eddy__output(k, 0, EDDY_UINT8, &shape, &out));
    for (int64_t i = 0; i < rows; i++, in += size) {
        const uint64_t h = dtype == EDDY_STRING
                               ? hash_strings((const void *)in, each, &scratch)
                               : eddy__hash_farm(in, size);

        for (int b = 0; b < 8; b++)
            ((unsigned char *)out)[8 * i + b] = (unsigned char)(h >> 8 * b);
        if (eddy__spent(k, 16 + (int64_t)(size / 4)))
            break;
    }
    eddy__text_end(&scratch);
    return scratch.failed ? eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED,
                                        EDDY_E_MEMORY, "no memory for hashes")
                          : EDDY_OK;
}

static eddy_status check_method(eddy_kernel *k)
{
    const eddy__string *method = eddy__in_strings(k, 1);

    if (eddy__in_shape(k, 1)->rank != 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "method must be a scalar, it has shape %s",
                           eddy__shape_print(eddy__in_shape(k, 1)).text);
    if (method->length != 10 || memcmp(method->data, "farmhash64", 10) != 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "method must be 'farmhash64'");
    return run_fingerprint(k);
}

static eddy_status infer_fingerprint(eddy_infer *infer)
{
    const eddy_shape *of = eddy_infer_input(infer, 0);
    eddy_shape shape = {.rank = 2, .dims = {-1, 8}};

    if (of->rank > 0)
        shape.dims[0] = of->dims[0];
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status prepare_data(eddy_infer *infer)
{
    const eddy_dtype dtype = eddy__infer_type(infer, "T");

    if (eddy__dtype_in(dtype, EDDY__MOVABLE))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_UNIMPLEMENTED, EDDY_E_NO_KERNEL,
                           "there are no fingerprints of %s",
                           eddy_dtype_name(dtype));
}

#define SORT(op, input, more, run, text)                                       \
    EDDY__OP_ROW(op, .inputs = input ": string", .outputs = "output: int64",   \
                 .attrs = "num_buckets: int >= 1" more,                        \
                 .infer = eddy__infer_unchanged, .kernel = run,                \
                 .prepare = prepare, .flags = EDDY_OP_NOT_DIFFERENTIABLE,      \
                 .doc = "The bucket of each text by its " text ".")

static const eddy_op_spec specs[] = {
    SORT("StringToHashBucketFast", "input", "", run_fast,
         "FarmHash fingerprint"),
    SORT("StringToHashBucket", "string_tensor", "", run_old,
         "MurmurHash, as old programs have it"),
    SORT("StringToHashBucketStrong", "input", ", key: list(int)", run_strong,
         "SipHash with that key"),
    EDDY__OP_ROW("Fingerprint", .inputs = "data: T, method: string",
                 .outputs = "fingerprint: uint8", .attrs = "T: type",
                 .infer = infer_fingerprint, .kernel = check_method,
                 .prepare = prepare_data, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The eight bytes of each row's FarmHash fingerprint."),
};

const eddy__op_table eddy__string_hash_ops = {specs, NULL,
                                              sizeof specs / sizeof *specs};
