"""`discreet policy explain` and `discreet policy check`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from discreet.policy import Policy

command = typer.Typer(
    help="Explain a policy in sentences, or check it for mistakes.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A policy.toml, preset:NAME, or a store for the policy it was built with.",
        show_default=False,
    ),
]


@command.command("explain")
def _explain(policy: File) -> None:
    """Explain in sentences what a policy allows.

    Presets: preset:rounding-3, preset:cell-keys,
    preset:swapping-and-light-keys, preset:protected-base,
    preset:synthetic-only.
    """
    import textwrap

    from discreet.policy import explain

    for line in explain(_read(policy)).splitlines():
        indent = "    " if line.startswith("  - ") else ""
        typer.echo(textwrap.fill(line, 80, subsequent_indent=indent))


@command.command("check")
def _check(policy: File) -> None:
    """Check a whole policy, and report all mistakes at once."""
    read = _read(policy)
    tiers = ", ".join(read.tiers)
    typer.echo(f"{policy} is a policy: version {read.version}, tiers {tiers}.")


def _read(given: str) -> Policy:
    """Return the policy of a file, of a preset, or that the current version of a store has."""
    from discreet.policy import parse_policy, policy_values

    if Path(given).is_dir():
        from discreet.population import Store

        version = Store(Path(given)).open()
        return parse_policy(version.policy_values, "policy", str(version.path))
    return parse_policy(policy_values(given, Path()), given, given)
