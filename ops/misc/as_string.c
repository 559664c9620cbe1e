/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AsString: numbers as texts, as printf writes them.  TensorFlow hands `fill`
 * and `width` to printf too; here the sign and the padding are put around what
 * it writes of the number alone.
 */
#include "ops/misc/text.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Longer texts of one number are refused; see docs/limits.md. */
#define MOST_DIGITS 4096

typedef struct form {
    int32_t width;     /* 0: none */
    int32_t precision; /* -1: what printf has */
    char conversion;   /* of floating point: 'f', 'e' or 'g' */
    char fill;         /* '\0' for none, or one of "0-+ " */
} form;

/* ---- one number ---- */

/* Undoes a decimal point that is the locale's. */
static void fix_point(char *text)
{
    for (; *text != '\0'; text++)
        if (!strchr("0123456789+-.einfa", *text))
            *text = '.';
}

/* The digits of |x|; long enough for 309 before the point. */
static size_t print_float(const form *f, double x, char text[MOST_DIGITS + 512])
{
    const size_t size = MOST_DIGITS + 512;
    const int precision = f->precision < 0 ? 6 : (int)f->precision;
    int n;

    x = fabs(x);
    if (f->conversion == 'e')
        n = snprintf(text, size, "%.*e", precision, x);
    else if (f->conversion == 'g')
        n = snprintf(text, size, "%.*g", precision, x);
    else
        n = snprintf(text, size, "%.*f", precision, x);
    fix_point(text);
    return n > 0 ? (size_t)n : 0;
}

/* `sign` is that of the number: '-', '\0' or what stands for none. */
static void add_padded(eddy__text *out, const form *f, char sign,
                       const char *digits, size_t length, bool takes_zeros)
{
    const size_t used = length + (sign != '\0');
    const size_t width = (size_t)f->width;
    const size_t pad = width > used ? width - used : 0;
    const bool is_left = f->fill == '-';
    const bool has_zeros = f->fill == '0' && takes_zeros;

    if (!is_left && !has_zeros)
        eddy__text_fill(out, ' ', pad);
    if (sign != '\0')
        eddy__text_fill(out, sign, 1);
    if (has_zeros)
        eddy__text_fill(out, '0', pad);
    eddy__text_add(out, digits, length);
    if (is_left)
        eddy__text_fill(out, ' ', pad);
}

/* What printf writes before a signed number. */
static char sign_of(const form *f, bool is_negative)
{
    if (is_negative)
        return '-';
    if (f->fill == '+' || f->fill == ' ')
        return f->fill;
    return '\0';
}

static void add_float(eddy__text *out, const form *f, double x)
{
    char digits[MOST_DIGITS + 512];
    const size_t n = print_float(f, x, digits);

    add_padded(out, f, sign_of(f, signbit(x) != 0), digits, n,
               isfinite(x) != 0);
}

static void add_signed(eddy__text *out, const form *f, int64_t x)
{
    const uint64_t size = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    char digits[24];
    const int n = snprintf(digits, sizeof digits, "%" PRIu64, size);

    add_padded(out, f, sign_of(f, x < 0), digits, (size_t)n, true);
}

static void add_unsigned(eddy__text *out, const form *f, uint64_t x)
{
    char digits[24];
    const int n = snprintf(digits, sizeof digits, "%" PRIu64, x);

    add_padded(out, f, '\0', digits, (size_t)n, true);
}

static void add_complex(eddy__text *out, const form *f, double real,
                        double imaginary)
{
    eddy__text_add(out, "(", 1);
    add_float(out, f, real);
    eddy__text_add(out, ",", 1);
    add_float(out, f, imaginary);
    eddy__text_add(out, ")", 1);
}

static void add_element(eddy__text *out, const form *f, const eddy_view *x,
                        int64_t i)
{
    const eddy__string *s;

    switch (x->dtype) {
    case EDDY_FLOAT16:
        add_float(
            out, f,
            (double)eddy_float16_to_float(((const uint16_t *)x->data)[i]));
        break;
    case EDDY_BFLOAT16:
        add_float(
            out, f,
            (double)eddy_bfloat16_to_float(((const uint16_t *)x->data)[i]));
        break;
    case EDDY_FLOAT32:
        add_float(out, f, (double)((const float *)x->data)[i]);
        break;
    case EDDY_FLOAT64:
        add_float(out, f, ((const double *)x->data)[i]);
        break;
    case EDDY_COMPLEX64:
        add_complex(out, f, (double)((const float *)x->data)[2 * i],
                    (double)((const float *)x->data)[2 * i + 1]);
        break;
    case EDDY_COMPLEX128:
        add_complex(out, f, ((const double *)x->data)[2 * i],
                    ((const double *)x->data)[2 * i + 1]);
        break;
    case EDDY_BOOL:
        eddy__text_print(out, "%s",
                         ((const bool *)x->data)[i] ? "true" : "false");
        break;
    case EDDY_STRING:
        s = (const eddy__string *)x->data + i;
        add_padded(out, f, '\0', s->data, s->length, false);
        break;
    case EDDY_UINT64:
        add_unsigned(out, f, ((const uint64_t *)x->data)[i]);
        break;
    case EDDY_UINT8:
    case EDDY_UINT16:
    case EDDY_UINT32:
        add_unsigned(out, f, (uint64_t)eddy__index_at(x, i));
        break;
    default:
        add_signed(out, f, eddy__index_at(x, i));
        break;
    }
}

/* ---- the op ---- */

static eddy_status run(eddy_kernel *k)
{
    const form *f = eddy__state(k);
    const eddy_view x = eddy__in_view(k, 0);
    eddy__text text = eddy__text_begin(k);
    eddy_status status;
    eddy_tensor *out;

    EDDY_TRY(eddy__output_strings(k, 0, eddy__in_shape(k, 0), &out));
    status = EDDY_OK;
    for (int64_t i = 0; i < x.count && status == EDDY_OK; i++) {
        eddy__text_clear(&text);
        add_element(&text, f, &x, i);
        status = eddy__text_put(k, &text, out, i);
    }
    eddy__text_end(&text);
    return status;
}

/* What does not go with the dtype or with itself. */
static const char *find_mistake(const eddy_infer *infer, eddy_string fill)
{
    const eddy_dtype dtype = eddy_infer_input_dtype(infer, 0);
    const bool is_scientific = eddy__infer_bool(infer, "scientific");
    const bool is_shortest = eddy__infer_bool(infer, "shortest");
    const bool is_float = eddy__dtype_in(dtype, EDDY__FLOATS | EDDY__COMPLEXES);

    if (is_scientific && is_shortest)
        return "it can't be both scientific and shortest";
    if (!is_float && dtype != EDDY_STRING && (is_scientific || is_shortest))
        return "scientific and shortest are for floating point";
    if (!is_float && dtype != EDDY_STRING &&
        eddy__infer_int(infer, "precision") >= 0)
        return "a precision is for floating point";
    if (fill.length > 1 || (fill.length == 1 && !strchr("0-+ ", *fill.data)))
        return "fill must be '', '0', '-', '+' or ' '";
    if (eddy__infer_int(infer, "width") > MOST_DIGITS ||
        eddy__infer_int(infer, "precision") > MOST_DIGITS)
        return "width and precision must be at most 4096";
    return NULL;
}

static eddy_status prepare(eddy_infer *infer)
{
    form *f = eddy__prepare_state(infer, sizeof *f);
    eddy_string fill = {"", 0};
    const char *mistake;
    eddy_attr attr;
    int64_t width;

    if (!f)
        return EDDY_RESOURCE_EXHAUSTED;
    if (eddy_infer_attr(infer, "fill", &attr))
        fill = attr.as.strings[0];
    mistake = find_mistake(infer, fill);
    if (mistake)
        return eddy_infer_fail(
            infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE, "%s, for %s",
            mistake, eddy_dtype_name(eddy_infer_input_dtype(infer, 0)));
    width = eddy__infer_int(infer, "width");
    f->width = (int32_t)(width > 0 ? width : 0);
    f->precision = (int32_t)(eddy__infer_int(infer, "precision") < 0
                                 ? -1
                                 : eddy__infer_int(infer, "precision"));
    f->conversion = 'f';
    if (eddy__infer_bool(infer, "scientific"))
        f->conversion = 'e';
    if (eddy__infer_bool(infer, "shortest"))
        f->conversion = 'g';
    if (fill.length == 1)
        f->fill = *fill.data;
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "AsString", .inputs = "input: T", .outputs = "output: string",
        .attrs = "T: {float32, float64, int32, uint8, int16, int8, int64, "
                 "uint16, float16, bfloat16, uint32, uint64, complex, bool, "
                 "string}, precision: int = -1, scientific: bool = false, "
                 "shortest: bool = false, width: int = -1, fill: string = ''",
        .infer = eddy__infer_unchanged, .kernel = run, .prepare = prepare,
        .flags = EDDY_OP_NOT_DIFFERENTIABLE,
        .doc = "The text of each element, as printf writes it."),
};

const eddy__op_table eddy__as_string_ops = {specs, NULL,
                                            sizeof specs / sizeof *specs};
