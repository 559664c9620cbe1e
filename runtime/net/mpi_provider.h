/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libeddy-mpi.so gives to eddy: the few things that it wants of MPI, whose
 * header and types only that library sees.  Library and provider are built
 * together; `version` says so.  One thread at a time calls it.
 */
#ifndef EDDY_NET_MPI_PROVIDER_H
#define EDDY_NET_MPI_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A message that is being sent. */
typedef struct eddy__mpi_request eddy__mpi_request;

typedef struct eddy__mpi_provider {
    const char *version; /* EDDY_VERSION_STRING */
    /*
     * Starts MPI, unless the program has, and has a communicator of its own.
     * NULL, or what is wrong.
     */
    const char *(*start)(uint32_t *out_rank, uint32_t *out_n_ranks,
                         bool *out_is_one_machine);
    /* Ends what it has started; `is_broken`: the job with it. */
    void (*end)(bool is_broken);
    /* Gives all what rank 0 has.  All call it. */
    bool (*share)(void *data, size_t n);
    /*
     * Begins to send `n` bytes, at most INT_MAX, which stay as they are until
     * that is done; `is_noticed`: until the other has begun to receive them.
     */
    bool (*send)(uint32_t to, int tag, const void *data, size_t n,
                 bool is_noticed, eddy__mpi_request *request);
    /* Is it done?  It fails as if it were. */
    bool (*is_sent)(eddy__mpi_request *request);
    /* Is there a message, from which rank and of how many bytes? */
    bool (*find)(int tag, uint32_t *out_from, size_t *out_n);
    /* Receives the one that was found. */
    bool (*receive)(void *data, size_t n);
    /* All are here: begins, and asks. */
    bool (*begin_barrier)(eddy__mpi_request *request);
} eddy__mpi_provider;

/* Room for what an MPI calls a request. */
struct eddy__mpi_request {
    union {
        void *pointer;
        int number;
    } as;
};

/* The one symbol that the library exports. */
extern const eddy__mpi_provider eddy_mpi_provider;
#define EDDY__MPI_SYMBOL "eddy_mpi_provider"

#endif
