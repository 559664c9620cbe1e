/* SPDX-License-Identifier: Apache-2.0 */
/* What wires of all kinds have in common: a stream for each rank. */
#include "runtime/net/wire.h"

bool eddy__wire_init(eddy__wire *w, const eddy__wire_kind *kind,
                     const eddy__team *team)
{
    *w = (eddy__wire){.kind = kind, .team = *team};
    w->patience.is_allowed = team->may_look;
    w->streams = eddy__allocate_zeroed(team->allocator, team->n_ranks,
                                       sizeof *w->streams);
    for (uint32_t i = 0; w->streams && i < team->n_ranks; i++)
        w->streams[i].in.allocator = w->streams[i].out.allocator =
            team->allocator;
    return w->streams != NULL;
}

void eddy__wire_deinit(eddy__wire *w)
{
    for (uint32_t i = 0; w->streams && i < w->team.n_ranks; i++) {
        eddy__bytes_deinit(&w->streams[i].in);
        eddy__bytes_deinit(&w->streams[i].out);
    }
    eddy__free(w->team.allocator, w->streams, w->team.n_ranks,
               sizeof *w->streams);
}
