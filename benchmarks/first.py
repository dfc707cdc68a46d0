"""The first second: small data, the self-test, the start of commands and the demo.

    python benchmarks/first.py [--port 8765]

Run from a copy of the program that has no compiled kernels, as one that was just installed. CPU
seconds are those of a command and all that it starts: the machine may be shared.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, sleep
from urllib.error import URLError
from urllib.request import urlopen

import psutil
from report import ROOT, table, write_section

PEOPLE = """\
id,town,sex,age
1,Aston,1,21
2,Aston,2,29
3,Aston,2,34
4,Aston,1,57
5,Bexby,1,8
6,Bexby,2,63
7,Bexby,2,71
8,Bexby,1,40
"""
STARTED = ("build", "table", "serve", "check")
LONGEST = 900.0
REFUSED = 3  # what a command ends with whose table is refused


def clock() -> tuple[float, float]:
    """Return the wall time, and the CPU seconds of all processes that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return perf_counter(), used.ru_utime + used.ru_stime


def program(folder: Path) -> tuple[list[str], dict[str, str]]:
    """Return how to call a copy of the program without compiled kernels."""
    ignored = shutil.ignore_patterns("*.nbi", "*.nbc", "*.warm")
    shutil.copytree(ROOT / "src" / "discreet", folder / "src" / "discreet", ignore=ignored)
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "NO_COLOR": "1"}
    return [sys.executable, "-m", "discreet"], environment


def took(commands: list[list[str]], folder: Path, environment: dict[str, str]) -> list[float]:
    """Return the wall and CPU seconds of some commands together."""
    begin = clock()
    for command in commands:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True)
        if done.returncode not in (0, REFUSED):
            sys.exit(done.stderr.decode())
    return [now - then for now, then in zip(clock(), begin, strict=True)]


def demo(command: list[str], environment: dict[str, str], port: int) -> list[float]:
    """Return the wall and CPU seconds until the demo answers, and those until all is compiled."""
    begin = clock()
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        while not _answers(port):
            if server.poll() is not None or perf_counter() - begin[0] > LONGEST:
                server.kill()
                sys.exit("the demo did not answer")
            sleep(0.1)
        ready, process = perf_counter(), psutil.Process(server.pid)
        used = sum(sum(one.cpu_times()[:4]) for one in [process, *process.children()])
        while process.children() and perf_counter() - ready < LONGEST:
            sleep(0.1)  # kernels are compiled behind
        behind = perf_counter()
        server.send_signal(signal.SIGTERM)
        server.wait()
    return [ready - begin[0], used, behind - begin[0], clock()[1] - begin[1]]


def _answers(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


def main() -> None:
    """Measure, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8765)
    chosen = parser.parse_args()
    rows = []

    def add(name: str, found: list[float], wall: str, cpu: str = "") -> None:
        rows.append([name, f"{found[0]:.2f}", wall, f"{found[1]:.2f}", cpu])
        print(*rows[-1], sep=" | ", flush=True)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        discreet, environment = program(folder)
        (folder / "people.csv").write_text(PEOPLE)
        subprocess.run([*discreet, "--help"], env=environment, check=True, capture_output=True)
        for command in STARTED:
            asked = [[*discreet, command, "--help"]]
            found = min((took(asked, folder, environment) for _ in range(3)), key=lambda f: f[1])
            add(f"`discreet {command} --help`", found, "", "0.3")
        eight = [
            [*discreet, "init", "people.csv", "--out", "people.toml"],
            [*discreet, "build", "people.toml", "--out", "store"],
            [*discreet, "table", "store", "--by", "sex"],
        ]
        add("eight people from CSV to table", took(eight, folder, environment), "2")
        for again in (["info", "store"], ["table", "store", "--by", "sex"]):
            found = min((took([[*discreet, *again]], folder, environment) for _ in range(3)),
                        key=lambda f: f[1])  # fmt: skip
            add(f"`discreet {again[0]}` of them", found, "")
        add("`discreet check`", took([[*discreet, "check"]], folder, environment), "3")
        served = [*discreet, "demo", "--no-browser", "--port", str(chosen.port), "--folder"]
        served.append(str(folder / "demo"))
        found = demo(served, environment, chosen.port)
        add("`discreet demo`, 1.5 million people", found[:2], "20")
        add("the same, until what is compiled behind is there too", found[2:], "")
        add("the same again", demo(served, environment, chosen.port)[:2], "")
    text = (
        "## The first second\n\nFrom a copy of the program without compiled kernels, in this "
        "order. Starts are those of `--help`, and "
        "the best of three like `info` and `table`. Eight people are three commands: `init`, "
        "`build`, and `table`, which is refused because they are so few: the steps are those of a "
        "release. The demo is ready when its page is there. The kernels of questions are compiled "
        "behind, at a low priority, and plain code answers until they are there.\n\n"
        + table(["", "wall s", "target", "CPU s", "target"], rows)
        + f"\n\nOn {os.cpu_count()} processors that others used at the same time: the load was "
        f"{os.getloadavg()[1]:.0f}, so that the wall time is longer by the CPU of others.\n"
    )
    write_section("first", text)


if __name__ == "__main__":
    main()
