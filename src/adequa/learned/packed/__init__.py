"""The pair regressor as an ONNX model that runs without PyTorch.

metric          the metric that users load: those that ship, such as `Adequa`, and any exported one
packing         from a trained pair regressor to the folder of a packed metric; its model card
export          the network as an ONNX graph
quantise        weights and activations in 8 bits
"""
