"""The chart's audit: a CronJob with rights to list and to fill in one report; off until somebody asks for it."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from seatrial.cli.survey import audit
from seatrial.core.survey.audit.findings import FindingKind
from tests.chart.charts import NAMESPACE, one, rendered
from tests.pages import granted_by, rules_of

ON = "audit.enabled=true"
NAME = "seatrial-audit"


def job(objects: list[dict[str, Any]]) -> dict[str, Any]:
    pod: dict[str, Any] = one(objects, "CronJob", NAME)["spec"]["jobTemplate"]["spec"]["template"]
    return pod


def arguments(objects: list[dict[str, Any]]) -> argparse.Namespace:
    """What the command makes of its arguments."""
    (container,) = job(objects)["spec"]["containers"]
    assert container["args"][0] == "audit"
    parser = argparse.ArgumentParser()
    audit.add_arguments(parser)
    return parser.parse_args(container["args"][1:])


@pytest.mark.parametrize("settings", [(), ("audit=null",)])
def test_nobody_audits_until_it_is_asked_for(settings: tuple[str, ...]) -> None:
    assert [item for item in rendered(*settings) if item["metadata"]["name"] == NAME] == []


def test_it_may_list_what_the_how_to_says_and_fill_in_its_own_report_and_no_more() -> None:
    objects = rendered(ON)
    role = one(objects, "ClusterRole", NAME)["rules"]
    assert granted_by(role) == granted_by(rules_of("how-to/audit.md"))
    own = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [NAME], "verbs": ["patch"]}
    assert one(objects, "Role", NAME)["rules"] == [own]
    assert job(objects)["spec"]["serviceAccountName"] == NAME
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        assert one(objects, kind, NAME)["subjects"] == [
            {"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}
        ]
    assert "data" not in one(objects, "ConfigMap", NAME), "an upgrade of the chart would write over the report"


def test_its_arguments_are_understood_and_the_report_goes_where_it_may_write() -> None:
    plain = arguments(rendered(ON))
    assert (plain.report_to, plain.file, plain.fail_on) == ((NAMESPACE, NAME), None, [])
    compared = arguments(
        rendered(ON, "audit.matrix.configMap=gpu-matrix", "audit.matrix.entry=canary", "audit.failOn={drift,pending}")
    )
    assert compared.file == "/var/run/seatrial/matrix/matrix.yaml"
    assert (compared.entry, compared.fail_on) == ("canary", ["drift", "pending"])


def test_it_runs_restricted_and_within_the_chart_s_network() -> None:
    objects = rendered(ON)
    (container,) = job(objects)["spec"]["containers"]
    security = container["securityContext"]
    assert security["runAsNonRoot"]
    assert security["readOnlyRootFilesystem"]
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert job(objects)["metadata"]["labels"]["app.kubernetes.io/name"] == "seatrial"
    assert one(objects, "CronJob", NAME)["spec"]["concurrencyPolicy"] == "Forbid"


def test_every_finding_may_be_named_and_nothing_else() -> None:
    rendered(ON, f"audit.failOn={{{','.join(each.value for each in FindingKind)}}}")
    with pytest.raises(RuntimeError, match="failOn"):
        rendered(ON, "audit.failOn={drifft}")
    with pytest.raises(RuntimeError, match="schedule"):
        rendered(ON, "audit.schedule=")
