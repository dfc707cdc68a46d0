"""Spark through Spark Connect: queries go out as text, rows come back as Arrow.

The client needs no Java and no cluster's configuration. ANSI mode is on, so that Spark raises
instead of wrapping around. A session that breaks is made anew for the next question.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from threading import Event, Lock
from typing import Any

import pyarrow as pa

from discreet.errors import EngineUnavailable, ParameterError, Stopped
from discreet.tabulate.engine import stopping

_RETRIES = 3  # of a call that finds nobody: about three seconds in all
_TAGS = count()


def spark_path(address: str) -> str:
    """Return what Spark calls a folder: its own name of object storage, and none of the options."""
    head = address.partition("?")[0]
    return head.replace("s3://", "s3a://", 1)


class SparkSessionHolder:
    """One session of a Spark Connect server, made when it is needed and again when it broke."""

    def __init__(self, remote: str) -> None:
        self.remote = remote
        self._lock = Lock()
        self._session: Any = None

    def session(self, prepare: Callable[[Any], None] = lambda session: None) -> Any:
        """Return the session; `prepare` is called with a new one."""
        with self._lock:
            if self._session is None:
                made = _connect(self.remote)
                prepare(made)
                self._session = made
            return self._session

    def drop(self) -> None:
        """Forget the session: the next question makes a new one."""
        with self._lock:
            session, self._session = self._session, None
        if session is not None:
            with suppress(Exception):
                session.client.close()

    @contextmanager
    def told(self, stop: Event | None = None) -> Iterator[None]:
        """Turn whatever Spark raises into `Stopped` or `EngineUnavailable`."""
        try:
            yield
        except (ParameterError, EngineUnavailable, Stopped):
            raise
        except Exception as error:  # of gRPC, of the client, of the cluster: all mean no answer
            if stop is not None and stop.is_set():
                raise Stopped("the tabulation was stopped") from error
            self.drop()
            raise EngineUnavailable(f"{type(error).__name__}: {error}") from error


class SparkRunner:
    """Runs queries on a Spark cluster."""

    quote = "`"

    def __init__(self, remote: str, folders: Mapping[str, str]) -> None:
        self._holder = SparkSessionHolder(remote)
        self._folders = folders

    def close(self) -> None:
        """End the session."""
        self._holder.drop()

    def reach(self) -> None:
        """Raise `EngineUnavailable` if the cluster does not answer."""
        with self._holder.told():
            self._session().sql("SELECT 1").toArrow()

    def run(self, query: str, tables: Mapping[str, pa.Table], stop: Event | None) -> pa.Table:
        """Return the rows of a query over the records and some small tables."""
        tag = f"discreet-{next(_TAGS)}"
        with self._holder.told(stop):
            session = self._session()
            session.addTag(tag)
            try:
                for name, table in tables.items():
                    session.createDataFrame(table).createOrReplaceTempView(name)
                with stopping(stop, lambda: session.interruptTag(tag)):
                    return session.sql(query).toArrow()
            finally:
                session.removeTag(tag)
                for name in tables:
                    with suppress(Exception):
                        session.catalog.dropTempView(name)

    def _session(self) -> Any:
        def prepare(session: Any) -> None:
            for name, folder in self._folders.items():
                session.read.parquet(spark_path(folder)).createOrReplaceTempView(name)

        return self._holder.session(prepare)


def _connect(remote: str) -> Any:
    """Return a new session with a Spark Connect server."""
    try:
        with warnings.catch_warnings():
            # The client warns of pandas 3, which is not used here: rows come as Arrow.
            warnings.simplefilter("ignore")
            from pyspark.sql.connect.client.retries import DefaultPolicy
            from pyspark.sql.connect.session import SparkSession
    except ImportError:
        raise ParameterError(
            "the engine 'spark' needs the Spark Connect client: pip install 'discreet[spark]'."
        ) from None
    # What goes wrong is raised; the client would also print it, with traces of both sides.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    session = SparkSession.builder.remote(remote).create()
    session.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES)])
    session.conf.set("spark.sql.ansi.enabled", "true")
    return session
