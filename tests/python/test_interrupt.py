"""Ctrl-C in the middle of the work: it stops soon, and nothing is left behind."""

import signal
import subprocess
import sys
import textwrap

import pytest

PROGRAM = textwrap.dedent("""
    import sys, numpy, halfstep

    def endless():
        sample = numpy.zeros((1, 3, 8, 8), numpy.float32)
        while True:
            yield {"image": sample}

    started = False

    def progress(phase, done, total):
        global started
        if done > 10 and not started:
            started = True
            print("working", flush=True)

    try:
        halfstep.quantize(sys.argv[1], endless(), output=sys.argv[2], progress=progress)
    except KeyboardInterrupt:
        sys.exit(130)
    """)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_control_c(conv_path, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    command = [sys.executable, "-c", PROGRAM, str(conv_path), str(folder / "out.onnx")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "working\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 130, errors
    assert not list(folder.iterdir())
