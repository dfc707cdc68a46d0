"""A question as a service knows it, and what is kept of its answer."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, replace
from urllib.parse import quote

from discreet.errors import QueryRefused
from discreet.policy import Claim, Margins
from discreet.query import Question
from discreet.release.result import Hint, Release
from discreet.release.text import stem
from discreet.service.granted import granted
from discreet.service.opened import Opened

_COMPRESSED = 1_000  # bytes from which compression is worth it
_LEVEL = 1  # of compression: a quarter more bytes than at 6, and a fifth of the time


@dataclass(frozen=True, eq=False)
class Asked:
    """A question looked up in a data set, with the totals asked for; `key` is its name."""

    opened: Opened
    question: Question
    totals: Margins
    key: bytes

    @classmethod
    def of(cls, opened: Opened, question: Question, totals: str) -> Asked:
        """Return a question of this data set with its name; no rule is applied yet."""
        margins = Margins.of(totals)
        if opened.asking is not None and question.canonical in opened.asking.grants:
            opened = granted(opened)
        # The order of the variables and the levels at which filters are named are no part of the
        # canonical question, but of what its answer says.
        named = ",".join(f.level.id for f in question.filters)
        key = opened.tag(question.canonical, question.by, named, margins.value)
        return cls(opened, question, margins, key)

    @property
    def public(self) -> bool:
        """Whether the answer is for everyone."""
        return self.opened.public

    @property
    def claims(self) -> bool:
        """Whether asking for it by its address alone may release it."""
        return self.opened.tier.space.claim is Claim.GET

    @property
    def stem(self) -> str:
        """What its files are called after it, without an ending."""
        return stem(self.opened.id, self.question)

    def link(self, path: str, format: str) -> str:
        """Return an address that asks the same, from the folder of the data set."""
        given = {
            "by": self.question.by,
            "where": self.question.where,
            "totals": "" if self.totals is Margins.NONE else self.totals.value,
            "format": format,
        }
        parts = (f"{key}={quote(text, safe=',|=@')}" for key, text in given.items() if text)
        return f"{path}?{'&'.join(parts)}"


@dataclass(frozen=True, eq=False)
class File:
    """A release in a format; `tag` is its name.

    `compressed` is the body in gzip, None before anybody wanted it and empty where it does not pay.
    """

    body: bytes
    compressed: bytes | None
    media_type: str
    name: str
    tag: str
    public: bool
    link: str = ""
    """The relative address of the notes that belong beside it; empty where it carries them."""

    @classmethod
    def of(
        cls, body: bytes, media_type: str, name: str, key: bytes, public: bool, link: str = ""
    ) -> File:
        """Return the file with these bytes."""
        return cls(body, None, media_type, name, key.hex(), public, link)

    @property
    def long(self) -> bool:
        """Whether it is so long that compression may pay."""
        return len(self.body) >= _COMPRESSED

    @property
    def zipped(self) -> File:
        """The file with its body in gzip, where that pays."""
        if self.compressed is not None or not self.long:
            return self
        compressed = gzip.compress(self.body, _LEVEL, mtime=0)
        pays = len(compressed) <= 0.9 * len(self.body)  # or the format is compressed already
        return replace(self, compressed=compressed if pays else b"")


Kept = Release | QueryRefused | File


def kept_bytes(found: Kept) -> int:
    """Return roughly how many bytes of memory an answer takes."""
    if isinstance(found, File):
        return 500 + len(found.body) + len(found.compressed or b"")
    others = sum(map(_hint_bytes, found.hints))
    if isinstance(found, QueryRefused):
        return 2_000 + others
    table = found.table
    arrays = [table.values, table.withheld, table.low, table.high]
    names = sum(len(d.codes) for d in table.dimensions)
    # What the quality is estimated from has two more numbers for each figure.
    more = 2 * table.values.nbytes
    return 20_000 + others + 100 * names + more + sum(a.nbytes for a in arrays if a is not None)


def _hint_bytes(hint: Hint) -> int:
    shown = sum(axis.kept.nbytes for axis in hint.question.axes)
    return 500 + shown + sum(f.allowed.nbytes for f in hint.question.filters)
