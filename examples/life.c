/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conway's game of life on a torus, in one loop.  A glider goes on until the
 * board is the one that it began with; the loop ends when that is so, after as
 * many generations as it takes.
 *
 *   cc life.c $(pkg-config --cflags --libs eddy) -o life
 */
#include <eddy.h>

#include <stdio.h>

enum { SIZE = 8 };

static const int32_t glider[SIZE][SIZE] = {{0, 1, 0}, {0, 0, 1}, {1, 1, 1}};

static eddy_output pair(eddy_emitter *b, int32_t first, int32_t second)
{
    const eddy_shape shape = {.rank = 1, .dims = {2}};
    const int32_t both[2] = {first, second};

    return eddy_emit_elements(b, NULL, EDDY_INT32, &shape, both);
}

static eddy_output op(eddy_emitter *b, const char *name, eddy_output x,
                      eddy_output y)
{
    return eddy_emit_binary(b, name, x, y);
}

/* The board, as far to the side and down as is said. */
static eddy_output rolled(eddy_emitter *b, eddy_output board, int down,
                          int right)
{
    const eddy_output inputs[] = {board, pair(b, down, right), pair(b, 0, 1)};

    return eddy_emit_op(b, "Roll", inputs, 3, NULL, 0);
}

/* Who has three neighbours lives, and who has two lives on. */
static eddy_output next_board(eddy_emitter *b, eddy_output board)
{
    eddy_output around = {0, 0}, three, two;

    for (int down = -1; down <= 1; down++)
        for (int right = -1; right <= 1; right++) {
            const bool is_first = down == -1 && right == -1;

            if (down == 0 && right == 0)
                continue;
            around = is_first ? rolled(b, board, down, right)
                              : op(b, "AddV2", around,
                                   rolled(b, board, down, right));
        }
    three = op(b, "Equal", around, eddy_emit_int32(b, 3));
    two = op(b, "LogicalAnd", op(b, "Equal", around, eddy_emit_int32(b, 2)),
             op(b, "Greater", board, eddy_emit_int32(b, 0)));
    return eddy_emit_cast(b, op(b, "LogicalOr", three, two), EDDY_INT32);
}

/* n < limit, and the board has changed, or is yet to. */
static eddy_output goes_on(eddy_emitter *b, const eddy_output v[2],
                           eddy_output first, eddy_output limit)
{
    const eddy_output changed =
        op(b, "Any", op(b, "NotEqual", v[1], first), pair(b, 0, 1));
    const eddy_output begins = op(b, "Less", v[0], eddy_emit_int32(b, 1));

    return op(b, "LogicalAnd", op(b, "Less", v[0], limit),
              op(b, "LogicalOr", changed, begins));
}

static void build(eddy_emitter *b, eddy_output *out_limit, eddy_output v[2])
{
    const eddy_shape scalar = {.rank = 0};
    const eddy_shape square = {.rank = 2, .dims = {SIZE, SIZE}};
    const eddy_output first =
        eddy_emit_elements(b, NULL, EDDY_INT32, &square, glider);
    eddy_while_spec spec = {
        .size = sizeof spec, .initial = v, .n_variables = 2};

    *out_limit = eddy_emit_placeholder(b, "limit", EDDY_INT32, &scalar);
    v[0] = eddy_emit_int32(b, 0);
    v[1] = first;
    EDDY_EMIT(b, eddy_while_begin(b->graph, &spec, v, b->err));
    EDDY_EMIT(b, eddy_while_body(b->graph, goes_on(b, v, first, *out_limit), v,
                                 b->err));
    v[0] = op(b, "AddV2", v[0], eddy_emit_int32(b, 1));
    v[1] = next_board(b, v[1]);
    EDDY_EMIT(b, eddy_while_end(b->graph, v, 2, v, b->err));
}

static void play(eddy_emitter *b, eddy_context *ctx, eddy_plan *plan,
                 int32_t limit)
{
    const eddy_shape scalar = {.rank = 0};
    eddy_tensor *feed = NULL, *found[2] = {NULL, NULL};

    EDDY_EMIT(b, eddy_tensor_wrap(ctx, EDDY_INT32, &scalar, &limit, NULL, NULL,
                                  &feed, b->err));
    EDDY_EMIT(b, eddy_plan_run(plan, NULL, &feed, found, b->err));
    if (b->status == EDDY_OK) {
        const int32_t *cells = eddy_tensor_data(found[1]);

        printf("generation %d\n", *(const int32_t *)eddy_tensor_data(found[0]));
        for (int i = 0; i < SIZE * SIZE; i++)
            printf("%s%c%s", i % SIZE ? " " : "  ", ".#"[cells[i]],
                   i % SIZE == SIZE - 1 ? "\n" : "");
    }
    eddy_tensor_release(found[0]);
    eddy_tensor_release(found[1]);
    eddy_tensor_release(feed);
}

int main(void)
{
    eddy_error err = EDDY_ERROR_INIT;
    eddy_emitter b = eddy_emitter_of(NULL, &err);
    eddy_output limit, v[2];
    const eddy_plan_options options = {.size = sizeof options,
                                       .feeds = &limit,
                                       .n_feeds = 1,
                                       .fetches = v,
                                       .n_fetches = 2};
    eddy_context *ctx = NULL;
    eddy_plan *plan = NULL;

    b.status = eddy_context_create(NULL, &ctx, &err);
    EDDY_EMIT(&b, eddy_graph_create(ctx, &b.graph, &err));
    build(&b, &limit, v);
    EDDY_EMIT(&b, eddy_plan_create(b.graph, &options, &plan, &err));
    play(&b, ctx, plan, 0);
    play(&b, ctx, plan, 10);
    play(&b, ctx, plan, 1000);
    if (b.status != EDDY_OK)
        (void)fprintf(stderr, "%s: %s\n", err.node, err.message);
    eddy_plan_release(plan);
    eddy_graph_destroy(b.graph);
    eddy_context_release(ctx);
    return b.status != EDDY_OK;
}
