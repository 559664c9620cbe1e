/* SPDX-License-Identifier: Apache-2.0 */
/* `eddy bench`: how long a graph takes, and what one execution counts. */
#include "tools/commands.h"

#include "tools/clock.h"
#include "tools/program.h"
#include "tools/progress.h"

#include "eddy/version.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct figures {
    uint64_t first_ns; /* to warm up */
    /* Of processors, from before the context was made until that was done. */
    uint64_t first_cpu_ns;
    uint64_t min_ns, median_ns, max_ns;
    uint64_t cpu_ns;  /* the least, of all threads */
    eddy_stats stats; /* of the last execution */
    eddy_native_stats native;
} figures;

static int compare_times(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Executes once and takes what that took; the least time of processors. */
static eddy_status execute(eddy_run *run, uint64_t *out_ns, uint64_t *cpu_ns,
                           eddy_error *err)
{
    const uint64_t cpu = eddy__clock_cpu_ns(), begin = eddy__clock_ns();
    const eddy_status status = eddy_run_execute(run, err);
    uint64_t spent;

    *out_ns = eddy__clock_ns() - begin;
    spent = eddy__clock_cpu_ns() - cpu;
    *cpu_ns = spent < *cpu_ns ? spent : *cpu_ns;
    return status;
}

/* Executes once to warm up, then as often as `times` has room. */
static eddy_status measure(eddy_run *run, uint64_t *times, size_t n, figures *f,
                           eddy_error *err)
{
    eddy__progress progress;
    eddy_status status;

    f->cpu_ns = UINT64_MAX;
    status = execute(run, &f->first_ns, &f->cpu_ns, err);
    f->first_cpu_ns = eddy__clock_cpu_ns() - f->first_cpu_ns;
    f->cpu_ns = UINT64_MAX;
    eddy__progress_begin(&progress);
    for (size_t i = 0; i < n && status == EDDY_OK; i++) {
        eddy__progress_show(&progress, i, n, "executions");
        status = execute(run, &times[i], &f->cpu_ns, err);
    }
    eddy__progress_clear(&progress);
    return status;
}

static void summarise(const eddy__program *program, uint64_t *times, size_t n,
                      figures *f)
{
    const uint64_t low = (n - 1) / 2, high = n / 2;

    f->native = (eddy_native_stats){.size = sizeof f->native};
    eddy_plan_native_stats(program->plan, &f->native);
    qsort(times, n, sizeof *times, compare_times);
    f->min_ns = times[0];
    f->median_ns = times[low] + (times[high] - times[low]) / 2;
    f->max_ns = times[n - 1];
    f->stats = eddy_run_stats(program->run);
}

/* X(name, value): what is printed, in this order. */
#define FIGURE_MAP(X)                                                          \
    X(load_ns, program->load_ns)                                               \
    X(plan_ns, program->plan_ns)                                               \
    X(first_ns, f->first_ns)                                                   \
    X(first_cpu_ns, f->first_cpu_ns)                                           \
    X(min_ns, f->min_ns)                                                       \
    X(median_ns, f->median_ns)                                                 \
    X(max_ns, f->max_ns)                                                       \
    X(cpu_ns, f->cpu_ns)                                                       \
    X(live_executions, f->stats.live_executions)                               \
    X(dead_executions, f->stats.dead_executions)                               \
    X(iterations, f->stats.iterations)                                         \
    X(frames, f->stats.frames)                                                 \
    X(peak_bytes, f->stats.peak_bytes)                                         \
    X(allocations, f->stats.allocations)                                       \
    X(compile_ns, f->native.compile_ns)                                        \
    X(code_bytes, f->native.code_bytes)

/* The highest tier that some loop of the plan has come to. */
static const char *tier_of(const figures *f)
{
    return f->native.compiled > 0 ? "native"
           : f->native.linear > 0 ? "linear"
                                  : "dynamic";
}

/* Which libraries did products, as the library says it: no quotes in it. */
static const char *products_of(char *text, size_t size)
{
    (void)eddy_component_format(EDDY_COMPONENT_PRODUCTS, text, size);
    return text;
}

#define PRODUCTS_SIZE 1024

static void print_json(const eddy__program *program, const figures *f)
{
    const char *separator = "{";
    char products[PRODUCTS_SIZE];

#define X(name, value)                                                         \
    printf("%s\"" #name "\": %" PRIu64, separator, value);                     \
    separator = ", ";
    FIGURE_MAP(X)
#undef X
    printf(", \"tier\": \"%s\", \"products\": \"%s\"}\n", tier_of(f),
           products_of(products, sizeof products));
}

/* Nanoseconds in the unit that leaves one to three digits before the point. */
static void print_time(const char *what, uint64_t ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double value = (double)ns;
    size_t unit = 0;

    while (value >= 1000 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1000;
        unit++;
    }
    printf("%-18s%14.3f %s\n", what, value, units[unit]);
}

static void print_each(const char *what, uint64_t ns, uint64_t n)
{
    if (n > 0)
        printf("%-18s%14.3f ns\n", what, (double)ns / (double)n);
}

static void print_table(const eddy__program *program, const figures *f)
{
    char products[PRODUCTS_SIZE];

    print_time("load", program->load_ns);
    print_time("plan", program->plan_ns);
    print_time("first", f->first_ns);
    print_time("  all until then", f->first_cpu_ns);
    print_time("least", f->min_ns);
    print_time("median", f->median_ns);
    print_time("greatest", f->max_ns);
    print_time("processor time", f->cpu_ns);
    print_each("  a node", f->median_ns,
               f->stats.live_executions + f->stats.dead_executions);
    print_each("  an iteration", f->median_ns, f->stats.iterations);
    printf("%-18s%14" PRIu64 "\n", "live executions", f->stats.live_executions);
    printf("%-18s%14" PRIu64 "\n", "dead executions", f->stats.dead_executions);
    printf("%-18s%14" PRIu64 "\n", "iterations", f->stats.iterations);
    printf("%-18s%14" PRIu64 "\n", "frames", f->stats.frames);
    printf("%-18s%14" PRIu64 "\n", "peak bytes", f->stats.peak_bytes);
    printf("%-18s%14" PRIu64 "\n", "allocations", f->stats.allocations);
    printf("%-18s%14s\n", "tier", tier_of(f));
    if (f->native.compiled + f->native.compiled_chains > 0) {
        print_time("compiling", f->native.compile_ns);
        printf("%-18s%14" PRIu64 "\n", "code bytes", f->native.code_bytes);
    }
    printf("%-18s%s\n", "products", products_of(products, sizeof products));
}

/* `begun_ns`: of processors, when the command began. */
static eddy__exit bench(const eddy__program *program,
                        const eddy__options *options, uint64_t begun_ns)
{
    eddy_error err = {.code = EDDY_OK};
    const size_t n = (size_t)options->repeat;
    uint64_t *times = calloc(n, sizeof *times);
    figures f = {.first_cpu_ns = begun_ns};

    if (times == NULL) {
        eddy__message_complain("out of memory");
        return EDDY__EXIT_FAILED;
    }
    if (measure(program->run, times, n, &f, &err) != EDDY_OK) {
        eddy__message_complain_error(options->paths.items[0], &err);
        free(times);
        return EDDY__EXIT_FAILED;
    }
    summarise(program, times, n, &f);
    free(times);
    if (options->json)
        print_json(program, &f);
    else
        print_table(program, &f);
    return EDDY__EXIT_DONE;
}

static eddy__exit run(const eddy__options *options)
{
    const uint64_t begun_ns = eddy__clock_cpu_ns();
    eddy__program program;
    eddy__exit result = eddy__program_load(&program, options);

    if (result == EDDY__EXIT_DONE)
        result = eddy__program_prepare(&program, options);
    if (result == EDDY__EXIT_DONE)
        result = bench(&program, options, begun_ns);
    eddy__program_deinit(&program);
    return result;
}

const eddy__command eddy__command_bench = {
    .name = "bench",
    .arguments = "GRAPH [--feed NAME=VALUE]... --fetch NAME...",
    .summary = "time a graph and count what one execution does",
    .details =
        "Loads GRAPH, plans it, executes it once to warm up and then N times,\n"
        "with the feeds bound once.  Prints how long loading, planning, the\n"
        "first execution and the others took; processor time, of all threads:\n"
        "all until the first result, and the least of the others; and what\n"
        "the last execution counted: executions of nodes, live and dead,\n"
        "iterations and frames started, the most bytes held, and calls of the\n"
        "allocator; and the highest tier that a loop has come to (dynamic,\n"
        "linear, native), with what its machine code took to make; and which\n"
        "library did large products of float32, by what was measured\n"
        "(EDDY_PRODUCTS=openblas or onednn fixes it).\n"
        "\n"
        "NAME and VALUE are as for `eddy run`.\n",
    .examples =
        "  eddy bench counter.pb --fetch while/Exit\n"
        "  eddy bench model.pb --feed x=@x.npy --fetch y --repeat 100 --json\n"
        "  eddy bench model.pb --feed x=@x.npy --fetch y --workers 4\n",
    .options = EDDY__FOR_BENCH,
    .run = run,
};
