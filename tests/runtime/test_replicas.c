/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replicated graphs: a copy on each rank, joined by collectives, against what a
 * loop in C over the ranks gives.
 */
#include "eddy/ranks.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

/* The rank's number, and that as a float. */
#define RANK "rank HorovodRank\nr Cast rank DstT=float32\n"

/* Makes the copies; NULL where they are refused. */
static eddy_partition *replicate_output(program *p, uint32_t n_ranks,
                                        const char *feed, eddy_output fetched)
{
    const eddy_output fed =
        feed ? program_output(p, feed) : (eddy_output){.node = EDDY_NO_NODE};
    eddy_partition *partition = NULL;

    (void)!eddy_partition_create(
        p->graph,
        &(eddy_partition_options){.size = sizeof(eddy_partition_options),
                                  .n_ranks = n_ranks,
                                  .feeds = &fed,
                                  .n_feeds = feed != NULL,
                                  .fetches = &fetched,
                                  .n_fetches = 1,
                                  .is_replicated = true},
        &partition, &p->err);
    return partition;
}

static eddy_partition *replicate(program *p, uint32_t n_ranks, const char *feed,
                                 const char *fetch)
{
    return replicate_output(p, n_ranks, feed, program_output(p, fetch));
}

/* Runs them with an order of messages; the one fetch, the caller's. */
static eddy_tensor *run(program *p, const eddy_partition *partition,
                        uint64_t seed, eddy_tensor *feed)
{
    const eddy_ranks_options how = {.size = sizeof how, .seed = seed};
    eddy_tensor *out = NULL;
    eddy_ranks *ranks = NULL;
    uint64_t left = 1;

    ck_assert_msg(eddy_ranks_create(partition, &how, &ranks, &p->err) ==
                      EDDY_OK,
                  "%s", p->err.message);
    ck_assert_msg(eddy_ranks_run(ranks, &feed, &out, &p->err) == EDDY_OK, "%s",
                  p->err.message);
    eddy_ranks_messages(ranks, &left);
    ck_assert_uint_eq(left, 0);
    eddy_ranks_destroy(ranks);
    return out;
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

static void want_floats(const eddy_tensor *tensor, const float *values,
                        int64_t n)
{
    const float *given = eddy_tensor_data(tensor);

    ck_assert_int_eq(eddy_tensor_count(tensor), n);
    for (int64_t i = 0; i < n; i++)
        ck_assert_float_eq(given[i], values[i]);
}

/* The floats that `text` gives for `fetch` on so many ranks. */
static void want(const char *text, const char *fetch, uint32_t n_ranks,
                 int32_t fed, const float *values, int64_t n)
{
    eddy_partition *partition;
    eddy_tensor *feed, *out;
    program p;

    program_init(&p, 0);
    program_build(&p, text);
    partition =
        replicate(&p, n_ranks, strstr(text, "n ?int32") ? "n" : NULL, fetch);
    ck_assert_msg(partition != NULL, "%s", p.err.message);
    for (uint64_t seed = 0; seed < 4; seed++) {
        feed = int_tensor(&p, fed);
        out = run(&p, partition, seed, feed);
        want_floats(out, values, n);
        eddy_tensor_release(out);
        eddy_tensor_release(feed);
    }
    eddy_partition_destroy(partition);
    program_deinit(&p);
}

#define WANT(text, fetch, n_ranks, fed, ...)                                   \
    want(text, fetch, n_ranks, fed, (const float[]){__VA_ARGS__},              \
         (int64_t)(sizeof((const float[]){__VA_ARGS__}) / sizeof(float)))

/* ---- what they give ---- */

START_TEST(test_each_reduction_is_that_of_all_ranks)
{
    static const struct {
        int op;
        float wanted;
    } rows[] = {{0, 3}, {1, 9}, {3, 2}, {4, 4}, {5, 24}};

    /* 2, 3 and 4. */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256];

        snprintf(text, sizeof text,
                 RANK "two float32=2\nx AddV2 r two\n"
                      "y HorovodAllreduce x reduce_op=%d\n",
                 rows[i].op);
        WANT(text, "y", 3, 0, rows[i].wanted);
    }
}
END_TEST

START_TEST(test_factors_come_before_and_after)
{
    WANT(RANK "y HorovodAllreduce r reduce_op=1 prescale_factor=0.5 "
              "postscale_factor=10.0\n",
         "y", 4, 0, 30);
}
END_TEST

START_TEST(test_rows_are_in_the_order_of_ranks)
{
    WANT(RANK "one int32=1\nk AddV2 rank one\nd Pack k\nx Fill d r\n"
              "y HorovodAllgather x\n",
         "y", 3, 0, 0, 1, 1, 2, 2, 2);
}
END_TEST

START_TEST(test_the_root_gives_its_value_to_all)
{
    WANT(RANK "b HorovodBroadcast r root_rank=2\n"
              "y HorovodAllreduce b\n",
         "y", 3, 0, 6);
}
END_TEST

START_TEST(test_tensorflows_collectives_are_known)
{
    WANT(RANK "two int32=2\nkey int32=7\n"
              "y CollectiveReduceV2 r two key key merge_op='Add' "
              "final_op='Div'\n",
         "y", 2, 0, 0.5F);
    WANT(RANK "two int32=2\nkey int32=7\nx Pack r r\n"
              "y CollectiveGatherV2 x two key key\n",
         "y", 2, 0, 0, 0, 1, 1);
}
END_TEST

/* All have rows of their own; what comes of them is gathered again. */
START_TEST(test_each_rank_gets_its_part)
{
    WANT(RANK "n int32=3\nkey int32=7\nten float32=10\nb Mul r ten\n"
              "v float32[3]=1,2,3\nx AddV2 v b\n"
              "a CollectiveAllToAllV2 x n key key\n"
              "y HorovodAllgather a\n",
         "y", 3, 0, 1, 11, 21, 2, 12, 22, 3, 13, 23);
    WANT(RANK "n int32=3\nkey int32=7\nten float32=10\nb Mul r ten\n"
              "v float32[3]=1,2,3\nx AddV2 v b\n"
              "a CollectiveReduceScatterV2 x n key key merge_op='Add' "
              "final_op='Id'\ny HorovodAllgather a\n",
         "y", 3, 0, 33, 36, 39);
}
END_TEST

/* Rank 0 sends; each other one is on the side of the branch that receives. */
START_TEST(test_a_broadcast_may_have_two_ends)
{
    WANT(RANK "zero int32=0\nthree int32=3\nkey int32=7\nd int32[1]=2\n"
              "k float32=5\nx AddV2 r k\np Pack x x\nc Greater rank zero\n"
              "s Switch p c\nt Switch d c\n"
              "sends CollectiveBcastSendV2 s:0 three key key\n"
              "gets CollectiveBcastRecvV2 three key key t:1 T=float32\n"
              "y Merge sends gets\nz HorovodAllgather y\n",
         "z", 3, 0, 5, 5, 5, 5, 5, 5);
    WANT(RANK "k float32=5\nx AddV2 r k\n"
              "sends CollectiveBcastSend x group_size=2 group_key=1 "
              "instance_key=2 shape=()\n"
              "gets CollectiveBcastRecv ^sends T=float32 group_size=2 "
              "group_key=1 instance_key=2 shape=()\n"
              "z HorovodAllreduce gets\n",
         "z", 2, 0, 10);
}
END_TEST

START_TEST(test_every_rank_knows_how_many_there_are)
{
    WANT("size HorovodSize\ny Cast size DstT=float32\n", "y", 5, 0, 5);
}
END_TEST

/* i from 0 to n: x = x / 2 + the sum over ranks of (x * r + i). */
#define LOOP                                                                   \
    RANK "n ?int32\nstart float32=1\nhalf float32=0.5\nzero int32=0\n"         \
         "one int32=1\n"                                                       \
         "i/e Enter@w zero\ni/m Merge i/e i/n\nn/e Enter@w! n\n"               \
         "one/e Enter@w! one\nh/e Enter@w! half\nr/e Enter@w! r\n"             \
         "less Less i/m n/e\ncond LoopCond less\n"                             \
         "i/s Switch i/m cond\ni/b AddV2 i/s:1 one/e\n"                        \
         "i/n NextIteration i/b\nx/e Enter@w start\nx/m Merge x/e x/n\n"       \
         "x/s Switch x/m cond\nf Cast i/s:1 DstT=float32\n"                    \
         "p Mul x/s:1 r/e\nq AddV2 p f\nsum HorovodAllreduce q\n"              \
         "d Mul x/s:1 h/e\nx/b AddV2 d sum\nx/n NextIteration x/b\n"           \
         "x/x Exit x/s\n"

static float loop_value(int32_t trips, int n_ranks)
{
    float x = 1;

    for (int32_t i = 0; i < trips; i++) {
        float sum = (float)i;

        for (int r = 1; r < n_ranks; r++)
            sum += x * (float)r + (float)i;
        x = x * 0.5F + sum;
    }
    return x;
}

START_TEST(test_a_loop_meets_in_every_iteration)
{
    for (int32_t n = 0; n < 6; n += 5)
        for (uint32_t ranks = 1; ranks < 4; ranks++)
            WANT(LOOP, "x/x", ranks, n, loop_value(n, (int)ranks));
}
END_TEST

/* The sum in the side that n chooses. */
#define BRANCH                                                                 \
    RANK "n ?int32\nzero int32=0\nc Greater n zero\ns Switch r c\n"            \
         "sum HorovodAllreduce s:1\nno Neg s:0\ny Merge no sum\n"

START_TEST(test_a_branch_that_all_take_or_none_may_meet)
{
    WANT(BRANCH, "y", 3, 1, 3);
    WANT(BRANCH, "y", 3, 0, -0.0F);
}
END_TEST

/* Messages when `fed` is fed, which goes to each other rank. */
static uint64_t count_messages(const char *text, const char *fetch,
                               uint32_t n_ranks, int32_t fed)
{
    eddy_partition *partition;
    eddy_tensor *feed, *out = NULL;
    eddy_ranks *ranks = NULL;
    uint64_t n, left = 1;
    program p;

    program_init(&p, 0);
    program_build(&p, text);
    partition = replicate(&p, n_ranks, "n", fetch);
    ck_assert_msg(partition != NULL, "%s", p.err.message);
    ck_assert_int_eq(eddy_ranks_create(partition, NULL, &ranks, &p.err),
                     EDDY_OK);
    feed = int_tensor(&p, fed);
    ck_assert_int_eq(eddy_ranks_run(ranks, &feed, &out, &p.err), EDDY_OK);
    n = eddy_ranks_messages(ranks, &left);
    ck_assert_uint_eq(left, 0);
    eddy_tensor_release(feed);
    eddy_tensor_release(out);
    eddy_ranks_destroy(ranks);
    eddy_partition_destroy(partition);
    program_deinit(&p);
    return n;
}

/* All know the predicates, so nothing is sent of a sum that does not run. */
START_TEST(test_a_sum_that_does_not_run_sends_nothing)
{
    ck_assert_uint_eq(count_messages(BRANCH, "y", 3, 1), 2 + 4);
    ck_assert_uint_eq(count_messages(BRANCH, "y", 3, 0), 2);
    for (int32_t n = 0; n < 4; n++)
        ck_assert_uint_eq(count_messages(LOOP, "x/x", 3, n),
                          2 + 4 * (uint64_t)n);
}
END_TEST

START_TEST(test_one_rank_by_itself_meets_nobody)
{
    program p;

    program_init(&p, 0);
    program_build(&p, RANK "one float32=1\nx AddV2 r one\n"
                           "y HorovodAllreduce x\n"
                           "two int32=2\nz CollectiveReduceV2 x two two two "
                           "merge_op='Add' final_op='Id'\n");
    program_plan(&p, NULL, "y");
    program_run(&p);
    ck_assert_float_eq(program_fetch_float(&p, 0), 1);
    program_plan(&p, NULL, "z");
    program_make_run(&p);
    ck_assert_int_eq(program_execute(&p), EDDY_FAILED_PRECONDITION);
    ck_assert_str_eq(p.err.node, "z");
    program_deinit(&p);
}
END_TEST

/* ---- gradients ---- */

/* Of y by x, which the graph has as nodes, so many times. */
static eddy_output differentiate(program *p, const char *y, const char *x,
                                 int order)
{
    const eddy_gradient_options options = {.size = sizeof options};
    const eddy_output by = program_output(p, x);
    eddy_output of = program_output(p, y);

    for (int i = 0; i < order; i++) {
        eddy_output gradient;

        ck_assert_msg(eddy_gradients(p->graph, &of, 1, &by, 1, &options,
                                     &gradient, &p->err) == EDDY_OK,
                      "%s", p->err.message);
        of = gradient;
    }
    return of;
}

/* On rank 0 of so many. */
static void want_gradient(const char *text, uint32_t n_ranks, int order,
                          const float *values, int64_t n)
{
    eddy_output gradient;
    eddy_partition *partition;
    eddy_tensor *out;
    program p;

    program_init(&p, 0);
    program_build(&p, text);
    gradient = differentiate(&p, "y", "x", order);
    partition = replicate_output(&p, n_ranks, NULL, gradient);
    ck_assert_msg(partition != NULL, "%s", p.err.message);
    out = run(&p, partition, 1, NULL);
    want_floats(out, values, n);
    eddy_tensor_release(out);
    eddy_partition_destroy(partition);
    program_deinit(&p);
}

#define WANT_GRADIENT(text, n_ranks, order, ...)                               \
    want_gradient(                                                             \
        text, n_ranks, order, (const float[]){__VA_ARGS__},                    \
        (int64_t)(sizeof((const float[]){__VA_ARGS__}) / sizeof(float)))

/* s = x + 2 x; each rank's loss is s^3, so the sum of both is 54 x^3. */
#define CUBE                                                                   \
    RANK "x float32=2\none float32=1\nk AddV2 r one\np Mul x k\n"              \
         "s HorovodAllreduce p\ns2 Mul s s\ny Mul s2 s\n"

START_TEST(test_the_gradient_of_a_sum_is_the_sum_of_gradients)
{
    /* 6 s^2 by p; by x of rank 0 that times 1.  Then the same once more. */
    WANT_GRADIENT(CUBE, 2, 1, 216);
}
END_TEST

START_TEST(test_gradients_of_gradients_meet_again)
{
    /* 2 * 3 s^2, of both ranks' x: by s 12 s, of two losses, s by p 1. */
    WANT_GRADIENT(CUBE, 2, 2, 216);
}
END_TEST

START_TEST(test_tensorflows_sums_and_means_have_gradients)
{
    static const char text[] =
        RANK "x float32=2\none float32=1\nk AddV2 r one\np Mul x k\n"
             "two int32=2\nkey int32=7\n"
             "s CollectiveReduceV2 p two key key merge_op='Add' "
             "final_op='%s'\ns2 Mul s s\ny Mul s2 s\n";
    char sum[512], mean[512];

    snprintf(sum, sizeof sum, text, "Id");
    snprintf(mean, sizeof mean, text, "Div");
    WANT_GRADIENT(sum, 2, 1, 216);
    WANT_GRADIENT(sum, 2, 2, 216);
    WANT_GRADIENT(mean, 2, 1, 27);
}
END_TEST

START_TEST(test_gathered_rows_have_their_own_gradients)
{
    WANT_GRADIENT(RANK "x float32[2]=1,2\nw float32[4]=1,10,100,1000\n"
                       "g HorovodAllgather x\np Mul g w\n"
                       "axis int32=0\ny Sum p axis\n",
                  2, 1, 2, 20);
    WANT_GRADIENT(RANK "x float32[2]=1,2\nw float32[4]=1,10,100,1000\n"
                       "two int32=2\nkey int32=7\n"
                       "g CollectiveGatherV2 x two key key\np Mul g w\n"
                       "axis int32=0\ny Sum p axis\n",
                  2, 1, 2, 20);
    /* Of the sum of squares, so the second order is that of 4 x. */
    WANT_GRADIENT(RANK "x float32[2]=1,2\n"
                       "g CollectiveGather x group_size=2 group_key=1 "
                       "instance_key=4 shape=[4]\np Mul g g\n"
                       "axis int32=0\ny Sum p axis\n",
                  2, 1, 4, 8);
}
END_TEST

/* Those of rank 1 are the later ones. */
START_TEST(test_rows_of_another_rank_come_behind)
{
    static const char text[] =
        RANK "one int32=1\nl float32[2]=1,2\n"
             "w float32[6]=1,10,100,1000,10000,100000\n"
             "m float32[3,2]=1,2,3,4,5,6\n"
             "n int32=3\nkey int32=7\n"
             "x Identity l\ng CollectiveGatherV2 x n key key\n"
             "p Mul g w\naxis int32=0\ny Sum p axis\n";
    eddy_output gradient;
    eddy_partition *partition;
    eddy_tensor *out;
    program p;

    program_init(&p, 0);
    program_build(&p, text);
    gradient = differentiate(&p, "y", "x", 1);
    /* The gradients of all ranks, as rank 0 gets them. */
    gradient = program_unary(&p, "HorovodAllgather", gradient);
    partition = replicate_output(&p, 3, NULL, gradient);
    ck_assert_msg(partition != NULL, "%s", p.err.message);
    out = run(&p, partition, 1, NULL);
    want_floats(out, (const float[]){3, 30, 300, 3000, 30000, 300000}, 6);
    eddy_tensor_release(out);
    eddy_partition_destroy(partition);
    program_deinit(&p);
}
END_TEST

START_TEST(test_only_the_root_has_a_gradient)
{
    static const char text[] = RANK "x float32=3\nfive float32=5\n"
                                    "b HorovodBroadcast x root_rank=%d\n"
                                    "y Mul b five\n";
    char of_0[256], of_1[256];

    snprintf(of_0, sizeof of_0, text, 0);
    snprintf(of_1, sizeof of_1, text, 1);
    WANT_GRADIENT(of_0, 2, 1, 10);
    WANT_GRADIENT(of_1, 2, 1, 0);
}
END_TEST

#define BROADCAST(of, k)                                                       \
    "two int32=2\nkey int32=7\nd int32[0]=\n"                                  \
    "sends CollectiveBcastSendV2 " of " two key key\n"                         \
    "gets CollectiveBcastRecvV2 two key key d ^sends T=float32\n" k

START_TEST(test_the_sender_has_the_gradients_of_all_who_receive)
{
    /* Of three ranks, with losses (r + 1) times what they receive. */
    WANT_GRADIENT(RANK "x float32=3\none float32=1\nr1 AddV2 r one\n" BROADCAST(
                      "x", "y Mul gets r1\n"),
                  3, 1, 6);
    /* And 5 times what they themselves have, where they send it. */
    WANT_GRADIENT(RANK "x float32=3\none float32=1\nfive float32=5\n"
                       "r1 AddV2 r one\n" BROADCAST(
                           "x", "p Mul gets r1\nq Mul sends five\n"
                                "y AddV2 p q\n"),
                  3, 1, 11);
    /* Cubes: 3 x^2 each, and 6 x by the first rank's x once more. */
    WANT_GRADIENT(RANK "x float32=2\n" BROADCAST(
                      "x", "g2 Mul gets gets\ny Mul g2 gets\n"),
                  2, 1, 24);
    WANT_GRADIENT(RANK "x float32=2\n" BROADCAST(
                      "x", "g2 Mul gets gets\ny Mul g2 gets\n"),
                  2, 2, 24);
}
END_TEST

/* Rank 0 sends on one side, and all others receive on the other. */
START_TEST(test_a_broadcast_of_two_sides_has_a_gradient)
{
    WANT_GRADIENT(RANK
                  "zero int32=0\nthree int32=3\nkey int32=7\nd int32[0]=\n"
                  "x float32=5\nfive float32=5\none float32=1\nr1 AddV2 r one\n"
                  "c Greater rank zero\ns Switch x c\nt Switch d c\n"
                  "sends CollectiveBcastSendV2 s:0 three key key\n"
                  "gets CollectiveBcastRecvV2 three key key t:1 T=float32\n"
                  "m Merge sends gets\ny Mul m r1\n",
                  3, 1, 6);
}
END_TEST

/* Each trip all get twice or thrice what rank 0 has. */
#define TRIPS(meets)                                                           \
    RANK "x float32=1\ntwo float32=2\nk AddV2 r two\nm int32=2\nkey int32=7\n" \
         "d int32[0]=\nk/e Enter@w! k\nm/e Enter@w! m\nd/e Enter@w! d\n"       \
         "key/e Enter@w! key\n" PROGRAM_LOOP(                                  \
             "t Mul v/s:1 k/e\n" meets) "y Identity v/x\n"

START_TEST(test_broadcasts_in_a_loop_have_gradients)
{
    WANT_GRADIENT(TRIPS("v/b HorovodBroadcast t root_rank=0\n"), 2, 1, 16);
    WANT_GRADIENT(TRIPS("v/b HorovodBroadcast t root_rank=1\n"), 2, 1, 0);
    WANT_GRADIENT(TRIPS("b CollectiveBcastSendV2 t m/e key/e key/e\n"
                        "v/b CollectiveBcastRecvV2 m/e key/e key/e d/e ^b "
                        "T=float32\n"),
                  2, 1, 16);
    /* The first rank weighs two of the first five. */
    WANT_GRADIENT(TRIPS("v/b HorovodAllreduce t\n"), 2, 1, 100);
}
END_TEST

/* ---- what is refused ---- */

static void refuse(const char *text, const char *fetch, const char *node,
                   const char *words)
{
    eddy_partition *partition;
    program p;

    program_init(&p, 0);
    program_build(&p, text);
    partition = replicate(&p, 2, strstr(text, "n ?int32") ? "n" : NULL, fetch);
    ck_assert_ptr_null(partition);
    ck_assert_int_eq(p.err.detail, EDDY_E_PLACE);
    ck_assert_str_eq(p.err.node, node);
    ck_assert_msg(strstr(p.err.message, words) != NULL, "%s", p.err.message);
    program_deinit(&p);
}

START_TEST(test_a_collective_that_one_rank_may_miss_is_refused)
{
    refuse(RANK "zero int32=0\nc Greater rank zero\ns Switch r c\n"
                "sum HorovodAllreduce s:1\nno Neg s:0\ny Merge no sum\n",
           "y", "sum", "'c'");
}
END_TEST

START_TEST(test_a_loop_of_different_lengths_is_refused)
{
    refuse(RANK "zero int32=0\none int32=1\n"
                "i/e Enter@w zero\ni/m Merge i/e i/n\nn/e Enter@w! rank\n"
                "one/e Enter@w! one\nless Less i/m n/e\ncond LoopCond less\n"
                "i/s Switch i/m cond\nf Cast i/s:1 DstT=float32\n"
                "sum HorovodAllreduce f\nb Cast sum DstT=int32\n"
                "i/b AddV2 i/s:1 one/e\nboth AddV2 i/b b\n"
                "i/n NextIteration both\ni/x Exit i/s\n",
           "i/x", "sum", "'cond'");
}
END_TEST

START_TEST(test_what_a_collective_gives_may_decide)
{
    /* The greatest rank is the same number everywhere. */
    WANT(RANK "zero float32=0\nmost HorovodAllreduce r reduce_op=4\n"
              "c Greater most zero\ns Switch r c\n"
              "sum HorovodAllreduce s:1\nno Neg s:0\ny Merge no sum\n",
         "y", 3, 0, 3);
}
END_TEST

START_TEST(test_a_state_that_differs_decides_differently)
{
    refuse(RANK "v VarHandleOp dtype=float32 shape=() shared_name='v'\n"
                "set AssignVariableOp v r\n"
                "got ReadVariableOp v ^set dtype=float32\n"
                "zero float32=0\nc Greater got zero\ns Switch r c\n"
                "sum HorovodAllreduce s:1\nno Neg s:0\ny Merge no sum\n",
           "y", "sum", "'c'");
}
END_TEST

/* A part is another on each rank, and a sender has what it had. */
START_TEST(test_what_only_some_collectives_give_may_decide)
{
    refuse("n int32=2\nkey int32=7\nx float32[2]=1,2\nz float32=0\n"
           "a CollectiveAllToAllV2 x n key key\ni int32=0\n"
           "m Sum a i\nc Greater m z\ns Switch z c\n"
           "sum HorovodAllreduce s:1\ny Merge s sum\n",
           "y", "sum", "up to 'c'");
    refuse(RANK "n int32=2\nkey int32=7\nz float32=0\n"
                "a CollectiveBcastSendV2 r n key key\n"
                "c Greater a z\ns Switch z c\n"
                "sum HorovodAllreduce s:1\ny Merge s sum\n",
           "y", "sum", "up to 'c'");
}
END_TEST

START_TEST(test_a_receiver_without_its_sender_is_refused)
{
    static const char gets[] = "y CollectiveBcastRecv T=float32 group_size=2 "
                               "group_key=1 instance_key=2 shape=()\n";
    static const char sends[] = "%s CollectiveBcastSend %s group_size=2 "
                                "group_key=1 instance_key=%d shape=()\n";
    char text[512], one[128], two[128];

    refuse(gets, "y", "y", "no node");
    snprintf(one, sizeof one, sends, "a", "r", 2);
    snprintf(two, sizeof two, sends, "b", "r", 2);
    snprintf(text, sizeof text, RANK "%s%s%sz AddN y a b\n", one, two, gets);
    refuse(text, "z", "y", "two nodes");
    snprintf(one, sizeof one, sends, "a", "rank", 2);
    snprintf(text, sizeof text, RANK "%s%sf Cast a DstT=float32\nz AddN y f\n",
             one, gets);
    refuse(text, "z", "y", "dtype");
}
END_TEST

START_TEST(test_unknown_groups_and_reductions_are_refused)
{
    refuse(RANK "y HorovodAllreduce r reduce_op=2\n", "y", "y", "reduction");
    refuse(RANK "y HorovodAllreduce r process_set_id=3\n", "y", "y", "set");
    refuse(RANK "y HorovodAllreduce rank reduce_op=0\n", "y", "y", "integers");
    refuse(RANK "y HorovodBroadcast r root_rank=2\n", "y", "y", "root");
}
END_TEST

TCase *replicas_tests(void)
{
    TCase *tc = tcase_create("replicas");

    tcase_add_test(tc, test_each_reduction_is_that_of_all_ranks);
    tcase_add_test(tc, test_factors_come_before_and_after);
    tcase_add_test(tc, test_rows_are_in_the_order_of_ranks);
    tcase_add_test(tc, test_the_root_gives_its_value_to_all);
    tcase_add_test(tc, test_tensorflows_collectives_are_known);
    tcase_add_test(tc, test_each_rank_gets_its_part);
    tcase_add_test(tc, test_a_broadcast_may_have_two_ends);
    tcase_add_test(tc, test_every_rank_knows_how_many_there_are);
    tcase_add_test(tc, test_a_loop_meets_in_every_iteration);
    tcase_add_test(tc, test_a_branch_that_all_take_or_none_may_meet);
    tcase_add_test(tc, test_a_sum_that_does_not_run_sends_nothing);
    tcase_add_test(tc, test_one_rank_by_itself_meets_nobody);
    tcase_add_test(tc, test_the_gradient_of_a_sum_is_the_sum_of_gradients);
    tcase_add_test(tc, test_gradients_of_gradients_meet_again);
    tcase_add_test(tc, test_tensorflows_sums_and_means_have_gradients);
    tcase_add_test(tc, test_gathered_rows_have_their_own_gradients);
    tcase_add_test(tc, test_rows_of_another_rank_come_behind);
    tcase_add_test(tc, test_only_the_root_has_a_gradient);
    tcase_add_test(tc, test_the_sender_has_the_gradients_of_all_who_receive);
    tcase_add_test(tc, test_a_broadcast_of_two_sides_has_a_gradient);
    tcase_add_test(tc, test_broadcasts_in_a_loop_have_gradients);
    tcase_add_test(tc, test_a_collective_that_one_rank_may_miss_is_refused);
    tcase_add_test(tc, test_a_loop_of_different_lengths_is_refused);
    tcase_add_test(tc, test_what_a_collective_gives_may_decide);
    tcase_add_test(tc, test_a_state_that_differs_decides_differently);
    tcase_add_test(tc, test_what_only_some_collectives_give_may_decide);
    tcase_add_test(tc, test_a_receiver_without_its_sender_is_refused);
    tcase_add_test(tc, test_unknown_groups_and_reductions_are_refused);
    return tc;
}
