/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads tensors from JSON in two passes: quotes what JSON does not know, and
 * then measures and stores the values.
 */
#include "tools/literal.h"

#include "tools/element.h"
#include "tools/message.h"
#include "tools/number.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Integers of this many characters may be too long for the JSON reader. */
#define LONG_INTEGER 18

/* A walk over the elements of nested lists, in row-major order. */
typedef struct walk {
    eddy_shape shape;
    const json_t *lists[EDDY_MAX_RANK];
    size_t at[EDDY_MAX_RANK]; /* the next element of each list */
} walk;

/* The length of the bare word or number at `text`. */
static size_t token_length(const char *text)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyz"
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");
}

static bool is_token(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

/* Whether the JSON reader needs the token in quotes. */
static bool needs_quotes(const char *text, size_t length)
{
    const size_t sign = *text == '-' ? 1 : 0;

    if (is_token(text, length, "NaN") || is_token(text, length, "Infinity") ||
        is_token(text, length, "-Infinity"))
        return true;
    return length >= LONG_INTEGER &&
           strspn(text + sign, "0123456789") == length - sign &&
           text[sign] != '0';
}

/* The length of the string at `text`, both quotes included if both exist. */
static size_t string_length(const char *text)
{
    size_t length = 1;

    while (text[length] != '\0' && text[length] != '"')
        length += text[length] == '\\' && text[length + 1] != '\0' ? 2 : 1;
    return text[length] == '"' ? length + 1 : length;
}

/* A copy of `text` with quotes where the JSON reader needs them, or NULL. */
static char *quote_tokens(const char *text)
{
    /* A token of one character becomes three at the most. */
    char *copy = malloc(3 * strlen(text) + 1);
    char *end = copy;

    if (copy == NULL)
        return NULL;
    while (*text != '\0') {
        size_t length = token_length(text);
        const bool quoted = length > 0 && needs_quotes(text, length);

        if (length == 0)
            length = *text == '"' ? string_length(text) : 1;
        if (quoted)
            *end++ = '"';
        memcpy(end, text, length);
        end += length;
        if (quoted)
            *end++ = '"';
        text += length;
    }
    *end = '\0';
    return copy;
}

static eddy_status fail_value(eddy_error *err, const json_t *value,
                              const char *why)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);

    eddy__message_raise(err, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE, "%.80s %s",
                        text != NULL ? text : "a value", why);
    free(text);
    return EDDY_INVALID_ARGUMENT;
}

/* Takes the shape from the first element of each list. */
static eddy_status measure(const json_t *root, eddy_shape *out_shape,
                           eddy_error *err)
{
    *out_shape = (eddy_shape){.rank = 0};
    while (json_is_array(root)) {
        if (out_shape->rank == EDDY_MAX_RANK)
            return eddy__message_raise(err, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                                       "lists nested deeper than %d",
                                       EDDY_MAX_RANK);
        out_shape->dims[out_shape->rank++] = (int64_t)json_array_size(root);
        if (json_array_size(root) == 0)
            break;
        root = json_array_get(root, 0);
    }
    return EDDY_OK;
}

/* Checks that `value` is a list exactly where lists of depth `level` belong. */
static eddy_status check_level(const eddy_shape *shape, int32_t level,
                               const json_t *value, eddy_error *err)
{
    const bool is_list = json_is_array(value);

    if (is_list != (level < shape->rank))
        return fail_value(err, value,
                          is_list ? "is a list where others are values"
                                  : "is a value where others are lists");
    if (is_list && (int64_t)json_array_size(value) != shape->dims[level])
        return fail_value(err, value,
                          "is a list of another length than others");
    return EDDY_OK;
}

/*
 * Goes on to the next element, NULL at the end.  Starts after walk_begin with
 * the level of the root; checks every list it enters.
 */
static eddy_status walk_next(walk *w, int32_t *level, const json_t **out_value,
                             eddy_error *err)
{
    while (*level >= 0) {
        const int32_t last = *level;
        const json_t *value;

        if (w->at[last] == (size_t)w->shape.dims[last]) {
            *level = last - 1;
            continue;
        }
        value = json_array_get(w->lists[last], w->at[last]++);
        if (check_level(&w->shape, last + 1, value, err) != EDDY_OK)
            return err->code;
        if (!json_is_array(value)) {
            *out_value = value;
            return EDDY_OK;
        }
        *level = last + 1;
        w->lists[last + 1] = value;
        w->at[last + 1] = 0;
    }
    *out_value = NULL;
    return EDDY_OK;
}

/* A number in quotes, as the dtype wants it. */
static bool read_quoted(const char *text, eddy_dtype dtype,
                        eddy__number *out_number)
{
    const bool minus = *text == '-';

    *out_number = (eddy__number){.kind = EDDY__NUMBER_INTEGER};
    if (eddy__number_read_count(text + (minus ? 1 : 0), UINT64_MAX,
                                &out_number->magnitude)) {
        out_number->negative = minus && out_number->magnitude != 0;
        return true;
    }
    out_number->kind = EDDY__NUMBER_COMPLEX;
    if (dtype == EDDY_COMPLEX64 || dtype == EDDY_COMPLEX128)
        return eddy__number_read_complex(text, &out_number->re,
                                         &out_number->im);
    out_number->kind = EDDY__NUMBER_REAL;
    return eddy__number_read_real(text, &out_number->re);
}

static bool to_number(const json_t *value, eddy_dtype dtype,
                      eddy__number *out_number)
{
    const char *text = json_string_value(value);
    const json_int_t integer = json_integer_value(value);

    *out_number = (eddy__number){.kind = EDDY__NUMBER_BOOL};
    if (text != NULL)
        return strlen(text) == json_string_length(value) &&
               dtype != EDDY_BOOL && read_quoted(text, dtype, out_number);
    if (json_is_integer(value)) {
        out_number->kind = EDDY__NUMBER_INTEGER;
        out_number->negative = integer < 0;
        out_number->magnitude =
            integer < 0 ? 0 - (uint64_t)integer : (uint64_t)integer;
    } else if (json_is_real(value)) {
        out_number->kind = EDDY__NUMBER_REAL;
        out_number->re = json_real_value(value);
    } else {
        out_number->magnitude = json_is_true(value) ? 1 : 0;
    }
    return json_is_number(value) || json_is_boolean(value);
}

static eddy_status store(const json_t *value, eddy_tensor *tensor, int64_t i,
                         eddy_error *err)
{
    const eddy_dtype dtype = eddy_tensor_dtype(tensor);
    eddy__number number;
    const char *why = "is neither a number nor a boolean";

    if (to_number(value, dtype, &number))
        why = eddy__element_store(&number, dtype,
                                  eddy_tensor_mutable_data(tensor), i);
    return why == NULL ? EDDY_OK : fail_value(err, value, why);
}

static eddy_status store_string(const json_t *value, eddy_string *out_string,
                                eddy_error *err)
{
    if (!json_is_string(value))
        return fail_value(err, value, "is not a string");
    *out_string =
        (eddy_string){json_string_value(value), json_string_length(value)};
    return EDDY_OK;
}

/*
 * Visits every element, which goes to `strings` or to `tensor`; with neither,
 * only the lists are checked.
 */
static eddy_status visit(const json_t *root, const eddy_shape *shape,
                         eddy_string *strings, eddy_tensor *tensor,
                         eddy_error *err)
{
    walk w = {.shape = *shape, .lists = {root}};
    int32_t level = shape->rank > 0 ? 0 : -1;
    const json_t *value = root;
    eddy_status status = EDDY_OK;

    if (shape->rank > 0)
        status = walk_next(&w, &level, &value, err);
    for (int64_t i = 0; status == EDDY_OK && value != NULL; i++) {
        if (tensor != NULL)
            status = store(value, tensor, i, err);
        else if (strings != NULL)
            status = store_string(value, &strings[i], err);
        if (status == EDDY_OK)
            status = walk_next(&w, &level, &value, err);
    }
    return status;
}

/* Requires: lists that agree with `shape`, so that it counts what is there. */
static eddy_status make_strings(const eddy_context *ctx, const json_t *root,
                                const eddy_shape *shape,
                                eddy_tensor **out_tensor, eddy_error *err)
{
    size_t n = 1;
    eddy_string *strings;
    eddy_status status;

    for (int32_t i = 0; i < shape->rank; i++)
        n *= (size_t)shape->dims[i];
    strings = calloc(n + 1, sizeof *strings);
    if (strings == NULL)
        return eddy__message_raise_memory(err);
    status = visit(root, shape, strings, NULL, err);
    if (status == EDDY_OK)
        status =
            eddy_tensor_from_strings(ctx, shape, strings, n, out_tensor, err);
    free(strings);
    return status;
}

static eddy_status make_tensor(const eddy_context *ctx, const json_t *root,
                               eddy_dtype dtype, eddy_tensor **out_tensor,
                               eddy_error *err)
{
    eddy_shape shape;
    eddy_tensor *tensor = NULL;
    eddy_status status = measure(root, &shape, err);

    /* Only then is the shape's size no more than what the text holds. */
    if (status == EDDY_OK)
        status = visit(root, &shape, NULL, NULL, err);
    if (status != EDDY_OK)
        return status;
    if (dtype == EDDY_STRING)
        return make_strings(ctx, root, &shape, out_tensor, err);
    status = eddy_tensor_create(ctx, dtype, &shape, &tensor, err);
    if (status == EDDY_OK)
        status = visit(root, &shape, NULL, tensor, err);
    if (status == EDDY_OK)
        *out_tensor = tensor;
    else
        eddy_tensor_release(tensor);
    return status;
}

eddy_status eddy__literal_read(const eddy_context *ctx, const char *text,
                               eddy_dtype dtype, eddy_tensor **out_tensor,
                               eddy_error *err)
{
    json_error_t problem;
    json_t *root;
    char *quoted;
    eddy_status status;

    if (!eddy__element_is_numeric(dtype) && dtype != EDDY_STRING)
        return eddy__message_raise(err, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                                   "there are no literals of dtype %s",
                                   eddy_dtype_name(dtype));
    quoted = quote_tokens(text);
    if (quoted == NULL)
        return eddy__message_raise_memory(err);
    root = json_loads(quoted, JSON_DECODE_ANY | JSON_ALLOW_NUL, &problem);
    free(quoted);
    /* Without memory the reader fails and says nothing. */
    if (root == NULL && *problem.text == '\0')
        return eddy__message_raise_memory(err);
    if (root == NULL)
        return eddy__message_raise(err, EDDY_INVALID_ARGUMENT, EDDY_E_MALFORMED,
                                   "not a JSON literal: %s", problem.text);
    status = make_tensor(ctx, root, dtype, out_tensor, err);
    json_decref(root);
    return status;
}
