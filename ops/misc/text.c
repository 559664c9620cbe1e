/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that grow in a run's memory, and the tensors of strings that are made
 * of them.
 */
#include "ops/misc/text.h"

#include "core/base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

eddy__text eddy__text_begin(const eddy_kernel *k)
{
    return (eddy__text){.account = k->account, .allocator = k->allocator};
}

static void release(eddy__text *text)
{
    if (!text->data)
        return;
    if (text->account)
        eddy__account_free(text->account, text->data, text->capacity);
    else
        eddy__free(text->allocator, text->data, 1, text->capacity);
}

void eddy__text_end(eddy__text *text)
{
    release(text);
    text->data = NULL;
    text->length = text->capacity = 0;
}

void eddy__text_clear(eddy__text *text)
{
    text->length = 0;
}

/* Memory for so many bytes in all. */
static bool set_capacity(eddy__text *text, size_t wanted)
{
    char *data = text->account ? eddy__account_allocate(text->account, wanted)
                               : eddy__allocate(text->allocator, 1, wanted);
    if (!data) {
        text->failed = true;
        return false;
    }
    if (text->length > 0)
        memcpy(data, text->data, text->length);
    release(text);
    text->data = data;
    text->capacity = wanted;
    return true;
}

/* Is there memory already?  Else it says for how many bytes in all. */
static bool has_room(eddy__text *text, size_t n, size_t *out_wanted)
{
    if (text->failed || !eddy__add_size(text->length, n, out_wanted)) {
        text->failed = true;
        return false;
    }
    return *out_wanted <= text->capacity;
}

void eddy__text_need(eddy__text *text, size_t n)
{
    size_t wanted = 0;

    if (!has_room(text, n, &wanted) && !text->failed)
        (void)set_capacity(text, wanted);
}

/* Room for `n` more bytes; twice as much as before, so that adding is cheap. */
static bool reserve(eddy__text *text, size_t n)
{
    size_t wanted = 0;

    if (has_room(text, n, &wanted) || text->failed)
        return !text->failed;
    if (wanted < 64)
        wanted = 64;
    if (wanted < text->capacity + text->capacity)
        wanted = text->capacity + text->capacity;
    return set_capacity(text, wanted);
}

void eddy__text_add(eddy__text *text, const char *data, size_t length)
{
    if (length == 0 || !reserve(text, length))
        return;
    memcpy(text->data + text->length, data, length);
    text->length += length;
}

void eddy__text_add_string(eddy__text *text, const eddy__string *string)
{
    eddy__text_add(text, string->data, string->length);
}

void eddy__text_fill(eddy__text *text, char c, size_t n)
{
    if (n == 0 || !reserve(text, n))
        return;
    memset(text->data + text->length, c, n);
    text->length += n;
}

void eddy__text_print(eddy__text *text, const char *format, ...)
{
    char line[512];
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n > 0)
        eddy__text_add(text, line,
                       (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

static eddy_status fail_memory(eddy_kernel *k)
{
    return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                       "no memory for a string");
}

/* What a string of a tensor counts, beside its length. */
#define TEXT_WORK 256

eddy_status eddy__text_put(eddy_kernel *k, const eddy__text *text,
                           eddy_tensor *tensor, int64_t i)
{
    if (text->failed)
        return fail_memory(k);
    return eddy__set_text(k, tensor, i, text->data, text->length);
}

eddy_status eddy__set_text(eddy_kernel *k, eddy_tensor *tensor, int64_t i,
                           const char *data, size_t length)
{
    EDDY_TRY(eddy__go_on(k, TEXT_WORK + (int64_t)(length / 8)));
    if (eddy__tensor_set_string(tensor, i, data, length))
        return EDDY_OK;
    return fail_memory(k);
}

const eddy__string *eddy__in_strings(const eddy_kernel *k, uint32_t i)
{
    return (const eddy__string *)(const void *)eddy__in_elements(k, i);
}

eddy_status eddy__output_strings(eddy_kernel *k, uint32_t i,
                                 const eddy_shape *shape, eddy_tensor **out)
{
    void *data;

    EDDY_TRY(eddy__output(k, i, EDDY_STRING, shape, &data));
    *out = eddy__out(k, i)->as.tensor;
    return EDDY_OK;
}

const char *eddy__prepare_text(eddy_infer *infer, const char *name,
                               size_t *out_length)
{
    eddy_attr attr;
    char *text;

    *out_length = 0;
    if (eddy_infer_attr(infer, name, &attr))
        *out_length = attr.as.strings[0].length;
    text = eddy__prepare_state(infer, *out_length + 1);
    if (text && *out_length > 0)
        memcpy(text, attr.as.strings[0].data, *out_length);
    return text;
}

int64_t eddy__text_utf8_count(const char *data, size_t n)
{
    int64_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)data[i] & 0xc0) != 0x80;
    return count;
}
