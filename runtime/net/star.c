/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls over TCP.  Who calls and does not know the secret, or is of another
 * meeting that has failed since, is hung up on.
 */
#include "runtime/net/star.h"

#include "core/base/status.h"
#include "core/base/thread.h"
#include "runtime/net/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* What a caller says first. */
typedef struct hello {
    uint64_t secret[2], number, fingerprint;
    uint32_t rank, n_ranks;
} hello;

typedef enum answer { WELCOME = 1, DIFFERENT = 2 } answer;

/* ---- listening ---- */

static bool draw_secret(uint64_t secret[2])
{
    FILE *random = fopen("/dev/urandom", "rb");
    bool ok;

    if (!random)
        return false;
    ok = fread(secret, sizeof *secret, 2, random) == 2;
    fclose(random);
    return ok;
}

static bool bind_somewhere(int s, bool is_one_machine, uint16_t *out_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t size = sizeof at;

    at.sin_addr.s_addr = htonl(is_one_machine ? INADDR_LOOPBACK : INADDR_ANY);
    if (bind(s, (const struct sockaddr *)(const void *)&at, sizeof at) != 0 ||
        listen(s, 128) != 0 ||
        getsockname(s, (struct sockaddr *)(void *)&at, &size) != 0)
        return false;
    *out_port = ntohs(at.sin_port);
    return true;
}

eddy_status eddy__star_listen(bool is_one_machine, eddy__star_address *out,
                              int *out_listener, eddy_error *err)
{
    const int s = socket(AF_INET, SOCK_STREAM, 0);

    *out = (eddy__star_address){.port = 0};
    *out_listener = s;
    snprintf(out->host, sizeof out->host, "127.0.0.1");
    if (s >= 0 &&
        (is_one_machine || gethostname(out->host, sizeof out->host - 1) == 0) &&
        draw_secret(out->secret) &&
        bind_somewhere(s, is_one_machine, &out->port)) {
        (void)fcntl(s, F_SETFD, FD_CLOEXEC);
        (void)fcntl(s, F_SETFL, O_NONBLOCK);
        return EDDY_OK;
    }
    eddy__sockets_close(out_listener, 1);
    return eddy__fail(err, EDDY_UNAVAILABLE, EDDY_E_IO,
                      "rank 0 can't listen: %s", strerror(errno));
}

/* ---- both ends ---- */

static eddy_status fail_other(uint32_t rank, eddy_error *err)
{
    return eddy__fail(err, EDDY_FAILED_PRECONDITION, EDDY_E_MESSAGE,
                      "rank %u runs another graph, or cut otherwise",
                      (unsigned)rank);
}

static void set_up(int s, bool is_limited)
{
    const struct timeval wait = {.tv_sec = is_limited ? 10 : 0};
    const int yes = 1;

    (void)fcntl(s, F_SETFD, FD_CLOEXEC);
    (void)fcntl(s, F_SETFL, 0);
    (void)setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    (void)setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

/* ---- calling ---- */

static int connect_to(const eddy__star_address *to)
{
    const struct addrinfo hints = {.ai_family = AF_INET,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char port[8];
    int s = -1;

    snprintf(port, sizeof port, "%u", (unsigned)to->port);
    if (getaddrinfo(to->host, port, &hints, &found) != 0)
        return -1;
    for (const struct addrinfo *a = found; a && s < 0; a = a->ai_next) {
        s = socket(a->ai_family, a->ai_socktype, a->ai_protocol);
        if (s >= 0 && connect(s, a->ai_addr, a->ai_addrlen) != 0)
            eddy__sockets_close(&s, 1);
    }
    freeaddrinfo(found);
    return s;
}

static eddy_status hear_answer(const eddy__star *star, int s, eddy_error *err)
{
    struct pollfd p = {.fd = s, .events = POLLIN};
    uint8_t word = 0;

    while (poll(&p, 1, 100) <= 0)
        if (eddy__clock_now_ns() >= star->deadline_ns)
            return eddy__fail(err, EDDY_DEADLINE_EXCEEDED, EDDY_E_MESSAGE,
                              "rank 0 does not answer: some rank has not come");
    if (!eddy__socket_read(s, &word, 1))
        return eddy__fail(err, EDDY_UNAVAILABLE, EDDY_E_MESSAGE,
                          "rank 0 is lost");
    return word == WELCOME ? EDDY_OK : fail_other(0, err);
}

static eddy_status call(const eddy__star *star, int *out, eddy_error *err)
{
    const eddy__star_address *to = star->address;
    const hello h = {.secret = {to->secret[0], to->secret[1]},
                     .number = star->number,
                     .fingerprint = star->fingerprint,
                     .rank = star->rank,
                     .n_ranks = star->n_ranks};

    while ((*out = connect_to(to)) < 0) {
        if (eddy__clock_now_ns() >= star->deadline_ns)
            return eddy__fail(err, EDDY_DEADLINE_EXCEEDED, EDDY_E_MESSAGE,
                              "rank 0 can't be called at %s:%u: %s", to->host,
                              (unsigned)to->port, strerror(errno));
        eddy__thread_sleep_ms(1);
    }
    set_up(*out, false);
    if (!eddy__socket_write(*out, &h, sizeof h))
        return eddy__fail(err, EDDY_UNAVAILABLE, EDDY_E_MESSAGE,
                          "rank 0 is lost");
    return hear_answer(star, *out, err);
}

/* ---- being called ---- */

static eddy_status fail_missing(const eddy__star *star, const int *controls,
                                eddy_error *err)
{
    uint32_t rank = 1;

    while (rank + 1 < star->n_ranks && controls[rank] >= 0)
        rank++;
    return eddy__fail(err, EDDY_DEADLINE_EXCEEDED, EDDY_E_MESSAGE,
                      "rank %u has not come", (unsigned)rank);
}

/* The rank of a caller that belongs here; EDDY__NOT_FOUND: it is none. */
static uint32_t ask_caller(const eddy__star *star, int s, bool *out_is_other)
{
    const eddy__star_address *a = star->address;
    hello h;

    set_up(s, true);
    if (!eddy__socket_read(s, &h, sizeof h) ||
        memcmp(h.secret, a->secret, sizeof h.secret) != 0 ||
        h.number != star->number || h.rank == 0 || h.rank >= star->n_ranks)
        return EDDY__NOT_FOUND;
    set_up(s, false);
    *out_is_other =
        h.n_ranks != star->n_ranks || h.fingerprint != star->fingerprint;
    return h.rank;
}

/* `*out_other`: a rank that runs something else; 0: there is none. */
static eddy_status take_calls(const eddy__star *star, int *controls,
                              uint32_t *out_other, eddy_error *err)
{
    struct pollfd p = {.fd = star->listener, .events = POLLIN};

    for (uint32_t n = 1; n < star->n_ranks;) {
        bool is_other = false;
        uint32_t rank;
        int s;

        if (eddy__clock_now_ns() >= star->deadline_ns)
            return fail_missing(star, controls, err);
        if (poll(&p, 1, 100) <= 0 ||
            (s = accept(star->listener, NULL, NULL)) < 0)
            continue;
        rank = ask_caller(star, s, &is_other);
        if (rank == EDDY__NOT_FOUND || controls[rank] >= 0) {
            close(s);
            continue;
        }
        controls[rank] = s;
        n++;
        if (is_other)
            *out_other = rank;
    }
    return EDDY_OK;
}

static eddy_status be_called(const eddy__star *star, int *controls,
                             eddy_error *err)
{
    uint32_t other = 0;
    uint8_t word;

    EDDY_TRY(take_calls(star, controls, &other, err));
    word = other > 0 ? DIFFERENT : WELCOME;
    for (uint32_t i = 1; i < star->n_ranks; i++)
        if (!eddy__socket_write(controls[i], &word, 1))
            return eddy__fail(err, EDDY_UNAVAILABLE, EDDY_E_MESSAGE,
                              "rank %u is lost", (unsigned)i);
    return other > 0 ? fail_other(other, err) : EDDY_OK;
}

eddy_status eddy__star_meet(const eddy__star *star, int *controls,
                            eddy_error *err)
{
    eddy_status status;

    for (uint32_t i = 0; i < star->n_ranks; i++)
        controls[i] = -1;
    status = star->rank == 0 ? be_called(star, controls, err)
                             : call(star, &controls[0], err);
    if (status != EDDY_OK)
        eddy__sockets_close(controls, star->n_ranks);
    return status;
}
