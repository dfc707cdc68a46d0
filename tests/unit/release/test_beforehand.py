"""Stores protected before any table: what is measured from what, and policies of nothing else."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import discreet as dc
from applications import serving
from discreet import risk
from discreet.build import build
from discreet.cli import main
from discreet.errors import Damaged, ParameterError, QueryRefused
from discreet.policy import explain, parse_policy
from discreet.population import Store, Version, state
from discreet.population import manifest as manifests
from discreet.population.intact import checksum
from discreet.population.keys import Secret
from discreet.query import Question, QuestionClass
from discreet.release import Releaser
from discreet.release.beforehand import swap_rate
from discreet.release.measures import after_beforehand, multiplier
from discreet.tabulate import ScanEngine
from populations import ask

DESCRIPTION = """
id = "people"
title = "People"
policy = "policy.toml"
source = { files = "p.parquet", record_id = "id", household_id = "home" }
[variables]
sex = { range = [1, 2] }
religion = { range = [0, 3] }
[[geography]]
id = "oa"
column = "oa"
[[geography]]
id = "la"
column = "la"
"""
SWAP = '[[protect]]\nmethod = "record-swapping"\nrate = 0.2\nwithin = "la"\nmatch = ["members"]\n'
PRAM = '[[protect]]\nmethod = "pram"\nvariable = "religion"\nstay = 0.6\n'
LENIENT = {
    "minimum_population": 1, "minimum_mean": 0, "max_small": 1, "max_ones_of_populated": 1,
    "max_small_of_populated": 1, "max_single_lines": 1,
}  # fmt: skip
BEFOREHAND = {"method": "none", "place": "input", "margins": "summed"}
ROUNDED = {"method": "random-rounding", "place": "both"}


def values(protection: dict[str, Any], **risk_rules: Any) -> dict[str, Any]:
    tier = {"counts": LENIENT, "protection": protection, "risk": {"maximum": 1.0} | risk_rules}
    return {"version": "t", "minimum_population": 1, "tiers": {"public": tier}}


def people() -> dict[str, NDArray[np.int64]]:
    """Households of one to three in 12 areas of 3 larger ones; religion 3 is at home in area 0."""
    rng = np.random.default_rng(5)
    home = np.repeat(np.arange(1500), rng.integers(1, 4, 1500))
    oa = rng.integers(0, 12, 1500)[home]
    usual = rng.choice(3, len(home), p=[0.7, 0.25, 0.05])
    religion = np.where((oa == 0) & (rng.random(len(home)) < 0.7), 3, usual)
    sex = rng.integers(1, 3, len(home))
    return {"id": np.arange(len(home)), "home": home, "oa": oa, "la": oa // 4, "sex": sex,
            "religion": religion}  # fmt: skip


def counted(*names: str) -> NDArray[np.int64]:
    """Count the people as they were written down, with nothing of the program's."""
    held = people()
    codes = [held[name] - held[name].min() for name in names]
    shape = tuple(int(code.max()) + 1 for code in codes)
    cells = np.ravel_multi_index(codes, shape)
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)


def toml(held: dict[str, Any], head: str = "") -> str:
    """The values of a policy as a file."""
    plain = {k: v for k, v in held.items() if not isinstance(v, dict)}
    lines = [f"[{head}]"] if head else []
    lines += [f"{k} = {json.dumps(v)}" for k, v in plain.items()]
    inner = [toml(v, f"{head}.{k}" if head else k) for k, v in held.items() if isinstance(v, dict)]
    return "\n".join([*lines, *inner])


def make(folder: Path, steps: str, policy: dict[str, Any], **options: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(people()), folder / "p.parquet")
    (folder / "policy.toml").write_text(toml(policy), encoding="utf-8")
    (folder / "dataset.toml").write_text(DESCRIPTION + steps, encoding="utf-8")
    build(folder / "dataset.toml", folder / "store", views=0, **options)
    return folder / "store"


@pytest.fixture(scope="module")
def swapped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose tables are left alone, its originals in the folder `kept-apart`."""
    folder = tmp_path_factory.mktemp("swapped")
    return make(folder, SWAP, values(BEFOREHAND), originals=folder / "kept-apart")


def kept(store: Path) -> Path:
    return store.parent / "kept-apart"


def releaser(store: Path, policy: dict[str, Any], version: Version | None = None) -> Releaser:
    found = version or Store(store).open()
    rules = parse_policy(policy, "policy", "policy")
    return Releaser.alone(found, ScanEngine(found), rules, Secret(bytes(32)), None)


def question(store: Path, by: str) -> Question:
    return ask(Store(store).open(), by)


def record(release: dc.Release) -> Any:
    assert release.record is not None
    return release.record


# What is measured from what.


def test_a_record_says_what_it_is_measured_from(swapped: Path, tmp_path: Path) -> None:
    plain = make(tmp_path, "", values({"method": "random-rounding"}))
    assert record(dc.open(plain).release("sex")).measured_from == "original records"
    assert record(dc.open(swapped).release("sex")).measured_from == "protected records"
    told = record(dc.open(swapped, kept(swapped)).release("sex"))
    assert told.measured_from == told.as_dict()["measured_from"] == "original records"


def test_risk_and_utility_are_of_the_whole_way_from_the_originals(swapped: Path) -> None:
    true = counted("oa", "religion")
    release = dc.open(swapped, kept(swapped)).release("oa,religion")
    released = release.table.values
    assert not np.array_equal(true, released)
    told = record(release)
    # The definitions: HD = √(½·Σ(√F − √G)²), closeness 1 − HD/√N, AAD = Σ|G − F|/K.
    distance = np.sqrt(((np.sqrt(true) - np.sqrt(released)) ** 2).sum() / 2)
    assert told.utility["hellinger"] == pytest.approx(distance)
    assert told.utility["score"] == pytest.approx(1 - distance / np.sqrt(true.sum()))
    assert told.utility["average_absolute"] == pytest.approx(np.abs(released - true).mean())
    assert told.risk_before == pytest.approx(float(risk.before(true)))
    rate = Store(swapped).open().swap_rate("oa")
    assert told.risk_after == pytest.approx(float(risk.after_swapping(true, released, rate)))
    # Another order of the variables is the same table.
    turned = record(dc.open(swapped, kept(swapped)).release("religion,oa"))
    assert turned.utility["hellinger"] == pytest.approx(distance)
    # From the protected records nothing was changed.
    assert record(dc.open(swapped).release("oa,religion")).utility["hellinger"] == 0


def test_originals_change_the_record_and_nothing_else(swapped: Path, tmp_path: Path) -> None:
    # Each with a ledger of its own: a table is recorded when it is first made.
    stores = [Path(shutil.copytree(swapped, tmp_path / name)) for name in ("one", "two")]
    for store in stores:
        for name in ("records", state.FILE, state.MARK):
            (store / name).unlink(missing_ok=True)
        state.make(store)
    one = dc.open(stores[0]).release("oa,religion", totals="summed")
    two = dc.open(stores[1], kept(swapped)).release("oa,religion", totals="summed")
    assert np.array_equal(one.table.values, two.table.values)
    assert (one.notes, one.public_quality, one.hints) == (two.notes, two.public_quality, two.hints)
    # The log lies in the store, which a server reads: nothing measured from originals goes there.
    lines = [json.loads((store / "records").read_text()) for store in stores]
    assert [line["measured_from"] for line in lines] == ["protected records"] * 2
    told = [{**line, "time": "", "checksum": ""} for line in lines]
    assert told[0] == told[1]


def test_a_refusal_has_the_record_of_the_whole_way_too(tmp_path: Path) -> None:
    store = make(tmp_path, SWAP, values(BEFOREHAND, maximum=0.0), originals=tmp_path / "kept-apart")
    with pytest.raises(QueryRefused) as refused:
        dc.open(store, kept(store)).release("oa,religion")
    assert refused.value.record is not None
    assert refused.value.record.verdict == "RISK"
    assert refused.value.record.measured_from == "original records"
    assert refused.value.record.utility["hellinger"] > 0


def test_figures_that_the_table_method_alone_cannot_make_of_the_originals(tmp_path: Path) -> None:
    """PRAM moves counts by far more than rounding does: the risk after is still a number."""
    store = make(tmp_path, PRAM + SWAP, values(ROUNDED), originals=tmp_path / "kept-apart", keep=1)
    release = dc.open(store, kept(store)).release("la,religion")
    assert np.abs(release.table.values - counted("la", "religion")).max() > 3
    told = record(release)
    assert 0 < told.risk_after <= told.risk_before
    assert told.utility["hellinger"] > 0


def test_originals_must_be_those_of_the_version(swapped: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="holds no originals of version"):
        dc.open(swapped, tmp_path)
    copy = tmp_path / "copy"
    shutil.copytree(kept(swapped), copy)
    copy.chmod(0o755)
    with pytest.raises(ParameterError, match=r"must be open to its owner only \(mode 700\)"):
        dc.open(swapped, copy)
    copy.chmod(0o700)
    assert record(dc.open(swapped, copy).release("sex")).measured_from == "original records"
    (schema,) = copy.rglob("schema.json")
    schema.write_text(schema.read_text().replace("religion", "religiom"))
    with pytest.raises(Damaged, match=r"schema\.json is damaged"):
        dc.open(swapped, copy)
    # The same of another build: whole, and not of this version.
    said = manifests.read(schema.parent)
    facts = {**said["files"]["schema.json"], "blake2b": checksum(schema)}
    manifests.write(schema.parent, {**said, "files": {**said["files"], "schema.json": facts}})
    with pytest.raises(ParameterError, match="is not of the version"):
        dc.open(swapped, copy)


def test_the_command_measures_from_originals(
    swapped: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*given: str) -> tuple[str, str]:
        command = ["discreet", "table", str(swapped), "--by", "oa,sex", *given]
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit):
            main()
        shown = capsys.readouterr()
        return shown.out, shown.err

    out, _ = run("--record", "--originals", str(kept(swapped)))
    told = json.loads(out[out.index("{") :])
    assert told["measured_from"] == "original records"
    assert told["utility"]["hellinger"] > 0
    out, _ = run("--record")
    assert json.loads(out[out.index("{") :])["measured_from"] == "protected records"
    assert "--originals is for the record" in run("--originals", str(kept(swapped)))[1]


# A server never opens the originals.

WATCHED = """
import json, os, sys
from pathlib import Path
store, kept, tests, custodian = sys.argv[1:5]
touched = []
def hook(event, args):
    for given in args:
        if isinstance(given, (str, bytes, os.PathLike)) and kept in os.fsdecode(given):
            touched.append(event)
sys.addaudithook(hook)
sys.path.insert(0, tests)
from applications import serving
urls = ("/api/v1/datasets/people/table?by=oa,religion&format=csv", "/datasets/people",
        "/datasets/people/method", "/datasets/people/table?by=oa,religion", "/api/v1/datasets")
with serving([Path(store)]) as client:
    answers = [client.get(url) for url in urls]
served = list(touched)
if custodian == "yes":
    import discreet
    discreet.open(store, kept).release("oa,religion")
print(json.dumps({"codes": [a.status_code for a in answers], "table": answers[0].text,
                  "served": served, "custodian": touched[len(served):]}))
"""


def watched(store: Path, folder: Path, custodian: bool) -> Any:
    tests = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(store), str(folder), str(tests),
         "yes" if custodian else "no"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_a_server_opens_nothing_of_the_originals_and_needs_none(tmp_path: Path) -> None:
    store = make(tmp_path, SWAP, values(BEFOREHAND), originals=tmp_path / "kept-apart")
    there = watched(store, kept(store), custodian=True)
    assert there["codes"] == [200] * 5
    assert there["served"] == []
    assert "open" in there["custodian"]  # the hook sees what it watches for
    for path in kept(store).rglob("*"):
        path.chmod(0)
    kept(store).chmod(0)
    locked = watched(store, kept(store), custodian=False)
    kept(store).chmod(0o700)
    shutil.rmtree(kept(store))
    gone = watched(store, kept(store), custodian=False)
    for found in (locked, gone):
        assert found["codes"] == [200] * 5
        assert found["served"] == []
        assert figures(found["table"]) == figures(there["table"])


def figures(csv: str) -> list[str]:
    return [line for line in csv.splitlines() if line[:1].isdigit()]


# Policies that leave tables alone.


def test_figures_are_counts_of_altered_records_and_add_up(swapped: Path) -> None:
    population = dc.open(swapped)
    small = population.release("oa,religion", totals="summed")
    large = population.release("la,religion")
    inner = small.table.values[:-1, :-1]
    assert np.array_equal(inner.reshape(3, 4, 4).sum(axis=1), large.table.values)
    # Within larger areas a swap changes nothing.
    assert np.array_equal(large.table.values, counted("la", "religion"))
    assert not np.array_equal(inner, counted("oa", "religion"))
    for release in (small, large):
        assert any("altered before any table" in note for note in release.notes)
        assert any("add up, in a table and between tables" in note for note in release.notes)
        assert not any("perturbed" in note for note in release.notes)
        told = release.public_quality
        assert told.altered
        assert told.score is told.unchanged is told.zeros_true is told.small_true is None
        # Of the larger areas the figures are true: nothing may say that they are altered.
        assert told.sentences == (
            "Figures are counts of the altered records, and were not altered further.",
            "How close they are to counts of the records before is not told.",
        )


@pytest.mark.parametrize("form", ["json-stat", "csv-layout", "px", "sdmx-ml", "html"])
def test_files_say_that_figures_add_up(swapped: Path, tmp_path: Path, form: str) -> None:
    query = question(swapped, "oa,religion")
    releaser(swapped, values(BEFOREHAND)).release(query).write(tmp_path / "left", form)
    releaser(swapped, values(ROUNDED)).release(query).write(tmp_path / "rounded", form)
    left, rounded = ((tmp_path / name).read_bytes() for name in ("left", "rounded"))
    assert b"perturbed and need not add up" not in left
    assert b"perturbed and need not add up" in rounded
    if form == "px":
        assert b"AGGREGALLOWED=YES;" in left
        assert b"AGGREGALLOWED=NO;" in rounded


def entropy_term(counts: NDArray[np.int64]) -> float:
    share = counts[counts > 0] / counts.sum()
    return float(1 + (share * np.log(share)).sum() / np.log(counts.size))


@pytest.mark.parametrize(("by", "crossed"), [("oa,religion", True), ("la,religion", False)])
def test_the_public_gate_has_the_multiplier_of_the_swap(
    swapped: Path, by: str, crossed: bool
) -> None:
    release = releaser(swapped, values(BEFOREHAND)).release(question(swapped, by))
    table = release.table.values
    # A fifth of the households is to move, and some people more or less live in them: whole
    # percents, rounded down. Nobody leaves a larger area.
    exact = Store(swapped).open().swap_rate("oa")
    assert exact == pytest.approx(0.2, abs=0.02)
    psi = 1 - np.floor(100 * exact) / 100 if crossed else 1.0
    n = table.sum()
    terms = ((table == 0).mean(), psi * entropy_term(table), (1 + np.log(n) / 2) / np.sqrt(n))
    bound = 0.1 * terms[0] + 0.8 * terms[1] + 0.1 * terms[2]
    assert record(release).risk_public == pytest.approx(bound)
    # The gate itself, on either side of it.
    releaser(swapped, values(BEFOREHAND, maximum=bound + 1e-9)).release(question(swapped, by))
    with pytest.raises(QueryRefused) as refused:
        releaser(swapped, values(BEFOREHAND, maximum=bound - 1e-9)).release(question(swapped, by))
    assert refused.value.record.verdict == "RISK"


def test_the_multiplier_of_a_policy_is_of_its_table_method() -> None:
    both = parse_policy(values(ROUNDED, multiplier=0.4), "policy", "policy")
    assert multiplier(np.array([3, 6, 0]), both.default_tier, swap_rate=0.2) == 0.4


@pytest.mark.parametrize(
    ("by", "where", "level"),
    [
        ("oa", None, "oa"),
        ("oa,sex", "la=1", "oa"),
        ("la", None, "la"),
        ("sex", None, None),
        ("sex", "oa=3", "oa"),
        ("sex", "la=1", "la"),
        ("sex", "oa=4|5|6|7", "la"),  # the whole of area 1 by another name
        ("sex", "oa=3|4", "oa"),  # sums of the figures of two areas
        ("la", "oa=3", "oa"),
    ],
)
def test_a_swap_counts_where_it_crosses_the_areas_of_the_table(
    swapped: Path, by: str, where: str | None, level: str | None
) -> None:
    version = Store(swapped).open()
    question = QuestionClass.of(ask(version, by, where)).question
    expected = 0.0 if level is None else version.swap_rate(level)
    assert swap_rate(version, question) == expected
    assert (expected > 0) is (level == "oa")


def test_risk_is_unknown_where_records_were_altered_in_other_ways() -> None:
    rules = parse_policy(values(BEFOREHAND), "policy", "policy").default_tier.risk
    table = np.array([4, 3, 2, 1])
    assert after_beforehand(table, table, 0.0, rules) == float(risk.before(table))
    assert after_beforehand(table, table[::-1], 0.0, rules) is None
    left = after_beforehand(table, table, 1.0, rules)
    assert left is not None
    assert 0 < left < float(risk.before(table))


@pytest.mark.parametrize("names", [[], None])
def test_a_store_that_was_not_protected_is_refused_at_release(
    swapped: Path, names: list[str] | None
) -> None:
    version = Store(swapped).open()
    manifest = {**version.manifest, "protected_beforehand": names}
    with pytest.raises(QueryRefused) as refused:
        releaser(swapped, values(BEFOREHAND), replace(version, manifest=manifest)).release(
            ask(version, "sex")
        )
    assert refused.value.code == "NOT_PROTECTED"


def test_a_store_that_was_not_swapped_is_refused_at_release(tmp_path: Path) -> None:
    store = make(tmp_path, PRAM, values(ROUNDED))
    assert releaser(store, values(ROUNDED)).release(question(store, "sex"))
    with pytest.raises(QueryRefused) as refused:
        releaser(store, values(BEFOREHAND)).release(question(store, "sex"))
    assert refused.value.code == "NOT_PROTECTED"


@pytest.mark.parametrize(
    ("steps", "protection", "sentence"),
    [
        ("", BEFOREHAND, "needs records that are protected before any table"),
        ("", ROUNDED, "needs records that are protected before any table"),
        (PRAM, BEFOREHAND, "must have record-swapping, whose risk is known, or base. Got pram."),
        # Nobody has a like elsewhere: the home is matched, which is one household.
        (SWAP.replace('"members"', '"house"'), BEFOREHAND, "no household was swapped"),
    ],
)
def test_what_a_policy_relies_on_must_be_described_and_done(
    tmp_path: Path, steps: str, protection: dict[str, Any], sentence: str
) -> None:
    house = '[variables]\nhouse = { column = "home", range = [0, 1499] }\n'
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "DESCRIPTION", DESCRIPTION.replace("[variables]\n", house))
        with pytest.raises(ParameterError) as refused:
            make(tmp_path, steps, values(protection))
    assert sentence in str(refused.value)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("protection", "sentence"),
    [
        ({"place": "input"}, "place must be 'both' with the method 'random-rounding'"),
        ({"method": "none", "place": "input"}, "margins must be 'summed' or 'none'"),
        ({"method": "none", "place": "both", "margins": "summed"}, "must have a method"),
        ({"method": "none", "margins": "summed"}, "must have a method"),
    ],
)
def test_mistakes_of_a_policy(protection: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError) as refused:
        parse_policy(values(protection), "policy", "policy")
    assert sentence in str(refused.value)


def test_the_policy_in_sentences() -> None:
    said = explain(parse_policy(values(BEFOREHAND), "policy", "policy"))
    for sentence in (
        "Records are altered before any table is made, when the store is built; a store whose "
        "records were neither swapped nor replaced by a protected base is refused.",
        "Figures are counts of the altered records, and are left as they are: they add up",
        "Totals are sums.",
        "measured from the released figures and the share of records that were swapped out of the "
        "areas of the table; no table is refused for it.",
    ):
        assert sentence in said
    for wrong in ("invented figures", "Every figure is protected", "noise"):
        assert wrong not in said


def test_the_pages_say_so_too(swapped: Path) -> None:
    with serving([swapped]) as client:
        client.publish("/datasets/people/table?by=oa,religion")
        for page in ("", "/table?by=oa,religion", "/method"):
            text = client.get(f"/datasets/people{page}").text
            assert "counts of the altered records" in text
            for wrong in ("invented", "as counted", "changed by a few, up or down"):
                assert wrong not in text
