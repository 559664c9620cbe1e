/* SPDX-License-Identifier: Apache-2.0 */
/*
 * StringFormat: a template in which each placeholder becomes the text of a
 * tensor.  Of each dimension the text has the first and the last entries, with
 * brackets around and "..." between them; it is what tf.print writes.
 */
#include "ops/misc/summary.h"
#include "ops/misc/text.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <string.h>

/* Where the template is looked through for it a byte at a time. */
#define LONGEST_PLACEHOLDER ((size_t)1024)

/* What an element counts, in about nanoseconds. */
#define ELEMENT_WORK 256

typedef struct format {
    const char *template, *placeholder;
    size_t template_length, placeholder_length;
    int64_t summarize;
} format;

/* ---- elements ---- */

/* Bytes above 127 stay, so that UTF-8 can be read. */
static void add_escaped(eddy__text *out, const eddy__string *s)
{
    static const char *const special = "\n\r\t\"'\\";
    static const char *const letters = "nrt\"'\\";

    for (size_t i = 0; i < s->length; i++) {
        const unsigned char c = (unsigned char)s->data[i];
        const char *found = c != '\0' ? strchr(special, c) : NULL;

        if (found) {
            eddy__text_add(out, "\\", 1);
            eddy__text_add(out, &letters[found - special], 1);
        } else if (c < 0x20 || c == 0x7f) {
            eddy__text_print(out, "\\%03o", (unsigned)c);
        } else {
            eddy__text_add(out, &s->data[i], 1);
        }
    }
}

static void add_quoted(eddy__text *out, const eddy__string *s)
{
    eddy__text_add(out, "\"", 1);
    add_escaped(out, s);
    eddy__text_add(out, "\"", 1);
}

static void add_float(eddy__text *out, double x, bool is_single)
{
    char text[EDDY__NUMBER_TEXT];

    if (is_single)
        eddy__summary_print_float(text, (float)x);
    else
        eddy__summary_print_double(text, x);
    eddy__text_add(out, text, strlen(text));
}

static void add_element(eddy__text *out, const eddy_view *x, int64_t i)
{
    switch (x->dtype) {
    case EDDY_FLOAT16:
        add_float(out,
                  (double)eddy_float16_to_float(((const uint16_t *)x->data)[i]),
                  true);
        break;
    case EDDY_BFLOAT16:
        add_float(
            out, (double)eddy_bfloat16_to_float(((const uint16_t *)x->data)[i]),
            true);
        break;
    case EDDY_FLOAT32:
        add_float(out, (double)((const float *)x->data)[i], true);
        break;
    case EDDY_FLOAT64:
        add_float(out, ((const double *)x->data)[i], false);
        break;
    case EDDY_BOOL:
        eddy__text_add(out, ((const bool *)x->data)[i] ? "1" : "0", 1);
        break;
    case EDDY_STRING:
        add_quoted(out, (const eddy__string *)x->data + i);
        break;
    case EDDY_UINT64:
        eddy__text_print(out, "%" PRIu64, ((const uint64_t *)x->data)[i]);
        break;
    default:
        eddy__text_print(out, "%" PRId64, eddy__index_at(x, i));
        break;
    }
}

/* ---- tensors ---- */

/* What stands between two entries of dimension `d`. */
static void add_between(eddy__text *out, int32_t d, int32_t rank)
{
    if (d == rank - 1) {
        eddy__text_add(out, " ", 1);
        return;
    }
    eddy__text_fill(out, '\n', (size_t)(rank - d - 1));
    eddy__text_fill(out, ' ', (size_t)d + 1);
}

/*
 * Moves on to the next entry of dimension `d` that is shown, of which there are
 * `ends` on either side; false behind the last, where the bracket is closed.
 */
static bool next_entry(eddy__text *out, const eddy_view *x, int64_t ends,
                       int32_t d, int64_t *at)
{
    const int64_t n = x->dims[d];

    ++*at;
    if (*at == ends && n > 2 * ends) {
        add_between(out, d, x->rank);
        eddy__text_add(out, "...", 3);
        *at = n - ends;
    }
    if (*at >= n) {
        eddy__text_add(out, "]", 1);
        return false;
    }
    if (*at > 0)
        add_between(out, d, x->rank);
    return true;
}

/* Where the entries of `at` lead. */
static int64_t offset_of(const eddy_view *x, const int64_t *at)
{
    int64_t offset = 0;

    for (int32_t d = 0; d < x->rank; d++)
        offset = offset * x->dims[d] + at[d];
    return offset;
}

/* Of complex numbers TensorFlow writes question marks in a row. */
static void add_complex(eddy_kernel *k, eddy__text *out, const eddy_view *x,
                        int64_t summarize)
{
    const int64_t n =
        summarize < 0 || summarize > x->count ? x->count : summarize;

    if (x->rank > 0)
        eddy__text_add(out, "[", 1);
    for (int64_t i = 0; i < n && !out->failed && !eddy__spent_at(k, i); i++)
        eddy__text_add(out, i == 0 ? "?" : " ?", i == 0 ? 1 : 2);
    if (n < x->count)
        eddy__text_add(out, "...", 3);
    if (x->rank > 0)
        eddy__text_add(out, "]", 1);
}

static void add_tensor(eddy_kernel *k, eddy__text *out, const eddy_view *x,
                       int64_t summarize)
{
    const int64_t ends =
        summarize < 0 || summarize > x->count ? x->count : summarize;
    int64_t at[EDDY_MAX_RANK] = {-1};
    int32_t d = 0;

    if (x->rank == 0) {
        add_element(out, x, 0);
        return;
    }
    eddy__text_add(out, "[", 1);
    while (d >= 0 && !out->failed && !eddy__spent(k, ELEMENT_WORK)) {
        if (!next_entry(out, x, ends, d, &at[d])) {
            d--;
        } else if (d == x->rank - 1) {
            add_element(out, x, offset_of(x, at));
        } else {
            at[++d] = -1;
            eddy__text_add(out, "[", 1);
        }
    }
}

/* ---- the op ---- */

/* Of bools of which none is shown TensorFlow writes nothing at all. */
static void add_input(eddy_kernel *k, eddy__text *out, const eddy__value *v,
                      int64_t summarize)
{
    const eddy_view x = eddy__value_has_elements(v)
                            ? eddy__view(v)
                            : (eddy_view){.dtype = EDDY_INVALID};

    if (eddy__dtype_in((eddy_dtype)v->dtype, EDDY__HELD))
        eddy__text_print(out, "<%s>", eddy_dtype_name((eddy_dtype)v->dtype));
    else if (x.dtype == EDDY_COMPLEX64 || x.dtype == EDDY_COMPLEX128)
        add_complex(k, out, &x, summarize);
    else if (x.dtype != EDDY_BOOL || (x.count > 0 && summarize != 0))
        add_tensor(k, out, &x, summarize);
}

/* Where the placeholder is from `from` on, or the end of the template. */
static size_t find(const format *f, size_t from)
{
    while (from + f->placeholder_length <= f->template_length) {
        if (memcmp(f->template + from, f->placeholder, f->placeholder_length) ==
            0)
            return from;
        from++;
    }
    return f->template_length;
}

static eddy_status run(eddy_kernel *k)
{
    const format *f = eddy__state(k);
    const eddy_shape scalar = eddy__shape_scalar();
    eddy__text text = eddy__text_begin(k);
    eddy_status status;
    eddy_tensor *out;
    size_t from = 0;

    EDDY_TRY(eddy__output_strings(k, 0, &scalar, &out));
    for (uint32_t i = 0; i < k->node->n_in; i++) {
        const size_t at = find(f, from);

        eddy__text_add(&text, f->template + from, at - from);
        add_input(k, &text, eddy__in(k, i), f->summarize);
        from = at + f->placeholder_length;
    }
    eddy__text_add(&text, f->template + from, f->template_length - from);
    status = eddy__text_put(k, &text, out, 0);
    eddy__text_end(&text);
    return status;
}

static size_t count_placeholders(const format *f)
{
    size_t n = 0;

    for (size_t at = find(f, 0); at < f->template_length;
         at = find(f, at + f->placeholder_length))
        n++;
    return n;
}

static eddy_status prepare(eddy_infer *infer)
{
    format f = {.summarize = eddy__infer_int(infer, "summarize")};
    format *state;

    f.template = eddy__prepare_text(infer, "template", &f.template_length);
    f.placeholder =
        eddy__prepare_text(infer, "placeholder", &f.placeholder_length);
    state = eddy__prepare_state(infer, sizeof *state);
    if (!f.template || !f.placeholder || !state)
        return EDDY_RESOURCE_EXHAUSTED;
    *state = f;
    if (f.placeholder_length == 0)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                               "the placeholder must not be empty");
    if (f.placeholder_length > LONGEST_PLACEHOLDER)
        return eddy_infer_fail(infer, EDDY_UNIMPLEMENTED, EDDY_E_ATTR_VALUE,
                               "the placeholder has %zu bytes, more than %zu",
                               f.placeholder_length, LONGEST_PLACEHOLDER);
    if (count_placeholders(&f) == eddy_infer_inputs(infer))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "the template has %zu placeholders for %u inputs",
                           count_placeholders(&f), eddy_infer_inputs(infer));
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("StringFormat", .inputs = "inputs: T",
                 .outputs = "output: string",
                 .attrs = "T: list(type) >= 0, template: string = '%s', "
                          "placeholder: string = '%s', summarize: int = 3",
                 .infer = eddy__infer_scalar, .kernel = run, .prepare = prepare,
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The template with the text of an input in place of "
                        "each placeholder."),
};

const eddy__op_table eddy__string_format_ops = {specs, NULL,
                                                sizeof specs / sizeof *specs};
