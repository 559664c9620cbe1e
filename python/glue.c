/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C half of the Python module.  cffi lets go of Python's lock around every
 * call, so whatever here touches an object of Python's takes it first.
 */
#include "eddy/drawing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- tensors with their context ---- */

eddy_py_box *eddy_py_box_new(eddy_context *ctx, eddy_tensor *tensor)
{
    eddy_py_box *box = malloc(sizeof *box);
    const eddy_shape *shape;

    if (!box)
        return NULL;
    shape = eddy_tensor_shape(tensor);
    box->ctx = eddy_context_retain(ctx);
    box->tensor = tensor;
    box->data = (void *)(uintptr_t)eddy_tensor_data(tensor);
    box->bytes = eddy_tensor_bytes(tensor);
    box->count = eddy_tensor_count(tensor);
    box->dtype = (int32_t)eddy_tensor_dtype(tensor);
    box->rank = shape->rank;
    memcpy(box->dims, shape->dims, sizeof box->dims);
    return box;
}

void eddy_py_box_free(eddy_py_box *box)
{
    if (!box)
        return;
    eddy_tensor_release(box->tensor);
    eddy_context_release(box->ctx);
    free(box);
}

/* A holder retains its context, and lets it go after what was made with it. */
#define HOLDER(kind, destroy)                                                  \
    eddy_py_##kind *eddy_py_##kind##_new(eddy_context *ctx, eddy_##kind *kind) \
    {                                                                          \
        eddy_py_##kind *held = malloc(sizeof *held);                           \
                                                                               \
        if (!held)                                                             \
            return NULL;                                                       \
        held->ctx = eddy_context_retain(ctx);                                  \
        held->kind = kind;                                                     \
        return held;                                                           \
    }                                                                          \
                                                                               \
    void eddy_py_##kind##_free(eddy_py_##kind *held)                           \
    {                                                                          \
        if (!held)                                                             \
            return;                                                            \
        destroy(held->kind);                                                   \
        eddy_context_release(held->ctx);                                       \
        free(held);                                                            \
    }

HOLDER(graph, eddy_graph_destroy)
HOLDER(plan, eddy_plan_release)
HOLDER(session, eddy_session_release)
HOLDER(run, eddy_run_destroy)
HOLDER(trace, eddy_trace_destroy)

/* ---- from an object's memory ---- */

/* The dtype of a buffer's elements; EDDY_INVALID for any other. */
static eddy_dtype find_dtype(const Py_buffer *view)
{
    static const eddy_dtype integers[] = {EDDY_INT8, EDDY_INT16, EDDY_INT32,
                                          EDDY_INT64};
    static const eddy_dtype naturals[] = {EDDY_UINT8, EDDY_UINT16, EDDY_UINT32,
                                          EDDY_UINT64};
    const char *format = view->format ? view->format : "B";
    int width;

    if (*format == '>' && view->itemsize > 1)
        return EDDY_INVALID;
    if (strchr("@=<>|", *format) && *format)
        format++;
    if (format[0] == 'Z')
        return format[1] == 'f' && view->itemsize == 8    ? EDDY_COMPLEX64
               : format[1] == 'd' && view->itemsize == 16 ? EDDY_COMPLEX128
                                                          : EDDY_INVALID;
    if (format[0] == '\0' || format[1] != '\0')
        return EDDY_INVALID;
    for (width = 0; width < 4 && view->itemsize != 1 << width; width++)
        ;
    if (width == 4)
        return EDDY_INVALID;
    if (*format == '?')
        return width == 0 ? EDDY_BOOL : EDDY_INVALID;
    if (strchr("bhilqn", *format))
        return integers[width];
    if (strchr("BHILQN", *format))
        return naturals[width];
    if (strchr("efd", *format))
        return width == 1   ? EDDY_FLOAT16
               : width == 2 ? EDDY_FLOAT32
               : width == 3 ? EDDY_FLOAT64
                            : EDDY_INVALID;
    return EDDY_INVALID;
}

/* Bytes of a bool other than 0 and 1 are for NumPy to mend. */
static bool is_clean(eddy_dtype dtype, const Py_buffer *view)
{
    const unsigned char *bytes = view->buf;

    if (dtype == EDDY_BOOL)
        for (Py_ssize_t i = 0; i < view->len; i++)
            if (bytes[i] > 1)
                return false;
    return true;
}

/*
 * Requires Python's lock.  When Python has ended, or ends, there is nobody left
 * to hand the object back to.
 */
static void release_view(void *data, void *user)
{
    Py_buffer *view = user;
    PyGILState_STATE state;

    (void)data;
    if (!Py_IsInitialized())
        return;
    state = PyGILState_Ensure();
    PyBuffer_Release(view);
    PyGILState_Release(state);
    free(view);
}

static int wrap_view(eddy_context *ctx, Py_buffer *view, int as_dtype,
                     eddy_tensor **out_tensor, eddy_error *err)
{
    eddy_dtype dtype = find_dtype(view);
    eddy_shape shape = {.rank = view->ndim};
    size_t size;

    if (as_dtype > 0 && dtype != EDDY_INVALID)
        dtype = (eddy_dtype)as_dtype;
    size = dtype != EDDY_INVALID ? eddy_dtype_size(dtype) : 0;
    if (size == 0 || size != (size_t)view->itemsize || view->ndim < 0 ||
        view->ndim > EDDY_MAX_RANK || !is_clean(dtype, view) ||
        (uintptr_t)view->buf % (size > 8 ? size / 2 : size) != 0)
        return EDDY_PY_CONVERT;
    for (int i = 0; i < view->ndim; i++)
        shape.dims[i] = view->shape[i];
    return eddy_tensor_wrap(ctx, dtype, &shape, view->buf, release_view, view,
                            out_tensor, err) == EDDY_OK
               ? EDDY_PY_DONE
               : EDDY_PY_FAILED;
}

int eddy_py_wrap(eddy_context *ctx, uintptr_t object, int as_dtype,
                 eddy_tensor **out_tensor, eddy_error *err)
{
    Py_buffer *view = malloc(sizeof *view);
    const PyGILState_STATE state = PyGILState_Ensure();
    int result = EDDY_PY_CONVERT;

    if (view && PyObject_GetBuffer((PyObject *)object, view,
                                   PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) == 0) {
        result = wrap_view(ctx, view, as_dtype, out_tensor, err);
        if (result != EDDY_PY_DONE) {
            PyBuffer_Release(view);
            free(view);
        }
    } else {
        PyErr_Clear();
        free(view);
    }
    PyGILState_Release(state);
    return result;
}

/* ---- results as arrays ---- */

/* Lends a box's memory, which is not to be written, and frees the box. */
typedef struct lender {
    PyObject_HEAD eddy_py_box *box;
} lender;

static void lender_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    eddy_py_box_free(((lender *)self)->box);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static int lender_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
    static char nothing[16];
    const eddy_py_box *box = ((lender *)self)->box;

    return PyBuffer_FillInfo(view, self, box->data ? box->data : nothing,
                             (Py_ssize_t)box->bytes, 1, flags);
}

/* Made once, under Python's lock; NULL with an exception. */
static PyObject *lender_type(void)
{
    static PyObject *type;
    static PyType_Slot slots[] = {{Py_tp_dealloc, lender_dealloc},
                                  {Py_bf_getbuffer, lender_getbuffer},
                                  {0, NULL}};
    static PyType_Spec spec = {.name = "eddy.Memory",
                               .basicsize = sizeof(lender),
                               .flags = Py_TPFLAGS_DEFAULT,
                               .slots = slots};

    if (!type)
        type = PyType_FromSpec(&spec);
    return type;
}

/* Takes the box, also on failure; a new reference, or NULL. */
static PyObject *make_array(eddy_py_box *box, PyObject *ndarray,
                            PyObject *dtype)
{
    PyObject *type = lender_type();
    lender *owner =
        type ? (lender *)PyType_GenericAlloc((PyTypeObject *)type, 0) : NULL;
    PyObject *shape, *array = NULL;

    if (!owner) {
        eddy_py_box_free(box);
        return NULL;
    }
    owner->box = box;
    shape = PyTuple_New(box->rank);
    for (int i = 0; shape && i < box->rank; i++) {
        PyObject *dim = PyLong_FromLongLong(box->dims[i]);

        if (!dim || PyTuple_SetItem(shape, i, dim) != 0)
            Py_CLEAR(shape);
    }
    if (shape)
        array =
            PyObject_CallFunctionObjArgs(ndarray, shape, dtype, owner, NULL);
    Py_XDECREF(shape);
    Py_DECREF(owner);
    return array;
}

/* Turns the boxes into arrays; false without memory, and then none is left. */
static bool fill_results(eddy_py_call *call)
{
    PyObject *list = (PyObject *)call->results;
    PyObject *dtypes = (PyObject *)call->dtypes;
    bool ok = true;

    for (size_t i = 0; i < call->n_fetches; i++) {
        PyObject *array =
            ok ? make_array(call->boxes[i], (PyObject *)call->ndarray,
                            PyList_GetItem(dtypes, (Py_ssize_t)i))
               : NULL;

        if (!ok)
            eddy_py_box_free(call->boxes[i]);
        ok = ok && array && PyList_SetItem(list, (Py_ssize_t)i, array) == 0;
    }
    if (!ok)
        PyErr_Clear();
    return ok;
}

/* ---- running ---- */

/* Requires Python's lock. */
static int bind_feeds(eddy_py_call *call)
{
    for (size_t i = 0; i < call->n_feeds; i++) {
        eddy_tensor *tensor = NULL;
        eddy_status status;
        int result = EDDY_PY_DONE;

        if (call->as_dtypes[i] < 0)
            tensor =
                eddy_tensor_retain(((eddy_py_box *)call->objects[i])->tensor);
        else
            result = eddy_py_wrap(call->ctx, call->objects[i],
                                  call->as_dtypes[i], &tensor, &call->err);
        call->bad = i;
        if (result != EDDY_PY_DONE)
            return result;
        status = eddy_run_feed(call->run, i, tensor, &call->err);
        eddy_tensor_release(tensor);
        if (status != EDDY_OK)
            return EDDY_PY_FAILED;
    }
    return EDDY_PY_DONE;
}

/* True if a handler of Python's raised: the exception is the caller's to make.
 */
static bool is_interrupted(void)
{
    const PyGILState_STATE state = PyGILState_Ensure();
    const bool raised = PyErr_CheckSignals() != 0;

    if (raised)
        PyErr_Clear();
    PyGILState_Release(state);
    return raised;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Without workers: in slices, between which signals are looked for. */
static bool drive(eddy_run *run)
{
    int64_t last = 0;

    while (!eddy_run_poll(run)) {
        const int64_t now = now_ms();

        if (last == 0)
            last = now;
        if (now - last < 50)
            continue;
        last = now;
        if (is_interrupted()) {
            eddy_run_cancel(run);
            return false;
        }
    }
    return true;
}

static int fail_memory(eddy_py_call *call)
{
    call->err = (eddy_error){.code = EDDY_RESOURCE_EXHAUSTED,
                             .detail = EDDY_E_MEMORY,
                             .message = "out of memory"};
    return EDDY_PY_FAILED;
}

/* Requires Python's lock. */
static int take_fetches(eddy_py_call *call)
{
    for (size_t i = 0; i < call->n_fetches; i++) {
        eddy_tensor *tensor = eddy_tensor_retain(eddy_run_fetch(call->run, i));

        call->boxes[i] = eddy_py_box_new(call->ctx, tensor);
        if (call->boxes[i])
            continue;
        eddy_tensor_release(tensor);
        while (i > 0)
            eddy_py_box_free(call->boxes[--i]);
        return fail_memory(call);
    }
    if (call->results && !fill_results(call))
        return fail_memory(call);
    return EDDY_PY_DONE;
}

/*
 * Python's lock is taken twice: for what is fed, and for what comes out and is
 * let go of, which may give objects back to Python.
 */
int eddy_py_execute(eddy_py_call *call)
{
    PyGILState_STATE state = PyGILState_Ensure();
    bool undisturbed = true;
    int result = bind_feeds(call);

    PyGILState_Release(state);
    if (result == EDDY_PY_DONE &&
        eddy_run_start(call->run, &call->err) != EDDY_OK)
        result = EDDY_PY_FAILED;
    if (result == EDDY_PY_DONE) {
        if (eddy_context_workers(call->ctx) == 0)
            undisturbed = drive(call->run);
        if (eddy_run_wait(call->run, &call->err) != EDDY_OK)
            result = undisturbed ? EDDY_PY_FAILED : EDDY_PY_INTERRUPTED;
    }
    state = PyGILState_Ensure();
    if (result == EDDY_PY_DONE)
        result = take_fetches(call);
    eddy_run_clear(call->run);
    PyGILState_Release(state);
    return result;
}

/* ---- the logger ---- */

static void write_line(void *user, eddy_log_level level, const char *line)
{
    (void)user;
    (void)level;
    fprintf(stderr, "%s\n", line);
}

eddy_logger eddy_py_logger(void)
{
    return (eddy_logger){.log = write_line};
}

/* ---- DLPack: the structures of its version 1 and of those before ---- */

typedef struct dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} dl_tensor;

typedef struct dl_old {
    dl_tensor tensor;
    void *owner;
    void (*deleter)(struct dl_old *self);
} dl_old;

typedef struct dl_versioned {
    uint32_t major, minor;
    void *owner;
    void (*deleter)(struct dl_versioned *self);
    uint64_t flags;
    dl_tensor tensor;
} dl_versioned;

enum { DL_CPU = 1, DL_READ_ONLY = 1 };

static void delete_old(dl_old *self)
{
    eddy_py_box_free(self->owner);
    free(self);
}

static void delete_versioned(dl_versioned *self)
{
    eddy_py_box_free(self->owner);
    free(self);
}

/* DLPack's number of what an element is; its bits are known. */
static uint8_t code_of(int32_t dtype)
{
    switch (dtype) {
    case EDDY_INT8:
    case EDDY_INT16:
    case EDDY_INT32:
    case EDDY_INT64:
        return 0;
    case EDDY_UINT8:
    case EDDY_UINT16:
    case EDDY_UINT32:
    case EDDY_UINT64:
        return 1;
    case EDDY_BFLOAT16:
        return 4;
    case EDDY_COMPLEX64:
    case EDDY_COMPLEX128:
        return 5;
    case EDDY_BOOL:
        return 6;
    default:
        return 2;
    }
}

static dl_tensor describe(eddy_py_box *box)
{
    return (dl_tensor){
        .data = box->data,
        .device_type = DL_CPU,
        .ndim = box->rank,
        .code = code_of(box->dtype),
        .bits = (uint8_t)(eddy_dtype_size((eddy_dtype)box->dtype) * 8),
        .lanes = 1,
        .shape = box->dims,
    };
}

void *eddy_py_dlpack(eddy_py_box *box, int versioned)
{
    dl_versioned *new = versioned ? malloc(sizeof *new) : NULL;
    dl_old *old = versioned ? NULL : malloc(sizeof *old);

    if (new)
        *new = (dl_versioned){.major = 1,
                              .owner = box,
                              .deleter = delete_versioned,
                              .flags = DL_READ_ONLY,
                              .tensor = describe(box)};
    if (old)
        *old = (dl_old){
            .tensor = describe(box), .owner = box, .deleter = delete_old};
    return versioned ? (void *)new : (void *)old;
}

void eddy_py_dlpack_drop(void *capsule)
{
    dl_versioned *new;
    dl_old *old;

    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        new = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        new->deleter(new);
    } else if (PyCapsule_IsValid(capsule, "dltensor")) {
        old = PyCapsule_GetPointer(capsule, "dltensor");
        old->deleter(old);
    }
}

/* ---- drawings ---- */

eddy_status eddy_py_draw(const eddy_graph *graph, const eddy_analysis *analysis,
                         eddy_write_cb write, void *user, eddy_error *err)
{
    return eddy_drawing_write(graph, analysis, EDDY_DRAWING_SVG, write, user,
                              err);
}
