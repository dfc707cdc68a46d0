"""The contract: schemathesis asks what the document allows and what it forbids."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from applications import Client

# Which names a data set has is not in the document, so that names that are allowed by it may still
# be unknown: `positive_data_acceptance` is left out.
CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
    unsupported_method,
)


@pytest.fixture(scope="module")
def contract(client: Client) -> Any:
    return schemathesis.openapi.from_asgi("/api/openapi.json", client.app)


schema = schemathesis.pytest.from_fixture("contract")


@schema.parametrize()
@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
def test_the_contract_holds(case: Any) -> None:
    case.call_and_validate(checks=CHECKS)
