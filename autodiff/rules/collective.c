/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives.  Each rank has a loss of its own, and what is differentiated is
 * their sum: so a sum's gradient is the sum of all ranks' gradients, and is one
 * of a collective again, to any order.  As in Horovod
 * (horovod/tensorflow/mpi_ops.py).
 */
#include "autodiff/rule.h"

#include <string.h>

/* Horovod's number of a sum. */
static const int64_t sum_of_all = 1;

static eddy_output allreduce(eddy_gradient *g, eddy_output x)
{
    const eddy_attr attrs[] = {eddy_attr_int("reduce_op", &sum_of_all)};

    return OP_WITH("HorovodAllreduce", attrs, x);
}

static eddy_output rank(eddy_gradient *g)
{
    return eddy__rule_source(g, "HorovodRank");
}

/* A sum, or a mean, of the gradients; the least and the greatest have none. */
eddy_status eddy__grad_horovod_allreduce(eddy_gradient *g)
{
    const int64_t op = eddy__rule_int(g, "reduce_op");
    const eddy_attr attrs[] = {eddy__rule_attr(g, "reduce_op"),
                               eddy__rule_attr(g, "prescale_factor"),
                               eddy__rule_attr(g, "postscale_factor")};

    if (op != 0 && op != sum_of_all)
        return eddy_gradient_fail(g, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT,
                                  "only sums and means over ranks have a "
                                  "gradient");
    DX(0, OP_WITH("HorovodAllreduce", attrs, DY(0)));
    return EDDY_OK;
}

/*
 * TensorFlow's own: the gradients of a group's members are a group again, which
 * has another instance_key; so they must all be asked for.
 */
static const double next_instance = 1 << 20;

static bool is_text(const eddy_attr *attr, const char *text)
{
    return attr->as.strings[0].length == strlen(text) &&
           memcmp(attr->as.strings[0].data, text, strlen(text)) == 0;
}

static eddy_status refuse(eddy_gradient *g)
{
    return eddy_gradient_fail(g, EDDY_UNIMPLEMENTED, EDDY_E_NO_GRADIENT,
                              "only sums and means of a group have a gradient");
}

eddy_status eddy__grad_collective_reduce_v2(eddy_gradient *g)
{
    const eddy_attr attrs[] = {eddy__rule_attr(g, "merge_op"),
                               eddy__rule_attr(g, "final_op")};

    if (!is_text(&attrs[0], "Add"))
        return refuse(g);
    DX(0, OP_WITH("CollectiveReduceV2", attrs, DY(0), X(1), X(2),
                  OP("AddV2", X(3), INT(next_instance))));
    return EDDY_OK;
}

/* The gradients have the order of the nodes that they are of. */
static eddy_output meet_again(eddy_gradient *g, const char *op)
{
    const int64_t order = eddy__rule_members_before(g);
    const eddy_attr attrs[] = {eddy_attr_int("_eddy_member", &order)};

    return OP_WITH(op, attrs, DY(0), X(1), X(2),
                   OP("AddV2", X(3), INT(next_instance)));
}

/* Rows go back to where they came from. */
eddy_status eddy__grad_collective_all_to_all_v2(eddy_gradient *g)
{
    DX(0, meet_again(g, "CollectiveAllToAllV2"));
    return EDDY_OK;
}

/* The gradients of all parts, one behind the other. */
eddy_status eddy__grad_collective_reduce_scatter_v2(eddy_gradient *g)
{
    const eddy_attr merge = eddy__rule_attr(g, "merge_op");
    const eddy_attr final = eddy__rule_attr(g, "final_op");
    eddy_output parts;

    if (!is_text(&merge, "Add"))
        return refuse(g);
    parts = meet_again(g, "CollectiveGatherV2");
    if (is_text(&final, "Div"))
        parts = OP("RealDiv", parts,
                   eddy__rule_cast(g, X(1), EDDY_INT32,
                                   eddy_gradient_input_dtype(g, 0)));
    DX(0, parts);
    return EDDY_OK;
}

eddy_status eddy__grad_collective_reduce(eddy_gradient *g)
{
    const int64_t instance =
        eddy__rule_int(g, "instance_key") + (int64_t)next_instance;
    const eddy_attr attrs[] = {eddy__rule_attr(g, "merge_op"),
                               eddy__rule_attr(g, "final_op"),
                               eddy__rule_attr(g, "group_size"),
                               eddy__rule_attr(g, "group_key"),
                               eddy__rule_attr(g, "subdiv_offsets"),
                               eddy_attr_int("instance_key", &instance)};

    if (!is_text(&attrs[0], "Add"))
        return refuse(g);
    DX(0, OP_WITH("CollectiveReduce", attrs, DY(0)));
    return EDDY_OK;
}

/* Size and keys of a group, and an instance of its own. */
typedef struct keys {
    eddy_output size, group, instance;
} keys;

/* Where they are inputs, or the attributes of the first version. */
static keys find_keys(eddy_gradient *g, bool are_inputs)
{
    keys k;

    if (are_inputs) {
        k = (keys){X(1), X(2), OP("AddV2", X(3), INT(next_instance))};
    } else {
        k.size = INT((double)eddy__rule_int(g, "group_size"));
        k.group = INT((double)eddy__rule_int(g, "group_key"));
        k.instance =
            INT((double)eddy__rule_int(g, "instance_key") + next_instance);
    }
    return k;
}

static eddy_output column(eddy_gradient *g, eddy_output table, double i)
{
    return OP("GatherV2", table, INT(i), INT(1.0));
}

/*
 * How many rows the members before this one have.  Each says how many it has,
 * and which it is: by its rank, or among the nodes of one graph.
 */
static eddy_output rows_before(eddy_gradient *g, const keys *k,
                               eddy_output rows)
{
    const eddy_output order = INT((double)eddy__rule_members_before(g));
    const eddy_output at = rank(g);
    const eddy_output own = OP("ExpandDims", VECTOR(rows, order, at), INT(0.0));
    const eddy_output all =
        OP("CollectiveGatherV2", own, k->size, k->group, k->instance);
    const eddy_output is_before =
        OP("LogicalOr", OP("Less", column(g, all, 1), order),
           OP("Less", column(g, all, 2), at));

    return OP("Sum",
              OP("Mul", column(g, all, 0),
                 eddy__rule_cast(g, is_before, EDDY_BOOL, EDDY_INT32)),
              INT(0.0));
}

/* Of the sum of all gradients, the rows that this member has given. */
static eddy_status gather(eddy_gradient *g, bool are_inputs)
{
    static const eddy_string add = {.data = "Add", .length = 3};
    static const eddy_string id = {.data = "Id", .length = 2};
    const eddy_attr attrs[] = {eddy_attr_string("merge_op", &add),
                               eddy_attr_string("final_op", &id)};
    eddy_output rows, begin, sum;
    keys k;

    k = find_keys(g, are_inputs);
    rows = eddy__rule_element(g, OP("Shape", X(0)), INT(0.0));
    begin = rows_before(g, &k, rows);
    sum = OP_WITH("CollectiveReduceV2", attrs, DY(0), k.size, k.group,
                  k.instance);
    DX(0, OP("GatherV2", sum,
             OP("Range", begin, OP("AddV2", begin, rows), INT(1.0)), INT(0.0)));
    return EDDY_OK;
}

eddy_status eddy__grad_collective_gather_v2(eddy_gradient *g)
{
    return gather(g, true);
}

eddy_status eddy__grad_collective_gather(eddy_gradient *g)
{
    return gather(g, false);
}

/* The sum of all gradients, on that rank, and zeros on the others. */
static eddy_output reduce_to(eddy_gradient *g, eddy_output x, double root)
{
    const eddy_output sum = allreduce(g, x);

    return OP("SelectV2", OP("Equal", rank(g), INT(root)), sum,
              OP("ZerosLike", sum));
}

/* A sender has its own; what the others got, it is told by them. */
eddy_status eddy__grad_collective_bcast_send(eddy_gradient *g)
{
    DX(0, DY(0));
    return EDDY_OK;
}

/*
 * All receive what rank 0 sends.  In one process there is no other rank, and
 * the sum is the receiver's own gradient, that other receivers' join.
 */
eddy_status eddy__grad_collective_bcast_recv(eddy_gradient *g)
{
    eddy__rule_set_sent(g, reduce_to(g, DY(0), 0.0));
    return EDDY_OK;
}

eddy_status eddy__grad_horovod_broadcast(eddy_gradient *g)
{
    DX(0, reduce_to(g, DY(0), (double)eddy__rule_int(g, "root_rank")));
    return EDDY_OK;
}

/* Of the sum of all gradients, the rows that this rank has given. */
eddy_status eddy__grad_horovod_allgather(eddy_gradient *g)
{
    eddy_output rows, counts, begin, end;

    rows = eddy__rule_head(g, OP("Shape", X(0)), INTS(1));
    counts = OP("HorovodAllgather", rows);
    begin = OP("Sum", eddy__rule_head(g, counts, rank(g)), INT(0.0));
    end = OP("AddV2", begin, eddy__rule_count(g, rows));
    DX(0, OP("GatherV2", allreduce(g, DY(0)), OP("Range", begin, end, INT(1.0)),
             INT(0.0)));
    return EDDY_OK;
}
