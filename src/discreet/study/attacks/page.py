"""The report as a page by itself, for the custodian: read in a minute, with a picture a line."""

from __future__ import annotations

from html import escape

from discreet.study.attacks.finding import Finding, Share, Verdict
from discreet.study.attacks.report import (
    NOTHING_BETTER,
    PRIVATE,
    Report,
    limit,
    short,
    sure,
    why,
)

# Words and signs of each verdict.
_TAGS = {
    Verdict.WITHIN: ("ok", "✓ Within"),
    Verdict.BEYOND: ("no", "✕ Beyond"),
    Verdict.NOT_TRIED: ("part", "– Not tried"),
    Verdict.TOO_FEW: ("part", "– Too few tries"),
    Verdict.TOLD: ("told", "Told only"),
}


def drawn(report: Report) -> str:
    """Return the page of a report."""
    rows = "\n".join(_row(finding) for finding in report.findings)
    private = "" if report.public else f'<p class="private">{PRIVATE}</p>'
    wrong = "".join(map(_wrong, report.failed))
    return _PAGE.format(
        title=escape(report.title),
        head="Within all limits" if report.passed else "Not certified",
        verdict=escape(report.verdict),
        state="ok" if report.passed else "no",
        subject=escape(report.subject),
        private=private,
        rows=rows,
        wrong=wrong,
        last=NOTHING_BETTER,
    )


def _wrong(finding: Finding) -> str:
    """Return what an attack beyond its bound did, in words."""
    sentence = (
        f"{finding.name[:1].upper()}{finding.name[1:]}: the attacker is right "
        f"{100 * finding.attack.value:.0f} of 100 times, the limit is "
        f"{100 * (finding.bound or 0):.0f}."
    )
    if finding.certain:
        sentence += f" {finding.certain} statements were certain, {finding.certain_right} right."
    return f"<p>{escape(sentence)} {escape(finding.note)}.</p>"


def _row(finding: Finding) -> str:
    kind, words = _TAGS[finding.verdict]
    note = finding.note if finding.tries else why(finding)
    cut = " · cut short" if finding.short else ""
    return (
        f'<tr class="{kind}"><th scope="row">{escape(finding.name)}<br>'
        f"<small>{escape(note)}{cut}</small></th><td>{finding.questions:,}</td>"
        f"<td>{short(finding.prior)}</td><td>{short(finding.reading)}</td>"
        f"<td>{short(finding.informed)}</td>"
        f"<td>{_interval(finding.attack)}</td><td>{_strip(finding)}</td><td>{limit(finding)}</td>"
        f'<td>{sure(finding)}</td><td><span class="tag">{words}</span></td></tr>'
    )


def _interval(share: Share) -> str:
    if not share.tries:
        return "–"
    return f"<b>{share.value:.2f}</b> <small>{share.low:.2f}–{share.high:.2f}</small>"


def _strip(finding: Finding) -> str:
    """Return a picture from 0 to 1: prior above the line, reading below, attack on it, limit."""
    if not finding.tries:
        return ""
    attack, bound = finding.attack, finding.bound
    parts = ['<path d="M10 16H270M10 12v8M75 12v8M140 12v8M205 12v8M270 12v8" class="axis"/>']
    better = max((s.value for s in (finding.prior, finding.read) if s and s.tries), default=None)
    if better is not None and attack.value > better:
        parts.append(f'<path d="M{_x(better)} 16H{_x(attack.value)}" class="gain"/>')
    ends = f"M{_x(attack.low)} 12v8M{_x(attack.high)} 12v8"
    parts.append(f'<path d="M{_x(attack.low)} 16H{_x(attack.high)}{ends}" class="interval"/>')
    marks = ((finding.prior, "-5,2 5,2 0,10", "prior"), (finding.read, "-5,30 5,30 0,22", ""))
    for share, points, kind in marks:
        if share is not None and share.tries:
            at = f"translate({_x(share.value)} 0)"
            parts.append(f'<polygon points="{points}" transform="{at}" class="mark {kind}"/>')
    if bound is not None and bound == bound:
        parts.append(f'<path d="M{_x(bound)} 3V29" class="limit"/>')
    parts.append(f'<circle cx="{_x(attack.value)}" cy="16" r="4.5"/>')
    words = f"attack {attack.value:.2f}, limit {limit(finding)}, on a scale from 0 to 1"
    inside = "".join(parts)
    return f'<svg viewBox="0 0 280 32" width="280" role="img" aria-label="{words}">{inside}</svg>'


def _x(value: float) -> str:
    return f"{10 + 260 * min(max(value, 0.0), 1.0):.1f}"


_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ --ink: #14201d; --ok: #14632b; --no: #a51d24; --accent: #035a6b; color-scheme: light }}
body {{ font: 15px/1.45 "DejaVu Sans", sans-serif; color: var(--ink); max-width: 78rem;
  margin: 2rem auto; padding: 0 1rem }}
h1, h2 {{ font-family: "DejaVu Serif", serif; font-weight: 400; line-height: 1.2 }}
h2 {{ font-size: 1.4rem; margin: 0 0 .3rem }}
.band {{ border-top: 3px solid var(--ok); background: #e6f2e8; padding: 1rem 1.3rem }}
.band.ok h2 {{ color: var(--ok) }} .band.no h2 {{ color: var(--no) }}
.band.no {{ border-color: var(--no); background: #fbe9e7 }} .band p {{ margin: .2rem 0 }}
.frame {{ border: 2px solid var(--ink); margin: 1rem 0; overflow-x: auto }}
.private {{ background: var(--ink); color: #fff; font-weight: 700; margin: 0; padding: .4rem 1rem }}
table {{ border-collapse: collapse; width: 100% }}
th, td {{ text-align: right; padding: .45rem .6rem; border-bottom: 1px solid #cdd5d3;
  font-weight: 400; font-variant-numeric: tabular-nums; white-space: nowrap }}
thead th {{ color: #4a5a56; font-size: .86rem }}
tbody th {{ white-space: normal; font-weight: 700 }}
th[scope=row], thead th:first-child {{ text-align: left }}
small {{ color: #4a5a56; font-weight: 400 }} tr.no {{ background: #fbe9e7 }}
.tag {{ border: 1px solid; border-radius: 3px; padding: .1rem .4rem; font-size: .82rem;
  color: #4a5a56 }} .ok .tag {{ color: var(--ok) }}
.no .tag {{ background: var(--no); color: #fff }}
.axis {{ stroke: #b9c6c2; fill: none }} .interval {{ stroke: var(--accent); fill: none }}
.gain {{ stroke: var(--accent); stroke-width: 7 }} .no .gain, .no .interval {{ stroke: var(--no) }}
circle {{ fill: var(--accent) }} .no circle {{ fill: var(--no) }} .mark {{ fill: #7a8481 }}
.prior {{ fill: #fff; stroke: var(--ink) }} .limit {{ stroke: var(--ink); stroke-width: 2;
  stroke-dasharray: 3 2 }}
@media print {{ body {{ font-size: 9.5pt; margin: 0 }} tr {{ break-inside: avoid }} }}
</style>
<h1>{title}</h1>
<div class="band {state}"><h2>{head}</h2><p>{verdict}</p>{wrong}</div>
<p>{subject}. Share right, or balanced accuracy where the question is yes or no, with the interval
of 95%. Neither a guess that never saw the target (▽, prior) nor reading the published figure (▲)
needs an attack; an informed reader knows the method and makes the best of that one figure. The bar
is what the attack gains over the better of them; the dashed line is the limit.</p>
<div class="frame">{private}
<table><thead><tr><th>Attack</th><th>Questions</th><th>Prior</th><th>Reading</th><th>Informed</th>
<th>Attack</th><th></th><th>Limit</th><th>Certain<br>and right</th><th>Verdict</th></tr></thead>
<tbody>
{rows}
</tbody></table></div>
<p>{last}</p>
</html>
"""
