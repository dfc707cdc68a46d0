"""Draw the pictures of docs/synthetic-census.md and write its table of figures.

Run with `.venv/bin/python scripts/draw_synth.py`; the pictures and figures come from the people
that `discreet synth --persons 1500000` writes, and are the same every time.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from io import BytesIO

import matplotlib.pyplot as plt
import numpy as np
from drawing import FOLDER, ROOT, save, set_style
from matplotlib.collections import LineCollection
from PIL import Image

from discreet.synth.geography import Geography, lay_out
from discreet.synth.variables import CATEGORIES, IDS
from discreet.synth.writer import draw

PAGE = ROOT / "docs" / "synthetic-census.md"
PUBLISHED = ROOT / "tests" / "unit" / "synth" / "published.json"
BEGIN, END = "<!-- figures: written by scripts/draw_synth.py -->", "<!-- end of figures -->"
SEED = 1

MEN, WOMEN, INK = "#2f6f9f", "#c2703d", "#333333"
SHADES = ("#2f6f9f", "#c2703d", "#7f9f6f", "#b9a6cc", "#dddddd")
STYLE = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "axes.titlelocation": "left",
}


@dataclass(frozen=True)
class Census:
    geography: Geography
    columns: dict[str, np.ndarray]
    households: int
    oa: np.ndarray

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    def area(self, level: str) -> np.ndarray:
        """The area of each person at a level, from 0."""
        g = self.geography
        index = self.oa
        for name, parent in g.parents().items():
            if name == level:
                return index
            index = parent[index]
        return index

    def share(self, variable: str, labels: set[str]) -> np.ndarray:
        """Whether each person is in one of these categories."""
        categories = CATEGORIES[variable]
        assert labels <= set(categories), labels
        codes = [code for code, label in enumerate(categories, 1) if label in labels]
        return np.isin(self[variable], codes)


def make(persons: int) -> Census:
    geography = lay_out(persons, SEED)
    block = draw(geography, SEED, 0, geography.size)
    columns = {name: row.astype(np.int64) for name, row in zip(IDS, block.columns, strict=True)}
    return Census(geography, columns, block.households, block.oa.astype(np.int64) - 1)


def save_map(figure: plt.Figure, name: str) -> None:
    # A palette of 200 colours is a fifth of the size and looks the same.
    buffer = BytesIO()
    figure.savefig(buffer, metadata={"Software": None}, dpi=110)
    small = Image.open(buffer).convert("RGB").quantize(200, dither=Image.Dither.NONE)
    small.save(FOLDER / f"{name}.png")
    plt.close(figure)


def draw_pyramids(census: Census) -> None:
    """The whole country, and the local authorities with the youngest and the oldest people."""
    la = census.area("la")
    mean_age = np.bincount(la, weights=census["age"]) / np.bincount(la)
    labels = census.geography.labels()["la"]
    young, old = int(mean_age.argmin()), int(mean_age.argmax())
    panels = [
        ("The whole country", np.full(la.shape, True)),
        (f"{labels[young]}, the youngest authority", la == young),
        (f"{labels[old]}, the oldest authority", la == old),
    ]
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.9), sharey=True, layout="constrained")
    single = census.share("marital_status", {"Never married"})
    edges = np.arange(102)
    for axis, (title, inside) in zip(axes, panels, strict=True):
        for sex, colour, sign in ((1, MEN, -1), (2, WOMEN, 1)):
            chosen = inside & (census["sex"] == sex)
            for who, alpha in ((chosen, 0.55), (chosen & single, 1.0)):
                counts = np.bincount(census["age"][who], minlength=101)
                percent = sign * 100 * counts / inside.sum()
                axis.stairs(percent, edges, orientation="horizontal", fill=True, color=colour,
                            alpha=alpha, linewidth=0)  # fmt: skip
        axis.axvline(0, color="white", linewidth=1)
        axis.set_xlim(-1.35, 1.35)
        axis.set_xticks([-1, -0.5, 0, 0.5, 1], ["1%", "0.5", "0", "0.5", "1%"])
        axis.set_ylim(0, 101)
        axis.set_title(title)
        axis.text(-1.3, 94, "Men", color=MEN, weight="bold")
        axis.text(1.3, 94, "Women", color=WOMEN, weight="bold", ha="right")
    axes[0].set_ylabel("Age")
    figure.supxlabel("Share of all people; the darker part has never married", fontsize=9)
    save("synth-pyramids")


def _hilbert(order: int) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y of the points of a Hilbert curve of 4**order points, in order."""
    number = np.arange(4**order)
    x = np.zeros_like(number)
    y = np.zeros_like(number)
    side = 1
    while side < 2**order:
        right = 1 & (number // 2)
        up = 1 & (number ^ right)
        flip = (up == 0) & (right == 1)
        x, y = np.where(flip, side - 1 - x, x), np.where(flip, side - 1 - y, y)
        x, y = np.where(up == 0, y, x), np.where(up == 0, x, y)
        x, y = x + side * right, y + side * up
        number = number // 4
        side *= 2
    return x, y


def draw_maps(census: Census) -> None:
    """Shares by output area: neighbours in the file are neighbours on the map."""
    g = census.geography
    order = 7
    x, y = _hilbert(order)
    # Every pixel stands for the same number of people, so areas have the space of their people.
    person = (np.arange(4**order) + 0.5) / 4**order * census.oa.size
    oa_at = np.empty((2**order, 2**order), dtype=np.int64)
    oa_at[y, x] = np.searchsorted(g.starts, person, side="right") - 1
    la_at = g.la_of_ward[g.ward_of_oa[oa_at]]
    region_at = g.region_of_la[la_at]
    panels = [
        ("Aged 65 and over", census["age"] >= 65, 45),
        ("No religion", census.share("religion", {"No religion"}), 65),
        ("Muslim", census.share("religion", {"Muslim"}), 30),
        (
            "Ethnic group other than White",
            ~census.share("ethnic_group", {v for v in _ETHNIC if v.startswith("White")}),
            60,
        ),
        ("Social rented homes", census.share("tenure", {"Social rented"}), 60),
        ("With a degree, of all aged 16 and over", census["education"] >= 7, 45),
    ]
    figure, axes = plt.subplots(2, 3, figsize=(9, 5.5), layout="constrained")
    for axis, (title, condition, top) in zip(axes.flat, panels, strict=True):
        among = census["age"] >= 16 if "16" in title else np.full(condition.shape, True)
        people = np.bincount(census.oa[among], minlength=g.size)
        percent = 100 * np.bincount(census.oa[condition & among], minlength=g.size) / people
        image = axis.imshow(percent[oa_at], cmap="YlGnBu", vmin=0, vmax=top, origin="lower",
                            interpolation="nearest")  # fmt: skip
        for level, width, colour in ((la_at, 0.35, "#ffffff"), (region_at, 1.2, "#444444")):
            _borders(axis, level, width, colour)
        axis.set_title(title)
        axis.set_xticks([])
        axis.set_yticks([])
        for spine in axis.spines.values():
            spine.set_visible(False)
        bar = figure.colorbar(image, ax=axis, shrink=0.75, extend="max", pad=0.02)
        bar.ax.yaxis.set_major_formatter("{x:.0f}%")
        bar.outline.set_visible(False)
    save_map(figure, "synth-maps")


_ETHNIC = CATEGORIES["ethnic_group"]


def _borders(axis: plt.Axes, areas: np.ndarray, width: float, colour: str) -> None:
    """Draw lines between pixels of different areas."""
    lines = []
    for row, column in zip(*np.nonzero(areas[:, 1:] != areas[:, :-1]), strict=True):
        lines.append([(column + 0.5, row - 0.5), (column + 0.5, row + 0.5)])
    for row, column in zip(*np.nonzero(areas[1:] != areas[:-1]), strict=True):
        lines.append([(column - 0.5, row + 0.5), (column + 0.5, row + 0.5)])
    axis.add_collection(LineCollection(lines, colors=colour, linewidths=width))


def draw_lives(census: Census) -> None:
    """What people of each age do, what they have learnt and how they live."""
    panels = [
        ("activity", "Economic activity", [["In employment"], ["Unemployed"], ["Retired"],
                                            ["Other inactive"], ["Under 16"]]),
        ("marital_status", "Marital status", [
            ["Never married"], ["Married", "In a civil partnership"], ["Separated"],
            ["Divorced or partnership dissolved"], ["Widowed"]]),
        ("health", "General health", [["Very good"], ["Good"], ["Fair"], ["Bad"], ["Very bad"]]),
    ]  # fmt: skip
    _, axes = plt.subplots(1, 3, figsize=(9, 3.3), sharey=True, layout="constrained")
    ages = np.arange(91)
    for axis, (variable, title, groups) in zip(axes, panels, strict=True):
        people = np.bincount(census["age"], minlength=101)[:91]
        parts = [
            100 * np.bincount(census["age"][census.share(variable, set(labels))], minlength=101)
            [:91] / people
            for labels in groups
        ]  # fmt: skip
        names = [labels[0].split(" or ")[0] for labels in groups]
        axis.stackplot(ages, parts, labels=names, colors=SHADES, linewidth=0)
        axis.set_title(title)
        axis.set_xlim(0, 90)
        axis.set_ylim(0, 100)
        axis.set_xlabel("Age")
        axis.yaxis.set_major_formatter("{x:.0f}%")
        handles, texts = axis.get_legend_handles_labels()
        axis.legend(handles[::-1], texts[::-1], loc="upper center", bbox_to_anchor=(0.5, -0.2),
                    ncols=2, frameon=False, fontsize=8, handlelength=1)  # fmt: skip
    save("synth-lives")


def figures(census: Census, area: Census) -> str:
    """Return the table "published / here" in Markdown."""
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    shape = (2, 2, 21, 5, 13, 9, 5)
    codes = (census[name] - 1 for name in ("activity", "occupation", "education", "citizenship"))
    index = (census.area("nuts2"), census["sex"] - 1, census["age"] // 5, *codes)
    cells = np.bincount(np.ravel_multi_index(index, shape), minlength=int(np.prod(shape)))
    cube = cells.reshape(shape)
    rows = [("**Hypercube of 1,500,000 people**, 245,700 cells", "", "")]
    bounds = (0, 1, 2, 3, 6, 9, 11, cells.max() + 1)
    counts = np.histogram(cells, bounds)[0]
    for (value, before), here in zip(
        published["hypercube"]["cells_by_value"].items(), counts, strict=True
    ):
        name = "zeros" if value == "0" else f"cells of {value}"
        rows.append((name, _of(before, cells.size), _of(here, cells.size)))
    totals = [int(total) for total in cube.sum(axis=(1, 2, 3, 4, 5, 6))]
    before = published["hypercube"]["nuts2"]
    rows.append(
        ("people in the two NUTS2 areas", *(f"{a:,} and {b:,}" for a, b in (before, totals)))
    )
    men = int(cube[:, 0].sum())
    rows.append(("men", f"{published['hypercube']['men']:,}", f"{men:,}"))
    rows.append(("**Output tables**, zeros", "", ""))
    tables = {
        "1": cube[0].sum(axis=(0, 2, 5)),
        "2": cube[1].sum(axis=(2, 3, 4)),
        "3": cube[:, 0].sum(axis=(0, 1, 5)),
        "4": cube[:, :, 9].sum(axis=(1, 2, 5)),
    }
    for number, table in tables.items():
        entry = published["output_tables"][number]
        zeros = int((table == 0).sum())
        rows.append((entry["name"], _of(entry["zeros"], table.size), _of(zeros, table.size)))
    entry = published["output_areas"]
    age_sex = np.digitize(area["age"], [16, 65]) * 2 + area["sex"] - 1
    size = area.geography.size
    small = np.bincount(
        np.ravel_multi_index((area.oa, area["religion"] - 1, age_sex), (size, 9, 6)),
        minlength=size * 54,
    )
    rows += [
        ("**Output area × religion × age-sex** of 437,744 people", "", ""),
        ("output areas", f"{entry['areas']:,}", f"{size:,}"),
        ("zeros", f"{entry['zeros_percent']}%", f"{100 * (small == 0).mean():.1f}%"),
        ("ones and twos", f"{entry['small_percent']}%",
         f"{100 * ((small == 1) | (small == 2)).mean():.1f}%"),
    ]  # fmt: skip
    lines = ["| | published | here |", "|---|---:|---:|"]
    return "\n".join(lines + [f"| {name} | {a} | {b} |" for name, a, b in rows])


def _of(count: int, total: int) -> str:
    return f"{int(count):,} ({100 * count / total:.1f}%)"


def main() -> None:
    set_style(options=STYLE)
    census = make(1_500_000)
    draw_pyramids(census)
    draw_maps(census)
    draw_lives(census)
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    table = figures(census, make(437_744))
    PAGE.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
