# SPDX-License-Identifier: Apache-2.0
"""Programs that TensorFlow writes here, with their twins in JAX and PyTorch."""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import tensorflow as tf

from .program import Program

v1 = tf.compat.v1

# What is fed is known to nobody before a run, so no system computes ahead.
TRIPS = "n"

Build = Callable[..., list[tf.Tensor]]


def write_graph(
    path: Path, build: Build, feeds: Mapping[str, np.ndarray]
) -> tuple[str, ...]:
    """Writes what `build` makes of placeholders, in v1 form; its fetches."""
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        places = {
            name: v1.placeholder(value.dtype, value.shape, name)
            for name, value in feeds.items()
        }
        results = build(**places)
        fetches = tuple(
            tf.identity(value, name=f"result{k}").name
            for k, value in enumerate(results)
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(graph.as_graph_def().SerializeToString())
    return fetches


def jax_twin(function, feeds, static: bool):
    """A function of arrays and its arguments.

    A loop that reverse mode goes through must have a known length there, so
    with `static` the trips are a number and no argument.
    """

    def make():
        arguments = dict(feeds)
        if not static:
            return function, tuple(arguments.values())
        trips = int(arguments.pop(TRIPS))
        return (
            lambda *rest: function(trips, *rest),
            tuple(arguments.values()),
        )

    return make


def write_program(
    folder: Path,
    name: str,
    group: str,
    build: Build,
    feeds: Mapping[str, np.ndarray],
    *,
    inner: int = 1,
    tolerance: float = 0.0,
    jax=None,
    static: bool = False,
    torch: str = "",
    divisor: int = 10,
) -> Program:
    """A program of feeds["n"] trips, each of `inner` iterations.

    Its smaller twin has a part of the trips, 1 in `divisor`.
    """

    def made(trips: int, fed: Mapping[str, np.ndarray]) -> Program:
        return Program(
            name=name if fed is feeds else f"{name}_few",
            group=group,
            graph=path,
            fetches=fetches,
            iterations=trips * inner,
            tolerance=tolerance,
            onnx_model=None,
            feeds=fed,
            jax=jax and jax_twin(jax, fed, static),
            torch=torch,
        )

    path = folder / f"{name}.pb"
    fetches = write_graph(path, build, feeds)
    trips = int(feeds[TRIPS])
    few = max(trips // divisor, 1)
    fewer = {**feeds, TRIPS: np.int32(few)}
    return dataclasses.replace(
        made(trips, feeds), smaller=made(few, fewer)
    )
