/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for the loop's frame in what each rank runs of its graph, which may be
 * nothing: of copies without collectives only that of rank 0 is asked.
 */
#include "runtime/net/parts.h"

#include "core/base/status.h"
#include "frames/analysis/analysis.h"
#include "frames/analysis/prune.h"

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

/* What is fed and asked for on a rank. */
typedef struct request {
    eddy_output *feeds, *fetches;
    size_t n_feeds, n_fetches;
    uint8_t *is_fed, *keep; /* a node */
} request;

static bool make_room(const eddy_partition *partition, size_t n_nodes,
                      eddy__arena *arena, request *r)
{
    r->feeds = eddy__arena_allocate(arena, eddy_partition_feeds(partition),
                                    sizeof *r->feeds);
    r->fetches = eddy__arena_allocate(arena, eddy_partition_fetches(partition),
                                      sizeof *r->fetches);
    r->is_fed = eddy__arena_allocate_zeroed(arena, n_nodes, 1);
    r->keep = eddy__arena_allocate_zeroed(arena, n_nodes, 1);
    return r->feeds && r->fetches && r->is_fed && r->keep;
}

/* The nodes that the rank runs. */
static eddy_status find_needed(const eddy_partition *partition, uint32_t rank,
                               eddy__arena *arena, eddy__selection *out,
                               eddy_error *err)
{
    const eddy_graph *graph = eddy_partition_graph(partition, rank);
    request r = {.n_feeds = 0};
    eddy__wanted wanted = {.n_fetches = 0};
    eddy_output output;
    uint32_t at;

    if (!make_room(partition, graph->n_nodes, arena, &r))
        return eddy__fail_memory(err);
    for (size_t i = 0; i < eddy_partition_feeds(partition); i++)
        if (eddy_partition_feed(partition, i, &at, &output) && at == rank) {
            r.feeds[r.n_feeds++] = output;
            r.is_fed[output.node] = 1;
        }
    for (size_t i = 0; i < eddy_partition_fetches(partition); i++) {
        output = eddy_partition_fetch(partition, i, &at);
        if (at == rank)
            r.fetches[r.n_fetches++] = output;
    }
    wanted = (eddy__wanted){.fetches = r.fetches, .n_fetches = r.n_fetches};
    wanted.targets = eddy_partition_targets(partition, rank, &wanted.n_targets);
    *out = (eddy__selection){.graph = graph,
                             .is_fed = r.is_fed,
                             .feeds = r.feeds,
                             .n_feeds = r.n_feeds};
    EDDY_TRY(eddy__prune(out, &wanted, r.keep, err));
    out->keep = r.keep;
    return EDDY_OK;
}

static eddy_status see_rank(eddy__parts *parts,
                            const eddy__selection *selection, bool is_named,
                            eddy__arena *arena, bool *out_has_part,
                            eddy_error *err)
{
    eddy_analysis *analysis;
    eddy_status status;

    *out_has_part = false;
    EDDY_TRY(eddy__analysis_build(selection, &analysis, err));
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
        eddy__selection needed;
        bool has_part;

        EDDY_TRY(find_needed(partition, rank, arena, &needed, err));
        EDDY_TRY(
            see_rank(out, &needed, how->loop != NULL, arena, &has_part, err));
        out->part[rank] = has_part ? out->how.n_parts++ : NONE;
    }
    if (out->how.n_parts == 0)
        return eddy__fail(err, EDDY_FAILED_PRECONDITION, EDDY_E_CHECKPOINT,
                          "no rank has %s%.200s to save",
                          how->loop ? "the loop " : "a loop",
                          how->loop ? how->loop : "");
    return EDDY_OK;
}
