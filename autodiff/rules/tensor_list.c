/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorLists and TensorMaps: the gradient of a list is a list of the gradients
 * of its items. Of a list itself only the length is asked for, so that it goes
 * over no tape.
 */
#include "autodiff/rule.h"

static eddy_attr element_attr(const eddy_dtype *dtype)
{
    return eddy_attr_type("element_dtype", dtype);
}

/* The shape of a row of `v`. */
static eddy_output row_shape(eddy_gradient *g, eddy_output shape)
{
    const int32_t one[] = {1}, rest[] = {-1};

    return OP("Slice", shape, eddy__rule_ints(g, one, 1),
              eddy__rule_ints(g, rest, 1));
}

/* That of parts with any number of such rows. */
static eddy_output part_shape(eddy_gradient *g, eddy_output shape)
{
    const int32_t any[] = {-1};

    return OP("ConcatV2", eddy__rule_ints(g, any, 1), row_shape(g, shape),
              eddy__rule_scalar(g, EDDY_INT32, 0.0));
}

static eddy_output unknown_shape(eddy_gradient *g)
{
    return eddy__rule_scalar(g, EDDY_INT32, -1.0);
}

/* ---- item by item ---- */

/* list, index, shape -> item */
eddy_status eddy__grad_list_get(eddy_gradient *g)
{
    /* Items that are lists have no sum in place. */
    if (eddy__rule_output_dtype(g, 0) == EDDY_VARIANT)
        DX(0, OP("TensorListSetItem", OP("ZerosLike", X(0)), X(1), DY(0)));
    else
        eddy__rule_set_item(g, 0, X(1), DY(0));
    return EDDY_OK;
}

/* list, index, item -> list */
eddy_status eddy__grad_list_set(eddy_gradient *g)
{
    const eddy_dtype dtype = eddy_gradient_input_dtype(g, 2);
    const eddy_attr attrs[] = {element_attr(&dtype)};
    eddy_output item, list;

    item = OP_WITH("TensorListGetItem", attrs, DY(0), X(1),
                   eddy_gradient_shape_of(g, 2));
    DX(2, item);
    if (!WANTS(0))
        return EDDY_OK;
    list = OP("TensorListSetItem", DY(0), X(1), OP("ZerosLike", item));
    if (eddy__rule_bool(g, "resize_if_index_out_of_bounds"))
        list = OP("TensorListResize", list, eddy__rule_length_of(g, 0));
    DX(0, list);
    return EDDY_OK;
}

/* list, item -> list */
eddy_status eddy__grad_list_push(eddy_gradient *g)
{
    const eddy_dtype dtype = eddy_gradient_input_dtype(g, 1);
    const eddy_attr attrs[] = {element_attr(&dtype)};
    const eddy_output parts = OP_WITH("TensorListPopBack", attrs, DY(0),
                                      eddy_gradient_shape_of(g, 1));

    DX(0, parts);
    DX(1, eddy__rule_output_at(parts, 1));
    return EDDY_OK;
}

/* list, shape -> list, item */
eddy_status eddy__grad_list_pop(eddy_gradient *g)
{
    DX(0, OP("TensorListPushBack", DY(0), DY(1)));
    return EDDY_OK;
}

/* list, place, item -> list */
eddy_status eddy__grad_list_insert(eddy_gradient *g)
{
    const eddy_dtype dtype = eddy_gradient_input_dtype(g, 2);
    const eddy_dtype index = EDDY_INT32;
    const eddy_attr attrs[] = {element_attr(&dtype)};
    const eddy_attr cast[] = {eddy_attr_type("DstT", &index)};

    if (WANTS(0))
        DX(0, OP("_ListErase", DY(0), X(1)));
    if (WANTS(2))
        DX(2,
           OP_WITH("TensorListGetItem", attrs, DY(0),
                   OP_WITH("Cast", cast, X(1)), eddy_gradient_shape_of(g, 2)));
    return EDDY_OK;
}

/* list, place -> list; what is taken out is used by nothing. */
eddy_status eddy__grad_list_erase(eddy_gradient *g)
{
    DX(0, OP("_ListUnset", DY(0), X(1)));
    return EDDY_OK;
}

/* list, place -> list */
eddy_status eddy__grad_list_unset(eddy_gradient *g)
{
    DX(0, OP("_ListErase", DY(0), X(1)));
    return EDDY_OK;
}

/* list, size -> list */
eddy_status eddy__grad_list_resize(eddy_gradient *g)
{
    DX(0, OP("TensorListResize", DY(0), eddy__rule_length_of(g, 0)));
    return EDDY_OK;
}

/* ---- lists and tensors ---- */

/* tensor, shape -> list */
eddy_status eddy__grad_list_from_tensor(eddy_gradient *g)
{
    const eddy_dtype dtype = eddy_gradient_input_dtype(g, 0);
    const eddy_attr attrs[] = {element_attr(&dtype)};

    DX(0, OP_WITH("TensorListStack", attrs, DY(0),
                  row_shape(g, eddy_gradient_shape_of(g, 0))));
    return EDDY_OK;
}

/* list, shape -> tensor */
eddy_status eddy__grad_list_stack(eddy_gradient *g)
{
    DX(0, OP("TensorListFromTensor", DY(0), row_shape(g, OP("Shape", DY(0)))));
    return EDDY_OK;
}

/* list, ... -> tensor, lengths */
eddy_status eddy__grad_list_concat(eddy_gradient *g)
{
    DX(0,
       OP("TensorListSplit", DY(0), part_shape(g, OP("Shape", DY(0))), Y(1)));
    return EDDY_OK;
}

/* tensor, shape, lengths -> list */
eddy_status eddy__grad_list_split(eddy_gradient *g)
{
    const eddy_dtype dtype = eddy_gradient_input_dtype(g, 0);
    const eddy_attr attrs[] = {element_attr(&dtype)};

    DX(0, OP_WITH("TensorListConcatV2", attrs, DY(0),
                  part_shape(g, eddy_gradient_shape_of(g, 0)), X(2)));
    return EDDY_OK;
}

/*
 * list, indices, shape -> values.  What was gathered several times has its
 * gradients summed before they are scattered, each sum several times.
 */
eddy_status eddy__grad_list_gather(eddy_gradient *g)
{
    const eddy_dtype dtype = eddy__rule_output_dtype(g, 0);
    const eddy_attr attrs[] = {element_attr(&dtype)};
    const eddy_output zero = eddy__rule_scalar(g, EDDY_INT32, 0.0);
    eddy_output length, sums, empty;

    length = eddy__rule_length_of(g, 0);
    sums = OP("UnsortedSegmentSum", DY(0), X(1), length);
    empty = OP_WITH("TensorListReserve", attrs, unknown_shape(g), length);
    DX(0, OP("TensorListScatterIntoExistingList", empty,
             OP("GatherV2", sums, X(1), zero), X(1)));
    return EDDY_OK;
}

/*
 * Which rows were not written over, by a later one at the same index; a column
 * of that for each row of the shape.
 */
static eddy_output find_last(eddy_gradient *g, eddy_output indices,
                             eddy_output shape)
{
    const eddy_output zero = INT(0.0), one = INT(1.0);
    const eddy_output order = OP("Range", zero, OP("Size", indices), one);
    const eddy_output end = OP("AddV2", OP("Max", indices, INTS(0)), one);
    const eddy_output last =
        OP("UnsortedSegmentMax", order, indices, OP("Maximum", end, zero));
    const eddy_output is_last =
        OP("Equal", OP("GatherV2", last, indices, zero), order);
    const eddy_output ones = OP(
        "Fill", OP("Reshape", OP("Sub", OP("Size", shape), one), INTS(1)), one);

    return OP("Reshape", is_last, CONCAT(OP("Shape", indices), ones));
}

/* The rows at `indices`, input `i`, of a list of gradients of the tensor. */
static eddy_output gather(eddy_gradient *g, uint32_t tensor, uint32_t i)
{
    const eddy_dtype dtype = eddy_gradient_input_dtype(g, tensor);
    const eddy_attr attrs[] = {element_attr(&dtype)};
    const eddy_output shape = eddy_gradient_shape_of(g, tensor);
    const eddy_output indices = X(i);
    const eddy_output rows =
        OP_WITH("TensorListGather", attrs, DY(0), indices, row_shape(g, shape));

    if (eddy__rule_is_set(g, i))
        return rows;
    return OP("SelectV2", find_last(g, indices, shape), rows,
              OP("ZerosLike", rows));
}

/* tensor, indices, shape [, count] -> list */
eddy_status eddy__grad_list_scatter(eddy_gradient *g)
{
    DX(0, gather(g, 0, 1));
    return EDDY_OK;
}

/* list, tensor, indices -> list */
eddy_status eddy__grad_list_scatter_into(eddy_gradient *g)
{
    const eddy_output rows = gather(g, 1, 2);

    if (WANTS(0))
        DX(0, OP("TensorListScatterIntoExistingList", DY(0),
                 OP("ZerosLike", rows), X(2)));
    DX(1, rows);
    return EDDY_OK;
}

/* list, list -> list.  The second part is what comes off the end. */
eddy_status eddy__grad_list_join(eddy_gradient *g)
{
    const eddy_attr attrs[] = {eddy__rule_attr(g, "element_dtype")};
    const eddy_output n = eddy__rule_length_of(g, 0);

    if (WANTS(0))
        DX(0, OP("TensorListResize", DY(0), n));
    if (WANTS(1)) {
        const eddy_output end = OP("AddV2", n, eddy__rule_length_of(g, 1));
        const eddy_output one = eddy__rule_scalar(g, EDDY_INT32, 1.0);
        const eddy_output rows =
            OP_WITH("TensorListGather", attrs, DY(0), OP("Range", n, end, one),
                    unknown_shape(g));

        DX(1,
           OP("TensorListFromTensor", rows, row_shape(g, OP("Shape", rows))));
    }
    return EDDY_OK;
}

/* ---- optional values ---- */

#define MOST 64

static bool is_small(eddy_gradient *g, uint32_t n)
{
    if (n <= MOST)
        return true;
    eddy_gradient_fail(g, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT,
                       "it has %u values, of which the gradient takes up to %d",
                       n, MOST);
    return false;
}

eddy_status eddy__grad_optional_from(eddy_gradient *g)
{
    const uint32_t n = eddy_gradient_inputs(g);
    eddy_dtype dtypes[MOST];
    eddy_shape shapes[MOST];
    const eddy_attr attrs[] = {{.name = "output_types",
                                .kind = EDDY_ATTR_TYPE,
                                .is_list = true,
                                .n = n,
                                .as.types = dtypes},
                               {.name = "output_shapes",
                                .kind = EDDY_ATTR_SHAPE,
                                .is_list = true,
                                .n = n,
                                .as.shapes = shapes}};
    eddy_output values;

    if (!is_small(g, n))
        return EDDY_UNIMPLEMENTED;
    for (uint32_t i = 0; i < n; i++) {
        dtypes[i] = eddy_gradient_input_dtype(g, i);
        shapes[i] = *eddy_gradient_input_shape(g, i);
    }
    values = OP_WITH("OptionalGetValue", attrs, DY(0));
    for (uint32_t i = 0; i < n; i++)
        DX(i, eddy__rule_output_at(values, i));
    return EDDY_OK;
}

eddy_status eddy__grad_optional_get(eddy_gradient *g)
{
    const uint32_t n = eddy_gradient_outputs(g);
    eddy_output *values = eddy__rule_room(g, n);

    if (!values)
        return EDDY_OK;
    for (uint32_t i = 0; i < n; i++)
        values[i] = DY(i);
    DX(0, eddy_gradient_add(g, "OptionalFromValue", values, n, NULL, 0));
    return EDDY_OK;
}

/* ---- maps ---- */

/* map, key -> value */
eddy_status eddy__grad_map_lookup(eddy_gradient *g)
{
    DX(0, OP("_MapOf", X(1), DY(0)));
    return EDDY_OK;
}

/* map, key, value -> map */
eddy_status eddy__grad_map_insert(eddy_gradient *g)
{
    const eddy_output parts =
        OP("_MapTake", DY(0), X(1), OP("ZerosLike", X(2)));

    DX(0, parts);
    DX(2, eddy__rule_output_at(parts, 1));
    return EDDY_OK;
}

/* map, key -> map */
eddy_status eddy__grad_map_erase(eddy_gradient *g)
{
    DX(0, DY(0));
    return EDDY_OK;
}

/* key, value -> map */
eddy_status eddy__grad_map_of(eddy_gradient *g)
{
    const eddy_dtype dtype = eddy_gradient_input_dtype(g, 1);
    const eddy_attr attrs[] = {eddy_attr_type("value_dtype", &dtype)};

    DX(1, OP_WITH("TensorMapLookup", attrs, DY(0), X(0)));
    return EDDY_OK;
}

/* map, key, none -> map, value; `none` are zeros. */
eddy_status eddy__grad_map_take(eddy_gradient *g)
{
    DX(0, OP("TensorMapInsert", DY(0), X(1), DY(1)));
    return EDDY_OK;
}
