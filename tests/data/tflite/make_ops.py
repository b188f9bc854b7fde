#!/usr/bin/env python3
"""Makes ops/*.tflite, one small model per operator, and ops.npz, what the real runtime computes.

usage: python tests/data/tflite/make_ops.py      needs ai-edge-litert, flatbuffers and numpy

ops.npz holds NAME/in0, ... and NAME/out0, ... of every model. Quantized tensors are the integers of
the file. Models whose name starts with "no_" can't be read, and have no arrays.
"""

from pathlib import Path

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from arithmetic_models import dynamic_range, rounding
from net import (
    BOOL,
    I4,
    I8,
    I32,
    MODELS,
    NUMPY,
    OP,
    RNG,
    U8,
    F,
    Net,
    add,
    options,
    sample,
    weights,
)
from shape_models import shapes

HERE = Path(__file__).resolve().parent


def unary():
    plain = {
        "relu": OP.RELU,
        "relu6": OP.RELU6,
        "relu_n1_to_1": OP.RELU_N1_TO_1,
        "abs": OP.ABS,
        "relu_0_to_1": OP.RELU_0_TO_1,
        "ceil": OP.CEIL,
        "cos": OP.COS,
        "elu": OP.ELU,
        "exp": OP.EXP,
        "floor": OP.FLOOR,
        "hard_swish": OP.HARD_SWISH,
        "neg": OP.NEG,
        "logistic": OP.LOGISTIC,
        "round": OP.ROUND,
        "sign": OP.SIGN,
        "sin": OP.SIN,
        "square": OP.SQUARE,
        "tanh": OP.TANH,
        "zeros_like": OP.ZEROS_LIKE,
        "log_softmax": OP.LOG_SOFTMAX,
    }
    for name, code in plain.items():
        n = Net()
        add(name, n, n.op(code, [n.input([1, 3, 4, 2])], [1, 3, 4, 2]), low=-4, high=8)
    for name, code in {"log": OP.LOG, "sqrt": OP.SQRT, "rsqrt": OP.RSQRT}.items():
        n = Net()
        add(name, n, n.op(code, [n.input([2, 6])], [2, 6]), low=0.1, high=9)
    n = Net()
    add("logical_not", n, n.op(OP.LOGICAL_NOT, [n.input([2, 6], BOOL)], [2, 6], kind=BOOL))
    for flag in (False, True):
        n = Net()
        o = options("Gelu", approximate=flag)
        add(f"gelu_{int(flag)}", n, n.op(OP.GELU, [n.input([2, 6])], [2, 6], options=o))
    n = Net()
    o = options("LeakyRelu", alpha=0.3)
    add("leaky_relu", n, n.op(OP.LEAKY_RELU, [n.input([2, 6])], [2, 6], options=o))
    n = Net()
    o = options("Softmax", beta=0.7)
    add("softmax_beta", n, n.op(OP.SOFTMAX, [n.input([2, 3, 6])], [2, 3, 6], options=o))
    n = Net()
    add(
        "l2_normalization",
        n,
        n.op(OP.L2_NORMALIZATION, [n.input([1, 2, 2, 5])], [1, 2, 2, 5], options=options("L2Norm")),
    )
    n = Net()
    o = options("LocalResponseNormalization", radius=1, bias=1.0, alpha=0.5, beta=0.75)
    x = n.input([1, 2, 3, 6])
    add("lrn", n, n.op(OP.LOCAL_RESPONSE_NORMALIZATION, [x], [1, 2, 3, 6], options=o))


def binary():
    fused = {
        "add": (OP.ADD, "Add"),
        "mul": (OP.MUL, "Mul"),
        "sub": (OP.SUB, "Sub"),
        "div": (OP.DIV, "Div"),
    }
    for i, (name, (code, kind)) in enumerate(fused.items()):
        n = Net()
        o = options(kind, fusedActivationFunction=i)
        b = n.constant(RNG.uniform(0.5, 2, [3]), F)
        add(name, n, n.op(code, [n.input([1, 2, 4, 3]), b], [1, 2, 4, 3], options=o))
    for name, code in {
        "maximum": OP.MAXIMUM,
        "minimum": OP.MINIMUM,
        "floor_div": OP.FLOOR_DIV,
        "floor_mod": OP.FLOOR_MOD,
        "squared_difference": OP.SQUARED_DIFFERENCE,
        "add_n": OP.ADD_N,
    }.items():
        n = Net()
        add(name, n, n.op(code, [n.input([2, 5]), n.input([2, 5])], [2, 5]))
    n = Net()
    add("pow", n, n.op(OP.POW, [n.input([2, 5]), n.input([2, 5])], [2, 5]), low=0.2)
    for name, code in {"floor_div_int": OP.FLOOR_DIV, "floor_mod_int": OP.FLOOR_MOD}.items():
        n = Net()
        b = n.constant([-2, 3, -3, 2, 5])
        add(name, n, n.op(code, [n.input([2, 5], I32), b], [2, 5], kind=I32))
    for name, code in {
        "less": OP.LESS,
        "greater": OP.GREATER,
        "less_equal": OP.LESS_EQUAL,
        "greater_equal": OP.GREATER_EQUAL,
        "equal": OP.EQUAL,
        "not_equal": OP.NOT_EQUAL,
    }.items():
        n = Net()
        x, y = n.input([2, 9], I32), n.input([2, 9], I32)
        add(name, n, n.op(code, [x, y], [2, 9], kind=BOOL))
    for name, code in {"logical_or": OP.LOGICAL_OR, "logical_and": OP.LOGICAL_AND}.items():
        n = Net()
        x, y = n.input([2, 9], BOOL), n.input([2, 9], BOOL)
        add(name, n, n.op(code, [x, y], [2, 9], kind=BOOL))
    n = Net()
    inputs = [n.input([2], BOOL), n.input([2, 3]), n.input([2, 3])]
    add("select", n, n.op(OP.SELECT, inputs, [2, 3]))
    n = Net()
    inputs = [n.input([2, 3], BOOL), n.input([2, 3]), n.input([1, 3])]
    add("select_v2", n, n.op(OP.SELECT_V2, inputs, [2, 3]))
    n = Net()
    alpha = n.constant(RNG.uniform(0, 1, [1, 1, 3]), F)
    add("prelu", n, n.op(OP.PRELU, [n.input([1, 2, 4, 3]), alpha], [1, 2, 4, 3]))


def convolutions():
    for name, (padding, stride, dilation) in {
        "conv_2d": (0, 2, 1),
        "conv_2d_valid": (1, 1, 2),
    }.items():
        n = Net()
        o = options(
            "Conv2D",
            padding=padding,
            strideW=stride,
            strideH=stride,
            dilationWFactor=dilation,
            dilationHFactor=dilation,
            fusedActivationFunction=1,
        )
        w, b = n.constant(weights(4, 3, 2, 3), F), n.constant(weights(4), F)
        out = [1, 4, 4, 4] if padding == 0 else [1, 3, 5, 4]
        add(name, n, n.op(OP.CONV_2D, [n.input([1, 7, 7, 3]), w, b], out, options=o))
    # Neither one channel in nor one place out asks for a Transpose; nor do axes of extent 1.
    n = Net()
    x = n.op(OP.TRANSPOSE, [n.input([1, 5, 1, 5]), n.constant([0, 1, 3, 2])], [1, 5, 5, 1])
    o = options("Conv2D", padding=1, strideW=1, strideH=1)
    operands = [x, n.constant(weights(4, 5, 5, 1), F), n.constant(weights(4), F)]
    add("conv_2d_flat", n, n.op(OP.CONV_2D, operands, [1, 1, 1, 4], options=o))
    n = Net()
    o = options("Conv2D", padding=0, strideW=1, strideH=1)
    w = n.constant(weights(4, 3, 3, 2), F)
    add(
        "conv_2d_groups",
        n,
        n.op(
            OP.CONV_2D,
            [n.input([1, 4, 4, 4]), w, n.constant(weights(4), F)],
            [1, 4, 4, 4],
            options=o,
        ),
    )
    n = Net()
    o = options(
        "DepthwiseConv2D",
        padding=0,
        strideW=2,
        strideH=2,
        depthMultiplier=2,
        fusedActivationFunction=3,
    )
    w, b = n.constant(weights(1, 3, 3, 6), F), n.constant(weights(6), F)
    add(
        "depthwise_conv_2d",
        n,
        n.op(OP.DEPTHWISE_CONV_2D, [n.input([1, 6, 5, 3]), w, b], [1, 3, 3, 6], options=o),
    )
    for name, (padding, size) in {"transpose_conv": (0, 6), "transpose_conv_valid": (1, 7)}.items():
        n = Net()
        o = options("TransposeConv", padding=padding, strideW=2, strideH=2)
        x, w = n.input([1, 3, 3, 2]), n.constant(weights(4, 3, 3, 2), F)
        s = n.constant([1, size, size, 4])
        y = n.op(
            OP.TRANSPOSE_CONV, [s, w, x, n.constant(weights(4), F)], [1, size, size, 4], options=o
        )
        n.model.operatorCodes[-1].version = 3
        add(name, n, y)
    n = Net()
    o = options("Conv3D", padding=0, strideD=1, strideW=2, strideH=1)
    w = n.constant(weights(2, 3, 2, 2, 3), F)
    add("conv_3d", n, n.op(OP.CONV_3D, [n.input([1, 3, 4, 5, 2]), w], [1, 3, 4, 3, 3], options=o))
    for name, code in {
        "average_pool_2d": OP.AVERAGE_POOL_2D,
        "max_pool_2d": OP.MAX_POOL_2D,
        "l2_pool_2d": OP.L2_POOL_2D,
    }.items():
        n = Net()
        o = options("Pool2D", padding=0, strideW=2, strideH=1, filterWidth=3, filterHeight=2)
        add(name, n, n.op(code, [n.input([1, 4, 5, 2])], [1, 4, 3, 2], options=o))
    n = Net()
    o = options("FullyConnected", keepNumDims=True, fusedActivationFunction=1)
    w, b = n.constant(weights(5, 4), F), n.constant(weights(5), F)
    add(
        "fully_connected",
        n,
        n.op(OP.FULLY_CONNECTED, [n.input([2, 3, 4]), w, b], [2, 3, 5], options=o),
    )
    n = Net()
    o = options("FullyConnected")
    w = n.constant(weights(5, 12), F)
    add(
        "fully_connected_flat",
        n,
        n.op(OP.FULLY_CONNECTED, [n.input([2, 3, 4]), w, -1], [2, 5], options=o),
    )
    n = Net()
    o = options("BatchMatMul", adjX=False, adjY=True)
    add(
        "batch_matmul",
        n,
        n.op(OP.BATCH_MATMUL, [n.input([2, 3, 4]), n.input([2, 5, 4])], [2, 3, 5], options=o),
    )


def chains():
    """Several operators: channels stay first in between."""
    n = Net()
    o = options("Conv2D", padding=0, strideW=1, strideH=1)
    x = n.op(
        OP.CONV_2D,
        [n.input([1, 6, 6, 3]), n.constant(weights(4, 3, 3, 3), F), n.constant(weights(4), F)],
        [1, 6, 6, 4],
        options=o,
    )
    y = n.op(OP.MUL, [x, n.constant(weights(6, 1, 4), F)], [1, 6, 6, 4], options=options("Mul"))
    y = n.op(OP.SOFTMAX, [y], [1, 6, 6, 4], options=options("Softmax", beta=1.0))
    y = n.op(OP.PAD, [y, n.constant([[0, 0], [1, 0], [0, 2], [0, 1]])], [1, 7, 8, 5])
    a, b = n.op(
        OP.SPLIT,
        [n.constant(2), y],
        [1, 7, 4, 5],
        [1, 7, 4, 5],
        options=options("Split", numSplits=2),
    )
    y = n.op(OP.CONCATENATION, [b, a], [1, 7, 4, 10], options=options("Concatenation", axis=-1))
    y = n.op(
        OP.STRIDED_SLICE,
        [y, n.constant([0, 1, 0, 0]), n.constant([1, 7, 4, 10]), n.constant([1, 2, 1, 3])],
        [1, 3, 4, 4],
        options=options("StridedSlice"),
    )
    m = n.op(
        OP.MEAN, [y, n.constant([1, 2])], [1, 1, 1, 4], options=options("Reducer", keepDims=True)
    )
    y = n.op(OP.ADD, [y, m], [1, 3, 4, 4], options=options("Add"))
    i = n.op(
        OP.ARG_MAX,
        [y, n.constant(3)],
        [1, 3, 4],
        kind=I32,
        options=options("ArgMax", outputType=I32),
    )
    y = n.op(OP.MEAN, [y, n.constant([1, 2])], [1, 4], options=options("Reducer", keepDims=False))
    add("chain", n, y, i)
    n = Net()
    x = n.op(OP.RESHAPE, [n.input([1, 8, 3]), n.constant([1, 1, 8, 3])], [1, 1, 8, 3])
    x = n.op(
        OP.CONV_2D,
        [x, n.constant(weights(4, 1, 3, 3), F), n.constant(weights(4), F)],
        [1, 1, 8, 4],
        options=o,
    )
    x = n.op(OP.SQUEEZE, [x], [1, 8, 4], options=options("Squeeze", squeezeDims=[1]))
    x = n.op(OP.RELU, [x], [1, 8, 4])
    x = n.op(OP.RESHAPE, [x, n.constant([1, 1, 8, 4])], [1, 1, 8, 4])
    x = n.op(
        OP.CONV_2D,
        [x, n.constant(weights(2, 1, 3, 4), F), n.constant(weights(2), F)],
        [1, 1, 8, 2],
        options=o,
    )
    x = n.op(OP.MEAN, [x, n.constant([1, 2])], [1, 2], options=options("Reducer", keepDims=False))
    add("chain_1d", n, x)


def quantized():
    n = Net()
    x = n.input([1, 5, 5, 2], U8, scale=0.02, zero=128)
    w = n.constant(RNG.integers(0, 256, [3, 3, 3, 2]), U8, scale=0.01, zero=120)
    b = n.constant(RNG.integers(-500, 500, [3]), I32, scale=0.0002)
    o = options("Conv2D", padding=0, strideW=1, strideH=1, fusedActivationFunction=1)
    y = n.op(OP.CONV_2D, [x, w, b], [1, 5, 5, 3], options=o, kind=U8, scale=0.04, zero=0)
    y = n.op(
        OP.MAX_POOL_2D,
        [y],
        [1, 2, 2, 3],
        kind=U8,
        scale=0.04,
        zero=0,
        options=options("Pool2D", padding=1, strideW=2, strideH=2, filterWidth=2, filterHeight=2),
    )
    add("uint8_conv", n, y)
    n = Net()
    x = n.input([2, 8], I8, scale=0.05, zero=3)
    codes = RNG.integers(-7, 8, 32).astype(np.int64) & 15
    w = n.tensor([4, 8], I4, bytes((codes[0::2] | codes[1::2] << 4).astype(np.uint8)), scale=0.1)
    b = n.constant(RNG.integers(-100, 100, [4]), I32, scale=0.005)
    y = n.op(
        OP.FULLY_CONNECTED,
        [x, w, b],
        [2, 4],
        kind=I8,
        scale=0.1,
        zero=-5,
        options=options("FullyConnected"),
    )
    n.model.operatorCodes[-1].version = 7
    add("int4_fully_connected", n, y)
    n = Net()
    x = n.input([2, 6], I8, scale=0.05, zero=3)
    y = n.op(OP.QUANTIZE, [x], [2, 6], kind=I8, scale=0.1, zero=-20)
    add("requantize", n, y)
    n = Net()
    y = n.op(OP.QUANTIZE, [n.input([2, 6])], [2, 6], kind=I8, scale=0.02, zero=-20)
    add("quantize_dequantize", n, n.op(OP.DEQUANTIZE, [y], [2, 6]))
    n = Net()
    dense = np.zeros([4, 6], np.float32)
    dense[0, 1], dense[2, 0], dense[2, 5], dense[3, 3] = 1.5, -2.0, 3.0, 0.25
    w = n.tensor([4, 6], F, dense[dense != 0].tobytes())
    s = schema.SparsityParametersT()
    s.traversalOrder, s.dimMetadata = [0, 1], []
    rows, columns = schema.DimensionMetadataT(), schema.DimensionMetadataT()
    rows.format, rows.denseSize = 0, 4
    columns.format = 1
    columns.arraySegmentsType = columns.arrayIndicesType = schema.SparseIndexVector.Uint8Vector
    columns.arraySegments, columns.arrayIndices = schema.Uint8VectorT(), schema.Uint8VectorT()
    columns.arraySegments.values, columns.arrayIndices.values = [0, 1, 1, 3, 4], [1, 0, 5, 3]
    s.dimMetadata = [rows, columns]
    n.graph.tensors[w].sparsity = s
    d = n.op(OP.DENSIFY, [w], [4, 6], options=options("Densify"))
    add(
        "densify",
        n,
        n.op(
            OP.FULLY_CONNECTED, [n.input([2, 6]), d, -1], [2, 4], options=options("FullyConnected")
        ),
    )


def recurrent():
    n = Net()
    units, features, steps = 4, 3, 5
    inputs = [n.input([1, steps, features])]
    inputs += [n.constant(weights(units, features), F) for _ in range(4)]
    inputs += [n.constant(weights(units, units), F) for _ in range(4)]
    inputs += [-1, -1, -1]
    inputs += [n.constant(weights(units), F) for _ in range(4)]
    inputs += [-1, -1]
    for _ in range(2):
        inputs.append(n.tensor([1, units], F))
        n.graph.tensors[inputs[-1]].isVariable = True
    o = options("UnidirectionalSequenceLSTM", fusedActivationFunction=4)
    add("lstm", n, n.op(OP.UNIDIRECTIONAL_SEQUENCE_LSTM, inputs, [1, steps, units], options=o))


def refused():
    # The extents in the file are too small for the kernel: the user has to give others.
    n = Net()
    x = n.input([1, 1, 1, 1])
    n.graph.tensors[x].shapeSignature = [1, 1, -1, 1]
    w, o = n.constant(weights(2, 1, 5, 1), F), options("Conv2D", padding=1, strideW=2, strideH=1)
    y = n.op(OP.CONV_2D, [x, w, -1], [1, 1, 1, 2], options=o)
    n.graph.tensors[y].shapeSignature = [1, 1, -1, 2]
    y = n.op(OP.SQUEEZE, [y], [1, 1, 2], options=options("Squeeze", squeezeDims=[1]))
    n.graph.tensors[y].shapeSignature = [1, -1, 2]
    add("no_fixed_extents", n, y)
    n = Net()
    add("no_custom", n, n.op(OP.CUSTOM, [n.input([2, 3])], [2, 3], custom="MyOperator"))
    n = Net()
    x = n.input([2, 3])
    handle = n.op(OP.VAR_HANDLE, [], [], kind=13)
    value = n.op(OP.READ_VARIABLE, [handle], [2, 3])
    add("no_variable", n, n.op(OP.ADD, [x, value], [2, 3], options=options("Add")))
    n = Net()
    add(
        "no_if",
        n,
        n.op(
            OP.IF,
            [n.input([1], BOOL), n.input([2, 3])],
            [2, 3],
            options=options("If", thenSubgraphIndex=0, elseSubgraphIndex=0),
        ),
    )


def run(name, content, low, high):
    # What the default kernels (XNNPACK) round in their own way, and we as they do.
    default = name.startswith("dynamic_") or name == "int8_resize_bilinear"
    kernels = OpResolverType.AUTO if default else OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = Interpreter(model_content=content, experimental_op_resolver_type=kernels)
    interpreter.allocate_tensors()
    kinds = {v: k for k, v in NUMPY.items()}
    arrays = {}
    for i, detail in enumerate(interpreter.get_input_details()):
        arrays[f"in{i}"] = sample(tuple(detail["shape"]), kinds[detail["dtype"]], low, high)
        interpreter.set_tensor(detail["index"], arrays[f"in{i}"])
    interpreter.invoke()
    for i, detail in enumerate(interpreter.get_output_details()):
        arrays[f"out{i}"] = interpreter.get_tensor(detail["index"])
    return arrays


def main():
    parts = (unary, binary, convolutions, shapes, chains, quantized, recurrent)
    for part in (*parts, rounding, dynamic_range, refused):
        part()
    stored = {}
    for name, (content, low, high) in MODELS.items():
        (HERE / "ops" / f"{name}.tflite").write_bytes(content)
        if name.startswith("no_"):
            continue
        try:
            arrays = run(name, content, low, high)
        except Exception as error:
            print(f"{name}: {str(error)[:200]}")
            continue
        stored |= {f"{name}/{key}": array for key, array in arrays.items()}
    np.savez_compressed(HERE / "ops.npz", **stored)
    print(f"{len(MODELS)} models, {sum(len(m[0]) for m in MODELS.values())} bytes")


if __name__ == "__main__":
    main()
