/*
 * The ops of control flow.  Executors run them by their role; LoopCond has a
 * kernel beside, for whoever runs it as an ordinary node.
 */
#include "frames/analysis.h"
#include "runtime/base/status.h"
#include "runtime/core/infer.h"
#include "runtime/core/kernel.h"

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
    eddy__output_forward(k, 0, 0);
    return EDDY_OK;
}

#define ENTER_ATTRS                                                            \
    "T: type, frame_name: string, is_constant: bool = false, "                 \
    "parallel_iterations: int = 10"

/* X(name, role, inputs, outputs, attrs, shape function, kernel, flags) */
#define CONTROL_MAP(X)                                                         \
    X("Switch", SWITCH, "data: T, pred: bool",                                 \
      "output_false: T, output_true: T", "T: type", infer_switch, NULL, 0)     \
    X("RefSwitch", SWITCH, "data: ref T, pred: bool",                          \
      "output_false: ref T, output_true: ref T", "T: type", infer_switch,      \
      NULL, 0)                                                                 \
    X("_SwitchN", SWITCH, "data: T, output_index: int32",                      \
      "outputs: num_outs * T", "num_outs: int >= 1, T: type", infer_switch_n,  \
      NULL, 0)                                                                 \
    X("Merge", MERGE, "inputs: N * T", "output: T, value_index: int32",        \
      "T: type, N: int >= 1", infer_merge, NULL, 0)                            \
    X("RefMerge", MERGE, "inputs: ref N * T",                                  \
      "output: ref T, value_index: int32", "T: type, N: int >= 1",             \
      infer_merge, NULL, 0)                                                    \
    X("Enter", ENTER, "data: T", "output: T", ENTER_ATTRS,                     \
      eddy__infer_unchanged, NULL, 0)                                          \
    X("RefEnter", ENTER, "data: ref T", "output: ref T", ENTER_ATTRS,          \
      eddy__infer_unchanged, NULL, 0)                                          \
    X("Exit", EXIT, "data: T", "output: T", "T: type", eddy__infer_unchanged,  \
      NULL, 0)                                                                 \
    X("RefExit", EXIT, "data: ref T", "output: ref T", "T: type",              \
      eddy__infer_unchanged, NULL, 0)                                          \
    X("NextIteration", NEXT_ITERATION, "data: T", "output: T", "T: type",      \
      eddy__infer_unchanged, NULL, 0)                                          \
    X("RefNextIteration", NEXT_ITERATION, "data: ref T", "output: ref T",      \
      "T: type", eddy__infer_unchanged, NULL, 0)                               \
    X("LoopCond", LOOP_COND, "input: bool", "output: bool", "",                \
      infer_loop_cond, run_loop_cond, EDDY_OP_NOT_DIFFERENTIABLE)              \
    X("ControlTrigger", CONTROL_TRIGGER, "", "", "", NULL, NULL,               \
      EDDY_OP_NOT_DIFFERENTIABLE)

static const eddy_op_spec specs[] = {
#define X(name, role, in, out, attrs, infer, kernel, flags)                    \
    {sizeof(eddy_op_spec),   name, in, out, attrs, infer, kernel, NULL,        \
     (flags) | EDDY_OP_CHEAP},
    CONTROL_MAP(X)
#undef X
};

static const eddy__role roles[] = {
#define X(name, role, in, out, attrs, infer, kernel, flags) EDDY__ROLE_##role,
    CONTROL_MAP(X)
#undef X
};

const eddy__op_table eddy__control_ops = {
    .specs = specs,
    .roles = roles,
    .n = sizeof specs / sizeof specs[0],
};
