/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses signatures by a descent as deep as the language, which does not nest.
 */
#include "core/graph/signature.h"

#include "core/base/status.h"
#include "core/graph/attr.h"
#include "core/graph/scanner.h"

#include <string.h>

/* A list in a signature, or a default, has at most this many elements. */
#define MAX_ELEMENTS 64

/* What is being parsed, and the attributes that have been. */
typedef struct parser {
    eddy__scanner in;
    eddy__arena *arena;
    eddy__attr_def attrs[EDDY__MAX_ATTRS];
    uint32_t n_attrs;
} parser;

/* One element of a default; every member starts where the union does. */
typedef union element {
    int64_t number;
    float rate;
    bool flag;
    eddy_string text;
    eddy_dtype dtype;
    eddy_shape shape;
} element;

static eddy_status fail(const parser *p, const char *wanted)
{
    return eddy__scanner_fail(&p->in, wanted);
}

static void begin(parser *p, const char *part, const char *text)
{
    p->in.part = part;
    p->in.text = p->in.at = p->in.last = text ? text : "";
}

static int16_t find_attr(const parser *p, eddy__word word)
{
    for (uint32_t i = 0; i < p->n_attrs; i++)
        if (eddy__word_is(word, p->attrs[i].name))
            return (int16_t)i;
    return -1;
}

/* Reads a name and the colon behind it; the name is copied to the arena. */
static eddy_status parse_name(parser *p, const char **out_name)
{
    eddy__word word = eddy__scan_word(&p->in);

    if (word.length == 0)
        return fail(p, "a name");
    *out_name = eddy__arena_text(p->arena, word.text, word.length);
    if (!*out_name)
        return eddy__fail_memory(p->in.err);
    return eddy__scan(&p->in, ':') ? EDDY_OK : fail(p, "':'");
}

/* ---- kinds of attributes ---- */

/* The dtypes of a group, 0 if the word names none. */
static eddy__dtype_set find_group(eddy__word word)
{
    static const struct {
        const char *name;
        eddy__dtype_set set;
    } groups[] = {
        {"type", EDDY__ALL_DTYPES},   {"number", EDDY__NUMBERS},
        {"complex", EDDY__COMPLEXES}, {"real", EDDY__REALS},
        {"float", EDDY__FLOATS},      {"integer", EDDY__INTEGERS},
        {"index", EDDY__INDEXES},
    };

    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (eddy__word_is(word, groups[i].name))
            return groups[i].set;
    return 0;
}

/* `{float32, index}`, after its brace. */
static eddy_status parse_set(parser *p, eddy__dtype_set *out_set)
{
    eddy__dtype_set set = 0;

    do {
        eddy__word word = eddy__scan_word(&p->in);
        eddy_dtype dtype = eddy__dtype_from_name(word.text, word.length);

        if (dtype != EDDY_INVALID)
            set |= EDDY__DTYPE_BIT(dtype);
        else if (find_group(word) != 0)
            set |= find_group(word);
        else
            return fail(p, "a dtype or a group of dtypes");
    } while (eddy__scan(&p->in, ','));
    *out_set = set;
    return eddy__scan(&p->in, '}') ? EDDY_OK : fail(p, "',' or '}'");
}

/*
 * `float` alone may be a number or the group of dtypes.  It is taken as the
 * number until the default or an argument shows that a dtype is meant.
 */
static eddy_status parse_element_kind(parser *p, eddy__attr_def *def)
{
    static const struct {
        const char *name;
        eddy_attr_kind kind;
    } kinds[] = {
        {"int", EDDY_ATTR_INT},       {"float", EDDY_ATTR_FLOAT},
        {"bool", EDDY_ATTR_BOOL},     {"string", EDDY_ATTR_STRING},
        {"shape", EDDY_ATTR_SHAPE},   {"tensor", EDDY_ATTR_TENSOR},
        {"func", EDDY_ATTR_FUNCTION},
    };
    eddy__word word;

    def->kind = EDDY_ATTR_TYPE;
    if (eddy__scan(&p->in, '{'))
        return parse_set(p, &def->allowed);
    word = eddy__scan_word(&p->in);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (eddy__word_is(word, kinds[i].name)) {
            def->kind = kinds[i].kind;
            return EDDY_OK;
        }
    def->allowed = find_group(word);
    return def->allowed ? EDDY_OK : fail(p, "a kind of attribute");
}

static eddy_status parse_kind(parser *p, eddy__attr_def *def)
{
    eddy__scanner before = p->in;

    if (!eddy__word_is(eddy__scan_word(&p->in), "list")) {
        p->in = before;
        return parse_element_kind(p, def);
    }
    def->is_list = true;
    if (!eddy__scan(&p->in, '('))
        return fail(p, "'('");
    EDDY_TRY(parse_element_kind(p, def));
    return eddy__scan(&p->in, ')') ? EDDY_OK : fail(p, "')'");
}

static eddy_status parse_minimum(parser *p, eddy__attr_def *def)
{
    if (!eddy__scan(&p->in, '>'))
        return EDDY_OK;
    if (def->kind != EDDY_ATTR_INT && !def->is_list)
        return fail(p, "no minimum but for an int or a list");
    if (!eddy__scan(&p->in, '=') || !eddy__scan_int(&p->in, &def->minimum))
        return fail(p, "'>=' and a number");
    def->has_minimum = true;
    return EDDY_OK;
}

/* ---- defaults ---- */

/* `?`, `[]` or `[2, ?]`. */
static eddy_status parse_shape(parser *p, eddy_shape *out_shape)
{
    eddy_shape shape = {.rank = -1};

    if (!eddy__scan(&p->in, '?')) {
        if (!eddy__scan(&p->in, '['))
            return fail(p, "'?' or '['");
        shape.rank = 0;
        while (!eddy__scan(&p->in, ']')) {
            int64_t dim = -1;

            if (shape.rank > 0 && !eddy__scan(&p->in, ','))
                return fail(p, "',' or ']'");
            if (shape.rank == EDDY_MAX_RANK)
                return fail(p, "at most 8 dimensions");
            if (!eddy__scan(&p->in, '?') &&
                (!eddy__scan_int(&p->in, &dim) || dim < 0))
                return fail(p, "a dimension");
            shape.dims[shape.rank++] = dim;
        }
    }
    *out_shape = shape;
    return EDDY_OK;
}

static eddy_status parse_dtype(parser *p, const eddy__attr_def *def,
                               eddy_dtype *out_dtype)
{
    eddy__word word = eddy__scan_word(&p->in);

    *out_dtype = eddy__dtype_from_name(word.text, word.length);
    return eddy__dtype_in(*out_dtype, def->allowed)
               ? EDDY_OK
               : fail(p, "a dtype that the attribute allows");
}

static eddy_status parse_text(parser *p, eddy_string *out_text)
{
    eddy_string text;

    if (!eddy__scan_quoted(&p->in, &text))
        return fail(p, "a text in single quotes");
    out_text->length = text.length;
    out_text->data = eddy__arena_text(p->arena, text.data, text.length);
    return out_text->data ? EDDY_OK : eddy__fail_memory(p->in.err);
}

static eddy_status parse_flag(parser *p, bool *out_flag)
{
    eddy__word word = eddy__scan_word(&p->in);

    *out_flag = eddy__word_is(word, "true");
    if (!*out_flag && !eddy__word_is(word, "false"))
        return fail(p, "true or false");
    return EDDY_OK;
}

static eddy_status parse_element(parser *p, const eddy__attr_def *def,
                                 element *out)
{
    switch (def->kind) {
    case EDDY_ATTR_INT:
        if (!eddy__scan_int(&p->in, &out->number))
            return fail(p, "an integer");
        if (!def->is_list && def->has_minimum && out->number < def->minimum)
            return fail(p, "an integer not below the minimum");
        return EDDY_OK;
    case EDDY_ATTR_FLOAT:
        return eddy__scan_float(&p->in, &out->rate) ? EDDY_OK
                                                    : fail(p, "a number");
    case EDDY_ATTR_BOOL:
        return parse_flag(p, &out->flag);
    case EDDY_ATTR_STRING:
        return parse_text(p, &out->text);
    case EDDY_ATTR_TYPE:
        return parse_dtype(p, def, &out->dtype);
    case EDDY_ATTR_SHAPE:
        return parse_shape(p, &out->shape);
    case EDDY_ATTR_TENSOR:
    case EDDY_ATTR_FUNCTION:
    case EDDY_ATTR_OPAQUE:
        break;
    }
    return fail(p, "no default for a tensor or a function");
}

/* Packs the elements into an array of the attribute's kind. */
static eddy_status set_default(parser *p, eddy__attr_def *def,
                               const element *elements, size_t n)
{
    size_t size = eddy__attr_element_size(def->kind);
    char *array = eddy__arena_allocate(p->arena, n, size);

    if (!array)
        return eddy__fail_memory(p->in.err);
    for (size_t i = 0; i < n; i++)
        memcpy(array + i * size, &elements[i], size);
    def->has_default = true;
    def->value = (eddy_attr){.name = def->name,
                             .kind = def->kind,
                             .is_list = def->is_list,
                             .n = n,
                             .as.ints = (const void *)array};
    return EDDY_OK;
}

static eddy_status parse_list(parser *p, eddy__attr_def *def)
{
    element elements[MAX_ELEMENTS];
    size_t n = 0;

    if (!eddy__scan(&p->in, '['))
        return fail(p, "'['");
    while (!eddy__scan(&p->in, ']')) {
        if (n > 0 && !eddy__scan(&p->in, ','))
            return fail(p, "',' or ']'");
        if (n == MAX_ELEMENTS)
            return fail(p, "no more elements");
        EDDY_TRY(parse_element(p, def, &elements[n++]));
    }
    if (def->has_minimum && (int64_t)n < def->minimum)
        return fail(p, "as many elements as the minimum");
    return set_default(p, def, elements, n);
}

/* True if a dtype is next, as in "T: float = float32". */
static bool dtype_follows(const parser *p)
{
    eddy__scanner ahead = p->in;
    eddy__word word = eddy__scan_word(&ahead);

    return eddy__dtype_from_name(word.text, word.length) != EDDY_INVALID;
}

static void make_dtype(eddy__attr_def *def)
{
    def->kind = EDDY_ATTR_TYPE;
    def->allowed = EDDY__FLOATS;
}

static eddy_status parse_default(parser *p, eddy__attr_def *def)
{
    element value;

    if (!eddy__scan(&p->in, '='))
        return EDDY_OK;
    if (def->is_list)
        return parse_list(p, def);
    if (def->kind == EDDY_ATTR_FLOAT && dtype_follows(p))
        make_dtype(def);
    EDDY_TRY(parse_element(p, def, &value));
    return set_default(p, def, &value, 1);
}

/* ---- the three parts ---- */

static eddy_status parse_attrs(parser *p, const char *text)
{
    begin(p, "attrs", text);
    while (!eddy__scan_end(&p->in)) {
        eddy__attr_def def = {.kind = EDDY_ATTR_INT};
        eddy__scanner before;

        if (p->n_attrs > 0 && !eddy__scan(&p->in, ','))
            return fail(p, "',' or the end");
        if (p->n_attrs == EDDY__MAX_ATTRS)
            return fail(p, "no more attributes");
        before = p->in;
        if (find_attr(p, eddy__scan_word(&before)) >= 0)
            return eddy__scanner_fail(&before, "a name that is not taken");
        EDDY_TRY(parse_name(p, &def.name));
        EDDY_TRY(parse_kind(p, &def));
        EDDY_TRY(parse_minimum(p, &def));
        EDDY_TRY(parse_default(p, &def));
        p->attrs[p->n_attrs++] = def;
    }
    return EDDY_OK;
}

/* N of "N * T", the word just read: without its own minimum it is at least 1.
 */
static eddy_status set_number(parser *p, eddy__word word, eddy__arg *arg)
{
    eddy__attr_def *def;

    arg->number_attr = find_attr(p, word);
    if (arg->number_attr < 0)
        return fail(p, "an attribute before '*'");
    def = &p->attrs[arg->number_attr];
    if (def->kind != EDDY_ATTR_INT || def->is_list)
        return fail(p, "an int attribute before '*'");
    if (!def->has_minimum) {
        def->has_minimum = true;
        def->minimum = 1;
    }
    return def->minimum >= 0 ? EDDY_OK : fail(p, "a number of at least 0");
}

/* T or L of an argument, the word just read, or the name of a dtype. */
static eddy_status set_type(parser *p, eddy__word word, eddy__arg *arg)
{
    int16_t id = find_attr(p, word);
    eddy__attr_def *def;

    if (id < 0) {
        arg->dtype = eddy__dtype_from_name(word.text, word.length);
        return arg->dtype != EDDY_INVALID ? EDDY_OK
                                          : fail(p, "a dtype or an attribute");
    }
    def = &p->attrs[id];
    if (def->kind == EDDY_ATTR_FLOAT && !def->has_default)
        make_dtype(def);
    if (def->kind != EDDY_ATTR_TYPE)
        return fail(p, "an attribute that is a dtype");
    if (!def->is_list)
        arg->type_attr = id;
    else if (arg->number_attr < 0)
        arg->list_attr = id;
    else
        return fail(p, "a single dtype after '*'");
    return EDDY_OK;
}

static eddy_status parse_arg(parser *p, eddy__arg *arg)
{
    eddy__word word;

    *arg = (eddy__arg){.type_attr = -1, .number_attr = -1, .list_attr = -1};
    EDDY_TRY(parse_name(p, &arg->name));
    word = eddy__scan_word(&p->in);
    if (eddy__word_is(word, "ref")) {
        arg->is_ref = true;
        word = eddy__scan_word(&p->in);
    }
    if (eddy__scan(&p->in, '*')) {
        p->in.last = word.text;
        EDDY_TRY(set_number(p, word, arg));
        word = eddy__scan_word(&p->in);
    }
    p->in.last = word.text;
    return set_type(p, word, arg);
}

static eddy_status parse_args(parser *p, const char *part, const char *text,
                              const eddy__arg **out_args, uint32_t *out_n)
{
    eddy__arg args[MAX_ELEMENTS];
    uint32_t n = 0;

    begin(p, part, text);
    while (!eddy__scan_end(&p->in)) {
        if (n > 0 && !eddy__scan(&p->in, ','))
            return fail(p, "',' or the end");
        if (n == MAX_ELEMENTS)
            return fail(p, "no more arguments");
        EDDY_TRY(parse_arg(p, &args[n]));
        for (uint32_t i = 0; i < n; i++)
            if (strcmp(args[i].name, args[n].name) == 0)
                return fail(p, "a name that is not taken");
        n++;
    }
    *out_args = eddy__arena_copy(p->arena, args, n, sizeof *args);
    *out_n = n;
    return *out_args ? EDDY_OK : eddy__fail_memory(p->in.err);
}

/* A default was read before an argument showed that its attribute is an N. */
static eddy_status check_numbers(parser *p)
{
    for (uint32_t i = 0; i < p->n_attrs; i++) {
        const eddy__attr_def *def = &p->attrs[i];

        if (def->kind == EDDY_ATTR_INT && !def->is_list && def->has_minimum &&
            def->has_default && def->value.as.ints[0] < def->minimum)
            return fail(p, "defaults that are not below the minimum");
    }
    return EDDY_OK;
}

eddy_status eddy__signature_parse(eddy__arena *arena, const eddy_op_spec *spec,
                                  eddy__op *out_op, eddy_error *err)
{
    parser p;

    p.in = (eddy__scanner){.op = spec->name, .err = err};
    p.arena = arena;
    p.n_attrs = 0;
    EDDY_TRY(parse_attrs(&p, spec->attrs));
    EDDY_TRY(parse_args(&p, "inputs", spec->inputs, &out_op->inputs,
                        &out_op->n_inputs));
    EDDY_TRY(parse_args(&p, "outputs", spec->outputs, &out_op->outputs,
                        &out_op->n_outputs));
    EDDY_TRY(check_numbers(&p));
    out_op->attrs =
        eddy__arena_copy(arena, p.attrs, p.n_attrs, sizeof *p.attrs);
    out_op->n_attrs = p.n_attrs;
    return out_op->attrs ? EDDY_OK : eddy__fail_memory(err);
}
