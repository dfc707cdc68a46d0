"""The tags of XML and HTML as this program writes them, one after the other.

There are no comments, entities of a file's own, or declarations among them: what is not a plain
tag with plain attributes is not ours. So no text can grow while it is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

from discreet.errors import ParameterError
from discreet.files import bounded
from discreet.release.formats.compare import MOST_FIELDS

_NAME = r"[A-Za-z][\w:.-]*"
_ATTRIBUTE = rf"\s+({_NAME})=(?:\"([^\"<]*)\"|'([^'<]*)')"
_TAG = re.compile(rf"<(/?)({_NAME})((?:{_ATTRIBUTE})*)\s*(/?)>([^<]*)")
_PAIR = re.compile(_ATTRIBUTE)


class Tag(NamedTuple):
    """A tag, what follows it up to the next one, and whether it ends an element."""

    name: str
    attributes: dict[str, str]
    text: str
    closes: bool


def tags(text: str, where: str) -> Iterator[Tag]:
    """Yield the tags of a text, which has nothing else in it but what is between them."""
    bounded(where, text.count("<"), MOST_FIELDS, "tags")
    at = 0
    while at < len(text):
        found = _TAG.match(text, at)
        if found is None:
            line = text.count("\n", 0, at) + 1
            raise ParameterError(f"line {line:,} of {where} is not as this program wrote it.")
        at = found.end()
        attributes: dict[str, str] = {}
        for pair in _PAIR.finditer(found[3]) if found[3] else ():
            if pair[1] in attributes:
                raise ParameterError(f"a tag of {where} has the attribute '{pair[1]:.40}' twice.")
            attributes[pair[1]] = unescape(pair[2] if pair[3] is None else pair[3])
        after = unescape(found[8])
        if found[7]:
            yield Tag(found[2], attributes, "", False)
            yield Tag(found[2], {}, after, True)
        else:
            yield Tag(found[2], attributes, after, bool(found[1]))
