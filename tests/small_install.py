"""What the small install must be able to do: methods by name, measures, a look-up, with figures."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

import discreet as dc
from discreet.protect.registry import METHODS, example

F = np.array([[12, 3, 1, 0], [4, 2, 7, 9], [1, 1, 30, 5]])
SOLVED = ("count-adjustment", "small-count-rounding")
"""The methods that need a solver, and with it the extra `desk`."""


def _released(name: str) -> list[int]:
    method = example(name)
    given: dict[str, Any] = {}
    if method.needs_structural:
        given["structural"] = np.zeros(F.shape, bool)
    found = method.apply(F, np.random.default_rng(7), **given)
    return [int(value) for value in np.asarray(found).ravel()]


def figures() -> dict[str, Any]:
    """Return figures of every part of the small install, the same wherever they are computed."""
    found: dict[str, Any] = {name: _released(name) for name in METHODS if name not in SOLVED}
    G = dc.protect.RandomRounding(3).apply(F, np.random.default_rng(1))
    found["risk"] = dc.risk.before(F).value
    found["after"] = dc.risk.after(F, G).value
    found["hellinger"] = dc.utility.hellinger(F, G)
    found["cramer"] = dc.utility.cramers_v(F)
    words = np.arange(100_000, dtype=np.uint64)  # more than a kernel is called for
    mixed = dc.protect.KeyMix(b"a secret of sixteen").words(words)
    found["mix"] = hashlib.sha256(mixed.tobytes()).hexdigest()
    swapped = dc.protect.RecordSwapping(rate=0.5).apply(
        np.arange(40) % 4, np.zeros(40, np.int64), [np.arange(40) % 3], words[:40] * words[7:47]
    )
    found["swapping"] = swapped.partner.tolist()
    drawn = dc.protect.Pram([[0.9, 0.1], [0.1, 0.9]]).apply(
        np.arange(50) % 2, np.random.default_rng(3).random(50)
    )
    found["pram"] = [int(code) for code in drawn]
    return found


if __name__ == "__main__":
    import json
    import sys

    print(json.dumps(figures()))
    sys.exit(0)
