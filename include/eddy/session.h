/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions: what outlives runs.  Resources that a run creates by name are kept
 * by the session it runs in; a run without a session drops them at its end.
 * Any number of threads may run plans in one session.
 *
 * A variable is called as its node says: shared_name, else the node's name, and
 * before that `container:` if the node gives a container.  VarHandleOp and
 * VariableV2 of one name are one variable.  Reads and updates are atomic, those
 * of the functions here too.
 */
#ifndef EDDY_SESSION_H
#define EDDY_SESSION_H

#include "eddy/context.h"
#include "eddy/tensor.h"

EDDY_BEGIN_DECLS

typedef struct eddy_session eddy_session;

EDDY_API EDDY_MUST_USE eddy_status eddy_session_create(
    eddy_context *ctx, eddy_session **out_session, eddy_error *err);

/* Both accept NULL.  Runs hold a reference.  @thread any */
EDDY_API eddy_session *eddy_session_retain(eddy_session *session);
EDDY_API void eddy_session_release(eddy_session *session);

/*
 * The value of a variable: a reference of the caller's to a tensor that later
 * updates do not touch.  Errors: NOT_FOUND (EDDY_E_UNINITIALIZED) where there
 * is no value, INVALID_ARGUMENT (EDDY_E_DTYPE) for a list.  @thread any
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_session_get_variable(eddy_session *session, const char *name,
                          eddy_tensor **out_tensor, eddy_error *err);

/*
 * Makes `tensor`, which it retains, the value of a variable; one that does not
 * exist is created.  The dtype must be that of the value before, or of the
 * nodes that use the variable, and the shape must be theirs.  Errors:
 * INVALID_ARGUMENT (EDDY_E_DTYPE, EDDY_E_SHAPE).  @thread any
 */
EDDY_API EDDY_MUST_USE eddy_status
eddy_session_set_variable(eddy_session *session, const char *name,
                          eddy_tensor *tensor, eddy_error *err);

/* A variable as it is; without a value, as the nodes that use it say. */
typedef struct eddy_variable_info {
    const char *name; /* borrowed until the session is cleared or gone */
    bool is_initialized;
    eddy_dtype dtype; /* EDDY_INVALID: nodes say different ones */
    eddy_shape shape;
} eddy_variable_info;

/* How many variables there are, with and without values.  @thread any */
EDDY_API size_t eddy_session_variables(eddy_session *session);

/*
 * Variable `i`, in the order in which they were made; false past the end.
 * @thread any
 */
EDDY_API bool eddy_session_variable(eddy_session *session, size_t i,
                                    eddy_variable_info *out_info);

/*
 * Forgets all that the session keeps, as if it were new.  Runs that are under
 * way go on with what they have handles of.  @thread any, but not while another
 * uses an eddy_variable_info
 */
EDDY_API void eddy_session_clear(eddy_session *session);

EDDY_END_DECLS

#endif
