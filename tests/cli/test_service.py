"""`status`, `tick` and `doctor` on a project: one document for machines, exit codes from the table."""

from __future__ import annotations

import json

import pytest

from agent.errors import ExitCode
from sim.world.faults import Fault, FaultKind, Target
from tests.cli.site import Site


def strike(site: Site, kind: FaultKind, **more: object) -> None:
    site.world.arm([Fault(name=f"{kind}-{len(site.world.ground.faults.faults)}", kind=kind, **more)])  # type: ignore[arg-type]


def test_status_shows_the_platform(site: Site) -> None:
    text = site.run("status")
    assert text.code == ExitCode.OK
    assert "0 rented nodes" in text.out
    for pool in ("eks-a100-od", "eks-h100-od", "eks-l4-spot"):
        assert pool in text.out
    document = site.run("status", "--output", "json").document()
    assert set(document) == {"taken_at", "local_use", "queued_tasks", "cost_per_hour", "pools", "orders", "notes"}
    assert document["queued_tasks"] == 0
    assert document["cost_per_hour"] == {"amount": "0.00", "currency": "CNY"}


def test_status_says_unknown_and_why_instead_of_zero(site: Site) -> None:
    strike(site, FaultKind.PROMETHEUS, mode="nan")
    strike(site, FaultKind.API_DOWN, target=Target(cluster="idc-gpu"), mode="unavailable")
    text = site.run("status")
    assert text.code == ExitCode.STALE_INPUTS, "a person asked, and what is known is not enough"
    assert "local use unknown (" in text.out
    assert "unknown (" in text.out.partition("tasks queued")[0].rpartition("[")[2]


def test_a_dry_run_decides_and_records_nothing(site: Site) -> None:
    dry = site.run("tick", "--dry-run", "--output", "json")
    assert dry.code == ExitCode.OK
    document = dry.document()
    assert document["decision_id"] is None
    assert str(document["headline"]).startswith("Hold: ")
    assert site.run("decisions", "--all", "--output", "json").document() == {"decisions": []}
    assert "Dry run: nothing is touched, nothing is recorded." in site.run("tick", "--dry-run").out


def test_a_tick_is_recorded_and_can_be_explained(site: Site) -> None:
    document = site.run("tick", "--output", "json").document()
    assert document["decision_id"] == 1
    assert (document["changes"], document["error"], document["withdrawn"]) == ([], None, None)
    listed = site.run("decisions", "--all", "--output", "json").document()
    assert json.dumps(listed).count('"id"') == 1
    explained = site.run("explain", "1", "--output", "json").document()
    assert {"decision", "evidence", "alternatives", "cost_per_hour", "sentences"} <= set(explained)
    assert site.run("explain", "1").out.startswith("Decision 1, ")


def test_the_file_is_untouched_by_looking_and_by_a_tick_that_holds(site: Site) -> None:
    before = site.stack_file.read_bytes()
    for arguments in (("status",), ("tick", "--dry-run"), ("tick",), ("doctor",)):
        site.run(*arguments)
    assert site.stack_file.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "code", "exit_code"),
    [
        ("error: no stack named 'burst-aws' found", 255, ExitCode.NO_STACK),
        ("error: something odd", 6, ExitCode.NO_STACK),
        ("error: constructing secrets manager: incorrect passphrase", 255, ExitCode.BAD_CALL),
        ("error: passphrase must be set with PULUMI_CONFIG_PASSPHRASE", 2, ExitCode.BAD_CALL),
        ("error: could not unmarshal 'Pulumi.burst-aws.yaml'", 255, ExitCode.BAD_CALL),
        ("error: failed to load checkpoint", 255, ExitCode.BAD_CALL),
    ],
)
def test_what_the_engine_refuses_becomes_its_exit_code_and_a_next_step(
    site: Site, text: str, code: int, exit_code: ExitCode
) -> None:
    site.pulumi_fails(text, code)
    for command in ("status", "tick"):
        answer = site.run(command)
        assert answer.code == exit_code, answer
        assert "stack burst-aws" in answer.err
        assert "next: " in answer.err
        assert "Traceback" not in answer.err
        error = site.run(command, "--output", "json").document()["error"]
        assert isinstance(error, dict)
        assert error["exit_code"] == exit_code
        assert error["hint"]
    assert not site.run("decisions", "--all", "--output", "json").document()["decisions"]


def test_a_state_that_wants_other_credentials_makes_its_pools_unknown(site: Site) -> None:
    site.pulumi_fails("error: credentials are required", 3)
    answer = site.run("status")
    assert answer.code == ExitCode.OK
    assert answer.out.count("credentials are required (not_authorised)") >= 3


def test_an_engine_that_is_not_there_says_so(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPILLWAY_PULUMI", str(site.folder / "nothing"))
    answer = site.run("tick")
    assert answer.code == ExitCode.BAD_CALL
    assert "pulumi_unusable" in answer.err
    assert "make setup" in answer.err


def test_a_stack_file_that_is_gone_is_no_such_stack(site: Site) -> None:
    site.stack_file.unlink()
    answer = site.run("tick", "--output", "json")
    assert answer.code == ExitCode.NO_STACK
    assert not site.stack_file.exists()


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda text: text[: text.index("eks-l4-spot")], "eks-l4-spot"),
        (lambda text: text.replace("eks-l4-spot: 0", "eks-l4-spot: many"), "'many' is not a number of nodes"),
        (lambda text: text.replace("eks-l4-spot: 0", "eks-l4-spot: ["), "not valid YAML"),
        (lambda text: text.replace("eks-l4-spot: 0", "eks-ghost: 0"), "is not in the catalogue"),
        (lambda text: "", "the document is empty"),
    ],
    ids=["truncated", "no number", "no YAML", "unknown pool", "empty"],
)
def test_a_damaged_stack_file_is_named_and_left_as_it_is(site: Site, spoil: object, says: str) -> None:
    assert callable(spoil)
    site.stack_file.write_text(spoil(site.stack_file.read_text()))
    damaged = site.stack_file.read_bytes()
    answer = site.run("tick")
    assert answer.code == ExitCode.BAD_CALL, answer
    assert "Pulumi.burst-aws.yaml" in answer.err
    assert says in answer.err
    assert site.stack_file.read_bytes() == damaged


@pytest.mark.parametrize("file", ["policy.yaml", "catalog.yaml"])
def test_a_damaged_policy_or_catalogue_stops_every_command(site: Site, file: str) -> None:
    (site.folder / "stacks" / file).write_text("pools: []\nqueue_presure: {}\n")
    for command in ("status", "tick"):
        answer = site.run(command)
        assert answer.code == ExitCode.BAD_CALL
        assert file in answer.err


@pytest.mark.parametrize("limit", ["5000 EUR", "1 CNY"], ids=["no rate for it", "below the cheapest node"])
def test_a_cost_limit_under_which_nothing_could_be_bought_is_refused(site: Site, limit: str) -> None:
    policy = site.folder / "stacks" / "policy.yaml"
    policy.write_text(policy.read_text().replace("max_cost_per_hour: 12000 CNY", f"max_cost_per_hour: {limit}"))
    answer = site.run("tick")
    assert answer.code == ExitCode.BAD_CALL
    assert "policy.yaml" in answer.err
    assert "max_cost_per_hour" in answer.err


# ---- doctor ----


def test_doctor_finds_nothing_wrong_on_a_sound_project(site: Site) -> None:
    answer = site.run("doctor")
    assert answer.code == ExitCode.OK, answer.out
    assert "WRONG" not in answer.out
    findings = site.run("doctor", "--output", "json").document()["findings"]
    assert isinstance(findings, list)
    assert {"settings", "stack burst-aws", "local GPU use", "queue"} <= {item["check"] for item in findings}


def test_doctor_names_what_is_wrong_with_a_next_step(site: Site) -> None:
    strike(site, FaultKind.PROMETHEUS, mode="empty")
    answer = site.run("doctor", "--output", "json")
    assert answer.code == ExitCode.ERROR
    findings = answer.document()["findings"]
    assert isinstance(findings, list)
    wrong = [item for item in findings if item["verdict"] == "wrong"]
    assert [item["check"] for item in wrong] == ["local GPU use"]
    assert wrong[0]["hint"]


def test_no_command_shows_a_secret(site: Site) -> None:
    site.pulumi_fails("error: incorrect passphrase: canary-4711", 255)
    shown = [site.run(*command) for command in (("tick",), ("status",), ("doctor",), ("doctor", "-o", "json"))]
    assert not any("token-" in answer.out + answer.err for answer in shown)
    tokens = [(site.folder / f"token-{cluster}").read_text() for cluster in ("idc-gpu", "cloud-gpu-b")]
    assert not any(token in answer.out + answer.err for token in tokens for answer in shown)
