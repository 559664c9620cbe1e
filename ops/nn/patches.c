/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/nn/patches.h"

#include "ops/math/elementwise.h"

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

eddy__patches eddy__pixels(const eddy__images *images, int64_t first_channel,
                           int64_t channels)
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

/*
 * `wrapped` is what elements are added in.  A run is some elements that lie
 * side by side on both sides; elsewhere the channels are `step` apart.
 */
#define LOOPS(D, wrapped)                                                      \
    static void load_##D(void *computed, const void *stored, int64_t n)        \
    {                                                                          \
        eddy__computed_##D *to = computed;                                     \
        const eddy__stored_##D *from = stored;                                 \
                                                                               \
        EDDY__FOR_EACH(i, n, to[i] = eddy__load_##D(from[i]));                 \
    }                                                                          \
    static void store_##D(void *stored, const void *computed, int64_t n)       \
    {                                                                          \
        eddy__stored_##D *to = stored;                                         \
        const eddy__computed_##D *from = computed;                             \
                                                                               \
        EDDY__FOR_EACH(i, n, to[i] = EDDY__STORE_##D(from[i]));                \
    }                                                                          \
    static void add_##D(void *sum, const void *computed, int64_t n)            \
    {                                                                          \
        eddy__computed_##D *to = sum;                                          \
        const eddy__computed_##D *from = computed;                             \
                                                                               \
        EDDY__FOR_EACH(                                                        \
            i, n,                                                              \
            to[i] = (eddy__computed_##D)((wrapped)to[i] + (wrapped)from[i]));  \
    }                                                                          \
    static void gather_run_##D(eddy__computed_##D *to,                         \
                               const eddy__stored_##D *from, int64_t step,     \
                               int64_t n)                                      \
    {                                                                          \
        if (step == 1)                                                         \
            load_##D(to, from, n);                                             \
        else                                                                   \
            for (int64_t i = 0; i < n; i++)                                    \
                to[i] = eddy__load_##D(from[i * step]);                        \
    }                                                                          \
    static void scatter_run_##D(eddy__computed_##D *to,                        \
                                const eddy__computed_##D *from, int64_t step,  \
                                int64_t n)                                     \
    {                                                                          \
        if (step == 1)                                                         \
            add_##D(to, from, n);                                              \
        else                                                                   \
            for (int64_t i = 0; i < n; i++)                                    \
                to[i * step] = (eddy__computed_##D)((wrapped)to[i * step] +    \
                                                    (wrapped)from[i]);         \
    }                                                                          \
    static void gather_window_##D(const eddy__patches *p, const window *w,     \
                                  const eddy__stored_##D *images,              \
                                  eddy__computed_##D *to)                      \
    {                                                                          \
        const int64_t n = p->channels, step = p->in.step_channel;              \
        const int64_t first = w->first[1], end = w->end[1];                    \
        const int64_t line = p->sides[1].size * n;                             \
                                                                               \
        for (int64_t row = 0; row < p->sides[0].size; row++, to += line) {     \
            const int64_t from = w->origin + row * w->step[0];                 \
                                                                               \
            if (row < w->first[0] || row >= w->end[0] || first == end) {       \
                memset(to, 0, (size_t)line * sizeof *to);                      \
                continue;                                                      \
            }                                                                  \
            if (first > 0)                                                     \
                memset(to, 0, (size_t)(first * n) * sizeof *to);               \
            if (step == 1 && w->step[1] == n)                                  \
                gather_run_##D(to + first * n, images + from + first * n, 1,   \
                               (end - first) * n);                             \
            else                                                               \
                for (int64_t i = first; i < end; i++)                          \
                    gather_run_##D(to + i * n, images + from + i * w->step[1], \
                                   step, n);                                   \
            if (end * n < line)                                                \
                memset(to + end * n, 0,                                        \
                       (size_t)(line - end * n) * sizeof *to);                 \
        }                                                                      \
    }                                                                          \
    static void scatter_window_##D(const eddy__patches *p, const window *w,    \
                                   const eddy__computed_##D *from,             \
                                   eddy__computed_##D *images)                 \
    {                                                                          \
        const int64_t n = p->channels, step = p->in.step_channel;              \
        const int64_t first = w->first[1], end = w->end[1];                    \
        const int64_t line = p->sides[1].size * n;                             \
                                                                               \
        for (int64_t row = w->first[0]; row < w->end[0]; row++) {              \
            const eddy__computed_##D *places = from + row * line;              \
            const int64_t to = w->origin + row * w->step[0];                   \
                                                                               \
            if (step == 1 && w->step[1] == n && first < end)                   \
                scatter_run_##D(images + to + first * n, places + first * n,   \
                                1, (end - first) * n);                         \
            else                                                               \
                for (int64_t i = first; i < end; i++)                          \
                    scatter_run_##D(images + to + i * w->step[1],              \
                                    places + i * n, step, n);                  \
        }                                                                      \
    }                                                                          \
    static void gather_##D(const eddy__patches *p, const void *images,         \
                           int64_t first, int64_t n, void *matrix)             \
    {                                                                          \
        eddy__computed_##D *to = matrix;                                       \
        place at = place_of(p, first);                                         \
                                                                               \
        for (; n > 0; n--, to += eddy__patch_size(p), place_next(p, &at)) {    \
            const window w = window_at(p, &at);                                \
                                                                               \
            gather_window_##D(p, &w, images, to);                              \
        }                                                                      \
    }                                                                          \
    static void scatter_##D(const eddy__patches *p, const void *matrix,        \
                            int64_t first, int64_t n, void *images)            \
    {                                                                          \
        const eddy__computed_##D *from = matrix;                               \
        place at = place_of(p, first);                                         \
                                                                               \
        for (; n > 0; n--, from += eddy__patch_size(p), place_next(p, &at)) {  \
            const window w = window_at(p, &at);                                \
                                                                               \
            scatter_window_##D(p, &w, from, images);                           \
        }                                                                      \
    }                                                                          \
    static void put_##D(const eddy__patches *p, const void *matrix,            \
                        int64_t first, int64_t n, void *images)                \
    {                                                                          \
        const eddy__computed_##D *from = matrix;                               \
        const int64_t step = p->in.step_channel;                               \
        place at = place_of(p, first);                                         \
                                                                               \
        for (; n > 0; n--, from += p->channels, place_next(p, &at)) {          \
            const window w = window_at(p, &at);                                \
            eddy__stored_##D *to = (eddy__stored_##D *)images + w.origin;      \
                                                                               \
            if (step == 1)                                                     \
                store_##D(to, from, p->channels);                              \
            else                                                               \
                for (int64_t i = 0; i < p->channels; i++)                      \
                    to[i * step] = EDDY__STORE_##D(from[i]);                   \
        }                                                                      \
    }

LOOPS(F16, float)
LOOPS(BF16, float)
LOOPS(F32, float)
LOOPS(F64, double)
LOOPS(I32, uint32_t)

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
