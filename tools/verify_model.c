/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A case in the layout of ONNX's backend tests: model.onnx, and in each folder
 * test_data_set_N files input_M.pb and output_M.pb.  The model is loaded for
 * each of them, since the tensors that a sequence holds are nodes of its graph.
 */
#include "tools/case_walk.h"
#include "tools/compare.h"
#include "tools/request.h"
#include "tools/verify_case.h"

#include "eddy/onnx_model.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ONNX's own. */
#define RTOL 1e-3
#define ATOL 1e-7

typedef struct model_case {
    eddy_context *ctx;
    const char *path; /* of the data set */
    const eddy__options *options;
    FILE *report;
    eddy_onnx_model *model;
    eddy_onnx_data *given;  /* one an input file */
    eddy_onnx_data *wanted; /* one an output file */
    size_t n_given, n_wanted;
    eddy__request request;
    eddy_plan *plan;
    eddy_run *run;
    eddy_error err;
} model_case;

static char *file_name(const model_case *c, const char *what, size_t i)
{
    char name[48];

    (void)snprintf(name, sizeof name, "%s_%zu.pb", what, i);
    return eddy__case_join_path(c->path, name);
}

static bool exists(const char *path)
{
    struct stat info;

    return path != NULL && stat(path, &info) == 0;
}

static size_t count_files(const model_case *c, const char *what)
{
    size_t n = 0;

    for (;; n++) {
        char *path = file_name(c, what, n);
        const bool is_there = exists(path);

        free(path);
        if (!is_there)
            return n;
    }
}

/* Port `i` of those that files are for: inputs with defaults may have none. */
static const eddy_onnx_port *port_of(const eddy_onnx_port *ports, size_t n,
                                     size_t n_files, size_t i)
{
    size_t n_needed = 0;

    for (size_t k = 0; k < n; k++)
        n_needed += !ports[k].has_default;
    if (n_needed != n_files)
        return i < n ? &ports[i] : NULL;
    for (size_t k = 0; k < n; k++)
        if (!ports[k].has_default && i-- == 0)
            return &ports[k];
    return NULL;
}

static eddy_status load_data(model_case *c, const char *what,
                             const eddy_onnx_port *ports, size_t n_ports,
                             eddy_onnx_data **out_data, size_t *out_n)
{
    const size_t n = count_files(c, what);

    *out_data = calloc(n + 1, sizeof **out_data);
    if (*out_data == NULL)
        return eddy__message_raise_memory(&c->err);
    for (size_t i = 0; i < n; i++) {
        const eddy_onnx_port *port = port_of(ports, n_ports, n, i);
        char *path;
        eddy_status status;

        if (port == NULL)
            return eddy__message_raise(
                &c->err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                "%zu files %s_N.pb, and the model has %zu", n, what, n_ports);
        path = file_name(c, what, i);
        if (path == NULL)
            return eddy__message_raise_memory(&c->err);
        status =
            eddy_onnx_data_load(c->ctx, path, port->kind, c->options->max_bytes,
                                &(*out_data)[i], &c->err);
        free(path);
        if (status != EDDY_OK)
            return status;
        *out_n = i + 1;
    }
    return EDDY_OK;
}

/* What is fed and fetched of a port, one more for its length if it has one. */
static size_t count_tensors(const eddy_onnx_data *data, size_t n)
{
    size_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += data[i].n + 2;
    return sum;
}

static eddy_status ask_inputs(model_case *c)
{
    size_t n;
    const eddy_onnx_port *ports = eddy_onnx_model_inputs(c->model, &n);
    eddy__request *r = &c->request;

    r->n_feeds = 0;
    for (size_t i = 0; i < c->n_given; i++) {
        const eddy_onnx_port *port = port_of(ports, n, c->n_given, i);
        const eddy_onnx_data *data = &c->given[i];
        eddy_output *feeds = r->feeds + r->n_feeds;

        if (port->kind == EDDY_ONNX_TENSOR) {
            feeds[0] = port->output;
        } else {
            const eddy_status status = eddy_onnx_model_set_items(
                c->model, (size_t)(port - ports), data->is_present, data->n,
                feeds, &c->err);

            if (status != EDDY_OK)
                return status;
        }
        for (size_t k = 0; k < data->n; k++)
            r->values[r->n_feeds++] = eddy_tensor_retain(data->items[k]);
    }
    return EDDY_OK;
}

/* Fetches an output's tensors, then whether and how many there are. */
static eddy_status ask_outputs(model_case *c)
{
    size_t n;
    const eddy_onnx_port *ports = eddy_onnx_model_outputs(c->model, &n);
    eddy__request *r = &c->request;

    r->n_fetches = 0;
    for (size_t i = 0; i < c->n_wanted; i++) {
        eddy_output *fetches = r->fetches + r->n_fetches;
        const eddy_onnx_data *data = &c->wanted[i];
        eddy_output ends[2];
        eddy_status status;

        if (ports[i].kind == EDDY_ONNX_TENSOR) {
            r->fetches[r->n_fetches++] = ports[i].output;
            continue;
        }
        status = eddy_onnx_model_get_items(c->model, i, data->n, ends, fetches,
                                           &c->err);
        if (status != EDDY_OK)
            return status;
        r->n_fetches += data->n;
        if (ends[0].node != EDDY_NO_NODE)
            r->fetches[r->n_fetches++] = ends[0];
        if (ends[1].node != EDDY_NO_NODE && data->is_present)
            r->fetches[r->n_fetches++] = ends[1];
    }
    return EDDY_OK;
}

static eddy_status execute(model_case *c, const char *model_path)
{
    const eddy_limits limits = eddy__options_limits(c->options);
    const eddy_onnx_options how = {
        .size = sizeof how, .limits = &limits, .external_data = true};
    const eddy_onnx_port *ports;
    eddy_status status;
    size_t n;

    status = eddy_onnx_load(c->ctx, model_path, &how, &c->model, &c->err);
    if (status != EDDY_OK)
        return status;
    ports = eddy_onnx_model_inputs(c->model, &n);
    status = load_data(c, "input", ports, n, &c->given, &c->n_given);
    ports = eddy_onnx_model_outputs(c->model, &n);
    if (status == EDDY_OK)
        status = load_data(c, "output", ports, n, &c->wanted, &c->n_wanted);
    if (status == EDDY_OK && c->n_wanted != n)
        status = eddy__message_raise(
            &c->err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
            "%zu files output_N.pb, and the model has %zu", c->n_wanted, n);
    if (status == EDDY_OK)
        status = eddy__request_init(
            &c->request, count_tensors(c->given, c->n_given),
            count_tensors(c->wanted, c->n_wanted), 0, &c->err);
    if (status == EDDY_OK)
        status = ask_inputs(c);
    if (status == EDDY_OK)
        status = ask_outputs(c);
    if (status == EDDY_OK)
        status =
            eddy__request_plan(&c->request, eddy_onnx_model_graph(c->model),
                               c->options, &c->plan, &c->err);
    if (status == EDDY_OK)
        status =
            eddy__request_execute(&c->request, eddy_onnx_model_graph(c->model),
                                  c->plan, c->options, &c->run, &c->err);
    return status;
}

static bool compare(const model_case *c, const char *name, size_t item,
                    const eddy_tensor *got, const eddy_tensor *want)
{
    char *text = NULL;
    size_t length;
    FILE *difference = open_memstream(&text, &length);
    bool is_right = false;

    if (difference != NULL) {
        is_right = eddy__compare(got, want, RTOL, ATOL, difference);
        if (fclose(difference) != 0)
            is_right = false;
    }
    if (!is_right)
        fprintf(c->report, "    %s: %s[%zu]: %s\n", c->path, name, item,
                text != NULL ? text : "out of memory");
    free(text);
    return is_right;
}

/* A scalar that says whether there is anything, or how much. */
static bool compare_end(const model_case *c, const char *name, size_t at,
                        int64_t want)
{
    const eddy_tensor *tensor = eddy_run_fetch(c->run, at);
    const int64_t got = eddy_tensor_dtype(tensor) == EDDY_BOOL
                            ? *(const bool *)eddy_tensor_data(tensor)
                            : *(const int32_t *)eddy_tensor_data(tensor);

    if (got != want)
        fprintf(c->report,
                "    %s: %s: there are %lld tensors, %lld are "
                "wanted\n",
                c->path, name, (long long)got, (long long)want);
    return got == want;
}

static bool compare_all(const model_case *c)
{
    size_t n, at = 0;
    const eddy_onnx_port *ports = eddy_onnx_model_outputs(c->model, &n);
    bool is_right = true;

    for (size_t i = 0; i < c->n_wanted; i++) {
        const eddy_onnx_data *data = &c->wanted[i];
        const eddy_onnx_kind kind = ports[i].kind;

        for (size_t k = 0; k < data->n; k++)
            is_right = compare(c, ports[i].name, k,
                               eddy_run_fetch(c->run, at++), data->items[k]) &&
                       is_right;
        if (kind == EDDY_ONNX_OPTIONAL || kind == EDDY_ONNX_OPTIONAL_SEQUENCE)
            is_right = compare_end(c, ports[i].name, at++, data->is_present) &&
                       is_right;
        if ((kind == EDDY_ONNX_SEQUENCE ||
             kind == EDDY_ONNX_OPTIONAL_SEQUENCE) &&
            data->is_present)
            is_right = compare_end(c, ports[i].name, at++, (int64_t)data->n) &&
                       is_right;
    }
    return is_right;
}

static bool verify_set(model_case *c, const char *model_path)
{
    const eddy_status status = execute(c, model_path);
    bool is_right = false;

    if (status == EDDY_OK) {
        is_right = compare_all(c);
    } else {
        fprintf(c->report, "    %s: ", c->path);
        eddy__message_write_error(c->report, &c->err);
        fputc('\n', c->report);
    }
    eddy_run_destroy(c->run);
    eddy_plan_release(c->plan);
    eddy__request_deinit(&c->request);
    for (size_t i = 0; i < c->n_given; i++)
        eddy_onnx_data_free(&c->given[i]);
    for (size_t i = 0; i < c->n_wanted; i++)
        eddy_onnx_data_free(&c->wanted[i]);
    free(c->given);
    free(c->wanted);
    eddy_onnx_model_destroy(c->model);
    return is_right;
}

eddy__outcome eddy__verify_model(eddy_context *ctx, const char *path,
                                 const eddy__options *options, FILE *report)
{
    eddy__outcome outcome = EDDY__CASE_PASSED;
    char *model = eddy__case_join_path(path, "model.onnx");
    size_t n = 0;

    for (;; n++) {
        model_case c = {.ctx = ctx, .options = options, .report = report};
        char name[40], *folder;

        (void)snprintf(name, sizeof name, "test_data_set_%zu", n);
        folder = eddy__case_join_path(path, name);
        if (model == NULL || !exists(folder)) {
            free(folder);
            break;
        }
        c.path = folder;
        if (!verify_set(&c, model))
            outcome = EDDY__CASE_FAILED;
        free(folder);
    }
    free(model);
    if (n > 0)
        return outcome;
    fputs("    no test_data_set_0, or no memory\n", report);
    return EDDY__CASE_FAILED;
}
