"""What encoders and metrics run on: batches by length, caches on disk, ONNX without PyTorch."""
