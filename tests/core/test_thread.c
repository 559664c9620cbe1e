#include "core/base/thread.h"
#include "tests/suites.h"

typedef struct meeting {
    uv_mutex_t mutex;
    uv_cond_t cond;
    bool came;
} meeting;

static void come(void *arg)
{
    meeting *m = arg;

    uv_mutex_lock(&m->mutex);
    m->came = true;
    uv_cond_signal(&m->cond);
    uv_mutex_unlock(&m->mutex);
}

START_TEST(threads_meet)
{
    static const size_t stacks[] = {0, 1, 1 << 20};

    for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
        meeting m = {.came = false};
        uv_thread_t thread;

        ck_assert_int_eq(eddy__mutex_init(&m.mutex, NULL), EDDY_OK);
        ck_assert_int_eq(eddy__cond_init(&m.cond, NULL), EDDY_OK);
        ck_assert_int_eq(eddy__thread_start(&thread, stacks[i], come, &m, NULL),
                         EDDY_OK);
        uv_mutex_lock(&m.mutex);
        while (!m.came)
            uv_cond_wait(&m.cond, &m.mutex);
        uv_mutex_unlock(&m.mutex);
        ck_assert_int_eq(uv_thread_join(&thread), 0);
        uv_cond_destroy(&m.cond);
        uv_mutex_destroy(&m.mutex);
    }
}
END_TEST

START_TEST(a_thread_that_can_not_start_is_an_error)
{
    uv_thread_t thread;
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

START_TEST(the_clock_does_not_go_back)
{
    uint64_t last = eddy__now_ns();

    for (int i = 0; i < 1000; i++) {
        const uint64_t now = eddy__now_ns();

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
    tcase_add_test(tests, the_clock_does_not_go_back);
    return tests;
}
