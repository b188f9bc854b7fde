"""The parts of the demo and the benchmarks that decide what their figures mean."""

import subprocess
import sys
import zipfile
from pathlib import Path

import demo
import numpy as np
import onnx
import processes
import pytest
import quantize_static_peer
import static_peer
import whole_job
from demo_parts import packages
from demo_parts.command import DemoError, find_command
from demo_parts.digits import MODELS, Digits
from demo_parts.ocr import line_found, overlap, read_labels
from demo_parts.pictures import Box, as_input, page, resized, text_lines
from demo_parts.running import answers, open_session
from demo_parts.table import aligned
from demo_parts.tasks import write_samples

ROOT = Path(__file__).resolve().parents[2]


def test_labels_are_read_with_repeats_once_and_gaps_left_out() -> None:
    characters = ["", "a", "b", " "]
    assert read_labels([1, 1, 0, 1, 2, 2, 3, 0, 2], characters) == "aab b"
    assert read_labels([0, 0], characters) == ""


def test_a_line_is_found_when_half_of_its_columns_have_text() -> None:
    mask = np.zeros((10, 20), bool)
    box = Box(left=4, top=2, right=14, bottom=6)
    mask[3, 4:8] = True
    assert not line_found(mask, box)
    mask[5, 8] = True
    assert line_found(mask, box)


def test_overlap_is_intersection_over_union() -> None:
    one, other = np.zeros((2, 4), bool), np.zeros((2, 4), bool)
    assert overlap(one, other) == 1.0
    one[0, :3] = True
    other[0, 1:] = True
    assert overlap(one, other) == 0.5
    assert overlap(one, ~one) == 0.0


def test_text_lines_are_repeatable_and_of_the_wanted_length() -> None:
    lines = text_lines(50, seed=3, shortest=6, longest=12)
    assert lines == text_lines(50, seed=3, shortest=6, longest=12)
    assert lines != text_lines(50, seed=4, shortest=6, longest=12)
    assert all(6 <= len(line) <= 12 and line == line.strip() for line in lines)
    assert any(character.isdigit() for line in lines for character in line)


def test_an_input_is_normalized_with_blue_first() -> None:
    picture = np.zeros((1, 2, 3), np.uint8)
    picture[..., 2] = 255
    x = as_input(picture, mean=(0.5, 0.5, 0.0), std=(0.5, 0.25, 1.0))
    assert x.shape == (1, 3, 1, 2)
    assert x.dtype == np.float32
    np.testing.assert_array_equal(x[0, :, 0, 0], [1.0, -2.0, 0.0])


def test_resizing_keeps_a_plain_picture_plain() -> None:
    picture = np.full((4, 6, 3), 77, np.uint8)
    np.testing.assert_array_equal(resized(picture, 5, 9), np.full((9, 5, 3), 77, np.uint8))


def test_a_page_has_its_lines_where_the_boxes_say(fonts: list[Path]) -> None:
    background = np.full((300, 300, 3), 9, np.uint8)
    picture, boxes = page(300, background, fonts, seed=1)
    assert boxes
    assert picture.shape == (300, 300, 3)
    covered = np.zeros((300, 300), bool)
    for box in boxes:
        assert 0 <= box.left < box.right <= 300
        assert 0 <= box.top < box.bottom <= 300
        covered[box.top : box.bottom, box.left : box.right] = True
        assert (picture[box.top : box.bottom, box.left : box.right] != 9).any()
    assert (picture[~covered] == 9).all()


@pytest.fixture
def fonts() -> list[Path]:
    found = sorted(Path("/usr/share/fonts").rglob("DejaVu*.ttf"))
    found += sorted(packages.default_cache().rglob("*.ttf"))
    if not found:
        pytest.skip("no TrueType font on this machine")
    return found


@pytest.mark.parametrize("name", MODELS)
def test_the_float_digits_models_read_the_digits(name: str) -> None:
    task = Digits(name)
    said = answers(task, open_session(task.model, optimize=True))
    scores = task.score(said.values, said.values)
    assert scores.accuracy > 0.93 - 0.001
    assert scores.agreement == 1.0
    assert said.milliseconds > 0
    assert len(task.calibration()) == 200


def test_digits_score_counts_truth_and_agreement_apart() -> None:
    task = Digits("digits_cnn")
    with np.load(ROOT / "examples" / "digits" / "test.npz") as test:
        labels = [int(label) for label in test["y"]]
    wrong = [(label + 1) % 10 for label in labels]
    assert task.score(labels, wrong).accuracy == 1.0
    assert task.score(labels, wrong).agreement == 0.0
    assert task.score(wrong, wrong).accuracy == 0.0


def test_samples_are_written_one_a_file_and_old_ones_go(tmp_path: Path) -> None:
    folder = tmp_path / "samples"
    write_samples([{"x": np.full((1, 2), i, np.float32)} for i in range(3)], folder)
    write_samples([{"x": np.full((1, 2), 7, np.float32)}], folder)
    assert [path.name for path in folder.iterdir()] == ["0000.npz"]
    with np.load(folder / "0000.npz") as sample:
        np.testing.assert_array_equal(sample["x"], np.full((1, 2), 7, np.float32))


def test_a_table_has_the_first_column_left_and_the_others_right() -> None:
    assert aligned([("name", "n"), ("a", "10"), ("long name", "5")]) == (
        "name        n\n---------  --\na          10\nlong name   5"
    )


def test_a_missing_command_is_an_error_that_says_how_to_install_it(tmp_path: Path) -> None:
    with pytest.raises(DemoError, match="pip install"):
        find_command(tmp_path / "halfstep")


def test_packages_are_unpacked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def run(command: list[str], cwd: Path, **_: object) -> subprocess.CompletedProcess[str]:
        calls.append(command[-1])
        if "pip" in command:
            with zipfile.ZipFile(cwd / "some.whl", "w") as wheel:
                wheel.writestr("skimage/data/page.png", "p")
        elif command[0] == "apt-get":
            (cwd / "some.deb").touch()
        else:
            (Path(command[-1]) / "A.ttf").touch()
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(packages.subprocess, "run", run)
    fetched = packages.fetch(tmp_path)
    assert (fetched.pictures / "page.png").read_text() == "p"
    assert [font.name for font in fetched.fonts] == ["A.ttf", "A.ttf"]
    first = len(calls)
    assert packages.fetch(tmp_path) == fetched
    assert len(calls) == first
    assert not list(tmp_path.glob("*.part-*"))


def test_a_package_that_cannot_be_had_is_named_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", "noise\nno such host\n")

    monkeypatch.setattr(packages.subprocess, "run", run)
    with pytest.raises(packages.FetchError, match=r"rapidocr-onnxruntime==.*no such host"):
        packages.fetch(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("options", "fails"), [([], False), (["--ocr"], True)])
def test_without_the_packages_only_a_demo_that_was_asked_for_text_fails(
    options: list[str],
    fails: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def refuse(cache: Path) -> packages.Packages:
        raise packages.FetchError(f"x: nothing in {cache.name}")

    monkeypatch.setattr(packages, "fetch", refuse)
    row = demo.Row("digits_cnn", 0.99, 0.98, 0.97, 0.995, 97231, 33000, 0.5, 0.25)
    assert demo.run(demo.parse(options), lambda task: row) is fails
    out, err = capsys.readouterr()
    cells = " ".join(out.splitlines()[2].split())
    assert cells == "digits_cnn 99.0 % 98.0 % 97.0 % 99.5 % 97 kB 33 kB 0.50 ms 0.25 ms"
    assert "x: nothing in demo" in err


def test_a_measured_process_has_its_own_cost(tmp_path: Path) -> None:
    code = "x = b'x' * 300_000_000\nfor _ in range(3_000_000): pass"
    cost = processes.measure([sys.executable, "-c", code])
    assert cost.peak_bytes > 300_000_000
    assert 0.01 < cost.cpu_seconds < 30
    assert cost.wall_seconds > 0


def test_a_measured_process_that_fails_is_an_error_with_its_message() -> None:
    with pytest.raises(processes.RunError, match=r"exit code 3\nbad input"):
        processes.measure(
            [sys.executable, "-c", "import sys; print('bad input', file=sys.stderr); sys.exit(3)"]
        )


def net_result(**changes: float | bool) -> whole_job.NetResult:
    values = {"plain_cpu": 1.0, "job_cpu": 2.0, "static_cpu": 6.0, "same_bytes": True}
    values |= {"job_peak": 199e6, "job_peak_few": 199e6, "static_peak": 300e6}
    return whole_job.NetResult(net="mobilenet_v2", **(values | changes))


def test_bars_are_met_at_their_edge() -> None:
    assert all(net_result().checks().values())


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({"plain_cpu": 0.99}, "CPU <= 2 x plain"),
        ({"static_cpu": 5.99}, "quantize_static takes >= 3 x the CPU"),
        ({"job_peak": 200e6}, "peak < 200 MB"),
        ({"job_peak_few": 180e6}, "peak does not grow with the samples"),
        ({"same_bytes": False}, "same bytes twice, with 1 and 2 threads"),
    ],
)
def test_a_missed_bar_is_shown(changes: dict[str, float], missed: str) -> None:
    result = net_result(**changes)
    assert [text for text, met in result.checks().items() if not met] == [missed]
    fixed = [
        whole_job.FixedCost("command", 0.2, 0.06, 0.1),
        whole_job.FixedCost("help", 0.01, 0.01, 0.05),
    ]
    text = whole_job.report([result], fixed)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert f"mobilenet_v2: {missed} NO" in lines
    assert "command < 100 ms 200.0 ms (60.0 ms CPU) NO" in lines
    assert "help < 50 ms 10.0 ms (10.0 ms CPU) yes" in lines


def test_op_types_count_as_quantized_when_most_of_their_nodes_are() -> None:
    rows = [
        ("Add", "float32", 5),
        ("Add", "in group", 4),
        ("Conv", "uint8", 3),
        ("Mul", "uint8", 1),
    ]
    rows += [("Relu", "in group", 2), ("Mul", "float32", 1), ("Conv", "float32", 2)]
    types = [{"op_type": o, "activation": a, "nodes": n} for o, a, n in rows]
    assert quantize_static_peer.quantized_op_types(types) == ["Conv", "Relu"]


def test_the_peer_quantizes_what_it_is_told(tmp_path: Path) -> None:
    task = Digits("digits_cnn_bn")
    samples = write_samples(task.calibration()[:4], tmp_path / "samples")
    prepared = static_peer.prepare(task.model, tmp_path)
    static_peer.quantize_static(prepared, samples, tmp_path / "out.onnx", ["Conv"])
    graph = onnx.load(tmp_path / "out.onnx").graph
    dequantized = {n.output[0] for n in graph.node if n.op_type == "DequantizeLinear"}
    fed = {n.op_type for n in graph.node if set(n.input) <= dequantized}
    assert "Conv" in fed
    assert "Gemm" not in fed
