"""The command line: one file a command, heavy imports inside the commands.

Nothing is imported here: `main` minds Ctrl-C first.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from discreet.cli.program import app as app


def main() -> None:
    """Run the program: 2 on a bad value, 3 on a refusal, one clear sentence each."""
    try:
        from discreet.cli.interrupt import Interrupts

        with Interrupts():
            from discreet.cli.program import run

            run()
    except KeyboardInterrupt:
        import sys

        sys.stderr.write("discreet: stopped\n")
        sys.exit(130)


def __getattr__(name: str) -> object:
    """Import `app` when it is first used."""
    if name == "app":
        from discreet.cli.program import app

        return app
    raise AttributeError(f"module 'discreet.cli' has no attribute {name!r}")
