/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for the loop's frame in the graphs of all ranks. */
#include "runtime/net/parts.h"

#include "core/base/status.h"
#include "eddy/analysis.h"

#include <string.h>

#define NONE UINT32_MAX

/* Is it the loop, of which the name may become known here? */
static eddy_status see_frame(eddy__parts *parts, const char *name,
                             eddy__arena *arena, bool *out_is_it,
                             eddy_error *err)
{
    *out_is_it = parts->how.loop && strcmp(parts->how.loop, name) == 0;
    if (*out_is_it)
        return EDDY_OK;
    if (parts->how.loop)
        return eddy__fail(err, EDDY_FAILED_PRECONDITION, EDDY_E_CHECKPOINT,
                          "the loops '%.150s' and '%.150s' are in no other: "
                          "which is saved must be said",
                          parts->how.loop, name);
    parts->how.loop = eddy__arena_text(arena, name, strlen(name));
    *out_is_it = true;
    return parts->how.loop ? EDDY_OK : eddy__fail_memory(err);
}

static eddy_status see_rank(eddy__parts *parts, const eddy_graph *graph,
                            bool is_named, eddy__arena *arena,
                            bool *out_has_part, eddy_error *err)
{
    eddy_analysis *analysis;
    eddy_status status;

    *out_has_part = false;
    EDDY_TRY(eddy_analysis_create(graph, &analysis, err));
    status = EDDY_OK;
    for (size_t f = 1; f < eddy_analysis_frames(analysis); f++) {
        const eddy_frame *frame = eddy_analysis_frame(analysis, f);
        bool is_it = is_named && strcmp(frame->name, parts->how.loop) == 0;

        if (frame->parent != 0)
            continue;
        if (!is_named && status == EDDY_OK)
            status = see_frame(parts, frame->name, arena, &is_it, err);
        *out_has_part = *out_has_part || is_it;
    }
    eddy_analysis_destroy(analysis);
    return status;
}

eddy_status eddy__parts_find(const eddy_partition *partition,
                             const eddy_checkpoint *how, eddy__arena *arena,
                             eddy__parts *out, eddy_error *err)
{
    const uint32_t n_ranks = eddy_partition_ranks(partition);

    EDDY_REFUSE_IF(how->size == 0 || how->size > sizeof *how, err,
                   "the options of checkpoints have the wrong size");
    *out = (eddy__parts){.how.size = sizeof out->how};
    memcpy(&out->how, how, how->size);
    out->how.size = sizeof out->how;
    out->part = eddy__arena_allocate(arena, n_ranks, sizeof *out->part);
    if (!out->part)
        return eddy__fail_memory(err);
    out->how.n_parts = 0;
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        bool has_part;

        EDDY_TRY(see_rank(out, eddy_partition_graph(partition, rank),
                          how->loop != NULL, arena, &has_part, err));
        out->part[rank] = has_part ? out->how.n_parts++ : NONE;
    }
    if (out->how.n_parts == 0)
        return eddy__fail(err, EDDY_FAILED_PRECONDITION, EDDY_E_CHECKPOINT,
                          "no rank has %s%.200s to save",
                          how->loop ? "the loop " : "a loop",
                          how->loop ? how->loop : "");
    return EDDY_OK;
}
