# SPDX-License-Identifier: Apache-2.0
"""The wheel of eddy: the module, and the libraries that it is linked with.

`make wheel` builds both and calls this; the version is that of the headers.
scripts/check_wheel.py says whether what came out is what its name promises.
"""
import glob
import os
import re
import shutil
import subprocess
import sysconfig

from setuptools import setup
from setuptools.command.build_py import build_py

try:
    from wheel.bdist_wheel import bdist_wheel
except ImportError:  # Packages of a distribution are made without it.
    bdist_wheel = object

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
INCLUDE = os.environ.get("EDDY_INCLUDE", os.path.join(ROOT, "include"))
LIBRARY = os.environ.get("EDDY_LIBRARY", os.path.join(ROOT, "build"))
# What is there is carried in place of what has its name in LIBRARY.
INSTEAD = os.environ.get("EDDY_INSTEAD", LIBRARY)

with open(os.path.join(INCLUDE, "eddy", "version.h"), encoding="utf-8") as file:
    NUMBERS = re.findall(r"#define EDDY_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)",
                         file.read())


# What every Linux with a GNU C library has (PEP 600): these are not carried.
EVERYWHERE = re.compile(r"lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so\.\d+$")


def output_of(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL, check=False)
    return done.stdout


def libraries_of(path):
    """What is loaded with a library, by name, and where it is."""
    found = dict(re.findall(r"^\s*(\S+) => (/\S+) \(", output_of("ldd", path),
                            re.M))
    return {name: at for name, at in found.items()
            if not EVERYWHERE.match(name)}


def notices_of(path):
    """The package that a library is from, and its notices, under Debian."""
    path = os.path.realpath(path)
    for name in (path, "/usr" + path):
        package = output_of("dpkg-query", "-S", name).partition(":")[0]
        notices = f"/usr/share/doc/{package}/copyright"
        if package and os.path.exists(notices):
            return package, notices
    return None, None


class BuildWithLibrary(build_py):
    """Puts libeddy, its providers and what these need beside the module.

    The module and all that it loads look there first.  oneDNN's provider is
    loaded only where the system has oneDNN, which is not carried.  With
    EDDY_SYSTEM, which packages of a distribution set, the system has them all.
    """

    def run(self):
        super().run()
        if os.environ.get("EDDY_SYSTEM"):
            return
        folder = os.path.join(self.build_lib, "eddy")
        needed = {}
        for path in glob.glob(os.path.join(LIBRARY, "libeddy*.so.[0-9]*")):
            name = os.path.basename(path)
            if name.startswith("libeddy-mpi"):  # each system has its own MPI
                continue
            own, to = os.path.join(INSTEAD, name), os.path.join(folder, name)
            shutil.copyfile(own if os.path.exists(own) else path, to)
            if shutil.which("strip"):
                subprocess.run(["strip", "--strip-unneeded", to], check=False)
            if "onednn" not in path:
                needed.update(libraries_of(path))
        for name, path in needed.items():
            shutil.copyfile(path, os.path.join(folder, name))
            self.copy_notices(path, os.path.join(folder, "notices"))

    @staticmethod
    def copy_notices(path, folder):
        package, notices = notices_of(path)
        if package:
            os.makedirs(folder, exist_ok=True)
            shutil.copyfile(notices, os.path.join(folder, package + ".txt"))


class NamedByContent(bdist_wheel):
    """Names the oldest C library that has all that the wheel's files ask for."""

    def get_tag(self):
        python, abi, platform = super().get_tag()
        asked = [(2, 17)]
        for path in glob.glob(os.path.join(self.bdist_dir, "eddy", "*.so*")):
            asked += [(int(a), int(b)) for a, b in
                      re.findall(r"GLIBC_(\d+)\.(\d+)",
                                 output_of("readelf", "-VW", path))]
        newest = max(asked)
        machine = sysconfig.get_platform().partition("-")[2]
        if platform.startswith("linux") and len(asked) > 1:
            platform = f"manylinux_{newest[0]}_{newest[1]}_{machine}"
        return python, abi, platform


setup(
    name="eddy-dataflow",
    version=".".join(NUMBERS),
    description="A dataflow runtime for graphs with loops and conditionals",
    long_description="Graphs with loops and conditionals, run, differentiated "
                     "and inspected; GraphDef and ONNX in, NumPy in and out.",
    license="Apache-2.0",
    python_requires=">=3.11",
    packages=["eddy"],
    package_data={"eddy": ["py.typed", "*.pyi"]},
    cffi_modules=["build_module.py:ffibuilder"],
    install_requires=["cffi>=1.15", "numpy>=1.24"],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
    cmdclass={"build_py": BuildWithLibrary} if bdist_wheel is object else
    {"build_py": BuildWithLibrary, "bdist_wheel": NamedByContent},
    zip_safe=False,
)
