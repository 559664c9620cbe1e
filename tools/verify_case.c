/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verifies one recorded case: runs it as it says, judges values or the error,
 * and then its gradients.
 */
#include "tools/verify_case.h"

#include "tools/case_walk.h"
#include "tools/ranks.h"
#include "tools/recorded_case.h"
#include "tools/recording.h"
#include "tools/verify_error.h"

#include "eddy/graphdef.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One of its runs, while it is under way. */
typedef struct recorded_run {
    json_t *recorded;
    size_t number;
    eddy__request request;
    eddy_plan *plan;
    eddy_run *run;
    eddy_tensor **fetched; /* on several ranks; NULL: the run has them */
    eddy_error err;        /* of the attempt */
} recorded_run;

/* Begins a line of the report about a run. */
static FILE *begin_line(const eddy__recorded_case *c, const recorded_run *r)
{
    fprintf(c->report, "    runs[%zu]: ", r->number);
    return c->report;
}

static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

static const char *text_at(const json_t *run, const char *list, size_t i)
{
    return json_string_value(json_array_get(json_object_get(run, list), i));
}

static size_t length_of(const json_t *run, const char *list)
{
    return json_array_size(json_object_get(run, list));
}

/* Whether everything is there, of the kind that the format says. */
static bool is_well_formed(const json_t *run)
{
    const json_t *error = json_object_get(run, "error");

    if (!eddy__case_json_are_named_texts(json_object_get(run, "feeds")) ||
        !eddy__case_json_are_texts(json_object_get(run, "fetches")) ||
        !eddy__case_json_are_texts(json_object_get(run, "targets")))
        return false;
    if (error != NULL)
        return text_of(error, "class") != NULL &&
               text_of(error, "text") != NULL;
    return eddy__case_json_are_texts(json_object_get(run, "expect")) &&
           length_of(run, "expect") == length_of(run, "fetches") &&
           eddy__case_json_has_tolerances(run);
}

/*
 * Makes room for the request and loads the values to feed.  What fails here is
 * the case's fault, and never the error that it expects.
 */
static eddy_status load_request(const eddy__recorded_case *c, recorded_run *r)
{
    json_t *feeds = json_object_get(r->recorded, "feeds");
    eddy_status status = eddy__request_init(
        &r->request, json_object_size(feeds), length_of(r->recorded, "fetches"),
        length_of(r->recorded, "targets"), &r->err);
    size_t i = 0;

    for (void *at = json_object_iter(feeds); at != NULL && status == EDDY_OK;
         at = json_object_iter_next(feeds, at))
        status = eddy__recorded_tensor(
            c, json_string_value(json_object_iter_value(at)),
            &r->request.values[i++], &r->err);
    return status;
}

static eddy_status look_up(const eddy__recorded_case *c, recorded_run *r)
{
    json_t *feeds = json_object_get(r->recorded, "feeds");
    eddy__request *request = &r->request;
    eddy_status status = EDDY_OK;
    size_t n = 0;

    for (void *at = json_object_iter(feeds); at != NULL && status == EDDY_OK;
         at = json_object_iter_next(feeds, at))
        status = eddy_graph_find_output(c->graph, json_object_iter_key(at),
                                        &request->feeds[n++], &r->err);
    for (size_t i = 0; i < request->n_fetches && status == EDDY_OK; i++)
        status =
            eddy_graph_find_output(c->graph, text_at(r->recorded, "fetches", i),
                                   &request->fetches[i], &r->err);
    for (size_t i = 0; i < request->n_targets && status == EDDY_OK; i++)
        status = eddy__request_find_target(c->graph,
                                           text_at(r->recorded, "targets", i),
                                           &request->targets[i], &r->err);
    return status;
}

static eddy_status attempt_on_ranks(const eddy__recorded_case *c,
                                    recorded_run *r)
{
    static const eddy_trace_options how = {.size = sizeof how, .values = true};
    eddy_status status;

    r->fetched = calloc(r->request.n_fetches + 1, sizeof(eddy_tensor *));
    if (r->fetched == NULL)
        return eddy__message_raise_memory(&r->err);
    r->request.recording = c->options->record ? &how : NULL;
    status = eddy__request_run_ranks(&r->request, c->graph, c->options,
                                     r->fetched, &r->err);
    if (status == EDDY_OK && c->options->record)
        status = eddy__recording_check(r->request.recorded, &r->err);
    return status;
}

static const eddy_tensor *fetched(const recorded_run *r, size_t i)
{
    return r->fetched != NULL ? r->fetched[i] : eddy_run_fetch(r->run, i);
}

static void release_fetched(recorded_run *r)
{
    for (size_t i = 0; r->fetched != NULL && i < r->request.n_fetches; i++)
        eddy_tensor_release(r->fetched[i]);
    free(r->fetched);
}

/* Does what the run says; the error is in r->err. */
static eddy_status attempt(const eddy__recorded_case *c, recorded_run *r)
{
    eddy_status status;

    if (c->graph == NULL) {
        r->err = c->load_error;
        return r->err.code;
    }
    status = look_up(c, r);
    if (status == EDDY_OK && eddy__options_want_ranks(c->options))
        return attempt_on_ranks(c, r);
    if (status == EDDY_OK)
        status = eddy__request_plan(&r->request, c->graph, c->options, &r->plan,
                                    &r->err);
    if (status == EDDY_OK)
        status = eddy__request_execute(&r->request, c->graph, r->plan,
                                       c->options, &r->run, &r->err);
    return status;
}

static bool judge_error(const eddy__recorded_case *c, const recorded_run *r,
                        eddy_status status)
{
    const json_t *error = json_object_get(r->recorded, "error");
    const char *class = text_of(error, "class");

    if (status == EDDY_OK) {
        fprintf(begin_line(c, r), "no error, want %s\n", class);
        return false;
    }
    if (eddy__error_is_of_class(&r->err, class, text_of(error, "text")))
        return true;
    fprintf(begin_line(c, r), "want %s, got ", class);
    eddy__message_write_error(c->report, &r->err);
    fputc('\n', c->report);
    return false;
}

static bool judge(const eddy__recorded_case *c, const recorded_run *r,
                  eddy_status status)
{
    bool is_right = true;

    if (json_object_get(r->recorded, "error") != NULL)
        return judge_error(c, r, status);
    if (status != EDDY_OK) {
        eddy__message_write_error(begin_line(c, r), &r->err);
        fputc('\n', c->report);
        return false;
    }
    for (size_t i = 0; i < r->request.n_fetches; i++) {
        char label[256];

        snprintf(label, sizeof label, "runs[%zu]: %s", r->number,
                 text_at(r->recorded, "fetches", i));
        is_right = eddy__recorded_compare(c, label, fetched(r, i),
                                          text_at(r->recorded, "expect", i),
                                          r->recorded) &&
                   is_right;
    }
    return is_right;
}

static bool verify_run(const eddy__recorded_case *c, json_t *recorded,
                       size_t number)
{
    recorded_run r = {.recorded = recorded, .number = number};
    bool is_right = false;

    if (!is_well_formed(recorded)) {
        fputs("not as the format says\n", begin_line(c, &r));
        return false;
    }
    if (load_request(c, &r) == EDDY_OK) {
        is_right = judge(c, &r, attempt(c, &r));
    } else {
        eddy__message_write_error(begin_line(c, &r), &r.err);
        fputc('\n', c->report);
    }
    release_fetched(&r);
    eddy_run_destroy(r.run);
    eddy_plan_release(r.plan);
    eddy__request_deinit(&r.request);
    return is_right;
}

static bool has_gradients(const json_t *root)
{
    return json_object_get(root, "gradients") != NULL ||
           json_array_size(json_object_get(root, "more_gradients")) > 0;
}

static bool verify_gradients(const eddy__recorded_case *c, const json_t *root)
{
    json_t *more = json_object_get(root, "more_gradients");
    json_t *first = json_object_get(root, "gradients");
    bool is_right =
        first == NULL || eddy__verify_gradient(c, "gradients", first);

    for (size_t i = 0; i < json_array_size(more); i++) {
        char label[48];

        snprintf(label, sizeof label, "more_gradients[%zu]", i);
        is_right = eddy__verify_gradient(c, label, json_array_get(more, i)) &&
                   is_right;
    }
    return is_right;
}

static eddy__outcome verify_json(eddy__recorded_case *c, const json_t *root)
{
    const json_t *runs = json_object_get(root, "runs");
    const bool forward = c->options->forward;
    eddy__outcome outcome = EDDY__CASE_PASSED;

    if (!json_is_array(runs)) {
        fputs("    case.json has no list of runs\n", c->report);
        return EDDY__CASE_FAILED;
    }
    for (size_t i = 0; i < json_array_size(runs); i++) {
        if (!verify_run(c, json_array_get(runs, i), i))
            outcome = EDDY__CASE_FAILED;
    }
    if (has_gradients(root) && !forward)
        return verify_gradients(c, root) ? outcome : EDDY__CASE_FAILED;
    if (json_array_size(runs) > 0)
        return outcome;
    if (has_gradients(root))
        return EDDY__CASE_SKIPPED;
    fputs("    there is nothing to run\n", c->report);
    return EDDY__CASE_FAILED;
}

/* The text of a case is no larger than this. */
#define MOST_JSON ((off_t)16 << 20)

/*
 * A descriptor of the file, which must be a regular one of no absurd size; -1
 * if it is not, and the report says so.
 */
static int open_json(const eddy__recorded_case *c, const char *path)
{
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat info;

    if (descriptor >= 0 && fstat(descriptor, &info) == 0 &&
        S_ISREG(info.st_mode) && info.st_size <= MOST_JSON)
        return descriptor;
    fprintf(c->report,
            "    case.json: no regular file of at most %lld bytes that can be "
            "read\n",
            (long long)MOST_JSON);
    if (descriptor >= 0)
        (void)close(descriptor);
    return -1;
}

static json_t *load_json(const eddy__recorded_case *c)
{
    char *path = eddy__case_join_path(c->path, "case.json");
    json_error_t problem;
    json_t *root = NULL;
    int descriptor;

    if (path == NULL) {
        fputs("    out of memory\n", c->report);
        return NULL;
    }
    descriptor = open_json(c, path);
    free(path);
    if (descriptor < 0)
        return NULL;
    root = json_loadfd(descriptor, JSON_REJECT_DUPLICATES, &problem);
    (void)close(descriptor);
    if (root == NULL)
        fprintf(c->report, "    case.json: line %d: %s\n", problem.line,
                *problem.text != '\0' ? problem.text : "out of memory");
    return root;
}

/* Loads the graph if it can; a failure may be what the runs expect. */
static bool load_graph(eddy__recorded_case *c)
{
    char *path = eddy__case_join_path(c->path, "graph.pb");
    const eddy_limits limits = eddy__options_limits(c->options);
    const eddy_graphdef_options how = {.size = sizeof how, .limits = &limits};

    if (path == NULL || !eddy__case_has_file(c->path, "graph.pb")) {
        fputs(path == NULL ? "    out of memory\n" : "    no graph.pb\n",
              c->report);
        free(path);
        return false;
    }
    if (eddy_graphdef_load(c->ctx, path, &how, &c->graph, &c->load_error) !=
        EDDY_OK)
        c->graph = NULL;
    free(path);
    return true;
}

eddy__outcome eddy__verify_case(eddy_context *ctx, const char *path,
                                const eddy__options *options, FILE *report)
{
    eddy__recorded_case c = {
        .ctx = ctx, .path = path, .options = options, .report = report};
    eddy__outcome outcome = EDDY__CASE_FAILED;
    json_t *root;

    if (!eddy__case_has_file(path, "case.json"))
        return eddy__verify_model(ctx, path, options, report);
    root = load_json(&c);
    if (root != NULL && load_graph(&c))
        outcome = verify_json(&c, root);
    eddy_graph_destroy(c.graph);
    json_decref(root);
    return outcome;
}
