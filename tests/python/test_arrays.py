# SPDX-License-Identifier: Apache-2.0
"""Every kind of array, in and out, with and without a copy."""
import gc
import sys

import numpy as np
import pytest

import eddy

DTYPES = ["float16", "float32", "float64", "int8", "int16", "int32", "int64",
          "uint8", "uint16", "uint32", "uint64", "bool", "complex64",
          "complex128"]


def identity(dtype, tensors=False):
    g = eddy.Graph()
    return g.plan(fetches=g.ops.Identity(g.placeholder(dtype, name="x")),
                  tensors=tensors)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_comes_back(dtype):
    value = (np.arange(6).reshape(2, 3) % 2).astype(dtype)
    got = identity(dtype)(value)
    assert got.dtype == value.dtype
    np.testing.assert_array_equal(got, value)


@pytest.mark.parametrize("kind", [
    "contiguous", "fortran", "negative", "strided", "empty", "scalar",
    "read_only", "unaligned", "big_endian", "broadcast", "generic", "list"])
def test_every_layout_comes_back(kind):
    base = np.arange(24, dtype="f8").reshape(4, 6)
    value = {
        "contiguous": lambda: base,
        "fortran": lambda: np.asfortranarray(base),
        "negative": lambda: base[::-1, ::-2],
        "strided": lambda: base[::2, 1::3],
        "empty": lambda: base[:, :0],
        "scalar": lambda: np.array(3.5),
        "read_only": lambda: np.frombuffer(base.tobytes(), "f8"),
        "unaligned": lambda: np.frombuffer(
            b"x" + base.tobytes(), np.uint8)[1:].view("f8"),
        "big_endian": lambda: base.astype(">f8"),
        "broadcast": lambda: np.broadcast_to(base[0], (3, 6)),
        "generic": lambda: np.float64(2.5),
        "list": lambda: base.tolist()}[kind]()
    got = identity("float64")(value)
    assert got.shape == np.shape(value)
    np.testing.assert_array_equal(got, value)


def test_a_bool_of_another_byte_is_true():
    value = np.array([0, 1, 2, 255], np.uint8).view(bool)
    got = identity("bool")(value)
    np.testing.assert_array_equal(got.view(np.uint8), [0, 1, 1, 1])


def test_texts():
    got = identity("string")(np.array([["a", "bc"], ["", "d\0"]], object))
    assert got.tolist() == [[b"a", b"bc"], [b"", b"d\0"]]
    assert identity("string")("x") == b"x"
    assert identity("string")(np.array([b"xy"])).tolist() == [b"xy"]


def test_bfloat16_goes_as_its_bits():
    bits = np.array([0x3f80, 0x4000], np.uint16)
    np.testing.assert_array_equal(identity("bfloat16")(bits), bits)
    np.testing.assert_array_equal(identity("bfloat16")([1.0, 2.0]), bits)


def test_numbers_are_taken_exactly_or_not_at_all():
    assert identity("int32")(7) == 7
    for bad in (1.5, 2 ** 40, -2 ** 31 - 1):
        with pytest.raises((ValueError, OverflowError)):
            identity("int32")(bad)
    with pytest.raises((eddy.Error, TypeError)):
        identity("float32")(np.zeros(1, "datetime64[s]"))
    with pytest.raises(eddy.InvalidArgumentError):
        identity("float32")(np.zeros(1, "f8"))


def test_contiguous_memory_is_not_copied():
    value = np.arange(1000, dtype="f4")
    g = eddy.Graph()
    x = g.placeholder("float32", name="x")
    got = g.plan(feeds=[x], fetches=x)(value)
    assert np.shares_memory(got, value)
    assert not got.flags.writeable
    before = sys.getrefcount(value)
    del got
    gc.collect()
    assert sys.getrefcount(value) <= before


def test_feeds_are_let_go_after_a_call():
    plan = identity("float32")
    value = np.ones(10, "f4")
    before = sys.getrefcount(value)
    for _ in range(100):
        plan(value)
    gc.collect()
    assert sys.getrefcount(value) == before


def test_a_result_outlives_all_that_made_it():
    def make():
        ctx = eddy.Context(workers=1)
        g = eddy.Graph(ctx)
        return g.plan(fetches=g.constant(np.arange(5.)) * 2)()
    got = make()
    gc.collect()
    np.testing.assert_array_equal(got, [0, 2, 4, 6, 8])


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_both_ways(dtype):
    if dtype == "bool" and np.lib.NumpyVersion(np.__version__) < "1.25.0":
        pytest.skip("this NumPy has no bool in DLPack")
    value = np.ones((2, 3), dtype)
    mine = eddy.from_dlpack(value)
    assert mine.dtype == dtype and mine.shape == (2, 3)
    assert mine.__dlpack_device__() == (1, 0)
    back = np.from_dlpack(mine)
    np.testing.assert_array_equal(back, value)
    del mine
    gc.collect()
    np.testing.assert_array_equal(back, value)
    with pytest.raises(BufferError):
        eddy.tensor("text").__dlpack__()


def test_dlpack_capsules_that_nobody_takes_are_freed():
    mine = eddy.tensor(np.ones(10))
    for version in (None, (1, 0)):
        capsule = mine.__dlpack__(max_version=version)
        name = "dltensor" + ("" if version is None else "_versioned")
        assert name in repr(capsule)
        del capsule
    with pytest.raises(BufferError):
        mine.__dlpack__(dl_device=(2, 0))


def test_a_plan_takes_tensors_and_gives_them():
    plan = identity("float32", tensors=True)
    one = plan(eddy.tensor([1.0, 2.0], "float32"))
    two = plan(one)
    np.testing.assert_array_equal(np.asarray(two), [1, 2])
    assert repr(two) == "<eddy.Tensor float32[2]>"
    np.testing.assert_array_equal(two.numpy(), [1, 2])
