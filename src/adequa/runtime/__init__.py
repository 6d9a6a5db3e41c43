"""What encoders and metrics run on: ONNX models, tokens, batches, windows, caches, threads."""
