"""Put the faults of faults.txt into the program, one at a time, and see whether tests notice.

    python scripts/mutants/run.py [--jobs 2] [--only TEXT …] [--results FILE]

Each worker has a copy of the program. A fault is noticed if a test fails, or if they take ten
times the CPU that they should; `COVERING` says which tests are run for which modules. Those that
change nothing which anybody could see are in equivalent.txt, each with the reason. The exit code
is 0 if at least 95% of all others are noticed and each of them can still be put in.

With `--results` what was noticed is kept, so that a run that was stopped goes on where it was. A
fault is tried again when it was not noticed, or when its module has changed; remove the file to
try all of them again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ENOUGH = 0.95
CPU_SECONDS = 300  # that the tests of one fault may take: ten times what they should
SECONDS = 1800.0  # …by the clock, on a busy machine

# By the beginning of a module's path, the tests that are run: the first that fits.
COVERING: tuple[tuple[str, str], ...] = (
    ("release/hints.py", "release/test_hints.py release/test_wiring_*.py"),
    ("release/protection.py", "release/test_protection.py release/test_wiring_*.py "
     "release/test_pipeline.py"),
    ("release/projection.py", "release/test_projection.py release/test_wiring_*.py "
     "release/test_pipeline.py release/test_truth.py"),
    ("release/told.py", "release/test_wiring_*.py release/test_pipeline.py "
     "release/test_projection.py release/test_truth.py"),
    ("release/record.py", "release/test_record.py release/test_pipeline.py"),
    ("release/signature.py", "release/test_signature.py release/test_verify.py "
     "release/test_forgeries.py population/test_sealed.py"),
    ("release/verify.py", "release/test_verify.py release/test_forgeries.py"),
    ("release/beforehand.py", "release/test_beforehand.py release/test_pipeline.py "
     "release/test_wiring_*.py release/test_truth.py"),
    ("release/measures.py", "release/test_wiring_*.py release/test_beforehand.py "
     "release/test_pipeline.py release/test_truth.py"),
    ("release/", "release/test_wiring_*.py release/test_pipeline.py release/test_projection.py "
     "release/test_hints.py release/test_protection.py"),
    ("rules/", "rules release/test_pipeline.py release/test_wiring_*.py"),
    ("ledger/ledgers.py", "ledger/test_ledger.py release/test_wiring_*.py release/test_pipeline.py "
     "release/test_truth.py build/test_edition.py"),
    ("ledger/belonging.py", "ledger/test_belonging.py"),
    ("ledger/", "ledger/test_space.py ledger/test_index.py ledger/test_memory.py "
     "ledger/test_ledger.py ledger/test_database.py rules/test_space.py "
     "release/test_projection.py"),
    ("population/keys.py", "population/test_keys.py population/test_sealed.py"),
    ("population/store.py", "population/test_state.py population/test_store.py "
     "population/test_sealed.py "
     "release/test_beforehand.py build/test_edition.py"),
    ("population/", "population/test_state.py population/test_sealed.py "
     "population/test_store.py release/test_signature.py "
     "service/test_catalogue.py"),
    ("protect/records/", "protect/records"),
    ("protect/", "protect/test_keys.py protect/cells protect/lookup protect/test_base.py "
     "protect/test_conformance.py release/test_wiring_*.py"),
    ("risk/exact.py", "risk/test_exact.py"),
    ("risk/", "risk/test_before.py risk/test_attribute.py risk/test_transition.py "
     "risk/test_public.py rules/test_rules.py"),
    ("query/", "query release/test_projection.py"),
    ("policy/", "policy release/test_pipeline.py release/test_truth.py release/test_wiring_*.py "
     "build/test_edition.py"),
    ("tabulate/engines/open.py", "service/test_opened.py"),
    ("tabulate/engine.py", "tabulate/test_views.py release/test_projection.py"),
    ("tabulate/", "tabulate/test_views.py"),
    ("build/edition.py", "build/test_edition.py"),
    ("build/comparing.py", "build/test_edition.py"),
    ("service/opened.py", "service/test_opened.py service/test_service.py service/test_wiring.py "
     "service/test_catalogue.py server/test_routes.py"),
    ("service/catalogue.py", "service/test_service.py service/test_catalogue.py"),
    ("service/", "service/test_service.py service/test_wiring.py service/test_catalogue.py "
     "server/test_routes.py"),
    ("server/answers.py", "server/test_answers.py server/test_routes.py"),
    ("desk/audit/", "cli/test_audit.py"),
    ("desk/suppress/", "desk/suppress/solver"),
)  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """Something that could go wrong in a module: `old` stands there once, `new` is put instead."""

    module: str
    what: str
    old: str
    new: str

    @property
    def tests(self) -> list[str]:
        """The tests that should notice it."""
        names = next(names for start, names in COVERING if self.module.startswith(start))
        unit = ROOT / "tests" / "unit"
        found = {name: sorted(unit.glob(name)) for name in names.split()}
        if gone := [name for name, paths in found.items() if not paths]:
            raise ValueError(f"{self.module}: there are no tests {' '.join(gone)}.")
        return [str(path.relative_to(ROOT)) for paths in found.values() for path in paths]

    def into(self, source: Path) -> str:
        """Return the module with the fault in it."""
        path = source / self.module
        text = path.read_text("utf-8") if path.exists() else ""
        if text.count(self.old) != 1:
            raise ValueError(f"{self.module}: {self.old!r} must stand there once.")
        return text.replace(self.old, self.new)

    def digest(self, source: Path) -> str:
        """Return a checksum of the module with the fault in it."""
        return hashlib.sha256(f"{self.module}\n{self.into(source)}".encode()).hexdigest()


@dataclass(frozen=True)
class Result:
    """What became of a fault: whether it was noticed, and the CPU seconds that its tests took."""

    fault: Fault
    noticed: bool
    seconds: float


class Results:
    """Results that are kept in a file, one JSON line each."""

    def __init__(self, path: Path | None, source: Path = ROOT / "src" / "discreet") -> None:
        self.path, self.source = path, source
        self._seconds: dict[str, float] = {}
        if path is not None and path.exists():
            lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            self._seconds = {one["digest"]: one["seconds"] for one in lines if one["noticed"]}

    def noticed(self, fault: Fault) -> Result | None:
        """Return the result of a fault that was noticed before, in the module as it is."""
        seconds = self._seconds.get(fault.digest(self.source))
        return None if seconds is None else Result(fault, True, seconds)

    def keep(self, result: Result) -> None:
        """Add a result to the file."""
        if self.path is None:
            return
        fault = result.fault
        line = {"module": fault.module, "what": fault.what, "digest": fault.digest(self.source)}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            kept = line | {"noticed": result.noticed, "seconds": round(result.seconds, 1)}
            file.write(json.dumps(kept) + "\n")


def stale(chosen: Sequence[Fault], source: Path = ROOT / "src" / "discreet") -> list[str]:
    """Return what is wrong with faults that can no longer be put in."""
    found = []
    for fault in chosen:
        try:
            fault.into(source)
        except ValueError as error:
            found.append(f"{error} ({fault.what})")
    return found


def faults(path: Path = HERE / "faults.txt") -> list[Fault]:
    """Return the faults of a file."""
    found, module, what, old = [], "", "", ""
    for line in path.read_text("utf-8").splitlines():
        text = line.strip().replace("⏎", "\n")
        if not text or line.startswith("#"):
            continue
        if not line.startswith(" "):
            module = text
        elif text.startswith("- "):
            old = text[2:]
        elif text.startswith("+ "):
            found.append(Fault(module, what, old, text[2:]))
        else:
            what = text
    return found


def equivalent(path: Path = HERE / "equivalent.txt") -> dict[tuple[str, str], str]:
    """Return the faults that nobody could see, by module and name, with the reason."""
    found = {}
    for block in path.read_text("utf-8").split("\n\n"):
        lines = [line.strip() for line in block.splitlines() if not line.startswith("#")]
        if lines:
            module, _, what = lines[0].partition(": ")
            found[module, what] = " ".join(lines[1:])
    return found


class Copy:
    """A copy of the program, into which a fault is put while its tests run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        for path in ROOT.iterdir():
            if path.name == "src":
                shutil.copytree(path, folder / "src")
            elif not path.name.startswith("."):
                (folder / path.name).symlink_to(path)

    def tried(self, fault: Fault) -> Result:
        """Return whether the tests notice a fault."""
        module = self.folder / "src" / "discreet" / fault.module
        module.write_text(fault.into(ROOT / "src" / "discreet"), "utf-8")
        try:
            code, seconds = self.run(fault.tests)
        finally:
            shutil.copy2(ROOT / "src" / "discreet" / fault.module, module)
        if code > 2:  # not passed, failed, ended by an import, or by a signal
            raise SystemExit(f"The tests of {fault.module} could not be run: code {code}.")
        return Result(fault, code != 0, seconds)

    def run(self, tests: Sequence[str], cpu: int = CPU_SECONDS) -> tuple[int, float]:
        """Return the exit code of the tests, not 0 if they do not end; and their CPU seconds."""
        process = os.fork()
        if not process:
            resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
            self._child(tests)
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            done, status, used = os.wait4(process, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime
            time.sleep(0.1)
        os.killpg(process, 9)
        used = os.wait4(process, 0)[2]
        return 1, used.ru_utime + used.ru_stime

    def _child(self, tests: Sequence[str]) -> None:
        """Run the tests in this process, in which nothing of the program is loaded yet."""
        code = 3
        try:
            os.setsid()
            import pytest

            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1):
                os.dup2(null, stream)
            os.chdir(self.folder)
            os.environ["PYTHONPATH"] = str(self.folder / "src")
            sys.path.insert(0, str(self.folder / "src"))
            options = ["-x", "-q", "-m", "not slow", "-p", "no:cacheprovider"]
            options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # loaded already
            code = int(pytest.main([*options, "--hypothesis-seed=0", *tests]))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)


def preload() -> None:
    """Import what the program and its tests use of others: once, instead of for each fault."""
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    names = (
        "anyio.pytest_plugin cryptography.hazmat.primitives.serialization duckdb fastapi highspy "
        "httpx hypothesis numba pandas pyarrow.parquet pydantic pytest rich schemathesis.pytest "
        "scipy.optimize scipy.sparse scipy.stats sqlalchemy typer xdist xlsxwriter"
    )
    for name in names.split():
        try:
            __import__(name)
        except ModuleNotFoundError:
            continue


def judged(copies: SimpleQueue[Copy], fault: Fault) -> Result:
    """Return whether a fault was noticed, tried in a copy that is free."""
    copy = copies.get()
    try:
        return copy.tried(fault)
    finally:
        copies.put(copy)


def tried(chosen: Sequence[Fault], jobs: int) -> Iterator[Result]:
    """Yield the result of each fault; first all tests must pass without any."""
    with tempfile.TemporaryDirectory(prefix="discreet-mutants-") as folder:
        copies: SimpleQueue[Copy] = SimpleQueue()
        made = [Copy(Path(folder) / str(i)) for i in range(jobs)]
        every = sorted({test for fault in chosen for test in fault.tests})
        code, _ = made[0].run(every, 10 * CPU_SECONDS) if every else (0, 0.0)
        if code:
            raise SystemExit(f"The tests must pass without any fault: {' '.join(every)}")
        for copy in made:
            copies.put(copy)
        with ThreadPoolExecutor(jobs) as pool:
            yield from pool.map(lambda fault: judged(copies, fault), chosen)


def arguments() -> argparse.Namespace:
    """Return what was typed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=[""], help="module or name must hold one")
    parser.add_argument("--results", type=Path, help="keep results here, and go on from them")
    return parser.parse_args()


def main() -> int:
    given, same = arguments(), equivalent()
    chosen = [
        fault
        for fault in faults()
        if any(text in f"{fault.module}: {fault.what}" for text in given.only)
        and (fault.module, fault.what) not in same
    ]
    if gone := stale(chosen):
        print("These faults can no longer be put in:", *gone, sep="\n  ")
        return 1
    preload()
    begin, results = time.monotonic(), Results(given.results)
    done = [result for fault in chosen if (result := results.noticed(fault))]
    known = {result.fault for result in done}
    for result in tried([fault for fault in chosen if fault not in known], given.jobs):
        results.keep(result)
        done.append(result)
        if not result.noticed:
            print(f"not noticed: {result.fault.module}: {result.fault.what}", flush=True)
    noticed = sum(result.noticed for result in done)
    share, minutes = noticed / max(len(chosen), 1), (time.monotonic() - begin) / 60
    print(
        f"{noticed} of {len(chosen)} faults were noticed ({share:.1%}), {len(known)} of them "
        f"before, in {minutes:.0f} minutes; their tests took "
        f"{sum(result.seconds for result in done):,.0f} CPU seconds. "
        f"{len(same)} more are equivalent."
    )
    return 0 if share >= ENOUGH else 1


if __name__ == "__main__":
    sys.exit(main())
