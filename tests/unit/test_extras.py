"""The small install: what it does alone, what it says of the rest, and that both are right."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from discreet.extras import EXTRAS
from small_install import figures

ROOT = Path(__file__).parents[2]
TABLE = "area,sex,count\nA,m,5\nA,f,1\nB,m,2\nB,f,9\nC,m,12\nC,f,14\n"
# The packages of all extras are kept away, as if they were not installed; typer needs pydantic.
KEPT_AWAY = sorted({name for packages in EXTRAS.values() for name in packages} - {"pydantic"})
START = f"import sys; sys.modules.update(dict.fromkeys({KEPT_AWAY!r}))\n"


def _without(code: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", START + code, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def test_measures_and_methods_give_the_same_figures_without_any_extra() -> None:
    script = str(ROOT / "tests" / "small_install.py")
    done = _without(f"import runpy; runpy.run_path({script!r}, run_name='__main__')", ROOT)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == figures()


def test_every_module_of_an_extra_is_brought_by_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    modules = {"argon2-cffi": "argon2", "pyspark-client": "pyspark",
               "prometheus-client": "prometheus_client", "resvg-py": "resvg_py"}  # fmt: skip
    for extra, packages in EXTRAS.items():
        texts = project["optional-dependencies"][extra]
        names = {re.split(r"[\[>]", text)[0] for text in texts}
        brought = {modules.get(name, name) for name in names}
        assert set(packages) - {"starlette"} <= brought, extra  # which FastAPI is made of


# Which extra each thing needs, derived from what it does: a store needs `build`, a solver `desk`.
CALLS = {
    "dc.open('x')": "build",
    "dc.build(None, 'x', 'y')": "build",
    "dc.study([[1, 2], [3, 4]])": "build,desk",
    "dc.desk.round('table.csv', 3)": "desk",
    "dc.desk.suppress('table.csv')": "desk",
    "dc.protect.SmallCountRounding().apply(F, rng)": "desk",
    "table.to_pandas()": "pandas",
    "table.to_arrow()": "build",
}


def test_a_function_names_the_extra_that_it_needs(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(TABLE)
    code = (
        "import json, numpy as np, discreet as dc\n"
        "from discreet.table import Dimension, ProtectedTable\n"
        "F, rng, told = np.array([[1, 2], [4, 5]]), np.random.default_rng(1), {}\n"
        "a = Dimension('a', 'a', 'A', ('1',), ('one',))\n"
        "table = ProtectedTable((a,), np.array([1]), np.array([False]))\n"
        f"for call in {list(CALLS)!r}:\n"
        "    try:\n        eval(call)\n"
        "    except dc.ParameterError as error:\n        told[call] = str(error)\n"
        "print(json.dumps(told))"
    )
    done = _without(code, tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert {call: re.findall(r"pip install 'discreet\[(.+)\]'", told[call]) for call in CALLS} == {
        call: [extra] for call, extra in CALLS.items()
    }


COMMANDS = {
    "table x --by a": "build",
    "serve x": "server",
    "mcp x": "mcp",
    "audit table.csv": "desk",
    "study --quick table.csv --out o": "build,desk",
}


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_names_the_extra_that_it_needs(words: str, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(TABLE)
    code = "from discreet.cli import main; sys.argv = ['discreet', *sys.argv[1:]]; main()"
    done = _without(code, tmp_path, *words.split())
    assert done.returncode == 2
    assert done.stderr.endswith(f"pip install 'discreet[{COMMANDS[words]}]'.\n")
    assert done.stderr.startswith("discreet: this needs the package ")


@pytest.mark.parametrize("words", ["risk table.csv", "protect table.csv -m sampling "
                                   "--option fraction=0.5 -o p.csv"])  # fmt: skip
def test_a_command_of_the_small_install_runs(words: str, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(TABLE)
    code = "from discreet.cli import main; sys.argv = ['discreet', *sys.argv[1:]]; main()"
    done = _without(code, tmp_path, *words.split())
    assert done.returncode == 0, done.stderr


def test_windows_is_told_at_import() -> None:
    code = "import sys; sys.platform = 'win32'\nimport discreet"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError: Discreet does not run on Windows" in done.stderr
