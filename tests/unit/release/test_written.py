"""Files that were written earlier verify still: `written/` holds one of each format.

A writer that writes otherwise makes every file altered that is out in the world. Until the first
release of this package they may be written anew, by running this file; from then on a new way to
write needs a new name beside the old one.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from discreet.release.formats import FORMATS
from discreet.release.signature import Signer, read_public_key
from discreet.release.verify import verify
from releases import dimension, release

WRITTEN = Path(__file__).parent / "written"


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_of_yesterday_is_genuine(format: str) -> None:
    found = verify(WRITTEN / format, read_public_key(WRITTEN / "signing.pub"))
    assert found.genuine, found.reasons
    assert found.format == format


def _write() -> None:
    with tempfile.TemporaryDirectory() as folder:
        signer = Signer.of_store(Path(folder))
        public = (Path(folder) / "signing.pub").read_bytes()
    (WRITTEN / "signing.pub").write_bytes(public)
    (WRITTEN / ".gitattributes").write_text("* -text\n")
    areas = dimension("area", 2, True, variable="geography")
    parts = (areas, dimension("sex", 2, labels=("=Male", "Fe\nmale")))
    for format in FORMATS:
        release(parts, withheld=1, bounds=True, signer=signer).write(WRITTEN / format, format)


if __name__ == "__main__":
    _write()
