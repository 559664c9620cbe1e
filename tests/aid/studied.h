/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph of text as the lower floors of autodiff see it: a program, an emitter
 * for it, and the study of what some outputs depend on.
 */
#ifndef EDDY_TESTS_STUDIED_H
#define EDDY_TESTS_STUDIED_H

#include "autodiff/study.h"
#include "tests/aid/program.h"

#define STUDIED_MOST 8

typedef struct studied {
    program p;
    eddy__gradient_emitter e;
    eddy__study study;
    eddy_output ys[STUDIED_MOST], xs[STUDIED_MOST];
    eddy__asked asked; /* of the above; `stop` is the test's */
} studied;

void studied_init(studied *s);

/* Frees everything and fails the test if memory is still held. */
void studied_deinit(studied *s);

/* Builds the graph, and studies it for ys and xs: "y z:1".  Once a test. */
eddy_status studied_try(studied *s, const char *text, const char *ys,
                        const char *xs);
void studied_build(studied *s, const char *text, const char *ys,
                   const char *xs);

eddy_node studied_node(const studied *s, const char *name);

/* The number of the frame of that name. */
uint32_t studied_frame(const studied *s, const char *name);

#endif
