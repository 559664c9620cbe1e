/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads options by their table, and makes of them contexts, limits and options
 * of runs.
 */
#include "tools/options.h"

#include "tools/clock.h"
#include "tools/differentiate.h"
#include "tools/number.h"

#include "eddy/partition.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define FOR_ALL                                                                \
    (EDDY__FOR_RUN | EDDY__FOR_VERIFY | EDDY__FOR_BENCH | EDDY__FOR_INSPECT |  \
     FOR_TRACES)
#define FOR_TRACES (EDDY__FOR_TRACE | EDDY__FOR_EXPLAIN)
#define FOR_CUTS (EDDY__FOR_RUN | EDDY__FOR_PARTITION | FOR_TRACES)
#define FOR_GRAPH (EDDY__FOR_RUN | EDDY__FOR_BENCH | FOR_TRACES)
/* Those that say what a plan is to compute. */
#define FOR_PLAN (FOR_GRAPH | EDDY__FOR_INSPECT | EDDY__FOR_PARTITION)
/* Those that write a file. */
#define FOR_FILES (EDDY__FOR_GRAD | EDDY__FOR_CONVERT | EDDY__FOR_PARTITION)
#define FOR_RUNS (FOR_GRAPH | EDDY__FOR_VERIFY)

/* More workers than this are a slip of the keyboard. */
#define MOST_WORKERS 1024
#define MOST_REPEATS 1000000

typedef enum option_kind {
    KIND_FLAG,
    KIND_LIST,
    KIND_TEXT,
    KIND_COUNT, /* from `least` to `most` */
    KIND_SECONDS,
    KIND_EXECUTOR,
    KIND_OPTIMIZE
} option_kind;

typedef struct option {
    const char *name;  /* after the two dashes */
    const char *value; /* what the help calls its value; NULL for a flag */
    option_kind kind;
    unsigned subcommands;
    size_t offset; /* of its member of eddy__options */
    uint64_t least, most;
    const char *help;
} option;

#define MEMBER(name) offsetof(eddy__options, name)

static const option options_table[] = {
    {"feed", "NAME=VALUE", KIND_LIST, FOR_PLAN, MEMBER(feeds), 0, 0,
     "feed a tensor: @FILE.npy or a JSON literal; repeats"},
    {"fetch", "NAME", KIND_LIST, FOR_PLAN | EDDY__FOR_CONVERT, MEMBER(fetches),
     0, 0, "a tensor to compute, node or node:index; repeats"},
    {"target", "NAME", KIND_LIST, FOR_PLAN, MEMBER(targets), 0, 0,
     "a node to run without fetching it; repeats"},
    {"init", "NAME", KIND_LIST, FOR_GRAPH, MEMBER(init), 0, 0,
     "a node to run before, in the same session; repeats"},
    {"signature", "NAME", KIND_TEXT, FOR_GRAPH, MEMBER(signature), 0, 0,
     "what to call of a SavedModel (serving_default)"},
    {"out", "DIR", KIND_TEXT, EDDY__FOR_RUN, MEMBER(out), 0, 0,
     "also write each fetch to DIR/NAME.npy"},
    {"forward", NULL, KIND_FLAG, EDDY__FOR_VERIFY, MEMBER(forward), 0, 0,
     "leave out the gradients that cases record"},
    {"record", NULL, KIND_FLAG, EDDY__FOR_VERIFY, MEMBER(record), 0, 0,
     "record each run, and hold the record against counts"},
    {"repeat", "N", KIND_COUNT, EDDY__FOR_BENCH, MEMBER(repeat), 1,
     MOST_REPEATS, "timed executions after one to warm up (10)"},
    {"json", NULL, KIND_FLAG, EDDY__FOR_BENCH | EDDY__FOR_INSPECT, MEMBER(json),
     0, 0, "print one JSON object"},
    {"dot", NULL, KIND_FLAG, EDDY__FOR_INSPECT, MEMBER(dot), 0, 0,
     "print the graph for Graphviz instead"},
    {"svg", NULL, KIND_FLAG, EDDY__FOR_INSPECT, MEMBER(svg), 0, 0,
     "print a drawing of the graph instead"},
    {"html", NULL, KIND_FLAG, EDDY__FOR_INSPECT, MEMBER(html), 0, 0,
     "the same as a page in which frames open"},
    {"linear", NULL, KIND_FLAG, EDDY__FOR_INSPECT, MEMBER(linear), 0, 0,
     "print what the linear executor makes of the loops"},
    {"native", NULL, KIND_FLAG, EDDY__FOR_INSPECT, MEMBER(native), 0, 0,
     "print the machine code of the loops"},
    {"perf-map", NULL, KIND_FLAG, EDDY__FOR_RUN | EDDY__FOR_BENCH,
     MEMBER(perf_map), 0, 0, "name machine code for perf in /tmp/perf-PID.map"},
    {"dump-after", "PASS", KIND_TEXT, EDDY__FOR_INSPECT, MEMBER(dump_after), 0,
     0, "print the graph as this pass of planning leaves it"},
    {"place", "FILE", KIND_TEXT, FOR_CUTS, MEMBER(place), 0, 0,
     "which nodes are on which rank: lines `PREFIX rank N`"},
    {"ranks", "N", KIND_COUNT, FOR_CUTS | EDDY__FOR_VERIFY, MEMBER(n_ranks), 1,
     EDDY_MAX_RANKS, "cut the graph for so many ranks"},
    {"replicated", NULL, KIND_FLAG, FOR_CUTS, MEMBER(replicated), 0, 0,
     "the whole graph on each rank, joined by collectives"},
    {"deterministic", NULL, KIND_FLAG, FOR_CUTS, MEMBER(deterministic), 0, 0,
     "the same bits in every run, which ranks give anyway"},
    {"processes", NULL, KIND_FLAG, EDDY__FOR_RUN | EDDY__FOR_VERIFY,
     MEMBER(processes), 0, 0, "make each rank a process, and start them"},
    {"mpi", NULL, KIND_FLAG, EDDY__FOR_RUN | EDDY__FOR_VERIFY, MEMBER(mpi), 0,
     0, "be one rank, of processes that mpirun has started"},
    {"socket", "DIR", KIND_TEXT, EDDY__FOR_RUN | EDDY__FOR_VERIFY,
     MEMBER(socket), 0, 0, "be one rank, of processes that meet in DIR"},
    {"rank", "R", KIND_COUNT, EDDY__FOR_RUN | EDDY__FOR_VERIFY, MEMBER(rank), 0,
     EDDY_MAX_RANKS - 1, "which of them, from 0 on (0)"},
    {"seed", "N", KIND_COUNT, FOR_CUTS | EDDY__FOR_VERIFY, MEMBER(seed), 1,
     UINT32_MAX, "draw ranks without --place, and the order of messages"},
    {"literal", NULL, KIND_FLAG, FOR_CUTS | EDDY__FOR_VERIFY, MEMBER(literal),
     0, 0, "send constants and invariants too, as TensorFlow does"},
    {"workers", "N", KIND_COUNT, FOR_ALL, MEMBER(n_workers), 0, MOST_WORKERS,
     "threads beside the caller's own; 0 is none (0)"},
    {"executor", "auto|dynamic|linear|native", KIND_EXECUTOR, FOR_ALL,
     MEMBER(executor), 0, 0, "how frames are run (auto)"},
    {"optimize", "none|exact|full", KIND_OPTIMIZE, FOR_ALL, MEMBER(optimize), 0,
     0, "how much the graph may be rewritten (exact)"},
    {"without", "PASS", KIND_LIST, FOR_ALL, MEMBER(without), 0, 0,
     "leave out a pass of planning that saves work; repeats"},
    {"parallel-iterations", "N", KIND_COUNT, FOR_RUNS,
     MEMBER(parallel_iterations), 1, INT64_MAX,
     "replaces parallel_iterations of every frame"},
    {"checkpoint", "N", KIND_COUNT, EDDY__FOR_RUN, MEMBER(checkpoint), 1,
     INT64_MAX, "save variables and the loop every N trips"},
    {"checkpoint-dir", "DIR", KIND_TEXT, EDDY__FOR_RUN,
     MEMBER(checkpoint_folder), 0, 0, "where that is saved"},
    {"checkpoint-loop", "FRAME", KIND_TEXT, EDDY__FOR_RUN,
     MEMBER(checkpoint_loop), 0, 0, "which loop, if there are several"},
    {"resume", NULL, KIND_FLAG, EDDY__FOR_RUN, MEMBER(resume), 0, 0,
     "go on from the newest checkpoint in DIR, if any"},
    {"max-iterations", "N", KIND_COUNT, FOR_ALL, MEMBER(max_iterations), 0,
     UINT64_MAX, "fail after so many iterations; 0 is no limit (0)"},
    {"max-bytes", "N", KIND_COUNT, FOR_ALL | FOR_FILES, MEMBER(max_bytes), 0,
     UINT64_MAX, "fail when a step holds more memory; 0 is no limit (0)"},
    {"max-spill-bytes", "N", KIND_COUNT, FOR_RUNS, MEMBER(max_spill_bytes), 0,
     UINT64_MAX, "fail when tapes spill more; 0 is no limit (0)"},
    {"spill-above", "N", KIND_COUNT, FOR_RUNS, MEMBER(spill_above), 0,
     UINT64_MAX, "what they hold; 0: half of --max-bytes, or 64 MiB"},
    {"spill-folder", "DIR", KIND_TEXT, FOR_RUNS, MEMBER(spill_folder), 0, 0,
     "where that file is made (TMPDIR)"},
    {"timeout", "S", KIND_SECONDS, FOR_ALL | FOR_FILES, MEMBER(timeout_ns), 0,
     0, "fail after so many seconds; 0 is no limit (0)"},
    {"keep-denormals", NULL, KIND_FLAG, FOR_ALL, MEMBER(keep_denormals), 0, 0,
     "do not flush denormal numbers to zero"},
    {"external-data", NULL, KIND_FLAG, FOR_ALL | FOR_FILES,
     MEMBER(external_data), 0, 0,
     "let a model read tensors from files beneath its folder"},
    {"ys", "NAME", KIND_LIST, EDDY__FOR_GRAD, MEMBER(ys), 0, 0,
     "a tensor to differentiate; repeats"},
    {"xs", "NAME", KIND_LIST, EDDY__FOR_GRAD, MEMBER(xs), 0, 0,
     "a tensor to differentiate with respect to; repeats"},
    {"grad-ys", "NAME", KIND_LIST, EDDY__FOR_GRAD, MEMBER(grad_ys), 0, 0,
     "a tensor to start from, not ones, one an --ys; repeats"},
    {"stop", "NAME", KIND_LIST, EDDY__FOR_GRAD, MEMBER(stop), 0, 0,
     "a tensor to take as a constant; repeats"},
    {"order", "K", KIND_COUNT, EDDY__FOR_GRAD, MEMBER(order), 1,
     EDDY__MOST_ORDERS, "gradients of the sum of the gradients, and so on (1)"},
    {"tape", "[LOOP=]POLICY", KIND_LIST, EDDY__FOR_GRAD | EDDY__FOR_VERIFY,
     MEMBER(tapes), 0, 0,
     "keep, recompute, spill or auto, of all or one; repeats"},
    {"tape-bytes", "N", KIND_COUNT, EDDY__FOR_GRAD | EDDY__FOR_VERIFY,
     MEMBER(tape_bytes), 0, UINT64_MAX,
     "of auto or recompute; 0: half of --max-bytes"},
    {"opset", "N", KIND_COUNT, EDDY__FOR_CONVERT, MEMBER(opset), 14, 28,
     "of ONNX's operators (18)"},
    {"ir-version", "N", KIND_COUNT, EDDY__FOR_CONVERT, MEMBER(ir_version), 7,
     14, "of the ONNX model (the first that has the opset)"},
    {"output", "OUT", KIND_TEXT, FOR_FILES, MEMBER(out), 0, 0,
     "the file, or the folder, to write, also -o OUT"},
    {"output", "FILE", KIND_TEXT, EDDY__FOR_TRACE, MEMBER(trace), 0, 0,
     "the file to write, also -o FILE; its ending: format"},
    {"trace", "FILE", KIND_TEXT, EDDY__FOR_RUN, MEMBER(trace), 0, 0,
     "also record the run and write it, as `eddy trace` does"},
    {"frame", "NAME", KIND_TEXT, FOR_TRACES, MEMBER(frame), 0, 0,
     "record only this frame and what is in it"},
    {"iterations", "FIRST..LAST", KIND_TEXT, FOR_TRACES, MEMBER(iterations), 0,
     0, "record only these iterations of it"},
    {"node", "NAME", KIND_LIST, FOR_TRACES, MEMBER(nodes), 0, 0,
     "record only this node; NAME* is all that begin so"},
    {"max-records", "N", KIND_COUNT, FOR_TRACES, MEMBER(max_records), 1,
     UINT32_MAX - 1, "keep at most so many records (1,000,000)"},
    {"keep-last", NULL, KIND_FLAG, FOR_TRACES, MEMBER(keep_last), 0, 0,
     "beyond that keep the last ones, not the first"},
    {"no-values", NULL, KIND_FLAG, EDDY__FOR_TRACE, MEMBER(no_values), 0, 0,
     "keep no summaries of values"},
    {"check-numerics", NULL, KIND_FLAG, FOR_TRACES, MEMBER(check_numerics), 0,
     0, "stop at the first NaN or infinity of finite inputs"},
    {"at", "PATH", KIND_TEXT, FOR_TRACES, MEMBER(at), 0, 0,
     "the iteration that is meant: outer[3]/inner[17]"},
    {"help", NULL, KIND_FLAG, FOR_ALL | FOR_FILES | EDDY__FOR_DIFF,
     MEMBER(help), 0, 0, "print this help"},
};

#define N_OPTIONS (sizeof options_table / sizeof options_table[0])

/* Finds the option that the `length` first bytes of `name` name, or NULL. */
static const option *find(unsigned subcommand, const char *name, size_t length)
{
    for (size_t i = 0; i < N_OPTIONS; i++) {
        const option *o = &options_table[i];

        if ((o->subcommands & subcommand) != 0 && strlen(o->name) == length &&
            memcmp(o->name, name, length) == 0)
            return o;
    }
    return NULL;
}

bool eddy__option_at(unsigned subcommand, size_t i, eddy__option_info *out_info)
{
    for (size_t k = 0; k < N_OPTIONS; k++) {
        const option *o = &options_table[k];

        if ((o->subcommands & subcommand) == 0 || i-- > 0)
            continue;
        *out_info = (eddy__option_info){o->name, o->value, o->help};
        return true;
    }
    return false;
}

static eddy__exit refuse(const option *o, const char *value)
{
    eddy__message_complain("--%s: '%s' is not %s", o->name, value, o->value);
    return EDDY__EXIT_USAGE;
}

static eddy__exit set_executor(const option *o, const char *value,
                               eddy_plan_executor *out_executor)
{
    if (strcmp(value, "auto") == 0)
        *out_executor = EDDY_EXECUTOR_AUTO;
    else if (strcmp(value, "dynamic") == 0)
        *out_executor = EDDY_EXECUTOR_DYNAMIC;
    else if (strcmp(value, "linear") == 0)
        *out_executor = EDDY_EXECUTOR_LINEAR;
    else if (strcmp(value, "native") == 0)
        *out_executor = EDDY_EXECUTOR_NATIVE;
    else
        return refuse(o, value);
    return EDDY__EXIT_DONE;
}

static eddy__exit set_optimize(const option *o, const char *value,
                               eddy_optimize *out_optimize)
{
    if (strcmp(value, "none") == 0)
        *out_optimize = EDDY_OPTIMIZE_NONE;
    else if (strcmp(value, "exact") == 0)
        *out_optimize = EDDY_OPTIMIZE_EXACT;
    else if (strcmp(value, "full") == 0)
        *out_optimize = EDDY_OPTIMIZE_FULL;
    else
        return refuse(o, value);
    return EDDY__EXIT_DONE;
}

static eddy__exit set_count(const option *o, const char *value,
                            uint64_t *out_count)
{
    uint64_t count;

    if (!eddy__number_read_count(value, o->most, &count) || count < o->least) {
        eddy__message_complain(
            "--%s: '%s' is not a whole number from %llu to %llu", o->name,
            value, (unsigned long long)o->least, (unsigned long long)o->most);
        return EDDY__EXIT_USAGE;
    }
    *out_count = count;
    return EDDY__EXIT_DONE;
}

/* Requires: a value unless the option is a flag. */
static eddy__exit set(eddy__options *options, const option *o,
                      const char *value)
{
    void *member = (char *)options + o->offset;
    eddy__texts *list = member;

    switch (o->kind) {
    case KIND_FLAG:
        *(bool *)member = true;
        return EDDY__EXIT_DONE;
    case KIND_LIST:
        list->items[list->n++] = value;
        return EDDY__EXIT_DONE;
    case KIND_TEXT:
        *(const char **)member = value;
        return EDDY__EXIT_DONE;
    case KIND_COUNT:
        return set_count(o, value, member);
    case KIND_SECONDS:
        if (eddy__number_read_seconds(value, member))
            return EDDY__EXIT_DONE;
        eddy__message_complain("--%s: '%s' is not a number of seconds", o->name,
                               value);
        return EDDY__EXIT_USAGE;
    case KIND_EXECUTOR:
        return set_executor(o, value, member);
    case KIND_OPTIMIZE:
        return set_optimize(o, value, member);
    }
    return EDDY__EXIT_USAGE;
}

/*
 * Takes the option at argv[*at], which begins with two dashes or is -o, and its
 * value: what follows a '=' in it, or the next argument.
 */
static eddy__exit take_option(eddy__options *options, unsigned subcommand,
                              int argc, char *const *argv, int *at)
{
    const char *name = argv[*at][1] == 'o' ? "output" : argv[*at] + 2;
    const size_t length = strcspn(name, "=");
    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    const option *o = find(subcommand, name, length);

    if (o == NULL) {
        eddy__message_complain("unknown option %.*s",
                               (int)strcspn(argv[*at], "="), argv[*at]);
        return EDDY__EXIT_USAGE;
    }
    if (o->kind == KIND_FLAG && value != NULL) {
        eddy__message_complain("--%s takes no value", o->name);
        return EDDY__EXIT_USAGE;
    }
    if (o->kind != KIND_FLAG && value == NULL) {
        if (*at + 1 == argc) {
            eddy__message_complain("--%s wants a value: %s", o->name, o->value);
            return EDDY__EXIT_USAGE;
        }
        value = argv[++*at];
    }
    return set(options, o, value);
}

static bool allocate(eddy__texts *list, size_t n)
{
    list->items = calloc(n, sizeof *list->items);
    return list->items != NULL;
}

static bool allocate_all(eddy__options *options, size_t n)
{
    return allocate(&options->paths, n) && allocate(&options->feeds, n) &&
           allocate(&options->fetches, n) && allocate(&options->targets, n) &&
           allocate(&options->init, n) && allocate(&options->ys, n) &&
           allocate(&options->xs, n) && allocate(&options->grad_ys, n) &&
           allocate(&options->stop, n) && allocate(&options->tapes, n) &&
           allocate(&options->without, n) && allocate(&options->nodes, n);
}

eddy__exit eddy__options_init(eddy__options *out_options, unsigned subcommand,
                              int argc, char *const *argv)
{
    /* No list is longer than the command line. */
    const size_t n = (size_t)argc + 1;
    eddy__exit status = EDDY__EXIT_DONE;
    bool only_paths = false;

    *out_options = (eddy__options){.repeat = 10,
                                   .order = 1,
                                   .subcommand = subcommand,
                                   .begin_ns = eddy__clock_ns()};
    if (!allocate_all(out_options, n)) {
        eddy__message_complain("out of memory");
        return EDDY__EXIT_FAILED;
    }
    for (int i = 0; i < argc && status == EDDY__EXIT_DONE; i++) {
        if (only_paths || argv[i][0] != '-' || argv[i][1] == '\0') {
            out_options->paths.items[out_options->paths.n++] = argv[i];
        } else if (strcmp(argv[i], "--") == 0) {
            only_paths = true;
        } else if (argv[i][1] == '-' || strcmp(argv[i], "-o") == 0) {
            status = take_option(out_options, subcommand, argc, argv, &i);
        } else {
            eddy__message_complain("unknown option %s", argv[i]);
            status = EDDY__EXIT_USAGE;
        }
    }
    return status;
}

void eddy__options_deinit(eddy__options *options)
{
    free(options->paths.items);
    free(options->feeds.items);
    free(options->fetches.items);
    free(options->targets.items);
    free(options->init.items);
    free(options->ys.items);
    free(options->xs.items);
    free(options->grad_ys.items);
    free(options->stop.items);
    free(options->tapes.items);
    free(options->without.items);
    free(options->nodes.items);
    *options = (eddy__options){.repeat = 0};
}

void eddy__options_help(unsigned subcommand, FILE *stream)
{
    static const int column = 26;

    fputs("\nOptions:\n", stream);
    for (size_t i = 0; i < N_OPTIONS; i++) {
        const option *o = &options_table[i];
        int used;

        if ((o->subcommands & subcommand) == 0)
            continue;
        used =
            fprintf(stream, "  --%s%s%s", o->name, o->value != NULL ? " " : "",
                    o->value != NULL ? o->value : "");
        if (used >= column) {
            fputc('\n', stream);
            used = 0;
        }
        fprintf(stream, "%*s%s\n", column - used, "", o->help);
    }
}

static void write_log(void *user, eddy_log_level level, const char *line)
{
    (void)user;
    if (level == EDDY_LOG_WARNING)
        eddy__message_complain("warning: %s", line);
    else
        fprintf(stderr, "%s\n", line);
}

eddy_status eddy__options_context(const eddy__options *options,
                                  eddy_context **out_ctx, eddy_error *err)
{
    const eddy_context_options context = {
        .size = sizeof context,
        .logger = {.log = write_log},
        .n_workers = (uint32_t)options->n_workers,
        .blas_threads = 1,
    };

    return eddy_context_create(&context, out_ctx, err);
}

/* At least one nanosecond, since 0 is no limit. */
static uint64_t time_left(const eddy__options *options)
{
    const uint64_t passed = eddy__clock_ns() - options->begin_ns;

    if (options->timeout_ns == 0 || options->subcommand == EDDY__FOR_VERIFY)
        return options->timeout_ns;
    return passed < options->timeout_ns ? options->timeout_ns - passed : 1;
}

eddy_limits eddy__options_limits(const eddy__options *options)
{
    return (eddy_limits){
        .size = sizeof(eddy_limits),
        .max_bytes = options->max_bytes,
        .timeout_ns = time_left(options),
    };
}

eddy_checkpoint eddy__options_checkpoint(const eddy__options *options)
{
    return (eddy_checkpoint){
        .size = sizeof(eddy_checkpoint),
        .folder = options->checkpoint_folder,
        .every = (int64_t)options->checkpoint,
        .resume = options->resume,
        .loop = options->checkpoint_loop,
    };
}

eddy_run_options eddy__options_run(const eddy__options *options)
{
    return (eddy_run_options){
        .size = sizeof(eddy_run_options),
        .timeout_ns = options->subcommand == EDDY__FOR_BENCH
                          ? options->timeout_ns
                          : time_left(options),
        .max_iterations = options->max_iterations,
        .spill_above = options->spill_above,
        .max_spill_bytes = options->max_spill_bytes,
        .spill_folder = options->spill_folder,
        .max_bytes = options->max_bytes,
        .keep_denormals = options->keep_denormals,
    };
}
