/*
 * Puts an analysis together: edges, cycles, the frame tree, loop variables and
 * checks.
 */
#include "frames/analysis.h"

#include "frames/cycle.h"
#include "frames/flow.h"
#include "frames/frame_tree.h"
#include "frames/loop_variables.h"
#include "frames/validate.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"

static eddy_status analyse(const eddy__selection *selection, eddy_analysis *a,
                           eddy__arena *scratch, eddy_error *err)
{
    eddy__flow flow;

    EDDY_TRY(eddy__flow_build(&flow, selection, scratch, err));
    EDDY_TRY(eddy__check_cycles(&flow, scratch, err));
    EDDY_TRY(eddy__frame_tree_build(&flow, a, scratch, err));
    EDDY_TRY(eddy__find_loop_variables(&flow, a, scratch, err));
    return eddy__validate(&flow, a, scratch, err);
}

eddy_status eddy__analysis_build(const eddy__selection *selection,
                                 eddy_analysis **out_analysis, eddy_error *err)
{
    const eddy_allocator *allocator =
        eddy__context_allocator(selection->graph->ctx);
    eddy__arena scratch = {.allocator = allocator};
    eddy_analysis *a = eddy__allocate_zeroed(allocator, 1, sizeof *a);
    eddy_status status;

    if (!a)
        return eddy__fail_memory(err);
    a->arena.allocator = allocator;
    status = analyse(selection, a, &scratch, err);
    eddy__arena_destroy(&scratch);
    if (status == EDDY_OK)
        *out_analysis = a;
    else
        eddy_analysis_destroy(a);
    return status;
}

/* ---- the public side ---- */

eddy_status eddy_analysis_create(const eddy_graph *graph,
                                 eddy_analysis **out_analysis, eddy_error *err)
{
    const eddy__selection all = {.graph = graph};

    *out_analysis = NULL;
    return eddy__analysis_build(&all, out_analysis, err);
}

void eddy_analysis_destroy(eddy_analysis *analysis)
{
    const eddy_allocator *allocator;

    if (!analysis)
        return;
    allocator = analysis->arena.allocator;
    eddy__free(allocator, analysis->warnings, analysis->warnings_capacity,
               sizeof *analysis->warnings);
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

const char *eddy_analysis_warning(const eddy_analysis *analysis, size_t i)
{
    return i < analysis->n_warnings ? analysis->warnings[i] : NULL;
}
