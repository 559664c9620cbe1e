/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops on the diagonals of matrices: the families of MatrixDiagPart, MatrixDiag
 * and MatrixSetDiag, and MatrixBandPart.  The first version of each knows only
 * the main diagonal, the second only bands that are aligned on the left.
 *
 * Diagonal d of a matrix holds the elements (i, j) with j - i = d.  A band of
 * several is a matrix of its own, the highest diagonal first, with shorter ones
 * padded on the left or the right as `align` says.
 */
#include "ops/math/elements.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <string.h>

/* On which side of a band's row a short diagonal stands. */
typedef struct alignment {
    bool super_left, sub_left;
} alignment;

static eddy_status prepare_align(eddy_infer *infer)
{
    static const struct {
        const char *text;
        alignment align;
    } names[] = {
        {"LEFT_RIGHT", {true, false}},
        {"RIGHT_LEFT", {false, true}},
        {"LEFT_LEFT", {true, true}},
        {"RIGHT_RIGHT", {false, false}},
    };
    alignment *state;
    eddy_attr attr;

    EDDY_TRY(eddy__prepare_movable(infer));
    state = eddy__prepare_state(infer, sizeof *state);
    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    *state = (alignment){true, true};
    if (!eddy_infer_attr(infer, "align", &attr))
        return EDDY_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (attr.as.strings[0].length != strlen(names[i].text) ||
            memcmp(attr.as.strings[0].data, names[i].text,
                   strlen(names[i].text)) != 0)
            continue;
        *state = names[i].align;
        return EDDY_OK;
    }
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "align must be LEFT_RIGHT, RIGHT_LEFT, LEFT_LEFT "
                           "or RIGHT_RIGHT");
}

/* A band of a batch of matrices, and where its diagonals are. */
typedef struct band {
    int64_t batch, rows, columns;
    int64_t low, high; /* the lowest and highest diagonal */
    int64_t longest;   /* elements of the longest */
    alignment align;
} band;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t diagonal_length(const band *b, int64_t d)
{
    return least(b->rows + least(d, 0), b->columns - most(d, 0));
}

/* Where diagonal d of length `length` begins in its row of the band. */
static int64_t diagonal_offset(const band *b, int64_t d, int64_t length)
{
    bool left =
        (d >= 0 && b->align.super_left) || (d <= 0 && b->align.sub_left);

    return left ? 0 : b->longest - length;
}

/*
 * Reads k from input `i`: one diagonal, or the lowest and the highest of a
 * band.  Without that input it is the main diagonal.
 */
static eddy_status read_k(eddy_kernel *k, uint32_t i, band *b)
{
    eddy_view view;

    b->low = b->high = 0;
    if (i >= k->node->n_in)
        return EDDY_OK;
    view = eddy__in_view(k, i);
    if (view.rank > 1 || view.count < 1 || view.count > 2)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "k must be a scalar or a vector of one or two "
                           "elements, but it has shape %s",
                           eddy__shape_print(eddy__in_shape(k, i)).text);
    b->low = eddy__index_at(&view, 0);
    b->high = eddy__index_at(&view, view.count - 1);
    if (b->low <= b->high)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                       "k[0] must not be larger than k[1], but they are "
                       "%" PRId64 " and %" PRId64,
                       b->low, b->high);
}

static eddy_status check_k(eddy_kernel *k, const band *b)
{
    int64_t ends[] = {b->low, b->high};

    for (int i = 0; i < 2; i++)
        if (ends[i] != 0 && (ends[i] <= -b->rows || ends[i] >= b->columns))
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                               "diagonal %" PRId64 " is not in (-%" PRId64
                               ", %" PRId64 ")",
                               ends[i], b->rows, b->columns);
    return EDDY_OK;
}

/* What an element counts, each of which is in another row. */
#define ELEMENT_WORK 8

/*
 * Copies the band's diagonals out of the matrices, or back in; steps are in
 * elements.
 */
static void copy_band(eddy_kernel *k, const band *b, unsigned char *to,
                      const unsigned char *from, bool is_out)
{
    eddy_kernel *const asker = eddy__asker(k, eddy__in_dtype(k, 0));
    const size_t size = eddy__element_size(eddy__in_dtype(k, 0));
    int64_t lines = b->high - b->low + 1;

    for (int64_t i = 0; i < b->batch * lines; i++) {
        int64_t d = b->high - i % lines, n = diagonal_length(b, d);
        int64_t in_matrix = i / lines * b->rows * b->columns +
                            most(-d, 0) * b->columns + most(d, 0);
        int64_t in_band = i * b->longest + diagonal_offset(b, d, n);

        if (asker && eddy__spent(asker, ELEMENT_WORK * n))
            return;
        for (int64_t j = 0; j < n; j++) {
            size_t matrix_at =
                (size_t)(in_matrix + j * (b->columns + 1)) * size;
            size_t band_at = (size_t)(in_band + j) * size;

            memcpy(to + (is_out ? band_at : matrix_at),
                   from + (is_out ? matrix_at : band_at), size);
        }
    }
}

/* ---- MatrixDiagPartV3 ---- */

static eddy_status read_matrices(eddy_kernel *k, band *b)
{
    const eddy_shape *of = eddy__in_shape(k, 0);

    if (of->rank < 2)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "input must be at least a matrix, but it has shape "
                           "%s",
                           eddy__shape_print(of).text);
    b->batch = 1;
    for (int32_t d = 0; d < of->rank - 2; d++)
        b->batch *= of->dims[d];
    b->rows = of->dims[of->rank - 2];
    b->columns = of->dims[of->rank - 1];
    return EDDY_OK;
}

static eddy_shape part_shape(const eddy_shape *of, int64_t low, int64_t high,
                             int64_t longest)
{
    eddy_shape shape = *of;

    if (low == high) {
        shape.rank--;
        shape.dims[shape.rank - 1] = longest;
    } else {
        shape.dims[shape.rank - 2] = high - low + 1;
        shape.dims[shape.rank - 1] = longest;
    }
    return shape;
}

static eddy_status run_part(eddy_kernel *k)
{
    eddy_dtype dtype = eddy__in_dtype(k, 0);
    size_t size = eddy__element_size(dtype);
    band b = {.align = *(const alignment *)eddy__state(k)};
    unsigned char *out;
    eddy_shape shape;

    EDDY_TRY(read_matrices(k, &b));
    EDDY_TRY(read_k(k, 1, &b));
    EDDY_TRY(check_k(k, &b));
    if (k->node->n_in > 1)
        EDDY_TRY(eddy__want_single(k, 2, EDDY_MAX_RANK, "padding_value"));
    b.longest = least(b.rows + least(b.high, 0), b.columns - most(b.low, 0));
    shape = part_shape(eddy__in_shape(k, 0), b.low, b.high, b.longest);
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    if (b.low != b.high)
        eddy__repeat(eddy__asker(k, dtype), out, eddy__in_elements(k, 2), size,
                     eddy__out(k, 0)->as.tensor->count);
    copy_band(k, &b, out, eddy__in_elements(k, 0), true);
    return eddy__elements_done(k, 0);
}

/* Input `i` as one or two diagonals, as read_k has them; false if unknown. */
static bool infer_k(const eddy_infer *infer, uint32_t i, int64_t *low,
                    int64_t *high)
{
    int64_t k[2] = {0, 0};
    int32_t n = 1;

    if (i < eddy_infer_inputs(infer) &&
        (!eddy__infer_integers(infer, i, k, 2, &n) || n < 1))
        return false;
    *low = k[0];
    *high = k[n - 1];
    return *low <= *high;
}

static eddy_status infer_part(eddy_infer *infer)
{
    const eddy_shape *of = eddy_infer_input(infer, 0);
    int64_t rows, columns, k[2], longest = -1;
    eddy_shape shape;

    if (of->rank < 2 || !infer_k(infer, 1, &k[0], &k[1]))
        return EDDY_OK;
    rows = of->dims[of->rank - 2];
    columns = of->dims[of->rank - 1];
    if (rows >= 0 && columns >= 0)
        longest = least(rows + least(k[1], 0), columns - most(k[0], 0));
    shape = part_shape(of, k[0], k[1], longest < 0 ? -1 : longest);
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

/* ---- MatrixDiagV3 ---- */

/* The number of rows or columns, -1 where it is not given. */
static eddy_status read_size(eddy_kernel *k, uint32_t i, const char *what,
                             int64_t minimum, int64_t *out_size)
{
    EDDY_TRY(eddy__index_argument(k, i, what, out_size));
    if (*out_size == -1 || *out_size >= minimum)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DIM,
                       "%s is %" PRId64 ", but the diagonals need %" PRId64,
                       what, *out_size, minimum);
}

static eddy_status read_sizes(eddy_kernel *k, band *b)
{
    int64_t rows = b->longest - least(b->high, 0);
    int64_t columns = b->longest + most(b->low, 0);

    EDDY_TRY(read_size(k, 2, "num_rows", rows, &b->rows));
    EDDY_TRY(read_size(k, 3, "num_cols", columns, &b->columns));
    if (b->rows == -1 && b->columns == -1)
        b->rows = b->columns = most(rows, columns);
    else if (b->rows == -1)
        b->rows = rows;
    else if (b->columns == -1)
        b->columns = columns;
    if (b->rows == rows || b->columns == columns)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DIM,
                       "num_rows %" PRId64 " and num_cols %" PRId64
                       " make the diagonals longer than %" PRId64,
                       b->rows, b->columns, b->longest);
}

/* The band's own dimensions, and with them `b->batch` and `b->longest`. */
static eddy_status read_band(eddy_kernel *k, band *b, eddy_shape *shape)
{
    bool is_one = b->low == b->high;
    int32_t batch_rank;

    *shape = *eddy__in_shape(k, 0);
    batch_rank = shape->rank - (is_one ? 1 : 2);
    if (batch_rank < 0 || batch_rank > EDDY_MAX_RANK - 2 ||
        (!is_one && shape->dims[batch_rank] != b->high - b->low + 1))
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "shape %s does not hold the diagonals %" PRId64
                           " to %" PRId64,
                           eddy__shape_print(shape).text, b->low, b->high);
    b->longest = shape->dims[shape->rank - 1];
    b->batch = 1;
    for (int32_t d = 0; d < batch_rank; d++)
        b->batch *= shape->dims[d];
    shape->rank = batch_rank + 2;
    return EDDY_OK;
}

static eddy_status run_diag(eddy_kernel *k)
{
    static const unsigned char zero[16] = {0};
    const bool is_plain = k->node->n_in == 1;
    eddy_dtype dtype = eddy__in_dtype(k, 0);
    size_t size = eddy__element_size(dtype);
    band b = {.align = *(const alignment *)eddy__state(k)};
    unsigned char *out;
    eddy_shape shape;

    EDDY_TRY(read_k(k, 1, &b));
    EDDY_TRY(read_band(k, &b, &shape));
    if (is_plain) {
        b.rows = b.columns = b.longest;
    } else {
        EDDY_TRY(read_sizes(k, &b));
        EDDY_TRY(check_k(k, &b));
        EDDY_TRY(eddy__want_single(k, 4, 0, "padding_value"));
    }
    shape.dims[shape.rank - 2] = b.rows;
    shape.dims[shape.rank - 1] = b.columns;
    EDDY_TRY(eddy__output_elements(k, 0, dtype, &shape, &out));
    eddy__repeat(eddy__asker(k, dtype), out,
                 is_plain ? zero : eddy__in_elements(k, 4), size,
                 eddy__out(k, 0)->as.tensor->count);
    copy_band(k, &b, out, eddy__in_elements(k, 0), false);
    return eddy__elements_done(k, 0);
}

static eddy_status infer_diag(eddy_infer *infer)
{
    eddy_shape shape = *eddy_infer_input(infer, 0);
    const bool is_plain = eddy_infer_inputs(infer) == 1;
    int64_t k[2];

    if (shape.rank < 1 || !infer_k(infer, 1, &k[0], &k[1]))
        return EDDY_OK;
    if (is_plain && shape.rank < EDDY_MAX_RANK) {
        shape.dims[shape.rank] = shape.dims[shape.rank - 1];
        shape.rank++;
        eddy_infer_set_output(infer, 0, &shape);
        return EDDY_OK;
    }
    if (k[0] == k[1])
        shape.rank++;
    if (shape.rank < 2 || shape.rank > EDDY_MAX_RANK)
        return EDDY_OK;
    shape.dims[shape.rank - 2] = -1;
    shape.dims[shape.rank - 1] = -1;
    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

/* ---- MatrixSetDiag ---- */

/* The shape that the diagonals must have. */
static eddy_status check_diagonal(eddy_kernel *k, const band *b)
{
    const eddy_shape *given = eddy__in_shape(k, 1);
    const eddy_shape wanted =
        part_shape(eddy__in_shape(k, 0), b->low, b->high, b->longest);

    if (eddy__shape_equal(given, &wanted))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "diagonal has shape %s, but for the diagonals %" PRId64
                       " to %" PRId64 " of %s it must be %s",
                       eddy__shape_print(given).text, b->low, b->high,
                       eddy__shape_print(eddy__in_shape(k, 0)).text,
                       eddy__shape_print(&wanted).text);
}

static eddy_status run_set_diag(eddy_kernel *k)
{
    const eddy_shape *shape = eddy__in_shape(k, 0);
    const eddy_dtype dtype = eddy__in_dtype(k, 0);
    const size_t size = eddy__element_size(dtype);
    const size_t bytes = (size_t)eddy__in_count(k, 0) * size;
    const unsigned char *from = eddy__in_elements(k, 0);
    band b = {.align = *(const alignment *)eddy__state(k)};
    unsigned char *out;
    void *data;

    EDDY_TRY(read_matrices(k, &b));
    EDDY_TRY(read_k(k, 2, &b));
    EDDY_TRY(check_k(k, &b));
    b.longest = least(b.rows + least(b.high, 0), b.columns - most(b.low, 0));
    EDDY_TRY(check_diagonal(k, &b));
    if (dtype == EDDY_STRING) {
        EDDY_TRY(eddy__output_elements(k, 0, dtype, shape, &out));
    } else {
        EDDY_TRY(eddy__output_reusing(k, 0, 0, dtype, shape, &data));
        out = data;
    }
    if (bytes == 0)
        return eddy__elements_done(k, 0);
    if (out != from)
        eddy__copy_bytes(eddy__asker(k, dtype), out, from, bytes);
    copy_band(k, &b, out, eddy__in_elements(k, 1), false);
    return eddy__elements_done(k, 0);
}

static eddy_status infer_set_diag(eddy_infer *infer)
{
    const eddy_shape *shape = eddy_infer_input(infer, 0);

    if (shape->rank >= 0 && shape->rank < 2)
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                               "input must be at least a matrix, but it has "
                               "shape %s",
                               eddy__shape_print(shape).text);
    return eddy__infer_unchanged(infer);
}

/* ---- MatrixBandPart ---- */

/* How many diagonals to keep on a side; a negative number means all. */
static eddy_status read_kept(eddy_kernel *k, uint32_t i, const char *what,
                             int64_t limit, int64_t *out_n)
{
    EDDY_TRY(eddy__index_argument(k, i, what, out_n));
    if (*out_n > limit)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "%s must be at most %" PRId64 ", but it is %" PRId64,
                           what, limit, *out_n);
    if (*out_n < 0)
        *out_n = limit;
    return EDDY_OK;
}

static eddy_status run_band_part(eddy_kernel *k)
{
    eddy_dtype dtype = eddy__in_dtype(k, 0);
    size_t size = eddy__element_size(dtype);
    const unsigned char *from;
    eddy_kernel *asker;
    unsigned char *out;
    int64_t below = 0, above = 0;
    band b = {.batch = 0};

    EDDY_TRY(read_matrices(k, &b));
    EDDY_TRY(read_kept(k, 1, "num_lower", b.rows, &below));
    EDDY_TRY(read_kept(k, 2, "num_upper", b.columns, &above));
    EDDY_TRY(eddy__output_elements(k, 0, dtype, eddy__in_shape(k, 0), &out));
    from = eddy__in_elements(k, 0);
    asker = eddy__asker(k, dtype);
    eddy__zero_bytes(asker, out, (size_t)eddy__in_count(k, 0) * size);
    for (int64_t i = 0; b.columns > 0 && i < b.batch * b.rows; i++) {
        int64_t row = i % b.rows;
        int64_t first = most(row - below, 0);
        int64_t last = least(row + above + 1, b.columns);
        size_t at = (size_t)(i * b.columns + first) * size;

        if (asker && eddy__spent(asker, ELEMENT_WORK))
            break;
        if (first < last)
            eddy__copy_bytes(asker, out + at, from + at,
                             (size_t)(last - first) * size);
    }
    return eddy__elements_done(k, 0);
}

#define ALIGNED "T: type, align: string = 'RIGHT_LEFT'"
#define K "k: int32"

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "MatrixDiagPart", .inputs = "input: T", .outputs = "diagonal: T",
        .attrs = "T: type", .infer = infer_part, .kernel = run_part,
        .prepare = prepare_align, .doc = "The main diagonal of each matrix."),
    EDDY__OP_ROW(
        "MatrixDiagPartV2", .inputs = "input: T, " K ", padding_value: T",
        .outputs = "diagonal: T", .attrs = "T: type", .infer = infer_part,
        .kernel = run_part, .prepare = prepare_align,
        .doc = "A band of diagonals of each matrix."),
    EDDY__OP_ROW(
        "MatrixDiagPartV3", .inputs = "input: T, " K ", padding_value: T",
        .outputs = "diagonal: T", .attrs = ALIGNED, .infer = infer_part,
        .kernel = run_part, .prepare = prepare_align,
        .doc = "A band of diagonals of each matrix, aligned as it says."),
    EDDY__OP_ROW(
        "MatrixDiag", .inputs = "diagonal: T", .outputs = "output: T",
        .attrs = "T: type", .infer = infer_diag, .kernel = run_diag,
        .prepare = prepare_align,
        .doc =
            "Square matrices with these main diagonals and zeros beside them."),
    EDDY__OP_ROW(
        "MatrixDiagV2",
        .inputs = "diagonal: T, " K
                  ", num_rows: int32, num_cols: int32, padding_value: T",
        .outputs = "output: T", .attrs = "T: type", .infer = infer_diag,
        .kernel = run_diag, .prepare = prepare_align,
        .doc = "Matrices with these bands of diagonals."),
    EDDY__OP_ROW(
        "MatrixDiagV3",
        .inputs = "diagonal: T, " K
                  ", num_rows: int32, num_cols: int32, padding_value: T",
        .outputs = "output: T", .attrs = ALIGNED, .infer = infer_diag,
        .kernel = run_diag, .prepare = prepare_align,
        .doc = "Matrices with these bands of diagonals, aligned as it says."),
    EDDY__OP_ROW("MatrixSetDiag", .inputs = "input: T, diagonal: T",
                 .outputs = "output: T", .attrs = "T: type",
                 .infer = infer_set_diag, .kernel = run_set_diag,
                 .prepare = prepare_align,
                 .doc = "The matrices with other main diagonals."),
    EDDY__OP_ROW("MatrixSetDiagV2", .inputs = "input: T, diagonal: T, " K,
                 .outputs = "output: T", .attrs = "T: type",
                 .infer = infer_set_diag, .kernel = run_set_diag,
                 .prepare = prepare_align,
                 .doc = "The matrices with another band of diagonals."),
    EDDY__OP_ROW(
        "MatrixSetDiagV3", .inputs = "input: T, diagonal: T, " K,
        .outputs = "output: T", .attrs = ALIGNED, .infer = infer_set_diag,
        .kernel = run_set_diag, .prepare = prepare_align,
        .doc =
            "The matrices with another band of diagonals, aligned as it says."),
    EDDY__OP_ROW(
        "MatrixBandPart",
        .inputs = "input: T, num_lower: Tindex, num_upper: Tindex",
        .outputs = "band: T", .attrs = "T: type, Tindex: index = int64",
        .infer = eddy__infer_unchanged, .kernel = run_band_part,
        .prepare = eddy__prepare_movable,
        .doc = "The matrices with zeros outside a band around the diagonal."),
};

const eddy__op_table eddy__diag_ops = {specs, NULL,
                                       sizeof specs / sizeof *specs};
