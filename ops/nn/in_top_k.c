/* SPDX-License-Identifier: Apache-2.0 */
/* InTopK: is the prediction of a class among the greatest? */
#include "ops/math/elements.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <math.h>

static eddy_status check_shapes(eddy_kernel *k)
{
    const eddy_shape *predictions = eddy__in_shape(k, 0);
    const eddy_shape *targets = eddy__in_shape(k, 1);

    if (predictions->rank == 2 && targets->rank == 1 &&
        predictions->dims[0] == targets->dims[0])
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "predictions must be a matrix and targets a vector with "
                       "as many rows, but they have shapes %s and %s",
                       eddy__shape_print(predictions).text,
                       eddy__shape_print(targets).text);
}

/* Where a prediction is not finite nothing can be said, so no. */
static bool is_in(const float *row, int64_t n, int64_t target, int64_t most)
{
    int64_t greater = 0;

    if (target < 0 || target >= n || !isfinite(row[target]))
        return false;
    for (int64_t i = 0; i < n && greater < most; i++) {
        if (!isfinite(row[i]))
            return false;
        greater += row[i] > row[target];
    }
    return greater < most;
}

static eddy_status find(eddy_kernel *k, int64_t most)
{
    const eddy_view predictions = eddy__in_view(k, 0);
    const eddy_view targets = eddy__in_view(k, 1);
    void *out;
    int64_t n;

    EDDY_TRY(check_shapes(k));
    n = eddy__in_shape(k, 0)->dims[1];
    EDDY_TRY(eddy__output(k, 0, EDDY_BOOL, eddy__in_shape(k, 1), &out));
    for (int64_t i = 0; i < targets.count && !eddy__spent(k, 8 + n); i++)
        ((bool *)out)[i] = is_in((const float *)predictions.data + i * n, n,
                                 eddy__view_index(&targets, i), most);
    return EDDY_OK;
}

static eddy_status run(eddy_kernel *k)
{
    const int64_t *most = eddy__state(k);

    return find(k, *most);
}

static eddy_status run_v2(eddy_kernel *k)
{
    int64_t most;

    EDDY_TRY(eddy__index_argument(k, 2, "k", &most));
    return find(k, most);
}

static eddy_status prepare(eddy_infer *infer)
{
    int64_t *state = eddy__prepare_state(infer, sizeof *state);

    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    *state = eddy__infer_int(infer, "k");
    return EDDY_OK;
}

static eddy_status infer(eddy_infer *infer)
{
    eddy_infer_set_output(infer, 0, eddy_infer_input(infer, 1));
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("InTopK", .inputs = "predictions: float32, targets: T",
                 .outputs = "precision: bool",
                 .attrs = "k: int, T: index = int32", .infer = infer,
                 .kernel = run, .prepare = prepare,
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "Whether the prediction of each row's target is among "
                        "its k greatest."),
    EDDY__OP_ROW("InTopKV2", .inputs = "predictions: float32, targets: T, k: T",
                 .outputs = "precision: bool", .attrs = "T: index = int32",
                 .infer = infer, .kernel = run_v2,
                 .flags = EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The same with k as an input."),
};

const eddy__op_table eddy__in_top_k_ops = {specs, NULL,
                                           sizeof specs / sizeof *specs};
