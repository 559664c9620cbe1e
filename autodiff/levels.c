/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The builder of open constructs learns where outputs of nodes live that a
 * rewrite added, so that the construct may use them.
 */
#include "autodiff/levels.h"

#include "frames/build/builder.h"

bool eddy__levels_note(const eddy__study *study, eddy_output y)
{
    eddy__builder *b = study->graph->builder;

    return !b ||
           eddy__builder_note(b, study->n_nodes,
                              eddy__loop_level(b, eddy__level_of(b, y.node)));
}

void eddy__levels_note_result(const eddy__study *study, eddy_output result,
                              eddy_output v, eddy_output y)
{
    eddy__builder *b = study->graph->builder;
    uint32_t home, level;

    /* One that was there before is where it was. */
    if (!b || !eddy__output_exists(result) || result.node < study->n_nodes)
        return;
    home = eddy__loop_level(b, eddy__level_of(b, y.node));
    level = eddy__level_of(b, v.node);
    /* Levels within others have higher numbers. */
    eddy__set_level(b, result.node,
                    eddy__loop_level(b, level) >= home ? level : home);
}
