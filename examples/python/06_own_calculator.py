"""A range calculator of one's own, used by its name like those of the library."""

import numpy as np

import halfstep


@halfstep.RangeCalculatorBase.register("percentile")
class PercentileRangeCalculator(halfstep.RangeCalculatorBase):
    """Leaves out the most extreme values of each unit."""

    def __init__(self, percentile: float = 99.9) -> None:
        self.percentile = percentile

    def measure(self, x, grid):
        units = self.split(x, grid)
        low, high = np.percentile(units, [100 - self.percentile, self.percentile], axis=-1)
        return low, high


class PercentileSpec(halfstep.QuantizationSpec):
    """A spec with one more field, which goes to the constructor above."""

    percentile: float = 99.0


x = np.random.default_rng(0).normal(size=(4, 1000)).astype(np.float32)
x[0, 0] = 100
for spec in (
    halfstep.QuantizationSpec(),
    PercentileSpec(range_calculator_cls="percentile"),
    PercentileSpec(range_calculator_cls=PercentileRangeCalculator, percentile=99.99),
):
    fq = halfstep.FakeQuantize(spec, role="weight")
    fq(x)
    scale, _, _ = fq.calculate_qparams()
    print(spec.range_calculator_cls, spec.get_extra_args(), scale.item())
