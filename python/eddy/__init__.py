# SPDX-License-Identifier: Apache-2.0
"""eddy: dataflow graphs with loops and conditionals, from Python.

    import eddy
    graph = eddy.load("model.pb")
    step = graph.plan(fetches=["loss"])
    loss, = step(x=x, w=w)

    g = eddy.Graph()
    n = g.placeholder("int32", [], name="n")
    i, total = eddy.while_loop(lambda i, t: i < n,
                               lambda i, t: (i + 1, t + i), [g.constant(0),
                                                             g.constant(0)])
    print(g.plan(fetches=total)(n=10))
"""
from . import _base
from ._base import Context, Error, default_context
from ._flow import (Cond, While, cond, foldl, foldr, foreach, map_fn, scan,
                    while_loop)
from ._graph import Graph, Operation, Output, describe_op, load
from ._ops import GradientNode, register
from ._options import Checkpoint, Progress
from ._plan import Plan, Session, Stats
from ._saved import SavedModel, Signature, load_saved_model
from ._structure import Branch, Loop, LoopVariable
from ._tensor import Tensor, from_dlpack, tensor
from ._trace import Record, Trace, Value, Wait, trace
from ._verify import Verification, verify

#: All functions of the C library, raw, for what is not here.
ffi, lib = _base.ffi, _base.lib

__version__ = _base.text_of(lib.eddy_version())

for _class in _base.CLASSES.values():
    globals()[_class.__name__] = _class
del _class


def equal(a, b):
    """Elements that are equal; `==` tells whether two outputs are the same."""
    graph = a.graph if isinstance(a, Output) else b.graph
    like = a if isinstance(a, Output) else b
    return graph.add("Equal", graph.convert(a, like), graph.convert(b, like))


def components():
    """What this copy of eddy computes with."""
    found = {}
    for name, number in (("blas", lib.EDDY_COMPONENT_BLAS),
                         ("onednn", lib.EDDY_COMPONENT_ONEDNN),
                         ("cpu", lib.EDDY_COMPONENT_CPU)):
        text = ffi.new("char[]", 256)
        lib.eddy_component_format(number, text, 256)
        found[name] = _base.text_of(text)
    return found


__all__ = [
    "Branch", "Checkpoint", "Cond", "Context", "Error", "GradientNode", "Graph", "Loop",
    "LoopVariable", "Operation", "Output", "Plan", "Progress", "Record", "SavedModel",
    "Session", "Signature", "Stats",
    "Tensor", "Trace", "Value", "Verification", "Wait", "While", "components", "cond", "default_context", "describe_op",
    "equal", "foldl", "foldr", "foreach", "from_dlpack", "load",
    "load_saved_model", "map_fn",
    "register", "scan", "tensor", "trace", "verify", "while_loop",
    *(c.__name__ for c in _base.CLASSES.values())]
