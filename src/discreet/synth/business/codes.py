"""The nine dimensions of the synthetic businesses: their codes, trees and meanings."""

from __future__ import annotations

from dataclasses import dataclass

MAGNITUDES = ("turnover", "employees")


@dataclass(frozen=True)
class BusinessDimension:
    """A dimension: codes from the top of its tree down, each with the place of its parent.

    `parents[i]` is the place of the code that i is part of, −1 right below the total, which has
    no code. Codes that are nobody's parent are those of the records.
    """

    id: str
    label: str
    codes: tuple[str, ...]
    parents: tuple[int, ...]

    @property
    def leaves(self) -> tuple[int, ...]:
        """The places of the codes that records have."""
        inner = set(self.parents)
        return tuple(place for place in range(len(self.codes)) if place not in inner)

    @property
    def hierarchical(self) -> bool:
        """Whether there are levels between the codes of records and the total."""
        return len(self.leaves) < len(self.codes)

    @property
    def tree(self) -> tuple[int, ...]:
        """The parents with the total as a last code, as a `solve.Hierarchy` has them."""
        total = len(self.codes)
        return (*(total if parent < 0 else parent for parent in self.parents), -1)

    def hrc(self) -> str:
        """Return the tree as a hierarchy file: one code per line, with one @ for each level."""
        lines: list[str] = []

        def put(parent: int, depth: int) -> None:
            for place, above in enumerate(self.parents):
                if above == parent:
                    lines.append("@" * depth + self.codes[place])
                    put(place, depth + 1)

        put(-1, 0)
        return "\n".join(lines) + "\n"


def _flat(name: str, label: str, *codes: str) -> BusinessDimension:
    return BusinessDimension(name, label, codes, (-1,) * len(codes))


def _tree(name: str, label: str, branches: dict[str, tuple[int, ...]]) -> BusinessDimension:
    """Return a tree of numbered codes: for each top code, its parts and how many parts they have.

    {"A": (1, 3)} is A with A1, which has no parts, and A2, with A21, A22 and A23.
    """
    codes, parents = list(branches), [-1] * len(branches)
    for top, parts in enumerate(branches.values()):
        for number, size in enumerate(parts, 1):
            codes.append(f"{codes[top]}{number}")
            parents.append(top)
            if size > 1:
                place = len(codes) - 1
                codes += [f"{codes[place]}{part}" for part in range(1, size + 1)]
                parents += [place] * size
    return BusinessDimension(name, label, tuple(codes), tuple(parents))


REGION = _tree(
    "region",
    "Region and county",
    {
        "N": (1,) * 6,
        "E": (1,) * 5,
        "S": (1,) * 8,
        "W": (1,) * 4,
        "M": (1,) * 3,
    },
)
INDUSTRY = _tree(
    "industry",
    "Industry: section, division and group",
    {
        "A": (2, 2),
        "C": (4, 3, 3, 2, 4),
        "F": (2, 3),
        "G": (2, 4, 4),
        "H": (3, 1, 2),
        "J": (2, 3, 2),
    },
)
PRODUCT = _tree(
    "product",
    "Main product: class and kind",
    {
        "1": (1,) * 3,
        "2": (1,) * 4,
        "3": (1,) * 2,
        "4": (1,) * 3,
    },
)
# The least number of employees of each size class, in the order of its codes.
SIZES = {"0-9": 0, "10-19": 10, "20-49": 20, "50-249": 50, "250+": 250}

DIMENSIONS = (
    REGION,
    INDUSTRY,
    PRODUCT,
    _flat("size", "Employees", *SIZES),
    _flat("form", "Legal form", "company", "partnership", "sole", "public"),
    _flat("owner", "Ownership", "domestic", "foreign", "mixed"),
    _flat("age", "Years since foundation", "0-2", "3-9", "10-29", "30+"),
    _flat("export", "Share of turnover exported", "none", "some", "most"),
    _flat("market", "Main customers", "households", "businesses", "government"),
)
