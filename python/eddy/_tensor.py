# SPDX-License-Identifier: Apache-2.0
"""Tensors, and arrays to tensors and back without a copy where memory allows."""
import ctypes

import numpy as np

from ._base import (NAMES, NUMPY, check, default_context, dtype_number, ffi,
                    from_shape, lib, new_error, no_memory, to_exception,
                    to_shape)

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_drop = int(ffi.cast("uintptr_t", ffi.addressof(lib, "eddy_py_dlpack_drop")))
_CPU = (1, 0)


class Tensor:
    """An immutable tensor of eddy's; numpy.asarray and DLPack read its memory.

    It holds a reference to its memory and one to its context, so it stays good
    whatever else is gone.
    """
    __slots__ = ("_box", "__weakref__")

    def __init__(self, box):
        self._box = box

    @property
    def dtype(self):
        return NAMES[self._box.dtype]

    @property
    def shape(self):
        return tuple(self._box.dims[0:self._box.rank])

    @property
    def __array_interface__(self):
        box = self._box
        if box.dtype == lib.EDDY_STRING:
            raise AttributeError("texts have no array interface")
        return {"version": 3, "shape": tuple(box.dims[0:box.rank]),
                "typestr": NUMPY[box.dtype].str,
                "data": (int(ffi.cast("uintptr_t", box.data)), True)}

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def numpy(self):
        """An array over this memory, not to be written; texts are copied."""
        return to_numpy(self._box)

    def __dlpack_device__(self):
        return _CPU

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None,
                   copy=None):
        box = self._box
        if box.dtype == lib.EDDY_STRING:
            raise BufferError("texts have no DLPack form")
        if dl_device not in (None, _CPU):
            raise BufferError("eddy's tensors are in the CPU's memory")
        versioned = max_version is not None and max_version >= (1, 0)
        # Before version 1 nothing can say that memory is not to be written.
        if copy or (not versioned and copy is None):
            box = _copy(box)
        else:
            box = _share(box)
        managed = lib.eddy_py_dlpack(box, versioned)
        if managed == ffi.NULL:
            lib.eddy_py_box_free(box)
            raise no_memory()
        return _new_capsule(
            int(ffi.cast("uintptr_t", managed)),
            b"dltensor_versioned" if versioned else b"dltensor", _drop)

    def __repr__(self):
        return f"<eddy.Tensor {self.dtype}{list(self.shape)}>"


def _share(box):
    """A second box, not collected, over the same tensor."""
    tensor = lib.eddy_tensor_retain(box.tensor)
    new = lib.eddy_py_box_new(box.ctx, tensor)
    if new == ffi.NULL:
        lib.eddy_tensor_release(tensor)
        raise no_memory()
    return new


def _copy(box):
    shape = ffi.new("eddy_shape *", {"rank": box.rank})
    shape.dims = box.dims
    out, err = ffi.new("eddy_tensor **"), new_error()
    check(lib.eddy_tensor_create(box.ctx, box.dtype, shape, out, err), err)
    ffi.memmove(lib.eddy_tensor_mutable_data(out[0]), box.data, box.bytes)
    new = lib.eddy_py_box_new(box.ctx, out[0])
    if new == ffi.NULL:
        lib.eddy_tensor_release(out[0])
        raise no_memory()
    return new


def own(box):
    """Has the collector free a box."""
    return ffi.gc(box, lib.eddy_py_box_free)


def box_tensor(ctx, tensor):
    """A collected box that takes `tensor`."""
    box = lib.eddy_py_box_new(ctx._ptr, tensor)
    if box == ffi.NULL:
        lib.eddy_tensor_release(tensor)
        raise no_memory()
    return own(box)


def to_numpy(box):
    """An array over a collected box."""
    if box.dtype != lib.EDDY_STRING:
        return np.asarray(_View(box))
    texts = np.empty(tuple(box.dims[0:box.rank]), object)
    flat = texts.reshape(-1)
    for i in range(box.count):
        text = lib.eddy_tensor_string(box.tensor, i)
        flat[i] = ffi.buffer(text.data, text.length)[:] if text.length else b""
    return texts


class _View:
    """Lends a box's memory to NumPy, and lives as long as the array."""
    __slots__ = ("_box", "__array_interface__")

    def __init__(self, box):
        self._box = box
        self.__array_interface__ = {
            "version": 3, "shape": tuple(box.dims[0:box.rank]),
            "typestr": _TYPESTR[box.dtype],
            "data": (int(ffi.cast("uintptr_t", box.data)), True)}


_TYPESTR = {number: dtype.str for number, dtype in NUMPY.items()}


def to_array(value, dtype=0):
    """A NumPy array that eddy can read as it stands, of `dtype` unless 0.

    An array keeps its dtype: that is for eddy to accept.  Numbers and lists
    become what is wanted of them.
    """
    if not isinstance(value, (np.ndarray, np.generic)):
        if hasattr(value, "__dlpack__"):
            value = np.from_dlpack(value)
        else:
            wanted = NUMPY.get(dtype)
            if dtype == lib.EDDY_BFLOAT16:
                value = _to_bfloat16(value)
            elif wanted is None or hasattr(value, "__array__"):
                value = np.asarray(value)
            else:
                value = _convert(value, wanted)
    kind = value.dtype.kind
    if kind == "b":
        # A view of other bytes as bool may hold more than 0 and 1.
        return (np.asarray(value, order="C").view(np.uint8) != 0)
    if kind in "SUO" or value.dtype.name == "bfloat16":
        return value
    return np.require(value, value.dtype.newbyteorder("="),
                      ["C_CONTIGUOUS", "ALIGNED"]).reshape(np.shape(value))


def _convert(value, wanted):
    """Python's own numbers: exactly, or not at all."""
    array = np.asarray(value)
    if array.size and array.dtype.kind in "biuf" and wanted.kind in "iu":
        with np.errstate(invalid="ignore"):
            converted = array.astype(wanted)
        if not np.array_equal(converted, array):
            raise ValueError(f"{value!r} is no {wanted}")
        return converted
    return np.asarray(value, dtype=wanted)


def _to_bfloat16(value):
    array = np.asarray(value, np.float32)
    bits = [lib.eddy_bfloat16_from_float(float(x)) for x in array.reshape(-1)]
    return np.array(bits, np.uint16).reshape(array.shape)


def _from_strings(ctx, array):
    flat = [x.encode() if isinstance(x, str) else bytes(x)
            for x in array.reshape(-1).tolist()]
    held = [ffi.from_buffer(x) for x in flat]
    texts = ffi.new("eddy_string[]", max(len(flat), 1))
    for i, data in enumerate(held):
        texts[i].data, texts[i].length = data, len(flat[i])
    out, err = ffi.new("eddy_tensor **"), new_error()
    check(lib.eddy_tensor_from_strings(ctx._ptr, to_shape(array.shape), texts,
                                       len(flat), out, err), err)
    return box_tensor(ctx, out[0])


def to_box(ctx, value, dtype=0):
    """A collected box over an array, a number, a list, texts, or a Tensor."""
    if isinstance(value, Tensor):
        return value._box
    as_dtype = dtype if dtype == lib.EDDY_BFLOAT16 else 0
    array = to_array(value, dtype)
    if array.dtype.kind in "SUO":
        return _from_strings(ctx, array)
    if array.dtype.name == "bfloat16":
        array, as_dtype = array.view(np.uint16), lib.EDDY_BFLOAT16
    out, err = ffi.new("eddy_tensor **"), new_error()
    how = lib.eddy_py_wrap(ctx._ptr, id(array), as_dtype, out, err)
    if how == lib.EDDY_PY_FAILED:
        raise to_exception(err)
    if how == lib.EDDY_PY_CONVERT:
        raise TypeError(f"eddy can't take an array of {array.dtype} "
                        f"with shape {array.shape}")
    return box_tensor(ctx, out[0])


def tensor(value, dtype=None, context=None):
    """A tensor over an array's memory, or of numbers, texts, or by DLPack.

    The array may not be written while the tensor is there.
    """
    number = dtype_number(dtype) if dtype is not None else 0
    return Tensor(to_box(context or default_context(), value, number))


def from_dlpack(value, context=None):
    """A tensor over the memory of any object with DLPack's methods."""
    return Tensor(to_box(context or default_context(), np.from_dlpack(value)))


__all__ = ["Tensor", "tensor", "from_dlpack", "from_shape"]
