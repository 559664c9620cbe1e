/* SPDX-License-Identifier: Apache-2.0 */
/* `eddy partition`: a graph cut into one for each rank. */
#include "tools/commands.h"

#include "tools/format.h"
#include "tools/metis.h"
#include "tools/program.h"
#include "tools/ranks.h"

#include "eddy/graphdef.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static eddy__exit check(const eddy__options *options)
{
    if (options->out == NULL) {
        eddy__message_complain("no -o DIR is given");
        return EDDY__EXIT_USAGE;
    }
    if (mkdir(options->out, 0777) == 0 || errno == EEXIST)
        return EDDY__EXIT_DONE;
    eddy__message_complain("-o %s: %s", options->out, strerror(errno));
    return EDDY__EXIT_FAILED;
}

static eddy__exit write_rank(const eddy_partition *p, uint32_t rank,
                             const eddy__options *options)
{
    const eddy_partition_counts n = eddy_partition_count(p, rank);
    eddy_error err = {.code = EDDY_OK};
    char path[4096];
    const int length = snprintf(path, sizeof path, "%s/rank%u.pb", options->out,
                                (unsigned)rank);

    if (length < 0 || (size_t)length >= sizeof path) {
        eddy__message_complain("-o %s: the path is too long", options->out);
        return EDDY__EXIT_FAILED;
    }
    if (eddy_graphdef_save(eddy_partition_graph(p, rank), path, &err) !=
        EDDY_OK) {
        eddy__message_complain_error(path, &err);
        return EDDY__EXIT_FAILED;
    }
    printf("rank %u\t%zu nodes\t%zu sends\t%zu receives\t%zu control loops\n",
           (unsigned)rank, n.n_nodes, n.n_sends, n.n_recvs, n.n_control_loops);
    return EDDY__EXIT_DONE;
}

static void print_port(const char *what, const char *name, uint32_t rank,
                       const eddy_graph *graph, eddy_output output)
{
    printf("%s\t", what);
    eddy__format_name(stdout, name);
    printf("\trank %u\t", (unsigned)rank);
    eddy__format_name(stdout, eddy_graph_node_name(graph, output.node));
    printf(":%u\n", (unsigned)output.index);
}

/* Where what was asked for is to be fed and had. */
static void print_ports(const eddy_partition *p, const eddy__program *program)
{
    const eddy__request *request = &program->request;
    eddy_output output;
    uint32_t rank;

    for (size_t i = 0; i < request->n_feeds; i++)
        if (eddy_partition_feed(p, i, &rank, &output))
            print_port(
                "feed",
                eddy_graph_node_name(program->graph, request->feeds[i].node),
                rank, eddy_partition_graph(p, rank), output);
    for (size_t i = 0; i < request->n_fetches; i++) {
        output = eddy_partition_fetch(p, i, &rank);
        print_port("fetch", eddy__program_label(program, i), rank,
                   eddy_partition_graph(p, rank), output);
    }
}

/* What METIS has found, as a file that --place reads. */
static eddy__exit write_places(const eddy__rank_places *places,
                               const eddy__options *options)
{
    char path[4096];
    const int length =
        snprintf(path, sizeof path, "%s/places.txt", options->out);
    FILE *file =
        length < 0 || (size_t)length >= sizeof path ? NULL : fopen(path, "w");
    bool ok = file != NULL;

    for (size_t i = 0; ok && i < places->n; i++)
        ok = fprintf(file, "%s rank %u\n", places->places[i].prefix,
                     (unsigned)places->places[i].rank) > 0;
    if (file != NULL)
        ok = fclose(file) == 0 && ok;
    if (ok)
        return EDDY__EXIT_DONE;
    eddy__message_complain("%s/places.txt: %s", options->out, strerror(errno));
    return EDDY__EXIT_FAILED;
}

static eddy__exit make(const eddy__program *program,
                       const eddy__options *options, eddy__rank_places *places,
                       eddy_partition **out_partition)
{
    eddy_error err = {.code = EDDY_OK};
    uint32_t n_ranks;
    eddy_status status = eddy__rank_places_init(places, &program->request,
                                                program->graph, options, &err);

    if (status == EDDY_OK)
        status =
            eddy__ranks_request_partition(&program->request, program->graph,
                                          options, places, out_partition, &err);
    if (status != EDDY_OK) {
        eddy__message_complain_error(options->paths.items[0], &err);
        return EDDY__EXIT_FAILED;
    }
    return eddy__metis_read(options->place, &n_ranks)
               ? write_places(places, options)
               : EDDY__EXIT_DONE;
}

static eddy__exit cut(const eddy__program *program,
                      const eddy__options *options)
{
    eddy__rank_places places;
    eddy_partition *partition = NULL;
    eddy__exit result = make(program, options, &places, &partition);

    eddy__rank_places_deinit(&places);
    if (result != EDDY__EXIT_DONE) {
        eddy_partition_destroy(partition);
        return result;
    }
    for (uint32_t r = 0;
         r < eddy_partition_ranks(partition) && result == EDDY__EXIT_DONE; r++)
        result = write_rank(partition, r, options);
    if (result == EDDY__EXIT_DONE)
        print_ports(partition, program);
    eddy_partition_destroy(partition);
    return result;
}

static eddy__exit run(const eddy__options *options)
{
    eddy__program program = {.ctx = NULL};
    eddy__exit result = check(options);

    if (result == EDDY__EXIT_DONE)
        result = eddy__program_load(&program, options);
    if (result == EDDY__EXIT_DONE &&
        options->fetches.n + options->targets.n > 0)
        result = eddy__program_ask(&program, options);
    if (result == EDDY__EXIT_DONE)
        result = cut(&program, options);
    eddy__program_deinit(&program);
    return result;
}

const eddy__command eddy__command_partition = {
    .name = "partition",
    .arguments = "GRAPH [--place FILE | --ranks N] -o DIR",
    .summary = "cut a graph into one for each rank",
    .details =
        "Writes DIR/rank0.pb, DIR/rank1.pb, ..., the parts of GRAPH, lowered,\n"
        "which _Send and _Recv join, and prints what each has.  A loop that "
        "is\n"
        "cut has a control loop on every rank that receives in it, as in\n"
        "TensorFlow.  With --fetch and --target only what they need is cut,\n"
        "and where feeds and fetches are is printed, too.\n"
        "\n"
        "FILE has lines `PREFIX rank N`: nodes whose names begin with PREFIX\n"
        "(\"\" for all) are on rank N; the longest prefix counts, and # begins "
        "a\n"
        "comment.  Without a place a node is where its device says\n"
        "(/job:worker/task:1), or else on rank 0.  `eddy run --place FILE`\n"
        "runs all ranks in one process.\n"
        "\n"
        "--place metis:K has METIS (Debian's libmetis5) deal out the nodes to\n"
        "K ranks.  What --fetch and --target ask for is run once, with the\n"
        "feeds, and what nodes took and gave counts; without them all nodes\n"
        "count the same.  The places are written to DIR/places.txt.\n",
    .examples =
        "  eddy partition model.pb --place places.txt -o parts\n"
        "  eddy partition model.pb --fetch y --ranks 2 --seed 1 -o parts\n"
        "  eddy partition model.pb --fetch y --place metis:2 -o parts\n"
        "  eddy run model.pb --fetch y --place parts/places.txt\n",
    .options = EDDY__FOR_PARTITION,
    .run = run,
};
