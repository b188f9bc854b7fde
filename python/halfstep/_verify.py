"""A model on its target, beside its simulation."""

from typing import Any

from halfstep import _core
from halfstep._checks import (
    check_callable,
    check_flag,
    check_integer,
    check_optional_path,
    check_text,
)
from halfstep._engine import find_onnxruntime
from halfstep._errors import InvalidArgument
from halfstep._quantize import MOST_THREADS, ModelLike, Path, ProgressCallback, load
from halfstep._samples import Calibration, as_samples

MOST_SAMPLES = 1_000_000


def verify(
    model: ModelLike,
    data: Calibration,
    float_model: ModelLike | None = None,
    *,
    on: str = "htp",
    arch: str | None = None,
    simulation: ModelLike | None = None,
    arithmetic: str = "target",
    dumps: Path | None = None,
    tensors: str = "outputs",
    samples: int | None = None,
    fail_on: str | None = None,
    qnn_libs: Path | None = None,
    cast_inputs: bool = False,
    threads: int = 1,
    progress: ProgressCallback | None = None,
) -> dict[str, Any]:
    """Run a model on its target's emulator and compare, tensor by tensor.

    Compares what the target computes (on the emulator of Qualcomm's libraries, or what a device
    wrote down) with the simulation (the Q/DQ model in ONNX Runtime without its optimizations, with
    the integer arithmetic of the target where it is known) and with the float model. The command is
    `halfstep verify`.

    Parameters
    ----------
    model : path, bytes, onnx.ModelProto or Model
        A Q/DQ model that halfstep wrote; or the path of a DLC, together with `simulation`.
    data : path, iterable of samples or arrays
        As `calibration` of quantize().
    float_model : path, bytes, onnx.ModelProto or Model, optional
        The model before it was quantized.
    on : str
        "htp", the only target with an emulator.
    arch : str, optional
        "v68" to "v81"; None: that of the DLC, else v75.
    simulation : path, bytes, onnx.ModelProto or Model, optional
        The Q/DQ model of the same conversion; for a DLC only.
    arithmetic : str
        Of the simulation: "target", or "qdq" for Q/DQ as ONNX defines it.
    dumps : path, optional
        A folder with Result_0, Result_1, ... of NAME.raw or NAME.npy files, in place of the
        emulator.
    tensors : str
        "outputs"; "all" that operators write, but for those inside super groups; or a pattern on
        names.
    samples : int, optional
        Only the first so many; None: all.
    fail_on : str, optional
        A bound such as "30dB" or "2steps"; "failed" says whether a tensor is beyond it.
    qnn_libs : path, optional
        Folder of Qualcomm's libraries or root of an SDK. None: QAIRT_SDK_ROOT, then the package
        onnxruntime-qnn.
    cast_inputs : bool
        Allow conversion of samples to the type of the input.
    threads : int
        Of the simulation, 1 to 1024; the result does not depend on it.
    progress : callable, optional
        Called with phase, steps done, steps expected. What it raises stops the work.

    Returns
    -------
    dict
        "target", "source" ("emulator" or "dumps"), "engine", "arithmetic", "followed" (operators
        that follow the arithmetic of the target), "samples", "bound", "failed", "first_departure"
        (None, or "tensor", "op", "op_type", "type", "cause"), "diagnostics" and "tensors": a list
        in the order of the target's operators, each with "tensor", "op", "op_type", "type",
        "step", "super_group", "output", "values", "target_simulation_db", "target_float_db",
        "simulation_float_db" (None without values, "inf" where nothing differs), "margin_db",
        "max_steps", "equal" (0 to 1) and "departs".

    Raises
    ------
    InvalidArgument
        An unknown target, arch, pattern or bound; a DLC without simulation, or the reverse.
    InvalidFile
        The models, samples or dumps (with file, what was found, what was expected).
    Unsupported
        The libraries are missing (with the line that installs them), or refuse the model.
    """
    request = _core.VerifyRequest()
    request.backend = check_text("on", on)
    request.arch = "" if arch is None else check_text("arch", arch)
    request.dumps = check_optional_path("dumps", dumps)
    request.tensors = check_text("tensors", tensors)
    request.arithmetic = check_text("arithmetic", arithmetic)
    if samples is not None:
        request.samples = check_integer("samples", samples, 1, MOST_SAMPLES)
    if fail_on is not None:
        request.fail_on = check_text("fail_on", fail_on)
    request.qnn_libraries = check_optional_path("qnn_libs", qnn_libs)
    request.threads = check_integer("threads", threads, 1, MOST_THREADS)
    cast_inputs = check_flag("cast_inputs", cast_inputs)
    check_callable("progress", progress)
    path = str(model) if not isinstance(model, bytes) and hasattr(model, "__fspath__") else model
    if isinstance(path, str) and path.endswith(".dlc"):
        if simulation is None:
            raise InvalidArgument(
                f"{path}: a DLC can't be simulated by itself; give simulation=, the Q/DQ model of "
                "the same conversion"
            )
        request.dlc = path
        loaded = load(simulation)
    else:
        if simulation is not None:
            raise InvalidArgument("simulation is for a DLC; a Q/DQ model is its own simulation")
        loaded = load(model)
    return _core.verify(
        loaded,
        None if float_model is None else load(float_model),
        as_samples(data, _core.sample_inputs(loaded)),
        find_onnxruntime(),
        request,
        cast_inputs=cast_inputs,
        progress=progress,
    )
