"""Random tables through every tool of the desk, each answer judged by a plain twin.

    python benchmarks/fuzz_desk/run.py [--cases 2000] [--seed 1] [--tool suppress] [--write]

A tool is a module of this folder with `cases(rng)`, which yields cases without end, and
`check(case)`, which returns what is wrong with the answer, or nothing; `kinds(case)`, if it has
that, says what a case is an example of. A case that was judged wrong is told with its seed and
number, so that it can be had again. With --write a tool's line in docs/optimisers.md says what was
reached.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from importlib.util import module_from_spec, spec_from_file_location
from itertools import islice
from pathlib import Path
from types import ModuleType

import numpy as np

FOLDER = Path(__file__).parent
sys.path.append(str(FOLDER.parent))

from report import write_section  # noqa: E402

PAGE = FOLDER.parents[1] / "docs" / "optimisers.md"


def tools() -> dict[str, ModuleType]:
    """Return the modules of the folder that make and check cases."""
    if str(FOLDER) not in sys.path:
        sys.path.insert(0, str(FOLDER))  # for what they share
    found = {}
    for path in sorted(FOLDER.glob("*.py")):
        if path.stem in ("run", "shared"):
            continue
        spec = spec_from_file_location(f"fuzz_desk_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        found[path.stem] = module
    return found


def violations(tool: ModuleType, cases: int, seed: int) -> list[str]:
    """Return what is wrong with the answers to so many cases of a tool."""
    wrong = []
    for number, case in enumerate(islice(tool.cases(np.random.default_rng(seed)), cases)):
        try:
            said = tool.check(case)
        except Exception as error:  # whatever a tool stops with is told, and the next one tried
            said = f"{type(error).__name__}: {error}"
        if said:
            wrong.append(f"case {number} of seed {seed}: {said}\n{case}")
    return wrong


def kinds(tool: ModuleType, cases: int, seed: int) -> str:
    """Return how many of the cases are of which kind, as far as the tool tells kinds apart."""
    if not hasattr(tool, "kinds"):
        return ""
    drawn = islice(tool.cases(np.random.default_rng(seed)), cases)
    found = Counter(kind for case in drawn for kind in tool.kinds(case))
    return ", ".join(f"{number:,} {kind}" for kind, number in found.most_common())


def line(name: str, cases: int, seed: int, wrong: int, spent: float, what: str) -> str:
    """Return what a run of a tool reached, as the page has it."""
    found = f"{wrong:,} violation{'s' if wrong > 1 else ''}" if wrong else "no violation"
    of_these = f"; of these {what}" if what else ""
    return f"- {name}: {cases:,} tables (seed {seed}), {found}, {spent:,.0f} s of CPU{of_these}."


def main() -> int:
    """Run all tools, or one; the status is 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tool")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    found = tools()
    chosen = [given.tool] if given.tool else list(found)
    cases, failed = -(-given.cases // len(chosen)), 0
    for name in chosen:
        began = time.process_time()
        wrong = violations(found[name], cases, given.seed)
        spent = time.process_time() - began
        what = kinds(found[name], cases, given.seed)
        said = line(name, cases, given.seed, len(wrong), spent, what)
        print("\n".join([said, *wrong[:5]]), flush=True)
        if given.write:
            write_section(f"fuzz-desk-{name}", said, PAGE)
        failed += len(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
