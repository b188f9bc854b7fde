"""Networks of the benchmarks: the shapes of well-known ones, random weights.

Weights are scaled so that activations keep their size from layer to layer, as training and batch
normalization (folded into the convolutions, as exporters do) would.

usage: models.py FOLDER  (writes mobilenet_v2.onnx, resnet18.onnx, encoder.onnx)
"""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 20
IR_VERSION = 9


class Graph:
    """Collects nodes and weights; every method returns the name of the tensor it makes."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, name: str, array: np.ndarray) -> str:
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def normal(self, name: str, shape: tuple[int, ...], deviation: float) -> str:
        array = self.random.standard_normal(shape, dtype=np.float32) * np.float32(deviation)
        return self.weight(name, array)

    def op(self, op_type: str, inputs: list[str], name: str, **attributes: object) -> str:
        self.nodes.append(helper.make_node(op_type, inputs, [name], name=name, **attributes))
        return name

    def conv(
        self,
        x: str,
        name: str,
        channels: tuple[int, int],
        kernel: int,
        stride: int = 1,
        group: int = 1,
        gain: float = 2.0,
    ) -> str:
        """Convolution with bias, as after folding a batch normalization."""
        inputs, outputs = channels
        fan_in = inputs // group * kernel * kernel
        shape = (outputs, inputs // group, kernel, kernel)
        weight = self.normal(f"{name}.weight", shape, (gain / fan_in) ** 0.5)
        bias = self.normal(f"{name}.bias", (outputs,), 0.1)
        pad = kernel // 2
        return self.op(
            "Conv",
            [x, weight, bias],
            name,
            kernel_shape=[kernel, kernel],
            strides=[stride, stride],
            pads=[pad] * 4,
            group=group,
        )

    def linear(self, x: str, name: str, inputs: int, outputs: int) -> str:
        """MatMul and Add, as exporters write a linear layer on sequences."""
        weight = self.normal(f"{name}.weight", (inputs, outputs), inputs**-0.5)
        bias = self.normal(f"{name}.bias", (outputs,), 0.02)
        product = self.op("MatMul", [x, weight], f"{name}.matmul")
        return self.op("Add", [product, bias], name)

    def classifier(self, x: str, inputs: int, outputs: int) -> str:
        weight = self.normal("classifier.weight", (outputs, inputs), inputs**-0.5)
        bias = self.normal("classifier.bias", (outputs,), 0.02)
        return self.op("Gemm", [x, weight, bias], "y", transB=1)

    def model(self, name: str, x: tuple[int, list[int]], y_shape: list[int]) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            name,
            [helper.make_tensor_value_info("x", *x)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, y_shape)],
            self.weights,
        )
        opset = helper.make_opsetid("", OPSET)
        return helper.make_model(
            graph, opset_imports=[opset], ir_version=IR_VERSION, producer_name="halfstep benchmarks"
        )


class _MobileNet(Graph):
    def relu6(self, x: str) -> str:
        return self.op("Clip", [x, "zero", "six"], f"{x}.relu6")

    def inverted_residual(
        self, x: str, name: str, channels: tuple[int, int], stride: int, expansion: int
    ) -> str:
        inputs, outputs = channels
        hidden = inputs * expansion
        y = x
        if expansion != 1:
            y = self.relu6(self.conv(y, f"{name}.expand", (inputs, hidden), 1))
        y = self.relu6(self.conv(y, f"{name}.depthwise", (hidden, hidden), 3, stride, group=hidden))
        y = self.conv(y, f"{name}.project", (hidden, outputs), 1, gain=1.0)
        if stride == 1 and inputs == outputs:
            y = self.op("Add", [x, y], f"{name}.add")
        return y


def mobilenet_v2(size: int = 224, classes: int = 1000, seed: int = 0) -> onnx.ModelProto:
    """MobileNetV2: 3.5 M weights, inverted residuals with depthwise convolutions and ReLU6."""
    net = _MobileNet(seed)
    net.weight("zero", np.float32(0))
    net.weight("six", np.float32(6))
    y = net.relu6(net.conv("x", "stem", (3, 32), 3, stride=2))
    channels = 32
    rows = [
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ]
    for stage, (expansion, outputs, count, stride) in enumerate(rows):
        for block in range(count):
            name = f"stage{stage}.block{block}"
            step = stride if block == 0 else 1
            y = net.inverted_residual(y, name, (channels, outputs), step, expansion)
            channels = outputs
    y = net.relu6(net.conv(y, "head", (channels, 1280), 1))
    y = net.op("GlobalAveragePool", [y], "pool")
    y = net.op("Flatten", [y], "features")
    net.classifier(y, 1280, classes)
    return net.model("mobilenet_v2", (TensorProto.FLOAT, [1, 3, size, size]), [1, classes])


def resnet18(size: int = 224, classes: int = 1000, seed: int = 0) -> onnx.ModelProto:
    """ResNet-18: 11.7 M weights (45 MB), basic blocks with ReLU and a residual sum."""
    net = Graph(seed)
    y = net.op("Relu", [net.conv("x", "stem", (3, 64), 7, stride=2)], "stem.relu")
    y = net.op("MaxPool", [y], "stem.pool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for stage, outputs in enumerate([64, 128, 256, 512]):
        for block in range(2):
            name = f"stage{stage}.block{block}"
            stride = 2 if stage > 0 and block == 0 else 1
            branch = net.conv(y, f"{name}.conv1", (channels, outputs), 3, stride)
            branch = net.op("Relu", [branch], f"{name}.relu1")
            branch = net.conv(branch, f"{name}.conv2", (outputs, outputs), 3, gain=0.5)
            if stride != 1 or channels != outputs:
                y = net.conv(y, f"{name}.shortcut", (channels, outputs), 1, stride, gain=1.0)
            y = net.op("Add", [branch, y], f"{name}.add")
            y = net.op("Relu", [y], f"{name}.relu2")
            channels = outputs
    y = net.op("GlobalAveragePool", [y], "pool")
    y = net.op("Flatten", [y], "features")
    net.classifier(y, channels, classes)
    return net.model("resnet18", (TensorProto.FLOAT, [1, 3, size, size]), [1, classes])


class _Encoder(Graph):
    def __init__(self, seed: int, length: int, width: int, heads: int) -> None:
        super().__init__(seed)
        self.length, self.width, self.heads = length, width, heads
        self.weight("split_shape", np.array([1, length, heads, width // heads], np.int64))
        self.weight("joined_shape", np.array([1, length, width], np.int64))
        self.weight("attention_scale", np.float32((width // heads) ** -0.5))

    def norm(self, x: str, name: str) -> str:
        scale = self.weight(f"{name}.weight", np.ones(self.width, np.float32))
        bias = self.normal(f"{name}.bias", (self.width,), 0.02)
        return self.op("LayerNormalization", [x, scale, bias], name, axis=-1)

    def head_major(self, x: str, name: str, perm: list[int]) -> str:
        split = self.op("Reshape", [x, "split_shape"], f"{name}.split")
        return self.op("Transpose", [split], f"{name}.heads", perm=perm)

    def attention(self, x: str, name: str) -> str:
        width = self.width
        query = self.linear(x, f"{name}.query", width, width)
        query = self.op("Mul", [query, "attention_scale"], f"{name}.query.scaled")
        query = self.head_major(query, f"{name}.query", [0, 2, 1, 3])
        key = self.head_major(
            self.linear(x, f"{name}.key", width, width), f"{name}.key", [0, 2, 3, 1]
        )
        value = self.linear(x, f"{name}.value", width, width)
        value = self.head_major(value, f"{name}.value", [0, 2, 1, 3])
        scores = self.op("MatMul", [query, key], f"{name}.scores")
        weights = self.op("Softmax", [scores], f"{name}.weights", axis=-1)
        mixed = self.op("MatMul", [weights, value], f"{name}.mixed")
        mixed = self.op("Transpose", [mixed], f"{name}.merged", perm=[0, 2, 1, 3])
        mixed = self.op("Reshape", [mixed, "joined_shape"], f"{name}.joined")
        return self.linear(mixed, f"{name}.out", width, width)

    def layer(self, x: str, name: str) -> str:
        attended = self.attention(self.norm(x, f"{name}.norm1"), f"{name}.attention")
        x = self.op("Add", [x, attended], f"{name}.add1")
        hidden = self.norm(x, f"{name}.norm2")
        hidden = self.linear(hidden, f"{name}.mlp1", self.width, 4 * self.width)
        hidden = self.op("Gelu", [hidden], f"{name}.gelu")
        hidden = self.linear(hidden, f"{name}.mlp2", 4 * self.width, self.width)
        return self.op("Add", [x, hidden], f"{name}.add2")


def encoder(
    length: int = 128, width: int = 256, layers: int = 6, tokens: int = 2000, seed: int = 0
) -> onnx.ModelProto:
    """Transformer encoder, norm first: token ids [1, length] to 10 classes, 5.3 M weights."""
    net = _Encoder(seed, length, width, heads=8)
    table = net.normal("tokens.weight", (tokens, width), 1.0)
    places = net.normal("positions", (1, length, width), 0.02)
    y = net.op("Gather", [table, "x"], "tokens", axis=0)
    y = net.op("Add", [y, places], "embedding")
    for index in range(layers):
        y = net.layer(y, f"layer{index}")
    y = net.op(
        "ReduceMean", [y, net.weight("mean_axis", np.array([1], np.int64))], "mean", keepdims=0
    )
    net.classifier(y, width, 10)
    return net.model("encoder", (TensorProto.INT64, [1, length]), [1, 10])


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in (mobilenet_v2, resnet18, encoder):
        onnx.save(make(), folder / f"{make.__name__}.onnx")


if __name__ == "__main__":
    main()
