# SPDX-License-Identifier: Apache-2.0
"""Runs one function of torch_programs.py, as torch_runner.py asks for it."""

import json
import sys
import time
from functools import partial

from timing import time_block


def tell(**answer):
    print(json.dumps(answer), flush=True)


def load(name, path):
    """The function, ready to be called again and again, and what that took."""
    import numpy as np
    import torch

    import torch_programs

    torch.set_num_threads(1)
    with np.load(path, allow_pickle=False) as held:
        feeds = [held[k] for k in held.files]
    arguments = [
        value.item() if value.ndim == 0 else torch.from_numpy(value)
        for value in feeds
    ]
    begun = time.process_time_ns()
    run = partial(torch_programs.PROGRAMS[name], *arguments)
    run()
    return run, time.process_time_ns() - begun


def put_values(run, path):
    import numpy as np
    import torch

    results = run()
    if not isinstance(results, tuple):
        results = (results,)
    arrays = []
    for result in results:
        if isinstance(result, torch.Tensor):
            arrays.append(result.detach().numpy())
        else:
            kind = "i4" if isinstance(result, int) else "f4"
            arrays.append(np.array(result, kind))
    np.savez(path, *arrays)


def main():
    try:
        run, first_ns = load(sys.argv[1], sys.argv[2])
    except ImportError as problem:
        tell(label="not installed", error=str(problem))
        return
    tell(first_ns=first_ns)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "values":
            put_values(run, words[1])
            tell()
        else:
            tell(ns=time_block(run, int(words[1]), words[2] == "1"))


if __name__ == "__main__":
    main()
