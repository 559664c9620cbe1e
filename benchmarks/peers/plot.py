# SPDX-License-Identifier: Apache-2.0
"""Draws what was measured: how many times eddy's time each system takes."""

import math
from collections.abc import Sequence
from html import escape

from .measure import Result
from .report import EDDY, TITLES, used_systems

COLOURS = ("#4878a8", "#c86848", "#68a060", "#9868a8")
ROW, BAR, LEFT, WIDTH, TOP = 13, 11, 190, 460, 44


def decades(ratios: Sequence[float]) -> tuple[int, int]:
    """Powers of ten around all ratios and 1."""
    least = min([*ratios, 1.0])
    most = max([*ratios, 1.0])
    return math.floor(math.log10(least)), max(math.ceil(math.log10(most)), 1)


def text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">'
        f"{escape(words)}</text>"
    )


def draw(results: list[Result]) -> str:
    """An SVG of bars from 1, which is eddy, on a scale of powers of ten."""
    peers = [s for s in used_systems(results) if s != EDDY]
    bars = [
        (r.program.name, [(s, r.ratio(s, EDDY)) for s in peers])
        for r in results
    ]
    first, last = decades([v for _, row in bars for _, v in row if v])

    def at(ratio: float) -> float:
        return LEFT + WIDTH * (math.log10(ratio) - first) / (last - first)

    parts, y = [], TOP
    for name, row in bars:
        shown = [(s, v) for s, v in row if v]
        parts.append(text(LEFT - 8, y + BAR, name, "end"))
        for system, value in shown:
            colour = COLOURS[peers.index(system) % len(COLOURS)]
            low, high = sorted((at(1.0), at(value)))
            parts.append(
                f'<rect x="{low:.1f}" y="{y}" width="{high - low:.1f}" '
                f'height="{BAR}" fill="{colour}"/>'
            )
            parts.append(text(high + 4, y + BAR - 1, f"{value:.2g}"))
            y += ROW
        y += ROW // 2 + ROW * (not shown)
    lines = []
    for power in range(first, last + 1):
        x = at(10.0**power)
        width = 2 if power == 0 else 1
        lines.append(
            f'<path d="M{x:.1f} {TOP - 6}V{y}" stroke="#ccc" '
            f'stroke-width="{width}"/>'
        )
        lines.append(text(x, TOP - 10, f"{10.0**power:g}", "middle"))
    for k, system in enumerate(peers):
        x = LEFT + 110 * k
        lines.append(
            f'<rect x="{x}" y="6" width="{BAR}" height="{BAR}" '
            f'fill="{COLOURS[k % len(COLOURS)]}"/>'
        )
        lines.append(text(x + BAR + 5, 6 + BAR - 1, TITLES[system]))
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 60}" '
        f'height="{y + 8}" font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        *lines, *parts, "</svg>", "",
    ])
