"""Small TensorFlow Lite files, tensor by tensor: what make_ops.py is made with."""

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

F, I32, U8, I64, BOOL, I16, I8, I4 = 0, 2, 3, 4, 6, 7, 9, 17
NUMPY = {
    F: np.float32,
    I32: np.int32,
    U8: np.uint8,
    I64: np.int64,
    BOOL: np.bool_,
    I16: np.int16,
    I8: np.int8,
}
OP = schema.BuiltinOperator
RNG = np.random.default_rng(7)


class Net:
    """Tensors and operators, then a file."""

    def __init__(self):
        self.model = schema.ModelT()
        self.graph = schema.SubGraphT()
        self.graph.tensors, self.graph.operators = [], []
        self.model.version, self.model.subgraphs = 3, [self.graph]
        self.model.buffers, self.model.operatorCodes = [schema.BufferT()], []
        self.inputs, self.outputs = [], []

    def tensor(self, shape, kind=F, data=None, scale=None, zero=0, axis=0, name=None):
        t = schema.TensorT()
        t.shape, t.type, t.buffer = list(shape), kind, 0
        t.name = name or f"t{len(self.graph.tensors)}"
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(bytes(data), np.uint8)
            self.model.buffers.append(buffer)
            t.buffer = len(self.model.buffers) - 1
        if scale is not None:
            q = schema.QuantizationParametersT()
            q.scale = np.atleast_1d(np.asarray(scale, np.float32))
            q.zeroPoint = np.broadcast_to(np.asarray(zero, np.int64), q.scale.shape).copy()
            q.quantizedDimension = axis
            t.quantization = q
        self.graph.tensors.append(t)
        return len(self.graph.tensors) - 1

    def constant(self, values, kind=I32, **quantization):
        values = np.asarray(values, NUMPY[kind])
        return self.tensor(values.shape, kind, values.tobytes(), **quantization)

    def input(self, shape, kind=F, **quantization):
        self.inputs.append(self.tensor(shape, kind, **quantization))
        return self.inputs[-1]

    def op(
        self,
        code,
        inputs,
        *shapes,
        options=None,
        kind=F,
        custom=None,
        custom_options=None,
        **quantization,
    ):
        o = schema.OperatorT()
        o.opcodeIndex = len(self.model.operatorCodes)
        c = schema.OperatorCodeT()
        c.builtinCode, c.deprecatedBuiltinCode, c.version = code, min(code, 127), 1
        c.customCode = custom
        self.model.operatorCodes.append(c)
        o.inputs = list(inputs)
        kinds = kind if isinstance(kind, tuple) else (kind,) * len(shapes)
        o.outputs = [self.tensor(s, k, **quantization) for s, k in zip(shapes, kinds, strict=True)]
        if options is not None:
            name = type(options).__name__[:-1]
            o.builtinOptionsType = getattr(schema.BuiltinOptions, name)
            o.builtinOptions = options
        o.customOptions = custom_options
        self.graph.operators.append(o)
        return o.outputs[0] if len(o.outputs) == 1 else o.outputs

    def bytes(self, *outputs):
        self.graph.inputs, self.graph.outputs = self.inputs, list(outputs)
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def options(name, **fields):
    o = getattr(schema, name + "OptionsT")()
    for key, value in fields.items():
        assert hasattr(o, key), (name, key)
        setattr(o, key, value)
    return o


def sample(shape, kind, low=-2.0, high=2.0):
    if kind == F:
        return RNG.uniform(low, high, shape).astype(np.float32)
    if kind == BOOL:
        return RNG.integers(0, 2, shape).astype(np.bool_)
    if kind in (I32, I64):
        return RNG.integers(1, 4, shape).astype(NUMPY[kind])
    info = np.iinfo(NUMPY[kind])
    return RNG.integers(max(info.min, -3000), min(info.max, 3000) + 1, shape).astype(NUMPY[kind])


MODELS = {}


def add(name, net, *outputs, low=-2.0, high=2.0):
    assert name not in MODELS, name
    MODELS[name] = (net.bytes(*outputs), low, high)


def weights(*shape):
    return RNG.normal(size=shape).astype(np.float32)
