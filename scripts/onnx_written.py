#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs in ONNX Runtime what `eddy convert` writes of recorded graphs.

onnx_written.py EDDY FOLDER CASES: for every recorded run below CASES whose
graph ONNX can express, the values that ONNX Runtime computes from the model
must be those that were recorded.  The last line is the sum; exit status 1 if
one differs.
"""
import json
import os
import subprocess
import sys

import numpy as np
import onnxruntime

# What ONNX Runtime has no kernel for on a CPU is no fault of the model.
LACKS = ("NOT_IMPLEMENTED", "Could not find an implementation",
         "not currently registered or supported")

# What ONNX leaves open and ONNX Runtime fills otherwise than TensorFlow.
LEFT_OPEN = {("kernels/Mean", 6): "the mean of no elements"}


def convert(eddy, graph, fetches, model):
    """True, or why not."""
    command = [eddy, "convert", graph, "-o", model]
    for name in fetches:
        command += ["--fetch", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return True if done.returncode == 0 else done.stderr.strip()


def run(model, folder, run_spec):
    """Differences from what was recorded; None if there is no kernel."""
    try:
        session = onnxruntime.InferenceSession(
            model, providers=["CPUExecutionProvider"])
    except Exception as error:
        if any(text in str(error) for text in LACKS):
            return None
        return str(error)
    inputs = {i.name for i in session.get_inputs()}
    feeds = {}
    for name, file in run_spec["feeds"].items():
        name = name[:-2] if name.endswith(":0") else name
        if name in inputs:
            feeds[name] = np.load(os.path.join(folder, file))
    try:
        values = session.run(None, feeds)
    except Exception as error:
        if any(text in str(error) for text in LACKS):
            return None
        return str(error)
    for value, file in zip(values, run_spec["expect"]):
        wanted = np.load(os.path.join(folder, file))
        # Kernels of others round otherwise, and a loop adds that up.
        rtol = max(run_spec["rtol"], 1e-3 if wanted.dtype.itemsize < 8
                   else 1e-7)
        if value.shape != wanted.shape:
            return f"shape {value.shape}, wanted {wanted.shape}"
        if wanted.dtype.kind in "biuSUO":
            same = np.array_equal(value, wanted)
        else:
            same = np.allclose(value.astype(np.float64),
                               wanted.astype(np.float64), rtol=rtol,
                               atol=max(run_spec["atol"], 1e-5),
                               equal_nan=True)
        if not same:
            return f"got {value.ravel()[:4]}, wanted {wanted.ravel()[:4]}"
    return ""


def is_fed_at_placeholders(eddy, graph, feeds):
    text = subprocess.run([eddy, "inspect", graph, "--json"],
                          capture_output=True, text=True, check=False).stdout
    names = {i["node"] for i in json.loads(text)["inputs"]} if text else set()
    return all(name.split(":")[0] in names for name in feeds)


def main():
    eddy, work, cases = sys.argv[1:4]
    onnxruntime.set_default_logger_severity(4)
    os.makedirs(work, exist_ok=True)
    model = os.path.join(work, "written.onnx")
    count = {"same": 0, "refused": 0, "no kernel": 0, "differ": 0}
    for folder, _, files in sorted(os.walk(cases)):
        if "case.json" not in files or "graph.pb" not in files:
            continue
        graph = os.path.join(folder, "graph.pb")
        with open(os.path.join(folder, "case.json"), encoding="utf-8") as file:
            case = json.load(file)
        written, last = None, None
        for i, spec in enumerate(case.get("runs", [])):
            if not isinstance(spec.get("expect"), list) or spec["targets"]:
                continue
            if (os.path.relpath(folder, cases), i) in LEFT_OPEN:
                continue
            if not is_fed_at_placeholders(eddy, graph, spec["feeds"]):
                continue
            if spec["fetches"] != last:
                written = convert(eddy, graph, spec["fetches"], model)
                last = spec["fetches"]
            if written is not True:
                count["refused"] += 1
                continue
            problem = run(model, folder, spec)
            if problem is None:
                count["no kernel"] += 1
            elif problem:
                count["differ"] += 1
                print(f"FAILED {folder} run {i}: {problem[:300]}")
            else:
                count["same"] += 1
    print("written models in ONNX Runtime: "
          + ", ".join(f"{n} {what}" for what, n in count.items()))
    return 1 if count["differ"] else 0


if __name__ == "__main__":
    sys.exit(main())
