# SPDX-License-Identifier: Apache-2.0
"""TorchScript, in a process of the system's own Python.

Debian has PyTorch as python3-torch, which is for that Python alone.  The child
answers one line to each line that it is given.
"""

import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from .program import Program, Unavailable

PYTHON = "/usr/bin/python3"
CHILD = Path(__file__).with_name("torch_child.py")


class TorchRunner:
    """The program's function of torch_programs.py in a child process."""

    def __init__(self, program: Program) -> None:
        if not program.torch:
            raise Unavailable("-", "")
        self._folder = tempfile.TemporaryDirectory()
        feeds = Path(self._folder.name) / "feeds.npz"
        np.savez(feeds, *program.feeds.values())
        self._child = subprocess.Popen(
            [PYTHON, str(CHILD), program.torch, str(feeds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            self.first_ns = self._answer()["first_ns"]
        except Unavailable:
            self.close()
            raise

    def _answer(self) -> dict:
        line = self._child.stdout.readline()
        if not line:
            raise Unavailable("not installed", "")
        answer = json.loads(line)
        if "error" in answer:
            raise Unavailable(answer["label"], answer["error"])
        return answer

    def _ask(self, *words: object) -> dict:
        self._child.stdin.write(" ".join(map(str, words)) + "\n")
        self._child.stdin.flush()
        return self._answer()

    def values(self) -> list[np.ndarray]:
        path = Path(self._folder.name) / "values.npz"
        self._ask("values", path)
        with np.load(path, allow_pickle=False) as held:
            return [held[name] for name in held.files]

    def block(self, repeat: int, cpu: bool) -> float:
        return self._ask("block", repeat, int(cpu))["ns"]

    def close(self) -> None:
        self._child.stdin.close()
        self._child.wait()
        self._child.stdout.close()
        self._folder.cleanup()
