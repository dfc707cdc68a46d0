"""Reading policy.toml: every key known, every mistake told at once."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from discreet.errors import ParameterError, unknown
from discreet.policy.attack import AttackRules, People
from discreet.policy.model import (
    Claim,
    CountRules,
    Gate,
    Margins,
    Place,
    Policy,
    Protection,
    QuestionRules,
    RiskRules,
    SpaceRules,
    Tier,
)
from discreet.population.names import identifier
from discreet.toml import Mistakes, Section, load

PRESETS = (
    "rounding-3",
    "cell-keys",
    "swapping-and-light-keys",
    "protected-base",
    "synthetic-only",
)
PRESET = "preset:"
"""What begins the name of a preset where a file could stand."""

Rules = TypeVar("Rules")
Choice = TypeVar("Choice", Margins, Place, Gate, Claim, People)


def policy_values(given: str, folder: Path) -> dict[str, Any]:
    """Return what a policy says, from a file or, as "preset:NAME", one that comes along.

    Files that its methods name are looked for beside it, and so is the file of a plan, which is
    read here: what a policy says is then all in one place.
    """
    if given.startswith(PRESET):
        return tomllib.loads(preset_text(given.removeprefix(PRESET)))
    path = folder / given
    values = load(path)
    tiers = values.get("tiers")
    for tier in tiers.values() if isinstance(tiers, dict) else ():
        protection = tier.get("protection", {}) if isinstance(tier, dict) else {}
        options = protection.get("options", {}) if isinstance(protection, dict) else {}
        if isinstance(options, dict) and isinstance(options.get("file"), str):
            options["file"] = str((path.parent / options["file"]).resolve())
        space = tier.get("space", {}) if isinstance(tier, dict) else {}
        if isinstance(space, dict) and isinstance(space.get("plan"), str):
            space["plan"] = _plan(path.parent / space["plan"])
    return values


def _plan(path: Path) -> list[Any]:
    """Return the questions in the file of a plan."""
    section = Section(load(path), str(path))
    questions: list[Any] = section.take("plan", list)
    section.end()
    return questions


def read_policy(path: Path) -> Policy:
    """Return the policy in a TOML file, or every mistake in it at once."""
    return parse_policy(policy_values(path.name, path.parent), path.name, str(path))


def read_preset(name: str) -> Policy:
    """Return one of the policies that come with the program."""
    return parse_policy(policy_values(PRESET + name, Path()), f"preset {name}", f"preset {name}")


def preset_text(name: str) -> str:
    """Return the text of a preset: thresholds, each with its reason."""
    if name not in PRESETS:
        raise unknown("preset", name, PRESETS)
    folder = resources.files("discreet.policy") / "presets"
    return (folder / f"{name}.toml").read_text(encoding="utf-8")


def parse_policy(values: dict[str, Any], name: str, title: str) -> Policy:
    """Return the policy that parsed TOML describes."""
    mistakes = Mistakes(title)
    top = Section(values, name)
    taken = partial(_gathered, mistakes, top)
    version = taken("version", str, default="unnamed")
    heading = taken("title", str, default="Policy")
    minimum = taken("minimum_population", int, default=10)
    if minimum is None or minimum < 1:
        if minimum is not None:
            mistakes.found.append(
                f"minimum_population must be an integer of at least 1. Got {minimum}."
            )
        minimum = 10
    synthetic = taken("synthetic", bool, default=False)
    changes = taken("minimum_changes", int, default=1_000)
    years = taken("record_years", int, default=5)
    benchmark = taken("benchmark_totals", list, default=[])
    tiers = taken("tiers", dict, default={"public": {}})
    attacked = taken("attack", dict, default={})
    mistakes.gather(top.end)
    attack = _rules(AttackRules, attacked or {}, "attack", mistakes)
    built: dict[str, Tier] = {}
    for key, given in (tiers or {}).items():
        tier = mistakes.gather(partial(_tier, key, given, minimum, mistakes))
        if tier is not None:
            built[key] = tier
    if not mistakes.found:
        policy = mistakes.gather(
            lambda: Policy(
                version,
                heading,
                built,
                minimum,
                _texts(benchmark),
                synthetic,
                changes,
                years,
                attack or AttackRules(),
            )
        )
    mistakes.end()
    assert isinstance(policy, Policy)
    return policy


def _gathered(mistakes: Mistakes, section: Section, key: str, *kinds: type, default: Any) -> Any:
    return mistakes.gather(lambda: section.take(key, *kinds, default=default))


def _tier(key: str, given: object, minimum: int, mistakes: Mistakes) -> Tier | None:
    name = identifier(key, "the id of a tier")
    section = Section(given, f"tiers.{name}")
    where = section.name
    before = len(mistakes.found)
    take = partial(_gathered, mistakes, section)
    label = take("label", str, default=name.capitalize())
    public = take("public", bool, default=name == "public")
    asked = take("question", dict, default={}) or {}
    question = _rules(QuestionRules, asked, f"{where}.question", mistakes)
    counted = take("counts", dict, default={}) or {}
    by_level = counted.get("levels", {})
    if not isinstance(by_level, dict):
        mistakes.found.append(f"{where}.counts.levels must be a table. Got {by_level!r}.")
        by_level = {}
    general = {k: v for k, v in counted.items() if k != "levels"}
    if "minimum_population" not in general:
        general["minimum_population"] = minimum
    counts = _rules(CountRules, general, f"{where}.counts", mistakes)
    levels = {
        level: mistakes.gather(
            partial(_level_rules, general, extra, f"{where}.counts", level, mistakes)
        )
        for level, extra in by_level.items()
    }
    protected = take("protection", dict, default={}) or {}
    protection = _protection(protected, f"{where}.protection", mistakes)
    risked = take("risk", dict, default={}) or {}
    risk = _rules(RiskRules, risked, f"{where}.risk", mistakes)
    spaced = take("space", dict, default={}) or {}
    space = _rules(SpaceRules, spaced, f"{where}.space", mistakes)
    mistakes.gather(section.end)
    if len(mistakes.found) > before:
        return None
    assert question is not None
    assert space is not None
    assert counts is not None
    assert protection is not None
    assert risk is not None
    return Tier(name, label, public, question, counts, levels, protection, risk, space)


def _level_rules(
    general: dict[str, Any], extra: object, where: str, level: str, mistakes: Mistakes
) -> CountRules | None:
    """Return the rules for one level of areas: the general ones with some replaced."""
    if not isinstance(extra, dict):
        raise ParameterError(f"{where}.{level} must be a table. Got {extra!r}.")
    return _rules(CountRules, {**general, **extra}, f"{where}.{level}", mistakes, where)


_READ: dict[str, Callable[[Any], Any]] = {
    "levels_refused": lambda value: _texts(value),
    "filters_refused": lambda value: _texts(value),
    "weights": lambda value: _numbers(value),
    "gate": lambda value: _choice(Gate, "gate", value),
    "claim": lambda value: _choice(Claim, "claim", value),
    "plan": lambda value: _questions(value),
    "population": lambda value: (
        value if type(value) is int else _choice(People, "population", value)
    ),
    "seeds": lambda value: tuple(value) if isinstance(value, list) else (value,),
    "bounds": lambda value: _table("bounds", value),
    "untried": lambda value: _texts(value),
}


def _rules(
    kind: type[Rules],
    given: dict[str, Any],
    where: str,
    mistakes: Mistakes,
    above: str | None = None,
) -> Rules | None:
    """Return rules of a kind, whose settings are its fields, and note all that is wrong.

    A mistake already told of the rules `above`, which these take over, is not told again. With a
    mistake what is returned is not to be used.
    """
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]

    def note(error: ParameterError) -> None:
        if f"{above}: {error}" not in mistakes.found:
            mistakes.found.append(f"{where}: {error}")

    values = {}
    for key, value in given.items():
        if key not in known:
            note(unknown("setting", key, known))
            continue
        try:
            values[key] = _READ[key](value) if key in _READ else value
        except ParameterError as error:
            note(error)
    while True:
        try:
            return kind(**values)
        except ParameterError as error:
            # The sentence begins with the setting; without it the others are judged as well.
            wrong = next((key for key in values if str(error).startswith(f"{key} ")), None)
            note(error)
            if wrong is None:
                return None
            del values[wrong]


def _protection(given: dict[str, Any], where: str, mistakes: Mistakes) -> Protection | None:
    section = Section(given, where)
    before = len(mistakes.found)
    take = partial(_gathered, mistakes, section)
    method = take("method", str, default="random-rounding")
    options = take("options", dict, default={})
    margins = take("margins", str, default="protected")
    place = take("place", str, default="output")
    plain = take("plain_keys", bool, default=False)
    published = take("published", bool, default=False)
    zeros = take("zeros", int, float, default=0.0)
    mistakes.gather(section.end)

    def told(function: Callable[[], Any]) -> Any:
        try:
            return function()
        except ParameterError as error:
            mistakes.found.append(f"{where}: {error}")
            return None

    kinds = (
        None if margins is None else told(lambda: _choice(Margins, "margins", margins)),
        None if place is None else told(lambda: _choice(Place, "place", place)),
    )
    if method is None or options is None:
        return None
    # The method is judged even where something beside it is wrong.
    rest = (
        kinds[0] or Margins.PROTECTED,
        kinds[1] or Place.OUTPUT,
        bool(plain),
        bool(published),
        0.0 if zeros is None else zeros,
    )
    chosen = {key: _option(value) for key, value in options.items()}
    made = told(lambda: Protection(method, chosen, *rest))
    return made if len(mistakes.found) == before and isinstance(made, Protection) else None


def _option(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ",".join(str(item) for item in value)
    return str(value)


def _choice(kind: type[Choice], name: str, value: object) -> Choice:
    try:
        return kind(str(value))
    except ValueError:
        raise unknown(name, str(value), (item.value for item in kind)) from None


def _numbers(values: object) -> tuple[float, ...]:
    if not isinstance(values, list) or not all(type(value) in (int, float) for value in values):
        raise ParameterError(f"weights must be a list of numbers. Got {values!r}.")
    return tuple(values)


def _questions(values: object) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ParameterError(
            f"plan must be a list of questions, or the name of a file beside the policy with one. "
            f"Got {values!r}."
        )
    return tuple(values)


def _attacked(value: object) -> People:
    return _choice(People, "population", value)


def _table(name: str, values: object) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise ParameterError(f"{name} must be a table. Got {values!r}.")
    return values


def _texts(values: object) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ParameterError(f"a list of names must hold texts. Got {values!r}.")
    return tuple(values)
