"""Each benchmark replaces its own section of the page and no other."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "report.py"
SPEC = importlib.util.spec_from_file_location("benchmark_report", SCRIPT)
assert SPEC is not None
assert SPEC.loader is not None
report = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(report)


def test_sections_are_added_and_replaced(tmp_path: Path) -> None:
    page = tmp_path / "docs" / "benchmarks.md"
    report.write_section("one", "first", page)
    report.write_section("two", "second", page)
    report.write_section("one", "again\n", page)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Benchmarks")
    assert "<!-- one:begin -->\nagain\n<!-- one:end -->" in text
    assert "<!-- two:begin -->\nsecond\n<!-- two:end -->" in text
    assert "first" not in text


def test_a_lost_marker_is_not_guessed(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text("<!-- one:begin -->\ntext\n", encoding="utf-8")
    with pytest.raises(ValueError, match="one of the two markers"):
        report.write_section("one", "new", page)


def test_a_table_is_markdown() -> None:
    assert report.table(["a", "b"], [["x", "1"]]) == "| a | b |\n|---|---:|\n| x | 1 |"


def test_rows_are_taken_one_after_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "BENCH", tmp_path / "bench")
    assert report.kept_rows("tables", 120, lambda n: [f"{n} cells"]) == [["120", "120 cells"]]
    assert report.kept_rows("tables", 40, lambda n: ["few"]) == [
        ["40", "few"],
        ["120", "120 cells"],
    ]
    assert report.kept_rows("tables", 120, lambda n: ["new"]) == [["40", "few"], ["120", "new"]]
