# SPDX-License-Identifier: Apache-2.0
"""Errors, dtypes and contexts: what every other module stands on."""
import atexit
import threading

import numpy as np

from . import _eddy

ffi, lib = _eddy.ffi, _eddy.lib


# ---- errors ----

class Error(Exception):
    """What eddy refused or where a run failed.

    code     the canonical code, "INVALID_ARGUMENT"
    detail   the stable name of the mistake, "EDDY_E_SHAPE"
    node     the node at fault, or ""
    op       its op type, or ""
    frame    the frame path with iterations, "outer[3]/inner[17]", or ""
    cause    for a dead fetch the Switch that killed it, or ""
    message  what was found and what was wanted
    """

    def __init__(self, text, code="UNKNOWN", detail="EDDY_E_NONE", node="",
                 op="", frame="", cause="", message=None):
        super().__init__(text)
        self.code, self.detail = code, detail
        self.node, self.op, self.frame, self.cause = node, op, frame, cause
        self.message = text if message is None else message


def _subclass(name, *also):
    return type(name, (Error, *also), {"__module__": "eddy"})


#: A class for each code, so that they can be caught one by one.
CLASSES = {
    "CANCELLED": _subclass("CancelledError"),
    "INVALID_ARGUMENT": _subclass("InvalidArgumentError", ValueError),
    "DEADLINE_EXCEEDED": _subclass("DeadlineExceededError", TimeoutError),
    "NOT_FOUND": _subclass("NotFoundError", LookupError),
    "ALREADY_EXISTS": _subclass("AlreadyExistsError"),
    "PERMISSION_DENIED": _subclass("PermissionDeniedError"),
    "RESOURCE_EXHAUSTED": _subclass("ResourceExhaustedError"),
    "FAILED_PRECONDITION": _subclass("FailedPreconditionError"),
    "ABORTED": _subclass("AbortedError"),
    "OUT_OF_RANGE": _subclass("OutOfRangeError"),
    "UNIMPLEMENTED": _subclass("UnimplementedError", NotImplementedError),
    "INTERNAL": _subclass("InternalError"),
    "UNAVAILABLE": _subclass("UnavailableError"),
    "DATA_LOSS": _subclass("DataLossError"),
}


def text_of(chars):
    return ffi.string(chars).decode("utf-8", "replace")


def new_error():
    return ffi.new("eddy_error *")


def to_exception(err):
    code = text_of(lib.eddy_status_name(err.code))
    size = lib.eddy_error_format(err, ffi.NULL, 0) + 1
    line = ffi.new("char[]", size)
    lib.eddy_error_format(err, line, size)
    return CLASSES.get(code, Error)(
        text_of(line), code, text_of(lib.eddy_detail_name(err.detail)),
        text_of(err.node), text_of(err.op), text_of(err.frame),
        text_of(err.cause), text_of(err.message))


def check(status, err):
    if status != lib.EDDY_OK:
        raise to_exception(err)


def no_memory():
    return CLASSES["RESOURCE_EXHAUSTED"](
        "out of memory", "RESOURCE_EXHAUSTED", "EDDY_E_MEMORY")


# ---- dtypes ----

NAMES = {i: text_of(lib.eddy_dtype_name(i))
         for i in range(1, lib.EDDY_DTYPE_COUNT)}
NUMBERS = {name: i for i, name in NAMES.items()}
#: NumPy's dtype of each that it has; bfloat16 stands as the bits it is.
NUMPY = {i: np.dtype(name) for i, name in NAMES.items()
         if name not in ("bfloat16", "string", "resource", "variant")}
NUMPY[lib.EDDY_BFLOAT16] = np.dtype(np.uint16)
NUMPY[lib.EDDY_STRING] = np.dtype(object)
_FROM_NUMPY = {dtype: i for i, dtype in NUMPY.items()
               if i != lib.EDDY_BFLOAT16}


def dtype_number(dtype):
    """eddy's number of a dtype, which may be a name, NumPy's, or a type."""
    if isinstance(dtype, int):
        return dtype
    if isinstance(dtype, str) and dtype in NUMBERS:
        return NUMBERS[dtype]
    if getattr(dtype, "name", None) == "bfloat16":
        return lib.EDDY_BFLOAT16
    if dtype in (bytes, str):
        return lib.EDDY_STRING
    found = np.dtype(dtype)
    if found.kind in "SU":
        return lib.EDDY_STRING
    number = _FROM_NUMPY.get(found.newbyteorder("="))
    if number is None:
        raise TypeError(f"eddy has no dtype for {dtype!r}")
    return number


# ---- shapes ----

def to_shape(shape):
    """An eddy_shape; None is an unknown rank or an unknown dimension."""
    out = ffi.new("eddy_shape *")
    if shape is None:
        out.rank = -1
        return out
    dims = [-1 if d is None else int(d) for d in shape]
    if len(dims) > lib.EDDY_MAX_RANK:
        raise ValueError(f"rank {len(dims)}, at most {lib.EDDY_MAX_RANK}")
    out.rank = len(dims)
    out.dims[0:len(dims)] = dims
    return out


def from_shape(shape):
    if shape.rank < 0:
        return None
    return tuple(None if d < 0 else d for d in shape.dims[0:shape.rank])


# ---- contexts ----

class Context:
    """Workers and registered ops, shared by all that is made with it.

    workers      threads that large kernels may run on, beside the caller's
    log          True: what Print ops write goes to standard error
    blas_threads OpenBLAS's threads, which are global to the process
    """

    def __init__(self, workers=0, log=True, blas_threads=0):
        options = ffi.new("eddy_context_options *")
        options.size = ffi.sizeof("eddy_context_options")
        options.n_workers = workers
        options.blas_threads = blas_threads
        if log:
            options.logger = lib.eddy_py_logger()
        out, err = ffi.new("eddy_context **"), new_error()
        check(lib.eddy_context_create(options, out, err), err)
        self._ptr = ffi.gc(out[0], lib.eddy_context_release)
        self._ops = []  # those that were registered from Python

    @property
    def workers(self):
        return lib.eddy_context_workers(self._ptr)

    @property
    def ops(self):
        """The names of all ops, sorted."""
        names, i = [], 0
        while (name := lib.eddy_op_name(self._ptr, i)) != ffi.NULL:
            names.append(text_of(name))
            i += 1
        return names

    def __repr__(self):
        return f"<eddy.Context of {self.workers} workers>"


_contexts = {}
_lock = threading.Lock()


def default_context(workers=0):
    """The context that is used where none is given, one a number of workers."""
    with _lock:
        if workers not in _contexts:
            _contexts[workers] = Context(workers)
        return _contexts[workers]


# Workers end while Python is whole; each object still has a reference of its
# own, so that those which are left end in any order.
atexit.register(_contexts.clear)
