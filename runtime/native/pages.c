/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages for machine code.  A system may refuse the second step (SELinux's
 * execmem, a filter of system calls), or any of them for want of memory.
 */
#include "runtime/native/pages.h"

#include "runtime/native/native.h"

#if EDDY_NATIVE && (defined(__unix__) || defined(__APPLE__))

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* All of them are written to: not one fault each. */
#ifdef MAP_POPULATE
#define AT_ONCE MAP_POPULATE
#else
#define AT_ONCE 0
#endif

uint8_t *eddy__pages_of_code(const uint8_t *code, size_t n, size_t *out_mapped)
{
    const long page = sysconf(_SC_PAGESIZE);
    size_t size;
    void *pages;

    if (page <= 0 || !eddy__add_size(n, (size_t)page - 1, &size))
        return NULL;
    size -= size % (size_t)page;
    pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | AT_ONCE, -1, 0);
    if (pages == MAP_FAILED)
        return NULL;
    memcpy(pages, code, n);
    if (mprotect(pages, size, PROT_READ | PROT_EXEC) != 0) {
        munmap(pages, size);
        return NULL;
    }
    __builtin___clear_cache((char *)pages, (char *)pages + size);
    *out_mapped = size;
    return pages;
}

void eddy__pages_release(uint8_t *pages, size_t n_mapped)
{
    if (pages)
        munmap(pages, n_mapped);
}

#else

uint8_t *eddy__pages_of_code(const uint8_t *code, size_t n, size_t *out_mapped)
{
    (void)code;
    (void)n;
    (void)out_mapped;
    return NULL;
}

void eddy__pages_release(uint8_t *pages, size_t n_mapped)
{
    (void)pages;
    (void)n_mapped;
}

#endif
