"""All attackers on one target, and what they found: as text, as a page, as plain values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from time import monotonic
from typing import Any

import numpy as np

from discreet.study.attacks.finding import Attack, Finding, Share
from discreet.study.attacks.target import Target

FEW = 20
"""Fewer tries than these are too few to judge an attack by."""

NOTHING_BETTER = "This does not say that no better attack exists."


@dataclass(frozen=True)
class Report:
    """What the attackers found, with all that is needed to run them again."""

    title: str
    policy: str
    people: int
    seed: int
    seconds: float
    findings: tuple[Finding, ...]
    left_out: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[Finding, ...]:
        """The attacks that go beyond their bounds."""
        return tuple(finding for finding in self.findings if not finding.within)

    @property
    def too_few(self) -> tuple[Finding, ...]:
        """The attacks that had time for hardly any try: they say nothing."""
        return tuple(f for f in self.findings if f.within and 0 < f.tries < FEW)

    @property
    def passed(self) -> bool:
        """Whether every attack was run, and stays within its bound."""
        return not (self.failed or self.too_few or self.left_out)

    @property
    def verdict(self) -> str:
        """The outcome in a sentence or two."""
        tried = [finding for finding in self.findings if finding.tries]
        within = len(tried) - len(self.failed) - len(self.too_few)
        said = f"{within} of {len(tried)} attacks stay within their limits."
        if self.failed:
            said += f" Beyond them: {', '.join(f.name for f in self.failed)}."
        if self.too_few:
            said += f" Too few tries: {', '.join(f.name for f in self.too_few)}."
        if self.left_out:
            said += f" Not run: {', '.join(self.left_out)}."
        return said

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "title": self.title,
            "policy": self.policy,
            "people": self.people,
            "seed": self.seed,
            "seconds": self.seconds,
            "passed": self.passed,
            "verdict": self.verdict,
            "findings": [finding.as_dict() for finding in self.findings],
            "left_out": list(self.left_out),
        }

    @property
    def text(self) -> str:
        """The report as lines of text, the attacks one below the other."""
        lines = [self.title, f"Policy {self.policy}, {self.people:,} people, seed {self.seed}", ""]
        lines.append(f"{'':28} {'prior':>6} {'reading':>7}  {'attack':16} {'limit':>5}  certain")
        lines += [_line(finding) for finding in self.findings]
        return "\n".join([*lines, "", self.verdict, NOTHING_BETTER])

    @property
    def html(self) -> str:
        """The report as a page by itself."""
        rows = "\n".join(_row(finding) for finding in self.findings)
        tried = f"Policy {escape(self.policy)}, {self.people:,} people, seed {self.seed}"
        return _PAGE.format(
            title=escape(self.title),
            verdict=escape(self.verdict),
            state="within" if self.passed else "beyond",
            tried=tried,
            rows=rows,
            last=NOTHING_BETTER,
        )


def run(
    target: Target,
    attacks: Sequence[Attack],
    seed: int,
    seconds: float,
    title: str,
    policy: str,
    tell: Callable[[str], None] = lambda name: None,
) -> Report:
    """Return the report of all attacks, within about so many seconds.

    Each attack gets an equal part of the time that is left. Ctrl-C ends the run and keeps what was
    found.
    """
    end = monotonic() + seconds
    findings: list[Finding] = []
    try:
        for number, attack in enumerate(attacks):
            tell(attack.name)
            left = max(end - monotonic(), 1.0) / (len(attacks) - number)
            rng = np.random.default_rng([seed, number])
            findings.append(attack.run(target.fresh(), rng, left))
    except KeyboardInterrupt:
        tell("stopped")
    out = tuple(attack.name for attack in attacks[len(findings) :])
    return Report(title, policy, target.people, seed, seconds, tuple(findings), out)


def _short(share: Share | None) -> str:
    return "–" if share is None or not share.tries else f"{share.value:.2f}"


def _line(finding: Finding) -> str:
    if not finding.tries:
        return f"{finding.name:28} not tried: {finding.note or 'nothing was answered'}"
    limit = "–" if finding.bound is None else f"{finding.bound:.2f}"
    sure = f"{finding.certain_right} of {finding.certain}" if finding.certain else "–"
    verdict = "" if finding.within else "  BEYOND"
    return (
        f"{finding.name:28} {_short(finding.prior):>6} {_short(finding.reading):>7}  "
        f"{finding.attack!s:16} {limit:>5}  {sure}{verdict}"
    )


def _row(finding: Finding) -> str:
    limit = "–" if finding.bound is None else f"{finding.bound:.2f}"
    sure = f"{finding.certain_right} of {finding.certain}" if finding.certain else "–"
    told = "not tried" if not finding.tries else "within" if finding.within else "beyond"
    return (
        f'<tr class="{told}"><th scope="row">{escape(finding.name)}<br>'
        f"<small>{escape(finding.note)}</small></th><td>{finding.questions:,}</td>"
        f"<td>{_short(finding.prior)}</td><td>{_short(finding.reading)}</td>"
        f"<td>{escape(str(finding.attack))}</td><td>{_strip(finding)}</td><td>{limit}</td>"
        f"<td>{sure}</td><td>{told}</td></tr>"
    )


def _strip(finding: Finding) -> str:
    """Return a picture from 0 to 1: prior above the line, reading below, attack on it, limit."""
    if not finding.tries:
        return ""

    def x(value: float) -> float:
        return 10 + 200 * min(max(value, 0.0), 1.0)

    attack = finding.attack
    parts = ['<path d="M10 16H210" stroke="#9aa"/>']
    parts.append(f'<path d="M{x(attack.low):.0f} 16H{x(attack.high):.0f}" class="interval"/>')
    for share, points in (
        (finding.prior, "-5,3 5,3 0,11"),
        (finding.reading, "-5,29 5,29 0,21"),
    ):
        if share is not None and share.tries:
            at = f"translate({x(share.value):.0f} 0)"
            parts.append(f'<polygon points="{points}" transform="{at}" class="mark"/>')
    if finding.bound is not None:
        parts.append(f'<path d="M{x(finding.bound):.0f} 4V28" class="limit"/>')
    parts.append(f'<circle cx="{x(attack.value):.0f}" cy="16" r="4.5"/>')
    words = f"attack {attack.value:.2f} on a scale from 0 to 1"
    inside = "".join(parts)
    return f'<svg viewBox="0 0 220 32" width="220" role="img" aria-label="{words}">{inside}</svg>'


_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ font: 15px/1.4 sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem }}
.band {{ border-top: 3px solid #1d6b34; background: #edf6ef; padding: .8rem 1rem }}
.band.beyond {{ border-color: #a51d24; background: #fbe9e9 }}
table {{ border-collapse: collapse; width: 100%; margin: 1rem 0 }}
th, td {{ text-align: right; padding: .4rem .5rem; border-bottom: 1px solid #ccd }}
th[scope=row], thead th:first-child {{ text-align: left }} small {{ color: #555 }}
tr.beyond {{ background: #fbe9e9 }} .interval {{ stroke: #035a6b; stroke-width: 3 }}
circle {{ fill: #035a6b }} .beyond circle {{ fill: #a51d24 }} .mark {{ fill: #777 }}
.limit {{ stroke: #111; stroke-dasharray: 3 2 }}
</style>
<h1>{title}</h1>
<p class="band {state}">{verdict}</p>
<p>{tried}. Share right, or balanced accuracy where the question is yes or no, with the interval of
95%. A guess that never saw the target (▽, prior) and whoever reads the published figure (▲) need
no attack. The dashed line is the limit.</p>
<table><thead><tr><th>Attack</th><th>Questions</th><th>Prior</th><th>Reading</th><th>Attack</th>
<th></th><th>Limit</th><th>Certain and right</th><th></th></tr></thead>
<tbody>
{rows}
</tbody></table>
<p>{last}</p>
</html>
"""
