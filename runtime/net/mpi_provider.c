/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI behind one table of functions: the only file that sees its header.  Every
 * MPI has types of its own, so this library is of the one that it was built
 * with.
 */
#include "runtime/net/mpi_provider.h"

#include "eddy/version.h"

#include <assert.h>
#include <mpi.h>
#include <string.h>

/* A pointer or a number: which, is for each MPI to say. */
/* NOLINTNEXTLINE(bugprone-sizeof-expression): the handle itself. */
enum { REQUEST_SIZE = sizeof(MPI_Request) };

static_assert((size_t)REQUEST_SIZE <= sizeof(eddy__mpi_request),
              "a request has no room");

/*
 * Globals, since MPI is one for the process; as with all of this, one thread at
 * a time has them.
 */
static MPI_Comm comm = MPI_COMM_NULL;
static MPI_Message found = MPI_MESSAGE_NULL;
static bool is_mine; /* it was started here */

static MPI_Request get(const eddy__mpi_request *request)
{
    MPI_Request r;

    memcpy(&r, request, REQUEST_SIZE);
    return r;
}

static void put(eddy__mpi_request *request, MPI_Request r)
{
    memcpy(request, &r, REQUEST_SIZE);
}

static bool find_machines(bool *out_is_one, int n_ranks)
{
    MPI_Comm near;
    int n;

    if (MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                            &near) != MPI_SUCCESS)
        return false;
    (void)MPI_Comm_size(near, &n);
    (void)MPI_Comm_free(&near);
    *out_is_one = n == n_ranks;
    return true;
}

static const char *start(uint32_t *out_rank, uint32_t *out_n_ranks,
                         bool *out_is_one_machine)
{
    int is_there = 0, is_over = 0, level = MPI_THREAD_SINGLE, rank, n;

    if (MPI_Finalized(&is_over) != MPI_SUCCESS || is_over)
        return "MPI has ended in this process";
    if (MPI_Initialized(&is_there) != MPI_SUCCESS)
        return "MPI does not answer";
    if (!is_there && MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED,
                                     &level) != MPI_SUCCESS)
        return "MPI does not start";
    is_mine = is_mine || !is_there;
    if (MPI_Query_thread(&level) != MPI_SUCCESS ||
        level < MPI_THREAD_SERIALIZED)
        return "MPI was started for one thread (MPI_THREAD_SERIALIZED is "
               "wanted)";
    if (comm == MPI_COMM_NULL &&
        MPI_Comm_dup(MPI_COMM_WORLD, &comm) != MPI_SUCCESS)
        return "MPI has no communicator";
    (void)MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    (void)MPI_Comm_rank(comm, &rank);
    (void)MPI_Comm_size(comm, &n);
    *out_rank = (uint32_t)rank;
    *out_n_ranks = (uint32_t)n;
    return find_machines(out_is_one_machine, n) ? NULL
                                                : "MPI can't split the ranks";
}

static void end(bool is_broken)
{
    if (is_broken)
        (void)MPI_Abort(MPI_COMM_WORLD, 1);
    (void)MPI_Comm_free(&comm);
    if (is_mine)
        (void)MPI_Finalize();
    is_mine = false;
}

static bool share(void *data, size_t n)
{
    return MPI_Bcast(data, (int)n, MPI_BYTE, 0, comm) == MPI_SUCCESS;
}

static bool send(uint32_t to, int tag, const void *data, size_t n,
                 bool is_noticed, eddy__mpi_request *request)
{
    MPI_Request r = MPI_REQUEST_NULL;
    const int status =
        is_noticed ? MPI_Issend(data, (int)n, MPI_BYTE, (int)to, tag, comm, &r)
                   : MPI_Isend(data, (int)n, MPI_BYTE, (int)to, tag, comm, &r);

    /* NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): is_sent waits. */
    put(request, r);
    return status == MPI_SUCCESS;
}

static bool is_sent(eddy__mpi_request *request)
{
    MPI_Request r = get(request);
    int is_done = 0;

    if (MPI_Test(&r, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return true;
    put(request, r);
    return is_done != 0;
}

static bool find(int tag, uint32_t *out_from, size_t *out_n)
{
    MPI_Status status;
    int is_there = 0, n = 0;

    if (MPI_Improbe(MPI_ANY_SOURCE, tag, comm, &is_there, &found, &status) !=
            MPI_SUCCESS ||
        !is_there)
        return false;
    (void)MPI_Get_count(&status, MPI_BYTE, &n);
    *out_from = (uint32_t)status.MPI_SOURCE;
    *out_n = (size_t)n;
    return true;
}

static bool receive(void *data, size_t n)
{
    return MPI_Mrecv(data, (int)n, MPI_BYTE, &found, MPI_STATUS_IGNORE) ==
           MPI_SUCCESS;
}

static bool begin_barrier(eddy__mpi_request *request)
{
    MPI_Request r = MPI_REQUEST_NULL;
    const int status = MPI_Ibarrier(comm, &r);

    put(request, r);
    return status == MPI_SUCCESS;
}

EDDY_API const eddy__mpi_provider eddy_mpi_provider = {
    .version = EDDY_VERSION_STRING,
    .start = start,
    .end = end,
    .share = share,
    .send = send,
    .is_sent = is_sent,
    .find = find,
    .receive = receive,
    .begin_barrier = begin_barrier};
