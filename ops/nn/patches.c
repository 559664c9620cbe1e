/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gathers windows of images into the rows of a matrix, and scatters and adds
 * them back.
 */
#include "ops/nn/patches.h"

#include "ops/math/elementwise.h"
#include "ops/template.h"

#include <string.h>

bool eddy__patches_are_images(const eddy__patches *p)
{
    for (int32_t side = 0; side < 2; side++) {
        const eddy__side *s = &p->sides[side];

        if (s->size != 1 || s->stride != 1 || s->before != 0 || s->out != s->in)
            return false;
    }
    return p->in.step_channel == 1 && p->channels == p->in.channels;
}

eddy__patches eddy__patch_pixels(const eddy__images *images,
                                 int64_t first_channel, int64_t channels)
{
    eddy__patches p = {
        .in = *images, .first_channel = first_channel, .channels = channels};

    for (int32_t side = 0; side < 2; side++)
        p.sides[side] = (eddy__side){.in = images->sides[side],
                                     .out = images->sides[side],
                                     .size = 1,
                                     .stride = 1,
                                     .dilation = 1};
    return p;
}

/* ---- going through windows ---- */

typedef struct place {
    int64_t image, at[2];
} place;

static place place_of(const eddy__patches *p, int64_t row)
{
    const int64_t columns = p->sides[1].out;

    return (place){.image = row / (p->sides[0].out * columns),
                   .at = {row / columns % p->sides[0].out, row % columns}};
}

static void place_next(const eddy__patches *p, place *w)
{
    if (++w->at[1] < p->sides[1].out)
        return;
    w->at[1] = 0;
    if (++w->at[0] < p->sides[0].out)
        return;
    w->at[0] = 0;
    w->image++;
}

/*
 * One window: which of its rows and columns are inside the image, and where
 * the first column of its first row would be, which may be outside.
 */
typedef struct window {
    int64_t first[2], end[2];
    int64_t origin, step[2]; /* elements; steps go from place to place */
} window;

static window window_at(const eddy__patches *p, const place *at)
{
    window w = {.origin = at->image * p->in.step_image +
                          p->first_channel * p->in.step_channel};

    for (int32_t side = 0; side < 2; side++) {
        const eddy__side *s = &p->sides[side];

        eddy__side_inside(s, at->at[side], &w.first[side], &w.end[side]);
        w.step[side] = s->dilation * p->in.steps[side];
        w.origin += eddy__side_start(s, at->at[side]) * p->in.steps[side];
    }
    return w;
}

/* ---- loops ---- */

#define EACH "ops/nn/patches_loops.def"
#define SUM EDDY__COMPUTED
#include "ops/each_float.def"
#undef SUM
#define SUM EDDY__WRAPPED
#define D I32
#include EACH
#undef SUM
#undef EACH

#define ENTRY(D, dtype)                                                        \
    [EDDY__DTYPE_##D] = {dtype,      sizeof(eddy__computed_##D),               \
                         gather_##D, scatter_##D,                              \
                         put_##D,    load_##D,                                 \
                         store_##D,  add_##D}

const eddy__patch_loops *eddy__patch_loops_of(eddy_dtype dtype)
{
    static const eddy__patch_loops loops[EDDY_DTYPE_COUNT] = {
        ENTRY(F16, EDDY_FLOAT32), ENTRY(BF16, EDDY_FLOAT32),
        ENTRY(F32, EDDY_FLOAT32), ENTRY(F64, EDDY_FLOAT64),
        ENTRY(I32, EDDY_INT32),
    };

    return loops[dtype].gather ? &loops[dtype] : NULL;
}
