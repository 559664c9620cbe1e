/* SPDX-License-Identifier: Apache-2.0 */
/* One recorded case: docs of the format are in tests/conformance/README.md. */
#ifndef EDDY_TOOLS_VERIFY_CASE_H
#define EDDY_TOOLS_VERIFY_CASE_H

#include "tools/options.h"

typedef enum eddy__outcome {
    EDDY__CASE_PASSED,
    EDDY__CASE_FAILED,
    EDDY__CASE_SKIPPED, /* it has nothing that was asked for */
    EDDY__CASE_N_OUTCOMES
} eddy__outcome;

/*
 * Runs the case in the directory `path` and compares; writes to `report`, an
 * indented line each, what was not as recorded.
 */
eddy__outcome eddy__verify_case(eddy_context *ctx, const char *path,
                                const eddy__options *options, FILE *report);

/*
 * The same of a case in the layout of ONNX's backend tests: a model, and
 * folders of what goes in and what must come out, within ONNX's tolerances.
 */
eddy__outcome eddy__verify_model(eddy_context *ctx, const char *path,
                                 const eddy__options *options, FILE *report);

#endif
