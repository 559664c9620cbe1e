/* SPDX-License-Identifier: Apache-2.0 */
/* Writes shapes, names and values as lines, and shortens what is long. */
#include "tools/format.h"

#include "tools/element.h"

#include <inttypes.h>
#include <string.h>

void eddy__format_index(const eddy_shape *shape, int64_t i,
                        char text[EDDY__INDEX_TEXT])
{
    int64_t index[EDDY_MAX_RANK] = {0};
    size_t used = 0;

    for (int32_t d = shape->rank - 1; d >= 0; d--) {
        if (shape->dims[d] > 0) {
            index[d] = i % shape->dims[d];
            i /= shape->dims[d];
        }
    }
    text[used++] = '[';
    for (int32_t d = 0; d < shape->rank; d++)
        used += (size_t)snprintf(text + used, EDDY__INDEX_TEXT - used,
                                 "%s%" PRId64, d > 0 ? "," : "", index[d]);
    snprintf(text + used, EDDY__INDEX_TEXT - used, "]");
}

void eddy__format_shape(FILE *stream, const eddy_shape *shape)
{
    if (shape->rank < 0) {
        fputc('?', stream);
        return;
    }
    fputc('[', stream);
    for (int32_t d = 0; d < shape->rank; d++) {
        if (d > 0)
            fputc(',', stream);
        if (shape->dims[d] < 0)
            fputc('?', stream);
        else
            fprintf(stream, "%" PRId64, shape->dims[d]);
    }
    fputc(']', stream);
}

/* The least second byte that may follow `first`, where that is not 0x80. */
static unsigned char least_second(unsigned char first)
{
    return first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
}

/* The greatest, where that is not 0xbf. */
static unsigned char greatest_second(unsigned char first)
{
    return first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
}

/* The length of the UTF-8 character at `text`, 0 if there is none. */
static size_t character_length(const unsigned char *text, size_t left)
{
    const unsigned char first = *text;
    const size_t length = first < 0x80                   ? 1
                          : first < 0xc2 || first > 0xf4 ? 0
                          : first < 0xe0                 ? 2
                          : first < 0xf0                 ? 3
                                                         : 4;

    if (length > left)
        return 0;
    if (length > 1 &&
        (text[1] < least_second(first) || text[1] > greatest_second(first)))
        return 0;
    for (size_t i = 2; i < length; i++) {
        if (text[i] < 0x80 || text[i] > 0xbf)
            return 0;
    }
    return length;
}

void eddy__format_string(FILE *stream, eddy_string string)
{
    const unsigned char *text = (const unsigned char *)string.data;
    size_t left = string.length;

    fputc('"', stream);
    while (left > 0) {
        const size_t length = character_length(text, left);

        if (length == 0)
            fputs("\\ufffd", stream);
        else if (*text == '"' || *text == '\\')
            fprintf(stream, "\\%c", *text);
        else if (*text < 0x20 || *text == 0x7f)
            fprintf(stream, "\\u%04x", *text);
        else
            fwrite(text, 1, length, stream);
        text += length > 0 ? length : 1;
        left -= length > 0 ? length : 1;
    }
    fputc('"', stream);
}

void eddy__format_name(FILE *stream, const char *name)
{
    size_t length = 0;

    while (name[length] > ' ' && name[length] < 0x7f && name[length] != '"')
        length++;
    if (length > 0 && name[length] == '\0')
        fputs(name, stream);
    else
        eddy__format_string(stream, (eddy_string){name, strlen(name)});
}

void eddy__format_element(FILE *stream, const eddy_tensor *tensor, int64_t i)
{
    const eddy_dtype dtype = eddy_tensor_dtype(tensor);
    char text[EDDY__ELEMENT_TEXT];

    if (dtype == EDDY_STRING) {
        eddy__format_string(stream, eddy_tensor_string(tensor, i));
    } else if (eddy__element_is_numeric(dtype)) {
        eddy__element_text(dtype, eddy_tensor_data(tensor), i, text);
        fputs(text, stream);
    } else {
        fprintf(stream, "<%s>", eddy_dtype_name(dtype));
    }
}

/* How many of the innermost dimensions end or begin at element `i`. */
static int32_t boundaries(const eddy_shape *shape, int64_t i)
{
    int32_t n = 0;

    while (n < shape->rank && i % shape->dims[shape->rank - 1 - n] == 0)
        i /= shape->dims[shape->rank - 1 - n++];
    return n;
}

static void write_repeated(FILE *stream, char c, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        fputc(c, stream);
}

/*
 * Without elements what is left are the lists: those of the first dimensions,
 * up to the first that is 0, whose lists are empty.  False if they are so many
 * that nobody wants to read them.
 */
static bool outer_lists(const eddy_shape *shape, eddy_shape *out_outer,
                        int64_t *out_n)
{
    static const int64_t too_many = 1000;

    *out_outer = (eddy_shape){.rank = 0};
    *out_n = 1;
    for (int32_t d = 0; shape->dims[d] != 0; d++) {
        if (shape->dims[d] > too_many / *out_n)
            return false;
        out_outer->dims[out_outer->rank++] = shape->dims[d];
        *out_n *= shape->dims[d];
    }
    return true;
}

void eddy__format_values(FILE *stream, const eddy_tensor *tensor)
{
    eddy_shape shape = *eddy_tensor_shape(tensor);
    int64_t n = eddy_tensor_count(tensor);
    const bool empty = n == 0;

    if (empty && !outer_lists(eddy_tensor_shape(tensor), &shape, &n)) {
        fputs("[]", stream);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        if (i > 0)
            fputc(',', stream);
        write_repeated(stream, '[', boundaries(&shape, i));
        if (empty)
            fputs("[]", stream);
        else
            eddy__format_element(stream, tensor, i);
        write_repeated(stream, ']', boundaries(&shape, i + 1));
    }
}
