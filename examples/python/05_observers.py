"""Observers with torch's names, arguments and numbers; torch is not needed."""

import numpy as np

import halfstep

rng = np.random.default_rng(0)
batches = [rng.normal(size=(16, 8)).astype(np.float32) for _ in range(4)]

for observer in (
    halfstep.MinMaxObserver(),
    halfstep.MinMaxObserver(dtype="qint8", qscheme="per_tensor_symmetric", reduce_range=True),
    halfstep.MovingAverageMinMaxObserver(averaging_constant=0.1),
    halfstep.PerChannelMinMaxObserver(ch_axis=1, dtype="qint8"),
    halfstep.HistogramObserver(bins=256),
):
    for batch in batches:
        assert observer(batch) is batch
    scale, zero_point = observer.calculate_qparams()
    print(type(observer).__name__, scale, zero_point)

# Observers of two shards combine to that of the whole.
whole, first, second = (halfstep.MinMaxObserver() for _ in range(3))
for batch in batches:
    whole(batch)
first(np.concatenate(batches[:2]))
second(np.concatenate(batches[2:]))
first.merge(second)
assert first.calculate_qparams() == whole.calculate_qparams()
