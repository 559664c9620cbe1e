/* SPDX-License-Identifier: Apache-2.0 */
/* The names and values of the command line, for eddy__request. */
#include "tools/cast.h"
#include "tools/literal.h"
#include "tools/request.h"

#include "eddy/npy.h"

#include <stdlib.h>
#include <string.h>

/* A wrong name is wrong use, a lack of memory is not. */
static eddy__exit complain(const char *option, const char *text,
                           const eddy_error *err)
{
    eddy__message_complain("%s %s: %s: %s", option, text,
                           eddy_status_name(err->code), err->message);
    return err->code == EDDY_RESOURCE_EXHAUSTED || err->detail == EDDY_E_IO
               ? EDDY__EXIT_FAILED
               : EDDY__EXIT_USAGE;
}

static bool is_proto(const char *path)
{
    const size_t length = strlen(path);

    return length > 3 && strcmp(path + length - 3, ".pb") == 0;
}

/* A TensorProto of ONNX's. */
static eddy_status load_proto(eddy_context *ctx, const char *path,
                              uint64_t max_bytes, eddy_tensor **out_tensor,
                              eddy_error *err)
{
    eddy_onnx_data data;
    const eddy_status status =
        eddy_onnx_data_load(ctx, path, EDDY_ONNX_TENSOR, max_bytes, &data, err);

    if (status != EDDY_OK)
        return status;
    *out_tensor = eddy_tensor_retain(data.items[0]);
    eddy_onnx_data_free(&data);
    return EDDY_OK;
}

/*
 * The value of a feed from a file of at most `max_bytes`, 0 being the usual
 * limit, in the dtype of the tensor that it replaces.
 */
static eddy_status load_value(eddy_context *ctx, const char *path,
                              uint64_t max_bytes, eddy_dtype dtype,
                              eddy_tensor **out_value, eddy_error *err)
{
    eddy_tensor *loaded = NULL;
    eddy_status status =
        is_proto(path)
            ? load_proto(ctx, path, max_bytes, &loaded, err)
            : eddy_npy_load_limited(
                  ctx, path, max_bytes > 0 ? max_bytes : EDDY_NPY_MAX_BYTES,
                  &loaded, err);

    if (status == EDDY_OK)
        status = eddy__cast(ctx, loaded, dtype, out_value, err);
    eddy_tensor_release(loaded);
    return status;
}

static eddy_status read_value(eddy_context *ctx, const char *value,
                              uint64_t max_bytes, eddy_dtype dtype,
                              eddy_tensor **out_value, eddy_error *err)
{
    if (dtype == EDDY_INVALID)
        return eddy__message_raise(err, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                                   "the dtype of this tensor is not known");
    if (*value == '@')
        return load_value(ctx, value + 1, max_bytes, dtype, out_value, err);
    return eddy__literal_read(ctx, value, dtype, out_value, err);
}

typedef struct feeding {
    eddy__request *request;
    const eddy__named *named;
    const eddy__options *options;
    size_t n_more; /* feeds that are still to come */
} feeding;

/*
 * What a file of ONNX's holds, fed tensor by tensor to input `i`, a sequence or
 * an optional value.
 */
static eddy_status hold(const feeding *f, const eddy_onnx_port *port, size_t i,
                        const char *value, eddy_error *err)
{
    eddy__request *request = f->request;
    eddy_onnx_data data;
    eddy_status status;

    if (*value != '@' || !is_proto(value + 1))
        return eddy__message_raise(
            err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
            "a sequence or an optional value is fed from a "
            "file, @FILE.pb");
    status = eddy_onnx_data_load(f->named->ctx, value + 1, port->kind,
                                 f->options->max_bytes, &data, err);
    if (status != EDDY_OK)
        return status;
    status = eddy__request_make_room(request, data.n + f->n_more, err);
    if (status == EDDY_OK)
        status = eddy_onnx_model_set_items(
            f->named->model, i, data.is_present, data.n,
            &request->feeds[request->n_feeds], err);
    for (size_t k = 0; k < data.n && status == EDDY_OK; k++)
        request->values[request->n_feeds++] = eddy_tensor_retain(data.items[k]);
    eddy_onnx_data_free(&data);
    return status;
}

/* What `name` stands for, with its value. */
static eddy_status feed(const feeding *f, const char *name, const char *value,
                        eddy_error *err)
{
    const eddy__named *named = f->named;
    eddy__request *request = f->request;
    const size_t at = request->n_feeds;
    size_t i = 0;
    const eddy_onnx_port *port = eddy__names_find_held(named->model, name, &i);
    eddy_status status;

    if (port != NULL)
        return hold(f, port, i, value, err);
    status = eddy__names_find_output(named, name, &request->feeds[at], err);
    if (status == EDDY_OK)
        status = read_value(
            named->ctx, value, f->options->max_bytes,
            eddy_graph_output_dtype(named->graph, request->feeds[at]),
            &request->values[at], err);
    if (status == EDDY_OK)
        request->n_feeds++;
    return status;
}

/* Reads NAME=VALUE, feed `i` of the options; for `inspect` NAME will do. */
static eddy__exit add_feed(eddy__request *request, const eddy__named *named,
                           const eddy__options *options, size_t i)
{
    const feeding f = {request, named, options, options->feeds.n - i};
    const char *text = options->feeds.items[i];
    const char *equals = strchr(text, '=');
    eddy_error err = {.code = EDDY_OK};
    eddy__exit result = EDDY__EXIT_DONE;
    char *name;

    /* What is only planned needs no values. */
    if (equals == NULL && options->subcommand == EDDY__FOR_INSPECT) {
        eddy_output *output = &request->feeds[request->n_feeds];

        if (eddy__names_find_output(named, text, output, &err) != EDDY_OK)
            return complain("--feed", text, &err);
        request->values[request->n_feeds++] = NULL;
        return EDDY__EXIT_DONE;
    }
    if (equals == NULL || equals == text) {
        eddy__message_complain("--feed %s: not of the form NAME=VALUE", text);
        return EDDY__EXIT_USAGE;
    }
    name = strndup(text, (size_t)(equals - text));
    if (name == NULL) {
        eddy__message_complain("out of memory");
        return EDDY__EXIT_FAILED;
    }
    if (feed(&f, name, equals + 1, &err) != EDDY_OK)
        result = complain("--feed", name, &err);
    free(name);
    return result;
}

/* A fetch of a name; `run` alone can print what is packed. */
static eddy_status add_fetch(eddy__request *request, const eddy__named *named,
                             const char *name, const eddy__options *options,
                             eddy_error *err)
{
    eddy_output *fetches = &request->fetches[request->n_fetches];
    size_t i = 0;
    eddy_status status;

    if (options->subcommand != EDDY__FOR_RUN ||
        eddy__names_find_packed(named->model, name, &i) == NULL) {
        status = eddy__names_find_output(named, name, fetches, err);
        request->n_fetches += status == EDDY_OK;
        return status;
    }
    status = eddy_onnx_model_get_packed(named->model, i, fetches, err);
    if (status == EDDY_OK)
        request->n_fetches += EDDY_ONNX_PARTS;
    return status;
}

eddy__exit eddy__request_from_options(eddy__request *request,
                                      const eddy__named *named,
                                      const eddy__texts *fetches,
                                      const eddy__options *options)
{
    eddy_error err = {.code = EDDY_OK};
    eddy__exit result = EDDY__EXIT_DONE;

    if (eddy__request_init(request, options->feeds.n,
                           fetches->n * EDDY_ONNX_PARTS, options->targets.n,
                           &err) != EDDY_OK) {
        eddy__message_complain_error(NULL, &err);
        return EDDY__EXIT_FAILED;
    }
    request->n_feeds = request->n_fetches = 0;
    for (size_t i = 0; i < fetches->n; i++) {
        const char *name = fetches->items[i];

        if (add_fetch(request, named, name, options, &err) != EDDY_OK)
            return complain("--fetch", name, &err);
    }
    for (size_t i = 0; i < request->n_targets; i++) {
        const char *name = options->targets.items[i];

        if (eddy__request_find_target(named->graph, name, &request->targets[i],
                                      &err) != EDDY_OK)
            return complain("--target", name, &err);
    }
    for (size_t i = 0; i < options->feeds.n && result == EDDY__EXIT_DONE; i++)
        result = add_feed(request, named, options, i);
    return result;
}
