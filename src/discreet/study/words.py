"""The results of a study in words: the finding, and the tables that a terminal shows."""

from __future__ import annotations

from collections import Counter
from textwrap import wrap
from typing import TYPE_CHECKING

from discreet.study.measures import MEASURES, RISK

if TYPE_CHECKING:
    from discreet.study.results import Results, Value


WIDTH = 80
MOST_TABLES = 4
"""Tables on a terminal."""
COLUMN, MOST_NAME = 22, 32
"""Letters for the figures of a table, and for the name of a setting."""


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


def listed(names: list[str], most: int = 3, word: str = "and") -> str:
    """Return names as part of a sentence, the last after "and" or "or"."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} {word} {len(names) - most + 1} more"
    joined = [", ".join(names[:-1]), names[-1]]
    return f" {word} ".join(joined) if len(names) > 1 else "".join(names)


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
        said += f" No setting of {listed([lower(name) for name in never], word='or')} does."
    if _untouched_under(results):
        said += f" Untouched, {every} would stay under it too."
    return said


def _untouched_under(results: Results) -> bool:
    """Whether every table is under the limit before anything is done to it."""
    judged = results.study.judged
    none = next((name for name in results.settings if results.setting(name).untouched), None)
    return none is not None and all(
        results.value(table, none, judged.risk).mean <= judged.limit for table in results.judged
    )


def not_ranked(results: Results) -> list[str]:
    """Return a sentence for each reason why settings stand apart from the ranking."""
    by: dict[str, list[str]] = {}
    for name, reason in results.apart.items():
        by.setdefault(reason, []).append(lower(results.setting(name).name))
    risk = MEASURES[results.study.judged.risk].words
    found = []
    for reason, names in by.items():
        who = listed(list(dict.fromkeys(names)), 6)
        why = f"its {risk} goes by {reason}" if reason else f"there is no {risk} of it"
        found.append(
            f"Not ranked: {who}, since {why}. Choose the risk {RISK}, which is the same for all."
        )
    return found


def _excess(results: Results, name: str) -> float:
    limit = results.study.judged.limit
    return sum(max(p.risk.mean - limit, 0) for p in results.points if p.full == name)


def _it(tables: tuple[str, ...]) -> str:
    return "them" if len(tables) > 1 else "it"


def _number(number: int) -> str:
    return "One other setting stays" if number == 1 else f"{number} other settings stay"


def shown(value: Value) -> str:
    """Return a mean with its standard error in brackets."""
    return short(value.mean) + (f" ({error})" if (error := error_text(value)) else "")


def error_text(value: Value) -> str:
    """Return a standard error, nothing where it is too small to show."""
    return short(value.error) if value.error >= 0.0005 else ""


def text(results: Results) -> str:
    """Return the results as a terminal shows them: risk and utility of every setting."""
    lines = [results.study.told.title, "", *wrap(results.finding, WIDTH), ""]
    width = min(max(len(name) for name in results.settings), MOST_NAME)
    across = max((WIDTH - width) // (2 + COLUMN), 1)
    tables = results.judged[:MOST_TABLES]
    for first in range(0, len(tables), across):
        lines += [*_side_by_side(results, tables[first : first + across], width), ""]
    more = len(results.tables) - len(tables)
    if more:
        lines += [f"{more} more table{'s' * (more > 1)} in results.csv and the report.", ""]
    for sentence in not_ranked(results):
        lines += [*wrap(sentence, WIDTH), ""]
    lines += wrap(
        "Standard errors of .001 and more in brackets. • on the frontier: nothing is safer and "
        "closer.",
        WIDTH,
    )
    return "\n".join(line.rstrip() for line in lines)


def _side_by_side(results: Results, tables: tuple[str, ...], width: int) -> list[str]:
    """Return some tables beside each other; a name that is too long has a line of its own."""
    judged = results.study.judged
    heads = [cut(titled(name), COLUMN) for name in tables]
    lines = [f"{'':{width}}  " + "  ".join(f"{head:<{COLUMN}}" for head in heads)]
    lines.append(f"{'':{width}}  " + "  ".join([f"{'risk':<13}{'utility':<9}"] * len(tables)))
    for name in results.settings:
        cells = []
        for table in tables:
            risk = results.value(table, name, judged.risk)
            utility = results.value(table, name, judged.utility)
            mark = " •" if (table, name) in results.frontier else ""
            cells.append(f"{f'{shown(risk):<13}{short(utility.mean)}{mark}':<{COLUMN}}")
        *above, last = wrap(name, width)
        lines += [*above, f"{last:<{width}}  " + "  ".join(cells)]
    return lines


def titled(table: str) -> str:
    """Return the name of a table, which may be a number."""
    return f"Table {table}" if table.isdecimal() else table


def cut(words: str, most: int) -> str:
    """Return words that fit, the end left out where they do not."""
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"
