"""Data of studies: a small hypercube in a file, a census as large as that of the papers."""

from __future__ import annotations

import atexit
import shutil
import sys
from dataclasses import replace
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.build import build
from discreet.study.collect import collected
from discreet.study.file import read
from discreet.study.papers import FOLDER
from discreet.study.results import Results
from discreet.study.run import run
from discreet.synth import write


def small_cube() -> NDArray[np.int64]:
    """Counts by area (4, the last empty), age (3) and work (2): small ones and zeros among them."""
    return np.array(
        [
            [[12, 0], [3, 40], [1, 7]],
            [[25, 2], [5, 61], [0, 9]],
            [[7, 1], [18, 33], [4, 0]],
            [[0, 0], [0, 0], [0, 0]],
        ]
    )


def write_cube(path: Path, counts: NDArray[np.int64] | None = None) -> None:
    """Write a hypercube as a long file with a row for every cell."""
    cube = small_cube() if counts is None else counts
    lines = ["area,age,work,count"]
    lines += [
        f"a{i},{j},{'yes' if k else 'no'},{cube[i, j, k]}" for i, j, k in np.ndindex(*cube.shape)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@cache
def census_store(seed: int = 1) -> Path:
    """Return a store of a synthetic census of 1.5 million people, made once for each seed."""
    folder = Path(mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    write(1_500_000, folder / "census", seed, None, lambda done: None)
    build(folder / "census" / "dataset.toml", folder / "store", views=0)
    return folder / "store"


@cache
def country(seed: int = 2015) -> Path:
    """Return the hypercube of the papers by Shlomo, of invented people, made once for each seed."""
    folder = Path(mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return script("country").write(folder / "country.parquet", seed)  # type: ignore[no-any-return]


def script(name: str) -> Any:
    """Return a script as a module."""
    found = spec_from_file_location(name, Path(__file__).parents[1] / "scripts" / f"{name}.py")
    assert found is not None
    assert found.loader is not None
    module = module_from_spec(found)
    sys.modules[name] = module  # dataclasses look it up
    found.loader.exec_module(module)
    return module


@cache
def of_paper(name: str, data: Path | None, draws: int) -> Results:
    """Return the results of a paper's study file with fewer draws."""
    study = replace(read(FOLDER / f"{name}.toml", data), draws=draws)
    return collected(study, run(study))
