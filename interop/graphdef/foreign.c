/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells files that are no GraphDef by their first bytes, so that the message
 * can say what they are.
 */
#include "interop/graphdef/foreign.h"

#include "core/base/status.h"
#include "core/base/varint.h"
#include "interop/shared/wire.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* So many fields of a message are looked at. */
#define MOST_FIELDS 4096

static eddy_status fail(eddy_error *err, const char *what, const char *to_do)
{
    return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_MALFORMED,
                      "this is %s, and a GraphDef in binary form is wanted: %s",
                      what, to_do);
}

static eddy_status fail_saved_model(eddy_error *err, const char *what)
{
    return fail(err, what,
                "load its folder with eddy_savedmodel_load, which the command "
                "does by itself");
}

/* ---- text ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The first byte that is neither white nor in a comment. */
static const char *skip(const char *at, const char *end)
{
    while (at < end && (is_space(*at) || *at == '#')) {
        if (*at == '#')
            while (at < end && *at != '\n')
                at++;
        else
            at++;
    }
    return at;
}

/* Does it begin as the text form does: `node {`, `versions {`, `library {`? */
static bool is_text(const char *bytes, size_t length)
{
    static const char *const fields[] = {"node", "versions", "version",
                                         "library"};
    const char *end = bytes + length, *at = skip(bytes, end);

    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const size_t n = strlen(fields[i]);
        const char *after;

        if ((size_t)(end - at) <= n || memcmp(at, fields[i], n) != 0)
            continue;
        after = skip(at + n, end);
        if (after < end && (*after == '{' || *after == ':'))
            return true;
    }
    return false;
}

/* ---- messages ---- */

/* Bit n: field n, of those up to 31, has that wire type. */
typedef struct outline {
    uint32_t numbers, messages;
} outline;

/*
 * The fields of a message of numbers and messages; false if it is none.  With
 * `is_cut` the bytes are the first ones of a longer message.
 */
static bool read_outline(const uint8_t *at, size_t length, bool is_cut,
                         outline *out)
{
    const uint8_t *end = at + length;
    uint64_t tag, value;

    *out = (outline){.numbers = 0};
    for (size_t n = 0; at < end && n < MOST_FIELDS; n++) {
        if (!eddy__varint_take(&at, end, &tag) || tag >> 3 == 0 ||
            tag >> 3 > 31 || !eddy__varint_take(&at, end, &value))
            return false;
        if ((tag & 7) == 0) {
            out->numbers |= UINT32_C(1) << (tag >> 3);
        } else if ((tag & 7) == 2 && value <= (uint64_t)(end - at)) {
            out->messages |= UINT32_C(1) << (tag >> 3);
            at += value;
        } else if ((tag & 7) == 2 && is_cut) {
            out->messages |= UINT32_C(1) << (tag >> 3);
            return true;
        } else {
            return false;
        }
    }
    return true;
}

static bool has(uint32_t fields, int number)
{
    return (fields >> number & 1) != 0;
}

/*
 * ModelProto: 1 is ir_version, which may be missing, 5 model_version, 7 graph,
 * 8 opset_import.  A GraphDef has messages in field 1, and none in those.
 */
static bool is_onnx(const outline *o)
{
    return (has(o->messages, 7) || has(o->messages, 8)) && !has(o->messages, 1);
}

/* SavedModel: 1 is saved_model_schema_version, 2 meta_graphs. */
static bool is_saved_model(const outline *o)
{
    return o->numbers == UINT32_C(1) << 1 && o->messages == UINT32_C(1) << 2;
}

bool eddy__foreign_is_onnx(const void *bytes, size_t length)
{
    outline o;

    return length > 0 && read_outline(bytes, length, true, &o) && is_onnx(&o);
}

eddy_status eddy__foreign_bytes(const void *bytes, size_t length,
                                eddy_error *err)
{
    outline o;

    if (length == 0)
        return EDDY_OK;
    if (is_text(bytes, length))
        return fail(err, "a GraphDef in text form",
                    "in TensorFlow, write it with tf.io.write_graph(..., "
                    "as_text=False)");
    if (!read_outline(bytes, length, false, &o))
        return EDDY_OK;
    if (is_onnx(&o))
        return fail(err, "an ONNX model",
                    "load it with eddy_onnx_load, which the command does by "
                    "itself");
    if (is_saved_model(&o))
        return fail_saved_model(err, "a SavedModel");
    return EDDY_OK;
}

eddy_status eddy__foreign_path(const char *path, eddy_error *err)
{
    struct stat info;
    bool is_model = false;
    int folder;

    if (stat(path, &info) != 0)
        return EDDY_OK;
    if (S_ISREG(info.st_mode) && info.st_size == 0)
        return fail(err, "an empty file", "not all of it was written");
    if (!S_ISDIR(info.st_mode))
        return EDDY_OK;
    folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        is_model = fstatat(folder, "saved_model.pb", &info, 0) == 0;
        (void)close(folder);
    }
    return is_model ? fail_saved_model(err, "the folder of a SavedModel")
                    : EDDY_OK;
}
