/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/thread.h"
#include "tests/suites.h"

typedef struct meeting {
    eddy__mutex mutex;
    eddy__cond cond;
    bool came;
} meeting;

static void come(void *arg)
{
    meeting *m = arg;

    eddy__mutex_lock(&m->mutex);
    m->came = true;
    eddy__cond_signal(&m->cond);
    eddy__mutex_unlock(&m->mutex);
}

START_TEST(threads_meet)
{
    static const size_t stacks[] = {0, 1, 1 << 20};

    for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
        meeting m = {.came = false};
        eddy__thread thread;

        ck_assert_int_eq(eddy__mutex_init(&m.mutex, NULL), EDDY_OK);
        ck_assert_int_eq(eddy__cond_init(&m.cond, NULL), EDDY_OK);
        ck_assert_int_eq(eddy__thread_start(&thread, stacks[i], come, &m, NULL),
                         EDDY_OK);
        eddy__mutex_lock(&m.mutex);
        while (!m.came)
            eddy__cond_wait(&m.cond, &m.mutex);
        eddy__mutex_unlock(&m.mutex);
        eddy__thread_join(&thread);
        eddy__cond_destroy(&m.cond);
        eddy__mutex_destroy(&m.mutex);
    }
}
END_TEST

START_TEST(a_thread_that_can_not_start_is_an_error)
{
    eddy__thread thread;
    eddy_error err;

    /* No machine has room for such a stack. */
    ck_assert_int_eq(
        eddy__thread_start(&thread, (size_t)1 << 60, come, NULL, &err),
        EDDY_UNAVAILABLE);
    ck_assert_int_eq(err.code, EDDY_UNAVAILABLE);
    ck_assert_int_eq(err.detail, EDDY_E_THREAD);
    ck_assert_int_eq(
        eddy__thread_start(&thread, (size_t)1 << 60, come, NULL, NULL),
        EDDY_UNAVAILABLE);
}
END_TEST

START_TEST(a_wait_has_an_end)
{
    const uint64_t begin = eddy__clock_now_ns();
    eddy__mutex mutex;
    eddy__cond cond;

    ck_assert_int_eq(eddy__mutex_init(&mutex, NULL), EDDY_OK);
    ck_assert_int_eq(eddy__cond_init(&cond, NULL), EDDY_OK);
    eddy__mutex_lock(&mutex);
    /* It may wake early, but nobody wakes it a thousand times. */
    for (int i = 0; i < 1000 && eddy__clock_now_ns() - begin < 2000000; i++)
        eddy__cond_wait_for(&cond, &mutex, 2000000);
    eddy__mutex_unlock(&mutex);
    ck_assert_uint_ge(eddy__clock_now_ns() - begin, 2000000);
    eddy__cond_destroy(&cond);
    eddy__mutex_destroy(&mutex);
}
END_TEST

static eddy__once once = EDDY__ONCE_INIT;
static int n_calls;

static void count_call(void)
{
    n_calls++;
}

static void call_once(void *arg)
{
    (void)arg;
    eddy__once_call(&once, count_call);
    ck_assert_int_eq(n_calls, 1);
}

START_TEST(once_is_once_with_any_number_of_threads)
{
    eddy__thread threads[4];

    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(
            eddy__thread_start(&threads[i], 0, call_once, NULL, NULL), EDDY_OK);
    for (size_t i = 0; i < 4; i++)
        eddy__thread_join(&threads[i]);
    call_once(NULL);
}
END_TEST

START_TEST(the_clock_does_not_go_back)
{
    uint64_t last = eddy__clock_now_ns();

    for (int i = 0; i < 1000; i++) {
        const uint64_t now = eddy__clock_now_ns();

        ck_assert_uint_ge(now, last);
        last = now;
    }
}
END_TEST

TCase *thread_tests(void)
{
    TCase *tests = tcase_create("thread");

    tcase_add_test(tests, threads_meet);
    tcase_add_test(tests, a_thread_that_can_not_start_is_an_error);
    tcase_add_test(tests, a_wait_has_an_end);
    tcase_add_test(tests, once_is_once_with_any_number_of_threads);
    tcase_add_test(tests, the_clock_does_not_go_back);
    return tests;
}
