/* SPDX-License-Identifier: Apache-2.0 */
/* The public side of partitions: options, the steps in a row, what is asked. */
#include "core/base/status.h"
#include "core/context.h"
#include "frames/partition/replicate.h"

#include <string.h>

static eddy_status run_steps(eddy__partitioning *p, const eddy_graph *graph)
{
    EDDY_TRY(eddy__partition_request(p, graph));
    if (p->options->is_replicated) {
        EDDY_TRY(eddy__partition_agree(p));
        return eddy__partition_replicate(p);
    }
    EDDY_TRY(eddy__partition_list(p, &p->predicate_copy));
    EDDY_TRY(eddy__partition_list(p, &p->control_merge));
    EDDY_TRY(eddy__partition_list(p, &p->control_switch));
    EDDY_TRY(eddy__partition_place(p));
    if (!p->options->is_literal) {
        EDDY_TRY(eddy__partition_find_counted(p));
        EDDY_TRY(eddy__partition_find_known(p));
        eddy__partition_count_branches(p);
        EDDY_TRY(eddy__partition_copy(p));
        EDDY_TRY(eddy__partition_find_known(p));
    }
    EDDY_TRY(eddy__partition_control_loops(p));
    return eddy__partition_split(p);
}

static eddy_status make(const eddy_graph *graph,
                        const eddy_partition_options *options,
                        eddy__budget *budget, eddy_partition *result,
                        eddy_error *err)
{
    eddy__partitioning p = {
        .options = options,
        .result = result,
        .arena = {.allocator = &budget->allocator},
        .budget = budget,
        .err = err,
    };
    eddy_status status;

    p.copier.arena = &p.arena;
    status = run_steps(&p, graph);
    eddy_analysis_destroy(p.analysis);
    eddy_graph_destroy(p.whole);
    eddy__free(&budget->allocator, p.placed, p.placed_capacity,
               sizeof *p.placed);
    eddy__arena_destroy(&p.arena);
    return status;
}

/* The graphs outlive the budget, and so does the rest. */
static void release_budget(eddy_partition *result)
{
    result->arena.allocator = result->allocator;
    for (uint32_t r = 0; result->graphs && r < result->n_ranks; r++)
        if (result->graphs[r])
            eddy__graph_set_budget(result->graphs[r], NULL);
}

static eddy_status create(const eddy_graph *graph,
                          const eddy_partition_options *options,
                          eddy__budget *budget, eddy_partition **out_partition,
                          eddy_error *err)
{
    eddy_partition *result =
        eddy__allocate_zeroed(&budget->allocator, 1, sizeof *result);
    eddy_status status;

    if (!result)
        return eddy__fail_memory(err);
    result->allocator = &graph->ctx->allocator;
    result->arena.allocator = &budget->allocator;
    result->n_ranks = options->n_ranks;
    status = make(graph, options, budget, result, err);
    release_budget(result);
    if (status == EDDY_OK)
        *out_partition = result;
    else
        eddy_partition_destroy(result);
    return status;
}

static eddy_status check_options(const eddy_partition_options *o,
                                 eddy_error *err)
{
    EDDY_REFUSE_IF(o->n_ranks == 0 || o->n_ranks > EDDY_MAX_RANKS, err,
                   "%u ranks, wanted 1 to %d", (unsigned)o->n_ranks,
                   EDDY_MAX_RANKS);
    EDDY_REFUSE_IF((o->n_places > 0 && !o->places) ||
                       (o->n_feeds > 0 && !o->feeds) ||
                       (o->n_fetches > 0 && !o->fetches) ||
                       (o->n_targets > 0 && !o->targets),
                   err, "NULL for places, feeds, fetches or targets");
    EDDY_REFUSE_IF(o->is_replicated && o->n_places > 0, err,
                   "places, for a graph that is on every rank");
    for (size_t i = 0; i < o->n_places; i++) {
        EDDY_REFUSE_IF(!o->places[i].prefix, err, "NULL for prefix %zu", i);
        if (o->places[i].rank >= o->n_ranks)
            return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_PLACE,
                              "nodes '%.64s...' are placed on rank %u; there "
                              "are %u",
                              o->places[i].prefix, (unsigned)o->places[i].rank,
                              (unsigned)o->n_ranks);
    }
    return EDDY_OK;
}

eddy_status eddy_partition_create(const eddy_graph *graph,
                                  const eddy_partition_options *options,
                                  eddy_partition **out_partition,
                                  eddy_error *err)
{
    eddy_partition_options copy = {0};
    eddy__budget budget;

    EDDY_REFUSE_IF(!graph, err, "no graph");
    EDDY_REFUSE_IF(!out_partition, err, "nowhere to put the partition");
    *out_partition = NULL;
    EDDY_REFUSE_IF(!options || options->size == 0 ||
                       options->size > sizeof copy,
                   err, "the options of a partition have the wrong size");
    memcpy(&copy, options, options->size);
    EDDY_TRY(check_options(&copy, err));
    EDDY_TRY(eddy__graph_check_closed(graph, err));
    EDDY_TRY(eddy__budget_begin(&budget, "cutting", &graph->ctx->allocator,
                                copy.limits, err));
    return eddy__budget_end(
        &budget, create(graph, &copy, &budget, out_partition, err), err);
}

void eddy_partition_destroy(eddy_partition *partition)
{
    if (!partition)
        return;
    for (uint32_t r = 0; partition->graphs && r < partition->n_ranks; r++)
        eddy_graph_destroy(partition->graphs[r]);
    eddy__arena_destroy(&partition->arena);
    eddy__free(partition->allocator, partition, 1, sizeof *partition);
}

uint32_t eddy_partition_ranks(const eddy_partition *partition)
{
    return partition->n_ranks;
}

size_t eddy_partition_feeds(const eddy_partition *partition)
{
    return partition->n_feeds;
}

size_t eddy_partition_fetches(const eddy_partition *partition)
{
    return partition->n_fetches;
}

const eddy_graph *eddy_partition_graph(const eddy_partition *partition,
                                       uint32_t rank)
{
    return rank < partition->n_ranks ? partition->graphs[rank] : NULL;
}

eddy_partition_counts eddy_partition_count(const eddy_partition *partition,
                                           uint32_t rank)
{
    return rank < partition->n_ranks ? partition->counts[rank]
                                     : (eddy_partition_counts){0};
}

bool eddy_partition_feed(const eddy_partition *partition, size_t i,
                         uint32_t *out_rank, eddy_output *out)
{
    if (i >= partition->n_feeds || partition->feeds[i].rank == EDDY__NOT_FOUND)
        return false;
    *out_rank = partition->feeds[i].rank;
    *out = partition->feeds[i].output;
    return true;
}

eddy_output eddy_partition_fetch(const eddy_partition *partition, size_t i,
                                 uint32_t *out_rank)
{
    if (i >= partition->n_fetches)
        return (eddy_output){.node = EDDY_NO_NODE};
    *out_rank = partition->fetches[i].rank;
    return partition->fetches[i].output;
}

const eddy_node *eddy_partition_targets(const eddy_partition *partition,
                                        uint32_t rank, size_t *out_n)
{
    *out_n = rank < partition->n_ranks ? partition->n_targets[rank] : 0;
    return *out_n > 0 ? partition->targets[rank] : NULL;
}
