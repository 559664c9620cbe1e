/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows that slide over the three sides of volumes: what convolutions and
 * pools of them have in common.
 *
 * A batch of volumes has five dimensions, in the order NDHWC or NCDHW.  Here
 * they are always the batch, three sides and channels, with strides that say
 * how they lie in memory.  A side is as those of images (ops/nn/window.h).
 */
#ifndef EDDY_OPS_VOLUME_H
#define EDDY_OPS_VOLUME_H

#include "ops/nn/window.h"

#define EDDY__VOLUME_SIDES 3
#define EDDY__VOLUME_RANK 5

/* What the attributes say. */
typedef struct eddy__cubes {
    bool is_ncdhw;
    eddy__padding padding;
    eddy__slide sides[EDDY__VOLUME_SIDES];
} eddy__cubes;

/* A batch of volumes, its strides in elements. */
typedef struct eddy__volumes {
    int64_t n, sides[EDDY__VOLUME_SIDES], channels;
    int64_t step_volume, steps[EDDY__VOLUME_SIDES], step_channel;
} eddy__volumes;

/* A window on one volume: its places, and where things are. */
typedef struct eddy__cube {
    int64_t first[EDDY__VOLUME_SIDES], end[EDDY__VOLUME_SIDES];
    int64_t origin; /* of its place 0, 0, 0, which may be outside */
    int64_t out;    /* the output's element for channel 0 */
} eddy__cube;

/*
 * Reads `data_format`, `padding`, `strides`, and as far as the op has them
 * `dilations` and `ksize`; fails as TensorFlow does where they make no sense.
 */
eddy_status eddy__cubes_read(eddy_infer *infer, eddy__cubes *out);

/* The state of a node: what it has read. */
eddy_status eddy__cubes_prepare(eddy_infer *infer);

/* The volumes of a shape of rank 5; dimensions may be unknown. */
eddy__volumes eddy__volumes_of(const eddy_shape *shape, bool is_ncdhw);
eddy_shape eddy__volumes_shape(int64_t n, const int64_t *sides,
                               int64_t channels, bool is_ncdhw);

/* How windows of these sizes lie, or a failure of the kernel. */
eddy_status eddy__cubes_lie(eddy_kernel *k, const eddy__cubes *cubes,
                            const eddy__volumes *in, const int64_t *sizes,
                            eddy__side *out);

/* The numbers of windows, -1 where one is unknown. */
eddy_status eddy__infer_cubes(eddy_infer *infer, const eddy__cubes *cubes,
                              const eddy__volumes *in, const int64_t *sizes,
                              int64_t *out);

/* Window `i` of all, which are counted over a batch, row by row. */
eddy__cube eddy__cube_at(const eddy__volumes *in, const eddy__volumes *out,
                         const eddy__side *sides, int64_t i);

#endif
