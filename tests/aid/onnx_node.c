/* SPDX-License-Identifier: Apache-2.0 */
/* One ONNX node as a model; see onnx_node.h. */
#include "tests/aid/onnx_node.h"
#include "tests/aid/wire_writer.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the model ---- */

/* What onnx.proto calls them. */
enum { ATTR_FLOAT = 1, ATTR_INT = 2, ATTR_STRING = 3, ATTR_INTS = 7 };

static uint64_t number_of(eddy_dtype dtype)
{
    switch (dtype) {
    case EDDY_FLOAT32:
        return 1;
    case EDDY_UINT8:
        return 2;
    case EDDY_INT8:
        return 3;
    case EDDY_INT32:
        return 6;
    case EDDY_INT64:
        return 7;
    case EDDY_BOOL:
        return 9;
    case EDDY_FLOAT64:
        return 11;
    default:
        ck_abort_msg("no number of ONNX's for %s", eddy_dtype_name(dtype));
    }
    return 0;
}

/* AttributeProto in field 5 of a node, from "name=value". */
static void write_attr(wire_writer *w, const char *text, size_t length)
{
    char name[64], value[64];
    const char *equals = memchr(text, '=', length);
    const size_t n_name = (size_t)(equals - text);
    const size_t n_value = length - n_name - 1;

    ck_assert_ptr_nonnull(equals);
    ck_assert_uint_lt(n_name, sizeof name);
    ck_assert_uint_lt(n_value, sizeof value);
    memcpy(name, text, n_name);
    memcpy(value, equals + 1, n_value);
    name[n_name] = value[n_value] = '\0';
    wire_begin(w, 5);
    wire_text(w, 1, name);
    if (value[0] == '[') {
        char *at = value + 1;

        while (*at != ']' && *at) {
            wire_number(w, 8, (uint64_t)strtoll(at, &at, 10));
            at += *at == ',';
        }
        wire_number(w, 20, ATTR_INTS);
    } else if (strchr("-0123456789", value[0]) && strchr(value, '.')) {
        wire_float(w, 2, strtof(value, NULL));
        wire_number(w, 20, ATTR_FLOAT);
    } else if (strchr("-0123456789", value[0])) {
        wire_number(w, 3, (uint64_t)strtoll(value, NULL, 10));
        wire_number(w, 20, ATTR_INT);
    } else {
        wire_text(w, 4, value);
        wire_number(w, 20, ATTR_STRING);
    }
    wire_end(w);
}

static void write_attrs(wire_writer *w, const char *attrs)
{
    while (attrs && *attrs) {
        const size_t n = strcspn(attrs, " ");

        write_attr(w, attrs, n);
        attrs += n + strspn(attrs + n, " ");
    }
}

/* ValueInfoProto: a tensor of which only the dtype is said. */
static void write_info(wire_writer *w, uint32_t field, const char *name,
                       eddy_dtype dtype)
{
    wire_begin(w, field);
    wire_text(w, 1, name);
    wire_begin(w, 2);
    wire_begin(w, 1);
    wire_number(w, 1, number_of(dtype));
    wire_end(w);
    wire_end(w);
    wire_end(w);
}

static void put_name(char name[32], char letter, size_t i)
{
    (void)snprintf(name, 32, "%c%zu", letter, i);
}

static bool is_there(const onnx_node *node, size_t i)
{
    return node->inputs[i].rank >= 0;
}

static void write_model(wire_writer *w, const onnx_node *node)
{
    const size_t n_outputs = node->n_outputs > 0 ? node->n_outputs : 1;
    char name[32];

    wire_number(w, 1, 10);
    wire_begin(w, 8);
    wire_number(w, 2, (uint64_t)node->opset);
    wire_end(w);
    wire_begin(w, 7);
    wire_begin(w, 1);
    for (size_t i = 0; i < node->n_inputs; i++) {
        put_name(name, 'x', i);
        wire_text(w, 1, is_there(node, i) ? name : "");
    }
    for (size_t i = 0; i < n_outputs; i++) {
        put_name(name, 'y', i);
        wire_text(w, 2, name);
    }
    /* As exporters name them: what a node may not have included. */
    wire_text(w, 3, "/m:0/node");
    wire_text(w, 4, node->op);
    write_attrs(w, node->attrs);
    wire_end(w);
    wire_text(w, 2, "graph");
    for (size_t i = 0; i < node->n_inputs; i++) {
        put_name(name, 'x', i);
        if (is_there(node, i))
            write_info(w, 11, name, node->inputs[i].dtype);
    }
    put_name(name, 'y', node->output);
    write_info(w, 12, name, node->want.dtype);
    wire_end(w);
}

/* ---- tensors ---- */

static void store(void *data, eddy_dtype dtype, int64_t i, double value)
{
    switch (dtype) {
    case EDDY_FLOAT32:
        ((float *)data)[i] = (float)value;
        break;
    case EDDY_FLOAT64:
        ((double *)data)[i] = value;
        break;
    case EDDY_INT64:
        ((int64_t *)data)[i] = (int64_t)value;
        break;
    case EDDY_INT32:
        ((int32_t *)data)[i] = (int32_t)value;
        break;
    case EDDY_INT8:
        ((int8_t *)data)[i] = (int8_t)value;
        break;
    default: /* uint8 and bool */
        ((uint8_t *)data)[i] = (uint8_t)value;
    }
}

static double load(const eddy_tensor *tensor, int64_t i)
{
    const void *data = eddy_tensor_data(tensor);

    switch (eddy_tensor_dtype(tensor)) {
    case EDDY_FLOAT32:
        return (double)((const float *)data)[i];
    case EDDY_FLOAT64:
        return ((const double *)data)[i];
    case EDDY_INT64:
        return (double)((const int64_t *)data)[i];
    case EDDY_INT32:
        return ((const int32_t *)data)[i];
    case EDDY_INT8:
        return ((const int8_t *)data)[i];
    default:
        return ((const uint8_t *)data)[i];
    }
}

static eddy_tensor *tensor_of(program *p, const onnx_node_tensor *from)
{
    eddy_shape shape = {.rank = from->rank};
    eddy_tensor *tensor;

    memcpy(shape.dims, from->dims, sizeof from->dims);
    program_want_ok(
        p, eddy_tensor_create(p->ctx, from->dtype, &shape, &tensor, &p->err));
    ck_assert_int_le(eddy_tensor_count(tensor), 24);
    for (int64_t i = 0; i < eddy_tensor_count(tensor); i++)
        store(eddy_tensor_mutable_data(tensor), from->dtype, i,
              from->elements[i]);
    return tensor;
}

/* ---- loading and running ---- */

static eddy_status load_model(program *p, const onnx_node *node,
                              eddy_onnx_model **out_model)
{
    wire_writer *w = calloc(1, sizeof *w);
    eddy_status status;

    ck_assert_ptr_nonnull(w);
    write_model(w, node);
    status =
        eddy_onnx_read(p->ctx, w->bytes, w->length, NULL, out_model, &p->err);
    free(w);
    return status;
}

/* `fetch` of the model's graph; NULL after a failure. */
static eddy_tensor *run(program *p, const onnx_node *node,
                        const eddy_onnx_model *model, eddy_output fetch)
{
    eddy_output feeds[ONNX_NODE_MOST];
    eddy_tensor *tensors[ONNX_NODE_MOST], *got = NULL;
    const eddy_onnx_port *ports;
    eddy_plan_options options = {.size = sizeof options,
                                 .feeds = feeds,
                                 .fetches = &fetch,
                                 .n_fetches = 1};
    eddy_plan *plan = NULL;
    eddy_status status;
    size_t n;

    ports = eddy_onnx_model_inputs(model, &n);
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (!is_there(node, i))
            continue;
        feeds[options.n_feeds] = ports[options.n_feeds].output;
        tensors[options.n_feeds++] = tensor_of(p, &node->inputs[i]);
    }
    ck_assert_uint_eq(n, options.n_feeds);
    status = eddy_plan_create(eddy_onnx_model_graph(model), &options, &plan,
                              &p->err);
    if (status == EDDY_OK &&
        eddy_plan_run(plan, NULL, tensors, &got, &p->err) != EDDY_OK)
        got = NULL;
    eddy_plan_release(plan);
    for (size_t i = 0; i < n; i++)
        eddy_tensor_release(tensors[i]);
    return got;
}

static void want_tensor(const onnx_node *node, const eddy_tensor *got)
{
    const onnx_node_tensor *want = &node->want;
    const eddy_shape *shape = eddy_tensor_shape(got);

    ck_assert_msg(eddy_tensor_dtype(got) == want->dtype, "%s: dtype %s",
                  node->op, eddy_dtype_name(eddy_tensor_dtype(got)));
    ck_assert_msg(shape->rank == want->rank, "%s: rank %d", node->op,
                  shape->rank);
    for (int32_t i = 0; i < want->rank; i++)
        ck_assert_msg(shape->dims[i] == want->dims[i],
                      "%s %s: dimension %d is %lld", node->op,
                      node->attrs ? node->attrs : "", i,
                      (long long)shape->dims[i]);
    for (int64_t i = 0; i < eddy_tensor_count(got); i++) {
        const double x = load(got, i), y = want->elements[i];
        const bool is_same = isnan(y) ? isnan(x) : x == y;

        ck_assert_msg(is_same || fabs(x - y) <= 1e-5 * (1.0 + fabs(y)),
                      "%s %s: element %lld is %g, not %g", node->op,
                      node->attrs ? node->attrs : "", (long long)i, x, y);
    }
}

void onnx_node_check(const onnx_node *node)
{
    eddy_onnx_model *model = NULL;
    eddy_tensor *got;
    program p;
    size_t n;

    program_init(&p, 0);
    program_want_ok(&p, load_model(&p, node, &model));
    got = run(&p, node, model, eddy_onnx_model_outputs(model, &n)[0].output);
    ck_assert_msg(got, "%s: %s", node->op, p.err.message);
    want_tensor(node, got);
    eddy_tensor_release(got);
    eddy_onnx_model_destroy(model);
    program_deinit(&p);
}

void onnx_node_check_fails(const onnx_node *node, eddy_status code,
                           eddy_detail detail)
{
    eddy_onnx_model *model = NULL;
    eddy_tensor *got = NULL;
    program p;
    size_t n;

    program_init(&p, 0);
    if (load_model(&p, node, &model) == EDDY_OK)
        got =
            run(&p, node, model, eddy_onnx_model_outputs(model, &n)[0].output);
    ck_assert_msg(!got, "%s: there is a result", node->op);
    program_want(&p, p.err.code, code, detail);
    eddy_onnx_model_destroy(model);
    program_deinit(&p);
}

/* ---- gradients ---- */

static double sum_of_squares(program *p, const onnx_node *node,
                             const eddy_onnx_model *model)
{
    double sum = 0.0;
    eddy_tensor *y;
    size_t n;

    y = run(p, node, model, eddy_onnx_model_outputs(model, &n)[0].output);
    ck_assert_msg(y, "%s: %s", node->op, p->err.message);
    for (int64_t i = 0; i < eddy_tensor_count(y); i++)
        sum += load(y, i) * load(y, i);
    eddy_tensor_release(y);
    return sum;
}

static eddy_output add_gradient(program *p, const eddy_onnx_model *model)
{
    eddy_graph *graph = eddy_onnx_model_graph(model);
    eddy_output x, y, square, gradient;
    size_t n;

    x = eddy_onnx_model_inputs(model, &n)[0].output;
    y = eddy_onnx_model_outputs(model, &n)[0].output;
    program_want_ok(
        p, eddy_graph_add_op(graph, "Square", NULL, &y, 1, &square, &p->err));
    program_want_ok(
        p, eddy_gradients(graph, &square, 1, &x, 1, NULL, &gradient, &p->err));
    ck_assert_uint_ne(gradient.node, EDDY_NO_NODE);
    return gradient;
}

void onnx_node_check_gradient(const onnx_node *node)
{
    const double step = 1e-6;
    onnx_node moved = *node;
    eddy_onnx_model *model = NULL;
    eddy_tensor *gradient;
    program p;

    program_init(&p, 0);
    program_want_ok(&p, load_model(&p, node, &model));
    gradient = run(&p, node, model, add_gradient(&p, model));
    ck_assert_msg(gradient, "%s: %s", node->op, p.err.message);
    for (int64_t i = 0; i < eddy_tensor_count(gradient); i++) {
        const double x = node->inputs[0].elements[i];
        double difference;

        moved.inputs[0].elements[i] = x + step;
        difference = sum_of_squares(&p, &moved, model);
        moved.inputs[0].elements[i] = x - step;
        difference -= sum_of_squares(&p, &moved, model);
        moved.inputs[0].elements[i] = x;
        difference /= 2.0 * step;
        ck_assert_msg(fabs(load(gradient, i) - difference) <=
                          1e-5 * (1.0 + fabs(difference)),
                      "%s: gradient %lld is %g, not %g", node->op, (long long)i,
                      load(gradient, i), difference);
    }
    eddy_tensor_release(gradient);
    eddy_onnx_model_destroy(model);
    program_deinit(&p);
}
