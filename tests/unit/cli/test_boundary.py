"""Sensitivity rules at their boundaries, on either side of it, through each command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli import app

# Contributions to one cell just safe, and one unit of the last decimal beyond.
# p%: 10% of 2.9 is 0.29. pq: 10 · 2.9 = 50 · 0.58. Dominance: 0.6 of 1 is 60%, 0.61 of 1.01 more.
# The large ones: 10% of 1,000,000,000 less a tenth of a unit, 1 in 2 · 10¹⁰ of the cell.
BOUNDARIES = [
    (("--p", "10"), ("2.9", "0.7", "0.29"), ("2.9", "0.7", "0.28")),
    (
        ("--p", "10"),
        ("1000000000", "900000000", "100000000"),
        ("1000000000", "900000000", "99999999.9"),
    ),
    (("--pq", "10,50"), ("2.9", "0.7", "0.58"), ("2.9", "0.7", "0.57")),
    (("--dominance", "1,60"), ("0.6", "0.3", "0.1"), ("0.61", "0.3", "0.1")),
    (("--minimum", "3"), ("2.9", "0.7", "0.28"), ("2.9", "0.7")),
]
TABLES = pytest.mark.parametrize(("rule", "safe", "beyond"), BOUNDARIES)


def _others(parts: tuple[str, ...]) -> str:
    """A contribution to the other cells, of which each has five: safe by every rule."""
    return parts[0]


def _records(parts: tuple[str, ...]) -> str:
    lines = ["area,kind,amount", *(f"a,x,{part}" for part in parts)]
    for cell in ("a,y", "a,z", "b,x", "b,y", "b,z", "c,x", "c,y", "c,z"):
        lines += [f"{cell},{_others(parts)}"] * 5
    return "\n".join(lines) + "\n"


def _cells(parts: tuple[str, ...]) -> str:
    """The same table with the largest contributions; totals are summed."""
    other = _others(parts)
    total = f"{5 * float(other):.10g}"
    mine = f"{sum(round(10 * 10 * float(part)) for part in parts) / 100:.15g}"
    lines = ["area,kind,value,contributors,max1,max2"]
    lines.append(f"a,x,{mine},{len(parts)},{parts[0]},{parts[1]}")
    for cell in ("a,y", "a,z", "b,x", "b,y", "b,z", "c,x", "c,y", "c,z"):
        lines.append(f"{cell},{total},5,{other},{other}")
    return "\n".join(lines) + "\n"


def _said(folder: Path, command: str, text: str, *options: str) -> dict[str, object]:
    (folder / "t.csv").write_text(text)
    out = ["--out", str(folder / "o.csv"), "--force"]
    arguments = [command, str(folder / "t.csv"), "--json", *out]
    done = CliRunner().invoke(app, [*arguments, *options], catch_exceptions=False)
    assert done.exit_code == 0, done.stdout
    return dict(json.loads(done.stdout))


def _primary(found: dict[str, object]) -> int:
    tables = found["tables"]
    assert isinstance(tables, list)
    return int(tables[0]["primary"])


BY = ("--by", "area,kind", "--value", "amount")


@TABLES
def test_suppress(
    tmp_path: Path, rule: tuple[str, str], safe: tuple[str, ...], beyond: tuple[str, ...]
) -> None:
    for parts, number in ((safe, 0), (beyond, 1)):
        assert _primary(_said(tmp_path, "suppress", _cells(parts), *rule)) == number
        assert _primary(_said(tmp_path, "suppress", _records(parts), *rule, *BY)) == number


@TABLES
def test_adjust(
    tmp_path: Path, rule: tuple[str, str], safe: tuple[str, ...], beyond: tuple[str, ...]
) -> None:
    for parts, number in ((safe, 0), (beyond, 1)):
        found = _said(tmp_path, "adjust", _cells(parts), *rule, "--seed", "1")
        assert found["sensitive"] == number
        found = _said(tmp_path, "adjust", _records(parts), *rule, *BY, "--seed", "1")
        assert found["sensitive"] == number


@pytest.mark.parametrize(
    ("p", "least"),
    [
        ("10", 1),  # 10% of 10
        ("10.000001", 2),  # of whole figures the first beyond 1.0000001
    ],
)
def test_adjusted_figures_go_as_far_as_the_rule_says(tmp_path: Path, p: str, least: int) -> None:
    found = _said(tmp_path, "adjust", _cells(("10", "5")), "--p", p, "--seed", "1")
    assert (found["sensitive"], found["short"]) == (1, [])
    first = (tmp_path / "o.csv").read_text().splitlines()[1]
    assert first.startswith("a,x,")
    assert abs(float(first[4:]) - 15) == least


@pytest.mark.parametrize(("rule", "safe", "beyond"), BOUNDARIES[:2])
def test_adjusted_records(
    tmp_path: Path, rule: tuple[str, str], safe: tuple[str, ...], beyond: tuple[str, ...]
) -> None:
    for parts, number in ((safe, 0), (beyond, 1)):
        options = (*rule, *BY, "--order", "2", "--seed", "1")
        assert _said(tmp_path, "adjust", _records(parts), *options)["sensitive"] == number


def _audited(
    folder: Path, parts: tuple[str, ...], rule: tuple[str, str], *options: str
) -> tuple[int, list[str]]:
    """The table published as it is, held against its contributions: sensitive, too close."""
    (folder / "true.csv").write_text(_cells(parts))
    published = "\n".join(",".join(line.split(",")[:3]) for line in _cells(parts).splitlines())
    (folder / "t.csv").write_text(published + "\n")
    arguments = ["audit", str(folder / "t.csv"), "--true", str(folder / "true.csv"), "--json"]
    done = CliRunner().invoke(
        app, [*arguments, *rule, "--precision", "0.01", *options], catch_exceptions=False
    )
    found = json.loads(done.stdout)["sensitive"]
    return found["cells"], found["too_close"]


@TABLES
def test_audit(
    tmp_path: Path, rule: tuple[str, str], safe: tuple[str, ...], beyond: tuple[str, ...]
) -> None:
    assert _audited(tmp_path, safe, rule) == (0, [])
    assert _audited(tmp_path, beyond, rule) == (1, ["area a, kind x"])


@pytest.mark.parametrize(
    ("rule", "parts", "enough", "too_little"),
    [
        # 10% of 2.9 less a rest of 0.19 is 0.1. As floats it is 0.10000000000000003.
        (("--p", "10"), ("2.9", "0.7", "0.19"), "0.1", "0.09"),
        # 10 · 2.9/50 − 0.19 = 0.39.
        (("--pq", "10,50"), ("2.9", "0.7", "0.19"), "0.39", "0.38"),
        # 0.66 is 60% of 1.1, which is 0.04 more than 1.06.
        (("--dominance", "1,60"), ("0.66", "0.3", "0.1"), "0.04", "0.03"),
        # 10% of 3.6.
        (("--minimum", "3"), ("2.9", "0.7"), "0.36", "0.35"),
    ],
)
def test_the_room_that_a_rule_asks_for(
    tmp_path: Path, rule: tuple[str, str], parts: tuple[str, ...], enough: str, too_little: str
) -> None:
    assert _audited(tmp_path, parts, rule, "--within", enough) == (1, [])
    assert _audited(tmp_path, parts, rule, "--within", too_little) == (1, ["area a, kind x"])


@TABLES
def test_redesign(
    tmp_path: Path, rule: tuple[str, str], safe: tuple[str, ...], beyond: tuple[str, ...]
) -> None:
    said = ("--rule", f"{rule[0][2:]}={rule[1]}")
    assert _said(tmp_path, "redesign", _cells(safe), *said)["before"]["passed"]  # type: ignore[index]
    found = _said(tmp_path, "redesign", _cells(beyond), *said)
    assert found["before"]["cells"] == ["area a, kind x"]  # type: ignore[index]
    # Either dimension must go: with four others from another row or column the cell is safe.
    assert len(found["dropped"]) == 1  # type: ignore[arg-type]


def test_counts(tmp_path: Path) -> None:
    # 3 is the smallest safe count, 2 is not; with --minimum 4, 4 and 3.
    for count, options, number in ((3, (), 0), (2, (), 1), (4, ("4",), 0), (3, ("4",), 1)):
        minimum = ("--minimum", *options) if options else ()
        text = f",x,y,z\np,{count},9,8\nq,9,7,8\nr,5,6,7\n"
        assert _primary(_said(tmp_path, "suppress", text, *minimum)) == number
        found = _said(tmp_path, "adjust", text, *minimum, "--seed", "1")
        assert found["sensitive"] == number
        smallest = options[0] if options else "3"
        found = _said(tmp_path, "redesign", text, "--rule", f"smallest={smallest}")
        assert found["before"]["passed"] == (number == 0)  # type: ignore[index]
