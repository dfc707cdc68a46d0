"""The parts of an XLSX workbook, read without trusting what they say of themselves."""

from __future__ import annotations

import re
import stat
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from discreet.errors import NotOurs, ParameterError
from discreet.files import MOST_BYTES, bounded, read_bytes
from discreet.release.formats.compare import MOST_FIELDS
from discreet.release.formats.tags import Tag, tags

MOST_ROWS = 1_048_576
MOST_COLUMNS = 16_384
_PROLOG = re.compile(r'\s*<\?xml version="1.0" encoding="UTF-8"( standalone="yes")?\s*\?>\s*', re.I)
_CELL = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6})")
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_LOCAL, _CENTRAL, _END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_STORED, _DEFLATED = 0, 8
_NEEDED = 20  # the version of a program that can unpack either


class Part(NamedTuple):
    """A part as it lies in the file: how it is packed, its size and its sum unpacked."""

    packing: int
    packed: bytes
    size: int
    sum: int
    plain: bool


@dataclass(frozen=True, eq=False)
class Members:
    """The parts of a zip file, which must follow each other with nothing in between."""

    name: str
    raw: bytes

    @classmethod
    def of(cls, path: Path) -> Members:
        """Return the parts of a file, all together no larger than a workbook of ours."""
        found = cls(path.name, read_bytes(path))
        bounded(path.name, sum(part.size for part in found.names.values()), MOST_BYTES)
        return found

    @cached_property
    def names(self) -> dict[str, Part]:
        """The parts by name, in their order."""
        try:
            return dict(self._directory())
        except (struct.error, UnicodeDecodeError):
            raise self._broken() from None

    @property
    def plain(self) -> bool:
        """Whether every program unpacks the same: nothing is said twice, or besides."""
        return all(part.plain for part in self.names.values())

    def _directory(self) -> Iterator[tuple[str, Part]]:
        """Yield the parts as the directory at the end lists them, the first one at the start."""
        raw, end = self.raw, len(self.raw) - 22
        mark, *disks, here, many, size, start, comment = struct.unpack_from(
            "<4s4H2IH", raw, max(end, 0)
        )
        if mark != _END or any(disks) or here != many or comment or start + size != end:
            raise self._broken()
        at, next_part, seen = start, 0, set[str]()
        for _ in range(many):
            # mark, versions, flags, packing, time, date, sum, sizes, lengths, …, where it begins
            mark, _, needed, *facts, named, extra, told, disk, text, kind, offset = (
                struct.unpack_from("<4s6H3I5H2I", raw, at)
            )
            name = raw[at + 46 : at + 46 + named].decode("utf-8")
            at += 46 + named + extra + told
            if mark != _CENTRAL or offset != next_part or name in seen:
                raise self._broken()
            seen.add(name)
            first, alike, tail = self._head(offset, name, [needed, *facts])
            flags, packing, _, _, summed, packed, unpacked = facts
            next_part = first + packed + tail
            plain = alike and needed <= _NEEDED and _is_file(kind)
            plain = plain and not (flags or extra or told or disk or text > 1)
            yield name, Part(packing, raw[first : first + packed], unpacked, summed, plain)
        if next_part != start or at != end:
            raise self._broken()

    def _head(self, offset: int, name: str, facts: list[int]) -> tuple[int, bool, int]:
        """Return where a part begins, whether the head before it says the same, and its tail.

        Some programs write size and sum behind a part, not before it.
        """
        mark, *said, named, extra = struct.unpack_from("<4s5H3I2H", self.raw, offset)
        if mark != _LOCAL or self.raw[offset + 30 : offset + 30 + named] != name.encode():
            raise self._broken()
        tail = 16 if said[1] & 8 else 0
        return offset + 30 + named + extra, said == facts and not extra, tail

    def _broken(self) -> NotOurs:
        return NotOurs(f"'{self.name}' must be a whole XLSX workbook.")

    def read(self, name: str) -> bytes:
        """Return a part, which must be as large as the directory says."""
        if name not in self.names:
            raise self._broken()
        part = self.names[name]
        found, whole = part.packed, part.packing == _STORED
        if part.packing == _DEFLATED:
            unpacker = zlib.decompressobj(-15)
            try:
                found = unpacker.decompress(part.packed, part.size + 1)
            except zlib.error:
                raise self._broken() from None
            whole = unpacker.eof and not unpacker.unused_data
        if not whole or len(found) != part.size or zlib.crc32(found) != part.sum:
            raise self._broken()
        return found

    def tags(self, name: str) -> Iterator[Tag]:
        """Return the tags of a part, which is XML."""
        text = self.read(name).decode("utf-8-sig", "replace")
        prolog = _PROLOG.match(text)
        return tags(text[prolog.end() :] if prolog else text, name)

    def sheets(self) -> dict[str, str]:
        """Return the part of each sheet by its name, in their order."""
        related = {
            tag.attributes["Id"]: tag.attributes["Target"]
            for tag in self.tags("xl/_rels/workbook.xml.rels")
            if tag.name == "Relationship" and not tag.closes
        }
        found: dict[str, str] = {}
        for tag in self.tags("xl/workbook.xml"):
            if tag.name == "sheet" and not tag.closes:
                part = related[tag.attributes["r:id"]]
                whole = part.removeprefix("/") if part.startswith("/") else f"xl/{part}"
                if found.setdefault(tag.attributes["name"], whole) != whole:
                    raise ParameterError("two sheets must not have the same name.")
        return found

    def shared(self) -> list[str]:
        """Return the texts that cells refer to by number, as other programs keep them."""
        part, found = "xl/sharedStrings.xml", list[str]()
        for tag in self.tags(part) if part in self.names else ():
            if tag.name == "si" and not tag.closes:
                found.append("")
            elif tag.name == "t" and not tag.closes:
                found[-1] += _text(tag.text)
        return found

    def rows(self, part: str, shared: list[str]) -> list[list[str]]:
        """Return the rows of a sheet as texts, blank ones where it leaves some out."""
        rows: list[list[str]] = []
        places, kind, inside = 0, "", False
        for tag in self.tags(part):
            if tag.name == "c" and not tag.closes:
                column, row = _place(tag.attributes.get("r", ""))
                kind = tag.attributes.get("t", "n")
                rows += [[] for _ in range(row - len(rows))]
                if row != len(rows) or column < len(rows[-1]):
                    raise ParameterError(f"the cells of {part} must be in order.")
                places += column + 1 - len(rows[-1])
                bounded(self.name, places, MOST_FIELDS, "cells")
                rows[-1] += [""] * (column + 1 - len(rows[-1]))
                inside = True
            elif tag.name == "c":
                inside = False
            elif tag.name in ("v", "t") and inside and not tag.closes:
                rows[-1][-1] += shared[int(tag.text)] if kind == "s" else _text(tag.text)
            elif tag.name == "f":
                raise ParameterError(f"a cell of {part} must not be a formula.")
        return rows


def _place(name: str) -> tuple[int, int]:
    """Return the column of a cell, from 0, and its row, from 1."""
    found = _CELL.fullmatch(name)
    if found is None:
        raise ParameterError(f"a cell must have a place like B7. Got '{name:.40}'.")
    column = 0
    for letter in found[1]:
        column = 26 * column + ord(letter) - 64
    bounded(f"row {found[2]}", column, MOST_COLUMNS, "columns")
    bounded("a sheet", int(found[2]), MOST_ROWS, "rows")
    return column - 1, int(found[2])


def _is_file(kind: int) -> bool:
    """Whether a part is an ordinary file by its attributes, of DOS and of Unix: not hidden."""
    return kind & 0xFFFF in (0, 0x20) and stat.S_IFMT(kind >> 16) in (0, stat.S_IFREG)


def _text(text: str) -> str:
    """Return a text of a cell: Excel writes a character that XML has not as `_x0001_`."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
