"""The same as fuzz_questions.py, guided by which lines are reached (needs atheris).

python scripts/fuzz_atheris.py [-runs=1000000]
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["discreet.query", "discreet.server.parse"]):
    from fuzz_questions import schema, tried

from discreet.policy import read_preset

FUZZED, TIER = schema(), read_preset("rounding-3").default_tier


def one(data: bytes) -> None:
    """Try one input; the fuzzer reports what is raised."""
    tried(data.decode("utf-8", "surrogateescape").replace("\udcff", "\ud800"), FUZZED, TIER)


if __name__ == "__main__":
    arguments = sys.argv if any(a.startswith("-runs") for a in sys.argv) else [
        *sys.argv, "-runs=1000000",
    ]  # fmt: skip
    atheris.Setup(arguments, one)
    atheris.Fuzz()
