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
    eddy__complain("%s %s: %s: %s", option, text, eddy_status_name(err->code),
                   err->message);
    return err->code == EDDY_RESOURCE_EXHAUSTED || err->detail == EDDY_E_IO
               ? EDDY__EXIT_FAILED
               : EDDY__EXIT_USAGE;
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
    const size_t length = strlen(path);
    const bool is_pb = length > 3 && strcmp(path + length - 3, ".pb") == 0;
    eddy_tensor *loaded = NULL;
    eddy_status status =
        is_pb ? load_proto(ctx, path, max_bytes, &loaded, err)
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
        return eddy__raise(err, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                           "the dtype of this tensor is not known");
    if (*value == '@')
        return load_value(ctx, value + 1, max_bytes, dtype, out_value, err);
    return eddy__literal_read(ctx, value, dtype, out_value, err);
}

/* Reads NAME=VALUE, feed `i` of the options; for `inspect` NAME will do. */
static eddy__exit add_feed(eddy__request *request, const eddy__named *named,
                           const eddy__options *options, size_t i)
{
    const char *text = options->feeds.items[i];
    const char *equals = strchr(text, '=');
    eddy_output *output = &request->feeds[i];
    eddy_error err = {.code = EDDY_OK};
    eddy_status status;
    char *name;

    /* What is only planned needs no values. */
    if (equals == NULL && options->subcommand == EDDY__FOR_INSPECT) {
        if (eddy__find_output(named, text, output, &err) == EDDY_OK)
            return EDDY__EXIT_DONE;
        return complain("--feed", text, &err);
    }
    if (equals == NULL || equals == text) {
        eddy__complain("--feed %s: not of the form NAME=VALUE", text);
        return EDDY__EXIT_USAGE;
    }
    name = strndup(text, (size_t)(equals - text));
    if (name == NULL) {
        eddy__complain("out of memory");
        return EDDY__EXIT_FAILED;
    }
    status = eddy__find_output(named, name, output, &err);
    if (status == EDDY_OK)
        status = read_value(named->ctx, equals + 1, options->max_bytes,
                            eddy_graph_output_dtype(named->graph, *output),
                            &request->values[i], &err);
    if (status != EDDY_OK) {
        const eddy__exit result = complain("--feed", name, &err);

        free(name);
        return result;
    }
    free(name);
    return EDDY__EXIT_DONE;
}

eddy__exit eddy__request_from_options(eddy__request *request,
                                      const eddy__named *named,
                                      const eddy__texts *fetches,
                                      const eddy__options *options)
{
    eddy_error err = {.code = EDDY_OK};
    eddy__exit result = EDDY__EXIT_DONE;

    if (eddy__request_init(request, options->feeds.n, fetches->n,
                           options->targets.n, &err) != EDDY_OK) {
        eddy__complain_error(NULL, &err);
        return EDDY__EXIT_FAILED;
    }
    for (size_t i = 0; i < request->n_fetches; i++) {
        const char *name = fetches->items[i];

        if (eddy__find_output(named, name, &request->fetches[i], &err) !=
            EDDY_OK)
            return complain("--fetch", name, &err);
    }
    for (size_t i = 0; i < request->n_targets; i++) {
        const char *name = options->targets.items[i];

        if (eddy__find_target(named->graph, name, &request->targets[i], &err) !=
            EDDY_OK)
            return complain("--target", name, &err);
    }
    for (size_t i = 0; i < request->n_feeds && result == EDDY__EXIT_DONE; i++)
        result = add_feed(request, named, options, i);
    return result;
}
