/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts an analysis together: edges, cycles, the frame tree, loop variables and
 * checks; and, for who asks for the whole, branches, trip counters and
 * what could be lazier.
 */
#include "frames/analysis/analysis.h"

#include "core/base/status.h"
#include "core/context.h"
#include "frames/analysis/branches.h"
#include "frames/analysis/cycle.h"
#include "frames/analysis/eager.h"
#include "frames/analysis/flow.h"
#include "frames/analysis/frame_tree.h"
#include "frames/analysis/loop_variables.h"
#include "frames/analysis/merge_order.h"
#include "frames/analysis/trip_counter.h"
#include "frames/analysis/validate.h"

static eddy_status analyse(const eddy__selection *selection, bool whole,
                           eddy_analysis *a, eddy__arena *scratch,
                           eddy_error *err)
{
    eddy__flow flow;

    EDDY_TRY(eddy__flow_build(&flow, selection, scratch, err));
    EDDY_TRY(eddy__check_cycles(&flow, scratch, err));
    EDDY_TRY(eddy__frame_tree_build(&flow, a, scratch, err));
    EDDY_TRY(eddy__find_loop_variables(&flow, a, scratch, err));
    EDDY_TRY(eddy__find_contests(&flow, a, scratch, err));
    EDDY_TRY(eddy__validate(&flow, a, scratch, err));
    if (!whole)
        return EDDY_OK;
    EDDY_TRY(eddy__find_branches(&flow, a, scratch, err));
    EDDY_TRY(eddy__find_trip_counters(&flow, a, scratch, err));
    return eddy__find_eager(&flow, a, scratch, err);
}

static eddy_status build(const eddy__selection *selection, bool whole,
                         eddy_analysis **out_analysis, eddy_error *err)
{
    const eddy_allocator *allocator = eddy__selection_allocator(selection);
    eddy__arena scratch = {.allocator = allocator};
    eddy_analysis *a = eddy__allocate_zeroed(allocator, 1, sizeof *a);
    eddy_status status;

    if (!a)
        return eddy__fail_memory(err);
    a->arena.allocator = allocator;
    status = analyse(selection, whole, a, &scratch, err);
    eddy__arena_destroy(&scratch);
    if (status == EDDY_OK)
        *out_analysis = a;
    else
        eddy_analysis_destroy(a);
    return status;
}

eddy_status eddy__analysis_build(const eddy__selection *selection,
                                 eddy_analysis **out_analysis, eddy_error *err)
{
    return build(selection, false, out_analysis, err);
}

eddy_status eddy__analysis_build_whole(const eddy__selection *selection,
                                       eddy_analysis **out_analysis,
                                       eddy_error *err)
{
    return build(selection, true, out_analysis, err);
}

/* ---- the public side ---- */

eddy_status eddy_analysis_create(const eddy_graph *graph,
                                 eddy_analysis **out_analysis, eddy_error *err)
{
    const eddy__selection all = {.graph = graph};

    *out_analysis = NULL;
    return eddy__analysis_build_whole(&all, out_analysis, err);
}

void eddy_analysis_destroy(eddy_analysis *analysis)
{
    const eddy_allocator *allocator;

    if (!analysis)
        return;
    allocator = analysis->arena.allocator;
    eddy__free(allocator, analysis->warnings, analysis->warnings_capacity,
               sizeof *analysis->warnings);
    eddy__free(allocator, analysis->contests, analysis->contests_capacity,
               sizeof *analysis->contests);
    eddy__arena_destroy(&analysis->arena);
    eddy__free(allocator, analysis, 1, sizeof *analysis);
}

size_t eddy_analysis_frames(const eddy_analysis *analysis)
{
    return analysis->n_frames;
}

const eddy_frame *eddy_analysis_frame(const eddy_analysis *analysis, size_t i)
{
    return i < analysis->n_frames ? &analysis->frames[i] : NULL;
}

uint32_t eddy_analysis_node_frame(const eddy_analysis *analysis, eddy_node node)
{
    return node < analysis->n_nodes ? analysis->node_frame[node]
                                    : EDDY__NOT_FOUND;
}

size_t eddy_analysis_branches(const eddy_analysis *analysis)
{
    return analysis->branches.n;
}

const eddy_branch_info *eddy_analysis_branch(const eddy_analysis *analysis,
                                             size_t i)
{
    return i < analysis->branches.n ? &analysis->branches.branches[i] : NULL;
}

/* Was the node there, and kept? */
static bool is_known(const eddy_analysis *analysis, eddy_node node)
{
    return node < analysis->n_nodes &&
           analysis->node_frame[node] != EDDY__NOT_FOUND;
}

uint32_t eddy_analysis_node_branch(const eddy_analysis *analysis,
                                   eddy_node node)
{
    return is_known(analysis, node) ? analysis->branches.of_node[node] : 0;
}

uint32_t eddy_analysis_output_branch(const eddy_analysis *analysis,
                                     eddy_output output)
{
    const eddy_node node = output.node;
    const uint32_t frame =
        is_known(analysis, node) ? analysis->node_frame[node] : EDDY__NOT_FOUND;
    uint32_t side;

    if (frame == EDDY__NOT_FOUND ||
        analysis->frames[analysis->output_frame[node]].depth >
            analysis->frames[frame].depth)
        return 0;
    if (analysis->output_frame[node] != frame)
        return analysis->branches.of_frame[frame];
    side = analysis->branches.first_side[node];
    if (side == 0 || analysis->branches.certain[node] == output.index + 1)
        return analysis->branches.of_node[node];
    return output.index < analysis->branches.branches[side].n_sides
               ? side + output.index
               : 0;
}

bool eddy_analysis_is_exact(const eddy_analysis *analysis, eddy_node node)
{
    return is_known(analysis, node) && analysis->branches.is_exact[node];
}

bool eddy_analysis_is_within(const eddy_analysis *analysis, uint32_t inner,
                             uint32_t outer)
{
    return inner < analysis->branches.n && outer < analysis->branches.n &&
           eddy__branch_is_within(&analysis->branches, inner, outer);
}

const eddy_eager_node *eddy_analysis_eager(const eddy_analysis *analysis,
                                           size_t i)
{
    return i < analysis->n_eager ? &analysis->eager[i] : NULL;
}

const char *eddy_analysis_warning(const eddy_analysis *analysis, size_t i)
{
    return i < analysis->n_warnings ? analysis->warnings[i] : NULL;
}
