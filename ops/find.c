/* Where: the positions of the elements that are not zero. */
#include "ops/elements.h"
#include "ops/ops.h"

/*
 * Is an element of an unsigned integer's size not zero, under a mask that
 * leaves out a float's sign?
 */
#define DEFINE_SCAN(bits)                                                      \
    static int64_t count_##bits(const void *data, int64_t n, uint64_t mask)    \
    {                                                                          \
        const uint##bits##_t *v = data, m = (uint##bits##_t)mask;              \
        int64_t found = 0;                                                     \
                                                                               \
        for (int64_t i = 0; i < n; i++)                                        \
            found += (v[i] & m) != 0;                                          \
        return found;                                                          \
    }                                                                          \
                                                                               \
    static void list_##bits(const void *data, int64_t n, uint64_t mask,        \
                            int64_t *out, int32_t step)                        \
    {                                                                          \
        const uint##bits##_t *v = data, m = (uint##bits##_t)mask;              \
                                                                               \
        for (int64_t i = 0; i < n; i++) {                                      \
            if ((v[i] & m) == 0)                                               \
                continue;                                                      \
            *out = i;                                                          \
            out += step;                                                       \
        }                                                                      \
    }

DEFINE_SCAN(8)
DEFINE_SCAN(16)
DEFINE_SCAN(32)
DEFINE_SCAN(64)

static uint64_t mask_of(eddy_dtype dtype)
{
    switch (dtype) {
    case EDDY_FLOAT16:
        return 0x7fff;
    case EDDY_FLOAT32:
        return 0x7fffffff;
    case EDDY_FLOAT64:
        return 0x7fffffffffffffff;
    case EDDY_COMPLEX64:
        return 0x7fffffff7fffffff;
    default:
        return UINT64_MAX;
    }
}

static int64_t count_true(const eddy_view *x)
{
    uint64_t mask = mask_of(x->dtype);

    switch (eddy_dtype_size(x->dtype)) {
    case 1:
        return count_8(x->data, x->count, mask);
    case 2:
        return count_16(x->data, x->count, mask);
    case 4:
        return count_32(x->data, x->count, mask);
    default:
        return count_64(x->data, x->count, mask);
    }
}

/* Writes the numbers of the elements found, one every `step` places. */
static void list_true(const eddy_view *x, int64_t *out, int32_t step)
{
    uint64_t mask = mask_of(x->dtype);

    switch (eddy_dtype_size(x->dtype)) {
    case 1:
        list_8(x->data, x->count, mask, out, step);
        break;
    case 2:
        list_16(x->data, x->count, mask, out, step);
        break;
    case 4:
        list_32(x->data, x->count, mask, out, step);
        break;
    default:
        list_64(x->data, x->count, mask, out, step);
        break;
    }
}

/* Turns the number that stands at the start of each row into coordinates. */
static void spread(const eddy_shape *of, int64_t *rows, int64_t n)
{
    for (int64_t i = 0; i < n; i++, rows += of->rank) {
        int64_t at = rows[0];

        for (int32_t d = of->rank - 1; d >= 0; d--) {
            rows[d] = at % of->dims[d];
            at /= of->dims[d];
        }
    }
}

static eddy_status run_where(eddy_kernel *k)
{
    eddy_view x = eddy__in_view(k, 0);
    eddy_shape shape = {.rank = 2, .dims = {count_true(&x), x.rank}};
    unsigned char *out;

    EDDY_TRY(eddy__output_elements(k, 0, EDDY_INT64, &shape, &out));
    if (x.rank == 0)
        return EDDY_OK;
    list_true(&x, (int64_t *)(void *)out, x.rank);
    if (x.rank > 1)
        spread(eddy__in_shape(k, 0), (int64_t *)(void *)out, shape.dims[0]);
    return EDDY_OK;
}

static eddy_status infer_where(eddy_infer *infer)
{
    int32_t rank = eddy_infer_input(infer, 0)->rank;
    eddy_shape shape = {.rank = 2, .dims = {-1, rank < 0 ? -1 : rank}};

    eddy_infer_set_output(infer, 0, &shape);
    return EDDY_OK;
}

static const eddy_op_spec specs[] = {
    {sizeof(eddy_op_spec), "Where", "input: T", "index: int64",
     "T: {float16, float32, float64, int8, int16, int32, int64, uint8, "
     "uint16, uint32, uint64, complex64, bool} = bool",
     infer_where, run_where, NULL, EDDY_OP_NOT_DIFFERENTIABLE,
     "The coordinates of elements that are not zero, in order.",
     "TensorFlow Where", NULL},
};

const eddy__op_table eddy__find_ops = {specs, NULL,
                                       sizeof specs / sizeof *specs};
