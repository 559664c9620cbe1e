/* SPDX-License-Identifier: Apache-2.0 */
/* What a session holds. */
#ifndef EDDY_EXEC_SESSION_H
#define EDDY_EXEC_SESSION_H

#include "core/value/resource.h"
#include "eddy/session.h"

struct eddy_session {
    eddy_context *ctx;
    atomic_uint refs; /* add relaxed, subtract acquire-release */
    eddy__resource_table resources;
};

#endif
