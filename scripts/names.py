#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds files to the house's rules:

  - a .c file outside of tests opens with what it is for, or the table of its
    name does (unary.c and unary.def);
  - a macro has at most 40 lines; loops are files that are included
    (ops/template.h);
  - a .c file of frames and autodiff has a suite of its name, or a row in
    tests/README.md that says which suites hold it;
  - a gradient rule includes the rule API, and words for shapes and dtypes;
  - a type that begins with eddy has one meaning, as has a type of a header
    within its folder; a .c file may have types of its own by plain words.
"""

import collections
import pathlib
import re
import sys

FOLDERS = ("core", "ops", "frames", "frontends", "autodiff", "interop",
           "runtime", "tools")
MOST_LINES = 40

# What a gradient rule may see.
RULE_API = {"autodiff/rule.h", "core/value/dtype.h", "core/value/shape.h"}

# Macros that may be longer, and why.
LONG_MACROS = {
    "EDDY_DETAIL_MAP": "a table, a line a row",
    "EDDY__OP_FAMILY_MAP": "a table, a line a row",
    "NESTED_LOOPS": "the text of one graph",
    "STORE_OPS": "labels of the linear executor's one dispatch loop",
}


def check_macros(path, lines, complain):
    first = 0
    while first < len(lines):
        end = first
        if lines[first].startswith("#define"):
            while lines[end].endswith("\\"):
                end += 1
            name = re.match(r"#define (\w+)", lines[first]).group(1)
            if end - first + 1 > MOST_LINES and name not in LONG_MACROS:
                complain(f"{path}:{first + 1}: macro {name} has "
                         f"{end - first + 1} lines, at most {MOST_LINES}")
        first = end + 1


def check_suites(complain):
    rows = {}
    readme = pathlib.Path("tests/README.md").read_text()
    for folder, names, suites in re.findall(
            r"^\| (frames|autodiff): ([\w ]+) \| ([\w, ]+) \|$", readme, re.M):
        for suite in suites.split(", "):
            if not list(pathlib.Path("tests").rglob(f"test_{suite}.c")):
                complain(f"tests/README.md: there is no suite {suite}")
        rows.update({(folder, name): suites for name in names.split()})
    for folder in ("frames", "autodiff"):
        for path in sorted(pathlib.Path(folder).rglob("*.c")):
            own = pathlib.Path("tests", folder, f"test_{path.stem}.c")
            if path.parts[1] != "rules" and not own.exists() and \
                    not rows.pop((folder, path.stem), None):
                complain(f"{path}: neither {own} nor a row in tests/README.md "
                         "says what holds it")
    for folder, name in rows:
        complain(f"tests/README.md: {folder}: {name} is no file, or has a "
                 "suite of its own")


def strip_comments(text):
    return re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()),
                  text, flags=re.S)


def check_types(texts, complain):
    """Finds types that two files define, by a body or as another type."""
    places = collections.defaultdict(set)
    for path, text in texts.items():
        text = strip_comments(text)
        names = re.findall(r"\b(?:struct|enum|union) (\w+) \{", text)
        names += re.findall(r"\btypedef [^;{}]*\(\*(\w+)\)\(", text)
        names += [name for is_struct, tag, name in re.findall(
            r"\btypedef (struct |enum |union )?([^;{}()]*?)(\w+);", text)
            if not is_struct or tag.strip() != name]
        for name in set(names):
            places[name].add(path)
    for name, paths in sorted(places.items()):
        groups = [paths]
        if not name.startswith("eddy"):
            groups = [{p for p in paths if p.parts[0] == top}
                      for top in {p.parts[0] for p in paths
                                  if p.suffix == ".h"}]
        for group in groups:
            if len(group) > 1:
                complain(f"type {name} is defined in "
                         + ", ".join(sorted(map(str, group))))


def main():
    problems = []
    texts = {}
    for folder in FOLDERS + ("include", "tests", "benchmarks", "examples"):
        for path in sorted(pathlib.Path(folder).rglob("*.[ch]")):
            texts[path] = path.read_text()

    for path, text in texts.items():
        check_macros(path, text.split("\n"), problems.append)
        if str(path).startswith("autodiff/rules/"):
            problems += [f"{path}: a gradient rule includes {header}"
                         for header in re.findall(r'^#include "(.*)"', text,
                                                  re.M)
                         if header not in RULE_API]
        body = text.split("\n", 1)[1].lstrip("\n") if "\n" in text else ""
        if path.suffix == ".c" and path.parts[0] != "tests" and \
                not path.with_suffix(".def").exists() and \
                not body.startswith("/*"):
            problems.append(f"{path}: opens without saying what it is for")

    check_types(texts, problems.append)
    check_suites(problems.append)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
