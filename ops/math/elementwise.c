/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs elementwise loops over whole tensors, rows or scalars, with a pause
 * between parts in which the run may stop them.
 */
#include "ops/math/elementwise.h"

#include "core/base/status.h"
#include "ops/array/broadcast.h"
#include "ops/math/elements.h"

/*
 * Elements between two questions whether to stop: a whole number of blocks and
 * strips, so that the parts have the bits of the whole.
 */
#define PART ((int64_t)1 << 14)

/* What an element counts: some functions take half a microsecond. */
#define WORK 64

/* Counts `n` elements, if that is worth it. */
static inline bool stop(eddy_kernel *k, int64_t n)
{
    return eddy__spent(k, n * WORK);
}

/* What workers may do a part of. */
typedef struct unary_work {
    eddy__unary_loop loop;
    const unsigned char *in;
    unsigned char *out;
    size_t in_size, out_size;
} unary_work;

static eddy_status run_unary_part(eddy_kernel *k, void *arg, int64_t begin,
                                  int64_t end)
{
    const unary_work *w = arg;

    for (int64_t at = begin; at < end && !stop(k, PART); at += PART)
        w->loop(w->out + (size_t)at * w->out_size,
                w->in + (size_t)at * w->in_size,
                end - at < PART ? end - at : PART);
    return EDDY_OK;
}

eddy_status eddy__unary_run(eddy_kernel *k, const eddy__unary *unary)
{
    const unsigned char *in = eddy__in_elements(k, 0);
    const int64_t n = eddy__in_count(k, 0);
    const eddy_dtype in_dtype = eddy__in_dtype(k, 0);
    const eddy__unary_loop loop = eddy__unary_loop_of(unary);
    void *out;

    EDDY_TRY(
        eddy__output_reusing(k, 0, 0, unary->out, eddy__in_shape(k, 0), &out));
    if (n <= PART) {
        loop(out, in, n);
        return EDDY_OK;
    }
    return eddy__parallel_for(
        k, n, PART, run_unary_part,
        &(unary_work){.loop = loop,
                      .in = in,
                      .out = out,
                      .in_size = eddy_dtype_size(in_dtype),
                      .out_size = eddy_dtype_size(unary->out)});
}

/* What a binary kernel finds out before it runs. */
typedef struct operands {
    const eddy_shape *a, *b, *out;
    eddy_shape joined; /* where `out` points if it is neither a nor b */
    int64_t count_a, count_b;
} operands;

/* Shapes of equal or one element need no thought. */
static bool is_simple(operands *o)
{
    if (eddy__shape_equal(o->a, o->b) ||
        (o->count_b == 1 && o->b->rank <= o->a->rank))
        o->out = o->a;
    else if (o->count_a == 1 && o->a->rank <= o->b->rank)
        o->out = o->b;
    else
        return false;
    return true;
}

/* Is input `i` likely to give its buffer away? */
static bool may_take(const eddy_kernel *k, uint32_t i, const operands *o)
{
    const eddy__value *v = eddy__in(k, i);
    const eddy_shape *shape = i == 0 ? o->a : o->b;

    return v->kind == EDDY__TENSOR && v->uses == 1 &&
           (shape == o->out || eddy__shape_equal(shape, o->out));
}

static eddy_status make_output(eddy_kernel *k, const operands *o,
                               eddy_dtype dtype, void **out)
{
    if (may_take(k, 0, o))
        return eddy__output_reusing(k, 0, 0, dtype, o->out, out);
    if (may_take(k, 1, o))
        return eddy__output_reusing(k, 0, 1, dtype, o->out, out);
    return eddy__output(k, 0, dtype, o->out, out);
}

static void run_part(const eddy__binary *binary, const eddy__rows *rows)
{
    eddy__binary_loop_of(binary)(rows);
}

/* `n` elements of each of `n_rows` rows, from the given ones on. */
static eddy__rows part_of(const eddy__binary *binary, const eddy__rows *all,
                          int64_t row, int64_t first)
{
    const int64_t a = row * all->stride_a + first * all->step_a;
    const int64_t b = row * all->stride_b + first * all->step_b;
    eddy__rows part = *all;

    part.out = (unsigned char *)all->out +
               (size_t)(row * all->n + first) * eddy_dtype_size(binary->out);
    part.a = (const unsigned char *)all->a + (size_t)a * binary->in_size;
    part.b = (const unsigned char *)all->b + (size_t)b * binary->in_size;
    return part;
}

/* What workers may do a part of: PART elements, or less, are an item. */
typedef struct row_work {
    const eddy__binary *binary;
    const eddy__rows *all;
    int64_t at_once; /* rows of an item */
    int64_t across;  /* items in a row */
} row_work;

static eddy_status run_row_part(eddy_kernel *k, void *arg, int64_t begin,
                                int64_t end)
{
    const row_work *w = arg;

    for (int64_t i = begin; i < end; i++) {
        const int64_t row = i / w->across * w->at_once;
        const int64_t first = i % w->across * PART;
        const int64_t left = w->all->n_rows - row, rest = w->all->n - first;
        eddy__rows part = part_of(w->binary, w->all, row, first);

        part.n_rows = left < w->at_once ? left : w->at_once;
        part.n = rest < PART ? rest : PART;
        if (stop(k, part.n_rows * part.n))
            break;
        run_part(w->binary, &part);
    }
    return EDDY_OK;
}

/* Many rows go several at a time, long ones in parts. */
static eddy_status run_rows(eddy_kernel *k, const eddy__binary *binary,
                            const eddy__rows *all)
{
    const int64_t at_once = all->n >= PART ? 1 : PART / all->n;
    row_work w = {.binary = binary,
                  .all = all,
                  .at_once = at_once,
                  .across = (all->n + PART - 1) / PART};

    return eddy__parallel_for(k,
                              (all->n_rows + at_once - 1) / at_once * w.across,
                              1, run_row_part, &w);
}

static eddy_status run_simple(eddy_kernel *k, const eddy__binary *binary,
                              const operands *o, eddy__rows *rows)
{
    const bool same = o->count_a == o->count_b;

    rows->n = o->count_a > o->count_b ? o->count_a : o->count_b;
    rows->n_rows = 1;
    rows->stride_a = rows->stride_b = 0;
    rows->step_a = same || o->out == o->a;
    rows->step_b = same || o->out == o->b;
    if (rows->n > PART)
        return run_rows(k, binary, rows);
    run_part(binary, rows);
    return EDDY_OK;
}

static eddy_status run_broadcast(eddy_kernel *k, const eddy__binary *binary,
                                 const operands *o, eddy__rows *rows)
{
    const eddy_shape *const inputs[] = {o->a, o->b};
    const unsigned char *a = rows->a, *b = rows->b;
    unsigned char *out = rows->out;
    const size_t out_size = eddy_dtype_size(binary->out);
    eddy__broadcast walk;
    int32_t last, inner;

    eddy__broadcast_init(&walk, o->out, inputs, 2);
    last = walk.rank - 1;
    inner = walk.rank > 1 ? 2 : 1;
    rows->n = walk.dims[last];
    rows->step_a = walk.strides[0][last];
    rows->step_b = walk.strides[1][last];
    rows->n_rows = inner == 2 ? walk.dims[last - 1] : 1;
    rows->stride_a = inner == 2 ? walk.strides[0][last - 1] : 0;
    rows->stride_b = inner == 2 ? walk.strides[1][last - 1] : 0;
    do {
        rows->out = out;
        rows->a = a + (size_t)walk.offsets[0] * binary->in_size;
        rows->b = b + (size_t)walk.offsets[1] * binary->in_size;
        EDDY_TRY(run_rows(k, binary, rows));
        out += (size_t)(rows->n * rows->n_rows) * out_size;
    } while (!eddy__gave_up(k) && eddy__broadcast_next(&walk, inner));
    return EDDY_OK;
}

static eddy_status fail_shapes(eddy_kernel *k, const operands *o)
{
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "shapes %s and %s do not broadcast",
                       eddy__shape_print(o->a).text,
                       eddy__shape_print(o->b).text);
}

/*
 * A state, which only Equal and NotEqual leave, says that shapes that do not
 * broadcast are no error; the result is then the one that it points to.
 */
static eddy_status run_unbroadcast(eddy_kernel *k, const operands *o)
{
    const uint8_t *answer = eddy__state(k);

    if (!answer)
        return fail_shapes(k, o);
    eddy__put_B(eddy__out(k, 0), *answer);
    return EDDY_OK;
}

eddy_status eddy__binary_run(eddy_kernel *k, const eddy__binary *binary)
{
    operands o;
    eddy__rows rows;
    bool simple, is_empty;

    o.a = eddy__in_shape(k, 0);
    o.b = eddy__in_shape(k, 1);
    o.count_a = eddy__in_count(k, 0);
    o.count_b = eddy__in_count(k, 1);
    rows.a = eddy__in_elements(k, 0);
    rows.b = eddy__in_elements(k, 1);
    simple = is_simple(&o);
    if (!simple) {
        if (!eddy__shape_broadcast(o.a, o.b, &o.joined))
            return run_unbroadcast(k, &o);
        o.out = &o.joined;
    }
    is_empty = o.count_a == 0 || o.count_b == 0;
    if (binary->find_bad && !is_empty) {
        const int64_t bad = binary->find_bad(rows.b, o.count_b);

        if (bad >= 0)
            return binary->fail_bad(k, bad);
    }
    EDDY_TRY(make_output(k, &o, binary->out, &rows.out));
    if (is_empty)
        return EDDY_OK;
    return simple ? run_simple(k, binary, &o, &rows)
                  : run_broadcast(k, binary, &o, &rows);
}

eddy_status eddy__elementwise_run_pair(eddy_kernel *k,
                                       const eddy__binary *binary, bool as_flat)
{
    operands o;
    eddy__rows rows;

    o.a = o.out = eddy__in_shape(k, 0);
    o.b = eddy__in_shape(k, 1);
    o.count_a = eddy__in_count(k, 0);
    o.count_b = eddy__in_count(k, 1);
    if (as_flat ? o.count_a != o.count_b : !eddy__shape_equal(o.a, o.b))
        return eddy__kfail(
            k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE, "shapes %s and %s must %s",
            eddy__shape_print(o.a).text, eddy__shape_print(o.b).text,
            as_flat ? "have as many elements" : "be the same");
    rows.a = eddy__in_elements(k, 0);
    rows.b = eddy__in_elements(k, 1);
    EDDY_TRY(make_output(k, &o, binary->out, &rows.out));
    return o.count_a > 0 ? run_simple(k, binary, &o, &rows) : EDDY_OK;
}
