"""Without the extra, a PyTorch model is an error that says how to get it."""

import pytest

import halfstep


def test_without_the_extra(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(halfstep.Unsupported, match=r"need torch.*pip install 'halfstep\[torch\]'"):
        halfstep.from_torch(object())
