"""`discreet plan`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import Force, StoreFolder, TierName

if TYPE_CHECKING:
    from discreet.ledger import LeftOut, Plan
    from discreet.policy import Tier
    from discreet.population import Schema
    from discreet.progress import Tell
    from discreet.query import Question, QuestionClass
    from discreet.release import Releaser


def command(
    store: StoreFolder,
    questions: Annotated[
        Path | None,
        typer.Argument(
            metavar="QUESTIONS.txt",
            help="Wanted questions, one a line: by or by&where=…",
            show_default=False,
        ),
    ] = None,
    asked: Annotated[
        bool, typer.Option("--asked", help="Take those that were asked before as well.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="PLAN.toml", help="Write the plan to a file for the policy."
        ),
    ] = None,
    tier: TierName = None,
    force: Force = False,
) -> None:
    """Propose which tables to release before anybody asks.

    Fine detail may be in a few released tables only, and without a plan whoever
    asks first chooses them. The plan answers as many of the wanted questions as
    it can; one that is wanted often stands on several lines. Its tables are
    tried, and none that would be refused is in it. What is left out is listed,
    with the reason.
    """
    from discreet.cli.options import check_out
    from discreet.cli.progress import shown
    from discreet.errors import ParameterError
    from discreet.ledger import LeftOut, State, propose
    from discreet.service.opened import open_store

    if questions is None and not asked:
        raise ParameterError(
            "give a file of questions, one a line, or --asked for those that were asked before."
        )
    if out is not None:
        check_out(out, questions or store, force)
    opened = open_store(store)
    chosen = opened.policy.tier(tier)
    kept = opened.releaser.ledgers.of(chosen)
    wanted, refused = _wanted(questions, opened.schema, chosen)
    if asked:
        wanted += kept.questions().elements()
    if not wanted and not refused:
        raise ParameterError("nobody has asked for a new table yet: give a file of questions.")
    most = kept.space.rules.max_table
    states = {one: kept.outlook(one).state for one in set(wanted) if one.cells <= most}
    gone = Counter(one for one in wanted if states.get(one) is State.REFUSED)
    with shown() as progress:
        plan = propose(
            [one for one in wanted if one not in gone],
            kept.space,
            kept.tables(),
            [one for one, state in states.items() if state in (State.RELEASED, State.SUMS)],
            chosen.counts.minimum_mean,
            _judging(opened.releaser, chosen, progress),
        )
    lost = [LeftOut(one, n, "it was made, and is not available") for one, n in gone.items()]
    _print(plan, [*plan.left_out, *lost, *refused])
    if out is not None:
        _write(plan, out, opened.schema.title)
        typer.echo(f"Wrote {out}. Name it in the policy, in [tiers.{chosen.id}.space]:")
        typer.echo(f'plan = "{out.name}"')


def _judging(releaser: Releaser, tier: Tier, tell: Tell) -> Callable[[QuestionClass], bool]:
    """Return what says whether a table would be released; each is made once, none is claimed."""
    known: dict[QuestionClass, bool] = {}

    def judge(of: QuestionClass) -> bool:
        if of not in known:
            tell("trying tables", len(known), None)
            known[of] = releaser.would_release(of, tier)
        return known[of]

    return judge


def _wanted(
    path: Path | None, schema: Schema, tier: Tier
) -> tuple[list[QuestionClass], list[LeftOut]]:
    """Return the classes of the questions in a file, and what the rules on questions refuse."""
    from discreet.errors import QueryRefused
    from discreet.ledger import LeftOut
    from discreet.query import QuestionClass
    from discreet.rules import check_question

    wanted, refused = [], []
    for question in [] if path is None else _questions(path, schema):
        asked = QuestionClass.of(question)
        try:
            check_question(question, tier)
        except QueryRefused as error:
            refused.append(LeftOut(asked, 1, f"{error.code}: {error}"))
        else:
            wanted.append(asked)
    return wanted, refused


def _questions(path: Path, schema: Schema) -> list[Question]:
    """Return the questions in a file, or every mistake in it at once."""
    from discreet.errors import ParameterError
    from discreet.query import Query, Question
    from discreet.toml import Mistakes

    mistakes, found = Mistakes(str(path)), []
    for number, line in _lines(path):
        try:
            found.append(Question.of(Query.parse_canonical(line), schema))
        except ParameterError as error:
            mistakes.found.append(f"line {number}: {error}")
    if not found and not mistakes.found:
        mistakes.found.append("must hold questions, one a line: sex,age or sex,age&where=la=E01")
    mistakes.end()
    return found


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that hold something, each with its number."""
    from discreet.errors import ParameterError

    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ParameterError(f"there is no file {path}") from None
    except OSError as error:
        raise ParameterError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ParameterError(f"{path} is not UTF-8: byte {error.start}") from None
    for number, line in enumerate(text.splitlines(), 1):
        held = line.strip()
        if held and not held.startswith("#"):
            yield number, held


def _print(plan: Plan, left_out: list[LeftOut]) -> None:
    from discreet.cli.ledger import print_list, say

    wanted = plan.answered + sum(one.times for one in left_out)
    say(_summary(plan, wanted))
    if plan.tables:
        rows = (
            (one.table.name, f"{one.table.cells:,}", f"{one.direct:,}", f"{one.summed:,}")
            for one in plan.tables
        )
        heads = ("Table to release beforehand", ">Cells", ">Answers", ">By sums")
        print_list(heads, rows, len(plan.tables))
    if left_out:
        reasons = ((one.asked.name, f"{one.times:,}", one.why) for one in left_out)
        print_list(("Left out", ">Times", "Because"), reasons, len(left_out))


def _summary(plan: Plan, wanted: int) -> str:
    by_plan = sum(one.direct + one.summed for one in plan.tables)
    share = f"{plan.answered / wanted:.0%}"
    return (
        f"{plan.answered:,} of {_number_of(wanted)} would be answered ({share}): "
        f"{plan.free:,} without a plan, {plan.before:,} from tables that are released, "
        f"{by_plan:,} from this plan."
    )


def _write(plan: Plan, out: Path, title: str) -> None:
    """Write a plan as a policy takes it."""
    from discreet.files import written

    lines = [f"# {title}: tables to release before anybody asks.", "plan = ["]
    for one in plan.tables:
        questions = one.direct + one.summed
        said = f"{one.table.cells:,} cells; answers {_number_of(questions)}"
        said += f", {one.summed:,} by sums" if one.summed else ""
        lines.append(f'  "{one.table.name}",  # {said}')
    with written(out, 0o644) as file:
        file.write("\n".join([*lines, "]", ""]).encode())


def _number_of(number: int) -> str:
    return "1 question" if number == 1 else f"{number:,} questions"
