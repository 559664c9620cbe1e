/* SPDX-License-Identifier: Apache-2.0 */
/* One recorded case while it is verified, and what its parts share. */
#ifndef EDDY_TOOLS_RECORDED_CASE_H
#define EDDY_TOOLS_RECORDED_CASE_H

#include "tools/options.h"

#include <jansson.h>

typedef struct eddy__recorded_case {
    eddy_context *ctx;
    const char *path;
    const eddy__options *options;
    FILE *report;
    eddy_graph *graph; /* NULL if it did not load; then why: */
    eddy_error load_error;
} eddy__recorded_case;

/* Loads the tensor in the case's file `name`. */
EDDY_MUST_USE eddy_status eddy__recorded_tensor(const eddy__recorded_case *c,
                                                const char *name,
                                                eddy_tensor **out_tensor,
                                                eddy_error *err);

/*
 * Compares with the tensor in `file`, within the rtol and atol of `spec`.
 * False writes a line to the report that starts with `label`.
 */
bool eddy__recorded_compare(const eddy__recorded_case *c, const char *label,
                            const eddy_tensor *got, const char *file,
                            const json_t *spec);

/* A list of texts; an object of named texts. */
bool eddy__case_json_are_texts(const json_t *list);
bool eddy__case_json_are_named_texts(json_t *object);

/* Has the object an rtol from 0 to 1, and an atol of 0 or more? */
bool eddy__case_json_has_tolerances(const json_t *object);

/* Is it an integer from 1 to EDDY__MOST_ORDERS? */
bool eddy__case_json_is_order(const json_t *value);

/* verify_gradient.c: `label` is where in case.json `spec` stands. */
bool eddy__verify_gradient(const eddy__recorded_case *c, const char *label,
                           json_t *spec);

#endif
