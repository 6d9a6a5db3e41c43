"""The pair regressor as an ONNX network that runs without PyTorch."""
