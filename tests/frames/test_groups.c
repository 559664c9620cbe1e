/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives whose members are all in one graph, by TensorFlow's names: in one
 * process and cut over ranks, against the values that TensorFlow 2.21 gives on
 * as many devices.
 */
#include "eddy/ranks.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

/* Tensors, and what V2 collectives of two of them are told: @k a key. */
#define XS "x float32[3]=1,2,3\nw float32[3]=10,20,35\nn int32=2\ng int32=1\n"
#define KEY(k) "k" #k " int32=" #k "\n"
#define REDUCE(name, x, k, merge, final)                                       \
    name " CollectiveReduceV2 " x " n g k" #k " merge_op='" merge              \
         "' final_op='" final "'\n"

/* Every place of the graph's nodes: by the first letter of their names. */
static eddy_tensor *run_cut(program *p, const char *fetch, uint32_t n_ranks,
                            uint64_t seed, eddy_status *out_status)
{
    const eddy_place places[] = {{"x", 0}, {"w", 1}, {"a", 0}, {"b", 1}};
    const eddy_ranks_options how = {.size = sizeof how, .seed = seed};
    const eddy_output fetched = program_output(p, fetch);
    eddy_partition *partition = NULL;
    eddy_ranks *ranks = NULL;
    eddy_tensor *out = NULL;

    *out_status = eddy_partition_create(
        p->graph,
        &(eddy_partition_options){.size = sizeof(eddy_partition_options),
                                  .n_ranks = n_ranks,
                                  .places = places,
                                  .n_places = n_ranks == 1 ? 0 : 4,
                                  .fetches = &fetched,
                                  .n_fetches = 1},
        &partition, &p->err);
    if (*out_status == EDDY_OK)
        *out_status = eddy_ranks_create(partition, &how, &ranks, &p->err);
    if (*out_status == EDDY_OK)
        *out_status = eddy_ranks_run(ranks, NULL, &out, &p->err);
    eddy_ranks_destroy(ranks);
    eddy_partition_destroy(partition);
    return out;
}

static void want_floats(const eddy_tensor *tensor, const float *values,
                        int64_t n)
{
    const float *given = eddy_tensor_data(tensor);

    ck_assert_int_eq(eddy_tensor_count(tensor), n);
    for (int64_t i = 0; i < n; i++)
        ck_assert_float_eq(given[i], values[i]);
}

/* Those floats, in one process and over two ranks. */
static void want(const char *text, const char *fetch, const float *values,
                 int64_t n)
{
    program p;

    program_init(&p, 0);
    program_build(&p, text);
    program_run_fetches(&p, fetch);
    want_floats(eddy_run_fetch(p.run, 0), values, n);
    for (uint64_t seed = 0; seed < 3; seed++) {
        eddy_status status;
        eddy_tensor *out = run_cut(&p, fetch, 2, seed, &status);

        ck_assert_msg(status == EDDY_OK, "%s", p.err.message);
        want_floats(out, values, n);
        eddy_tensor_release(out);
    }
    program_deinit(&p);
}

#define WANT(text, fetch, ...)                                                 \
    want(text, fetch, (const float[]){__VA_ARGS__},                            \
         (int64_t)(sizeof((const float[]){__VA_ARGS__}) / sizeof(float)))

/* The sum of what both members give, so that both are asked for. */
#define BOTH "y AddV2 a b\n"

START_TEST(test_members_get_what_all_come_to)
{
    WANT(XS KEY(1) REDUCE("a", "x", 1, "Add", "Div")
             REDUCE("b", "w", 1, "Add", "Div") BOTH,
         "y", 11, 22, 38);
    WANT(XS KEY(1) REDUCE("a", "x", 1, "Mul", "Id")
             REDUCE("b", "w", 1, "Mul", "Id") BOTH,
         "y", 20, 80, 210);
    WANT(XS "a CollectiveReduce x group_size=2 group_key=1 instance_key=4 "
            "merge_op='Max' final_op='Id' subdiv_offsets={0}\n"
            "b CollectiveReduce w group_size=2 group_key=1 instance_key=4 "
            "merge_op='Max' final_op='Id' subdiv_offsets={0}\n" BOTH,
         "y", 20, 40, 70);
}
END_TEST

START_TEST(test_rows_of_members_are_joined)
{
    WANT(XS KEY(2) "a CollectiveGatherV2 x n g k2\n"
                   "b CollectiveGatherV2 w n g k2\n" BOTH,
         "y", 2, 4, 6, 20, 40, 70);
    WANT(XS "a CollectiveGather x group_size=2 group_key=1 instance_key=2 "
            "shape=[6]\n"
            "b CollectiveGather w group_size=2 group_key=1 instance_key=2 "
            "shape=[6]\n" BOTH,
         "y", 2, 4, 6, 20, 40, 70);
}
END_TEST

/* Tensors of which each member gets a part. */
#define PARTS                                                                  \
    "x float32[2,2]=1,2,3,4\nw float32[2,2]=10,20,30,40\nn int32=2\n"          \
    "g int32=1\n"
#define SCATTER(name, x, k, final)                                             \
    name " CollectiveReduceScatterV2 " x " n g k" #k                           \
         " merge_op='Add' final_op='" final "'\n"

START_TEST(test_members_get_parts)
{
    WANT(PARTS KEY(2) "a CollectiveAllToAllV2 x n g k2\n"
                      "b CollectiveAllToAllV2 w n g k2\n"
                      "i int32=0\ny ConcatV2 a b i\n",
         "y", 1, 2, 10, 20, 3, 4, 30, 40);
    WANT(PARTS KEY(2) SCATTER("a", "x", 2, "Id")
             SCATTER("b", "w", 2, "Id") "i int32=0\ny ConcatV2 a b i\n",
         "y", 11, 22, 33, 44);
    /* Keys are those of each family: the three do not meet. */
    WANT(PARTS KEY(2) SCATTER("a", "x", 2, "Div") SCATTER(
             "b", "w", 2,
             "Div") "c CollectiveAllToAllV2 x n g k2\n"
                    "d CollectiveAllToAllV2 w n g k2\n" REDUCE("e", "x", 2,
                                                               "Add", "Id")
                        REDUCE("f", "w", 2, "Add", "Id") "i int32=0\n"
                                                         "p ConcatV2 a d f i\n"
                                                         "q ConcatV2 b c e i\n"
                                                         "y AddV2 p q\n",
         "y", 22, 33, 4, 6, 40, 60, 22, 44, 66, 88);
}
END_TEST

/* Devices 0 and 2 are a group, and 3 and 1. */
START_TEST(test_a_group_may_be_assigned)
{
    WANT("x float32[3]=1,2,3\nw float32[3]=10,20,35\n"
         "to int32[2,2]=0,2,3,1\nd0 int32=0\nd2 int32=2\nd1 int32=1\n"
         "base int32=100\nk int32=5\n"
         "g CollectiveAssignGroupV2 to d0 base\n"
         "h CollectiveAssignGroupV2 to d2 base\n"
         "o CollectiveAssignGroupV2 to d1 base\n"
         "a CollectiveReduceV2 x g g:1 k merge_op='Add' final_op='Id'\n"
         "b CollectiveReduceV2 w h h:1 k merge_op='Add' final_op='Id'\n"
         "c AddV2 a b\nof Cast o:1 SrcT=int32 DstT=float32\n"
         "y AddV2 c of\n",
         "y", 123, 145, 177);
}
END_TEST

#define RECEIVE(name, k, shape)                                                \
    name " CollectiveBcastRecvV2 n g k" #k " " shape " T=float32\n"
#define SEND(name, x, k) name " CollectiveBcastSendV2 " x " n g k" #k "\n"

START_TEST(test_one_sends_to_the_others)
{
    WANT(XS KEY(3) "d int32[1]=3\n" SEND("b", "w", 3) RECEIVE("a", 3, "d") BOTH,
         "y", 20, 40, 70);
    WANT(XS "b CollectiveBcastSend w group_size=2 group_key=1 instance_key=3 "
            "shape=[3]\n"
            "a CollectiveBcastRecv T=float32 group_size=2 group_key=1 "
            "instance_key=3 shape=[3]\n" BOTH,
         "y", 20, 40, 70);
}
END_TEST

/* A group that asks for what another gave. */
START_TEST(test_groups_follow_each_other)
{
    WANT(XS KEY(1) KEY(2) REDUCE("a", "x", 1, "Add", "Id")
             REDUCE("b", "w", 1, "Add", "Id") REDUCE("a2", "a", 2, "Add", "Id")
                 REDUCE("b2", "x", 2, "Add", "Id") "z AddV2 b b2\n"
                                                   "y AddV2 a2 z\n",
         "y", 35, 70, 120);
}
END_TEST

/* v = the sum of v and 2 v, three times; keys come from outside of the loop. */
START_TEST(test_members_meet_in_every_iteration)
{
    program p;

    program_init(&p, 0);
    program_build(&p, "x float64=1\ng int32=1\nm int32=2\n"
                      "g/e Enter@w! g\nm/e Enter@w! m\n" PROGRAM_LOOP(
                          "d AddV2 v/s:1 v/s:1\n"
                          "v/b CollectiveReduceV2 v/s:1 m/e g/e g/e "
                          "merge_op='Add' final_op='Id'\n"
                          "b CollectiveReduceV2 d m/e g/e g/e "
                          "merge_op='Add' final_op='Id'\n"
                          "q/e Enter@w x\nq/m Merge q/e q/n\n"
                          "q/s Switch q/m c\nq/n NextIteration b\n"
                          "q/x Exit q/s\n"));
    program_run_fetches(&p, "v/x q/x");
    for (size_t i = 0; i < 2; i++)
        ck_assert(*(const double *)eddy_tensor_data(eddy_run_fetch(p.run, i)) ==
                  27);
    program_deinit(&p);
}
END_TEST

/* ---- gradients ---- */

/* Fetches the gradients of y by x and by w. */
static void run_gradients(program *p, const char *text)
{
    const eddy_gradient_options options = {.size = sizeof options};
    eddy_output loss, by[2], gradients[2];

    program_init(p, 0);
    program_build(p, text);
    loss = program_output(p, "y");
    by[0] = program_output(p, "x");
    by[1] = program_output(p, "w");
    ck_assert_msg(eddy_gradients(p->graph, &loss, 1, by, 2, &options, gradients,
                                 &p->err) == EDDY_OK,
                  "%s", p->err.message);
    program_plan_outputs(p, gradients, 2);
    program_run(p);
}

/* Losses 2 a and 3 b, of which each takes part in the sum. */
static void want_gradient(const char *text, double wanted)
{
    program p;

    run_gradients(&p, text);
    for (size_t i = 0; i < 2; i++)
        program_want_fetch(&p, i, PROGRAM_DIMS(3),
                           PROGRAM_NUMBERS(wanted, wanted, wanted));
    program_deinit(&p);
}

#define LOSSES                                                                 \
    "two float32=2\nthree float32=3\na3 Mul a two\nb3 Mul b three\n"           \
    "y AddV2 a3 b3\n"

START_TEST(test_gradients_of_a_group_are_a_group)
{
    want_gradient(XS KEY(1) REDUCE("a", "x", 1, "Add", "Id")
                      REDUCE("b", "w", 1, "Add", "Id") LOSSES,
                  5);
    want_gradient(XS KEY(1) REDUCE("a", "x", 1, "Add", "Div")
                      REDUCE("b", "w", 1, "Add", "Div") LOSSES,
                  2.5);
    want_gradient(XS "a CollectiveReduce x group_size=2 group_key=1 "
                     "instance_key=4 merge_op='Add' final_op='Id' "
                     "subdiv_offsets={0}\n"
                     "b CollectiveReduce w group_size=2 group_key=1 "
                     "instance_key=4 merge_op='Add' final_op='Id' "
                     "subdiv_offsets={0}\n" LOSSES,
                  5);
}
END_TEST

/* Rows have weights 1 to 6, in both losses; w has one row more or less. */
static void want_rows(const char *text, size_t n_w)
{
    static const double weights[] = {2, 4, 6, 8, 10, 12};
    program p;

    run_gradients(&p, text);
    for (size_t i = 0; i < 2; i++) {
        const eddy_tensor *given = eddy_run_fetch(p.run, i);
        const size_t n = i == 0 ? 6 - n_w : n_w;

        ck_assert_int_eq(eddy_tensor_count(given), (int64_t)n);
        for (size_t k = 0; k < n; k++)
            ck_assert_float_eq(((const float *)eddy_tensor_data(given))[k],
                               (float)weights[i == 0 ? k : 6 - n_w + k]);
    }
    program_deinit(&p);
}

#define ROWS_LOSS "ws float32[6]=1,2,3,4,5,6\nl AddV2 a b\ny Mul l ws\n"

START_TEST(test_gathered_rows_have_the_gradients_of_their_member)
{
    want_rows(XS KEY(2) "a CollectiveGatherV2 x n g k2\n"
                        "b CollectiveGatherV2 w n g k2\n" ROWS_LOSS,
              3);
    want_rows("x float32[2]=1,2\nw float32[4]=10,20,35,50\n"
              "a CollectiveGather x group_size=2 group_key=1 instance_key=2 "
              "shape=[6]\n"
              "b CollectiveGather w group_size=2 group_key=1 instance_key=2 "
              "shape=[6]\n" ROWS_LOSS,
              4);
}
END_TEST

/* The gradient of y by w alone, or the tangent of y: three floats. */
static void want_of_broadcast(const char *text, bool is_forward, double wanted)
{
    const eddy_gradient_options options = {.size = sizeof options};
    eddy_output y, w, out;
    eddy_status status;
    program p;

    program_init(&p, 0);
    program_build(&p, text);
    y = program_output(&p, "y");
    w = program_output(&p, "w");
    status =
        is_forward
            ? eddy_jvp(p.graph, &y, 1, &w, 1, NULL, &options, &out, &p.err)
            : eddy_gradients(p.graph, &y, 1, &w, 1, &options, &out, &p.err);
    ck_assert_msg(status == EDDY_OK, "%s", p.err.message);
    program_plan_outputs(&p, &out, 1);
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(3),
                       PROGRAM_NUMBERS(wanted, wanted, wanted));
    program_deinit(&p);
}

/* The sender's 3 and the receiver's 2; then a receiver that sends it on. */
static void want_of_broadcasts(bool is_forward)
{
    want_of_broadcast(XS KEY(3) "d int32[1]=3\n" SEND("b", "w", 3)
                          RECEIVE("a", 3, "d") LOSSES,
                      is_forward, 5);
    want_of_broadcast(
        XS "b CollectiveBcastSend w group_size=2 group_key=1 instance_key=3 "
           "shape=[3]\n"
           "a CollectiveBcastRecv T=float32 group_size=2 group_key=1 "
           "instance_key=3 shape=[3]\n" LOSSES,
        is_forward, 5);
    /* Twice 3 w + 2, the receivers before their senders. */
    want_of_broadcast(
        XS KEY(3) KEY(4) "d int32[1]=3\nthree float32=3\n" RECEIVE("a", 4, "d")
            RECEIVE("f", 3, "d") "e Mul f three\n" SEND("b", "w", 3)
                SEND("h", "e", 4) "s Sub b w\n"
                                  "q AddV2 a h\n"
                                  "y AddV2 q s\n",
        is_forward, 6);
}

/* Twice what x's member gets, and thrice what w's gets: each row its own. */
static void want_part_gradients(const char *op, double first, double second,
                                double of_w)
{
    char text[512];
    program p;

    snprintf(text, sizeof text,
             PARTS KEY(2) "a %s x n g k2%s\nb %s w n g k2%s\n" LOSSES, op,
             strstr(op, "Scatter") ? " merge_op='Add' final_op='Div'" : "", op,
             strstr(op, "Scatter") ? " merge_op='Add' final_op='Div'" : "");
    run_gradients(&p, text);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2, 2),
                       PROGRAM_NUMBERS(first, first, second, second));
    program_want_fetch(&p, 1, PROGRAM_DIMS(2, 2),
                       PROGRAM_NUMBERS(first, first, of_w, of_w));
    program_deinit(&p);
}

START_TEST(test_parts_have_gradients)
{
    want_part_gradients("CollectiveAllToAllV2", 2, 3, 3);
    want_part_gradients("CollectiveReduceScatterV2", 1, 1.5, 1.5);
}
END_TEST

START_TEST(test_what_is_received_has_a_gradient)
{
    want_of_broadcasts(false);
}
END_TEST

START_TEST(test_what_is_received_has_a_tangent)
{
    want_of_broadcasts(true);
}
END_TEST

/* v = what is sent, twice v, three times. */
START_TEST(test_a_broadcast_in_a_loop_has_a_gradient)
{
    const eddy_gradient_options options = {.size = sizeof options};

    for (int is_forward = 0; is_forward < 2; is_forward++) {
        eddy_output y, x, out;
        eddy_status status;
        program p;

        program_init(&p, 0);
        program_build(&p, "x float64=1\ng int32=1\nm int32=2\nd int32[0]=\n"
                          "g/e Enter@w! g\nm/e Enter@w! m\n"
                          "d/e Enter@w! d\n" PROGRAM_LOOP(
                              "t AddV2 v/s:1 v/s:1\n"
                              "b CollectiveBcastSendV2 t m/e g/e g/e\n"
                              "v/b CollectiveBcastRecvV2 m/e g/e g/e d/e ^b "
                              "T=float64\n"));
        y = program_output(&p, "v/x");
        x = program_output(&p, "x");
        status =
            is_forward
                ? eddy_jvp(p.graph, &y, 1, &x, 1, NULL, &options, &out, &p.err)
                : eddy_gradients(p.graph, &y, 1, &x, 1, &options, &out, &p.err);
        ck_assert_msg(status == EDDY_OK, "%s", p.err.message);
        program_plan_outputs(&p, &out, 1);
        program_run(&p);
        ck_assert(*(const double *)eddy_tensor_data(eddy_run_fetch(p.run, 0)) ==
                  8);
        program_deinit(&p);
    }
}
END_TEST

/* In reverse and in forward mode. */
static void want_no_gradient(const char *text, const char *node,
                             const char *words)
{
    const eddy_gradient_options options = {.size = sizeof options};

    for (int is_forward = 0; is_forward < 2; is_forward++) {
        eddy_output y, x, out;
        eddy_status status;
        program p;

        program_init(&p, 0);
        program_build(&p, text);
        y = program_output(&p, "y");
        x = program_output(&p, "x");
        status =
            is_forward
                ? eddy_jvp(p.graph, &y, 1, &x, 1, NULL, &options, &out, &p.err)
                : eddy_gradients(p.graph, &y, 1, &x, 1, &options, &out, &p.err);
        ck_assert_int_eq(status, EDDY_UNIMPLEMENTED);
        ck_assert_str_eq(p.err.node, node);
        ck_assert_msg(strstr(p.err.message, words) != NULL, "%s",
                      p.err.message);
        program_deinit(&p);
    }
}

START_TEST(test_what_another_loop_sends_has_no_gradient)
{
    want_no_gradient(
        "x float64=1\ng int32=1\nm int32=2\nd int32[0]=\n"
        "sends CollectiveBcastSendV2 x m g g\n"
        "g/e Enter@w! g\nm/e Enter@w! m\nd/e Enter@w! d\n" PROGRAM_LOOP(
            "gets CollectiveBcastRecvV2 m/e g/e g/e d/e "
            "T=float64\nv/b AddV2 gets v/s:1\n") "y Identity v/x\n",
        "gets", "another loop");
}
END_TEST

START_TEST(test_no_memory_for_the_gradient_of_a_broadcast)
{
    const eddy_gradient_options options = {.size = sizeof options};
    bool ok = false;

    for (long long k = 0; !ok; k++) {
        eddy_output y, w, out;
        program p;

        program_init(&p, 0);
        program_build(&p, XS KEY(3) "d int32[1]=3\n" SEND("b", "w", 3)
                              RECEIVE("a", 3, "d") LOSSES);
        y = program_output(&p, "y");
        w = program_output(&p, "w");
        counting_allocator_fail(&p.counting, k);
        ok = eddy_gradients(p.graph, &y, 1, &w, 1, &options, &out, &p.err) ==
             EDDY_OK;
        counting_allocator_fail(&p.counting, -1);
        if (!ok)
            ck_assert_int_eq(p.err.detail, EDDY_E_MEMORY);
        program_deinit(&p);
    }
}
END_TEST

START_TEST(test_the_greatest_has_no_gradient)
{
    const eddy_gradient_options options = {.size = sizeof options};
    eddy_output loss, by, gradient;
    program p;

    program_init(&p, 0);
    program_build(&p, XS KEY(1) REDUCE("y", "x", 1, "Max", "Id"));
    loss = program_output(&p, "y");
    by = program_output(&p, "x");
    ck_assert_int_eq(
        eddy_gradients(p.graph, &loss, 1, &by, 1, &options, &gradient, &p.err),
        EDDY_UNIMPLEMENTED);
    ck_assert_str_eq(p.err.node, "y");
    program_deinit(&p);
}
END_TEST

/* ---- what is refused ---- */

/* By the plan and by a partition, at that node. */
static void refuse(const char *text, const char *node, const char *words)
{
    eddy_status status;
    program p;

    program_init(&p, 0);
    program_build(&p, text);
    for (int how = 0; how < 2; how++) {
        if (how == 0)
            status = program_try_plan(&p, NULL, "y");
        else
            ck_assert_ptr_null(run_cut(&p, "y", 2, 0, &status));
        ck_assert_int_eq(status, EDDY_INVALID_ARGUMENT);
        ck_assert_int_eq(p.err.detail, EDDY_E_PLACE);
        ck_assert_str_eq(p.err.node, node);
        ck_assert_msg(strstr(p.err.message, words) != NULL, "%s",
                      p.err.message);
    }
    program_deinit(&p);
}

START_TEST(test_members_that_do_not_fit_are_refused)
{
    refuse(XS KEY(1) REDUCE("a", "x", 1, "Add", "Id")
               REDUCE("b", "w", 1, "Max", "Id") BOTH,
           "b", "different ways");
    refuse(XS KEY(1) "m int32=3\n" REDUCE(
               "a", "x", 1, "Add", "Id") "b CollectiveReduceV2 w m g k1 "
                                         "merge_op='Add' final_op='Id'\n" BOTH,
           "b", "group_size");
    refuse(XS KEY(1) REDUCE("a", "x", 1, "Add", "Id")
               REDUCE("b", "w", 1, "Add", "Id")
                   REDUCE("c", "w", 1, "Add", "Id") "s AddV2 a b\n"
                                                    "y AddV2 s c\n",
           "c", "more members");
    refuse(XS KEY(1) REDUCE("a", "x", 1, "Min", "Div")
               REDUCE("b", "w", 1, "Min", "Div") BOTH,
           "a", "reduction");
    refuse(XS KEY(3) SEND("a", "x", 3) SEND("b", "w", 3) BOTH, "a",
           "one sender");
    refuse(
        XS KEY(1) REDUCE(
            "a", "x", 1, "Add",
            "Id") "i int32[3]=1\nb CollectiveReduceV2 i n g k1 merge_op='Add' "
                  "final_op='Id'\nf Cast b DstT=float32\ny AddV2 a f\n",
        "b", "dtypes");
}
END_TEST

/* Members that are asked for without the others, as of a part of a graph. */
static void want_alone(const char *text, const char *node)
{
    program p;

    program_init(&p, 0);
    program_build(&p, text);
    ck_assert_int_eq(program_try_fetches(&p, node), EDDY_FAILED_PRECONDITION);
    ck_assert_str_eq(p.err.node, node);
    program_deinit(&p);
}

START_TEST(test_rows_that_are_not_as_many_as_members_fail)
{
    program p;

    program_init(&p, 0);
    program_build(&p, XS KEY(1) "a CollectiveAllToAllV2 x n g k1\n"
                                "b CollectiveAllToAllV2 w n g k1\n" BOTH);
    ck_assert_int_eq(program_try_fetches(&p, "y"), EDDY_INVALID_ARGUMENT);
    program_deinit(&p);
    program_init(&p, 0);
    program_build(&p, XS KEY(1) SCATTER("a", "x", 1, "Id")
                          SCATTER("b", "w", 1, "Id") BOTH);
    ck_assert_int_eq(program_try_fetches(&p, "y"), EDDY_INVALID_ARGUMENT);
    program_deinit(&p);
    program_init(&p, 0);
    program_build(&p, "to int32[2,2]=0,2,3,1\nd int32=4\n"
                      "y CollectiveAssignGroupV2 to d d\n");
    ck_assert_int_eq(program_try_fetches(&p, "y"), EDDY_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(p.err.message, "device_index 4"));
    program_deinit(&p);
    program_init(&p, 0);
    program_build(&p, "to int32[2]=0,2\nd int32=0\n"
                      "y CollectiveAssignGroupV2 to d d\n");
    ck_assert_int_eq(program_try_fetches(&p, "y"), EDDY_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(p.err.message, "matrix"));
    program_deinit(&p);
}
END_TEST

START_TEST(test_a_member_alone_fails)
{
    want_alone(PARTS KEY(1) "a CollectiveAllToAllV2 x n g k1\n", "a");
    want_alone(PARTS KEY(1) SCATTER("a", "x", 1, "Id"), "a");
    want_alone(XS KEY(1) REDUCE("a", "x", 1, "Add", "Id"), "a");
    want_alone(XS KEY(3) SEND("a", "x", 3), "a");
    want_alone(XS KEY(3) "d int32[1]=3\n" RECEIVE("a", 3, "d"), "a");
    want_alone("a CollectiveBcastRecv T=float32 group_size=2 group_key=1 "
               "instance_key=3 shape=[3]\n",
               "a");
    want_alone(XS "a CollectiveGather x group_size=2 group_key=1 "
                  "instance_key=2 shape=[6]\n",
               "a");
}
END_TEST

START_TEST(test_a_group_of_one_has_its_own)
{
    WANT("x float32[3]=1,2,3\nn int32=1\n"
         "b CollectiveBcastSendV2 x n n n\n"
         "a CollectiveReduce b group_size=1 group_key=1 instance_key=4 "
         "merge_op='Add' final_op='Id' subdiv_offsets={0}\n",
         "a", 1, 2, 3);
}
END_TEST

START_TEST(test_what_is_received_has_its_shape)
{
    program p;

    program_init(&p, 0);
    program_build(&p, XS KEY(3) "d int32[1]=4\n" SEND("b", "w", 3)
                          RECEIVE("a", 3, "d") "s Shape a\n"
                                               "t Shape b\n");
    ck_assert_int_eq(program_try_fetches(&p, "s t"), EDDY_INVALID_ARGUMENT);
    ck_assert_str_eq(p.err.node, "a");
    program_deinit(&p);
}
END_TEST

START_TEST(test_no_memory)
{
    bool ok = false;

    for (long long k = 0; !ok; k++) {
        program p;

        program_init(&p, 0);
        program_build(&p, XS KEY(1) KEY(2) REDUCE("a", "x", 1, "Add", "Div")
                              REDUCE("b", "w", 1, "Add",
                                     "Div") "c CollectiveGatherV2 x n g k2\n"
                                            "e CollectiveGatherV2 w n g k2\n");
        counting_allocator_fail(&p.counting, k);
        ok = program_try_plan(&p, NULL, "a b c e") == EDDY_OK;
        counting_allocator_fail(&p.counting, -1);
        if (!ok)
            ck_assert_int_eq(p.err.detail, EDDY_E_MEMORY);
        program_deinit(&p);
    }
}
END_TEST

TCase *groups_tests(void)
{
    TCase *tc = tcase_create("groups");

    tcase_add_test(tc, test_members_get_what_all_come_to);
    tcase_add_test(tc, test_rows_of_members_are_joined);
    tcase_add_test(tc, test_members_get_parts);
    tcase_add_test(tc, test_a_group_may_be_assigned);
    tcase_add_test(tc, test_one_sends_to_the_others);
    tcase_add_test(tc, test_groups_follow_each_other);
    tcase_add_test(tc, test_members_meet_in_every_iteration);
    tcase_add_test(tc, test_gradients_of_a_group_are_a_group);
    tcase_add_test(tc, test_gathered_rows_have_the_gradients_of_their_member);
    tcase_add_test(tc, test_parts_have_gradients);
    tcase_add_test(tc, test_what_is_received_has_a_gradient);
    tcase_add_test(tc, test_what_is_received_has_a_tangent);
    tcase_add_test(tc, test_a_broadcast_in_a_loop_has_a_gradient);
    tcase_add_test(tc, test_what_another_loop_sends_has_no_gradient);
    tcase_add_test(tc, test_no_memory_for_the_gradient_of_a_broadcast);
    tcase_add_test(tc, test_the_greatest_has_no_gradient);
    tcase_add_test(tc, test_members_that_do_not_fit_are_refused);
    tcase_add_test(tc, test_rows_that_are_not_as_many_as_members_fail);
    tcase_add_test(tc, test_a_member_alone_fails);
    tcase_add_test(tc, test_a_group_of_one_has_its_own);
    tcase_add_test(tc, test_what_is_received_has_its_shape);
    tcase_add_test(tc, test_no_memory);
    return tc;
}
