# SPDX-License-Identifier: Apache-2.0
"""Writes out the node tests of the Python package onnx.

    onnx_node_tests.py FOLDER

Each becomes FOLDER/<name>/model.onnx with test_data_set_0/input_N.pb and
output_N.pb, as ONNX's backend tests are laid out.  The package makes them when
it is asked for, from its reference implementation, so they are those of the
opset that it knows.
"""

import os
import sys
import warnings

warnings.filterwarnings("ignore")

import onnx  # noqa: E402
from onnx import numpy_helper  # noqa: E402
from onnx.backend.test.case import node  # noqa: E402


def to_bytes(value, info):
    kind = info.type.WhichOneof("value")
    if isinstance(value, onnx.TensorProto):
        proto = value
    elif kind == "sequence_type":
        proto = numpy_helper.from_list(value, info.name)
    elif kind == "optional_type":
        proto = numpy_helper.from_optional(value, info.name)
    elif kind == "map_type":
        proto = numpy_helper.from_dict(value, info.name)
    else:
        proto = numpy_helper.from_array(value, info.name)
    return proto.SerializeToString()


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def write_case(case, folder):
    graph = case.model.graph
    os.makedirs(folder, exist_ok=True)
    write(os.path.join(folder, "model.onnx"), case.model.SerializeToString())
    for i, (inputs, outputs) in enumerate(case.data_sets):
        data = os.path.join(folder, f"test_data_set_{i}")
        os.makedirs(data, exist_ok=True)
        for what, values, infos in (("input", inputs, graph.input),
                                    ("output", outputs, graph.output)):
            for j, value in enumerate(values):
                write(os.path.join(data, f"{what}_{j}.pb"),
                      to_bytes(value, infos[j]))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    cases = node.collect_testcases(None)
    for case in cases:
        write_case(case, os.path.join(sys.argv[1], case.name))
    print(f"{len(cases)} node tests of onnx {onnx.__version__}")


if __name__ == "__main__":
    main()
