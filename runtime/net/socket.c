/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How processes meet.  A rank calls all below it, each as soon as that one
 * listens, says who it is and for what, and then takes the calls of those above
 * it.  It answers when nobody can find its address any more, so whoever has an
 * answer may meet the same ranks again in the same folder.
 */
#include "runtime/net/socket.h"

#include "core/base/status.h"
#include "core/base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MAGIC UINT64_C(0x3154454e59444445) /* EDDYNET1 */

/* What a caller says first. */
typedef struct hello {
    uint64_t magic, fingerprint;
    uint32_t rank, n_ranks, is_control, unused;
} hello;

typedef enum answer { WELCOME = 1, DIFFERENT = 2 } answer;

void eddy__sockets_close(int *sockets, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (sockets[i] >= 0)
            close(sockets[i]);
        sockets[i] = -1;
    }
}

bool eddy__socket_write(int socket, const void *data, size_t n)
{
    const char *at = data;

    while (n > 0) {
        const ssize_t done = send(socket, at, n, MSG_NOSIGNAL);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += done;
        n -= (size_t)done;
    }
    return true;
}

bool eddy__socket_read(int socket, void *data, size_t n)
{
    char *at = data;

    while (n > 0) {
        const ssize_t done = recv(socket, at, n, 0);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += done;
        n -= (size_t)done;
    }
    return true;
}

static eddy_status fail_system(const eddy__meeting *m, const char *what,
                               eddy_error *err)
{
    return eddy__fail(err, EDDY_UNAVAILABLE, EDDY_E_IO, "%s: %s: %s", m->folder,
                      what, strerror(errno));
}

static eddy_status fail_other(uint32_t rank, eddy_error *err)
{
    return eddy__fail(err, EDDY_FAILED_PRECONDITION, EDDY_E_MESSAGE,
                      "rank %u runs another graph, or cut otherwise",
                      (unsigned)rank);
}

static eddy_status name_address(const eddy__meeting *m, uint32_t rank,
                                struct sockaddr_un *out, eddy_error *err)
{
    int length;

    memset(out, 0, sizeof *out);
    out->sun_family = AF_UNIX;
    length = snprintf(out->sun_path, sizeof out->sun_path, "%s/rank%u",
                      m->folder, (unsigned)rank);
    if (length > 0 && (size_t)length < sizeof out->sun_path)
        return EDDY_OK;
    return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_IO,
                      "%s: the name is too long for a socket", m->folder);
}

static int open_socket(void)
{
    const int s = socket(AF_UNIX, SOCK_STREAM, 0);

    if (s >= 0)
        (void)fcntl(s, F_SETFD, FD_CLOEXEC);
    return s;
}

/* Nobody may make a meeting wait longer than this for a few bytes. */
static void limit_wait(int s, bool is_limited)
{
    const struct timeval wait = {.tv_sec = is_limited ? 10 : 0};

    (void)setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
}

/* ---- calling ---- */

static eddy_status call(const eddy__meeting *m, uint32_t to, bool is_control,
                        int *out, eddy_error *err)
{
    const hello h = {.magic = MAGIC,
                     .fingerprint = m->fingerprint,
                     .rank = m->rank,
                     .n_ranks = m->n_ranks,
                     .is_control = is_control};
    struct sockaddr_un address;

    EDDY_TRY(name_address(m, to, &address, err));
    *out = open_socket();
    if (*out < 0)
        return fail_system(m, "no socket", err);
    while (connect(*out, (const struct sockaddr *)&address, sizeof address) !=
           0) {
        if (errno != ENOENT && errno != ECONNREFUSED && errno != EAGAIN &&
            errno != EINTR)
            return fail_system(m, "can't call another rank", err);
        if (eddy__clock_now_ns() >= m->deadline_ns)
            return eddy__fail(err, EDDY_DEADLINE_EXCEEDED, EDDY_E_MESSAGE,
                              "rank %u has not come to %s", (unsigned)to,
                              m->folder);
        eddy__thread_sleep_ms(1);
    }
    if (eddy__socket_write(*out, &h, sizeof h))
        return EDDY_OK;
    return eddy__fail(err, EDDY_UNAVAILABLE, EDDY_E_MESSAGE, "rank %u is lost",
                      (unsigned)to);
}

static eddy_status hear_answer(const eddy__meeting *m, int s, uint32_t from,
                               eddy_error *err)
{
    struct pollfd p = {.fd = s, .events = POLLIN};
    uint8_t word = 0;

    for (;;) {
        const uint64_t now = eddy__clock_now_ns();
        const int ready = poll(&p, 1, 100);

        if (ready > 0)
            break;
        if (now >= m->deadline_ns)
            return eddy__fail(err, EDDY_DEADLINE_EXCEEDED, EDDY_E_MESSAGE,
                              "rank %u does not answer: some rank has not "
                              "come to %s",
                              (unsigned)from, m->folder);
    }
    if (!eddy__socket_read(s, &word, 1))
        return eddy__fail(err, EDDY_UNAVAILABLE, EDDY_E_MESSAGE,
                          "rank %u is lost", (unsigned)from);
    if (word == WELCOME)
        return EDDY_OK;
    return fail_other(from, err);
}

/* ---- being called ---- */

static eddy_status listen_at(const eddy__meeting *m, int *out, eddy_error *err)
{
    struct sockaddr_un address;

    EDDY_TRY(name_address(m, m->rank, &address, err));
    *out = open_socket();
    if (*out < 0)
        return fail_system(m, "no socket", err);
    (void)unlink(address.sun_path);
    if (bind(*out, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(*out, 2 * (int)m->n_ranks) != 0)
        return fail_system(m, "can't listen", err);
    (void)fcntl(*out, F_SETFL, O_NONBLOCK);
    return EDDY_OK;
}

/* The next caller, and who it is. */
static eddy_status take_call(const eddy__meeting *m, int listener, int *out,
                             hello *h, eddy_error *err)
{
    struct pollfd p = {.fd = listener, .events = POLLIN};

    *out = -1;
    while (*out < 0) {
        if (eddy__clock_now_ns() >= m->deadline_ns)
            return eddy__fail(err, EDDY_DEADLINE_EXCEEDED, EDDY_E_MESSAGE,
                              "not all ranks have come to %s", m->folder);
        if (poll(&p, 1, 100) > 0)
            *out = accept(listener, NULL, NULL);
    }
    (void)fcntl(*out, F_SETFD, FD_CLOEXEC);
    (void)fcntl(*out, F_SETFL, 0);
    limit_wait(*out, true);
    if (!eddy__socket_read(*out, h, sizeof *h) || h->magic != MAGIC)
        return eddy__fail(err, EDDY_UNAVAILABLE, EDDY_E_MESSAGE,
                          "a caller at %s/rank%u is no rank, or is lost",
                          m->folder, (unsigned)m->rank);
    limit_wait(*out, false);
    return EDDY_OK;
}

/* Where the socket of a caller belongs; NULL: no rank would call so. */
static int *find_place(const eddy__meeting *m, const hello *h, int *values,
                       int *controls)
{
    int *to;

    if (h->rank <= m->rank || h->rank >= m->n_ranks ||
        (h->is_control && m->rank > 0))
        return NULL;
    to = h->is_control ? &controls[h->rank] : &values[h->rank];
    return *to < 0 ? to : NULL;
}

/* `*out_other`: a rank that runs something else; 0: there is none. */
static eddy_status take_calls(const eddy__meeting *m, int listener, int *values,
                              int *controls, uint32_t *out_other,
                              eddy_error *err)
{
    const uint32_t above = m->n_ranks - 1 - m->rank;

    for (uint32_t n = m->rank == 0 ? 2 * above : above; n > 0; n--) {
        hello h = {.magic = 0};
        int s = -1, *to = NULL;
        const eddy_status status = take_call(m, listener, &s, &h, err);

        if (status == EDDY_OK)
            to = find_place(m, &h, values, controls);
        if (to)
            *to = s;
        else if (s >= 0)
            close(s);
        if (status != EDDY_OK)
            return status;
        if (!to || h.n_ranks != m->n_ranks || h.fingerprint != m->fingerprint)
            *out_other = h.rank;
    }
    return EDDY_OK;
}

static bool greet(const int *sockets, uint32_t first, uint32_t n, uint8_t word)
{
    bool ok = true;

    for (uint32_t i = first; i < n; i++)
        ok = sockets[i] >= 0 && eddy__socket_write(sockets[i], &word, 1) && ok;
    return ok;
}

static eddy_status be_called(const eddy__meeting *m, int listener, int *values,
                             int *controls, eddy_error *err)
{
    struct sockaddr_un address;
    uint32_t other = 0;
    uint8_t word;
    bool ok;

    EDDY_TRY(name_address(m, m->rank, &address, err));
    EDDY_TRY(take_calls(m, listener, values, controls, &other, err));
    (void)unlink(address.sun_path);
    word = other > 0 ? DIFFERENT : WELCOME;
    ok = greet(values, m->rank + 1, m->n_ranks, word);
    if (m->rank == 0)
        ok = greet(controls, 1, m->n_ranks, word) && ok;
    if (other > 0)
        return fail_other(other, err);
    return ok ? EDDY_OK
              : eddy__fail(err, EDDY_UNAVAILABLE, EDDY_E_MESSAGE,
                           "a rank was lost while all came to %s", m->folder);
}

static eddy_status meet(const eddy__meeting *m, int listener, int *values,
                        int *controls, eddy_error *err)
{
    for (uint32_t i = 0; i < m->rank; i++)
        EDDY_TRY(call(m, i, false, &values[i], err));
    if (m->rank > 0)
        EDDY_TRY(call(m, 0, true, &controls[0], err));
    if (listener >= 0)
        EDDY_TRY(be_called(m, listener, values, controls, err));
    for (uint32_t i = 0; i < m->rank; i++)
        EDDY_TRY(hear_answer(m, values[i], i, err));
    if (m->rank > 0)
        EDDY_TRY(hear_answer(m, controls[0], 0, err));
    for (uint32_t i = 0; i < m->n_ranks; i++)
        if (values[i] >= 0)
            (void)fcntl(values[i], F_SETFL, O_NONBLOCK);
    return EDDY_OK;
}

eddy_status eddy__sockets_meet(const eddy__meeting *meeting, int *values,
                               int *controls, eddy_error *err)
{
    eddy_status status = EDDY_OK;
    int listener = -1;

    for (uint32_t i = 0; i < meeting->n_ranks; i++)
        values[i] = controls[i] = -1;
    if (meeting->rank + 1 < meeting->n_ranks)
        status = listen_at(meeting, &listener, err);
    if (status == EDDY_OK)
        status = meet(meeting, listener, values, controls, err);
    if (listener >= 0)
        close(listener);
    if (status == EDDY_OK)
        return EDDY_OK;
    eddy__sockets_close(values, meeting->n_ranks);
    eddy__sockets_close(controls, meeting->n_ranks);
    return status;
}
