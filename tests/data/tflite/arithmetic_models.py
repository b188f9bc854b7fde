"""Models for make_ops.py whose arithmetic is TFLite's own."""

from net import I8, I16, OP, RNG, U8, F, Net, add, options, weights


def rounding():
    """Operators whose integers TFLite rounds in another way than QuantizeLinear."""
    for name, kind, zero in (("int8", I8, -7), ("uint8", U8, 121), ("int16", I16, 0)):
        q = {"scale": 0.05, "zero": zero}
        n = Net()
        o = options("Pool2D", padding=0, strideW=2, strideH=2, filterWidth=2, filterHeight=2)
        x = n.input([1, 8, 8, 3], kind, **q)
        y = n.op(OP.AVERAGE_POOL_2D, [x], [1, 4, 4, 3], options=o, kind=kind, **q)
        n.model.operatorCodes[-1].version = 3
        add(f"{name}_average_pool", n, y)
        n = Net()
        x, c = n.input([2, 50], kind, **q), n.constant([100], kind, scale=0.0025, zero=0)
        y = n.op(OP.MUL, [x, c], [2, 50], options=options("Mul"), kind=kind, **q)
        n.model.operatorCodes[-1].version = 4
        add(f"{name}_mul", n, y)
    n = Net()
    x = n.input([1, 5, 5, 3], I8, scale=0.05, zero=-7)
    o = options("ResizeBilinear", halfPixelCenters=True)
    y = n.op(
        OP.RESIZE_BILINEAR,
        [x, n.constant([10, 10])],
        [1, 10, 10, 3],
        options=o,
        kind=I8,
        scale=0.05,
        zero=-7,
    )
    n.model.operatorCodes[-1].version = 3
    add("int8_resize_bilinear", n, y)


def dynamic_range():
    """Float activations and integer weights: the runtime rounds the activations."""

    def integers(*shape, axis=None):
        scales = RNG.uniform(0.002, 0.01, 1 if axis is None else shape[axis])
        return {"values": RNG.integers(-127, 128, shape), "kind": I8, "scale": scales}

    for size in (3, 1):
        n = Net()
        w = n.constant(**integers(6, size, size, 4, axis=0))
        o = options("Conv2D", padding=0, strideW=1, strideH=1, fusedActivationFunction=1)
        operands = [n.input([2, 5, 5, 4]), w, n.constant(weights(6), F)]
        y = n.op(OP.CONV_2D, operands, [2, 5, 5, 6], options=o)
        n.model.operatorCodes[-1].version = 2
        add(f"dynamic_conv_{size}", n, y)
    n = Net()
    w = n.constant(**integers(1, 3, 3, 4, axis=3), axis=3)
    o = options("DepthwiseConv2D", padding=0, strideW=1, strideH=1, depthMultiplier=1)
    operands = [n.input([2, 5, 5, 4]), w, n.constant(weights(4), F)]
    y = n.op(OP.DEPTHWISE_CONV_2D, operands, [2, 5, 5, 4], options=o)
    n.model.operatorCodes[-1].version = 6
    add("dynamic_depthwise_conv", n, y)
    for shape in ([3, 8], [2, 3, 8]):
        n = Net()
        w, b = n.constant(**integers(5, 8)), n.constant(weights(5), F)
        o = options("FullyConnected", asymmetricQuantizeInputs=True, keepNumDims=len(shape) == 3)
        y = n.op(OP.FULLY_CONNECTED, [n.input(shape), w, b], [*shape[:-1], 5], options=o)
        n.model.operatorCodes[-1].version = 9
        add(f"dynamic_fully_connected_{len(shape)}", n, y)
    n = Net()
    o = options("BatchMatMul", asymmetricQuantizeInputs=True)
    w = n.constant(**integers(2, 6, 7))
    y = n.op(OP.BATCH_MATMUL, [n.input([2, 5, 6]), w], [2, 5, 7], options=o)
    n.model.operatorCodes[-1].version = 4
    add("dynamic_batch_matmul", n, y)
    # Weights behind DEQUANTIZE are float ones for the runtime.
    n = Net()
    w = n.op(OP.DEQUANTIZE, [n.constant(**integers(5, 8))], [5, 8])
    o = options("FullyConnected")
    y = n.op(OP.FULLY_CONNECTED, [n.input([3, 8]), w, -1], [3, 5], options=o)
    n.model.operatorCodes[-1].version = 9
    n.model.operatorCodes[-2].version = 2
    add("dequantized_fully_connected", n, y)
