/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives, by the names that saved graphs have: those of Horovod
 * (horovod/tensorflow/mpi_ops.cc) and TensorFlow's own.
 *
 * A graph with collectives is for several ranks, each of which has a copy of it
 * (eddy_partition_options.is_replicated); there they become edges between the
 * ranks.  These kernels are for one that runs by itself: of one rank the sum is
 * its own tensor.
 */
#include "core/base/status.h"
#include "core/graph/infer.h"
#include "core/kernel.h"
#include "ops/math/elements.h"
#include "ops/ops.h"

static eddy_status run_own(eddy_kernel *k)
{
    eddy__output_forward(k, 0, 0);
    return EDDY_OK;
}

/* TensorFlow's own say how many ranks they are for. */
static eddy_status run_own_of_group(eddy_kernel *k)
{
    const eddy_view size = eddy__view(eddy__in(k, 1));

    if (size.rank != 0 || *(const int32_t *)size.data != 1)
        return eddy__kfail(k, EDDY_FAILED_PRECONDITION, EDDY_E_MESSAGE,
                           "a collective of several ranks needs a copy of the "
                           "graph on each of them");
    return run_own(k);
}

static eddy_status run_rank(eddy_kernel *k)
{
    eddy__out_scalar(eddy__out(k, 0), EDDY_INT32, 0);
    return EDDY_OK;
}

static eddy_status run_size(eddy_kernel *k)
{
    eddy__out_scalar(eddy__out(k, 0), EDDY_INT32, 1);
    return EDDY_OK;
}

/* How many rows the others have is not known. */
static eddy_status infer_gathered(eddy_infer *infer)
{
    eddy_shape shape = *eddy_infer_input(infer, 0);

    if (shape.rank == 0)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "a scalar has no rows to be gathered");
    if (shape.rank > 0)
        shape.dims[0] = -1;
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

#define HOROVOD "Horovod (horovod/tensorflow/mpi_ops.cc)"
#define SETS ", ignore_name_scope: bool = false, process_set_id: int = 0"
#define GROUP                                                                  \
    ", group_size: int32, group_key: int32, instance_key: int32, "             \
    "ordering_token: Nordering_token * resource"
#define GROUP_ATTRS                                                            \
    ", communication_hint: string = 'auto', timeout_seconds: float = 0.0, "    \
    "is_stateless: bool = false, Nordering_token: int >= 0 = 0"

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW_OF("HorovodAllreduce", HOROVOD, .inputs = "tensor: T",
                    .outputs = "sum: T",
                    .attrs = "T: number, reduce_op: int = 1, "
                             "prescale_factor: float = 1.0, "
                             "postscale_factor: float = 1.0" SETS,
                    .infer = eddy__infer_unchanged, .kernel = run_own,
                    .doc = "The sum over all ranks; reduce_op 0 is the mean, 1 "
                           "the sum, 3 the least, 4 the greatest, 5 the "
                           "product."),
    EDDY__OP_ROW_OF("HorovodAllgather", HOROVOD, .inputs = "tensor: T",
                    .outputs = "output: T", .attrs = "T: {number, bool}" SETS,
                    .infer = infer_gathered, .kernel = run_own,
                    .doc = "The tensors of all ranks, joined along their first "
                           "dimension."),
    EDDY__OP_ROW_OF("HorovodBroadcast", HOROVOD, .inputs = "tensor: T",
                    .outputs = "output: T",
                    .attrs = "T: {number, bool}, root_rank: int" SETS,
                    .infer = eddy__infer_unchanged, .kernel = run_own,
                    .doc = "The tensor of rank root_rank."),
    EDDY__OP_ROW_OF("HorovodRank", HOROVOD, .outputs = "rank: int32",
                    .infer = eddy__infer_scalar, .kernel = run_rank,
                    .flags = EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE,
                    .doc = "Which rank this is."),
    EDDY__OP_ROW_OF("HorovodSize", HOROVOD, .outputs = "size: int32",
                    .attrs = "process_set_id: int = 0",
                    .infer = eddy__infer_scalar, .kernel = run_size,
                    .flags = EDDY_OP_CHEAP | EDDY_OP_NOT_DIFFERENTIABLE,
                    .doc = "How many ranks there are."),
    EDDY__OP_ROW(
        "CollectiveReduceV2", .inputs = "input: T" GROUP, .outputs = "data: T",
        .attrs = "T: number, merge_op: string, final_op: string, "
                 "max_subdivs_per_device: int = -1" GROUP_ATTRS,
        .infer = eddy__infer_unchanged, .kernel = run_own_of_group,
        .flags = EDDY_OP_STATEFUL,
        .doc = "Over all ranks, by merge_op, the sum (Add), the product "
               "(Mul), the least (Min) or the greatest (Max); "
               "final_op Div makes the sum a mean, Id leaves it."),
    EDDY__OP_ROW("CollectiveGatherV2", .inputs = "input: T" GROUP,
                 .outputs = "data: T", .attrs = "T: {number, bool}" GROUP_ATTRS,
                 .infer = infer_gathered, .kernel = run_own_of_group,
                 .flags = EDDY_OP_STATEFUL,
                 .doc = "The tensors of all ranks, joined along their first "
                        "dimension."),
};

const eddy__op_table eddy__collective_ops = {specs, NULL,
                                             sizeof specs / sizeof *specs};
