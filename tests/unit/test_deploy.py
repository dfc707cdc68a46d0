"""The compose file and the Helm chart: rendered, held against their schemas, and hardened.

The chart uses the functions of Go's own templates only, so that Go's template engine (the package
go-template carries it) renders it as helm does.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml
from compose_spec import PyCompose

from discreet.server.settings import read_settings, variables

DEPLOY = Path(__file__).parents[2] / "deploy"
CHART = DEPLOY / "helm" / "discreet"
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
# Everything that is left out unless it is asked for.
ALL = {
    "host": "tables.example.org", "ingressClass": "nginx", "tlsSecret": "tls", "rootPath": "/stat",
    "settingsSecret": "more", "allowedNamespaces": ["ingress", "monitoring"], "stores": ["a", "b"],
}  # fmt: skip
VERSIONS = ("1.25", "1.31")
RENDER = "import sys, go_template; go_template.render_template(*sys.argv[1:])"


def as_helm(value: Any) -> Any:
    """Return values as helm has them: every number is a float."""
    if isinstance(value, dict):
        return {key: as_helm(one) for key, one in value.items()}
    if isinstance(value, list):
        return [as_helm(one) for one in value]
    return float(value) if type(value) is int else value


def rendered(folder: Path, **values: Any) -> dict[str, dict[str, Any]]:
    """Return the manifests of the chart by kind and name."""
    given = {"Values": as_helm({**VALUES, **values}), "Release": {"Name": "tables"}}
    (folder / "values.yaml").write_text(yaml.safe_dump(given))
    found = {}
    for template in sorted((CHART / "templates").glob("*.yaml")):
        out = folder / template.name
        out.unlink(missing_ok=True)
        told = subprocess.run(
            [sys.executable, "-c", RENDER, template, folder / "values.yaml", out],
            capture_output=True, text=True,
        )  # fmt: skip
        assert told.returncode == 0, told.stderr
        text = out.read_text()
        assert "<no value>" not in text, text
        assert "%!" not in text, text
        for one in yaml.safe_load_all(text):
            if one is not None:
                found[f"{one['kind']} {one['metadata']['name']}"] = one
    return found


@pytest.fixture(params=["as it is", "with everything"])
def manifests(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, dict[str, Any]]:
    return rendered(tmp_path, **({} if request.param == "as it is" else ALL))


def test_every_manifest_is_one_that_kubernetes_takes(
    manifests: dict[str, dict[str, Any]],
) -> None:
    assert {"Deployment tables", "Service tables", "PodDisruptionBudget tables"} <= set(manifests)
    for one in manifests.values():
        for version in VERSIONS:
            kubernetes_validate.validate(one, version, strict=True)


def test_what_is_misspelt_would_be_noticed(manifests: dict[str, dict[str, Any]]) -> None:
    one = manifests["Deployment tables"]
    one["spec"]["template"]["spec"]["terminationGracePeriod"] = 1
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(one, VERSIONS[0], strict=True)


def test_what_is_asked_for_is_there(tmp_path: Path) -> None:
    found = rendered(tmp_path, **ALL)
    assert {"Ingress tables", "NetworkPolicy tables"} <= set(found)
    (path,) = found["Ingress tables"]["spec"]["rules"][0]["http"]["paths"]
    assert path["path"] == "/stat"
    (container,) = found["Deployment tables"]["spec"]["template"]["spec"]["containers"]
    assert container["args"][:3] == ["serve", "/store/a", "/store/b"]
    assert container["envFrom"] == [{"secretRef": {"name": "more"}}]


def test_the_server_takes_its_settings(manifests: dict[str, dict[str, Any]]) -> None:
    (container,) = manifests["Deployment tables"]["spec"]["template"]["spec"]["containers"]
    env = {one["name"]: one["value"] for one in container["env"]}
    settings = read_settings(None, env)  # raises on a variable that there is not
    assert (settings.drain, settings.grace, settings.metrics_port) == (10, 30, 9100)


def test_pods_are_locked_down_and_drain(manifests: dict[str, dict[str, Any]]) -> None:
    pod = manifests["Deployment tables"]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    for container in [*pod["initContainers"], *pod["containers"]]:
        security = container["securityContext"]
        assert security["readOnlyRootFilesystem"] is True
        assert security["allowPrivilegeEscalation"] is False
        assert security["capabilities"] == {"drop": ["ALL"]}
    (container,) = pod["containers"]
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    # It is not killed while it says that it stops, nor while it finishes what runs…
    slept = int(container["lifecycle"]["preStop"]["exec"]["command"][-1])
    assert slept + VALUES["drain"] + VALUES["grace"] < pod["terminationGracePeriodSeconds"]
    # …and it drains for longer than a probe takes to notice.
    probe = container["readinessProbe"]
    noticed = (probe["periodSeconds"] + probe["timeoutSeconds"]) * probe["failureThreshold"]
    assert noticed < VALUES["drain"]
    # The password is read from a file of mode 0600 in memory.
    (first,) = pod["initContainers"]
    assert "install -m 0600" in first["command"][-1]
    volumes = {one["name"]: one for one in pod["volumes"]}
    assert volumes["secrets"]["emptyDir"]["medium"] == "Memory"
    assert volumes["database"]["secret"]["defaultMode"] == 0o400
    assert pod["securityContext"]["runAsUser"] == 10001, "the user of the Containerfile"
    assert "USER 10001:10001" in (DEPLOY.parent / "Containerfile").read_text()


def test_the_values_keep_to_their_schema() -> None:
    jsonschema.validate(VALUES, SCHEMA)
    jsonschema.validate({**VALUES, **ALL}, SCHEMA)
    assert set(VALUES) == set(SCHEMA["properties"]) - {"global"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"replicas": 0},
        {"stores": []},
        {"stores": ["../etc"]},
        {"settings": {"RATE": "1"}},
        {"databaseUrl": "postgresql://discreet:password@postgres/discreet"},
        {"rootPath": "/stat/"},
        {"replica": 2},
    ],
)
def test_values_that_cannot_be_meant_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**VALUES, **wrong}, SCHEMA)


def composed(**given: str) -> str:
    """Return the compose file with its variables filled in, as compose does it."""
    text = (DEPLOY / "compose.yaml").read_text()

    def value(match: re.Match[str]) -> str:
        name, kind, rest = match.groups()
        if name in given:
            return given[name]
        assert kind == ":-", f"{name} must be given"
        return rest

    return re.sub(r"\$\{(\w+)(:-|:\?)([^}]*)\}", value, text)


def test_the_compose_file_keeps_to_the_specification() -> None:
    text = composed(STORE="census")
    found = PyCompose.from_yaml(text)
    found.validate()
    assert sorted(found.service_names()) == ["database", "server"]
    with pytest.raises(ValueError, match="read_onli"):
        PyCompose.from_yaml(text.replace("read_only", "read_onli"))


def test_what_compose_runs_is_locked_down_and_drains() -> None:
    services = yaml.safe_load(composed(STORE="census"))["services"]
    server = services["server"]
    for one in services.values():
        assert one["read_only"] is True
        assert one["cap_drop"] == ["ALL"]
        assert one["security_opt"] == ["no-new-privileges:true"]
    assert server["user"] == "10001:10001"
    assert not [line for line in map(str, server["environment"].values()) if "password" in line]
    assert "/readyz" in server["healthcheck"]["test"][-1]
    settings = read_settings(
        None, {key: text for key, text in server["environment"].items() if key in variables()}
    )
    assert settings.drain + settings.grace < int(server["stop_grace_period"].removesuffix("s"))
    with pytest.raises(AssertionError, match="STORE must be given"):
        composed()
