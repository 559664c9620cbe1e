# SPDX-License-Identifier: Apache-2.0
"""Measures eddy beside TensorFlow and ONNX Runtime on the same programs."""
