/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's target for the literals of the command line: the first byte says
 * the dtype, the rest is the text.
 */
#include "eddy.h"
#include "tools/literal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static eddy_context *ctx;
    eddy_tensor *tensor = NULL;
    eddy_error err;
    char *text;

    if (ctx == NULL && eddy_context_create(NULL, &ctx, &err) != EDDY_OK)
        abort();
    if (size == 0 || (text = malloc(size)) == NULL)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (eddy__literal_read(ctx, text, (eddy_dtype)(data[0] % EDDY_DTYPE_COUNT),
                           &tensor, &err) == EDDY_OK)
        eddy_tensor_release(tensor);
    else if (err.message[0] == '\0')
        abort();
    free(text);
    return 0;
}
