/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's target for ONNX models, as bytes: what loads is analysed,
 * planned, run, rewritten and differentiated as a GraphDef is.
 */
#include "tests/campaign/exercise.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static exercise e;

    if (e.inline_ctx == NULL)
        exercise_init(&e);
    exercise_onnx(&e, data, size);
    return 0;
}
