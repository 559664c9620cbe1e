/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file without a name for blocks of memory that are not needed for a while:
 * a thread of its own writes and reads them, reads first, in the order in which
 * each kind was asked for.
 *
 * The file is gone from its folder before the first byte is in it, and belongs
 * to nobody else (mode 600).  Each block has a checksum, which stays in memory,
 * so what is read is what was written.  Where the system starts no thread, the
 * caller's does it.
 */
#ifndef EDDY_BASE_BLOCK_FILE_H
#define EDDY_BASE_BLOCK_FILE_H

#include "core/base/thread.h"

#include "eddy/context.h"
#include "eddy/spill.h"

#include <stddef.h>

/* What it asks of the system; tests give others.  Errors are below 0. */
typedef struct eddy__file_calls {
    /* A new file in `folder` that has no name any more. */
    int (*open)(void *user, const char *folder);
    /* Both give the number of bytes, which may be less than asked for. */
    int64_t (*write)(void *user, int file, const void *data, size_t bytes,
                     uint64_t offset);
    int64_t (*read)(void *user, int file, void *data, size_t bytes,
                    uint64_t offset);
    void (*close)(void *user, int file);
    void *user;
} eddy__file_calls;

extern const eddy__file_calls eddy__system_files;

/* At most so many bytes are asked of the system, and of a cipher, at once. */
#define EDDY__BLOCK_CALL ((size_t)256 << 10)

/*
 * A block that is written or read.  Zero it; who asks sets the first three, and
 * keeps it and the data until it is done or forgotten.
 */
typedef struct eddy__block_io {
    unsigned char *data;
    size_t bytes;
    uint64_t offset;
    uint64_t serial; /* of the last write */
    uint32_t checksum;
    /* Once it is done: 0, or what the system said. */
    int error;
    struct eddy__block_io *next; /* guarded by mu, as all below */
    bool is_write, is_queued, is_busy;
} eddy__block_io;

typedef struct eddy__block_file {
    const eddy_allocator *allocator;
    const eddy__file_calls *calls;
    const eddy_spill_cipher *cipher; /* NULL: none */
    unsigned char *scratch; /* for what the cipher gives; the thread's own */
    int file;
    bool is_open, has_thread;
    uint64_t serial; /* of the next write */
    eddy__thread thread;
    eddy__mutex mu;
    eddy__cond asked, done;
    eddy__block_io *reads, *writes; /* guarded by mu; the oldest first */
    eddy__block_io *last_read, *last_write;
    bool is_ending; /* guarded by mu */
    bool drops;     /* guarded by mu: nobody wants what is under way */
} eddy__block_file;

/* A reason that the system did not give. */
#define EDDY__BLOCK_SHORT 1   /* the file ends before the block does */
#define EDDY__BLOCK_CHANGED 2 /* what was read is not what was written */
#define EDDY__BLOCK_CIPHER 3  /* the host's function failed */

/* What an error of a block, or of `open`, is, as a text. */
void eddy__block_reason(int error, char *text, size_t size);

/* Is there no room for more, as opposed to something that is broken? */
bool eddy__block_is_full(int error);

/*
 * Opens `file`, which is zero; `calls`, `cipher` and `allocator` are borrowed.
 * What fails leaves it zero.  `*out_error` is that of `open`, and 0 for what
 * else fails.
 */
eddy_status eddy__block_file_open(eddy__block_file *file,
                                  const eddy_allocator *allocator,
                                  const eddy__file_calls *calls,
                                  const eddy_spill_cipher *cipher,
                                  const char *folder, int *out_error,
                                  eddy_error *err);

/* All blocks must be done or forgotten; accepts one that is not open. */
void eddy__block_file_close(eddy__block_file *file);

/* Asks for a block to be written or read; it must not be under way. */
void eddy__block_ask(eddy__block_file *file, eddy__block_io *io, bool is_write);

/* Is it no longer under way?  Then `error` is set. */
bool eddy__block_is_done(eddy__block_file *file, const eddy__block_io *io);

/* The same, after at most `ns` nanoseconds of waiting. */
bool eddy__block_wait(eddy__block_file *file, const eddy__block_io *io,
                      uint64_t ns);

/*
 * Takes back what was asked: when this returns nobody touches the block.  A
 * call of the system that is under way is waited for.
 */
void eddy__block_forget(eddy__block_file *file, eddy__block_io *io);

#endif
