/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorArrays, TensorLists and stacks.
 *
 * A loop that puts one item at the end in every trip has a scan output, and
 * an array that was made of a tensor is that tensor, read by Gather. Everything
 * else is a sequence, to which an item can be put at the end and nowhere else:
 * a write at an index that is not certain to be the end is refused.
 */
#include "core/base/status.h"
#include "core/value/shape.h"
#include "interop/onnx/loader.h"
#include "interop/onnx/write/kit.h"

#include <string.h>

/* ---- counting ---- */

static bool is_int_constant(const eddy__onnx_writer *w, eddy_output value,
                            int64_t wanted)
{
    const eddy_tensor *constant = eddy__onnx_constant(w, value);

    if (!constant || eddy_tensor_count(constant) != 1)
        return false;
    if (eddy_tensor_dtype(constant) == EDDY_INT32)
        return *(const int32_t *)eddy_tensor_data(constant) == wanted;
    return eddy_tensor_dtype(constant) == EDDY_INT64 &&
           *(const int64_t *)eddy_tensor_data(constant) == wanted;
}

/* The variable that a value is in the frame; n_variables if it is none. */
static size_t variable_of(const eddy__onnx_writer *w, uint32_t frame,
                          eddy_output value)
{
    const eddy_output origin = eddy__onnx_origin(w, value);
    const eddy_frame *f = eddy_analysis_frame(w->analysis, frame);

    if (w->variable_of[origin.node] == 0 || origin.index != 0 ||
        eddy_analysis_node_frame(w->analysis, origin.node) != frame)
        return f->n_variables;
    return w->variable_of[origin.node] - 1;
}

/* Is the value a number that is `start` first and one more in every trip? */
static bool is_counter(const eddy__onnx_writer *w, uint32_t frame,
                       eddy_output value, int64_t start)
{
    const eddy_frame *f = eddy_analysis_frame(w->analysis, frame);
    const size_t k = variable_of(w, frame, value);
    const eddy__node *next;
    eddy_output after;

    if (k == f->n_variables || f->variables[k].enter == EDDY_NO_NODE ||
        f->variables[k].next_iteration == EDDY_NO_NODE ||
        !is_int_constant(w, w->graph->nodes[f->variables[k].enter].inputs[0],
                         start))
        return false;
    after = eddy__onnx_origin(
        w, w->graph->nodes[f->variables[k].next_iteration].inputs[0]);
    next = &w->graph->nodes[after.node];
    if (strcmp(next->op_name, "Add") != 0 &&
        strcmp(next->op_name, "AddV2") != 0)
        return false;
    return (variable_of(w, frame, next->inputs[0]) == k &&
            is_int_constant(w, next->inputs[1], 1)) ||
           (variable_of(w, frame, next->inputs[1]) == k &&
            is_int_constant(w, next->inputs[0], 1));
}

/* ---- scan outputs ---- */

/* Which inputs of an op that puts an item into an array are what. */
typedef struct put {
    const char *op;
    uint32_t array, index, item;
} put;

static const put put_ops[] = {
    {"TensorArrayWriteV3", 3, 1, 2},
    {"TensorListSetItem", 0, 1, 2},
};

static const put *find_put(const char *op)
{
    for (size_t i = 0; i < sizeof put_ops / sizeof *put_ops; i++)
        if (strcmp(put_ops[i].op, op) == 0)
            return &put_ops[i];
    return NULL;
}

static bool is_fresh_maker(const eddy__onnx_writer *w, eddy_output value)
{
    const eddy_output origin = eddy__onnx_origin(w, value);
    const char *op = w->graph->nodes[origin.node].op_name;

    return strcmp(op, "TensorArrayV3") == 0 ||
           strcmp(op, "TensorListReserve") == 0;
}

/*
 * Is the array's length that which it was made with, or that of its items, when
 * `node` has put one?
 */
static bool is_bounded(const eddy__onnx_writer *w, const eddy__node *node,
                       eddy_output array)
{
    const eddy_output maker = eddy__onnx_maker(w, array);
    const eddy__node *from = &w->graph->nodes[maker.node];
    const bool is_list = strcmp(from->op_name, "TensorListReserve") == 0;

    if (!is_fresh_maker(w, maker))
        return strcmp(node->op_name, "TensorListSetItem") == 0 &&
               !eddy__node_bool(node, "resize_if_index_out_of_bounds");
    if (is_list ? !eddy__node_bool(node, "resize_if_index_out_of_bounds")
                : !eddy__node_bool(from, "dynamic_size"))
        return true;
    return is_int_constant(w, from->inputs[is_list ? 1 : 0], 0);
}

bool eddy__onnx_is_collected(const eddy__onnx_writer *w, uint32_t frame,
                             size_t k, eddy_output *out_item)
{
    const eddy_loop_variable *v =
        &eddy_analysis_frame(w->analysis, frame)->variables[k];
    const eddy__node *node;
    const put *how;
    eddy_output next;

    if (v->enter == EDDY_NO_NODE || v->next_iteration == EDDY_NO_NODE ||
        v->merge == EDDY_NO_NODE || w->n_uses[v->merge] != 1 ||
        !is_fresh_maker(w, w->graph->nodes[v->enter].inputs[0]))
        return false;
    next = eddy__onnx_origin(w, w->graph->nodes[v->next_iteration].inputs[0]);
    node = &w->graph->nodes[next.node];
    how = find_put(node->op_name);
    if (!how || !is_bounded(w, node, w->graph->nodes[v->enter].inputs[0]) ||
        eddy__onnx_origin(w, node->inputs[how->array]).node != v->merge ||
        eddy_analysis_node_frame(w->analysis, next.node) != frame ||
        eddy_analysis_node_branch(w->analysis, next.node) != 0 ||
        !is_counter(w, frame, node->inputs[how->index], 0))
        return false;
    *out_item = node->inputs[how->item];
    return true;
}

/* ---- how many items are there for certain ---- */

/*
 * How many items a chain of puts has, each of which is at the end, or it would
 * have been refused; -1 if `array` is no such chain.
 */
static int64_t count_puts(const eddy__onnx_writer *w, eddy_output array)
{
    int64_t n = 0;

    array = eddy__onnx_origin(w, array);
    while (!is_fresh_maker(w, array)) {
        const eddy__node *node = &w->graph->nodes[array.node];
        const put *how = find_put(node->op_name);

        if (!how)
            return -1;
        array = eddy__onnx_origin(w, node->inputs[how->array]);
        n++;
    }
    return n;
}

/*
 * Is `index` the number of items that `array` has?  A loop that puts one item
 * in every trip, at a number that counts, has as many as it says, if it says so
 * first.
 */
static bool is_at_end(const eddy__onnx_writer *w, eddy_output array,
                      eddy_output index)
{
    const eddy_output origin = eddy__onnx_origin(w, array);
    const uint32_t frame = eddy_analysis_node_frame(w->analysis, origin.node);
    const eddy_loop_variable *v;
    const eddy__node *node;
    const put *how;
    eddy_output next;
    int64_t n;

    if (w->variable_of[origin.node] == 0) {
        n = count_puts(w, array);
        return n >= 0 && is_int_constant(w, index, n);
    }
    v = &eddy_analysis_frame(w->analysis, frame)
             ->variables[w->variable_of[origin.node] - 1];
    if (v->enter == EDDY_NO_NODE || v->next_iteration == EDDY_NO_NODE)
        return false;
    next = eddy__onnx_origin(w, w->graph->nodes[v->next_iteration].inputs[0]);
    node = &w->graph->nodes[next.node];
    how = find_put(node->op_name);
    n = count_puts(w, w->graph->nodes[v->enter].inputs[0]);
    return how && n >= 0 &&
           eddy_analysis_node_branch(w->analysis, next.node) == 0 &&
           eddy_analysis_node_frame(w->analysis, next.node) == frame &&
           eddy__onnx_origin(w, node->inputs[how->array]).node == origin.node &&
           is_counter(w, frame, index, n) &&
           is_counter(w, frame, node->inputs[how->index], n);
}

/* Has the array room for one item, which is put again and again? */
static bool is_only_item(const eddy__onnx_writer *w, eddy_output array,
                         eddy_output index)
{
    const eddy_output maker = eddy__onnx_maker(w, array);
    const eddy__node *from = &w->graph->nodes[maker.node];
    const bool is_list = strcmp(from->op_name, "TensorListReserve") == 0;

    return is_fresh_maker(w, maker) &&
           is_int_constant(w, from->inputs[is_list ? 1 : 0], 1) &&
           (is_list || !eddy__node_bool(from, "dynamic_size")) &&
           is_int_constant(w, index, 0);
}

/* ---- arrays and lists ---- */

static eddy__onnx_written array_in(eddy__onnx_writer *w, uint32_t i)
{
    return *eddy__onnx_input(w, i);
}

static void write_array(eddy__onnx_writer *w)
{
    const eddy__onnx_written fresh = {
        .form = EDDY__ONNX_FRESH,
        .dtype = (uint8_t)eddy__node_type(THIS, "dtype"),
    };

    eddy__onnx_bind(w, 1, fresh);
}

static void write_list(eddy__onnx_writer *w)
{
    const eddy__onnx_written fresh = {
        .form = EDDY__ONNX_FRESH,
        .dtype = (uint8_t)eddy__node_type(THIS, "element_dtype"),
    };

    eddy__onnx_bind(w, 0, fresh);
}

static void bind_items(eddy__onnx_writer *w, uint32_t i, const char *name,
                       eddy_dtype dtype)
{
    eddy__onnx_bind(w, i,
                    (eddy__onnx_written){.name = name,
                                         .form = EDDY__ONNX_ITEMS,
                                         .dtype = (uint8_t)dtype});
}

static void append(eddy__onnx_writer *w, uint32_t array, uint32_t item)
{
    eddy__onnx_written from = array_in(w, array);

    from = eddy__onnx_as_items(w, &from);
    bind_items(w, 0,
               NODE("SequenceInsert",
                    IN(from.name, eddy__onnx_name_of(w, item)), NO_ATTRS),
               (eddy_dtype)THIS->input_dtypes[item]);
}

static void write_put(eddy__onnx_writer *w)
{
    const put *how = find_put(THIS->op_name);
    const eddy_output array = THIS->inputs[how->array];
    const eddy_output index = THIS->inputs[how->index];

    if (!is_bounded(w, THIS, array))
        eddy__onnx_decline(w, "that grows an array of some length");
    else if (is_at_end(w, array, index))
        append(w, how->array, how->item);
    else if (is_only_item(w, array, index))
        bind_items(w, 0, OP("SequenceConstruct", X(how->item)),
                   (eddy_dtype)THIS->input_dtypes[how->item]);
    else
        eddy__onnx_decline(w, "at an index that may not be the next one");
}

static void write_push_back(eddy__onnx_writer *w)
{
    append(w, 0, 1);
}

static const char *item_at(eddy__onnx_writer *w,
                           const eddy__onnx_written *array, const char *index)
{
    if (array->form == EDDY__ONNX_ITEMS)
        return NODE("SequenceAt", IN(array->name, index), NO_ATTRS);
    if (array->form == EDDY__ONNX_STACKED)
        return NODE("Gather", IN(array->name, index), ATTR_INT("axis", 0));
    eddy__onnx_decline(w, "of an array without items");
    return "";
}

static void write_read(eddy__onnx_writer *w)
{
    const bool is_list = THIS->op_name[6] == 'L';
    const eddy__onnx_written array = array_in(w, is_list ? 0 : 2);

    GIVE(0, item_at(w, &array, eddy__onnx_name_of(w, 1)));
}

static const char *length_of(eddy__onnx_writer *w,
                             const eddy__onnx_written *array)
{
    if (array->form == EDDY__ONNX_ITEMS)
        return NODE("SequenceLength", IN(array->name), NO_ATTRS);
    if (array->form == EDDY__ONNX_STACKED)
        return NODE("Gather",
                    IN(NODE("Shape", IN(array->name), NO_ATTRS), INT(0)),
                    ATTR_INT("axis", 0));
    return INT(0);
}

/*
 * An array has the length that it was made with, written to or not; one that
 * grows, from none, has as many items as there are.
 */
static void write_length(eddy__onnx_writer *w)
{
    const bool is_list = THIS->op_name[6] == 'L';
    const uint32_t i = is_list ? 0 : 1;
    const eddy__onnx_written array = array_in(w, i);
    const eddy_output maker = eddy__onnx_maker(w, THIS->inputs[i]);
    const eddy__node *from = &w->graph->nodes[maker.node];
    const bool is_array = strcmp(from->op_name, "TensorArrayV3") == 0;

    if (strcmp(from->op_name, "TensorListReserve") == 0 &&
        !is_int_constant(w, from->inputs[1], 0))
        GIVE(0, eddy__onnx_demand(w, w->place, from->inputs[1])->name);
    else if (is_array && !eddy__node_bool(from, "dynamic_size"))
        GIVE(0, eddy__onnx_demand(w, w->place, from->inputs[0])->name);
    else if ((is_array && !is_int_constant(w, from->inputs[0], 0)) ||
             array.form == EDDY__ONNX_FRESH)
        eddy__onnx_decline(w, "of an array whose length is not known");
    else
        GIVE(0, CAST(length_of(w, &array), EDDY_INT32));
}

static void write_gather(eddy__onnx_writer *w)
{
    const bool is_list = THIS->op_name[6] == 'L';
    const eddy__onnx_written array = array_in(w, is_list ? 0 : 2);

    GIVE(0, NODE("Gather",
                 IN(eddy__onnx_as_stack(w, &array), eddy__onnx_name_of(w, 1)),
                 ATTR_INT("axis", 0)));
}

/*
 * All items in order.  Those that were never written are zeros in eddy; here
 * there are none, so as many as the list has room for must be there.
 */
static void write_stack(eddy__onnx_writer *w)
{
    const eddy__onnx_written array = array_in(w, 0);
    const eddy_output maker = eddy__onnx_maker(w, THIS->inputs[0]);
    const eddy__node *from = &w->graph->nodes[maker.node];
    const char *stack = eddy__onnx_as_stack(w, &array);

    if (strcmp(from->op_name, "TensorListReserve") == 0 &&
        !is_int_constant(w, from->inputs[1], 0)) {
        const char *n = CAST(
            eddy__onnx_demand(w, w->place, from->inputs[1])->name, EDDY_INT64);

        stack = NODE("Gather",
                     IN(stack, NODE("Range", IN(INT(0), n, INT(1)), NO_ATTRS)),
                     ATTR_INT("axis", 0));
    }
    GIVE(0, stack);
}

static void write_unstacked(eddy__onnx_writer *w)
{
    const bool is_list = THIS->op_name[6] == 'L';
    const uint32_t value = is_list ? 0 : 2;
    eddy__onnx_written stacked = *eddy__onnx_input(w, value);

    /* All indices in order, as unstack has it. */
    if (!is_list) {
        const eddy_output indices = eddy__onnx_maker(w, THIS->inputs[1]);
        const eddy__node *range = &w->graph->nodes[indices.node];

        if (strcmp(range->op_name, "Range") != 0 ||
            !is_int_constant(w, range->inputs[0], 0) ||
            !is_int_constant(w, range->inputs[2], 1) ||
            !is_fresh_maker(w, THIS->inputs[3])) {
            eddy__onnx_decline(w, "at indices that may not be all in order");
            return;
        }
    }
    stacked.form = EDDY__ONNX_STACKED;
    eddy__onnx_bind(w, 0, stacked);
}

static void write_pop_back(eddy__onnx_writer *w)
{
    eddy__onnx_written array = array_in(w, 0);

    array = eddy__onnx_as_items(w, &array);
    bind_items(w, 0, NODE("SequenceErase", IN(array.name, INT(-1)), NO_ATTRS),
               (eddy_dtype)array.dtype);
    eddy__onnx_bind(
        w, 1,
        (eddy__onnx_written){
            .name = NODE("SequenceAt", IN(array.name, INT(-1)), NO_ATTRS),
            .dtype = array.dtype});
}

/* ---- stacks ---- */

static size_t stack_of(eddy__onnx_writer *w)
{
    size_t i = 0;

    while (i < w->n_stacks && w->stacks[i].push != w->node &&
           w->stacks[i].pop != w->node)
        i++;
    if (i == w->n_stacks) {
        eddy__onnx_decline(w, "of a stack that is not known");
    } else if (w->place->branch > 0 &&
               w->groups[w->region_depth[w->place->branch]].parent[w->node] !=
                   w->place->group) {
        eddy__onnx_decline(w, "that would be done twice");
        w->is_circular = true;
    }
    return i;
}

static void write_push(eddy__onnx_writer *w)
{
    const size_t i = stack_of(w);
    const char *item = eddy__onnx_name_of(w, 1);
    eddy__onnx_written items;

    eddy__onnx_bind(w, 0, *eddy__onnx_input(w, 1));
    if (i == w->n_stacks)
        return;
    items = eddy__onnx_state_in(w, w->place, i);
    items.name = NODE("SequenceInsert", IN(items.name, item), NO_ATTRS);
    eddy__onnx_set_state(w, w->place, i, &items);
}

static void write_pop(eddy__onnx_writer *w)
{
    const size_t i = stack_of(w);
    eddy__onnx_written items;

    if (i == w->n_stacks)
        return;
    items = eddy__onnx_state_in(w, w->place, i);
    GIVE(0, NODE("SequenceAt", IN(items.name, INT(-1)), NO_ATTRS));
    items.name = NODE("SequenceErase", IN(items.name, INT(-1)), NO_ATTRS);
    eddy__onnx_set_state(w, w->place, i, &items);
}

#define FIRST 1u
#define SECOND 2u
#define THIRD 4u

const eddy__onnx_rule eddy__onnx_write_arrays[] = {
    {"EmptyTensorList", write_list, .skipped = FIRST | SECOND},
    {"StackPopV2", write_pop, .skipped = FIRST},
    {"StackPushV2", write_push, .skipped = FIRST},
    {"TensorArrayGatherV3", write_gather, .skipped = FIRST},
    {"TensorArrayReadV3", write_read, .skipped = FIRST},
    {"TensorArrayScatterV3", write_unstacked, .skipped = FIRST | SECOND},
    {"TensorArraySizeV3", write_length, .skipped = FIRST},
    {"TensorArrayV3", write_array, .skipped = FIRST},
    {"TensorArrayWriteV3", write_put, .skipped = FIRST | SECOND},
    {"TensorListFromTensor", write_unstacked, .skipped = SECOND},
    {"TensorListGather", write_gather, .skipped = THIRD},
    {"TensorListGetItem", write_read, .skipped = THIRD},
    {"TensorListLength", write_length},
    {"TensorListPopBack", write_pop_back, .skipped = SECOND},
    {"TensorListPushBack", write_push_back},
    {"TensorListReserve", write_list, .skipped = FIRST},
    {"TensorListSetItem", write_put, .skipped = SECOND},
    {"TensorListStack", write_stack, .skipped = SECOND},
    {.op = NULL},
};
