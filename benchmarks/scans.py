"""Questions that no view covers, beside DuckDB on the same rows: five variables, fine areas.

    python benchmarks/scans.py [--persons 10000000] [--folder var/bench]

Both programs run in turns in one process on one thread each; a ratio is the median over the turns.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from building import prepare
from check import FEW, Pair, in_turns
from report import BENCH, table, timed, write_section
from tabulate import duck, in_duckdb, measured, probe

from discreet.population import Level, Store, Variable, Version
from discreet.query import Query, Question
from discreet.tabulate import ScanEngine

TURNS = 5
QUESTIONS = (
    ("sex,age,occupation,education,health", None),
    ("age,occupation,education,religion,tenure", None),
    ("sex,age,health,tenure,education", "activity=1"),
    ("age,religion,tenure,education", "ethnic_group=3|4|5"),
    ("ward,sex,health", None),
    ("ward,sex", "activity=1"),
    ("oa,sex", "health=1|2"),
    ("oa,age", None),
    ("sex,age", "ward=1|2|3|4|5"),
    ("workplace,sex", None),
    ("workplace,age", None),
    ("sex,age", "workplace=" + "|".join(map(str, range(1, 101)))),
)
WIDE = "workplace"
"""A variable of as many categories as one can have, in codes of two bytes."""

TRIED = """\
Tried, and kept: the next block's codes and keys are sent for while a block is counted, as the
processor itself does not see beyond the end of a block (a third to a half less for two variables);
blocks of 256 records instead of 1,024, which leave the near cache to the cells, made worth it by
kernels that take no memory and so need not count who holds what (a fifth less); the last columns of
a table numbered by two bytes, so that twice as many records are multiplied at once; up to four
cells of an area, or of a table without areas, are counted one after the other in registers, many
records at a time, the last of them by what is left over; up to 64 cells have four accumulators, one
for each of four neighbours, which are emptied where an area ends (a third of what was taken for ten
to 45 cells of a ward); records go to their area's part of the table, and no part is added to their
numbers; what filters let pass is listed without a branch, which beats adding everybody and throwing
some cells away, on processors that cannot squeeze; codes of two bytes are multiplied and compared
like those of one; codes that are looked up come first, and those that are multiplied are added to
them (an eighth of the time where it was the other way round: what is added one by one waits for
what was written many at once); planning a question takes 0.1 ms instead of 0.6, which with two
looks at the files is most of what a few areas cost; records that a filter lets pass, copied out and
kept, with their keys and areas, as a population of its own; where a table has more than 2^20 cells
and no areas, each cell is sent for 256 records before its turn, into the second cache, which takes
more at a time than the first (a fifth less than into the first, which was 64% less than nothing for
`workplace` by age). For the marginal tables of a build, records packed into one word, sorted in
chunks and merged, so that one addition stands for several people and near cells come together.

Tried for the first and the second time of a filter, and kept: where the processor squeezes 64 bytes
in a step (AVX-512 VBMI2), the columns of those who pass are copied close together into the near
cache, 16,384 records at a time, and the copies are counted as if nobody else were there (a quarter
to a third less the first time, and where one in 50 to 10,000 passes too); the lines of a column
sent for 128 ahead instead of eight, as copying waits for memory alone (two fifths less of the
copying); records told apart 2,048 at a time instead of 256 (a third less of that); where fewer
pass, numbers squeezed to a list, and below one in 256 a list of those blocks that have somebody;
parts copied by the same kernels straight from the flags, with no list of places (the second time
takes a third to two thirds less, and a part four bytes less for each record, so that more are
kept). Up to three cells of an area are counted with one more for those who do not pass, unless
hardly anybody does: copying takes up to half longer there.

The first time every byte of a filter's columns is read, as the probe does, which alone takes more
than a tenth of DuckDB's CPU where few records pass. An index of the categories that at most an
eighth has, made with the store, two bytes for a place, would take a third as many bytes again on
the disk, and as much longer to compare with checksums. A table of 6.6 million cells, 53 MB, takes a
quarter of its time to be made empty and another eighth to be read.

Tried, and not kept: four far-apart records of a block in turn instead of neighbours (a fifth
slower); sums of runs of one cell in a register (half slower); one loop instead of four steps for
the unfiltered scan (the same); filters folded into larger tables (mostly the same, slower where few
pass); wide tables of 2^20 or 2^22 cells instead of 2^21 (a tenth slower); parts of the kernel as
functions of their own (a fifth less to compile, up to half slower); what passes listed in two
halves at once, or by words of eight records (the same, or slower); blocks of 512 records and more
(a tenth slower), and of 1,024 where areas have few cells (two fifths); cells sent for before their
turn in tables of less than 2^20 (half slower); the cells of the next area sent for (the same); axes
in another order, the most uneven outermost (up to a tenth less, and as much again to put them
back); large pages for tables of 1 to 4 MB (nothing to a tenth less); cells of a vast table spread
by their high bits first, so that a part of it stays in the cache (4% less by pieces of two million
records, 16% by four, 30% by eight, 41% for all ten million at once, which takes 80 MB beside the
table, more than a question has); pairs of columns in one byte, sex by health and occupation by
education (17% less for five variables that are just these, for a tenth more bytes on the disk for
each pair); codes of a record packed in one word, so that one load serves five columns (4% less: of
10.7 ms the additions to cells take 7.1, and unpacking as much as four loads); codes of a scan
without filters sent for 1,024 to 8,192 ahead instead of 384 (the same to a tenth slower: it does
not wait for memory); those who pass copied 32,768 at a time (the same), or after the first lines of
all columns were sent for (the same); a vast table held from one question to the next instead of
made anew (a tenth less for 6.6 million cells without areas, nothing with areas, for 53 MB held),
and split into counts and keys and emptied while it is read (the same: what is written to must then
be made); where the processor does not squeeze, columns gathered by a list all the same (up to twice
as slow as cells for everybody).
"""


def with_workplaces(version: Version, number: int = 65_535) -> Version:
    """Return a version with a variable more, in which low codes are frequent."""
    codes = tuple(str(i + 1) for i in range(number))
    level = Level(WIDE, "Workplace", codes, codes, np.arange(number, dtype=np.uint32))
    drawn = number * np.random.default_rng(1).random(version.rows) ** 3
    wide = np.concatenate([drawn.astype(np.uint16)[None], version.codes16])
    wide.setflags(write=False)  # of one type with mapped columns, for the kernels
    variables = (Variable(WIDE, "Workplace", (level,)), *version.schema.variables)
    return replace(version, schema=replace(version.schema, variables=variables), codes16=wide)


def main() -> None:
    """Measure in turns, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, default=BENCH)
    parser.add_argument("--note", default="", help="a sentence on the machine")
    chosen = parser.parse_args()
    version = with_workplaces(Store(prepare(chosen.persons, chosen.folder)).open())
    scan, connection = ScanEngine(version, threads=1), duck(version, (WIDE,))
    connection.execute("SET threads = 1")
    pool, rows, beyond, early = ThreadPoolExecutor(1), [], 0, [0, 0]
    for by, where in QUESTIONS:
        question = Question.of(Query.parse(by, where), version.schema)
        read = measured(probe(version, question, pool)).cpu
        first, second = (timed(lambda q=question: scan.tabulate(q))[0] for _ in range(2))
        theirs = in_duckdb(connection, version, question)
        pair = Pair(by, partial(scan.tabulate, question), theirs, FEW)
        ratio = in_turns([pair], TURNS)[by]
        took = measured(lambda q=question: scan.tabulate(q)).cpu
        beyond += took > 3 * read
        for turn, seconds in enumerate((first, second)):
            early[turn] += ratio.median * took < 10 * (seconds if where else took)
        name = question.canonical.removeprefix("by=")
        name = f"`{name if len(name) < 80 else name[:50] + '…'}`".replace("|", "\\|")
        rows.append([
            name, f"{question.cells:,}", f"{1e3 * took:.2f}", f"1/{ratio.median:.1f}",
            f"{ratio.low:.1f}–{ratio.high:.1f}", f"{took / read:.1f}",
            f"{1e3 * first:.1f}, {1e3 * second:.1f}" if where else "",
        ])  # fmt: skip
        print(rows[-1], flush=True)
    scan.close()
    missed = sum(float(row[3][2:]) < 10 for row in rows)
    text = (
        f"## Scans, {chosen.persons / 1e6:g} million people\n\nQuestions that views do not cover. "
        f"Target: at most 1/10 of DuckDB's CPU, missed by {missed} of {len(rows)}, and 3 times the "
        f"probe, which only reads the bytes of all records, missed by {beyond}. `{WIDE}` has "
        "65,535 categories and is drawn at random, the low codes more often.\n\n"
        "Who passes a filter is copied out when it is asked for the second time, within 64 MiB of "
        f"memory. The figures are those from the third time on; the first time {early[0]} miss "
        f"1/10 of DuckDB's CPU, and the second time, which copies, {early[1]}. In areas that hold "
        "less than a quarter of the people nothing is copied. In a turn each program runs three "
        "times, and the median counts. "
        f"{chosen.note}".rstrip()
        + "\n\n"
    )
    heads = ["question", "cells", "CPU ms", "of DuckDB's CPU", "times less, quartiles",
             "times the probe's CPU", "first and second time, CPU ms"]  # fmt: skip
    write_section("scans", text + table(heads, rows) + "\n\n" + TRIED)


if __name__ == "__main__":
    main()
