"""Models of operators that move, join, reduce and resize."""

from net import BOOL, I32, I64, OP, F, Net, add, options, weights


def shapes():
    def one(name, code, shape, result, *constants, kind=F, low=-2.0, high=2.0, **fields):
        n = Net()
        x = n.input(shape, kind)
        o = fields.pop("options", None)
        more = [n.constant(c) for c in constants]
        y = n.op(code, [x, *more], result, options=o, kind=fields.pop("out", kind))
        n.model.operatorCodes[-1].version = fields.pop("version", 1)
        add(name, n, y, low=low, high=high)

    one("reshape", OP.RESHAPE, [1, 2, 3, 4], [2, 12], [2, 12])
    one("squeeze", OP.SQUEEZE, [1, 2, 1, 4], [2, 4], options=options("Squeeze", squeezeDims=[0, 2]))
    one("expand_dims", OP.EXPAND_DIMS, [2, 3], [2, 1, 3], 1)
    one("transpose", OP.TRANSPOSE, [1, 2, 3, 4], [1, 4, 3, 2], [0, 3, 2, 1])
    one("pad", OP.PAD, [1, 2, 3, 2], [1, 4, 3, 3], [[0, 0], [1, 1], [0, 0], [0, 1]])
    one(
        "mirror_pad",
        OP.MIRROR_PAD,
        [1, 3, 4, 2],
        [1, 5, 7, 2],
        [[0, 0], [1, 1], [2, 1], [0, 0]],
        options=options("MirrorPad", mode=0),
    )
    one(
        "mirror_pad_symmetric",
        OP.MIRROR_PAD,
        [1, 3, 4, 2],
        [2, 5, 7, 2],
        [[1, 0], [1, 1], [2, 1], [0, 0]],
        options=options("MirrorPad", mode=1),
    )
    n = Net()
    x, p = n.input([2, 3]), n.constant([[1, 0], [0, 2]])
    add("padv2", n, n.op(OP.PADV2, [x, p, n.constant(-1.5, F)], [3, 5]))
    one("tile", OP.TILE, [2, 3], [4, 3], [2, 1])
    one("broadcast_to", OP.BROADCAST_TO, [1, 3], [4, 3], [4, 3], version=2)
    one("shape", OP.SHAPE, [2, 3, 5], [3], kind=F, out=I32, options=options("Shape", outType=I32))
    one("rank", OP.RANK, [2, 3, 5], [], kind=F, out=I32)
    one(
        "space_to_depth",
        OP.SPACE_TO_DEPTH,
        [1, 4, 6, 3],
        [1, 2, 3, 12],
        options=options("SpaceToDepth", blockSize=2),
    )
    one(
        "depth_to_space",
        OP.DEPTH_TO_SPACE,
        [1, 2, 3, 12],
        [1, 4, 6, 3],
        options=options("DepthToSpace", blockSize=2),
    )
    one(
        "space_to_batch_nd",
        OP.SPACE_TO_BATCH_ND,
        [1, 3, 6, 2],
        [4, 2, 3, 2],
        [2, 2],
        [[0, 1], [0, 0]],
    )
    one(
        "batch_to_space_nd",
        OP.BATCH_TO_SPACE_ND,
        [4, 2, 3, 2],
        [1, 3, 6, 2],
        [2, 2],
        [[0, 1], [0, 0]],
    )
    one("slice", OP.SLICE, [3, 4], [2, 3], [1, 0], [2, 3])
    one(
        "strided_slice",
        OP.STRIDED_SLICE,
        [4, 5, 6],
        [2, 6],
        [0, 2, 0],
        [4, 0, 0],
        [2, 1, 1],
        options=options("StridedSlice", shrinkAxisMask=2, newAxisMask=0, endMask=4),
    )
    one(
        "strided_slice_back",
        OP.STRIDED_SLICE,
        [4, 5],
        [4, 3],
        [0, -1],
        [0, 0],
        [1, -2],
        options=options("StridedSlice", beginMask=1, endMask=3),
    )
    one("reverse_v2", OP.REVERSE_V2, [2, 3, 4], [2, 3, 4], [1])
    one("gather", OP.GATHER, [4, 3], [2, 3], [3, 1], options=options("Gather", axis=0))
    one("gather_nd", OP.GATHER_ND, [4, 3], [2], [[3, 1], [0, 2]])
    one(
        "cumsum",
        OP.CUMSUM,
        [2, 5],
        [2, 5],
        1,
        options=options("Cumsum", exclusive=True, reverse=True),
    )
    one(
        "cast",
        OP.CAST,
        [2, 3],
        [2, 3],
        out=I32,
        options=options("Cast", inDataType=F, outDataType=I32),
    )
    one(
        "arg_max",
        OP.ARG_MAX,
        [2, 5, 3],
        [2, 5],
        2,
        out=I32,
        options=options("ArgMax", outputType=I32),
    )
    one(
        "arg_min",
        OP.ARG_MIN,
        [2, 5, 3],
        [2, 3],
        1,
        out=I64,
        options=options("ArgMin", outputType=I64),
    )
    for name, code in {
        "mean": OP.MEAN,
        "sum": OP.SUM,
        "reduce_prod": OP.REDUCE_PROD,
        "reduce_max": OP.REDUCE_MAX,
        "reduce_min": OP.REDUCE_MIN,
    }.items():
        one(name, code, [2, 3, 4, 2], [2, 2], [1, 2], options=options("Reducer", keepDims=False))
    for name, code in {"reduce_any": OP.REDUCE_ANY, "reduce_all": OP.REDUCE_ALL}.items():
        one(name, code, [3, 2], [3, 1], [1], kind=BOOL, options=options("Reducer", keepDims=True))
    for code, name, kind in (
        (OP.RESIZE_BILINEAR, "bilinear", "ResizeBilinear"),
        (OP.RESIZE_NEAREST_NEIGHBOR, "nearest", "ResizeNearestNeighbor"),
    ):
        for mode in ({}, {"alignCorners": True}, {"halfPixelCenters": True}):
            o = options(kind, **mode)
            suffix = next(iter(mode), "plain")
            one(
                f"resize_{name}_{suffix.lower()}",
                code,
                [1, 3, 4, 2],
                [1, 7, 6, 2],
                [7, 6],
                options=o,
            )
    n = Net()
    o = options("Concatenation", axis=3)
    add(
        "concatenation",
        n,
        n.op(
            OP.CONCATENATION,
            [n.input([1, 2, 2, 3]), n.input([1, 2, 2, 1])],
            [1, 2, 2, 4],
            options=o,
        ),
    )
    n = Net()
    add(
        "pack",
        n,
        n.op(
            OP.PACK,
            [n.input([2, 3]), n.input([2, 3])],
            [2, 2, 3],
            options=options("Pack", valuesCount=2, axis=1),
        ),
    )
    n = Net()
    add(
        "unpack",
        n,
        *n.op(
            OP.UNPACK, [n.input([2, 3])], [2], [2], [2], options=options("Unpack", num=3, axis=1)
        ),
    )
    n = Net()
    add(
        "split",
        n,
        *n.op(
            OP.SPLIT,
            [n.constant(1), n.input([2, 6])],
            [2, 3],
            [2, 3],
            options=options("Split", numSplits=2),
        ),
    )
    n = Net()
    add(
        "split_v",
        n,
        *n.op(
            OP.SPLIT_V,
            [n.input([2, 6]), n.constant([2, 4]), n.constant(1)],
            [2, 2],
            [2, 4],
            options=options("SplitV", numSplits=2),
        ),
    )
    n = Net()
    add(
        "topk_v2",
        n,
        *n.op(OP.TOPK_V2, [n.input([2, 6]), n.constant(3)], [2, 3], [2, 3], kind=(F, I32)),
    )
    n = Net()
    add(
        "one_hot",
        n,
        n.op(
            OP.ONE_HOT,
            [n.input([2, 3], I32), n.constant(4), n.constant(2.0, F), n.constant(-1.0, F)],
            [2, 3, 4],
            options=options("OneHot", axis=-1),
        ),
    )
    n = Net()
    add(
        "scatter_nd",
        n,
        n.op(
            OP.SCATTER_ND,
            [n.constant([[1], [3], [1]]), n.input([3, 2]), n.constant([5, 2])],
            [5, 2],
        ),
    )
    n = Net()
    add(
        "embedding_lookup",
        n,
        n.op(OP.EMBEDDING_LOOKUP, [n.input([3], I32), n.constant(weights(5, 2), F)], [3, 2]),
    )
    n = Net()
    o = options("ReverseSequence", seqDim=1, batchDim=0)
    add(
        "reverse_sequence",
        n,
        n.op(OP.REVERSE_SEQUENCE, [n.input([2, 4, 2]), n.constant([2, 4])], [2, 4, 2], options=o),
    )
