"""`discreet risk`: risk of a table of counts, and risk and utility of what is released of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import AbsentZero, SumsAreCells, method_names, reporting
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.rules.verdict import Attribute, Finding, Identity
    from discreet.study.release import Described
    from discreet.table.files import TableFile

WORST = 3
SMALL = 2
WIDTH = 80
TERMS = {
    "zeros": "zeros",
    "entropy": "concentration",
    "entropy_small": "concentration of counts up to 6",
    "entropy_large": "concentration of larger counts",
    "size": "smallness",
}


@reporting
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
        typer.Option(help="The same as --method random-rounding --option base=…"),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "-m",
            autocompletion=method_names,
            help="The method of the release, as in `protect` or `study`: adds the risk by it. For "
            "records: record-swapping, individual-swapping, pram, over-imputation, "
            "input-perturbation, base.",
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(help="name=value of the method, such as base=5. May be repeated."),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(
            help="What the method acted on: table, cube (then summed up) or records.  "
            "[default: table]",
            show_default=False,
        ),
    ] = None,
    draws: Annotated[
        int | None,
        typer.Option(
            help="Draws for the mean, where it is not known exactly.  [default: 100]",
            min=2,
            show_default=False,
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
    sums_are_cells: SumsAreCells = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Measure how much a table of counts discloses, and the utility of a release.

    The verdict is the worst of three, each with its own limit: identity disclosure (small cells
    among the populated ones), attribute disclosure (lines with one populated cell, and the people
    in them) and the risk of the table as a whole.

    The report is for the custodian: it discloses something about the true counts.
    """
    import json

    if base is not None:
        if method is not None or option:
            raise ParameterError("--base is a method of its own: leave --method and --option out.")
        method, option = "random-rounding", [f"base={base}"]
    described = {"--option": option, "--on": on, "--draws": draws}
    for name, said in described.items():
        if method is None and said:
            raise ParameterError(f"{name} must come with --method.")
    given = None
    if method is not None:
        given = Given(method, tuple(option or ()), on or "table", draws or 100)
    found = measure(table, after, given, weights, limit, absent_zero, sums_are_cells)
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False) if as_json else render(found))


@dataclass(frozen=True)
class Given:
    """The method of a release as the command line describes it."""

    method: str
    option: tuple[str, ...] = ()
    on: str = "table"
    draws: int = 100

    def described(self, file: TableFile) -> Described:
        """Return the method, its axis looked up among the dimensions of the file."""
        from discreet.checks import chosen
        from discreet.cli.options import options_of
        from discreet.study.model import On
        from discreet.study.release import Described

        options = options_of(list(self.option))
        return Described.of(self.method, options, _names(file), chosen("--on", On, self.on))


def measure(
    path: Path,
    after: Path | None = None,
    given: Given | None = None,
    weights: str = "0.1,0.8,0.1",
    limit: float = 0.15,
    absent_zero: bool = False,
    sums_are_cells: bool = False,
) -> dict[str, Any]:
    """Return everything the report says, as plain values; NaN is None."""
    from discreet.table.files import PUT_RIGHT, TOTALS, read_table

    if not 0 <= limit <= 1:
        raise ParameterError(f"limit must be between 0 and 1. Got {limit:g}.")
    if given is not None and after is None:
        raise ParameterError("--method must come with --after: it describes the release.")
    w = _weights(weights)
    file = read_table(path, absent_zero)
    if file.counts.size < 2:
        raise ParameterError(f"'{path.name}' must have at least 2 cells. Got 1.")
    if not file.counts.any():
        raise ParameterError(f"'{path.name}' must hold at least one person. All cells are zero.")
    file.refuse_gap(PUT_RIGHT)
    if not sums_are_cells:
        file.refuse_hidden_totals(f"{TOTALS}; if it is no total, add --sums-are-cells.")
    found = _before(file, w, limit)
    if after is not None:
        released = file.aligned(read_table(after, absent_zero))
        found["after"] = _after(file, released, w, limit, given)
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


def _before(file: TableFile, weights: tuple[float, ...], limit: float) -> dict[str, Any]:
    import numpy as np

    from discreet import risk
    from discreet.rules import verdict
    from discreet.study.release import terms_of

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
            **terms_of(terms),
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
    given: Given | None,
) -> dict[str, Any]:
    import numpy as np

    from discreet import risk
    from discreet.rules import verdict
    from discreet.study.release import by_method, refuse_impossible, slices, utilities

    true, names = file.counts, _names(file)
    described = None if given is None else given.described(file)
    if described is not None:
        refuse_impossible(file, released, described)
    smallest = None if described is None else described.smallest
    rules = verdict.smallest(smallest) if smallest and smallest > SMALL else verdict.LIMITS
    small = verdict.identity(released, rules)
    lines = verdict.attribute(released, names)
    found: dict[str, Any] = {
        "identity_disclosure": _identity(small),
        "attribute_disclosure": _attribute(lines),
        "conditional_entropy": _plain(float(risk.after(true, released, weights))),
        "cells_unchanged": float((true == released).mean()),
        "small_records_unchanged": _plain(risk.unchanged_small_records(true, released)),
        "largest_change": int(np.abs(released - true).max()),
        "people": int(released.sum()),
        **utilities(true, released),
    }
    if described is not None and given is not None:
        judged = by_method(true, released, described, weights, given.draws)
        whole = verdict.whole(judged["value"], limit)
        found = _worst([small, lines, whole]) | found
        found["by_method"] = {**_finding(whole), **judged}
    codes = [dimension.codes for dimension in file.dimensions]
    known = None if described is None else described.known
    found["slices"] = slices(true, released, names, codes, known, weights)
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


def _others(after: dict[str, Any]) -> list[str]:
    """Return the further measures of utility, those that the table has."""
    told = []
    if after["rank_change"] is not None:
        told.append(f"cells that change their decile {after['rank_change']:.0%}")
    if after.get("variance_ratio") is not None:
        told.append(f"variance of rows, released over true {after['variance_ratio']:.3f}")
    for key, name in (("cramers_v", "Cramér's V"), ("median_entropy", "median entropy")):
        true, released = after.get(key) or (None, None)
        if true is not None and released is not None:
            told.append(f"{name} {released:.3f} (true {true:.3f})")
    text = "; ".join(told)
    return wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ")


HOW = {
    "transition": "by the chances of the method",
    "rate": "by the share of people that moved",
    "seen": "by how cells changed, since the chances of a cell are not known",
}


def _more(method: dict[str, Any]) -> list[str]:
    """Return the other forms of the risk by the method, and its mean."""
    told = [f"split form {method['split']['value']:.3f}"]
    if method["observed"] is not None:
        told.append(f"with contents as observed {method['observed']:.3f}")
    lines = [f"{HOW[method['judged_by']]}; {'; '.join(told)}"]
    mean = method["expected"]
    if mean and mean["exact"]:
        lines.append(f"on average risk {mean['risk']:.3f}, utility {mean['score']:.3f}")
    elif mean:
        lines.append(
            f"over {mean['draws']} draws risk {mean['risk']:.3f} "
            f"({mean['risk_standard_error']:.3f}), utility {mean['score']:.3f} "
            f"({mean['score_standard_error']:.3f})"
        )
    return [
        part
        for line in lines
        for part in wrap(
            line, WIDTH, subsequent_indent="    ", initial_indent="  ", drop_whitespace=True
        )
    ]


def _render_after(after: dict[str, Any], before: float) -> list[str]:
    method = after.get("by_method")
    if method:
        lines = [
            *_headline(after, "Do not release it.", "RELEASED, "),
            *_findings(after),
            f"  risk {method['value']:.3f} after {before:.3f}; "
            f"Hellinger utility {after['score']:.3f}",
            *_more(method),
            f"  an intruder's best guesses are right for {method['correct_claims']:.0%} of cells",
        ]
    else:
        lines = [
            f"RELEASED: Hellinger utility {after['score']:.3f} (1 = unchanged). "
            "Name the method (--method) for a verdict on its risk.",
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
        *_others(after),
        "  risk by conditional entropy (for study, no verdict) "
        + ("not defined" if entropy is None else f"{entropy:.3f}"),
    ]
    return lines
