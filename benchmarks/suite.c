/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the recorded graphs by the list in benchmarks.json. */
#include "benchmarks/suite.h"

#include "eddy/graphdef.h"

#include <stdio.h>

#define PATH_SIZE 4096

json_t *suite_read(const char *folder)
{
    char path[PATH_SIZE];
    json_error_t problem;
    json_t *listing;

    snprintf(path, sizeof path, "%s/benchmarks.json", folder);
    listing = json_load_file(path, 0, &problem);
    if (json_is_object(listing))
        return listing;
    fprintf(stderr, "bench: %s: %s\n", path,
            listing ? "not an object" : problem.text);
    json_decref(listing);
    return NULL;
}

static eddy_status refuse_entry(const char *name, eddy_error *err)
{
    *err =
        (eddy_error){.code = EDDY_INVALID_ARGUMENT, .detail = EDDY_E_MALFORMED};
    snprintf(err->message, sizeof err->message,
             "benchmarks.json: '%s' wants 1 to %d fetches and a positive "
             "number of iterations",
             name, SUITE_MAX_FETCHES);
    return err->code;
}

static eddy_status find_fetches(recording *r, const json_t *fetches,
                                eddy_error *err)
{
    for (; r->n_fetches < json_array_size(fetches); r->n_fetches++) {
        const char *name =
            json_string_value(json_array_get(fetches, r->n_fetches));
        eddy_status status;

        if (name == NULL)
            return refuse_entry(r->name, err);
        status = eddy_graph_find_output(r->graph, name,
                                        &r->fetches[r->n_fetches], err);
        if (status != EDDY_OK)
            return status;
    }
    return EDDY_OK;
}

eddy_status recording_load(recording *r, eddy_context *ctx, const char *folder,
                           const char *name, const json_t *entry,
                           eddy_error *err)
{
    const json_t *fetches = json_object_get(entry, "fetches");
    const json_int_t iterations =
        json_integer_value(json_object_get(entry, "iterations"));
    const size_t n = json_array_size(fetches);
    char path[PATH_SIZE];
    eddy_status status;

    *r = (recording){.name = name, .iterations = (uint64_t)iterations};
    if (iterations < 1 || n < 1 || n > SUITE_MAX_FETCHES)
        return refuse_entry(name, err);
    snprintf(path, sizeof path, "%s/%s.pb", folder, name);
    status = eddy_graphdef_load(ctx, path, NULL, &r->graph, err);
    if (status == EDDY_OK)
        status = find_fetches(r, fetches, err);
    return status;
}

void recording_deinit(recording *r)
{
    eddy_graph_destroy(r->graph);
    r->graph = NULL;
}
