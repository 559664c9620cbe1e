/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs on several ranks of one process: what a partition is made of, and that
 * all ranks together do what one does.
 */
#include "eddy/ranks.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* i from 0 to n; x = x * c + i, all that is needed by name; by that test. */
#define LOOP_WITH(test)                                                        \
    "n ?int32\nx float32=1\nc float32=0.5\nzero int32=0\n"                     \
    "i/e Enter@w zero\ni/m Merge i/e i/n\nn/e Enter@w! n\n"                    \
    "one int32=1\none/e Enter@w! one\nc/e Enter@w! c\n" test                   \
    "cond LoopCond less\n"                                                     \
    "i/s Switch i/m cond\ni/b AddV2 i/s:1 one/e\ni/n NextIteration i/b\n"      \
    "i/x Exit i/s\n"                                                           \
    "x/e Enter@w x\nx/m Merge x/e x/n\nx/s Switch x/m cond\n"                  \
    "p Mul x/s:1 c/e\nf Cast i/s:1 DstT=float32\n"                             \
    "x/b AddV2 p f\nx/n NextIteration x/b\nx/x Exit x/s\n"

#define LOOP LOOP_WITH("less Less i/m n/e\n")
/* It does not show that it counts. */
#define UNCOUNTED                                                              \
    LOOP_WITH("g Cast i/m DstT=float32\nh Cast n/e DstT=float32\n"             \
              "less Less g h\n")

typedef struct cut_graph {
    eddy_partition *partition;
    eddy_ranks *ranks;
    eddy_output feeds[4], fetches[4];
    size_t n_feeds, n_fetches;
} cut_graph;

/* Outputs by name, parted by spaces. */
static size_t read_outputs(const program *p, const char *names,
                           eddy_output *out)
{
    char text[128];
    size_t n = 0;
    char *save = NULL;

    snprintf(text, sizeof text, "%s", names);
    for (char *name = strtok_r(text, " ", &save); name;
         name = strtok_r(NULL, " ", &save))
        out[n++] = program_output(p, name);
    return n;
}

/* Where nodes are, and what is asked of the parts; feeds and fetches by name.
 */
typedef struct split {
    uint32_t n_ranks;
    const eddy_place *places;
    size_t n_places;
    const char *feeds, *fetches;
    bool is_literal;
} split;

static eddy_status try_cut(program *p, cut_graph *c, const split *how)
{
    *c = (cut_graph){.partition = NULL};
    c->n_feeds = read_outputs(p, how->feeds, c->feeds);
    c->n_fetches = read_outputs(p, how->fetches, c->fetches);
    return eddy_partition_create(
        p->graph,
        &(eddy_partition_options){.size = sizeof(eddy_partition_options),
                                  .n_ranks = how->n_ranks,
                                  .places = how->places,
                                  .n_places = how->n_places,
                                  .feeds = c->feeds,
                                  .n_feeds = c->n_feeds,
                                  .fetches = c->fetches,
                                  .n_fetches = c->n_fetches,
                                  .is_literal = how->is_literal},
        &c->partition, &p->err);
}

static void cut(program *p, cut_graph *c, const split *how)
{
    ck_assert_msg(try_cut(p, c, how) == EDDY_OK, "%s", p->err.message);
}

static void make_ranks(program *p, cut_graph *c, uint64_t seed,
                       uint64_t timeout_ns)
{
    const eddy_run_options run = {.size = sizeof run, .timeout_ns = timeout_ns};
    const eddy_ranks_options how = {
        .size = sizeof how, .run = &run, .seed = seed};

    ck_assert_msg(eddy_ranks_create(c->partition, &how, &c->ranks, &p->err) ==
                      EDDY_OK,
                  "%s", p->err.message);
}

static void drop(cut_graph *c)
{
    eddy_ranks_destroy(c->ranks);
    eddy_partition_destroy(c->partition);
}

static eddy_tensor *int_tensor(const program *p, int32_t value)
{
    eddy_tensor *tensor = NULL;

    ck_assert_int_eq(eddy_tensor_create(p->ctx, EDDY_INT32,
                                        &(eddy_shape){.rank = 0}, &tensor,
                                        NULL),
                     EDDY_OK);
    memcpy(eddy_tensor_mutable_data(tensor), &value, sizeof value);
    return tensor;
}

/* Runs the ranks with one int32 feed. */
static eddy_status run_ranks(program *p, cut_graph *c, int32_t n,
                             eddy_tensor **out)
{
    eddy_tensor *feed = int_tensor(p, n);
    const eddy_status status = eddy_ranks_run(c->ranks, &feed, out, &p->err);

    eddy_tensor_release(feed);
    return status;
}

static int count_ops(const eddy_graph *graph, const char *op)
{
    int n = 0;

    for (eddy_node v = 0; v < eddy_graph_size(graph); v++)
        n += strcmp(eddy_graph_node_op(graph, v), op) == 0;
    return n;
}

static float loop_value(int32_t n)
{
    float x = 1;

    for (int32_t i = 0; i < n; i++)
        x = x * 0.5f + (float)i;
    return x;
}

/* ---- what a partition is made of ---- */

static const eddy_place on_1[] = {{"x/", 1}, {"p", 1}, {"f", 1}};

START_TEST(test_loop_is_cut_as_tensorflow_does)
{
    cut_graph c;
    program p;
    eddy_partition_counts n;

    program_init(&p, 0);
    program_build(&p, UNCOUNTED);
    cut(&p, &c, &(split){2, on_1, 3, "n", "i/x x/x"});
    /* Rank 0 has the predicate and counts; rank 1 receives both. */
    n = eddy_partition_count(c.partition, 0);
    ck_assert_uint_eq(n.n_sends, 2);
    ck_assert_uint_eq(n.n_recvs, 0);
    ck_assert_uint_eq(n.n_control_loops, 0);
    n = eddy_partition_count(c.partition, 1);
    ck_assert_uint_eq(n.n_sends, 0);
    ck_assert_uint_eq(n.n_recvs, 2);
    ck_assert_uint_eq(n.n_control_loops, 1);
    ck_assert_int_eq(count_ops(eddy_partition_graph(c.partition, 1), "Enter"),
                     3); /* x, c, and the control loop's */
    ck_assert_int_eq(count_ops(eddy_partition_graph(c.partition, 0), "Enter"),
                     3);
    ck_assert_ptr_null(eddy_partition_graph(c.partition, 2));
    drop(&c);
    program_deinit(&p);
}
END_TEST

START_TEST(test_literal_sends_invariants)
{
    cut_graph c;
    program p;

    program_init(&p, 0);
    program_build(&p, LOOP);
    ck_assert_int_eq(try_cut(&p, &c, &(split){2, on_1, 2, "", "x/x", true}),
                     EDDY_OK);
    /* The predicate, f, c's Enter stays with p; x itself in the root. */
    ck_assert_uint_eq(eddy_partition_count(c.partition, 1).n_recvs, 4);
    drop(&c);
    program_deinit(&p);
}
END_TEST

/* Each rank counts for itself: what it counts to is sent, once. */
START_TEST(test_predicate_of_counted_loop_is_not_sent)
{
    cut_graph c;
    program p;
    eddy_partition_counts n;

    program_init(&p, 0);
    program_build(&p, LOOP);
    cut(&p, &c, &(split){2, on_1, 3, "n", "i/x x/x"});
    n = eddy_partition_count(c.partition, 0);
    ck_assert_uint_eq(n.n_sends, 1);
    n = eddy_partition_count(c.partition, 1);
    ck_assert_uint_eq(n.n_recvs, 1);
    ck_assert_uint_eq(n.n_control_loops, 0);
    ck_assert_int_eq(
        count_ops(eddy_partition_graph(c.partition, 1), "LoopCond"), 1);
    drop(&c);
    program_deinit(&p);
}
END_TEST

START_TEST(test_places_and_devices)
{
    const eddy_place places[] = {{"", 1}, {"i/", 0}};
    const eddy_place beyond[] = {{"", 2}};
    cut_graph c;
    program p;
    uint32_t rank = 9;
    eddy_output at;

    program_init(&p, 0);
    program_build(&p, LOOP);
    cut(&p, &c, &(split){2, places, 2, "n", "i/x x/x"});
    eddy_partition_fetch(c.partition, 0, &rank);
    ck_assert_uint_eq(rank, 0);
    eddy_partition_fetch(c.partition, 1, &rank);
    ck_assert_uint_eq(rank, 1);
    ck_assert(eddy_partition_feed(c.partition, 0, &rank, &at));
    ck_assert_uint_eq(rank, 1);
    ck_assert(!eddy_partition_feed(c.partition, 1, &rank, &at));
    drop(&c);
    ck_assert_int_eq(try_cut(&p, &c, &(split){2, beyond, 1, "n", "i/x"}),
                     EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(p.err.detail, EDDY_E_PLACE);
    program_deinit(&p);
}
END_TEST

START_TEST(test_refuses_what_cannot_be_cut)
{
    /* Without a LoopCond; and what runs in the first iteration alone. */
    static const struct {
        const char *text, *fetch, *on_1;
        eddy_detail detail;
    } cases[] = {
        {"a float32=1\nt ?bool\nte Enter@w! t\ne Enter@w a\nm Merge e n\n"
         "s Switch m te\nb Neg s:1\nn NextIteration b\nx Exit s\n",
         "x", "b", EDDY_E_LOOP_CONDS},
        {LOOP "o Enter@w x\nq Neg o\nr AddV2 q q\nz Exit r\n", "z", "r",
         EDDY_E_PLACE},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const eddy_place place = {cases[i].on_1, 1};
        cut_graph c;
        program p;

        program_init(&p, 0);
        program_build(&p, cases[i].text);
        ck_assert_int_eq(
            try_cut(&p, &c, &(split){2, &place, 1, "", cases[i].fetch}),
            EDDY_INVALID_ARGUMENT);
        ck_assert_msg(p.err.detail == cases[i].detail, "%zu: %s", i,
                      p.err.message);
        ck_assert_ptr_null(c.partition);
        program_deinit(&p);
    }
}
END_TEST

/* ---- runs ---- */

/*
 * Of a loop of n trips: each predicate that is sent makes n + 1 messages, each
 * value of the body n, since both ranks know that it is dead in the end, and
 * what the loop is entered with one.
 */
START_TEST(test_loop_over_two_ranks)
{
    static const eddy_place f_on_1[] = {{"f", 1}};
    static const struct {
        const char *text;
        const eddy_place *places;
        size_t n_places;
        uint64_t n_predicates, n_body, n_entered;
    } kinds[] = {
        /* i goes there; nothing does; i goes there and f back; f back. */
        {UNCOUNTED, on_1, 3, 1, 1, 0},
        {LOOP, on_1, 3, 0, 0, 1},
        {UNCOUNTED, f_on_1, 1, 1, 2, 0},
        {LOOP, f_on_1, 1, 0, 1, 1},
    };
    const size_t k = (size_t)_i % 4;
    cut_graph c;
    program p;

    program_init(&p, 0);
    program_build(&p, kinds[k].text);
    cut(&p, &c,
        &(split){2, kinds[k].places, kinds[k].n_places, "n", "i/x x/x"});
    make_ranks(&p, &c, (uint64_t)_i / 4, 0);
    for (int32_t n = 0; n < 40; n += 13) {
        eddy_tensor *out[2] = {NULL};
        float x;
        int32_t i;
        uint64_t left = 1;

        ck_assert_msg(run_ranks(&p, &c, n, out) == EDDY_OK, "%s",
                      p.err.message);
        memcpy(&i, eddy_tensor_data(out[0]), sizeof i);
        memcpy(&x, eddy_tensor_data(out[1]), sizeof x);
        ck_assert_int_eq(i, n);
        ck_assert(x == loop_value(n));
        ck_assert_uint_eq(eddy_ranks_messages(c.ranks, &left),
                          kinds[k].n_predicates * ((uint64_t)n + 1) +
                              kinds[k].n_body * (uint64_t)n +
                              kinds[k].n_entered);
        ck_assert_uint_eq(left, 0);
        eddy_tensor_release(out[0]);
        eddy_tensor_release(out[1]);
    }
    ck_assert_uint_gt(eddy_run_stats(eddy_ranks_at(c.ranks, 1)).dead_executions,
                      0);
    ck_assert_ptr_null(eddy_ranks_at(c.ranks, 2));
    drop(&c);
    program_deinit(&p);
}
END_TEST

/*
 * A branch in a loop, whose other rank either has its predicate, or is sent it
 * for a Switch of its own, or can count, or does not know it.  What goes there
 * is sent when the branch is taken, and so is what comes back, to a rank that
 * has the predicate anyway.
 */
#define BRANCH_END "y/n NextIteration bm\ny/x Exit y/s\n"

START_TEST(test_branch_in_a_loop)
{
    static const char branch[] =
        "y/e Enter@w x\ny/m Merge y/e y/n\ny/s Switch y/m cond\n"
        "two int32=2\ntwo/e Enter@w! two\n"
        "q Mod i/s:1 two/e\ne Equal q one/e\n"
        "bs Switch y/s:1 e\nbn Neg bs:1\n";
    static const char plain[] = "bm Merge bs bn\n" BRANCH_END;
    static const char own[] =
        "z float32=0\nz/e Enter@w! z\nbz Switch z/e e\nbd AddV2 bn bz:1\n"
        "bm Merge bs bd\n" BRANCH_END;
    static const eddy_place one_way[] = {{"bn", 1}};
    static const eddy_place with_own[] = {
        {"bn", 1}, {"bd", 1}, {"bz", 1}, {"z/", 1}};
    static const struct {
        const char *text, *more;
        size_t n_places;
        const eddy_place *places;
        /* Messages: in each iteration, in each trip, by the branch; others. */
        uint64_t n_iterations, n_trips, n_taken, n_entered;
    } kinds[] = {
        /* The loop's predicate, and what goes there; what comes back. */
        {UNCOUNTED, plain, 1, one_way, 2, 0, 1, 0},
        /* n, and both. */
        {LOOP, plain, 1, one_way, 0, 0, 2, 1},
        /* Both predicates; what goes there and back. */
        {UNCOUNTED, own, 4, with_own, 1, 1, 2, 0},
        {LOOP, own, 4, with_own, 0, 0, 2, 1},
    };
    const size_t k = (size_t)_i % 4;
    char text[2048];
    cut_graph c;
    program p;

    program_init(&p, 0);
    snprintf(text, sizeof text, "%s%s%s", kinds[k].text, branch, kinds[k].more);
    program_build(&p, text);
    cut(&p, &c,
        &(split){2, kinds[k].places, kinds[k].n_places, "n", "y/x i/x"});
    make_ranks(&p, &c, (uint64_t)_i / 4, UINT64_C(20000000000));
    for (int32_t n = 0; n < 8; n++) {
        const uint64_t trips = (uint64_t)n, taken = trips / 2;
        eddy_tensor *out[2] = {NULL};
        uint64_t left = 1;

        ck_assert_msg(run_ranks(&p, &c, n, out) == EDDY_OK, "%s",
                      p.err.message);
        ck_assert(*(const float *)eddy_tensor_data(out[0]) ==
                  (taken % 2 == 0 ? 1 : -1));
        ck_assert_uint_eq(eddy_ranks_messages(c.ranks, &left),
                          kinds[k].n_iterations * (trips + 1) +
                              kinds[k].n_trips * trips +
                              kinds[k].n_taken * taken + kinds[k].n_entered);
        ck_assert_uint_eq(left, 0);
        eddy_tensor_release(out[0]);
        eddy_tensor_release(out[1]);
    }
    drop(&c);
    program_deinit(&p);
}
END_TEST

/*
 * A loop in a loop: what only its body makes is sent once a trip, and in the
 * last iteration of the outer loop, in which the inner one is dead, not at all.
 */
START_TEST(test_inner_loop_sends_what_its_trips_make)
{
    const eddy_place places[] = {{"z", 1}};
    cut_graph c;
    program p;

    program_init(&p, 0);
    program_build(&p, LOOP);
    program_build(&p,
                  "y/e Enter@w x\ny/m Merge y/e y/n\ny/s Switch y/m cond\n"
                  "j0 Sub i/s:1 i/s:1\nk/e Enter@v! i/s:1\n"
                  "ov/e Enter@v! one/e\nj/e Enter@v j0\nj/m Merge j/e j/n\n"
                  "jl Less j/m k/e\njc LoopCond jl\nj/s Switch j/m jc\n"
                  "j/b AddV2 j/s:1 ov/e\nj/n NextIteration j/b\n"
                  "u/e Enter@v y/s:1\nu/m Merge u/e u/n\nu/s Switch u/m jc\n"
                  "z Neg u/s:1\nu/n NextIteration z\nu/x Exit u/s\n"
                  "y/n NextIteration u/x\ny/x Exit y/s\n");
    cut(&p, &c, &(split){2, places, 1, "n", "y/x i/x"});
    make_ranks(&p, &c, 3, UINT64_C(20000000000));
    for (int32_t n = 0; n < 6; n++) {
        const uint64_t trips = (uint64_t)(n * (n - 1) / 2);
        eddy_tensor *out[2] = {NULL};
        uint64_t left = 1;

        ck_assert_msg(run_ranks(&p, &c, n, out) == EDDY_OK, "%s",
                      p.err.message);
        ck_assert(*(const float *)eddy_tensor_data(out[0]) ==
                  (trips % 2 ? -1 : 1));
        /* To z and back; where j begins, each time; n, once. */
        ck_assert_uint_eq(eddy_ranks_messages(c.ranks, &left),
                          2 * trips + (uint64_t)n + 1);
        ck_assert_uint_eq(left, 0);
        eddy_tensor_release(out[0]);
        eddy_tensor_release(out[1]);
    }
    drop(&c);
    program_deinit(&p);
}
END_TEST

/*
 * A loop in a branch, of which a node is elsewhere.  What only the body makes
 * is sent once a trip, and not where the branch is not taken; nor is the
 * predicate of the loop then, to a rank that has that of the branch for its own
 * Switch.
 */
START_TEST(test_loop_in_a_branch)
{
    static const char text[] =
        "n ?int32\nx float32=1\nzero int32=0\none int32=1\nw float32=8\n"
        "t Greater n zero\nsn Switch n t\nsx Switch x t\nsz Switch zero t\n"
        "i/e Enter@w sz:1\ni/m Merge i/e i/n\nn/e Enter@w! sn:1\n"
        "g Cast i/m DstT=float32\nh Cast n/e DstT=float32\nless Less g h\n"
        "cond LoopCond less\ni/s Switch i/m cond\none/e Enter@w! one\n"
        "i/b AddV2 i/s:1 one/e\ni/n NextIteration i/b\n"
        "y/e Enter@w sx:1\ny/m Merge y/e y/n\ny/s Switch y/m cond\n"
        "f Neg y/s:1\ny/n NextIteration f\ny/x Exit y/s\n"
        "y Merge sx y/x\nq Switch w t\nr Neg q\n";
    const eddy_place places[] = {
        {"f", 1}, {"q", 1}, {"r", 1}, {"v", 1}, {"w", 1}};

    for (int k = 0; k < 2; k++) {
        cut_graph c;
        program p;

        program_init(&p, 0);
        program_build(&p, text);
        /* r dies where the branch is taken, so it is its Merge that is asked.
         */
        program_build(&p, "v Merge r q:1\n");
        cut(&p, &c, &(split){2, places, k == 0 ? 1 : 5, "n", k ? "y v" : "y"});
        make_ranks(&p, &c, 3, UINT64_C(20000000000));
        for (int32_t n = -1; n < 5; n++) {
            const uint64_t trips = n > 0 ? (uint64_t)n : 0;
            eddy_tensor *out[2] = {NULL};
            uint64_t left = 1;

            ck_assert_msg(run_ranks(&p, &c, n, out) == EDDY_OK, "%s",
                          p.err.message);
            ck_assert(*(const float *)eddy_tensor_data(out[0]) ==
                      (trips % 2 ? -1 : 1));
            /* There and back; cond, of the last iteration, too; t. */
            ck_assert_uint_eq(eddy_ranks_messages(c.ranks, &left),
                              3 * trips + (k == 0 || n > 0 ? 1 : 0) +
                                  (k == 0 ? 0 : 1));
            ck_assert_uint_eq(left, 0);
            eddy_tensor_release(out[0]);
            eddy_tensor_release(out[1]);
        }
        drop(&c);
        program_deinit(&p);
    }
}
END_TEST

/*
 * The same in the body of a loop: in the last iteration of the outer loop, and
 * in those in which the branch is not taken, nothing is sent for the inner one.
 */
START_TEST(test_loop_in_a_branch_of_a_loop)
{
    /* Where i is odd, y is negated i times; the inner predicate is sent. */
    static const char inner[] =
        "y/e Enter@w x\ny/m Merge y/e y/n\ny/s Switch y/m cond\n"
        "two int32=2\ntwo/e Enter@w! two\n"
        "q Mod i/s:1 two/e\ne Equal q one/e\n"
        "bs Switch y/s:1 e\nbi Switch i/s:1 e\nbo Switch one/e e\n"
        "bz Sub bo:1 bo:1\n"
        "j/e Enter@v bz\nj/m Merge j/e j/n\nk/e Enter@v! bi:1\n"
        "o/e Enter@v! bo:1\njg Cast j/m DstT=float32\n"
        "kg Cast k/e DstT=float32\njl Less jg kg\njc LoopCond jl\n"
        "j/s Switch j/m jc\nj/b AddV2 j/s:1 o/e\nj/n NextIteration j/b\n"
        "u/e Enter@v bs:1\nu/m Merge u/e u/n\nu/s Switch u/m jc\n"
        "z Neg u/s:1\nu/n NextIteration z\nu/x Exit u/s\n"
        "bm Merge bs u/x\ny/n NextIteration bm\ny/x Exit y/s\n";
    const eddy_place places[] = {{"z", 1}};
    cut_graph c;
    program p;

    program_init(&p, 0);
    program_build(&p, LOOP);
    program_build(&p, inner);
    cut(&p, &c, &(split){2, places, 1, "n", "y/x i/x"});
    make_ranks(&p, &c, 3, UINT64_C(20000000000));
    for (int32_t n = 0; n < 8; n++) {
        const uint64_t taken = (uint64_t)n / 2, trips = taken * taken;
        eddy_tensor *out[2] = {NULL};
        uint64_t left = 1;

        ck_assert_msg(run_ranks(&p, &c, n, out) == EDDY_OK, "%s",
                      p.err.message);
        ck_assert(*(const float *)eddy_tensor_data(out[0]) ==
                  (trips % 2 ? -1 : 1));
        /* Each trip there and back; the predicate, once more; n. */
        ck_assert_uint_eq(eddy_ranks_messages(c.ranks, &left),
                          3 * trips + taken + 1);
        ck_assert_uint_eq(left, 0);
        eddy_tensor_release(out[0]);
        eddy_tensor_release(out[1]);
    }
    drop(&c);
    program_deinit(&p);
}
END_TEST

/* A branch of three sides, one in three trips each, with one side elsewhere. */
START_TEST(test_sides_by_an_index)
{
    static const char branch[] =
        "y/e Enter@w x\ny/m Merge y/e y/n\ny/s Switch y/m cond\n"
        "three int32=3\nthree/e Enter@w! three\nq Mod i/s:1 three/e\n"
        "bs _SwitchN y/s:1 q num_outs=3\nbn Neg bs:1\nbd Add bs:2 bs:2\n"
        "bm Merge bs bn bd\ny/n NextIteration bm\ny/x Exit y/s\n";
    const eddy_place places[] = {{"bn", 1}};

    for (int k = 0; k < 2; k++) {
        cut_graph c;
        program p;

        program_init(&p, 0);
        program_build(&p, k == 0 ? LOOP : UNCOUNTED);
        program_build(&p, branch);
        cut(&p, &c, &(split){2, places, 1, "n", "y/x i/x"});
        make_ranks(&p, &c, 3, UINT64_C(20000000000));
        for (int32_t n = 0; n < 9; n++) {
            const uint64_t trips = (uint64_t)n, taken = (trips + 1) / 3;
            eddy_tensor *out[2] = {NULL};
            uint64_t left = 1;

            ck_assert_msg(run_ranks(&p, &c, n, out) == EDDY_OK, "%s",
                          p.err.message);
            ck_assert(*(const float *)eddy_tensor_data(out[0]) ==
                      (float)(1 << n / 3) * (taken % 2 ? -1 : 1));
            /* There and back and n; or cond and there, always, and back. */
            ck_assert_uint_eq(eddy_ranks_messages(c.ranks, &left),
                              taken + (k == 0 ? taken + 1 : 2 * trips + 2));
            ck_assert_uint_eq(left, 0);
            eddy_tensor_release(out[0]);
            eddy_tensor_release(out[1]);
        }
        drop(&c);
        program_deinit(&p);
    }
}
END_TEST

/*
 * What reads invariants alone, on a rank that nothing else would begin
 * iterations on: it runs and is sent in each of them.
 */
START_TEST(test_rank_with_invariants_alone)
{
    static const char *const texts[] = {LOOP, UNCOUNTED};
    const eddy_place on_one[] = {{"k", 1}};

    for (size_t t = 0; t < 2; t++)
        for (int32_t n = 0; n < 5; n += 2) {
            eddy_tensor *out[2] = {NULL};
            uint64_t left = 1;
            cut_graph c;
            program p;

            program_init(&p, 0);
            program_build(&p, texts[t]);
            program_build(&p, "k Neg c/e\ny/e Enter@w x\ny/m Merge y/e y/n\n"
                              "y/s Switch y/m cond\ny/b Add y/s:1 k\n"
                              "y/n NextIteration y/b\ny/x Exit y/s\n");
            cut(&p, &c, &(split){2, on_one, 1, "n", "y/x i/x"});
            ck_assert_uint_eq(
                eddy_partition_count(c.partition, 1).n_control_loops, 1);
            make_ranks(&p, &c, 1, UINT64_C(20000000000));
            ck_assert_msg(run_ranks(&p, &c, n, out) == EDDY_OK, "%s",
                          p.err.message);
            ck_assert(*(const float *)eddy_tensor_data(out[0]) ==
                      1 - 0.5f * (float)n);
            (void)eddy_ranks_messages(c.ranks, &left);
            ck_assert_uint_eq(left, 0);
            eddy_tensor_release(out[0]);
            eddy_tensor_release(out[1]);
            drop(&c);
            program_deinit(&p);
        }
}
END_TEST

/*
 * To the letter an invariant is sent in each iteration, also by a rank that has
 * nothing else of the loop: d/e is where d/i is wished, which then follows its
 * reader.
 */
START_TEST(test_literal_rank_with_an_enter_alone)
{
    static const float want[] = {1, -0.5f, -0.5f};
    static const char text[] =
        LOOP "d/e Enter@w! c\nd/i Enter@v! d/e\n"
             "y/e Enter@w x\ny/m Merge y/e y/n\ny/s Switch y/m cond\n"
             "y/t Identity y/s:1\nq float32=1 ^y/t\n"
             "a/e Enter@v y/t\na/m Merge a/e a/n\na/l Less a/m d/i\n"
             "a/c LoopCond a/l\na/s Switch a/m a/c\na/b Add a/s:1 d/i\n"
             "a/n NextIteration a/b\na/x Exit a/s\n"
             "y/b Sub a/x q\ny/n NextIteration y/b\ny/x Exit y/s\n";
    const eddy_place on_one[] = {{"d/i", 1}};

    for (int32_t n = 0; n < 5; n += 2) {
        eddy_tensor *out[2] = {NULL};
        uint64_t left = 1;
        cut_graph c;
        program p;

        program_init(&p, 0);
        program_build(&p, text);
        ck_assert_int_eq(
            try_cut(&p, &c, &(split){2, on_one, 1, "n", "y/x i/x", true}),
            EDDY_OK);
        ck_assert_uint_eq(eddy_partition_count(c.partition, 1).n_control_loops,
                          1);
        make_ranks(&p, &c, 1, UINT64_C(20000000000));
        ck_assert_msg(run_ranks(&p, &c, n, out) == EDDY_OK, "%s",
                      p.err.message);
        ck_assert(*(const float *)eddy_tensor_data(out[0]) == want[n / 2]);
        (void)eddy_ranks_messages(c.ranks, &left);
        ck_assert_uint_eq(left, 0);
        eddy_tensor_release(out[0]);
        eddy_tensor_release(out[1]);
        drop(&c);
        program_deinit(&p);
    }
}
END_TEST

/*
 * The handle of a TensorArrayV2 is a text like any other: all that it comes to,
 * by way of an Identity or around a loop, stays with the array.
 */
START_TEST(test_text_handles_stay_together)
{
    static const char text[] =
        "n int32=3\nta TensorArrayV2 n dtype=float32\n"
        "h Identity ta\nzero int32=0\none int32=1\nx float32=2.5\n"
        "flow float32=0\n"
        "i/e Enter@w zero\ni/m Merge i/e i/n\nn/e Enter@w! n\n"
        "one/e Enter@w! one\nx/e Enter@w! x\n"
        "less Less i/m n/e\ncond LoopCond less\ni/s Switch i/m cond\n"
        "i/b AddV2 i/s:1 one/e\ni/n NextIteration i/b\n"
        "h/e Enter@w h\nh/m Merge h/e h/n\nh/s Switch h/m cond\n"
        "h/b Identity h/s:1\nh/n NextIteration h/b\n"
        "f/e Enter@w flow\nf/m Merge f/e f/n\nf/s Switch f/m cond\n"
        "wr TensorArrayWriteV2 h/b i/s:1 x/e f/s:1\nf/n NextIteration wr\n"
        "f/x Exit f/s\nr TensorArrayReadV2 h one f/x dtype=float32\n";
    const eddy_place places[] = {{"wr", 1}, {"h/", 2}, {"r", 1}, {"h", 0}};

    for (uint64_t seed = 0; seed < 3; seed++) {
        eddy_tensor *out = NULL;
        uint32_t rank = 9;
        cut_graph c;
        program p;

        program_init(&p, 0);
        program_build(&p, text);
        cut(&p, &c, &(split){3, places, 4, "", "r"});
        (void)eddy_partition_fetch(c.partition, 0, &rank);
        ck_assert_uint_eq(rank, 0);
        make_ranks(&p, &c, seed, UINT64_C(20000000000));
        ck_assert_msg(eddy_ranks_run(c.ranks, NULL, &out, &p.err) == EDDY_OK,
                      "%s", p.err.message);
        ck_assert(*(const float *)eddy_tensor_data(out) == 2.5f);
        eddy_tensor_release(out);
        drop(&c);
        program_deinit(&p);
    }
}
END_TEST

/* A node on each side of a branch, and the loop within one of them. */
START_TEST(test_branch_that_is_not_taken)
{
    static const char text[] =
        "t ?bool\na float32=3\ns Switch a t\nu Neg s\nv Exp s:1\n"
        "w Sqrt v\nm Merge u w\n";
    const eddy_place places[] = {{"v", 1}, {"w", 2}, {"m", 2}};

    for (int taken = 0; taken < 2; taken++) {
        eddy_tensor *feed = NULL, *out = NULL;
        const bool t = taken == 1;
        cut_graph c;
        program p;

        program_init(&p, 0);
        program_build(&p, text);
        cut(&p, &c, &(split){3, places, 3, "t", "m:1"});
        make_ranks(&p, &c, 5, 0);
        ck_assert_int_eq(eddy_tensor_create(p.ctx, EDDY_BOOL,
                                            &(eddy_shape){.rank = 0}, &feed,
                                            NULL),
                         EDDY_OK);
        memcpy(eddy_tensor_mutable_data(feed), &t, sizeof t);
        ck_assert_int_eq(eddy_ranks_run(c.ranks, &feed, &out, &p.err), EDDY_OK);
        ck_assert_int_eq(*(const int32_t *)eddy_tensor_data(out), taken);
        eddy_tensor_release(out);
        eddy_tensor_release(feed);
        drop(&c);
        program_deinit(&p);
    }
}
END_TEST

/* What a fed placeholder waits for, elsewhere, is not sent: nobody waits. */
START_TEST(test_fed_placeholder_that_waits)
{
    static const eddy_place places[] = {{"n", 1}, {"y", 1}};
    eddy_tensor *out = NULL;
    uint64_t left = 1;
    cut_graph c;
    program p;

    program_init(&p, 0);
    program_build(&p, "a int32=1\nb Neg a\nn ?int32 ^b\ny Neg n\n"
                      "z Sub b y\n");
    cut(&p, &c, &(split){2, places, 2, "n", "z"});
    make_ranks(&p, &c, 3, 0);
    ck_assert_msg(run_ranks(&p, &c, 7, &out) == EDDY_OK, "%s", p.err.message);
    ck_assert_int_eq(*(const int32_t *)eddy_tensor_data(out), 6);
    ck_assert_uint_eq(eddy_ranks_messages(c.ranks, &left), 1);
    ck_assert_uint_eq(left, 0);
    eddy_tensor_release(out);
    drop(&c);
    program_deinit(&p);
}
END_TEST

/* ---- what goes wrong ---- */

START_TEST(test_error_names_its_rank)
{
    static const eddy_place places[] = {{"d", 1}, {"y", 2}};
    eddy_tensor *out = NULL;
    cut_graph c;
    program p;

    program_init(&p, 0);
    program_build(&p, "n ?int32\none int32=1\nd FloorDiv one n\ny Neg d\n");
    cut(&p, &c, &(split){3, places, 2, "n", "y"});
    make_ranks(&p, &c, 3, 0);
    ck_assert_int_eq(run_ranks(&p, &c, 0, &out), EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(p.err.detail, EDDY_E_DIVISION_BY_ZERO);
    ck_assert_str_eq(p.err.node, "d");
    ck_assert_msg(strncmp(p.err.message, "rank 1: ", 8) == 0, "%s",
                  p.err.message);
    ck_assert_ptr_null(out);
    /* And again, as if nothing had been. */
    ck_assert_int_eq(run_ranks(&p, &c, 1, &out), EDDY_OK);
    ck_assert_int_eq(*(const int32_t *)eddy_tensor_data(out), -1);
    eddy_tensor_release(out);
    drop(&c);
    program_deinit(&p);
}
END_TEST

/* A loop that does not end, on both ranks. */
#define ENDLESS                                                                \
    "n ?int32\nt bool=1\nt/e Enter@w! t\ni/e Enter@w n\n"                      \
    "i/m Merge i/e i/n\ncond LoopCond t/e\ni/s Switch i/m cond\n"              \
    "b Neg i/s:1\ni/n NextIteration b\ni/x Exit i/s\n"

static void cancel(void *arg)
{
    struct timespec wait = {.tv_nsec = 20000000L};

    nanosleep(&wait, NULL);
    eddy_ranks_cancel(arg);
}

static void *cancel_soon(void *arg)
{
    cancel(arg);
    return NULL;
}

START_TEST(test_cancel_ends_all_ranks)
{
    const eddy_place place = {"b", 1};
    eddy_tensor *out = NULL;
    pthread_t thread;
    cut_graph c;
    program p;

    program_init(&p, 0);
    program_build(&p, ENDLESS);
    cut(&p, &c, &(split){2, &place, 1, "n", "i/x"});
    make_ranks(&p, &c, 0, 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, cancel_soon, c.ranks), 0);
    ck_assert_int_eq(run_ranks(&p, &c, 1, &out), EDDY_CANCELLED);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_ptr_null(out);
    drop(&c);
    program_deinit(&p);
}
END_TEST

START_TEST(test_deadline_ends_all_ranks)
{
    const eddy_place place = {"b", 1};
    eddy_tensor *out = NULL;
    cut_graph c;
    program p;

    program_init(&p, 0);
    program_build(&p, ENDLESS);
    cut(&p, &c, &(split){2, &place, 1, "n", "i/x"});
    make_ranks(&p, &c, 9, UINT64_C(30) * 1000 * 1000);
    ck_assert_int_eq(run_ranks(&p, &c, 1, &out), EDDY_DEADLINE_EXCEEDED);
    ck_assert_ptr_null(out);
    drop(&c);
    program_deinit(&p);
}
END_TEST

/* A part that runs alone says what it lacks. */
START_TEST(test_part_alone_is_refused)
{
    cut_graph c;
    program p;
    eddy_plan *plan = NULL;
    size_t n_targets;

    program_init(&p, 0);
    program_build(&p, LOOP);
    cut(&p, &c, &(split){2, on_1, 3, "n", "x/x"});
    ck_assert_ptr_nonnull(eddy_partition_targets(c.partition, 0, &n_targets));
    ck_assert_uint_eq(n_targets, 1);
    ck_assert_int_eq(
        eddy_plan_create(eddy_partition_graph(c.partition, 1),
                         &(eddy_plan_options){
                             .size = sizeof(eddy_plan_options),
                             .fetches = (eddy_output[]){eddy_partition_fetch(
                                 c.partition, 0, &(uint32_t){0})},
                             .n_fetches = 1},
                         &plan, &p.err),
        EDDY_OK);
    ck_assert_int_eq(
        eddy_plan_run(plan, NULL, NULL, &(eddy_tensor *){NULL}, &p.err),
        EDDY_FAILED_PRECONDITION);
    ck_assert_int_eq(p.err.detail, EDDY_E_MESSAGE);
    eddy_plan_release(plan);
    drop(&c);
    program_deinit(&p);
}
END_TEST

/* Every allocation of cutting and planning fails once. */
START_TEST(test_no_memory)
{
    bool ok = false;

    for (long long k = 0; !ok; k++) {
        cut_graph c = {.partition = NULL};
        program p;

        program_init(&p, 0);
        program_build(&p, LOOP);
        counting_allocator_fail(&p.counting, k);
        ok = try_cut(&p, &c, &(split){2, on_1, 3, "n", "i/x x/x"}) == EDDY_OK &&
             eddy_ranks_create(c.partition, NULL, &c.ranks, &p.err) == EDDY_OK;
        counting_allocator_fail(&p.counting, -1);
        if (!ok)
            ck_assert_int_eq(p.err.detail, EDDY_E_MEMORY);
        drop(&c);
        program_deinit(&p);
    }
}
END_TEST

TCase *ranks_tests(void)
{
    TCase *tc = tcase_create("ranks");

    tcase_add_test(tc, test_loop_is_cut_as_tensorflow_does);
    tcase_add_test(tc, test_literal_sends_invariants);
    tcase_add_test(tc, test_places_and_devices);
    tcase_add_test(tc, test_refuses_what_cannot_be_cut);
    tcase_add_test(tc, test_predicate_of_counted_loop_is_not_sent);
    tcase_add_loop_test(tc, test_loop_over_two_ranks, 0, 32);
    tcase_add_loop_test(tc, test_branch_in_a_loop, 0, 8);
    tcase_add_test(tc, test_inner_loop_sends_what_its_trips_make);
    tcase_add_test(tc, test_rank_with_invariants_alone);
    tcase_add_test(tc, test_literal_rank_with_an_enter_alone);
    tcase_add_test(tc, test_text_handles_stay_together);
    tcase_add_test(tc, test_branch_that_is_not_taken);
    tcase_add_test(tc, test_sides_by_an_index);
    tcase_add_test(tc, test_loop_in_a_branch);
    tcase_add_test(tc, test_loop_in_a_branch_of_a_loop);
    tcase_add_test(tc, test_fed_placeholder_that_waits);
    tcase_add_test(tc, test_error_names_its_rank);
    tcase_add_test(tc, test_cancel_ends_all_ranks);
    tcase_add_test(tc, test_deadline_ends_all_ranks);
    tcase_add_test(tc, test_part_alone_is_refused);
    tcase_add_test(tc, test_no_memory);
    return tc;
}
