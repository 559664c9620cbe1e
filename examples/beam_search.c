/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beam search over a model of letters, in one loop.  The model says how likely
 * a letter is after another, as counted in some words; the search keeps the
 * BEAMS likeliest beginnings and goes on until all of them have come to their
 * ends.
 *
 *   cc beam_search.c $(pkg-config --cflags --libs eddy) -lm -o beam_search
 */
#include <eddy.h>

#include <math.h>
#include <stdio.h>

enum { BEAMS = 4, LONGEST = 12, LETTERS = 27, ENDED = LETTERS };

static const char words[] =
    " loop switch merge enter exit frame graph tensor value branch while "
    "gradient iteration eddy stream flow ";

/* ---- the model ---- */

/* The first letter, a space, is a word's begin and end. */
static int letter_of(char c)
{
    return c == ' ' ? 0 : c - 'a' + 1;
}

static char text_of(int letter)
{
    return " abcdefghijklmnopqrstuvwxyz"[letter];
}

/* Logarithms of how likely; a word that has ended stays so, at no cost. */
static void count(float model[LETTERS + 1][LETTERS])
{
    for (int a = 0; a < LETTERS; a++)
        for (int c = 0; c < LETTERS; c++)
            model[a][c] = 0.01F;
    for (size_t i = 0; i + 2 < sizeof words; i++)
        model[letter_of(words[i])][letter_of(words[i + 1])] += 1;
    for (int a = 0; a < LETTERS; a++) {
        float sum = 0;

        for (int c = 0; c < LETTERS; c++)
            sum += model[a][c];
        for (int c = 0; c < LETTERS; c++)
            model[a][c] = logf(model[a][c] / sum);
    }
    for (int c = 0; c < LETTERS; c++)
        model[ENDED][c] = c == 0 ? 0 : -1e9F;
}

/* ---- the search ---- */

typedef struct search {
    eddy_emitter *b;
    eddy_output model, places;
} search;

static eddy_output int32(const search *s, int32_t value)
{
    return eddy_emit_int32(s->b, value);
}

static eddy_output op(const search *s, const char *name, eddy_output x,
                      eddy_output y)
{
    return eddy_emit_binary(s->b, name, x, y);
}

/* Rows of `table`. */
static eddy_output rows(const search *s, eddy_output table, eddy_output at)
{
    const eddy_output inputs[] = {table, at, int32(s, 0)};

    return eddy_emit_op(s->b, "GatherV2", inputs, 3, NULL, 0);
}

static eddy_output list(const search *s, int32_t item)
{
    const eddy_shape one = {.rank = 1, .dims = {1}};

    return eddy_emit_elements(s->b, NULL, EDDY_INT32, &one, &item);
}

/* From n, scores, texts and last letters to those with a letter more. */
static void extend(const search *s, eddy_output v[4])
{
    const eddy_output column = op(s, "ExpandDims", v[1], int32(s, 1));
    const eddy_output each = op(s, "AddV2", column, rows(s, s->model, v[3]));
    const eddy_output flat = op(s, "Reshape", each, list(s, -1));
    const eddy_output best = op(s, "TopKV2", flat, int32(s, BEAMS));
    const eddy_output at = {best.node, 1};
    const eddy_output beam = op(s, "FloorDiv", at, int32(s, LETTERS));
    const eddy_output letter = op(s, "FloorMod", at, int32(s, LETTERS));
    const eddy_output ended = op(s, "Equal", letter, int32(s, 0));
    const eddy_output write[] = {op(s, "Equal", s->places, v[0]),
                                 op(s, "ExpandDims", letter, int32(s, 1)),
                                 rows(s, v[2], beam)};
    const eddy_output mark[] = {ended, int32(s, ENDED), letter};

    v[0] = op(s, "AddV2", v[0], int32(s, 1));
    v[1] = best;
    v[2] = eddy_emit_op(s->b, "SelectV2", write, 3, NULL, 0);
    v[3] = eddy_emit_op(s->b, "SelectV2", mark, 3, NULL, 0);
}

static void build(search *s, eddy_output v[4])
{
    static const float scores[BEAMS] = {0, -1e9F, -1e9F, -1e9F};
    static const int32_t nothing[BEAMS * LONGEST];
    const eddy_shape table = {.rank = 2, .dims = {LETTERS + 1, LETTERS}};
    const eddy_shape line = {.rank = 2, .dims = {1, LONGEST}};
    const eddy_shape beams = {.rank = 1, .dims = {BEAMS}};
    const eddy_shape texts = {.rank = 2, .dims = {BEAMS, LONGEST}};
    const eddy_while_spec spec = {
        .size = sizeof spec, .initial = v, .n_variables = 4};
    eddy_emitter *b = s->b;
    float model[LETTERS + 1][LETTERS];
    int32_t places[LONGEST];
    eddy_output open, early;

    count(model);
    for (int i = 0; i < LONGEST; i++)
        places[i] = i;
    s->model = eddy_emit_elements(b, NULL, EDDY_FLOAT32, &table, model);
    s->places = eddy_emit_elements(b, NULL, EDDY_INT32, &line, places);
    v[0] = int32(s, 0);
    v[1] = eddy_emit_elements(b, NULL, EDDY_FLOAT32, &beams, scores);
    v[2] = eddy_emit_elements(b, NULL, EDDY_INT32, &texts, nothing);
    v[3] = eddy_emit_elements(b, NULL, EDDY_INT32, &beams, nothing);
    EDDY_EMIT(b, eddy_while_begin(b->graph, &spec, v, b->err));
    open = op(s, "Any", op(s, "NotEqual", v[3], int32(s, ENDED)), list(s, 0));
    early = op(s, "Less", v[0], int32(s, LONGEST));
    EDDY_EMIT(b, eddy_while_body(b->graph, op(s, "LogicalAnd", early, open), v,
                                 b->err));
    extend(s, v);
    EDDY_EMIT(b, eddy_while_end(b->graph, v, 4, v, b->err));
}

static void print(eddy_tensor *const found[3])
{
    const float *scores = eddy_tensor_data(found[1]);
    const int32_t *texts = eddy_tensor_data(found[2]);

    printf("%d letters\n", *(const int32_t *)eddy_tensor_data(found[0]));
    for (int i = 0; i < BEAMS; i++) {
        printf("%8.3f  ", (double)scores[i]);
        for (int at = 0; at < LONGEST && texts[i * LONGEST + at] > 0; at++)
            (void)putchar(text_of(texts[i * LONGEST + at]));
        (void)putchar('\n');
    }
}

int main(void)
{
    eddy_error err = EDDY_ERROR_INIT;
    eddy_emitter b = eddy_emitter_of(NULL, &err);
    search s = {.b = &b};
    eddy_output v[4];
    const eddy_plan_options options = {
        .size = sizeof options, .fetches = v, .n_fetches = 3};
    eddy_context *ctx = NULL;
    eddy_plan *plan = NULL;
    eddy_tensor *found[3] = {NULL, NULL, NULL};

    b.status = eddy_context_create(NULL, &ctx, &err);
    EDDY_EMIT(&b, eddy_graph_create(ctx, &b.graph, &err));
    build(&s, v);
    EDDY_EMIT(&b, eddy_plan_create(b.graph, &options, &plan, &err));
    EDDY_EMIT(&b, eddy_plan_run(plan, NULL, NULL, found, &err));
    if (b.status == EDDY_OK)
        print(found);
    else
        (void)fprintf(stderr, "%s: %s\n", err.node, err.message);
    for (int i = 0; i < 3; i++)
        eddy_tensor_release(found[i]);
    eddy_plan_release(plan);
    eddy_graph_destroy(b.graph);
    eddy_context_release(ctx);
    return b.status != EDDY_OK;
}
