/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/studied.h"

#include <check.h>
#include <string.h>

void studied_init(studied *s)
{
    memset(s, 0, sizeof *s);
    program_init(&s->p, 0);
    eddy__emit_init(&s->e, s->p.graph, "gradients", &s->p.err);
}

void studied_deinit(studied *s)
{
    eddy__study_deinit(&s->study);
    eddy__emit_deinit(&s->e);
    program_deinit(&s->p);
}

static size_t find_outputs(const studied *s, const char *names,
                           eddy_output *outputs)
{
    char text[256], *rest = text, *name;
    size_t n = 0;

    ck_assert_uint_lt(strlen(names), sizeof text);
    memcpy(text, names, strlen(names) + 1);
    while ((name = strtok_r(rest, " ", &rest)) != NULL) {
        ck_assert_uint_lt(n, STUDIED_MOST);
        outputs[n++] = program_output(&s->p, name);
    }
    return n;
}

eddy_status studied_try(studied *s, const char *text, const char *ys,
                        const char *xs)
{
    program_build(&s->p, text);
    s->asked.ys = s->ys;
    s->asked.xs = s->xs;
    s->asked.n_ys = find_outputs(s, ys, s->ys);
    s->asked.n_xs = find_outputs(s, xs, s->xs);
    return eddy__study_build(&s->study, &s->e, &s->asked);
}

void studied_build(studied *s, const char *text, const char *ys, const char *xs)
{
    program_want_ok(&s->p, studied_try(s, text, ys, xs));
}

eddy_node studied_node(const studied *s, const char *name)
{
    return program_output(&s->p, name).node;
}

uint32_t studied_frame(const studied *s, const char *name)
{
    const eddy_analysis *analysis = s->study.analysis;

    for (uint32_t f = 0; f < analysis->n_frames; f++)
        if (strcmp(analysis->frames[f].name, name) == 0)
            return f;
    ck_abort_msg("no frame '%s'", name);
}
