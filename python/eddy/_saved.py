# SPDX-License-Identifier: Apache-2.0
"""SavedModels: a graph, its variables in a session, and what can be called."""
import os

from ._base import CLASSES, check, default_context, ffi, lib, new_error, text_of
from ._graph import Graph, Output


class SavedModel:
    """A SavedModel's folder, its variables restored.

        model = eddy.load_saved_model("folder")
        print(model.signatures)
        result = model(x=x)                # of serving_default: a dict
    """

    def __init__(self, path, context=None, tag="serve"):
        context = context or default_context()
        from ._plan import Session
        options = ffi.new("eddy_savedmodel_options *")
        options.size = ffi.sizeof("eddy_savedmodel_options")
        word = ffi.new("char[]", tag.encode())
        options.tag = word
        out, err = ffi.new("eddy_savedmodel **"), new_error()
        check(lib.eddy_savedmodel_load(context._ptr, os.fsencode(path), options,
                                       out, err), err)
        model = out[0]
        try:
            self.graph = Graph(context, lib.eddy_savedmodel_take_graph(model))
            self.session = self.graph.session = Session(context)
            check(lib.eddy_savedmodel_restore(model, self.session._ptr,
                                              ffi.NULL, err), err)
            self.signatures = {}
            i = 0
            while (s := lib.eddy_savedmodel_signature_at(model, i)) != ffi.NULL:
                self.signatures[text_of(s.name)] = Signature(self, s)
                i += 1
        finally:
            lib.eddy_savedmodel_destroy(model)

    def __getitem__(self, name):
        try:
            return self.signatures[name]
        except KeyError:
            raise CLASSES["NOT_FOUND"](
                f"no signature {name!r}; there are "
                f"{', '.join(self.signatures)}", "NOT_FOUND",
                "EDDY_E_UNKNOWN_NAME") from None

    def __call__(self, *args, **feeds):
        """Calls serving_default."""
        return self["serving_default"](*args, **feeds)

    def __repr__(self):
        return f"<eddy.SavedModel with {', '.join(self.signatures)}>"


class Signature:
    """What can be called of a SavedModel: inputs and outputs by its names."""

    def __init__(self, model, ptr):
        self.name, self._graph = text_of(ptr.name), model.graph
        self.inputs = self._ports(ptr.inputs, ptr.n_inputs)
        self.outputs = self._ports(ptr.outputs, ptr.n_outputs)
        self._plan = None

    def _ports(self, array, n):
        return {text_of(array[i].name): Output(
            self._graph, array[i].output.node, array[i].output.index)
            for i in range(n)}

    @property
    def plan(self):
        """Its plan, with the signature's names for feeds and results."""
        if self._plan is None:
            self._plan = self._graph.plan(list(self.inputs.values()),
                                          self.outputs)
            self._plan._index.update(
                {name: i for i, name in enumerate(self.inputs)})
        return self._plan

    def __call__(self, *args, **feeds):
        return self.plan(*args, **feeds)

    def __repr__(self):
        return (f"<eddy.Signature {self.name!r} ({', '.join(self.inputs)}) -> "
                f"({', '.join(self.outputs)})>")


def load_saved_model(path, context=None, tag="serve"):
    """The SavedModel in the folder `path`."""
    return SavedModel(path, context, tag)
