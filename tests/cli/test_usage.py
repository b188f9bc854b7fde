"""Wrong usage: exit 2, what is wrong, and what would be right."""

import json

import pytest


def test_help_and_version(halfstep):
    assert halfstep("--version").out.startswith("halfstep ")
    for arguments in (["--help"], ["-h"], ["quantize", "--help"], ["inspect", "-h"]):
        result = halfstep(*arguments)
        assert "usage: halfstep" in result.out
        assert result.err == ""


@pytest.mark.parametrize(
    ("arguments", "error", "help_line"),
    [
        ([], "no command given", "halfstep --help"),
        (["quantise", "m"], "unknown command 'quantise'", "'quantize'"),
        (["quantize"], "no model given", "usage: halfstep quantize MODEL"),
        (["quantize", "m", "--recipie", "w8"], "unknown option '--recipie'", "'--recipe'"),
        (["quantize", "m", "x"], "unexpected argument 'x'", "--help"),
        (["quantize", "m", "--threads", "0", "-o", "q"], "--threads", "--help"),
        (["quantize", "m", "--threads", "many", "-o", "q"], "--threads", "--help"),
        (["quantize", "m", "-o"], "-o", "--help"),
        (["quantize", "m", "--lenient", "-o", "q"], "--lenient", "--encodings"),
        (["encodings", "lnit", "f"], "unknown action 'lnit'", "'lint'"),
        (["encodings", "diff", "f"], "takes two files", "--help"),
        (["compare", "m"], "'compare' is not available yet", "--help"),
        (["rule", "no/such-rule"], "unknown rule", "lists"),
        (["rule", "recipe/block-falback"], "unknown rule", "'recipe/block-fallback'"),
        (["recipes", "a8w9"], "unknown recipe 'a8w9'", "'a8w"),
    ],
)
def test_refusals(halfstep, arguments, error, help_line):
    result = halfstep(*arguments, code=2)
    first, second = result.err.splitlines()
    assert first.startswith("error: ") and error in first
    assert second.startswith("help: ") and help_line in second
    assert result.out == ""


def test_unknown_target(halfstep):
    assert "cpu" in halfstep("targets", "cpuu", code=2).err


def test_colors_only_on_a_terminal(halfstep):
    assert "\033" not in halfstep("quantise", code=2).err


@pytest.mark.parametrize("command", ["rule", "targets", "recipes"])
def test_lists(halfstep, command):
    text = halfstep(command).out
    document = halfstep(command, "--json").json
    assert document["schema"] == 1
    assert document["command"] == command
    entries = document[command if command != "rule" else "rules"]
    names = [entry.get("id") or entry["name"] for entry in entries]
    assert names == sorted(names)
    for name in names:
        assert name in text
        assert halfstep(command, name).out
        assert halfstep(command, name, "--json").json["command"] == command


def test_recipe_is_printed_as_a_file_to_start_from(halfstep, job):
    text = halfstep("recipes", "a8w8").out
    own = job.folder / "own.json"
    own.write_text(text)
    halfstep(*job.arguments("--recipe", own, "--dry-run"))
    assert json.loads(text)["bias"] == "int32"


def test_broken_output(halfstep):
    with open("/dev/full", "w") as full:
        result = halfstep("--help", code=4, stdout=full)
    assert "cannot write to standard output" in result.err


def test_reader_that_left_is_no_error(halfstep):
    with halfstep.start("--help", stdout=-1, stderr=-1) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0
