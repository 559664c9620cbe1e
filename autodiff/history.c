/*
 * Gradients in the body of a loop with respect to what is outside of it, such
 * as the first value of a loop variable: the state has gone through iterations
 * that are over, and their values are gone.
 *
 * Forward mode carries the derivative of the state along, in a tangent variable
 * of the loop.  It gives the derivative along one direction, so an x of one
 * element takes one, and one of a few elements a few.  Any other x is left to
 * replay.c.
 */
#include "autodiff/walk.h"

#include "core/base/status.h"

#include <string.h>

/* Elements of an x: each takes tangent variables of its own. */
#define MOST_ELEMENTS 16

/* ---- directions ---- */

/* One in an element of x and zero elsewhere, where x is. */
static eddy_output direction(eddy__walk *w, eddy_output x, int64_t element)
{
    static const float one_float = 1;
    static const double one_double = 1;
    static const uint16_t one_half = 0x3c00, one_bfloat = 0x3f80;
    const eddy_dtype dtype = eddy_graph_output_dtype(w->graph, x);
    const void *one = dtype == EDDY_FLOAT64   ? (const void *)&one_double
                      : dtype == EDDY_FLOAT32 ? (const void *)&one_float
                      : dtype == EDDY_FLOAT16 ? (const void *)&one_half
                                              : (const void *)&one_bfloat;
    const size_t size = eddy_dtype_size(dtype);
    const uint32_t home = w->home;
    const eddy_node anchor = w->anchor;
    unsigned char elements[MOST_ELEMENTS * sizeof(double)] = {0};
    eddy_output out;

    memcpy(elements + (size_t)element * size, one, size);
    w->home = eddy__frame_of(w, x);
    w->anchor = x.node;
    out = eddy__emit_elements(w, dtype, eddy__static_shape(w, x), elements);
    w->home = home;
    w->anchor = anchor;
    return out;
}

/* The tangents of all ys along one direction. */
static void move(eddy__walk *w, const eddy_output *ys, size_t n_ys,
                 eddy_output x, eddy_output along, eddy_output *out_tangents)
{
    const eddy_gradient_options options = {
        .size = sizeof options,
        .stop = w->options ? w->options->stop : NULL,
        .n_stop = w->options ? w->options->n_stop : 0,
        .prefix = w->prefix};

    if (w->status == EDDY_OK)
        w->status = eddy_jvp(w->graph, ys, n_ys, &x, 1, &along, &options,
                             out_tangents, w->err);
}

/* ---- gradients ---- */

/* The sum of all elements of a y's tangent, each times its gradient. */
static eddy_output weigh(eddy__walk *w, size_t i, eddy_output tangent)
{
    static const int32_t minus_one = -1;
    const eddy_shape one = {.rank = 1, .dims = {1}};
    const eddy_output *grad_ys = w->options ? w->options->grad_ys : NULL;
    eddy_output v = tangent;

    if (grad_ys && eddy__is_output(grad_ys[i]))
        v = eddy__emit_op(w, "Mul", v, grad_ys[i]);
    v = eddy__emit_op(w, "Reshape", v,
                      eddy__emit_elements(w, EDDY_INT32, &one, &minus_one));
    return eddy__emit_op(w, "Sum", v, eddy__emit_int(w, 0));
}

/* What y `i` makes of all elements, of x's shape, live in every branch. */
static eddy_output gather(eddy__walk *w, eddy_output y, size_t i, eddy_output x,
                          const eddy_output *const *tangents, size_t n)
{
    const eddy_node anchor = w->anchor;
    eddy_output parts[MOST_ELEMENTS], sum;

    w->anchor = y.node;
    for (size_t e = 0; e < n; e++)
        parts[e] = weigh(w, i, tangents[e][i]);
    sum = eddy__emit(w, "Pack", parts, n);
    sum = eddy__emit_op(w, "Reshape", sum,
                        eddy__emit_static_shape(w, eddy__static_shape(w, x)));
    w->anchor = anchor;
    for (uint32_t branch = eddy__branch_of(w, y);
         branch != 0 && w->status == EDDY_OK;
         branch = w->branches.branches[branch].outer)
        sum = eddy__leave_branch(w, x, sum, branch);
    return sum;
}

static bool count_elements(const eddy__walk *w, eddy_output x, int64_t *out_n)
{
    const eddy_dtype dtype = eddy_graph_output_dtype(w->graph, x);
    const eddy_shape *shape = eddy__static_shape(w, x);

    return eddy__dtype_in(dtype, EDDY__FLOATS) && eddy__shape_is_known(shape) &&
           eddy__shape_count(shape, 1, out_n) && *out_n > 0 &&
           *out_n <= MOST_ELEMENTS;
}

bool eddy__can_carry(const eddy__walk *w, eddy_output x)
{
    int64_t n;

    return count_elements(w, x, &n);
}

/* The tangents along each element, a row of `n_ys` each. */
static bool move_each(eddy__walk *w, const eddy_output *ys, size_t n_ys,
                      eddy_output x, const eddy_output **out_rows, int64_t n)
{
    for (int64_t e = 0; e < n && w->status == EDDY_OK; e++) {
        eddy_output *row =
            eddy__arena_allocate(&w->arena, n_ys + 1, sizeof *row);

        out_rows[e] = row;
        if (!row)
            w->status = eddy__fail_memory(w->err);
        else
            move(w, ys, n_ys, x, direction(w, x, e), row);
    }
    return w->status == EDDY_OK;
}

eddy_output eddy__history_gradient(eddy__walk *w, const eddy_output *ys,
                                   size_t n_ys, eddy_output x)
{
    const eddy_output *rows[MOST_ELEMENTS] = {NULL};
    eddy_output sum = EDDY__NO_OUTPUT;
    int64_t n = 0;

    if (!count_elements(w, x, &n))
        return sum;
    if (w->status != EDDY_OK || !move_each(w, ys, n_ys, x, rows, n) || !rows[0])
        return sum;
    for (size_t i = 0; i < n_ys && w->status == EDDY_OK; i++) {
        eddy_output part;

        if (!eddy__is_output(rows[0][i]))
            continue;
        part = gather(w, ys[i], i, x, rows, (size_t)n);
        sum =
            eddy__is_output(sum) ? eddy__emit_op(w, "AddV2", sum, part) : part;
    }
    return w->status == EDDY_OK ? sum : EDDY__NO_OUTPUT;
}
