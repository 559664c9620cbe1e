/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ops of control flow.  Executors run them by their role; LoopCond has a
 * kernel beside, for where its input is not known to be a scalar.
 */
#include "core/base/status.h"
#include "core/graph/infer.h"
#include "core/graph/op_row.h"
#include "core/kernel.h"
#include "frames/analysis/analysis.h"

static eddy_status want_scalar(eddy_infer *infer, uint32_t input,
                               eddy_detail detail, const char *what)
{
    const eddy_shape *shape = eddy_infer_input(infer, input);

    if (shape->rank > 0)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, detail,
                               "%s must be a scalar, but it has shape %s", what,
                               eddy__shape_print(shape).text);
    return EDDY_OK;
}

static eddy_status infer_switch(eddy_infer *infer)
{
    EDDY_TRY(
        want_scalar(infer, 1, EDDY_E_PREDICATE, "the predicate (input 1)"));
    return eddy__infer_unchanged(infer);
}

static eddy_status infer_switch_n(eddy_infer *infer)
{
    EDDY_TRY(want_scalar(infer, 1, EDDY_E_SHAPE, "the index (input 1)"));
    return eddy__infer_unchanged(infer);
}

/* What is known of whichever input it will be. */
static eddy_status infer_merge(eddy_infer *infer)
{
    const eddy_shape scalar = eddy__shape_scalar();
    eddy_shape joined = *eddy_infer_input(infer, 0);

    for (uint32_t i = 1; i < eddy_infer_inputs(infer); i++)
        joined = eddy__shape_join(&joined, eddy_infer_input(infer, i));
    eddy_infer_set_output(infer, 0, &joined);
    eddy_infer_set_output(infer, 1, &scalar);
    return EDDY_OK;
}

static eddy_status infer_loop_cond(eddy_infer *infer)
{
    EDDY_TRY(want_scalar(infer, 0, EDDY_E_PREDICATE, "a loop's predicate"));
    return eddy__infer_scalar(infer);
}

static eddy_status run_loop_cond(eddy_kernel *k)
{
    const eddy_view predicate = eddy__in_view(k, 0);
    const eddy_shape shape = eddy__view_shape(&predicate);

    if (shape.rank > 0)
        return eddy__kfail(
            k, EDDY_INVALID_ARGUMENT, EDDY_E_PREDICATE,
            "a loop's predicate must be a scalar, but it has shape %s",
            eddy__shape_print(&shape).text);
    eddy__output_forward(k, 0, 0);
    return EDDY_OK;
}

#define ENTER_ATTRS                                                            \
    "T: type, frame_name: string, is_constant: bool = false, "                 \
    "parallel_iterations: int = 10"

static const eddy_op_spec specs[] = {
#define CONTROL(name, role, in, out, attributes, infer_fn, kernel_fn, more,    \
                text)                                                          \
    EDDY__OP_ROW(name, .inputs = in, .outputs = out, .attrs = attributes,      \
                 .infer = infer_fn, .kernel = kernel_fn,                       \
                 .flags = (more) | EDDY_OP_CHEAP, .doc = text),
#include "frames/control.def"
#undef CONTROL
};

static const eddy__role roles[] = {
#define CONTROL(name, role, in, out, attrs, infer, kernel, flags, doc)         \
    EDDY__ROLE_##role,
#include "frames/control.def"
#undef CONTROL
};

const eddy__op_table eddy__control_ops = {
    .specs = specs,
    .roles = roles,
    .n = sizeof specs / sizeof specs[0],
};
