/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sequences of a network that is built: those that it is given, which must
 * be of one length, and those that are others shifted.
 */
#include "core/base/status.h"
#include "core/graph/graph.h"
#include "core/value/shape.h"
#include "frontends/shared/network_build.h"
#include "frontends/theano/taps.h"

#include <string.h>

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

static const eddy_output nowhere = {EDDY_NO_NODE, 0};

/* ---- small things ---- */

eddy_output eddy__network_write_vector(eddy__construction *k,
                                       const int32_t *elements, size_t n)
{
    const eddy_shape shape = {.rank = 1, .dims = {(int64_t)n}};
    eddy_tensor *tensor;
    eddy_output out;

    if (k->w.status != EDDY_OK ||
        !eddy_emit_check(&k->w, eddy_tensor_create(k->w.graph->ctx, EDDY_INT32,
                                                   &shape, &tensor, k->w.err)))
        return nowhere;
    if (n > 0)
        memcpy(eddy_tensor_mutable_data(tensor), elements,
               n * sizeof *elements);
    out = eddy_emit_const(&k->w, NULL, tensor);
    eddy_tensor_release(tensor);
    return out;
}

static eddy_output as_vector(eddy__construction *k, eddy_output x)
{
    return eddy_emit_binary(&k->w, "ExpandDims", x, eddy_emit_int32(&k->w, 0));
}

static eddy_output write_concat(eddy__construction *k, eddy_output a,
                                eddy_output b)
{
    const eddy_output inputs[] = {a, b, eddy_emit_int32(&k->w, 0)};

    return eddy_emit_op(&k->w, "ConcatV2", inputs, N_OF(inputs), NULL, 0);
}

bool eddy__network_is_full(const eddy_shape *shape)
{
    for (int32_t i = 0; i < shape->rank; i++)
        if (shape->dims[i] < 0 || shape->dims[i] > INT32_MAX)
            return false;
    return shape->rank >= 0;
}

eddy_output eddy__network_write_rows(eddy__construction *k, eddy_output value,
                                     int64_t n, const eddy_shape *item,
                                     eddy_output like)
{
    int32_t dims[EDDY_MAX_RANK + 1] = {(int32_t)n}, one = 1;
    eddy_output shape, from;

    if (eddy__network_is_full(item) && item->rank < EDDY_MAX_RANK) {
        for (int32_t i = 0; i < item->rank; i++)
            dims[i + 1] = (int32_t)item->dims[i];
        shape = eddy__network_write_vector(k, dims, (size_t)item->rank + 1);
    } else {
        const bool is_own = like.node == EDDY_NO_NODE;

        from = eddy_emit_unary(&k->w, "Shape", is_own ? value : like);
        if (!is_own) {
            const int32_t all = INT32_MAX;
            const eddy_output slice[] = {
                from, eddy__network_write_vector(k, &one, 1),
                eddy__network_write_vector(k, &all, 1),
                eddy__network_write_vector(k, &one, 1)};

            from = eddy_emit_op(&k->w, "StridedSlice", slice, N_OF(slice), NULL,
                                0);
        }
        shape = write_concat(k, eddy__network_write_vector(k, dims, 1), from);
    }
    return eddy_emit_binary(&k->w, "BroadcastTo", value, shape);
}

/* ---- sequences ---- */

static eddy_status fail_length(const eddy__construction *k,
                               const eddy__cell *cell, const eddy__cell *first,
                               const char *why)
{
    return eddy__graph_fail_at(k->w.err, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               &k->w.graph->nodes[cell->from.node],
                               "sequence '%.64s:%u' of '%.64s' %s '%.64s'",
                               cell->name, (unsigned)cell->from.index,
                               k->network->name, why, first->name);
}

/* The sequence once a run has seen that it is as long as the first. */
static eddy_output write_checked(eddy__construction *k, eddy_output tensor)
{
    const eddy_output n = eddy__write_length(&k->w, tensor);
    const eddy_output inputs[] = {
        eddy_emit_binary(&k->w, "Equal", n, k->length), n, k->length};
    const eddy_output check =
        eddy_emit_op(&k->w, "Assert", inputs, N_OF(inputs), NULL, 0);
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = "Identity",
                                 .inputs = &tensor,
                                 .n_inputs = 1,
                                 .controls = &check.node,
                                 .n_controls = 1};
    eddy_output out = {EDDY_NO_NODE, 0};

    if (k->w.status == EDDY_OK)
        k->w.status = eddy_graph_add(k->w.graph, &spec, &out.node, k->w.err);
    return out;
}

static eddy_status take_sequence(eddy__construction *k, const eddy__cell *cell,
                                 const eddy__cell *first)
{
    const eddy_shape shape = eddy__writer_shape_of(&k->w, cell->from);
    const eddy_shape other = eddy__writer_shape_of(&k->w, first->from);
    const bool is_known = shape.rank > 0 && other.rank > 0 &&
                          shape.dims[0] >= 0 && other.dims[0] >= 0;

    if (shape.rank == 0)
        return fail_length(k, cell, cell, "is a scalar, which has no items:");
    if (is_known && shape.dims[0] != other.dims[0])
        return fail_length(k, cell, first, "has another length than");
    k->tensor[cell->first] = cell->from;
    if (cell == first)
        k->length = eddy__write_length(&k->w, cell->from);
    else if (!is_known)
        k->tensor[cell->first] = write_checked(k, cell->from);
    return k->w.status;
}

/* The lengths of a batch, if it has any, as int32. */
static void take_lengths(eddy__construction *k)
{
    const eddy_cntk *network = k->network;

    k->lengths = nowhere;
    if (network->has_lengths)
        k->lengths =
            eddy_graph_output_dtype(k->w.graph, network->lengths) == EDDY_INT32
                ? network->lengths
                : eddy_emit_cast(&k->w, network->lengths, EDDY_INT32);
}

eddy_output eddy__network_write_masked(eddy__construction *k, eddy_output x,
                                       int32_t ahead, eddy_output otherwise)
{
    eddy_emitter *w = &k->w;
    const eddy_output range[] = {
        eddy_emit_int32(w, ahead),
        eddy_emit_binary(w, "AddV2", k->length, eddy_emit_int32(w, ahead)),
        eddy_emit_int32(w, 1)};
    const eddy_output steps = eddy_emit_binary(
        w, "ExpandDims", eddy_emit_op(w, "Range", range, N_OF(range), NULL, 0),
        eddy_emit_int32(w, 1));
    eddy_output inputs[] = {eddy_emit_binary(w, "Less", steps, k->lengths), x,
                            otherwise};
    /* A dimension of 1 for each that an item has beyond the batch. */
    const eddy_output more = eddy_emit_binary(
        w, "Fill",
        as_vector(k, eddy_emit_binary(w, "Sub", eddy_emit_unary(w, "Rank", x),
                                      eddy_emit_int32(w, 2))),
        eddy_emit_int32(w, 1));

    inputs[0] = eddy_emit_binary(
        w, "Reshape", inputs[0],
        write_concat(k, eddy_emit_unary(w, "Shape", inputs[0]), more));
    return eddy_emit_op(w, "SelectV2", inputs, N_OF(inputs), NULL, 0);
}

eddy_status eddy__take_sequences(eddy__construction *k)
{
    const eddy__cell *first = NULL;

    take_lengths(k);

    for (size_t i = 0; i < k->loops.n_order; i++) {
        const eddy__cell *cell = eddy__network_ordered(k, i);

        if (cell->kind != EDDY__CELL_SEQUENCE)
            continue;
        first = first ? first : cell;
        EDDY_TRY(take_sequence(k, cell, first));
    }
    if (first)
        return EDDY_OK;
    return eddy__fail_node(k->w.err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                           k->network->name, NULL,
                           "nothing says how many steps '%.64s' takes: what is "
                           "wanted depends on no sequence",
                           k->network->name);
}

/* ---- shifts ---- */

/* Rows `begin` to `end` - 1. */
static eddy_output write_part(eddy__construction *k, eddy_output rows,
                              int64_t begin, eddy_output end)
{
    const int32_t first = (int32_t)begin, one = 1;
    const eddy_output inputs[] = {
        rows, eddy__network_write_vector(k, &first, 1), as_vector(k, end),
        eddy__network_write_vector(k, &one, 1)};

    return eddy_emit_op(&k->w, "StridedSlice", inputs, N_OF(inputs), NULL, 0);
}

/* All steps of what is `delay` steps earlier in `x`. */
static eddy_output write_shift(eddy__construction *k, const eddy__cell *cell,
                               eddy_output x)
{
    const int64_t n = cell->delay > 0 ? cell->delay : -cell->delay;
    const eddy_shape item = eddy__writer_item_shape_of(&k->w, x);
    const eddy_output rows =
        eddy__network_write_rows(k, cell->from, n, &item, x);
    eddy_output end;

    if (cell->delay > 0)
        return write_part(k, write_concat(k, rows, x), 0, k->length);
    end = eddy_emit_binary(&k->w, "AddV2", k->length,
                           eddy_emit_int32(&k->w, (int32_t)n));
    x = write_part(k, write_concat(k, x, rows), n, end);
    return k->lengths.node == EDDY_NO_NODE
               ? x
               : eddy__network_write_masked(k, x, (int32_t)n, cell->from);
}

void eddy__network_write_shifts(eddy__construction *k)
{
    for (size_t i = 0; i < k->loops.n_order && k->w.status == EDDY_OK; i++) {
        const eddy__cell *cell = eddy__network_ordered(k, i);
        eddy_output from;

        if (cell->kind != EDDY__CELL_DELAY ||
            k->loops.placing[k->loops.order[i]].is_recurrent ||
            k->tensor[cell->first].node != EDDY_NO_NODE)
            continue;
        from = k->tensor[eddy__network_source(k, cell, 0)];
        if (from.node == EDDY_NO_NODE)
            continue;
        if (eddy_graph_output_dtype(k->w.graph, from) !=
            eddy_graph_output_dtype(k->w.graph, cell->from)) {
            eddy__taps_fail(
                &k->w, cell->from, EDDY_E_INPUT_DTYPE,
                "the initial value of '%.64s' of '%.64s' is %s, "
                "%s is wanted",
                cell->name, k->network->name,
                eddy_dtype_name(
                    eddy_graph_output_dtype(k->w.graph, cell->from)),
                eddy_dtype_name(eddy_graph_output_dtype(k->w.graph, from)));
            return;
        }
        k->tensor[cell->first] = write_shift(k, cell, from);
    }
}
