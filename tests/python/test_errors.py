import pickle

import pytest

import halfstep


@pytest.mark.parametrize(
    ("error", "builtin", "kind"),
    [
        (halfstep.InvalidArgument, ValueError, "invalid_argument"),
        (halfstep.NothingToDo, RuntimeError, "nothing_to_do"),
        (halfstep.InvalidFile, ValueError, "invalid_file"),
        (halfstep.InvalidFile, OSError, "invalid_file"),
        (halfstep.IoError, OSError, "io"),
        (halfstep.Unsupported, RuntimeError, "unsupported"),
        (halfstep.InternalError, RuntimeError, "internal"),
    ],
)
def test_errors_are_the_builtins_one_expects(error, builtin, kind):
    assert issubclass(error, halfstep.Error)
    assert issubclass(error, builtin)
    assert error.kind == kind


def test_interrupted_is_no_ordinary_exception():
    assert issubclass(halfstep.Interrupted, KeyboardInterrupt)
    assert not issubclass(halfstep.Interrupted, Exception)


def test_native_errors_carry_kind_and_context(tmp_path):
    path = tmp_path / "missing.onnx"
    with pytest.raises(halfstep.InvalidFile, match=r"missing\.onnx") as caught:
        halfstep.load(path)
    assert caught.value.kind == "invalid_file"
    assert isinstance(caught.value.context, tuple)
    assert str(caught.value) == ": ".join(caught.value.context)


def test_errors_survive_pickling():
    error = halfstep.InvalidFile("a.onnx: broken", ("a.onnx", "broken"))
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is halfstep.InvalidFile
    assert str(copy) == "a.onnx: broken"
    assert copy.context == ("a.onnx", "broken")
