/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that were made to cost much, under the limits for files of unknown
 * origin:
 *
 *     hostile [NAME...]
 *
 * Each is a file, a GraphDef (.pb), an ONNX model (.onnx), an array (.npy) or
 * the description of a recorded case (.json), or else a family of
 * benchmarks/families.h or file_families.h, of one MiB; without any, it is all
 * of these.  A description is verified, beside the files of a case.  Else it is
 * loaded, planned with all that nothing reads as fetches, run, lowered,
 * unrolled by two, and differentiated in each way.  A row a file and a phase:
 * what the calling thread computed, in seconds, the longest time in which it
 * did not look whether to give up, the most that the phase held of the
 * context's allocator, in MiB, how far the process has grown, and how the phase
 * ended.  Beyond its bound a phase is marked; the last line is `N passed, N
 * failed`, a phase each.  Times are of the processor, so that other work on the
 * machine does not count.
 */
#include "benchmarks/families.h"
#include "tests/aid/counting_allocator.h"
#include "tests/campaign/file_families.h"
#include "tests/campaign/outcome.h"
#include "tests/campaign/request.h"

#include "eddy.h"
#include "tools/verify_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_FILE ((size_t)4 << 20)
#define MIB (1024.0 * 1024.0)
#define RUN_SECONDS 0.5
#define MAX_GAP 0.1

/* What a phase may take. */
typedef struct bound {
    double seconds, mib;
} bound;

static const bound planning = {1.0, 256}, deriving = {2.0, 256},
                   running = {RUN_SECONDS, 1024};

/* A file on its way. */
typedef struct subject {
    const char *name;
    counting_allocator counting;
    eddy_context *ctx;
    eddy_graph *graph, *lowered;
    eddy_onnx_model *model;
    eddy_plan *plan;
    eddy_output *feeds, *fetches, *xs, *ys, *results;
    eddy_tensor **values;
    size_t n_feeds, n_fetches, n_xs, n_ys;
    double begin, before, loaded;
    eddy_limits limits;    /* those of the preset, in time of the processor */
    double allowed, asked; /* seconds; when the clock was looked at last */
    double gap;            /* the longest time in which it was not */
    size_t n_bad;
    eddy_error err;
} subject;

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double grown_mib(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

static void *allocate_zeroed(size_t n, size_t size)
{
    void *memory = calloc(n + 1, size);

    if (memory == NULL)
        abort();
    return memory;
}

/* ---- phases ---- */

/* Is the time over?  Notes how long it was since somebody asked. */
static bool is_over(void *user)
{
    subject *s = user;
    const double now = cpu_seconds();

    if (now - s->asked > s->gap)
        s->gap = now - s->asked;
    s->asked = now;
    return now - s->begin > s->allowed;
}

/* The limits of a preset, by the processor's clock. */
static const eddy_limits *limits_of(subject *s, const eddy_limits *preset)
{
    s->limits = *preset;
    s->allowed = (double)preset->timeout_ns * 1e-9;
    s->limits.timeout_ns = 0;
    s->limits.is_cancelled = is_over;
    s->limits.user = s;
    return &s->limits;
}

static void begin(subject *s)
{
    s->before = (double)atomic_load(&s->counting.live_bytes);
    atomic_store(&s->counting.peak_bytes, atomic_load(&s->counting.live_bytes));
    s->err = (eddy_error){.code = EDDY_OK};
    s->gap = 0;
    s->begin = s->asked = cpu_seconds();
}

/* `earlier` seconds count too. */
static double end(subject *s, const char *phase, bound b, double earlier)
{
    const double now = cpu_seconds(), seconds = now - s->begin + earlier;
    const double mib =
        ((double)atomic_load(&s->counting.peak_bytes) - s->before) / MIB;
    bool is_bad;

    if (s->limits.is_cancelled != NULL && now - s->asked > s->gap)
        s->gap = now - s->asked;
    is_bad = seconds > b.seconds + MAX_GAP || mib > b.mib || s->gap > MAX_GAP;
    s->limits.is_cancelled = NULL;

    printf("%-5s %-28s %-10s %7.3f s %7.3f s %7.1f MiB %7.1f MiB  %.120s\n",
           is_bad ? "BAD" : "ok", s->name, phase, seconds, s->gap, mib,
           grown_mib(), s->err.code == EDDY_OK ? "" : s->err.message);
    fflush(stdout);
    s->n_bad += is_bad;
    return seconds;
}

static bool has_suffix(const char *name, const char *suffix)
{
    const size_t n = strlen(name), m = strlen(suffix);

    return n >= m && strcmp(name + n - m, suffix) == 0;
}

static void load_npy(subject *s, const void *bytes, size_t n)
{
    eddy_tensor *tensor = NULL;

    if (eddy_npy_read(s->ctx, bytes, n, &tensor, &s->err) == EDDY_OK)
        eddy_tensor_release(tensor);
}

static void load_onnx(subject *s, const void *bytes, size_t n)
{
    eddy_onnx_options options = {.size = sizeof options};

    eddy_onnx_options_untrusted(&options);
    options.limits = limits_of(s, options.limits);
    if (eddy_onnx_read(s->ctx, bytes, n, &options, &s->model, &s->err) ==
        EDDY_OK)
        s->graph = eddy_onnx_model_take_graph(s->model);
}

static void load(subject *s, const void *bytes, size_t n)
{
    eddy_graphdef_options options = {.size = sizeof options};

    begin(s);
    eddy_graphdef_options_untrusted(&options);
    options.limits = limits_of(s, options.limits);
    if (has_suffix(s->name, ".npy"))
        load_npy(s, bytes, n);
    else if (has_suffix(s->name, ".onnx"))
        load_onnx(s, bytes, n);
    else if (eddy_graphdef_read(s->ctx, bytes, n, &options, &s->graph,
                                &s->err) != EDDY_OK)
        s->graph = NULL;
    s->loaded = end(s, "load", planning, 0);
}

static eddy_shape feed_shape(const eddy_graph *graph, eddy_node node)
{
    const eddy_shape none = {.rank = 0};
    eddy_attr attr;
    eddy_shape shape;

    if (!eddy_graph_node_attr(graph, node, "shape", &attr) ||
        attr.kind != EDDY_ATTR_SHAPE || attr.is_list ||
        attr.as.shapes[0].rank < 0)
        return none;
    shape = attr.as.shapes[0];
    for (int32_t i = 0; i < shape.rank; i++) {
        if (shape.dims[i] < 0)
            shape.dims[i] = 2;
        if (shape.dims[i] > 65536)
            return none;
    }
    return shape;
}

static void feed(subject *s, eddy_node node)
{
    const eddy_output output = {node, 0};
    const eddy_shape shape = feed_shape(s->graph, node);

    s->values[s->n_feeds] = outcome_value(
        s->ctx, eddy_graph_output_dtype(s->graph, output), &shape);
    if (s->values[s->n_feeds] != NULL)
        s->feeds[s->n_feeds++] = output;
}

static void choose(subject *s)
{
    const size_t n = eddy_graph_size(s->graph);
    bool *is_read = request_read_nodes(s->graph);

    s->feeds = allocate_zeroed(n, sizeof *s->feeds);
    s->fetches = allocate_zeroed(n, sizeof *s->fetches);
    s->values = allocate_zeroed(n, sizeof(eddy_tensor *));
    for (eddy_node node = 0; node < n; node++) {
        const eddy_output output = {node, 0};
        const eddy_dtype dtype = eddy_graph_output_dtype(s->graph, output);

        if (request_is_value(dtype) &&
            strcmp(eddy_graph_node_op(s->graph, node), "Placeholder") == 0)
            feed(s, node);
        if (request_is_value(dtype) && !is_read[node])
            s->fetches[s->n_fetches++] = output;
    }
    free(is_read);
}

static eddy_plan *plan(subject *s, const eddy_graph *graph,
                       const eddy_output *fetches, size_t n_fetches,
                       const char *phase, double earlier)
{
    eddy_plan_options options = {.size = sizeof options,
                                 .feeds = s->feeds,
                                 .n_feeds = s->n_feeds,
                                 .fetches = fetches,
                                 .n_fetches = n_fetches};
    eddy_plan *made = NULL;

    eddy_plan_options_untrusted(&options);
    options.limits = limits_of(s, options.limits);
    begin(s);
    if (eddy_plan_create(graph, &options, &made, &s->err) != EDDY_OK)
        made = NULL;
    end(s, phase, planning, earlier);
    return made;
}

static void run(subject *s, eddy_plan *made, const char *phase)
{
    eddy_run_options options = {.size = sizeof options};
    eddy_tensor **out;

    if (made == NULL)
        return;
    out = allocate_zeroed(s->n_fetches, sizeof(eddy_tensor *));
    eddy_run_options_untrusted(&options);
    options.timeout_ns = (uint64_t)(RUN_SECONDS * 1e9);
    begin(s);
    if (eddy_plan_run(made, &options, s->values, out, &s->err) == EDDY_OK)
        for (size_t i = 0; i < s->n_fetches; i++)
            eddy_tensor_release(out[i]);
    end(s, phase, running, 0);
    free(out);
}

static void lower(subject *s)
{
    eddy_lower_options options = {.size = sizeof options};

    eddy_lower_options_untrusted(&options);
    options.limits = limits_of(s, options.limits);
    begin(s);
    if (eddy_graph_lower(s->graph, &options, &s->lowered, &s->err) != EDDY_OK)
        s->lowered = NULL;
    end(s, "lower", deriving, 0);
}

static void unroll(subject *s)
{
    eddy_unroll_options options = {.size = sizeof options, .trips = 2};
    eddy_graph *unrolled = NULL;

    eddy_unroll_options_untrusted(&options);
    options.limits = limits_of(s, options.limits);
    begin(s);
    if (eddy_graph_unroll(s->graph, &options, &unrolled, &s->err) == EDDY_OK)
        eddy_graph_destroy(unrolled);
    end(s, "unroll", deriving, 0);
}

/* ---- derivatives ---- */

static void find_ends(subject *s)
{
    const size_t n = eddy_graph_size(s->lowered);
    eddy_error err;

    s->xs = allocate_zeroed(n + s->n_fetches, sizeof *s->xs);
    s->ys = allocate_zeroed(s->n_fetches, sizeof *s->ys);
    s->n_xs = s->n_ys = 0;
    for (size_t i = 0; i < s->n_fetches; i++) {
        const eddy_output own = s->fetches[i];
        eddy_output y;

        if (eddy_graph_output_dtype(s->graph, own) == EDDY_FLOAT32 &&
            eddy_graph_find_output(s->lowered,
                                   eddy_graph_node_name(s->graph, own.node), &y,
                                   &err) == EDDY_OK)
            s->ys[s->n_ys++] = y;
    }
    for (eddy_node node = 0; node < n; node++) {
        const eddy_output x = {node, 0};
        const char *op = eddy_graph_node_op(s->lowered, node);

        if ((strcmp(op, "Placeholder") == 0 || strcmp(op, "Const") == 0) &&
            eddy_graph_output_dtype(s->lowered, x) == EDDY_FLOAT32)
            s->xs[s->n_xs++] = x;
    }
}

typedef enum way { REVERSE, TWICE, FORWARD, RECOMPUTE, N_WAYS } way;

static const char *const way_names[N_WAYS] = {"gradient", "second", "forward",
                                              "recompute"};

static size_t keep_made(eddy_output *outputs, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (outputs[i].node != EDDY_NO_NODE)
            outputs[kept++] = outputs[i];
    return kept;
}

static void derive(subject *s, way w)
{
    eddy_gradient_options options = {.size = sizeof options};
    const size_t n = w == FORWARD ? s->n_ys : s->n_xs;
    eddy_status status;

    if (w == RECOMPUTE)
        options.tape = EDDY_TAPE_RECOMPUTE;
    eddy_gradient_options_untrusted(&options);
    options.limits = limits_of(s, options.limits);
    begin(s);
    status = w == FORWARD
                 ? eddy_jvp(s->lowered, s->ys, s->n_ys, s->xs, s->n_xs, s->xs,
                            &options, s->results, &s->err)
                 : eddy_gradients(s->lowered, s->ys, s->n_ys, s->xs, s->n_xs,
                                  &options, s->results, &s->err);
    end(s, way_names[w], deriving, 0);
    if (status == EDDY_OK && w != TWICE) {
        const size_t kept = keep_made(s->results, n);
        eddy_plan *made =
            kept == 0 ? NULL
                      : plan(s, s->lowered, s->results, kept, "its plan", 0);

        eddy_plan_release(made);
        if (w == REVERSE && kept > 0) {
            memcpy(s->ys, s->results,
                   (kept < s->n_ys ? kept : s->n_ys) * sizeof *s->ys);
            s->n_ys = kept < s->n_ys ? kept : s->n_ys;
        }
    }
}

static void try_way(subject *s, way w)
{
    eddy_error err;

    eddy_graph_destroy(s->lowered);
    s->lowered = NULL;
    if (eddy_graph_lower(s->graph, NULL, &s->lowered, &err) != EDDY_OK)
        return;
    find_ends(s);
    s->results =
        allocate_zeroed(s->n_xs > s->n_ys ? s->n_xs : s->n_ys, sizeof *s->xs);
    if (s->n_xs > 0 && s->n_ys > 0) {
        derive(s, w);
        if (w == REVERSE && s->err.code == EDDY_OK)
            derive(s, TWICE);
    }
    free(s->results);
    free(s->xs);
    free(s->ys);
}

/* ---- a recorded case ---- */

#define CASE "tests/conformance/tf/gradients/o3_power"

static void write_beside(const char *folder, const char *name,
                         const void *bytes, size_t n)
{
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, n, file) != n || fclose(file) != 0)
        abort();
}

static void copy_beside(const char *folder, const char *name)
{
    static char bytes[1 << 16];
    char path[128];
    FILE *file;
    size_t n;

    (void)snprintf(path, sizeof path, CASE "/%s", name);
    file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "hostile: run it from the root of the tree\n");
        abort();
    }
    n = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    write_beside(folder, name, bytes, n);
}

/* The description stands beside the graph and the values of a case. */
static void try_case(subject *s, const void *bytes, size_t n)
{
    static const eddy__options options = {
        .max_iterations = 10000, .max_bytes = 1 << 26, .timeout_ns = 400000000};
    static const char *const names[] = {"case.json", "graph.pb", "in_0_x0.npy",
                                        "out_0_0.npy", "grad_0_0.npy"};
    char folder[] = "/tmp/eddy_hostile_XXXXXX", path[128];
    FILE *report = fopen("/dev/null", "w");

    if (report == NULL || mkdtemp(folder) == NULL)
        abort();
    write_beside(folder, names[0], bytes, n);
    for (size_t i = 1; i < sizeof names / sizeof names[0]; i++)
        copy_beside(folder, names[i]);
    begin(s);
    (void)eddy__verify_case(s->ctx, folder, &options, report);
    end(s, "verify", deriving, 0);
    (void)fclose(report);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

/* ---- a file ---- */

static void try_graph(subject *s)
{
    choose(s);
    s->plan = s->n_fetches == 0 ? NULL
                                : plan(s, s->graph, s->fetches, s->n_fetches,
                                       "plan", s->loaded);
    run(s, s->plan, "run");
    eddy_plan_release(s->plan);
    unroll(s);
    lower(s);
    if (s->lowered != NULL)
        for (int w = 0; w < N_WAYS; w++)
            if (w != TWICE)
                try_way(s, (way)w);
    for (size_t i = 0; i < s->n_feeds; i++)
        eddy_tensor_release(s->values[i]);
    begin(s);
    eddy_graph_destroy(s->lowered);
    eddy_graph_destroy(s->graph);
    end(s, "destroy", planning, 0);
}

static int try_bytes(const char *name, const void *bytes, size_t n)
{
    eddy_context_options options = {.size = sizeof options};
    subject s = {.name = name};

    counting_allocator_init(&s.counting);
    options.allocator = s.counting.allocator;
    if (eddy_context_create(&options, &s.ctx, &s.err) != EDDY_OK)
        abort();
    if (has_suffix(name, ".json"))
        try_case(&s, bytes, n);
    else
        load(&s, bytes, n);
    if (s.graph != NULL)
        try_graph(&s);
    eddy_onnx_model_destroy(s.model);
    eddy_context_destroy(s.ctx);
    return s.n_bad == 0 ? 0 : 1;
}

static int try_file(const char *path)
{
    static char bytes[MAX_FILE];
    const char *slash = strrchr(path, '/');
    FILE *file = fopen(path, "rb");
    size_t n;

    if (file == NULL)
        return 1;
    n = fread(bytes, 1, MAX_FILE, file);
    fclose(file);
    return try_bytes(slash ? slash + 1 : path, bytes, n);
}

static int try_family(const family *f)
{
    graph_writer w = {.n_nodes = 0};
    int result;

    f->write(&w, family_size(f, MIB));
    result = try_bytes(f->name, w.out.bytes, w.out.length);
    graph_writer_deinit(&w);
    return result;
}

static int try_file_family(const file_family *f)
{
    message_writer w = {.length = 0};
    int result;

    f->write(&w, file_family_size(f, (size_t)MIB));
    result = try_bytes(f->name, w.bytes, w.length);
    message_writer_deinit(&w);
    return result;
}

static int try_named(const char *name)
{
    for (size_t i = 0; i < n_families; i++)
        if (strcmp(families[i].name, name) == 0)
            return try_family(&families[i]);
    for (size_t i = 0; i < n_file_families; i++)
        if (strcmp(file_families[i].name, name) == 0)
            return try_file_family(&file_families[i]);
    return try_file(name);
}

/* In a process of its own, so that its growth is known, and its end. */
static bool try_apart(const char *name)
{
    const pid_t child = fork();
    int state = 0;

    if (child == 0)
        _exit(try_named(name));
    if (child < 0 || waitpid(child, &state, 0) != child)
        abort();
    if (WIFSIGNALED(state))
        printf("BAD   %s: signal %d\n", name, WTERMSIG(state));
    return WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

static void count(const char *name, size_t counts[2])
{
    counts[try_apart(name) ? 0 : 1]++;
}

int main(int argc, char **argv)
{
    size_t counts[2] = {0, 0};

    for (int i = 1; i < argc; i++)
        count(argv[i], counts);
    for (size_t i = 0; argc == 1 && i < n_families; i++)
        count(families[i].name, counts);
    for (size_t i = 0; argc == 1 && i < n_file_families; i++)
        count(file_families[i].name, counts);
    printf("%zu passed, %zu failed\n", counts[0], counts[1]);
    return counts[1] == 0 && counts[0] > 0 ? 0 : 1;
}
