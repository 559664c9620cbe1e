/* SPDX-License-Identifier: Apache-2.0 */
/* Making a context: allocator, logger, every table of ops, and workers. */
#include "core/context.h"
#include "core/base/status.h"
#include "frames/analysis/analysis.h"
#include "frames/lower/functional.h"
#include "ops/ops.h"
#include "runtime/exec/pool.h"

#include <string.h>

static eddy_status add_table(eddy_context *ctx, const eddy__op_table *table,
                             eddy_error *err)
{
    for (size_t i = 0; i < table->n; i++) {
        eddy_op_spec spec = table->specs[i];

        spec.flags |= EDDY__OP_BUILTIN;
        EDDY_TRY(eddy__registry_add(
            &ctx->registry, &spec,
            table->roles ? table->roles[i] : EDDY__ROLE_NONE, err));
    }
    return EDDY_OK;
}

static eddy_status add_ops(eddy_context *ctx, eddy_error *err)
{
    const eddy__op_table *const tables[] = {&eddy__control_ops,
                                            &eddy__functional_ops,
#define X(family) &eddy__##family##_ops,
                                            EDDY__OP_FAMILY_MAP(X)
#undef X
    };

    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        EDDY_TRY(add_table(ctx, tables[i], err));
    return EDDY_OK;
}

eddy_status eddy_context_create(const eddy_context_options *options,
                                eddy_context **out_ctx, eddy_error *err)
{
    eddy_context_options copy = {0};
    const eddy_allocator *allocator = eddy__default_allocator();
    eddy_context *ctx;
    eddy_status status;

    *out_ctx = NULL;
    if (options && (options->size == 0 || options->size > sizeof copy))
        return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                          "context options of %zu bytes, wanted up to %zu",
                          options->size, sizeof copy);
    if (options)
        memcpy(&copy, options, options->size);
    if (copy.allocator.allocate)
        allocator = &copy.allocator;
    ctx = eddy__allocate_zeroed(allocator, 1, sizeof *ctx);
    if (!ctx)
        return eddy__fail_memory(err);
    atomic_init(&ctx->refs, 1);
    ctx->allocator = *allocator;
    ctx->logger = copy.logger;
    ctx->differentiate = eddy_gradients;
    eddy__registry_init(&ctx->registry, &ctx->allocator);
    status = add_ops(ctx, err);
    if (status == EDDY_OK)
        status = eddy__pool_create(&ctx->allocator, &copy, &ctx->pool, err);
    if (status != EDDY_OK) {
        eddy_context_destroy(ctx);
        return status;
    }
    ctx->n_workers = ctx->pool ? ctx->pool->n_workers : 0;
    if (copy.blas_threads > 0)
        eddy__gemm_set_threads(copy.blas_threads);
    *out_ctx = ctx;
    return EDDY_OK;
}

eddy_context *eddy_context_retain(eddy_context *ctx)
{
    if (ctx)
        atomic_fetch_add_explicit(&ctx->refs, 1, memory_order_relaxed);
    return ctx;
}

void eddy_context_release(eddy_context *ctx)
{
    eddy_allocator allocator;

    if (!ctx ||
        atomic_fetch_sub_explicit(&ctx->refs, 1, memory_order_acq_rel) != 1)
        return;
    allocator = ctx->allocator;
    eddy__pool_destroy(ctx->pool);
    eddy__registry_deinit(&ctx->registry);
    eddy__free(&allocator, ctx, 1, sizeof *ctx);
}

void eddy_context_destroy(eddy_context *ctx)
{
    eddy_context_release(ctx);
}

uint32_t eddy_context_workers(const eddy_context *ctx)
{
    return ctx->n_workers;
}
