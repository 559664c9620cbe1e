/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the JSON of a recorded case, loads its tensors, and compares what came
 * out.
 */
#include "tools/recorded_case.h"

#include "tools/case_walk.h"
#include "tools/compare.h"
#include "tools/differentiate.h"

#include "eddy/npy.h"

#include <stdlib.h>
#include <string.h>

bool eddy__case_json_are_texts(const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (!json_is_string(json_array_get(list, i)))
            return false;
    }
    return json_is_array(list);
}

bool eddy__case_json_are_named_texts(json_t *object)
{
    const char *name;
    json_t *value;

    if (!json_is_object(object))
        return false;
    json_object_foreach(object, name, value)
    {
        if (!json_is_string(value))
            return false;
    }
    return true;
}

bool eddy__case_json_has_tolerances(const json_t *object)
{
    const json_t *rtol = json_object_get(object, "rtol");
    const json_t *atol = json_object_get(object, "atol");

    return json_is_number(rtol) && json_is_number(atol) &&
           json_number_value(rtol) >= 0 && json_number_value(rtol) <= 1 &&
           json_number_value(atol) >= 0;
}

bool eddy__case_json_is_order(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 1 &&
           json_integer_value(value) <= EDDY__MOST_ORDERS;
}

/* A case may come from anywhere: the files that it names are in its folder. */
static bool leads_out(const char *name)
{
    size_t length;

    do {
        length = strcspn(name, "/");
        if (length == 0 || (length == 2 && memcmp(name, "..", 2) == 0))
            return true;
        name += length;
    } while (*name++ == '/');
    return false;
}

eddy_status eddy__recorded_tensor(const eddy__recorded_case *c,
                                  const char *name, eddy_tensor **out_tensor,
                                  eddy_error *err)
{
    char *path;
    eddy_status status;

    if (leads_out(name))
        return eddy__message_raise(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                                   "'%s' leads out of the folder of the case",
                                   name);
    path = eddy__case_join_path(c->path, name);
    status = path == NULL ? eddy__message_raise_memory(err)
                          : eddy_npy_load(c->ctx, path, out_tensor, err);
    free(path);
    return status;
}

bool eddy__recorded_compare(const eddy__recorded_case *c, const char *label,
                            const eddy_tensor *got, const char *file,
                            const json_t *spec)
{
    eddy_tensor *want = NULL;
    eddy_error err = {.code = EDDY_OK};
    char *difference = NULL;
    size_t length;
    FILE *stream = open_memstream(&difference, &length);
    bool is_equal = false;

    if (stream == NULL)
        eddy__message_raise_memory(&err);
    else if (eddy__recorded_tensor(c, file, &want, &err) == EDDY_OK)
        is_equal = eddy__compare(
            got, want, json_number_value(json_object_get(spec, "rtol")),
            json_number_value(json_object_get(spec, "atol")), stream);
    if (err.code != EDDY_OK && stream != NULL)
        eddy__message_write_error(stream, &err);
    if (stream != NULL && fclose(stream) != 0)
        is_equal = false;
    if (!is_equal)
        fprintf(c->report, "    %s (%s): %s\n", label, file,
                difference != NULL ? difference : "out of memory");
    eddy_tensor_release(want);
    free(difference);
    return is_equal;
}
