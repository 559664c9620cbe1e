# SPDX-License-Identifier: Apache-2.0
"""The wheel of eddy: the module, and the library that it is linked with.

`make wheel` builds both and calls this; the version is that of the headers.
"""
import glob
import os
import re
import shutil

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
INCLUDE = os.environ.get("EDDY_INCLUDE", os.path.join(ROOT, "include"))
LIBRARY = os.environ.get("EDDY_LIBRARY", os.path.join(ROOT, "build"))

with open(os.path.join(INCLUDE, "eddy", "version.h"), encoding="utf-8") as file:
    NUMBERS = re.findall(r"#define EDDY_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)",
                         file.read())


class BuildWithLibrary(build_py):
    """Puts libeddy and its providers beside the module, which looks there.

    With EDDY_SYSTEM, which packages of a distribution set, the system has them.
    """

    def run(self):
        super().run()
        if os.environ.get("EDDY_SYSTEM"):
            return
        folder = os.path.join(self.build_lib, "eddy")
        for path in glob.glob(os.path.join(LIBRARY, "libeddy*.so.[0-9]*")):
            to = os.path.join(folder, os.path.basename(path))
            shutil.copyfile(path, to)
            if shutil.which("strip"):
                os.spawnlp(os.P_WAIT, "strip", "strip", "--strip-unneeded", to)


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
    cmdclass={"build_py": BuildWithLibrary},
    zip_safe=False,
)
