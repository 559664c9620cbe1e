/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer's target for NPY files: what is read comes back from its bytes. */
#include "eddy.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static eddy_context *ctx;
    eddy_tensor *tensor = NULL;
    eddy_error err;

    if (ctx == NULL && eddy_context_create(NULL, &ctx, &err) != EDDY_OK)
        abort();
    if (eddy_npy_read(ctx, data, size, &tensor, &err) == EDDY_OK) {
        if (eddy_dtype_size(eddy_tensor_dtype(tensor)) > 0 &&
            eddy_tensor_bytes(tensor) > size)
            abort();
        eddy_tensor_release(tensor);
    } else if (tensor != NULL) {
        abort();
    }
    return 0;
}
