# SPDX-License-Identifier: Apache-2.0
"""Tests of the comparison, with a stand-in for the eddy command.

The stand-in is a shell script that answers as the command's page says it
does; what it answers is set by each test.
"""

import contextlib
import dataclasses
import json
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from . import __main__ as command
from .eddy_runner import EddyRunner, file_name
from .jax_runner import JaxRunner
from .measure import (
    Outcome,
    Result,
    all_agree,
    block_size,
    is_empty,
    measure,
    same_values,
)
from .onnx_runner import OnnxRunner
from .plot import draw
from .program import Program, Unavailable
from .report import as_json, table
from .scalar_programs import load_scalars
from .scaling import Shape, generate, shapes
from .tensorflow_runner import TensorFlowRunner
from .torch_runner import TorchRunner

ABOUT = {
    "tensorflow": "?",
    "onnxruntime": "?",
    "processor": "?",
    "rounds": 2,
    "time": "clock",
}

FIGURES = (
    '{"first_cpu_ns": 603, "median_ns": 500}'
)

STAND_IN = """#!/bin/sh
echo "$*" >> {folder}/calls
case $1 in
run)
    while [ $# -gt 1 ]; do
        [ "$1" = --out ] && cp {folder}/values/* "$2"
        shift
    done
    {run} ;;
bench)
    {bench} ;;
esac
"""


class WithFolder(unittest.TestCase):
    """A folder of its own for each test, and a small program in it."""

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.program = generate(Shape(1, 10, 2), self.folder)

    def write_eddy(
        self,
        values: list[np.ndarray],
        run: str = "exit 0",
        bench: str = f"echo '{FIGURES}'",
    ) -> Path:
        """Writes the stand-in; `run` and `bench` are how the verbs end."""
        (self.folder / "values").mkdir()
        for fetch, value in zip(self.program.fetches, values, strict=True):
            np.save(self.folder / "values" / file_name(fetch), value)
        script = self.folder / "eddy"
        text = STAND_IN.format(folder=self.folder, run=run, bench=bench)
        script.write_text(text)
        script.chmod(0o755)
        return script

    def measured(self, eddy: Path):
        """The result of the program on all three systems."""
        systems = {
            "eddy": lambda program: EddyRunner(program, eddy, ["--x", "1"]),
            "tensorflow": TensorFlowRunner,
            "onnxruntime": OnnxRunner,
        }
        return measure(self.program, systems, 2)


RIGHT = [np.asarray(10, np.int32), np.asarray(2.5, np.float32)]
WRONG = [np.asarray(10, np.int32), np.asarray(2.75, np.float32)]


class EddyTest(WithFolder):
    def test_right_values_agree_and_ratios_have_eddy_below(self) -> None:
        result = self.measured(self.write_eddy(RIGHT))
        self.assertIs(result.agree, True)
        self.assertEqual(result.ns_per_iteration("eddy"), 50.0)
        theirs = result.outcomes["tensorflow"].median_ns
        self.assertAlmostEqual(
            result.ratio("tensorflow", "eddy"), theirs / 500
        )
        self.assertTrue(command.succeeded([result]))

    def test_wrong_value_disagrees_and_fails(self) -> None:
        result = self.measured(self.write_eddy(WRONG))
        self.assertIs(result.agree, False)
        self.assertIn("NO", table([result], ABOUT))
        self.assertFalse(command.succeeded([result]))

    def test_missing_op_is_unsupported_and_peers_still_show(self) -> None:
        message = "NOT_FOUND (EDDY_E_UNKNOWN_OP): no op StackV2"
        eddy = self.write_eddy(RIGHT, f"echo '{message}' >&2; exit 1")
        result = self.measured(eddy)
        self.assertEqual(result.outcomes["eddy"].label, "unsupported")
        self.assertIsNotNone(result.ns_per_iteration("tensorflow"))
        self.assertIsNotNone(result.ns_per_iteration("onnxruntime"))
        text = table([result], ABOUT)
        self.assertIn("no op StackV2", text)
        self.assertIn("(yes)", text)
        self.assertTrue(command.succeeded([result]))

    def test_all_else_that_goes_wrong_is_a_failure(self) -> None:
        other = "echo 'INTERNAL (EDDY_E_VALUE): broken' >&2; exit 1"
        ends = ("exit 2", other, "kill -SEGV $$", "exit 0")
        for index, end in enumerate(ends):
            with self.subTest(end=end):
                self.folder = self.folder / str(index)
                self.folder.mkdir()
                bench = "echo nothing" if end == "exit 0" else "exit 0"
                eddy = self.write_eddy(RIGHT, end, bench)
                result = self.measured(eddy)
                self.assertEqual(result.outcomes["eddy"].label, "failed")
                self.assertFalse(command.succeeded([result]))

    def test_failing_bench_is_no_missing_op(self) -> None:
        result = self.measured(self.write_eddy(RIGHT, bench="exit 1"))
        self.assertEqual(result.outcomes["eddy"].label, "failed")

    def test_missing_binary_leaves_the_peers(self) -> None:
        result = self.measured(self.folder / "absent")
        self.assertEqual(result.outcomes["eddy"].label, "not built")
        self.assertIn("build it first", result.outcomes["eddy"].reason)
        self.assertIs(result.agree, True)
        self.assertFalse(command.succeeded([result]))

    def test_bench_gets_graph_options_fetches_and_repeat(self) -> None:
        eddy = self.write_eddy(RIGHT)
        self.measured(eddy)
        calls = (self.folder / "calls").read_text().splitlines()
        self.assertEqual(
            calls[1],
            f"bench {self.program.graph} --x 1 --fetch while/Exit:0 "
            "--fetch while/Exit_1:0 --json --repeat 3",
        )

    def test_processor_time_leaves_out_loading_and_waiting(self) -> None:
        count = "i=0; while [ $i -lt $((${11} * 3000)) ]; do i=$((i+1)); done"
        wait = "[ ${11} = 1 ] || sleep 2"
        answer = f"echo '{FIGURES}'"
        eddy = self.write_eddy(RIGHT, bench=f"{count}; {wait}; {answer}")
        runner = EddyRunner(self.program, eddy, ["--x", "1"])
        run_ns = runner.block(20, True)
        self.assertGreater(run_ns, 0)
        self.assertLess(run_ns, 50_000_000)
        calls = (self.folder / "calls").read_text().splitlines()
        repeats = [call.split()[-1] for call in calls]
        self.assertEqual(repeats, ["1", "21"])

    def test_file_names_are_percent_encoded(self) -> None:
        self.assertEqual(file_name("a/B-c_0.1:0"), "a%2FB-c_0.1%3A0.npy")
        self.assertEqual(file_name("\u00e9"), "%C3%A9.npy")


class ValuesTest(unittest.TestCase):
    def test_dtype_shape_and_value_must_agree(self) -> None:
        one = [np.asarray([1.0, 2.0], np.float32)]
        for other in (
            [np.asarray([1.0, 2.0], np.float64)],
            [np.asarray([[1.0, 2.0]], np.float32)],
            [np.asarray([1.0, 2.0000002], np.float32)],
            [],
        ):
            self.assertFalse(same_values(one, other, 0.0))
        self.assertTrue(same_values(one, [one[0].copy()], 0.0))

    def test_tolerance_is_of_the_largest_and_not_of_integers(self) -> None:
        wanted = [np.asarray([100.0, 1e-6])]
        self.assertTrue(same_values([wanted[0] + 0.009], wanted, 1e-4))
        self.assertFalse(same_values([wanted[0] + 0.011], wanted, 1e-4))
        self.assertFalse(
            same_values([np.asarray(100)], [np.asarray(101)], 0.1)
        )

    def test_infinities_do_not_widen_the_tolerance(self) -> None:
        wanted = [np.asarray([np.inf, np.nan, 1.0])]
        near = [np.asarray([np.inf, np.nan, 1.00001])]
        far = [np.asarray([np.inf, np.nan, 2.0])]
        self.assertTrue(same_values(near, wanted, 1e-4))
        self.assertFalse(same_values(far, wanted, 1e-4))
        self.assertTrue(same_values(wanted, wanted, 0.0))

    def test_zeros_and_non_finite_floats_say_nothing(self) -> None:
        self.assertTrue(is_empty(np.zeros(3)))
        self.assertTrue(is_empty(np.asarray([0.0, np.nan, np.inf])))
        self.assertFalse(is_empty(np.asarray([0.0, 1.0])))
        self.assertFalse(is_empty(np.asarray(0)))

    def test_one_set_of_values_neither_agrees_nor_not(self) -> None:
        self.assertIsNone(all_agree([RIGHT], 0.0))
        self.assertIs(all_agree([RIGHT, RIGHT, WRONG], 0.0), False)

    def test_blocks_are_bounded(self) -> None:
        self.assertEqual(block_size(0.0), 20_000)
        self.assertEqual(block_size(10_000_000.0), 5)
        self.assertEqual(block_size(1e12), 3)


class ScalingTest(WithFolder):
    def test_every_nest_has_the_trips_it_says(self) -> None:
        shape = Shape(3, 4, 3)
        program = generate(shape, self.folder)
        self.assertEqual(program.iterations, 64)
        for runner in (TensorFlowRunner(program), OnnxRunner(program)):
            values = [value.item() for value in runner.values()]
            self.assertEqual(values, [4, 64 * 0.25, 64 * 0.5])
            runner.close()

    def test_shapes_are_distinct_and_reach_the_ends(self) -> None:
        found = shapes()
        self.assertEqual(len(found), len(set(found)))
        self.assertEqual({s.depth for s in found}, {1, 2, 3, 4})
        self.assertLessEqual({10, 10_000}, {s.trips for s in found})
        self.assertLessEqual({1, 64}, {s.width for s in found})


class ReportTest(WithFolder):
    def test_json_holds_each_system(self) -> None:
        result = self.measured(self.write_eddy(RIGHT))
        parsed = json.loads(as_json([result], ABOUT))["programs"][0]
        self.assertEqual(parsed["systems"]["eddy"]["round_ns"], [500, 500])
        self.assertIs(parsed["values_agree"], True)
        self.assertEqual(parsed["systems"]["eddy"]["first_ns"], 603)
        self.assertGreater(parsed["systems"]["onnxruntime"]["by_eddy"], 0)

    def test_program_without_onnx_model_shows_a_dash(self) -> None:
        fields = {**self.program.__dict__, "onnx_model": None}
        self.program = Program(**fields)
        result = self.measured(self.write_eddy(RIGHT))
        self.assertEqual(result.outcomes["onnxruntime"].label, "-")
        self.assertIs(result.agree, True)

    def test_an_iteration_is_parted_from_a_call(self) -> None:
        few = dataclasses.replace(self.program, iterations=2)
        program = dataclasses.replace(self.program, smaller=few)
        outcome = Outcome(samples=[500.0], few_samples=[180.0])
        result = Result(program, {"eddy": outcome}, None, False)
        self.assertEqual(result.ns_per_iteration("eddy"), 40.0)
        self.assertEqual(result.fixed_ns("eddy"), 100.0)

    def test_a_drawing_has_a_bar_for_each_peer(self) -> None:
        result = self.measured(self.write_eddy(RIGHT))
        root = ElementTree.fromstring(draw([result]))
        bars = [e for e in root if e.tag.endswith("rect")]
        self.assertEqual(len(bars), 1 + 2 + 2)  # ground, legend, bars


class WrittenTest(WithFolder):
    def test_twins_give_the_same_values(self) -> None:
        found = {p.name: p for p in load_scalars(self.folder)}
        for name in ("counter", "cond_in_loop", "edit_distance"):
            program = found[name].smaller
            runners = [TensorFlowRunner(program)]
            for make in (JaxRunner, TorchRunner):
                with contextlib.suppress(Unavailable):
                    runners.append(make(program))
            given = [runner.values() for runner in runners]
            self.assertIsNot(all_agree(given, program.tolerance), False)
            for runner in runners:
                runner.close()


if __name__ == "__main__":
    unittest.main()
