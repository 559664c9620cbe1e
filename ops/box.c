#include "ops/box.h"

#include <string.h>

/* Rows and columns of a transposed plane that are copied at a time, so that
 * the cache lines of both sides stay at hand. */
#define BLOCK 32

/* The two innermost loops of a copy. */
typedef struct plane {
    int64_t rows, columns;
    int64_t from_row, from_column, to_row, to_column;
    int64_t block;
    size_t item;
} plane;

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* copy_line_N copies `n` items of N bytes; the compiler knows their size. */
#define DEFINE_COPY_LINE(size)                                                 \
    static void copy_line_##size(const plane *p, int64_t n, unsigned char *to, \
                                 const unsigned char *from)                    \
    {                                                                          \
        int64_t to_step = p->to_column, from_step = p->from_column;            \
                                                                               \
        for (int64_t i = 0; i < n; i++)                                        \
            memcpy(to + i * to_step, from + i * from_step, size);              \
    }

DEFINE_COPY_LINE(1)
DEFINE_COPY_LINE(2)
DEFINE_COPY_LINE(4)
DEFINE_COPY_LINE(8)
DEFINE_COPY_LINE(16)

static void copy_line_any(const plane *p, int64_t n, unsigned char *to,
                          const unsigned char *from)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * p->to_column, from + i * p->from_column, p->item);
}

typedef void (*copy_line)(const plane *p, int64_t n, unsigned char *to,
                          const unsigned char *from);

static copy_line choose_line(size_t item)
{
    switch (item) {
    case 1:
        return copy_line_1;
    case 2:
        return copy_line_2;
    case 4:
        return copy_line_4;
    case 8:
        return copy_line_8;
    case 16:
        return copy_line_16;
    default:
        return copy_line_any;
    }
}

static void copy_plane(const plane *p, copy_line line, unsigned char *to,
                       const unsigned char *from)
{
    for (int64_t c = 0; c < p->columns; c += p->block) {
        int64_t n = at_most(p->block, p->columns - c);

        for (int64_t r = 0; r < p->rows; r++)
            line(p, n, to + (r * p->to_row + c * p->to_column),
                 from + (r * p->from_row + c * p->from_column));
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

static int64_t magnitude(int64_t v)
{
    return v < 0 ? -v : v;
}

/*
 * Moves the dimension along which the source is densest next to the innermost
 * one, where blocks of the two can share cache lines.  True if they should.
 */
static bool pair_up(eddy__box *box)
{
    int32_t last = box->rank - 1, best = last;
    int64_t swap;

    for (int32_t d = last - 1; d >= 0; d--)
        if (box->from[d] != 0 &&
            magnitude(box->from[d]) < magnitude(box->from[best]))
            best = d;
    if (best == last)
        return false;
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
    return true;
}

static plane innermost_plane(const eddy__box *box, bool blocked)
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
    p.block = blocked ? BLOCK : p.columns;
    return p;
}

void eddy__box_copy(eddy__box *box, unsigned char *to,
                    const unsigned char *from)
{
    int64_t at[EDDY__BOX_RANK] = {0};
    int64_t to_at = 0, from_at = 0;
    int32_t d;
    copy_line line;
    plane p;

    for (d = 0; d < box->rank; d++)
        if (box->dims[d] == 0)
            return;
    simplify(box);
    if (box->rank == 0) {
        memcpy(to, from, box->item);
        return;
    }
    p = innermost_plane(box, false);
    if (box->rank > 1 && pair_up(box))
        p = innermost_plane(box, true);
    line = choose_line(box->item);
    for (;;) {
        copy_plane(&p, line, to + to_at, from + from_at);
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

void eddy__dense_strides(const eddy_shape *shape, size_t item,
                         int64_t strides[EDDY_MAX_RANK])
{
    uint64_t stride = item;

    for (int32_t d = shape->rank - 1; d >= 0; d--) {
        strides[d] = (int64_t)stride;
        stride *= (uint64_t)shape->dims[d];
    }
}
