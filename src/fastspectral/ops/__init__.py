"""The ONNX operators as functions: they check, plan and call kernels, and do no arithmetic of their own."""
