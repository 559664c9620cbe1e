/* SPDX-License-Identifier: Apache-2.0 */
/* What the steps of a partition add nodes with: a leaf that they call. */
#include "core/base/status.h"
#include "core/graph/names.h"
#include "frames/analysis/flow.h"
#include "frames/partition/partitioning.h"

#include <string.h>

eddy_status eddy__partition_note(eddy__partitioning *p, eddy_node node,
                                 eddy__placed placed)
{
    const eddy_allocator *allocator = &p->budget->allocator;

    if (!eddy__grow(allocator, (void **)&p->placed, &p->placed_capacity,
                    (size_t)node + 1, sizeof *p->placed))
        return eddy__fail_memory(p->err);
    p->placed[node] = placed;
    return EDDY_OK;
}

eddy_status eddy__partition_list(eddy__partitioning *p, eddy_node **out)
{
    size_t n;

    if (!eddy__mul_size(p->analysis->n_frames, p->options->n_ranks, &n))
        return eddy__fail_memory(p->err);
    *out = eddy__arena_allocate(&p->arena, n, sizeof **out);
    for (size_t i = 0; *out && i < n; i++)
        (*out)[i] = EDDY_NO_NODE;
    return *out ? EDDY_OK : eddy__fail_memory(p->err);
}

eddy_status eddy__partition_order(eddy__partitioning *p, eddy_node **out,
                                  size_t *out_n)
{
    const size_t n = p->whole->n_nodes;
    uint8_t *keep = eddy__arena_allocate(&p->arena, n, 1);
    const eddy__selection needed = {
        .graph = p->whole, .keep = keep, .budget = p->budget};
    eddy__flow flow;

    if (!keep)
        return eddy__fail_memory(p->err);
    for (size_t v = 0; v < n; v++)
        keep[v] = p->placed[v].is_needed;
    EDDY_TRY(eddy__flow_build(&flow, &needed, &p->arena, p->err));
    return eddy__flow_order(&flow, &p->arena, out, out_n, p->err);
}

eddy_output eddy__partition_nothing(eddy__emitter *e, const char *base,
                                    const char *device, eddy_node after)
{
    const eddy_shape none = {.rank = 1, .dims = {0}};
    const eddy_node_spec spec = {
        .name = eddy__emitter_need(e, base) ? eddy__name_take(e->graph, base)
                                            : NULL,
        .controls = &after,
        .n_controls = after == EDDY_NO_NODE ? 0 : 1,
    };
    eddy_output out;

    if (!eddy__emitter_need(e, spec.name))
        return EDDY__NO_OUTPUT;
    e->options.device = device;
    out = eddy__emitter_elements(e, &spec, EDDY_FLOAT32, &none, NULL);
    e->options.device = NULL;
    return out;
}

/* A rank that receives in a frame has control loops of all frames around it. */
static void note_received(const eddy__partitioning *p, const uint8_t *keep,
                          eddy_node from, eddy_node v)
{
    if (!keep[from] || !eddy__partition_crosses(p, from, v))
        return;
    for (uint32_t f = p->placed[from].output_frame; f != 0;
         f = p->analysis->frames[f].parent)
        p->is_begun[eddy__partition_at(p, f, p->placed[v].rank)] = 1;
}

static void note_receiver(const eddy__partitioning *p, const uint8_t *keep,
                          eddy_node v)
{
    const eddy__node *node = eddy__partition_node(p, v);

    for (uint32_t i = 0; i < node->n_inputs; i++)
        note_received(p, keep, node->inputs[i].node, v);
    for (uint32_t i = 0; i < node->n_controls; i++)
        note_received(p, keep, node->controls[i], v);
}

eddy_status eddy__partition_find_begun(eddy__partitioning *p,
                                       const uint8_t *keep)
{
    const size_t n = (size_t)p->analysis->n_frames * p->options->n_ranks;

    if (!p->is_begun)
        p->is_begun = eddy__arena_allocate(&p->arena, n, 1);
    if (!p->is_begun)
        return eddy__fail_memory(p->err);
    memset(p->is_begun, 0, n);
    for (eddy_node v = 0; v < p->whole->n_nodes; v++) {
        const eddy__placed *placed = &p->placed[v];

        if (!(keep ? keep[v] != 0 : placed->is_needed))
            continue;
        if (eddy__node_role(eddy__partition_node(p, v)) ==
            EDDY__ROLE_NEXT_ITERATION)
            p->is_begun[eddy__partition_at(p, placed->output_frame,
                                           placed->rank)] = 1;
        if (keep)
            note_receiver(p, keep, v);
    }
    return EDDY_OK;
}

bool eddy__partition_iterates(const eddy__partitioning *p, eddy_node v)
{
    for (uint32_t f = p->placed[v].output_frame; f != 0;
         f = p->analysis->frames[f].parent)
        if (!p->is_begun[eddy__partition_at(p, f, p->placed[v].rank)])
            return false;
    return true;
}
