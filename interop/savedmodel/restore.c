/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of a SavedModel: TensorFlow has put nodes into the graph that read
 * the files and assign, and says which one is to be run and what tells it where
 * the files are.  So they are run, and nothing here knows what a variable is.
 */
#include "interop/savedmodel/model.h"

#include "core/base/status.h"
#include "eddy/plan.h"
#include "eddy/run.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A node by its name, or by that of one of its outputs. */
static eddy_status find_node(const eddy_graph *graph, const char *name,
                             eddy_node *out_node, eddy_error *err)
{
    eddy_output output;

    *out_node = eddy_graph_find(graph, name);
    if (*out_node != EDDY_NO_NODE)
        return EDDY_OK;
    EDDY_TRY(eddy_graph_find_output(graph, name, &output, err));
    *out_node = output.node;
    return EDDY_OK;
}

/* Runs a node in the session, fed with `value` unless that is NULL. */
static eddy_status run_target(const eddy_savedmodel *model, const char *target,
                              eddy_tensor *value, eddy_session *session,
                              const eddy_limits *limits, eddy_error *err)
{
    const eddy_run_options how = {.size = sizeof how, .session = session};
    eddy_plan_options options = {.size = sizeof options, .limits = limits};
    eddy_plan *plan = NULL;
    eddy_output feed;
    eddy_node node;
    eddy_status status;

    EDDY_TRY(find_node(model->graph, target, &node, err));
    options.targets = &node;
    options.n_targets = 1;
    if (value) {
        EDDY_TRY(
            eddy_graph_find_output(model->graph, model->filename, &feed, err));
        options.feeds = &feed;
        options.n_feeds = 1;
    }
    EDDY_TRY(eddy_plan_create(model->graph, &options, &plan, err));
    status = eddy_plan_run(plan, &how, &value, NULL, err);
    eddy_plan_release(plan);
    return status;
}

static bool has_variables(const eddy_savedmodel *model)
{
    char path[4096];
    struct stat info;
    const int n = snprintf(path, sizeof path, "%s.index", model->variables);

    return model->restore[0] != '\0' && n > 0 && (size_t)n < sizeof path &&
           stat(path, &info) == 0;
}

static eddy_status restore(const eddy_savedmodel *model, eddy_session *session,
                           const eddy_limits *limits, eddy_error *err)
{
    const eddy_shape scalar = {.rank = 0};
    const eddy_string text = {model->variables, strlen(model->variables)};
    eddy_tensor *prefix = NULL;
    eddy_status status;

    EDDY_TRY(
        eddy_tensor_from_strings(model->ctx, &scalar, &text, 1, &prefix, err));
    status = run_target(model, model->restore, prefix, session, limits, err);
    eddy_tensor_release(prefix);
    return status;
}

eddy_status eddy_savedmodel_restore(const eddy_savedmodel *model,
                                    eddy_session *session,
                                    const eddy_limits *limits, eddy_error *err)
{
    EDDY_REFUSE_IF(!model, err, "no model");
    EDDY_REFUSE_IF(!session, err, "no session");
    if (has_variables(model))
        EDDY_TRY(restore(model, session, limits, err));
    if (model->initial[0] == '\0')
        return EDDY_OK;
    return run_target(model, model->initial, NULL, session, limits, err);
}
