/* Sessions: counted, and held by the runs in them. */
#include "eddy/session.h"

#include "runtime/base/status.h"
#include "runtime/core/context.h"

#include <stdatomic.h>

struct eddy_session {
    eddy_context *ctx;
    atomic_uint refs; /* add relaxed, subtract acquire-release */
};

eddy_status eddy_session_create(eddy_context *ctx, eddy_session **out_session,
                                eddy_error *err)
{
    eddy_session *session =
        eddy__allocate_zeroed(&ctx->allocator, 1, sizeof *session);

    *out_session = session;
    if (!session)
        return eddy__fail_memory(err);
    session->ctx = ctx;
    atomic_init(&session->refs, 1);
    return EDDY_OK;
}

eddy_session *eddy_session_retain(eddy_session *session)
{
    if (session)
        atomic_fetch_add_explicit(&session->refs, 1, memory_order_relaxed);
    return session;
}

void eddy_session_release(eddy_session *session)
{
    if (session &&
        atomic_fetch_sub_explicit(&session->refs, 1, memory_order_acq_rel) == 1)
        eddy__free(&session->ctx->allocator, session, 1, sizeof *session);
}
