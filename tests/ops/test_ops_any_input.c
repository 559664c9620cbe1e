/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every op with attributes and inputs drawn at random, of which its plan knows
 * nothing but the dtypes: whatever comes, it is refused or what comes out is
 * what the plan took it to be.  A shape function that promises more than its
 * kernel keeps is found here, and by name in the builds that check values.
 */
#include "core/context.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPS 1024 /* more than there are */
#define MAX_INPUTS 24
#define MAX_LIST 4 /* as it is drawn; some ops want more */
#define LIST_ROOM 8
#define MAX_ELEMENTS 256
#define MOST_BYTES ((uint64_t)64 << 20)

static program p;

/* One node under test with all that leads to it. */
typedef struct trial {
    uint64_t state; /* of the generator */
    const eddy__op *op;
    eddy_attr attrs[EDDY__MAX_ATTRS];
    uint32_t n_attrs;
    /* What the attributes' values stand in. */
    int64_t ints[EDDY__MAX_ATTRS][LIST_ROOM];
    float floats[EDDY__MAX_ATTRS];
    bool bools[EDDY__MAX_ATTRS];
    eddy_string strings[EDDY__MAX_ATTRS];
    eddy_dtype types[EDDY__MAX_ATTRS][LIST_ROOM];
    eddy_shape shapes[EDDY__MAX_ATTRS][LIST_ROOM];
    eddy_tensor *tensors[EDDY__MAX_ATTRS];
    /* The inputs, and of those that are placeholders the tensors. */
    eddy_output inputs[MAX_INPUTS];
    uint32_t n_inputs;
    eddy_output fed[MAX_INPUTS];
    eddy_tensor *feeds[MAX_INPUTS];
    size_t n_fed;
    eddy_node before[MAX_INPUTS]; /* must have run: assignments */
    size_t n_before;
    eddy_shape common; /* the shape of most inputs */
} trial;

static void setup(void)
{
    program_init(&p, 0);
}

static void teardown(void)
{
    program_deinit(&p);
}

/* ---- drawing ---- */

static uint64_t draw(trial *t)
{
    uint64_t z = t->state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint32_t below(trial *t, uint32_t n)
{
    return (uint32_t)(draw(t) % n);
}

static eddy_shape draw_shape(trial *t)
{
    eddy_shape shape = {.rank = (int32_t)below(t, 5)};

    for (int32_t i = 0; i < shape.rank; i++)
        shape.dims[i] = below(t, 8) == 0 ? 0 : 1 + below(t, 3);
    return shape;
}

static eddy_dtype draw_dtype(trial *t, eddy__dtype_set allowed)
{
    const eddy__dtype_set likely =
        EDDY__DTYPE_BIT(EDDY_FLOAT32) | EDDY__DTYPE_BIT(EDDY_INT32);
    uint32_t dtype;

    if (below(t, 2) == 0 && (allowed & likely))
        allowed &= likely;
    do
        dtype = 1 + below(t, EDDY_DTYPE_COUNT - 1);
    while (!eddy__dtype_in((eddy_dtype)dtype, allowed));
    return (eddy_dtype)dtype;
}

static int64_t count_of(const eddy_shape *shape)
{
    int64_t count = 1;

    for (int32_t i = 0; i < shape->rank; i++)
        count *= shape->dims[i];
    return count;
}

static eddy_tensor *draw_strings(trial *t, const eddy_shape *shape)
{
    static const char *const words[] = {"", "a", "NHWC", "1"};
    const int64_t n = count_of(shape);
    eddy_string strings[MAX_ELEMENTS];
    eddy_tensor *tensor;

    for (int64_t i = 0; i < n; i++) {
        strings[i].data = words[below(t, 4)];
        strings[i].length = strlen(strings[i].data);
    }
    ck_assert_int_eq(eddy_tensor_from_strings(p.ctx, shape, strings, (size_t)n,
                                              &tensor, &p.err),
                     EDDY_OK);
    return tensor;
}

/* One small number as an element of any dtype, at `to`. */
static void put_number(eddy_dtype dtype, int64_t value, void *to)
{
    const float number = (float)value;
    const double wide = (double)value;
    const uint16_t half = eddy_float16_from_float(number);

    memset(to, 0, eddy_dtype_size(dtype));
    if (dtype == EDDY_FLOAT16)
        memcpy(to, &half, sizeof half);
    else if (dtype == EDDY_FLOAT32 || dtype == EDDY_COMPLEX64)
        memcpy(to, &number, sizeof number);
    else if (dtype == EDDY_BFLOAT16)
        memcpy(to, (const char *)&number + 2, 2); /* little-endian */
    else if (dtype == EDDY_FLOAT64 || dtype == EDDY_COMPLEX128)
        memcpy(to, &wide, sizeof wide);
    else if (dtype == EDDY_BOOL)
        *(bool *)to = value > 0;
    else
        memcpy(to, &value, eddy_dtype_size(dtype));
}

static eddy_tensor *draw_tensor(trial *t, eddy_dtype dtype)
{
    const eddy_shape shape = below(t, 3) > 0 ? t->common : draw_shape(t);
    const int64_t n = count_of(&shape);
    eddy_tensor *tensor;
    char *data;

    if (dtype == EDDY_STRING)
        return draw_strings(t, &shape);
    if (eddy_dtype_size(dtype) == 0) /* which no tensor holds */
        dtype = EDDY_FLOAT32;
    ck_assert_int_eq(eddy_tensor_create(p.ctx, dtype, &shape, &tensor, &p.err),
                     EDDY_OK);
    data = eddy_tensor_mutable_data(tensor);
    for (int64_t i = 0; i < n; i++)
        put_number(dtype, (int64_t)below(t, 6) - 1,
                   data + (size_t)i * eddy_dtype_size(dtype));
    return tensor;
}

/* ---- attributes ---- */

static eddy_string draw_text(trial *t, const char *attr)
{
    static const char *const words[] = {"",      "SAME", "VALID",  "NHWC",
                                        "NCHW",  "x",    "linear", "min",
                                        "ij,jk", "SUM",  "sum",    "REFLECT"};
    static const char *const equations[] = {"ij,jk->ik", "i,i->", "ii->i",
                                            "...ij->...ji"};
    const char *word = strcmp(attr, "equation") == 0
                           ? equations[below(t, 4)]
                           : words[below(t, sizeof words / sizeof *words)];

    return (eddy_string){word, strlen(word)};
}

/* Of an unknown rank, of unknown dimensions, or wholly known. */
static eddy_shape draw_known(trial *t)
{
    eddy_shape shape = below(t, 2) ? t->common : draw_shape(t);

    if (below(t, 3) == 0)
        shape.rank = -1;
    for (int32_t i = 0; i < shape.rank; i++)
        if (below(t, 3) == 0)
            shape.dims[i] = -1;
    return shape;
}

static void draw_value(trial *t, const eddy__attr_def *def, uint32_t a,
                       size_t i)
{
    switch (def->kind) {
    case EDDY_ATTR_INT:
        t->ints[a][i] = (int64_t)below(t, 5) - 1;
        if (def->has_minimum && !def->is_list && t->ints[a][i] < def->minimum)
            t->ints[a][i] = def->minimum;
        break;
    case EDDY_ATTR_FLOAT:
        t->floats[a] = (float)below(t, 3) / 2;
        break;
    case EDDY_ATTR_BOOL:
        t->bools[a] = below(t, 2) == 1;
        break;
    case EDDY_ATTR_STRING:
        t->strings[a] = draw_text(t, def->name);
        break;
    case EDDY_ATTR_TYPE:
        t->types[a][i] = draw_dtype(t, def->allowed);
        break;
    case EDDY_ATTR_SHAPE:
        t->shapes[a][i] = draw_known(t);
        break;
    case EDDY_ATTR_TENSOR:
        t->tensors[a] = draw_tensor(t, EDDY_FLOAT32);
        break;
    case EDDY_ATTR_FUNCTION:
    case EDDY_ATTR_OPAQUE:
        break;
    }
}

static void point_at(trial *t, uint32_t a)
{
    eddy_attr *attr = &t->attrs[a];

    switch (attr->kind) {
    case EDDY_ATTR_INT:
        attr->as.ints = t->ints[a];
        break;
    case EDDY_ATTR_FLOAT:
        attr->as.floats = &t->floats[a];
        break;
    case EDDY_ATTR_BOOL:
        attr->as.bools = &t->bools[a];
        break;
    case EDDY_ATTR_STRING:
        attr->as.strings = &t->strings[a];
        break;
    case EDDY_ATTR_TYPE:
        attr->as.types = t->types[a];
        break;
    case EDDY_ATTR_SHAPE:
        attr->as.shapes = t->shapes[a];
        break;
    case EDDY_ATTR_TENSOR:
        attr->as.tensors = &t->tensors[a];
        break;
    case EDDY_ATTR_FUNCTION:
    case EDDY_ATTR_OPAQUE:
        break;
    }
}

/* Lists of floats, bools and strings have but one element. */
static size_t draw_length(trial *t, const eddy__attr_def *def)
{
    size_t n;

    if (!def->is_list)
        return 1;
    if (def->kind != EDDY_ATTR_INT && def->kind != EDDY_ATTR_TYPE &&
        def->kind != EDDY_ATTR_SHAPE)
        return below(t, 2);
    n = below(t, MAX_LIST + 1);
    return def->has_minimum && (int64_t)n < def->minimum ? (size_t)def->minimum
                                                         : n;
}

static void draw_attr(trial *t, const eddy__attr_def *def)
{
    const uint32_t a = t->n_attrs++;
    eddy_attr *attr = &t->attrs[a];

    if (def->has_default && below(t, 3) > 0) {
        *attr = def->value;
        attr->name = def->name;
        return;
    }
    *attr = (eddy_attr){.name = def->name,
                        .kind = def->kind,
                        .is_list = def->is_list,
                        .n = draw_length(t, def)};
    for (size_t i = 0; i < attr->n; i++)
        draw_value(t, def, a, i);
    point_at(t, a);
}

/* ---- inputs ---- */

static eddy_node add(const char *op, const eddy_output *inputs, size_t n,
                     const eddy_attr *attrs, size_t n_attrs)
{
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = op,
                                 .inputs = inputs,
                                 .n_inputs = n,
                                 .attrs = attrs,
                                 .n_attrs = n_attrs};
    eddy_node node;

    ck_assert_msg(eddy_graph_add(p.graph, &spec, &node, &p.err) == EDDY_OK,
                  "%s: %s", op, p.err.message);
    return node;
}

/* A tensor that the plan may know or, more often, not. */
static eddy_output add_value(trial *t, eddy_dtype dtype)
{
    eddy_tensor *tensor = draw_tensor(t, dtype);
    eddy_output out;

    if (below(t, 4) == 0) {
        ck_assert_int_eq(
            eddy_graph_add_const(p.graph, NULL, tensor, &out, &p.err), EDDY_OK);
        eddy_tensor_release(tensor);
        return out;
    }
    ck_assert_int_eq(eddy_graph_add_placeholder(
                         p.graph, NULL, dtype,
                         below(t, 4) == 0 ? eddy_tensor_shape(tensor) : NULL,
                         &out, &p.err),
                     EDDY_OK);
    t->fed[t->n_fed] = out;
    t->feeds[t->n_fed++] = tensor;
    return out;
}

/* The element dtype that the node says, or any that can be kept. */
static eddy_dtype draw_element(trial *t)
{
    for (uint32_t a = 0; a < t->n_attrs; a++)
        if (t->attrs[a].kind == EDDY_ATTR_TYPE && t->attrs[a].n == 1 &&
            below(t, 4) > 0 && t->attrs[a].as.types[0] <= EDDY_STRING)
            return t->attrs[a].as.types[0];
    return draw_dtype(t, EDDY__NUMBERS);
}

/* A variable that has been assigned to, as a handle or as a reference. */
static eddy_output add_variable(trial *t, eddy_dtype wanted, bool is_ref)
{
    const eddy_shape any = {.rank = -1};
    const eddy_dtype dtype = wanted > EDDY_STRING ? EDDY_FLOAT32 : wanted;
    const eddy_attr attrs[] = {eddy_attr_type("dtype", &dtype),
                               eddy_attr_shape("shape", &any)};
    const eddy_output value = add_value(t, dtype);
    const eddy_output handle = {
        .node = add(is_ref ? "VariableV2" : "VarHandleOp", NULL, 0, attrs, 2)};
    const eddy_output both[] = {handle, value};
    const eddy_node assign =
        add(is_ref ? "Assign" : "AssignVariableOp", both, 2, NULL, 0);

    if (is_ref)
        return (eddy_output){.node = assign};
    if (below(t, 8) > 0)
        t->before[t->n_before++] = assign;
    return handle;
}

static eddy_output add_handle(trial *t, uint32_t *array)
{
    const eddy_dtype dtype = draw_element(t);
    const eddy_attr attrs[] = {eddy_attr_type("dtype", &dtype),
                               eddy_attr_type("elem_type", &dtype)};
    const int32_t three = 3;
    eddy_output size;

    *array = EDDY_NO_NODE;
    if (below(t, 3) > 0 || strncmp(t->op->name, "TensorArray", 11) == 0) {
        if (strncmp(t->op->name, "TensorArray", 11) != 0)
            return add_variable(t, dtype, false);
        ck_assert_int_eq(eddy_graph_add_scalar(p.graph, NULL, EDDY_INT32,
                                               &three, &size, &p.err),
                         EDDY_OK);
        *array = add("TensorArrayV3", &size, 1, attrs, 1);
        return (eddy_output){.node = *array};
    }
    ck_assert_int_eq(
        eddy_graph_add_scalar(p.graph, NULL, EDDY_INT32, &three, &size, &p.err),
        EDDY_OK);
    return (eddy_output){.node = add("StackV2", &size, 1, attrs + 1, 1)};
}

/* A list of tensors, empty or not, or an optional. */
static eddy_output add_variant(trial *t)
{
    const eddy_dtype dtype = draw_element(t);
    const eddy_attr element = eddy_attr_type("element_dtype", &dtype);
    const int32_t any = -1;
    eddy_output value, both[2];

    if (below(t, 6) == 0)
        return (eddy_output){.node = add("OptionalNone", NULL, 0, NULL, 0)};
    value = add_value(t, dtype);
    if (below(t, 4) == 0)
        return (eddy_output){.node =
                                 add("OptionalFromValue", &value, 1, NULL, 0)};
    ck_assert_int_eq(eddy_graph_add_scalar(p.graph, NULL, EDDY_INT32, &any,
                                           &both[0], &p.err),
                     EDDY_OK);
    both[1] = both[0];
    both[0] =
        (eddy_output){.node = add("EmptyTensorList", both, 2, &element, 1)};
    both[1] = value;
    if (below(t, 3) == 0)
        return both[0];
    return (eddy_output){.node = add("TensorListPushBack", both, 2, NULL, 0)};
}

static void add_input(trial *t, eddy_dtype dtype, bool is_ref, uint32_t *array)
{
    eddy_output input;

    ck_assert_uint_lt(t->n_inputs, MAX_INPUTS);
    if (is_ref)
        input = add_variable(t, dtype, true);
    else if (dtype == EDDY_RESOURCE)
        input = add_handle(t, array);
    else if (dtype == EDDY_VARIANT)
        input = add_variant(t);
    else if (*array != EDDY_NO_NODE && dtype == EDDY_FLOAT32 && below(t, 3) > 0)
        input = (eddy_output){.node = *array, .index = 1};
    else
        input = add_value(t, dtype);
    t->inputs[t->n_inputs++] = input;
}

static eddy_dtype type_at(const trial *t, int32_t attr, size_t i)
{
    const eddy_dtype *types = t->attrs[attr].as.types;

    return types ? types[i] : EDDY_FLOAT32;
}

static size_t number_at(const trial *t, int32_t attr)
{
    const int64_t *number = t->attrs[attr].as.ints;

    return number ? (size_t)*number : 0;
}

static void add_inputs(trial *t)
{
    uint32_t array = EDDY_NO_NODE;

    for (uint32_t i = 0; i < t->op->n_inputs; i++) {
        const eddy__arg *arg = &t->op->inputs[i];
        size_t n = 1;

        if (arg->number_attr >= 0)
            n = number_at(t, arg->number_attr);
        if (arg->list_attr >= 0)
            n = t->attrs[arg->list_attr].n;
        for (size_t k = 0; k < n; k++) {
            eddy_dtype dtype = arg->dtype;

            if (arg->type_attr >= 0)
                dtype = type_at(t, arg->type_attr, 0);
            if (arg->list_attr >= 0)
                dtype = type_at(t, arg->list_attr, k);
            add_input(t, dtype, arg->is_ref, &array);
        }
    }
}

/* ---- running ---- */

static void say(const trial *t, uint64_t seed, const char *what)
{
    char line[1024] = "";

    if (p.err.code != EDDY_OK)
        eddy_error_format(&p.err, line, sizeof line);
    ck_abort_msg("%s, seed %llu: %s %s", t->op->name, (unsigned long long)seed,
                 what, line);
}

/* The shape of a fetch against what the plan says of it. */
static void check_fetches(const trial *t, uint64_t seed, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const eddy_tensor *tensor = eddy_run_fetch(p.run, i);
        const eddy_shape *said = eddy_plan_fetch_shape(p.plan, i);
        const eddy_shape *shape = eddy_tensor_shape(tensor);

        if (eddy_tensor_dtype(tensor) != eddy_plan_fetch_dtype(p.plan, i))
            say(t, seed, "an output of another dtype than planned");
        if (said->rank < 0)
            continue;
        if (said->rank != shape->rank)
            say(t, seed, "an output of another rank than planned");
        for (int32_t d = 0; d < shape->rank; d++)
            if (said->dims[d] >= 0 && said->dims[d] != shape->dims[d])
                say(t, seed, "an output of another shape than planned");
    }
}

static void run_node(const trial *t, uint64_t seed, eddy_node node)
{
    const size_t n_outputs = eddy_graph_node_outputs(p.graph, node);
    eddy_output fetches[128];
    eddy_plan_options options = {.size = sizeof options,
                                 .feeds = t->fed,
                                 .n_feeds = t->n_fed,
                                 .fetches = fetches,
                                 .targets = &node,
                                 .n_targets = 1,
                                 .optimize = EDDY_OPTIMIZE_EXACT};
    eddy_status status;

    for (size_t i = 0; i < n_outputs && i < 64; i++) {
        const eddy_output out = {.node = node, .index = (uint32_t)i};
        const eddy_dtype dtype = eddy_graph_output_dtype(p.graph, out);

        if (dtype == EDDY_RESOURCE || dtype == EDDY_VARIANT)
            continue;
        fetches[options.n_fetches++] = out;
        fetches[options.n_fetches++] =
            (eddy_output){.node = add("Identity", &out, 1, NULL, 0)};
    }
    status = eddy_plan_create(p.graph, &options, &p.plan, &p.err);
    if (status != EDDY_OK)
        return;
    program_make_run(&p);
    for (size_t i = 0; i < t->n_fed && status == EDDY_OK; i++)
        status = eddy_run_feed(p.run, i, t->feeds[i], &p.err);
    if (status != EDDY_OK)
        say(t, seed, "a feed was refused");
    status = eddy_run_execute(p.run, &p.err);
    if (status == EDDY_OK)
        check_fetches(t, seed, options.n_fetches);
    else if (p.err.detail == EDDY_E_ASSUMED ||
             p.err.detail == EDDY_E_OUTPUT_MISSING)
        say(t, seed, "the plan was wrong:");
}

static void try_op(const eddy__op *op, uint64_t seed)
{
    trial t = {.state = seed, .op = op};
    eddy_node_spec spec = {.size = sizeof spec, .op = op->name};
    eddy_node node;

    t.common = draw_shape(&t);
    for (uint32_t i = 0; i < op->n_attrs; i++)
        draw_attr(&t, &op->attrs[i]);
    add_inputs(&t);
    spec.inputs = t.inputs;
    spec.n_inputs = t.n_inputs;
    spec.attrs = t.attrs;
    spec.n_attrs = t.n_attrs;
    spec.controls = t.before;
    spec.n_controls = t.n_before;
    p.err.code = EDDY_OK;
    if (eddy_graph_add(p.graph, &spec, &node, &p.err) == EDDY_OK)
        run_node(&t, seed, node);
    for (size_t i = 0; i < t.n_fed; i++)
        eddy_tensor_release(t.feeds[i]);
    for (uint32_t i = 0; i < t.n_attrs; i++)
        eddy_tensor_release(t.tensors[i]);
    program_clear(&p);
}

/* Ops of functions and of the host are not made of what a signature says. */
static bool is_for_trial(const eddy__op *op)
{
    for (uint32_t i = 0; i < op->n_attrs; i++)
        if (op->attrs[i].kind == EDDY_ATTR_FUNCTION)
            return false;
    return op->role != EDDY__ROLE_CALL && op->role != EDDY__ROLE_BRANCH &&
           op->role != EDDY__ROLE_WHILE && !(op->flags & EDDY__OP_HOST);
}

START_TEST(an_op_keeps_what_its_shape_function_promises)
{
    const char *name = eddy_op_name(p.ctx, (size_t)_i);
    const char *more = getenv("EDDY_TEST_TRIALS");
    const uint64_t n = more ? strtoull(more, NULL, 10) : program_scale(40, 20);
    const eddy__op *op;

    if (!name)
        return;
    op = eddy__registry_find(&p.ctx->registry, name);
    if (!is_for_trial(op))
        return;
    p.run_options.max_bytes = MOST_BYTES;
    for (uint64_t seed = 0; seed < n; seed++)
        try_op(op, seed);
}
END_TEST

TCase *ops_any_input_tests(void)
{
    TCase *tc = tcase_create("ops_any_input");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, an_op_keeps_what_its_shape_function_promises, 0,
                        MAX_OPS);
    return tc;
}
