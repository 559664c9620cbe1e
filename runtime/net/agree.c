/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A star: rank 0 hears reports and tells the outcome.  A rank is lost when its
 * connection ends, and stays so; what the others hear then is its report.
 *
 * A round's number goes with each notice.  One to end a round may come before
 * that is begun here, and counts from then on.
 */
#include "runtime/net/agree.h"

#include "core/base/status.h"
#include "core/base/thread.h"
#include "runtime/net/socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* How long a rank may take to end, once it was told to. */
#define GRACE_NS (UINT64_C(5) * 1000 * 1000 * 1000)
#define AGAIN_MS 20

typedef enum notice_kind { REPORT, ABORT, OUTCOME } notice_kind;

typedef struct notice {
    uint32_t kind, is_lost;
    uint64_t round;
    eddy__report report;
} notice;

typedef struct member {
    uint64_t reported; /* the last round that it has reported of */
    bool is_lost;
    eddy__report report;
} member;

struct eddy__agreement {
    const eddy_allocator *allocator;
    uint32_t rank, n_ranks;
    uint32_t n_controls;
    int *controls;
    int wake[2]; /* a pipe: the thread is to look again */
    eddy__abort_cb abort;
    void *arg;
    struct pollfd *polled;
    eddy__thread thread;
    eddy__mutex mu;
    eddy__cond changed;
    /* Guarded by mu, as all below. */
    bool is_closing;
    uint64_t round;
    bool is_open;     /* the round has begun, and this rank not reported */
    bool is_settled;  /* the outcome is there */
    member *members;  /* rank 0: of all */
    uint64_t aborted; /* the round that is to end; 0: none */
    uint64_t aborted_ns;
    uint32_t culprit;
    bool culprit_is_lost;
    eddy__report outcome;
};

static void poke(eddy__agreement *a)
{
    const uint8_t word = 1;

    /* A pipe that is full is looked at anyway. */
    if (write(a->wake[1], &word, 1) < 0)
        return;
}

/* ---- rank 0 ---- */

static void tell_all(eddy__agreement *a, const notice *n)
{
    for (uint32_t i = 1; i < a->n_ranks; i++)
        if (!a->members[i].is_lost)
            (void)eddy__socket_write(a->controls[i], n, sizeof *n);
}

/* The round is to end, because of `rank`.  @thread holds mu */
static void abort_round(eddy__agreement *a, uint64_t round, uint32_t rank,
                        bool is_lost)
{
    const notice n = {
        .kind = ABORT, .round = round, .is_lost = is_lost, .report.rank = rank};

    if (a->aborted >= round)
        return;
    a->aborted = round;
    a->aborted_ns = eddy__clock_now_ns();
    a->culprit = rank;
    a->culprit_is_lost = is_lost;
    if (a->rank == 0)
        tell_all(a, &n);
    poke(a);
    eddy__cond_broadcast(&a->changed);
}

static bool is_worse(const eddy__report *a, const eddy__report *b)
{
    return a->error.code != EDDY_OK &&
           (b->error.code == EDDY_OK ||
            (b->is_consequence && !a->is_consequence));
}

/* What came of the round, once all have reported.  @thread holds mu */
static void settle(eddy__agreement *a)
{
    notice n = {.kind = OUTCOME, .round = a->round};

    for (uint32_t i = 0; i < a->n_ranks; i++)
        if (a->members[i].reported != a->round)
            return;
    for (uint32_t i = 0; i < a->n_ranks; i++) {
        const eddy__report *r = &a->members[i].report;
        const uint64_t sent = n.report.n_sent + r->n_sent;
        const uint64_t left = n.report.n_left + r->n_left;

        if (is_worse(r, &n.report))
            n.report = *r;
        n.report.n_sent = sent;
        n.report.n_left = left;
    }
    a->outcome = n.report;
    a->is_settled = true;
    tell_all(a, &n);
    eddy__cond_broadcast(&a->changed);
}

/* It may be of a round that has not begun here.  @thread holds mu */
static void take_report(eddy__agreement *a, uint32_t rank, uint64_t round,
                        const eddy__report *report)
{
    member *m = &a->members[rank];

    if (m->reported >= round)
        return;
    m->reported = round;
    m->report = *report;
    m->report.rank = rank;
    if (report->error.code != EDDY_OK)
        abort_round(a, round, rank, m->is_lost);
    if (!a->is_settled)
        settle(a);
}

/* What is said of a rank that says nothing any more.  @thread holds mu */
static void bury(eddy__agreement *a, uint32_t rank, const char *how)
{
    eddy__report report = {.rank = rank};

    a->members[rank].is_lost = true;
    (void)eddy__fail(&report.error, EDDY_UNAVAILABLE, EDDY_E_MESSAGE, "%s",
                     how);
    take_report(a, rank, a->round, &report);
}

#define LOST "it is lost: its process has ended, or was killed"

/* ---- the thread ---- */

static void hear_report(eddy__agreement *a, uint32_t rank, const notice *n,
                        bool is_there)
{
    if (is_there)
        take_report(a, rank, n->round, &n->report);
    else if (a->is_open && !a->is_settled)
        bury(a, rank, LOST);
    else
        a->members[rank].is_lost = true;
}

/* Rank 0 can say nothing any more: this is the outcome. */
static void lose_center(eddy__agreement *a, const char *how)
{
    memset(&a->outcome, 0, sizeof a->outcome);
    (void)eddy__fail(&a->outcome.error, EDDY_UNAVAILABLE, EDDY_E_MESSAGE, "%s",
                     how);
    a->is_settled = true;
    abort_round(a, a->round, 0, true);
}

static void hear_center(eddy__agreement *a, const notice *n, bool is_there)
{
    if (!is_there) {
        close(a->controls[0]);
        a->controls[0] = -1;
        /* It may leave when it has told the outcome. */
        if (!a->is_settled)
            lose_center(a, LOST);
    } else if (n->kind == ABORT) {
        abort_round(a, n->round, n->report.rank, n->is_lost != 0);
    } else if (n->kind == OUTCOME && n->round == a->round) {
        a->outcome = n->report;
        a->is_settled = true;
        eddy__cond_broadcast(&a->changed);
    }
}

static void hear(eddy__agreement *a, uint32_t i)
{
    notice n;
    const bool is_there = eddy__socket_read(a->controls[i], &n, sizeof n);

    eddy__mutex_lock(&a->mu);
    if (a->rank == 0) {
        hear_report(a, i, &n, is_there);
        if (!is_there) {
            close(a->controls[i]);
            a->controls[i] = -1;
        }
    } else {
        hear_center(a, &n, is_there);
    }
    eddy__mutex_unlock(&a->mu);
}

/*
 * Ends the round of this rank, if it is to end; under the lock, so that none
 * that begins later is meant.  False: the thread is to end.
 */
static bool pass_on(eddy__agreement *a, bool *out_again)
{
    bool is_closing;

    eddy__mutex_lock(&a->mu);
    is_closing = a->is_closing;
    *out_again = a->is_open && !is_closing && a->aborted == a->round;
    if (*out_again)
        a->abort(a->arg, a->culprit, a->culprit_is_lost);
    eddy__mutex_unlock(&a->mu);
    return !is_closing;
}

static void listen_to_all(void *arg)
{
    eddy__agreement *a = arg;
    const uint32_t n = a->n_controls;
    bool is_to_end;

    while (pass_on(a, &is_to_end)) {
        uint8_t words[64];

        for (uint32_t i = 0; i < n; i++)
            a->polled[i] =
                (struct pollfd){.fd = a->controls[i], .events = POLLIN};
        a->polled[n] = (struct pollfd){.fd = a->wake[0], .events = POLLIN};
        if (poll(a->polled, n + 1, is_to_end ? AGAIN_MS : -1) <= 0)
            continue;
        if (a->polled[n].revents != 0 &&
            read(a->wake[0], words, sizeof words) < 0 && errno != EINTR)
            return;
        for (uint32_t i = 0; i < n; i++)
            if (a->polled[i].revents != 0)
                hear(a, i);
    }
}

/* ---- rounds ---- */

void eddy__agreement_begin(eddy__agreement *a)
{
    eddy__mutex_lock(&a->mu);
    a->round++;
    a->is_open = true;
    a->is_settled = false;
    for (uint32_t i = 1; a->rank == 0 && i < a->n_ranks; i++)
        if (a->members[i].is_lost)
            bury(a, i, LOST);
    if (a->rank > 0 && a->controls[0] < 0)
        lose_center(a, LOST);
    if (a->aborted == a->round)
        poke(a);
    eddy__mutex_unlock(&a->mu);
}

bool eddy__agreement_is_broken(eddy__agreement *a)
{
    bool is_broken;

    eddy__mutex_lock(&a->mu);
    is_broken = a->aborted == a->round;
    eddy__mutex_unlock(&a->mu);
    return is_broken;
}

/* How long others may still take; 0: no longer, UINT64_MAX: for ever. */
static uint64_t patience(const eddy__agreement *a, uint64_t deadline_ns)
{
    const uint64_t now = eddy__clock_now_ns();
    /* Rank 0 gives up first, and says so. */
    const uint64_t grace = a->rank == 0 ? GRACE_NS : 2 * GRACE_NS;
    uint64_t until = UINT64_MAX;

    if (a->aborted == a->round)
        until = a->aborted_ns + grace;
    else if (deadline_ns > 0 && deadline_ns < UINT64_MAX - grace)
        until = deadline_ns + grace;
    if (until == UINT64_MAX)
        return UINT64_MAX;
    return until > now ? until - now : 0;
}

static void give_up(eddy__agreement *a)
{
    static const char silent[] = "it does not answer";

    if (a->rank > 0) {
        lose_center(a, silent);
        return;
    }
    for (uint32_t i = 1; i < a->n_ranks && !a->is_settled; i++)
        if (a->members[i].reported != a->round)
            bury(a, i, silent);
}

void eddy__agreement_reach(eddy__agreement *a, const eddy__report *mine,
                           uint64_t deadline_ns, eddy__report *out_all)
{
    notice n = {.kind = REPORT, .report = *mine};

    n.report.rank = a->rank;
    eddy__mutex_lock(&a->mu);
    a->is_open = a->rank == 0;
    n.round = a->round;
    if (a->rank == 0)
        take_report(a, 0, a->round, mine);
    else if (a->controls[0] >= 0)
        (void)eddy__socket_write(a->controls[0], &n, sizeof n);
    while (!a->is_settled) {
        const uint64_t left = patience(a, deadline_ns);

        if (left == 0)
            give_up(a);
        else if (left == UINT64_MAX)
            eddy__cond_wait(&a->changed, &a->mu);
        else
            eddy__cond_wait_for(&a->changed, &a->mu, left);
    }
    a->is_open = false;
    *out_all = a->outcome;
    eddy__mutex_unlock(&a->mu);
}

/* ---- its life ---- */

static void free_parts(eddy__agreement *a)
{
    for (int i = 0; i < 2; i++)
        if (a->wake[i] >= 0)
            close(a->wake[i]);
    if (a->controls)
        eddy__sockets_close(a->controls, a->n_ranks);
    eddy__free(a->allocator, a->controls, a->n_ranks, sizeof *a->controls);
    eddy__free(a->allocator, a->members, a->n_ranks, sizeof *a->members);
    eddy__free(a->allocator, a->polled, (size_t)a->n_ranks + 1,
               sizeof *a->polled);
    eddy__free(a->allocator, a, 1, sizeof *a);
}

static eddy_status fill(eddy__agreement *a, int *controls, eddy_error *err)
{
    const eddy_allocator *allocator = a->allocator;

    a->controls = eddy__allocate(allocator, a->n_ranks, sizeof *a->controls);
    if (a->controls) {
        memcpy(a->controls, controls, a->n_ranks * sizeof *controls);
        for (uint32_t i = 0; i < a->n_ranks; i++)
            controls[i] = -1;
    }
    a->members =
        eddy__allocate_zeroed(allocator, a->n_ranks, sizeof *a->members);
    a->polled = eddy__allocate_zeroed(allocator, (size_t)a->n_ranks + 1,
                                      sizeof *a->polled);
    if (!a->controls || !a->members || !a->polled)
        return eddy__fail_memory(err);
    if (pipe(a->wake) != 0)
        return eddy__fail(err, EDDY_UNAVAILABLE, EDDY_E_IO, "no pipe: %s",
                          strerror(errno));
    EDDY_TRY(eddy__mutex_init(&a->mu, err));
    if (eddy__cond_init(&a->changed, err) != EDDY_OK) {
        eddy__mutex_destroy(&a->mu);
        return EDDY_UNAVAILABLE;
    }
    if (eddy__thread_start(&a->thread, 0, listen_to_all, a, err) == EDDY_OK)
        return EDDY_OK;
    eddy__cond_destroy(&a->changed);
    eddy__mutex_destroy(&a->mu);
    return EDDY_UNAVAILABLE;
}

eddy_status eddy__agreement_create(const eddy__team *team, int *controls,
                                   eddy__abort_cb abort, void *arg,
                                   eddy__agreement **out, eddy_error *err)
{
    eddy__agreement *a = eddy__allocate_zeroed(team->allocator, 1, sizeof *a);
    eddy_status status;

    *out = NULL;
    if (!a) {
        eddy__sockets_close(controls, team->n_ranks);
        return eddy__fail_memory(err);
    }
    a->allocator = team->allocator;
    a->rank = team->rank;
    a->n_ranks = team->n_ranks;
    a->n_controls = team->rank == 0 ? team->n_ranks : 1;
    a->wake[0] = a->wake[1] = -1;
    a->abort = abort;
    a->arg = arg;
    status = fill(a, controls, err);
    if (status == EDDY_OK) {
        *out = a;
        return EDDY_OK;
    }
    eddy__sockets_close(controls, team->n_ranks);
    free_parts(a);
    return status;
}

void eddy__agreement_destroy(eddy__agreement *a)
{
    if (!a)
        return;
    eddy__mutex_lock(&a->mu);
    a->is_closing = true;
    poke(a);
    eddy__mutex_unlock(&a->mu);
    eddy__thread_join(&a->thread);
    eddy__cond_destroy(&a->changed);
    eddy__mutex_destroy(&a->mu);
    free_parts(a);
}
