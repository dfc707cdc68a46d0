"""Which extra brings a package that is not installed, said in a sentence.

`pip install discreet` is the client, the measures and the methods. What more it takes to build and
serve a population, or to solve the large problems of the desk, comes with extras (pyproject.toml).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from discreet.errors import NotInstalled

EXTRAS = {
    "build": ("cryptography", "duckdb", "orjson", "pyarrow", "pysdmx", "sqlalchemy", "xlsxwriter"),
    "desk": ("clarabel", "highspy", "jinja2", "numba", "resvg_py", "scipy"),
    "server": ("argon2", "fastapi", "prometheus_client", "pydantic", "starlette", "uvicorn"),
    "pandas": ("matplotlib", "pandas", "polars", "xarray"),
    "mcp": ("mcp",),
    "postgres": ("psycopg",),
    "spark": ("pyspark",),
    "sign-on": ("authlib", "httpx", "joserfc"),
}
"""The modules that each extra adds to those before it."""


@contextmanager
def with_extra(all_of: str | None = None) -> Iterator[None]:
    """Raise `NotInstalled`, which names the extra, where a package of one is not there.

    `all_of` is the extra that brings all that is needed, where that is more than the package.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if isinstance(error, NotInstalled):
            raise
        package = (error.name or "").partition(".")[0]
        for extra, packages in EXTRAS.items():
            if package in packages:
                raise NotInstalled(
                    f"this needs the package {package}, which is not installed: "
                    f"pip install 'discreet[{all_of or extra}]'."
                ) from None
        raise
