"""`build`: description and data in, a new current version of a store out, or nothing changed.

Flow: batches of the source → codes, areas, ids in raw files of a scratch folder → checks over the
whole (empty, duplicates, differencing) → protection beforehand, if described → columns sorted by
area, keys, manifest → one rename.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.build import originals as apart
from discreet.build.away import AwayIngest, Parts, check_away, remove_coded
from discreet.build.columns import write_columns
from discreet.build.dataset import Dataset
from discreet.build.edition import number_edition
from discreet.build.engine import SCAN
from discreet.build.ingest import Ingest, wanted
from discreet.build.raw import Done
from discreet.build.scratch import locked, manifest, nothing_left, remove, told
from discreet.build.source import Reader
from discreet.build.steps import BaseStep
from discreet.build.views import build_views
from discreet.checks import whole
from discreet.errors import ParameterError, Sealed
from discreet.files import sync
from discreet.population import manifest as manifests
from discreet.population import signing, state
from discreet.population.intact import checksum
from discreet.population.keys import Secret
from discreet.population.sealed import REMEDY, secret_of
from discreet.population.store import PROTECTION, Store, Version
from discreet.progress import Offer, Tell, refused
from discreet.rules.space import check_space
from discreet.tabulate.chosen import BUILT


@dataclass(frozen=True)
class Built:
    """What a build made."""

    version: str
    rows: int
    notes: tuple[str, ...]
    coded: str | None = None
    """The folder of the coded records, where they are not in the store."""


def build(
    description: Path | Dataset,
    out: Path,
    progress: Tell | None = None,
    new_secret: bool = False,
    keep: int = 2,
    views: int | None = None,
    originals: Path | None = None,
    new_signing_key: bool = False,
    offer: Offer = refused,
    engine: str | None = None,
) -> Built:
    """Build a data set into a store and make it the current version.

    All or nothing: whatever goes wrong, a store that was there is as it was, and one that was not
    is not. `new_secret` gives every record a new key; `keep` versions stay on disk; `views` bytes
    of marginal tables are built along, so that common questions need no scan; by default about as
    many as the records have, from 16 to 256 MiB. `originals` is a
    folder outside the store for the records as they were before `[[protect]]`. With
    `new_signing_key` later releases are signed with a new key. `offer` is asked whether to go on
    with a protected base that Ctrl-C ended before its time. `engine` is another one than the
    description names: "scan", "duckdb" or "spark".
    """
    whole("keep", keep, 1)
    if views is not None:
        whole("views", views, 0)
    dataset = description if isinstance(description, Dataset) else Dataset.read(description)
    dataset = replace(dataset, engine=dataset.engine.chosen(engine))
    tell = progress or (lambda stage, done, total: None)
    away = dataset.engine.kind != SCAN
    if away:
        check_away(dataset, originals)
    elif not dataset.source.files:
        raise ParameterError("the engine 'scan' reads files: 'source' must have 'files'.")
    store = Store(out)
    kept = apart.checked(originals, store, dataset)
    with (
        told(store),
        locked(store),
        nothing_left(store) as scratch,
        apart.holding(kept) as beside,
        ExitStack() as unless,
    ):
        held = manifest(store)
        if held.get("dataset") not in (None, dataset.id):
            raise ParameterError(
                f"{out} holds the data set '{held['dataset']}', not '{dataset.id}'. "
                "Give a new folder."
            )
        secret = Secret.fresh() if new_secret else _kept_secret(store, held)
        if held.get("format") == manifests.FORMAT:
            state.check(store.path)
            if not new_signing_key:
                signing.check(store.path)
        number = 1 + max((store.order(name)[0] for name in store.list()), default=0)
        name = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(3)}"
        ingest = _ingested(dataset, secret, scratch, name, views, unless, tell)
        if kept is not None and beside is not None:
            with told(kept):
                _write_version(ingest, secret, beside / "version", (), number, tell)
        done = _protected(dataset, ingest, secret, tell, offer)
        _check_swapped(dataset, done)
        version = scratch / "version"
        _write_version(ingest, secret, version, done, number, tell)
        made = Version.open(version)
        check_space(dataset.policy, made.schema, made.people)
        edition = number_edition(store, version, dataset.policy, tell)
        viewing = ingest.viewing if isinstance(ingest, AwayIngest) else None
        build_views(version, views, dataset.policy, viewing, tell)
        tell("switching", 0, None)
        ours = apart.secrets_of(store) | {secret.fingerprint()}
        _switch(store, version, name, secret, keep, kept, beside)
        unless.pop_all()
        if new_signing_key:
            signing.make(store.path, new=True)
        if kept is not None:
            apart.sweep(kept, store, ours)
    notes = (*ingest.notes(), *(step.note for step in done), *_changed_again(dataset), *edition)
    return Built(store.current() or "", ingest.rows, notes, _coded(made))


def _changed_again(dataset: Dataset) -> Iterator[str]:
    """Yield what to know of tiers whose tables of a base do not add up."""
    if any(isinstance(step, BaseStep) for step in dataset.protect):
        tiers = dataset.policy.tiers.values()
        again = [tier.id for tier in tiers if tier.protection.build is not None]
        if again:
            yield (
                f"The policy changes tables once more (tier {', '.join(again)}), so that they do "
                'not add up as the base does. "preset:protected-base" leaves them alone.'
            )


def _coded(version: Version) -> str | None:
    return None if version.elsewhere is None else version.elsewhere.coded


def _ingested(
    dataset: Dataset,
    secret: Secret,
    scratch: Path,
    name: str,
    views: int | None,
    unless: ExitStack,
    tell: Tell,
) -> Ingest:
    """Return all of the source, read and checked; coded records elsewhere go unless it is kept."""
    reader: Any
    if dataset.engine.kind == SCAN:
        reader = Reader(dataset.source, wanted(dataset), scratch)
    else:
        from discreet.build.away_source import AwayReader  # and with it more of PyArrow

        reader = AwayReader(dataset, wanted(dataset))
    with closing(reader):
        if dataset.engine.kind == SCAN:
            ingest = Ingest(dataset, reader, secret, scratch)
        else:
            folder = dataset.engine.folder(dataset.source.files).child(name)
            unless.callback(remove_coded, folder)
            ingest = AwayIngest(
                dataset, reader, secret, scratch, Parts(folder), BUILT if views is None else views
            )
        with closing(ingest):
            ingest.read(tell)
            ingest.check()
    return ingest


def _protected(
    dataset: Dataset, ingest: Ingest, secret: Secret, tell: Tell, offer: Offer
) -> tuple[Done, ...]:
    """Protect the records as the description says; return what each step did."""
    if not dataset.protect:
        return ()
    from discreet.build.protecting import apply_steps  # and with it every method on records

    return apply_steps(dataset.protect, ingest, secret, tell, offer)


def _check_swapped(dataset: Dataset, done: tuple[Done, ...]) -> None:
    """Refuse records that nothing protects: nobody was swapped, and tables are to be left alone."""
    moved = any(rate for step in done for rate in step.facts.get("rates", {}).values())
    moved |= any(isinstance(step, BaseStep) for step in dataset.protect)
    for tier in dataset.policy.tiers.values():
        if tier.protection.beforehand and not moved:
            raise ParameterError(
                f"tier '{tier.id}' of the policy leaves tables alone, and no household was "
                'swapped. Match less strictly, or protect tables too (place = "both").'
            )


def _switch(
    store: Store,
    version: Path,
    name: str,
    secret: Secret,
    keep: int,
    originals: Store | None,
    beside: Path | None,
) -> None:
    """Make a finished version the current one, its originals kept beside, and remove the oldest.

    A new secret waits beside the old one until the switch: whichever version is current after a
    kill, its secret is there, and the next build puts it in its place.
    """
    if not store.secret.exists():
        secret.write(store.secret)
    elif Secret.read(store.secret) != secret:
        secret.write(store.next_secret)
    if not ((store.path / signing.PRIVATE).exists() and (store.path / signing.PUBLIC).exists()):
        signing.make(store.path)
    state.make(store.path)  # the one that is there stays; a missing one was refused before
    try:
        if originals is not None and beside is not None:
            os.replace(beside / "version", originals.versions / name)
            sync(originals.versions)
        os.replace(version, store.versions / name)
        sync(store.versions)
        store.switch(name)
    except BaseException:
        if store.current() != name:
            for folder in (store, originals):
                if folder is not None:
                    shutil.rmtree(folder.versions / name, ignore_errors=True)
        raise
    with suppress(OSError):  # it is done: what cannot be tidied up is left for the next build
        if store.next_secret.exists():
            os.replace(store.next_secret, store.secret)
            sync(store.path)
        for old in store.list()[:-keep]:
            if old != name:
                remove(store, old)


def _kept_secret(store: Store, held: dict[str, Any]) -> Secret:
    """Return the secret of the current version, or a fresh one where nothing was built yet."""
    if held.get("secret") is not None:
        return secret_of(store, held)
    if store.secret.exists():
        return Secret.read(store.secret)
    if store.current() is not None or store.list():
        raise Sealed(f"{store.secret} is missing. {REMEDY}")
    return Secret.fresh()


def _write_version(
    ingest: Ingest,
    secret: Secret,
    version: Path,
    done: tuple[Done, ...],
    number: int,
    tell: Tell,
) -> None:
    """Write all of a version but its views; `done` is what was done to its records beforehand.

    The originals of a protected data set have no policy: nothing can be released of them.
    """
    version.mkdir(mode=0o700)
    if done:
        facts = [step.facts for step in done]
        (version / PROTECTION).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    if done or not ingest.dataset.protect:
        policy = json.dumps(ingest.dataset.policy_values, ensure_ascii=False)
        (version / "policy.json").write_text(policy, encoding="utf-8")
    if isinstance(ingest, AwayIngest):
        ingest.write_facts(version)
    else:
        write_columns(ingest, version, tell)
    files = sorted(version.iterdir())
    written: dict[str, dict[str, Any]] = {}
    for i, path in enumerate(files):
        tell("checksums", i, len(files))
        path.chmod(0o600)
        sync(path)
        written[path.name] = {"bytes": path.stat().st_size, "blake2b": checksum(path)}
    manifests.write(version, {**_described(ingest, secret, done, number), "files": written})
    sync(version)


def _described(
    ingest: Ingest, secret: Secret, done: tuple[Done, ...], number: int
) -> dict[str, Any]:
    """Return what the manifest of a version says, but for its files."""
    dataset = ingest.dataset
    return {
        "program": __version__,
        "dataset": dataset.id,
        "number": number,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "rows": ingest.rows,
        "hypercube": ingest.has("count"),
        "modulus": dataset.source.modulus,
        "keys": "blake2b" if dataset.source.key is None else "given",
        "secret": secret.fingerprint(),
        "households": dataset.source.household_id is not None,
        "minimum_population": dataset.policy.minimum_population,
        "accepted_differencing": ingest.accepted,
        # The names alone: rates, control variables and pairs would help to undo it.
        "protected_beforehand": [step.facts["method"] for step in done],
        **({"engine": asdict(ingest.elsewhere())} if isinstance(ingest, AwayIngest) else {}),
    }
