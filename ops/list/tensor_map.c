/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ops on TensorMaps.
 *
 * All of these are cheap, so that they run on the driver's thread, as those of
 * TensorLists do: a value may be a handle.
 */
#include "ops/list/tensor_map.h"

#include "ops/ops.h"

/* ---- inputs ---- */

static eddy_status in_map(eddy_kernel *k, const eddy__list **out_map)
{
    const eddy__value *in = eddy__in(k, 0);

    *out_map = eddy__in_list(k, 0);
    if (eddy__value_is_list(in) && (*out_map)->dtype == EDDY__MAP)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                       "input 0 is %s; a map is wanted",
                       eddy__value_is_list(in) ? eddy__list_kind(*out_map)
                                               : "a tensor");
}

/* Input 0, and where in it the key that is input 1 is. */
static eddy_status in_key(eddy_kernel *k, const eddy__list **out_map,
                          int64_t *out_at)
{
    EDDY_TRY(in_map(k, out_map));
    if (!eddy__dtype_in(eddy__in_dtype(k, 1), EDDY__MOVABLE))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                           "a %s is no key of a map",
                           eddy_dtype_name(eddy__in_dtype(k, 1)));
    *out_at = eddy__tensor_map_find(k, *out_map, eddy__in(k, 1));
    return EDDY_OK;
}

/* The same of a key that must be there. */
static eddy_status in_known_key(eddy_kernel *k, const eddy__list **out_map,
                                int64_t *out_at)
{
    EDDY_TRY(in_key(k, out_map, out_at));
    if (*out_at >= 0)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                       "the key is not in the map");
}

/* ---- kernels ---- */

static eddy_status run_empty(eddy_kernel *k)
{
    const eddy_shape unknown = eddy__shape_unknown();
    eddy__list *map;

    return eddy__output_list(k, 0, EDDY__MAP, &unknown, 0, &map);
}

static eddy_status run_size(eddy_kernel *k)
{
    const eddy__list *map;

    EDDY_TRY(in_map(k, &map));
    eddy__out_scalar(eddy__out(k, 0), EDDY_INT32, (uint32_t)(map->count / 2));
    return EDDY_OK;
}

static eddy_status run_has_key(eddy_kernel *k)
{
    const eddy__list *map;
    int64_t at = -1;

    EDDY_TRY(in_key(k, &map, &at));
    eddy__out_scalar(eddy__out(k, 0), EDDY_BOOL, at >= 0);
    return EDDY_OK;
}

/* Makes output `i` the value behind that key. */
static eddy_status put_value(eddy_kernel *k, uint32_t i, const eddy__list *map,
                             int64_t at)
{
    const eddy_dtype dtype = (eddy_dtype)k->node->out_dtypes[i];
    const eddy__value *item = eddy__list_get(map, at + 1);
    eddy__value value;

    if (item->dtype != dtype)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                           "the value of the key is %s; %s is wanted",
                           eddy_dtype_name((eddy_dtype)item->dtype),
                           eddy_dtype_name(dtype));
    value = eddy__value_copy(item);
    eddy__out_value(k, i, &value);
    return EDDY_OK;
}

static eddy_status run_lookup(eddy_kernel *k)
{
    const eddy__list *map;
    int64_t at = 0;

    EDDY_TRY(in_known_key(k, &map, &at));
    return put_value(k, 0, map, at);
}

static eddy_status run_insert(eddy_kernel *k)
{
    const eddy__list *map;
    int64_t at = 0;
    eddy__list *own;
    eddy__value key;

    EDDY_TRY(in_key(k, &map, &at));
    EDDY_TRY(eddy__output_list_reusing(k, 0, 0, at < 0 ? 2 : 0, &own));
    if (at >= 0) {
        eddy__tensor_map_set(k, own, at, eddy__in_take(k, 2));
        return EDDY_OK;
    }
    key = eddy__in_take(k, 1);
    eddy__tensor_map_add(k, own, key, eddy__in_take(k, 2));
    return EDDY_OK;
}

static eddy_status run_of(eddy_kernel *k)
{
    const eddy_shape unknown = eddy__shape_unknown();
    eddy__list *map;

    EDDY_TRY(eddy__output_list(k, 0, EDDY__MAP, &unknown, 2, &map));
    for (uint32_t i = 0; i < 2; i++)
        eddy__list_set(k->heap, map, i, eddy__in_take(k, i));
    return EDDY_OK;
}

/* Makes output 0 the map without the key at that place. */
static eddy_status erase(eddy_kernel *k, int64_t at)
{
    eddy__list *own;

    EDDY_TRY(eddy__output_list_reusing(k, 0, 0, 0, &own));
    eddy__tensor_map_remove(k, own, at);
    return EDDY_OK;
}

static eddy_status run_erase(eddy_kernel *k)
{
    const eddy__list *map;
    int64_t at = 0;

    EDDY_TRY(in_known_key(k, &map, &at));
    return erase(k, at);
}

/* What an insert hands back: the gradients of its map and of its value. */
static eddy_status run_take(eddy_kernel *k)
{
    const eddy__list *map;
    int64_t at = 0;

    EDDY_TRY(in_key(k, &map, &at));
    if (at >= 0) {
        EDDY_TRY(put_value(k, 1, map, at));
        return erase(k, at);
    }
    eddy__output_forward(k, 0, 0);
    eddy__output_forward(k, 1, 2);
    return EDDY_OK;
}

static eddy_status run_stack_keys(eddy_kernel *k)
{
    const eddy_dtype dtype = (eddy_dtype)k->node->out_dtypes[0];
    const eddy__list *map;
    const eddy_shape *of;
    eddy_shape shape;
    unsigned char *out;

    EDDY_TRY(in_map(k, &map));
    if (map->count == 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_EMPTY,
                           "the map is empty, so its keys have no shape");
    of = eddy__item_shape(eddy__list_get(map, 0));
    for (int64_t i = 0; i < map->count; i += 2) {
        const eddy__value *key = eddy__list_get(map, i);

        if (key->dtype != dtype)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                               "a key is %s; %s is wanted",
                               eddy_dtype_name((eddy_dtype)key->dtype),
                               eddy_dtype_name(dtype));
        if (!eddy__shape_equal(of, eddy__item_shape(key)))
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "keys of shape %s and of shape %s don't make a "
                               "tensor",
                               eddy__shape_print(of).text,
                               eddy__shape_print(eddy__item_shape(key)).text);
    }
    EDDY_TRY(eddy__prepend_dim(k, map->count / 2, of, &shape));
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    for (int64_t i = 0; i < map->count; i += 2)
        out += eddy__put_item(out, eddy__list_get(map, i), 0);
    return eddy__elements_done(k, 0);
}

static eddy_status infer_take(eddy_infer *infer)
{
    const eddy_shape scalar = eddy__shape_scalar();

    eddy_infer_set_output(infer, 0, &scalar);
    return EDDY_OK;
}

#define MAP "input_handle: variant"
#define KEY ", key: key_dtype"
#define KEY_TYPE "key_dtype: type"
#define VALUE_TYPE ", value_dtype: type"

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("EmptyTensorMap", .outputs = "handle: variant",
                 .infer = eddy__infer_scalar, .kernel = run_empty,
                 .flags = EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "A map without keys."),
    EDDY__OP_ROW("TensorMapSize", .inputs = MAP, .outputs = "size: int32",
                 .infer = eddy__infer_scalar, .kernel = run_size,
                 .flags = EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "How many keys a map has."),
    EDDY__OP_ROW("TensorMapHasKey", .inputs = MAP KEY,
                 .outputs = "has_key: bool", .attrs = KEY_TYPE,
                 .infer = eddy__infer_scalar, .kernel = run_has_key,
                 .flags = EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "Does a map have that key?"),
    EDDY__OP_ROW("TensorMapLookup", .inputs = MAP KEY,
                 .outputs = "value: value_dtype", .attrs = KEY_TYPE VALUE_TYPE,
                 .kernel = run_lookup, .flags = EDDY_OP_CHEAP,
                 .doc = "The value of a key, which must be there."),
    EDDY__OP_ROW("TensorMapInsert", .inputs = MAP KEY ", value: value_dtype",
                 .outputs = "output_handle: variant",
                 .attrs = KEY_TYPE VALUE_TYPE, .infer = eddy__infer_scalar,
                 .kernel = run_insert, .flags = EDDY_OP_CHEAP,
                 .doc = "The map in which the key has that value."),
    EDDY__OP_ROW("TensorMapErase", .inputs = MAP KEY,
                 .outputs = "output_handle: variant",
                 .attrs = KEY_TYPE VALUE_TYPE, .infer = eddy__infer_scalar,
                 .kernel = run_erase, .flags = EDDY_OP_CHEAP,
                 .doc = "The map without the key, which must be there."),
    EDDY__OP_ROW("TensorMapStackKeys", .inputs = MAP,
                 .outputs = "keys: key_dtype", .attrs = KEY_TYPE,
                 .kernel = run_stack_keys,
                 .flags = EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "All keys, which must have one dtype and one shape, as "
                        "rows, in the order in which they came, but that the "
                        "last takes the place of one that is erased."),
    EDDY__OP_ROW_OF("_MapOf", "eddy; the gradient of TensorMapLookup",
                    .inputs = "key: key_dtype, value: value_dtype",
                    .outputs = "handle: variant", .attrs = KEY_TYPE VALUE_TYPE,
                    .infer = eddy__infer_scalar, .kernel = run_of,
                    .flags = EDDY_OP_CHEAP, .doc = "A map of one key."),
    EDDY__OP_ROW_OF("_MapTake", "eddy; the gradient of TensorMapInsert",
                    .inputs = MAP KEY ", none: value_dtype",
                    .outputs = "rest: variant, value: value_dtype",
                    .attrs = KEY_TYPE VALUE_TYPE, .infer = infer_take,
                    .kernel = run_take, .flags = EDDY_OP_CHEAP,
                    .doc = "The map without the key, and the key's value, or "
                           "`none` if it is not there."),
};

const eddy__op_table eddy__tensor_map_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};
