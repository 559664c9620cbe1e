/*
 * Sessions: what outlives runs.  Resources that a run creates by name are kept
 * by the session it runs in; a run without a session drops them at its end.
 * Any number of threads may run plans in one session.
 */
#ifndef EDDY_SESSION_H
#define EDDY_SESSION_H

#include "eddy/context.h"

EDDY_BEGIN_DECLS

typedef struct eddy_session eddy_session;

EDDY_API EDDY_MUST_USE eddy_status eddy_session_create(
    eddy_context *ctx, eddy_session **out_session, eddy_error *err);

/* Both accept NULL.  Runs hold a reference.  @thread any */
EDDY_API eddy_session *eddy_session_retain(eddy_session *session);
EDDY_API void eddy_session_release(eddy_session *session);

EDDY_END_DECLS

#endif
