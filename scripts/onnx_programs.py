# SPDX-License-Identifier: Apache-2.0
"""Random ONNX models with control flow, held against ONNX Runtime.

    onnx_programs.py FOLDER [--seed N] [--first N] [--count N] [--opset N]
                     [--keep] [--eddy PATH] [VERIFY OPTION...]

Draws models of nested Loop, If, Scan, SequenceMap, recurrent operators, local
functions, sequences and optional values, over opsets 8 to 25.  Model k of a
seed is the same whatever count is asked for.  ONNX Runtime gives what each
must give; one that it refuses is left out and counted.  They are written below
FOLDER as ONNX lays out its backend tests, and if --eddy is given, `eddy
verify` runs them by every executor with 0 and with 4 workers.  --keep takes
those that FOLDER has.

What the text of ONNX leaves open, or ONNX Runtime does otherwise (docs/onnx.md
has the list), is not drawn: a Loop that only its body's condition could end
without a condition as input, a Scan of length 0, scan outputs of no trips
whose dimensions are unknown.
"""

import argparse
import collections
import os
import random
import re
import shutil
import subprocess
import sys
import warnings

warnings.filterwarnings("ignore")

import onnx  # noqa: E402
from onnx import numpy_helper  # noqa: E402

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from onnx_program import Program  # noqa: E402

EXECUTORS = ("dynamic", "linear", "native", "auto")


def to_bytes(value, info):
    kind = info.type.WhichOneof("value")
    if kind == "sequence_type":
        proto = numpy_helper.from_list(value, info.name) \
            if value else empty_sequence(info.name)
    elif kind == "optional_type":
        proto = numpy_helper.from_optional(value, info.name)
    else:
        proto = numpy_helper.from_array(value, info.name)
    return proto.SerializeToString()


def empty_sequence(name):
    proto = onnx.SequenceProto()
    proto.name = name
    proto.elem_type = onnx.SequenceProto.TENSOR
    return proto


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def write_case(folder, model, feeds, results):
    graph = model.graph
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data)
    write(os.path.join(folder, "model.onnx"), model.SerializeToString())
    for i, info in enumerate(graph.input):
        write(os.path.join(data, f"input_{i}.pb"),
              to_bytes(feeds[info.name], info))
    for i, info in enumerate(graph.output):
        write(os.path.join(data, f"output_{i}.pb"), to_bytes(results[i], info))


def run_reference(model, feeds):
    import onnxruntime as ort
    ort.set_default_logger_severity(4)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options,
                                   providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def make_one(folder, seed, number, opset):
    """Writes model `number`; why not, if it is left out."""
    program = Program(random.Random(f"{seed}/{number}"), opset)
    model, feeds = program.make()
    try:
        results = run_reference(model, feeds)
    except Exception as error:  # pylint: disable=broad-except
        return str(error)
    write_case(os.path.join(folder, f"program_{number:06}"), model, feeds,
               results)
    return ""


def make_in_child(args, first, last):
    """A child writes models; what kills it takes one model only."""
    left = []
    while first < last:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            with os.fdopen(writer, "w", buffering=1) as out:
                for number in range(first, last):
                    why = make_one(args.folder, args.seed, number, args.opset)
                    print(number, " ".join(why.split()), file=out)
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as lines:
            for line in lines:
                number, _, why = line.rstrip("\n").partition(" ")
                first = int(number) + 1
                if why:
                    left.append((int(number), why))
        _, status = os.waitpid(child, 0)
        if status != 0 and first < last:
            left.append((first, f"the process ended with status {status}"))
            shutil.rmtree(os.path.join(args.folder, f"program_{first:06}"),
                          ignore_errors=True)
            first += 1
        elif status != 0:
            break
    return left


def report_left(left):
    """The reasons, without the numbers in them, and how often."""
    reasons, first = collections.Counter(), {}
    for number, why in left:
        why = re.sub(r"[a-z_0-9]*[0-9]+", "N", why)[-160:]
        reasons[why] += 1
        first.setdefault(why, number)
    for why, n in reasons.most_common():
        print(f"left out: {n:4}  ...{why} (first: {first[why]})")


def verify(args, options):
    """Runs all; False if a model failed."""
    is_good = True
    for executor in EXECUTORS:
        for workers in ("0", "4"):
            done = subprocess.run(
                [args.eddy, "verify", "--executor", executor, "--workers",
                 workers, *options, args.folder], text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            path = os.path.join(args.folder, f"{executor}_{workers}.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write(done.stdout)
            print(f"{executor}, {workers} workers:",
                  done.stdout.strip().rsplit("\n", 1)[-1], flush=True)
            if done.returncode != 0:
                is_good = False
                print(done.stdout[:4000])
    return is_good


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--opset", type=int, default=0)
    parser.add_argument("--eddy")
    parser.add_argument("--keep", action="store_true")
    args, options = parser.parse_known_args()
    if not args.keep:
        shutil.rmtree(args.folder, ignore_errors=True)
        os.makedirs(args.folder)
        left = make_in_child(args, args.first, args.first + args.count)
        report_left(left)
        print(f"{args.count - len(left)} models of seed {args.seed}, "
              f"{len(left)} left out", flush=True)
    if args.eddy and not verify(args, options):
        sys.exit(1)


if __name__ == "__main__":
    main()
