/* SPDX-License-Identifier: Apache-2.0 */
/* Texts, numbers and values of a trace, written piece by piece. */
#include "interop/trace/out.h"

#include "core/base/status.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void eddy__out_begin(eddy__out *out, eddy_write_cb write, void *user)
{
    out->write = write;
    out->user = user;
    out->has_stopped = false;
    out->n = 0;
}

static void flush(eddy__out *out)
{
    if (out->n > 0 && !out->has_stopped &&
        !out->write(out->user, out->buffer, out->n))
        out->has_stopped = true;
    out->n = 0;
}

void eddy__out_bytes(eddy__out *out, const void *bytes, size_t n)
{
    const char *from = bytes;

    while (n > 0 && !out->has_stopped) {
        const size_t room = sizeof out->buffer - out->n;
        const size_t now = n < room ? n : room;

        memcpy(out->buffer + out->n, from, now);
        out->n += now;
        from += now;
        n -= now;
        if (out->n == sizeof out->buffer)
            flush(out);
    }
}

void eddy__out_text(eddy__out *out, const char *text)
{
    eddy__out_bytes(out, text, strlen(text));
}

void eddy__out_print(eddy__out *out, const char *format, ...)
{
    char text[512];
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n > 0)
        eddy__out_bytes(out, text,
                        (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

/* '<' too: a page's script must not end in a name. */
void eddy__out_quoted(eddy__out *out, const char *text)
{
    eddy__out_text(out, "\"");
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;

        if (c < 0x20 || c == '<' || c == 0x7f)
            eddy__out_print(out, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            eddy__out_print(out, "\\%c", c);
        else
            eddy__out_bytes(out, text, 1);
    }
    eddy__out_text(out, "\"");
}

void eddy__out_path(eddy__out *out, const eddy_trace *trace, uint32_t frame,
                    int64_t iteration)
{
    char path[1024];

    eddy_trace_path(trace, frame, iteration, path, sizeof path);
    eddy__out_quoted(out, path);
}

void eddy__out_double(eddy__out *out, double x)
{
    if (isnan(x))
        eddy__out_text(out, "\"nan\"");
    else if (isinf(x))
        eddy__out_text(out, x > 0 ? "\"inf\"" : "\"-inf\"");
    else
        eddy__out_print(out, "%.17g", x);
}

eddy_status eddy__out_end(eddy__out *out, eddy_error *err)
{
    flush(out);
    if (out->has_stopped)
        return eddy__fail(err, EDDY_CANCELLED, EDDY_E_CANCELLED,
                          "the trace was not written to its end");
    return EDDY_OK;
}

/* ---- values in a few characters ---- */

/* As few digits as give the number back. */
static void number_text(double x, bool is_double, char *text, size_t size)
{
    if (isnan(x)) {
        (void)snprintf(text, size, "nan");
        return;
    }
    for (int digits = 6; digits <= 17; digits++) {
        double back;

        (void)snprintf(text, size, "%.*g", digits, x);
        back = strtod(text, NULL);
        if (is_double ? back == x : (float)back == (float)x)
            return;
    }
}

static void scalar_text(const eddy_trace_value *value, char *text, size_t size)
{
    switch (value->dtype) {
    case EDDY_BOOL:
        (void)snprintf(text, size, "%s", value->bits & 1 ? "true" : "false");
        return;
    case EDDY_INT64:
        (void)snprintf(text, size, "%lld", (long long)(int64_t)value->bits);
        return;
    case EDDY_UINT64:
        (void)snprintf(text, size, "%llu", (unsigned long long)value->bits);
        return;
    case EDDY_STRING:
        (void)snprintf(text, size, "string");
        return;
    default:
        number_text(value->mean, value->dtype == EDDY_FLOAT64, text, size);
    }
}

static size_t shape_text(const eddy_trace_value *value, char *text, size_t size)
{
    size_t n =
        (size_t)snprintf(text, size, "%s[", eddy_dtype_name(value->dtype));

    for (int32_t i = 0; i < value->shape.rank && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%lld", i > 0 ? "," : "",
                              (long long)value->shape.dims[i]);
    if (n < size)
        n += (size_t)snprintf(text + n, size - n, "]");
    return n < size ? n : size - 1;
}

/* A list, which has a hash if its elements have been looked at, or another. */
static size_t handle_text(const eddy_trace_value *value, char *text,
                          size_t size)
{
    const size_t n = (size_t)snprintf(
        text, size,
        value->count > 0 || value->hash != 0 ? "list of %lld" : "handle",
        (long long)value->count);

    return n < size ? n : size - 1;
}

void eddy_trace_value_format(const eddy_trace_value *value, char *text,
                             size_t size)
{
    const bool is_handle =
        value->dtype == EDDY_RESOURCE || value->dtype == EDDY_VARIANT;
    const bool is_plain =
        eddy_dtype_size(value->dtype) > 0 || (is_handle && value->hash != 0);
    size_t n;

    if (value->dtype == EDDY_INVALID) {
        (void)snprintf(text, size, "none");
        return;
    }
    if (is_handle) {
        n = handle_text(value, text, size);
    } else if (value->shape.rank == 0) {
        scalar_text(value, text, size);
        return;
    } else {
        n = shape_text(value, text, size);
    }
    if (is_plain && value->count > 0)
        n += (size_t)snprintf(text + n, size - n, " %.6g..%.6g mean %.6g",
                              value->min, value->max, value->mean);
    if (n < size && value->n_nan > 0)
        n += (size_t)snprintf(text + n, size - n, " %llu nan",
                              (unsigned long long)value->n_nan);
    if (n < size && value->n_infinite > 0)
        (void)snprintf(text + n, size - n, " %llu inf",
                       (unsigned long long)value->n_infinite);
}
