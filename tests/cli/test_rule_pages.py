"""Every rule that a message can carry has a page, and every page belongs to a rule."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted((ROOT / "docs/rules").glob("*.md"))
RULE = re.compile(r'"([a-z]+/[a-z][a-z0-9]*(?:-[a-z0-9]+)*)"')


def used_rules() -> set[str]:
    groups = {page.stem.split("-")[0] for page in PAGES}
    sources = [*ROOT.glob("halfstep/**/*.cpp"), *ROOT.glob("cli/*.cpp")]
    sources += ROOT.glob("python/halfstep/_frontend/*.py")
    found = {rule for path in sources for rule in RULE.findall(path.read_text(encoding="utf-8"))}
    return {rule for rule in found if rule.split("/")[0] in groups}


def test_rules_and_pages_agree():
    pages = {page.stem for page in PAGES}
    assert pages == {rule.replace("/", "-") for rule in used_rules()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page(page, halfstep):
    lines = page.read_text(encoding="utf-8").splitlines()
    rule = re.fullmatch(r"# ([a-z]+/[a-z0-9-]+): .+", lines[0])
    assert rule and rule[1].replace("/", "-") == page.stem
    assert max(map(len, lines)) <= 120
    assert halfstep("rule", rule[1]).out == page.read_text(encoding="utf-8")
