/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops that take texts apart: Substr, StringSplitV2 and StringSplit, and
 * StringToNumber, which reads them.
 */
#include "ops/array/broadcast.h"
#include "ops/misc/text.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* ---- Substr ---- */

enum { INPUT, POS, LEN };

/* Where the character after that at `at` begins. */
static size_t next_character(const eddy__string *s, size_t at)
{
    at++;
    while (at < s->length && ((unsigned char)s->data[at] & 0xc0) == 0x80)
        at++;
    return at;
}

/* `n` characters on from `at`, or fewer if the text ends; tells how many. */
static size_t go_on(eddy_kernel *k, const eddy__string *s, size_t at,
                    uint64_t n, uint64_t *out_n)
{
    for (*out_n = 0; *out_n < n && at < s->length; ++*out_n) {
        if (eddy__spent_at(k, (int64_t)*out_n))
            break;
        at = next_character(s, at);
    }
    return at;
}

/* The same backwards. */
static size_t go_back(eddy_kernel *k, const eddy__string *s, uint64_t n,
                      uint64_t *out_n)
{
    size_t at = s->length;

    for (*out_n = 0; *out_n < n && at > 0; ++*out_n) {
        if (eddy__spent_at(k, (int64_t)*out_n))
            break;
        at--;
        while (at > 0 && ((unsigned char)s->data[at] & 0xc0) == 0x80)
            at--;
    }
    return at;
}

/* Where character `pos` is; false if the text has none. */
static bool find_start(eddy_kernel *k, const eddy__string *s, int64_t pos,
                       bool is_utf8, size_t *out_at)
{
    const uint64_t n = pos < 0 ? 0 - (uint64_t)pos : (uint64_t)pos;
    uint64_t found = n;

    if (is_utf8)
        *out_at =
            pos < 0 ? go_back(k, s, n, &found) : go_on(k, s, 0, n, &found);
    else if (n <= s->length)
        *out_at = pos < 0 ? s->length - (size_t)n : (size_t)n;
    else
        found = 0;
    return found == n;
}

/* As TensorFlow, a negative length is one without end, of characters none. */
static size_t find_end(eddy_kernel *k, const eddy__string *s, size_t at,
                       int64_t length, bool is_utf8)
{
    uint64_t n = (uint64_t)length;

    if (is_utf8 && length < 0)
        return at;
    if (is_utf8)
        return go_on(k, s, at, n, &n);
    return n < s->length - at ? at + (size_t)n : s->length;
}

static eddy_status put_part(eddy_kernel *k, eddy_tensor *out, int64_t i,
                            const eddy__broadcast *b)
{
    const bool *is_utf8 = eddy__state(k);
    const eddy__string *s = &eddy__in_strings(k, INPUT)[b->offsets[INPUT]];
    const eddy_view pos = eddy__in_view(k, POS), len = eddy__in_view(k, LEN);
    const int64_t at = eddy__view_index(&pos, b->offsets[POS]);
    const int64_t length = eddy__view_index(&len, b->offsets[LEN]);
    size_t from = 0, to;

    if (*is_utf8 && at < 0 && length < 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                           "position %" PRId64 " and length %" PRId64
                           " of element %" PRId64 " are both negative",
                           at, length, i);
    EDDY_TRY(eddy__go_on(k, 64));
    if (!find_start(k, s, at, *is_utf8, &from)) {
        EDDY_TRY(eddy__go_on(k, 0));
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                           "position %" PRId64 " is not in element %" PRId64
                           ", of %zu bytes",
                           at, i, s->length);
    }
    to = find_end(k, s, from, length, *is_utf8);
    return to == from ? EDDY_OK
                      : eddy__set_text(k, out, i, s->data + from, to - from);
}

static eddy_status run_substr(eddy_kernel *k)
{
    const eddy_shape *const shapes[] = {eddy__in_shape(k, INPUT),
                                        eddy__in_shape(k, POS),
                                        eddy__in_shape(k, LEN)};
    eddy__broadcast b;
    eddy_tensor *out;
    eddy_shape shape;
    int64_t i = 0;

    if (!eddy__shape_equal(shapes[POS], shapes[LEN]) ||
        !eddy__shape_broadcast(shapes[INPUT], shapes[POS], &shape))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "positions of shape %s and lengths of shape %s "
                           "don't fit texts of shape %s",
                           eddy__shape_print(shapes[POS]).text,
                           eddy__shape_print(shapes[LEN]).text,
                           eddy__shape_print(shapes[INPUT]).text);
    EDDY_TRY(eddy__output_strings(k, 0, &shape, &out));
    if (out->count == 0)
        return EDDY_OK;
    eddy__broadcast_init(&b, &shape, shapes, 3);
    do {
        EDDY_TRY(put_part(k, out, i++, &b));
    } while (eddy__broadcast_next(&b, 0));
    return EDDY_OK;
}

static eddy_status prepare_substr(eddy_infer *infer)
{
    bool *state = eddy__prepare_state(infer, sizeof *state);
    eddy_attr unit;

    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    if (!eddy_infer_attr(infer, "unit", &unit))
        return EDDY_OK;
    *state = unit.as.strings[0].length == 9 &&
             memcmp(unit.as.strings[0].data, "UTF8_CHAR", 9) == 0;
    if (*state || (unit.as.strings[0].length == 4 &&
                   memcmp(unit.as.strings[0].data, "BYTE", 4) == 0))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "unit must be 'BYTE' or 'UTF8_CHAR'");
}

/* ---- StringToNumber ---- */

/* The text without white space around it is one whole number. */
static bool read_float(const eddy__string *s, bool is_single, double *out)
{
    const char *end = s->data;
    size_t length = s->length;
    char *stop;

    while (length > 0 && is_space(s->data[length - 1]))
        length--;
    if (length == 0 || memchr(s->data, '\0', length))
        return false;
    *out = is_single ? (double)strtof(s->data, &stop) : strtod(s->data, &stop);
    return stop > end && stop == s->data + length;
}

/* Digits with a sign, as their size; TensorFlow takes no '-' if unsigned. */
static bool read_integer(const eddy__string *s, bool *is_negative,
                         uint64_t *out)
{
    size_t at = 0, length = s->length;

    while (length > 0 && is_space(s->data[length - 1]))
        length--;
    while (at < length && is_space(s->data[at]))
        at++;
    *is_negative = at < length && s->data[at] == '-';
    if (at < length && (s->data[at] == '-' || s->data[at] == '+'))
        at++;
    if (at == length)
        return false;
    for (*out = 0; at < length; at++) {
        const char c = s->data[at];

        if (c < '0' || c > '9' || __builtin_mul_overflow(*out, 10u, out) ||
            __builtin_add_overflow(*out, (uint64_t)(c - '0'), out))
            return false;
    }
    return true;
}

static bool set_integer(const eddy__string *s, eddy_dtype dtype, void *out,
                        int64_t i)
{
    const bool is_wide = dtype == EDDY_INT64 || dtype == EDDY_UINT64;
    const bool is_signed = dtype == EDDY_INT32 || dtype == EDDY_INT64;
    uint64_t most = is_wide ? UINT64_MAX : UINT32_MAX;
    bool is_negative;
    uint64_t size;

    if (!read_integer(s, &is_negative, &size) || (is_negative && !is_signed))
        return false;
    if (is_signed)
        most = most / 2 + is_negative;
    if (size > most)
        return false;
    if (is_negative)
        size = 0 - size;
    if (is_wide)
        ((uint64_t *)out)[i] = size;
    else
        ((uint32_t *)out)[i] = (uint32_t)size;
    return true;
}

static bool set_number(const eddy__string *s, eddy_dtype dtype, void *out,
                       int64_t i)
{
    double value;

    if (dtype != EDDY_FLOAT32 && dtype != EDDY_FLOAT64)
        return set_integer(s, dtype, out, i);
    if (!read_float(s, dtype == EDDY_FLOAT32, &value))
        return false;
    if (dtype == EDDY_FLOAT32)
        ((float *)out)[i] = (float)value;
    else
        ((double *)out)[i] = value;
    return true;
}

static eddy_status run_number(eddy_kernel *k)
{
    const eddy_dtype dtype = (eddy_dtype)k->node->out_dtypes[0];
    const eddy__string *strings = eddy__in_strings(k, 0);
    const int64_t n = eddy__in_count(k, 0);
    char text[100];
    void *out;

    EDDY_TRY(eddy__output(k, 0, dtype, eddy__in_shape(k, 0), &out));
    for (int64_t i = 0; i < n; i++) {
        EDDY_TRY(eddy__go_on(k, 128 + (int64_t)strings[i].length));
        if (set_number(&strings[i], dtype, out, i))
            continue;
        eddy__copy_text(text, sizeof text, strings[i].data, strings[i].length);
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "element %" PRId64 ", '%s', is no %s", i, text,
                           eddy_dtype_name(dtype));
    }
    return EDDY_OK;
}

/* ---- StringSplitV2 ---- */

/* Of the node. */
typedef struct manner {
    int64_t most;     /* splits; negative: any number */
    bool by_bytes;    /* each byte of the separator is one, as in StringSplit */
    bool skips_empty; /* parts, likewise */
} manner;

typedef struct splitting {
    eddy_kernel *kernel;
    const manner *manner;
    const eddy__string *text, *separator; /* none: white space */
    int64_t n;                            /* parts so far */
    size_t at;
    bool is_over;
} splitting;

/* The end of the text, too, where the run is to stop. */
static size_t find_separator(const splitting *s)
{
    const size_t length = s->separator->length;
    const size_t end = s->text->length;

    for (size_t at = s->at; s->manner->by_bytes && at < end; at++)
        if (eddy__spent(s->kernel, 1 + (int64_t)(length / 16)) ||
            memchr(s->separator->data, s->text->data[at], length))
            return eddy__gave_up(s->kernel) ? end : at;
    for (size_t at = s->at; !s->manner->by_bytes && at + length <= end; at++)
        if (eddy__spent(s->kernel, 1 + (int64_t)(length / 16)) ||
            memcmp(s->text->data + at, s->separator->data, length) == 0)
            return eddy__gave_up(s->kernel) ? end : at;
    return end;
}

/*
 * Python's split() without a separator, but that what is left after the last
 * split is a part even if it is empty.
 */
static bool next_word(splitting *s, size_t *from, size_t *to)
{
    const int64_t most = s->manner->most;
    const eddy__string *t = s->text;

    /* A text that is not to be split stays as it is. */
    while (most != 0 && s->at < t->length && is_space(t->data[s->at]))
        s->at++;
    if (s->is_over || (s->at == t->length && (most <= 0 || s->n < most)))
        return false;
    *from = s->at;
    s->is_over = most >= 0 && s->n == most;
    if (s->is_over)
        s->at = t->length;
    while (s->at < t->length && !is_space(t->data[s->at]))
        s->at++;
    *to = s->at;
    s->n++;
    return true;
}

/* A byte is a part if nothing separates. */
static bool next_byte(splitting *s, size_t *from, size_t *to)
{
    *from = s->at;
    *to = ++s->at;
    s->n += *to <= s->text->length;
    return *to <= s->text->length;
}

/* StringSplit's next part; an empty text has none. */
static bool next_between(splitting *s, size_t *from, size_t *to)
{
    if (s->separator->length == 0)
        return next_byte(s, from, to);
    s->is_over = s->is_over || s->text->length == 0;
    while (!s->is_over) {
        *from = s->at;
        *to = find_separator(s);
        s->is_over = *to == s->text->length;
        s->at = *to + 1;
        if (*to == *from && s->manner->skips_empty)
            continue;
        s->n++;
        return true;
    }
    return false;
}

/* The next part of the text; false behind the last. */
static bool next_part(splitting *s, size_t *from, size_t *to)
{
    if (s->manner->by_bytes)
        return next_between(s, from, to);
    if (s->separator->length == 0)
        return next_word(s, from, to);
    if (s->is_over)
        return false;
    *from = s->at;
    *to = s->manner->most >= 0 && s->n == s->manner->most ? s->text->length
                                                          : find_separator(s);
    s->is_over = *to == s->text->length;
    s->at = *to + s->separator->length;
    s->n++;
    return true;
}

static splitting split(eddy_kernel *k, int64_t i)
{
    return (splitting){.kernel = k,
                       .manner = eddy__state(k),
                       .text = &eddy__in_strings(k, 0)[i],
                       .separator = eddy__in_strings(k, 1)};
}

static eddy_status put_parts(eddy_kernel *k, int64_t rows, int64_t *indices,
                             eddy_tensor *values)
{
    int64_t n = 0;
    size_t from, to;

    for (int64_t i = 0; i < rows; i++) {
        splitting s = split(k, i);

        EDDY_TRY(eddy__go_on(k, 16));
        for (int64_t j = 0; next_part(&s, &from, &to); j++, n++) {
            EDDY_TRY(eddy__go_on(k, 16 + (int64_t)(to - from)));
            indices[2 * n] = i;
            indices[2 * n + 1] = j;
            if (to > from)
                EDDY_TRY(eddy__set_text(k, values, n, s.text->data + from,
                                        to - from));
        }
    }
    return EDDY_OK;
}

static eddy_status run_split(eddy_kernel *k)
{
    const int64_t rows = eddy__in_count(k, 0);
    const eddy_shape two = eddy__shape_vector(2);
    eddy_shape places, parts;
    int64_t n = 0, widest = 0;
    void *indices, *shape;
    eddy_tensor *values;
    size_t from, to;

    if (eddy__in_shape(k, 0)->rank != 1 || eddy__in_shape(k, 1)->rank != 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the input must be a vector and sep a scalar, but "
                           "they have shapes %s and %s",
                           eddy__shape_print(eddy__in_shape(k, 0)).text,
                           eddy__shape_print(eddy__in_shape(k, 1)).text);
    for (int64_t i = 0; i < rows; i++) {
        splitting s = split(k, i);

        while (next_part(&s, &from, &to))
            EDDY_TRY(eddy__go_on(k, 16 + (int64_t)(to - from)));
        EDDY_TRY(eddy__go_on(k, 64));
        n += s.n;
        widest = s.n > widest ? s.n : widest;
    }
    places = (eddy_shape){.rank = 2, .dims = {n, 2}};
    parts = eddy__shape_vector(n);
    EDDY_TRY(eddy__output(k, 0, EDDY_INT64, &places, &indices));
    EDDY_TRY(eddy__output_strings(k, 1, &parts, &values));
    EDDY_TRY(eddy__output(k, 2, EDDY_INT64, &two, &shape));
    ((int64_t *)shape)[0] = rows;
    ((int64_t *)shape)[1] = widest;
    return put_parts(k, rows, indices, values);
}

static eddy_status prepare_split(eddy_infer *infer)
{
    manner *m = eddy__prepare_state(infer, sizeof *m);

    if (!m)
        return EDDY_RESOURCE_EXHAUSTED;
    m->most = eddy__infer_int(infer, "maxsplit");
    return EDDY_OK;
}

static eddy_status prepare_old_split(eddy_infer *infer)
{
    manner *m = eddy__prepare_state(infer, sizeof *m);

    if (!m)
        return EDDY_RESOURCE_EXHAUSTED;
    *m = (manner){.most = -1,
                  .by_bytes = true,
                  .skips_empty = eddy__infer_bool(infer, "skip_empty")};
    return EDDY_OK;
}

/* ---- shapes ---- */

static eddy_status infer_substr(eddy_infer *infer)
{
    const eddy_shape *of = eddy_infer_input(infer, INPUT);
    eddy_shape shape;

    if (eddy__shape_merge(eddy_infer_input(infer, POS),
                          eddy_infer_input(infer, LEN), &shape) &&
        eddy__shape_broadcast(of, &shape, &shape))
        eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status infer_split(eddy_infer *infer)
{
    const eddy_shape places = {.rank = 2, .dims = {-1, 2}};
    const eddy_shape some = eddy__shape_of_rank(1);
    const eddy_shape two = eddy__shape_vector(2);

    eddy_infer_set_output(infer, 0, &places);
    eddy_infer_set_output(infer, 1, &some);
    eddy_infer_set_output(infer, 2, &two);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("Substr", .inputs = "input: string, pos: T, len: T",
                 .outputs = "output: string",
                 .attrs = "T: index, unit: string = 'BYTE'",
                 .infer = infer_substr, .kernel = run_substr,
                 .prepare = prepare_substr, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "Parts of texts, by position and length."),
    EDDY__OP_ROW("StringToNumber", .inputs = "string_tensor: string",
                 .outputs = "output: out_type",
                 .attrs = "out_type: {float32, float64, int32, int64, uint32, "
                          "uint64} = float32",
                 .infer = eddy__infer_unchanged, .kernel = run_number,
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The number that each text is."),
    EDDY__OP_ROW(
        "StringSplitV2", .inputs = "input: string, sep: string",
        .outputs = "indices: int64, values: string, shape: int64",
        .attrs = "maxsplit: int = -1", .infer = infer_split,
        .kernel = run_split, .prepare = prepare_split,
        .flags = EDDY_OP_NOT_DIFFERENTIABLE,
        .doc = "The parts of texts between separators, as a sparse matrix."),
    EDDY__OP_ROW("StringSplit", .inputs = "input: string, delimiter: string",
                 .outputs = "indices: int64, values: string, shape: int64",
                 .attrs = "skip_empty: bool = true", .infer = infer_split,
                 .kernel = run_split, .prepare = prepare_old_split,
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The same, where each byte of the delimiter separates; "
                        "without one each byte is a part."),
};

const eddy__op_table eddy__string_parts_ops = {specs, NULL,
                                               sizeof specs / sizeof *specs};
