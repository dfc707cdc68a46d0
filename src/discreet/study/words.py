"""The results of a study in words: the finding, and the tables that a terminal shows."""

from __future__ import annotations

from collections import Counter
from textwrap import wrap
from typing import TYPE_CHECKING

from discreet.study.measures import MEASURES

if TYPE_CHECKING:
    from discreet.study.results import Results, Value


WIDTH = 80
MOST_TABLES = 4
"""Tables side by side on a terminal."""


def short(number: float, digits: int = 3) -> str:
    """Return a figure as the papers print it: .167, 1, −.04."""
    if number != number:
        return "–"
    text = f"{number:.{digits}f}"
    if float(text) == round(float(text)) and abs(number) >= 0.5:
        return str(round(float(text)))
    return text.replace("0.", ".", 1) if abs(number) < 1 else text


def limit_text(limit: float) -> str:
    """Return the limit of risk with no more digits than it has."""
    return f"{limit:g}".replace("0.", ".", 1)


def listed(names: list[str], most: int = 3) -> str:
    """Return names as part of a sentence, the last after "and"."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def lower(name: str) -> str:
    """Return a name as it stands within a sentence."""
    return name if name[:2].isupper() else name[:1].lower() + name[1:]


def finding(results: Results) -> str:
    """Return what a methodologist wants to know first, computed from the figures."""
    judged, tables = results.study.judged, results.judged
    sign = -1 if MEASURES[judged.utility].low else 1
    utility: dict[str, float] = {}
    for point in results.points:
        utility[point.full] = utility.get(point.full, 0.0) + sign * point.utility.mean
    limit = f"the limit of risk, {limit_text(judged.limit)}"
    every = {1: "the table", 2: "both tables"}.get(len(tables), f"all {len(tables)} tables")
    under = [name for name, number in results.under.items() if number == len(tables)]
    if not under:
        nearest = min(results.under, key=lambda n: (-results.under[n], _excess(results, n)))
        there = f" ({results.under[nearest]} of {len(tables)} tables)" if len(tables) > 1 else ""
        return f"No setting keeps {every} under {limit}. Nearest: {lower(nearest)}{there}."
    risk: dict[str, float] = {}
    for point in results.points:
        risk[point.full] = risk.get(point.full, 0.0) + point.risk.mean
    best = max(under, key=lambda name: (utility[name], -risk[name]))
    said = f"{best} keeps {every} under {limit}, and of those that do changes {_it(tables)} least."
    others = [name for name in under if name != best]
    worse = sum(best in results.dominated.get(name, ()) for name in others)
    if worse:
        where = "any table" if len(tables) > 1 else "risk or utility"
        said += f" {_number(worse)} under it too, but no better in {where}."
    if len(others) > worse:
        many = len(others) - worse
        change = "changes" if many == 1 else "change"
        said += f" {_number(many)} under it at less risk, and {change} {_it(tables)} more."
    above = Counter(p.method for p in results.points) - Counter(
        p.method for p in results.points if results.under[p.full] == len(tables)
    )
    never = [m for m, n in above.items() if n == sum(p.method == m for p in results.points)]
    if never:
        said += f" No setting of {listed([lower(name) for name in never])} does."
    return said


def _excess(results: Results, name: str) -> float:
    limit = results.study.judged.limit
    return sum(max(p.risk.mean - limit, 0) for p in results.points if p.full == name)


def _it(tables: tuple[str, ...]) -> str:
    return "them" if len(tables) > 1 else "it"


def _number(number: int) -> str:
    return "One other setting stays" if number == 1 else f"{number} other settings stay"


def shown(value: Value) -> str:
    """Return a mean with its standard error in brackets."""
    error = "" if not value.error > 0 else f" ({short(value.error)})"
    return short(value.mean) + error


def text(results: Results) -> str:
    """Return the results as a terminal shows them: risk and utility of every setting."""
    judged = results.study.judged
    lines = [results.study.told.title, "", *wrap(results.finding, WIDTH), ""]
    width = max(len(name) for name in results.settings)
    tables = results.judged[:MOST_TABLES]
    wide = [max(len(name), 20) for name in tables]
    lines.append(
        f"{'':{width}}  " + "  ".join(f"{n:<{w}}" for n, w in zip(tables, wide, strict=True))
    )
    head = f"{'risk':<13}{'utility':<7}"
    lines.append(f"{'':{width}}  " + "  ".join(f"{head:<{w}}" for w in wide))
    for name in results.settings:
        cells = []
        for table, w in zip(tables, wide, strict=True):
            risk = results.value(table, name, judged.risk)
            utility = results.value(table, name, judged.utility)
            mark = " •" if (table, name) in results.frontier else ""
            cells.append(f"{f'{shown(risk):<13}{short(utility.mean)}{mark}':<{w}}")
        lines.append(f"{name:<{width}}  " + "  ".join(cells).rstrip())
    more = len(results.tables) - len(tables)
    if more:
        lines += ["", f"{more} more table{'s' * (more > 1)} in results.csv and the report."]
    lines += ["", "Standard errors in brackets. • on the frontier: nothing is safer and closer."]
    return "\n".join(line.rstrip() for line in lines)
