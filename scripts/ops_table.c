/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes docs/ops.md to standard output: every op of the registry with its
 * signature, its dtypes, and the recorded cases that hold it.
 *
 *     ops_table tests/conformance/tf
 *
 * The same tree gives the same bytes, so that `make lint` can tell whether the
 * page is up to date.
 */
#include "autodiff/coverage.h"
#include "frames/analysis/analysis.h"
#include "frames/lower/functional.h"
#include "ops/ops.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NAMED 3 /* cases of an op; the others are counted */
#define PATH_ROOM 1024

typedef struct family {
    const char *name;
    const eddy__op_table *table;
} family;

static const family families[] = {{"control", &eddy__control_ops},
                                  {"functional", &eddy__functional_ops},
#define X(family) {#family, &eddy__##family##_ops},
                                  EDDY__OP_FAMILY_MAP(X)
#undef X
};

#define N_FAMILIES (sizeof families / sizeof *families)

static void die(const char *what, const char *why)
{
    fprintf(stderr, "ops_table: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

/* root/rest; ends the program if that is too long. */
static void join(char *out_path, size_t size, const char *root,
                 const char *rest)
{
    const int n = snprintf(out_path, size, "%s/%s", root, rest);

    if (n < 0 || (size_t)n >= size)
        die(root, "a path that is too long");
}

/* ---- the recorded cases ---- */

typedef struct recorded {
    char name[256]; /* group/case */
    json_t *file, *ops;
} recorded;

typedef struct cases {
    recorded *items;
    size_t n, capacity;
} cases;

/* A case that records values, not only mistakes. */
static bool has_values(const json_t *file)
{
    const json_t *runs = json_object_get(file, "runs");

    for (size_t i = 0; i < json_array_size(runs); i++)
        if (json_object_get(json_array_get(runs, i), "expect"))
            return true;
    return false;
}

static recorded *new_case(cases *all)
{
    if (all->n == all->capacity) {
        all->capacity = all->capacity > 0 ? 2 * all->capacity : 256;
        all->items = realloc(all->items, all->capacity * sizeof *all->items);
        if (!all->items)
            die("cases", "out of memory");
    }
    return &all->items[all->n];
}

static void read_case(cases *all, const char *root, const char *group,
                      const char *name)
{
    recorded *item = new_case(all);
    char folder[PATH_ROOM], path[PATH_ROOM];
    json_error_t err;

    join(item->name, sizeof item->name, group, name);
    join(folder, sizeof folder, root, item->name);
    join(path, sizeof path, folder, "case.json");
    item->file = json_load_file(path, 0, &err);
    if (!item->file)
        die(path, err.text);
    item->ops = json_object_get(item->file, "ops");
    if (!json_is_array(item->ops))
        die(path, "no list of ops");
    if (has_values(item->file))
        all->n++;
    else
        json_decref(item->file);
}

static DIR *open_folder(const char *path)
{
    DIR *folder = opendir(path);

    if (!folder)
        die(path, "cannot be read");
    return folder;
}

/* The next name in a folder, but for hidden ones; NULL at the end. */
static const char *next_name(DIR *folder)
{
    const struct dirent *entry;

    do
        entry = readdir(folder);
    while (entry && entry->d_name[0] == '.');
    return entry ? entry->d_name : NULL;
}

static void read_group(cases *all, const char *root, const char *group)
{
    char path[PATH_ROOM];
    const char *name;
    DIR *folder;

    join(path, sizeof path, root, group);
    folder = open_folder(path);
    while ((name = next_name(folder)) != NULL)
        read_case(all, root, group, name);
    closedir(folder);
}

static void read_cases(cases *all, const char *root)
{
    DIR *folder = open_folder(root);
    const char *group;

    while ((group = next_name(folder)) != NULL)
        read_group(all, root, group);
    closedir(folder);
    if (all->n == 0)
        die(root, "no cases");
}

/* Those with the fewest ops first: they say the most of each. */
static int compare_cases(const void *a, const void *b)
{
    const recorded *x = a, *y = b;
    const size_t n = json_array_size(x->ops), m = json_array_size(y->ops);

    return n != m ? (n > m ? 1 : -1) : strcmp(x->name, y->name);
}

static bool case_holds(const recorded *item, const char *op)
{
    for (size_t i = 0; i < json_array_size(item->ops); i++) {
        const char *name = json_string_value(json_array_get(item->ops, i));

        if (name && strcmp(name, op) == 0)
            return true;
    }
    return false;
}

static size_t count_cases(const cases *all, const char *op)
{
    size_t n = 0;

    for (size_t i = 0; i < all->n; i++)
        n += case_holds(&all->items[i], op);
    return n;
}

/* ---- one op ---- */

/* A text that may hold what Markdown or a line would take for its own. */
static void put_text(const char *text)
{
    for (; *text; text++) {
        if (*text == '\n')
            fputs("\\n", stdout);
        else if (*text == '|')
            fputs("\\|", stdout);
        else
            putchar(*text);
    }
}

static void put_code(const char *text)
{
    if (!*text)
        return;
    putchar('`');
    put_text(text);
    putchar('`');
}

/* A set of dtypes in as few words as the groups of signatures allow. */
static void put_dtypes(eddy__dtype_set set)
{
    static const struct {
        const char *name;
        eddy__dtype_set set;
    } groups[] = {
        {"type", EDDY__ALL_DTYPES},  {"number", EDDY__NUMBERS},
        {"real", EDDY__REALS},       {"complex", EDDY__COMPLEXES},
        {"integer", EDDY__INTEGERS}, {"float", EDDY__FLOATS},
        {"index", EDDY__INDEXES},
    };
    const char *between = "";

    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if ((set & groups[i].set) == groups[i].set) {
            printf("%s%s", between, groups[i].name);
            set &= ~groups[i].set;
            between = ", ";
        }
    for (int d = 1; d < EDDY_DTYPE_COUNT; d++)
        if (eddy__dtype_in((eddy_dtype)d, set)) {
            printf("%s%s", between, eddy_dtype_name((eddy_dtype)d));
            between = ", ";
        }
}

static void put_types(const eddy_op_info *op)
{
    if (op->n_types == 0)
        fputs("fixed", stdout);
    for (size_t i = 0; i < op->n_types; i++) {
        printf("%s%s: ", i > 0 ? "; " : "", op->types[i].attr);
        put_dtypes(op->types[i].dtypes);
    }
}

static void put_cases(const cases *all, const char *op)
{
    const size_t n = count_cases(all, op);
    size_t n_named = 0;

    for (size_t i = 0; i < all->n && n_named < MOST_NAMED; i++)
        if (case_holds(&all->items[i], op))
            printf("%s%s", n_named++ > 0 ? ", " : "", all->items[i].name);
    if (n > n_named)
        printf(" and %zu more", n - n_named);
}

static void put_op(const cases *all, const eddy_op_info *op)
{
    const char *gradient = eddy__coverage_words(op->name);

    printf("| %s | ", op->name);
    put_code(op->inputs);
    fputs(" | ", stdout);
    put_code(op->outputs);
    fputs(" | ", stdout);
    put_code(op->attrs);
    fputs(" | ", stdout);
    put_types(op);
    printf(" | %s | ", gradient ? gradient : "");
    put_text(op->doc ? op->doc : "");
    fputs(" | ", stdout);
    put_text(op->source ? op->source : "");
    fputs(" | ", stdout);
    put_cases(all, op->name);
    puts(" |");
}

/* ---- the page ---- */

static int compare_ops(const void *a, const void *b)
{
    const eddy_op_info *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static void put_family(const eddy_context *ctx, const cases *all,
                       const family *f)
{
    const size_t n = f->table->n;
    eddy_op_info *ops = calloc(n, sizeof *ops);

    if (!ops)
        die(f->name, "out of memory");
    for (size_t i = 0; i < n; i++)
        if (!eddy_op_find(ctx, f->table->specs[i].name, &ops[i]))
            die(f->table->specs[i].name, "not registered");
    qsort(ops, n, sizeof *ops, compare_ops);
    printf("\n## %s\n\n", f->name);
    puts("| op | inputs | outputs | attributes | dtypes | differentiable "
         "| computes | definition | cases |");
    puts("|---|---|---|---|---|---|---|---|---|");
    for (size_t i = 0; i < n; i++)
        put_op(all, &ops[i]);
    free(ops);
}

static void put_head(const eddy_context *ctx, const cases *all)
{
    size_t n = 0, n_held = 0;
    const char *name;

    for (; (name = eddy_op_name(ctx, n)) != NULL; n++)
        n_held += count_cases(all, name) > 0;
    puts("# Ops\n\n"
         "`make docs` writes this page from the tables of ops: change those, "
         "not this.\n");
    printf("%zu ops in %zu families; %zu of them occur in recorded cases "
           "that have values.\n\n",
           n, N_FAMILIES, n_held);
    puts("- Signatures are in the language of `eddy/op.h`.\n"
         "- dtypes are what the type attributes may be, in its groups: type = "
         "every dtype, number = real and complex, real = float and integer, "
         "float = float16, bfloat16, float32 and float64, complex = complex64 "
         "and complex128, integer = the eight integers, "
         "index = int32 and int64. An op that moves elements of any type may "
         "still refuse resource and variant when a plan is made.\n"
         "- differentiable: yes where eddy has its gradient "
         "(autodiff/grads.def), else why there is none "
         "(autodiff/no_grads.def).\n"
         "- cases are folders of tests/conformance/tf, those with the fewest "
         "ops first.");
}

int main(int argc, char **argv)
{
    cases all = {.n = 0};
    eddy_context *ctx;
    eddy_error err;

    if (argc != 2)
        die("usage", "ops_table FOLDER-OF-CASES");
    if (eddy_context_create(NULL, &ctx, &err) != EDDY_OK)
        die("context", err.message);
    read_cases(&all, argv[1]);
    qsort(all.items, all.n, sizeof *all.items, compare_cases);
    put_head(ctx, &all);
    for (size_t i = 0; i < N_FAMILIES; i++)
        put_family(ctx, &all, &families[i]);
    for (size_t i = 0; i < all.n; i++)
        json_decref(all.items[i].file);
    free(all.items);
    eddy_context_destroy(ctx);
    if (fflush(stdout) != 0 || ferror(stdout))
        die("standard output", "cannot be written");
    return EXIT_SUCCESS;
}
