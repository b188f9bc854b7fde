"""Small PyTorch models, and what a converted one computes."""

import numpy as np
import onnx
import onnxruntime
import torch
from torch import nn

import halfstep


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.relu = nn.ReLU()
        self.depthwise = nn.Conv2d(8, 8, 3, groups=8, padding=1)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = self.relu(self.bn(self.conv(x)))
        return self.head((nn.functional.hardswish(self.depthwise(x)) + x).mean((2, 3)))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 32)
        self.block = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
        self.head = nn.Linear(32, 7, bias=False)

    def forward(self, x):
        return self.head(self.block(self.embedding(x)))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(16, 24, batch_first=True)
        self.gru = nn.GRU(24, 8, batch_first=True)

    def forward(self, x):
        return self.gru(self.lstm(x)[0])[0]


def linears():
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32)).eval()


def batches(count=4):
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(2, 3, 8, 8, generator=generator) for _ in range(count)]


def run(model, *inputs):
    """The first output, without the optimizations that round on their own."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.serialize(), options)
    names = [info.name for info in session.get_inputs()]
    return session.run(None, dict(zip(names, map(np.asarray, inputs), strict=True)))[0]


def graph_of(model):
    proto = onnx.load_from_string(model.serialize())
    onnx.checker.check_model(proto, full_check=True)
    return proto.graph


def constants(model):
    return {t.name: onnx.numpy_helper.to_array(t) for t in graph_of(model).initializer}


def integers(model):
    """The stored integers of constants, by the name of what they are dequantized to."""
    stored = constants(model)
    nodes = [node for node in graph_of(model).node if node.op_type == "DequantizeLinear"]
    return {n.output[0]: stored[n.input[0]] for n in nodes if n.input[0] in stored}


def encodings(model):
    return halfstep.extract_encodings(model)[1]


def distance(actual, expected):
    """Relative to the largest value."""
    expected = np.asarray(expected.detach() if isinstance(expected, torch.Tensor) else expected)
    assert actual.shape == expected.shape
    return np.abs(actual - expected).max() / np.abs(expected).max()
