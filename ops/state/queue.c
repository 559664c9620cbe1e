/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FIFOQueue: elements of some components each, put in at one end and taken out
 * at the other by any nodes of any runs of a session.
 *
 * What can't be done at once waits: its kernel suspends itself and an attempt
 * stands in one of the queue's two lines.  Whoever changes the queue serves the
 * lines, and completes the kernels whose attempts are done once it has let go
 * of the lock.  An attempt belongs to the one who takes it out of its line.  A
 * run that fails, is cancelled or out of time takes its attempts out
 * (services->await).
 */
#include "core/base/memory.h"
#include "ops/array/items.h"
#include "ops/ops.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

typedef enum verb { ENQUEUE, ENQUEUE_MANY, DEQUEUE, DEQUEUE_MANY, UP_TO } verb;

/* What a node says of its queue. */
typedef struct creation {
    int64_t capacity;
    uint32_t n; /* components */
    eddy_dtype *dtypes;
    eddy_shape *shapes; /* unknown where none is given */
    char name[];
} creation;

typedef struct queue queue;

/* A kernel that waits, or one that is at work. */
typedef struct attempt {
    struct attempt *next;
    queue *queue;
    eddy_kernel *kernel;
    verb verb;
    int64_t n, done;    /* elements that are wanted, and put or taken so far */
    eddy__value *taken; /* `done` elements, with room for `capacity` */
    size_t capacity;
    eddy_status status;
} attempt;

/* Attempts that wait, the oldest first. */
typedef struct line {
    attempt *first, **end;
} line;

struct queue {
    eddy__resource base;
    eddy__mutex mu;
    bool is_closed; /* guarded by mu, as all below but the last four */
    line enqueues, dequeues;
    eddy__value *items; /* a ring of `room` elements of n components each */
    size_t items_capacity;
    int64_t room, first, count;
    uint64_t n_moves; /* elements that were put in or taken out */
    int64_t capacity; /* immutable */
    uint32_t n;
    const creation *made; /* immutable; in this block */
    const char *name;
};

/* ---- the resource ---- */

static queue *queue_of(eddy__resource *resource)
{
    return (queue *)(void *)resource;
}

static eddy__value *element(const queue *q, int64_t i)
{
    return &q->items[(size_t)((q->first + i) % q->room) * q->n];
}

static void clear_queue(eddy__resource *resource, eddy__heap *heap)
{
    queue *q = queue_of(resource);

    for (int64_t i = 0; i < q->count; i++)
        for (uint32_t c = 0; c < q->n; c++)
            eddy__value_clear(heap, &element(q, i)[c]);
    q->count = 0;
    eddy__free(q->base.allocator, q->items, q->items_capacity,
               sizeof *q->items);
    q->items = NULL;
    q->items_capacity = 0;
    q->room = 0;
}

static void deinit_queue(eddy__resource *resource)
{
    eddy__mutex_destroy(&queue_of(resource)->mu);
}

static const eddy__resource_type queues = {
    .name = "a queue", .clear = clear_queue, .deinit = deinit_queue};

/* The queue outlives the plan of the node that made it. */
static eddy__resource *make_queue(const eddy_allocator *allocator,
                                  const void *arg)
{
    const creation *c = arg;
    const size_t name = strlen(c->name);
    const size_t shapes = sizeof(queue) + c->n * sizeof(eddy_shape);
    const size_t dtypes = shapes + c->n * sizeof(eddy_dtype);
    const size_t made = (dtypes + 15) & ~(size_t)15;
    eddy__resource *resource = eddy__resource_create_named(
        allocator, &queues, made + sizeof *c + name + 1);
    queue *q = queue_of(resource);
    creation *own;

    if (!resource || eddy__mutex_init(&q->mu, NULL) != EDDY_OK) {
        eddy__free(allocator, resource, 1, made + sizeof *c + name + 1);
        return NULL;
    }
    own = (creation *)(void *)((char *)q + made);
    *own = *c;
    own->shapes = (eddy_shape *)(void *)(q + 1);
    own->dtypes = (eddy_dtype *)(void *)((char *)q + shapes);
    memcpy(own->shapes, c->shapes, c->n * sizeof *own->shapes);
    memcpy(own->dtypes, c->dtypes, c->n * sizeof *own->dtypes);
    memcpy(own->name, c->name, name + 1);
    q->made = own;
    q->name = own->name;
    q->n = c->n;
    q->capacity = c->capacity;
    q->enqueues.end = &q->enqueues.first;
    q->dequeues.end = &q->dequeues.first;
    return resource;
}

static eddy_status run_create(eddy_kernel *k)
{
    const creation *c = eddy__state(k);
    eddy__resource *resource = NULL;
    const creation *made;

    EDDY_TRY(
        eddy__find_resource(k, &queues, c->name, make_queue, c, &resource));
    eddy__out_resource(k, 0, resource);
    made = queue_of(resource)->made;
    if (made->n == c->n && made->capacity == c->capacity &&
        memcmp(made->dtypes, c->dtypes, c->n * sizeof *c->dtypes) == 0)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                       "the queue '%s' has another capacity or other "
                       "components elsewhere",
                       made->name);
}

/* ---- elements ---- */

/* Room for one more element at the end. */
static bool reserve(queue *q)
{
    const int64_t room = q->room > 0 ? 2 * q->room : 4;
    eddy__value *items;

    if (q->count < q->room)
        return true;
    items =
        eddy__allocate(q->base.allocator, (size_t)room * q->n, sizeof *items);
    if (!items)
        return false;
    for (int64_t i = 0; i < q->count; i++)
        memcpy(&items[(size_t)i * q->n], element(q, i), q->n * sizeof *items);
    eddy__free(q->base.allocator, q->items, q->items_capacity,
               sizeof *q->items);
    q->items = items;
    q->items_capacity = (size_t)room * q->n;
    q->room = room;
    q->first = 0;
    return true;
}

static eddy_status fail_memory(eddy_kernel *k, const queue *q)
{
    return eddy__kfail(k, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                       "no memory for one more than %" PRId64
                       " elements of the queue '%s'",
                       q->count, q->name);
}

static void drop(eddy__value *values, uint32_t n)
{
    for (uint32_t c = 0; c < n; c++)
        eddy__value_clear(NULL, &values[c]);
}

/* The components of element `i` of what an attempt puts in. */
static eddy_status read_element(const attempt *a, int64_t i, eddy__value *to)
{
    eddy_kernel *k = a->kernel;

    for (uint32_t c = 0; c < a->queue->n; c++) {
        const eddy__value *in = eddy__in(k, c + 1);
        eddy_status status = EDDY_OK;
        eddy_shape shape;

        if (a->verb == ENQUEUE) {
            to[c] = eddy__value_copy(in);
            eddy__value_keep(&to[c]);
        } else {
            shape = eddy__shape_rest(eddy__in_shape(k, c + 1));
            status = eddy__slice_item(k, in->as.tensor,
                                      in->as.tensor->count /
                                          in->as.tensor->shape.dims[0] * i,
                                      &shape, &to[c]);
        }
        if (status != EDDY_OK) {
            drop(to, c);
            return status;
        }
    }
    return EDDY_OK;
}

static eddy_status put_one(attempt *a)
{
    queue *q = a->queue;

    if (!reserve(q))
        return fail_memory(a->kernel, q);
    EDDY_TRY(read_element(a, a->done, element(q, q->count)));
    q->count++;
    q->n_moves++;
    a->done++;
    return EDDY_OK;
}

static eddy_status take_one(attempt *a)
{
    queue *q = a->queue;
    void *taken = a->taken;
    const bool ok = eddy__grow(q->base.allocator, &taken, &a->capacity,
                               (size_t)(a->done + 1) * q->n, sizeof *a->taken);

    a->taken = taken;
    if (!ok)
        return fail_memory(a->kernel, q);
    memcpy(&a->taken[(size_t)a->done * q->n], element(q, 0),
           q->n * sizeof *a->taken);
    q->first = (q->first + 1) % q->room;
    q->count--;
    q->n_moves++;
    a->done++;
    return EDDY_OK;
}

/* Elements that are not enough go back to the front. */
static void give_back(attempt *a)
{
    queue *q = a->queue;

    while (a->done > 0) {
        const eddy__value *from = &a->taken[(size_t)(a->done - 1) * q->n];

        if (!reserve(q))
            return;
        q->first = (q->first + q->room - 1) % q->room;
        memcpy(element(q, 0), from, q->n * sizeof *from);
        q->count++;
        q->n_moves++;
        a->done--;
    }
}

/* What has not been handed on is dropped. */
static void drop_taken(attempt *a)
{
    const queue *q = a->queue;

    if (a->verb >= DEQUEUE)
        for (int64_t i = 0; i < a->done; i++)
            drop(&a->taken[(size_t)i * q->n], q->n);
    eddy__free(q->base.allocator, a->taken, a->capacity, sizeof *a->taken);
    a->taken = NULL;
}

/* ---- what the kernel of a dequeue gives ---- */

static eddy_status put_rows(attempt *a, uint32_t c)
{
    const queue *q = a->queue;
    const eddy_dtype dtype = q->made->dtypes[c];
    eddy_shape shape;
    unsigned char *out;

    EDDY_TRY(
        eddy__prepend_dim(a->kernel, a->done, &q->made->shapes[c], &shape));
    EDDY_TRY(eddy__output_elements(a->kernel, c, dtype, &shape, &out));
    for (int64_t i = 0; i < a->done; i++)
        out += eddy__put_item(out, &a->taken[(size_t)i * q->n + c], 0);
    return eddy__elements_done(a->kernel, c);
}

static eddy_status put_outputs(attempt *a)
{
    for (uint32_t c = 0; c < a->queue->n; c++) {
        if (a->verb != DEQUEUE) {
            EDDY_TRY(put_rows(a, c));
        } else {
            eddy__out_value(a->kernel, c, &a->taken[c]);
            a->taken[c].kind = EDDY__NONE;
        }
    }
    return EDDY_OK;
}

/* ---- serving ---- */

static bool is_enqueue(const attempt *a)
{
    return a->verb <= ENQUEUE_MANY;
}

static void fail_closed(attempt *a)
{
    const queue *q = a->queue;

    if (is_enqueue(a))
        a->status = eddy__kfail(a->kernel, EDDY_CANCELLED, EDDY_E_CLOSED,
                                "the queue '%s' is closed", q->name);
    else
        a->status = eddy__kfail(
            a->kernel, EDDY_OUT_OF_RANGE, EDDY_E_CLOSED,
            "the queue '%s' is closed and has too few elements (%" PRId64
            " are wanted, it has %" PRId64 ")",
            q->name, a->n, q->count);
}

/* After the close nobody puts anything in, but those who wait already. */
static bool is_over(const attempt *a)
{
    const queue *q = a->queue;

    return q->is_closed && !is_enqueue(a) && q->count == 0 &&
           !q->enqueues.first;
}

/* Does what can be done; true if the attempt is at its end. */
static bool serve(attempt *a)
{
    queue *q = a->queue;

    while (a->status == EDDY_OK && a->done < a->n &&
           (is_enqueue(a) ? q->count < q->capacity : q->count > 0))
        a->status = is_enqueue(a) ? put_one(a) : take_one(a);
    if (a->status != EDDY_OK || a->done == a->n)
        return true;
    if (!is_over(a))
        return false;
    if (a->verb == UP_TO && a->done > 0)
        return true;
    give_back(a);
    fail_closed(a);
    return true;
}

static void join(line *l, attempt *a)
{
    a->next = NULL;
    *l->end = a;
    l->end = &a->next;
}

static void leave(line *l, attempt **link)
{
    attempt *a = *link;

    *link = a->next;
    if (l->end == &a->next)
        l->end = link;
    a->next = NULL;
}

/* Serves the first in line as long as it gets done; those join `done`. */
static bool serve_line(line *l, line *done)
{
    bool any = false;

    while (l->first && serve(l->first)) {
        attempt *a = l->first;

        leave(l, &l->first);
        join(done, a);
        any = true;
    }
    return any;
}

static void serve_lines(queue *q, line *done)
{
    uint64_t before;

    do {
        before = q->n_moves;
        while (serve_line(&q->enqueues, done) || serve_line(&q->dequeues, done))
            ;
    } while (q->n_moves != before);
}

/* Completes those whose attempts are done.  @thread does not hold mu */
static void complete(attempt *a)
{
    while (a) {
        attempt *next = a->next;
        eddy_kernel *kernel = a->kernel;
        const eddy_allocator *allocator = a->queue->base.allocator;
        eddy_status status = a->status;

        if (status == EDDY_OK && !is_enqueue(a))
            status = put_outputs(a);
        drop_taken(a);
        eddy__free(allocator, a, 1, sizeof *a);
        kernel->services->complete(kernel, status);
        a = next;
    }
}

/* Its run is at its end: the attempt is given up if it still waits. */
static void give_up(eddy_kernel *kernel, void *arg)
{
    attempt *a = NULL;
    queue *q = arg;
    line *lines[] = {&q->enqueues, &q->dequeues};
    line done = {.first = NULL};

    eddy__mutex_lock(&q->mu);
    for (int i = 0; i < 2 && !a; i++)
        for (attempt **link = &lines[i]->first; *link; link = &(*link)->next)
            if ((*link)->kernel == kernel) {
                a = *link;
                leave(lines[i], link);
                break;
            }
    done.end = &done.first;
    if (a && !is_enqueue(a))
        give_back(a);
    serve_lines(q, &done);
    eddy__mutex_unlock(&q->mu);
    complete(done.first);
    if (!a)
        return;
    a->status = eddy__kfail(kernel, EDDY_CANCELLED, EDDY_E_CANCELLED,
                            "the run ended while the node waited for the "
                            "queue '%s'",
                            q->name);
    complete(a);
}

/* Suspends the kernel, whose attempt waits in line. */
static eddy_status wait_in_line(eddy_kernel *k, const attempt *at, line *l)
{
    queue *q = at->queue;
    attempt *a = eddy__allocate(q->base.allocator, 1, sizeof *a);

    if (!a)
        return fail_memory(k, q);
    *a = *at;
    a->kernel = k->services->suspend(k);
    if (!a->kernel) {
        eddy__free(q->base.allocator, a, 1, sizeof *a);
        return fail_memory(k, q);
    }
    join(l, a);
    k->services->await(a->kernel, give_up, q);
    return EDDY_OK;
}

/*
 * Does what the kernel is there for, now or later.  One that comes behind
 * others in its line waits even if there is room.
 */
static eddy_status attempt_now(eddy_kernel *k, attempt *a)
{
    queue *q = a->queue;
    line *l = is_enqueue(a) ? &q->enqueues : &q->dequeues;
    line done = {.first = NULL};
    eddy_status status = EDDY_OK;
    bool waits = false;

    done.end = &done.first;
    eddy__mutex_lock(&q->mu);
    if (is_enqueue(a) && q->is_closed)
        fail_closed(a);
    else if (l->first || !serve(a))
        waits = true;
    if (waits)
        status = wait_in_line(k, a, l);
    if (waits && status != EDDY_OK && !is_enqueue(a))
        give_back(a);
    serve_lines(q, &done);
    eddy__mutex_unlock(&q->mu);
    complete(done.first);
    if (waits && status == EDDY_OK)
        return EDDY_OK;
    if (status == EDDY_OK)
        status = a->status;
    if (status == EDDY_OK && !is_enqueue(a))
        status = put_outputs(a);
    drop_taken(a);
    return status;
}

/* ---- kernels ---- */

static eddy_status find_queue(eddy_kernel *k, queue **out_queue)
{
    eddy__resource *resource;

    EDDY_TRY(eddy__in_resource(k, 0, &queues, &resource));
    *out_queue = queue_of(resource);
    return EDDY_OK;
}

static eddy_status check_component(eddy_kernel *k, const queue *q, uint32_t c,
                                   const eddy_shape *found)
{
    const eddy_shape *wanted = &q->made->shapes[c];

    if (eddy__in_dtype(k, c + 1) != q->made->dtypes[c])
        return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                           "component %u of the queue '%s' is %s, not %s", c,
                           q->name, eddy_dtype_name(q->made->dtypes[c]),
                           eddy_dtype_name(eddy__in_dtype(k, c + 1)));
    if (eddy__shape_compatible(found, wanted))
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                       "component %u of the queue '%s' has shape %s, not %s", c,
                       q->name, eddy__shape_print(wanted).text,
                       eddy__shape_print(found).text);
}

static eddy_status check_count(eddy_kernel *k, const queue *q, uint32_t n)
{
    if (n == q->n)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                       "elements of the queue '%s' have %u components, not %u",
                       q->name, q->n, n);
}

static eddy_status run_enqueue(eddy_kernel *k)
{
    attempt a = {.kernel = k, .verb = ENQUEUE, .n = 1};

    EDDY_TRY(find_queue(k, &a.queue));
    EDDY_TRY(check_count(k, a.queue, k->node->n_in - 1));
    for (uint32_t c = 0; c < a.queue->n; c++)
        EDDY_TRY(check_component(k, a.queue, c, eddy__in_shape(k, c + 1)));
    return attempt_now(k, &a);
}

static eddy_status run_enqueue_many(eddy_kernel *k)
{
    attempt a = {.kernel = k, .verb = ENQUEUE_MANY};

    EDDY_TRY(find_queue(k, &a.queue));
    EDDY_TRY(check_count(k, a.queue, k->node->n_in - 1));
    for (uint32_t c = 0; c < a.queue->n; c++) {
        eddy_tensor *tensor;
        eddy_shape shape;

        EDDY_TRY(eddy__in_rows(k, c + 1, "a component", &tensor));
        shape = eddy__shape_rest(&tensor->shape);
        EDDY_TRY(check_component(k, a.queue, c, &shape));
        if (c > 0 && tensor->shape.dims[0] != a.n)
            return eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                               "component %u has %" PRId64
                               " elements, those before it %" PRId64,
                               c, tensor->shape.dims[0], a.n);
        a.n = tensor->shape.dims[0];
    }
    return attempt_now(k, &a);
}

/* The node's components must be those of the queue. */
static eddy_status check_outputs(eddy_kernel *k, const queue *q)
{
    EDDY_TRY(check_count(k, q, k->node->n_out));
    for (uint32_t c = 0; c < q->n; c++)
        if (k->node->out_dtypes[c] != q->made->dtypes[c])
            return eddy__kfail(
                k, EDDY_INVALID_ARGUMENT, EDDY_E_DTYPE,
                "component %u of the queue '%s' is %s, not %s", c, q->name,
                eddy_dtype_name(q->made->dtypes[c]),
                eddy_dtype_name((eddy_dtype)k->node->out_dtypes[c]));
    return EDDY_OK;
}

static eddy_status run_dequeue(eddy_kernel *k)
{
    attempt a = {.kernel = k, .verb = DEQUEUE, .n = 1};

    EDDY_TRY(find_queue(k, &a.queue));
    EDDY_TRY(check_outputs(k, a.queue));
    return attempt_now(k, &a);
}

static eddy_status dequeue_many(eddy_kernel *k, verb v)
{
    attempt a = {.kernel = k, .verb = v};
    int32_t n = 0;

    EDDY_TRY(find_queue(k, &a.queue));
    EDDY_TRY(check_outputs(k, a.queue));
    EDDY_TRY(eddy__in_int32(k, 1, "the number of elements", &n));
    if (n < 0)
        return eddy__kfail(
            k, EDDY_INVALID_ARGUMENT, EDDY_E_VALUE,
            "the number of elements is %" PRId32 ", it must be at least 0", n);
    for (uint32_t c = 0; c < a.queue->n; c++)
        if (!eddy__shape_is_known(&a.queue->made->shapes[c]))
            return eddy__kfail(
                k, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                "several elements of the queue '%s' make no "
                "tensor, since component %u has the shape %s",
                a.queue->name, c,
                eddy__shape_print(&a.queue->made->shapes[c]).text);
    a.n = n;
    return attempt_now(k, &a);
}

static eddy_status run_dequeue_many(eddy_kernel *k)
{
    return dequeue_many(k, DEQUEUE_MANY);
}

static eddy_status run_dequeue_up_to(eddy_kernel *k)
{
    return dequeue_many(k, UP_TO);
}

static eddy_status run_size(eddy_kernel *k)
{
    int64_t count;
    queue *q;

    EDDY_TRY(find_queue(k, &q));
    eddy__mutex_lock(&q->mu);
    count = q->count;
    eddy__mutex_unlock(&q->mu);
    eddy__out_scalar(eddy__out(k, 0), EDDY_INT32, (uint32_t)count);
    return EDDY_OK;
}

static eddy_status run_is_closed(eddy_kernel *k)
{
    bool is_closed;
    queue *q;

    EDDY_TRY(find_queue(k, &q));
    eddy__mutex_lock(&q->mu);
    is_closed = q->is_closed;
    eddy__mutex_unlock(&q->mu);
    eddy__out_scalar(eddy__out(k, 0), EDDY_BOOL, is_closed);
    return EDDY_OK;
}

/* Those who wait to put something in go on waiting unless they are to fail. */
static eddy_status run_close(eddy_kernel *k)
{
    const bool *cancels = eddy__state(k);
    line done = {.first = NULL};
    bool was_closed;
    queue *q;

    EDDY_TRY(find_queue(k, &q));
    done.end = &done.first;
    eddy__mutex_lock(&q->mu);
    was_closed = q->is_closed;
    q->is_closed = true;
    while (*cancels && q->enqueues.first) {
        attempt *a = q->enqueues.first;

        fail_closed(a);
        leave(&q->enqueues, &q->enqueues.first);
        join(&done, a);
    }
    serve_lines(q, &done);
    eddy__mutex_unlock(&q->mu);
    complete(done.first);
    if (!was_closed || *cancels)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_CANCELLED, EDDY_E_CLOSED,
                       "the queue '%s' is already closed", q->name);
}

/* ---- preparation ---- */

static eddy_status prepare_close(eddy_infer *infer)
{
    bool *state = eddy__prepare_state(infer, sizeof *state);

    if (!state)
        return EDDY_RESOURCE_EXHAUSTED;
    *state = eddy__infer_bool(infer, "cancel_pending_enqueues");
    return EDDY_OK;
}

static eddy_string text_attr(const eddy_infer *infer, const char *name)
{
    eddy_attr attr;

    return eddy_infer_attr(infer, name, &attr) ? attr.as.strings[0]
                                               : (eddy_string){"", 0};
}

/* "container:name", or what of it there is. */
static void set_name(creation *c, eddy_string container, eddy_string name)
{
    char *to = c->name;

    if (container.length > 0) {
        memcpy(to, container.data, container.length);
        to += container.length;
        *to++ = ':';
    }
    memcpy(to, name.data, name.length);
    to[name.length] = '\0';
}

static eddy_status read_components(eddy_infer *infer, creation *c)
{
    eddy_attr types, shapes = {.n = 0};

    (void)eddy_infer_attr(infer, "shapes", &shapes);
    if (!eddy_infer_attr(infer, "component_types", &types) ||
        (shapes.n != 0 && shapes.n != types.n))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                               "there are %zu shapes for %zu components",
                               shapes.n, types.n);
    for (uint32_t i = 0; i < c->n; i++) {
        c->dtypes[i] = types.as.types[i];
        c->shapes[i] =
            shapes.n > 0 ? shapes.as.shapes[i] : eddy__shape_unknown();
        if (!eddy__dtype_in(c->dtypes[i], EDDY__MOVABLE))
            return eddy_infer_fail(infer, EDDY_UNIMPLEMENTED, EDDY_E_NO_KERNEL,
                                   "there are no queues of "
                                   "%s",
                                   eddy_dtype_name(c->dtypes[i]));
    }
    return EDDY_OK;
}

static eddy_status prepare_creation(eddy_infer *infer)
{
    const eddy_string container = text_attr(infer, "container");
    eddy_string name = text_attr(infer, "shared_name");
    eddy_shape *shapes;
    eddy_dtype *dtypes;
    eddy_attr types;
    creation *c;

    if (name.length == 0)
        name = (eddy_string){infer->node->name, strlen(infer->node->name)};
    if (memchr(name.data, '\0', name.length) ||
        (container.length > 0 &&
         memchr(container.data, '\0', container.length)))
        return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                               "container and shared_name must have no NUL");
    if (!eddy_infer_attr(infer, "component_types", &types))
        types.n = 0;
    shapes = eddy__prepare_state(infer, types.n * sizeof *shapes);
    dtypes = eddy__prepare_state(infer, types.n * sizeof *dtypes);
    c = eddy__prepare_state(infer,
                            sizeof *c + container.length + name.length + 2);
    if (!shapes || !dtypes || !c)
        return EDDY_RESOURCE_EXHAUSTED;
    c->n = (uint32_t)types.n;
    c->shapes = shapes;
    c->dtypes = dtypes;
    c->capacity = eddy__infer_int(infer, "capacity");
    if (c->capacity < 0)
        c->capacity = INT64_MAX;
    set_name(c, container, name);
    return read_components(infer, c);
}

#define MAKE                                                                   \
    "component_types: list(type) >= 1, shapes: list(shape) = [], "             \
    "capacity: int = -1, container: string = '', shared_name: string = ''"
#define PUT "Tcomponents: list(type) >= 1, timeout_ms: int = -1"
#define TAKE "component_types: list(type) >= 1, timeout_ms: int = -1"
#define QUEUE EDDY_OP_STATEFUL | EDDY_OP_NOT_DIFFERENTIABLE
#define ASYNC EDDY_OP_ASYNC
#define CHEAP EDDY_OP_CHEAP

/* Each op has a form for handles, with V2, and one for references. */
#define BOTH(handle, v)                                                        \
    EDDY__OP_ROW("QueueEnqueue" v,                                             \
                 .inputs = handle ", components: Tcomponents", .attrs = PUT,   \
                 .kernel = run_enqueue, .flags = QUEUE | ASYNC,                \
                 .doc = "Puts an element in, once there is room."),            \
        EDDY__OP_ROW(                                                          \
            "QueueEnqueueMany" v,                                              \
            .inputs = handle ", components: Tcomponents", .attrs = PUT,        \
            .kernel = run_enqueue_many, .flags = QUEUE | ASYNC,                \
            .doc = "Puts the rows of the components in, once there is room."), \
        EDDY__OP_ROW("QueueDequeue" v, .inputs = handle,                       \
                     .outputs = "components: component_types", .attrs = TAKE,  \
                     .kernel = run_dequeue, .flags = QUEUE | ASYNC,            \
                     .doc = "Takes an element out, once there is one."),       \
        EDDY__OP_ROW("QueueDequeueMany" v, .inputs = handle ", n: int32",      \
                     .outputs = "components: component_types", .attrs = TAKE,  \
                     .kernel = run_dequeue_many, .flags = QUEUE | ASYNC,       \
                     .doc = "Takes n elements out, as the rows of tensors."),  \
        EDDY__OP_ROW("QueueDequeueUpTo" v, .inputs = handle ", n: int32",      \
                     .outputs = "components: component_types", .attrs = TAKE,  \
                     .kernel = run_dequeue_up_to, .flags = QUEUE | ASYNC,      \
                     .doc = "The same, or as many as there are when the "      \
                            "queue is closed."),                               \
        EDDY__OP_ROW("QueueSize" v, .inputs = handle,                          \
                     .outputs = "size: int32", .infer = eddy__infer_scalar,    \
                     .kernel = run_size, .flags = QUEUE | CHEAP,               \
                     .doc = "How many elements there are."),                   \
        EDDY__OP_ROW("QueueClose" v, .inputs = handle,                         \
                     .attrs = "cancel_pending_enqueues: bool = false",         \
                     .kernel = run_close, .prepare = prepare_close,            \
                     .flags = QUEUE | CHEAP, .doc = "Lets nothing more in.")

static const eddy_op_spec specs[] = {
    EDDY__OP_ROW("FIFOQueueV2", .outputs = "handle: resource", .attrs = MAKE,
                 .infer = eddy__infer_scalar, .kernel = run_create,
                 .prepare = prepare_creation, .flags = QUEUE | CHEAP,
                 .doc =
                     "A queue of the session, or of the run if it has none."),
    EDDY__OP_ROW("FIFOQueue", .outputs = "handle: ref string", .attrs = MAKE,
                 .infer = eddy__infer_scalar, .kernel = run_create,
                 .prepare = prepare_creation, .flags = QUEUE | CHEAP,
                 .doc =
                     "A queue of the session, or of the run if it has none."),
    BOTH("handle: resource", "V2"),
    BOTH("handle: ref string", ""),
    EDDY__OP_ROW("QueueIsClosedV2", .inputs = "handle: resource",
                 .outputs = "is_closed: bool", .infer = eddy__infer_scalar,
                 .kernel = run_is_closed, .flags = QUEUE | CHEAP,
                 .doc = "Does the queue let nothing more in?"),
    EDDY__OP_ROW("QueueIsClosed", .inputs = "handle: ref string",
                 .outputs = "is_closed: bool", .infer = eddy__infer_scalar,
                 .kernel = run_is_closed, .flags = QUEUE | CHEAP,
                 .doc = "Does the queue let nothing more in?"),
};

const eddy__op_table eddy__queue_ops = {specs, NULL,
                                        sizeof specs / sizeof *specs};
