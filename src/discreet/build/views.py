"""The marginal views that a store is built with."""

from __future__ import annotations

from pathlib import Path

from discreet.build.ahead import waits
from discreet.build.impossible import check_impossible
from discreet.build.viewing import Viewing
from discreet.compiling import SMALL, there
from discreet.policy import Policy
from discreet.population import Schema, Version
from discreet.progress import Tell
from discreet.query import Question
from discreet.rules.space import planned
from discreet.tabulate import ViewEngine, engine_of
from discreet.tabulate.chosen import allowed, choose
from discreet.tabulate.lattice import tables
from discreet.tabulate.view_files import Key
from discreet.tabulate.views import BUDGET, needed


def build_views(
    path: Path, budget: int | None, policy: Policy, viewing: Viewing | None, tell: Tell
) -> None:
    """Compile the kernels, so that no reader waits for it, and build views into a new version.

    `viewing` has those that were added up while records passed on their way elsewhere. Those of
    many records are built together, and few records are counted for each.
    """
    version = Version.open(path)
    if waits(version.rows):
        tell("compiling", 0, None)
    budget = allowed(version) if budget is None else budget
    behind = engine_of(version)
    engine = ViewEngine(version, behind, version.views, max(budget, BUDGET))
    if viewing is not None:
        for key, packed in viewing.packed().items():
            engine.put(key, packed)
    check_impossible(engine, version.schema)
    chosen = choose(version.schema, budget, _planned(policy, version.schema))
    if version.rows > SMALL and version.elsewhere is None and there():
        done = 0
        for of, views in tables(version, _narrow(chosen, version.schema), path.parent):
            tell("views", done, len(chosen))
            engine.put_many(of, views)
            done += len(views)
    held = set(engine.keys)
    for i, key in enumerate(chosen):
        if key not in held:
            tell("views", i, len(chosen))
            engine.build(key)
    behind.close()


def _planned(policy: Policy, schema: Schema) -> list[Key]:
    """Return the views that the tables of plans are read off, where they are not too large."""
    texts = [text for tier in policy.tiers.values() for text in tier.space.plan]
    found = [needed(Question(schema, planned(text, schema).levels)) for text in texts]
    return [key for key in found if key is not None]


def _narrow(keys: list[Key], schema: Schema) -> list[Key]:
    """Return the views whose levels all have codes of one byte."""
    return [key for key in keys if all(len(schema.find(name)[1]) <= 255 for name in key)]
