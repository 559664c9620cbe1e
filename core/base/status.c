/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names and texts of statuses and details, and how a message gets into an
 * error: cut to its room, and fit to be printed.
 */
#include "core/base/status.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Longer than any text of an eddy_error, so that it can lose its middle. */
#define LONGEST_MESSAGE 2048

#define N_DETAILS (sizeof detail_names / sizeof detail_names[0])

static const char *const detail_names[] = {
#define X(name, text) [EDDY_E_##name] = "EDDY_E_" #name,
    EDDY_DETAIL_MAP(X)
#undef X
};

static const char *const detail_texts[] = {
#define X(name, text) [EDDY_E_##name] = text,
    EDDY_DETAIL_MAP(X)
#undef X
};

const char *eddy_status_name(eddy_status code)
{
    switch (code) {
#define X(name, number)                                                        \
    case EDDY_##name:                                                          \
        return #name;
        EDDY_STATUS_MAP(X)
#undef X
    }
    return "UNKNOWN";
}

const char *eddy_detail_name(eddy_detail detail)
{
    return detail_names[(size_t)detail < N_DETAILS ? detail : EDDY_E_NONE];
}

const char *eddy_detail_text(eddy_detail detail)
{
    return detail_texts[(size_t)detail < N_DETAILS ? detail : EDDY_E_NONE];
}

size_t eddy_error_format(const eddy_error *err, char *text, size_t size)
{
    const bool node = err->node[0] != '\0';
    const bool op = err->op[0] != '\0';
    const bool frame = err->frame[0] != '\0';
    const bool detail = err->detail != EDDY_E_NONE;
    const char *before_op = node ? " (" : "op ";
    const char *before_frame = node || op ? " in " : "in ";
    const int length = snprintf(
        text, size, "%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s",
        eddy_status_name(err->code), detail ? " (" : "",
        detail ? eddy_detail_name(err->detail) : "", detail ? ")" : "",
        node || op || frame ? ": " : "", node ? "node '" : "", err->node,
        node ? "'" : "", op ? before_op : "", err->op, op && node ? ")" : "",
        frame ? before_frame : "", err->frame, err->message[0] ? ": " : "",
        err->message, err->cause[0] ? "; " : "", err->cause);

    return length < 0 ? 0 : (size_t)length;
}

eddy_status eddy__fail_node(eddy_error *err, eddy_status code,
                            eddy_detail detail, const char *node,
                            const char *op, const char *format, ...)
{
    eddy_error made = {.code = code, .detail = detail};
    va_list args;

    if (!err)
        return code;
    va_start(args, format);
    eddy__fail_v(&made, code, detail, format, args);
    va_end(args);
    if (node)
        eddy__copy_text(made.node, sizeof made.node, node, strlen(node));
    if (op)
        eddy__copy_text(made.op, sizeof made.op, op, strlen(op));
    *err = made;
    return code;
}

eddy_status eddy__fail(eddy_error *err, eddy_status code, eddy_detail detail,
                       const char *format, ...)
{
    va_list args;

    va_start(args, format);
    eddy__fail_v(err, code, detail, format, args);
    va_end(args);
    return code;
}

/* The arguments may be texts of `err` itself, so it is written last. */
eddy_status eddy__fail_v(eddy_error *err, eddy_status code, eddy_detail detail,
                         const char *format, va_list args)
{
    char message[LONGEST_MESSAGE];
    int length;

    if (!err)
        return code;
    length = vsnprintf(message, sizeof message, format, args);
    if (length < 0)
        length = 0;
    if ((size_t)length >= sizeof message) {
        length = (int)sizeof message - 1;
        memcpy(message + length - 3, "...", sizeof "...");
    }
    *err = (eddy_error){.code = code, .detail = detail};
    eddy__copy_text(err->message, sizeof err->message, message, (size_t)length);
    return code;
}

eddy_status eddy__fail_memory(eddy_error *err)
{
    return eddy__fail(err, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                      "out of memory");
}

/* The least code point that a sequence of that many bytes may stand for. */
static const unsigned least_of_length[] = {0, 0, 0x80, 0x800, 0x10000};

/*
 * The length of the well-formed UTF-8 sequence at `p` that stands for something
 * that is no control character; 0 if there is none.  `left` is at least 1.
 */
static size_t measure_printable(const unsigned char *p, size_t left)
{
    size_t length = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    unsigned point;

    if (p[0] < 0x80)
        return p[0] >= 0x20 && p[0] != 0x7f ? 1 : 0;
    if (p[0] < 0xc2 || p[0] > 0xf4 || left < length)
        return 0;
    point = p[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (p[i] & 0x3fu);
    }
    if (point < least_of_length[length] || point > 0x10ffff ||
        (point >= 0xd800 && point <= 0xdfff) || point < 0xa0)
        return 0;
    return length;
}

/* Bytes taken from a text, and bytes that they come to when copied. */
typedef struct piece {
    size_t taken, given;
} piece;

/* The next piece that must not be cut in two. */
static piece measure_piece(const char *from, size_t left)
{
    const size_t length = measure_printable((const unsigned char *)from, left);

    return length > 0 ? (piece){length, length} : (piece){1, 4};
}

static void copy_piece(char *to, const char *from, piece p)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned byte = (unsigned char)from[0];

    if (p.given == p.taken) {
        memcpy(to, from, p.taken);
        return;
    }
    to[0] = '\\';
    to[1] = 'x';
    to[2] = digits[byte >> 4];
    to[3] = digits[byte & 15];
}

static size_t measure_copy(const char *from, size_t length)
{
    size_t given = 0;

    for (size_t i = 0; i < length;) {
        const piece p = measure_piece(from + i, length - i);

        i += p.taken;
        given += p.given;
    }
    return given;
}

void eddy__copy_text(char *to, size_t size, const char *from, size_t length)
{
    const size_t whole = measure_copy(from, length);
    const size_t room = size > 0 ? size - 1 : 0;
    const size_t dots = whole > room && room > 3 ? 3 : 0;
    const size_t tail = dots > 0 ? (room - dots) / 2 : 0;
    const size_t head = whole > room ? room - dots - tail : whole;
    size_t seen = 0, used = 0;
    bool in_head = true;

    if (size == 0)
        return;
    for (size_t i = 0; i < length;) {
        const piece p = measure_piece(from + i, length - i);

        if (in_head && seen + p.given > head) {
            in_head = false;
            memcpy(to + used, "...", dots);
            used += dots;
        }
        if (in_head || (dots > 0 && whole - seen <= tail)) {
            copy_piece(to + used, from + i, p);
            used += p.given;
        }
        i += p.taken;
        seen += p.given;
    }
    to[used] = '\0';
}
