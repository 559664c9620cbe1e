/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connectionist temporal classification: CTCLoss with its gradient by the
 * logits, and CTCGreedyDecoder.
 *
 * A sequence of labels is spelt by all rows of classes that give it once
 * repeats are merged and blanks dropped; the loss is minus the logarithm of
 * the probability of all of them (Graves, 2006).  `ways` has for each time and
 * each place among the labels, with blanks between them, the logarithm of the
 * probability of all beginnings that are there then; `rest` that of all ends.
 * All is computed in double.
 */
#include "ops/math/elements.h"
#include "ops/math/numeric.h"
#include "ops/misc/scratch.h"
#include "ops/ops.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Inputs and outputs of the losses. */
enum { LOGITS, INDICES, VALUES, LENGTHS };
enum { LOSS, GRADIENT };

typedef struct modes {
    bool collapses; /* repeats among the labels are one */
    bool merges;    /* repeats among the classes are one */
    bool ignores;   /* labels that don't fit have no loss */
    bool is_second; /* CTCLossV2: class 0 is the blank, not the last */
} modes;

/* What a kernel was given. */
typedef struct task {
    modes modes;
    eddy_dtype dtype;
    int64_t times, batch, classes;
    int32_t blank;
    const void *logits;
    eddy_view indices, values, lengths;
} task;

/* Memory to work in; one for all of a batch. */
typedef struct room {
    eddy_tensor *places, *numbers;
    int32_t *labels;     /* with blanks between them */
    double *log_y;       /* [times, classes] */
    double *ways, *rest; /* [times, places] */
    double *sums;        /* [classes] */
} room;

static double element(const task *t, const void *x, int64_t i)
{
    return t->dtype == EDDY_FLOAT32 ? (double)((const float *)x)[i]
                                    : ((const double *)x)[i];
}

static void put(const task *t, void *to, int64_t i, double x)
{
    if (t->dtype == EDDY_FLOAT32)
        ((float *)to)[i] = (float)x;
    else
        ((double *)to)[i] = x;
}

/* log(e^a + e^b) */
static double add_logs(double a, double b)
{
    const double greater = a > b ? a : b, less = a > b ? b : a;

    if (isnan(a) || isnan(b))
        return (double)NAN;
    if (isinf(less))
        return greater;
    return greater + log1p(exp(less - greater));
}

/* ---- what is given ---- */

static eddy_status read_logits(eddy_kernel *k, uint32_t lengths, task *t)
{
    const eddy_shape *of = eddy__in_shape(k, LOGITS);

    t->dtype = eddy__in_dtype(k, LOGITS);
    t->logits = eddy__in_elements(k, LOGITS);
    t->lengths = eddy__in_view(k, lengths);
    if (of->rank != 3)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_RANK,
                           "the inputs must be times, batch and classes, but "
                           "they have shape %s",
                           eddy__shape_print(of).text);
    t->times = of->dims[0];
    t->batch = of->dims[1];
    t->classes = of->dims[2];
    if (t->times < 1 || t->batch < 1 || t->classes < 1 ||
        t->classes > INT32_MAX || t->times > INT32_MAX)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                           "the inputs must not be empty, but they have shape "
                           "%s",
                           eddy__shape_print(of).text);
    return EDDY_OK;
}

static eddy_status check_lengths(eddy_kernel *k, const task *t,
                                 eddy_status code, int64_t least)
{
    if (t->lengths.rank != 1 || t->lengths.count != t->batch)
        return eddy__kfail(
            k, t->lengths.rank == 1 ? code : EDDY_INVALID_ARGUMENT,
            EDDY_E_SHAPE,
            "there are %" PRId64 " lengths of %" PRId64 " sequences",
            t->lengths.count, t->batch);
    for (int64_t b = 0; b < t->batch; b++) {
        const int64_t n = eddy__index_at(&t->lengths, b);

        if (n > t->times || n < least)
            return eddy__kfail(k, code, EDDY_E_VALUE,
                               "sequence_length[%" PRId64 "] is %" PRId64
                               ", but there are %" PRId64 " times",
                               b, n, t->times);
    }
    return EDDY_OK;
}

/* The labels are a sparse matrix: its indices must be in order. */
static eddy_status check_indices(eddy_kernel *k, const task *t)
{
    const int64_t *at = t->indices.data;

    if (t->indices.rank != 2 || t->indices.dims[1] != 2 ||
        t->values.rank != 1 || t->values.count != t->indices.dims[0])
        return eddy__kfail(
            k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
            "labels_indices of shape %s do not say where %" PRId64
            " values are",
            eddy__shape_print(eddy__in_shape(k, INDICES)).text,
            t->values.count);
    for (int64_t i = 0; i < t->values.count; i++, at += 2) {
        const bool is_next =
            i == 0 || at[0] > at[-2] || (at[0] == at[-2] && at[1] > at[-1]);

        if (at[0] < 0 || at[0] >= t->batch || at[1] < 0 || !is_next)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                               "labels_indices[%" PRId64 "] is [%" PRId64
                               ",%" PRId64 "]: it must be in order, and for "
                               "one of %" PRId64 " sequences",
                               i, at[0], at[1], t->batch);
    }
    return EDDY_OK;
}

static eddy_status read_task(eddy_kernel *k, task *t)
{
    *t = (task){.modes = *(const modes *)eddy__state(k)};
    EDDY_TRY(read_logits(k, LENGTHS, t));
    t->indices = eddy__in_view(k, INDICES);
    t->values = eddy__in_view(k, VALUES);
    t->blank = t->modes.is_second ? 0 : (int32_t)t->classes - 1;
    EDDY_TRY(check_lengths(k, t, EDDY_INVALID_ARGUMENT, 0));
    return check_indices(k, t);
}

/* ---- labels ---- */

/* Is it no class, but what fills up a sequence? */
static bool is_filling(const task *t, int64_t label)
{
    return t->modes.is_second ? label == 0 || label >= t->classes
                              : label >= t->classes - 1;
}

static eddy_status fail_label(eddy_kernel *k, int64_t b, int64_t label,
                              const char *why)
{
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                       "label %" PRId64 " of sequence %" PRId64 " %s", label, b,
                       why);
}

/*
 * The labels [first, end) of sequence `b` with a blank before, between and
 * after them; how many places that makes.
 */
/* NOLINTNEXTLINE(readability-function-size): what one sequence takes. */
static eddy_status spell(eddy_kernel *k, const task *t, int64_t b,
                         int64_t first, int64_t end, int32_t *labels,
                         int64_t *out_n)
{
    bool has_ended = false;
    int64_t n = 0;

    assert(labels);
    labels[n++] = t->blank;
    for (int64_t i = first; i < end; i++) {
        const int64_t label = eddy__index_at(&t->values, i);

        if (i > first && t->modes.collapses &&
            label == eddy__index_at(&t->values, i - 1))
            continue;
        if (label < 0)
            return fail_label(k, b, label, "is negative");
        if (is_filling(t, label)) {
            has_ended = true;
            continue;
        }
        if (has_ended)
            return fail_label(k, b, label, "comes after the end");
        labels[n++] = (int32_t)label;
        assert(labels);
        labels[n++] = t->blank;
    }
    *out_n = n;
    return EDDY_OK;
}

/* ---- one sequence ---- */

/* Logarithms of the probabilities, by a softmax at each time. */
static void set_probabilities(const task *t, int64_t b, int64_t n, double *to)
{
    for (int64_t time = 0; time < n; time++, to += t->classes) {
        const int64_t at = (time * t->batch + b) * t->classes;
        double greatest = -(double)INFINITY, sum = 0;

        for (int64_t c = 0; c < t->classes; c++) {
            to[c] = element(t, t->logits, at + c);
            greatest = greatest < to[c] ? to[c] : greatest;
        }
        for (int64_t c = 0; c < t->classes; c++)
            sum += exp(to[c] - greatest);
        sum = greatest + log(sum);
        for (int64_t c = 0; c < t->classes; c++)
            to[c] -= sum;
    }
}

/* May a way go from place u to u + 2, past a blank? */
static bool skips(const task *t, const int32_t *labels, int64_t u)
{
    return labels[u] != t->blank &&
           !(t->modes.merges && labels[u] == labels[u + 2]);
}

static bool stays(const task *t, const int32_t *labels, int64_t u)
{
    return t->modes.merges || labels[u] == t->blank;
}

static void go_forward(const task *t, const room *r, int64_t n, int64_t places)
{
    const int32_t *l = r->labels;

    for (int64_t time = 0; time < n; time++) {
        const double *y = r->log_y + time * t->classes;
        double *now = r->ways + time * places;
        const double *before = now - places;

        for (int64_t u = 0; u < places; u++) {
            double sum = -(double)INFINITY;

            if (time == 0)
                sum = u < 2 ? 0 : sum;
            else if (stays(t, l, u))
                sum = before[u];
            if (time > 0 && u > 0)
                sum = add_logs(sum, before[u - 1]);
            if (time > 0 && u > 1 && skips(t, l, u - 2))
                sum = add_logs(sum, before[u - 2]);
            now[u] = sum + y[l[u]];
        }
    }
}

static void go_back(const task *t, const room *r, int64_t n, int64_t places)
{
    const int32_t *l = r->labels;

    for (int64_t time = n - 1; time >= 0; time--) {
        const double *y = r->log_y + (time + 1) * t->classes;
        double *now = r->rest + time * places;
        const double *after = now + places;

        for (int64_t u = 0; u < places; u++) {
            double sum = -(double)INFINITY;

            if (time == n - 1)
                sum = u >= places - 2 ? 0 : sum;
            else if (stays(t, l, u))
                sum = after[u] + y[l[u]];
            if (time < n - 1 && u + 1 < places)
                sum = add_logs(sum, after[u + 1] + y[l[u + 1]]);
            if (time < n - 1 && u + 2 < places && skips(t, l, u))
                sum = add_logs(sum, after[u + 2] + y[l[u + 2]]);
            now[u] = sum;
        }
    }
}

/* The gradient at one time: what is likely less what the labels say. */
/* NOLINTNEXTLINE(readability-function-size): what one sequence takes. */
static void put_gradient(const task *t, const room *r, int64_t b, int64_t time,
                         int64_t places, double all, void *gradient)
{
    const double *y = r->log_y + time * t->classes;

    for (int64_t c = 0; c < t->classes; c++)
        r->sums[c] = -(double)INFINITY;
    for (int64_t u = 0; u < places; u++) {
        double *sum = &r->sums[r->labels[u]];

        *sum = add_logs(*sum, r->ways[time * places + u] +
                                  r->rest[time * places + u]);
    }
    for (int64_t c = 0; c < t->classes; c++) {
        /* Where no way leads to the labels, nothing is known of them. */
        const double known = isinf(all) && all < 0 ? 0 : exp(r->sums[c] - all);

        put(t, gradient, (time * t->batch + b) * t->classes + c,
            exp(y[c]) - known);
    }
}

/* NOLINTNEXTLINE(readability-function-size): what one sequence takes. */
static eddy_status run_sequence(eddy_kernel *k, const task *t, const room *r,
                                int64_t b, int64_t places, void *loss,
                                void *gradient)
{
    const int64_t n = eddy__index_at(&t->lengths, b);
    double all = -(double)INFINITY;

    EDDY_TRY(eddy__go_on(k, n * t->classes * 30));
    set_probabilities(t, b, n, r->log_y);
    EDDY_TRY(eddy__go_on(k, n * places * 60));
    go_forward(t, r, n, places);
    EDDY_TRY(eddy__go_on(k, n * places * 60));
    go_back(t, r, n, places);
    for (int64_t u = 0; n > 0 && u < places; u++)
        all = add_logs(all, r->ways[u] + r->rest[u]);
    put(t, loss, b, n > 0 ? -all : 0);
    for (int64_t time = 0; time < n; time++) {
        EDDY_TRY(eddy__go_on(k, places * 40 + t->classes * 40));
        put_gradient(t, r, b, time, places, all, gradient);
    }
    return EDDY_OK;
}

/* ---- a batch ---- */

static eddy_status room_make(eddy_kernel *k, const task *t, int64_t longest,
                             room *r)
{
    const int64_t places = 2 * longest + 1;
    int64_t each, n;
    eddy_status status;

    *r = (room){NULL};
    if (__builtin_add_overflow(t->classes, 2 * places, &each) ||
        __builtin_mul_overflow(each, t->times, &n) ||
        __builtin_add_overflow(n, t->classes, &n))
        return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_SIZE,
                           "%" PRId64 " times and %" PRId64
                           " labels are too many",
                           t->times, longest);
    status = eddy__scratch(k, EDDY_INT32, places, &r->places);
    if (status == EDDY_OK)
        status = eddy__scratch(k, EDDY_FLOAT64, n, &r->numbers);
    if (status != EDDY_OK)
        return status;
    r->labels = r->places->data;
    r->log_y = r->numbers->data;
    r->ways = r->log_y + t->times * t->classes;
    r->rest = r->ways + t->times * places;
    r->sums = r->rest + t->times * places;
    return EDDY_OK;
}

/* The end of the labels of the sequence that label `first` is of. */
static int64_t end_of(const task *t, int64_t first)
{
    const int64_t *at = t->indices.data;
    int64_t end = first;

    while (end < t->values.count && at[2 * end] == at[2 * first])
        end++;
    return end;
}

static int64_t longest_of(const task *t)
{
    int64_t longest = 0;

    for (int64_t i = 0; i < t->values.count;) {
        const int64_t end = end_of(t, i);

        longest = end - i > longest ? end - i : longest;
        i = end;
    }
    return longest;
}

static eddy_status run_batch(eddy_kernel *k, const task *t, const room *r,
                             void *loss, void *gradient)
{
    const int64_t *at = t->indices.data;
    int64_t first = 0, places = 0;

    for (int64_t b = 0; b < t->batch; b++) {
        const int64_t n = eddy__index_at(&t->lengths, b);
        int64_t end;

        if (first == t->values.count || at[2 * first] != b)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                               "there are no labels for sequence %" PRId64, b);
        end = end_of(t, first);
        EDDY_TRY(spell(k, t, b, first, end, r->labels, &places));
        first = end;
        put(t, loss, b, 0);
        if (places / 2 <= n)
            EDDY_TRY(run_sequence(k, t, r, b, places, loss, gradient));
        else if (!t->modes.ignores)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                               "sequence %" PRId64 " has %" PRId64
                               " labels, but %" PRId64 " times",
                               b, places / 2, n);
    }
    return EDDY_OK;
}

static eddy_status run_loss(eddy_kernel *k)
{
    unsigned char *gradient;
    eddy_status status;
    eddy_shape shape;
    void *loss;
    task t;
    room r;

    EDDY_TRY(read_task(k, &t));
    shape = eddy__shape_vector(t.batch);
    EDDY_TRY(eddy__output(k, LOSS, t.dtype, &shape, &loss));
    EDDY_TRY(eddy__output_elements(k, GRADIENT, t.dtype,
                                   eddy__in_shape(k, LOGITS), &gradient));
    eddy__zero_bytes(k, gradient, eddy__out(k, GRADIENT)->as.tensor->bytes);
    status = room_make(k, &t, longest_of(&t), &r);
    if (status == EDDY_OK)
        status = run_batch(k, &t, &r, loss, gradient);
    eddy__scratch_free(k, r.numbers);
    eddy__scratch_free(k, r.places);
    return status;
}

static eddy_status prepare_loss(eddy_infer *infer)
{
    modes *m = eddy__prepare_state(infer, sizeof *m);

    if (!m)
        return EDDY_RESOURCE_EXHAUSTED;
    m->collapses = eddy__infer_bool(infer, "preprocess_collapse_repeated");
    m->merges = eddy__infer_bool(infer, "ctc_merge_repeated");
    m->ignores = eddy__infer_bool(infer, "ignore_longer_outputs_than_inputs");
    m->is_second = strcmp(infer->node->op_name, "CTCLossV2") == 0;
    return EDDY_OK;
}

static eddy_status infer_loss(eddy_infer *infer)
{
    const eddy_shape *of = eddy_infer_input(infer, LOGITS);
    eddy_shape loss = eddy__shape_vector(-1);

    EDDY_TRY(eddy__infer_want_rank(infer, LOGITS, 3));
    EDDY_TRY(eddy__infer_want_rank(infer, INDICES, 2));
    EDDY_TRY(eddy__infer_want_rank(infer, VALUES, 1));
    EDDY_TRY(eddy__infer_want_rank(infer, LENGTHS, 1));
    if (of->rank == 3)
        loss.dims[0] = of->dims[1];
    eddy_infer_set_output(infer, LOSS, &loss);
    eddy_infer_set_output(infer, GRADIENT, of);
    return EDDY_OK;
}

/* ---- CTCGreedyDecoder ---- */

typedef struct decoder {
    bool merges;
    int64_t blank;
} decoder;

/* The first of the greatest; a NaN is not greater, nor is anything than it. */
static int64_t best_of(const task *t, int64_t time, int64_t b)
{
    const int64_t at = (time * t->batch + b) * t->classes;
    int64_t best = 0;

    for (int64_t c = 1; c < t->classes; c++)
        if (element(t, t->logits, at + c) > element(t, t->logits, at + best))
            best = c;
    return best;
}

/* The labels of sequence `b` into `labels`, unless that is NULL. */
/* NOLINTNEXTLINE(readability-function-size): what one sequence takes. */
static eddy_status decode(eddy_kernel *k, const task *t, const decoder *d,
                          int64_t b, int64_t *labels, int64_t *out_n,
                          double *out_score)
{
    int64_t last = -1;

    *out_n = 0;
    *out_score = 0;
    for (int64_t time = 0; time < eddy__index_at(&t->lengths, b); time++) {
        const int64_t best = best_of(t, time, b);

        EDDY_TRY(eddy__go_on(k, 4 * t->classes));
        *out_score -=
            element(t, t->logits, (time * t->batch + b) * t->classes + best);
        if (best != d->blank && !(d->merges && best == last)) {
            if (labels)
                labels[*out_n] = best;
            ++*out_n;
        }
        last = best;
    }
    return EDDY_OK;
}

static eddy_status read_decoder(eddy_kernel *k, task *t, decoder *d)
{
    *t = (task){.blank = 0};
    *d = *(const decoder *)eddy__state(k);
    EDDY_TRY(read_logits(k, 1, t));
    EDDY_TRY(check_lengths(k, t, EDDY_FAILED_PRECONDITION, INT64_MIN));
    if (d->blank < -t->classes || d->blank >= t->classes)
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
                           "blank_index is %" PRId64 " of %" PRId64 " classes",
                           d->blank, t->classes);
    if (d->blank < 0)
        d->blank += t->classes;
    return EDDY_OK;
}

enum { DECODED_INDICES, DECODED_VALUES, DECODED_SHAPE, SCORES };

static eddy_status put_labels(eddy_kernel *k, const task *t, const decoder *d,
                              int64_t total)
{
    const eddy_shape vector = eddy__shape_vector(total);
    const eddy_shape pairs = {.rank = 2, .dims = {total, 2}};
    const eddy_shape column = {.rank = 2, .dims = {t->batch, 1}};
    void *indices, *values, *scores;
    int64_t *at, *label, n;
    double score;

    EDDY_TRY(eddy__output(k, DECODED_INDICES, EDDY_INT64, &pairs, &indices));
    EDDY_TRY(eddy__output(k, DECODED_VALUES, EDDY_INT64, &vector, &values));
    EDDY_TRY(eddy__output(k, SCORES, t->dtype, &column, &scores));
    at = indices;
    label = values;
    for (int64_t b = 0; b < t->batch; b++) {
        EDDY_TRY(decode(k, t, d, b, label, &n, &score));
        put(t, scores, b, score);
        label += n;
        for (int64_t i = 0; i < n; i++) {
            *at++ = b;
            *at++ = i;
        }
    }
    return EDDY_OK;
}

static eddy_status run_decoder(eddy_kernel *k)
{
    const eddy_shape pair = eddy__shape_vector(2);
    int64_t n = 0, total = 0, longest = 0;
    void *shape;
    double score;
    decoder d;
    task t;

    EDDY_TRY(read_decoder(k, &t, &d));
    for (int64_t b = 0; b < t.batch; b++) {
        EDDY_TRY(decode(k, &t, &d, b, NULL, &n, &score));
        total += n;
        longest = n > longest ? n : longest;
    }
    EDDY_TRY(eddy__output(k, DECODED_SHAPE, EDDY_INT64, &pair, &shape));
    ((int64_t *)shape)[0] = t.batch;
    ((int64_t *)shape)[1] = longest;
    return put_labels(k, &t, &d, total);
}

static eddy_status prepare_decoder(eddy_infer *infer)
{
    decoder *d = eddy__prepare_state(infer, sizeof *d);
    eddy_attr attr;

    if (!d)
        return EDDY_RESOURCE_EXHAUSTED;
    d->merges = eddy__infer_bool(infer, "merge_repeated");
    d->blank =
        eddy_infer_attr(infer, "blank_index", &attr) ? attr.as.ints[0] : -1;
    return EDDY_OK;
}

static eddy_status infer_decoder(eddy_infer *infer)
{
    const eddy_shape *of = eddy_infer_input(infer, LOGITS);
    const eddy_shape vector = eddy__shape_vector(-1),
                     two = eddy__shape_vector(2);
    const eddy_shape pairs = {.rank = 2, .dims = {-1, 2}};
    eddy_shape scores = {.rank = 2, .dims = {-1, 1}};

    EDDY_TRY(eddy__infer_want_rank(infer, LOGITS, 3));
    EDDY_TRY(eddy__infer_want_rank(infer, 1, 1));
    if (of->rank == 3)
        scores.dims[0] = of->dims[1];
    eddy_infer_set_output(infer, DECODED_INDICES, &pairs);
    eddy_infer_set_output(infer, DECODED_VALUES, &vector);
    eddy_infer_set_output(infer, DECODED_SHAPE, &two);
    eddy_infer_set_output(infer, SCORES, &scores);
    return EDDY_OK;
}

#define MODES                                                                  \
    "preprocess_collapse_repeated: bool = false, ctc_merge_repeated: bool = "  \
    "true, ignore_longer_outputs_than_inputs: bool = false"
#define LABELS                                                                 \
    ", labels_indices: int64, labels_values: int32, sequence_length: int32"

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW(
        "CTCLoss", .inputs = "inputs: T" LABELS,
        .outputs = "loss: T, gradient: T",
        .attrs = MODES ", T: {float32, float64} = float32", .infer = infer_loss,
        .kernel = run_loss, .prepare = prepare_loss, .flags = EDDY_OP_HEAVY,
        .doc = "How unlikely logits make sequences of labels, and its gradient "
               "by them; the last class is the blank."),
    EDDY__OP_ROW("CTCLossV2", .inputs = "inputs: float32" LABELS,
                 .outputs = "loss: float32, gradient: float32", .attrs = MODES,
                 .infer = infer_loss, .kernel = run_loss,
                 .prepare = prepare_loss, .flags = EDDY_OP_HEAVY,
                 .doc = "The same where the first class is the blank."),
    EDDY__OP_ROW(
        "CTCGreedyDecoder", .inputs = "inputs: T, sequence_length: int32",
        .outputs = "decoded_indices: int64, decoded_values: int64, "
                   "decoded_shape: int64, log_probability: T",
        .attrs = "merge_repeated: bool = false, blank_index: int = -1, "
                 "T: {float32, float64} = float32",
        .infer = infer_decoder, .kernel = run_decoder,
        .prepare = prepare_decoder, .flags = EDDY_OP_NOT_DIFFERENTIABLE,
        .doc = "The likeliest class at each time, less blanks, and minus the "
               "sum of their logits."),
};

const eddy__op_table eddy__ctc_ops = {
    .specs = specs,
    .n = sizeof specs / sizeof specs[0],
};
