/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs to ONNX models and back: every recorded run, and every recorded
 * gradient, whose graph ONNX can express gives the same bits from the model
 * that was written.  What is refused says by which op.
 */
#include "eddy.h"
#include "tests/suites.h"

#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASES "tests/conformance/tf"
#define MOST 64

/* A recorded run or gradient, and the graph that it is of. */
typedef struct trial {
    eddy_context *ctx;
    char folder[256];
    json_t *spec;
    eddy_graph *graph;
    eddy_output feeds[MOST], fetches[MOST];
    char names[MOST][128]; /* of the feeds' nodes */
    eddy_tensor *values[MOST];
    size_t n_feeds, n_fetches;
    eddy_error err;
} trial;

/* What became of the trials of a group. */
typedef struct counts {
    size_t same, near, refused, others;
} counts;

static eddy_tensor *load(trial *t, const char *file)
{
    eddy_tensor *tensor = NULL;
    char path[512];

    snprintf(path, sizeof path, "%s/%s", t->folder, file);
    ck_assert_msg(eddy_npy_load(t->ctx, path, &tensor, &t->err) == EDDY_OK,
                  "%s: %s", path, t->err.message);
    return tensor;
}

/* Only placeholders are a model's inputs; false if something else is fed. */
static bool read_feeds(trial *t)
{
    const char *name;
    json_t *file;

    t->n_feeds = 0;
    json_object_foreach(json_object_get(t->spec, "feeds"), name, file)
    {
        eddy_output at;

        ck_assert_uint_lt(t->n_feeds, MOST);
        if (eddy_graph_find_output(t->graph, name, &at, &t->err) != EDDY_OK ||
            strncmp(eddy_graph_node_op(t->graph, at.node), "Placeholder", 11) !=
                0)
            return false;
        t->feeds[t->n_feeds] = at;
        snprintf(t->names[t->n_feeds], sizeof t->names[0], "%s",
                 eddy_graph_node_name(t->graph, at.node));
        t->values[t->n_feeds++] = load(t, json_string_value(file));
    }
    return true;
}

static void drop_feeds(trial *t)
{
    for (size_t i = 0; i < t->n_feeds; i++)
        eddy_tensor_release(t->values[i]);
    t->n_feeds = 0;
}

/* ---- running both ---- */

/* Runs a plan of the feeds that `has` says; NULL if it fails. */
static eddy_run *run_graph(trial *t, const eddy_graph *graph,
                           const eddy_output *feeds, eddy_tensor **values,
                           size_t n_feeds, const eddy_output *fetches)
{
    const eddy_plan_options options = {.size = sizeof options,
                                       .feeds = feeds,
                                       .n_feeds = n_feeds,
                                       .fetches = fetches,
                                       .n_fetches = t->n_fetches};
    eddy_plan *plan = NULL;
    eddy_run *run = NULL;
    eddy_status status = eddy_plan_create(graph, &options, &plan, &t->err);

    if (status == EDDY_OK)
        status = eddy_run_create(plan, NULL, &run, &t->err);
    for (size_t i = 0; i < n_feeds && status == EDDY_OK; i++)
        status = eddy_run_feed(run, i, values[i], &t->err);
    if (status == EDDY_OK)
        status = eddy_run_execute(run, &t->err);
    eddy_plan_release(plan);
    if (status == EDDY_OK)
        return run;
    eddy_run_destroy(run);
    return NULL;
}

static bool same_bits(const eddy_tensor *a, const eddy_tensor *b)
{
    const eddy_shape *sa = eddy_tensor_shape(a), *sb = eddy_tensor_shape(b);

    if (eddy_tensor_dtype(a) != eddy_tensor_dtype(b) || sa->rank != sb->rank ||
        memcmp(sa->dims, sb->dims, (size_t)sa->rank * sizeof sa->dims[0]) != 0)
        return false;
    if (eddy_tensor_dtype(a) != EDDY_STRING)
        return memcmp(eddy_tensor_data(a), eddy_tensor_data(b),
                      eddy_tensor_bytes(a)) == 0;
    for (int64_t i = 0; i < eddy_tensor_count(a); i++) {
        const eddy_string x = eddy_tensor_string(a, i);
        const eddy_string y = eddy_tensor_string(b, i);

        if (x.length != y.length || memcmp(x.data, y.data, x.length) != 0)
            return false;
    }
    return true;
}

/* Floats that differ in the last digits. */
static bool nearly(const eddy_tensor *a, const eddy_tensor *b)
{
    const bool is_double = eddy_tensor_dtype(a) == EDDY_FLOAT64;
    const double slack = is_double ? 1e-13 : 1e-6;

    if (eddy_tensor_dtype(a) != eddy_tensor_dtype(b) ||
        eddy_tensor_count(a) != eddy_tensor_count(b) ||
        (!is_double && eddy_tensor_dtype(a) != EDDY_FLOAT32))
        return false;
    for (int64_t i = 0; i < eddy_tensor_count(a); i++) {
        const void *from = eddy_tensor_data(a), *to = eddy_tensor_data(b);
        const double x = is_double ? ((const double *)from)[i]
                                   : (double)((const float *)from)[i];
        const double y = is_double ? ((const double *)to)[i]
                                   : (double)((const float *)to)[i];

        if (fabs(x - y) > slack * (1 + fabs(x)))
            return false;
    }
    return true;
}

/* The run of a model, which need not have all of the graph's inputs. */
static eddy_run *run_model(trial *t, eddy_onnx_model *model)
{
    const eddy_onnx_port *outputs;
    eddy_output feeds[MOST], fetches[MOST];
    eddy_tensor *values[MOST];
    size_t n = 0, n_outputs = 0;

    outputs = eddy_onnx_model_outputs(model, &n_outputs);
    ck_assert_uint_eq(n_outputs, t->n_fetches);
    for (size_t i = 0; i < n_outputs; i++)
        fetches[i] = outputs[i].output;
    for (size_t i = 0; i < t->n_feeds; i++) {
        const eddy_onnx_port *port = eddy_onnx_model_find(model, t->names[i]);
        size_t n_inputs;
        const eddy_onnx_port *inputs = eddy_onnx_model_inputs(model, &n_inputs);

        if (!port || port < inputs || port >= inputs + n_inputs)
            continue;
        feeds[n] = port->output;
        values[n++] = t->values[i];
    }
    return run_graph(t, eddy_onnx_model_graph(model), feeds, values, n,
                     fetches);
}

static void compare(trial *t, const char *label, eddy_onnx_model *model,
                    counts *c)
{
    eddy_run *before =
        run_graph(t, t->graph, t->feeds, t->values, t->n_feeds, t->fetches);
    bool is_same = true;
    eddy_run *after;

    /* A run that fails gives nothing to compare. */
    if (!before) {
        c->others++;
        return;
    }
    after = run_model(t, model);
    ck_assert_msg(after != NULL, "%s: %s: %s: %s", t->folder, label,
                  t->err.node, t->err.message);
    for (size_t i = 0; i < t->n_fetches; i++) {
        const eddy_tensor *x = eddy_run_fetch(before, i);
        const eddy_tensor *y = eddy_run_fetch(after, i);

        is_same = is_same && same_bits(x, y);
        ck_assert_msg(same_bits(x, y) || nearly(x, y),
                      "%s: %s: fetch %zu differs", t->folder, label, i);
    }
    if (!is_same && getenv("SHOW_REFUSED"))
        printf("%s: %s: near\n", t->folder, label);
    c->same += is_same;
    c->near += !is_same;
    eddy_run_destroy(before);
    eddy_run_destroy(after);
}

/* Writes, reads and runs; or sees that it is refused by name. */
static void try_one(trial *t, const char *label, counts *c)
{
    const eddy_onnx_write_options options = {
        .size = sizeof options,
        .opset = c->same % 3 == 0   ? 0
                 : c->same % 3 == 1 ? 23
                                    : 28,
    };
    eddy_onnx_model *model = NULL;
    size_t length = 0;
    void *bytes = NULL;
    eddy_status status = eddy_onnx_write(t->graph, t->fetches, t->n_fetches,
                                         &options, &bytes, &length, &t->err);

    if (status == EDDY_UNIMPLEMENTED) {
        ck_assert_int_eq(t->err.detail, EDDY_E_UNKNOWN_OP);
        ck_assert_ptr_nonnull(strstr(t->err.message, "ONNX cannot say: "));
        if (getenv("SHOW_REFUSED"))
            printf("%s: %s: %s\n", t->folder, label, t->err.message);
        c->refused++;
        return;
    }
    /* Frames that make no sense are refused as a plan refuses them. */
    if (status != EDDY_OK) {
        ck_assert_int_eq(status, EDDY_INVALID_ARGUMENT);
        c->others++;
        return;
    }
    ck_assert_msg(
        eddy_onnx_read(t->ctx, bytes, length, NULL, &model, &t->err) == EDDY_OK,
        "%s: %s: %s: %s", t->folder, label, t->err.node, t->err.message);
    compare(t, label, model, c);
    eddy_onnx_model_destroy(model);
    eddy_onnx_free(t->graph, bytes, length);
}

/* ---- the cases ---- */

static bool find_all(trial *t, const char *key, eddy_output *out, size_t *n)
{
    const json_t *list = json_object_get(t->spec, key);

    *n = json_array_size(list);
    ck_assert_uint_le(*n, MOST);
    for (size_t i = 0; i < *n; i++)
        if (eddy_graph_find_output(t->graph,
                                   json_string_value(json_array_get(list, i)),
                                   &out[i], &t->err) != EDDY_OK)
            return false;
    return *n > 0;
}

static void try_runs(trial *t, json_t *runs, counts *c)
{
    json_t *run;
    size_t i;

    json_array_foreach(runs, i, run)
    {
        char label[32];

        snprintf(label, sizeof label, "run %zu", i);
        t->spec = run;
        if (json_array_size(json_object_get(run, "targets")) == 0 &&
            find_all(t, "fetches", t->fetches, &t->n_fetches) && read_feeds(t))
            try_one(t, label, c);
        else
            c->others++;
        drop_feeds(t);
    }
}

/* First gradients of ones; the graph is left with them. */
static void try_gradient(trial *t, json_t *spec, counts *c)
{
    eddy_output ys[MOST], xs[MOST], results[MOST];
    eddy_graph *lowered = NULL;
    size_t n_ys = 0, n_xs = 0;

    if (eddy_graph_lower(t->graph, NULL, &lowered, &t->err) != EDDY_OK)
        return;
    eddy_graph_destroy(t->graph);
    t->graph = lowered;
    t->spec = spec;
    if (!find_all(t, "ys", ys, &n_ys) || !find_all(t, "xs", xs, &n_xs) ||
        eddy_gradients(t->graph, ys, n_ys, xs, n_xs, NULL, results, &t->err) !=
            EDDY_OK)
        return;
    t->n_fetches = 0;
    for (size_t i = 0; i < n_xs; i++)
        if (results[i].node != EDDY_NO_NODE)
            t->fetches[t->n_fetches++] = results[i];
    if (t->n_fetches > 0 && read_feeds(t))
        try_one(t, "gradient", c);
    drop_feeds(t);
}

static void try_case(const char *group, const char *name, counts *runs,
                     counts *gradients)
{
    trial t = {.ctx = NULL};
    char path[512];
    json_t *root;

    snprintf(t.folder, sizeof t.folder, CASES "/%s/%s", group, name);
    snprintf(path, sizeof path, "%s/case.json", t.folder);
    root = json_load_file(path, 0, NULL);
    snprintf(path, sizeof path, "%s/graph.pb", t.folder);
    ck_assert_int_eq(eddy_context_create(NULL, &t.ctx, &t.err), EDDY_OK);
    if (root &&
        eddy_graphdef_load(t.ctx, path, NULL, &t.graph, &t.err) == EDDY_OK) {
        try_runs(&t, json_object_get(root, "runs"), runs);
        if (json_object_get(root, "gradients"))
            try_gradient(&t, json_object_get(root, "gradients"), gradients);
    }
    eddy_graph_destroy(t.graph);
    eddy_context_destroy(t.ctx);
    json_decref(root);
}

/*
 * How many runs and gradients of a group come back, and how many may not.  ANY:
 * cases of kernels are recorded for ops of which ONNX has none, too.
 */
#define ANY SIZE_MAX
static const struct {
    const char *name;
    size_t same, near, refused;
    size_t same_gradients, near_gradients, refused_gradients;
} groups[] = {
    {"primitives", 50, 0, 12, 0, 0, 0},   {"cond", 33, 0, 6, 0, 0, 0},
    {"while", 87, 0, 3, 0, 0, 0},         {"tensor_arrays", 11, 0, 17, 0, 0, 0},
    {"functional", 29, 0, 4, 4, 0, 1},    {"gradients", 37, 0, 1, 43, 0, 10},
    {"models", 43, 0, 11, 4, 1, 3},       {"programs", 240, 0, 0, 26, 1, 54},
    {"kernels", 390, 1, ANY, 54, 0, ANY}, {"dtypes", 75, 0, 32, 0, 0, 0},
};

START_TEST(every_recorded_graph_that_onnx_can_express_comes_back)
{
    counts runs = {.same = 0}, gradients = {.same = 0};
    char path[256];
    const struct dirent *entry;
    DIR *folder;

    snprintf(path, sizeof path, CASES "/%s", groups[_i].name);
    folder = opendir(path);
    ck_assert_ptr_nonnull(folder);
    while ((entry = readdir(folder)) != NULL)
        if (entry->d_name[0] != '.')
            try_case(groups[_i].name, entry->d_name, &runs, &gradients);
    closedir(folder);
    if (getenv("SHOW_REFUSED"))
        printf("%s: %zu, %zu, %zu, %zu, %zu, %zu\n", groups[_i].name, runs.same,
               runs.near, runs.refused, gradients.same, gradients.near,
               gradients.refused);
    ck_assert_uint_le(runs.near, groups[_i].near);
    ck_assert_uint_le(gradients.near, groups[_i].near_gradients);
    ck_assert_uint_ge(runs.same, groups[_i].same);
    ck_assert_uint_le(runs.refused, groups[_i].refused);
    ck_assert_uint_ge(gradients.same, groups[_i].same_gradients);
    ck_assert_uint_le(gradients.refused, groups[_i].refused_gradients);
}
END_TEST

/* ---- by hand ---- */

static eddy_output placeholder(eddy_graph *graph, const char *name,
                               eddy_dtype dtype)
{
    const eddy_attr attr = eddy_attr_type("dtype", &dtype);
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = "Placeholder",
                                 .name = name,
                                 .attrs = &attr,
                                 .n_attrs = 1};
    eddy_output out = {0, 0};

    ck_assert_int_eq(eddy_graph_add(graph, &spec, &out.node, NULL), EDDY_OK);
    return out;
}

static eddy_output op(eddy_graph *graph, const char *type, const char *name,
                      eddy_output x)
{
    eddy_output out;

    ck_assert_int_eq(eddy_graph_add_op(graph, type, name, &x, 1, &out, NULL),
                     EDDY_OK);
    return out;
}

START_TEST(all_that_onnx_lacks_is_in_one_message_with_counts)
{
    eddy_context *ctx = NULL;
    eddy_graph *graph = NULL;
    eddy_error err;
    eddy_output x, out;
    size_t length = 0;
    void *bytes = NULL;

    ck_assert_int_eq(eddy_context_create(NULL, &ctx, &err), EDDY_OK);
    ck_assert_int_eq(eddy_graph_create(ctx, &graph, &err), EDDY_OK);
    x = placeholder(graph, "x", EDDY_FLOAT32);
    out = op(graph, "Digamma", "a", op(graph, "Digamma", "b", x));
    out = op(graph, "Erfc", "c", out);
    ck_assert_int_eq(
        eddy_onnx_write(graph, &out, 1, NULL, &bytes, &length, &err),
        EDDY_UNIMPLEMENTED);
    ck_assert_int_eq(err.detail, EDDY_E_UNKNOWN_OP);
    ck_assert_str_eq(err.message,
                     "ONNX cannot say: Digamma (no operator) 2 times, Erfc (no "
                     "operator) 1 times");
    ck_assert_ptr_null(bytes);
    /* What nothing needs is not looked at. */
    ck_assert_int_eq(eddy_onnx_write(graph, &x, 1, NULL, &bytes, &length, &err),
                     EDDY_OK);
    eddy_onnx_free(graph, bytes, length);
    eddy_graph_destroy(graph);
    eddy_context_destroy(ctx);
}
END_TEST

START_TEST(what_is_asked_for_is_checked)
{
    eddy_onnx_write_options options = {.size = sizeof options};
    eddy_context *ctx = NULL;
    eddy_graph *graph = NULL;
    eddy_error err;
    eddy_output x, wrong;
    size_t length = 0;
    void *bytes = NULL;

    ck_assert_int_eq(eddy_context_create(NULL, &ctx, &err), EDDY_OK);
    ck_assert_int_eq(eddy_graph_create(ctx, &graph, &err), EDDY_OK);
    x = placeholder(graph, "x", EDDY_FLOAT32);
    wrong = (eddy_output){x.node, 1};
#define REFUSED(fetches, n)                                                    \
    ck_assert_int_eq(                                                          \
        eddy_onnx_write(graph, fetches, n, &options, &bytes, &length, &err),   \
        EDDY_INVALID_ARGUMENT)
    REFUSED(NULL, 1);
    REFUSED(&x, 0);
    REFUSED(&wrong, 1);
    options.opset = 13;
    REFUSED(&x, 1);
    options.opset = 29;
    REFUSED(&x, 1);
    options.opset = 20;
    options.ir_version = 6;
    REFUSED(&x, 1);
    options.ir_version = 15;
    REFUSED(&x, 1);
    options.ir_version = 14;
    options.size = 0;
    REFUSED(&x, 1);
#undef REFUSED
    ck_assert_ptr_null(bytes);
    eddy_graph_destroy(graph);
    eddy_context_destroy(ctx);
}
END_TEST

TCase *onnx_write_tests(void)
{
    TCase *tc = tcase_create("onnx_write");

    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, all_that_onnx_lacks_is_in_one_message_with_counts);
    tcase_add_test(tc, what_is_asked_for_is_checked);
    tcase_add_loop_test(tc,
                        every_recorded_graph_that_onnx_can_express_comes_back,
                        0, (int)(sizeof groups / sizeof groups[0]));
    return tc;
}
