"""The ONNX operators as functions: they check, plan and call kernels, and loop over no samples."""
