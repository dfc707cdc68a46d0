"""A document is accepted where the stores fit it; differences are told by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.build import build
from discreet.errors import ParameterError, QueryRefused
from discreet.federation.accepting import FILE, Accepted, accept, disagreements
from discreet.federation.card import Card, Member, policy_differences, policy_of, schema_differences
from discreet.federation.document import Document, HubFile, protected_how
from discreet.federation.start import document_of
from discreet.policy import policy_values
from discreet.population import Schema, Store
from discreet.query import Query, Question
from discreet.release.signature import Signer
from discreet.server.site import open_site
from discreet.service.opened import open_store
from federations import (
    DESCRIPTION,
    Federated,
    build_country,
    connect,
    copied,
    federate,
    make_federation,
    people,
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Federated:
    return make_federation(tmp_path_factory.mktemp("north"))


@pytest.fixture
def north(made: Federated, tmp_path: Path) -> Federated:
    return copied(made, tmp_path / "north")


def schema_of(made: Federated, change: dict[str, Any], at: int = 1) -> Schema:
    """The harmonised schema with one of its variables changed."""
    values = json.loads(json.dumps(made.document.schema.to_json()))
    variable = values["variables"][at]
    for name, value in change.items():
        level, _, key = name.partition(".")
        next(one for one in variable["levels"] if one["id"] == level)[key] = value
    return Schema.from_json(values)


def test_a_store_fits_its_own_variables(made: Federated) -> None:
    assert schema_differences(made.document.schema, made.document.schema) == []


def test_labels_may_differ_as_languages_do(made: Federated) -> None:
    common = schema_of(made, {"age_band.labels": ["Jung", "Erwachsen", "Alt"]})
    assert schema_differences(made.document.schema, common) == []
    # Of two that are called alike, either is meant.
    twice = schema_of(made, {"age_band.labels": ["Other", "Other", "Old"]})
    other = schema_of(made, {"age_band.labels": ["x", "other ", "Old"]})
    assert schema_differences(other, twice) == []


def swapped(folder: Path) -> Path:
    """Build a country anew in which 1 is Female and 2 is Male."""
    path = folder / "dataset.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('1 = "Male", 2 = "Female"', '1 = "Female", 2 = "Male"'))
    build(path, folder / "store", views=0)
    return folder / "store"


def test_labels_on_other_codes_are_refused_by_name(north: Federated, tmp_path: Path) -> None:
    told = r"level 'sex' of 'sex' has the label 'Female' on the code 1, which the document has on 2"
    store = swapped(north.folder / "borg")
    with pytest.raises(ParameterError, match=told):
        north.begin()
    signer = Signer.of_store(store)
    with pytest.raises(ParameterError, match=told):
        accept(north.document, north.hub.public, store, [open_store(store).releaser], signer)
    card = Card.of([Store(store).open()], "borg", "Borg", "https://127.0.0.1:1", signer.public)
    (north.folder / "borg.json").write_text(json.dumps(card.to_json()))
    with pytest.raises(ParameterError, match=told):
        document_of(HubFile.read(north.folder / "hub.toml"))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"age_band.codes": ["young", "grown", "old"]}, "codes that are not agreed: adult"),
        ({"age_band.codes": ["old", "adult", "young"]}, "its codes in another order"),
        ({"age_band.of": [0] * 19 + [1] * 41 + [2] * 20}, "groups the categories of 'age'"),
        ({"age_band.id": "bands"}, "level 'bands' of 'age' is missing"),
    ],
)
def test_differences_of_levels_are_told_by_name(
    made: Federated, change: dict[str, Any], told: str
) -> None:
    found = schema_differences(made.document.schema, schema_of(made, change))
    assert len(found) == 1
    assert told in found[0]


def test_differences_of_policies_are_told_by_name(made: Federated) -> None:
    common = made.document.statement["policy"]
    mine = json.loads(json.dumps(common))
    mine["tiers"]["public"]["counts"]["minimum_population"] = 7
    mine["tiers"]["public"]["space"]["population"] = 1_000_000  # each site's own
    (told,) = policy_differences(mine, common)
    assert told.startswith("policy: tiers.public.counts.minimum_population is 7 here and ")


@pytest.mark.parametrize(
    ("preset", "how"), [("cell-keys", "common"), ("rounding-3", "own"), ("synthetic-only", "none")]
)
def test_how_a_site_protects_is_read_from_its_policy(preset: str, how: str) -> None:
    common = policy_values("preset:cell-keys", Path())
    assert protected_how(policy_values(f"preset:{preset}", Path()), common) == how


def test_the_acceptance_is_signed_by_the_store(north: Federated) -> None:
    store = north.stores["borg"][0]
    found = Accepted.read(store, Signer.of_store(store))
    assert found.member.id == "borg"
    assert found.document.digest == north.document.digest
    assert found.hub == north.hub.public
    with pytest.raises(ParameterError, match="must be signed with the key"):
        Accepted.read(store, Signer.throwaway())
    path = store / FILE
    text = path.read_text().replace('"least_sites":3', '"least_sites":2')
    path.write_text(text)
    with pytest.raises(ParameterError, match="signed with the hub's key"):
        Accepted.read(store, Signer.of_store(store))


def test_a_document_of_somebody_else_is_not_the_hubs(north: Federated, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="signed with the hub's key"):
        Document.of(north.document.proof, Signer.throwaway().public)


def test_a_site_that_the_document_does_not_name_cannot_accept(
    north: Federated, tmp_path: Path
) -> None:
    store = build_country(tmp_path / "dune", "dune")
    cubes = [open_store(store).releaser]
    with pytest.raises(ParameterError, match="must name this site"):
        accept(north.document, north.hub.public, store, cubes, Signer.of_store(store))


def test_a_hub_tells_which_cards_differ(north: Federated) -> None:
    path = north.folder / "cove.json"
    values = json.loads(path.read_text())
    values["schema"]["variables"] = [v for v in values["schema"]["variables"] if v["id"] != "age"]
    path.write_text(json.dumps(values))
    with pytest.raises(ParameterError, match="cove: variable 'age' is missing"):
        HubFile.read(north.folder / "hub.toml").document(north.hub)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("address", "http://127.0.0.1"),
        ("address", "ftp://x"),
        ("key", "00"),
        ("id", "No Id"),
        ("label", " "),
        ("population", 0),
    ],
)
def test_a_site_is_checked_when_it_is_named(made: Federated, field: str, value: object) -> None:
    values = {**made.document.member("borg").to_json(), field: value}
    with pytest.raises(ParameterError):
        Member.from_json(values)


def test_a_card_holds_no_count_but_the_published_size(north: Federated) -> None:
    card = Card.read(north.folder / "aland.json")
    assert card.member.population == 4_000
    assert card.schema.geography is None
    assert set(json.loads((north.folder / "aland.json").read_text())) == {
        "version", "id", "label", "address", "key", "population", "schema", "policy",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("preset", "told"),
    [
        ("swapping-and-light-keys", "nothing before"),
        ("synthetic-only", "cell by cell"),
        ("protected-base", "cell by cell"),
    ],
)
def test_a_policy_that_does_not_fit_a_federation_is_refused(
    made: Federated, preset: str, told: str
) -> None:
    with pytest.raises(ParameterError, match=told):
        policy_of(policy_values(f"preset:{preset}", Path()))


# Hypercubes

CUBE = """
id = "{id}"
title = "A cube"
unit = "persons"
policy = "preset:cell-keys"
source = {{ files = "{id}.csv", count = "count" }}
[variables.sex]
label = "Sex"
categories = {{ 1 = "Male", 2 = "Female" }}
[variables.{other}]
label = "Other"
range = [1, 3]
"""


def cube(folder: Path, id: str, other: str, counts: list[int]) -> Path:
    """A hypercube of sex by another variable of three categories."""
    folder.mkdir(exist_ok=True)
    rows = [(s, o) for s in (1, 2) for o in (1, 2, 3)]
    lines = [f"{s},{o},{n}" for (s, o), n in zip(rows, counts, strict=True)]
    (folder / f"{id}.csv").write_text("\n".join([f"sex,{other},count", *lines]) + "\n")
    (folder / f"{id}.toml").write_text(CUBE.format(id=id, other=other))
    build(folder / f"{id}.toml", folder / id, views=0)
    return folder / id


def test_cubes_that_overlap_must_agree(tmp_path: Path, made: Federated) -> None:
    # Both have 600 and 900 of each sex; the third has 601.
    a = cube(tmp_path, "one", "age3", [100, 200, 300, 300, 300, 300])
    b = cube(tmp_path, "two", "work", [600, 0, 0, 450, 450, 0])
    c = cube(tmp_path, "three", "work", [601, 0, 0, 450, 450, 0])
    one, two, three = (open_store(path).releaser for path in (a, b, c))
    schema = made.document.schema
    assert disagreements(schema, [one, two]) == []
    assert disagreements(schema, [one, three]) == ["'one' and 'three' do not agree on sex"]


HUB = """
variables = ["sex", "age3", "work"]
combined = ["sex,age3", "sex,work", "sex,age3,work"]
"""


def test_a_question_is_answered_from_the_cube_that_holds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = {}
    for i, name in enumerate(("aland", "borg", "cove")):
        first = [1_000 + i, 2_000, 3_000, 1_000, 1_000, 1_000]
        second = [6_000 + i, 0, 0, 1_000, 2_000, 0]
        folder = tmp_path / name
        stores[name] = [cube(folder, "one", "age3", first), cube(folder, "two", "work", second)]
    north = connect(monkeypatch, federate(tmp_path, stores, HUB))
    opened = north.open()

    def total(by: str) -> list[int]:
        question = Question.of(Query.parse(by), opened.schema)
        return opened.engine.tabulate(question).counts.ravel().tolist()

    # Sums over the three sites: 1,000 + 1,001 + 1,002 and three times the rest.
    assert total("sex,age3") == [3_003, 6_000, 9_000, 3_000, 3_000, 3_000]
    assert total("sex,work") == [18_003, 0, 0, 3_000, 6_000, 0]
    assert total("sex") == [18_003, 9_000]
    # Agreed, but no cube holds it: refused like any veto.
    with pytest.raises(QueryRefused) as refused:
        opened.releaser.release(Question.of(Query.parse("sex,age3,work"), opened.schema))
    assert refused.value.record.verdict == "SITES"
    # A cube that does not agree with the first keeps the site from answering.
    other = cube(tmp_path / "borg", "three", "work", [16_001, 0, 0, 1_000, 2_000, 0])
    with pytest.raises(ParameterError, match="'one' and 'three' do not agree on sex"):
        open_site([stores["borg"][0], other])


def test_a_site_whose_policy_changed_since_it_accepted_does_not_answer(north: Federated) -> None:
    # Its figures would stand beside the others as protected alike, which they no longer are.
    build_country(north.folder / "borg", "borg", seed=2, policy="preset:rounding-3")
    with pytest.raises(ParameterError, match=r"tiers\.public\.protection\.method"):
        open_site(north.stores["borg"])


def test_record_keys_of_another_modulus_do_not_fit(north: Federated) -> None:
    # The hub adds up key sums modulo 2^32; others would give other noise than pooled records.
    folder = north.folder / "borg"
    table = people("borg", 4_000, 2)
    keys = np.random.default_rng(1).integers(0, 2**16, 4_000)
    pq.write_table(table.append_column("key", pa.array(keys)), folder / "people.parquet")
    source = 'key = { column = "key", modulus = 65536 }'
    text = DESCRIPTION.format(id="borg", policy="preset:cell-keys", source=source, healths=5)
    (folder / "dataset.toml").write_text(text, encoding="utf-8")
    build(folder / "dataset.toml", folder / "store", views=0)
    with pytest.raises(ParameterError, match=r"modulus 4294967296\. They have 65536"):
        open_site(north.stores["borg"])
