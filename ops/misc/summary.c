/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes elements with the fewest digits that read back to the same, and cuts a
 * line when it is full.
 */
#include "ops/misc/summary.h"

#include "core/base/status.h"
#include "ops/math/elements.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void eddy__line_add(eddy__line *line, const char *format, ...)
{
    size_t room = sizeof line->text - line->length;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(line->text + line->length, room, format, args);
    va_end(args);
    if (n < 0)
        line->text[line->length] = '\0';
    else
        line->length += (size_t)n < room ? (size_t)n : room - 1;
}

void eddy__line_add_text(eddy__line *line, const char *text, size_t length)
{
    char escaped[512];

    eddy__copy_text(escaped, sizeof escaped, text, length);
    eddy__line_add(line, "%s", escaped);
}

/* Undoes a decimal point that is the locale's. */
static void fix_point(char *text)
{
    for (; *text != '\0'; text++)
        if (!strchr("0123456789+-.einfa", *text))
            *text = '.';
}

void eddy__summary_print_float(char text[EDDY__NUMBER_TEXT], float v)
{
    snprintf(text, EDDY__NUMBER_TEXT, "%.6g", (double)v);
    if (v == v && strtof(text, NULL) != v)
        snprintf(text, EDDY__NUMBER_TEXT, "%.9g", (double)v);
    fix_point(text);
}

void eddy__summary_print_double(char text[EDDY__NUMBER_TEXT], double v)
{
    snprintf(text, EDDY__NUMBER_TEXT, "%.15g", v);
    if (v == v && strtod(text, NULL) != v)
        snprintf(text, EDDY__NUMBER_TEXT, "%.17g", v);
    fix_point(text);
}

static void add_float(eddy__line *line, float v)
{
    char text[EDDY__NUMBER_TEXT];

    eddy__summary_print_float(text, v);
    eddy__line_add(line, "%s", text);
}

static void add_double(eddy__line *line, double v)
{
    char text[EDDY__NUMBER_TEXT];

    eddy__summary_print_double(text, v);
    eddy__line_add(line, "%s", text);
}

static void add_unsigned(eddy__line *line, const eddy_view *x, int64_t i)
{
    uint64_t v = x->dtype == EDDY_UINT64 ? ((const uint64_t *)x->data)[i]
                                         : (uint64_t)eddy__index_at(x, i);

    eddy__line_add(line, "%" PRIu64, v);
}

static void add_element(eddy__line *line, const eddy_view *x, int64_t i)
{
    const eddy__string *s;

    switch (x->dtype) {
    case EDDY_FLOAT16:
        add_float(line, eddy_float16_to_float(((const uint16_t *)x->data)[i]));
        break;
    case EDDY_BFLOAT16:
        add_float(line, eddy_bfloat16_to_float(((const uint16_t *)x->data)[i]));
        break;
    case EDDY_FLOAT32:
        add_float(line, ((const float *)x->data)[i]);
        break;
    case EDDY_FLOAT64:
        add_double(line, ((const double *)x->data)[i]);
        break;
    case EDDY_BOOL:
        eddy__line_add(line, "%d", ((const bool *)x->data)[i] ? 1 : 0);
        break;
    case EDDY_COMPLEX64:
        eddy__line_add(line, "(");
        add_float(line, ((const float *)x->data)[2 * i]);
        eddy__line_add(line, ",");
        add_float(line, ((const float *)x->data)[2 * i + 1]);
        eddy__line_add(line, ")");
        break;
    case EDDY_COMPLEX128:
        eddy__line_add(line, "(");
        add_double(line, ((const double *)x->data)[2 * i]);
        eddy__line_add(line, ",");
        add_double(line, ((const double *)x->data)[2 * i + 1]);
        eddy__line_add(line, ")");
        break;
    case EDDY_STRING:
        s = (const eddy__string *)x->data + i;
        eddy__line_add_text(line, s->length > 0 ? s->data : "", s->length);
        break;
    case EDDY_UINT8:
    case EDDY_UINT16:
    case EDDY_UINT32:
    case EDDY_UINT64:
        add_unsigned(line, x, i);
        break;
    default:
        eddy__line_add(line, "%" PRId64, eddy__index_at(x, i));
        break;
    }
}

/*
 * How many brackets stand before element `i`: one for each dimension but the
 * last of which it starts a new entry.  After element i it is as many closing
 * ones as would open before i + 1.
 */
static int32_t brackets_at(const eddy_view *x, int64_t i)
{
    int64_t entry = 1;
    int32_t n = 0;

    for (int32_t d = x->rank - 1; d > 0; d--) {
        entry *= x->dims[d];
        if (i % entry != 0)
            break;
        n++;
    }
    return n;
}

static void add_times(eddy__line *line, const char *text, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        eddy__line_add(line, "%s", text);
}

void eddy__line_add_value(eddy__line *line, const eddy__value *v, int64_t limit)
{
    eddy_view x;
    int32_t open = 0;

    if (eddy__dtype_in((eddy_dtype)v->dtype, EDDY__HELD)) {
        eddy__line_add(line,
                       v->dtype == EDDY_RESOURCE ? "<resource>" : "<list>");
        return;
    }
    x = eddy__view(v);
    if (limit < 0 || limit > x.count)
        limit = x.count;
    for (int64_t i = 0; i < limit; i++) {
        int32_t n = brackets_at(&x, i);

        if (line->length == sizeof line->text - 1)
            return;
        if (i > 0)
            add_times(line, "]", n);
        if (i > 0 && n == 0)
            eddy__line_add(line, " ");
        add_times(line, "[", n);
        open = x.rank > 1 ? x.rank - 1 : 0;
        add_element(line, &x, i);
    }
    if (open > 0 && brackets_at(&x, limit) == 0)
        eddy__line_add(line, "...");
    add_times(line, "]", open);
    if (limit < x.count)
        eddy__line_add(line, "...");
}
