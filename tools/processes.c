/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of `--processes`: children of the command, one a rank, that
 * meet in a folder made for them.  When a signal has ended one, the others
 * learn that from each other; who has not by then, for not having met them, is
 * ended too.
 */
#include "tools/processes.h"

#include "tools/ranks.h"

#include "eddy/processes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

/* How long the others may live on when one was killed, in steps. */
#define STEP_NS 10000000L
#define MOST_STEPS 70

#define FOLDER_SIZE 64

/* Where the ranks meet, in a child: as long as the process. */
static char met_in[FOLDER_SIZE];

typedef struct children {
    char folder[FOLDER_SIZE];
    uint32_t n;
    pid_t *ids; /* 0: it has ended, with `statuses` of wait */
    int *statuses;
} children;

static bool count_ranks(const eddy__options *options, uint32_t *out_n)
{
    eddy__rank_places places = {.n = 0};
    eddy_error err = {.code = EDDY_OK};
    eddy_status status = EDDY_OK;

    *out_n = (uint32_t)options->n_ranks;
    if (*out_n > 0)
        return true;
    if (options->place == NULL) {
        eddy__message_complain("--processes wants --ranks or --place");
        return false;
    }
    status = eddy__rank_places_init(&places, NULL, NULL, options, &err);
    *out_n = places.n_ranks;
    if (status != EDDY_OK)
        eddy__message_complain_error(options->place, &err);
    eddy__rank_places_deinit(&places);
    return status == EDDY_OK;
}

/* ---- in a child ---- */

/* All but rank 0 print and write nothing. */
static void take_rank(eddy__options *options, uint32_t rank, uint32_t n_ranks)
{
    const int nowhere = rank > 0 ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;

    if (nowhere >= 0) {
        (void)dup2(nowhere, STDOUT_FILENO);
        (void)dup2(nowhere, STDERR_FILENO);
        (void)close(nowhere);
    }
    options->rank = rank;
    options->n_ranks = n_ranks;
    if (rank > 0)
        options->trace = options->out = NULL;
}

static void become_rank(eddy__options *options, const children *c,
                        uint32_t rank)
{
#ifdef __linux__
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    memcpy(met_in, c->folder, sizeof met_in);
    options->socket = met_in;
    take_rank(options, rank, c->n);
}

/* ---- in the parent ---- */

static void remove_folder(const children *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        char path[sizeof c->folder + 32];

        snprintf(path, sizeof path, "%s/rank%u", c->folder, (unsigned)i);
        (void)unlink(path);
    }
    (void)rmdir(c->folder);
}

static void end_all(const children *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (c->ids[i] > 0)
            (void)kill(c->ids[i], SIGKILL);
}

/* Notes a child's end; true if that was a signal. */
static bool note_end(children *c, pid_t id, int status)
{
    for (uint32_t i = 0; i < c->n; i++) {
        if (c->ids[i] != id)
            continue;
        c->ids[i] = 0;
        c->statuses[i] = status;
        if (!WIFSIGNALED(status))
            return false;
        eddy__message_complain("rank %u was ended by signal %d", (unsigned)i,
                               WTERMSIG(status));
        return true;
    }
    return false;
}

static uint32_t count_living(const children *c)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->n; i++)
        n += c->ids[i] > 0;
    return n;
}

static void wait_all(children *c)
{
    const struct timespec step = {.tv_nsec = STEP_NS};
    bool is_broken = false;
    unsigned steps = 0;

    while (count_living(c) > 0) {
        int status = 0;
        const pid_t id = waitpid(-1, &status, is_broken ? WNOHANG : 0);

        if (id > 0 && note_end(c, id, status))
            is_broken = true;
        else if (id < 0 && errno != EINTR)
            return;
        if (id != 0)
            continue;
        if (++steps == MOST_STEPS)
            end_all(c);
        (void)nanosleep(&step, NULL);
    }
}

static eddy__exit judge(const children *c)
{
    const int first = c->statuses[0];
    eddy__exit result = EDDY__EXIT_FAILED;

    if (WIFEXITED(first))
        result = (eddy__exit)WEXITSTATUS(first);
    for (uint32_t i = 1; i < c->n; i++) {
        if (c->statuses[i] == first)
            continue;
        if (WIFEXITED(first) && WIFEXITED(c->statuses[i]))
            eddy__message_complain("rank %u ended with %d, rank 0 with %d",
                                   (unsigned)i, WEXITSTATUS(c->statuses[i]),
                                   WEXITSTATUS(first));
        if (result == EDDY__EXIT_DONE)
            result = EDDY__EXIT_FAILED;
    }
    return result;
}

/* True in a child. */
static bool fork_all(children *c, eddy__options *options, eddy__exit *out_exit)
{
    (void)fflush(NULL);
    for (uint32_t i = 0; i < c->n; i++) {
        const pid_t id = fork();

        if (id == 0) {
            become_rank(options, c, i);
            return true;
        }
        if (id < 0) {
            eddy__message_complain("no process for rank %u: %s", (unsigned)i,
                                   strerror(errno));
            end_all(c);
            c->n = i;
            wait_all(c);
            *out_exit = EDDY__EXIT_FAILED;
            return false;
        }
        c->ids[i] = id;
    }
    wait_all(c);
    *out_exit = judge(c);
    return false;
}

static bool start(children *c, eddy__options *options, eddy__exit *out_exit)
{
    bool is_child;

    c->ids = calloc(c->n, sizeof *c->ids);
    c->statuses = calloc(c->n, sizeof *c->statuses);
    snprintf(c->folder, sizeof c->folder, "/tmp/eddy-XXXXXX");
    *out_exit = EDDY__EXIT_FAILED;
    if (c->ids == NULL || c->statuses == NULL || mkdtemp(c->folder) == NULL) {
        eddy__message_complain("no folder for the ranks to meet in: %s",
                               strerror(errno));
        free(c->ids);
        free(c->statuses);
        return false;
    }
    is_child = fork_all(c, options, out_exit);
    if (!is_child)
        remove_folder(c);
    free(c->ids);
    free(c->statuses);
    return is_child;
}

/* ---- by MPI ---- */

static bool start_mpi(eddy__options *options, eddy__exit *out_exit)
{
    eddy_error err = {.code = EDDY_OK};
    uint32_t rank, n;

    *out_exit = EDDY__EXIT_USAGE;
    if (options->socket != NULL || options->processes) {
        eddy__message_complain(
            "--mpi, --processes and --socket exclude each other");
        return false;
    }
    *out_exit = EDDY__EXIT_FAILED;
    if (eddy_mpi_start(&rank, &n, &err) != EDDY_OK) {
        eddy__message_complain_error("--mpi", &err);
        return false;
    }
    if (options->n_ranks > 0 && options->n_ranks != n) {
        if (rank == 0)
            eddy__message_complain("--ranks %u: MPI has started %u",
                                   (unsigned)options->n_ranks, (unsigned)n);
        *out_exit = EDDY__EXIT_USAGE;
        return false;
    }
    take_rank(options, rank, n);
    return true;
}

void eddy__processes_end(const eddy__options *options)
{
    if (options->mpi)
        eddy_mpi_end();
}

/* Each process would have a part of the record alone. */
static bool is_recorded(const eddy__options *options)
{
    if ((options->trace == NULL && !options->record) ||
        (!options->mpi && !options->processes && options->socket == NULL))
        return false;
    eddy__message_complain("ranks are recorded as threads: leave out "
                           "--processes, --socket and --mpi");
    return true;
}

bool eddy__processes_start(eddy__options *options, eddy__exit *out_exit)
{
    children c = {.n = 0};

    *out_exit = EDDY__EXIT_USAGE;
    if (is_recorded(options))
        return false;
    if (options->mpi)
        return start_mpi(options, out_exit);
    if (!options->processes)
        return true;
    *out_exit = EDDY__EXIT_USAGE;
    if (options->socket != NULL) {
        eddy__message_complain("--processes and --socket exclude each other");
        return false;
    }
    return count_ranks(options, &c.n) && start(&c, options, out_exit);
}
