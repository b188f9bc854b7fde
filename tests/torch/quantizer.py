"""A quantizer for prepare_pt2e in the manner of XNNPACK's: int8 everywhere, weights per channel."""

import torch
from torchao.quantization.pt2e import (
    HistogramObserver,
    MinMaxObserver,
    PerChannelMinMaxObserver,
)
from torchao.quantization.pt2e.quantizer import QuantizationAnnotation, QuantizationSpec, Quantizer

WEIGHTED = (
    torch.ops.aten.conv2d.default,
    torch.ops.aten.linear.default,
)
OTHERS = (torch.ops.aten.add.Tensor, torch.ops.aten.relu.default)


def _spec(observer, low, high, qscheme, dtype=torch.int8, **rest):
    return QuantizationSpec(
        dtype=dtype,
        observer_or_fake_quant_ctr=observer.with_args(eps=2**-12),
        quant_min=low,
        quant_max=high,
        qscheme=qscheme,
        **rest,
    )


class SmallQuantizer(Quantizer):
    def __init__(self, activation=(-128, 127), weight=(-127, 127), dtype=torch.int8):
        super().__init__()
        affine, symmetric = torch.per_tensor_affine, torch.per_channel_symmetric
        self.activation = _spec(HistogramObserver, *activation, affine, dtype)
        self.weight = _spec(PerChannelMinMaxObserver, *weight, symmetric, ch_axis=0)
        if activation[1] > 255:
            self.activation = _spec(MinMaxObserver, *activation, affine, dtype)

    def annotate(self, model):
        for node in model.graph.nodes:
            if node.target not in WEIGHTED + OTHERS:
                continue
            inputs = {node.args[0]: self.activation}
            if node.target in WEIGHTED:
                inputs[node.args[1]] = self.weight
            elif node.target in OTHERS[:1]:
                inputs[node.args[1]] = self.activation
            node.meta["quantization_annotation"] = QuantizationAnnotation(
                input_qspec_map=inputs, output_qspec=self.activation, _annotated=True
            )
        return model

    def validate(self, model):
        pass
