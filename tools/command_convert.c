/* SPDX-License-Identifier: Apache-2.0 */
/* `eddy convert`: a graph as an ONNX model, or a model as a GraphDef. */
#include "tools/commands.h"

#include "tools/names.h"
#include "tools/program.h"

#include "eddy/graphdef.h"
#include "eddy/onnx_model.h"

#include <stdlib.h>
#include <string.h>

static eddy__exit check(const eddy__options *options)
{
    if (options->out != NULL)
        return EDDY__EXIT_DONE;
    eddy__message_complain("no -o OUT is given");
    return EDDY__EXIT_USAGE;
}

static bool is_onnx(const char *path)
{
    const size_t length = strlen(path);

    return length > 5 && strcmp(path + length - 5, ".onnx") == 0;
}

static eddy__exit find_fetches(const eddy__program *program,
                               eddy_output **out_fetches)
{
    const eddy__named named = {program->ctx, program->graph, program->onnx};
    const eddy__texts *names = &program->fetches;
    eddy_error err = {.code = EDDY_OK};

    if (names->n == 0) {
        eddy__message_complain("no --fetch is given");
        return EDDY__EXIT_USAGE;
    }
    *out_fetches = calloc(names->n, sizeof **out_fetches);
    if (*out_fetches == NULL) {
        eddy__message_complain("out of memory");
        return EDDY__EXIT_FAILED;
    }
    for (size_t i = 0; i < names->n; i++)
        if (eddy__names_find_output(&named, names->items[i], &(*out_fetches)[i],
                                    &err) != EDDY_OK) {
            eddy__message_complain_error("--fetch", &err);
            return EDDY__EXIT_USAGE;
        }
    return EDDY__EXIT_DONE;
}

static eddy__exit write_onnx(const eddy__program *program,
                             const eddy__options *options)
{
    const eddy_limits limits = eddy__options_limits(options);
    const eddy_onnx_write_options how = {
        .size = sizeof how,
        .opset = (int64_t)options->opset,
        .ir_version = (int64_t)options->ir_version,
        .limits = &limits,
    };
    eddy_error err = {.code = EDDY_OK};
    eddy_output *fetches = NULL;
    eddy__exit result = find_fetches(program, &fetches);

    if (result == EDDY__EXIT_DONE &&
        eddy_onnx_save(program->graph, fetches, program->fetches.n, &how,
                       options->out, &err) != EDDY_OK) {
        eddy__message_complain_error(options->paths.items[0], &err);
        result = EDDY__EXIT_FAILED;
    }
    free(fetches);
    return result;
}

static eddy__exit run(const eddy__options *options)
{
    eddy__program program = {.ctx = NULL};
    eddy_error err = {.code = EDDY_OK};
    eddy__exit result = check(options);

    if (result == EDDY__EXIT_DONE)
        result = eddy__program_load(&program, options);
    if (result == EDDY__EXIT_DONE && is_onnx(options->out)) {
        result = write_onnx(&program, options);
    } else if (result == EDDY__EXIT_DONE &&
               eddy_graphdef_save(program.graph, options->out, &err) !=
                   EDDY_OK) {
        eddy__message_complain_error(options->out, &err);
        result = EDDY__EXIT_FAILED;
    }
    eddy__program_deinit(&program);
    return result;
}

const eddy__command eddy__command_convert = {
    .name = "convert",
    .arguments = "GRAPH [--fetch NAME]... -o OUT [OPTION]...",
    .summary = "write a graph as an ONNX model or as a GraphDef",
    .details =
        "Writes what the fetches need of GRAPH to OUT, as an ONNX model if\n"
        "its name ends with .onnx: loops and branches become Loop and If,\n"
        "placeholders the model's inputs, fetches its outputs.  What ONNX\n"
        "cannot express is refused, all in one message.  Any other OUT is a\n"
        "GraphDef of all of GRAPH.\n",
    .examples = "  eddy convert loop.pb --fetch while/Exit -o loop.onnx\n"
                "  eddy convert model.onnx -o model.pb\n",
    .options = EDDY__FOR_CONVERT,
    .run = run,
};
