"""The contract of a running server: schemathesis asks what the document allows, and forbids."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from servers import Running, running
from stores import build_town

pytestmark = pytest.mark.slow

# Which names a data set has is not in the document, so that names which it allows may be unknown
# all the same: `positive_data_acceptance` is left out.
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
    unsupported_method,
]
OPERATIONS = [
    ("GET", "/api/v1/datasets"),
    ("GET", "/api/v1/datasets/{dataset}"),
    ("GET", "/api/v1/datasets/{dataset}/check"),
    ("GET", "/api/v1/datasets/{dataset}/table"),
    ("POST", "/api/v1/datasets/{dataset}/table"),
    ("GET", "/api/v1/config"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder: Path = tmp_path_factory.mktemp("contract")
    # The id of the document's examples, so that some of them are answered.
    store = build_town(folder / "data", folder / "store", rows=5_000, id="census")
    with running([store], folder) as server:
        yield server


# What the document forbids can be asked only of operations that have parameters.
CASES = [
    (method, path, mode)
    for method, path in OPERATIONS
    for mode in GenerationMode
    if "{" in path or mode is GenerationMode.POSITIVE
]


@pytest.mark.parametrize(("method", "path", "mode"), CASES)
def test_the_contract_holds(server: Running, method: str, path: str, mode: Any) -> None:
    schema = schemathesis.openapi.from_url(f"{server.url}/api/openapi.json")
    assert {(one.ok().method.upper(), one.ok().path) for one in schema.get_all_operations()} >= set(
        OPERATIONS
    )
    operation = schema[path][method]

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=40,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    def ask(case: Any) -> None:
        case.call_and_validate(checks=CHECKS)

    ask()
