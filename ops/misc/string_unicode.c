/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts as numbers of characters and back: UTF-8 is read, UTF-8, UTF-16 and
 * UTF-32 are written.  Of bytes that are no character, as many as could have
 * begun one count as one mistake.
 */
#include "ops/misc/utf8.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <string.h>

typedef enum errors { REPLACE, IGNORE, STRICT } errors;
typedef enum encoding { UTF8, UTF16, UTF32 } encoding;

typedef struct manner {
    errors errors;
    encoding encoding;
    int32_t replacement;
    bool replaces_controls;
} manner;

/* ---- reading ---- */

/*
 * The next character as the node wants it; false at the end.  `*out_c` is
 * EDDY__UTF8_MISTAKE for a mistake that is neither left out nor replaced.
 */
static bool read_next(const manner *m, const eddy__string *s, size_t *at,
                      size_t *out_start, int32_t *out_c)
{
    while (*at < s->length) {
        bool is_control;

        *out_start = *at;
        *out_c = eddy__utf8_next(s, at);
        is_control = *out_c >= 0 && *out_c < 32 && m->replaces_controls;
        if (m->errors == IGNORE && (*out_c == EDDY__UTF8_MISTAKE || is_control))
            continue;
        if (is_control ||
            (*out_c == EDDY__UTF8_MISTAKE && m->errors == REPLACE))
            *out_c = m->replacement;
        return true;
    }
    return false;
}

static eddy_status count_characters(eddy_kernel *k, int64_t *out_n)
{
    const manner *m = eddy__state(k);
    const eddy__string *from = eddy__in_strings(k, 0);
    const int64_t n = eddy__in_count(k, 0);
    size_t start;
    int32_t c;

    *out_n = 0;
    for (int64_t i = 0; i < n; i++) {
        size_t at = 0;

        for (; read_next(m, &from[i], &at, &start, &c); ++*out_n) {
            if (eddy__spent_at(k, *out_n))
                return eddy__go_on(k, 0);
            if (c == EDDY__UTF8_MISTAKE)
                return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                                   "byte %zu of element %" PRId64
                                   " begins no character of UTF-8",
                                   start, i);
        }
        EDDY_TRY(eddy__go_on(k, 16 + (int64_t)from[i].length * 2));
    }
    return EDDY_OK;
}

static void set_split(void *splits, eddy_dtype dtype, int64_t i, int64_t value)
{
    if (dtype == EDDY_INT32)
        ((int32_t *)splits)[i] = (int32_t)value;
    else
        ((int64_t *)splits)[i] = value;
}

static eddy_status run_decode(eddy_kernel *k)
{
    const manner *m = eddy__state(k);
    const eddy__string *from = eddy__in_strings(k, 0);
    const eddy_dtype dtype = (eddy_dtype)k->node->out_dtypes[0];
    const int64_t rows = eddy__in_count(k, 0);
    const eddy_shape ends = eddy__shape_vector(rows + 1);
    eddy_shape all;
    void *splits, *values, *starts = NULL;
    int64_t n = 0;

    EDDY_TRY(count_characters(k, &n));
    if (dtype == EDDY_INT32 && n > INT32_MAX)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                           "%" PRId64 " characters are too many for row_splits "
                           "of int32",
                           n);
    all = eddy__shape_vector(n);
    EDDY_TRY(eddy__output(k, 0, dtype, &ends, &splits));
    EDDY_TRY(eddy__output(k, 1, EDDY_INT32, &all, &values));
    if (k->node->n_out > 2)
        EDDY_TRY(eddy__output(k, 2, EDDY_INT64, &all, &starts));
    n = 0;
    set_split(splits, dtype, 0, 0);
    for (int64_t i = 0; i < rows; i++) {
        size_t at = 0, start;
        int32_t c;

        for (; read_next(m, &from[i], &at, &start, &c); n++) {
            if (eddy__spent_at(k, n))
                return eddy__go_on(k, 0);
            ((int32_t *)values)[n] = c;
            if (starts)
                ((int64_t *)starts)[n] = (int64_t)start;
        }
        set_split(splits, dtype, i + 1, n);
        EDDY_TRY(eddy__go_on(k, 16 + (int64_t)from[i].length * 2));
    }
    return EDDY_OK;
}

/* ---- writing ---- */

static void add_units(eddy__text *out, uint32_t unit, int bytes)
{
    char data[4];

    for (int i = 0; i < bytes; i++)
        data[i] = (char)(unsigned char)(unit >> 8 * (bytes - 1 - i));
    eddy__text_add(out, data, (size_t)bytes);
}

static void add_character(eddy__text *out, encoding as, uint32_t c)
{
    if (as == UTF8) {
        eddy__utf8_add(out, c);
    } else if (as == UTF16 && c >= 0x10000) {
        add_units(out, 0xd800 + ((c - 0x10000) >> 10), 2);
        add_units(out, 0xdc00 + ((c - 0x10000) & 0x3ff), 2);
    } else {
        add_units(out, c, as == UTF16 ? 2 : 4);
    }
}

static eddy_status encode_row(eddy_kernel *k, const int32_t *from, int64_t n,
                              eddy__text *out)
{
    const manner *m = eddy__state(k);

    for (int64_t i = 0; i < n && !eddy__spent_at(k, i); i++) {
        if (eddy__utf8_is_character(from[i]))
            add_character(out, m->encoding, (uint32_t)from[i]);
        else if (m->errors == REPLACE)
            add_character(out, m->encoding, (uint32_t)m->replacement);
        else if (m->errors == STRICT)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                               "%" PRId32 " is the number of no character",
                               from[i]);
    }
    return EDDY_OK;
}

/* Ends of rows, which begin with 0, never fall, and end with `n`. */
static eddy_status check_splits(eddy_kernel *k, const eddy_view *splits,
                                int64_t n)
{
    int64_t before = 0;

    if (splits->rank != 1 || splits->count < 1 ||
        eddy__view_index(splits, 0) != 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "input_splits must be a vector that begins with 0");
    for (int64_t i = 1; i < splits->count; i++) {
        const int64_t end = eddy__view_index(splits, i);

        if (eddy__spent_at(k, i))
            return eddy__go_on(k, 0);
        if (end < before || end > n)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                               "input_splits has %" PRId64 " behind %" PRId64
                               ", of %" PRId64 " values",
                               end, before, n);
        before = end;
    }
    if (before != n)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "input_splits ends with %" PRId64
                           ", but there are %" PRId64 " values",
                           before, n);
    return EDDY_OK;
}

static eddy_status run_encode(eddy_kernel *k)
{
    const eddy_view splits = eddy__in_view(k, 1);
    const int32_t *from = (const void *)eddy__in_elements(k, 0);
    eddy__text text;
    eddy_status status = EDDY_OK;
    eddy_tensor *out;
    eddy_shape shape;

    if (eddy__in_shape(k, 0)->rank != 1)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "input_values must be a vector, it has shape %s",
                           eddy__shape_print(eddy__in_shape(k, 0)).text);
    EDDY_TRY(check_splits(k, &splits, eddy__in_count(k, 0)));
    shape = eddy__shape_vector(splits.count - 1);
    EDDY_TRY(eddy__output_strings(k, 0, &shape, &out));
    text = eddy__text_begin(k);
    for (int64_t i = 0; i < out->count && status == EDDY_OK; i++) {
        const int64_t at = eddy__view_index(&splits, i);

        eddy__text_clear(&text);
        status = encode_row(k, from + at, eddy__view_index(&splits, i + 1) - at,
                            &text);
        if (status == EDDY_OK)
            status = eddy__text_put(k, &text, out, i);
    }
    eddy__text_end(&text);
    return status;
}

/* ---- preparation ---- */

/* Which of `names` the attribute is, or a failure. */
static eddy_status choose(eddy_infer *infer, const char *name,
                          const char *const names[3], int *out_choice)
{
    eddy_attr attr;

    if (!eddy_infer_attr(infer, name, &attr))
        return EDDY_OK;
    for (int i = 0; i < 3; i++) {
        *out_choice = i;
        if (names[i] && attr.as.strings[0].length == strlen(names[i]) &&
            memcmp(attr.as.strings[0].data, names[i], strlen(names[i])) == 0)
            return EDDY_OK;
    }
    return eddy_infer_fail(infer, EDDY_UNIMPLEMENTED, EDDY_E_ATTR_VALUE,
                           "%s is none that is known here", name);
}

static eddy_status prepare(eddy_infer *infer, const char *name,
                           const char *const encodings[3], bool has_controls)
{
    static const char *const ways[] = {"replace", "ignore", "strict"};
    manner *m = eddy__prepare_state(infer, sizeof *m);
    int way = 0, code = 0;

    if (!m)
        return EDDY_RESOURCE_EXHAUSTED;
    EDDY_TRY(choose(infer, "errors", ways, &way));
    EDDY_TRY(choose(infer, name, encodings, &code));
    m->errors = (errors)way;
    m->encoding = (encoding)code;
    m->replacement = (int32_t)eddy__infer_int(infer, "replacement_char");
    m->replaces_controls =
        has_controls && eddy__infer_bool(infer, "replace_control_characters");
    if (eddy__utf8_is_character(eddy__infer_int(infer, "replacement_char")))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "replacement_char is the number of no character");
}

static eddy_status prepare_decode(eddy_infer *infer)
{
    static const char *const names[] = {"UTF-8", NULL, NULL};

    return prepare(infer, "input_encoding", names, true);
}

static eddy_status prepare_encode(eddy_infer *infer)
{
    static const char *const names[] = {"UTF-8", "UTF-16-BE", "UTF-32-BE"};

    return prepare(infer, "output_encoding", names, false);
}

static eddy_status infer_decode(eddy_infer *infer)
{
    const eddy_shape *of = eddy_infer_input(infer, 0);
    const eddy_shape some = eddy__shape_of_rank(1);
    eddy_shape ends = some;
    int64_t rows = 0;

    if (eddy__shape_is_known(of) && eddy__shape_count(of, 1, &rows))
        ends = eddy__shape_vector(rows + 1);
    eddy_infer_set_output(infer, 0, &ends);
    for (uint32_t i = 1; i < eddy_infer_outputs(infer); i++)
        eddy_infer_set_output(infer, i, &some);
    return EDDY_OK;
}

static eddy_status infer_encode(eddy_infer *infer)
{
    const eddy_shape some = eddy__shape_of_rank(1);

    eddy_infer_set_output(infer, 0, &some);
    return EDDY_OK;
}

#define ERRORS                                                                 \
    "errors: string = 'replace', replacement_char: int = 65533, Tsplits: "     \
    "index = int64"
#define DECODE                                                                 \
    "input_encoding: string, replace_control_characters: bool = "              \
    "false, " ERRORS
#define DECODED "row_splits: Tsplits, char_values: int32"

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("UnicodeDecode", .inputs = "input: string", .outputs = DECODED,
                 .attrs = DECODE, .infer = infer_decode, .kernel = run_decode,
                 .prepare = prepare_decode, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The numbers of the characters of texts in UTF-8, and "
                        "where those of each text end."),
    EDDY__OP_ROW("UnicodeDecodeWithOffsets", .inputs = "input: string",
                 .outputs = DECODED ", char_to_byte_starts: int64",
                 .attrs = DECODE, .infer = infer_decode, .kernel = run_decode,
                 .prepare = prepare_decode, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The same, and at which byte each begins."),
    EDDY__OP_ROW("UnicodeEncode",
                 .inputs = "input_values: int32, input_splits: Tsplits",
                 .outputs = "output: string",
                 .attrs = ERRORS ", output_encoding: string",
                 .infer = infer_encode, .kernel = run_encode,
                 .prepare = prepare_encode, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "Texts of characters with these numbers."),
};

const eddy__op_table eddy__string_unicode_ops = {specs, NULL,
                                                 sizeof specs / sizeof *specs};
