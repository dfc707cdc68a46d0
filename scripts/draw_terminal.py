"""Draw docs/pictures/terminal.svg: a terminal session, every command of which is run.

The data are made up here, the same at every run. What differs from run to run, the id of the
version and the time, is set to a fixed one, so that the picture changes only if the program does.
The stages of the build are left out: on a terminal they are bars that fill.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "terminal.svg"

DESCRIPTION = """\
id = "island"
title = "Five thousand made-up islanders"
unit = "people"
source = { files = "people.csv", record_id = "id" }
[variables]
sex = { categories = { 1 = "Male", 2 = "Female" } }
age.range = [0, 99]
age.levels.age_band.groups = { 0-15 = "0..15", 16-64 = "16..64", "65+" = "65..99" }
health = { categories = { 1 = "Good", 2 = "Fair", 3 = "Bad" } }
[[geography]]
id = "parish"
column = "parish"
[[geography]]
id = "island"
column = "island"
"""

COMMANDS = [
    "discreet build people.toml --out people",
    "discreet info people",
    "discreet tabulate people --by parish,age_band --where health=3",
]

THEME = TerminalTheme(
    (250, 250, 247),
    (40, 44, 52),
    [(40, 44, 52)] * 8,
    [(120, 124, 132)] * 8,
)

# rich's own format asks a font of a server on the web; this one uses what the reader has.
FORMAT = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg"
 role="img" aria-label="A terminal session with Discreet">
<style>
.{unique_id}-matrix {{ font-family: DejaVu Sans Mono, Menlo, Consolas, monospace;
 font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def write_data(folder: Path) -> None:
    """Write five thousand people and their description."""
    rng = random.Random(5)
    parishes = {"Northwick": 9, "Eastry": 6, "Saltholm": 4, "Westerby": 3}
    lines = ["id,sex,age,health,parish,island"]
    for i in range(5_000):
        age = min(99, int(rng.triangular(0, 95, 34)))
        bad = 0.02 + age / 500
        health = rng.choices("123", [1 - 3 * bad, 2 * bad, bad])[0]
        (parish,) = rng.choices(list(parishes), list(parishes.values()))
        lines.append(f"p{i},{rng.choice('12')},{age},{health},{parish},Isle")
    (folder / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "people.toml").write_text(DESCRIPTION, encoding="utf-8")


def session(folder: Path) -> list[tuple[str, str]]:
    """Run the commands; return each with what it printed."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "COLUMNS": "80",
        "TERM": "dumb",
        "PYTHONIOENCODING": "utf-8",
    }
    shown = []
    for command in COMMANDS:
        done = subprocess.run(
            command.split(),
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            check=True,
        )
        version = "20260105T101500000000-3f9a1c"
        printed = re.sub(r"\b\d{8}T\d{12}-[0-9a-f]{6}\b", version, done.stdout)
        printed = re.sub(r"\d{4}-\d\d-\d\dT[\d:]{8}\+00:00", "2026-01-05T10:15:00+00:00", printed)
        printed = re.sub(r"^\w+ …\n", "", printed, flags=re.MULTILINE)
        shown.append((command, printed.rstrip("\n")))
    return shown


def draw() -> str:
    """Return the picture as SVG."""
    with tempfile.TemporaryDirectory(prefix="discreet-terminal-") as name:
        folder = Path(name)
        write_data(folder)
        steps = session(folder)
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(
            record=True, width=80, file=nowhere, force_terminal=True, color_system="truecolor"
        )
        for i, (command, printed) in enumerate(steps):
            if i:
                console.print()
            console.print(Text("$ ", style="#7a7f87") + Text(command, style="bold #0b5394"))
            console.print(Text(printed), soft_wrap=True)
        console.print()  # room below the last line
        svg = console.export_svg(
            title="", theme=THEME, code_format=FORMAT, unique_id="terminal", font_aspect_ratio=0.6
        )
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(draw(), encoding="utf-8")
