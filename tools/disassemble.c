/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Disassembling by objdump, which reads a file: all code goes into one that has
 * no name left once it is open, and what comes back is put under the lines that
 * the plan has for it, by address.
 */
#include "tools/disassemble.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A line of the plan, and the code that follows it. */
typedef struct part {
    char text[256];
    size_t at, n;
} part;

typedef struct listing {
    part *parts;
    size_t n_parts, parts_room;
    uint8_t *bytes;
    size_t n_bytes, bytes_room;
} listing;

static bool make_room(void **array, size_t *room, size_t needed, size_t size)
{
    size_t n = *room > 0 ? *room : 64;
    void *grown;

    if (needed <= *room)
        return true;
    while (n < needed)
        n *= 2;
    grown = realloc(*array, n * size);
    if (!grown)
        return false;
    *array = grown;
    *room = n;
    return true;
}

static bool add_part(void *user, const char *line, const void *bytes,
                     size_t n_bytes)
{
    listing *l = user;
    part *p;

    if (!make_room((void **)&l->parts, &l->parts_room, l->n_parts + 1,
                   sizeof *l->parts) ||
        !make_room((void **)&l->bytes, &l->bytes_room, l->n_bytes + n_bytes, 1))
        return false;
    p = &l->parts[l->n_parts++];
    snprintf(p->text, sizeof p->text, "%s", line);
    p->at = l->n_bytes;
    p->n = n_bytes;
    if (n_bytes > 0)
        memcpy(l->bytes + l->n_bytes, bytes, n_bytes);
    l->n_bytes += n_bytes;
    return true;
}

static void print_head(const part *p)
{
    printf(strncmp(p->text, "frame ", 6) == 0 ? "%s\n" : "  %s\n", p->text);
}

static void print_bytes(const listing *l)
{
    for (size_t i = 0; i < l->n_parts; i++) {
        const part *p = &l->parts[i];

        print_head(p);
        for (size_t j = 0; j < p->n; j++)
            printf("%s%02x%s", j % 16 == 0 ? "      " : " ",
                   l->bytes[p->at + j],
                   j % 16 == 15 || j + 1 == p->n ? "\n" : "");
    }
}

/* The lines of objdump that begin with an address. */
static bool print_disassembled(const listing *l, FILE *from)
{
    char line[512];
    size_t next = 0;
    bool any = false;

    while (fgets(line, sizeof line, from)) {
        char *end;
        const unsigned long long at = strtoull(line, &end, 16);

        if (end == line || *end != ':')
            continue;
        any = true;
        while (next < l->n_parts && l->parts[next].at <= at)
            print_head(&l->parts[next++]);
        end += 1 + strspn(end + 1, " \t");
        printf("    %6llx  %s", at, end);
    }
    while (any && next < l->n_parts)
        print_head(&l->parts[next++]);
    return any;
}

/* False: objdump could not be run, and nothing has been printed. */
static bool run_objdump(const listing *l)
{
    char path[] = "/tmp/eddyXXXXXX", command[256];
    const int file = mkstemp(path);
    bool is_done = false;

    if (file < 0)
        return false;
    if (write(file, l->bytes, l->n_bytes) == (ssize_t)l->n_bytes) {
        FILE *from;

        snprintf(command, sizeof command,
                 "objdump -D -b binary -m %s %s --no-show-raw-insn %s "
                 "2>/dev/null",
                 eddy_native_machine(),
                 strncmp(eddy_native_machine(), "i386", 4) == 0 ? "-M intel"
                                                                : "",
                 path);
        from = popen(command, "r");
        if (from) {
            is_done = print_disassembled(l, from);
            pclose(from);
        }
    }
    close(file);
    unlink(path);
    return is_done;
}

bool eddy__disassemble(const eddy_plan *plan)
{
    listing l = {0};
    const bool is_whole = eddy_plan_each_native(plan, add_part, &l);

    fflush(stdout);
    if (is_whole && (l.n_bytes == 0 || !run_objdump(&l)))
        print_bytes(&l);
    free(l.parts);
    free(l.bytes);
    return is_whole && !ferror(stdout);
}
