# SPDX-License-Identifier: Apache-2.0
"""Ops of a program's own, whose kernels and gradients are Python functions."""
import numpy as np

from ._base import (check, default_context, ffi, from_shape, lib, new_error,
                    to_shape)
from ._graph import _Attrs
from ._tensor import Tensor, box_tensor, to_box, to_numpy


class _Op:
    """What an op's callbacks reach by a pointer."""

    def __init__(self, context, name, kernel, shape, gradient):
        self.context, self.name = context, name
        self.kernel, self.shape, self.gradient = kernel, shape, gradient
        self.exception = None

    def take_exception(self, _):
        exception, self.exception = self.exception, None
        return exception


def _fail(call, owner, exception):
    text = f"{type(exception).__name__}: {exception}"
    return call(owner, lib.EDDY_INTERNAL, lib.EDDY_E_HOST_CALLBACK, b"%s",
                ffi.new("char[]", text.encode("utf-8", "replace")))


@ffi.def_extern(onerror=lambda *_: None, error=13)
def eddy_py_kernel(kernel):
    op = ffi.from_handle(lib.eddy_kernel_user(kernel))
    try:
        inputs = []
        for i in range(lib.eddy_kernel_inputs(kernel)):
            given = lib.eddy_kernel_input_tensor(kernel, i)
            if given == ffi.NULL:
                raise TypeError(f"input {i} is no tensor")
            inputs.append(to_numpy(box_tensor(op.context, given)))
        results = op.kernel(*inputs)
        results = list(results) if isinstance(results, (list, tuple)) \
            else [results]
        n = lib.eddy_kernel_outputs(kernel)
        if len(results) != n:
            raise ValueError(f"{len(results)} results, the op has {n}")
        for i, value in enumerate(results):
            if not isinstance(value, Tensor):
                value = np.asarray(value)
            box = to_box(op.context, value)
            status = lib.eddy_kernel_output_tensor(kernel, i, box.tensor)
            if status != lib.EDDY_OK:
                return status
        return lib.EDDY_OK
    except Exception as e:
        op.exception = e
        return _fail(lib.eddy_kernel_fail, kernel, e)


class GradientNode:
    """A node that is being differentiated, as an op's gradient sees it.

    Values are handles of the gradient's own, for add() and set().
    """

    def __init__(self, context, ptr):
        self._context, self._ptr = context, ptr

    @property
    def n_inputs(self):
        return lib.eddy_gradient_inputs(self._ptr)

    def input(self, i):
        return lib.eddy_gradient_input(self._ptr, i)

    def output(self, i):
        return lib.eddy_gradient_output(self._ptr, i)

    def given(self, i=0):
        """The gradient of output `i`."""
        return lib.eddy_gradient_given(self._ptr, i)

    def is_wanted(self, i):
        return lib.eddy_gradient_is_wanted(self._ptr, i)

    def add(self, op, *inputs, **attrs):
        """Adds a node and gives its output 0."""
        made = _Attrs(self._context, op, attrs)
        array = ffi.new("eddy_output[]", max(len(inputs), 1))
        for i, value in enumerate(inputs):
            array[i] = value
        return lib.eddy_gradient_add(self._ptr, op.encode(), array,
                                     len(inputs), made.array, made.n)

    def constant(self, value):
        box = to_box(self._context, np.asarray(value))
        return lib.eddy_gradient_const(self._ptr, box.tensor)

    def set(self, i, gradient):
        """Sets the gradient of input `i`."""
        lib.eddy_gradient_set(self._ptr, i, gradient)


def _infer_callback(op):
    def infer(ptr):
        try:
            shapes = [from_shape(lib.eddy_infer_input(ptr, i)[0])
                      for i in range(lib.eddy_infer_inputs(ptr))]
            results = op.shape(*shapes)
            if lib.eddy_infer_outputs(ptr) == 1:
                results = [results]
            for i, shape in enumerate(results):
                lib.eddy_infer_set_output(ptr, i, to_shape(shape))
            return lib.EDDY_OK
        except Exception as e:
            op.exception = e
            return _fail(lib.eddy_infer_fail, ptr, e)
    return ffi.callback("eddy_status(eddy_infer *)", infer, error=13)


def _gradient_callback(op):
    def gradient(ptr):
        try:
            op.gradient(GradientNode(op.context, ptr))
            return lib.EDDY_OK
        except Exception as e:
            op.exception = e
            return _fail(lib.eddy_gradient_fail, ptr, e)
    return ffi.callback("eddy_status(eddy_gradient *)", gradient, error=13)


def register(name, inputs, outputs, attrs="", *, kernel, shape=None,
             gradient=None, stateful=False, doc=None, context=None):
    """Registers an op whose kernel is a Python function of arrays.

        eddy.register("Twice", "x: T", "y: T", "T: {float32, float64}",
                      kernel=lambda x: 2 * x, shape=lambda s: s,
                      gradient=lambda g: g.set(0, g.add("Twice", g.given())))

    The signature is written as eddy/op.h says.  The kernel gets arrays that it
    must not write, on whichever thread the run is; `shape` gets and gives
    shapes, None for what is not known.  An exception fails the run, at the
    node, and is the cause of the error.  Ops are registered before graphs of
    the context are used by several threads.
    """
    context = context or default_context()
    op = _Op(context, name, kernel, shape, gradient)
    handle, err = ffi.new_handle(op), new_error()
    texts = [ffi.new("char[]", t.encode()) for t in (name, inputs, outputs,
                                                     attrs, doc or "")]
    spec = ffi.new("eddy_op_spec *")
    spec.size = ffi.sizeof("eddy_op_spec")
    spec.name, spec.inputs, spec.outputs, spec.attrs = texts[:4]
    if doc:
        spec.doc = texts[4]
    spec.kernel, spec.user = lib.eddy_py_kernel, handle
    kept = [handle, op]
    if shape is not None:
        kept.append(_infer_callback(op))
        spec.infer = kept[-1]
    if gradient is not None:
        kept.append(_gradient_callback(op))
        spec.gradient = kept[-1]
    if stateful:
        spec.flags = lib.EDDY_OP_STATEFUL
    check(lib.eddy_op_register(context._ptr, spec, err), err)
    # They live as long as anything of the context may call them.
    context._ops.append(op)
    _registered.append(kept)
    return op


# The library keeps the pointers for as long as the context is, and a run may
# hold that after Python's own reference is gone.
_registered = []


__all__ = ["register", "GradientNode"]
