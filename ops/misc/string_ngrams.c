/* SPDX-License-Identifier: Apache-2.0 */
/*
 * StringNGrams: each sequence of so many neighbours among the texts of a row,
 * put together with a separator; a row may have texts of padding around it.
 */
#include "ops/array/ragged.h"
#include "ops/misc/text.h"
#include "ops/ops.h"

/* What a text of the output counts, in about nanoseconds. */
#define GRAM_WORK 64

typedef struct piece {
    const char *data;
    size_t length;
} piece;

/* What the node says. */
typedef struct manner {
    piece separator, left, right;
    int64_t padding;  /* below 0: as much as the width takes */
    bool keeps_short; /* a row without a sequence becomes one */
    size_t n;         /* widths */
    int64_t *widths;  /* behind it */
} manner;

/* A row of the input. */
typedef struct row {
    const eddy__string *texts;
    int64_t n;
} row;

static int64_t padding_of(const manner *m, int64_t width)
{
    return m->padding < 0 || m->padding > width - 1 ? width - 1 : m->padding;
}

/* How many sequences of a width a row of `n` texts has. */
static int64_t grams_of(const manner *m, int64_t n, int64_t width)
{
    const int64_t count = n + 2 * padding_of(m, width) - width + 1;

    return count > 0 ? count : 0;
}

static row row_at(const eddy_kernel *k, const eddy_view *splits, int64_t i)
{
    const int64_t from = eddy__view_index(splits, i);

    return (row){eddy__in_strings(k, 0) + from,
                 eddy__view_index(splits, i + 1) - from};
}

/* ---- checking ---- */

static eddy_status refuse(eddy_kernel *k, const char *what)
{
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE, "%s", what);
}

/* Splits, if there are any, rise from 0 to the number of texts. */
static eddy_status check_splits(eddy_kernel *k, const eddy_view *splits)
{
    int64_t before = 0;

    if (splits->count > 0 && eddy__view_index(splits, 0) != 0)
        return refuse(k, "the splits must begin with 0");
    for (int64_t i = 1; i < splits->count; i++) {
        const int64_t now = eddy__view_index(splits, i);

        if (now < before)
            return refuse(k, "the splits must not fall");
        before = now;
        if (eddy__spent_at(k, i))
            return eddy__go_on(k, 0);
    }
    if (splits->count > 0 && before != eddy__in_count(k, 0))
        return refuse(k, "the splits must end with the number of texts");
    return EDDY_OK;
}

/* ---- putting together ---- */

/*
 * Text `i` of the padded row from `i` = -padding on.  The separator stands
 * before each but the first, which may be empty.
 */
static eddy_status put_gram(eddy_kernel *k, const row *r, int64_t first,
                            int64_t width, eddy__text *text)
{
    const manner *m = eddy__state(k);

    eddy__text_clear(text);
    for (int64_t i = first; i < first + width && !text->failed; i++) {
        const piece part = i < 0 ? m->left
                           : i >= r->n
                               ? m->right
                               : (piece){r->texts[i].data, r->texts[i].length};

        if (i > first)
            eddy__text_add(text, m->separator.data, m->separator.length);
        eddy__text_add(text, part.data, part.length);
        EDDY_TRY(eddy__go_on(k, 4 + (int64_t)(part.length / 16)));
    }
    return EDDY_OK;
}

typedef struct output {
    eddy_tensor *grams;
    int64_t at;
    eddy__text text;
} output;

/* All sequences of a row, of `padding` and a width. */
static eddy_status put_grams(eddy_kernel *k, const row *r, int64_t padding,
                             int64_t width, output *out)
{
    const int64_t n = r->n + 2 * padding - width + 1;

    for (int64_t i = 0; i < n; i++) {
        EDDY_TRY(put_gram(k, r, i - padding, width, &out->text));
        EDDY_TRY(eddy__text_put(k, &out->text, out->grams, out->at++));
        EDDY_TRY(eddy__go_on(k, GRAM_WORK));
    }
    return EDDY_OK;
}

static eddy_status put_row(eddy_kernel *k, const row *r, output *out)
{
    const manner *m = eddy__state(k);
    const int64_t before = out->at;

    for (size_t w = 0; w < m->n; w++)
        EDDY_TRY(
            put_grams(k, r, padding_of(m, m->widths[w]), m->widths[w], out));
    if (!m->keeps_short || out->at > before || r->n == 0)
        return EDDY_OK;
    if (m->padding < 0)
        return refuse(k, "a short row is kept with as much padding as "
                         "pad_width says, which must not be negative");
    return put_grams(k, r, m->padding, r->n + 2 * m->padding, out);
}

/* ---- the kernel ---- */

/* Output 1: where the sequences of each row end. */
static eddy_status put_splits(eddy_kernel *k, const eddy_view *splits,
                              int64_t *out_n)
{
    const manner *m = eddy__state(k);
    const eddy_dtype dtype = (eddy_dtype)k->node->out_dtypes[1];
    const int64_t most = dtype == EDDY_INT64 ? INT64_MAX / 2 : INT32_MAX;
    const bool any = eddy__in_count(k, 0) > 0;
    void *out;

    *out_n = 0;
    EDDY_TRY(eddy__output(k, 1, dtype, eddy__in_shape(k, 1), &out));
    for (int64_t i = 0; i < splits->count; i++) {
        const row r = i > 0 ? row_at(k, splits, i - 1) : (row){.n = 0};
        int64_t n = 0;

        for (size_t w = 0; any && i > 0 && w < m->n && n <= most; w++)
            n += grams_of(m, r.n, m->widths[w]);
        if (m->keeps_short && n == 0 && r.n > 0)
            n = 1;
        if (n > most - *out_n)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SIZE,
                               "there are too many sequences");
        *out_n += n;
        eddy__ragged_put_split(out, dtype, i, *out_n);
        EDDY_TRY(eddy__go_on(k, 4 + 4 * (int64_t)m->n));
    }
    return EDDY_OK;
}

static eddy_status run_ngrams(eddy_kernel *k)
{
    const eddy_view splits = eddy__in_view(k, 1);
    eddy_shape shape = *eddy__in_shape(k, 0);
    output out = {.text = eddy__text_begin(k)};
    eddy_status status = EDDY_OK;
    int64_t n = 0;

    EDDY_TRY(check_splits(k, &splits));
    EDDY_TRY(put_splits(k, &splits, &n));
    /* Without splits TensorFlow's output is as many empty texts. */
    if (eddy__in_count(k, 0) > 0 && splits.count > 0)
        shape = eddy__shape_vector(n);
    EDDY_TRY(eddy__output_strings(k, 0, &shape, &out.grams));
    for (int64_t i = 0; n > 0 && i + 1 < splits.count && status == EDDY_OK;
         i++) {
        const row r = row_at(k, &splits, i);

        status = put_row(k, &r, &out);
    }
    eddy__text_end(&out.text);
    return status;
}

/* ---- for a plan ---- */

static bool read_piece(eddy_infer *infer, const char *name, piece *out)
{
    out->data = eddy__prepare_text(infer, name, &out->length);
    return out->data != NULL;
}

static eddy_status prepare_ngrams(eddy_infer *infer)
{
    eddy_attr widths = {.n = 0};
    manner m = {.padding = eddy__infer_int(infer, "pad_width"),
                .keeps_short =
                    eddy__infer_bool(infer, "preserve_short_sequences")};
    manner *state;

    (void)eddy_infer_attr(infer, "ngram_widths", &widths);
    m.n = widths.n;
    if (!read_piece(infer, "separator", &m.separator) ||
        !read_piece(infer, "left_pad", &m.left) ||
        !read_piece(infer, "right_pad", &m.right))
        return EDDY_RESOURCE_EXHAUSTED;
    state =
        eddy__prepare_state(infer, sizeof *state + m.n * sizeof *state->widths);
    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    m.widths = (int64_t *)(state + 1);
    *state = m;
    for (size_t i = 0; i < m.n; i++) {
        state->widths[i] = widths.as.ints[i];
        if (state->widths[i] < 1 || state->widths[i] > INT32_MAX)
            return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT,
                                   EDDY_E_ATTR_VALUE,
                                   "ngram_widths must be positive");
    }
    if (m.padding <= INT32_MAX)
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "pad_width is too large");
}

static eddy_status infer_ngrams(eddy_infer *infer)
{
    const eddy_shape vector = eddy__shape_of_rank(1);

    if (eddy_infer_input(infer, 0)->rank == 1)
        eddy_infer_set_output(infer, 0, &vector);
    eddy_infer_set_output(infer, 1, eddy_infer_input(infer, 1));
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("StringNGrams", .inputs = "data: string, data_splits: Tsplits",
                 .outputs = "ngrams: string, ngrams_splits: Tsplits",
                 .attrs = "separator: string, ngram_widths: list(int), "
                          "left_pad: string, right_pad: string, "
                          "pad_width: int, preserve_short_sequences: bool, "
                          "Tsplits: index = int64",
                 .infer = infer_ngrams, .kernel = run_ngrams,
                 .prepare = prepare_ngrams,
                 .doc = "Each sequence of neighbours among the texts of a row, "
                        "with a separator between them."),
};

const eddy__op_table eddy__string_ngrams_ops = {specs, NULL,
                                                sizeof specs / sizeof *specs};
