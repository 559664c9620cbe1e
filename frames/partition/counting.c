/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops that count, part of the third step of a partition: a predicate that is
 * made of a few cheap nodes of integers alone is not sent; every rank computes
 * it for itself.  So are the predicates of branches that go by such a counter.
 */
#include "core/base/status.h"
#include "frames/analysis/trips.h"
#include "frames/partition/partitioning.h"

#include <string.h>

/* A predicate is made of at most so many nodes, or else it is sent. */
#define MOST_NODES 64

/* Besides control flow: cheap, and of numbers the same on every rank. */
static bool is_arithmetic(const eddy__node *node)
{
    static const char *const ops[] = {
        "Identity", "Add",       "AddV2",        "Sub",       "Less",
        "Greater",  "LessEqual", "GreaterEqual", "NotEqual",  "Equal",
        "Minimum",  "Maximum",   "LogicalAnd",   "LogicalNot"};

    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strcmp(node->op_name, ops[i]) == 0)
            return true;
    return false;
}

/* By a constant that is not 0, so that it can't fail on the one rank alone. */
static bool is_remainder(const eddy__partitioning *p, const eddy__node *node)
{
    const eddy__node *by;
    const eddy_attr *value;

    if ((strcmp(node->op_name, "FloorMod") != 0 &&
         strcmp(node->op_name, "Mod") != 0) ||
        (node->output_dtypes[0] != EDDY_INT32 &&
         node->output_dtypes[0] != EDDY_INT64))
        return false;
    by = eddy__partition_node(p, node->inputs[1].node);
    if (eddy__node_role(by) == EDDY__ROLE_ENTER &&
        eddy__node_bool(by, "is_constant"))
        by = eddy__partition_node(p, by->inputs[0].node);
    value = eddy__node_role(by) == EDDY__ROLE_CONST
                ? eddy__node_attr(by, "value")
                : NULL;
    return value && value->kind == EDDY_ATTR_TENSOR && value->n == 1 &&
           eddy_tensor_count(value->as.tensors[0]) == 1 &&
           eddy__trips_read_integer(value->as.tensors[0]) != 0;
}

static bool is_cheap(const eddy__partitioning *p, const eddy__node *node)
{
    switch (eddy__node_role(node)) {
    case EDDY__ROLE_SWITCH:
    case EDDY__ROLE_MERGE:
    case EDDY__ROLE_ENTER:
    case EDDY__ROLE_NEXT_ITERATION:
    case EDDY__ROLE_LOOP_COND:
    case EDDY__ROLE_CONST:
        return true;
    default:
        return is_arithmetic(node) || is_remainder(p, node);
    }
}

static bool is_copyable(const eddy__partitioning *p, uint32_t frame,
                        eddy_node v)
{
    const eddy__node *node = eddy__partition_node(p, v);

    if (v >= p->n_analysed || !p->placed[v].is_needed || !is_cheap(p, node) ||
        p->placed[v].output_frame != frame)
        return false;
    for (uint32_t i = 0; i < node->n_outputs; i++)
        if (eddy__node_gives_reference(node, i) ||
            (node->output_dtypes[i] != EDDY_BOOL &&
             node->output_dtypes[i] != EDDY_INT32 &&
             node->output_dtypes[i] != EDDY_INT64))
            return false;
    return true;
}

/* What a predicate is made of, while it is looked for. */
typedef struct slice {
    eddy_node nodes[MOST_NODES];
    size_t n;
} slice;

static bool put(slice *s, eddy_node v)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->nodes[i] == v)
            return true;
    if (s->n == MOST_NODES)
        return false;
    s->nodes[s->n++] = v;
    return true;
}

/* The nodes behind the predicate, back to the Enters; false: not all will do.
 */
static bool find_slice(const eddy__partitioning *p, uint32_t frame,
                       eddy_node predicate, slice *s)
{
    s->n = 0;
    if (!put(s, predicate))
        return false;
    for (size_t k = 0; k < s->n; k++) {
        const eddy__node *node = eddy__partition_node(p, s->nodes[k]);

        if (!is_copyable(p, frame, s->nodes[k]))
            return false;
        if (eddy__node_role(node) == EDDY__ROLE_ENTER)
            continue;
        for (uint32_t i = 0; i < node->n_inputs; i++)
            if (!put(s, node->inputs[i].node))
                return false;
        for (uint32_t i = 0; i < node->n_controls; i++)
            if (!put(s, node->controls[i]))
                return false;
    }
    return true;
}

static void mark(const eddy__partitioning *p, const slice *s)
{
    for (size_t i = 0; i < s->n; i++)
        p->is_counting[s->nodes[i]] = 1;
}

static void find_counted(eddy__partitioning *p)
{
    for (uint32_t f = 1; f < p->analysis->n_frames; f++) {
        const eddy_frame *frame = &p->analysis->frames[f];
        slice s;

        if (frame->loop_cond == EDDY_NO_NODE ||
            !find_slice(p, f, frame->loop_cond, &s))
            continue;
        p->is_counted[f] = 1;
        mark(p, &s);
    }
}

void eddy__partition_count_branches(eddy__partitioning *p)
{
    for (uint32_t i = 1; i < p->branches.n; i++) {
        const eddy_node v = p->branches.items[i].predicate.node;
        slice s;

        if (v < p->n_analysed &&
            find_slice(p, p->placed[v].output_frame, v, &s))
            mark(p, &s);
    }
}

eddy_status eddy__partition_find_counted(eddy__partitioning *p)
{
    p->is_counted =
        eddy__arena_allocate_zeroed(&p->arena, p->analysis->n_frames, 1);
    p->is_counting = eddy__arena_allocate_zeroed(&p->arena, p->n_analysed, 1);
    if (!p->is_counted || !p->is_counting)
        return eddy__fail_memory(p->err);
    find_counted(p);
    return EDDY_OK;
}
