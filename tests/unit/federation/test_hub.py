"""The hub through the whole pipeline, its sites in the same process, with faults between them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.errors import Forbidden, ParameterError, QueryRefused, Sealed, SitesUnavailable
from discreet.federation.link import Wrong
from discreet.federation.messages import Message
from discreet.federation.messages import answer as packed
from discreet.federation.start import start
from discreet.population.backup import backup, restore
from discreet.population.envelope import Passphrase
from discreet.population.keys import Secret
from discreet.query import Query, Question
from discreet.release.result import Release
from discreet.service.opened import Opened, open_store
from federations import (
    Federated,
    build_country,
    connect,
    copied,
    federate,
    make_federation,
    pooled,
)

Pass = Callable[[bytes], bytes]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Federated:
    return make_federation(tmp_path_factory.mktemp("north"))


@pytest.fixture
def north(made: Federated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Federated:
    return connect(monkeypatch, copied(made, tmp_path / "north"))


def ask(opened: Opened, by: str, where: str | None = None, totals: str = "none") -> Release:
    question = Question.of(Query.parse(by, where), opened.schema)
    return opened.releaser.release(question, totals)


def kind_of(raw: bytes) -> str:
    return str(Message.unpack(raw).statement["kind"])


# Combined tables


def test_a_joint_table_is_bit_for_bit_that_of_the_pooled_records(
    north: Federated, tmp_path: Path
) -> None:
    opened = north.open()
    stores = [held[0] for held in north.stores.values()]
    one = pooled(tmp_path / "pooled", stores, Secret.read(opened.store / "secret"))
    for by in ("sex", "health,age_band", "sex,age"):
        question = Question.of(Query.parse(by, None), opened.schema).ordered
        joint = opened.engine.tabulate(question)
        same = one.engine.tabulate(Question.of(Query.parse(question.by), one.schema)).dense()
        assert np.array_equal(joint.counts, same.counts)
        assert np.array_equal(joint.keys, same.keys)
        table, alone = ask(opened, by).table, ask(one, by).table
        assert np.array_equal(table.values, alone.values)
        assert not np.array_equal(table.values.ravel(), joint.counts.ravel()) or by == "sex"


def test_the_same_question_has_the_same_answer_after_both_sides_restarted(
    north: Federated,
) -> None:
    first = ask(north.open(), "age_band,health")
    north.begin()
    again = ask(north.open(), "age_band,health")
    assert np.array_equal(first.table.values, again.table.values)
    assert first.provenance == again.provenance


def test_no_message_of_a_round_holds_a_sites_counts(north: Federated) -> None:
    opened = north.open()
    ask(opened, "sex,age_band")
    for site, raw, found in north.seen:
        if kind_of(raw) != "masked":
            continue
        sent = np.frombuffer(Message.unpack(found).payload, "<u8")
        own = open_store(north.stores[site][0])
        counts = own.engine.tabulate(Question.of(Query.parse("sex,age_band"), own.schema)).counts
        # Masked values are uniform below 2^64: that one is below 2^32 has a chance of 2^-32.
        assert (sent >= 2**32).all()
        assert not np.isin(sent, counts).any()


def test_a_question_that_was_not_agreed_is_refused_before_any_site_is_asked(
    made: Federated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copied(made, tmp_path / "less").folder
    stores = {name: [folder / name / "store"] for name in made.stores}
    less = connect(monkeypatch, federate(folder, stores, 'combined = ["sex,age_band"]\n'))
    opened = less.open()
    less.seen.clear()
    with pytest.raises(QueryRefused) as refused:
        ask(opened, "sex,health")
    assert refused.value.code == "SITES"
    assert not less.seen
    assert ask(opened, "age_band").table.shape == (3,)  # below an agreed class


def test_a_veto_of_one_site_refuses_the_table_and_says_nothing_of_it(north: Federated) -> None:
    # At home 4,000 people in 800 cells are guarded with one look, and so are 160 cells.
    own = open_store(north.stores["borg"][0])
    ask(own, "sex,age,health")
    opened = north.open()
    with pytest.raises(QueryRefused) as refused:
        ask(opened, "sex,age,health")
    assert refused.value.code == "NOT_AVAILABLE"
    assert refused.value.record.verdict == "SITES"
    assert refused.value.record.risk_before is None
    outcomes = {name: site.record.asked()[-1].outcome for name, site in north.sites.items()}
    assert outcomes == {"aland": "answered", "borg": "VETO", "cove": "answered"}
    assert all(kind_of(raw) != "masked" for _, raw, _ in north.seen)  # nothing was counted


def test_a_joint_table_is_a_look_at_the_people_of_each_site(north: Federated) -> None:
    ask(north.open(), "sex,age,health")
    own = open_store(north.stores["cove"][0])
    with pytest.raises(QueryRefused) as refused:
        ask(own, "sex,age,health")
    assert refused.value.code == "USED_UP"
    told = CliRunner().invoke(app, ["ledger", str(own.store)]).output
    listed = [line.split() for line in told.splitlines()]
    assert ["sex,age,health", "800"] in listed  # 2 sexes, 80 ages, 5 kinds of health


# Sets of sites


def test_a_site_answers_for_one_set_of_sites_in_an_edition(north: Federated) -> None:
    ask(north.open(), "sex")
    folder = north.folder
    (folder / "hub.toml").write_text(
        (folder / "hub.toml").read_text() + "least_sites = 2\n", encoding="utf-8"
    )
    stores = north.stores
    fewer = federate(folder, stores, 'combined = ["sex,age,health"]\nleast_sites = 2\n')
    fewer.begin()
    north.sites = fewer.sites
    opened = fewer.open(without=["cove"])
    # The difference of the two sums would be the part of Cove, whatever the class.
    for by in ("sex", "age_band"):
        with pytest.raises(SitesUnavailable, match="another set of sites in this edition"):
            ask(opened, by)
    # The set stays what it was, and answers.
    assert ask(fewer.open(), "age_band").table.shape == (3,)


def test_a_new_edition_of_a_site_may_have_another_set(north: Federated, tmp_path: Path) -> None:
    ask(north.open(), "sex")
    for i, name in enumerate(("aland", "borg")):
        build_country(north.folder / name, name, seed=i + 11)
    fewer = federate(north.folder, north.stores, 'combined = ["sex,age,health"]\nleast_sites = 2\n')
    fewer.begin()
    north.sites = fewer.sites
    release = ask(fewer.open(without=["cove"]), "sex")
    assert release.table.shape == (2,)
    assert release.population == "People of the North (without Cove)"


def test_a_combined_table_is_the_same_after_a_site_was_left_out_for_a_while(
    north: Federated,
) -> None:
    fewer = federate(north.folder, north.stores, 'combined = ["sex,age,health"]\nleast_sites = 2\n')
    fewer.begin()
    north.sites = fewer.sites
    # The same totals must never have other noise: the mean of both would be nearer to the truth.
    before = ask(fewer.open(), "sex,age_band").table.values
    assert (fewer.file.store / "combined").stat().st_mode & 0o077 == 0
    assert fewer.open(without=["cove"]).version.edition == 2
    again = fewer.open()
    assert again.version.edition == 1
    assert np.array_equal(ask(again, "sex,age_band").table.values, before)


def test_an_edition_that_differs_in_few_records_is_refused_after_a_joint_table(
    north: Federated,
) -> None:
    # One in a hundred of 3,990 records, 39, must differ.
    ask(north.open(), "sex")
    with pytest.raises(ParameterError, match="at least 39 records"):
        build_country(north.folder / "cove", "cove", seed=3, less=10)


def test_the_least_number_of_sites_is_kept(north: Federated) -> None:
    with pytest.raises(ParameterError, match="at least 3 sites"):
        north.open(without=["cove"])


def test_a_site_that_goes_before_all_are_ready_fixes_nothing(north: Federated) -> None:
    opened = north.open()

    def gone(site: str, raw: bytes, answer: Pass) -> bytes:
        if site == "cove" and kind_of(raw) == "ready":
            raise Wrong("cannot be reached")
        return answer(raw)

    north.between = gone
    with pytest.raises(SitesUnavailable, match="Cove cannot be reached"):
        ask(opened, "sex")
    assert all(kind_of(raw) != "masked" for _, raw, _ in north.seen)
    for site in north.sites.values():
        assert site.record.answers_for(site._current().edition, ["any", "other", "set"])
    # No look was used, at home or at the hub: of this detail there is one.
    with pytest.raises(SitesUnavailable, match="Cove cannot be reached"):
        ask(opened, "sex,age,health")
    assert opened.ledger.entries() == []
    own = open_store(north.stores["borg"][0])
    assert ask(own, "sex,age,health").table.shape == (2, 80, 5)
    north.between = None
    assert ask(opened, "sex").table.shape == (2,)  # and nothing of the failure was kept


# Faults


def late_for(kind: str, fault: Callable[[Message, Pass, bytes], bytes]) -> Callable[..., bytes]:
    def between(site: str, raw: bytes, answer: Pass) -> bytes:
        if site != "borg" or kind_of(raw) != kind:
            return answer(raw)
        return fault(Message.unpack(raw), answer, raw)

    return between


def _tampered(message: Message, answer: Pass, raw: bytes) -> bytes:
    found = bytearray(answer(raw))
    found[-1] ^= 1
    return bytes(found)


def _cut(message: Message, answer: Pass, raw: bytes) -> bytes:
    return answer(raw)[:-8]


def _nothing(message: Message, answer: Pass, raw: bytes) -> bytes:
    return b""


def _slow(message: Message, answer: Pass, raw: bytes) -> bytes:
    answer(raw)
    raise Wrong("did not answer within 5 seconds")


@pytest.mark.parametrize("fault", [_tampered, _cut, _nothing, _slow])
def test_a_faulty_answer_is_named_and_nothing_is_combined(
    north: Federated, fault: Callable[[Message, Pass, bytes], bytes]
) -> None:
    opened = north.open()
    north.between = late_for("masked", fault)
    with pytest.raises(SitesUnavailable, match="Borg") as error:
        ask(opened, "sex")
    assert "Aland" not in str(error.value)
    assert not opened.releaser.tables.used
    north.between = None
    assert ask(opened, "sex").table.shape == (2,)


def test_an_answer_of_an_earlier_round_is_refused(north: Federated) -> None:
    opened = north.open()
    ask(opened, "sex")
    old = next(f for s, raw, f in north.seen if s == "borg" and kind_of(raw) == "masked")
    north.between = late_for("masked", lambda message, answer, raw: old)
    with pytest.raises(SitesUnavailable, match="to another request"):
        ask(opened, "age_band")


def test_a_site_that_was_restarted_in_a_round_is_named(north: Federated) -> None:
    opened = north.open()

    def restarted(message: Message, answer: Pass, raw: bytes) -> bytes:
        north.begin()
        return north.sites["borg"].answer(raw)

    north.between = late_for("masked", restarted)
    with pytest.raises(SitesUnavailable, match="Borg no longer has the key"):
        ask(opened, "sex")
    north.between = None
    assert ask(opened, "sex").table.shape == (2,)


def test_a_request_is_answered_once(north: Federated) -> None:
    ask(north.open(), "sex")
    for site, raw, _ in north.seen:
        with pytest.raises(Forbidden):
            north.sites[site].answer(raw)
    assert north.sites["aland"].record.turned_away() == {"seen before": 3}


def test_the_answers_of_a_round_cannot_be_had_twice(north: Federated) -> None:
    # A hub that signs the second half of a round once more: the site's key is used up.
    opened = north.open()

    def twice(message: Message, answer: Pass, raw: bytes) -> bytes:
        answer(raw)
        from discreet.federation.messages import request

        said = message.statement
        again = request(north.hub, said["document"], "borg", "masked", said["body"], said["time"])
        found = Message.unpack(north.sites["borg"].answer(again.pack()))
        assert found.body == {"code": "ROUND"}
        return found.pack()

    north.between = late_for("masked", twice)
    with pytest.raises(SitesUnavailable, match="Borg"):
        ask(opened, "sex")


def test_another_version_of_a_site_is_named_and_a_new_start_makes_a_new_edition(
    north: Federated,
) -> None:
    opened = north.open()
    before = ask(opened, "sex,age_band").table.values
    build_country(north.folder / "borg", "borg", seed=12)
    with pytest.raises(SitesUnavailable, match="Borg has another version"):
        ask(opened, "health")
    again = north.open()
    assert again.version.edition == opened.version.edition + 1
    assert not np.array_equal(ask(again, "sex,age_band").table.values, before)


def test_a_site_with_another_policy_is_named(north: Federated) -> None:
    opened = north.open()
    build_country(north.folder / "borg", "borg", seed=2, policy="preset:rounding-3")
    told = "Borg has variables or a policy that no longer fit the document"
    with pytest.raises(SitesUnavailable, match=told):
        ask(opened, "health")
    assert start(north.file).notes[0] == f"{told}."


# Tables by country


def test_countries_are_side_by_side_as_each_protects_at_home(north: Federated) -> None:
    opened = north.open("countries")
    release = ask(opened, "age_band,country,health")
    assert release.table.dimensions[1].labels == ("Aland", "Borg", "Cove")
    for i, held in enumerate(north.stores.values()):
        own = ask(open_store(held[0]), "age_band,health").table
        assert np.array_equal(release.table.values[:, i], own.values)


def test_sums_over_countries_are_sums_of_published_figures_and_say_so(north: Federated) -> None:
    opened = north.open("countries")
    table = ask(opened, "age_band,country", totals="summed").table
    assert np.array_equal(table.values[:-1, -1], table.values[:-1, :-1].sum(axis=1))
    assert table.parts is not None
    assert table.parts[:-1, -1].tolist() == [3, 3, 3]
    two = ask(opened, "age_band", "country=aland|cove").table
    assert np.array_equal(two.values, table.values[:-1, 0] + table.values[:-1, 2])


def test_the_hub_asks_for_no_true_count_by_country(north: Federated) -> None:
    opened = north.open("countries")
    ask(opened, "sex,country")
    assert {kind_of(raw) for _, raw, _ in north.seen} == {"state", "figures"}
    with pytest.raises(ParameterError, match="do not tell true counts"):
        opened.engine.tabulate(Question.of(Query.parse("sex,country"), opened.schema))


def test_a_country_that_refuses_is_withheld_and_named(north: Federated) -> None:
    own = open_store(north.stores["borg"][0])
    ask(own, "sex,age")  # its one look at this detail
    release = ask(north.open("countries"), "sex,age,health,country", totals="summed")
    assert [one.code for one in release.withheld] == ["borg"]
    assert release.table.withheld[:, :, :, 1].all()
    assert release.table.withheld[..., -1].all()  # no sum without it
    assert not release.table.withheld[:-1, :-1, :-1, 0].any()


def test_a_question_without_country_is_sent_to_the_combined_data_set(north: Federated) -> None:
    with pytest.raises(QueryRefused, match="data set 'north'"):
        ask(north.open("countries"), "sex")


def test_a_site_that_protects_otherwise_is_marked_and_never_added_up(
    made: Federated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copied(made, tmp_path / "otherwise").folder
    build_country(folder / "other", "cove", seed=3, policy="preset:rounding-3")
    stores = {name: [folder / name / "store"] for name in ("aland", "borg")}
    stores["cove"] = [folder / "other" / "store"]
    text = 'combined = ["sex,age"]\ncomparative = ["sex,age,health"]\nleast_sites = 2\n'
    with pytest.raises(ParameterError, match=r"tiers\.public\.protection\.method"):
        federate(folder, stores, text)
    mixed = connect(monkeypatch, federate(folder, stores, text, own=["cove"]))
    opened = mixed.open("countries")
    release = ask(opened, "age_band,country")
    labels = release.table.dimensions[1].labels
    assert labels == ("Aland", "Borg", "Cove (protected otherwise)")
    for by, where, totals in (
        ("age_band,country", None, "summed"),
        ("age_band", "country=aland|cove", "none"),
    ):
        with pytest.raises(QueryRefused) as refused:
            ask(opened, by, where, totals)
        assert refused.value.code == "MIXED"
    assert ask(opened, "age_band", "country=cove").table.shape == (3,)
    assert ask(opened, "age_band", "country=aland|borg").table.shape == (3,)
    assert mixed.open().schema.title == "People of the North (without Cove)"
    assert "cove" not in mixed.open().engine.pins.sites  # type: ignore[union-attr]


def test_the_ledger_of_the_hub_holds_its_joint_tables(north: Federated) -> None:
    opened = north.open()
    ask(opened, "sex,age_band")
    entries = opened.ledger.entries()
    assert [entry.route.source.name for entry in entries] == ["sex,age_band"]
    lines = (opened.store / "records").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert [record["question"] for record in records] == ["by=sex,age_band"]


def test_info_tells_the_version_of_each_site(north: Federated) -> None:
    opened = north.open()
    told = CliRunner().invoke(app, ["info", str(opened.store)]).output.splitlines()
    assert told[1].startswith("12,000 persons, built ")  # three times 4,000, as published
    versions = [site._current().version for site in north.sites.values()]
    named = zip(("Aland", "Borg", "Cove"), versions, strict=True)
    assert told[2:5] == [f"At {name}: {version}" for name, version in named]


# Figures that cannot be


def mixed_federation(made: Federated, folder: Path, common: str, other: str) -> Federated:
    """Aland and Borg under one policy, Cove under another."""
    stores = {}
    for i, name in enumerate(("aland", "borg", "cove")):
        policy = other if name == "cove" else common
        stores[name] = [build_country(folder / name, name, seed=i + 1, policy=policy)]
    text = 'combined = ["sex,age"]\ncomparative = ["sex,age,health"]\nleast_sites = 2\n'
    return federate(folder, stores, text, own=["cove"])


def test_of_figures_protected_differently_no_quality_is_told(
    made: Federated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Under rounding to base 3 no figure is 1 or 2; under cell keys of Cove some are. The chances of
    # the one method say nothing of the figures of the other.
    north = mixed_federation(made, tmp_path, "preset:rounding-3", "preset:cell-keys")
    opened = connect(monkeypatch, north).open("countries")
    release = ask(opened, "sex,age,health,country")
    assert (release.table.values[..., 2] % 3 != 0).any()
    assert release.public_quality.score is release.public_quality.largest_change is None
    assert "each office protects its own" in " ".join(release.public_quality.sentences)
    assert "each office protects its own" in " ".join(release.notes)
    assert release.table.low is None
    combined = north.open()
    assert ask(combined, "sex").population == "People of the North (without Cove)"


@pytest.mark.parametrize(
    ("figure", "told"),
    [
        (1, "common method cannot make"),  # rounding to base 3 makes no 1
        (2**62, "not those of its population"),
        (-3, "not those of its population"),
    ],
)
def test_an_impossible_figure_names_the_site_and_nothing_is_released(
    made: Federated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, figure: int, told: str
) -> None:
    north = mixed_federation(made, tmp_path, "preset:rounding-3", "preset:cell-keys")
    opened = connect(monkeypatch, north).open("countries")

    def faulty(message: Message, answer: Pass, raw: bytes) -> bytes:
        found = Message.unpack(answer(raw))
        payload = np.array([figure], "<i8").tobytes() + found.payload[8:]
        signer = north.sites["borg"].signer
        return packed(signer, message, "figures", found.body, payload).pack()

    north.between = late_for("figures", faulty)
    with pytest.raises(SitesUnavailable, match=f"Borg sent figures that .*{told}"):
        ask(opened, "sex,country")
    assert not (opened.store / "records").exists()


def test_a_sum_larger_than_the_population_is_refused(north: Federated) -> None:
    # A site that lies in a sum cannot be named: its part is not known.
    opened = north.open()

    def faulty(message: Message, answer: Pass, raw: bytes) -> bytes:
        found = Message.unpack(answer(raw))
        words = np.frombuffer(found.payload, "<u8").copy()
        words[0] += np.uint64(30_000)  # of 12,000 people
        signer = north.sites["borg"].signer
        return packed(signer, message, "masked", found.body, words.tobytes()).pack()

    north.between = late_for("masked", faulty)
    with pytest.raises(SitesUnavailable, match="One of the sites sent figures"):
        ask(opened, "sex")


def test_true_totals_are_not_tabulated_at_a_hub(north: Federated) -> None:
    opened = north.open()
    north.seen.clear()
    told = CliRunner().invoke(app, ["tabulate", str(opened.store), "--by", "sex"])
    assert "must have records of its own" in str(told.exception)
    assert not north.seen


@pytest.mark.parametrize("body", [{}, {"version": 5, "edition": "borg:1"}, {"version": "x"}])
def test_a_site_that_tells_no_version_is_named(north: Federated, body: dict[str, object]) -> None:
    def odd(message: Message, answer: Pass, raw: bytes) -> bytes:
        return packed(north.sites["borg"].signer, message, "state", body).pack()

    north.between = late_for("state", odd)
    with pytest.raises(SitesUnavailable, match="Borg sent something that is no answer"):
        north.open()


# What a hub makes once


@pytest.mark.parametrize(
    ("lost", "told"),
    [
        ("combined/CURRENT", "It holds the name of the newest version"),
        ("combined/secret", "new noise on the same totals"),
        ("countries/signing.key", "would not be known as this hub's"),
        ("signing.key", r"Copy .*/hub\.key there"),
    ],
)
def test_what_a_hub_made_once_is_not_made_anew(north: Federated, lost: str, told: str) -> None:
    ask(north.open(), "sex")
    hub = north.file.store
    before = {path: path.read_bytes() for path in hub.rglob("*") if path.is_file()}
    (hub / lost).unlink()
    with pytest.raises(Sealed, match=told) as refused:
        start(north.file)
    assert "discreet build" not in str(refused.value)
    assert not (hub / lost).exists()
    assert all(path.read_bytes() == before[path] for path in hub.glob("*/secret"))
    if lost == "signing.key":
        (hub / lost).write_bytes((hub / "combined" / "hub.key").read_bytes())
    else:
        (hub / lost).write_bytes(before[hub / lost])
    (hub / lost).chmod(0o600)
    start(north.file)


def test_the_public_half_of_a_key_is_written_again(north: Federated) -> None:
    north.open()
    halves = [north.file.store / each / "signing.pub" for each in (".", "combined")]
    before = [half.read_bytes() for half in halves]
    for half in halves:
        half.unlink()
    start(north.file)
    assert [half.read_bytes() for half in halves] == before


def test_the_backup_of_a_hubs_store_holds_the_hubs_key(north: Federated, tmp_path: Path) -> None:
    north.open()
    hub, words = north.file.store, Passphrase("correct horse battery")
    backup(hub / "combined", tmp_path / "b", words)
    restore(tmp_path / "b", tmp_path / "again", words)
    assert (tmp_path / "again" / "hub.key").read_bytes() == (hub / "signing.key").read_bytes()
