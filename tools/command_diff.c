/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `eddy diff`: two recorded runs, or a recorded run and values by node name,
 * and the first node, frame path and iteration where they differ.
 *
 * A recorded run is a .json of `eddy trace`.  A folder has NAME.npy, or
 * NAME.K.npy for the K-th time that the node was live, iterations in order;
 * names are written as by `eddy run --out`.
 */
#include "tools/commands.h"

#include "tools/message.h"

#include "eddy/npy.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* How far summaries of other makers' values may be apart. */
#define RTOL 1e-5
#define ATOL 1e-6

typedef struct token {
    const char *name, *path, *state;
    json_int_t number;
    const json_t *values; /* NULL: none */
    size_t turn;          /* of its node's live ones, by path */
} token;

typedef struct recording {
    json_t *root;
    token *tokens;
    size_t n;
} recording;

/* ---- reading ---- */

static bool is_token(const json_t *event)
{
    const char *phase = json_string_value(json_object_get(event, "ph"));

    return phase != NULL && strcmp(phase, "X") == 0;
}

static token token_of(const json_t *event)
{
    const json_t *args = json_object_get(event, "args");
    const char *name = json_string_value(json_object_get(event, "name"));
    const char *path = json_string_value(json_object_get(args, "path"));
    const char *state = json_string_value(json_object_get(event, "cat"));

    return (token){.name = name ? name : "",
                   .path = path ? path : "",
                   .state = state ? state : "",
                   .number =
                       json_integer_value(json_object_get(args, "number")),
                   .values = json_object_get(args, "values")};
}

static eddy__exit load(const char *path, recording *out)
{
    json_error_t problem;
    const json_t *events;

    out->root = json_load_file(path, 0, &problem);
    events = json_object_get(out->root, "traceEvents");
    if (!json_is_array(events)) {
        eddy__message_complain("%s: %s", path,
                               out->root == NULL ? problem.text
                                                 : "it is no recorded run");
        return EDDY__EXIT_FAILED;
    }
    out->tokens = calloc(json_array_size(events) + 1, sizeof *out->tokens);
    if (out->tokens == NULL) {
        eddy__message_complain("out of memory");
        return EDDY__EXIT_FAILED;
    }
    for (size_t i = 0; i < json_array_size(events); i++)
        if (is_token(json_array_get(events, i)))
            out->tokens[out->n++] = token_of(json_array_get(events, i));
    return EDDY__EXIT_DONE;
}

static void release(recording *r)
{
    free(r->tokens);
    json_decref(r->root);
}

/* ---- order ---- */

/* By frame names and by numbers of iterations, not by their digits. */
static int compare_paths(const char *a, const char *b)
{
    while (*a != '\0' && *b != '\0') {
        if (*a == '[' && *b == '[') {
            char *end_a, *end_b;
            const long long x = strtoll(a + 1, &end_a, 10);
            const long long y = strtoll(b + 1, &end_b, 10);

            if (x != y)
                return x < y ? -1 : 1;
            a = end_a;
            b = end_b;
        } else if (*a != *b) {
            return *a < *b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    return *a == *b ? 0 : *a == '\0' ? -1 : 1;
}

static int compare_tokens(const void *left, const void *right)
{
    const token *a = left, *b = right;
    const int order = strcmp(a->name, b->name);

    return order != 0 ? order : compare_paths(a->path, b->path);
}

static bool is_live(const token *t)
{
    return strcmp(t->state, "live") == 0;
}

static void sort_tokens(recording *r)
{
    size_t turn = 0;

    if (r->n > 0)
        qsort(r->tokens, r->n, sizeof *r->tokens, compare_tokens);
    for (size_t i = 0; i < r->n; i++) {
        if (i > 0 && strcmp(r->tokens[i].name, r->tokens[i - 1].name) != 0)
            turn = 0;
        r->tokens[i].turn = turn;
        turn += is_live(&r->tokens[i]);
    }
}

/* ---- what differs ---- */

typedef struct difference {
    token *a;         /* the first one, in the order of the first run */
    char what[512];   /* and how */
    size_t n, n_seen; /* that differ, of those compared */
    size_t n_only_a, n_only_b;
} difference;

static void note(difference *d, token *a, const char *what)
{
    d->n++;
    if (d->a != NULL && d->a->number <= a->number)
        return;
    d->a = a;
    (void)snprintf(d->what, sizeof d->what, "%s", what);
}

static const char *text_of(const json_t *value, const char *key)
{
    const char *text = json_string_value(json_object_get(value, key));

    return text ? text : "";
}

/* The first value of a token in words. */
static const char *words_of(const token *t)
{
    return t->values ? text_of(json_array_get(t->values, 0), "text") : "none";
}

static bool are_equal(const token *a, const token *b)
{
    if (strcmp(a->state, b->state) != 0 ||
        json_array_size(a->values) != json_array_size(b->values))
        return false;
    for (size_t i = 0; i < json_array_size(a->values); i++) {
        const json_t *x = json_array_get(a->values, i);
        const json_t *y = json_array_get(b->values, i);

        if (strcmp(text_of(x, "dtype"), text_of(y, "dtype")) != 0 ||
            strcmp(text_of(x, "hash"), text_of(y, "hash")) != 0)
            return false;
    }
    return true;
}

static void compare_runs(recording *a, recording *b, difference *d)
{
    size_t i = 0, k = 0;

    while (i < a->n && k < b->n) {
        const int order = compare_tokens(&a->tokens[i], &b->tokens[k]);
        char what[512];

        if (order < 0) {
            d->n_only_a++;
            i++;
            continue;
        }
        if (order > 0) {
            d->n_only_b++;
            k++;
            continue;
        }
        d->n_seen++;
        if (!are_equal(&a->tokens[i], &b->tokens[k])) {
            (void)snprintf(what, sizeof what, "%s, %s\nand  %s, %s",
                           a->tokens[i].state, words_of(&a->tokens[i]),
                           b->tokens[k].state, words_of(&b->tokens[k]));
            note(d, &a->tokens[i], what);
        }
        i++;
        k++;
    }
    d->n_only_a += a->n - i;
    d->n_only_b += b->n - k;
}

/* ---- values of another maker ---- */

typedef struct summary {
    double min, max, mean;
    size_t n_nan, n_infinite;
} summary;

/* Element `i` of a numeric tensor; complex ones have no order. */
static bool read_element(const eddy_tensor *t, size_t i, double *out)
{
    const void *data = eddy_tensor_data(t);

    switch (eddy_tensor_dtype(t)) {
    case EDDY_FLOAT32:
        *out = (double)((const float *)data)[i];
        return true;
    case EDDY_FLOAT64:
        *out = ((const double *)data)[i];
        return true;
    case EDDY_INT32:
        *out = ((const int32_t *)data)[i];
        return true;
    case EDDY_INT64:
        *out = (double)((const int64_t *)data)[i];
        return true;
    case EDDY_BOOL:
    case EDDY_UINT8:
        *out = ((const uint8_t *)data)[i];
        return true;
    default:
        return false;
    }
}

static bool summarise(const eddy_tensor *t, summary *out)
{
    const size_t size = eddy_dtype_size(eddy_tensor_dtype(t));
    const size_t n = size > 0 ? eddy_tensor_bytes(t) / size : 0;
    size_t n_finite = 0;
    double sum = 0;

    *out = (summary){.min = 0};
    for (size_t i = 0; i < n; i++) {
        double x;

        if (!read_element(t, i, &x))
            return false;
        if (isnan(x)) {
            out->n_nan++;
        } else if (isinf(x)) {
            out->n_infinite++;
        } else {
            out->min = n_finite == 0 || x < out->min ? x : out->min;
            out->max = n_finite == 0 || x > out->max ? x : out->max;
            sum += x;
            n_finite++;
        }
    }
    out->mean = n_finite > 0 ? sum / (double)n_finite : 0;
    return n > 0;
}

static double number_of(const json_t *value, const char *key)
{
    const json_t *number = json_object_get(value, key);

    return json_is_number(number) ? json_number_value(number) : (double)NAN;
}

static bool are_near(double a, double b)
{
    return fabs(a - b) <= ATOL + RTOL * fabs(b);
}

static bool has_shape(const json_t *value, const eddy_shape *shape)
{
    const json_t *dims = json_object_get(value, "shape");

    if (json_array_size(dims) != (size_t)shape->rank)
        return false;
    for (int32_t i = 0; i < shape->rank; i++)
        if (json_integer_value(json_array_get(dims, (size_t)i)) !=
            shape->dims[i])
            return false;
    return true;
}

/* NULL, or what is wrong with the first value of a token. */
static const char *find_fault(const json_t *value, const eddy_tensor *want)
{
    summary s;

    if (strcmp(text_of(value, "dtype"),
               eddy_dtype_name(eddy_tensor_dtype(want))) != 0)
        return "another dtype";
    if (!has_shape(value, eddy_tensor_shape(want)))
        return "another shape";
    if (!summarise(want, &s))
        return NULL;
    if ((double)s.n_nan != number_of(value, "nan") ||
        (double)s.n_infinite != number_of(value, "inf"))
        return "another number of NaNs or infinities";
    if (s.n_nan + s.n_infinite > 0 && eddy_tensor_shape(want)->rank == 0)
        return NULL;
    return are_near(number_of(value, "min"), s.min) &&
                   are_near(number_of(value, "max"), s.max) &&
                   are_near(number_of(value, "mean"), s.mean)
               ? NULL
               : "other values";
}

static char *value_path(const char *folder, const token *t, bool has_turn)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz0123456789._-";
    const size_t size = strlen(folder) + 3 * strlen(t->name) + 32;
    char *path = malloc(size);
    size_t n;

    if (path == NULL)
        return NULL;
    n = (size_t)snprintf(path, size, "%s/", folder);
    for (const char *c = t->name; *c != '\0'; c++) {
        if (strchr(plain, *c) != NULL)
            path[n++] = *c;
        else
            n += (size_t)snprintf(path + n, size - n, "%%%02X",
                                  (unsigned)(unsigned char)*c);
    }
    if (has_turn)
        (void)snprintf(path + n, size - n, ".%zu.npy", t->turn);
    else
        (void)snprintf(path + n, size - n, ".npy");
    return path;
}

/* The value of a token in the folder; NULL: there is none, or no memory. */
static eddy_tensor *load_value(const char *folder, const token *t)
{
    eddy_tensor *value = NULL;

    for (int pass = 0; pass < 2 && value == NULL; pass++) {
        char *path = value_path(folder, t, pass == 0);
        eddy_error err = {.code = EDDY_OK};

        if (path != NULL && (pass == 0 || t->path[0] == '\0') &&
            eddy_npy_load(NULL, path, &value, &err) != EDDY_OK)
            value = NULL;
        free(path);
    }
    return value;
}

static void compare_with_folder(recording *a, const char *folder, difference *d)
{
    for (size_t i = 0; i < a->n; i++) {
        token *t = &a->tokens[i];
        eddy_tensor *want;
        const char *fault;

        if (!is_live(t) || json_array_size(t->values) == 0)
            continue;
        want = load_value(folder, t);
        if (want == NULL) {
            d->n_only_a++;
            continue;
        }
        d->n_seen++;
        fault = find_fault(json_array_get(t->values, 0), want);
        if (fault != NULL) {
            char what[512];
            summary s = {.min = 0};

            (void)summarise(want, &s);
            (void)snprintf(
                what, sizeof what,
                "%s\nand  %s: %.9g..%.9g mean %.9g, %zu nan, %zu inf",
                words_of(t), fault, s.min, s.max, s.mean, s.n_nan,
                s.n_infinite);
            note(d, t, what);
        }
        eddy_tensor_release(want);
    }
}

/* ---- */

static eddy__exit report(const difference *d)
{
    if (d->n_seen == 0) {
        eddy__message_complain("they have nothing in common to compare");
        return EDDY__EXIT_FAILED;
    }
    if (d->n_only_a + d->n_only_b > 0)
        printf("%zu tokens are only in the first, %zu only in the second\n",
               d->n_only_a, d->n_only_b);
    if (d->n == 0) {
        printf("%zu tokens, all the same\n", d->n_seen);
        return EDDY__EXIT_DONE;
    }
    printf("%zu of %zu tokens differ, the first:\n%s%s%s\n     %s\n", d->n,
           d->n_seen, d->a->name, d->a->path[0] != '\0' ? " in " : "",
           d->a->path, d->what);
    return EDDY__EXIT_FAILED;
}

static bool is_a_folder(const char *path)
{
    struct stat found;

    return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

static eddy__exit run(const eddy__options *options)
{
    recording a = {.n = 0}, b = {.n = 0};
    difference d = {.n = 0};
    const char *second;
    eddy__exit result;
    bool is_folder;

    if (options->paths.n != 2) {
        eddy__message_complain(
            "two recorded runs are wanted: A.json, and B.json or a "
            "folder");
        return EDDY__EXIT_USAGE;
    }
    second = options->paths.items[1];
    is_folder = is_a_folder(second);
    result = load(options->paths.items[0], &a);
    if (result == EDDY__EXIT_DONE && !is_folder)
        result = load(second, &b);
    if (result == EDDY__EXIT_DONE) {
        sort_tokens(&a);
        sort_tokens(&b);
        if (is_folder)
            compare_with_folder(&a, second, &d);
        else
            compare_runs(&a, &b, &d);
        result = report(&d);
    }
    release(&a);
    release(&b);
    return result;
}

const eddy__command eddy__command_diff = {
    .name = "diff",
    .arguments = "A.json B.json|DIR",
    .summary = "compare two recorded runs node by node",
    .details =
        "Compares what `eddy trace -o A.json` wrote with another such file,\n"
        "of other workers, another build or another level, bit by bit: the\n"
        "values of a node in an iteration have the same hash.  Prints the\n"
        "first node, in the order of A, with its frame path and iteration.\n"
        "\n"
        "Of a folder, values come from NAME.npy, or NAME.K.npy for the K-th\n"
        "time that the node was live, iterations in order, as\n"
        "scripts/tf_compare.py writes them from TensorFlow; their dtype,\n"
        "shape, least, greatest and mean must agree to five digits.\n"
        "\n"
        "The status is 0 if all agree and 1 if not.\n",
    .examples = "  eddy trace loop.pb --fetch y -o a.json\n"
                "  eddy trace loop.pb --fetch y --workers 4 -o b.json\n"
                "  eddy diff a.json b.json\n",
    .options = EDDY__FOR_DIFF,
    .run = run,
};
