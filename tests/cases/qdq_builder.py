"""Small quantized models, built node by node, and what tests ask of them."""

from collections import Counter

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(5)


def floats(*shape, scale=1.0):
    return (RNG.standard_normal(shape) * scale).astype(np.float32)


class Builder:
    """Collects nodes and constants of one model."""

    def __init__(self, opset=21, ir_version=10, output=TensorProto.FLOAT):
        self.opset, self.ir_version, self.output = opset, ir_version, output
        self.nodes, self.constants, self.inputs = [], [], {}
        self.contrib = False

    def constant(self, name, array, kind=None):
        array = np.asarray(array)
        if kind is None:
            self.constants.append(numpy_helper.from_array(array, name))
        else:
            self.constants.append(helper.make_tensor(name, kind, array.shape, array.ravel()))
        return name

    def add(self, op, inputs, output, domain="", **attributes):
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [output], name, domain=domain, **attributes))
        self.contrib |= domain == "com.microsoft"
        return output

    def scale(self, name, scale, zero_point, kind):
        scale, zero_point = np.asarray(scale, np.float32), np.asarray(zero_point)
        self.constant(f"{name}_scale", scale)
        self.constant(f"{name}_zp", np.broadcast_to(zero_point, scale.shape), kind)
        return [f"{name}_scale", f"{name}_zp"]

    def pair(self, name, scale=0.02, zero_point=128, kind=TensorProto.UINT8, suffix="", domain="",
             **attributes):  # fmt: skip
        params = self.scale(name + suffix, scale, zero_point, kind)
        codes = self.add("QuantizeLinear", [name, *params], f"{name}{suffix}_codes", domain,
                         **attributes)  # fmt: skip
        return self.add("DequantizeLinear", [codes, *params], f"{name}{suffix}_dq", domain,
                        **attributes)  # fmt: skip

    def weight(self, name, codes, scale, zero_point=0, kind=TensorProto.INT8, **attributes):
        self.constant(f"{name}_codes", codes, kind)
        params = self.scale(name, scale, zero_point, kind)
        return self.add("DequantizeLinear", [f"{name}_codes", *params], name, **attributes)

    def save(self, path, output_shape, output="y", elem_type=TensorProto.FLOAT):
        inputs = [helper.make_tensor_value_info(n, t, s) for n, (t, s) in self.inputs.items()]
        outputs = [helper.make_tensor_value_info(output, elem_type, output_shape)]
        graph = helper.make_graph(self.nodes, "g", inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", self.opset)]
        if self.contrib:
            opsets.append(helper.make_opsetid("com.microsoft", 1))
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=self.ir_version), path)


def codes(low, high, *shape):
    return RNG.integers(low, high + 1, shape)


def run(path, feeds):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    return ort.InferenceSession(str(path), options).run(None, feeds)


def stored_codes(path):
    """The integer constants that DequantizeLinear reads as values, as a multiset."""
    graph = onnx.load(path).graph
    constants = {t.name: t for t in graph.initializer}
    used = {n.input[0] for n in graph.node if n.op_type == "DequantizeLinear"}
    scales = {n.input[1] for n in graph.node if n.op_type == "DequantizeLinear"}
    made = {n.output[0]: n for n in graph.node}
    inner = {made[s].input[0] for s in scales if s in made}  # of LPBQ
    arrays = [numpy_helper.to_array(constants[n]) for n in used - inner if n in constants]
    return Counter((str(a.dtype), a.shape, a.tobytes()) for a in arrays)
