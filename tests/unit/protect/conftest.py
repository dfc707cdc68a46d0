"""Where the files of other programs are, for tests that compare with them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def peers() -> Path:
    sibling = Path(__file__).parents[4] / "shared" / "peers"
    folder = Path(os.environ.get("DISCREET_PEERS", sibling))
    if not (folder / "ptable_D5_V3_tmatrix.csv").exists():
        pytest.skip("files of the R package ptable: set DISCREET_PEERS to their folder")
    return folder
