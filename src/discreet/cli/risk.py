"""`discreet risk`: risk of a table of counts, and risk and utility of what is released of it."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import AbsentZero
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.risk import Risk
    from discreet.rules.verdict import Attribute, Finding, Identity
    from discreet.table.files import TableFile

WORST = 3
WIDTH = 80
TERMS = {
    "zeros": "zeros",
    "entropy": "concentration",
    "entropy_small": "concentration of counts up to 6",
    "entropy_large": "concentration of larger counts",
    "size": "smallness",
}


def command(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE.csv", help="Table of true counts, long or wide.")
    ],
    after: Annotated[
        Path | None,
        typer.Option(metavar="RELEASED.csv", help="The released table, to compare."),
    ] = None,
    base: Annotated[
        int | None,
        typer.Option(
            help="The base to which the release was randomly rounded: adds the risk by the method."
        ),
    ] = None,
    weights: Annotated[
        str,
        typer.Option(
            help="Weights of zeros, concentration and smallness; four split concentration into "
            "that of counts up to 6 and of larger ones."
        ),
    ] = "0.1,0.8,0.1",
    limit: Annotated[
        float, typer.Option(help="The largest risk of the table as a whole that is low.")
    ] = 0.15,
    absent_zero: AbsentZero = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Measure how much a table of counts discloses, and the utility of a release.

    The verdict is the worst of three, each with its own limit: identity disclosure (small cells
    among the populated ones), attribute disclosure (lines with one populated cell, and the people
    in them) and the risk of the table as a whole.

    The report is for the custodian: it discloses something about the true counts.
    """
    import json

    found = measure(table, after, base, weights, limit, absent_zero)
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False) if as_json else render(found))


def measure(
    path: Path,
    after: Path | None = None,
    base: int | None = None,
    weights: str = "0.1,0.8,0.1",
    limit: float = 0.15,
    absent_zero: bool = False,
) -> dict[str, Any]:
    """Return everything the report says, as plain values; NaN is None."""
    from discreet.table.files import read_table

    if not 0 <= limit <= 1:
        raise ParameterError(f"limit must be between 0 and 1. Got {limit:g}.")
    if base is not None and after is None:
        raise ParameterError("--base must come with --after: it describes the release.")
    w = _weights(weights)
    file = read_table(path, absent_zero)
    if file.counts.size < 2:
        raise ParameterError(f"'{path.name}' must have at least 2 cells. Got 1.")
    if not file.counts.any():
        raise ParameterError(f"'{path.name}' must hold at least one person. All cells are zero.")
    file.refuse_gap("Put right whichever is wrong, or leave the totals out.")
    found = _before(file, w, limit)
    if after is not None:
        released = file.aligned(read_table(after, absent_zero))
        found["after"] = _after(file, released, w, limit, base)
    return found


def _weights(text: str) -> tuple[float, ...]:
    from discreet.checks import checked_weights

    try:
        given = [float(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(
            f"weights must be 3 or 4 numbers separated by commas. Got '{text}'."
        ) from None
    return checked_weights(given, 3, 4)


def _terms(found: Risk) -> dict[str, float]:
    """Return the terms of a risk, in the order of its weights."""
    from discreet.risk import SplitRisk

    if isinstance(found, SplitRisk):
        parts = {"entropy_small": found.entropy_small, "entropy_large": found.entropy_large}
    else:
        parts = {"entropy": found.entropy}
    return {"zeros": found.zeros, **parts, "size": found.size}


def _before(file: TableFile, weights: tuple[float, ...], limit: float) -> dict[str, Any]:
    import numpy as np

    from discreet import risk
    from discreet.rules import verdict

    counts = file.counts
    terms = risk.before(counts, weights)
    every = risk.before_rows(counts, weights)
    small = verdict.identity(counts)
    lines = verdict.attribute(counts, _names(file))
    whole = verdict.whole(terms.value, limit)
    return {
        **_worst([small, lines, whole]),
        "limit": limit,
        "cells": int(counts.size),
        "people": int(counts.sum()),
        "zero_share": float((counts == 0).mean()),
        "small_share": small.cells.small,
        "identity_disclosure": _identity(small),
        "attribute_disclosure": _attribute(lines),
        "risk": {
            **_finding(whole),
            "value": terms.value,
            **_terms(terms),
            "norm": terms.norm,
            "weights": list(weights),
        },
        "split": float(risk.before_split(counts)),
        "slices": {
            dimension.variable: {
                code: None if np.isnan(value) else float(value)
                for code, value in zip(dimension.codes, values, strict=True)
            }
            for dimension, values in zip(file.dimensions, every.axes, strict=True)
        },
    }


def _names(file: TableFile) -> list[str]:
    return [dimension.variable for dimension in file.dimensions]


def _worst(findings: list[Finding]) -> dict[str, Any]:
    """Return the headline: the worst verdict, its kind and reason, and what else is high."""
    from discreet.rules.verdict import Verdict, worst

    chosen = worst(findings)
    high = [f.kind for f in findings if f.verdict is Verdict.HIGH]
    return {
        "verdict": chosen.verdict.value,
        "kind": chosen.kind,
        "reason": chosen.reason,
        "high": high,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {"verdict": finding.verdict.value, "reason": finding.reason}


def _identity(found: Identity) -> dict[str, Any]:
    from dataclasses import asdict

    limits = {
        "ones_of_populated": found.rules.max_ones_of_populated,
        "small_of_populated": found.rules.max_small_of_populated,
    }
    return {**_finding(found), "limits": limits, **asdict(found.cells)}


def _attribute(found: Attribute) -> dict[str, Any]:
    from dataclasses import asdict

    along = [
        {
            "along": list(names),
            **asdict(share),
            "one_or_two": asdict(found.one_or_two[names]) if names in found.one_or_two else None,
        }
        for names, share in found.lines.items()
    ]
    limits = {"single_lines": found.rules.max_single_lines}
    return {**_finding(found), "limits": limits, "worst": list(found.worst), "lines": along}


def _after(
    file: TableFile,
    released: NDArray[Any],
    weights: tuple[float, ...],
    limit: float,
    base: int | None,
) -> dict[str, Any]:
    import numpy as np

    from discreet import risk, utility
    from discreet.rules import verdict

    true = file.counts
    small = verdict.identity(released, verdict.LIMITS if base is None else verdict.smallest(base))
    lines = verdict.attribute(released, _names(file))
    found: dict[str, Any] = {
        "identity_disclosure": _identity(small),
        "attribute_disclosure": _attribute(lines),
        "conditional_entropy": _plain(float(risk.after(true, released, weights))),
        "cells_unchanged": float((true == released).mean()),
        "small_records_unchanged": _plain(risk.unchanged_small_records(true, released)),
        "largest_change": int(np.abs(released - true).max()),
        "people": int(released.sum()),
        "score": utility.score(true, released),
        "hellinger": utility.hellinger(true, released),
        "relative_absolute": utility.relative_absolute(true, released),
        "average_absolute": utility.average_absolute(true, released),
        "largest_margin_change": max(
            float(np.abs(change).max())
            for change in utility.margin_differences(true, released, most_axes=1).values()
        ),
    }
    if base is not None:
        from discreet.protect.cells.rounding import RandomRounding

        transition = RandomRounding(base).transition()
        by_method = risk.after_transition(true, released, transition, weights)
        who = risk.posterior(transition, true)
        whole = verdict.whole(by_method.value, limit)
        found = _worst([small, lines, whole]) | found
        found["by_method"] = {
            **_finding(whole),
            "value": by_method.value,
            **_terms(by_method),
            "capped": by_method.capped,
            "zeros_true": _plain(who.zeros_true),
            "correct_claims": who.correct_claims,
        }
    return found


def _plain(value: float) -> float | None:
    return value if value == value else None


def render(found: dict[str, Any]) -> str:
    """Return the report as a person reads it: the verdict first, with its reason."""
    risk = found["risk"]
    lines = [
        *_headline(found, "Do not publish this table as it is."),
        f"{found['cells']:,} cells, {found['people']:,} people; "
        f"{found['zero_share']:.0%} of the cells are zero, {found['small_share']:.0%} are 1 or 2.",
        "",
        *_findings(found),
        "",
        "The table as a whole",
    ]
    names = [(key, name) for key, name in TERMS.items() if key in risk]
    width = max(14, *(len(name) for _, name in names))
    for (key, name), weight in zip(names, risk["weights"], strict=True):
        lines.append(f"  {name:<{width}} {risk[key]:.3f} × {weight:g} = {risk[key] * weight:.3f}")
    lines += ["", "Worst"]
    along = {tuple(entry["along"]): entry for entry in found["attribute_disclosure"]["lines"]}
    for name, slices in found["slices"].items():
        scored = sorted(
            ((value, code) for code, value in slices.items() if value is not None),
            key=lambda pair: -pair[0],
        )
        worst = ", ".join(f"{code} ({value:.3f})" for value, code in scored[:WORST])
        lines.append(f"  {name}: {worst}")
        entry = along.get((name,))
        if entry and entry["lines"]:
            lines.append(
                f"    lines along it with one populated cell: {entry['lines']:.1%}, with "
                f"{entry['people']:.1%} of the people"
            )
    if "after" in found:
        lines += ["", *_render_after(found["after"], risk["value"])]
    return "\n".join(lines)


def _headline(found: dict[str, Any], advice: str, what: str = "") -> list[str]:
    """Return the verdict, the worst finding in words, and what else is high."""
    head = what + str(found["verdict"]).upper()
    if not found["high"]:
        return [f"{head}: small cells, lines and the table as a whole are within their limits."]
    also = [kind for kind in found["high"] if kind != found["kind"]]
    more = f" Also high: {', '.join(also)}." if also else ""
    return wrap(f"{head}, {found['kind']}: {found['reason']}.{more} {advice}", WIDTH)


def _findings(found: dict[str, Any]) -> list[str]:
    """Return the three findings, each with its verdict and reason."""
    small = found["identity_disclosure"]
    people = f"; {small['people']:,} people are in them ({small['people_share']:.1%})"
    whole = found["risk"] if "risk" in found else found.get("by_method")
    kinds = [
        ("identity disclosure", small, people if small["people"] else ""),
        ("attribute disclosure", found["attribute_disclosure"], ""),
        *([("the table as a whole", whole, "")] if whole else []),
    ]
    lines = []
    for kind, finding, more in kinds:
        text = f"{kind}, {finding['verdict']}: {finding['reason']}{more}"
        lines += wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ")
    return lines


def _render_after(after: dict[str, Any], before: float) -> list[str]:
    method = after.get("by_method")
    if method:
        lines = [
            *_headline(after, "Do not release it.", "RELEASED, "),
            *_findings(after),
            f"  risk {method['value']:.3f} after {before:.3f}; "
            f"Hellinger utility {after['score']:.3f}",
            f"  an intruder's best guesses are right for {method['correct_claims']:.0%} of cells",
        ]
    else:
        lines = [
            f"RELEASED: Hellinger utility {after['score']:.3f} (1 = unchanged). "
            "Name the method for a verdict on its risk.",
            *_findings(after),
        ]
    small = after["small_records_unchanged"]
    entropy = after["conditional_entropy"]
    lines += [
        f"  cells unchanged {after['cells_unchanged']:.0%}"
        + ("" if small is None else f"; people in cells of 1 and 2 left as they were {small:.0%}"),
        f"  largest change {after['largest_change']:,}; people {after['people']:,}",
        f"  Hellinger {after['hellinger']:.3f}, relative absolute "
        f"{after['relative_absolute']:.3f}, average absolute {after['average_absolute']:.3f}",
        "  risk by conditional entropy (for study, no verdict) "
        + ("not defined" if entropy is None else f"{entropy:.3f}"),
    ]
    return lines
