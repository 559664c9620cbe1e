/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of blocks, over libuv's calls, each of which a thread of the file's
 * own waits for.
 */
#include "core/base/block_file.h"

#include "core/base/crc32c.h"
#include "core/base/memory.h"
#include "core/base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* ---- what is asked of the system ---- */

/* In folders that can't make a file without a name. */
static int open_and_unlink(const char *folder)
{
    char path[4096];
    const int length =
        snprintf(path, sizeof path, "%s/eddy-spill-XXXXXX", folder);
    uv_fs_t call;
    int file, error;

    if (length < 0 || (size_t)length >= sizeof path)
        return UV_ENAMETOOLONG;
    file = uv_fs_mkstemp(NULL, &call, path, NULL);
    if (file >= 0) {
        uv_fs_t gone;

        error = uv_fs_unlink(NULL, &gone, call.path, NULL);
        uv_fs_req_cleanup(&gone);
        if (error != 0) {
            (void)uv_fs_close(NULL, &gone, file, NULL);
            uv_fs_req_cleanup(&gone);
            file = error;
        }
    }
    uv_fs_req_cleanup(&call);
    return file;
}

static int open_file(void *user, const char *folder)
{
    (void)user;
#ifdef O_TMPFILE
    {
        uv_fs_t call;
        const int file = uv_fs_open(NULL, &call, folder,
                                    O_TMPFILE | O_RDWR | O_EXCL, 0600, NULL);

        uv_fs_req_cleanup(&call);
        if (file >= 0)
            return file;
    }
#endif
    return open_and_unlink(folder);
}

static int64_t write_file(void *user, int file, const void *data, size_t bytes,
                          uint64_t offset)
{
    /* It is only read from, though the type does not say so. */
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): the pointer is its own. */
    const uv_buf_t buffer = {.base = (char *)(uintptr_t)data, .len = bytes};
    uv_fs_t call;
    int64_t n;

    (void)user;
    n = uv_fs_write(NULL, &call, file, &buffer, 1, (int64_t)offset, NULL);
    uv_fs_req_cleanup(&call);
    return n;
}

static int64_t read_file(void *user, int file, void *data, size_t bytes,
                         uint64_t offset)
{
    const uv_buf_t buffer = {.base = data, .len = bytes};
    uv_fs_t call;
    int64_t n;

    (void)user;
    n = uv_fs_read(NULL, &call, file, &buffer, 1, (int64_t)offset, NULL);
    uv_fs_req_cleanup(&call);
    return n;
}

static void close_file(void *user, int file)
{
    uv_fs_t call;

    (void)user;
    (void)uv_fs_close(NULL, &call, file, NULL);
    uv_fs_req_cleanup(&call);
}

const eddy__file_calls eddy__system_files = {
    .open = open_file,
    .write = write_file,
    .read = read_file,
    .close = close_file,
};

void eddy__block_reason(int error, char *text, size_t size)
{
    static const char *const own[] = {
        [EDDY__BLOCK_SHORT] = "the file ends before what was written",
        [EDDY__BLOCK_CHANGED] = "what was read is not what was written",
        [EDDY__BLOCK_CIPHER] = "the host's cipher failed"};

    if (error < 0)
        uv_strerror_r(error, text, size);
    else
        (void)snprintf(text, size, "%s", own[error]);
}

bool eddy__block_is_full(int error)
{
    return error == UV_ENOSPC || error == UV_EFBIG || error == -EDQUOT;
}

/* ---- one block ---- */

static bool is_unwanted(eddy__block_file *file)
{
    bool is;

    eddy__mutex_lock(&file->mu);
    is = file->drops;
    eddy__mutex_unlock(&file->mu);
    return is;
}

/* All of the bytes, in as many calls as it takes. */
static int write_all(const eddy__block_file *file, const unsigned char *data,
                     size_t bytes, uint64_t offset)
{
    const eddy__file_calls *calls = file->calls;

    while (bytes > 0) {
        const int64_t n =
            calls->write(calls->user, file->file, data, bytes, offset);

        if (n == UV_EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? (int)n : UV_ENOSPC;
        data += n;
        bytes -= (size_t)n;
        offset += (uint64_t)n;
    }
    return 0;
}

static int read_all(const eddy__block_file *file, unsigned char *data,
                    size_t bytes, uint64_t offset)
{
    const eddy__file_calls *calls = file->calls;

    while (bytes > 0) {
        const int64_t n =
            calls->read(calls->user, file->file, data, bytes, offset);

        if (n == UV_EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? (int)n : EDDY__BLOCK_SHORT;
        data += n;
        bytes -= (size_t)n;
        offset += (uint64_t)n;
    }
    return 0;
}

static int write_part(const eddy__block_file *file, const eddy__block_io *io,
                      size_t at, size_t bytes)
{
    const eddy_spill_cipher *cipher = file->cipher;
    const uint64_t offset = io->offset + at;

    if (!cipher)
        return write_all(file, io->data + at, bytes, offset);
    if (!cipher->encrypt(cipher->user, io->serial, offset, io->data + at,
                         file->scratch, bytes))
        return EDDY__BLOCK_CIPHER;
    return write_all(file, file->scratch, bytes, offset);
}

static int read_part(const eddy__block_file *file, const eddy__block_io *io,
                     size_t at, size_t bytes)
{
    const eddy_spill_cipher *cipher = file->cipher;
    const uint64_t offset = io->offset + at;
    int error;

    if (!cipher)
        return read_all(file, io->data + at, bytes, offset);
    error = read_all(file, file->scratch, bytes, offset);
    if (error == 0 && !cipher->decrypt(cipher->user, io->serial, offset,
                                       file->scratch, io->data + at, bytes))
        error = EDDY__BLOCK_CIPHER;
    return error;
}

static void transfer(eddy__block_file *file, eddy__block_io *io)
{
    uint32_t checksum = 0;
    int error = 0;

    for (size_t at = 0; at < io->bytes && error == 0;) {
        const size_t rest = io->bytes - at;
        const size_t bytes = rest < EDDY__BLOCK_CALL ? rest : EDDY__BLOCK_CALL;

        error = io->is_write ? write_part(file, io, at, bytes)
                             : read_part(file, io, at, bytes);
        if (error == 0)
            checksum = eddy__crc32c(checksum, io->data + at, bytes);
        at += bytes;
        if (error == 0 && at < io->bytes && is_unwanted(file))
            error = UV_ECANCELED;
    }
    if (io->is_write)
        io->checksum = checksum;
    else if (error == 0 && checksum != io->checksum)
        error = EDDY__BLOCK_CHANGED;
    io->error = error;
}

/* ---- the thread ---- */

/* The one that is to be done next, now busy; NULL: none.  @thread holds mu */
static eddy__block_io *take(eddy__block_file *file)
{
    eddy__block_io **list = file->reads ? &file->reads : &file->writes;
    eddy__block_io *io = *list;

    if (!io)
        return NULL;
    *list = io->next;
    io->is_queued = false;
    io->is_busy = true;
    file->drops = false;
    return io;
}

static void work(void *arg)
{
    eddy__block_file *file = arg;

    eddy__mutex_lock(&file->mu);
    while (!file->is_ending) {
        eddy__block_io *io = take(file);

        if (!io) {
            eddy__cond_wait(&file->asked, &file->mu);
            continue;
        }
        eddy__mutex_unlock(&file->mu);
        transfer(file, io);
        eddy__mutex_lock(&file->mu);
        io->is_busy = false;
        eddy__cond_broadcast(&file->done);
    }
    eddy__mutex_unlock(&file->mu);
}

/* ---- opening and closing ---- */

static eddy_status make_locks(eddy__block_file *file, eddy_error *err)
{
    EDDY_TRY(eddy__mutex_init(&file->mu, err));
    if (eddy__cond_init(&file->asked, err) != EDDY_OK)
        goto no_asked;
    if (eddy__cond_init(&file->done, err) != EDDY_OK)
        goto no_done;
    return EDDY_OK;
no_done:
    eddy__cond_destroy(&file->asked);
no_asked:
    eddy__mutex_destroy(&file->mu);
    return EDDY_UNAVAILABLE;
}

static void free_scratch(eddy__block_file *file)
{
    eddy__free(file->allocator, file->scratch, 1, EDDY__BLOCK_CALL);
}

static eddy_status open_all(eddy__block_file *file, const char *folder,
                            int *out_error, eddy_error *err)
{
    eddy_error none;

    if (file->cipher) {
        file->scratch = eddy__allocate(file->allocator, 1, EDDY__BLOCK_CALL);
        if (!file->scratch)
            return eddy__fail_memory(err);
    }
    EDDY_TRY(make_locks(file, err));
    file->file = file->calls->open(file->calls->user, folder);
    if (file->file < 0) {
        *out_error = file->file;
        eddy__cond_destroy(&file->done);
        eddy__cond_destroy(&file->asked);
        eddy__mutex_destroy(&file->mu);
        return EDDY_UNAVAILABLE;
    }
    file->has_thread =
        eddy__thread_start(&file->thread, 0, work, file, &none) == EDDY_OK;
    file->is_open = true;
    return EDDY_OK;
}

/* NOLINTNEXTLINE(readability-function-size): what a file is made of. */
eddy_status eddy__block_file_open(eddy__block_file *file,
                                  const eddy_allocator *allocator,
                                  const eddy__file_calls *calls,
                                  const eddy_spill_cipher *cipher,
                                  const char *folder, int *out_error,
                                  eddy_error *err)
{
    eddy_status status;

    *out_error = 0;
    *file = (eddy__block_file){
        .allocator = allocator, .calls = calls, .cipher = cipher};
    status = open_all(file, folder, out_error, err);
    if (status != EDDY_OK) {
        free_scratch(file);
        *file = (eddy__block_file){.allocator = NULL};
    }
    return status;
}

void eddy__block_file_close(eddy__block_file *file)
{
    if (!file->is_open)
        return;
    if (file->has_thread) {
        eddy__mutex_lock(&file->mu);
        file->is_ending = true;
        eddy__cond_broadcast(&file->asked);
        eddy__mutex_unlock(&file->mu);
        eddy__thread_join(&file->thread);
    }
    file->calls->close(file->calls->user, file->file);
    eddy__cond_destroy(&file->done);
    eddy__cond_destroy(&file->asked);
    eddy__mutex_destroy(&file->mu);
    free_scratch(file);
    *file = (eddy__block_file){.allocator = NULL};
}

/* ---- asking and waiting ---- */

/* @thread holds mu */
static void append(eddy__block_io **first, eddy__block_io **last,
                   eddy__block_io *io)
{
    if (*first)
        (*last)->next = io;
    else
        *first = io;
    *last = io;
}

void eddy__block_ask(eddy__block_file *file, eddy__block_io *io, bool is_write)
{
    io->is_write = is_write;
    io->error = 0;
    io->next = NULL;
    if (is_write)
        io->serial = file->serial++;
    if (!file->has_thread) {
        transfer(file, io);
        return;
    }
    eddy__mutex_lock(&file->mu);
    io->is_queued = true;
    if (is_write)
        append(&file->writes, &file->last_write, io);
    else
        append(&file->reads, &file->last_read, io);
    eddy__cond_signal(&file->asked);
    eddy__mutex_unlock(&file->mu);
}

static bool is_under_way(const eddy__block_io *io)
{
    return io->is_queued || io->is_busy;
}

bool eddy__block_is_done(eddy__block_file *file, const eddy__block_io *io)
{
    return eddy__block_wait(file, io, 0);
}

bool eddy__block_wait(eddy__block_file *file, const eddy__block_io *io,
                      uint64_t ns)
{
    bool is_done;

    eddy__mutex_lock(&file->mu);
    if (ns > 0 && is_under_way(io))
        eddy__cond_wait_for(&file->done, &file->mu, ns);
    is_done = !is_under_way(io);
    eddy__mutex_unlock(&file->mu);
    return is_done;
}

/* Takes one out of its list, where it is.  @thread holds mu */
static void take_back(eddy__block_file *file, eddy__block_io *io)
{
    eddy__block_io **link = io->is_write ? &file->writes : &file->reads;
    eddy__block_io **last = io->is_write ? &file->last_write : &file->last_read;
    eddy__block_io *before = NULL;

    while (*link != io) {
        before = *link;
        link = &before->next;
    }
    *link = io->next;
    if (*last == io)
        *last = before;
    io->is_queued = false;
}

void eddy__block_forget(eddy__block_file *file, eddy__block_io *io)
{
    eddy__mutex_lock(&file->mu);
    if (io->is_queued)
        take_back(file, io);
    if (io->is_busy)
        file->drops = true;
    while (io->is_busy)
        eddy__cond_wait(&file->done, &file->mu);
    eddy__mutex_unlock(&file->mu);
}
