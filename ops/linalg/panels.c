/* SPDX-License-Identifier: Apache-2.0 */
/* Second factors in panels, once for many products (panels.h). */
#include "ops/linalg/panels.h"

#include "core/base/status.h"
#include "core/kernel.h"
#include "core/value/tensor.h"
#include "ops/linalg/tiles.h"
#include "ops/math/elements.h"
#include "ops/ops.h"
#include "ops/products.h"

/* Elements of which a plan may keep a second copy. */
#define MOST_KEPT ((int64_t)1 << 22)

/* The product of a matrix by `b`, which may be transposed. */
static eddy__product product_by(const eddy_shape *b, bool transpose_b,
                                const void *data)
{
    return (eddy__product){.m = 1,
                           .k = b->dims[transpose_b],
                           .n = b->dims[!transpose_b],
                           .transpose_b = transpose_b,
                           .b = data};
}

eddy_status eddy__panels_prepare(eddy_infer *infer, uint32_t b_id,
                                 bool transpose_a, bool transpose_b,
                                 const float **out_panels)
{
    const eddy_tensor *b = infer->constants ? infer->constants[b_id] : NULL;
    const eddy_shape *a = &infer->inputs[0];
    eddy__product p;
    int64_t room;
    float *panels;

    *out_panels = NULL;
    if (!b || b->dtype != EDDY_FLOAT32 || b->shape.rank != 2 || a->rank < 2)
        return EDDY_OK;
    p = product_by(&b->shape, transpose_b, b->data);
    if (!eddy__products_want_panels(a->dims[a->rank - 2 + transpose_a], p.n,
                                    p.k))
        return EDDY_OK;
    room = eddy__tiles_room(p.n, p.k);
    if (room > MOST_KEPT)
        return EDDY_OK;
    panels = eddy__arena_allocate(infer->arena, (size_t)room, sizeof *panels);
    if (!panels)
        return eddy__fail_memory(infer->err);
    eddy__tiles_pack(&p, panels);
    *out_panels = panels;
    return EDDY_OK;
}

/* ---- _Panels ---- */

typedef struct state {
    bool transpose_b;
} state;

/* A vector of `n` elements, or of none where so many are not to be had. */
static eddy_status make_vector(eddy_kernel *k, int64_t n, float **out)
{
    const eddy_shape shape = {.rank = 1, .dims = {n}}, none = {.rank = 1};
    eddy_tensor *tensor = eddy__tensor_create(k->heap, k->account, k->allocator,
                                              EDDY_FLOAT32, &shape);
    eddy__value made;
    void *nothing;

    *out = NULL;
    if (!tensor)
        return eddy__output(k, 0, EDDY_FLOAT32, &none, &nothing);
    *out = tensor->data;
    made = eddy__value_take_tensor(k->heap, tensor);
    eddy__out_value(k, 0, &made);
    return EDDY_OK;
}

eddy_status eddy__panels_run(eddy_kernel *k)
{
    const state *s = eddy__state(k);
    const eddy_shape *b = eddy__in_shape(k, 0);
    eddy__product p;
    int64_t room = -1;
    float *panels;

    if (b->rank != 2)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the shape is %s; a matrix is wanted",
                           eddy__shape_print(b).text);
    p = product_by(b, s->transpose_b, eddy__in_elements(k, 0));
    p.kernel = k;
    if (eddy__products_want_panels(-1, p.n, p.k))
        room = eddy__tiles_room(p.n, p.k);
    EDDY_TRY(make_vector(k, room > 0 ? room : 0, &panels));
    if (panels && room > 0)
        eddy__tiles_pack(&p, panels);
    return EDDY_OK;
}

eddy_status eddy__panels_infer(eddy_infer *infer)
{
    const eddy_shape *given = eddy_infer_input(infer, 0);
    const eddy_shape matrix = eddy__shape_of_rank(2);
    const eddy_shape out = eddy__shape_of_rank(1);
    eddy_shape b;

    if (!eddy__shape_merge(given, &matrix, &b))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "the shape is %s; a matrix is wanted",
                               eddy__shape_print(given).text);
    eddy_infer_set_output(infer, 0, &out);
    return EDDY_OK;
}

eddy_status eddy__panels_prepare_op(eddy_infer *infer)
{
    state *s = eddy__prepare_state(infer, sizeof *s);

    if (!s)
        return EDDY_RESOURCE_EXHAUSTED;
    s->transpose_b = eddy__infer_bool(infer, "transpose_b");
    return EDDY_OK;
}
