/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many trips a second a loop makes that is cut over two ranks: one that
 * sends its counter and its predicate one way, and one that sends a value there
 * and back in each trip.
 *
 *     one way:     rank 0: i += 1                rank 1: x = x + i
 *     round trip:  rank 0: i += 1; x = y         rank 1: y = -x
 *
 * The loop counts, so it is cut literally: else each rank would count by
 * itself.
 *
 * Started by `mpirun -n 2` it measures ranks of that MPI, and nothing else.
 */
#include "benchmarks/loops.h"
#include "benchmarks/measure.h"
#include "benchmarks/options.h"
#include "benchmarks/table.h"

#include "eddy/processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIPS 20000
#define REPEATS 7

static const column columns[] = {
    {"best us", "best", "us/trip", 9, 2},
    {"median us", "median", "us/trip", 9, 2},
    {"trips/s", "rate", "1/s", 9, 0},
};

#define N_COLUMNS (sizeof columns / sizeof columns[0])

typedef struct cut_loop {
    builder b;
    eddy_output fetches[2];
    const char *far[3]; /* what is on rank 1 */
    size_t n_far;
} cut_loop;

static void build(cut_loop *c, bool is_round_trip)
{
    builder *b = &c->b;
    const eddy_output firsts[] = {builder_int(b, 0, EDDY_NO_NODE),
                                  builder_int(b, 1, EDDY_NO_NODE)};
    eddy_output nexts[2];
    loop l;

    loop_open(b, &l, "loop", firsts, 2);
    loop_test_trips(b, &l, TRIPS);
    nexts[0] = loop_next_count(b, &l);
    nexts[1] = is_round_trip
                   ? eddy_emit_unary(&b->e, "Neg", l.body[1])
                   : eddy_emit_binary(&b->e, "AddV2", l.body[1], l.body[0]);
    loop_close(b, &l, nexts, c->fetches);
    if (b->e.status != EDDY_OK)
        return;
    c->far[c->n_far++] = eddy_graph_node_name(b->e.graph, nexts[1].node);
    if (is_round_trip)
        return;
    c->far[c->n_far++] = eddy_graph_node_name(b->e.graph, l.merges[1].node);
    c->far[c->n_far++] = eddy_graph_node_name(b->e.graph, l.body[1].node);
}

/* Has an MPI started this process?  OpenMPI and MPICH say so. */
static bool is_by_mpi(void)
{
    return getenv("OMPI_COMM_WORLD_SIZE") != NULL || getenv("PMI_SIZE") != NULL;
}

static eddy_status cut(const cut_loop *c, const char *folder, uint32_t rank,
                       eddy_ranks **out, eddy_error *err)
{
    const eddy_place places[] = {
        {c->far[0], 1}, {c->far[1], 1}, {c->far[2], 1}};
    const eddy_partition_options how = {.size = sizeof how,
                                        .n_ranks = 2,
                                        .places = places,
                                        .n_places = c->n_far,
                                        .fetches = c->fetches,
                                        .n_fetches = 2,
                                        .is_literal = true};
    const eddy_ranks_place place = {
        .size = sizeof place, .folder = folder, .rank = rank};
    eddy_partition *partition = NULL;
    eddy_status status =
        eddy_partition_create(c->b.e.graph, &how, &partition, err);

    if (status == EDDY_OK)
        status = folder != NULL || is_by_mpi()
                     ? eddy_ranks_join(partition, NULL, &place, out, err)
                     : eddy_ranks_create(partition, NULL, out, err);
    eddy_partition_destroy(partition);
    return status;
}

/* Runs REPEATS times; `times` of each, sorted later. */
static eddy_status run_all(eddy_ranks *ranks, uint64_t *times, eddy_error *err)
{
    for (int i = 0; i < REPEATS; i++) {
        const uint64_t begin = clock_ns();
        eddy_tensor *out[2] = {NULL, NULL};
        eddy_status status = eddy_ranks_run(ranks, NULL, out, err);

        times[i] = clock_ns() - begin;
        eddy_tensor_release(out[0]);
        eddy_tensor_release(out[1]);
        if (status != EDDY_OK)
            return status;
    }
    return EDDY_OK;
}

static eddy_status measure_rank(bool is_round_trip, const char *folder,
                                uint32_t rank, uint64_t *times, eddy_error *err)
{
    eddy_context *ctx = NULL;
    eddy_ranks *ranks = NULL;
    cut_loop c = {.n_far = 0};
    eddy_status status = eddy_context_create(NULL, &ctx, err);

    if (status != EDDY_OK)
        return status;
    builder_init(&c.b, ctx);
    build(&c, is_round_trip);
    status = c.b.e.status;
    if (status == EDDY_OK)
        status = cut(&c, folder, rank, &ranks, err);
    else
        *err = c.b.err;
    if (status == EDDY_OK)
        status = run_all(ranks, times, err);
    eddy_ranks_destroy(ranks);
    builder_deinit(&c.b);
    eddy_context_destroy(ctx);
    return status;
}

/* Rank 1 in a child, rank 0 here. */
static eddy_status measure_processes(bool is_round_trip, uint64_t *times,
                                     eddy_error *err)
{
    char folder[] = "/tmp/eddy-bench-XXXXXX";
    eddy_status status = EDDY_UNAVAILABLE;
    pid_t child;

    if (mkdtemp(folder) == NULL)
        return status;
    (void)fflush(NULL);
    child = fork();
    if (child == 0)
        _Exit(measure_rank(is_round_trip, folder, 1, times, err) != EDDY_OK);
    if (child > 0) {
        status = measure_rank(is_round_trip, folder, 0, times, err);
        (void)waitpid(child, NULL, 0);
    }
    (void)rmdir(folder);
    return status;
}

/* What is printed is rank 0's. */
static bool be_rank_of_mpi(void)
{
    eddy_error err = {.code = EDDY_OK};
    uint32_t rank = 0, n;

    if (eddy_mpi_start(&rank, &n, &err) != EDDY_OK || n != 2) {
        fprintf(stderr, "bench_ranks: two ranks are wanted: %s\n", err.message);
        return false;
    }
    return rank == 0 || freopen("/dev/null", "w", stdout) != NULL;
}

static eddy_status measure_mpi(bool is_round_trip, uint64_t *times,
                               eddy_error *err)
{
    uint32_t rank, n;
    const eddy_status status = eddy_mpi_start(&rank, &n, err);

    return status == EDDY_OK
               ? measure_rank(is_round_trip, NULL, rank, times, err)
               : status;
}

static bool measure(const table *t, const char *name, bool is_round_trip,
                    bool has_processes)
{
    eddy_error err = {.code = EDDY_OK};
    uint64_t times[REPEATS] = {0};
    const eddy_status status =
        is_by_mpi()     ? measure_mpi(is_round_trip, times, &err)
        : has_processes ? measure_processes(is_round_trip, times, &err)
                        : measure_rank(is_round_trip, NULL, 0, times, &err);
    double best, median;

    if (status != EDDY_OK) {
        table_refusal(t, name, &err);
        return false;
    }
    best = (double)percentile(times, REPEATS, 0) / TRIPS / 1e3;
    median = (double)percentile(times, REPEATS, 50) / TRIPS / 1e3;
    table_row(t, name, (const double[N_COLUMNS]){best, median, 1e6 / best});
    return true;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        bool is_round_trip, has_processes, is_by_mpi;
    } rows[] = {
        {"one_way_processes", false, true, false},
        {"round_trip_processes", true, true, false},
        {"one_way_threads", false, false, false},
        {"round_trip_threads", true, false, false},
        {"one_way_mpi", false, true, true},
        {"round_trip_mpi", true, true, true},
    };
    table t = {.columns = columns, .n_columns = N_COLUMNS};
    bench_options o;
    bool is_good = true;

    options_parse(&o, argc, argv, "A loop over two ranks.");
    t.is_tsv = o.is_tsv;
    if (is_by_mpi() && !be_rank_of_mpi())
        return EXIT_FAILURE;
    table_begin(&t, "20,000 trips of a loop over two ranks");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (options_want(&o, rows[i].name) && rows[i].is_by_mpi == is_by_mpi())
            is_good = measure(&t, rows[i].name, rows[i].is_round_trip,
                              rows[i].has_processes) &&
                      is_good;
    eddy_mpi_end();
    return is_good && options_found(&o) ? EXIT_SUCCESS : EXIT_FAILURE;
}
