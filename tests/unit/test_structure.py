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
GROUND = {
    "checks",
    "compiling",
    "errors",
    "extras",
    "files",
    "json",
    "labelled",
    "later",
    "lru",
    "pictures",
    "plugins",
    "progress",
    "toml",
    "types",
}
ORDER = [
    "table",
    "solve",
    "risk",
    "utility",
    "protect",
    "population",
    "query",
    "remote",
    "policy",
    "rules",
    "tabulate",
    "build",
    "ledger",
    "release",
    "federation",
    "service",
    "people",
    "study",
    "api",
    "page",
    "server",
    "desk",
    "synth",
    "cli",
]
MODULES = sorted(SOURCE.rglob("*.py"))

# Tests of no single module, each with what it holds together instead.
TOGETHER = {
    "build/test_basing_*": "a protected base: what is refused, households, what is stopped",
    "release/test_wiring_*": "the steps of a release put together",
    "service/test_wiring": "what a service hands out and keeps",
    "test_arguments": "wrong arguments to every function of `discreet`",
    "server/test_root_path": "a server under a path: pages, API and protocols",
    "test_deploy": "the compose file and the Helm chart",
    "test_docs": "the examples of every page of the documents",
    "test_structure": "the house rules",
    "cli/test_damage": "damaged files, given to every command",
    "cli/test_user": "people, keys and the record, by commands",
    "cli/test_force": "no command writes over a file that is there",
    "cli/test_boundary": "one boundary, read by every command of the desk",
    "desk/suppress/solver/test_peers": "two solvers of one problem",
    "desk/test_api": "the desk on data frames, as Python users call it",
    "desk/redesign/test_redesign": "the search for a design, from the command to its reasons",
    "page/test_page_routes": "all pages over HTTP",
    "page/test_page_state": "the state of a page, from its address to its form",
    "page/test_page_table": "a table on a page",
    "page/test_page_texts": "the words of all pages, in both languages",
    "policy/test_policy": "a policy from its file to its explanation",
    "protect/records/test_individuals": "a module of swapping/",
    "protect/tables/test_roundings": "all rounding of whole tables",
    "protect/test_effects": "what every method says of itself",
    "protect/test_lookup_entropy": "a module of lookup/",
    "protect/test_lookup_table": "a module of lookup/",
    "protect/test_methods_page": "the page of methods in the documents",
    "query/test_query": "a question from its text to its canonical form",
    "protect/lookup/test_explicit": "explicit look-ups, from their file to a release",
    "study/attacks/test_adding": "how to add an attack, as the page says it",
    "study/attacks/test_bounty": "the bounty kit, scripts/bounty.py",
    "release/test_bombs": "verify and convert on files that would grow without end",
    "release/test_forgeries": "verify on forgeries of every format",
    "release/test_written": "verify on files that were written earlier",
    "release/test_formats_page": "the page of formats in the documents",
    "release/test_noninterference": "what releases must not depend on",
    "release/test_release": "a release from question to files",
    "release/test_truth": "what every sentence of a release says",
    "release/formats/test_installed": "formats that an installed package adds",
    "release/*/test_labels": "labels in every format",
    "release/*/test_read_back": "every format read back",
    "release/*/test_writing": "every format as it is written",
    "risk/test_docstrings": "the docstring of every measure",
    "rules/test_rules": "questions and counts against the rules of presets",
    "server/test_failures": "what goes wrong in any part of a server",
    "server/test_fuzz": "any request at all",
    "service/test_memory": "how much memory says what is kept, and what it takes",
    "synth/test_resemblance": "a synthetic census against published figures",
}


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


def test_a_test_is_named_after_the_module_it_tests_and_lies_in_its_folder() -> None:
    # The tests of a package may be one file. Benchmarks and scripts lie beside the source.
    unit = ROOT / "tests" / "unit"
    lost = []
    for path in sorted(unit.rglob("test_*.py")):
        name = path.relative_to(unit).with_suffix("")
        place = ROOT if name.parts[0] in {"benchmarks", "scripts"} else SOURCE
        module = place / name.with_name(name.name.removeprefix("test_"))
        found = module.is_dir() or module.with_suffix(".py").is_file()
        if not found and not any(fnmatch(str(name), known) for known in TOGETHER):
            lost.append(str(name))
    assert not lost, f"of which module are these the tests? {lost}"


def test_there_is_no_folder_of_tests_without_a_folder_of_source() -> None:
    unit = ROOT / "tests" / "unit"
    for folder in {path.parent.relative_to(unit) for path in unit.rglob("test_*.py")}:
        assert (SOURCE / folder).is_dir() or (ROOT / folder).is_dir(), folder


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
