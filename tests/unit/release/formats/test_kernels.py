"""The kernel that writes rows of CSV against its plain twin."""

import numpy as np

from discreet.release.formats import csv, kernels
from discreet.table import Dimension, ProtectedTable


def _table(shape: tuple[int, ...], withheld: bool) -> ProtectedTable:
    rng = np.random.default_rng(len(shape))
    labels = ("plain", 'with "quotes", and a comma', "=1+1", "Århus", "two\nlines")
    dimensions = tuple(
        Dimension(f"v{d}", f"v{d}", f"V{d}", tuple(f"c{i}" for i in range(n)),
                  tuple(f"{labels[i % 5]} {i}" for i in range(n)))
        for d, n in enumerate(shape)
    )  # fmt: skip
    gone = rng.random(shape) < (0.3 if withheld else 0)
    values = np.where(gone, 0, 10 ** rng.integers(0, 18, shape) - rng.integers(0, 2, shape))
    return ProtectedTable(dimensions, values, gone, values, values + 3)


def _rows(table: ProtectedTable) -> tuple[bytes, bytes]:
    categories, names = [csv._categories(d) for d in table.dimensions], list(table.figures)
    by_kernel = b"".join(csv._rows(table, categories, names))
    return by_kernel, b"".join(csv.plain_rows(table, categories, names))


def test_the_kernel_writes_what_its_twin_does(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    kernels.warm_up()
    monkeypatch.setattr(csv, "CHUNK", 7)  # so that tables come in several pieces
    for shape in ((1,), (5,), (3, 4), (2, 3, 5)):
        for withheld in (False, True):
            by_kernel, plain = _rows(_table(shape, withheld))
            assert by_kernel == plain
            assert by_kernel.count(b"\r\n") == np.prod(shape)


def test_a_row_as_it_stands() -> None:
    kernels.warm_up()
    dimension = Dimension("sex", "sex", "Sex", ("1", "2"), ("Male", "Female, or so"))
    values, gone = np.array([105, 0]), np.array([False, True])
    table = ProtectedTable((dimension,), values, gone, np.array([103, 0]), np.array([107, 0]))
    assert _rows(table)[0] == b'1,Male,105,103,107\r\n2,"Female, or so",,,\r\n'
