"""`discreet policy explain` and `discreet policy check`."""

from __future__ import annotations

from typing import Annotated

import typer

command = typer.Typer(
    help="Explain a policy in sentences, or check it for mistakes.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

File = Annotated[
    str,
    typer.Argument(metavar="FILE", help="A policy.toml, or preset:NAME.", show_default=False),
]


@command.command("explain")
def _explain(policy: File) -> None:
    """Explain in sentences what a policy allows.

    Presets: preset:rounding-3, preset:cell-keys,
    preset:swapping-and-light-keys, preset:protected-base,
    preset:synthetic-only.
    """
    import textwrap
    from pathlib import Path

    from discreet.policy import explain, parse_policy, policy_values

    said = explain(parse_policy(policy_values(policy, Path()), policy, policy))
    for line in said.splitlines():
        indent = "    " if line.startswith("  - ") else ""
        typer.echo(textwrap.fill(line, 80, subsequent_indent=indent))


@command.command("check")
def _check(policy: File) -> None:
    """Check a whole policy, and report all mistakes at once."""
    from pathlib import Path

    from discreet.policy import parse_policy, policy_values

    read = parse_policy(policy_values(policy, Path()), policy, policy)
    tiers = ", ".join(read.tiers)
    typer.echo(f"{policy} is a policy: version {read.version}, tiers {tiers}.")
