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
  - a function that a header names eddy__... says in its name where it is: with a
    word of the header's path, of the path of the .c file that defines it, or of
    a type of the header;
  - a comment of a header does not begin with a word that stands for a noun
    (Of, That, Those, It, Its, They), but for notes behind a line of code;
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

# Words that every file writes, and knows as it knows malloc, or that are names
# elsewhere: their functions need not say where they are.
PLAIN_HEADERS = {
    "core/base/memory.h": "allocating",
    "core/base/status.h": "failing",
    "core/kernel.h": "the kernel ABI",
    "ops/math/elements.h": "the kernel ABI, as ops share it",
    "ops/array/items.h": "the kernel ABI, as ops share it",
    "ops/math/float_math.h": "as in math.h",
    "ops/math/half.h": "as in math.h",
    "ops/math/incomplete.h": "as in math.h",
    "ops/math/numeric.h": "as in math.h",
    "ops/math/special_math.h": "as in math.h",
    "ops/math/strip.h": "as in math.h",
    "ops/math/transcendental.h": "as in math.h",
}

# What kernels and shape rules read and write with, whatever the header.
KERNEL_WORDS = re.compile(r"eddy__(in|out|output|infer)_")

# Nouns that are not in the path of their header.
NOUNS = {
    "autodiff/forward.h": {"tangent"},
    "autodiff/rule.h": {"grad"},
    "core/base/thread.h": {"clock"},
    "core/graph/registry.h": {"op"},
    "ops/linalg/linalg.h": {"matrix", "number"},
    "ops/list/stack.h": {"segment"},
    "ops/ops.h": {"gemm"},
    "runtime/exec/dynamic/token.h": {"queue"},
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


def stem(word):
    """A word without its ending, so that places are where a place is."""
    for end in ("ings", "ing", "ers", "er", "ed", "es", "s", "e"):
        if word.endswith(end) and len(word) - len(end) >= 3:
            return word[:-len(end)]
    return word


def words_of(path):
    return {w for part in path.with_suffix("").parts for w in part.split("_")}


def is_alike(one, other):
    return one == other or min(len(one), len(other)) >= 4 and (
        one.startswith(other) or other.startswith(one))


def check_nouns(texts, complain):
    declared = re.compile(r"^(?![ \t#}{])[^;{}()=]*?\b(eddy__\w+)\(", re.M)
    defined = re.compile(
        r"^(?![ \t#}{])[^;{}()=]*?\b(eddy__\w+)\([^;{}]*\)\s*\n\{", re.M)
    texts = {path: strip_comments(text) for path, text in texts.items()
             if path.parts[0] in FOLDERS}
    homes = collections.defaultdict(set)
    for path, text in texts.items():
        for name in defined.findall(text):
            homes[name].add(path)
    for path, text in texts.items():
        if path.suffix != ".h" or str(path) in PLAIN_HEADERS:
            continue
        names = set(declared.findall(text))
        names |= set(re.findall(r"^#define (eddy__\w+)\(", text, re.M))
        types = set(re.findall(r"\b(?:struct|enum|union) eddy__?(\w+)", text))
        types |= set(re.findall(r"\beddy__(\w+);", text))
        own = NOUNS.get(str(path), set()) | words_of(path)
        own |= {w for t in types if "eddy__" + t not in names
                for w in t.split("_")}
        for name in sorted(names):
            nouns = own.union(*map(words_of, homes[name]))
            if not KERNEL_WORDS.match(name) and not any(
                    is_alike(stem(word), stem(noun))
                    for word in name[len("eddy__"):].split("_")
                    for noun in nouns):
                complain(f"{path}: {name} does not say where it is")


def check_comments(path, text, complain):
    for match in re.finditer(r"^[ \t]*/\*[\s*]*(Of|That|Those|Its?|They)\b",
                             text, re.M):
        complain(f"{path}:{text.count(chr(10), 0, match.start()) + 1}: a "
                 f"comment begins with {match.group(1)}")


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
        if path.suffix == ".h" and path.parts[0] in FOLDERS + ("include",):
            check_comments(path, text, problems.append)
        body = text.split("\n", 1)[1].lstrip("\n") if "\n" in text else ""
        if path.suffix == ".c" and path.parts[0] != "tests" and \
                not path.with_suffix(".def").exists() and \
                not body.startswith("/*"):
            problems.append(f"{path}: opens without saying what it is for")

    check_nouns(texts, problems.append)
    check_types(texts, problems.append)
    check_suites(problems.append)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
