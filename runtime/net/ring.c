/* SPDX-License-Identifier: Apache-2.0 */
/* Rings of shared memory, and how two processes come by them. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): memfd_create */

#include "runtime/net/ring.h"

#include "core/base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* What the two say to each other: there is a ring, or not. */
#define RING 'R'
#define NO_RING 'S'

#define WAIT_SECONDS 30

#define BYTES (2 * sizeof(eddy__ring_way))

/* ---- memory ---- */

static bool map_ways(int fd, bool is_first, eddy__ring *out)
{
    void *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    eddy__ring_way *ways = at;

    *out = (eddy__ring){.in = NULL};
    if (at == MAP_FAILED)
        return false;
    out->in = is_first ? ways : ways + 1;
    out->out = is_first ? ways + 1 : ways;
    return true;
}

#ifdef __linux__
/* Of a size that nobody can take away again, whoever has it; or -1. */
static int open_memory(void)
{
    const int fd = memfd_create("eddy", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return -1;
    if (ftruncate(fd, (off_t)BYTES) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool is_memory(int fd)
{
    const int seals = fcntl(fd, F_GET_SEALS);
    struct stat s;

    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(fd, &s) == 0 &&
           (size_t)s.st_size == BYTES;
}
#else
static int open_memory(void)
{
    return -1;
}

static bool is_memory(int fd)
{
    (void)fd;
    return false;
}
#endif

bool eddy__ring_create(eddy__ring *one, eddy__ring *other)
{
    const int fd = open_memory();
    bool ok;

    *one = *other = (eddy__ring){.in = NULL};
    if (fd < 0)
        return false;
    ok = map_ways(fd, true, one) && map_ways(fd, false, other);
    close(fd);
    if (!ok)
        eddy__ring_destroy(one);
    return ok;
}

void eddy__ring_destroy(eddy__ring *ring)
{
    if (ring->in)
        (void)munmap(ring->in < ring->out ? ring->in : ring->out, BYTES);
    *ring = (eddy__ring){.in = NULL};
}

/* ---- bytes ---- */

static size_t at(uint64_t n)
{
    return (size_t)(n & (EDDY__RING_SIZE - 1));
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Of the way out.  What the other one writes may be nonsense: none, then. */
static size_t room_of(const eddy__ring_way *way)
{
    const uint64_t written =
        atomic_load_explicit(&way->n_written, memory_order_relaxed);
    const uint64_t read = atomic_load(&way->n_read);

    return written - read > EDDY__RING_SIZE
               ? 0
               : EDDY__RING_SIZE - (size_t)(written - read);
}

size_t eddy__ring_write(const eddy__ring *ring, const uint8_t *data, size_t n)
{
    eddy__ring_way *way = ring->out;
    const uint64_t written =
        atomic_load_explicit(&way->n_written, memory_order_relaxed);
    const size_t taken = least(n, room_of(way));
    const size_t first = least(taken, EDDY__RING_SIZE - at(written));

    if (taken == 0)
        return 0;
    memcpy(way->data + at(written), data, first);
    memcpy(way->data, data + first, taken - first);
    atomic_store(&way->n_written, written + taken);
    return taken;
}

bool eddy__ring_read(const eddy__ring *ring, uint8_t *data, size_t n,
                     size_t *out_n)
{
    eddy__ring_way *way = ring->in;
    const uint64_t read =
        atomic_load_explicit(&way->n_read, memory_order_relaxed);
    const uint64_t there =
        atomic_load_explicit(&way->n_written, memory_order_acquire) - read;
    const size_t taken = there > EDDY__RING_SIZE ? 0 : least(n, (size_t)there);
    const size_t first = least(taken, EDDY__RING_SIZE - at(read));

    *out_n = taken;
    if (taken > 0) {
        memcpy(data, way->data + at(read), first);
        memcpy(data + first, way->data, taken - first);
        atomic_store(&way->n_read, read + taken);
    }
    return there <= EDDY__RING_SIZE;
}

/* ---- sleeping ---- */

/*
 * Who sleeps says so and then looks again; who writes or reads does that and
 * then looks whether the other one sleeps.  All of these are in one order, so
 * one of the two sees what the other one did.
 */
bool eddy__ring_sleep(const eddy__ring *ring, bool wants_room)
{
    atomic_store(&ring->in->is_reader_asleep, 1);
    if (wants_room)
        atomic_store(&ring->out->is_writer_asleep, 1);
    return atomic_load(&ring->in->n_written) ==
               atomic_load(&ring->in->n_read) &&
           (!wants_room || room_of(ring->out) == 0);
}

void eddy__ring_rise(const eddy__ring *ring)
{
    atomic_store_explicit(&ring->in->is_reader_asleep, 0, memory_order_relaxed);
    atomic_store_explicit(&ring->out->is_writer_asleep, 0,
                          memory_order_relaxed);
}

static bool is_to_wake(atomic_uint_least32_t *is_asleep)
{
    return atomic_load(is_asleep) != 0 && atomic_exchange(is_asleep, 0) != 0;
}

bool eddy__ring_must_wake_reader(const eddy__ring *ring)
{
    return is_to_wake(&ring->out->is_reader_asleep);
}

bool eddy__ring_must_wake_writer(const eddy__ring *ring)
{
    return is_to_wake(&ring->in->is_writer_asleep);
}

/* ---- sharing ---- */

static eddy_status fail_lost(uint32_t rank, eddy_error *err)
{
    return eddy__fail(err, EDDY_UNAVAILABLE, EDDY_E_MESSAGE, "rank %u is lost",
                      (unsigned)rank);
}

/* While the two talk, a socket waits for its answers, but not for ever. */
static void set_waiting(int s, bool is_waiting)
{
    const struct timeval wait = {.tv_sec = is_waiting ? WAIT_SECONDS : 0};

    (void)setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    (void)fcntl(s, F_SETFL, is_waiting ? 0 : O_NONBLOCK);
}

/* A message of one byte, with a file if that is not -1. */
typedef struct note {
    char word;
    struct iovec part;
    _Alignas(struct cmsghdr) char file[CMSG_SPACE(sizeof(int))];
    struct msghdr message;
} note;

static void prepare(note *n, bool has_file)
{
    memset(n, 0, sizeof *n);
    n->part = (struct iovec){.iov_base = &n->word, .iov_len = 1};
    n->message.msg_iov = &n->part;
    n->message.msg_iovlen = 1;
    if (has_file) {
        n->message.msg_control = n->file;
        n->message.msg_controllen = sizeof n->file;
    }
}

static bool send_note(int s, char word, int fd)
{
    struct cmsghdr *head;
    ssize_t done;
    note n;

    prepare(&n, fd >= 0);
    n.word = word;
    if (fd >= 0) {
        head = CMSG_FIRSTHDR(&n.message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(head), &fd, sizeof fd);
    }
    do
        done = sendmsg(s, &n.message, MSG_NOSIGNAL);
    while (done < 0 && errno == EINTR);
    return done == 1;
}

/* `*out_fd`: the caller's, or -1. */
static bool take_note(int s, char *out_word, int *out_fd)
{
    struct cmsghdr *head;
    ssize_t done;
    note n;

    *out_fd = -1;
    *out_word = NO_RING;
    prepare(&n, true);
    do
        done = recvmsg(s, &n.message, 0);
    while (done < 0 && errno == EINTR);
    if (done != 1)
        return false;
    head = CMSG_FIRSTHDR(&n.message);
    if (head && head->cmsg_level == SOL_SOCKET &&
        head->cmsg_type == SCM_RIGHTS &&
        head->cmsg_len == CMSG_LEN(sizeof *out_fd)) {
        memcpy(out_fd, CMSG_DATA(head), sizeof *out_fd);
        (void)fcntl(*out_fd, F_SETFD, FD_CLOEXEC);
    }
    *out_word = n.word;
    return true;
}

/* The lower one of two makes the memory. */
static bool offer(int s, eddy__ring *ring)
{
    const int fd = open_memory();
    const bool has = fd >= 0 && map_ways(fd, true, ring);
    const bool ok = send_note(s, has ? RING : NO_RING, has ? fd : -1);

    if (fd >= 0)
        close(fd);
    return ok;
}

static bool take_offer(int s, eddy__ring *ring)
{
    char word;
    int fd;
    bool ok = take_note(s, &word, &fd), has;

    has = ok && word == RING && fd >= 0 && is_memory(fd) &&
          map_ways(fd, false, ring);
    if (fd >= 0)
        close(fd);
    return ok && send_note(s, has ? RING : NO_RING, -1);
}

static bool hear_answer(int s, eddy__ring *ring)
{
    char word;
    int fd;
    const bool ok = take_note(s, &word, &fd);

    if (fd >= 0)
        close(fd);
    if (!ok || word != RING)
        eddy__ring_destroy(ring);
    return ok;
}

/* First all offers, so that nobody waits for one who waits for him. */
static eddy_status share_all(uint32_t rank, uint32_t n_ranks,
                             const int *sockets, eddy__ring *rings,
                             eddy_error *err)
{
    for (uint32_t i = rank + 1; i < n_ranks; i++)
        if (sockets[i] >= 0 && !offer(sockets[i], &rings[i]))
            return fail_lost(i, err);
    for (uint32_t i = 0; i < rank; i++)
        if (sockets[i] >= 0 && !take_offer(sockets[i], &rings[i]))
            return fail_lost(i, err);
    for (uint32_t i = rank + 1; i < n_ranks; i++)
        if (sockets[i] >= 0 && !hear_answer(sockets[i], &rings[i]))
            return fail_lost(i, err);
    return EDDY_OK;
}

eddy_status eddy__rings_share(uint32_t rank, uint32_t n_ranks,
                              const int *sockets, eddy__ring *rings,
                              eddy_error *err)
{
    eddy_status status;

    for (uint32_t i = 0; i < n_ranks; i++) {
        rings[i] = (eddy__ring){.in = NULL};
        if (sockets[i] >= 0)
            set_waiting(sockets[i], true);
    }
    status = share_all(rank, n_ranks, sockets, rings, err);
    for (uint32_t i = 0; i < n_ranks; i++) {
        if (sockets[i] >= 0)
            set_waiting(sockets[i], false);
        if (status != EDDY_OK)
            eddy__ring_destroy(&rings[i]);
    }
    return status;
}
