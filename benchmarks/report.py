"""Writes a section of docs/benchmarks.md: each benchmark owns what stands between its markers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
TITLE = "# Benchmarks\n\nWritten by the scripts in `benchmarks/`; `make bench` runs them all.\n"


def write_section(name: str, text: str, page: Path = PAGE) -> None:
    """Put the text between `<!-- name:begin -->` and `<!-- name:end -->`, at the end if new."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    section = f"{begin}\n{text.strip()}\n{end}"
    old = page.read_text(encoding="utf-8") if page.exists() else TITLE
    if (begin in old) != (end in old):
        raise ValueError(f"{page.name} has one of the two markers of '{name}' only.")
    if begin in old:
        head, _, rest = old.partition(begin)
        tail = rest.partition(end)[2]
        new = head + section + tail
    else:
        new = f"{old.rstrip()}\n\n{section}\n"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(new, encoding="utf-8")


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a markdown table, the first column left and the others right."""
    lines = ["| " + " | ".join(header) + " |"]
    lines.append("|---|" + "---:|" * (len(header) - 1))
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)
