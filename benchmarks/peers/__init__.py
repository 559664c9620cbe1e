"""Measures eddy beside TensorFlow and ONNX Runtime on the same programs."""
