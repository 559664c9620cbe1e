/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives, by the names that saved graphs have: those of Horovod
 * (horovod/tensorflow/mpi_ops.cc) and TensorFlow's own.
 *
 * A graph with collectives is for several ranks, each of which has a copy of it
 * (eddy_partition_options.is_replicated); there they become edges between the
 * ranks.  Or all members of a group are nodes of one graph, and become edges in
 * it (frames/lower/groups.c).  These kernels are for one that runs by itself:
 * of one rank the sum is its own tensor.
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

static eddy_status fail_of_group(eddy_kernel *k)
{
    return eddy__kfail(k, EDDY_FAILED_PRECONDITION, EDDY_E_MESSAGE,
                       "the other members of its group are not in this graph: "
                       "a collective of several ranks needs a copy of the "
                       "graph on each of them");
}

/* TensorFlow's own say how many ranks they are for. */
static eddy_status run_own_of_group(eddy_kernel *k)
{
    const eddy_view size = eddy__view(eddy__in(k, 1));

    if (size.rank != 0 || *(const int32_t *)size.data != 1)
        return fail_of_group(k);
    return run_own(k);
}

/* Those of the first version say it by an attribute. */
static eddy_status prepare_size(eddy_infer *infer)
{
    int64_t *size = eddy__prepare_state(infer, sizeof *size);

    if (!size)
        return EDDY_RESOURCE_EXHAUSTED;
    *size = eddy__infer_int(infer, "group_size");
    return EDDY_OK;
}

static eddy_status run_own_of_size(eddy_kernel *k)
{
    return *(const int64_t *)eddy__state(k) == 1 ? run_own(k)
                                                 : fail_of_group(k);
}

/* Nobody sends to a rank by itself. */
static eddy_status run_receive(eddy_kernel *k)
{
    return fail_of_group(k);
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
                               "a scalar has no rows");
    if (shape.rank > 0)
        shape.dims[0] = -1;
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static eddy_status run_assign(eddy_kernel *k)
{
    const eddy_view groups = eddy__view(eddy__in(k, 0));
    const eddy_view device = eddy__view(eddy__in(k, 1));
    const eddy_view base = eddy__view(eddy__in(k, 2));
    int64_t width, at = 0;

    if (groups.rank != 2 || device.rank != 0 || base.rank != 0)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "group_assignment must be a matrix, device_index "
                           "and base_key scalars");
    width = groups.dims[1];
    while (at < groups.count &&
           ((const int32_t *)groups.data)[at] != *(const int32_t *)device.data)
        at++;
    if (at == groups.count)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "device_index %d is not in group_assignment",
                           (int)*(const int32_t *)device.data);
    eddy__out_scalar(eddy__out(k, 0), EDDY_INT32, (uint32_t)width);
    eddy__out_scalar(
        eddy__out(k, 1), EDDY_INT32,
        (uint32_t)(*(const int32_t *)base.data + (int32_t)(at / width)));
    return EDDY_OK;
}

static eddy_status infer_assigned(eddy_infer *infer)
{
    const eddy_shape scalar = {.rank = 0};

    for (uint32_t i = 0; i < 2; i++)
        eddy_infer_set_output(infer, i, &scalar);
    return EDDY_OK;
}

static eddy_status infer_shape_attr(eddy_infer *infer)
{
    eddy_attr shape;

    if (eddy_infer_attr(infer, "shape", &shape))
        eddy_infer_set_output(infer, 0, &shape.as.shapes[0]);
    return EDDY_OK;
}

#define HOROVOD "Horovod (horovod/tensorflow/mpi_ops.cc)"
#define SETS ", ignore_name_scope: bool = false, process_set_id: int = 0"
#define KEYS "group_size: int32, group_key: int32, instance_key: int32"
#define GROUP ", " KEYS ", ordering_token: Nordering_token * resource"
#define HINTS                                                                  \
    ", communication_hint: string = 'auto', timeout_seconds: float = 0.0"
#define GROUP_ATTRS                                                            \
    HINTS ", is_stateless: bool = false, Nordering_token: int >= 0 = 0"
/* Of the first version. */
#define KEY_ATTRS ", group_size: int, group_key: int, instance_key: int"

#define REDUCTION                                                              \
    "Over all members, by merge_op, the sum (Add), the product (Mul), the "    \
    "least (Min) or the greatest (Max); final_op Div makes the sum a mean, "   \
    "Id leaves it."
#define ROWS "The tensors of all members, joined along their first dimension."
#define SENT "Gives its tensor to the members that receive, and as it is."
#define RECEIVED "The tensor of the member that sends."

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
    EDDY__OP_ROW("CollectiveReduceV2", .inputs = "input: T" GROUP,
                 .outputs = "data: T",
                 .attrs = "T: number, merge_op: string, final_op: string, "
                          "max_subdivs_per_device: int = -1" GROUP_ATTRS,
                 .infer = eddy__infer_unchanged, .kernel = run_own_of_group,
                 .flags = EDDY_OP_STATEFUL, .doc = REDUCTION),
    EDDY__OP_ROW(
        "CollectiveReduce", .inputs = "input: T", .outputs = "data: T",
        .attrs = "T: number" KEY_ATTRS ", merge_op: string, final_op: string, "
                 "subdiv_offsets: list(int), "
                 "wait_for: list(int) = []" HINTS,
        .infer = eddy__infer_unchanged, .prepare = prepare_size,
        .kernel = run_own_of_size, .flags = EDDY_OP_STATEFUL, .doc = REDUCTION),
    EDDY__OP_ROW("CollectiveGatherV2", .inputs = "input: T" GROUP,
                 .outputs = "data: T", .attrs = "T: {number, bool}" GROUP_ATTRS,
                 .infer = infer_gathered, .kernel = run_own_of_group,
                 .flags = EDDY_OP_STATEFUL, .doc = ROWS),
    EDDY__OP_ROW("CollectiveGather", .inputs = "input: T", .outputs = "data: T",
                 .attrs = "T: {number, bool}" KEY_ATTRS ", shape: shape" HINTS,
                 .infer = infer_gathered, .prepare = prepare_size,
                 .kernel = run_own_of_size, .flags = EDDY_OP_STATEFUL,
                 .doc = ROWS),
    EDDY__OP_ROW("CollectiveAllToAllV2", .inputs = "input: T" GROUP,
                 .outputs = "data: T", .attrs = "T: number" GROUP_ATTRS,
                 .infer = eddy__infer_unchanged, .kernel = run_own_of_group,
                 .flags = EDDY_OP_STATEFUL,
                 .doc = "Row i goes to member i; in their place those that the "
                        "others have for this one."),
    EDDY__OP_ROW("CollectiveReduceScatterV2", .inputs = "input: T" GROUP,
                 .outputs = "data: T",
                 .attrs = "T: number, merge_op: string, final_op: string, "
                          "max_subdivs_per_device: int = -1" GROUP_ATTRS,
                 .infer = infer_gathered, .kernel = run_own_of_group,
                 .flags = EDDY_OP_STATEFUL,
                 .doc = "Of what CollectiveReduceV2 gives, this member's share "
                        "of the first dimension."),
    EDDY__OP_ROW("CollectiveAssignGroupV2",
                 .inputs = "group_assignment: int32, device_index: int32, "
                           "base_key: int32",
                 .outputs = "group_size: int32, group_key: int32",
                 .infer = infer_assigned, .kernel = run_assign,
                 .flags = EDDY_OP_STATEFUL | EDDY_OP_NOT_DIFFERENTIABLE,
                 .doc = "The group of a device: how long the rows of "
                        "group_assignment are, and base_key and the number of "
                        "the row that has it."),
    EDDY__OP_ROW("CollectiveBcastSendV2", .inputs = "input: T, " KEYS,
                 .outputs = "data: T", .attrs = "T: {number, bool}" HINTS,
                 .infer = eddy__infer_unchanged, .kernel = run_own_of_group,
                 .flags = EDDY_OP_STATEFUL, .doc = SENT),
    EDDY__OP_ROW(
        "CollectiveBcastSend", .inputs = "input: T", .outputs = "data: T",
        .attrs = "T: {number, bool}" KEY_ATTRS ", shape: shape" HINTS,
        .infer = eddy__infer_unchanged, .prepare = prepare_size,
        .kernel = run_own_of_size, .flags = EDDY_OP_STATEFUL, .doc = SENT),
    EDDY__OP_ROW("CollectiveBcastRecvV2", .inputs = KEYS ", shape: Tshape",
                 .outputs = "data: T",
                 .attrs = "T: {number, bool}, "
                          "Tshape: {int32, int64} = int32" HINTS,
                 .kernel = run_receive, .flags = EDDY_OP_STATEFUL,
                 .doc = RECEIVED),
    EDDY__OP_ROW("CollectiveBcastRecv", .outputs = "data: T",
                 .attrs = "T: {number, bool}" KEY_ATTRS ", shape: shape" HINTS,
                 .infer = infer_shape_attr, .kernel = run_receive,
                 .flags = EDDY_OP_STATEFUL, .doc = RECEIVED),
};

const eddy__op_table eddy__collective_ops = {specs, NULL,
                                             sizeof specs / sizeof *specs};
