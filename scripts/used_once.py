#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts static functions that are used once: a function that one other calls,
and that is no thought of its own, makes a reader jump for nothing.

    usage: used_once.py [-v] [FOLDER]...

A static function of a .c file counts as used once if its file has its name once
besides its definition and its declarations, in comments and strings aside.
That use is a call, or hands a pointer on (a row of a table, a callback), where
there is nothing to merge; these two are told apart.  Functions of macros and of
files that are included are not counted.  Prints a line a folder and one for
all; with -v each function that is called once, with its lines, those of least
lines first.  Fails if of all static functions more than LIMIT percent are
called once.
"""

import pathlib
import re
import sys

FOLDERS = ("core", "frames", "ops", "autodiff", "frontends", "interop",
           "runtime", "tools")
LIMIT = 50

ASIDE = re.compile(r"/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'",
                   re.S)
HEAD = r"^(?:static\s+)(?:[^;{}()=#]*?[\s*])?"
FUNCTION = re.compile(HEAD + r"(\w+)\([^;{}]*?\)\s*\n\{.*?^\}", re.M | re.S)
ANY_FUNCTION = re.compile(r"^[a-z][^;{}()=#]*?\w+\([^;{}]*?\)\s*\n\{", re.M)


def read_functions(path):
    """Gives each static function: its name, line and lines, and how it is used
    if it is once: "call" or "pointer", else None; and how many functions of all
    kinds there are."""
    text = ASIDE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()),
                     path.read_text())
    found = []
    for match in FUNCTION.finditer(text):
        name = match.group(1)
        apart = {match.start(1)}
        apart |= {m.start(1) for m in re.finditer(
            HEAD + r"(" + name + r")\([^;{}]*\);", text, re.M)}
        uses = [m for m in re.finditer(r"\b" + name + r"\b", text)
                if m.start() not in apart]
        use = None
        if len(uses) == 1:
            use = "call" if text[uses[0].end():].startswith("(") else "pointer"
        found.append((name, text.count("\n", 0, match.start()) + 1,
                      match.group().count("\n") + 1, use))
    return found, len(ANY_FUNCTION.findall(text))


def main():
    arguments = [a for a in sys.argv[1:] if a != "-v"]
    called, total = [], [0, 0, 0, 0]
    for folder in arguments or FOLDERS:
        counts = [0, 0, 0, 0]  # all, static, called once, handed on once
        for path in sorted(pathlib.Path(folder).rglob("*.c")):
            functions, n = read_functions(path)
            counts[0] += n
            counts[1] += len(functions)
            counts[2] += sum(f[3] == "call" for f in functions)
            counts[3] += sum(f[3] == "pointer" for f in functions)
            called += [(lines, f"{path}:{line}: {name}")
                       for name, line, lines, use in functions
                       if use == "call"]
        total = [a + b for a, b in zip(total, counts)]
        print_counts(folder, counts)
    print_counts("all", total)
    if "-v" in sys.argv:
        for lines, place in sorted(called):
            print(f"{place}, {lines} lines")
    return 1 if total[2] * 100 > total[1] * LIMIT else 0


def print_counts(name, counts):
    n_all, n_static, n_called, n_handed = counts
    print(f"used once: {name}: {n_static} static of {n_all} functions, "
          f"{100 * n_called / max(n_static, 1):.1f} % called once, "
          f"{100 * n_handed / max(n_static, 1):.1f} % handed on once")


if __name__ == "__main__":
    sys.exit(main())
