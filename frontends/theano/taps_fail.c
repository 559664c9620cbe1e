/* SPDX-License-Identifier: Apache-2.0 */
/* How building a scan fails: with the node of a value. */
#include "frontends/theano/taps.h"

#include "core/base/status.h"
#include "core/graph/graph.h"

#include <stdarg.h>
#include <stdio.h>

void eddy__taps_fail(eddy_emitter *w, eddy_output value, eddy_detail detail,
                     const char *format, ...)
{
    char text[sizeof w->err->message];
    va_list args;

    if (w->status != EDDY_OK)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    w->status = eddy__graph_fail_at(w->err, EDDY_INVALID_ARGUMENT, detail,
                                    &w->graph->nodes[value.node], "%s", text);
}
