/* SPDX-License-Identifier: Apache-2.0 */
/* Strings in chunks, and in blocks of their own. */
#include "core/value/texts.h"

#include "core/base/memory.h"
#include "core/value/heap.h"

/* From so many elements on a tensor has chunks. */
#define MANY 64

/* Longer strings have blocks of their own. */
#define LONGEST ((size_t)1 << 10)

/* Bytes of the first chunk, and the most that one has; each is twice the last
 * one. */
#define FIRST ((size_t)1 << 12)
#define LARGEST ((size_t)1 << 20)

/* What the byte before a string says. */
enum { ON_ITS_OWN, IN_A_CHUNK };

typedef struct chunk {
    struct chunk *before;
    size_t size; /* of the block, this header included */
} chunk;

/* Stands in the first chunk, behind its header. */
typedef struct texts {
    chunk *last;
    char *next;  /* in the last chunk */
    size_t left; /* bytes from there on */
    int64_t n_own;
    bool has_gaps; /* a string in a chunk was replaced */
} texts;

/* Those of a tensor, NULL before the first; strings are never the host's. */
static texts *texts_of(const eddy_tensor *tensor)
{
    return tensor->user;
}

static bool has_chunks(const eddy_tensor *tensor)
{
    return tensor->count >= MANY;
}

/* The memory of strings is charged as blocks are, but never cached. */
static void *allocate(const eddy_tensor *tensor, size_t size)
{
    return tensor->account ? eddy__account_allocate(tensor->account, size)
                           : eddy__allocate(tensor->allocator, 1, size);
}

static void release(const eddy_tensor *tensor, void *memory, size_t size)
{
    if (tensor->account)
        eddy__account_free(tensor->account, memory, size);
    else
        eddy__free(tensor->allocator, memory, 1, size);
}

/* Another chunk with `header` bytes set aside; NULL without memory. */
static chunk *add_chunk(const eddy_tensor *tensor, size_t size, size_t header,
                        texts *to)
{
    chunk *made = allocate(tensor, size);

    if (!made)
        return NULL;
    *made = (chunk){.before = to->last, .size = size};
    to->last = made;
    to->next = (char *)made + header;
    to->left = size - header;
    return made;
}

static bool begin(eddy_tensor *tensor)
{
    texts to = {.last = NULL};
    chunk *first;

    if (texts_of(tensor))
        return true;
    first = add_chunk(tensor, FIRST, sizeof *first + sizeof to, &to);
    if (!first)
        return false;
    tensor->user = first + 1;
    *texts_of(tensor) = to;
    return true;
}

static char *take(eddy_tensor *tensor, size_t size)
{
    texts *from = texts_of(tensor);
    char *at;

    if (from->left < size) {
        const size_t last = from->last->size;

        if (!add_chunk(tensor, last < LARGEST ? 2 * last : last, sizeof(chunk),
                       from))
            return NULL;
    }
    at = from->next;
    from->next += size;
    from->left -= size;
    *at = IN_A_CHUNK;
    return at + 1;
}

/* `length` and the two bytes around it do not overflow. */
static char *take_own(eddy_tensor *tensor, size_t length)
{
    char *at = allocate(tensor, length + 2);

    if (!at)
        return NULL;
    *at = ON_ITS_OWN;
    texts_of(tensor)->n_own++;
    return at + 1;
}

char *eddy__texts_allocate(eddy_tensor *tensor, size_t length)
{
    if (length > SIZE_MAX - 2)
        return NULL;
    if (!has_chunks(tensor))
        return allocate(tensor, length + 1);
    if (!begin(tensor))
        return NULL;
    return length <= LONGEST && !texts_of(tensor)->has_gaps
               ? take(tensor, length + 2)
               : take_own(tensor, length);
}

void eddy__texts_free(eddy_tensor *tensor, const eddy__string *string)
{
    if (!string->data)
        return;
    if (!has_chunks(tensor)) {
        release(tensor, string->data, string->length + 1);
    } else if (string->data[-1] == IN_A_CHUNK) {
        texts_of(tensor)->has_gaps = true;
    } else {
        release(tensor, string->data - 1, string->length + 2);
        texts_of(tensor)->n_own--;
    }
}

void eddy__texts_destroy(eddy_tensor *tensor)
{
    const texts *of = has_chunks(tensor) ? texts_of(tensor) : NULL;
    const eddy__string *strings = tensor->data;
    chunk *last;

    if (has_chunks(tensor) && !of)
        return;
    if (!of || of->n_own > 0)
        for (int64_t i = 0; i < tensor->count; i++)
            eddy__texts_free(tensor, &strings[i]);
    if (!of)
        return;
    last = of->last;
    tensor->user = NULL;
    while (last) {
        chunk *before = last->before;

        release(tensor, last, last->size);
        last = before;
    }
}
