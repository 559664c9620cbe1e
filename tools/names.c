/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds outputs by their names, and tells which files are models of ONNX by
 * theirs.
 */
#include "tools/names.h"

#include "tools/message.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What stands before a model's graph is seldom longer. */
#define LOOKED_AT 4096

eddy_status eddy__names_find_output(const eddy__named *named, const char *name,
                                    eddy_output *out, eddy_error *err)
{
    const eddy_onnx_port *port =
        named->model != NULL ? eddy_onnx_model_find(named->model, name) : NULL;

    if (port == NULL)
        return eddy_graph_find_output(named->graph, name, out, err);
    if (port->kind != EDDY_ONNX_TENSOR)
        return eddy__message_raise(
            err, EDDY_UNIMPLEMENTED, EDDY_E_DTYPE,
            "'%.100s' is a sequence or an optional value; only "
            "`eddy run` takes and gives these",
            name);
    *out = port->output;
    return EDDY_OK;
}

static const eddy_onnx_port *find_port(const eddy_onnx_port *ports, size_t n,
                                       const char *name, size_t *out_index)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(ports[i].name, name) != 0)
            continue;
        *out_index = i;
        return ports[i].kind != EDDY_ONNX_TENSOR ? &ports[i] : NULL;
    }
    return NULL;
}

const eddy_onnx_port *eddy__names_find_packed(const eddy_onnx_model *model,
                                              const char *name,
                                              size_t *out_index)
{
    size_t n = 0;
    const eddy_onnx_port *ports =
        model != NULL ? eddy_onnx_model_outputs(model, &n) : NULL;

    return find_port(ports, n, name, out_index);
}

const eddy_onnx_port *eddy__names_find_held(const eddy_onnx_model *model,
                                            const char *name, size_t *out_index)
{
    size_t n = 0;
    const eddy_onnx_port *ports =
        model != NULL ? eddy_onnx_model_inputs(model, &n) : NULL;

    return find_port(ports, n, name, out_index);
}

bool eddy__names_is_model_file(const char *path)
{
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    unsigned char bytes[LOOKED_AT];
    struct stat info;
    ssize_t n = 0;

    if (file < 0)
        return false;
    if (fstat(file, &info) == 0 && S_ISREG(info.st_mode))
        n = read(file, bytes, sizeof bytes);
    (void)close(file);
    return n > 0 && eddy_onnx_is_model(bytes, (size_t)n);
}
