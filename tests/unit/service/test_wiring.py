"""What a service hands out and keeps: signed files, bare refusals, nothing of an old version."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from applications import serving
from discreet.build import build
from discreet.errors import QueryRefused
from discreet.release import told
from discreet.release.formats import to_bytes
from discreet.release.result import Release
from discreet.release.signature import read_public_key
from discreet.release.steps import Allowed
from discreet.release.verify import verify
from discreet.service import Limits, Service, open_store, service
from discreet.service.asked import Asked
from discreet.service.lanes import Lane
from stores import build_town, write_town

TABLE = "/api/v1/datasets/town/table"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("town")
    return build_town(folder / "data", folder / "store", rows=5_000)


@pytest.mark.parametrize(("format", "name"), [("csv", "t.csv"), ("json-stat", "t.json")])
def test_served_files_are_signed(store: Path, tmp_path: Path, format: str, name: str) -> None:
    with serving([store]) as client:
        answer = client.get(f"{TABLE}?by=sex,health&format={format}")
        (tmp_path / name).write_bytes(answer.content)
        if format == "csv":
            beside = client.get(f"{TABLE}/meta?by=sex,health&format=csv")
            (tmp_path / f"{name}.meta.json").write_bytes(beside.content)
    assert verify(tmp_path / name, read_public_key(store / "signing.pub")).genuine


def test_a_refusal_is_kept_without_its_record(store: Path) -> None:
    """The record has the exact risk, and why: it is for the custodian's log alone."""
    with serving([store]) as client:
        assert client.get(f"{TABLE}?by=health,rare").status_code == 403
        service = client.service
        held = service.cache.get(service.ask("town", "health,rare").key)
        assert isinstance(held, QueryRefused)
        assert held.record is None
        assert held.__cause__ is None
        assert held.__context__ is None


def test_a_refusal_takes_the_steps_of_a_release(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made-up figures are written, signed by nobody's key, and nobody sees them."""
    written: list[Release] = []

    def noted(release: Release, format: str) -> bytes:
        written.append(release)
        return to_bytes(release, format)

    with serving([store]) as client:
        monkeypatch.setattr(service, "to_bytes", noted)
        client.service.cache.forget(client.service.opened("town").version.id)
        answer = client.get(f"{TABLE}?by=health,rare&format=csv")
        assert answer.status_code == 403
        assert [one.proof is not None for one in written] == [True]
        made_up = written[0]
        assert made_up.signer is not None
        assert made_up.signer.public != client.service.opened("town").signer.public
        # The same figures for every question of this shape: nothing in them was counted.
        cells = made_up.table.values.ravel()
        assert 3 * 24 * cells.size > 5_000  # too few people in a cell for larger figures
        assert cells.tolist() == (3 * (np.arange(cells.size) % 25)).tolist()
        assert client.get(f"{TABLE}?by=health,rare&format=csv").status_code == 403
        assert len(written) == 1  # what is kept is told at once, refused or released
        assert not (made_up.record and made_up.record.question)


def test_a_refusal_is_checked_once_as_a_release_is(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is its made-up table made anew for every part of it: that of a release is kept too."""
    checked: list[str] = []
    with serving([store]) as client:
        found, allowed = client.service, client.service.allowed

        def noted(asked: Asked) -> Allowed:
            checked.append(asked.question.canonical)
            return allowed(asked)

        monkeypatch.setattr(found, "allowed", noted)
        for rare in ("0", "1"):
            assert client.get(f"{TABLE}?by=health&where=rare={rare}").status_code == 403
        assert client.get(f"{TABLE}?by=health&where=sex=1").status_code == 200
        assert len(checked) == len(set(checked)) == 3
        made_up = found.opened("town").releaser.made_up
        assert len(made_up._held) == 1


def test_the_answer_typed_as_before_is_of_the_new_version(tmp_path: Path) -> None:
    """All that is kept of a version goes with it: the figures, and how questions were typed."""
    store = build_town(tmp_path, tmp_path / "store", rows=5_000)
    with serving([store]) as client:
        url = f"{TABLE}?by=sex,health&format=csv"
        first = client.get(url).content
        assert client.get(url).content == first
        typed = ("town", "sex,health", "", "none", "csv")
        assert client.service.at_hand(*typed)
        build(write_town(tmp_path, rows=8_000, seed=2), store)
        client.run(client.service.refresh())
        assert len(client.service.cache) == 0
        assert client.service.at_hand(*typed) is None
        again = client.get(url)
        assert again.content != first
        assert client.get(url).content == again.content


def test_a_late_answer_of_an_old_version_is_not_kept(tmp_path: Path) -> None:
    store = build_town(tmp_path, tmp_path / "store", rows=2_000)
    with serving([store]) as client:
        old = client.service.opened("town")
        asked = client.service.ask("town", "sex")
        release = client.run(client.service.release(asked))
        build(tmp_path / "dataset.toml", store)
        client.run(client.service.refresh())
        assert client.service.opened("town") is not old
        client.service._kept(old, asked.key, release)
        assert not client.service.holds(asked)


def test_what_is_used_up_is_looked_up_again(tmp_path: Path) -> None:
    """160 cells of 5,000 people are guarded: one look. A later table may yet answer the rest."""
    store = build_town(tmp_path, tmp_path / "store", rows=5_000)
    with serving([store]) as client:
        assert client.get(f"{TABLE}?by=age,sex").status_code == 200
        refused = client.get(f"{TABLE}?by=age,sex,health")
        assert refused.json()["error"]["code"] == "USED_UP"
        assert not client.service.holds(client.service.ask("town", "age,sex,health"))


def test_answers_differ_by_totals_and_by_order(store: Path) -> None:
    with serving([store]) as client:
        plain = client.get(f"{TABLE}?by=sex,health").json()
        turned = client.get(f"{TABLE}?by=health,sex").json()
        totals = client.get(f"{TABLE}?by=sex,health&totals=protected").json()
    assert plain["id"] == turned["id"][::-1]
    assert plain["size"] == [2, 5]
    assert totals["size"] == [3, 6]


def test_the_name_of_an_answer_cannot_be_computed_without_the_secret(tmp_path: Path) -> None:
    """The same data, question and policy under two secrets: two names."""
    first = build_town(tmp_path / "a", tmp_path / "a" / "store", rows=2_000)
    second = tmp_path / "b" / "store"
    second.mkdir(mode=0o700, parents=True)
    (second / "secret").write_text("ab" * 32 + "\n", encoding="ascii")
    (second / "secret").chmod(0o600)
    build(write_town(tmp_path / "b", rows=2_000), second)
    tags = []
    for store in (first, second):
        opened = open_store(store)
        # In place of the id of the version, which is random: nothing else differs but the secret.
        one = replace(opened, version=replace(opened.version, path=Path("one")))
        tags.append(one.tag("by=sex"))
    assert tags[0] != tags[1]


def test_no_table_is_larger_than_the_service_makes(store: Path) -> None:
    service = Service([store], Limits(max_cells=9))
    for path, mark, opened in service.catalogue.fresh():
        service.catalogue.take(path, mark, opened)  # type: ignore[arg-type]
    assert service.allowed(service.ask("town", "sex"))
    with pytest.raises(QueryRefused, match="at most 9 cells"):
        service.allowed(service.ask("town", "sex,health"))


def test_every_release_is_recorded(store: Path) -> None:
    with serving([store]) as client:
        assert client.get(f"{TABLE}?by=sex,age_band").status_code == 200
    lines = [json.loads(line) for line in (store / "records").read_text().splitlines()]
    assert "by=sex,age_band" in {line["question"] for line in lines}


@pytest.mark.parametrize(("by", "status"), [("sex,health", 200), ("health,rare", 403)])
def test_a_file_is_made_and_written_by_one_thread(
    store: Path, monkeypatch: pytest.MonkeyPatch, by: str, status: int
) -> None:
    """Whether it is released or refused for its counts: one turn in a lane."""
    turns: list[str] = []
    run = Lane.run
    monkeypatch.setattr(Lane, "run", lambda *given: turns.append(by) or run(*given))
    with serving([store]) as client:
        assert client.get(f"{TABLE}?by={by}&format=csv").status_code == status
        assert turns == [by]
        assert client.get(f"{TABLE}?by={by}&format=json-stat").status_code == status
        assert turns == [by] * (2 if status == 200 else 1)  # another format of what is kept


def test_quality_is_worked_out_for_the_files_that_tell_it(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows of a CSV file tell none; its notes beside it do, refused or released alike."""
    asked: list[str] = []
    quality = told.quality
    monkeypatch.setattr(told, "quality", lambda about: asked.append("asked") or quality(about))
    with serving([store]) as client:
        for by, status in (("sex,health", 200), ("health,rare", 403)):
            assert client.get(f"{TABLE}?by={by}&format=csv").status_code == status
        assert not asked
        for format in ("csv", "csv-layout"):  # the notes beside it, then a file that has its own
            path = f"{TABLE}/meta" if format == "csv" else TABLE
            assert client.get(f"{path}?by=sex,health&format={format}").status_code == 200
        assert asked == ["asked"]  # of one release once
        client.service.cache.forget(client.service.opened("town").version.id)
        assert client.get(f"{TABLE}?by=health,rare&format=json-stat").status_code == 403
        assert asked == ["asked"] * 2
