/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wires between two ranks of one process, by rings and by sockets alone: bytes
 * come in order, however many, a rank that sleeps is woken, and the end of one
 * is seen after what it has sent.
 */
#include "core/base/thread.h"
#include "runtime/net/ring.h"
#include "runtime/net/socket.h"
#include "runtime/net/wire.h"
#include "tests/suites.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

/* More than a ring or a socket holds. */
#define MANY ((size_t)3 << 20)

/* One end, its thread, and what it has got. */
typedef struct end {
    eddy__wire *wire;
    eddy_error err;
    eddy_status status;
    int sockets[2];
    uint32_t rank;
    bool has_rings;
    pthread_t thread;
    size_t n;         /* bytes that came */
    bool is_in_order; /* each is what its place says */
} end;

static uint8_t byte_at(size_t i)
{
    return (uint8_t)(i * 7 + i / 251);
}

static eddy_status came(void *arg, eddy__stream *s, bool *out_any,
                        eddy_error *err)
{
    end *e = arg;

    (void)err;
    for (size_t i = 0; i < s->in.n; i++)
        e->is_in_order = e->is_in_order && s->in.data[i] == byte_at(e->n + i);
    e->n += s->in.n;
    s->in.n = 0;
    *out_any = true;
    return EDDY_OK;
}

static void *create(void *arg)
{
    end *e = arg;
    const eddy__team team = {
        .allocator = eddy__default_allocator(), .rank = e->rank, .n_ranks = 2};

    e->is_in_order = true;
    e->status = eddy__socket_wire_create(&team, e->sockets, e->has_rings,
                                         &e->wire, &e->err);
    if (e->wire) {
        e->wire->came = came;
        e->wire->arg = e;
    }
    return NULL;
}

/* `how`: 0 sockets alone, 1 rings. */
static void set_up(end ends[2], int how)
{
    int pair[2];

    memset(ends, 0, 2 * sizeof *ends);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    for (uint32_t i = 0; i < 2; i++) {
        (void)fcntl(pair[i], F_SETFL, O_NONBLOCK);
        ends[i].rank = i;
        ends[i].has_rings = how == 1;
        ends[i].sockets[i] = -1;
        ends[i].sockets[1 - i] = pair[i];
        ck_assert_int_eq(
            pthread_create(&ends[i].thread, NULL, create, &ends[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(ends[i].thread, NULL);
        ck_assert_msg(ends[i].status == EDDY_OK, "%s", ends[i].err.message);
    }
}

static void drop(end *e)
{
    if (e->wire)
        e->wire->kind->destroy(e->wire, false);
    e->wire = NULL;
}

static void put(end *e, size_t first, size_t n)
{
    eddy__stream *s = &e->wire->streams[1 - e->rank];

    ck_assert(eddy__bytes_reserve(&s->out, n));
    for (size_t i = 0; i < n; i++)
        s->out.data[s->out.n + i] = byte_at(first + i);
    s->out.n += n;
}

/* Writes, and waits until so many bytes have come and all is written. */
static void *work_on(void *arg)
{
    end *e = arg;
    const uint64_t deadline = eddy__clock_now_ns() + 20 * SECOND;
    const uint32_t other = 1 - e->rank;

    e->wire->kind->write(e->wire, other);
    while ((e->n < MANY || !e->wire->kind->is_written(e->wire, other)) &&
           e->status == EDDY_OK && eddy__clock_now_ns() < deadline)
        e->status = e->wire->kind->wait(e->wire, deadline, &e->err);
    return NULL;
}

START_TEST(test_both_ways_at_once)
{
    end ends[2];

    set_up(ends, _i);
    for (int i = 0; i < 2; i++)
        put(&ends[i], 0, MANY);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(
            pthread_create(&ends[i].thread, NULL, work_on, &ends[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(ends[i].thread, NULL);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(ends[i].status, EDDY_OK);
        ck_assert_uint_eq(ends[i].n, MANY);
        ck_assert(ends[i].is_in_order);
        drop(&ends[i]);
    }
}
END_TEST

/* Each answers what the other one sends, and mostly sleeps until then. */
#define ROUNDS 200

static void *answer(void *arg)
{
    end *e = arg;
    const uint64_t deadline = eddy__clock_now_ns() + 20 * SECOND;

    for (size_t i = 0; i < ROUNDS && e->status == EDDY_OK; i++) {
        if (e->rank == 0) {
            put(e, i, 1);
            e->wire->kind->write(e->wire, 1);
        }
        while (e->n <= i && e->status == EDDY_OK &&
               eddy__clock_now_ns() < deadline)
            e->status = e->wire->kind->wait(e->wire, deadline, &e->err);
        if (e->rank == 1) {
            put(e, i, 1);
            e->wire->kind->write(e->wire, 0);
        }
    }
    return NULL;
}

START_TEST(test_who_sleeps_is_woken)
{
    end ends[2];

    set_up(ends, _i);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(
            pthread_create(&ends[i].thread, NULL, answer, &ends[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(ends[i].thread, NULL);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(ends[i].status, EDDY_OK);
        ck_assert_uint_eq(ends[i].n, ROUNDS);
        ck_assert(ends[i].is_in_order);
        drop(&ends[i]);
    }
}
END_TEST

START_TEST(test_end_comes_after_what_was_sent)
{
    const uint64_t deadline = eddy__clock_now_ns() + 20 * SECOND;
    end ends[2];

    set_up(ends, _i);
    put(&ends[0], 0, 1000);
    ends[0].wire->kind->write(ends[0].wire, 1);
    ck_assert(ends[0].wire->kind->is_written(ends[0].wire, 1));
    drop(&ends[0]);
    while (ends[1].wire->streams[0].is_open && eddy__clock_now_ns() < deadline)
        ck_assert_int_eq(
            ends[1].wire->kind->wait(ends[1].wire, deadline, &ends[1].err),
            EDDY_OK);
    ck_assert(!ends[1].wire->streams[0].is_open);
    ck_assert_uint_eq(ends[1].n, 1000);
    ck_assert(ends[1].is_in_order);
    drop(&ends[1]);
}
END_TEST

START_TEST(test_deadline_and_wake_end_a_wait)
{
    const uint64_t far = eddy__clock_now_ns() + 1000 * SECOND;
    end ends[2];

    set_up(ends, _i);
    ck_assert_int_eq(ends[0].wire->kind->wait(ends[0].wire, 1, NULL), EDDY_OK);
    ends[0].wire->kind->wake(ends[0].wire);
    ck_assert_int_eq(ends[0].wire->kind->wait(ends[0].wire, far, NULL),
                     EDDY_OK);
    drop(&ends[0]);
    drop(&ends[1]);
}
END_TEST

/* ---- rings ---- */

START_TEST(test_ring_is_filled_and_emptied)
{
    static uint8_t bytes[EDDY__RING_SIZE + 10], got[EDDY__RING_SIZE + 10];
    eddy__ring one, other;
    size_t n, sent = 0, taken = 0;

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = byte_at(i);
    ck_assert(eddy__ring_create(&one, &other));
    ck_assert_uint_eq(eddy__ring_write(&one, bytes, sizeof bytes),
                      EDDY__RING_SIZE);
    ck_assert_uint_eq(eddy__ring_write(&one, bytes, 1), 0);
    /* Full: it may not sleep for bytes at that end; at this one for room. */
    ck_assert(!eddy__ring_sleep(&other, false));
    ck_assert(eddy__ring_sleep(&one, true));
    ck_assert(eddy__ring_read(&other, got, 100, &n));
    ck_assert_uint_eq(n, 100);
    ck_assert(eddy__ring_must_wake_writer(&other));
    ck_assert(!eddy__ring_must_wake_writer(&other));
    ck_assert(eddy__ring_read(&other, got + 100, sizeof got, &n));
    ck_assert_uint_eq(n, EDDY__RING_SIZE - 100);
    ck_assert_int_eq(memcmp(got, bytes, EDDY__RING_SIZE), 0);
    eddy__ring_rise(&other);
    ck_assert(!eddy__ring_must_wake_reader(&one));
    ck_assert(eddy__ring_sleep(&other, false));
    /* Round its end, in pieces that do not divide it. */
    while (taken < 3 * EDDY__RING_SIZE) {
        const size_t first = sent % 1000;

        sent += eddy__ring_write(&one, bytes + first, 1000 - first);
        ck_assert(eddy__ring_read(&other, got, 777, &n));
        for (size_t i = 0; i < n; i++)
            ck_assert_uint_eq(got[i], bytes[(taken + i) % 1000]);
        taken += n;
    }
    ck_assert(eddy__ring_must_wake_reader(&one));
    eddy__ring_destroy(&one);
    eddy__ring_destroy(&other);
    eddy__ring_destroy(&other);
}
END_TEST

START_TEST(test_nonsense_in_a_ring)
{
    uint8_t byte = 0;
    eddy__ring one, other;
    size_t n;

    ck_assert(eddy__ring_create(&one, &other));
    atomic_store(&one.out->n_written, EDDY__RING_SIZE + 1);
    ck_assert(!eddy__ring_read(&other, &byte, 1, &n));
    ck_assert_uint_eq(n, 0);
    atomic_store(&one.out->n_written, 5);
    atomic_store(&one.out->n_read, 6);
    ck_assert_uint_eq(eddy__ring_write(&one, &byte, 1), 0);
    eddy__ring_destroy(&one);
    eddy__ring_destroy(&other);
}
END_TEST

/* What a rank says that has no such memory, or shares something else. */
START_TEST(test_without_rings)
{
    static const char words[] = {'S', 'R'};
    int pair[2], sockets[2];
    eddy__ring rings[2];
    char answer_word = 0;

    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        ck_assert_int_eq(write(pair[1], &words[i], 1), 1);
        sockets[0] = pair[0];
        sockets[1] = -1;
        ck_assert_int_eq(eddy__rings_share(1, 2, sockets, rings, NULL),
                         EDDY_OK);
        ck_assert_ptr_null(rings[0].in);
        ck_assert_int_eq(read(pair[1], &answer_word, 1), 1);
        ck_assert_int_eq(answer_word, 'S');
        close(pair[0]);
        close(pair[1]);
    }
    /* The other one refuses, or is gone. */
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ck_assert_int_eq(write(pair[1], &words[0], 1), 1);
    sockets[0] = -1;
    sockets[1] = pair[0];
    ck_assert_int_eq(eddy__rings_share(0, 2, sockets, rings, NULL), EDDY_OK);
    ck_assert_ptr_null(rings[1].in);
    close(pair[1]);
    ck_assert_int_eq(eddy__rings_share(0, 2, sockets, rings, NULL),
                     EDDY_UNAVAILABLE);
    ck_assert_ptr_null(rings[1].in);
    close(pair[0]);
}
END_TEST

TCase *socket_wire_tests(void)
{
    TCase *tc = tcase_create("socket_wire");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, test_both_ways_at_once, 0, 2);
    tcase_add_loop_test(tc, test_who_sleeps_is_woken, 0, 2);
    tcase_add_loop_test(tc, test_end_comes_after_what_was_sent, 0, 2);
    tcase_add_loop_test(tc, test_deadline_and_wake_end_a_wait, 0, 2);
    tcase_add_test(tc, test_ring_is_filled_and_emptied);
    tcase_add_test(tc, test_nonsense_in_a_ring);
    tcase_add_test(tc, test_without_rings);
    return tc;
}
