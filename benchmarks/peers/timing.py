# SPDX-License-Identifier: Apache-2.0
"""Times runs within this process."""

import statistics
import time
from collections.abc import Callable


def time_block(
    run: Callable[[], object], repeat: int, cpu: bool
) -> float:
    """Nanoseconds of one of `repeat` runs.

    By the clock it is the median, since a run may be kept waiting.  The time
    of all the process's threads on processors has no such waiting in it.
    """
    if cpu:
        start = time.process_time_ns()
        for _ in range(repeat):
            run()
        return (time.process_time_ns() - start) / repeat
    samples = []
    for _ in range(repeat):
        start = time.perf_counter_ns()
        run()
        samples.append(time.perf_counter_ns() - start)
    return statistics.median(samples)
