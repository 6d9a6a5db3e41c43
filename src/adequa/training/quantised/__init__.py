"""A trained pair regressor as an ONNX graph of whole numbers, for machines without PyTorch."""
