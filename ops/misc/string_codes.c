/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts as codes of bytes: base64, in its alphabet for addresses, and elements
 * of other dtypes as they lie in memory.
 */
#include "ops/misc/text.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <string.h>

/* ---- base64 ---- */

static const char digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* The digit's value; -1 if it is none. */
static int digit_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '-')
        return 62;
    return c == '_' ? 63 : -1;
}

static void encode(eddy_kernel *k, const eddy__string *s, bool pads,
                   eddy__text *out)
{
    for (size_t i = 0; i < s->length && !eddy__spent_at(k, (int64_t)i / 3);
         i += 3) {
        const size_t n = s->length - i < 3 ? s->length - i : 3;
        char group[4];
        uint32_t bits = 0;

        for (size_t j = 0; j < 3; j++)
            bits = bits << 8 | (j < n ? (unsigned char)s->data[i + j] : 0);
        for (size_t j = 0; j < 4; j++)
            group[j] = digits[bits >> (18 - 6 * j) & 63];
        eddy__text_add(out, group, n + 1);
        if (pads)
            eddy__text_fill(out, '=', 3 - n);
    }
}

/* How many digits come before the padding, which must fill up a group. */
static size_t without_padding(const eddy__string *s)
{
    size_t n = s->length;

    if (n % 4 != 0)
        return n;
    for (int i = 0; i < 2 && n > 0 && s->data[n - 1] == '='; i++)
        n--;
    return n;
}

static eddy_status decode(eddy_kernel *k, const eddy__string *s, int64_t i,
                          eddy__text *out)
{
    const size_t n = without_padding(s);
    uint32_t bits = 0;

    if (n % 4 == 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "element %" PRId64
                           " has %zu digits of base64, which "
                           "are no bytes",
                           i, n);
    for (size_t j = 0; j < n && !eddy__spent_at(k, (int64_t)j); j++) {
        const int value = digit_value(s->data[j]);

        if (value < 0)
            return eddy__kfail(
                k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                "byte %zu of element %" PRId64 " is no digit of base64", j, i);
        bits = bits << 6 | (uint32_t)value;
        if (j % 4 != 0)
            eddy__text_fill(
                out, (char)(unsigned char)(bits >> (6 - 2 * (j % 4))), 1);
    }
    return EDDY_OK;
}

static eddy_status run_encode(eddy_kernel *k)
{
    const bool *pads = eddy__state(k);
    const eddy__string *from = eddy__in_strings(k, 0);
    eddy__text text = eddy__text_begin(k);
    eddy_status status;
    eddy_tensor *out;

    status = eddy__output_strings(k, 0, eddy__in_shape(k, 0), &out);
    for (int64_t i = 0; status == EDDY_OK && i < out->count; i++) {
        eddy__text_clear(&text);
        encode(k, &from[i], *pads, &text);
        status = eddy__text_put(k, &text, out, i);
    }
    eddy__text_end(&text);
    return status;
}

static eddy_status run_decode(eddy_kernel *k)
{
    const eddy__string *from = eddy__in_strings(k, 0);
    eddy__text text = eddy__text_begin(k);
    eddy_status status;
    eddy_tensor *out;

    status = eddy__output_strings(k, 0, eddy__in_shape(k, 0), &out);
    for (int64_t i = 0; status == EDDY_OK && i < out->count; i++) {
        eddy__text_clear(&text);
        status = decode(k, &from[i], i, &text);
        if (status == EDDY_OK)
            status = eddy__text_put(k, &text, out, i);
    }
    eddy__text_end(&text);
    return status;
}

static eddy_status prepare_encode(eddy_infer *infer)
{
    bool *pads = eddy__prepare_state(infer, sizeof *pads);

    if (!pads)
        return EDDY_RESOURCE_EXHAUSTED;
    *pads = eddy__infer_bool(infer, "pad");
    return EDDY_OK;
}

/* ---- elements ---- */

typedef struct form {
    size_t size; /* of an element */
    size_t unit; /* bytes that are turned around, if is_turned */
    bool is_turned;
} form;

static void turn(eddy_kernel *k, unsigned char *data, size_t n, size_t unit)
{
    for (; n >= unit && !eddy__spent_at(k, (int64_t)(n / unit));
         n -= unit, data += unit)
        for (size_t i = 0; i < unit / 2; i++) {
            const unsigned char c = data[i];

            data[i] = data[unit - 1 - i];
            data[unit - 1 - i] = c;
        }
}

/*
 * Each text as elements, of which it has `bytes`: what is longer is cut off,
 * what is shorter goes on with zeros.
 */
static eddy_status put_elements(eddy_kernel *k, size_t bytes)
{
    const form *f = eddy__state(k);
    const eddy__string *from = eddy__in_strings(k, 0);
    const eddy_shape *of = eddy__in_shape(k, 0);
    const int64_t n = eddy__in_count(k, 0);
    const eddy_dtype dtype = (eddy_dtype)k->node->out_dtypes[0];
    eddy_shape shape = *of;
    unsigned char *to;
    void *out;

    if (of->rank == EDDY_MAX_RANK)
        return eddy__kfail(k, EDDY_UNIMPLEMENTED, EDDY_E_SHAPE,
                           "the result would have %d dimensions", of->rank + 1);
    shape.dims[shape.rank++] = (int64_t)(bytes / f->size);
    EDDY_TRY(eddy__output(k, 0, dtype, &shape, &out));
    to = out;
    for (int64_t i = 0; i < n; i++, to += bytes) {
        const size_t some = from[i].length < bytes ? from[i].length : bytes;

        if (some > 0)
            memcpy(to, from[i].data, some);
        if (bytes > some)
            memset(to + some, 0, bytes - some);
        if (f->is_turned)
            turn(k, to, bytes, f->unit);
        for (size_t j = 0;
             dtype == EDDY_BOOL && j < bytes && !eddy__spent_at(k, (int64_t)j);
             j++)
            to[j] = to[j] != 0;
        EDDY_TRY(eddy__go_on(k, 16 + (int64_t)(bytes / 4)));
    }
    return EDDY_OK;
}

static eddy_status run_raw(eddy_kernel *k)
{
    const form *f = eddy__state(k);
    const eddy__string *from = eddy__in_strings(k, 0);
    const int64_t n = eddy__in_count(k, 0);
    const size_t bytes = n > 0 ? from[0].length : 0;

    for (int64_t i = 1; i < n && !eddy__spent_at(k, i); i++)
        if (from[i].length != bytes)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "element %" PRId64
                               " has %zu bytes, element 0 has %zu",
                               i, from[i].length, bytes);
    if (bytes % f->size != 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "%zu bytes are no multiple of the %zu of a %s",
                           bytes, f->size,
                           eddy_dtype_name((eddy_dtype)k->node->out_dtypes[0]));
    return put_elements(k, bytes);
}

static eddy_status run_padded(eddy_kernel *k)
{
    const form *f = eddy__state(k);
    const eddy_view view = eddy__in_view(k, 1);
    const int32_t bytes = view.count > 0 ? *(const int32_t *)view.data : 0;

    if (view.count != 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "fixed_length must be one number");
    if (bytes <= 0 || (size_t)bytes % f->size != 0)
        return eddy__kfail(
            k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
            "fixed_length is %" PRId32
            ", it must be a positive multiple of the %zu bytes of a %s",
            bytes, f->size,
            eddy_dtype_name((eddy_dtype)k->node->out_dtypes[0]));
    return put_elements(k, (size_t)bytes);
}

static eddy_status prepare_raw(eddy_infer *infer)
{
    const eddy_dtype dtype = eddy__infer_type(infer, "out_type");
    const uint16_t one = 1;
    form *f = eddy__prepare_state(infer, sizeof *f);
    unsigned char first;

    if (!f)
        return EDDY_RESOURCE_EXHAUSTED;
    memcpy(&first, &one, 1);
    f->size = eddy__element_size(dtype);
    f->unit = dtype == EDDY_COMPLEX64 || dtype == EDDY_COMPLEX128 ? f->size / 2
                                                                  : f->size;
    f->is_turned = eddy__infer_bool(infer, "little_endian") != (first == 1);
    return EDDY_OK;
}

/* The shape of the texts and one dimension more. */
static eddy_status infer_raw(eddy_infer *infer)
{
    const eddy_shape *of = eddy_infer_input(infer, 0);
    eddy_shape shape = *of;

    if (of->rank < 0 || of->rank >= EDDY_MAX_RANK)
        return EDDY_OK;
    shape.dims[shape.rank++] = -1;
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

#define RAW                                                                    \
    "out_type: {float16, bfloat16, float32, float64, int8, int16, int32, "     \
    "int64, uint8, uint16, complex64, complex128, bool}, little_endian: bool " \
    "= true"

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("EncodeBase64", .inputs = "input: string",
                 .outputs = "output: string", .attrs = "pad: bool = false",
                 .infer = eddy__infer_unchanged, .kernel = run_encode,
                 .prepare = prepare_encode, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The bytes of texts as digits of base64, with - and _ "
                        "for + and /."),
    EDDY__OP_ROW("DecodeBase64", .inputs = "input: string",
                 .outputs = "output: string", .infer = eddy__infer_unchanged,
                 .kernel = run_decode, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The bytes that digits of base64 stand for, with or "
                        "without padding."),
    EDDY__OP_ROW("DecodeRaw", .inputs = "bytes: string",
                 .outputs = "output: out_type", .attrs = RAW,
                 .infer = infer_raw, .kernel = run_raw, .prepare = prepare_raw,
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The bytes of texts of one length as elements."),
    EDDY__OP_ROW(
        "DecodePaddedRaw", .inputs = "input_bytes: string, fixed_length: int32",
        .outputs = "output: out_type", .attrs = RAW, .infer = infer_raw,
        .kernel = run_padded, .prepare = prepare_raw,
        .flags = EDDY_OP_NOT_DIFFERENTIABLE,
        .doc = "The same of texts that are cut off or go on with zeros."),
};

const eddy__op_table eddy__string_codes_ops = {specs, NULL,
                                               sizeof specs / sizeof *specs};
