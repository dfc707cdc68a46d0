"""What the best attack we know learns: the certificate of a data set in plain words.

Only what was measured on invented people is shown. Of a certificate on the office's own people
nothing is said but that there is one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from discreet.page.charts.svg import Svg
from discreet.page.texts import Texts
from discreet.page.visit import Visit, render
from discreet.service import Opened
from discreet.service.certificate import Certificate, latest, of_subject

GROUPS: dict[str, tuple[str, ...]] = {
    "counts": (
        "reading", "unions", "area-unions", "margins", "splits", "differences", "withheld-areas",
        "search",
    ),
    "person": ("unique-person", "equality", "leaver", "everybody-else"),
    "somebody": ("somebody", "refusals", "membership"),
}  # fmt: skip
"""The attacks by what they are after, in the order in which they are shown."""

COMMAND = "discreet verify certificate.json --key signing.pub"
WIDTH, LEFT, SPAN = 440, 10, 420


@dataclass(frozen=True)
class Row:
    """One attack: its words, its picture and its verdict."""

    name: str
    about: str
    kind: str
    verdict: str
    said: str
    picture: str
    gain: float


@dataclass(frozen=True)
class Shown:
    """What is shown of a certificate; the state is passed, beyond, open, own, expired or none."""

    state: str
    headline: str
    sentences: tuple[str, ...]
    certificate: Certificate | None = None
    groups: tuple[tuple[str, tuple[Row, ...]], ...] = ()
    questions: int = 0
    certain: int = 0

    @property
    def look(self) -> str:
        """The colour of its meaning."""
        return {"passed": "ok", "beyond": "no"}.get(self.state, "part")


def shown(opened: Opened, t: Texts) -> Shown:
    """Return what is to be said of the certificate of a data set."""
    key = opened.signer.public
    found = of_subject(opened.store, opened.subject, key)
    if found is not None and found.public:
        return _figures(found, t)
    if found is not None and found.passed:
        return _told("own", t, found)
    last = latest(opened.store, opened.id, key)
    if found is None and last is not None and last.public and last.passed:
        return _told("expired", t, last)
    return _told("none", t)


def _told(state: str, t: Texts, about: Certificate | None = None) -> Shown:
    """Return what is said where there are no figures to show."""
    values = {}
    if about is not None:
        values = {"date": t.date(about.tested), "policy": about.statement["policy"]}
    head, text = (t(f"certificate.{state}.{part}", **values) for part in ("head", "text"))
    return Shown(state, head, (text,))


def _figures(found: Certificate, t: Texts) -> Shown:
    """Return the figures of a certificate that may be public."""
    every: list[Mapping[str, Any]] = found.statement["findings"]
    by_id = {one["id"]: one for one in every}
    groups = tuple(
        (name, tuple(_row(by_id[i], t) for i in ids if i in by_id)) for name, ids in GROUPS.items()
    )
    judged = [one for one in every if one["verdict"] in ("within", "beyond")]
    beyond = [one for one in judged if one["verdict"] == "beyond"]
    state = "passed" if found.passed else "beyond" if beyond else "open"
    certain = sum(one["certain"] for one in every)
    right = sum(one["certain_right"] for one in every)
    sentences = [t("certificate.certain", n=certain, right=right) if certain else ""]
    sentences[0] = sentences[0] or t("certificate.nothing_certain")
    if state == "passed":
        headline = t("certificate.passed.head", within=len(judged), n=len(judged))
    else:
        headline = t(f"certificate.{state}.head", n=len(beyond))
        sentences.insert(0, t(f"certificate.{state}.text", date=t.date(found.tested)))
    most = max((row for _, rows in groups for row in rows), key=lambda row: row.gain, default=None)
    if most is not None:
        sentences.append(t("certificate.most", name=most.name, said=most.said))
    questions = sum(one["questions"] for one in every)
    return Shown(state, headline, tuple(sentences), found, groups, questions, certain)


def _row(one: Mapping[str, Any], t: Texts) -> Row:
    words = f"certificate.attacks.{one['id']}"
    kind = {"within": "ok", "beyond": "no"}.get(one["verdict"], "told")
    verdict = t(f"certificate.verdicts.{one['verdict'].replace(' ', '_')}")
    name, about = t(f"{words}.name"), t(f"{words}.about")
    if one["attack"] is None:
        return Row(name, about, kind, verdict, "", "", float("-inf"))
    share, without = one["attack"]["value"], _without(one)
    more = round(100 * share) - round(100 * without)
    key = "certificate.more" if more > 0 else "certificate.same"
    said = t(key, times=round(100 * share), more=more)
    return Row(name, about, kind, verdict, said, _strip(one, kind, said), share - without)


def _guess(one: Mapping[str, Any]) -> float | None:
    """Return how often a guess is right; a coin is where the question is yes or no."""
    if one["prior"] is not None:
        return float(one["prior"]["value"])
    return 0.5 if one["measure"].startswith("balanced") else None


def _without(one: Mapping[str, Any]) -> float:
    """Return how often whoever does not attack is right: by guessing, or by reading."""
    known = [share for share in (_guess(one), _read(one)) if share is not None]
    return max(known, default=0.0)


def _read(one: Mapping[str, Any]) -> float | None:
    """Return how often a reader of the published figure is right, who knows the method if told."""
    share = one.get("informed") or one["reading"]
    return None if share is None else float(share["value"])


def _strip(one: Mapping[str, Any], kind: str, said: str) -> str:
    """Return the picture: guess above the line, reading below, attack on it, the limit dashed."""
    drawing = Svg(WIDTH, 34, said, f"strip {kind}")
    drawing.line(LEFT, 17, LEFT + SPAN, 17, "track")
    for tick in range(5):
        drawing.line(_x(tick / 4), 14, _x(tick / 4), 20, "track")
    attack, without = float(one["attack"]["value"]), _without(one)
    if attack > without:
        drawing.rect(_x(without), 13.5, _x(attack) - _x(without), 7, "gain")
    guess = _guess(one)
    if guess is not None:
        drawing.path(f"M{_x(guess) - 5:.1f} 2h10l-5 8z", "guess")
    read = _read(one)
    if read is not None:
        drawing.path(f"M{_x(read) - 5:.1f} 32h10l-5 -8z", "reading")
    if one["bound"] is not None:
        drawing.line(_x(one["bound"]), 4, _x(one["bound"]), 30, "bound")
    drawing.circle(_x(attack), 17, 6, "attack")
    return drawing.text_of()


def _x(share: float) -> float:
    return LEFT + SPAN * min(max(share, 0.0), 1.0)


def page(opened: Opened, visit: Visit, common: Mapping[str, Any]) -> Response:
    """Return the page of the certificate."""
    found = shown(opened, visit.t)
    key = opened.signer.public.hex()[:16]
    mark = " ".join(key[i : i + 4] for i in range(0, 16, 4))
    return render(
        visit, "certificate.html", place="method", c=found, mark=mark, command=COMMAND, **common
    )


def as_file(opened: Opened) -> Response:
    """Return the certificate itself, if its figures may be public."""
    found = of_subject(opened.store, opened.subject, opened.signer.public)
    if found is None or not found.public:
        return Response(status_code=404)
    body = json.dumps(found.proof, indent=1)
    return Response(body, headers={"Cache-Control": "no-cache"}, media_type="application/json")
