"""What is handed over: a wheel that runs on its own, pinned packages, a site, clean files."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from discreet import __version__
from small_install import figures

ROOT = Path(__file__).parents[2]
LOCKS = sorted((ROOT / "lock").glob("*.txt"))


def _tracked() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def _run(*command: str | Path, folder: Path) -> str:
    """Return what a command prints; fail with all of it if it fails."""
    # The environment of the tests must not lend its packages to the one under test.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy of the files of the repository, and of nothing else."""
    copy = tmp_path_factory.mktemp("source")
    for name in _tracked():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name)
    out = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, folder=copy)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an empty environment with the pinned packages and the wheel."""
    folder = tmp_path_factory.mktemp("installed")
    _run(sys.executable, "-m", "venv", folder / "env", folder=folder)
    pip = [folder / "env" / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
    _run(*pip, "install", "--require-hashes", "-r", ROOT / "lock" / "run.txt", folder=folder)
    _run(*pip, "install", "--no-deps", "--no-index", wheel, folder=folder)
    _run(*pip, "check", folder=folder)
    return folder / "env" / "bin"


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_its_licence(wheel: Path) -> None:
    assert wheel.name == f"discreet-{__version__}-py3-none-any.whl"
    held = _run(sys.executable, "-m", "zipfile", "--list", wheel, folder=wheel.parent)
    assert "discreet/py.typed" in held
    assert f"discreet-{__version__}.dist-info/licenses/LICENSE" in held
    assert "tests/" not in held
    modules = {name for name in _tracked() if name.startswith("src/discreet/")}
    for name in modules:
        assert name.removeprefix("src/") in held


@pytest.mark.slow
def test_the_installed_program_runs_with_the_pinned_packages_alone(
    installed: Path, tmp_path: Path
) -> None:
    assert _run(installed / "discreet", "--version", folder=tmp_path) == f"discreet {__version__}\n"
    assert _run(installed / "discreet", "check", folder=tmp_path).endswith("All is well.\n")
    _run(installed / "python", "-W", "error", "-c", "import discreet", folder=tmp_path)
    names = "import discreet as dc; [getattr(dc, name) for name in dc.__all__]"
    _run(installed / "python", "-W", "error", "-c", names, folder=tmp_path)


@pytest.mark.slow
def test_the_small_install_is_small_and_computes(wheel: Path, tmp_path: Path) -> None:
    _run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "env", folder=tmp_path)
    python = tmp_path / "env" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
    _run(*pip, "install", "--require-hashes", "-r", ROOT / "lock" / "small.txt", folder=tmp_path)
    _run(*pip, "install", "--no-deps", "--no-index", wheel, folder=tmp_path)
    files = [path for path in (tmp_path / "env" / "lib").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 120e6  # promised in docs/deploy.md
    told = json.loads(_run(python, ROOT / "tests" / "small_install.py", folder=tmp_path))
    assert told == figures()


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_asks_nobody_else(tmp_path: Path) -> None:
    site = tmp_path / "site"
    mkdocs = Path(sys.executable).with_name("mkdocs")
    _run(mkdocs, "build", "--strict", "--quiet", "--site-dir", site, folder=ROOT)
    pages = sorted(site.rglob("*.html"))
    assert len(pages) >= 5
    # What a browser fetches by itself: scripts, pictures, frames, style sheets, fonts.
    fetched = re.compile(
        r"<(?:script|img|iframe|source|object)\b[^>]*(?:src|data)=[\"']?(?:https?:)?//"
        r"|<link\b[^>]*href=[\"']?(?:https?:)?//"
    )
    for page in pages:
        assert not fetched.search(page.read_text(encoding="utf-8")), page.name
    for style in [*site.rglob("*.css"), *site.rglob("*.svg")]:
        assert not re.search(r"(?:url\(|@import)[\"' ]*(?:https?:)?//", style.read_text("utf-8"))


@pytest.mark.slow
def test_the_picture_in_the_readme_is_what_the_program_prints(tmp_path: Path) -> None:
    drawn = _run(
        sys.executable,
        "-c",
        "import runpy, sys; sys.stdout.write(runpy.run_path(sys.argv[1])['draw']())",
        ROOT / "scripts" / "draw_terminal.py",
        folder=tmp_path,
    )
    kept = (ROOT / "docs" / "pictures" / "terminal.svg").read_text(encoding="utf-8")
    assert drawn == kept, "run scripts/draw_terminal.py and look at the picture"


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_pins_every_package_by_hash_and_names_no_address(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    for word in ("://", "--index-url", "--extra-index-url", "--find-links", "file:", " @ "):
        assert word not in text
    requirements = re.sub(r"\\\n\s*", " ", text).splitlines()
    assert len(requirements) > 10
    for line in requirements:
        assert re.match(r"[a-z0-9._-]+==[^\s;]+ ", line), line
        assert re.search(r"--hash=sha256:[0-9a-f]{64}(?: |$)", line), line


def test_what_runs_is_pinned_as_what_is_tested() -> None:
    small, run, server, dev = (
        set(re.findall(r"^(\S+==\S+)", (ROOT / "lock" / name).read_text(), re.MULTILINE))
        for name in ("small.txt", "run.txt", "server.txt", "dev.txt")
    )
    assert small < run < dev
    assert small < server < dev


# Written in pieces, so that this file does not contain what it looks for.
_PATHS = [rf"(?<![\w.}}]){'/'}{top}/\w" for top in ("root", "home", "work", "Users")]
_PATHS += [r"\b[A-Z]:\\+Users\b"]
_HOSTS = [
    ".".join(parts).replace(".", r"\.")
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("anaconda", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("unpkg", "com"),
        ("jsdelivr", "net"),
        ("cdnjs", "cloudflare"),
        ("crates", "io"),
        ("docker", "io"),
        ("artifactory", ""),
    )
]
_FOREIGN = re.compile("|".join(_PATHS + _HOSTS))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see " + "/" + "home/ann/census.csv", True),
        ("index https://" + "pypi" + ".org/simple", True),
        ("cells per household/work status", False),
        ("STORE/versions/home/x", False),
    ],
)
def test_the_search_for_foreign_names_finds_them(text: str, found: bool) -> None:
    assert bool(_FOREIGN.search(text)) is found


def test_no_file_names_a_machine_or_a_package_registry() -> None:
    names = _tracked()
    assert "pyproject.toml" in names
    found = [
        f"{name}: {match.group()}"
        for name in names
        for match in _FOREIGN.finditer((ROOT / name).read_text("utf-8", errors="ignore"))
    ]
    assert not found
