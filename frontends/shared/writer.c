/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths, ranges and sequences: what front ends write time with. */
#include "frontends/shared/writer.h"

#include "core/base/status.h"
#include "core/graph/edit.h"
#include "core/value/shape.h"
#include "frames/build/builder.h"

#include <string.h>

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

/* ---- lengths ---- */

eddy_output eddy__write_length(eddy_emitter *w, eddy_output value)
{
    const eddy_shape shape = eddy__writer_shape_of(w, value);
    eddy_output inputs[3];

    if (shape.rank > 0 && shape.dims[0] >= 0 && shape.dims[0] <= INT32_MAX)
        return eddy_emit_int32(w, (int32_t)shape.dims[0]);
    inputs[0] = eddy_emit_unary(w, "Shape", value);
    inputs[1] = eddy_emit_int32(w, 0);
    inputs[2] = eddy_emit_int32(w, 0);
    return eddy_emit_op(w, "GatherV2", inputs, N_OF(inputs), NULL, 0);
}

eddy_output eddy__write_range(eddy_emitter *w, eddy_output n)
{
    const eddy_output inputs[] = {eddy_emit_int32(w, 0), n,
                                  eddy_emit_int32(w, 1)};

    return eddy_emit_op(w, "Range", inputs, N_OF(inputs), NULL, 0);
}

/* ---- sequences ---- */

typedef struct array_flags {
    bool is_dynamic, clears, is_uniform; /* as the attributes */
} array_flags;

static eddy__sequence write_array(eddy_emitter *w, eddy_dtype dtype,
                                  eddy_output n, const eddy_shape *item,
                                  array_flags flags)
{
    const eddy_attr attrs[] = {
        eddy_attr_type("dtype", &dtype),
        eddy_attr_shape("element_shape", item),
        eddy_attr_bool("dynamic_size", &flags.is_dynamic),
        eddy_attr_bool("clear_after_read", &flags.clears),
        eddy_attr_bool("identical_element_shapes", &flags.is_uniform),
    };
    eddy__sequence s = {.dtype = dtype};

    s.handle = eddy_emit_op(w, "TensorArrayV3", &n, 1, attrs, N_OF(attrs));
    s.flow = s.handle;
    s.flow.index = 1;
    return s;
}

eddy_shape eddy__writer_item_shape_of(const eddy_emitter *w, eddy_output value)
{
    const eddy_shape shape = eddy__writer_shape_of(w, value);

    return eddy__shape_rest(&shape);
}

static eddy__sequence write_slices(eddy_emitter *w, eddy_output value,
                                   eddy_output n, bool clears)
{
    const array_flags flags = {.clears = clears, .is_uniform = true};
    const eddy_shape item = eddy__writer_item_shape_of(w, value);
    const eddy_dtype dtype = w->status == EDDY_OK
                                 ? eddy_graph_output_dtype(w->graph, value)
                                 : EDDY_INVALID;
    eddy__sequence s = write_array(w, dtype, n, &item, flags);
    const eddy_output inputs[] = {s.handle, eddy__write_range(w, n), value,
                                  s.flow};

    s.flow =
        eddy_emit_op(w, "TensorArrayScatterV3", inputs, N_OF(inputs), NULL, 0);
    return s;
}

eddy__sequence eddy__sequence_of(eddy_emitter *w, eddy_output value)
{
    return write_slices(w, value, eddy__write_length(w, value), false);
}

eddy__sequence eddy__sequence_of_n(eddy_emitter *w, eddy_output value,
                                   eddy_output n)
{
    return write_slices(w, value, n, true);
}

eddy_output eddy__sequence_read(eddy_emitter *w, const eddy__sequence *s,
                                eddy_output index)
{
    const eddy_output inputs[] = {s->handle, index, s->flow};
    const eddy_attr dtype = eddy_attr_type("dtype", &s->dtype);

    return eddy_emit_op(w, "TensorArrayReadV3", inputs, N_OF(inputs), &dtype,
                        1);
}

eddy__sequence eddy__sequence_new(eddy_emitter *w, eddy_dtype dtype,
                                  eddy_output n, bool is_dynamic)
{
    const array_flags flags = {.is_dynamic = is_dynamic, .clears = true};
    const eddy_shape unknown = {.rank = -1};

    return write_array(w, dtype, n, &unknown, flags);
}

void eddy__sequence_settle(eddy_emitter *w, eddy__sequence *s, eddy_dtype dtype,
                           const eddy_shape *item)
{
    static const bool yes = true;
    const eddy_attr attrs[] = {
        eddy_attr_type("dtype", &dtype),
        eddy_attr_shape("element_shape", item),
        eddy_attr_bool("identical_element_shapes", &yes),
    };

    s->dtype = dtype;
    for (size_t i = 0; i < N_OF(attrs) && w->status == EDDY_OK; i++)
        w->status =
            eddy__edit_attr(w->graph, s->handle.node, &attrs[i], w->err);
}

eddy_output eddy__sequence_write(eddy_emitter *w, const eddy__sequence *s,
                                 eddy_output flow, eddy_output index,
                                 eddy_output value)
{
    const eddy_output inputs[] = {s->handle, index, value, flow};

    return eddy_emit_op(w, "TensorArrayWriteV3", inputs, N_OF(inputs), NULL, 0);
}

eddy_output eddy__sequence_stack(eddy_emitter *w, const eddy__sequence *s,
                                 eddy_output flow, eddy_output n,
                                 const eddy_shape *item)
{
    const eddy_output inputs[] = {s->handle, eddy__write_range(w, n), flow};
    const eddy_attr attrs[] = {
        eddy_attr_type("dtype", &s->dtype),
        eddy_attr_shape("element_shape", item),
    };

    return eddy_emit_op(w, "TensorArrayGatherV3", inputs, N_OF(inputs), attrs,
                        N_OF(attrs));
}

eddy_shape eddy__writer_shape_of(const eddy_emitter *w, eddy_output output)
{
    if (w->status != EDDY_OK || output.node >= eddy_graph_size(w->graph))
        return (eddy_shape){.rank = -1};
    return eddy__open_shape(w->graph, output);
}
