"""The documents say what the program does: their files build, their sessions run, word for word."""

from __future__ import annotations

import ast
import doctest
import inspect
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
import yaml

from discreet import __version__
from discreet.cli import main
from discreet.population.keys import Secret
from servers import running

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BIN = Path(sys.executable).parent
PYTHON = runpy.run_path(str(ROOT / "scripts" / "write_python.py"))
COMMANDS = runpy.run_path(str(ROOT / "scripts" / "write_commands.py"))["names"]()
PAGES = sorted([*DOCS.glob("*.md"), *ROOT.glob("*.md")])

_FILE = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_SESSION = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PYTHON = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SCRIPT = re.compile(r"^```sh\n(.*?)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _comparable(text: str) -> str:
    """Return output without what differs from run to run: version ids, times, stages passed."""
    text = re.sub(r"\b\d{8}T\d{12}-[0-9a-f]{6}\b", "VERSION", text)
    text = re.sub(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", "TIME", text)
    text = re.sub(r"\b[0-9a-f]{64}\b", "KEY", text)
    text = re.sub(r"^\w+ …\n", "", text, flags=re.MULTILINE)
    return text.rstrip("\n")


def _run(command: str, folder: Path) -> str:
    """Return what a command prints at 80 columns, both streams in the order written."""
    environment = {
        **os.environ,
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "COLUMNS": "80",
        "TERM": "dumb",
        "PYTHONIOENCODING": "utf-8",
    }
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=120,
    )
    return done.stdout


def _called(command: str, folder: Path) -> tuple[str, int]:
    """Return what `discreet …` prints and its exit status, without starting a process."""
    printed, status = io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, chdir(folder):
        # By another secret another table may be refused, and a page shows one of them.
        patch.setattr(Secret, "fresh", lambda: Secret(bytes(range(32))))
        patch.setenv("COLUMNS", "80")
        patch.setattr(sys, "argv", shlex.split(command))
        with redirect_stdout(printed), redirect_stderr(printed):
            try:
                main()
            except SystemExit as ended:
                status = int(ended.code or 0)
    return printed.getvalue(), status


def _steps(session: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a session and the output shown under it."""
    for step in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
        command, _, output = step.partition("\n")
        yield command, output


def _play(page: Path, folder: Path) -> int:
    """Write the files of a page, run its sessions, compare; return how many commands ran."""
    text = page.read_text(encoding="utf-8")
    for name, content in _FILE.findall(text):
        (folder / name).write_text(content, encoding="utf-8")
    ran = 0
    for session in _SESSION.findall(text):
        for command, shown in _steps(session):
            here = command.startswith("discreet ")
            printed = _called(command, folder)[0] if here else _run(command, folder)
            assert _comparable(printed) == _comparable(shown), f"$ {command}"
            ran += 1
    return ran


@pytest.fixture(scope="module")
def borough(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the page on data sets was followed to its end."""
    folder = tmp_path_factory.mktemp("borough")
    assert _play(DOCS / "dataset.md", folder) >= 4
    return folder


@pytest.mark.parametrize("name", ["questions.md", "store.md", "formats.md"])
def test_the_sessions_of_a_page_print_what_it_shows(name: str, borough: Path) -> None:
    assert _play(DOCS / name, borough) >= 3


@pytest.mark.parametrize(
    ("name", "commands"),
    [
        ("optimisers.md", 3),
        ("adjustment.md", 2),
        ("policy.md", 1),
        ("coming-from.md", 3),
        ("study.md", 1),
    ],
)
def test_the_sessions_of_a_page_by_itself_print_what_it_shows(
    name: str, commands: int, tmp_path: Path
) -> None:
    assert _play(DOCS / name, tmp_path) >= commands


@pytest.fixture(scope="module")
def first_day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the tutorial was followed to its end."""
    folder = tmp_path_factory.mktemp("first-day")
    assert _play(DOCS / "tutorial.md", folder) >= 4
    return folder


def test_the_sessions_on_the_ledger_print_what_the_page_shows(tmp_path: Path) -> None:
    assert _play(DOCS / "tutorial.md", tmp_path) >= 4
    assert _play(DOCS / "ledger.md", tmp_path) >= 4


def test_the_sessions_on_people_print_what_the_page_shows(first_day: Path) -> None:
    assert _play(DOCS / "people.md", first_day) >= 4


def test_every_command_of_the_tutorial_succeeds(first_day: Path) -> None:
    scripts = _SHELL.findall((DOCS / "tutorial.md").read_text(encoding="utf-8"))
    commands = "".join(scripts).splitlines()
    assert len(commands) >= 6
    for command in commands:
        printed, status = _called(command, first_day)
        assert (status, bool(printed)) == (0, True), f"$ {command}\n{printed}"


def test_the_tutorial_ends_with_a_page_that_serves_a_table(first_day: Path) -> None:
    assert "\ndiscreet serve people\n" in (DOCS / "tutorial.md").read_text(encoding="utf-8")
    with running([first_day / "people"], first_day / "server") as server:
        answer = server.get("/datasets/people/table?by=town,health")
    assert answer.status_code == 200
    assert "Corley" in answer.text


def _play_python(page: Path) -> int:
    """Run the Python of a page in the current folder, compare; return how many lines ran."""
    blocks = "\n".join(_PYTHON.findall(page.read_text(encoding="utf-8")))
    test = doctest.DocTestParser().get_doctest(blocks, {}, page.name, None, None)
    assert doctest.DocTestRunner().run(test).failed == 0
    return len(test.examples)


@pytest.mark.parametrize(
    ("name", "commands", "lines"),
    [
        ("suppression.md", 3, 6),
        ("adjustment.md", 2, 8),
        ("redesign.md", 4, 8),
        ("optimisers.md", 3, 7),
    ],
)
def test_a_page_of_the_desk_shows_what_commands_and_python_print(
    name: str, commands: int, lines: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _play(DOCS / name, tmp_path) >= commands
    monkeypatch.chdir(tmp_path)
    assert _play_python(DOCS / name) >= lines


def test_the_python_of_the_pages_gives_what_they_show(
    borough: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(borough)
    assert _play_python(DOCS / "questions.md") > 8


def test_the_examples_of_the_page_on_python_give_what_it_shows(
    first_day: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(first_day)
    assert _play_python(DOCS / "python.md") > 100


def test_the_page_on_python_is_what_the_docstrings_say() -> None:
    shown = (DOCS / "python.md").read_text(encoding="utf-8")
    assert shown == PYTHON["page"](), "run scripts/write_python.py"


def test_every_public_function_and_method_has_an_example() -> None:
    called = {
        title: thing
        for _, title, thing in PYTHON["entries"]()
        if callable(getattr(thing, "__func__", thing))
        and (not inspect.isclass(thing) or hasattr(thing, "apply"))
    }
    assert {"dc.open", "population.release", "dc.protect.RandomRounding"} <= set(called)
    without = {title for title, thing in called.items() if ">>>" not in thing.__doc__}
    assert without == {"dc.protect.Method"}, "the base of all, shown in docs/extending.md"


def test_the_scripts_of_the_readme_run_as_pasted(tmp_path: Path) -> None:
    (tmp_path / ".venv").symlink_to(sys.prefix)
    scripts = _SCRIPT.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert scripts, "the README shows no script with its output"
    for script, shown in scripts:
        printed = _run(f"set -euo pipefail\n{script}", tmp_path)
        assert _comparable(printed) == _comparable(shown)


def test_the_description_in_the_readme_has_ten_lines_or_fewer() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (description,) = re.findall(r"\.toml <<'END'\n(.*?)^END$", text, re.MULTILINE | re.DOTALL)
    assert tomllib.loads(description)
    assert description.count("\n") <= 10


def _settings() -> set[str]:
    """Every key that the program takes from dataset.toml, read off its source."""
    source = ROOT / "src" / "discreet"
    modules = [source / "build" / f"{name}.py" for name in ("dataset", "categories", "engine")]
    return {
        node.args[0].value
        for module in modules
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"take", "choice", "inner"}
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    }


def test_every_setting_of_a_data_set_is_documented() -> None:
    settings = _settings()
    assert {"record_id", "groups"} <= settings
    page = (DOCS / "dataset.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    inner = {"modulus"}  # of `key`, explained with it
    assert settings - rows - inner == set()
    assert rows - settings == set(), "the page has a setting that the program does not"
    assert "modulus" in page


def test_the_examples_use_every_setting() -> None:
    names = ("dataset.md", "engines.md", "pretabular.md")
    pages = [(DOCS / name).read_text(encoding="utf-8") for name in names]
    examples = "".join(content for page in pages for _, content in _FILE.findall(page))
    used = set(re.findall(r"\b(\w+) = ", examples)) | set(re.findall(r"\b(\w+)\.", examples))
    used |= set(re.findall(r"^\[+(\w+)", examples, re.MULTILINE))
    assert _settings() - used == {"weight"}  # which is refused


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_is_in_the_documents_and_fits_80_columns(
    name: str, tmp_path: Path
) -> None:
    printed = _run(f"discreet {name} --help", tmp_path).rstrip("\n")
    assert printed.startswith("Usage: discreet")
    assert max(map(len, printed.splitlines())) <= 80
    title = f"discreet {name}".strip()
    page = (DOCS / "commands.md").read_text(encoding="utf-8")
    shown = re.findall(rf"^## {title}\n\n```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert [text.rstrip("\n") for text in shown] == [printed], "run scripts/write_commands.py"


def test_no_document_speaks_of_a_command_that_is_not_there() -> None:
    page = (DOCS / "commands.md").read_text(encoding="utf-8")
    documented = re.findall(r"^## discreet ?([\w -]*)$", page, re.MULTILINE)
    assert documented == COMMANDS
    spoken = {
        (name, page.name)
        for page in PAGES
        for name in re.findall(r"^\$? ?(?:\.venv/bin/)?discreet ([\w-]+)", page.read_text(), re.M)
    }
    assert {name for name, _ in spoken} <= {name.split(" ")[0] for name in COMMANDS}, sorted(spoken)


def test_every_page_is_in_the_navigation() -> None:
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    groups = [page for entry in nav for page in entry.values()]
    listed = [
        page
        for group in groups
        for page in ([group] if isinstance(group, str) else [p for e in group for p in e.values()])
    ]
    there = [page.name for page in DOCS.glob("*.md")]
    assert sorted(listed) == sorted(there), "put the page into the nav of mkdocs.yml"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target or target.startswith("mailto:"):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), f"{page.name} links to {target}"
        if anchor:
            heads = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {
                re.sub(r"[^\w -]", "", head).strip().lower().replace(" ", "-") for head in heads
            }
            assert anchor in slugs, f"{page.name} links to {target}"


def test_the_glossary_has_every_word_once_and_in_order() -> None:
    page = (DOCS / "glossary.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| \*\*(.+?)\*\* \|", page, re.MULTILINE)
    letters = [re.sub(r"[^a-z ]", "", word.lower()) for word in words]
    assert len(words) > 50
    assert letters == sorted(set(letters))


def test_every_picture_says_in_words_what_it_shows() -> None:
    pictures = [
        words
        for page in PAGES
        for words in re.findall(r"!\[([^\]]*)\]", page.read_text(encoding="utf-8"))
    ]
    assert pictures
    assert all(len(words) > 20 for words in pictures)


def test_the_citation_file_is_complete_and_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    # The four keys that the Citation File Format 1.2.0 requires, then what can go stale.
    assert citation["cff-version"] == "1.2.0"
    assert citation["message"]
    assert citation["title"] == "Discreet"
    assert all({"name"} <= set(author) for author in citation["authors"])
    assert citation["type"] == "software"
    assert citation["version"] == __version__
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert citation["license"] == project["license"]
    assert project["version"] == __version__


def test_the_changelog_has_what_is_not_released_on_top() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert heads[0] == "[Unreleased]"
    kinds = set(re.findall(r"^### (.*)$", text, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_container_copies_only_what_is_there() -> None:
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    copied = [
        path
        for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.MULTILINE)
        for path in [word for word in line.split() if not word.startswith("--")][:-1]
    ]
    assert copied
    ignored = (ROOT / ".containerignore").read_text(encoding="utf-8").split()
    for path in copied:
        assert (ROOT / path).exists(), f"Containerfile copies {path}"
        assert f"!{path.split('/')[0]}" in ignored, f".containerignore keeps {path} out"


def test_the_map_of_folders_is_complete() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (chart,) = re.findall(r"^```text\nsrc/discreet/\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    listed = set(re.findall(r"^  (\w+)/ ", chart, re.MULTILINE))
    source = ROOT / "src" / "discreet"
    there = {path.parent.name for path in source.glob("*/__init__.py")}
    assert listed == there, "keep the map of folders in CONTRIBUTING.md"


def test_the_map_of_questions_leads_to_what_is_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (chart,) = re.findall(r"^## Where is it\?\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    answers = re.findall(r"^\| [^|]+\? \| (.*) \|$", chart, re.MULTILINE)
    assert len(answers) >= 30
    for answer in answers:
        paths = re.findall(r"`([\w/.-]+)`", answer)
        assert paths, answer
        for path in paths:
            there = ROOT / path if path.startswith("tests/") else ROOT / "src/discreet" / path
            assert there.exists(), f"CONTRIBUTING.md says {path}"


def test_every_setting_of_a_policy_and_every_code_is_documented() -> None:
    from dataclasses import fields

    from discreet.policy import (
        BOUNDS,
        AttackRules,
        CountRules,
        Protection,
        QuestionRules,
        RiskRules,
        SpaceRules,
    )
    from discreet.rules import Code

    page = (DOCS / "policy.md").read_text(encoding="utf-8")
    for rules in (QuestionRules, CountRules, RiskRules, Protection, SpaceRules, AttackRules):
        for field in fields(rules):
            assert f"`{field.name}`" in page, field.name
    attacks = (DOCS / "attacks.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in attacks for name in BOUNDS)
    codes = (DOCS / "releases.md").read_text(encoding="utf-8")
    for code in Code:
        assert f"`{code}`" in codes


def test_the_tests_that_promises_name_are_there() -> None:
    """docs/promises.md names a test for every promise."""
    text = (DOCS / "promises.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and "test" in line]
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", text)
    assert len(named) > 30
    for path, name in named:
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), name
    assert all(
        "`tests/" in line for line in rows if "| promise |" not in line and "`make" not in line
    )
