/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a graph to METIS and back.  Nodes that stay together whatever is wished
 * are one vertex: those of a loop variable, a Switch and what it passes on,
 * those that share a handle.  A vertex weighs what its nodes took; an edge the
 * bytes that went along it, and something for each message.  A constant weighs
 * nothing and has no edge, since every rank has a copy.
 *
 * METIS is loaded when it is asked for; its calls are declared here as Debian's
 * libmetis5 has them, with indices of 32 bits.
 */
#include "tools/metis.h"

#include "tools/number.h"

#include "eddy/partition.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Of METIS 5: how many options there are, where the seed is, and success. */
#define N_OPTIONS 40
#define OPTION_SEED 8
#define METIS_DONE 1

typedef int metis_defaults(int32_t *options);
typedef int metis_part(int32_t *n, int32_t *n_weights, int32_t *first,
                       int32_t *to, int32_t *weights, int32_t *sizes,
                       int32_t *edge_weights, int32_t *n_parts, float *wanted,
                       float *balance, int32_t *options, int32_t *cut,
                       int32_t *part);

typedef struct metis {
    metis_defaults *defaults;
    metis_part *part;
} metis;

/* What a message costs besides its bytes, in bytes. */
#define MESSAGE_BYTES 256
/* All weights together are at most so much, for METIS adds them up. */
#define MOST_WEIGHT (INT32_C(1) << 29)

typedef struct cost {
    uint64_t ns, bytes, times;
} cost;

typedef struct edge {
    uint32_t from, to; /* vertices */
    uint64_t bytes;
} edge;

typedef struct dealing {
    const eddy_graph *graph; /* lowered */
    size_t n;
    cost *costs;     /* a node */
    uint32_t *group; /* a node: one that it stays with, or itself */
    uint32_t *vertex;
    edge *edges;
    size_t n_edges, n_vertices;
    int32_t *first, *to, *weight, *edge_weight, *part;
} dealing;

bool eddy__metis_read(const char *place, uint32_t *out_ranks)
{
    const size_t length = strlen(EDDY__METIS);
    uint64_t n;

    if (place == NULL || strncmp(place, EDDY__METIS, length) != 0 ||
        !eddy__number_read_count(place + length, EDDY_MAX_RANKS, &n) || n == 0)
        return false;
    *out_ranks = (uint32_t)n;
    return true;
}

static eddy_status load(metis *m, eddy_error *err)
{
    void *library = dlopen("libmetis.so.5", RTLD_NOW | RTLD_LOCAL);

    if (library == NULL)
        return eddy__message_raise(
            err, EDDY_UNAVAILABLE, EDDY_E_PLACE,
            "there is no METIS here (libmetis.so.5, of Debian's libmetis5)");
    /* A pointer to a function is one to an object on every POSIX system. */
    *(void **)&m->defaults = dlsym(library, "METIS_SetDefaultOptions");
    *(void **)&m->part = dlsym(library, "METIS_PartGraphKway");
    return m->defaults && m->part
               ? EDDY_OK
               : eddy__message_raise(err, EDDY_UNAVAILABLE, EDDY_E_PLACE,
                                     "libmetis.so.5 is no METIS 5");
}

/* ---- costs ---- */

static void count_records(dealing *d, const eddy_trace *trace)
{
    for (size_t i = 0; i < eddy_trace_records(trace); i++) {
        const eddy_trace_record *r = eddy_trace_record_at(trace, i);
        eddy_node v;

        if (r == NULL)
            return;
        v = eddy_graph_find(d->graph, eddy_trace_node_at(trace, r->node)->name);
        if (v == EDDY_NO_NODE)
            continue;
        d->costs[v].ns += r->duration_ns;
        d->costs[v].times++;
        for (uint16_t k = 0; k < r->n_values; k++) {
            const eddy_trace_value *value = eddy_trace_value_at(trace, i, k);

            if (value && value->dtype != EDDY_INVALID && value->count > 0)
                d->costs[v].bytes +=
                    (uint64_t)value->count * eddy_dtype_size(value->dtype);
        }
    }
}

/* Runs what is asked for, without rewrites, so that nodes have their names. */
static eddy_status measure(dealing *d, const eddy__request *request,
                           const eddy_graph *graph,
                           const eddy__options *options, eddy_error *err)
{
    const eddy_trace_options how = {.size = sizeof how, .values = true};
    eddy__request asked = *request;
    eddy__options plain = *options;
    eddy_trace *trace = NULL;
    eddy_plan *plan = NULL;
    eddy_run *run = NULL;
    eddy_status status;

    plain.optimize = EDDY_OPTIMIZE_NONE;
    status = eddy__request_plan(&asked, graph, &plain, &plan, err);
    if (status == EDDY_OK)
        status = eddy_trace_create(plan, &how, &trace, err);
    asked.recorder = trace;
    if (status == EDDY_OK)
        status = eddy__request_bind(&asked, plan, &plain, &run, err);
    if (status == EDDY_OK)
        status = eddy_run_execute(run, err);
    if (status == EDDY_OK)
        count_records(d, trace);
    eddy_run_destroy(run);
    eddy_trace_destroy(trace);
    eddy_plan_release(plan);
    return status;
}

static void count_alike(dealing *d)
{
    for (size_t v = 0; v < d->n; v++)
        d->costs[v] = (cost){.ns = 1, .bytes = 8, .times = 1};
}

/* ---- what stays together ---- */

static bool is_op(const dealing *d, eddy_node v, const char *op)
{
    const char *name = eddy_graph_node_op(d->graph, v);

    /* RefSwitch and its like are as Switch is. */
    return strcmp(name, op) == 0 ||
           (strncmp(name, "Ref", 3) == 0 && strcmp(name + 3, op) == 0);
}

static uint32_t group_of(const dealing *d, uint32_t v)
{
    while (d->group[v] != v) {
        d->group[v] = d->group[d->group[v]];
        v = d->group[v];
    }
    return v;
}

static void join(const dealing *d, uint32_t a, uint32_t b)
{
    const uint32_t x = group_of(d, a), y = group_of(d, b);

    d->group[x > y ? x : y] = x > y ? y : x;
}

/* Is input `i` of `v` of its own group? */
static bool is_bound(const dealing *d, eddy_node v, size_t i, eddy_output in)
{
    static const char *const makers[] = {"Variable", "VariableV2",
                                         "TemporaryVariable", "TensorArrayV2",
                                         "Enter"};

    if (eddy_graph_output_dtype(d->graph, in) == EDDY_RESOURCE)
        return true;
    /* An Enter is where its reader is, if that is a Merge. */
    for (size_t k = 0; k + 1 < sizeof makers / sizeof *makers; k++)
        if (is_op(d, in.node, makers[k]))
            return true;
    if (is_op(d, v, "Merge"))
        return is_op(d, in.node, "Enter") || is_op(d, in.node, "NextIteration");
    return (is_op(d, v, "Switch") && i == 0) || is_op(d, v, "Exit") ||
           is_op(d, v, "LoopCond");
}

static void find_groups(dealing *d)
{
    for (uint32_t v = 0; v < d->n; v++)
        d->group[v] = v;
    for (uint32_t v = 0; v < d->n; v++) {
        size_t n;
        const eddy_output *in = eddy_graph_node_inputs(d->graph, v, &n);

        for (size_t i = 0; i < n; i++)
            if (is_bound(d, v, i, in[i]))
                join(d, v, in[i].node);
    }
    for (uint32_t v = 0; v < d->n; v++)
        if (group_of(d, v) == v)
            d->vertex[v] = (uint32_t)d->n_vertices++;
    for (uint32_t v = 0; v < d->n; v++)
        d->vertex[v] = d->vertex[group_of(d, v)];
}

/* ---- vertices and edges ---- */

/* Both ways: METIS wants each edge at both of its ends. */
static void add_edge(dealing *d, eddy_node from, eddy_node to, bool is_control)
{
    const cost *c = &d->costs[from];
    const uint64_t bytes =
        c->times * MESSAGE_BYTES + (is_control ? 0 : c->bytes);
    const uint32_t a = d->vertex[from], b = d->vertex[to];

    if (a == b || bytes == 0 || is_op(d, from, "Const"))
        return;
    d->edges[d->n_edges++] = (edge){a, b, bytes};
    d->edges[d->n_edges++] = (edge){b, a, bytes};
}

static int compare_edges(const void *x, const void *y)
{
    const edge *a = x, *b = y;

    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return (a->to > b->to) - (a->to < b->to);
}

static void merge_edges(dealing *d)
{
    size_t n = 0;

    qsort(d->edges, d->n_edges, sizeof *d->edges, compare_edges);
    for (size_t i = 0; i < d->n_edges; i++)
        if (n > 0 && compare_edges(&d->edges[n - 1], &d->edges[i]) == 0)
            d->edges[n - 1].bytes += d->edges[i].bytes;
        else
            d->edges[n++] = d->edges[i];
    d->n_edges = n;
}

static eddy_status find_edges(dealing *d, eddy_error *err)
{
    size_t n_most = 0, n;

    for (uint32_t v = 0; v < d->n; v++) {
        (void)eddy_graph_node_inputs(d->graph, v, &n);
        n_most += n;
        (void)eddy_graph_node_controls(d->graph, v, &n);
        n_most += n;
    }
    d->edges = malloc((2 * n_most + 1) * sizeof *d->edges);
    if (d->edges == NULL || 2 * n_most > INT32_MAX)
        return eddy__message_raise_memory(err);
    for (uint32_t v = 0; v < d->n; v++) {
        const eddy_output *in = eddy_graph_node_inputs(d->graph, v, &n);
        const eddy_node *controls;

        for (size_t i = 0; i < n; i++)
            add_edge(d, in[i].node, v, false);
        controls = eddy_graph_node_controls(d->graph, v, &n);
        for (size_t i = 0; i < n; i++)
            add_edge(d, controls[i], v, true);
    }
    merge_edges(d);
    return EDDY_OK;
}

/* So that all of them come to MOST_WEIGHT at most; at least 1. */
static int32_t scaled(uint64_t weight, uint64_t total)
{
    const double part = (double)weight / (double)(total > 0 ? total : 1);

    return 1 + (int32_t)(part * (double)(MOST_WEIGHT - 1));
}

static void fill_lists(dealing *d)
{
    uint64_t ns = 0, bytes = 0;

    for (size_t v = 0; v < d->n; v++)
        ns += d->costs[v].ns;
    for (size_t i = 0; i < d->n_edges; i++)
        bytes += d->edges[i].bytes;
    for (size_t v = 0; v < d->n; v++)
        if (!is_op(d, (eddy_node)v, "Const"))
            d->weight[d->vertex[v]] += scaled(d->costs[v].ns, ns);
    for (size_t i = 0; i < d->n_edges; i++) {
        d->to[i] = (int32_t)d->edges[i].to;
        d->edge_weight[i] = scaled(d->edges[i].bytes, bytes);
        d->first[d->edges[i].from + 1]++;
    }
    for (size_t i = 0; i < d->n_vertices; i++)
        d->first[i + 1] += d->first[i];
}

static eddy_status cut(dealing *d, const metis *m, uint32_t n_ranks,
                       eddy_error *err)
{
    int32_t options[N_OPTIONS];
    int32_t n = (int32_t)d->n_vertices, one = 1, n_parts = (int32_t)n_ranks;
    int32_t value = 0;

    d->first = calloc(d->n_vertices + 1, sizeof *d->first);
    d->weight = calloc(d->n_vertices + 1, sizeof *d->weight);
    d->part = calloc(d->n_vertices + 1, sizeof *d->part);
    d->to = calloc(d->n_edges + 1, sizeof *d->to);
    d->edge_weight = calloc(d->n_edges + 1, sizeof *d->edge_weight);
    if (!d->first || !d->weight || !d->part || !d->to || !d->edge_weight ||
        d->n_vertices > INT32_MAX)
        return eddy__message_raise_memory(err);
    fill_lists(d);
    /* One part is no question that METIS answers, nor more than vertices. */
    if (n_parts == 1 || n_parts >= n) {
        for (int32_t i = 0; i < n; i++)
            d->part[i] = i % n_parts;
        return EDDY_OK;
    }
    m->defaults(options);
    options[OPTION_SEED] = 1;
    if (m->part(&n, &one, d->first, d->to, d->weight, NULL, d->edge_weight,
                &n_parts, NULL, NULL, options, &value, d->part) != METIS_DONE)
        return eddy__message_raise(err, EDDY_INTERNAL, EDDY_E_PLACE,
                                   "METIS has failed");
    return EDDY_OK;
}

static eddy_status deal(dealing *d, const eddy__request *request,
                        const eddy_graph *graph, const eddy__options *options,
                        eddy_error *err)
{
    d->costs = calloc(d->n + 1, sizeof *d->costs);
    d->group = calloc(d->n + 1, sizeof *d->group);
    d->vertex = calloc(d->n + 1, sizeof *d->vertex);
    if (!d->costs || !d->group || !d->vertex)
        return eddy__message_raise_memory(err);
    if (request->n_fetches + request->n_targets == 0)
        count_alike(d);
    else if (measure(d, request, graph, options, err) != EDDY_OK)
        return err->code;
    find_groups(d);
    return find_edges(d, err);
}

eddy_status eddy__metis_place(const eddy__request *request,
                              const eddy_graph *graph,
                              const eddy_graph *lowered,
                              const eddy__options *options,
                              uint32_t **out_ranks, eddy_error *err)
{
    dealing d = {.graph = lowered, .n = eddy_graph_size(lowered)};
    uint32_t *ranks = NULL, n_ranks = 1;
    metis m = {NULL, NULL};
    eddy_status status = load(&m, err);

    (void)eddy__metis_read(options->place, &n_ranks);
    if (status == EDDY_OK)
        status = deal(&d, request, graph, options, err);
    if (status == EDDY_OK)
        status = cut(&d, &m, n_ranks, err);
    if (status == EDDY_OK) {
        ranks = calloc(d.n + 1, sizeof *ranks);
        if (ranks == NULL)
            status = eddy__message_raise_memory(err);
    }
    for (size_t v = 0; ranks != NULL && v < d.n; v++)
        ranks[v] = (uint32_t)d.part[d.vertex[v]];
    *out_ranks = ranks;
    free(d.costs);
    free(d.group);
    free(d.vertex);
    free(d.edges);
    free(d.first);
    free(d.to);
    free(d.weight);
    free(d.edge_weight);
    free(d.part);
    return status;
}
