#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says whether a wheel is what its name promises, as those do who publish it.

    scripts/check_wheel.py WHEEL

Every library that its files ask for is in it or on every Linux (PEP 600); no
file asks for a newer C library than the name says; all are looked for beside
the module; who made what is carried is named; types are declared.
"""
import os
import re
import subprocess
import sys
import tempfile
import zipfile

EVERYWHERE = re.compile(
    r"(lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)|ld-linux-[-_a-z0-9]*)\.so\.\d+$")
# Loaded if it can be, and done without where it can't.
OPTIONAL = "libeddy-onednn.so"


def described(path):
    return subprocess.run(["readelf", "-dVW", path], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def faults_of_file(name, text, carried, newest):
    for library in re.findall(r"\(NEEDED\).*\[(.*)\]", text):
        if library not in carried and not EVERYWHERE.match(library) and \
                not name.startswith(OPTIONAL):
            yield f"{name} needs {library}, which is not there"
    for path in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", text):
        if path != "$ORIGIN":
            yield f"{name} looks for libraries in {path}"
    for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", text):
        if (int(major), int(minor)) > newest:
            yield f"{name} needs the C library {major}.{minor}"


def faults_of_folder(folder, newest):
    package = os.path.join(folder, "eddy")
    carried = sorted(f for f in os.listdir(package) if ".so" in f)
    for name in carried:
        text = described(os.path.join(package, name))
        yield from faults_of_file(name, text, carried, newest)
        # Whatever is opened looks where what opened it does only if told so.
        if re.match("_eddy|libeddy-openblas", name) and \
                "(RPATH)" not in text:
            yield f"{name} does not look beside itself"
    foreign = [f for f in carried if "eddy" not in f]
    notices = os.path.join(package, "notices")
    have = os.listdir(notices) if os.path.isdir(notices) else []
    if len(have) < len(foreign):
        yield f"notices of {len(have)} of {len(foreign)} carried libraries"
    for name in ("_eddy.abi3.so", "libeddy.so.0", "py.typed", "__init__.pyi"):
        if not os.path.exists(os.path.join(package, name)):
            yield f"eddy/{name} is missing"


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: scripts/check_wheel.py WHEEL")
    wheel = sys.argv[1]
    tag = re.search(r"-cp\d+-abi3-manylinux_(\d+)_(\d+)_", wheel)
    if not tag:
        sys.exit(f"wheel: {wheel} is for this machine alone, by its name")
    newest = int(tag[1]), int(tag[2])
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        faults = list(faults_of_folder(folder, newest))
    for fault in faults:
        print("wheel:", fault, file=sys.stderr)
    if faults:
        sys.exit(1)
    print(f"wheel: needs the C library {tag[1]}.{tag[2]} and nothing else")


main()
