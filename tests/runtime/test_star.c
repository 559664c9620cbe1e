/* SPDX-License-Identifier: Apache-2.0 */
/* How ranks that an MPI has started call rank 0, without an MPI. */
#include "core/base/thread.h"
#include "runtime/net/socket.h"
#include "runtime/net/star.h"
#include "tests/suites.h"

#include <pthread.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

/* A rank in a thread. */
typedef struct caller {
    eddy__star star;
    pthread_t thread;
    int controls[3];
    eddy_status status;
    eddy_error err;
} caller;

static void *meet(void *arg)
{
    caller *c = arg;

    c->status = eddy__star_meet(&c->star, c->controls, &c->err);
    return NULL;
}

typedef struct meeting {
    eddy__star_address address;
    int listener;
    caller callers[3];
} meeting;

static void set_up(meeting *m, uint64_t wait_ns)
{
    memset(m, 0, sizeof *m);
    ck_assert_int_eq(eddy__star_listen(true, &m->address, &m->listener, NULL),
                     EDDY_OK);
    ck_assert_uint_gt(m->address.port, 0);
    for (uint32_t i = 0; i < 3; i++)
        m->callers[i].star =
            (eddy__star){.address = &m->address,
                         .listener = i == 0 ? m->listener : -1,
                         .rank = i,
                         .n_ranks = 3,
                         .number = 5,
                         .fingerprint = 17,
                         .deadline_ns = eddy__clock_now_ns() + wait_ns};
}

static void start(meeting *m, uint32_t rank)
{
    ck_assert_int_eq(
        pthread_create(&m->callers[rank].thread, NULL, meet, &m->callers[rank]),
        0);
}

static caller *wait_for(meeting *m, uint32_t rank)
{
    ck_assert_int_eq(pthread_join(m->callers[rank].thread, NULL), 0);
    return &m->callers[rank];
}

static void close_all(meeting *m)
{
    for (int i = 0; i < 3; i++)
        eddy__sockets_close(m->callers[i].controls, 3);
    eddy__sockets_close(&m->listener, 1);
}

START_TEST(test_all_meet_twice_at_one_port)
{
    meeting m;

    set_up(&m, 20 * SECOND);
    for (int turn = 0; turn < 2; turn++) {
        for (uint32_t i = 0; i < 3; i++) {
            m.callers[i].star.number += 1;
            start(&m, i);
        }
        for (uint32_t i = 0; i < 3; i++)
            ck_assert_msg(wait_for(&m, i)->status == EDDY_OK, "%s",
                          m.callers[i].err.message);
        for (uint32_t i = 1; i < 3; i++) {
            uint32_t word = 7 + i, got = 0;

            ck_assert(eddy__socket_write(m.callers[i].controls[0], &word,
                                         sizeof word));
            ck_assert(
                eddy__socket_read(m.callers[0].controls[i], &got, sizeof got));
            ck_assert_uint_eq(got, word);
            ck_assert_int_eq(m.callers[i].controls[1], -1);
        }
        ck_assert_int_eq(m.callers[0].controls[0], -1);
        for (int i = 0; i < 3; i++)
            eddy__sockets_close(m.callers[i].controls, 3);
    }
    close_all(&m);
}
END_TEST

/* All learn of it, those that run the same too. */
START_TEST(test_who_runs_something_else_is_named)
{
    meeting m;

    set_up(&m, 20 * SECOND);
    m.callers[2].star.fingerprint++;
    for (uint32_t i = 0; i < 3; i++)
        start(&m, i);
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_int_eq(wait_for(&m, i)->status, EDDY_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(
        strstr(m.callers[0].err.message, "rank 2 runs another graph"));
    close_all(&m);
}
END_TEST

/* Without the secret, or of another meeting: as if nobody had called. */
START_TEST(test_who_does_not_belong_is_hung_up_on)
{
    eddy__star_address wrong;
    meeting m;

    set_up(&m, SECOND / 4);
    wrong = m.address;
    wrong.secret[1]++;
    m.callers[1].star.address = &wrong;
    m.callers[2].star.number++;
    for (uint32_t i = 0; i < 3; i++)
        start(&m, i);
    ck_assert_int_eq(wait_for(&m, 0)->status, EDDY_DEADLINE_EXCEEDED);
    ck_assert_ptr_nonnull(
        strstr(m.callers[0].err.message, "rank 1 has not come"));
    for (uint32_t i = 1; i < 3; i++)
        ck_assert_int_eq(wait_for(&m, i)->status, EDDY_UNAVAILABLE);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            ck_assert_int_eq(m.callers[i].controls[k], -1);
    close_all(&m);
}
END_TEST

START_TEST(test_rank_0_that_is_not_there)
{
    meeting m;

    set_up(&m, SECOND / 20);
    eddy__sockets_close(&m.listener, 1);
    start(&m, 1);
    ck_assert_int_eq(wait_for(&m, 1)->status, EDDY_DEADLINE_EXCEEDED);
    ck_assert_ptr_nonnull(
        strstr(m.callers[1].err.message, "rank 0 can't be called"));
    close_all(&m);
}
END_TEST

TCase *star_tests(void)
{
    TCase *tc = tcase_create("star");

    tcase_add_test(tc, test_all_meet_twice_at_one_port);
    tcase_add_test(tc, test_who_runs_something_else_is_named);
    tcase_add_test(tc, test_who_does_not_belong_is_hung_up_on);
    tcase_add_test(tc, test_rank_0_that_is_not_there);
    return tc;
}
