# SPDX-License-Identifier: Apache-2.0
"""Where the module is: EDDY_PYTHON, or installed."""
import os
import sys

if os.environ.get("EDDY_PYTHON"):
    sys.path.insert(0, os.environ["EDDY_PYTHON"])
