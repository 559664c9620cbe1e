/* SPDX-License-Identifier: Apache-2.0 */
/* Characters of UTF-8: reading and writing one. */
#include "ops/misc/utf8.h"

/* What a first byte says: how many follow, and what the next may be. */
typedef struct lead {
    int more;
    unsigned char least, most;
} lead;

static lead lead_of(unsigned char c)
{
    lead l = {0, 0x80, 0xbf};

    if (c >= 0xc2 && c <= 0xdf)
        l.more = 1;
    else if (c >= 0xe0 && c <= 0xef)
        l.more = 2;
    else if (c >= 0xf0 && c <= 0xf4)
        l.more = 3;
    if (c == 0xe0)
        l.least = 0xa0;
    else if (c == 0xed)
        l.most = 0x9f;
    else if (c == 0xf0)
        l.least = 0x90;
    else if (c == 0xf4)
        l.most = 0x8f;
    return l;
}

int32_t eddy__utf8_next(const eddy__string *s, size_t *at)
{
    const unsigned char first = (unsigned char)s->data[(*at)++];
    lead l = lead_of(first);
    int32_t c = first & (0x3f >> l.more);

    if (first < 0x80)
        return first;
    if (l.more == 0)
        return EDDY__UTF8_MISTAKE;
    for (; l.more > 0; l.more--) {
        const unsigned char next =
            *at < s->length ? (unsigned char)s->data[*at] : 0;

        if (next < l.least || next > l.most)
            return EDDY__UTF8_MISTAKE;
        c = c << 6 | (next & 0x3f);
        l.least = 0x80;
        l.most = 0xbf;
        ++*at;
    }
    return c;
}

/* The lowest `bytes` bytes, the highest of them first. */
static void add_bytes(eddy__text *text, uint32_t unit, int bytes)
{
    char data[4];

    for (int i = 0; i < bytes; i++)
        data[i] = (char)(unsigned char)(unit >> 8 * (bytes - 1 - i));
    eddy__text_add(text, data, (size_t)bytes);
}

void eddy__utf8_add(eddy__text *text, uint32_t c)
{
    if (c < 0x80) {
        add_bytes(text, c, 1);
    } else if (c < 0x800) {
        add_bytes(text, 0xc080 | (c & 0x7c0) << 2 | (c & 0x3f), 2);
    } else if (c < 0x10000) {
        add_bytes(text,
                  0xe08080 | (c & 0xf000) << 4 | (c & 0xfc0) << 2 | (c & 0x3f),
                  3);
    } else {
        add_bytes(text, 0xf0 | c >> 18, 1);
        add_bytes(text,
                  0x808080 | (c & 0x3f000) << 4 | (c & 0xfc0) << 2 | (c & 0x3f),
                  3);
    }
}
