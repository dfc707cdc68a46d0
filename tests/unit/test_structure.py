"""The house rules that a program can check: who may import whom, and names that resolve."""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "discreet"

# A folder imports only from folders before it. The ground may be imported by all; `api` and the
# package itself may import all.
GROUND = {"checks", "compiling", "errors", "files", "lru", "plugins", "progress", "toml", "types"}
ORDER = [
    "table",
    "solve",
    "risk",
    "utility",
    "protect",
    "population",
    "query",
    "policy",
    "rules",
    "tabulate",
    "build",
    "ledger",
    "release",
    "service",
    "study",
    "api",
    "page",
    "server",
    "desk",
    "synth",
    "cli",
]
MODULES = sorted(SOURCE.rglob("*.py"))


def _imports(path: Path) -> set[str]:
    """The folders of this package that a module imports, wherever in the module it does."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("discreet.")}
    return found


def _folder(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_folder_imports_only_from_folders_above_it(path: Path) -> None:
    folder = _folder(path)
    if folder in {"__init__", "__main__", "api"}:
        return
    imported = _imports(path) - GROUND - {"__version__"}
    if folder in GROUND:
        assert not imported
        return
    allowed = set(ORDER[: ORDER.index(folder) + 1])
    assert imported <= allowed, f"{folder} imports {sorted(imported - allowed)}"


def test_every_folder_has_its_place_in_the_order() -> None:
    folders = {_folder(path) for path in MODULES} - GROUND - {"__init__", "__main__"}
    assert folders <= set(ORDER)


def test_every_citation_resolves_in_the_bibliography() -> None:
    bibliography = (ROOT / "docs" / "references.bib").read_text(encoding="utf-8")
    known = set(re.findall(r"@\w+\{(\w+),", bibliography))
    cited = {
        (key, path.name)
        for path in [*MODULES, *(ROOT / "docs").rglob("*.md")]
        for key in re.findall(r"\[([A-Z]\w+\d{4}|Dandekar)[\],]", path.read_text(encoding="utf-8"))
    }
    assert cited, "no citation found: has the form changed?"
    assert {key for key, _ in cited} <= known, sorted(cited)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_module_says_what_it_is(path: Path) -> None:
    if path.read_text(encoding="utf-8").strip():
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def test_no_folder_of_tests_is_left_out(request: pytest.FixtureRequest) -> None:
    left_out = request.config.getini("norecursedirs")
    folders = {path.parent for path in (ROOT / "tests").rglob("test_*.py")}
    for folder in folders:
        for part in folder.relative_to(ROOT).parts:
            assert not any(fnmatch(part, pattern) for pattern in left_out), folder


@pytest.mark.parametrize("name", ["Gate", "View"])
def test_a_word_means_one_thing(name: str) -> None:
    """The gate of the risk, a marginal view of the population."""
    found = [
        path.relative_to(SOURCE)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and node.name == name
    ]
    assert len(found) == 1, found
