"""Editions: records that changed since the last build, and what may be told of them.

Two editions of the same figures would show which of them changed, and with them who came, left or
was corrected. So a build whose records differ in a few is refused, one whose records differ in
many is a new edition with noise of its own, and one with the same records is the same edition.
A new edition with new keys for the same people is written down as alike: what was fixed for these
people in an edition before holds on.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from discreet.build.comparing import changes, surely
from discreet.build.marks import TOLD, Marks
from discreet.build.scratch import manifest
from discreet.errors import ParameterError
from discreet.policy import Policy
from discreet.population import Store, Version, state
from discreet.population import manifest as manifests
from discreet.progress import Tell
from discreet.protect.records.protected_base import NAME


def number_edition(store: Store, path: Path, policy: Policy, tell: Tell) -> tuple[str, ...]:
    """Write into the manifest of a finished version which edition it is; return what to say of it.

    Raises `ParameterError` where so few records changed that the two editions would show whose.
    """
    current = store.current()
    if current is None:
        return ()
    tell("comparing", 0, None)
    new, held = Version.open(path), manifest(store)
    last = max([int(held.get("edition", 1)), *(v.edition for v in _kept(store))])
    needed, differ, alike = policy.changes_needed(new.rows), new.rows, set[int]()
    same = about = False
    for old in _kept(store):
        found = changes(old, new)
        if not found:  # the same records, whatever was built meanwhile
            return _numbered(new, old.edition, old.alike, 0)
        rekeyed = old.manifest.get("secret") != new.manifest.get("secret")
        behind = None if rekeyed else _behind(old, new)
        if behind is None:
            least = surely(old, new)
        else:
            found = least = behind
            needed = min(needed, TOLD)
        if state.made(store.path) and 0 < (least if rekeyed else found) < needed:
            word = "" if behind is None else "about "
            raise ParameterError(
                f"a new edition must differ in at least {needed:,} records from one that is "
                f"published: with fewer, comparing the two would show whose records changed. Here "
                f"{word}{least if rekeyed else found:,} differ from version {old.id} (one that "
                "changed counts twice, as left and come). Collect more changes first "
                "(minimum_changes in the policy)."
            )
        if least < max(needed, 1):
            alike.update(old.alike)
        if old.id == current:
            differ, same = found, behind == 0
            about = behind is not None
    return _numbered(new, last + 1, sorted(alike), differ, same, about)


def _behind(old: Version, new: Version) -> int | None:
    """Return about how many records behind two protected bases differ; None if one is no base."""
    steps = [step for v in (old, new) for step in v.steps_beforehand if step["method"] == NAME]
    if len(steps) < 2:
        return None
    if "marks" not in steps[0]:
        raise ParameterError(
            f"version {old.id} does not tell which records its base is made of: an earlier program "
            "built it. Build into a new store."
        )
    before, now = (Marks.from_dict(step["marks"]) for step in steps)
    return now.apart(before)


def _kept(store: Store) -> list[Version]:
    """Return the versions that are kept and whole; a damaged one cannot be compared."""
    found = []
    for name in store.list():
        with suppress(ParameterError):
            found.append(Version.open(store.versions / name))
    return found


def _numbered(
    version: Version, edition: int, alike: Sequence[int], differ: int, same: bool = False,
    about: bool = False,
) -> tuple[str, ...]:  # fmt: skip
    """Write it down; `same` records make another base where a search ends at another moment."""
    told = {"edition": edition} | ({"alike": list(alike)} if alike else {})
    if told not in ({"edition": 1}, {"edition": 1, "alike": [1]}):
        manifests.write(version.path, {**version.manifest, **told})
    if same:
        return (
            f"Edition {edition}: another base of the same records, whose noise is not drawn anew. "
            "Figures differ, for the search took another way.",
        )
    if not differ:
        return ()
    word = "about " if about else ""
    return (f"Edition {edition}: {word}{differ:,} records differ, and all figures are drawn anew.",)
