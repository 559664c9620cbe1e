/* SPDX-License-Identifier: Apache-2.0 */
/* AttrValue, in and out. */
#include "core/base/status.h"
#include "interop/graphdef/loader.h"
#include "interop/graphdef/writer.h"

#include <string.h>

/* What a value is read for. */
typedef struct place {
    eddy__loader *loader;
    const char *name;
    bool is_registered; /* the op is; so it is known what its attributes are */
} place;

/* A tensor that belongs to the loader; in scratch memory. */
typedef struct eddy__made_tensor {
    struct eddy__made_tensor *next;
    eddy_tensor *tensor;
} made_tensor;

eddy__message eddy__load_entry_value(eddy__message entry)
{
    eddy__wire_cursor wire = eddy__wire_fields(entry.bytes, entry.length);
    eddy__wire_field field;
    eddy__message value = {.length = 0};

    while (eddy__wire_next(&wire, &field))
        if (field.number == 2)
            value = (eddy__message){field.data, field.length};
    return value;
}

void eddy__loader_reset(eddy__loader *loader)
{
    for (made_tensor *t = loader->tensors; t; t = t->next)
        eddy_tensor_release(t->tensor);
    loader->tensors = NULL;
    loader->node = NULL;
    loader->op = NULL;
    eddy__scratch_reset(&loader->scratch);
}

/* ---- reading ---- */

/* Scratch memory for the elements of a list; NULL if it was refused. */
static void *make_array(const place *at, size_t n, size_t size)
{
    return eddy__scratch_allocate(&at->loader->scratch, n, size);
}

static eddy_status fail_refused(const place *at)
{
    return eddy__scratch_fail(&at->loader->scratch, at->loader->err);
}

static eddy_status read_types(const place *at, const int32_t *from, size_t n,
                              eddy_attr *attr, bool *out_is_opaque)
{
    eddy_dtype *types = make_array(at, n, sizeof *types);
    bool is_opaque;

    if (!types)
        return fail_refused(at);
    for (size_t i = 0; i < n; i++) {
        if (from[i] == 0 && at->is_registered)
            return eddy__load_fail(at->loader, EDDY_E_DTYPE,
                                   "attribute '%s' is no dtype", at->name);
        EDDY_TRY(eddy__load_dtype(at->loader, at->name, from[i], &types[i],
                                  &is_opaque));
        *out_is_opaque |= is_opaque;
    }
    attr->kind = EDDY_ATTR_TYPE;
    attr->as.types = types;
    return EDDY_OK;
}

static eddy_status read_shapes(const place *at,
                               Eddy__Pb__TensorShapeProto *const *from,
                               size_t n, eddy_attr *attr, bool *out_is_opaque)
{
    eddy_shape *shapes = make_array(at, n, sizeof *shapes);

    if (!shapes)
        return fail_refused(at);
    for (size_t i = 0; i < n; i++) {
        /* Who knows what an op that is not registered means by it. */
        if (from[i]->n_dim > EDDY_MAX_RANK && !at->is_registered)
            *out_is_opaque = true;
        else
            EDDY_TRY(
                eddy__load_shape(at->loader, at->name, from[i], &shapes[i]));
    }
    attr->kind = EDDY_ATTR_SHAPE;
    attr->as.shapes = shapes;
    return EDDY_OK;
}

static eddy_status read_one_tensor(const place *at,
                                   const Eddy__Pb__TensorProto *from,
                                   eddy_tensor **out_tensor,
                                   bool *out_is_opaque)
{
    made_tensor *made = make_array(at, 1, sizeof *made);
    bool is_opaque = false;

    if (!made)
        return fail_refused(at);
    *made = (made_tensor){.next = at->loader->tensors};
    EDDY_TRY(eddy__read_tensor(at->loader, at->name, from, &made->tensor,
                               &is_opaque));
    at->loader->tensors = made;
    *out_tensor = made->tensor;
    *out_is_opaque |= is_opaque;
    return EDDY_OK;
}

static eddy_status read_tensors(const place *at,
                                Eddy__Pb__TensorProto *const *from, size_t n,
                                eddy_attr *attr, bool *out_is_opaque)
{
    eddy_tensor **tensors = make_array(at, n, sizeof(eddy_tensor *));

    if (!tensors)
        return fail_refused(at);
    for (size_t i = 0; i < n; i++)
        EDDY_TRY(read_one_tensor(at, from[i], &tensors[i], out_is_opaque));
    attr->kind = EDDY_ATTR_TENSOR;
    attr->as.tensors = tensors;
    return EDDY_OK;
}

static eddy_status read_strings(const place *at,
                                const ProtobufCBinaryData *from, size_t n,
                                eddy_attr *attr)
{
    eddy_string *strings = make_array(at, n, sizeof *strings);

    if (!strings)
        return fail_refused(at);
    for (size_t i = 0; i < n; i++)
        strings[i] = (eddy_string){(const char *)from[i].data, from[i].len};
    attr->kind = EDDY_ATTR_STRING;
    attr->as.strings = strings;
    return EDDY_OK;
}

/*
 * The name of a function.  Attributes would bind those of its signature, which
 * eddy has no way to say; names with '_' have no meaning.
 */
static eddy_status read_functions(const place *at,
                                  Eddy__Pb__NameAttrList *const *from, size_t n,
                                  eddy_attr *attr, bool *out_is_opaque)
{
    eddy_string *names = make_array(at, n, sizeof *names);

    if (!names)
        return fail_refused(at);
    for (size_t i = 0; i < n; i++) {
        names[i] = (eddy_string){from[i]->name, strlen(from[i]->name)};
        for (size_t j = 0; j < from[i]->n_attr; j++)
            *out_is_opaque |= from[i]->attr[j]->key[0] != '_';
    }
    attr->kind = EDDY_ATTR_FUNCTION;
    attr->as.strings = names;
    return EDDY_OK;
}

static eddy_status read_bools(const place *at, const protobuf_c_boolean *from,
                              size_t n, eddy_attr *attr)
{
    bool *bools = make_array(at, n, sizeof *bools);

    if (!bools)
        return fail_refused(at);
    for (size_t i = 0; i < n; i++)
        bools[i] = from[i] != 0;
    attr->kind = EDDY_ATTR_BOOL;
    attr->as.bools = bools;
    return EDDY_OK;
}

/* The elements of the one kind of a list that has any. */
static eddy_status read_list(const place *at,
                             const Eddy__Pb__AttrValue__ListValue *list,
                             eddy_attr *attr, bool *out_is_opaque)
{
    const size_t lengths[] = {list->n_s,      list->n_i,    list->n_f,
                              list->n_b,      list->n_type, list->n_shape,
                              list->n_tensor, list->n_func};
    size_t n_kinds = 0;

    attr->is_list = true;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        attr->n += lengths[i];
        n_kinds += lengths[i] > 0;
    }
    if (n_kinds > 1)
        return eddy__load_fail(at->loader, EDDY_E_ATTR_KIND,
                               "attribute '%s' is a list of %zu kinds",
                               at->name, n_kinds);
    if (list->n_s > 0)
        return read_strings(at, list->s, attr->n, attr);
    if (list->n_b > 0)
        return read_bools(at, list->b, attr->n, attr);
    if (list->n_type > 0)
        return read_types(at, list->type, attr->n, attr, out_is_opaque);
    if (list->n_shape > 0)
        return read_shapes(at, list->shape, attr->n, attr, out_is_opaque);
    if (list->n_tensor > 0)
        return read_tensors(at, list->tensor, attr->n, attr, out_is_opaque);
    if (list->n_func > 0)
        return read_functions(at, list->func, attr->n, attr, out_is_opaque);
    if (list->n_f > 0) {
        attr->kind = EDDY_ATTR_FLOAT;
        attr->as.floats = list->f;
        return EDDY_OK;
    }
    /* An empty list has no kind; any will do. */
    attr->kind = EDDY_ATTR_INT;
    attr->as.ints = list->i;
    return EDDY_OK;
}

static eddy_status read_value(const place *at, const Eddy__Pb__AttrValue *value,
                              eddy_attr *attr, bool *out_is_opaque)
{
    attr->n = 1;
    switch (value->value_case) {
    case EDDY__PB__ATTR_VALUE__VALUE_S:
        return read_strings(at, &value->s, 1, attr);
    case EDDY__PB__ATTR_VALUE__VALUE_I:
        attr->kind = EDDY_ATTR_INT;
        attr->as.ints = &value->i;
        return EDDY_OK;
    case EDDY__PB__ATTR_VALUE__VALUE_F:
        attr->kind = EDDY_ATTR_FLOAT;
        attr->as.floats = &value->f;
        return EDDY_OK;
    case EDDY__PB__ATTR_VALUE__VALUE_B:
        return read_bools(at, &value->b, 1, attr);
    case EDDY__PB__ATTR_VALUE__VALUE_TYPE:
        return read_types(at, &value->type, 1, attr, out_is_opaque);
    case EDDY__PB__ATTR_VALUE__VALUE_SHAPE:
        return read_shapes(at, &value->shape, 1, attr, out_is_opaque);
    case EDDY__PB__ATTR_VALUE__VALUE_TENSOR:
        return read_tensors(at, &value->tensor, 1, attr, out_is_opaque);
    case EDDY__PB__ATTR_VALUE__VALUE_FUNC:
        return read_functions(at, &value->func, 1, attr, out_is_opaque);
    case EDDY__PB__ATTR_VALUE__VALUE_LIST:
        attr->n = 0;
        return read_list(at, value->list, attr, out_is_opaque);
    case EDDY__PB__ATTR_VALUE__VALUE_PLACEHOLDER:
        return eddy__load_fail(at->loader, EDDY_E_ATTR_KIND,
                               "attribute '%s' stands for '%s' of a function, "
                               "which has no value here",
                               at->name, value->placeholder);
    default:
        return eddy__load_fail(at->loader, EDDY_E_ATTR_KIND,
                               "attribute '%s' has no value", at->name);
    }
}

/*
 * A name with '_' has no meaning to eddy, so nothing can be wrong with it: what
 * eddy has no place for is kept as it came.
 */
static eddy_status read_anything(const place *at,
                                 const Eddy__Pb__AttrValue *value,
                                 eddy_attr *attr, bool *out_is_opaque)
{
    eddy_error *err = at->loader->err;
    eddy_error found;
    eddy_status status;

    at->loader->err = &found;
    status = read_value(at, value, attr, out_is_opaque);
    at->loader->err = err;
    if (status == EDDY_INVALID_ARGUMENT) {
        *out_is_opaque = true;
        return EDDY_OK;
    }
    if (status != EDDY_OK && err)
        *err = found;
    return status;
}

eddy_status eddy__read_attr(eddy__loader *loader, const eddy__op *op,
                            const char *name, const Eddy__Pb__AttrValue *value,
                            eddy__message raw, eddy_attr *out_attr)
{
    const Eddy__Pb__AttrValue none = EDDY__PB__ATTR_VALUE__INIT;
    const place at = {loader, name, op != NULL};
    eddy_attr attr = {.name = name};
    bool is_opaque = false;

    if (!value)
        value = &none;
    if (name[0] == '_')
        EDDY_TRY(read_anything(&at, value, &attr, &is_opaque));
    else
        EDDY_TRY(read_value(&at, value, &attr, &is_opaque));
    if (is_opaque) {
        const ProtobufCBinaryData bytes = {
            raw.length, eddy__graphdef_borrow_bytes(raw.bytes)};

        attr = (eddy_attr){.name = name, .n = 1};
        EDDY_TRY(read_strings(&at, &bytes, 1, &attr));
        attr.kind = EDDY_ATTR_OPAQUE;
    }
    *out_attr = attr;
    return EDDY_OK;
}

/* ---- writing ---- */

static bool write_strings(eddy__scratch *scratch, const eddy_attr *attr,
                          Eddy__Pb__AttrValue__ListValue *list)
{
    list->s = eddy__scratch_allocate(scratch, attr->n, sizeof *list->s);
    if (!list->s)
        return false;
    for (size_t i = 0; i < attr->n; i++) {
        list->s[i].data = eddy__graphdef_borrow_bytes(attr->as.strings[i].data);
        list->s[i].len = attr->as.strings[i].length;
    }
    list->n_s = attr->n;
    return true;
}

static bool write_numbers(eddy__scratch *scratch, const eddy_attr *attr,
                          Eddy__Pb__AttrValue__ListValue *list)
{
    list->i = eddy__scratch_allocate(scratch, attr->n, sizeof *list->i);
    list->f = eddy__scratch_allocate(scratch, attr->n, sizeof *list->f);
    list->b = eddy__scratch_allocate(scratch, attr->n, sizeof *list->b);
    list->type = eddy__scratch_allocate(scratch, attr->n, sizeof *list->type);
    if (!list->i || !list->f || !list->b || !list->type)
        return false;
    for (size_t i = 0; i < attr->n; i++) {
        if (attr->kind == EDDY_ATTR_INT)
            list->i[list->n_i++] = attr->as.ints[i];
        else if (attr->kind == EDDY_ATTR_FLOAT)
            list->f[list->n_f++] = attr->as.floats[i];
        else if (attr->kind == EDDY_ATTR_BOOL)
            list->b[list->n_b++] = attr->as.bools[i];
        else
            list->type[list->n_type++] = eddy__dtype_to_tf(attr->as.types[i]);
    }
    return true;
}

static bool write_shapes(eddy__scratch *scratch, const eddy_attr *attr,
                         Eddy__Pb__AttrValue__ListValue *list)
{
    list->shape = eddy__scratch_allocate(scratch, attr->n,
                                         sizeof(Eddy__Pb__TensorShapeProto *));
    for (size_t i = 0; list->shape && i < attr->n; i++) {
        list->shape[i] = eddy__write_shape(scratch, &attr->as.shapes[i]);
        if (!list->shape[i])
            return false;
    }
    list->n_shape = attr->n;
    return list->shape != NULL;
}

static bool write_tensors(eddy__scratch *scratch, const eddy_attr *attr,
                          Eddy__Pb__AttrValue__ListValue *list)
{
    list->tensor = eddy__scratch_allocate(scratch, attr->n,
                                          sizeof(Eddy__Pb__TensorProto *));
    for (size_t i = 0; list->tensor && i < attr->n; i++) {
        list->tensor[i] = eddy__write_tensor(scratch, attr->as.tensors[i]);
        if (!list->tensor[i])
            return false;
    }
    list->n_tensor = attr->n;
    return list->tensor != NULL;
}

static bool write_functions(eddy__scratch *scratch, const eddy_attr *attr,
                            Eddy__Pb__AttrValue__ListValue *list)
{
    list->func = eddy__scratch_allocate(scratch, attr->n,
                                        sizeof(Eddy__Pb__NameAttrList *));
    for (size_t i = 0; list->func && i < attr->n; i++) {
        eddy_string name = attr->as.strings[i];
        Eddy__Pb__NameAttrList *func =
            eddy__scratch_allocate(scratch, 1, sizeof *func);

        if (!func)
            return false;
        eddy__pb__name_attr_list__init(func);
        func->name = eddy__scratch_text(scratch, name.data, name.length);
        if (!func->name)
            return false;
        list->func[i] = func;
    }
    list->n_func = attr->n;
    return list->func != NULL;
}

static bool write_list(eddy__scratch *scratch, const eddy_attr *attr,
                       Eddy__Pb__AttrValue__ListValue *list)
{
    switch (attr->kind) {
    case EDDY_ATTR_STRING:
        return write_strings(scratch, attr, list);
    case EDDY_ATTR_SHAPE:
        return write_shapes(scratch, attr, list);
    case EDDY_ATTR_TENSOR:
        return write_tensors(scratch, attr, list);
    case EDDY_ATTR_FUNCTION:
        return write_functions(scratch, attr, list);
    default:
        return write_numbers(scratch, attr, list);
    }
}

/* The only element of `list` as a value of its own. */
static void take_single(const eddy_attr *attr,
                        const Eddy__Pb__AttrValue__ListValue *list,
                        Eddy__Pb__AttrValue *value)
{
    switch (attr->kind) {
#define X(kind, field, member)                                                 \
    case EDDY_ATTR_##kind:                                                     \
        value->value_case = EDDY__PB__ATTR_VALUE__VALUE_##field;               \
        value->member = list->member[0];                                       \
        break;
        X(INT, I, i)
        X(FLOAT, F, f)
        X(BOOL, B, b)
        X(STRING, S, s)
        X(TYPE, TYPE, type)
        X(SHAPE, SHAPE, shape)
        X(TENSOR, TENSOR, tensor)
        X(FUNCTION, FUNC, func)
#undef X
    case EDDY_ATTR_OPAQUE:
        break;
    }
}

/*
 * To protobuf-c a message may have fields that it does not know, which it
 * writes as they are: so an AttrValue of nothing else keeps its bytes.
 */
static eddy_status write_opaque(eddy__scratch *scratch, const eddy_attr *attr,
                                Eddy__Pb__AttrValue **out_value,
                                eddy_error *err)
{
    const eddy_string bytes = attr->as.strings[0];
    eddy__wire_cursor wire = eddy__wire_fields(bytes.data, bytes.length);
    Eddy__Pb__AttrValue *value =
        eddy__scratch_allocate(scratch, 1, sizeof *value);
    ProtobufCMessageUnknownField *fields = eddy__scratch_allocate(
        scratch, bytes.length / 2, sizeof *fields); /* a tag and one byte */
    eddy__wire_summary summary;
    eddy__wire_field field;
    unsigned n = 0;

    EDDY_TRY(eddy__wire_check(
        &eddy__graphdef_format, &eddy__pb__attr_value__descriptor,
        (eddy__message){(const uint8_t *)bytes.data, bytes.length}, &summary,
        err));
    if (!value || !fields)
        return eddy__scratch_fail(scratch, err);
    eddy__pb__attr_value__init(value);
    for (const uint8_t *start = wire.at; eddy__wire_next(&wire, &field);
         start = wire.at) {
        const uint8_t *after_tag = start;

        while (*after_tag++ >= 0x80)
            continue;
        fields[n++] = (ProtobufCMessageUnknownField){
            .tag = field.number,
            .wire_type = (ProtobufCWireType)(*start & 7),
            .len = (size_t)(wire.at - after_tag),
            .data = eddy__graphdef_borrow_bytes(after_tag),
        };
    }
    value->base.unknown_fields = fields;
    value->base.n_unknown_fields = n;
    *out_value = value;
    return EDDY_OK;
}

eddy_status eddy__write_attr(eddy__scratch *scratch, const eddy_attr *attr,
                             Eddy__Pb__AttrValue **out_value, eddy_error *err)
{
    Eddy__Pb__AttrValue__ListValue *list;
    Eddy__Pb__AttrValue *value;

    if (attr->kind == EDDY_ATTR_OPAQUE)
        return write_opaque(scratch, attr, out_value, err);
    list = eddy__scratch_allocate(scratch, 1, sizeof *list);
    value = eddy__scratch_allocate(scratch, 1, sizeof *value);
    if (!list || !value)
        return eddy__scratch_fail(scratch, err);
    eddy__pb__attr_value__list_value__init(list);
    eddy__pb__attr_value__init(value);
    if (!write_list(scratch, attr, list))
        return eddy__scratch_fail(scratch, err);
    if (attr->is_list) {
        value->value_case = EDDY__PB__ATTR_VALUE__VALUE_LIST;
        value->list = list;
    } else {
        take_single(attr, list, value);
    }
    *out_value = value;
    return EDDY_OK;
}

eddy_status eddy__unpack_attr(eddy__scratch *scratch, const eddy_attr *attr,
                              Eddy__Pb__AttrValue **out_value, eddy_error *err)
{
    eddy__wire_summary summary = {.n_nodes = 0};
    eddy_string bytes;

    if (attr->kind != EDDY_ATTR_OPAQUE)
        return eddy__write_attr(scratch, attr, out_value, err);
    bytes = attr->as.strings[0];
    EDDY_TRY(eddy__wire_check(
        &eddy__graphdef_format, &eddy__pb__attr_value__descriptor,
        (eddy__message){(const uint8_t *)bytes.data, bytes.length}, &summary,
        err));
    *out_value = eddy__pb__attr_value__unpack(&scratch->protobuf, bytes.length,
                                              (const uint8_t *)bytes.data);
    return *out_value ? EDDY_OK : eddy__scratch_fail(scratch, err);
}
