"""The command line: one file per command, heavy imports inside the commands.

Nothing else is imported here: `main` minds Ctrl-C first.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import typer

    app: typer.Typer

STOPPED = "discreet: stopped\n"


def main() -> None:
    """Run the program: 2 on a bad value, 3 on a refusal, one clear sentence each."""
    try:
        # What is built in of `signal`, whose own import would take a while.
        import _signal  # type: ignore[import-not-found]

        _signal.pthread_sigmask(_signal.SIG_BLOCK, {_signal.SIGINT})  # until somebody minds it
        from discreet.cli.interrupt import Interrupts

        with Interrupts():
            from discreet.cli.program import run

            run()
    except KeyboardInterrupt:
        sys.stderr.write(STOPPED)
        sys.exit(130)


def __getattr__(name: str) -> object:
    """Import `app` when it is first used."""
    if name == "app":
        from discreet.cli.program import program

        return program()
    raise AttributeError(f"module 'discreet.cli' has no attribute {name!r}")
