"""Releases: the same question, the same answer; shared cells agree; areas; records; tiers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.errors import InternalError, ParameterError, QueryRefused
from discreet.ledger import Database, Ledgers
from discreet.policy import Policy, parse_policy
from discreet.population import Version
from discreet.population.keys import Secret
from discreet.release import Release, Releaser
from discreet.risk import SplitRisk, public_gate
from discreet.table import ProtectedTable
from discreet.tabulate import ScanEngine, ViewEngine
from discreet.tabulate.duck import DuckEngine
from populations import ask, make_version

SECRET = Secret(bytes(32))
LENIENT = {
    "minimum_population": 1, "minimum_mean": 0, "max_small": 1, "max_ones_of_populated": 1,
    "max_small_of_populated": 1, "max_single_lines": 1,
}  # fmt: skip
KEYS = {"method": "cell-key-perturbation", "options": {"bound": 2, "variance": 1}}


def policy(protection: dict[str, Any] | None = None, public: bool = True, **more: Any) -> Policy:
    tier = {"counts": LENIENT, "protection": protection or KEYS, "risk": {"maximum": 1}} | more
    if not public:
        tier["public"] = False
    values = {"version": "t", "tiers": {"public" if public else "licensed": tier}}
    return parse_policy(values, "policy", "policy")


@pytest.fixture(scope="module")
def version() -> Version:
    made = make_version(np.random.default_rng(3), 4000, [3, 4, 5], [12, 3])
    made.manifest["created"] = "2026-01-05T10:15:00+00:00"
    return made


def releaser(version: Version, rules: Policy | None = None, log: Path | None = None) -> Releaser:
    return Releaser.alone(version, ScanEngine(version), rules or policy(), SECRET, log)


def figures(release: Release) -> dict[frozenset[str], int]:
    """The released figures by the set of their codes, totals left out of the sets."""
    table = release.table
    found = {}
    for index in np.ndindex(table.shape):
        codes = [d.codes[i] for d, i in zip(table.dimensions, index, strict=True)]
        if not table.withheld[index]:
            found[frozenset(codes) - {"_T"}] = int(table.values[index])
    return found


def test_the_order_of_variables_does_not_matter(version: Version) -> None:
    answers = releaser(version)
    one = figures(answers.release(ask(version, "a,b,g1"), "protected"))
    assert one == figures(answers.release(ask(version, "g1,b,a"), "protected"))
    assert one == figures(answers.release(ask(version, "b,g1,a"), "protected"))


def test_every_engine_gives_the_same_figures(version: Version) -> None:
    query = ask(version, "c,a,g1", "b=b1|b2")
    engines = [
        ScanEngine(version, threads=1), ScanEngine(version, threads=3), DuckEngine(version),
        ViewEngine(version, ScanEngine(version)),
    ]  # fmt: skip
    answers = [
        figures(Releaser.alone(version, engine, policy(), SECRET, None).release(query, "protected"))
        for engine in engines
    ]
    assert all(answer == answers[0] for answer in answers)


@pytest.mark.parametrize("method", [KEYS, {"method": "random-rounding"}])
def test_a_cell_that_two_tables_share_has_one_figure(
    version: Version, method: dict[str, Any]
) -> None:
    answers = releaser(version, policy(method))
    large = figures(answers.release(ask(version, "a,b,g1"), "protected"))
    for by in ("a,b", "a", "b,g1", "g1", "a,g1"):
        for codes, value in figures(answers.release(ask(version, by))).items():
            assert large[codes] == value, (by, codes)
    filtered = figures(answers.release(ask(version, "a", "g1=g11")))
    for codes, value in filtered.items():
        assert large[codes | {"g11"}] == value


def test_summed_totals_add_up_and_protected_ones_are_their_own(version: Version) -> None:
    summed = releaser(version, policy(KEYS | {"margins": "summed"})).release(
        ask(version, "a,b"), "summed"
    )
    values = summed.table.values
    assert np.array_equal(values[:, -1], values[:, :-1].sum(axis=1))
    assert np.array_equal(values[-1], values[:-1].sum(axis=0))
    assert summed.table.dimensions[0].codes[-1] == "_T"
    assert summed.table.values[summed.table.inner].shape == (3, 4)


@pytest.mark.parametrize(
    ("margins", "totals", "told"),
    [
        ("protected", "summed", "Totals may be none or protected. Got 'summed'."),
        ("none", "protected", "Totals may be none. Got 'protected'."),
    ],
)
def test_the_policy_fixes_the_totals(
    version: Version, margins: str, totals: str, told: str
) -> None:
    with pytest.raises(QueryRefused, match=told) as refusal:
        releaser(version, policy(KEYS | {"margins": margins})).release(ask(version, "a"), totals)
    assert refusal.value.code == "TOTALS"
    with pytest.raises(ParameterError, match="no kind of totals 'all'"):
        releaser(version).release(ask(version, "a"), "all")


def test_table_wise_methods_are_seeded_by_the_class_and_the_method(version: Version) -> None:
    tablewise = {"method": "semi-controlled-rounding", "options": {"base": 3}, "margins": "none"}
    rules = policy(tablewise, public=False)
    answers = releaser(version, rules)
    first = figures(answers.release(ask(version, "a,b,c")))
    assert first == figures(answers.release(ask(version, "c,a,b")))
    assert first == figures(releaser(version, rules).release(ask(version, "a,b,c")))
    other = tablewise | {"options": {"base": 3, "axis": 1}}
    again = releaser(version, policy(other, public=False)).release(ask(version, "a,b,c"))
    assert first != figures(again)
    # The same method under another version of the policy is the same noise: no second draw.
    renamed = replace(rules, version="u")
    assert first == figures(releaser(version, renamed).release(ask(version, "a,b,c")))


def test_areas_that_fail_are_withheld_and_the_rest_released(version: Version) -> None:
    rules = policy(counts=LENIENT | {"minimum_population": 330})
    release = releaser(version, rules).release(ask(version, "g0,a"))
    assert release.withheld
    assert len(release.withheld) < 12
    assert release.availability == f"{12 - len(release.withheld)} of 12 areas available"
    names = {area.code for area in release.withheld}
    people = release.table.values.sum(axis=1)
    for i, code in enumerate(release.table.dimensions[0].codes):
        assert bool(release.table.withheld[i].all()) == (code in names)
        if code not in names:
            assert people[i] >= 330
    assert all(row["value"] is None or row["value"] >= 0 for row in _rows(release))
    assert {row["g0"] for row in _rows(release) if row["value"] is None} == names


def _rows(release: Release) -> list[dict[str, Any]]:
    return release.table.to_arrow().to_pylist()  # type: ignore[no-any-return]


def test_whether_an_area_is_withheld_does_not_depend_on_what_is_shown_beside_it(
    version: Version,
) -> None:
    rules = policy(counts=LENIENT | {"minimum_population": 330})
    answers = releaser(version, rules)
    whole = {area.code for area in answers.release(ask(version, "g0,a")).withheld}
    for i in range(12):
        try:
            alone = answers.release(ask(version, "g0,a", f"g0=g0{i}"))
            withheld = bool(alone.withheld)
        except QueryRefused:
            withheld = True
        assert withheld == (f"g0{i}" in whole)


def test_a_total_is_of_the_areas_that_are_shown(version: Version) -> None:
    answers = releaser(version)
    table = answers.release(ask(version, "g0,a", "g0=g00|g01"), "protected").table
    assert table.dimensions[0].codes == ("g00", "g01", "_T")
    alone = answers.release(ask(version, "a", "g0=g00|g01")).table
    assert table.values[-1, :-1].tolist() == alone.values.tolist()


def test_hints_lead_to_questions_that_may_be_asked(version: Version) -> None:
    rules = policy(counts=LENIENT | {"minimum_population": 3_000})  # of 4,000, in two areas
    answers = releaser(version, rules)
    with pytest.raises(QueryRefused) as refusal:
        answers.release(ask(version, "a,b,c", "g1=g11"))
    assert refusal.value.code == "NOT_AVAILABLE"
    assert refusal.value.record.verdict == "MIN_POPULATION"
    assert refusal.value.hints
    assert not any(character.isdigit() for character in str(refusal.value))
    for hint in refusal.value.hints:
        assert answers.check(ask(version, hint.by, hint.where or None))


def test_the_record_is_logged_for_its_owner_only(version: Version, tmp_path: Path) -> None:
    log = tmp_path / "records"
    rules = policy(counts=LENIENT | {"minimum_population": 3_000})  # of 4,000, in two areas
    answers = releaser(version, rules, log)
    answers.release(ask(version, "a,b"))
    with pytest.raises(QueryRefused):
        answers.release(ask(version, "a,b,c", "g1=g11"))
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["verdict"] for line in lines] == ["released", "MIN_POPULATION"]
    assert lines[0]["risk_before"] > 0
    assert lines[0]["question"] == "by=a,b"
    assert log.stat().st_mode & 0o777 == 0o600


def test_what_cannot_be_recorded_is_not_released(version: Version, tmp_path: Path) -> None:
    with pytest.raises(InternalError, match="could not be recorded"):
        releaser(version, log=tmp_path / "nowhere" / "records").release(ask(version, "a"))


def test_a_store_not_prepared_as_the_policy_asks_is_refused(version: Version) -> None:
    with pytest.raises(QueryRefused) as refusal:
        releaser(version, policy(KEYS | {"place": "both"})).release(ask(version, "a"))
    assert refusal.value.code == "NOT_PROTECTED"


def test_benchmark_totals_are_as_counted_and_nothing_else_is(version: Version) -> None:
    values = {
        "version": "t", "benchmark_totals": ["g1"],
        "tiers": {"public": {"counts": LENIENT, "protection": KEYS, "risk": {"maximum": 1}}},
    }  # fmt: skip
    answers = releaser(version, parse_policy(values, "policy", "policy"))
    table = answers.release(ask(version, "g1")).table
    starts = version.area_starts(version.schema.find("g1")[1])
    assert table.values.tolist() == np.diff(starts).tolist()
    plain = releaser(version)
    for by, where in (("g0", None), ("g1", "a=a1"), ("g1,a", None)):
        query = ask(version, by, where)
        assert figures(answers.release(query)) == figures(plain.release(query))


def test_bounds_are_told_only_where_the_method_is(version: Version) -> None:
    rounding = {"method": "random-rounding", "options": {"base": 3}}
    told = releaser(version, policy(rounding | {"published": True})).release(ask(version, "a,b"))
    assert told.table.low is not None
    assert told.table.high is not None
    true = ScanEngine(version).tabulate(ask(version, "a,b")).counts
    assert (told.table.low <= true).all()
    assert (true <= told.table.high).all()
    assert (told.table.high - told.table.low == 4).all()
    untold = releaser(version, policy(rounding)).release(ask(version, "a,b"))
    assert untold.table.low is None
    assert "largest_change" in untold.as_dict()["quality"]
    assert untold.as_dict()["quality"]["largest_change"] is None


def test_only_a_protected_table_is_released(version: Version) -> None:
    release = releaser(version).release(ask(version, "a"))
    assert type(release.table) is ProtectedTable
    with pytest.raises(ValueError, match="read-only"):
        release.table.values[0] = 1


def test_four_weights_judge_by_the_split_form(version: Version) -> None:
    weights = [0.1, 0.7, 0.1, 0.1]
    rules = policy(risk={"maximum": 1, "weights": weights})
    release = releaser(version, rules).release(ask(version, "a,b,c"))
    released = release.table.values[release.table.inner]
    own = rules.default_tier.multiplier(3)
    assert own is not None
    gate = public_gate(released, (own.small, own.large), weights)
    assert isinstance(gate, SplitRisk)
    split, plain = (r.release(ask(version, "a,b,c")).record for r in (
        releaser(version, rules), releaser(version)
    ))  # fmt: skip
    assert split is not None
    assert plain is not None
    assert split.risk_public == pytest.approx(gate.value)
    assert split.risk_after is not None
    assert split.risk_before is not None
    assert split.risk_after <= split.risk_before != plain.risk_before
    below = policy(risk={"maximum": gate.value * (1 - 1e-9), "weights": weights})
    with pytest.raises(QueryRefused) as refusal:
        releaser(version, below).release(ask(version, "a,b,c"))
    assert refusal.value.code == "NOT_AVAILABLE"
    assert refusal.value.record.verdict == "RISK"


def test_the_gate_refuses_above_the_maximum_and_not_at_it(version: Version) -> None:
    answers = releaser(version)
    record = answers.release(ask(version, "a,b,c")).record
    assert record is not None
    assert record.risk_public is not None
    at = policy(risk={"maximum": record.risk_public})
    assert releaser(version, at).release(ask(version, "a,b,c"))
    below = policy(risk={"maximum": record.risk_public * (1 - 1e-9)})
    with pytest.raises(QueryRefused) as refusal:
        releaser(version, below).release(ask(version, "a,b,c"))
    assert refusal.value.code == "NOT_AVAILABLE"
    assert refusal.value.record.verdict == "RISK"


def test_other_rules_on_counts_judge_the_same_table_anew(version: Version, tmp_path: Path) -> None:
    """A policy that allows more finds the table that was refused, at no further look."""
    fine = ask(version, "a,b,c,g0")  # 720 cells of 4,000 people: guarded
    database = Database.of(tmp_path / "state.db")
    answers = []
    for least in (3_000, 1):
        rules = policy(counts=LENIENT | {"minimum_population": least})
        ledgers = Ledgers(version, rules, SECRET, database)
        answers.append(Releaser(version, ScanEngine(version), rules, SECRET, ledgers))
    with pytest.raises(QueryRefused) as refusal:
        answers[0].release(fine)
    assert refusal.value.code == "NOT_AVAILABLE"
    assert answers[1].release(fine)


def test_tables_made_together_are_those_made_alone(
    version: Version, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = {"space": {"guard_below": 50, "looks": 1}}  # of 4,000 people: more than 80 cells
    asked = [("a,b", "none"), ("b,c", "protected"), ("a", "none"), ("a,c,g0", "none")]
    alone = releaser(version, policy(**guard))
    together = releaser(version, policy(**guard), tmp_path / "records")
    writes, writing = list[str](), together.ledgers.database.writing

    def counted(dataset: str) -> Any:
        writes.append(dataset)
        return writing(dataset)

    monkeypatch.setattr(together.ledgers.database, "writing", counted)
    allowed = [together.check(ask(version, by), totals) for by, totals in asked]
    together.make_together([(one, None) for one in allowed])
    assert len(writes) == 1
    lines = (tmp_path / "records").read_text().splitlines()
    made = {json.loads(line)["question"] for line in lines}
    # The guarded one is left out: it would use a look. Those of totals are there.
    assert made == {"by=a,b", "by=b,c", "by=a", "by=b", "by=c", "by="}
    assert len(lines) == len(made)
    for one, (by, totals) in zip(allowed, asked, strict=True):
        release = alone.release(ask(version, by), totals)
        assert figures(together.answer(one)) == figures(release)
    assert len(writes) == 3  # the guarded one was claimed, and settled
    together.make_together([(one, None) for one in allowed])
    assert len(writes) == 3, "all is known"
    assert len((tmp_path / "records").read_text().splitlines()) == len(made) + 1


def test_what_cannot_be_made_together_leaves_the_others(
    version: Version, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, make = releaser(version), Releaser._make

    def fails(self: Releaser, making: Any, stop: Any) -> Any:
        if making.of.name == "a,b":
            raise InternalError("no memory")
        return make(self, making, stop)

    monkeypatch.setattr(Releaser, "_make", fails)
    allowed = [answers.check(ask(version, by)) for by in ("a,b", "b,c")]
    answers.make_together([(one, None) for one in allowed])
    ledger = answers.ledgers.of(allowed[0].tier)
    assert [ledger.decided(one.of) is None for one in allowed] == [True, False]
    with pytest.raises(InternalError, match="no memory"):
        answers.answer(allowed[0])
    answers.quiet.make_together([(allowed[0], None)])  # claims nothing: makes nothing
