"""The native part of halfstep. Use it through the package `halfstep`."""

from collections.abc import Iterator, Mapping as _Mapping, Sequence
import os
import pathlib
from typing import Any, overload

import numpy
from numpy.typing import NDArray


def version() -> str: ...

class Diagnostic:
    """
    One thing halfstep decided or noticed, and why.

    str() gives the line that the command prints.
    """

    @property
    def severity(self) -> str:
        """'note', 'warning' or 'error'."""

    @property
    def rule(self) -> str:
        """Stable id; `halfstep rule ID` explains it."""

    @property
    def subject(self) -> str:
        """Name of the tensor or node."""

    @property
    def message(self) -> str:
        """What was found, what was done, what would help."""

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

    def __eq__(self, other: object, /) -> bool: ...

class Spec:
    """The checked fields behind a halfstep.QuantizationSpec."""

    def __init__(self, fields: dict, extra_fields: Sequence[str]) -> None: ...

    def to_dict(self) -> dict[str, Any]: ...

    def check_export(self, backend: str, role: str) -> None: ...

def check_granularity(granularity: object) -> dict[str, Any]:
    """The same granularity with every key."""

def parse_config(text: str, file: str) -> Any:
    """
    The content of a configuration file; the ending of `file` says whether it is YAML, TOML or JSON.
    """

def canonical_dtype(dtype: str) -> str: ...

def get_n_bits_from_dtype(dtype: str) -> int: ...

def get_target_dtype(dtype: str) -> str: ...

def get_quant_range(dtype: str, qscheme: str) -> tuple[float, float]: ...

class Ranges:
    """Smallest and largest value of each unit, units in row-major order."""

    def __init__(self, min: object, max: object, dtype: str = 'float32') -> None: ...

    @property
    def min(self) -> NDArray[numpy.float32]: ...

    @property
    def max(self) -> NDArray[numpy.float32]: ...

    @property
    def nan_count(self) -> int:
        """NaN left out under the policy "safe"."""

    @property
    def infinity_count(self) -> int: ...

    @property
    def dtype(self) -> str:
        """Type that arithmetic with the range rounds to."""

class UnitGrid:
    """How a tensor of one shape splits into units."""

    def __init__(self, granularity: object, shape: Sequence[int], role: str, pad: bool = False) -> None: ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the tensor."""

    @property
    def counts(self) -> tuple[int, ...]:
        """Units along each axis: the shape of the parameters."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Values of one unit along each axis."""

class Mapping:
    """
    Everything to turn one tensor into codes and back: spec, units, parameters.

    Shapes: scale, zero_point and minval have grid.counts; block_scale too; channel_scale has one value a channel.
    Units:  scale in units of x per step, zero_point in steps, minval in units of x
    """

    def __init__(self, spec: Spec, role: str, shape: Sequence[int], scale: Sequence[float], zero_point: Sequence[int] = [], minval: Sequence[float] = []) -> None: ...

    @property
    def grid(self) -> UnitGrid: ...

    @property
    def dtype(self) -> str: ...

    @property
    def quant_min(self) -> float: ...

    @property
    def quant_max(self) -> float: ...

    @property
    def scale(self) -> NDArray[numpy.float32]: ...

    @property
    def zero_point(self) -> NDArray[numpy.int32] | None: ...

    @property
    def minval(self) -> NDArray[numpy.float32] | None: ...

    @property
    def block_scale(self) -> NDArray[numpy.int32] | None: ...

    @property
    def channel_scale(self) -> NDArray[numpy.float32] | None: ...

def fit(x: object | None, spec: Spec, role: str, threads: int = 1) -> Mapping: ...

def measure_range(x: object | None, grid: UnitGrid, *, policy: str = 'reference', threads: int = 1) -> Ranges: ...

def choose_qparams(ranges: Ranges, spec: Spec, role: str, grid: UnitGrid) -> Mapping: ...

def quantize_array(x: object | None, mapping: Mapping, out: object | None = None, threads: int = 1) -> Any: ...

def quantize_and_fake_quantize_array(x: object | None, mapping: Mapping, codes: object | None = None, out: object | None = None, threads: int = 1) -> tuple: ...

def dequantize_array(q: object | None, mapping: Mapping, dtype: str = 'float32', out: object | None = None, threads: int = 1) -> Any: ...

def fake_quantize_array(x: object | None, mapping: Mapping, out: object | None = None, threads: int = 1) -> Any: ...

def gradient_mask(x: object | None, mapping: Mapping) -> Any: ...

def pack(q: object | None, dtype: str) -> Any: ...

def unpack(packed: object, dtype: str, shape: Sequence[int]) -> Any: ...

def register_component(family: str, name: str) -> None: ...

def registered_components(family: str) -> list[str]: ...

class QParamsCalculator:
    """A calculator of the library, by the name in the spec."""

    def __init__(self, spec: Spec, role: str) -> None: ...

    def update(self, batch: Ranges) -> None: ...

    def range(self) -> Ranges: ...

    def reset(self) -> None: ...

    def state(self) -> dict[str, Any]: ...

    def load_state(self, state: object) -> None: ...

    def merge(self, other: QParamsCalculator) -> None: ...

class StoredQParams:
    """Parameters with the rank of the tensor, one of each per unit."""

    @property
    def scale(self) -> NDArray[numpy.float32]: ...

    @property
    def zero_point(self) -> NDArray[numpy.int32] | None: ...

    @property
    def minval(self) -> NDArray[numpy.float32] | None: ...

    @property
    def quant_offset(self) -> int | None: ...

class FakeQuantizer:
    """The library's part of halfstep.FakeQuantize."""

    def __init__(self, spec: Spec, role: str) -> None: ...

    def forward(self, x: object | None, out: object | None = None, threads: int = 1) -> Any: ...

    def forward_with_codes(self, x: object | None, codes: object | None = None, out: object | None = None, threads: int = 1) -> tuple: ...

    def observe(self, x: object | None, threads: int = 1) -> None: ...

    def calculate_qparams(self) -> StoredQParams: ...

    def quantize(self, x: object | None, out: object | None = None, threads: int = 1) -> Any: ...

    def dequantize(self, q: object | None, dtype: str, out: object | None = None, threads: int = 1) -> Any: ...

    def fake_quantize(self, x: object | None, out: object | None = None, threads: int = 1) -> Any: ...

    def mapping(self, shape: Sequence[int]) -> Mapping: ...

    def enable_observer(self) -> None: ...

    def disable_observer(self) -> None: ...

    def enable_fake_quant(self) -> None: ...

    def disable_fake_quant(self) -> None: ...

    @property
    def observer_enabled(self) -> bool: ...

    @property
    def fake_quant_enabled(self) -> bool: ...

    @property
    def disabled(self) -> bool: ...

    @property
    def observed(self) -> bool: ...

    @property
    def quant_min(self) -> float: ...

    @property
    def quant_max(self) -> float: ...

    def set_granularity(self, granularity: object) -> None: ...

    def range(self) -> Ranges: ...

    def reset(self) -> None: ...

    def state(self) -> dict[str, Any]: ...

    def load_state(self, state: object) -> None: ...

    def merge(self, other: FakeQuantizer) -> None: ...

class Observer:
    """The library's part of the torch-like observers."""

    def __init__(self, class_name: str, arguments: dict) -> None: ...

    def observe(self, x: object | None, threads: int = 1) -> None: ...

    def calculate_qparams(self) -> tuple: ...

    def reset_min_max_vals(self) -> None: ...

    @property
    def min_val(self) -> NDArray[numpy.float32]: ...

    @property
    def max_val(self) -> NDArray[numpy.float32]: ...

    @property
    def quant_min(self) -> int: ...

    @property
    def quant_max(self) -> int: ...

    @property
    def nan_count(self) -> int: ...

    @property
    def infinity_count(self) -> int: ...

    @property
    def dtype(self) -> str: ...

    @property
    def qscheme(self) -> str: ...

    @property
    def histogram(self) -> NDArray[numpy.float64]: ...

    @property
    def chosen_range(self) -> tuple[float, float]: ...

    def state(self) -> dict[str, Any]: ...

    def load_state(self, state: object) -> None: ...

    def merge(self, other: Observer) -> None: ...

def fake_quantize_affine(x: object | None, scale: Sequence[float], zero_point: Sequence[int], quant_min: int, quant_max: int, axis: int | None = None, rounding: str = 'reciprocal', out: object | None = None) -> Any: ...

def quantize_affine(x: object | None, scale: Sequence[float], zero_point: Sequence[int], quant_min: int, quant_max: int, axis: int | None = None, rounding: str = 'reciprocal') -> NDArray[numpy.int64]: ...

def kernel_names() -> list[str]: ...

def active_kernels() -> str: ...

class ForcedKernels:
    """The library's part of halfstep.core.forced_kernels."""

    def __init__(self, name: str) -> None: ...

    def release(self) -> None: ...

class Model:
    """
    An ONNX model whose large weights stay in the mapped file until they are asked for.

    Everything not understood is kept: custom domains, functions, subgraphs, metadata. Names never change.
    """

    @staticmethod
    def load(path: str | os.PathLike) -> Model:
        """
        The model in the file `path`.

        Errors: InvalidFile (missing, a directory, not an ONNX model, truncated, external data missing, refused by the ONNX checker).
        """

    @staticmethod
    def from_bytes(content: bytes, name: str = 'model from memory') -> Model:
        """
        The model in `content`, a serialized ModelProto. `name` stands in messages.

        Errors: InvalidFile.
        """

    @property
    def name(self) -> str:
        """What messages call the model: its path as given."""

    @property
    def opset(self) -> int:
        """Version of the domain ai.onnx."""

    @property
    def serialized_size(self) -> int:
        """Size in bytes of what serialize() returns."""

    def clone(self) -> Model:
        """A copy that shares the mapped weights."""

    def save(self, path: str | os.PathLike) -> None:
        """
        Writes the model to `path`; the file appears only when it is complete. Above 2 GB the weights go to external data beside it.

        Errors: IoError.
        """

    def serialize(self) -> bytes:
        """
        The whole model as bytes, for onnx.load_from_string or an InferenceSession.
        """

    def raise_opset(self, version: int) -> None:
        """
        Raises the version of the domain ai.onnx with ONNX's version converter.

        Errors: Unsupported with the converter's reason and the op.
        """

    def __repr__(self) -> str: ...

class Encoding:
    """
    How one tensor is stored: the result of quantization.

    Formula: value = (q - zero_point) * scale, q in the dtype's own range;
             with minval: value = (q - quant_min) * scale + minval
    Shapes:  scale and zero_point are () per tensor, (channels,) per channel, one value a block
             per block; with block_scale one value a channel
    Units:   scale is in units of the tensor per step, zero_point in steps
    """

    def __init__(self, dtype: str, scale: Sequence[float] = [], zero_point: Sequence[int] = [], *, granularity: object | None = None, shape: Sequence[int] = (), minval: Sequence[float] = [], block_scale: Sequence[int] = []) -> None:
        """
        Values row-major as flat lists, `shape` as above; no scale: a float type.
        """

    @property
    def dtype(self) -> str: ...

    @property
    def granularity(self) -> dict[str, Any]:
        """As in a QuantizationSpec: {'type': 'per_channel', 'axis': 0}."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the parameters."""

    @property
    def scale(self) -> NDArray[numpy.float32]:
        """float32 array; empty for float types."""

    @property
    def zero_point(self) -> NDArray[numpy.int64]:
        """int64 array of the shape of scale."""

    @property
    def minval(self) -> NDArray[numpy.float32] | None:
        """float32 array, or None without the minval formulation."""

    @property
    def block_scale(self) -> NDArray[numpy.int32] | None:
        """int32 array: integer scale of each block, or None without LPBQ."""

    @property
    def half_step(self) -> bool:
        """Subtract another 0.5 from q."""

    @property
    def origin(self) -> str:
        """Where the encoding came from."""

    @property
    def is_float(self) -> bool: ...

    @property
    def symmetric(self) -> bool:
        """All zero points 0 in a signed type, 2^(bits-1) in an unsigned one."""

    def __eq__(self, other: object, /) -> bool: ...

    def __repr__(self) -> str: ...

class EncodingTable:
    """
    Everything known about the tensors of one model: a mapping from tensor name to Encoding, in name order, plus encodings of single uses.
    """

    def __init__(self) -> None: ...

    def __len__(self) -> int: ...

    def __contains__(self, arg: str, /) -> bool: ...

    def __getitem__(self, arg: str, /) -> Encoding: ...

    def __setitem__(self, arg0: str, arg1: Encoding, /) -> None: ...

    def __delitem__(self, arg: str, /) -> None: ...

    def __iter__(self) -> Iterator: ...

    def keys(self) -> list[str]:
        """Tensor names."""

    def items(self) -> list[tuple[str, Encoding]]:
        """Pairs of tensor name and Encoding."""

    def get(self, tensor: str) -> Encoding | None:
        """The tensor's Encoding, or None."""

    @property
    def uses(self) -> dict[tuple[str, int], Encoding]:
        """
        Encodings of single uses, by (node name, input slot), where a consumer needs another one than the tensor's.
        """

    def set_use(self, node: str, slot: int, encoding: Encoding) -> None: ...

    def overridden_by(self, overrides: EncodingTable) -> EncodingTable:
        """
        This table with every entry of `overrides` laid over it.

        Source: QAIRT quantization specification, "Quantization processing".
        """

    def __eq__(self, other: object, /) -> bool: ...

    def __repr__(self) -> str: ...

class EncodingDifference:
    """A tensor on which two encodings files disagree."""

    @property
    def name(self) -> str:
        """Tensor, or node:slot of a single use."""

    @property
    def kind(self) -> str:
        """'only_in_first', 'only_in_second' or 'different'."""

    @property
    def text(self) -> str:
        """What differs: 'scale 0.1 against 0.2'; empty for the other kinds."""

    def __repr__(self) -> str: ...

def lint_encodings(path: str | os.PathLike, model: Model | None, lenient: bool) -> list[Diagnostic]: ...

def diff_encodings(first: str | os.PathLike, second: str | os.PathLike, model: Model | None, lenient: bool, tolerance: float, common: bool) -> list[EncodingDifference]: ...

def merge_encodings(paths: Sequence[str | os.PathLike], version: str, model: Model | None, lenient: bool) -> tuple[str, list[Diagnostic]]: ...

def extract_encodings(model: Model) -> tuple[Model, EncodingTable, list[Diagnostic]]: ...

class EncodingsFile:
    """An encodings file as it was understood."""

    @property
    def version(self) -> str:
        """As it stands in the file; empty if there is none."""

    @property
    def encodings(self) -> EncodingTable:
        """EncodingTable."""

    @property
    def precisions(self) -> dict[str, str]:
        """
        Dtype by tensor name, of entries that only name a type: to be measured.
        """

    @property
    def names(self) -> list[str]:
        """Every entry, in the order of the file."""

    @property
    def diagnostics(self) -> list[Diagnostic]: ...

def load_model(path: str | os.PathLike, *, python: str = '', signature: str = '', inputs: Sequence[str] = [], outputs: Sequence[str] = [], extents: _Mapping[str, Sequence[int]] = {}) -> tuple[Model, list[Diagnostic]]: ...

def model_from_bytes(content: bytes, extents: _Mapping[str, Sequence[int]]) -> tuple[Model, list[Diagnostic]]: ...

def read_encodings(path: str | os.PathLike, model: Model | None, *, lenient: bool) -> EncodingsFile: ...

class TensorInfo:
    """Name, type and shape of a model's input or output."""

    @property
    def name(self) -> str: ...

    @property
    def dtype(self) -> str: ...

    @property
    def shape(self) -> tuple[int, ...]:
        """-1 is any extent."""

    def __repr__(self) -> str: ...

class Session:
    """A model ready to run."""

    @property
    def inputs(self) -> list[TensorInfo]: ...

    @property
    def outputs(self) -> list[TensorInfo]: ...

    def run(self, feeds: object) -> dict[str, Any]:
        """
        The outputs by name for `feeds`, arrays by input name (or one array for one input).

        Errors: InvalidFile if a feed is missing, unknown or of the wrong type or shape; Unsupported with the engine's message.
        """

class Engine:
    """How models are run."""

    @property
    def name(self) -> str:
        """Such as 'ONNX Runtime 1.32.0'."""

    @overload
    def open(self, model: Model, *, threads: int = 1, optimize: bool = True) -> Session:
        """
        A session of `model`; `optimize`: all graph optimizations of the engine, or none.

        Errors: Unsupported with the engine's message.
        """

    @overload
    def open(self, path: str | os.PathLike, *, threads: int = 1, optimize: bool = True) -> Session:
        """The same for a model file."""

def make_onnxruntime_engine(library: str = '') -> Engine:
    """
    ONNX Runtime as the engine. `library` is the path of its shared library; the package halfstep fills in that of the installed onnxruntime.

    Errors: Unsupported with every place looked at.
    """

def write_qdq(model: Model, encodings: EncodingTable, *, threads: int = 1) -> list[Diagnostic]:
    """
    Rewrites the float `model` in place so that every tensor with an integer or float8 encoding passes through QuantizeLinear and DequantizeLinear; constants are stored as integers.

    Returns what was decided. Names the user gave never change; the opset is raised when the types need it.

    Errors: Unsupported naming the tensor if ONNX cannot say an encoding; InvalidArgument if an encoding does not fit its tensor.
    """

def write_encodings(encodings: EncodingTable, model: Model, *, version: str = '2.0.0') -> str:
    """
    The text of the encodings file, entries in the order of the graph of `model`, which is the one without Q/DQ.

    `version`: 2.0.0, 2.1.0, 1.0.0 or 0.6.1.

    Errors: Unsupported naming the tensors that the version cannot express.

    Source: QAIRT quantization specification, appendix C.
    """

class TensorStatistics:
    """What a tensor showed over all samples."""

    @property
    def min(self) -> float: ...

    @property
    def max(self) -> float: ...

    @property
    def values(self) -> int:
        """Number of values seen."""

    @property
    def nan_count(self) -> int:
        """NaN that arose inside the network: left out of min and max."""

    @property
    def infinity_count(self) -> int: ...

    @property
    def mask_count(self) -> int:
        """
        Finite values beyond 1e30, as attention masks hold: left out of min and max.
        """

    @property
    def moved(self) -> float:
        """
        How far the range moved in the last tenth of the samples, as a share of its width; of saved statistics on average over all orders of the samples.
        """

    def __repr__(self) -> str: ...

class CalibrationResult:
    """What calibrate() found."""

    @property
    def statistics(self) -> dict[str, TensorStatistics]:
        """TensorStatistics by tensor name."""

    @property
    def samples(self) -> int:
        """Number of samples that ran."""

    @property
    def diagnostics(self) -> list[Diagnostic]: ...

class Statistics:
    """What `halfstep calibrate` saves."""

    @property
    def samples(self) -> int: ...

    @property
    def method(self) -> str: ...

    @property
    def engine(self) -> str: ...

    @property
    def tensors(self) -> dict[str, TensorStatistics]:
        """
        TensorStatistics by tensor name; min and max are the smallest and largest value.
        """

    def to_bytes(self) -> bytes:
        """The bytes of the file; equal statistics have equal bytes."""

    def save(self, path: str | os.PathLike) -> None:
        """Writes the file; it appears only when it is complete."""

    def __repr__(self) -> str: ...

def read_statistics(path: str | os.PathLike) -> Statistics: ...

def statistics_from_bytes(data: bytes, name: str) -> Statistics: ...

def merge_statistics(parts: Sequence[Statistics], names: Sequence[str]) -> Statistics: ...

def sample_inputs(model: Model) -> list[TensorInfo]:
    """The inputs that a sample must give: graph inputs without a default."""

def calibrate(model: Model, engine: Engine, calibration: object | None, tensors: dict, *, threads: int = 1, cast_inputs: bool = False, progress: object | None = None) -> CalibrationResult: ...

class QuantizeRequest:
    """What quantize() is asked to do."""

    def __init__(self) -> None: ...

    @property
    def output(self) -> pathlib.Path: ...

    @output.setter
    def output(self, arg: str | os.PathLike, /) -> None: ...

    @property
    def encodings_out(self) -> pathlib.Path: ...

    @encodings_out.setter
    def encodings_out(self, arg: str | os.PathLike, /) -> None: ...

    @property
    def encodings(self) -> pathlib.Path: ...

    @encodings.setter
    def encodings(self, arg: str | os.PathLike, /) -> None: ...

    @property
    def recipe(self) -> str: ...

    @recipe.setter
    def recipe(self, arg: str, /) -> None: ...

    @property
    def method(self) -> str: ...

    @method.setter
    def method(self, arg: str, /) -> None: ...

    @property
    def percentile(self) -> float | None: ...

    @percentile.setter
    def percentile(self, arg: float | None, /) -> None: ...

    @property
    def stats(self) -> pathlib.Path: ...

    @stats.setter
    def stats(self, arg: str | os.PathLike, /) -> None: ...

    @property
    def resume(self) -> pathlib.Path: ...

    @resume.setter
    def resume(self, arg: str | os.PathLike, /) -> None: ...

    @property
    def stats_out(self) -> pathlib.Path: ...

    @stats_out.setter
    def stats_out(self, arg: str | os.PathLike, /) -> None: ...

    @property
    def set(self) -> list[str]: ...

    @set.setter
    def set(self, arg: Sequence[str], /) -> None: ...

    @property
    def exclude(self) -> list[str]: ...

    @exclude.setter
    def exclude(self, arg: Sequence[str], /) -> None: ...

    @property
    def target(self) -> str: ...

    @target.setter
    def target(self, arg: str, /) -> None: ...

    @property
    def threads(self) -> int: ...

    @threads.setter
    def threads(self, arg: int, /) -> None: ...

    @property
    def dry_run(self) -> bool: ...

    @dry_run.setter
    def dry_run(self, arg: bool, /) -> None: ...

    @property
    def check(self) -> bool: ...

    @check.setter
    def check(self, arg: bool, /) -> None: ...

    @property
    def strict(self) -> bool: ...

    @strict.setter
    def strict(self, arg: bool, /) -> None: ...

    @property
    def lenient(self) -> bool: ...

    @lenient.setter
    def lenient(self, arg: bool, /) -> None: ...

    @property
    def fallback(self) -> bool: ...

    @fallback.setter
    def fallback(self, arg: bool, /) -> None: ...

    @property
    def skip(self) -> list[str]: ...

    @skip.setter
    def skip(self, arg: Sequence[str], /) -> None: ...

    @property
    def force(self) -> bool: ...

    @force.setter
    def force(self, arg: bool, /) -> None: ...

    @property
    def defer_weights(self) -> bool: ...

    @defer_weights.setter
    def defer_weights(self, arg: bool, /) -> None: ...

    @property
    def check_samples(self) -> int: ...

    @check_samples.setter
    def check_samples(self, arg: int, /) -> None: ...

class QuantizeResult:
    """What quantize() made."""

    @property
    def model(self) -> Model:
        """The quantized Model; of a dry run the float one."""

    @property
    def encodings(self) -> EncodingTable:
        """
        EncodingTable of the model. Those of large weights are measured when it is first asked for.
        """

    @property
    def summary(self) -> dict[str, Any]:
        """
        The closing summary as a dict: sizes in bytes, types by op, what stayed float and why, SQNR in dB, seconds by phase, peak memory in bytes.
        """

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """What was decided or noticed, as Diagnostic objects."""

class TensorsResult:
    """What quantize() made of safetensors files."""

    @property
    def encodings(self) -> EncodingTable:
        """EncodingTable of the weights, if `encodings_out` was given."""

    @property
    def summary(self) -> dict[str, Any]:
        """The closing summary as a dict."""

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """What was decided or noticed, as Diagnostic objects."""

def is_safetensors(path: str | os.PathLike) -> bool: ...

def quantize_tensors(path: str | os.PathLike, request: QuantizeRequest, *, progress: object | None = None) -> TensorsResult: ...

class ConvertRequest:
    """What convert() is asked to do."""

    def __init__(self) -> None: ...

    @property
    def quantization_overrides(self) -> pathlib.Path: ...

    @quantization_overrides.setter
    def quantization_overrides(self, arg: str | os.PathLike, /) -> None: ...

    @property
    def target(self) -> str: ...

    @target.setter
    def target(self, arg: str, /) -> None: ...

    @property
    def target_backend(self) -> str: ...

    @target_backend.setter
    def target_backend(self, arg: str, /) -> None: ...

    @property
    def htp_arch(self) -> str: ...

    @htp_arch.setter
    def htp_arch(self, arg: str, /) -> None: ...

    @property
    def output(self) -> pathlib.Path: ...

    @output.setter
    def output(self, arg: str | os.PathLike, /) -> None: ...

    @property
    def encodings_out(self) -> pathlib.Path: ...

    @encodings_out.setter
    def encodings_out(self, arg: str | os.PathLike, /) -> None: ...

    @property
    def fallback(self) -> bool: ...

    @fallback.setter
    def fallback(self, arg: bool, /) -> None: ...

    @property
    def skip(self) -> list[str]: ...

    @skip.setter
    def skip(self, arg: Sequence[str], /) -> None: ...

    @property
    def threads(self) -> int: ...

    @threads.setter
    def threads(self, arg: int, /) -> None: ...

    @property
    def dry_run(self) -> bool: ...

    @dry_run.setter
    def dry_run(self, arg: bool, /) -> None: ...

    @property
    def strict(self) -> bool: ...

    @strict.setter
    def strict(self, arg: bool, /) -> None: ...

    @property
    def lenient(self) -> bool: ...

    @lenient.setter
    def lenient(self, arg: bool, /) -> None: ...

    @property
    def force(self) -> bool: ...

    @force.setter
    def force(self, arg: bool, /) -> None: ...

def convert(model: Model, library: str, request: ConvertRequest, loading: Sequence[Diagnostic], *, progress: object | None = None) -> QuantizeResult: ...

def inspect(model: Model) -> dict[str, Any]: ...

def explain(model: Model, name: str) -> dict[str, Any]: ...

def rule(id: str) -> str: ...

def targets() -> dict[str, Any]: ...

def target(name: str) -> dict[str, Any]: ...

def quantize(model: Model, engine: Engine | None, calibration: object | None, request: QuantizeRequest, loading: Sequence[Diagnostic], *, cast_inputs: bool = False, progress: object | None = None) -> QuantizeResult: ...

class VerifyRequest:
    """What verify() is asked to do."""

    def __init__(self) -> None: ...

    @property
    def backend(self) -> str: ...

    @backend.setter
    def backend(self, arg: str, /) -> None: ...

    @property
    def arch(self) -> str: ...

    @arch.setter
    def arch(self, arg: str, /) -> None: ...

    @property
    def dlc(self) -> pathlib.Path: ...

    @dlc.setter
    def dlc(self, arg: str | os.PathLike, /) -> None: ...

    @property
    def dumps(self) -> pathlib.Path: ...

    @dumps.setter
    def dumps(self, arg: str | os.PathLike, /) -> None: ...

    @property
    def tensors(self) -> str: ...

    @tensors.setter
    def tensors(self, arg: str, /) -> None: ...

    @property
    def samples(self) -> int: ...

    @samples.setter
    def samples(self, arg: int, /) -> None: ...

    @property
    def arithmetic(self) -> str: ...

    @arithmetic.setter
    def arithmetic(self, arg: str, /) -> None: ...

    @property
    def qnn_libraries(self) -> str: ...

    @qnn_libraries.setter
    def qnn_libraries(self, arg: str, /) -> None: ...

    @property
    def fail_on(self) -> str: ...

    @fail_on.setter
    def fail_on(self, arg: str, /) -> None: ...

    @property
    def threads(self) -> int: ...

    @threads.setter
    def threads(self, arg: int, /) -> None: ...

def verify(simulation: Model, float_model: Model | None, data: object | None, library: str, request: VerifyRequest, *, cast_inputs: bool = False, progress: object | None = None) -> dict[str, Any]: ...
