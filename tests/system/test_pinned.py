"""Pinned figures: what the program said when they were last written; no reader can check them.

They guard changes that must not change a figure, such as moving folders. So everything goes through
public names: the command `discreet` and `import discreet as dc`. A change that is meant to change
figures writes them anew and says so:

    python tests/system/test_pinned.py --write

Each item has a digest of its figures and one of its words, and small ones their values, so that a
failure tells what changed.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from hashlib import sha256
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc

PINNED = Path(__file__).with_name("pinned.json")
SECRET = "00112233445566778899aabbccddeeff" * 2
SMALL = 30
DIGITS = 12

PRESETS = ("rounding-3", "cell-keys", "swapping-and-light-keys", "synthetic-only")
QUESTIONS: list[tuple[str, str | None, str]] = [
    ("sex", None, "none"),
    ("sex", None, "protected"),
    ("age", None, "none"),
    ("age_band", None, "none"),
    ("age_broad,sex", None, "protected"),
    ("sex,age_broad", None, "protected"),
    ("age_band,sex", "la=1", "none"),
    ("marital_status,sex", None, "none"),
    ("marital_status,age_broad", "sex=2", "none"),
    ("activity,sex", None, "summed"),
    ("activity,education", None, "none"),
    ("occupation", None, "none"),
    ("occupation,sex", "age_broad=3|4", "none"),
    ("education,sex,age_broad", None, "none"),
    ("citizenship,country_of_birth", None, "none"),
    ("country_of_birth", "citizenship=2", "none"),
    ("religion", None, "protected"),
    ("religion,ethnic_group", None, "none"),
    ("ethnic_group,la", None, "none"),
    ("travel_to_work,nuts2", None, "none"),
    ("health,sex,age_broad", None, "none"),
    ("health,illness", "la=2|3", "none"),
    ("illness,tenure", None, "none"),
    ("tenure,household_size", None, "protected"),
    ("household_size,la", None, "none"),
    ("la", None, "none"),
    ("la,sex", None, "protected"),
    ("ward,sex", None, "none"),
    ("oa", None, "none"),
    ("oa,sex", None, "none"),
    ("oa,health", "sex=1", "none"),
    ("region,activity,sex", None, "none"),
    ("nuts2,age_band", None, "none"),
    ("la,religion", "age_broad=2", "none"),
    ("ward,household_size", "tenure=1|2", "none"),
    ("sex,health", "oa=1", "none"),
    ("occupation,education,sex,age_broad", None, "none"),
    ("age,sex,la", None, "none"),
    ("ethnic_group,religion,country_of_birth", "la=1", "none"),
    ("activity", "age=20|21|22|23|24", "none"),
]

# For the preset that refuses a store whose records are as they were.
BEFOREHAND = """
[[protect]]
method = "record-swapping"
rate = 0.05
within = "la"
of = "oa"
match = ["members", "sex*age_broad"]
fallback = [["members"]]
target = ["oa*religion*age_broad", "oa*ethnic_group"]
below = 3
odds = 4

[[protect]]
method = "pram"
variable = "religion"
stay = 0.95
within = ["la", "ethnic_group"]

[[protect]]
method = "over-imputation"
variables = ["occupation", "education"]
rate = 0.02
donors = ["la*sex*age_band*activity", "sex*age_band*activity"]
never_create = ["age*education", "activity*occupation"]
"""

COUNTS = np.array(
    [[1, 2, 0, 14, 7], [4, 4, 1, 1, 22], [0, 3, 9, 30, 2], [12, 0, 5, 1, 6]], np.int64
)
ROWS, COLUMNS = "pqrs", "abcde"
METHODS = {
    "random-rounding": ["base=5"],
    "small-cell-adjustment": [],
    "semi-controlled-rounding": ["axis=row"],
    "controlled-rounding": [],
    "small-count-rounding": [],
    "count-adjustment": [],
    "stochastic-perturbation": [],
    "cell-key-perturbation": [],
    "sampling": ["fraction=0.5"],
    "same-margins": [],
}


def digest(value: object) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def rounded(value: Any) -> Any:
    """Return plain values, decimals to twelve digits."""
    if isinstance(value, dict):
        return {str(key): rounded(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return rounded(value.tolist())
    if isinstance(value, list | tuple):
        return [rounded(part) for part in value]
    if isinstance(value, float | np.floating):
        return float(f"{value:.{DIGITS}g}")
    return value.item() if isinstance(value, np.generic) else value


def item(figures: Any, words: Any = None) -> dict[str, Any]:
    figures = rounded(figures)
    found: dict[str, Any] = {"figures": digest(figures)}
    if words is not None:
        found["words"] = digest(words)
    if len(json.dumps(figures)) <= 12 * SMALL:
        found["values"] = figures
    return found


def command(*words: object) -> tuple[int, str, str]:
    """Run the installed program in this process: exit status, and what it said."""
    (program,) = entry_points(group="console_scripts", name="discreet")
    out, err = io.StringIO(), io.StringIO()
    before = sys.argv
    sys.argv = ["discreet", *map(str, words)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            program.load()()
        status = 0
    except SystemExit as end:
        status = int(end.code or 0)
    finally:
        sys.argv = before
    return status, out.getvalue(), err.getvalue()


def done(*words: object) -> str:
    status, said, wrong = command(*words)
    assert status == 0, (words, said, wrong)
    return said


def read(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").splitlines()


# --- releases -----------------------------------------------------------------------------------


def stores() -> Iterator[tuple[str, Path]]:
    """Yield a store under each preset, all with one secret."""
    done("synth", "--persons", 20_000, "--seed", 1, "--out", "census")
    description = Path("census/dataset.toml")
    text = description.read_text(encoding="utf-8")
    for preset in PRESETS:
        policy = f'policy = "preset:{preset}"\n'
        changed = re.sub(r"^(?=unit = )", policy, text, count=1, flags=re.MULTILINE)
        assert changed != text
        changed += BEFOREHAND if preset == "swapping-and-light-keys" else ""
        description.write_text(changed, encoding="utf-8")
        store = Path(preset)
        store.mkdir(mode=0o700)
        (store / "secret").write_text(f"{SECRET}\n")
        (store / "secret").chmod(0o600)
        done("build", description, "--out", store)
        yield preset, store


_PASSING = {"updated", "proof", "data_version", "data_date"}


def lasting(value: Any) -> Any:
    """Return what a release says less its times, ids and signature."""
    if isinstance(value, dict):
        return {key: lasting(part) for key, part in value.items() if key not in _PASSING}
    return [lasting(part) for part in value] if isinstance(value, list) else value


def record(found: Any) -> Any:
    return None if found is None else lasting(found.as_dict())


def released(population: Any, by: str, where: str | None, totals: str) -> dict[str, Any]:
    try:
        release = population.release(by, where, totals)
    except dc.QueryRefused as refused:
        hints = [(hint.by, hint.where) for hint in refused.hints]
        return item([refused.code, hints, record(refused.record)], str(refused))
    except dc.ParameterError as wrong:
        return item("not allowed", str(wrong))
    release.write("release.json", "json-stat")
    said = lasting(json.loads(Path("release.json").read_text(encoding="utf-8")))
    figures = {name: said.pop(name, None) for name in ("id", "size", "value", "status")}
    return item([figures, record(release.record)], said) | {
        "table": item(figures["value"]).get("values", "many")
    }


def releases() -> Iterator[tuple[str, Any]]:
    for preset, store in stores():
        population = dc.open(store)
        for by, where, totals in QUESTIONS:
            name = f"release {preset} by={by} where={where or ''} totals={totals}"
            yield name, released(population, by, where, totals)
        for by, where in (("sex,age_broad", None), ("la,health", "sex=2"), ("oa", None)):
            table = population.tabulate(dc.Query.parse(by, where)).dense()
            yield (
                f"tabulate {preset} by={by} where={where or ''}",
                item([np.asarray(table.counts), np.asarray(table.keys)]),
            )
        name = f"table {preset} by=sex,age_broad"
        status, said, _ = command("table", store, "--by", "sex,age_broad", "--where", "la=1")
        yield name, item(status, re.sub(r"data of \S+", "data of", said))


# --- tables in files ----------------------------------------------------------------------------


def write_tables() -> None:
    cells = [
        (row, column, int(COUNTS[i, j]))
        for i, row in enumerate(ROWS)
        for j, column in enumerate(COLUMNS)
    ]
    inner = "".join(f"{row},{column},{count}\n" for row, column, count in cells)
    Path("long.csv").write_text("row,column,count\n" + inner)
    totals = "".join(f"{row},_T,{n}\n" for row, n in zip(ROWS, COUNTS.sum(1), strict=True))
    totals += "".join(
        f"_T,{column},{n}\n" for column, n in zip(COLUMNS, COUNTS.sum(0), strict=True)
    )
    Path("totals.csv").write_text(f"row,column,count\n{inner}{totals}_T,_T,{COUNTS.sum()}\n")
    Path("gap.csv").write_text(f"row,column,count\n{inner}{totals}_T,_T,{COUNTS.sum() + 5}\n")
    wide = [f",{','.join(COLUMNS)}"]
    wide += [f"{row},{','.join(map(str, COUNTS[i]))}" for i, row in enumerate(ROWS)]
    Path("wide.csv").write_text("\n".join(wide) + "\n")
    cube = "".join(
        f"{x},{y},{z},{(5 * i + 3 * j + 7 * k + i * j * k) % 11}\n"
        for i, x in enumerate("pqr")
        for j, y in enumerate("abcd")
        for k, z in enumerate("uvw")
    )
    Path("cube.csv").write_text("x,y,z,count\n" + cube)
    holes = Path("totals.csv").read_text().splitlines()
    hidden = [1, 2, 6, 7]  # two by two, so that an interval is left
    for i in hidden:
        holes[i] = holes[i].rpartition(",")[0] + ","
    Path("holes.csv").write_text("\n".join(holes) + "\n")
    areas = ("north", "south", "east")
    amounts = [(i * 37 % 101 + 1) * (10 if i % 13 == 0 else 1) for i in range(60)]
    firms = [f"{areas[i % 3]},{'ABCD'[i * 7 % 4]},{n},h{i % 29}" for i, n in enumerate(amounts)]
    Path("firms.csv").write_text("area,branch,turnover,holding\n" + "\n".join(firms) + "\n")
    Path("secret").write_bytes(b"0123456789abcdef")


def runs() -> Iterator[tuple[str, list[object]]]:
    """Yield a name and the words of each command that writes `out.csv` or says something."""
    for table in ("long", "totals", "wide", "cube"):
        yield f"risk {table}", ["risk", f"{table}.csv", "--json"]
    yield "risk weights", ["risk", "long.csv", "--json", "--weights", "0.2,0.6,0.2"]
    for name, options in METHODS.items():
        given = [part for option in options for part in ("--option", option)]
        for source in (["--seed", 7], ["--secret", "secret"]):
            words = ["protect", "totals.csv", "-m", name, *given, *source, "-o", "out.csv"]
            yield f"protect {name} {source[0]}", words
    yield "protect totals", [
        "protect", "totals.csv", "-m", "random-rounding", "--totals", "protected", "--seed", 7,
        "-o", "out.csv",
    ]  # fmt: skip
    yield "protect wide", [
        "protect", "wide.csv", "-m", "cell-key-perturbation", "--seed", 7, "-o", "out.csv",
    ]  # fmt: skip
    yield "risk after", ["risk", "totals.csv", "--after", "rounded.csv", "--base", 3, "--json"]
    for mode, table in (("controlled", "cube"), ("small", "cube"), ("additive", "gap")):
        for source in (["--seed", 7], ["--secret", "secret"]):
            words = ["round", f"{table}.csv", "--mode", mode, *source, "-o", "out.csv"]
            yield f"round {mode} {source[0]}", words
    yield "audit holes", ["audit", "holes.csv", "--json"]
    yield "audit rounded", ["audit", "rounded.csv", "--random-rounded", 3, "--json"]
    for objective in ("number", "value", "information"):
        yield f"suppress {objective}", [
            "suppress", "totals.csv", "--objective", objective, "--json", "-o", "out.csv",
        ]  # fmt: skip
    yield "suppress exact", ["suppress", "totals.csv", "--exact", "--json", "-o", "out.csv"]
    yield "suppress firms", [
        "suppress", "firms.csv", "--by", "area,branch", "--value", "turnover", "--holding",
        "holding", "--p", 10, "--json", "-o", "out.csv",
    ]  # fmt: skip
    for source in (["--seed", 7], ["--secret", "secret"]):
        yield f"adjust counts {source[0]}", [
            "adjust", "totals.csv", "--json", "--audit", *source, "-o", "out.csv",
        ]  # fmt: skip
        yield f"adjust firms {source[0]}", [
            "adjust", "firms.csv", "--by", "area,branch", "--value", "turnover", "--p", 10,
            "--spread", 0.5, "--json", *source, "-o", "out.csv",
        ]  # fmt: skip
    yield "adjust records", [
        "adjust", "firms.csv", "--by", "area,branch", "--value", "turnover", "--p", 10, "--order",
        2, "--withhold", "--json", "--seed", 7, "-o", "out.csv",
    ]  # fmt: skip
    yield "redesign smallest", [
        "redesign", "long.csv", "--rule", "smallest=3", "--ordered", "column", "--json", "-o",
        "out.csv",
    ]  # fmt: skip
    yield "redesign risk", [
        "redesign", "cube.csv", "--rule", "small=0.05", "--ordered", "y", "--ordered", "z",
        "--json", "-o", "out.csv",
    ]  # fmt: skip
    yield "lookup", ["lookup", "-o", "out.csv"]
    yield "lookup forbid", ["lookup", "--forbid", "1,2", "--stay", 0.4, "-o", "out.csv"]
    yield "lookup normal", ["lookup", "--design", "normal", "--variance", 2, "-o", "out.csv"]


def _numbers(text: str) -> str:
    """Return a text with its decimals to twelve digits."""
    return re.sub(
        r"-?\d+\.\d+(e[+-]?\d+)?", lambda found: f"{float(found.group()):.{DIGITS}g}", text
    )


def tables() -> Iterator[tuple[str, Any]]:
    write_tables()
    done("protect", "totals.csv", "-m", "random-rounding", "--seed", 7, "-o", "rounded.csv")
    for name, words in runs():
        Path("out.csv").unlink(missing_ok=True)
        status, said, wrong = command(*words)
        assert status in (0, 3), (name, said, wrong)
        written = [_numbers(line) for line in read("out.csv")] if Path("out.csv").exists() else []
        if "--json" in words and status == 0:
            figures: list[Any] = [status, written, json.loads(said)]
            yield name, item(figures)
        else:
            yield name, item([status, written], _numbers(said))


# --- Python -------------------------------------------------------------------------------------


def functions() -> Iterator[tuple[str, Any]]:
    rng = np.random.Generator(np.random.Philox(5))
    uniforms = rng.random(COUNTS.shape)
    rounding = dc.protect.RandomRounding(base=3)
    after = rounding.apply(COUNTS, uniforms)
    calls: dict[str, Callable[[], Any]] = {
        "risk.before": lambda: float(dc.risk.before(COUNTS)),
        "risk.before terms": lambda: [
            getattr(dc.risk.before(COUNTS), name) for name in ("zeros", "entropy", "size")
        ],
        "risk.after": lambda: float(dc.risk.after(COUNTS, after)),
        "risk.after_transition": lambda: float(
            dc.risk.after_transition(COUNTS, after, rounding.transition())
        ),
        "risk.slices": lambda: [dc.risk.slices(COUNTS, axis) for axis in (0, 1)],
        "utility.hellinger": lambda: dc.utility.hellinger(COUNTS, after),
        "utility.score": lambda: dc.utility.score(COUNTS, after),
        "utility.relative_absolute": lambda: dc.utility.relative_absolute(COUNTS, after),
        "utility.average_absolute": lambda: dc.utility.average_absolute(COUNTS, after),
        "utility.cramers_v": lambda: dc.utility.cramers_v(COUNTS),
        "protect.RandomRounding": lambda: after,
        "protect.SmallCellAdjustment": lambda: dc.protect.SmallCellAdjustment(base=3).apply(
            COUNTS, uniforms
        ),
        "protect.CellKeyPerturbation": lambda: dc.protect.CellKeyPerturbation(
            dc.protect.lookup.normal(variance=2, bound=5)
        ).apply(COUNTS, uniforms),
        "protect.SemiControlledRounding": lambda: dc.protect.SemiControlledRounding(3).apply(
            COUNTS, np.random.Generator(np.random.Philox(6))
        ),
        "protect.lookup.max_entropy": lambda: dc.protect.lookup.max_entropy(5, 3.0).matrix,
        "protect.lookup.rounding": lambda: dc.protect.lookup.rounding(3).matrix,
    }
    for name, call in calls.items():
        yield f"dc.{name}", item(call())


GROUPS: dict[str, Callable[[], Iterator[tuple[str, Any]]]] = {
    "releases": releases,
    "tables": tables,
    "functions": functions,
}


def compute() -> dict[str, dict[str, Any]]:
    """Return every item of every group, computed in a temporary folder."""
    found = {}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for group, items in GROUPS.items():
                found[group] = dict(items())
        finally:
            os.chdir(before)
    return found


@pytest.fixture(scope="module")
def computed() -> dict[str, dict[str, Any]]:
    """Everything anew, in a process of its own."""
    process = subprocess.run(
        [sys.executable, __file__], capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)  # type: ignore[no-any-return]


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_nothing_has_changed(group: str, computed: dict[str, dict[str, Any]]) -> None:
    pinned = json.loads(PINNED.read_text(encoding="utf-8"))[group]
    found = computed[group]
    assert list(found) == list(pinned)
    changed = {name: (pinned[name], found[name]) for name in pinned if pinned[name] != found[name]}
    assert not changed, "\n".join(
        f"{name}: was {was}, is {now}" for name, (was, now) in changed.items()
    )


if __name__ == "__main__":
    text = json.dumps(compute(), indent=1) + "\n"
    if sys.argv[1:] == ["--write"]:
        PINNED.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
