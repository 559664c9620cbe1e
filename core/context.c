/* SPDX-License-Identifier: Apache-2.0 */
/* What other layers ask of a context: its allocator, and where messages go. */
#include "core/context.h"

#include <stdarg.h>
#include <stdio.h>

const eddy_allocator *eddy__context_allocator(const eddy_context *ctx)
{
    return ctx ? &ctx->allocator : eddy__default_allocator();
}

void eddy__context_log(const eddy_context *ctx, eddy_log_level level,
                       const char *format, ...)
{
    char line[1024];
    va_list args;

    if (!ctx->logger.log)
        return;
    va_start(args, format);
    if (vsnprintf(line, sizeof line, format, args) >= 0)
        ctx->logger.log(ctx->logger.user, level, line);
    va_end(args);
}
