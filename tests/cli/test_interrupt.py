"""Ctrl-C in the middle: exit 130, nothing half-written."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import onnx
import pytest


@pytest.fixture
def long_job(job):
    """Samples for a long time: very many in one file, which are read one by one."""
    x = np.zeros((200_000, 3, 16, 16), np.float16)  # 300 MB of zeros, some kB when compressed
    for file in job.samples.iterdir():
        file.unlink()
    job.samples.rmdir()
    job.samples = job.folder / "samples.npz"
    np.savez_compressed(job.samples, x=x)
    return job


def temporary_files(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir() if "halfstep" in p.name}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_first_signal_stops_at_the_next_step(halfstep, long_job, number, tmp_path):
    places = tmp_path / "tmp"
    places.mkdir()
    arguments = long_job.arguments("--cast-inputs", "--encodings-out", long_job.folder / "e.json")
    environment = halfstep.environment | {"TMPDIR": str(places)}
    command = type(halfstep)(halfstep.path, environment)
    with command.start(*arguments, stdout=-1, stderr=-1) as process:
        time.sleep(1)
        assert process.poll() is None, process.stderr.read()
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert out == ""
    assert "interrupted; nothing was written" in err
    assert list(places.iterdir()) == []
    assert long_job.left_behind() == ["tmp"]


def test_second_signal_leaves_at_once(halfstep, long_job):
    job = long_job
    with halfstep.start(*job.arguments("--cast-inputs"), stdout=-1, stderr=-1) as process:
        time.sleep(1)
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            time.sleep(0.1)
        process.communicate(timeout=20)
    assert process.returncode == 130
    assert job.left_behind() == []


def test_log_progress(halfstep, long_job):
    """Without a terminal: a line now and then."""
    begin = time.monotonic()
    with halfstep.start(*long_job.arguments("--cast-inputs"), stdout=-1, stderr=-1) as process:
        pause(process)
        lines = [line for line in iter(process.stderr.readline, "") if stop_at(line, process)]
    shown = [line for line in lines if line.startswith("calibrate")]
    assert len(shown) <= 1 + (time.monotonic() - begin) / 5, lines
    assert "/200000" in shown[0]
    assert " left" in shown[0]
    assert "\r" not in "".join(lines)


def pause(process) -> None:
    """Holds the command until a line is due, so that a fast machine can't be done before it."""
    time.sleep(0.5)
    process.send_signal(signal.SIGSTOP)
    time.sleep(6)
    process.send_signal(signal.SIGCONT)


def stop_at(line: str, process) -> bool:
    """Interrupts the command when it reports its main phase; always true."""
    if line.startswith("calibrate") and process.poll() is None:
        process.send_signal(signal.SIGTERM)
    return True


@pytest.mark.parametrize("options", [["--no-progress"], ["-q"]])
def test_no_progress(halfstep, long_job, options):
    arguments = long_job.arguments("--cast-inputs", *options)
    with halfstep.start(*arguments, stdout=-1, stderr=-1) as process:
        time.sleep(5.5)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=20)
    assert "calibrate" not in err


def test_bar_on_a_terminal(halfstep, long_job):
    master, slave = os.openpty()
    with halfstep.start(*long_job.arguments("--cast-inputs"), stdout=-1, stderr=slave) as process:
        os.close(slave)
        text = b""
        interrupted = False
        try:
            while piece := os.read(master, 65536):
                text += piece
                if not interrupted and b"calibrate  [" in text:
                    process.send_signal(signal.SIGINT)
                    interrupted = True
        except OSError:
            pass  # the other end is closed
        process.communicate(timeout=20)
    os.close(master)
    assert b"\r\x1b[Kcalibrate  [" in text
    assert b"/200000" in text
    assert b"\x1b[1;31merror:" in text


def test_success_after_the_model_changed_nothing_else(halfstep, job):
    before = {p: p.read_bytes() for p in [job.model, *job.samples.iterdir()]}
    halfstep(*job.arguments())
    assert {p: p.read_bytes() for p in before} == before
    onnx.load(job.output)
