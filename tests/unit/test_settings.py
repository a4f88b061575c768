"""Settings from the environment: each bad variable is one clear error that names it; secrets are never shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

import pytest

from agent.bootstrap import read_token
from agent.cluster_access import ClusterEndpoint
from agent.errors import BadSettings, ExitCode, NotAuthorised
from agent.settings import SPILLWAY_HELP, Settings, read_settings
from contract.catalog import Provider

SECRET = "canary-4711"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def good(tmp_path: Path) -> dict[str, str]:
    """The least that an agent needs."""
    (tmp_path / "Pulumi.yaml").write_text("name: spillway\n")
    (tmp_path / "token").write_text(SECRET)
    clusters = {"idc-gpu": {"url": "https://10.0.0.1:6443", "token_file": str(tmp_path / "token")}}
    (tmp_path / "clusters.json").write_text(json.dumps(clusters))
    return {
        "SPILLWAY_PROJECT_DIR": str(tmp_path),
        "SPILLWAY_PROMETHEUS_URL": "http://prometheus:9090/",
        "SPILLWAY_CLUSTERS": str(tmp_path / "clusters.json"),
        "SPILLWAY_PULUMI": "/usr/bin/pulumi",
    }


def refused(environment: Mapping[str, str]) -> BadSettings:
    with pytest.raises(BadSettings) as caught:
        read_settings(environment)
    error = caught.value
    assert error.exit_code is ExitCode.BAD_CALL
    assert error.hint
    return error


def test_the_least_environment_gives_the_documented_defaults(good: dict[str, str], tmp_path: Path) -> None:
    settings = read_settings(good)
    assert settings.stacks == ("burst-alicloud", "burst-aws")
    assert settings.ledger_url == f"sqlite:///{tmp_path}/out/ledger.db"
    assert settings.pulumi_home == tmp_path / ".spillway" / "pulumi-home"
    assert settings.backend_url == f"file://{tmp_path}/.spillway/state"
    assert settings.prometheus_url == "http://prometheus:9090"
    assert settings.pulumi_limit_seconds == 1800.0
    assert settings.tick_seconds is None
    assert settings.clock_url is None
    assert settings.endpoints == {}
    assert settings.clusters["idc-gpu"].ca_file is None


def test_every_variable_is_taken(good: dict[str, str]) -> None:
    more = {
        "SPILLWAY_LEDGER": "postgresql://ledger/spillway",
        "SPILLWAY_STACKS": " burst-aws , ",
        "SPILLWAY_USE_QUERY": "my_metric",
        "SPILLWAY_PULUMI_LIMIT": "60",
        "SPILLWAY_TICK_SECONDS": "0.5",
        "SPILLWAY_CLOCK_URL": "http://127.0.0.1:1/clock",
        "SPILLWAY_AWS_ENDPOINT": "http://127.0.0.1:1",
        "SPILLWAY_ALICLOUD_ENDPOINT": "127.0.0.1:1",
        "PULUMI_HOME": "/home/pulumi",
        "PULUMI_BACKEND_URL": "s3://bucket",
    }
    settings = read_settings({**good, **more})
    assert settings.ledger_url == "postgresql://ledger/spillway"
    assert settings.stacks == ("burst-aws",)
    assert settings.use_query == "my_metric"
    assert (settings.pulumi_limit_seconds, settings.tick_seconds) == (60.0, 0.5)
    assert settings.clock_url == "http://127.0.0.1:1/clock"
    assert settings.endpoints == {Provider.AWS: "http://127.0.0.1:1", Provider.ALICLOUD: "127.0.0.1:1"}
    assert settings.pulumi_home == Path("/home/pulumi")
    assert settings.backend_url == "s3://bucket"


def test_every_variable_that_is_read_is_explained(good: dict[str, str]) -> None:
    source = (ROOT / "agent" / "settings.py").read_text(encoding="utf-8")
    spoken = {part.split('"')[0] for part in source.split('"SPILLWAY_')[1:]}
    assert {f"SPILLWAY_{name}" for name in spoken} == {name for name in SPILLWAY_HELP if name.startswith("SPILLWAY_")}


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("SPILLWAY_PROJECT_DIR", "/nowhere", "no Pulumi.yaml in /nowhere"),
        ("SPILLWAY_PROMETHEUS_URL", "", "is no address"),
        ("SPILLWAY_PROMETHEUS_URL", "prometheus:9090", "'prometheus:9090' is no address"),
        ("SPILLWAY_CLUSTERS", "", "is not set"),
        ("SPILLWAY_CLUSTERS", "/nowhere.json", "cannot be used"),
        ("SPILLWAY_STACKS", " , ", "names no stack"),
        ("SPILLWAY_STACKS", "burst-aws,burst-aws", "or one twice"),
        ("SPILLWAY_PULUMI_LIMIT", "soon", "'soon' is no number"),
        ("SPILLWAY_PULUMI_LIMIT", "0", "outside"),
        ("SPILLWAY_PULUMI_LIMIT", "nan", "outside"),
        ("SPILLWAY_PULUMI_LIMIT", "inf", "outside"),
        ("SPILLWAY_TICK_SECONDS", "-1", "outside"),
        ("SPILLWAY_TICK_SECONDS", "1e9", "outside"),
    ],
)
def test_a_bad_variable_is_named(good: dict[str, str], name: str, value: str, says: str) -> None:
    error = refused({**good, name: value})
    assert error.target == name
    assert says in error.what


@pytest.mark.parametrize("missing", ["SPILLWAY_PROMETHEUS_URL", "SPILLWAY_CLUSTERS"])
def test_a_missing_variable_is_named(good: dict[str, str], missing: str) -> None:
    assert refused({name: value for name, value in good.items() if name != missing}).target == missing


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '"text"',
        '{"a": 1}',
        '{"a": {}}',
        '{"a": {"url": "https://x"}}',
        '{"a": {"url": "u", "token_file": 7}}',
    ],
)
def test_a_clusters_file_that_cannot_be_understood_is_named(good: dict[str, str], content: str) -> None:
    Path(good["SPILLWAY_CLUSTERS"]).write_text(content)
    error = refused(good)
    assert error.target == "SPILLWAY_CLUSTERS"
    assert good["SPILLWAY_CLUSTERS"] in error.what


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"pulumi": 7}', "\x00"])
def test_a_damaged_tool_list_says_to_set_up_again(good: dict[str, str], tmp_path: Path, content: str) -> None:
    file = tmp_path / "toolchain.json"
    file.write_text(content)
    without = {name: value for name, value in good.items() if name != "SPILLWAY_PULUMI"}
    error = refused({**without, "SPILLWAY_TOOLCHAIN": str(file)})
    assert "make setup" in error.hint


def test_no_pulumi_at_all_says_both_ways_out(good: dict[str, str]) -> None:
    error = refused({name: value for name, value in good.items() if name != "SPILLWAY_PULUMI"})
    assert error.target == "SPILLWAY_PULUMI"
    assert "make setup" in error.hint


def test_the_tools_of_set_up_stand_first_on_the_path(good: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "toolchain.json"
    file.write_text(json.dumps({"pulumi": "/tools/pulumi", "path_prefix": ["/tools", "/venv/bin"]}))
    without = {name: value for name, value in good.items() if name != "SPILLWAY_PULUMI"}
    settings = read_settings({**without, "SPILLWAY_TOOLCHAIN": str(file), "PATH": "/usr/bin"})
    assert settings.pulumi == Path("/tools/pulumi")
    assert settings.environment["PATH"] == "/tools:/venv/bin:/usr/bin"


# ---- secrets ----


def test_secrets_never_show_in_settings(good: dict[str, str]) -> None:
    secrets = {
        "PULUMI_CONFIG_PASSPHRASE": SECRET,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "SPILLWAY_LEDGER": f"postgresql://agent:{SECRET}@db/ledger",
        "SPILLWAY_PROMETHEUS_URL": f"http://agent:{SECRET}@prometheus:9090",
    }
    settings = read_settings({**good, **secrets})
    for shown in (repr(settings), str(settings), f"{settings}", repr([settings])):
        assert SECRET not in shown
    assert settings.environment["PULUMI_CONFIG_PASSPHRASE"] == SECRET


def test_a_refused_address_does_not_show_its_password(good: dict[str, str]) -> None:
    error = refused({**good, "SPILLWAY_PROMETHEUS_URL": f"agent:{SECRET}@prometheus:9090"})
    assert SECRET not in f"{error!r} {error} {error.what} {error.hint}"


def test_a_clusters_token_never_shows() -> None:
    endpoint = ClusterEndpoint(name="idc-gpu", url="https://10.0.0.1", token=lambda: SECRET)
    assert SECRET not in f"{endpoint} {endpoint!r}"
    assert endpoint.token() == SECRET


def test_settings_that_are_shown_are_chosen_by_name() -> None:
    """A new field is hidden until somebody decides otherwise."""
    assert "__repr__" in Settings.__dict__
    assert {"environment", "ledger_url"} <= {item.name for item in fields(Settings)}


# ---- what comes right after: files that the settings name ----


@pytest.mark.engine
def test_a_token_that_cannot_be_read_names_its_cluster_and_file(tmp_path: Path) -> None:
    with pytest.raises(NotAuthorised) as caught:
        read_token("idc-gpu", tmp_path / "token")
    assert caught.value.target == "cluster idc-gpu"
    assert str(tmp_path / "token") in caught.value.hint
