/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients through trips that are over, by forward mode: it carries the
 * derivative of the state along, in a tangent variable of the loop, from trip
 * to trip.  It gives the derivative along one direction, so an x of one element
 * takes one, and one of a few elements a few.  Any other x is left to
 * recompute.c.
 */
#include "autodiff/over_trips.h"

#include "core/value/dtype.h"
#include "core/value/shape.h"

#include <string.h>

/* Elements of an x: each takes tangent variables of its own. */
#define MOST_ELEMENTS 16

/* ---- directions ---- */

/* One in an element of x and zero elsewhere, where x is. */
static eddy_output direction(eddy__reverse *r, eddy_output x, int64_t element)
{
    static const float one_float = 1;
    static const double one_double = 1;
    static const uint16_t one_half = 0x3c00, one_bfloat = 0x3f80;
    const eddy_dtype dtype = eddy_graph_output_dtype(r->e.core.graph, x);
    const void *one = dtype == EDDY_FLOAT64   ? (const void *)&one_double
                      : dtype == EDDY_FLOAT32 ? (const void *)&one_float
                      : dtype == EDDY_FLOAT16 ? (const void *)&one_half
                                              : (const void *)&one_bfloat;
    const size_t size = eddy_dtype_size(dtype);
    const uint32_t frame = eddy__study_frame(&r->study, x);
    unsigned char elements[MOST_ELEMENTS * sizeof(double)] = {0};

    memcpy(elements + (size_t)element * size, one, size);
    return eddy__emit_elements_after(
        &r->e, frame == 0 ? EDDY_NO_NODE : x.node, dtype,
        eddy__value_shapes_find(&r->shapes, x), elements);
}

/* The tangents of all ys along one direction. */
static void find_tangents(eddy__reverse *r, eddy_output x, eddy_output along,
                          eddy_output *out_tangents)
{
    const eddy_gradient_options options = {.size = sizeof options,
                                           .stop = r->asked.stop,
                                           .n_stop = r->asked.n_stop,
                                           .prefix = r->e.prefix};

    if (r->e.core.status == EDDY_OK)
        r->e.core.status =
            eddy_jvp(r->e.core.graph, r->asked.ys, r->asked.n_ys, &x, 1, &along,
                     &options, out_tangents, r->e.core.err);
}

/* ---- gradients ---- */

/* The sum of all elements of a y's tangent, each times its gradient. */
static eddy_output weigh(eddy__reverse *r, size_t i, eddy_output tangent)
{
    static const int32_t minus_one = -1;
    const eddy_shape one = {.rank = 1, .dims = {1}};
    const eddy_node y = r->asked.ys[i].node;
    const eddy_output *grad_ys = r->asked.starts;
    eddy_output v = tangent;

    if (grad_ys && eddy__output_exists(grad_ys[i]))
        v = eddy__emit_op(&r->e, "Mul", v, grad_ys[i]);
    v = eddy__emit_op(
        &r->e, "Reshape", v,
        eddy__emit_elements_after(&r->e, y, EDDY_INT32, &one, &minus_one));
    return eddy__emit_op(&r->e, "Sum", v, eddy__emit_int_after(&r->e, y, 0));
}

/* The part of y `i`, of x's shape, live in every branch. */
static eddy_output gather(eddy__reverse *r, size_t i, eddy_output x,
                          const eddy_output *const *tangents, size_t n)
{
    const eddy_output y = r->asked.ys[i];
    const eddy_shape *shape = eddy__value_shapes_find(&r->shapes, x);
    eddy_output parts[MOST_ELEMENTS], sum;

    for (size_t k = 0; k < n; k++)
        parts[k] = weigh(r, i, tangents[k][i]);
    sum = eddy__emit(&r->e, "Pack", parts, n);
    sum = eddy__emit_op(&r->e, "Reshape", sum,
                        eddy__emit_shape_after(&r->e, y.node, shape));
    for (uint32_t branch = eddy__study_branch(&r->study, y);
         branch != 0 && r->e.core.status == EDDY_OK;
         branch = r->study.branches.branches[branch].outer)
        sum = eddy__sides_leave(&r->sums, x, sum, branch);
    return sum;
}

static bool count_elements(const eddy__reverse *r, eddy_output x,
                           int64_t *out_n)
{
    const eddy_dtype dtype = eddy_graph_output_dtype(r->e.core.graph, x);
    const eddy_shape *shape = eddy__value_shapes_find(&r->shapes, x);

    return eddy__dtype_in(dtype, EDDY__FLOATS) && eddy__shape_is_known(shape) &&
           eddy__shape_count(shape, 1, out_n) && *out_n > 0 &&
           *out_n <= MOST_ELEMENTS;
}

bool eddy__accumulate_can(const eddy__reverse *r, eddy_output x)
{
    int64_t n;

    return count_elements(r, x, &n);
}

/* The tangents along each element, a row with one for each y. */
static bool find_rows(eddy__reverse *r, eddy_output x,
                      const eddy_output **out_rows, int64_t n)
{
    for (int64_t i = 0; i < n && r->e.core.status == EDDY_OK; i++) {
        eddy_output *row =
            eddy__emit_room(&r->e, r->asked.n_ys + 1, sizeof *row);

        out_rows[i] = row;
        if (row)
            find_tangents(r, x, direction(r, x, i), row);
    }
    return r->e.core.status == EDDY_OK;
}

eddy_output eddy__accumulate_gradient(eddy__reverse *r, eddy_output x)
{
    const eddy_output *rows[MOST_ELEMENTS] = {NULL};
    eddy_output sum = EDDY__NO_OUTPUT;
    int64_t n = 0;

    if (r->e.core.status != EDDY_OK || !count_elements(r, x, &n) ||
        !find_rows(r, x, rows, n) || !rows[0])
        return sum;
    for (size_t i = 0; i < r->asked.n_ys && r->e.core.status == EDDY_OK; i++) {
        eddy_output part;

        if (!eddy__output_exists(rows[0][i]))
            continue;
        part = gather(r, i, x, rows, (size_t)n);
        sum = eddy__output_exists(sum)
                  ? eddy__emit_op(&r->e, "AddV2", sum, part)
                  : part;
    }
    return r->e.core.status == EDDY_OK ? sum : EDDY__NO_OUTPUT;
}
