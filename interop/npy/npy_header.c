/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes the header of a .npy file, a literal of Python that is
 * checked key by key.
 */
#include "interop/npy/npy_header.h"

#include "core/base/memory.h"
#include "core/base/status.h"
#include "core/value/shape.h"

#include <stdio.h>
#include <string.h>

/* What a file of format 1.0 starts with; the version is the last two bytes. */
static const uint8_t magic[8] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};

#define MAGIC_LENGTH 6

/* What the three keys of the dict have set so far. */
enum {
    HAS_DESCR = 1,
    HAS_ORDER = 2,
    HAS_SHAPE = 4,
    HAS_ALL = 7,
};

typedef struct parser {
    const uint8_t *bytes;
    size_t at;
    size_t end; /* of the dict */
    unsigned has;
    eddy__npy_header header;
    eddy_error *err;
} parser;

static eddy_status fail_at(const parser *p, size_t offset, const char *wanted)
{
    return eddy__fail(p->err, EDDY_INVALID_ARGUMENT, EDDY_E_MALFORMED,
                      "at byte %zu of the .npy header: %s", offset, wanted);
}

static void skip_spaces(parser *p)
{
    while (p->at < p->end &&
           (p->bytes[p->at] == ' ' || p->bytes[p->at] == '\n'))
        p->at++;
}

/* Is `byte` next, after spaces?  Then it is passed. */
static bool accept(parser *p, char byte)
{
    skip_spaces(p);
    if (p->at == p->end || p->bytes[p->at] != (uint8_t)byte)
        return false;
    p->at++;
    return true;
}

static eddy_status expect(parser *p, char byte, const char *wanted)
{
    return accept(p, byte) ? EDDY_OK : fail_at(p, p->at, wanted);
}

static bool accept_word(parser *p, const char *word)
{
    size_t length = strlen(word);

    skip_spaces(p);
    if (p->end - p->at < length || memcmp(p->bytes + p->at, word, length) != 0)
        return false;
    p->at += length;
    return true;
}

/* A text in quotes of either kind, without escapes. */
static eddy_status read_text(parser *p, eddy_string *out_text)
{
    size_t start;
    char quote;

    skip_spaces(p);
    if (p->at == p->end || (p->bytes[p->at] != '\'' && p->bytes[p->at] != '"'))
        return fail_at(p, p->at, "a text in quotes is wanted");
    quote = (char)p->bytes[p->at++];
    start = p->at;
    while (p->at < p->end && p->bytes[p->at] != (uint8_t)quote) {
        if (p->bytes[p->at] == '\\')
            return fail_at(p, p->at, "a text without '\\' is wanted");
        p->at++;
    }
    if (p->at == p->end)
        return fail_at(p, start, "the text has no end");
    *out_text = (eddy_string){(const char *)p->bytes + start, p->at - start};
    p->at++;
    return EDDY_OK;
}

static bool is_text(eddy_string text, const char *other)
{
    return text.length == strlen(other) &&
           memcmp(text.data, other, text.length) == 0;
}

static eddy_status read_number(parser *p, int64_t *out_number)
{
    size_t start;
    int64_t number = 0;

    skip_spaces(p);
    start = p->at;
    while (p->at < p->end && p->bytes[p->at] >= '0' && p->bytes[p->at] <= '9') {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, p->bytes[p->at] - '0', &number))
            return fail_at(p, start, "a smaller number is wanted");
        p->at++;
    }
    if (p->at == start)
        return fail_at(p, start, "a number is wanted");
    *out_number = number;
    return EDDY_OK;
}

/* ---- the values of the three keys ---- */

/* The letter and size of a dtype's descr. */
typedef struct code {
    eddy_dtype dtype;
    char text[4];
} code;

static const code codes[] = {
    {EDDY_FLOAT16, "f2"},
    {EDDY_FLOAT32, "f4"},
    {EDDY_FLOAT64, "f8"},
    {EDDY_INT8, "i1"},
    {EDDY_INT16, "i2"},
    {EDDY_INT32, "i4"},
    {EDDY_INT64, "i8"},
    {EDDY_UINT8, "u1"},
    {EDDY_UINT16, "u2"},
    {EDDY_UINT32, "u4"},
    {EDDY_UINT64, "u8"},
    {EDDY_BOOL, "b1"},
    {EDDY_COMPLEX64, "c8"},
    {EDDY_COMPLEX128, "c16"},
    /* NumPy knows no bfloat16: it saves two bytes of nobody knows what. */
    {EDDY_BFLOAT16, "V2"},
};

static eddy_status fail_descr(const parser *p, eddy_string descr,
                              const char *why)
{
    char shown[32];

    eddy__copy_text(shown, sizeof shown, descr.data, descr.length);
    return eddy__fail(p->err, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                      "the .npy descr '%s' %s", shown, why);
}

/* The length of "S12" or "U12"; false if it is no number or too large. */
static bool read_width(eddy_string digits, size_t each, size_t *out_size)
{
    size_t width = 0;

    if (digits.length == 0 || digits.length > 9)
        return false;
    for (size_t i = 0; i < digits.length; i++) {
        if (digits.data[i] < '0' || digits.data[i] > '9')
            return false;
        width = width * 10 + (size_t)(digits.data[i] - '0');
    }
    *out_size = width * each;
    return true;
}

static eddy_status set_dtype(parser *p, eddy_string descr)
{
    eddy__npy_header *h = &p->header;
    eddy_string rest = {descr.data + 1, descr.length - 1};
    const char order = descr.data[0];

    if (rest.data[0] == 'S' || rest.data[0] == 'U') {
        h->dtype = EDDY_STRING;
        h->kind = rest.data[0] == 'S' ? EDDY__NPY_BYTES : EDDY__NPY_UNICODE;
        if (h->kind == EDDY__NPY_UNICODE && order == '|')
            return fail_descr(p, descr, "has no byte order");
        rest.data++;
        rest.length--;
        if (read_width(rest, h->kind == EDDY__NPY_UNICODE ? 4 : 1,
                       &h->element_size))
            return EDDY_OK;
        return fail_descr(p, descr, "has no length");
    }
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (is_text(rest, codes[i].text)) {
            h->dtype = codes[i].dtype;
            h->kind = EDDY__NPY_NUMBERS;
            h->element_size = eddy_dtype_size(h->dtype);
            if (order == '|' && h->element_size > 1 &&
                h->dtype != EDDY_BFLOAT16)
                return fail_descr(p, descr, "has no byte order");
            return EDDY_OK;
        }
    return fail_descr(p, descr, "is no dtype of eddy's");
}

static eddy_status read_descr(parser *p)
{
    eddy_string descr = {"", 0};

    skip_spaces(p);
    if (p->at < p->end && p->bytes[p->at] == '[')
        return fail_descr(p, (eddy_string){"[...]", 5},
                          "is a structure, not one dtype");
    EDDY_TRY(read_text(p, &descr));
    if (descr.length < 2)
        return fail_descr(p, descr, "is no dtype");
    if (descr.data[0] == '>')
        return fail_descr(p, descr, "is big-endian; little-endian is wanted");
    if (descr.data[0] != '<' && descr.data[0] != '|')
        return fail_descr(p, descr, "does not start with '<' or '|'");
    return set_dtype(p, descr);
}

static eddy_status read_order(parser *p)
{
    if (accept_word(p, "True"))
        p->header.fortran_order = true;
    else if (accept_word(p, "False"))
        p->header.fortran_order = false;
    else
        return fail_at(p, p->at, "True or False is wanted");
    return EDDY_OK;
}

/* "()", "(2,)", "(2, 3)", "(2, 3,)". */
static eddy_status read_shape(parser *p)
{
    eddy_shape *shape = &p->header.shape;
    bool has_comma = true;

    *shape = (eddy_shape){.rank = 0};
    EDDY_TRY(expect(p, '(', "'(' is wanted"));
    while (!accept(p, ')')) {
        if (!has_comma)
            return fail_at(p, p->at, "',' or ')' is wanted");
        if (shape->rank == EDDY_MAX_RANK)
            return eddy__fail(p->err, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                              "the .npy shape has more than %d dimensions",
                              EDDY_MAX_RANK);
        EDDY_TRY(read_number(p, &shape->dims[shape->rank]));
        shape->rank++;
        has_comma = accept(p, ',');
    }
    if (shape->rank == 1 && !has_comma)
        return fail_at(p, p->at - 1, "',' is wanted after the only dimension");
    return EDDY_OK;
}

static eddy_status read_entry(parser *p)
{
    size_t start;
    eddy_string key = {"", 0};
    unsigned which = 0;

    skip_spaces(p);
    start = p->at;
    EDDY_TRY(read_text(p, &key));
    if (is_text(key, "descr"))
        which = HAS_DESCR;
    else if (is_text(key, "fortran_order"))
        which = HAS_ORDER;
    else if (is_text(key, "shape"))
        which = HAS_SHAPE;
    if (which == 0)
        return fail_at(p, start, "descr, fortran_order or shape is wanted");
    if (p->has & which)
        return fail_at(p, start, "the key is given twice");
    p->has |= which;
    EDDY_TRY(expect(p, ':', "':' is wanted"));
    return which == HAS_DESCR   ? read_descr(p)
           : which == HAS_ORDER ? read_order(p)
                                : read_shape(p);
}

static eddy_status read_dict(parser *p)
{
    bool has_comma = true;

    EDDY_TRY(expect(p, '{', "'{' is wanted"));
    while (!accept(p, '}')) {
        if (!has_comma)
            return fail_at(p, p->at, "',' or '}' is wanted");
        EDDY_TRY(read_entry(p));
        has_comma = accept(p, ',');
    }
    if (p->has != HAS_ALL)
        return fail_at(p, p->at - 1,
                       "descr, fortran_order and shape are wanted");
    skip_spaces(p);
    if (p->at != p->end)
        return fail_at(p, p->at, "nothing more is wanted");
    return EDDY_OK;
}

/* ---- the file ---- */

/* Finds the dict behind the magic, the version and the length. */
static eddy_status find_dict(parser *p, size_t length)
{
    const uint8_t *b = p->bytes;
    size_t n;

    if (length < MAGIC_LENGTH || memcmp(b, magic, MAGIC_LENGTH) != 0)
        return fail_at(p, 0, "this is no .npy file");
    if (length < 10)
        return fail_at(p, length, "the file ends");
    if (b[6] < 1 || b[6] > 3 || b[7] != 0)
        return fail_at(p, 6, "format 1.0, 2.0 or 3.0 is wanted");
    p->at = b[6] == 1 ? 10 : 12;
    if (length < p->at)
        return fail_at(p, length, "the file ends");
    n = (size_t)b[8] | (size_t)b[9] << 8;
    if (b[6] > 1)
        n |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (n > length - p->at)
        return fail_at(p, 8, "the header is longer than the file");
    p->end = p->at + n;
    p->header.data = p->end;
    return EDDY_OK;
}

static eddy_status check_data(parser *p, size_t length)
{
    eddy__npy_header *h = &p->header;
    size_t have = length - h->data, want;

    if (!eddy__shape_count(&h->shape, h->element_size > 0 ? h->element_size : 1,
                           &h->count))
        return eddy__fail(p->err, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                          "the .npy shape %s is impossible",
                          eddy__shape_print(&h->shape).text);
    want = (size_t)h->count * h->element_size;
    /* Texts of no length would make any number of elements out of nothing. */
    if (have != want || (h->element_size == 0 && h->count > 0))
        return eddy__fail(p->err, EDDY_INVALID_ARGUMENT, EDDY_E_TENSOR_DATA,
                          "the .npy file has %zu bytes of data, where %s of "
                          "%zu bytes each needs %zu",
                          have, eddy__shape_print(&h->shape).text,
                          h->element_size, want);
    return EDDY_OK;
}

eddy_status eddy__npy_read_header(const uint8_t *bytes, size_t length,
                                  eddy__npy_header *out_header, eddy_error *err)
{
    parser p = {.bytes = bytes, .err = err};

    EDDY_TRY(find_dict(&p, length));
    EDDY_TRY(read_dict(&p));
    EDDY_TRY(check_data(&p, length));
    *out_header = p.header;
    return EDDY_OK;
}

size_t eddy__npy_write_header(eddy_dtype dtype, size_t element_size,
                              const eddy_shape *shape, char *to)
{
    char dims[EDDY_MAX_RANK * 21 + 1] = "";
    size_t used = 0, n;
    char *dict = to + 10;

    for (int32_t i = 0; i < shape->rank; i++)
        used += (size_t)snprintf(dims + used, sizeof dims - used, "%s%lld",
                                 i > 0 ? ", " : "", (long long)shape->dims[i]);
    n = (size_t)snprintf(dict, EDDY__NPY_MAX_HEADER - 10, "{'descr': '");
    if (dtype == EDDY_STRING)
        n += (size_t)snprintf(dict + n, 32, "|S%zu", element_size);
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (codes[i].dtype == dtype)
            n += (size_t)snprintf(dict + n, 32, "%c%s",
                                  eddy_dtype_size(dtype) > 1 ? '<' : '|',
                                  codes[i].text);
    n += (size_t)snprintf(dict + n, EDDY__NPY_MAX_HEADER - 10 - n,
                          "', 'fortran_order': False, 'shape': (%s%s), }", dims,
                          shape->rank == 1 ? "," : "");
    /* The data starts at a multiple of 64, after a newline. */
    while ((10 + n + 1) % 64 != 0)
        dict[n++] = ' ';
    dict[n++] = '\n';
    memcpy(to, magic, sizeof magic);
    to[8] = (char)(n & 0xff);
    to[9] = (char)(n >> 8);
    return 10 + n;
}
