"""halfstep: an open neural-network quantization toolkit.

    result = halfstep.quantize("model.onnx", samples, output="model_a8w8.onnx")
    print(result.summary)

`quantize` is the whole road; load, calibrate, write_qdq and write_encodings are its steps.
"""

from halfstep._core import (
    CalibrationResult,
    Diagnostic,
    Encoding,
    EncodingTable,
    Engine,
    Model,
    QuantizeResult,
    Session,
    TensorInfo,
    TensorStatistics,
    __version__,
    sample_inputs,
    write_encodings,
    write_qdq,
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
    NotReady,
    Unsupported,
)
from halfstep._quantize import calibrate, load, quantize

__all__ = [
    "CalibrationResult",
    "Diagnostic",
    "Encoding",
    "EncodingTable",
    "Engine",
    "Error",
    "InternalError",
    "Interrupted",
    "InvalidArgument",
    "InvalidFile",
    "IoError",
    "Model",
    "NotReady",
    "NothingToDo",
    "QuantizeResult",
    "Session",
    "TensorInfo",
    "TensorStatistics",
    "Unsupported",
    "__version__",
    "calibrate",
    "load",
    "make_onnxruntime_engine",
    "quantize",
    "sample_inputs",
    "write_encodings",
    "write_qdq",
]
