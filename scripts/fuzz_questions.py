"""Throw random questions at the parser; anything but an answer or a plain complaint is a crash.

    python scripts/fuzz_questions.py [--inputs 1000000] [--seed 1]

Questions that are nearly right are bent: pieces swapped, doubled, cut, with odd bytes in between.
The text of an address, a body in JSON, and both looked up in a schema are tried.
"""

from __future__ import annotations

import argparse
import random
import time

import orjson

from discreet.errors import ParameterError, QueryRefused
from discreet.policy import Margins, read_preset
from discreet.population import Level, Schema, Variable
from discreet.query import Query, Question
from discreet.rules import check_question
from discreet.server.models import TypedTable
from discreet.server.parse import read_body, read_query

PIECES = [
    "by=", "where=", "&", "totals=", "format=", "csv", "none", "protected", "tier=public", ",",
    "=", "|", "@", "%", "%2C", "%25", "%ff", "%00", "%0a", "+", ";", " ", "sex", "age", "age_band",
    "sex@sex", "age@age_band", "sex=1", "sex=1|2", "age_band=old", "area", "area=a1|a2", "_T", "é",
    "\x00", "\ud800", "𝟙", "'", '"', "[", "]", "{", "}", ":", "null", "true", "1e400", "-0",
    "\\u0000", '"by"', '"where"', '["sex"]', '{"sex":["1"]}', "../", "x" * 300,
]  # fmt: skip
STARTS = [
    "by=sex,age_band&where=sex=1|2,area=a1&totals=protected&format=csv",
    "by=age@age_band,area",
    '{"by":["sex","age_band"],"where":{"area":["a1","a2"]},"totals":"none","format":"csv"}',
    '{"by":["age@age_band"]}',
]


def schema() -> Schema:
    """Return a small schema: two variables, a coarser level and areas."""
    import numpy as np

    def level(name: str, codes: list[str], of: list[int] | None = None) -> Level:
        where = np.array(range(len(codes)) if of is None else of, np.uint32)
        return Level(name, name, tuple(codes), tuple(codes), where)

    return Schema("fuzz", "Fuzz", "persons", (
        Variable("sex", "Sex", (level("sex", ["1", "2"]),)),
        Variable("age", "Age", (
            level("age", [str(i) for i in range(10)]),
            level("age_band", ["young", "old"], [0] * 5 + [1] * 5),
        )),
        Variable("geography", "Geography", (level("area", ["a1", "a2", "a3", "b,=|@%"]),)),
    ))  # fmt: skip


def bent(rng: random.Random) -> str:
    """Return a question that is nearly right, or nothing like one."""
    if rng.random() < 0.2:
        return "".join(rng.choices(PIECES, k=rng.randrange(12)))
    text = rng.choice(STARTS)
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(len(text) + 1)
        to = min(len(text), at + rng.randrange(8))
        kind = rng.randrange(4)
        if kind == 0:
            text = text[:at] + rng.choice(PIECES) + text[at:]
        elif kind == 1:
            text = text[:at] + text[to:]
        elif kind == 2:
            text = text[:to] + text[at:]
        else:
            text = text[:at] + chr(rng.randrange(0x110000)) + text[to:]
    return text


def tried(text: str, fuzzed: Schema, tier: object) -> bool:
    """Whether the question is answered; raises whatever is neither an answer nor a complaint."""
    raw = text.encode("utf-8", "surrogatepass")
    try:
        given = read_body(raw) if text.startswith("{") else read_query(raw, TypedTable)
        query = Query.parse(given.by, given.where or None)
        question = Question.of(query, fuzzed)
        check_question(question, tier, Margins.NONE)  # type: ignore[arg-type]
        again = Question.of(Query.parse_canonical(question.canonical), fuzzed)
    except (ParameterError, QueryRefused) as complaint:
        orjson.dumps({"message": str(complaint)})  # it can be told
        return False
    assert again.canonical == question.canonical, "the canonical question asks for itself"
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng, fuzzed = random.Random(options.seed), schema()
    tier = read_preset("rounding-3").default_tier
    begin, answered = time.perf_counter(), 0
    for number in range(options.inputs):
        text = bent(rng)
        try:
            answered += tried(text, fuzzed, tier)
        except Exception as error:
            raise SystemExit(f"input {number}: {text!r} crashed: {error!r}") from error
    seconds = time.perf_counter() - begin
    print(f"{options.inputs:,} inputs, {answered:,} answered, no crash, {seconds:.0f} s")


if __name__ == "__main__":
    main()
