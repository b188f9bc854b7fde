"""Runs adapted models on the HTP emulator through ONNX Runtime's QNN provider.

usage: qnn_provider_runner.py SOC CASES.json     prints one JSON line per case

A process of its own: the libraries keep one architecture per process, and print as they like. A
case is {"name", "written", "model", "data"}; the answer holds "error", or for each output the SQNR
in dB of the emulator against the written model on the CPU ("cpu") and of both against the float
model ("float", "cpu_float"). No node may fall back to the CPU.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort
import onnxruntime_qnn


def sqnr(value: np.ndarray, reference: np.ndarray) -> float:
    """10 log10(power of the reference / power of the difference), at most 300 dB."""
    noise = np.square(value.astype(np.float64) - reference).sum()
    return float(
        10 * np.log10(max(np.square(reference.astype(np.float64)).sum(), 1e-30) / max(noise, 1e-30))
    )


def cpu_session(path: str) -> ort.InferenceSession:
    """What the file says, without the engine's optimizations."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def emulator_session(path: str, device: list, soc: str) -> ort.InferenceSession:
    """On the emulator, whole."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    backend = str(Path(onnxruntime_qnn.LIB_DIR_FULL_PATH) / "libQnnHtp.so")
    options.add_provider_for_devices(device, {"backend_path": backend, "soc_model": soc})
    return ort.InferenceSession(path, options)


def run(case: dict[str, str], device: list, soc: str) -> dict[str, object]:
    """The answer for one case."""
    answer: dict[str, object] = {"name": case["name"]}
    try:
        reference = cpu_session(case["model"])
        names = [output.name for output in reference.get_outputs()]
        with np.load(case["data"]) as data:
            feed = {i.name: data[i.name] for i in reference.get_inputs()}
        on_float = reference.run(names, feed)
        on_cpu = cpu_session(case["written"]).run(names, feed)
        on_htp = emulator_session(case["written"], device, soc).run(names, feed)
        answer["cpu"] = [sqnr(a, b) for a, b in zip(on_htp, on_cpu, strict=True)]
        answer["float"] = [sqnr(a, b) for a, b in zip(on_htp, on_float, strict=True)]
        answer["cpu_float"] = [sqnr(a, b) for a, b in zip(on_cpu, on_float, strict=True)]
    except Exception as problem:
        answer["error"] = str(problem)
    return answer


def main() -> None:
    """See the top of this file."""
    soc, cases = sys.argv[1], json.loads(Path(sys.argv[2]).read_text())
    ort.set_default_logger_severity(4)
    library = onnxruntime_qnn.get_library_path()
    ort.register_execution_provider_library("QNNExecutionProvider", library)
    device = [d for d in ort.get_ep_devices() if "QNN" in d.ep_name][:1]
    for case in cases:
        print("\n" + json.dumps(run(case, device, soc)), flush=True)


if __name__ == "__main__":
    main()
