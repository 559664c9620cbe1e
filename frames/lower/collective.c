/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives: their kinds and keys, and nodes that join values. */
#include "frames/lower/collective.h"

#include "core/graph/names.h"
#include "frames/analysis/trace.h"
#include "frames/analysis/trips.h"

#include <string.h>

/* ---- what a collective says ---- */

static bool is_text(const eddy__node *node, const char *name, const char *text)
{
    const eddy_attr *attr = eddy__node_attr(node, name);

    return attr && attr->as.strings[0].length == strlen(text) &&
           memcmp(attr->as.strings[0].data, text, strlen(text)) == 0;
}

static eddy__join join_of_horovod(const eddy__node *node)
{
    static const eddy__join joins[] = {EDDY__JOIN_MEAN,     EDDY__JOIN_SUM,
                                       EDDY__JOIN_UNKNOWN,  EDDY__JOIN_LEAST,
                                       EDDY__JOIN_GREATEST, EDDY__JOIN_PRODUCT};
    const eddy_attr *attr = eddy__node_attr(node, "reduce_op");
    const int64_t op = attr ? attr->as.ints[0] : 1;

    return op >= 0 && op < 6 ? joins[op] : EDDY__JOIN_UNKNOWN;
}

static eddy__join join_of_reduction(const eddy__node *node)
{
    if (is_text(node, "final_op", "Div"))
        return is_text(node, "merge_op", "Add") ? EDDY__JOIN_MEAN
                                                : EDDY__JOIN_UNKNOWN;
    return is_text(node, "merge_op", "Add")   ? EDDY__JOIN_SUM
           : is_text(node, "merge_op", "Mul") ? EDDY__JOIN_PRODUCT
           : is_text(node, "merge_op", "Min") ? EDDY__JOIN_LEAST
           : is_text(node, "merge_op", "Max") ? EDDY__JOIN_GREATEST
                                              : EDDY__JOIN_UNKNOWN;
}

typedef struct kind {
    const char *op;
    eddy__join (*find)(const eddy__node *node); /* NULL: it is `join` */
    eddy__join join;
    int first_key; /* the input that says how many there are; -1: attributes */
} kind;

static const kind kinds[] = {
    {"HorovodAllreduce", join_of_horovod, EDDY__JOIN_NONE, -1},
    {"HorovodAllgather", NULL, EDDY__JOIN_ROWS, -1},
    {"HorovodBroadcast", NULL, EDDY__JOIN_ROOT, -1},
    {"CollectiveReduce", join_of_reduction, EDDY__JOIN_NONE, -1},
    {"CollectiveReduceV2", join_of_reduction, EDDY__JOIN_NONE, 1},
    {"CollectiveGather", NULL, EDDY__JOIN_ROWS, -1},
    {"CollectiveGatherV2", NULL, EDDY__JOIN_ROWS, 1},
    {"CollectiveReduceScatterV2", join_of_reduction, EDDY__JOIN_NONE, 1},
    {"CollectiveAllToAllV2", NULL, EDDY__JOIN_EXCHANGE, 1},
    {"CollectiveBcastSend", NULL, EDDY__JOIN_SEND, -1},
    {"CollectiveBcastSendV2", NULL, EDDY__JOIN_SEND, 1},
    {"CollectiveBcastRecv", NULL, EDDY__JOIN_RECEIVE, -1},
    {"CollectiveBcastRecvV2", NULL, EDDY__JOIN_RECEIVE, 0},
};

#define N_KINDS (sizeof kinds / sizeof *kinds)

static size_t find_kind(const eddy__node *node)
{
    size_t i = 0;

    while (i < N_KINDS && strcmp(node->op_name, kinds[i].op) != 0)
        i++;
    return i;
}

eddy__join eddy__collective_join(const eddy__node *node)
{
    const size_t i = find_kind(node);

    if (i == N_KINDS || !node->op)
        return EDDY__JOIN_NONE;
    return kinds[i].find ? kinds[i].find(node) : kinds[i].join;
}

bool eddy__collective_scatters(const eddy__node *node)
{
    return strcmp(node->op_name, "CollectiveReduceScatterV2") == 0;
}

/* ---- keys ---- */

/* Back to what made it, out of the loops that it does not change in. */
static eddy_output origin(const eddy__flow *flow, eddy_output v)
{
    for (;;) {
        v = eddy__trace(
            flow, EDDY__WAY_FORWARD | EDDY__WAY_TRIP | EDDY__WAY_BRANCH, v);
        if (v.node == EDDY_NO_NODE || !flow->is_constant[v.node])
            return v;
        v = eddy__flow_node(flow, v.node)->inputs[0];
    }
}

static const eddy_tensor *constant(const eddy__flow *flow, eddy_output v)
{
    const eddy_attr *attr;

    if (v.node == EDDY_NO_NODE || flow->role[v.node] != EDDY__ROLE_CONST)
        return NULL;
    attr = eddy__node_attr(eddy__flow_node(flow, v.node), "value");
    return attr && attr->kind == EDDY_ATTR_TENSOR && attr->n == 1
               ? attr->as.tensors[0]
               : NULL;
}

static bool read_scalar(const eddy_tensor *tensor, int64_t *out)
{
    if (!tensor || eddy_tensor_dtype(tensor) != EDDY_INT32 ||
        eddy_tensor_count(tensor) != 1)
        return false;
    *out = eddy__trips_read_integer(tensor);
    return true;
}

/* What CollectiveAssignGroupV2 gives: 0 the size of a group, 1 its key. */
static int64_t assigned(const eddy__flow *flow, eddy_output v)
{
    const eddy__node *node = eddy__flow_node(flow, v.node);
    const eddy_tensor *groups = constant(flow, origin(flow, node->inputs[0]));
    int64_t device, base, width;
    const eddy_shape *shape;

    if (!groups || eddy_tensor_dtype(groups) != EDDY_INT32 ||
        !read_scalar(constant(flow, origin(flow, node->inputs[1])), &device) ||
        !read_scalar(constant(flow, origin(flow, node->inputs[2])), &base))
        return -1;
    shape = eddy_tensor_shape(groups);
    width = shape->rank == 2 ? shape->dims[1] : 0;
    for (int64_t i = 0; width > 0 && i < eddy_tensor_count(groups); i++)
        if (((const int32_t *)eddy_tensor_data(groups))[i] == device)
            return v.index == 0 ? width : base + i / width;
    return -1;
}

/* A key, which in gradients is a sum; -1 where it is not known. */
static int64_t key_of(const eddy__flow *flow, eddy_output v)
{
    int64_t sum = 0, number;

    for (size_t i = 0; i < flow->n_nodes; i++) {
        const char *op;

        v = origin(flow, v);
        if (constant(flow, v))
            return read_scalar(constant(flow, v), &number) ? sum + number : -1;
        if (v.node == EDDY_NO_NODE)
            return -1;
        op = eddy__flow_node(flow, v.node)->op_name;
        if (strcmp(op, "CollectiveAssignGroupV2") == 0) {
            number = assigned(flow, v);
            return number < 0 ? -1 : sum + number;
        }
        if (strcmp(op, "AddV2") != 0 ||
            !read_scalar(
                constant(
                    flow,
                    origin(flow, eddy__flow_node(flow, v.node)->inputs[1])),
                &number))
            return -1;
        sum += number;
        v = eddy__flow_node(flow, v.node)->inputs[0];
    }
    return -1;
}

static int64_t key_attr(const eddy__node *node, const char *name)
{
    const eddy_attr *attr = eddy__node_attr(node, name);

    return attr && attr->kind == EDDY_ATTR_INT && attr->n == 1
               ? attr->as.ints[0]
               : -1;
}

eddy__collective_keys eddy__collective_keys_of(const eddy__flow *flow,
                                               eddy_node v)
{
    const eddy__node *node = eddy__flow_node(flow, v);
    const size_t i = find_kind(node);
    const int first = i < N_KINDS ? kinds[i].first_key : -1;

    if (first < 0)
        return (eddy__collective_keys){.size = key_attr(node, "group_size"),
                                       .group = key_attr(node, "group_key"),
                                       .instance =
                                           key_attr(node, "instance_key")};
    return (eddy__collective_keys){
        .size = key_of(flow, node->inputs[first]),
        .group = key_of(flow, node->inputs[first + 1]),
        .instance = key_of(flow, node->inputs[first + 2])};
}

eddy_node eddy__collective_sender(const eddy__flow *flow, eddy_node receiver,
                                  size_t *out_n)
{
    const eddy__collective_keys wanted =
        eddy__collective_keys_of(flow, receiver);
    eddy_node sender = EDDY_NO_NODE;

    *out_n = 0;
    if (wanted.group < 0 || wanted.instance < 0)
        return EDDY_NO_NODE;
    for (eddy_node v = 0; v < flow->n_nodes; v++) {
        eddy__collective_keys keys;

        if (!eddy__selected(flow->selection, v) ||
            eddy__collective_join(eddy__flow_node(flow, v)) != EDDY__JOIN_SEND)
            continue;
        keys = eddy__collective_keys_of(flow, v);
        if (keys.group != wanted.group || keys.instance != wanted.instance)
            continue;
        sender = v;
        ++*out_n;
    }
    return sender;
}

/* A shorter name first: CPU:9 is before CPU:10. */
int eddy__collective_compare(const eddy__node *a, const eddy__node *b)
{
    const char *device = a->device ? a->device : "";
    const char *other = b->device ? b->device : "";
    const size_t n = strlen(device), n_other = strlen(other);
    const int64_t order = key_attr(a, EDDY__MEMBER);
    const int64_t other_order = key_attr(b, EDDY__MEMBER);
    const int by_device =
        n != n_other ? (n > n_other) - (n < n_other) : strcmp(device, other);

    return by_device != 0 ? by_device
                          : (order > other_order) - (order < other_order);
}

/* A shape that a constant of one dimension says. */
static eddy_shape read_shape(const eddy_tensor *tensor)
{
    const int64_t n = eddy_tensor_count(tensor);
    const eddy_dtype dtype = eddy_tensor_dtype(tensor);
    eddy_shape shape = {.rank = -1};

    if (n > EDDY_MAX_RANK || (dtype != EDDY_INT32 && dtype != EDDY_INT64))
        return shape;
    for (int64_t i = 0; i < n; i++)
        shape.dims[i] = dtype == EDDY_INT32
                            ? ((const int32_t *)eddy_tensor_data(tensor))[i]
                            : ((const int64_t *)eddy_tensor_data(tensor))[i];
    shape.rank = (int32_t)n;
    return shape;
}

eddy_shape eddy__collective_shape(const eddy__flow *flow, eddy_node v)
{
    const eddy__node *node = eddy__flow_node(flow, v);
    const eddy_attr *attr = eddy__node_attr(node, "shape");
    const eddy_shape shape = {.rank = -1};
    const eddy_tensor *tensor;

    if (attr && attr->kind == EDDY_ATTR_SHAPE && attr->n == 1)
        return attr->as.shapes[0];
    if (attr || node->n_inputs != 4)
        return shape;
    tensor = constant(flow, origin(flow, node->inputs[3]));
    return tensor ? read_shape(tensor) : shape;
}

/* ---- nodes that are added ---- */

static eddy_output add(const eddy__joining *j, const char *suffix,
                       eddy_node_spec *spec)
{
    spec->size = sizeof *spec;
    return eddy__emitter_add_as(
        j->emitter, eddy__names_print(j->arena, "%s/%s", j->of->name, suffix),
        spec);
}

static eddy_output add_binary(const eddy__joining *j, const char *op,
                              eddy_output a, eddy_output b)
{
    const eddy_output inputs[] = {a, b};
    eddy_node_spec spec = {.op = op, .inputs = inputs, .n_inputs = 2};

    return add(j, op, &spec);
}

/* A scalar that is there wherever `like` is. */
static eddy_output add_scalar(const eddy__joining *j, const char *what,
                              eddy_output like, double value)
{
    const eddy_dtype dtype = (eddy_dtype)j->of->output_dtypes[0];
    const eddy_dtype wide = EDDY_FLOAT64;
    const eddy_attr attrs[] = {eddy_attr_type("SrcT", &wide),
                               eddy_attr_type("DstT", &dtype)};
    eddy_node_spec spec = {
        .size = sizeof spec,
        .name = eddy__names_print(j->arena, "%s/%s", j->of->name, what),
        .controls = &like.node,
        .n_controls = 1};
    eddy_node_spec cast = {
        .op = "Cast", .n_inputs = 1, .attrs = attrs, .n_attrs = 2};
    const eddy_output number =
        eddy__emitter_scalar(j->emitter, &spec, EDDY_FLOAT64, &value);

    cast.inputs = &number;
    return add(j, "Cast", &cast);
}

eddy_output eddy__collective_scaled(const eddy__joining *j, eddy_output x,
                                    const char *attribute)
{
    const eddy_attr *attr = eddy__node_attr(j->of, attribute);
    const double factor = attr ? (double)attr->as.floats[0] : 1.0;

    return factor == 1.0
               ? x
               : add_binary(j, "Mul", x, add_scalar(j, attribute, x, factor));
}

/* All rows, one member's below another's. */
static eddy_output join_rows(const eddy__joining *j, const eddy_output *x,
                             uint32_t n, uint32_t home)
{
    eddy_output *inputs =
        eddy__arena_allocate(j->arena, (size_t)n + 1, sizeof *inputs);
    const int32_t axis = 0;
    eddy_node_spec spec = {
        .size = sizeof spec,
        .name = eddy__names_print(j->arena, "%s/axis", j->of->name),
        .controls = &x[home].node,
        .n_controls = 1};
    eddy_node_spec concat = {
        .op = "ConcatV2", .inputs = inputs, .n_inputs = n + 1};

    if (!eddy__emitter_need(j->emitter, inputs))
        return EDDY__NO_OUTPUT;
    memcpy(inputs, x, n * sizeof *x);
    inputs[n] = eddy__emitter_scalar(j->emitter, &spec, EDDY_INT32, &axis);
    return add(j, "rows", &concat);
}

static eddy_output join_all(const eddy__joining *j, const eddy__joined *of)
{
    static const char *const ops[] = {"AddV2", "AddV2", "Minimum", "Maximum",
                                      "Mul"};
    eddy_output y = of->x[0];

    if (of->how == EDDY__JOIN_ROWS)
        return join_rows(j, of->x, of->n, of->home);
    for (uint32_t i = 1; i < of->n; i++)
        y = add_binary(j, ops[of->how], y, of->x[i]);
    if (of->how == EDDY__JOIN_MEAN)
        y = add_binary(j, "RealDiv", y, add_scalar(j, "ranks", y, of->n));
    return eddy__collective_scaled(j, y, "postscale_factor");
}

/* As many parts as there are members, along the first dimension. */
static void scatter(const eddy__joining *j, uint32_t n, eddy_output *out)
{
    const int32_t first = 0;
    const int64_t parts = n;
    const eddy_attr attr = eddy_attr_int("num_split", &parts);
    const eddy_output y = out[0];
    eddy_node_spec spec = {
        .size = sizeof spec,
        .name = eddy__names_print(j->arena, "%s/axis", j->of->name),
        .controls = &y.node,
        .n_controls = 1};
    eddy_node_spec split = {
        .op = "Split", .n_inputs = 2, .attrs = &attr, .n_attrs = 1};
    eddy_output by[2];

    by[0] = eddy__emitter_scalar(j->emitter, &spec, EDDY_INT32, &first);
    by[1] = y;
    split.inputs = by;
    out[0] = add(j, "parts", &split);
    for (uint32_t i = 1; i < n; i++)
        out[i] = (eddy_output){out[0].node, i};
}

/* Row i of each for member i: there must be as many rows as members. */
static void exchange(const eddy__joining *j, const eddy__joined *of,
                     eddy_output *out)
{
    const int64_t n = of->n, axis = 0;
    const eddy_attr unpacked[] = {eddy_attr_int("num", &n),
                                  eddy_attr_int("axis", &axis)};
    const eddy_attr packed = eddy_attr_int("axis", &axis);
    eddy_output *rows = eddy__arena_allocate(j->arena, of->n, sizeof *rows);
    eddy_output *column = eddy__arena_allocate(j->arena, of->n, sizeof *column);
    eddy_node_spec pack = {.op = "Pack",
                           .inputs = column,
                           .n_inputs = of->n,
                           .attrs = &packed,
                           .n_attrs = 1};

    if (!eddy__emitter_need(j->emitter, rows) ||
        !eddy__emitter_need(j->emitter, column))
        return;
    for (uint32_t i = 0; i < of->n; i++) {
        eddy_node_spec unpack = {.op = "Unpack",
                                 .inputs = &of->x[i],
                                 .n_inputs = 1,
                                 .attrs = unpacked,
                                 .n_attrs = 2};

        rows[i] = add(j, "rows", &unpack);
    }
    for (uint32_t i = 0; i < of->n; i++) {
        for (uint32_t k = 0; k < of->n; k++)
            column[k] = (eddy_output){rows[k].node, i};
        out[i] = add(j, "exchanged", &pack);
    }
}

void eddy__collective_share(const eddy__joining *j, const eddy__joined *of,
                            eddy_output *out)
{
    if (of->how == EDDY__JOIN_EXCHANGE) {
        exchange(j, of, out);
        return;
    }
    out[0] = join_all(j, of);
    for (uint32_t i = 1; i < of->n; i++)
        out[i] = out[0];
    if (eddy__collective_scatters(j->of))
        scatter(j, of->n, out);
}

eddy_node eddy__collective_result(const eddy__joining *j, const char *name,
                                  const eddy_output *x, const eddy_shape *shape)
{
    static const eddy_output open = {.node = EDDY_NO_NODE};
    const eddy_dtype dtype = (eddy_dtype)j->of->output_dtypes[0];
    const eddy_attr attrs[] = {eddy_attr_type("T", &dtype),
                               eddy_attr_shape("shape", shape)};
    const bool is_held = shape && shape->rank >= 0;
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .name = name,
                                 .op = is_held ? "EnsureShape" : "Identity",
                                 .inputs = x ? x : &open,
                                 .n_inputs = 1,
                                 .attrs = attrs,
                                 .n_attrs = is_held ? 2 : 1};

    return eddy__emitter_add(j->emitter, &spec).node;
}
