"""TOML read strictly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.errors import ParameterError
from discreet.toml import Mistakes, Section, load


def told(function: Any) -> str:
    with pytest.raises(ParameterError) as caught:
        function()
    return str(caught.value)


def test_a_file_is_read_with_or_without_a_byte_order_mark(tmp_path: Path) -> None:
    for name, mark in (("a.toml", b""), ("b.toml", b"\xef\xbb\xbf")):
        (tmp_path / name).write_bytes(mark + "title = 'Å'\r\n".encode())
        assert load(tmp_path / name) == {"title": "Å"}


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    missing = tmp_path / "none.toml"
    assert told(lambda: load(missing)) == f"there is no file {missing}"
    assert told(lambda: load(tmp_path)) == f"{tmp_path} cannot be read: Is a directory"
    latin = tmp_path / "latin.toml"
    latin.write_bytes("a = 'é'".encode("latin-1"))
    assert told(lambda: load(latin)) == f"{latin} is not UTF-8: byte 5"
    broken = tmp_path / "broken.toml"
    broken.write_text("a = 1\na = 2\n")
    assert told(lambda: load(broken)).startswith(f"{broken} is not TOML: ")
    assert "line 2" in told(lambda: load(broken))


def test_keys_are_taken_with_their_kind() -> None:
    section = Section({"a": 1, "b": "x", "c": [1], "d": {"e": 1}, "f": True}, "s")
    assert section.take("a", int) == 1
    assert section.take("b", int, str) == "x"
    assert section.take("c", list) == [1]
    assert section.take("d", dict) == {"e": 1}
    assert section.take("f", bool) is True
    assert section.take("g", int, default=None) is None
    section.end()


@pytest.mark.parametrize(
    ("values", "kinds", "sentence"),
    [
        ({}, (int,), "s must have 'a'."),
        ({"a": "1"}, (int,), "'a' in s must be an integer. Got '1'."),
        ({"a": 1}, (str, dict), "'a' in s must be a text or a table. Got 1."),
        ({"a": True}, (int,), "'a' in s must be an integer. Got True."),
        ({"a": 1}, (bool,), "'a' in s must be true or false. Got 1."),
        ({"a": 1.5}, (int, list), "'a' in s must be an integer or a list. Got 1.5."),
    ],
)
def test_a_wrong_kind_is_told(
    values: dict[str, Any], kinds: tuple[type, ...], sentence: str
) -> None:
    assert told(lambda: Section(values, "s").take("a", *kinds)) == sentence


def test_a_key_nobody_takes_is_told() -> None:
    section = Section({"titel": 1}, "s")
    section.take("title", str, default="")
    assert told(section.end) == "s: no setting 'titel'; did you mean 'title'? Choices: title"


def test_what_is_no_table_is_told() -> None:
    assert told(lambda: Section(3, "s")) == "s must be a table. Got 3."


def _fail(text: str) -> None:
    raise ParameterError(text)


def test_mistakes_are_gathered() -> None:
    mistakes = Mistakes("file")
    assert mistakes.gather(lambda: 3) == 3
    mistakes.end()
    assert mistakes.gather(lambda: _fail("one")) is None
    assert told(mistakes.end) == "file: one"
    mistakes.gather(lambda: _fail("two"))
    assert told(mistakes.end) == "file has 2 mistakes:\n  - one\n  - two"


@pytest.mark.parametrize(
    ("mistake", "sentence"),
    [
        ("b.toml must have 'title'.", "in/b.toml must have 'title'."),
        ("'title' in b.toml must be a text.", "'title' in in/b.toml must be a text."),
        ("b.toml: no setting 'x'", "in/b.toml: no setting 'x'"),
        ("source must have 'files'.", "in/b.toml: source must have 'files'."),
        ("ab.toml is another.", "in/b.toml: ab.toml is another."),
    ],
)
def test_a_file_is_named_once(mistake: str, sentence: str) -> None:
    mistakes = Mistakes("in/b.toml")
    mistakes.gather(lambda: _fail(mistake))
    assert told(mistakes.end) == sentence


def test_other_errors_pass_through() -> None:
    with pytest.raises(ZeroDivisionError):
        Mistakes("file").gather(lambda: 1 / 0)


@pytest.mark.parametrize("text", ["{} = 1", "[{}]", "[[{}]]", "x = {{ {} = 1 }}"])
@pytest.mark.parametrize("joint", [".", " . ", '"."'])
def test_names_joined_by_many_dots_are_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, joint: str
) -> None:
    """The parser takes a time with the square of their number: minutes for 30,000."""
    end = '"' if '"' in joint else ""
    few, many = (text.format(end + joint.join(["a"] * n) + end) for n in (50, 51))
    (tmp_path / "t.toml").write_text(few)
    assert load(tmp_path / "t.toml")
    (tmp_path / "t.toml").write_text(many)
    monkeypatch.setattr("tomllib.loads", None)
    with pytest.raises(ParameterError, match="must not be nested more than 50 deep"):
        load(tmp_path / "t.toml")


def test_a_long_text_is_no_depth(tmp_path: Path) -> None:
    said = "x" * 1_000_000 + " e.g. a sentence. " * 1_000 + "." * 1_000
    (tmp_path / "t.toml").write_text(f'title = "{said}"\n')
    assert load(tmp_path / "t.toml") == {"title": said}
