"""A population that the tests share."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.population import Version
from populations import make_version


@pytest.fixture(scope="module")
def version() -> Version:
    made = make_version(np.random.default_rng(3), 4000, [3, 4, 5], [12, 3])
    made.manifest["created"] = "2026-01-05T10:15:00+00:00"
    return made
