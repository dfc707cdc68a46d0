"""The page on formats: every format and key is on it, and its Python runs on what it writes."""

from __future__ import annotations

import re
import runpy
from contextlib import chdir
from pathlib import Path

from discreet.release.formats import FORMATS
from discreet.release.standalone import KEYS, Sidecar, convert

PAGE = (Path(__file__).parents[3] / "docs" / "formats.md").read_text(encoding="utf-8")


def test_every_format_and_every_key_is_on_the_page() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \|", PAGE, re.MULTILINE)
    assert sorted(rows) == sorted(FORMATS)
    said = PAGE[PAGE.index("The keys of the JSON file") :].split("\n\n")[0]
    assert all(f"`{key}`" in said for key in KEYS)


def test_the_snippets_in_python_run(tmp_path: Path) -> None:
    files = re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL)
    for name, content in files:
        (tmp_path / name).write_text(content, encoding="utf-8")
    made = convert(tmp_path / "table.csv", Sidecar.read(tmp_path / "table.meta.json"))
    made.write(tmp_path / "tidy.csv", "csv")
    made.write(tmp_path / "table.xml", "sdmx-ml")
    snippets = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(snippets) == 2
    found = {}
    for i, snippet in enumerate(snippets):
        (tmp_path / f"s{i}.py").write_text(snippet)
        with chdir(tmp_path):
            found |= runpy.run_path(str(tmp_path / f"s{i}.py"))
    assert found["wide"].loc["North", "Female"] == 135
    assert found["wide"].isna().sum().sum() == 1
    assert len(found["data"].data) == 6
