/* SPDX-License-Identifier: Apache-2.0 */
/* `eddy verify`: recorded cases, run and compared. */
#include "tools/commands.h"

#include "tools/case_walk.h"
#include "tools/progress.h"
#include "tools/verify_case.h"

#include <stdlib.h>

/* Runs one case; prints it if it failed. */
static eddy__outcome verify(eddy_context *ctx, const char *path,
                            const eddy__options *options,
                            eddy__progress *progress)
{
    char *text = NULL;
    size_t length;
    FILE *report = open_memstream(&text, &length);
    eddy__outcome outcome = EDDY__CASE_FAILED;

    if (report != NULL) {
        outcome = eddy__verify_case(ctx, path, options, report);
        if (fclose(report) != 0)
            outcome = EDDY__CASE_FAILED;
    }
    if (outcome == EDDY__CASE_FAILED) {
        eddy__progress_clear(progress);
        printf("FAILED %s\n%s", path,
               text != NULL ? text : "    out of memory\n");
        fflush(stdout);
    }
    free(text);
    return outcome;
}

static eddy__exit verify_all(eddy_context *ctx, const eddy__case_list *cases,
                             const eddy__options *options)
{
    size_t counts[EDDY__CASE_N_OUTCOMES] = {0};
    eddy__progress progress;

    eddy__progress_begin(&progress);
    for (size_t i = 0; i < cases->n; i++) {
        eddy__progress_show(&progress, i, cases->n, cases->paths[i]);
        counts[verify(ctx, cases->paths[i], options, &progress)]++;
    }
    eddy__progress_clear(&progress);
    printf("%zu passed, %zu failed, %zu skipped\n", counts[EDDY__CASE_PASSED],
           counts[EDDY__CASE_FAILED], counts[EDDY__CASE_SKIPPED]);
    if (cases->n == 0)
        eddy__message_complain("no case.json was found");
    return cases->n > 0 && counts[EDDY__CASE_FAILED] == 0 ? EDDY__EXIT_DONE
                                                          : EDDY__EXIT_FAILED;
}

static eddy__exit run(const eddy__options *options)
{
    eddy__case_list cases = {.n = 0};
    eddy_context *ctx = NULL;
    eddy_error err = {.code = EDDY_OK};
    eddy_status status = EDDY_OK;
    eddy__exit result = EDDY__EXIT_FAILED;

    if (options->paths.n == 0) {
        eddy__message_complain("no PATH is given");
        return EDDY__EXIT_USAGE;
    }
    for (size_t i = 0; i < options->paths.n && status == EDDY_OK; i++)
        status = eddy__case_list_add(&cases, options->paths.items[i], &err);
    if (status == EDDY_OK)
        status = eddy__options_context(options, &ctx, &err);
    if (status == EDDY_OK)
        result = verify_all(ctx, &cases, options);
    else
        eddy__message_complain_error(NULL, &err);
    eddy_context_destroy(ctx);
    eddy__case_list_deinit(&cases);
    return result;
}

const eddy__command eddy__command_verify = {
    .name = "verify",
    .arguments = "[--forward] PATH...",
    .summary = "run recorded cases and compare",
    .details =
        "Runs every recorded case below each PATH: every directory with a\n"
        "case.json, which says what to run and what to expect, or with a\n"
        "model.onnx and test_data_set_N, as ONNX has its tests.  Prints each\n"
        "case that fails with what differed, and ends with\n"
        "`N passed, N failed, N skipped`.\n"
        "\n"
        "A case with an op that this build does not have fails.  A case is\n"
        "skipped if --forward leaves nothing of it to run.\n",
    .examples =
        "  eddy verify --forward tests/conformance/tf/while\n"
        "  eddy verify --forward --workers 4 tests/conformance/tf/cond\n"
        "  eddy verify tests/conformance/tf/primitives/nested2 --timeout 10\n",
    .options = EDDY__FOR_VERIFY,
    .run = run,
};
