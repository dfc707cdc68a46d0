"""Reading PX back."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from urllib.parse import unquote

from discreet.errors import ParameterError
from discreet.release.readers.base import Found, Named, assembled, figure, parsed, proof_of, unlike
from discreet.release.text import facts
from discreet.release.writers.px import MISSING, note

_KEYWORD = re.compile(r'([A-Z0-9-]+)(?:\("([^"]*)"\))?=')
_PIECE = re.compile(r'\s*("[^"]*")|\s*([,;])|\s*([^\s",;]+)')


def read(path: Path) -> Found:
    """Return what a PX file says."""
    text = path.read_bytes().decode("utf-8-sig", "replace")
    at, keywords = 0, {}
    while not text.startswith("DATA=", at):
        found = _KEYWORD.match(text, at)
        if found is None:
            raise ParameterError(f"'{path.name}' must be a PX file. Got {text[at : at + 30]!r}.")
        values, at = _values(text, found.end())
        keywords[found.group(1), found.group(2)] = values
        while text[at : at + 1].isspace():
            at += 1
    cells = text[at + len("DATA=") :].rstrip().removesuffix(";").split()
    names = [*keywords["STUB", None], *keywords.get(("HEADING", None), [])]
    document = parsed(unquote(keywords["INFO", None][0]), "INFO")
    named, codes = [], []
    for name in names:
        own = keywords["CODES", name]
        labels = dict(zip(own, keywords["VALUES", name], strict=True))
        level = keywords["VARIABLECODE", name][0]
        named.append(Named(level, name.removesuffix(f" ({level})"), labels))
        codes.append(own)
    columns = list(zip(*product(*codes), strict=True))
    table = assembled(named, columns, [None if cell == MISSING else figure(cell) for cell in cells])
    said = facts(document)
    wrong = unlike("TITLE", keywords["TITLE", None][0], document["title"])
    wrong += unlike("NOTE", keywords["NOTE", None][0], note(said))
    return Found(table, True, said, proof_of(document), wrong)


def _values(text: str, at: int) -> tuple[list[str], int]:
    """Return the values of a keyword and where the next begins; pieces of a text are joined."""
    values: list[str] = []
    fresh = True
    while True:
        found = _PIECE.match(text, at)
        if found is None:
            raise ParameterError("a keyword of the PX file does not end.")
        at = found.end()
        quoted, mark, word = found.groups()
        if mark == ";":
            return values, at
        if mark == ",":
            fresh = True
            continue
        piece = word if quoted is None else quoted[1:-1]
        if fresh:
            values.append(piece)
        else:
            values[-1] += piece
        fresh = False
