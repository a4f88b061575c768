"""The only reader of environment variables; frozen. `SPILLWAY_HELP` below is the reference of all of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.errors import BadSettings
from contract.catalog import Provider

SPILLWAY_HELP: Mapping[str, str] = {
    "SPILLWAY_PROJECT_DIR": "folder of Pulumi.yaml (default: the current folder)",
    "SPILLWAY_LEDGER": "SQLAlchemy URL of the ledger (default: sqlite in out/ledger.db of the project)",
    "SPILLWAY_STACKS": "burst stacks that the agent may change, by commas (default: burst-alicloud,burst-aws)",
    "SPILLWAY_PROMETHEUS_URL": "Prometheus, such as http://prometheus.monitoring:9090",
    "SPILLWAY_USE_QUERY": "instant query with one series a local GPU, 0 to 100",
    "SPILLWAY_CLUSTERS": "file with the clusters' addresses: {name: {url, token_file, ca_file}} as JSON",
    "SPILLWAY_TOOLCHAIN": "what 'make setup' found (default: .spillway/toolchain.json of the project)",
    "SPILLWAY_PULUMI": "the pulumi binary (default: what 'make setup' found)",
    "SPILLWAY_PULUMI_LIMIT": "seconds that one Pulumi command may take (default 1800)",
    "SPILLWAY_TICK_SECONDS": "real seconds between two ticks (default: sampling.every of the policy)",
    "SPILLWAY_CLOCK_URL": "a clock over HTTP, for rehearsals faster than time (default: the machine's)",
    "SPILLWAY_AWS_ENDPOINT": "address of the AWS APIs (default: the real ones)",
    "SPILLWAY_ALICLOUD_ENDPOINT": "host:port of the Alibaba APIs over HTTP (default: the real ones)",
    "PULUMI_HOME": "Pulumi's home (default: .spillway/pulumi-home of the project)",
    "PULUMI_BACKEND_URL": "where state is kept (default: file in .spillway/state of the project)",
    "PULUMI_CONFIG_PASSPHRASE": "passphrase of the stacks; better: PULUMI_CONFIG_PASSPHRASE_FILE",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """How to reach one cluster's API. The token is read from its file at each start."""

    url: str
    token_file: Path
    ca_file: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """What `make setup` found, from .spillway/toolchain.json."""

    pulumi: Path
    path_prefix: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of one agent. `environment` is what Pulumi's processes get, and is never printed."""

    project_dir: Path
    ledger_url: str
    stacks: tuple[str, ...]
    prometheus_url: str
    use_query: str
    clusters: Mapping[str, ClusterSettings]
    pulumi: Path
    pulumi_home: Path
    backend_url: str
    pulumi_limit_seconds: float
    tick_seconds: float | None
    clock_url: str | None
    endpoints: Mapping[Provider, str]
    environment: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Settings(project_dir={self.project_dir}, stacks={self.stacks})"


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Read and check all settings. Raises BadSettings with the variable and the fix."""
    project = Path(environment.get("SPILLWAY_PROJECT_DIR", ".")).resolve()
    if not (project / "Pulumi.yaml").is_file():
        raise _bad("SPILLWAY_PROJECT_DIR", f"no Pulumi.yaml in {project}", "run inside the project, or set it")
    toolchain = _toolchain(project, environment)
    path = ":".join((*toolchain.path_prefix, environment.get("PATH", "/usr/bin:/bin")))
    endpoints = {
        provider: environment[name]
        for provider, name in (
            (Provider.AWS, "SPILLWAY_AWS_ENDPOINT"),
            (Provider.ALICLOUD, "SPILLWAY_ALICLOUD_ENDPOINT"),
        )
        if environment.get(name)
    }
    return Settings(
        project_dir=project,
        ledger_url=environment.get("SPILLWAY_LEDGER") or f"sqlite:///{project / 'out' / 'ledger.db'}",
        stacks=_stacks(environment.get("SPILLWAY_STACKS", "burst-alicloud,burst-aws")),
        prometheus_url=_url("SPILLWAY_PROMETHEUS_URL", environment),
        use_query=environment.get("SPILLWAY_USE_QUERY") or 'DCGM_FI_DEV_GPU_UTIL{cluster="idc-gpu"}',
        clusters=_clusters(environment),
        pulumi=toolchain.pulumi,
        pulumi_home=Path(environment.get("PULUMI_HOME") or project / ".spillway" / "pulumi-home"),
        backend_url=environment.get("PULUMI_BACKEND_URL") or f"file://{project / '.spillway' / 'state'}",
        pulumi_limit_seconds=_seconds("SPILLWAY_PULUMI_LIMIT", environment, 1800.0),
        tick_seconds=_seconds("SPILLWAY_TICK_SECONDS", environment, 0.0) or None,
        clock_url=environment.get("SPILLWAY_CLOCK_URL") or None,
        endpoints=endpoints,
        environment={**environment, "PATH": path},
    )


def _toolchain(project: Path, environment: Mapping[str, str]) -> Toolchain:
    if environment.get("SPILLWAY_PULUMI"):
        return Toolchain(pulumi=Path(environment["SPILLWAY_PULUMI"]), path_prefix=())
    file = Path(environment.get("SPILLWAY_TOOLCHAIN") or project / ".spillway" / "toolchain.json")
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return Toolchain(pulumi=Path(found["pulumi"]), path_prefix=tuple(found.get("path_prefix", ())))
    except FileNotFoundError as error:
        raise _bad("SPILLWAY_PULUMI", "no Pulumi CLI is known", "run 'make setup', or set it to the binary") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _bad(str(file), f"cannot be used: {error}", "run 'make setup' again") from error


def _clusters(environment: Mapping[str, str]) -> dict[str, ClusterSettings]:
    name = "SPILLWAY_CLUSTERS"
    if not environment.get(name):
        raise _bad(name, "is not set", SPILLWAY_HELP[name])
    file = Path(environment[name])
    try:
        content: dict[str, dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
        return {
            cluster: ClusterSettings(
                url=str(entry["url"]), token_file=Path(entry["token_file"]), ca_file=entry.get("ca_file")
            )
            for cluster, entry in content.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _bad(name, f"{file} cannot be used: {error!r}", SPILLWAY_HELP[name]) from error


def _stacks(text: str) -> tuple[str, ...]:
    stacks = tuple(part.strip() for part in text.split(",") if part.strip())
    if not stacks or len(set(stacks)) != len(stacks):
        raise _bad("SPILLWAY_STACKS", f"{text!r} names no stack, or one twice", "write burst-alicloud,burst-aws")
    return stacks


def _url(name: str, environment: Mapping[str, str]) -> str:
    value = environment.get(name, "").rstrip("/")
    if not value.startswith(("http://", "https://")):
        # Without what stands before an @: that may be a password.
        raise _bad(name, f"{value.rpartition('@')[2]!r} is no address", SPILLWAY_HELP[name])
    return value


def _seconds(name: str, environment: Mapping[str, str], default: float) -> float:
    text = environment.get(name)
    if not text:
        return default
    try:
        value = float(text)
    except ValueError as error:
        raise _bad(name, f"{text!r} is no number", SPILLWAY_HELP[name]) from error
    if not 0 < value < 86_400:
        raise _bad(name, f"{text!r} is outside 0 to a day", SPILLWAY_HELP[name])
    return value


def _bad(name: str, what: str, hint: str) -> BadSettings:
    return BadSettings(what, target=name, hint=hint)
