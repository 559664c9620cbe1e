/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks attribute values from outside, and copies and releases those that
 * nodes hold.
 */
#include "core/graph/attr.h"

#include "core/base/status.h"

#include <string.h>

#define KIND_MAP(X)                                                            \
    X(INT, "int", int64_t)                                                     \
    X(FLOAT, "float", float)                                                   \
    X(BOOL, "bool", bool)                                                      \
    X(STRING, "string", eddy_string)                                           \
    X(TYPE, "type", eddy_dtype)                                                \
    X(SHAPE, "shape", eddy_shape)                                              \
    X(TENSOR, "tensor", eddy_tensor *)                                         \
    X(FUNCTION, "func", eddy_string)                                           \
    X(OPAQUE, "opaque", eddy_string)

static const struct {
    const char *name, *list_name;
    size_t size;
} kinds[] = {
#define X(name, text, type)                                                    \
    [EDDY_ATTR_##name] = {text, "list(" text ")", sizeof(type)},
    KIND_MAP(X)
#undef X
};

#define N_KINDS (sizeof kinds / sizeof kinds[0])

const char *eddy__attr_kind_name(eddy_attr_kind kind, bool is_list)
{
    if ((size_t)kind >= N_KINDS)
        return "invalid";
    return is_list ? kinds[kind].list_name : kinds[kind].name;
}

size_t eddy__attr_element_size(eddy_attr_kind kind)
{
    return (size_t)kind < N_KINDS ? kinds[kind].size : 0;
}

/* ---- checking ---- */

static eddy_status check_shape(const eddy_attr *attr, const eddy_shape *shape,
                               eddy_error *err)
{
    if (shape->rank < -1 || shape->rank > EDDY_MAX_RANK)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                          "attribute '%.64s' has rank %d, not -1 to %d",
                          attr->name, (int)shape->rank, EDDY_MAX_RANK);
    for (int32_t i = 0; i < shape->rank; i++)
        if (shape->dims[i] < -1)
            return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_DIM,
                              "attribute '%.64s' has dimension %d of %lld",
                              attr->name, (int)i, (long long)shape->dims[i]);
    return EDDY_OK;
}

static eddy_status check_element(const eddy_attr *attr, size_t i,
                                 eddy_error *err)
{
    const char *problem = NULL;

    switch (attr->kind) {
    case EDDY_ATTR_STRING:
    case EDDY_ATTR_FUNCTION:
    case EDDY_ATTR_OPAQUE:
        if (!attr->as.strings[i].data && attr->as.strings[i].length > 0)
            problem = "a text without bytes";
        break;
    case EDDY_ATTR_TYPE:
        if ((unsigned)attr->as.types[i] >= EDDY_DTYPE_COUNT)
            problem = "a dtype that does not exist";
        break;
    case EDDY_ATTR_TENSOR:
        if (!attr->as.tensors[i])
            problem = "no tensor";
        break;
    case EDDY_ATTR_SHAPE:
        return check_shape(attr, &attr->as.shapes[i], err);
    case EDDY_ATTR_INT:
    case EDDY_ATTR_FLOAT:
    case EDDY_ATTR_BOOL:
        break;
    }
    if (!problem)
        return EDDY_OK;
    return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                      "attribute '%.64s' has %s at %zu", attr->name, problem,
                      i);
}

eddy_status eddy__attr_check(const eddy_attr *attr, eddy_error *err)
{
    if (!attr->name || !*attr->name)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "an attribute has no name");
    if (eddy__attr_element_size(attr->kind) == 0)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_KIND,
                          "attribute '%.64s' has kind %d, which does not exist",
                          attr->name, (int)attr->kind);
    if (!attr->is_list && attr->n != 1)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                          "attribute '%.64s' has %zu values but is no list",
                          attr->name, attr->n);
    if (attr->n > 0 && !attr->as.ints)
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                          "attribute '%.64s' has no value", attr->name);
    for (size_t i = 0; i < attr->n; i++)
        EDDY_TRY(check_element(attr, i, err));
    return EDDY_OK;
}

/* ---- copying ---- */

static const eddy_string *copy_strings(eddy__arena *arena,
                                       const eddy_string *from, size_t n)
{
    eddy_string *to = eddy__arena_allocate(arena, n, sizeof *to);

    if (!to)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        to[i].length = from[i].length;
        to[i].data = eddy__arena_text(arena, from[i].length ? from[i].data : "",
                                      from[i].length);
        if (!to[i].data)
            return NULL;
    }
    return to;
}

static bool has_strings(eddy_attr_kind kind)
{
    return kind == EDDY_ATTR_STRING || kind == EDDY_ATTR_FUNCTION ||
           kind == EDDY_ATTR_OPAQUE;
}

bool eddy__attr_copy_as(eddy__arena *arena, const eddy_attr *from,
                        const char *name, eddy_attr *out_attr)
{
    eddy_attr copy = *from;

    copy.name = name;
    if (has_strings(from->kind))
        copy.as.strings = copy_strings(arena, from->as.strings, from->n);
    else
        copy.as.ints = eddy__arena_copy(arena, from->as.ints, from->n,
                                        eddy__attr_element_size(from->kind));
    if (!copy.as.ints)
        return false;
    *out_attr = copy;
    return true;
}

bool eddy__attr_copy(eddy__arena *arena, const eddy_attr *from,
                     eddy_attr *out_attr)
{
    const char *name = eddy__arena_text(arena, from->name, strlen(from->name));

    return name && eddy__attr_copy_as(arena, from, name, out_attr);
}

void eddy__attr_retain(const eddy_attr *attr)
{
    if (attr->kind == EDDY_ATTR_TENSOR)
        for (size_t i = 0; i < attr->n; i++)
            (void)eddy_tensor_retain(attr->as.tensors[i]);
}

void eddy__attr_release(const eddy_attr *attr)
{
    if (attr->kind == EDDY_ATTR_TENSOR)
        for (size_t i = 0; i < attr->n; i++)
            eddy_tensor_release(attr->as.tensors[i]);
}

const eddy_attr *eddy__attr_find(const eddy_attr *attrs, size_t n,
                                 const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(attrs[i].name, name) == 0)
            return &attrs[i];
    return NULL;
}

/* ---- attributes of one value ---- */

#define ATTR_OF(attr_kind, member)                                             \
    (eddy_attr)                                                                \
    {                                                                          \
        .name = name, .kind = attr_kind, .n = 1, .as.member = value            \
    }

eddy_attr eddy_attr_int(const char *name, const int64_t *value)
{
    return ATTR_OF(EDDY_ATTR_INT, ints);
}

eddy_attr eddy_attr_float(const char *name, const float *value)
{
    return ATTR_OF(EDDY_ATTR_FLOAT, floats);
}

eddy_attr eddy_attr_bool(const char *name, const bool *value)
{
    return ATTR_OF(EDDY_ATTR_BOOL, bools);
}

eddy_attr eddy_attr_string(const char *name, const eddy_string *value)
{
    return ATTR_OF(EDDY_ATTR_STRING, strings);
}

eddy_attr eddy_attr_type(const char *name, const eddy_dtype *value)
{
    return ATTR_OF(EDDY_ATTR_TYPE, types);
}

eddy_attr eddy_attr_shape(const char *name, const eddy_shape *value)
{
    return ATTR_OF(EDDY_ATTR_SHAPE, shapes);
}

eddy_attr eddy_attr_tensor(const char *name, eddy_tensor *const *value)
{
    return ATTR_OF(EDDY_ATTR_TENSOR, tensors);
}
