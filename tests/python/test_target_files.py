"""Target files: the JSON Schema, and what the reader says about wrong ones."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import halfstep

DATA = Path(__file__).parents[2] / "data"
FILES = sorted((DATA / "targets").glob("*.json"))

# Objects whose keys are names of the file's own.
OWN_NAMES = {"types", "kernels", "max_rank", "attributes"}


@pytest.fixture(scope="module")
def validator():
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((DATA / "schemas/target.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_shipped_files_fit_the_schema(validator, path):
    validator.validate(json.loads(path.read_text()))


def whole(path: Path) -> dict:
    """A file with what it extends, under a name of its own."""
    document = json.loads(path.read_text())
    base = document.pop("extends", None)
    if base is not None:
        document = json.loads((path.parent / f"{base}.json").read_text()) | document
    document.pop("abstract", None)
    return document


def places(value: object, path: tuple = ()) -> Iterator[tuple]:
    """The first place of every kind of value in a document."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list) and value:
        yield from places(value[0], (*path, 0))


def kinds(document: dict) -> list[tuple]:
    """Places in a document that differ in more than names of the file's own."""
    known = {}
    for path in places(document):
        general = tuple(
            "*" if i > 0 and path[i - 1] in OWN_NAMES else part for i, part in enumerate(path)
        )
        known.setdefault(general, path)
    return [path for path in known.values() if path]


def changed(document: dict, path: tuple, change) -> dict:
    copy = json.loads(json.dumps(document))
    parent = copy
    for part in path[:-1]:
        parent = parent[part]
    change(parent, path[-1])
    return copy


def load(tmp_path: Path, document: dict) -> dict:
    file = tmp_path / "target.json"
    file.write_text(json.dumps(document))
    return halfstep.targets(file)


WHOLE = [DATA / "targets" / name for name in ("htp_v75.json", "lpai.json", "cpu.json")]


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.stem)
def test_unknown_keys_are_errors(validator, tmp_path, path):
    document = whole(path)
    load(tmp_path, document)

    def misspell(parent, key):
        parent[key + "x"] = parent.pop(key)

    for place in kinds(document):
        if isinstance(place[-1], int) or (len(place) > 1 and place[-2] in OWN_NAMES):
            continue
        wrong = changed(document, place, misspell)
        assert not validator.is_valid(wrong), place
        with pytest.raises(halfstep.InvalidArgument, match="target") as caught:
            load(tmp_path, wrong)
        assert "did you mean" in str(caught.value) or "expected" in str(caught.value), place


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.stem)
@pytest.mark.parametrize("value", [None, 5.5, "no such word", [], {"a": 1}], ids=repr)
def test_wrong_values_are_errors_of_the_file(validator, tmp_path, path, value):
    """Whatever stands anywhere: the file is wrong, or it is right, but nothing breaks."""
    document = whole(path)

    def replace(parent, key):
        parent[key] = value

    for place in kinds(document):
        wrong = changed(document, place, replace)
        try:
            load(tmp_path, wrong)
        except halfstep.InvalidArgument as error:
            assert "target" in str(error), place
        else:
            assert validator.is_valid(wrong), (place, value)


def test_a_target_in_one_file(tmp_path, conv_path):
    """docs/targets.md: what is not said is taken over; files extend files beside them."""
    chip = {"schema": 1, "name": "chip", "extends": "htp_v75", "summary": "s", "super_groups": []}
    (tmp_path / "chip.json").write_text(json.dumps(chip))
    board = {"schema": 1, "name": "board", "extends": "chip.json", "default_float": "float32"}
    (tmp_path / "board.json").write_text(json.dumps(board))
    assert halfstep.targets(tmp_path / "chip.json")["super_groups"] == []
    target = halfstep.targets(tmp_path / "board.json")
    assert target["summary"] == "s" and target["default_float"] == "float32"
    result = halfstep.convert(conv_path, target=tmp_path / "chip.json")
    assert result.summary["adapted"]["super_groups"] == 0
    assert not any(d.rule == "adapt/super-group" for d in result.diagnostics)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"extends": "htp_v57"}, 'did you mean "htp_v'),
        ({"extends": "mine.json"}, "circle"),
        ({"extends": "htp", "schema": 2}, "schema 1"),
        ({"name": "x"}, "summary"),
        ({"extends": "htp_v75", "super_group": []}, 'did you mean "super_groups"'),
        ({"extends": "htp_v75", "quantized_ops": []}, "not both"),
    ],
)
def test_messages(tmp_path, document, message):
    (tmp_path / "mine.json").write_text(json.dumps({"schema": 1} | document))
    with pytest.raises(halfstep.InvalidArgument, match=message):
        halfstep.targets(tmp_path / "mine.json")
