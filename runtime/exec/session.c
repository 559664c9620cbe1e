/* Sessions: counted, and held by the runs in them. */
#include "runtime/exec/session.h"

#include "runtime/base/status.h"
#include "runtime/core/context.h"

eddy_status eddy_session_create(eddy_context *ctx, eddy_session **out_session,
                                eddy_error *err)
{
    eddy_session *session =
        eddy__allocate_zeroed(&ctx->allocator, 1, sizeof *session);
    eddy_status status;

    *out_session = NULL;
    if (!session)
        return eddy__fail_memory(err);
    session->ctx = ctx;
    atomic_init(&session->refs, 1);
    status =
        eddy__resource_table_init(&session->resources, &ctx->allocator, err);
    if (status == EDDY_OK)
        *out_session = session;
    else
        eddy__free(&ctx->allocator, session, 1, sizeof *session);
    return status;
}

eddy_session *eddy_session_retain(eddy_session *session)
{
    if (session)
        atomic_fetch_add_explicit(&session->refs, 1, memory_order_relaxed);
    return session;
}

void eddy_session_release(eddy_session *session)
{
    if (!session ||
        atomic_fetch_sub_explicit(&session->refs, 1, memory_order_acq_rel) > 1)
        return;
    eddy__resource_table_deinit(&session->resources);
    eddy__free(&session->ctx->allocator, session, 1, sizeof *session);
}
