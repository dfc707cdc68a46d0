"""A progress bar on the terminal; a line a stage where there is none."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from discreet.progress import Tell


@contextmanager
def shown() -> Iterator[Tell]:
    """Give a function to be told (stage, done, total), shown on the standard error stream."""
    # A console takes FORCE_COLOR for a terminal; a bar in a pipe would be rubbish all the same.
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description:<12}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
    )
    tasks: dict[str, int] = {}
    with bar:

        def tell(stage: str, done: int, total: int | None) -> None:
            stage, _, more = stage.partition(": ")
            if stage not in tasks:
                for task in tasks.values():
                    total_of = bar.tasks[task].total
                    bar.update(bar.tasks[task].id, completed=total_of or bar.tasks[task].completed)
                tasks[stage] = int(bar.add_task(stage.capitalize(), total=total))
            bar.update(
                bar.tasks[tasks[stage]].id,
                completed=done,
                total=total,
                description=f"{stage.capitalize()} {more}".rstrip(),
            )

        yield tell
        for task in bar.tasks:
            bar.update(task.id, total=task.total or 1, completed=task.total or 1)


def _lines() -> Tell:
    seen: set[str] = set()

    def tell(stage: str, done: int, total: int | None) -> None:
        stage = stage.partition(": ")[0]
        if stage not in seen:
            seen.add(stage)
            print(f"{stage.capitalize()} …", file=sys.stderr)

    return tell


def after_a_while(tell: Tell, seconds: float = 2.0) -> Tell:
    """Return a function that passes on what it is told once so much time has gone by.

    That something is compiled is passed on at once: it takes seconds, and says nothing on its way.
    """
    began = monotonic()

    def later(stage: str, done: int, total: int | None) -> None:
        if stage == "compiling" or monotonic() - began >= seconds:
            tell(stage, done, total)

    return later
