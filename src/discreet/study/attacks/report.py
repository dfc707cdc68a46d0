"""What all attackers on one data set found: as text, as a page, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.study.attacks.finding import FEW, Finding, Share, Verdict

NOTHING = "nothing was answered"
CUT = "its time ran out"
NOTHING_BETTER = "This does not say that no better attack exists."
PRIVATE = "Not for publication: measured on real people"


@dataclass(frozen=True)
class Report:
    """What the attackers found, with all that is needed to run them again.

    `public` says that the people are invented. `untried` are the attacks that need not have been
    tried, by the policy.
    """

    title: str
    policy: str
    people: int
    seeds: tuple[int, ...]
    seconds: float
    findings: tuple[Finding, ...]
    left_out: tuple[str, ...] = ()
    public: bool = False
    untried: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[Finding, ...]:
        """The attacks that go beyond their bounds."""
        return self._of(Verdict.BEYOND)

    @property
    def too_few(self) -> tuple[Finding, ...]:
        """The attacks that had time for hardly any try: they say nothing."""
        return self._of(Verdict.TOO_FEW)

    @property
    def not_tried(self) -> tuple[Finding, ...]:
        """The attacks that had nothing to be tried on, and should have been tried."""
        return tuple(f for f in self._of(Verdict.NOT_TRIED) if f.id not in self.untried)

    @property
    def short(self) -> tuple[Finding, ...]:
        """The attacks whose time ran out: what they found cannot be had again from the seed."""
        return tuple(finding for finding in self.findings if finding.short)

    def _of(self, verdict: Verdict) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.verdict is verdict)

    @property
    def passed(self) -> bool:
        """Whether every attack was tried to its end, and stays within its bound."""
        return not any(names for _, names in self._against())

    def _against(self) -> list[tuple[str, list[str]]]:
        """Return all that speaks against a certificate, with the attacks."""
        return [
            ("Beyond them", [f.name for f in self.failed]),
            (
                "Too few tries to judge by, give more seeds in [attack]",
                [f"{f.name} ({f.tries} of {FEW})" for f in self.too_few],
            ),
            ("Not tried", [f"{f.name} ({why(f)})" for f in self.not_tried]),
            ("Cut short, give more seconds", [f.name for f in self.short]),
            ("Not run", list(self.left_out)),
        ]

    @property
    def verdict(self) -> str:
        """The outcome in a few sentences."""
        judged = [f for f in self.findings if f.verdict in (Verdict.WITHIN, Verdict.BEYOND)]
        within = len(judged) - len(self.failed)
        said = [f"{within} of {len(judged)} attacks stay within their limits."]
        said += [f"{words}: {', '.join(names)}." for words, names in self._against() if names]
        return " ".join(said)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "title": self.title,
            "policy": self.policy,
            "people": self.people,
            "seeds": list(self.seeds),
            "seconds": self.seconds,
            "public": self.public,
            "passed": self.passed,
            "verdict": self.verdict,
            "findings": [finding.as_dict() for finding in self.findings],
            "left_out": list(self.left_out),
            "untried": list(self.untried),
        }

    @property
    def subject(self) -> str:
        """What was attacked."""
        kind = "invented people" if self.public else "people"
        seeds = ", ".join(map(str, self.seeds))
        many = "seed" if len(self.seeds) == 1 else "seeds"
        return f"Policy {self.policy}, {self.people:,} {kind}, {many} {seeds}"

    @property
    def text(self) -> str:
        """The report as lines of text, the attacks one below the other."""
        lines = [self.title, self.subject, "" if self.public else f"{PRIVATE}.\n"]
        heads = f"{'prior':>6} {'reading':>7} {'informed':>8}  {'attack':16} {'limit':>5}"
        lines.append(f"{'':28} {heads}  certain")
        lines += [_line(finding) for finding in self.findings]
        return "\n".join([*lines, "", self.verdict, NOTHING_BETTER])

    @property
    def html(self) -> str:
        """The report as a page by itself."""
        from discreet.study.attacks.page import drawn

        return drawn(self)


def short(share: Share | None) -> str:
    """Return a share in two digits."""
    return "–" if share is None or not share.tries else f"{share.value:.2f}"


def limit(finding: Finding) -> str:
    """Return the bound in two digits."""
    return "–" if finding.bound is None else f"{finding.bound:.2f}"


def sure(finding: Finding) -> str:
    """Return how many statements were certain, and how many of them right."""
    return f"{finding.certain_right} of {finding.certain}" if finding.certain else "–"


def why(finding: Finding) -> str:
    """Return why an attack has nothing to show."""
    return CUT if finding.short else finding.reason or NOTHING


def _line(finding: Finding) -> str:
    if not finding.tries:
        return f"{finding.name:28} not tried: {why(finding)}"
    told = finding.verdict
    verdict = f"  {told.upper()}" if told in (Verdict.BEYOND, Verdict.TOO_FEW) else ""
    verdict += "  CUT SHORT" if finding.short else ""
    return (
        f"{finding.name:28} {short(finding.prior):>6} {short(finding.reading):>7} "
        f"{short(finding.informed):>8}  {finding.attack!s:16} {limit(finding):>5}  "
        f"{sure(finding)}{verdict}"
    )
