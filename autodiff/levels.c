/*
 * What the builder of open constructs is told of nodes that a rewrite added:
 * where their outputs live, so that the construct may use them.
 */
#include "autodiff/walk.h"

#include "frames/build/builder.h"

bool eddy__note_levels(const eddy__walk *w, eddy_output y)
{
    eddy__builder *b = w->graph->builder;

    return !b ||
           eddy__builder_note(b, w->n_nodes,
                              eddy__loop_level(b, eddy__level_of(b, y.node)));
}

void eddy__note_result(const eddy__walk *w, eddy_output result, eddy_output v,
                       eddy_output y)
{
    eddy__builder *b = w->graph->builder;
    uint32_t home, level;

    /* One that was there before is where it was. */
    if (!b || !eddy__is_output(result) || result.node < w->n_nodes)
        return;
    home = eddy__loop_level(b, eddy__level_of(b, y.node));
    level = eddy__level_of(b, v.node);
    /* Levels within others have higher numbers. */
    eddy__set_level(b, result.node,
                    eddy__loop_level(b, level) >= home ? level : home);
}
