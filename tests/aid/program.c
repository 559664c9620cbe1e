/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/program.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EDGES 64
#define MAX_NAMES 64
#define MAX_ATTRS 8 /* but for those of an Enter's frame */

bool program_is_release(void)
{
    const char *variant = getenv("VARIANT");

    return !variant || strcmp(variant, "release") == 0;
}

size_t program_scale(size_t size, size_t under_sanitizer)
{
    return program_is_release() ? size : under_sanitizer;
}

void program_want_ok(const program *p, eddy_status status)
{
    char line[1024];

    if (status == EDDY_OK)
        return;
    eddy_error_format(&p->err, line, sizeof line);
    ck_abort_msg("%s", line);
}

/*
 * What a text must be.  An assertion that holds costs nothing here: each of
 * Check's writes to its file, and some tests read ten thousand texts.
 */
static void demand(bool holds, const char *name, const char *what)
{
    if (!holds)
        ck_abort_msg("'%s' %s", name, what);
}

/* ---- making and freeing ---- */

void program_init_with(program *p, const eddy_context_options *options)
{
    eddy_context_options copy = *options;

    memset(p, 0, sizeof *p);
    counting_allocator_init(&p->counting);
    copy.size = sizeof copy;
    copy.allocator = p->counting.allocator;
    program_want_ok(p, eddy_context_create(&copy, &p->ctx, &p->err));
    program_want_ok(p, eddy_graph_create(p->ctx, &p->graph, &p->err));
    p->plan_options = (eddy_plan_options){
        .size = sizeof p->plan_options,
        .optimize = EDDY_OPTIMIZE_NONE,
    };
    p->run_options.size = sizeof p->run_options;
}

void program_init(program *p, uint32_t n_workers)
{
    const eddy_context_options options = {.n_workers = n_workers};

    program_init_with(p, &options);
    ck_assert_uint_eq(eddy_context_workers(p->ctx), n_workers);
}

static void drop_plan(program *p)
{
    eddy_run_destroy(p->run);
    eddy_plan_release(p->plan);
    p->run = NULL;
    p->plan = NULL;
}

void program_init_session(program *p)
{
    program_init(p, 0);
    program_renew_session(p);
}

void program_renew_session(program *p)
{
    eddy_session_release(p->session);
    program_want_ok(p, eddy_session_create(p->ctx, &p->session, &p->err));
    p->run_options.session = p->session;
}

void program_deinit(program *p)
{
    drop_plan(p);
    eddy_session_release(p->session);
    eddy_graph_destroy(p->graph);
    eddy_context_destroy(p->ctx);
    counting_allocator_want_none(&p->counting);
}

void program_clear(program *p)
{
    drop_plan(p);
    eddy_graph_destroy(p->graph);
    p->graph = NULL;
    program_want_ok(p, eddy_graph_create(p->ctx, &p->graph, &p->err));
}

eddy_graph *program_save_and_load(program *p, const eddy_graph *graph)
{
    eddy_graph *loaded = NULL;
    void *bytes;
    size_t length;

    program_want_ok(p, eddy_graphdef_write(graph, &bytes, &length, &p->err));
    program_want_ok(
        p, eddy_graphdef_read(p->ctx, bytes, length, NULL, &loaded, &p->err));
    eddy_graphdef_free(graph, bytes, length);
    return loaded;
}

void program_reload(program *p)
{
    eddy_graph *loaded = program_save_and_load(p, p->graph);

    eddy_graph_destroy(p->graph);
    p->graph = loaded;
}

/* ---- graphs as text ---- */

static eddy_dtype read_dtype(const char *text, size_t length)
{
    for (int i = 1; i < EDDY_DTYPE_COUNT; i++) {
        const char *name = eddy_dtype_name((eddy_dtype)i);

        if (strlen(name) == length && memcmp(name, text, length) == 0)
            return (eddy_dtype)i;
    }
    ck_abort_msg("no dtype '%s'", text);
    return EDDY_INVALID;
}

/* "[2,?]", "()" for a scalar, or "?". */
static eddy_shape read_shape(const char *text)
{
    eddy_shape shape = {.rank = text[0] == '?' ? -1 : 0};

    if (text[0] != '[')
        return shape;
    do {
        text++;
        ck_assert_int_lt(shape.rank, EDDY_MAX_RANK);
        shape.dims[shape.rank++] = *text == '?' ? -1 : atoll(text);
        text += strcspn(text, ",]");
    } while (*text == ',');
    return shape;
}

/* float32 or float32[9] or float32[2,3], up to `end`. */
static eddy_dtype read_type(const char *text, const char *end,
                            eddy_shape *shape)
{
    const char *bracket = strchr(text, '[');

    *shape = (eddy_shape){.rank = 0};
    if (bracket && bracket < end) {
        *shape = read_shape(bracket);
        end = bracket;
    }
    return read_dtype(text, (size_t)(end - text));
}

static void store(eddy_dtype dtype, void *element, double value)
{
    switch (dtype) {
    case EDDY_INT64:
        *(int64_t *)element = (int64_t)value;
        break;
    case EDDY_INT32:
        *(int32_t *)element = (int32_t)value;
        break;
    case EDDY_FLOAT64:
        *(double *)element = value;
        break;
    case EDDY_FLOAT32:
        *(float *)element = (float)value;
        break;
    case EDDY_FLOAT16:
        *(uint16_t *)element = eddy_float16_from_float((float)value);
        break;
    case EDDY_BOOL:
        *(bool *)element = value != 0;
        break;
    case EDDY_INT8:
        *(int8_t *)element = (int8_t)value;
        break;
    case EDDY_UINT8:
        *(uint8_t *)element = (uint8_t)value;
        break;
    case EDDY_INT16:
        *(int16_t *)element = (int16_t)value;
        break;
    case EDDY_UINT16:
        *(uint16_t *)element = (uint16_t)value;
        break;
    case EDDY_UINT32:
        *(uint32_t *)element = (uint32_t)value;
        break;
    case EDDY_UINT64:
        *(uint64_t *)element = (uint64_t)value;
        break;
    case EDDY_COMPLEX64:
        ((float *)element)[0] = (float)value;
        ((float *)element)[1] = 0;
        break;
    case EDDY_COMPLEX128:
        ((double *)element)[0] = value;
        ((double *)element)[1] = 0;
        break;
    case EDDY_BFLOAT16:
        *(uint16_t *)element = eddy_bfloat16_from_float((float)value);
        break;
    default:
        ck_abort_msg("no constants of %s", eddy_dtype_name(dtype));
    }
}

/* Steps over a word; after the last of those between commas is the first. */
static eddy_string next_word(const char *words, const char **at)
{
    const eddy_string word = {*at, strcspn(*at, ",")};

    *at = word.data[word.length] == ',' ? word.data + word.length + 1 : words;
    return word;
}

static eddy_tensor *make_numbers(const program *p, eddy_dtype dtype,
                                 const eddy_shape *shape, const char *words)
{
    const char *at = words;
    eddy_tensor *tensor;
    eddy_error err;

    demand(eddy_tensor_create(p->ctx, dtype, shape, &tensor, &err) == EDDY_OK,
           words, "has no tensor");
    for (int64_t i = 0; i < eddy_tensor_count(tensor); i++)
        store(dtype,
              (char *)eddy_tensor_mutable_data(tensor) +
                  (size_t)i * eddy_dtype_size(dtype),
              atof(next_word(words, &at).data));
    return tensor;
}

static eddy_tensor *make_strings(const program *p, const eddy_shape *shape,
                                 const char *words)
{
    const char *at = words;
    eddy_string strings[64];
    eddy_tensor *tensor;
    eddy_error err;
    int64_t n = 1;

    for (int32_t d = 0; d < shape->rank; d++)
        n *= shape->dims[d];
    ck_assert_int_le(n, 64);
    for (int64_t i = 0; i < n; i++)
        strings[i] = next_word(words, &at);
    ck_assert_int_eq(eddy_tensor_from_strings(p->ctx, shape, strings, (size_t)n,
                                              &tensor, &err),
                     EDDY_OK);
    return tensor;
}

static void add_filled(program *p, const char *name, const char *type,
                       const char *words)
{
    eddy_shape shape;
    eddy_dtype dtype = read_type(type, words - 1, &shape);
    eddy_tensor *tensor = dtype == EDDY_STRING
                              ? make_strings(p, &shape, words)
                              : make_numbers(p, dtype, &shape, words);
    eddy_output out;

    program_want_ok(
        p, eddy_graph_add_const(p->graph, name, tensor, &out, &p->err));
    eddy_tensor_release(tensor);
}

static void add_placeholder(program *p, const char *name, const char *type)
{
    eddy_shape shape;
    eddy_dtype dtype = read_type(type, type + strlen(type), &shape);
    eddy_output out;

    program_want_ok(p, eddy_graph_add_placeholder(p->graph, name, dtype, &shape,
                                                  &out, &p->err));
}

/* The words of a line, cut apart in place. */
typedef struct line {
    const char *name;
    char *op;
    const char *inputs[MAX_EDGES], *controls[MAX_EDGES];
    const char *attrs[MAX_ATTRS + 1];
    size_t n_inputs, n_controls, n_attrs;
} line;

static bool read_line(char *text, line *l)
{
    char *rest, *word;

    memset(l, 0, sizeof *l);
    l->name = strtok_r(text, " ", &rest);
    if (!l->name)
        return false;
    l->op = strtok_r(NULL, " ", &rest);
    demand(l->op != NULL, l->name, "has no op");
    while ((word = strtok_r(NULL, " ", &rest))) {
        demand(l->n_inputs + l->n_controls < MAX_EDGES, l->name,
               "has too many edges");
        if (word[0] == '^')
            l->controls[l->n_controls++] = word + 1;
        else if (strchr(word, '='))
            l->attrs[l->n_attrs++] = word;
        else
            l->inputs[l->n_inputs++] = word;
        demand(l->n_attrs <= MAX_ATTRS, l->name, "has too many attributes");
    }
    return true;
}

/* The node is EDDY_NO_NODE if it is not there yet. */
static eddy_output read_output(const program *p, const char *word)
{
    const char *colon = strchr(word, ':');
    char name[128];
    eddy_output output = {.index = colon ? (uint32_t)atoi(colon + 1) : 0};

    snprintf(name, sizeof name, "%.*s",
             (int)(colon ? (size_t)(colon - word) : strlen(word)), word);
    output.node = eddy_graph_find(p->graph, name);
    return output;
}

#define MAX_ITEMS 12 /* of a list */

/* What the attributes of a line point to. */
typedef struct attr_values {
    eddy_string frame;
    bool is_constant;
    int64_t parallel_iterations;
    int64_t ints[8];
    float floats[8];
    bool bools[8];
    eddy_shape shapes[8];
    eddy_string strings[8];
    eddy_dtype types[8][MAX_ITEMS];
    eddy_string functions[8][MAX_ITEMS];
    int64_t lists[8][MAX_ITEMS];
    char names[8][32];
} attr_values;

/* `[`, then items parted by commas, and `]`; or one item. */
static eddy_attr read_items(attr_values *v, size_t at, const char *text)
{
    eddy_attr attr = {.name = v->names[at],
                      .kind = EDDY_ATTR_TYPE,
                      .is_list = *text == '[',
                      .as.types = v->types[at]};

    text += *text == '[';
    for (; *text && *text != ']'; attr.n++) {
        const char *start = text + (*text == '@' || *text == '%');
        const size_t length = strcspn(start, ",]");

        ck_assert_uint_lt(attr.n, MAX_ITEMS);
        if (*text == '@') {
            attr.kind = EDDY_ATTR_FUNCTION;
            attr.as.strings = v->functions[at];
            v->functions[at][attr.n] = (eddy_string){start, length};
        } else {
            v->types[at][attr.n] = read_dtype(start, length);
        }
        text = start + length;
        text += *text == ',';
    }
    return attr;
}

/* `{`, then integers parted by commas, and `}`. */
static eddy_attr read_ints(attr_values *v, size_t at, const char *text)
{
    eddy_attr attr = {.name = v->names[at],
                      .kind = EDDY_ATTR_INT,
                      .is_list = true,
                      .as.ints = v->lists[at]};

    while (*text != '}') {
        char *end;

        ck_assert_uint_lt(attr.n, MAX_ITEMS);
        v->lists[at][attr.n++] = strtoll(text + 1, &end, 10);
        ck_assert(*end == ',' || *end == '}');
        text = end;
    }
    return attr;
}

/* Attribute `i` of the value that stands at `text`. */
static eddy_attr read_attr(attr_values *v, size_t i, const char *text)
{
    const char *name = v->names[i];

    if (text[0] == '-' || (text[0] >= '0' && text[0] <= '9')) {
        v->floats[i] = strtof(text, NULL);
        if (strchr(text, '.'))
            return eddy_attr_float(name, &v->floats[i]);
        v->ints[i] = atoll(text);
        return eddy_attr_int(name, &v->ints[i]);
    }
    if (text[0] == '?' || text[0] == '(' ||
        (text[0] == '[' && strchr("?0123456789", text[1]))) {
        v->shapes[i] = read_shape(text);
        return eddy_attr_shape(name, &v->shapes[i]);
    }
    if (text[0] == '{')
        return read_ints(v, i, text);
    if (text[0] == '\'') {
        v->strings[i] = (eddy_string){text + 1, strlen(text) - 2};
        return eddy_attr_string(name, &v->strings[i]);
    }
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) {
        v->bools[i] = text[0] == 't';
        return eddy_attr_bool(name, &v->bools[i]);
    }
    return read_items(v, i, text);
}

static size_t read_attrs(line *l, attr_values *v, eddy_attr *attrs)
{
    char *frame = strchr(l->op, '@'), *mark;
    size_t n = 0;

    *v = (attr_values){.parallel_iterations = 10};
    for (size_t i = 0; i < l->n_attrs; i++) {
        const char *equals = strchr(l->attrs[i], '=');

        snprintf(v->names[i], sizeof v->names[i], "%.*s",
                 (int)(equals - l->attrs[i]), l->attrs[i]);
        attrs[n++] = read_attr(v, i, equals + 1);
    }
    if (!frame)
        return n;
    *frame++ = '\0';
    if ((mark = strchr(frame, '#'))) {
        v->parallel_iterations = atoll(mark + 1);
        *mark = '\0';
    }
    if ((mark = strchr(frame, '!'))) {
        v->is_constant = true;
        *mark = '\0';
    }
    v->frame = (eddy_string){frame, strlen(frame)};
    attrs[n++] = eddy_attr_string("frame_name", &v->frame);
    attrs[n++] = eddy_attr_bool("is_constant", &v->is_constant);
    attrs[n++] = eddy_attr_int("parallel_iterations", &v->parallel_iterations);
    return n;
}

/* An input that is not there yet is at first the one that is. */
static void fill_in_missing(line *l, eddy_output *inputs)
{
    eddy_output there = {.node = EDDY_NO_NODE};

    for (size_t i = 0; i < l->n_inputs; i++)
        if (inputs[i].node != EDDY_NO_NODE)
            there = inputs[i];
    for (size_t i = 0; i < l->n_inputs; i++)
        if (inputs[i].node == EDDY_NO_NODE) {
            demand(there.node != EDDY_NO_NODE && strstr(l->op, "Merge") != NULL,
                   l->inputs[i], "is not there");
            inputs[i] = there;
        }
}

/* A trial ends with the first node that is refused. */
static bool is_trial;
static eddy_status refusal;

static void add_op(program *p, line *l)
{
    eddy_output inputs[MAX_EDGES];
    eddy_attr attrs[11];
    attr_values values;
    eddy_node_spec spec = {
        .size = sizeof spec,
        .name = l->name,
        .inputs = inputs,
        .n_inputs = l->n_inputs,
        .attrs = attrs,
    };
    eddy_status status;
    eddy_node node;

    for (size_t i = 0; i < l->n_inputs; i++)
        inputs[i] = read_output(p, l->inputs[i]);
    fill_in_missing(l, inputs);
    spec.n_attrs = read_attrs(l, &values, attrs);
    spec.op = l->op;
    status = eddy_graph_add(p->graph, &spec, &node, &p->err);
    if (is_trial)
        refusal = status;
    else
        program_want_ok(p, status);
}

/* First round: the nodes, with what is there of their inputs. */
static void add_line(program *p, char *text)
{
    char *equals;
    line l;

    if (refusal != EDDY_OK || !read_line(text, &l))
        return;
    equals = strchr(l.op, '=');
    if (l.op[0] == '?')
        add_placeholder(p, l.name, l.op + 1);
    else if (equals)
        add_filled(p, l.name, l.op, equals + 1);
    else
        add_op(p, &l);
}

/* Second round: inputs that stand further down, and controls. */
static void connect_line(program *p, char *text)
{
    eddy_node node;
    line l;

    if (!read_line(text, &l))
        return;
    node = eddy_graph_find(p->graph, l.name);
    for (uint32_t i = 0; i < l.n_inputs; i++)
        program_want_ok(p, eddy_graph_set_input(p->graph, node, i,
                                                program_output(p, l.inputs[i]),
                                                &p->err));
    for (size_t i = 0; i < l.n_controls; i++)
        program_control(p, node, program_output(p, l.controls[i]).node);
}

static void each_line(program *p, const char *text,
                      void (*visit)(program *p, char *text))
{
    char *copy = strdup(text), *rest, *one;

    ck_assert_ptr_nonnull(copy);
    for (one = strtok_r(copy, "\n", &rest); one;
         one = strtok_r(NULL, "\n", &rest))
        visit(p, one);
    free(copy);
}

void program_build(program *p, const char *text)
{
    each_line(p, text, add_line);
    each_line(p, text, connect_line);
}

eddy_status program_try_build(program *p, const char *text)
{
    eddy_status status;

    is_trial = true;
    each_line(p, text, add_line);
    is_trial = false;
    status = refusal;
    refusal = EDDY_OK;
    if (status == EDDY_OK)
        each_line(p, text, connect_line);
    return status;
}

eddy_output program_output(const program *p, const char *name)
{
    eddy_output output = read_output(p, name);

    demand(output.node != EDDY_NO_NODE, name, "is no node");
    return output;
}

/* ---- single nodes ---- */

eddy_output program_constant(program *p, eddy_dtype dtype, const void *element)
{
    eddy_output out;

    program_want_ok(p, eddy_graph_add_scalar(p->graph, NULL, dtype, element,
                                             &out, &p->err));
    return out;
}

eddy_output program_int(program *p, int64_t value)
{
    return program_constant(p, EDDY_INT64, &value);
}

eddy_output program_unary(program *p, const char *op, eddy_output x)
{
    eddy_output out;

    program_want_ok(
        p, eddy_graph_add_op(p->graph, op, NULL, &x, 1, &out, &p->err));
    return out;
}

eddy_output program_binary(program *p, const char *op, eddy_output x,
                           eddy_output y)
{
    const eddy_output inputs[] = {x, y};
    eddy_output out;

    program_want_ok(
        p, eddy_graph_add_op(p->graph, op, NULL, inputs, 2, &out, &p->err));
    return out;
}

void program_control(program *p, eddy_node node, eddy_node from)
{
    program_want_ok(p, eddy_graph_add_control(p->graph, node, from, &p->err));
}

/* ---- plans ---- */

/* The outputs that `text` names; those with '^' go to `targets`. */
static void read_names(const program *p, const char *text, eddy_output *outputs,
                       size_t *n, eddy_node *targets, size_t *n_targets)
{
    char copy[4096], *rest, *word;

    snprintf(copy, sizeof copy, "%s", text ? text : "");
    for (word = strtok_r(copy, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        demand(*n + *n_targets < MAX_NAMES, text, "has too many names");
        if (word[0] == '^')
            targets[(*n_targets)++] = program_output(p, word + 1).node;
        else
            outputs[(*n)++] = program_output(p, word);
    }
}

eddy_status program_try_plan(program *p, const char *feeds, const char *fetches)
{
    eddy_plan_options options = p->plan_options;
    eddy_output fed[MAX_NAMES], fetched[MAX_NAMES];
    eddy_node targets[MAX_NAMES];

    drop_plan(p);
    read_names(p, feeds, fed, &options.n_feeds, targets, &options.n_targets);
    read_names(p, fetches, fetched, &options.n_fetches, targets,
               &options.n_targets);
    options.feeds = fed;
    options.fetches = fetched;
    options.targets = targets;
    return eddy_plan_create(p->graph, &options, &p->plan, &p->err);
}

void program_plan(program *p, const char *feeds, const char *fetches)
{
    program_want_ok(p, program_try_plan(p, feeds, fetches));
}

void program_plan_outputs(program *p, const eddy_output *fetches, size_t n)
{
    eddy_plan_options options = p->plan_options;

    drop_plan(p);
    options.fetches = fetches;
    options.n_fetches = n;
    program_want_ok(p, eddy_plan_create(p->graph, &options, &p->plan, &p->err));
}

/* ---- runs ---- */

void program_make_run(program *p)
{
    if (!p->run)
        program_want_ok(
            p, eddy_run_create(p->plan, &p->run_options, &p->run, &p->err));
}

static void feed(program *p, size_t i, eddy_tensor *tensor)
{
    program_make_run(p);
    program_want_ok(p, eddy_run_feed(p->run, i, tensor, &p->err));
    eddy_tensor_release(tensor);
}

void program_feed_int(program *p, size_t i, int64_t value)
{
    const eddy_shape scalar = {.rank = 0};

    feed(p, i, program_tensor(p, EDDY_INT64, &scalar, &value));
}

void program_feed_int32(program *p, size_t i, int32_t value)
{
    const eddy_shape scalar = {.rank = 0};

    feed(p, i, program_tensor(p, EDDY_INT32, &scalar, &value));
}

void program_feed_floats(program *p, size_t i, const float *values, size_t n)
{
    const eddy_shape shape = {.rank = 1, .dims = {(int64_t)n}};

    feed(p, i, program_tensor(p, EDDY_FLOAT32, &shape, values));
}

eddy_status program_execute(program *p)
{
    program_make_run(p);
    return eddy_run_execute(p->run, &p->err);
}

void program_run(program *p)
{
    program_want_ok(p, program_execute(p));
}

eddy_status program_try_fetches(program *p, const char *fetches)
{
    const eddy_status status = program_try_plan(p, NULL, fetches);

    return status == EDDY_OK ? program_execute(p) : status;
}

void program_run_fetches(program *p, const char *fetches)
{
    program_plan(p, NULL, fetches);
    program_run(p);
}

eddy_stats program_stats(const program *p)
{
    return eddy_run_stats(p->run);
}

static const void *fetched(const program *p, size_t i, eddy_dtype *out_dtype)
{
    const eddy_tensor *tensor = eddy_run_fetch(p->run, i);

    ck_assert_msg(tensor != NULL, "fetch %zu is not there", i);
    ck_assert_int_gt(eddy_tensor_count(tensor), 0);
    *out_dtype = eddy_tensor_dtype(tensor);
    return eddy_tensor_data(tensor);
}

int64_t program_fetch_int(const program *p, size_t i)
{
    eddy_dtype dtype;
    const void *data = fetched(p, i, &dtype);

    switch ((int)dtype) {
    case EDDY_BOOL:
        return *(const bool *)data;
    case EDDY_INT8:
        return *(const int8_t *)data;
    case EDDY_INT16:
        return *(const int16_t *)data;
    case EDDY_INT32:
        return *(const int32_t *)data;
    case EDDY_UINT8:
        return *(const uint8_t *)data;
    case EDDY_UINT16:
        return *(const uint16_t *)data;
    case EDDY_UINT32:
        return *(const uint32_t *)data;
    default:
        ck_assert(dtype == EDDY_INT64 || dtype == EDDY_UINT64);
        return *(const int64_t *)data;
    }
}

float program_fetch_float(const program *p, size_t i)
{
    eddy_dtype dtype;
    const void *data = fetched(p, i, &dtype);

    ck_assert_int_eq(dtype, EDDY_FLOAT32);
    return *(const float *)data;
}

static double element_at(eddy_dtype dtype, const void *data, int64_t i)
{
    switch (dtype) {
    case EDDY_INT64:
        return (double)((const int64_t *)data)[i];
    case EDDY_INT32:
        return ((const int32_t *)data)[i];
    case EDDY_FLOAT64:
        return ((const double *)data)[i];
    case EDDY_FLOAT32:
        return ((const float *)data)[i];
    case EDDY_FLOAT16:
        return eddy_float16_to_float(((const uint16_t *)data)[i]);
    case EDDY_BOOL:
        return ((const bool *)data)[i];
    case EDDY_INT8:
        return ((const int8_t *)data)[i];
    case EDDY_UINT8:
        return ((const uint8_t *)data)[i];
    case EDDY_INT16:
        return ((const int16_t *)data)[i];
    case EDDY_UINT16:
        return ((const uint16_t *)data)[i];
    case EDDY_UINT32:
        return ((const uint32_t *)data)[i];
    case EDDY_UINT64:
        return (double)((const uint64_t *)data)[i];
    case EDDY_COMPLEX64:
        return ((const float *)data)[2 * i];
    case EDDY_COMPLEX128:
        return ((const double *)data)[2 * i];
    case EDDY_BFLOAT16:
        return eddy_bfloat16_to_float(((const uint16_t *)data)[i]);
    default:
        ck_abort_msg("no numbers of %s", eddy_dtype_name(dtype));
        return 0;
    }
}

void program_want_fetch(const program *p, size_t i, int32_t rank,
                        const int64_t *dims, const double *elements)
{
    const eddy_tensor *tensor = eddy_run_fetch(p->run, i);
    const eddy_shape *shape;

    ck_assert_msg(tensor != NULL, "fetch %zu is not there", i);
    shape = eddy_tensor_shape(tensor);
    ck_assert_int_eq(shape->rank, rank);
    for (int32_t d = 0; d < rank; d++)
        ck_assert_int_eq(shape->dims[d], dims[d]);
    for (int64_t j = 0; j < eddy_tensor_count(tensor); j++)
        ck_assert_msg(
            element_at(eddy_tensor_dtype(tensor), eddy_tensor_data(tensor),
                       j) == elements[j],
            "element %d of fetch %zu is %g, not %g", (int)j, i,
            element_at(eddy_tensor_dtype(tensor), eddy_tensor_data(tensor), j),
            elements[j]);
}

void program_want(const program *p, eddy_status status, eddy_status code,
                  eddy_detail detail)
{
    ck_assert_msg(status == code &&
                      (code == EDDY_OK ||
                       (p->err.code == code && p->err.detail == detail)),
                  "got %s %s (%s), wanted %s %s", eddy_status_name(status),
                  eddy_detail_name(p->err.detail), p->err.message,
                  eddy_status_name(code), eddy_detail_name(detail));
}

eddy_tensor *program_tensor(const program *p, eddy_dtype dtype,
                            const eddy_shape *shape, const void *elements)
{
    eddy_tensor *tensor;
    eddy_error err;

    ck_assert_int_eq(eddy_tensor_create(p->ctx, dtype, shape, &tensor, &err),
                     EDDY_OK);
    if (eddy_tensor_bytes(tensor) > 0)
        memcpy(eddy_tensor_mutable_data(tensor), elements,
               eddy_tensor_bytes(tensor));
    return tensor;
}
