/* SPDX-License-Identifier: Apache-2.0 */
/* Requests on several ranks of one process. */
#include "tools/ranks.h"

#include "tools/metis.h"
#include "tools/number.h"

#include "eddy/lower.h"
#include "eddy/processes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool eddy__options_want_ranks(const eddy__options *options)
{
    return options->place != NULL || options->n_ranks > 0 ||
           options->socket != NULL || options->mpi;
}

/* ---- places ---- */

static eddy_status add_place(eddy__rank_places *p, const char *prefix,
                             size_t length, uint64_t rank, eddy_error *err)
{
    char *text = malloc(length + 1);

    if (p->n == p->capacity) {
        const size_t n = p->capacity > 0 ? 2 * p->capacity : 64;
        eddy_place *places = realloc(p->places, n * sizeof *places);
        char **texts =
            places == NULL ? NULL : realloc(p->texts, n * sizeof(char *));

        p->places = places != NULL ? places : p->places;
        p->texts = texts != NULL ? texts : p->texts;
        p->capacity = texts != NULL ? n : p->capacity;
    }
    if (text == NULL || p->n == p->capacity) {
        free(text);
        return eddy__message_raise_memory(err);
    }
    memcpy(text, prefix, length);
    text[length] = '\0';
    p->texts[p->n] = text;
    p->places[p->n++] = (eddy_place){.prefix = text, .rank = (uint32_t)rank};
    if (rank >= p->n_ranks)
        p->n_ranks = (uint32_t)rank + 1;
    return EDDY_OK;
}

/* One line, `PREFIX rank N`; PREFIX may be "" in quotes, for all nodes. */
static eddy_status read_line(eddy__rank_places *p, char *line, size_t number,
                             const char *path, eddy_error *err)
{
    char *save = NULL;
    char *prefix, *word, *rank;
    uint64_t n;

    line[strcspn(line, "#\r\n")] = '\0';
    prefix = strtok_r(line, " \t", &save);
    if (prefix == NULL)
        return EDDY_OK;
    word = strtok_r(NULL, " \t", &save);
    rank = strtok_r(NULL, " \t", &save);
    if (word == NULL || strcmp(word, "rank") != 0 || rank == NULL ||
        strtok_r(NULL, " \t", &save) != NULL ||
        !eddy__number_read_count(rank, EDDY_MAX_RANKS - 1, &n))
        return eddy__message_raise(
            err, EDDY_INVALID_ARGUMENT, EDDY_E_PLACE,
            "%s:%zu: a line is `PREFIX rank N`, N below %d", path, number,
            EDDY_MAX_RANKS);
    if (strcmp(prefix, "\"\"") == 0)
        prefix += 2;
    return add_place(p, prefix, strlen(prefix), n, err);
}

static eddy_status read_places(eddy__rank_places *p, const char *path,
                               eddy_error *err)
{
    FILE *file = fopen(path, "r");
    eddy_status status = EDDY_OK;
    size_t room = 0, number = 0;
    char *line = NULL;

    if (file == NULL)
        return eddy__message_raise(err, EDDY_NOT_FOUND, EDDY_E_IO, "%s: %s",
                                   path, strerror(errno));
    while (status == EDDY_OK && getline(&line, &room, file) >= 0)
        status = read_line(p, line, ++number, path, err);
    if (status == EDDY_OK && ferror(file))
        status = eddy__message_raise(err, EDDY_DATA_LOSS, EDDY_E_IO, "%s: %s",
                                     path, strerror(errno));
    free(line);
    fclose(file);
    return status;
}

/* The multiplier and increment are Knuth's, of MMIX. */
static uint64_t draw(uint64_t *state)
{
    *state =
        *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static eddy_status draw_places(eddy__rank_places *p, const eddy_graph *graph,
                               const eddy__options *options, eddy_error *err)
{
    uint64_t state = options->seed;
    eddy_graph *lowered = NULL;
    eddy_status status = eddy_graph_lower(graph, NULL, &lowered, err);

    for (eddy_node v = 0; status == EDDY_OK && v < eddy_graph_size(lowered);
         v++) {
        const char *name = eddy_graph_node_name(lowered, v);

        status = add_place(p, name, strlen(name),
                           draw(&state) % options->n_ranks, err);
    }
    eddy_graph_destroy(lowered);
    return status;
}

/* By METIS, for `eddy partition`: what is measured differs from run to run. */
static eddy_status deal_places(eddy__rank_places *p,
                               const eddy__request *request,
                               const eddy_graph *graph,
                               const eddy__options *options, uint32_t n_ranks,
                               eddy_error *err)
{
    eddy_graph *lowered = NULL;
    uint32_t *ranks = NULL;
    eddy_status status;

    if (request == NULL)
        return eddy__message_raise(
            err, EDDY_INVALID_ARGUMENT, EDDY_E_PLACE,
            "%s is for `eddy partition`, which writes a file of places",
            options->place);
    status = eddy_graph_lower(graph, NULL, &lowered, err);
    if (status == EDDY_OK)
        status =
            eddy__metis_place(request, graph, lowered, options, &ranks, err);
    for (eddy_node v = 0; status == EDDY_OK && v < eddy_graph_size(lowered);
         v++) {
        const char *name = eddy_graph_node_name(lowered, v);

        status = add_place(p, name, strlen(name), ranks[v], err);
    }
    p->n_ranks = n_ranks;
    free(ranks);
    eddy_graph_destroy(lowered);
    return status;
}

eddy_status eddy__rank_places_init(eddy__rank_places *places,
                                   const eddy__request *measured,
                                   const eddy_graph *graph,
                                   const eddy__options *options,
                                   eddy_error *err)
{
    eddy_status status = EDDY_OK;
    uint32_t n_ranks = 0;

    *places = (eddy__rank_places){.n_ranks = 1};
    if (eddy__metis_read(options->place, &n_ranks))
        status = deal_places(places, measured, graph, options, n_ranks, err);
    else if (options->place != NULL)
        status = read_places(places, options->place, err);
    else if (options->seed > 0)
        status = draw_places(places, graph, options, err);
    if (options->n_ranks > 0)
        places->n_ranks = (uint32_t)options->n_ranks;
    return status;
}

void eddy__rank_places_deinit(eddy__rank_places *places)
{
    for (size_t i = 0; i < places->n; i++)
        free(places->texts[i]);
    free(places->texts);
    free(places->places);
    *places = (eddy__rank_places){.n = 0};
}

/* ---- from a request to values ---- */

eddy_status eddy__ranks_request_partition(const eddy__request *request,
                                          const eddy_graph *graph,
                                          const eddy__options *options,
                                          const eddy__rank_places *places,
                                          eddy_partition **out_partition,
                                          eddy_error *err)
{
    const eddy_limits limits = eddy__options_limits(options);
    const eddy_partition_options how = {
        .size = sizeof how,
        .n_ranks = places->n_ranks,
        .places = places->places,
        .n_places = options->replicated ? 0 : places->n,
        .feeds = request->feeds,
        .n_feeds = request->n_feeds,
        .fetches = request->fetches,
        .n_fetches = request->n_fetches,
        .targets = request->targets,
        .n_targets = request->n_targets,
        .is_literal = options->literal,
        .is_replicated = options->replicated,
        .limits = &limits,
    };

    return eddy_partition_create(graph, &how, out_partition, err);
}

static eddy_status create_ranks(const eddy__request *request,
                                const eddy_graph *graph,
                                const eddy__options *options, eddy_ranks **out,
                                eddy_error *err)
{
    const eddy_limits limits = eddy__options_limits(options);
    const eddy_checkpoint checkpoint = eddy__options_checkpoint(options);
    const eddy_plan_options plan = {
        .size = sizeof plan,
        .optimize = options->optimize,
        .parallel_iterations = (int64_t)options->parallel_iterations,
        .limits = &limits,
        .executor = options->executor,
        .without = options->without.items,
        .n_without = options->without.n,
        .checkpoint = options->checkpoint_folder != NULL ? &checkpoint : NULL,
    };
    eddy_run_options run = eddy__options_run(options);
    const eddy_ranks_options how = {.size = sizeof how,
                                    .plan = &plan,
                                    .run = &run,
                                    .seed = options->seed,
                                    .trace = request->recording};
    const eddy_ranks_place place = {.size = sizeof place,
                                    .folder = options->socket,
                                    .rank = (uint32_t)options->rank};
    eddy_partition *partition = NULL;
    eddy__rank_places places;
    eddy_status status =
        eddy__rank_places_init(&places, NULL, graph, options, err);

    if (status == EDDY_OK)
        status = eddy__ranks_request_partition(request, graph, options, &places,
                                               &partition, err);
    eddy__rank_places_deinit(&places);
    /* Variables of copies that are threads are each one's own. */
    if (!options->replicated || place.folder != NULL || options->mpi)
        run.session = request->session;
    if (status == EDDY_OK)
        status = place.folder != NULL || options->mpi
                     ? eddy_ranks_join(partition, &how, &place, out, err)
                     : eddy_ranks_create(partition, &how, out, err);
    eddy_partition_destroy(partition);
    return status;
}

/* What goes wrong here is told only if nothing else has. */
static eddy_status take_record(eddy__request *request, const eddy_ranks *ranks,
                               eddy_status status, eddy_error *err)
{
    eddy_error own = {.code = EDDY_OK};
    const eddy_status taken = eddy_ranks_trace(ranks, &request->recorded, &own);

    if (status == EDDY_OK && taken != EDDY_OK)
        *err = own;
    return status == EDDY_OK ? taken : status;
}

eddy_status eddy__request_run_ranks(eddy__request *request,
                                    const eddy_graph *graph,
                                    const eddy__options *options,
                                    eddy_tensor **out_fetches, eddy_error *err)
{
    eddy_ranks *ranks = NULL;
    eddy_status status = create_ranks(request, graph, options, &ranks, err);
    uint64_t left = 0;

    if (status == EDDY_OK)
        status = eddy_ranks_run(ranks, request->values, out_fetches, err);
    if (ranks != NULL && request->recording != NULL)
        status = take_record(request, ranks, status, err);
    if (status == EDDY_OK)
        eddy_ranks_messages(ranks, &left);
    if (left > 0)
        status =
            eddy__message_raise(err, EDDY_INTERNAL, EDDY_E_MESSAGE,
                                "%llu messages are left that nobody received",
                                (unsigned long long)left);
    eddy_ranks_destroy(ranks);
    return status;
}
