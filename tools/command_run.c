/* SPDX-License-Identifier: Apache-2.0 */
/* `eddy run`: a graph once, its fetches printed and perhaps written. */
#include "tools/commands.h"

#include "tools/format.h"
#include "tools/program.h"
#include "tools/recording.h"

#include "eddy/npy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Room for a directory and a name whose every byte becomes three. */
static char *output_path(const char *directory, const char *name)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz0123456789._-";
    static const char digits[] = "0123456789ABCDEF";
    const size_t length = strlen(directory);
    char *path = malloc(length + 3 * strlen(name) + sizeof "/.npy");
    char *end = path;

    if (path == NULL)
        return NULL;
    memcpy(end, directory, length);
    end += length;
    *end++ = '/';
    for (; *name != '\0'; name++) {
        const unsigned char byte = (unsigned char)*name;

        if (strchr(plain, *name) != NULL) {
            *end++ = *name;
        } else {
            *end++ = '%';
            *end++ = digits[byte >> 4];
            *end++ = digits[byte & 15];
        }
    }
    memcpy(end, ".npy", sizeof ".npy");
    return path;
}

static eddy__exit make_directory(const char *path)
{
    struct stat found;

    if (mkdir(path, 0777) == 0)
        return EDDY__EXIT_DONE;
    if (errno == EEXIST && stat(path, &found) == 0) {
        if (S_ISDIR(found.st_mode))
            return EDDY__EXIT_DONE;
        errno = ENOTDIR;
    }
    eddy__message_complain("--out %s: %s", path, strerror(errno));
    return EDDY__EXIT_FAILED;
}

static void print_fetch(const char *name, const eddy_tensor *value)
{
    printf("%s\t%s\t", name, eddy_dtype_name(eddy_tensor_dtype(value)));
    eddy__format_shape(stdout, eddy_tensor_shape(value));
    putchar('\t');
    eddy__format_values(stdout, value);
    putchar('\n');
}

static eddy__exit write_fetch(const char *directory, const char *name,
                              const eddy_tensor *value)
{
    eddy_error err = {.code = EDDY_OK};
    eddy__exit result = EDDY__EXIT_DONE;
    char *path = output_path(directory, name);

    if (path == NULL) {
        eddy__message_complain("out of memory");
        return EDDY__EXIT_FAILED;
    }
    if (eddy_npy_save(value, path, &err) != EDDY_OK) {
        eddy__message_complain_error(path, &err);
        result = EDDY__EXIT_FAILED;
    }
    free(path);
    return result;
}

/* ---- sequences and optional values ---- */

/* In brackets if there may be any number of them. */
static void print_items(const eddy_onnx_data *data, bool is_list,
                        bool are_shapes)
{
    if (is_list)
        putchar('[');
    for (size_t i = 0; i < data->n; i++) {
        if (i > 0)
            putchar(',');
        if (are_shapes)
            eddy__format_shape(stdout, eddy_tensor_shape(data->items[i]));
        else
            eddy__format_values(stdout, data->items[i]);
    }
    if (is_list)
        putchar(']');
}

static void print_packed(const eddy_onnx_port *port, const eddy_onnx_data *data)
{
    static const char *const before[] = {
        [EDDY_ONNX_TENSOR] = "",
        [EDDY_ONNX_SEQUENCE] = "sequence(",
        [EDDY_ONNX_OPTIONAL] = "optional(",
        [EDDY_ONNX_OPTIONAL_SEQUENCE] = "optional(sequence(",
    };
    static const char *const behind[] = {
        [EDDY_ONNX_TENSOR] = "",
        [EDDY_ONNX_SEQUENCE] = ")",
        [EDDY_ONNX_OPTIONAL] = ")",
        [EDDY_ONNX_OPTIONAL_SEQUENCE] = "))",
    };
    const bool is_list = port->kind != EDDY_ONNX_OPTIONAL;

    printf("%s\t%s%s%s", port->name, before[port->kind],
           eddy_dtype_name(port->dtype), behind[port->kind]);
    if (!data->is_present) {
        puts("\tnone\tnone");
        return;
    }
    putchar('\t');
    print_items(data, is_list, true);
    putchar('\t');
    print_items(data, is_list, false);
    putchar('\n');
}

/* Writes item 2 of `xs` as xs[2], an optional tensor as a tensor. */
static eddy__exit write_packed(const char *directory,
                               const eddy_onnx_port *port,
                               const eddy_onnx_data *data)
{
    const size_t size = strlen(port->name) + 32;
    char *name = malloc(size);
    eddy__exit result = EDDY__EXIT_DONE;

    if (name == NULL) {
        eddy__message_complain("out of memory");
        return EDDY__EXIT_FAILED;
    }
    for (size_t i = 0; i < data->n && result == EDDY__EXIT_DONE; i++) {
        (void)snprintf(name, size, "%s[%zu]", port->name, i);
        result = write_fetch(
            directory, port->kind == EDDY_ONNX_OPTIONAL ? port->name : name,
            data->items[i]);
    }
    free(name);
    return result;
}

/* Prints it, or with a directory writes it there. */
static eddy__exit put_packed(const eddy__program *program,
                             const char *directory, const eddy_onnx_port *port,
                             eddy_tensor *const *parts)
{
    eddy_error err = {.code = EDDY_OK};
    eddy__exit result = EDDY__EXIT_DONE;
    eddy_onnx_data data;

    if (eddy_onnx_data_unpack(program->ctx, parts, &data, &err) != EDDY_OK) {
        eddy__message_complain_error(port->name, &err);
        return EDDY__EXIT_FAILED;
    }
    if (directory == NULL)
        print_packed(port, &data);
    else
        result = write_packed(directory, port, &data);
    eddy_onnx_data_free(&data);
    return result;
}

/* Prints all that was fetched, or writes it to a directory. */
static eddy__exit put_all(const eddy__program *program, const char *directory,
                          eddy_tensor *const *fetched)
{
    eddy__exit result = EDDY__EXIT_DONE;

    for (size_t i = 0, at = 0;
         at < program->request.n_fetches && result == EDDY__EXIT_DONE; i++) {
        const char *name = eddy__program_label(program, i);
        size_t k = 0;
        const eddy_onnx_port *port =
            eddy__names_find_packed(program->onnx, name, &k);

        if (port != NULL)
            result = put_packed(program, directory, port, fetched + at);
        else if (directory == NULL)
            print_fetch(name, fetched[at]);
        else
            result = write_fetch(directory, name, fetched[at]);
        at += port != NULL ? EDDY_ONNX_PARTS : 1;
    }
    return result;
}

/* Prints all that was fetched, and writes it where --out says. */
static eddy__exit put_fetches(const eddy__program *program,
                              const eddy__options *options,
                              eddy_tensor *const *fetched)
{
    eddy__exit result = put_all(program, NULL, fetched);

    if (options->out == NULL || result != EDDY__EXIT_DONE)
        return result;
    result = make_directory(options->out);
    return result == EDDY__EXIT_DONE ? put_all(program, options->out, fetched)
                                     : result;
}

/* What was recorded is written whether the run has failed or not. */
static eddy__exit execute(eddy__program *program, const eddy__options *options)
{
    const size_t n = program->request.n_fetches;
    eddy_tensor **fetched = calloc(n + 1, sizeof(eddy_tensor *));
    eddy_error err = {.code = EDDY_OK};
    eddy__exit result = EDDY__EXIT_DONE;
    eddy_status status;

    if (fetched == NULL) {
        eddy__message_complain("out of memory");
        return EDDY__EXIT_FAILED;
    }
    status = eddy__program_execute(program, options, fetched, &err);
    if (program->trace != NULL)
        result = eddy__recording_write(program->trace, options);
    if (status != EDDY_OK) {
        eddy__message_complain_error(options->paths.items[0], &err);
        result = EDDY__EXIT_FAILED;
    }
    if (result == EDDY__EXIT_DONE)
        result = put_fetches(program, options, fetched);
    for (size_t i = 0; i < n; i++)
        eddy_tensor_release(fetched[i]);
    free(fetched);
    return result;
}

static eddy__exit run(const eddy__options *options)
{
    eddy__program program;
    eddy__exit result;

    if (options->checkpoint_folder == NULL &&
        (options->checkpoint > 0 || options->resume)) {
        eddy__message_complain(
            "--checkpoint and --resume want --checkpoint-dir");
        return EDDY__EXIT_USAGE;
    }
    result = eddy__program_load(&program, options);

    if (result == EDDY__EXIT_DONE)
        result = eddy__program_prepare(&program, options);
    if (result == EDDY__EXIT_DONE)
        result = execute(&program, options);
    eddy__program_deinit(&program);
    return result;
}

const eddy__command eddy__command_run = {
    .name = "run",
    .arguments = "GRAPH [--feed NAME=VALUE]... [--fetch NAME]...",
    .summary = "run a graph and print what it fetches",
    .details =
        "Runs GRAPH, a binary GraphDef, an ONNX model or the folder of a\n"
        "SavedModel, and prints a line for each fetch: its name, dtype, shape\n"
        "and values, parted by tabs.  Of an ONNX model without --fetch, that "
        "is\n"
        "every output.  Of a SavedModel, the variables have the values that\n"
        "were saved, and a signature's inputs and outputs are fed and fetched\n"
        "by the signature's names; `eddy inspect` lists them.\n"
        "\n"
        "NAME is `node` or `node:index`.  VALUE is @FILE.npy, @FILE.pb (of\n"
        "ONNX) or a JSON literal: a number, true, false, a string in quotes,\n"
        "NaN, Infinity, or nested lists of them.  It becomes the dtype of the\n"
        "tensor that it replaces, and is refused if it does not fit.\n"
        "\n"
        "A sequence or an optional value of an ONNX model is fed from the .pb\n"
        "of ONNX's test data; it is printed as one line, with the shapes and\n"
        "values of its tensors in brackets, or `none`.\n"
        "\n"
        "With --place or --ranks GRAPH is cut, and its ranks are threads; "
        "with\n"
        "--processes they are processes, which --socket and --rank start one "
        "by\n"
        "one instead, each with the same other arguments: see `eddy "
        "partition`.\n"
        "\n"
        "--checkpoint N saves, every N trips of the loop that is in no other,\n"
        "what it carries, the variables and the state of random numbers in\n"
        "--checkpoint-dir; --resume goes on from there, to the same bits.  "
        "With\n"
        "ranks each saves its part.\n"
        "\n"
        "--out makes DIR if need be; in NAME.npy every byte of NAME that is\n"
        "not in A-Z a-z 0-9 . _ - becomes %XX.  Item 2 of a sequence xs is\n"
        "xs[2].\n",
    .examples =
        "  eddy run counter.pb --fetch while/Exit\n"
        "  eddy run blog.pb --feed i=1 --feed n=10 --fetch v1 --fetch v2\n"
        "  eddy run model.pb --feed 'x=[[1, 2.5], [-3, NaN]]' --fetch y:1\n"
        "  eddy run model.pb --feed x=@x.npy --fetch y --out results\n"
        "  eddy run saved_model --signature serving_default --feed x=@x.npy\n"
        "  eddy run unknown.pb --fetch y --max-iterations 1000000 --timeout "
        "10\n",
    .options = EDDY__FOR_RUN,
    .run = run,
};
