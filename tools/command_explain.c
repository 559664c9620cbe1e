/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `eddy explain`: why a node is dead, where a NaN comes from, what a run waits
 * for, what takes its time.
 */
#include "tools/commands.h"

#include "tools/program.h"
#include "tools/recording.h"

#include "eddy/explain.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN_LINKS 40
#define SHOWN_WAITS 10
/* Beyond, the longest chain would take too long to find. */
#define MOST_TIMED 300000

static const char *name_of(const eddy_trace *trace, size_t record)
{
    return eddy_trace_node_at(trace, eddy_trace_record_at(trace, record)->node)
        ->name;
}

static void print_place(const eddy_trace *trace, uint32_t frame,
                        int64_t iteration)
{
    char path[512];

    eddy_trace_path(trace, frame, iteration, path, sizeof path);
    if (path[0] != '\0')
        printf(" in %s", path);
}

/* The node of a record, where, and its value. */
static void print_record(const eddy_trace *trace, size_t i)
{
    static const char *const states[] = {"live", "dead", "failed"};
    const eddy_trace_record *r = eddy_trace_record_at(trace, i);
    const eddy_trace_value *value = eddy_trace_value_at(trace, i, 0);
    char text[192];

    printf("%s (%s)", name_of(trace, i),
           eddy_trace_node_at(trace, r->node)->op);
    print_place(trace, r->frame, r->iteration);
    printf(": %s", states[r->state]);
    if (value != NULL) {
        eddy_trace_value_format(value, text, sizeof text);
        printf(", %s", text);
    }
}

static void print_inputs(const eddy_trace *trace, size_t i)
{
    const eddy_trace_record *r = eddy_trace_record_at(trace, i);
    const eddy_trace_node *node = eddy_trace_node_at(trace, r->node);

    for (uint32_t k = 0; k < node->n_inputs; k++) {
        const size_t from = eddy_trace_producer(trace, i, k);

        printf("    reads ");
        if (from == EDDY_TRACE_NOT_FOUND)
            printf("%s", eddy_trace_node_at(trace, node->inputs[k].node)->name);
        else
            print_record(trace, from);
        putchar('\n');
    }
}

/* ---- one node ---- */

static void explain_death(const eddy_trace *trace, size_t i)
{
    eddy_trace_link links[SHOWN_LINKS];
    eddy_trace_end end;
    const size_t n = eddy_trace_why_dead(trace, i, links, SHOWN_LINKS, &end);
    const eddy_trace_record *last;

    puts("why it is dead:");
    for (size_t k = 0; k < n; k++) {
        printf("  ");
        print_record(trace, links[k].record);
        putchar('\n');
    }
    if (end == EDDY_TRACE_END_SWITCH) {
        last = eddy_trace_record_at(trace, links[n - 1].record);
        printf("  that Switch took output %u, so what reads another is dead\n",
               last->output);
        print_inputs(trace, links[n - 1].record);
    } else if (end == EDDY_TRACE_END_CUT) {
        puts("  and so on");
    } else {
        puts("  what killed it was not recorded");
    }
}

static void explain_origin(const eddy_trace *trace, size_t i)
{
    const size_t capacity = eddy_trace_records(trace);
    eddy_trace_link *links = calloc(capacity + 1, sizeof *links);
    eddy_trace_end end;
    size_t n;

    if (links == NULL) {
        eddy__message_complain("out of memory");
        return;
    }
    n = eddy_trace_origin(trace, i, links, capacity, &end);
    if (n > 0) {
        printf("where the NaN or infinity comes from, %zu steps back:\n  ",
               n - 1);
        print_record(trace, links[n - 1].record);
        putchar('\n');
        print_inputs(trace, links[n - 1].record);
        if (end == EDDY_TRACE_END_UNKNOWN)
            puts("    what else it reads was not recorded");
        if (n > 1)
            puts("  from there:");
        for (size_t k = n - 1; k-- > 0 && n - 1 - k <= SHOWN_LINKS;) {
            printf("    ");
            print_record(trace, links[k].record);
            putchar('\n');
        }
        if (n - 1 > SHOWN_LINKS)
            puts("    and so on");
    }
    free(links);
}

static void print_summary(const eddy_trace *trace, uint32_t id)
{
    const eddy_trace_node *node = eddy_trace_node_at(trace, id);
    const uint32_t *records;
    const size_t n = eddy_trace_node_records(trace, id, &records);
    size_t n_dead = 0;
    uint64_t ns = 0;

    for (size_t i = 0; i < n; i++) {
        const eddy_trace_record *r = eddy_trace_record_at(trace, records[i]);

        n_dead += r->state == EDDY_TRACE_DEAD;
        ns += r->duration_ns;
    }
    printf("%s (%s): %zu executions, %zu dead, %.1f us in all\n", node->name,
           node->op, n, n_dead, (double)ns / 1e3);
}

/* The execution that is asked for, else one that is odd, else the last. */
static size_t choose_record(const eddy_trace *trace, uint32_t id,
                            const char *path)
{
    const uint32_t *records;
    const size_t n = eddy_trace_node_records(trace, id, &records);
    uint32_t frame;
    int64_t iteration;

    if (path != NULL)
        return eddy__recording_find(trace, path, &frame, &iteration)
                   ? eddy_trace_find(trace, id, frame, iteration)
                   : EDDY_TRACE_NOT_FOUND;
    for (size_t i = 0; i < n; i++)
        if (eddy_trace_record_at(trace, records[i])->is_non_finite)
            return records[i];
    for (size_t i = 0; i < n; i++)
        if (eddy_trace_record_at(trace, records[i])->state == EDDY_TRACE_DEAD)
            return records[i];
    return n > 0 ? records[n - 1] : EDDY_TRACE_NOT_FOUND;
}

/* ---- the whole run ---- */

static void print_waits(const eddy_trace *trace)
{
    eddy_trace_wait waits[SHOWN_WAITS];
    const size_t n = eddy_trace_waiting(trace, waits, SHOWN_WAITS);

    if (n > 0)
        printf("%zu nodes had got some of what they read, and not all:\n", n);
    for (size_t i = 0; i < n && i < SHOWN_WAITS; i++) {
        const eddy_trace_node *node = eddy_trace_node_at(trace, waits[i].node);

        printf("  %s", node->name);
        print_place(trace, waits[i].frame, waits[i].iteration);
        if (waits[i].input != EDDY_TRACE_NONE)
            printf(": no token from %s",
                   eddy_trace_node_at(trace, node->inputs[waits[i].input].node)
                       ->name);
        putchar('\n');
    }
}

/* The last values of a loop's predicate, and of what that reads. */
static void print_predicate(const eddy_trace *trace, uint32_t loop_cond)
{
    const uint32_t *records;
    const size_t n = eddy_trace_node_records(trace, loop_cond, &records);

    for (size_t i = n > 2 ? n - 2 : 0; i < n; i++) {
        const size_t from = eddy_trace_producer(trace, records[i], 0);

        printf("  goes on by ");
        print_record(trace, from != EDDY_TRACE_NOT_FOUND ? from : records[i]);
        putchar('\n');
        if (from != EDDY_TRACE_NOT_FOUND)
            print_inputs(trace, from);
    }
}

static void print_loops(const eddy_trace *trace)
{
    for (uint32_t id = 0; id < eddy_trace_nodes(trace); id++) {
        const eddy_trace_node *node = eddy_trace_node_at(trace, id);
        const uint32_t *records;

        if (node->kind != EDDY_TRACE_LOOP_COND)
            continue;
        printf("loop %s: %zu iterations, parallel_iterations %u\n",
               eddy_trace_static_frame_at(trace, node->frame)->name,
               eddy_trace_node_records(trace, id, &records),
               eddy_trace_static_frame_at(trace, node->frame)
                   ->parallel_iterations);
        print_predicate(trace, id);
    }
}

/* How long the longest chain is with another bound for a loop. */
static uint64_t time_with(eddy_trace *trace, uint32_t frame, uint32_t parallel)
{
    eddy_error err = {.code = EDDY_OK};
    uint64_t ns = 0;
    size_t n = 0;

    if (eddy_trace_critical(trace, frame, parallel, NULL, 0, &n, &ns, &err) !=
        EDDY_OK)
        return 0;
    return ns;
}

/* The least bound with which the chain is as good as with none. */
static void advise(eddy_trace *trace, uint32_t frame, uint64_t now)
{
    const eddy_trace_static_frame *f = eddy_trace_static_frame_at(trace, frame);
    const uint64_t best = time_with(trace, frame, 4096);
    uint32_t parallel = 1;

    if (best == 0 || now == 0)
        return;
    while (parallel < 4096 &&
           (double)time_with(trace, frame, parallel) > 1.01 * (double)best)
        parallel *= 2;
    if ((double)best < 0.97 * (double)now)
        printf("  %s: parallel_iterations %u in place of %u would make it %.1f "
               "us\n",
               f->name, parallel, f->parallel_iterations, (double)best / 1e3);
    else
        printf("  %s: parallel_iterations %u is enough\n", f->name,
               parallel < f->parallel_iterations ? parallel
                                                 : f->parallel_iterations);
}

static void print_chain(eddy_trace *trace)
{
    const size_t capacity = eddy_trace_records(trace);
    eddy_trace_link *links = calloc(capacity + 1, sizeof *links);
    eddy_error err = {.code = EDDY_OK};
    uint64_t ns = 0;
    size_t n = 0;

    if (links == NULL ||
        eddy_trace_critical(trace, EDDY_TRACE_NONE, 1, links, capacity, &n, &ns,
                            &err) != EDDY_OK) {
        free(links);
        eddy__message_complain("out of memory");
        return;
    }
    printf("longest chain: %zu executions, %.1f of %.1f us; its last ones:\n",
           n, (double)ns / 1e3,
           (double)eddy_trace_total(trace).duration_ns / 1e3);
    for (size_t i = 0; i < n && i < 8; i++) {
        printf("  ");
        print_record(trace, links[i].record);
        putchar('\n');
    }
    free(links);
    for (uint32_t f = 1; f < eddy_trace_static_frames(trace); f++)
        advise(trace, f, ns);
}

static void explain_run(eddy_trace *trace)
{
    const eddy_trace_totals t = eddy_trace_total(trace);
    const size_t n = eddy_trace_records(trace);

    printf("%s: %llu live, %llu dead, %llu iterations, %llu frames\n",
           t.status == EDDY_OK ? "done" : eddy_status_name(t.status),
           (unsigned long long)t.live, (unsigned long long)t.dead,
           (unsigned long long)t.stats.iterations,
           (unsigned long long)t.stats.frames);
    if (t.status != EDDY_OK)
        print_waits(trace);
    print_loops(trace);
    for (size_t i = 0; i < n; i++)
        if (eddy_trace_record_at(trace, i)->is_non_finite) {
            printf("first NaN or infinity: ");
            print_record(trace, i);
            putchar('\n');
            explain_origin(trace, i);
            break;
        }
    if (t.status == EDDY_OK && n <= MOST_TIMED)
        print_chain(trace);
}

/* ---- a node, by name ---- */

static eddy__exit explain_node(eddy_trace *trace, const char *name,
                               const char *path)
{
    const uint32_t id = eddy_trace_find_node(trace, name);
    const eddy_trace_record *r;
    size_t i;

    if (id == EDDY_TRACE_NONE) {
        eddy__message_complain("the plan has no node '%s'", name);
        return EDDY__EXIT_USAGE;
    }
    print_summary(trace, id);
    i = choose_record(trace, id, path);
    if (i == EDDY_TRACE_NOT_FOUND) {
        printf("it did not run%s%s\n", path != NULL ? " in " : "",
               path != NULL ? path : "");
        /* What the run did in place of it may say why. */
        if (path == NULL)
            explain_run(trace);
        return EDDY__EXIT_DONE;
    }
    print_record(trace, i);
    putchar('\n');
    r = eddy_trace_record_at(trace, i);
    if (r->state == EDDY_TRACE_DEAD)
        explain_death(trace, i);
    else
        print_inputs(trace, i);
    if (r->is_non_finite)
        explain_origin(trace, i);
    return EDDY__EXIT_DONE;
}

/* ---- */

static eddy__exit execute(eddy__program *program, const eddy__options *options,
                          const char *node)
{
    eddy_error err = {.code = EDDY_OK};
    const eddy_status status =
        eddy__program_execute(program, options, NULL, &err);
    eddy__exit result = EDDY__EXIT_DONE;

    if (status != EDDY_OK)
        eddy__message_complain_error(options->paths.items[0], &err);
    if (program->trace == NULL)
        return EDDY__EXIT_FAILED;
    if (eddy_trace_index(program->trace, &err) != EDDY_OK) {
        eddy__message_complain_error(NULL, &err);
        return EDDY__EXIT_FAILED;
    }
    if (node != NULL)
        result = explain_node(program->trace, node, options->at);
    else
        explain_run(program->trace);
    return result;
}

static eddy__exit run(const eddy__options *options)
{
    eddy__options own = *options;
    eddy__program program;
    eddy__exit result;
    const char *node = NULL;

    if (own.paths.n == 2) {
        node = own.paths.items[1];
        own.paths.n = 1;
    }
    if (own.optimize == EDDY_OPTIMIZE_DEFAULT)
        own.optimize = EDDY_OPTIMIZE_NONE;
    result = eddy__program_load(&program, &own);
    if (result == EDDY__EXIT_DONE)
        result = eddy__program_prepare(&program, &own);
    if (result == EDDY__EXIT_DONE)
        result = execute(&program, &own, node);
    eddy__program_deinit(&program);
    return result;
}

const eddy__command eddy__command_explain = {
    .name = "explain",
    .arguments = "GRAPH [--feed NAME=VALUE]... [--fetch NAME]... [NODE]",
    .summary = "say why a node is dead, where a NaN is from",
    .details =
        "Runs GRAPH recorded, as `eddy trace` does, and answers.\n"
        "\n"
        "Of NODE, in the iteration of --at, else the first that is not\n"
        "finite, else the first that is dead: the chain from it to the Switch\n"
        "that killed it; or, for a NaN or an infinity, back through loops and\n"
        "the tape to the first node that made it of finite inputs.\n"
        "\n"
        "Without NODE: what a run that failed was waiting for, each loop with\n"
        "what its predicate last read, the first NaN, and the longest chain "
        "of\n"
        "work, with the parallel_iterations that would shorten it.\n"
        "\n"
        "A run that fails is explained as far as it came, with status 0.\n",
    .examples =
        "  eddy explain loop.pb --fetch y while/NextIteration\n"
        "  eddy explain grad.pb --fetch gradients/x/AddN gradients/x/AddN\n"
        "  eddy explain endless.pb --fetch y --timeout 1 --max-records 10000 "
        "--keep-last\n",
    .options = EDDY__FOR_EXPLAIN,
    .run = run,
};
