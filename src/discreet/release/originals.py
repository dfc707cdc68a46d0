"""The custodian's record measured from the original records, where the build kept them.

Only the record: what is released, and whether, is decided without them, here as on a server.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from discreet import risk
from discreet.errors import ParameterError
from discreet.population import Store, Version
from discreet.protect.records.protected_base import NAME
from discreet.release import measures
from discreet.release.record import ORIGINAL, Record
from discreet.release.steps import Judged
from discreet.tabulate import ScanEngine


def open_originals(folder: Path, version: Version) -> Version:
    """Return the originals of a version from the folder in which its build kept them."""
    path = Store(folder).versions / version.id
    if not path.is_dir():
        raise ParameterError(
            f"{folder} holds no originals of version {version.id}. They are kept by: discreet "
            f"build DATASET.toml --out STORE --originals {folder}"
        )
    mode = folder.stat().st_mode & 0o777
    if mode & 0o077:
        raise ParameterError(
            f"{folder} must be open to its owner only (mode 700). It has mode {mode:o}: others may "
            f"have read the records; if not, run chmod 700 {folder}."
        )
    originals = Version.open(path)
    if originals.schema.to_json() != version.schema.to_json():
        raise ParameterError(f"{path} is not of the version of the store. Build again.")
    originals.verify()
    return originals


def whole_way(record: Record, found: Judged, originals: Version) -> Record:
    """Return the record with risk and utility of the whole way, from original to released counts.

    Notes
    -----
    The risk after is by the matrix of the swap where tables are left alone. Where they are
    protected too, it is by the transition of their method in its printed form [Shlomo2015, §4.2],
    since of original counts a method alone need not lead to what is released; the multipliers of
    swap and method multiply. Of a protected base no chances are known: the risk after is by the
    conditional entropy of original given released counts [Antal2014].
    """
    engine = ScanEngine(originals)
    true = np.asarray(engine.tabulate(found.making.question).dense().counts, np.int64)
    engine.close()
    tier, rate, figures = found.making.applied, found.making.swap_rate, found.figures
    after = measures.risk_after(true, figures, tier, rate, "observed")
    if NAME in found.making.beforehand.methods and true.any():
        after = float(risk.after(true, figures, tier.risk.weights))
    return replace(
        record,
        risk_before=measures.risk_before(true, tier),
        risk_after=after,
        utility=measures.utility(true, figures),
        measured_from=ORIGINAL,
    )
