"""`discreet risk`: risk of a table of counts, and risk and utility of what is released of it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import AbsentZero
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.risk import Risk
    from discreet.table.files import TableFile

WORST = 3
TERMS = {
    "zeros": "zeros",
    "entropy": "concentration",
    "entropy_small": "concentration of counts up to 6",
    "entropy_large": "concentration of larger counts",
    "size": "smallness",
}


class Verdict(StrEnum):
    """Whether a table's risk is within the limit."""

    LOW = "low risk"
    HIGH = "high risk"


def command(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE.csv", help="Table of true counts, long or wide.")
    ],
    after: Annotated[
        Path | None,
        typer.Option(metavar="RELEASED.csv", help="Table released of it, to compare."),
    ] = None,
    base: Annotated[
        int | None,
        typer.Option(
            help="The release is a random rounding to this base: adds the risk by the method."
        ),
    ] = None,
    weights: Annotated[
        str,
        typer.Option(
            help="Weights of zeros, concentration and smallness; four split concentration into "
            "that of counts up to 6 and of larger ones."
        ),
    ] = "0.1,0.8,0.1",
    limit: Annotated[float, typer.Option(help="Risk up to here is low.")] = 0.15,
    absent_zero: AbsentZero = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Say how much a table of counts discloses, and how much truth a release leaves.

    The report is for the custodian: it tells about the true counts.
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
        found["after"] = _after(file.counts, released, w, limit, base)
    return found


def _weights(text: str) -> tuple[float, ...]:
    from discreet.table.checks import checked_weights

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

    counts = file.counts
    whole = risk.before(counts, weights)
    every = risk.all_slices(counts, weights)
    return {
        "verdict": _verdict(whole.value, limit),
        "limit": limit,
        "cells": int(counts.size),
        "people": int(counts.sum()),
        "zero_share": float((counts == 0).mean()),
        "small_share": risk.small_share(counts),
        "risk": {
            "value": whole.value,
            **_terms(whole),
            "norm": whole.norm,
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
        "attribute_disclosure": {
            dimension.variable: _plain(risk.attribute_disclosure(counts, axis))
            for axis, dimension in enumerate(file.dimensions)
        },
    }


def _after(
    true: NDArray[Any],
    released: NDArray[Any],
    weights: tuple[float, ...],
    limit: float,
    base: int | None,
) -> dict[str, Any]:
    import numpy as np

    from discreet import risk, utility

    found: dict[str, Any] = {
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
        from discreet.protect.rounding import RandomRounding

        transition = RandomRounding(base).transition()
        by_method = risk.after_transition(true, released, transition, weights)
        who = risk.posterior(transition, true)
        found["by_method"] = {
            "verdict": _verdict(by_method.value, limit),
            "value": by_method.value,
            **_terms(by_method),
            "capped": by_method.capped,
            "zeros_true": _plain(who.zeros_true),
            "correct_claims": who.correct_claims,
        }
    return found


def _verdict(value: float, limit: float) -> str:
    return (Verdict.LOW if value <= limit else Verdict.HIGH).value


def _plain(value: float) -> float | None:
    return value if value == value else None


def render(found: dict[str, Any]) -> str:
    """Return the report as a person reads it: the verdict first."""
    risk, limit = found["risk"], found["limit"]
    high = found["verdict"] == Verdict.HIGH
    lines = [
        f"{found['verdict'].upper()}: {risk['value']:.3f}, "
        + (
            f"above the limit of {limit:g}. Do not publish this table as it is."
            if high
            else f"within the limit of {limit:g}."
        ),
        f"{found['cells']:,} cells, {found['people']:,} people; "
        f"{found['zero_share']:.0%} of the cells are zero, {found['small_share']:.0%} are 1 or 2.",
        "",
        "Why",
    ]
    names = [(key, name) for key, name in TERMS.items() if key in risk]
    width = max(14, *(len(name) for _, name in names))
    for (key, name), weight in zip(names, risk["weights"], strict=True):
        lines.append(f"  {name:<{width}} {risk[key]:.3f} × {weight:g} = {risk[key] * weight:.3f}")
    lines += ["", "Worst"]
    for name, slices in found["slices"].items():
        scored = sorted(
            ((value, code) for code, value in slices.items() if value is not None),
            key=lambda pair: -pair[0],
        )
        worst = ", ".join(f"{code} ({value:.3f})" for value, code in scored[:WORST])
        lines.append(f"  {name}: {worst}")
        share = found["attribute_disclosure"][name]
        if share:
            lines.append(f"    {share:.0%} of them have only one or two populated cells")
    if "after" in found:
        lines += ["", *_render_after(found["after"], risk["value"], limit)]
    return "\n".join(lines)


def _render_after(after: dict[str, Any], before: float, limit: float) -> list[str]:
    lines = []
    method = after.get("by_method")
    if method:
        word = "within" if method["verdict"] == Verdict.LOW else "above"
        lines += [
            f"RELEASED, {method['verdict'].upper()}: {method['value']:.3f} after {before:.3f}, "
            f"{word} the limit of {limit:g}; closeness {after['score']:.3f}.",
            f"  an intruder's best guesses are right for {method['correct_claims']:.0%} of cells",
        ]
    else:
        lines.append(
            f"RELEASED: closeness {after['score']:.3f} (1 = unchanged). "
            "Name the method for a verdict on its risk."
        )
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
