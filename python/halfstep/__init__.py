"""halfstep: an open neural-network quantization toolkit.

    result = halfstep.quantize("model.onnx", samples, output="model_a8w8.onnx")
    print(result.summary)

`quantize` is the whole road; `load`, `calibrate`, `write_qdq` and `write_encodings` are its steps.
`convert` makes a model with encodings run on a target, `explain` says why it became what it is,
`verify` runs it there and compares.
A `QuantizationSpec` says what is wanted for a tensor, `FakeQuantize` does it to an array, `core`
has the functions below that, and the observers are those of torch.
"""

from halfstep import _core, core
from halfstep._calibrate import calibrate, merge_statistics, read_statistics
from halfstep._convert import convert, explain, rule, targets
from halfstep._core import (
    CalibrationResult,
    Diagnostic,
    Encoding,
    EncodingDifference,
    EncodingsFile,
    EncodingTable,
    Engine,
    Model,
    QuantizeResult,
    Session,
    Statistics,
    TensorInfo,
    TensorsResult,
    TensorStatistics,
    sample_inputs,
    write_encodings,
    write_qdq,
)
from halfstep._encodings import (
    apply_encodings,
    convert_encodings,
    diff_encodings,
    extract_encodings,
    lint_encodings,
    merge_encodings,
    read_encodings,
)
from halfstep._engine import make_onnxruntime_engine
from halfstep._errors import (
    Error,
    InternalError,
    Interrupted,
    InvalidArgument,
    InvalidFile,
    IoError,
    NothingToDo,
    Unsupported,
)
from halfstep._fake_quantize import FakeQuantize
from halfstep._granularity import (
    LpbqGranularity,
    PerBlockGranularity,
    PerChannelGranularity,
    PerTensorGranularity,
    QuantizationGranularity,
)
from halfstep._observers import (
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    PerChannelMinMaxObserver,
)
from halfstep._quantize import inspect, load, quantize
from halfstep._registry import (
    DynamicQParamsCalculator,
    FakeQuantizeImplBase,
    GlobalMinMaxQParamsCalculator,
    MinMaxRangeCalculator,
    MovingAverageQParamsCalculator,
    QParamsCalculatorBase,
    RangeCalculatorBase,
    StaticQParamsCalculator,
)
from halfstep._spec import (
    CompressionSpec,
    QuantizationFormulation,
    QuantizationScheme,
    QuantizationSpec,
)
from halfstep._torch import from_torch
from halfstep._verify import verify
from halfstep.core import dequantize, fake_quantize, pack, unpack

__version__ = _core.version()

__all__ = [
    "CalibrationResult",
    "CompressionSpec",
    "Diagnostic",
    "DynamicQParamsCalculator",
    "Encoding",
    "EncodingDifference",
    "EncodingTable",
    "EncodingsFile",
    "Engine",
    "Error",
    "FakeQuantize",
    "FakeQuantizeImplBase",
    "GlobalMinMaxQParamsCalculator",
    "HistogramObserver",
    "InternalError",
    "Interrupted",
    "InvalidArgument",
    "InvalidFile",
    "IoError",
    "LpbqGranularity",
    "MinMaxObserver",
    "MinMaxRangeCalculator",
    "Model",
    "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver",
    "MovingAverageQParamsCalculator",
    "NothingToDo",
    "PerBlockGranularity",
    "PerChannelGranularity",
    "PerChannelMinMaxObserver",
    "PerTensorGranularity",
    "QParamsCalculatorBase",
    "QuantizationFormulation",
    "QuantizationGranularity",
    "QuantizationScheme",
    "QuantizationSpec",
    "QuantizeResult",
    "RangeCalculatorBase",
    "Session",
    "StaticQParamsCalculator",
    "Statistics",
    "TensorInfo",
    "TensorStatistics",
    "TensorsResult",
    "Unsupported",
    "__version__",
    "apply_encodings",
    "calibrate",
    "convert",
    "convert_encodings",
    "core",
    "dequantize",
    "diff_encodings",
    "explain",
    "extract_encodings",
    "fake_quantize",
    "from_torch",
    "inspect",
    "lint_encodings",
    "load",
    "make_onnxruntime_engine",
    "merge_encodings",
    "merge_statistics",
    "pack",
    "quantize",
    "read_encodings",
    "read_statistics",
    "rule",
    "sample_inputs",
    "targets",
    "unpack",
    "verify",
    "write_encodings",
    "write_qdq",
]
