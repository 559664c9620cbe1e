/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies and adds boxes of elements with any strides: dimensions are put in
 * order and joined, and the two innermost run as a plane, through blocks if one
 * side is transposed.
 */
#include "ops/array/box.h"

#include "ops/math/elements.h"
#include "ops/template.h"

#include <string.h>

/* The largest block of a transposition, in rows and columns. */
#define EDGE 64

/* The two innermost loops of a copy. */
typedef struct plane {
    int64_t rows, columns;
    int64_t from_row, from_column, to_row, to_column;
    size_t item;
} plane;

typedef void (*copy_plane)(const plane *p, unsigned char *to,
                           const unsigned char *from);

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/*
 * One row of items of `size` bytes, a constant: the loops for steps that are
 * known are the ones that compilers make vectors of.
 */
#define COPY_ROW(size)                                                         \
    if (to_step == (size) && from_step == 0)                                   \
        for (int64_t i = 0; i < n; i++)                                        \
            memcpy(to + i * (size), from, (size));                             \
    else if (to_step == (size) && from_step == -(size))                        \
        for (int64_t i = 0; i < n; i++)                                        \
            memcpy(to + i * (size), from - i * (size), (size));                \
    else                                                                       \
        for (int64_t i = 0; i < n; i++)                                        \
        memcpy(to + i * to_step, from + i * from_step, (size))

#define D 1
#define ACROSS 64
#include "ops/array/box_copies.def"
#define D 2
#define ACROSS 32
#include "ops/array/box_copies.def"
#define D 4
#define ACROSS 16
#include "ops/array/box_copies.def"
#define D 8
#define ACROSS 16
#include "ops/array/box_copies.def"
#define D 16
#define ACROSS 8
#include "ops/array/box_copies.def"

static void copy_rows_any(const plane *p, unsigned char *to,
                          const unsigned char *from)
{
    for (int64_t r = 0; r < p->rows; r++)
        for (int64_t c = 0; c < p->columns; c++)
            memcpy(to + (r * p->to_row + c * p->to_column),
                   from + (r * p->from_row + c * p->from_column), p->item);
}

static int64_t magnitude(int64_t v)
{
    return v < 0 ? -v : v;
}

static copy_plane choose_copy(const plane *p)
{
    int64_t item = (int64_t)p->item;
    bool turns = p->rows > 1 && p->to_column == item && p->from_row == item &&
                 magnitude(p->from_column) > item;

    switch (p->item) {
    case 1:
        return turns ? turn_1 : copy_rows_1;
    case 2:
        return turns ? turn_2 : copy_rows_2;
    case 4:
        return turns ? turn_4 : copy_rows_4;
    case 8:
        return turns ? turn_8 : copy_rows_8;
    case 16:
        return turns ? turn_16 : copy_rows_16;
    default:
        return copy_rows_any;
    }
}

/* Drops dimensions of 1 and joins those that are one run on both sides. */
static void simplify(eddy__box *box)
{
    int32_t n = 0;

    for (int32_t d = 0; d < box->rank; d++) {
        int64_t dim = box->dims[d];

        if (dim == 1)
            continue;
        if (n > 0 && box->from[n - 1] == box->from[d] * dim &&
            box->to[n - 1] == box->to[d] * dim) {
            box->dims[n - 1] *= dim;
        } else {
            box->dims[n] = dim;
            n++;
        }
        box->from[n - 1] = box->from[d];
        box->to[n - 1] = box->to[d];
    }
    if (n > 0 && box->from[n - 1] == (int64_t)box->item &&
        box->to[n - 1] == (int64_t)box->item) {
        box->item *= (size_t)box->dims[n - 1];
        n--;
    }
    box->rank = n;
}

/*
 * Moves the dimension along which the source is densest next to the innermost
 * one, so that blocks of the two share cache lines.
 */
static void pair_up(eddy__box *box)
{
    int32_t last = box->rank - 1, best = last;
    int64_t swap;

    for (int32_t d = last - 1; d >= 0; d--)
        if (box->from[d] != 0 &&
            magnitude(box->from[d]) < magnitude(box->from[best]))
            best = d;
    for (int32_t d = best; d < last - 1; d++) {
        swap = box->dims[d];
        box->dims[d] = box->dims[d + 1];
        box->dims[d + 1] = swap;
        swap = box->from[d];
        box->from[d] = box->from[d + 1];
        box->from[d + 1] = swap;
        swap = box->to[d];
        box->to[d] = box->to[d + 1];
        box->to[d + 1] = swap;
    }
}

static plane innermost_plane(const eddy__box *box)
{
    int32_t c = box->rank - 1, r = c - 1;
    plane p = {.rows = 1,
               .columns = box->dims[c],
               .from_column = box->from[c],
               .to_column = box->to[c],
               .item = box->item};

    if (r >= 0) {
        p.rows = box->dims[r];
        p.from_row = box->from[r];
        p.to_row = box->to[r];
    }
    return p;
}

/* Bytes of a plane that are copied at a time, a whole number of blocks. */
#define PLANE_PART ((int64_t)1 << 20)

/* A large plane goes some rows or, if they are long, columns at a time. */
static bool copy_parts(eddy_kernel *k, const plane *all, copy_plane copy,
                       unsigned char *to, const unsigned char *from)
{
    const int64_t items = PLANE_PART / (int64_t)all->item / EDGE * EDGE;
    const int64_t n = items > EDGE ? items : EDGE;
    const int64_t rows = all->columns < n ? n / all->columns / EDGE * EDGE : 0;
    plane p = *all;

    p.rows = rows > EDGE ? rows : EDGE;
    for (int64_t row = 0; row < all->rows; row += p.rows)
        for (int64_t column = 0; column < all->columns; column += n) {
            plane part = p;

            part.rows = at_most(p.rows, all->rows - row);
            part.columns = at_most(n, all->columns - column);
            if (eddy__spent(k, part.rows * part.columns *
                                   (4 + (int64_t)part.item / 4)))
                return false;
            copy(&part, to + (row * p.to_row + column * p.to_column),
                 from + (row * p.from_row + column * p.from_column));
        }
    return true;
}

/* False if the rest is not to be copied. */
static bool copy_one(eddy_kernel *k, const plane *p, copy_plane copy,
                     unsigned char *to, const unsigned char *from)
{
    const int64_t bytes = p->rows * p->columns * (int64_t)p->item;

    if (k && p->item >= (size_t)PLANE_PART) {
        for (int64_t r = 0; r < p->rows; r++)
            for (int64_t c = 0; c < p->columns && !eddy__gave_up(k); c++)
                eddy__copy_bytes(k, to + (r * p->to_row + c * p->to_column),
                                 from + (r * p->from_row + c * p->from_column),
                                 p->item);
        return !eddy__gave_up(k);
    }
    if (k && bytes > PLANE_PART)
        return copy_parts(k, p, copy, to, from);
    copy(p, to, from);
    return !k || !eddy__spent(k, bytes);
}

static void copy_whole(eddy_kernel *k, eddy__box *box, unsigned char *to,
                       const unsigned char *from)
{
    int64_t at[EDDY__BOX_RANK] = {0};
    int64_t to_at = 0, from_at = 0;
    copy_plane copy;
    int32_t d;
    plane p;

    for (d = 0; d < box->rank; d++)
        if (box->dims[d] == 0)
            return;
    simplify(box);
    if (box->rank == 0) {
        eddy__copy_bytes(k, to, from, box->item);
        return;
    }
    pair_up(box);
    p = innermost_plane(box);
    copy = choose_copy(&p);
    for (;;) {
        if (!copy_one(k, &p, copy, to + to_at, from + from_at))
            return;
        for (d = box->rank - 3; d >= 0; d--) {
            to_at += box->to[d];
            from_at += box->from[d];
            if (++at[d] < box->dims[d])
                break;
            to_at -= box->to[d] * at[d];
            from_at -= box->from[d] * at[d];
            at[d] = 0;
        }
        if (d < 0)
            return;
    }
}

/* What workers may do parts of, along one dimension. */
typedef struct box_work {
    const eddy__box *box;
    int32_t dim;
    unsigned char *to;
    const unsigned char *from;
} box_work;

static eddy_status copy_some(eddy_kernel *k, void *arg, int64_t begin,
                             int64_t end)
{
    const box_work *w = arg;
    eddy__box box = *w->box;

    box.dims[w->dim] = end - begin;
    copy_whole(k, &box, w->to + begin * box.to[w->dim],
               w->from + begin * box.from[w->dim]);
    return EDDY_OK;
}

/* Bytes from which workers may take a part. */
#define SHARED ((int64_t)1 << 18)

/* The outermost dimension that has many, or else the longest. */
static int32_t shared_dim(const eddy__box *box, int64_t *out_bytes)
{
    int32_t longest = 0, d;

    *out_bytes = (int64_t)box->item;
    for (d = 0; d < box->rank; d++) {
        *out_bytes *= box->dims[d];
        if (box->dims[d] > box->dims[longest])
            longest = d;
    }
    for (d = 0; d < longest; d++)
        if (box->dims[d] >= 32)
            return d;
    return longest;
}

void eddy__box_copy(eddy_kernel *k, eddy__box *box, unsigned char *to,
                    const unsigned char *from)
{
    box_work w = {.box = box, .to = to, .from = from};
    int64_t bytes = 0;

    if (k && k->may_share && box->rank > 0)
        w.dim = shared_dim(box, &bytes);
    if (bytes >= SHARED)
        (void)eddy__parallel_for(k, box->dims[w.dim],
                                 eddy__grain(bytes / box->dims[w.dim] / 4, 1),
                                 copy_some, &w);
    else
        copy_whole(k, box, to, from);
}

void eddy__box_dense_strides(const eddy_shape *shape, size_t item,
                             int64_t strides[EDDY_MAX_RANK])
{
    uint64_t stride = item;

    for (int32_t d = shape->rank - 1; d >= 0; d--) {
        strides[d] = (int64_t)stride;
        stride *= (uint64_t)shape->dims[d];
    }
}
