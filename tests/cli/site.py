"""A project that the command line can work on without an engine: the twin in a thread, a stub for the CLI of Pulumi.

The stub is a shell script that answers the one question of a tick that changes nothing, or fails as told.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from contract.catalog import Catalog, PoolRow, Provider, read_catalog
from contract.pool_resources import EKS_POOL
from sim.world.clock import Clock
from sim.world.group_spec import GroupSpec
from sim.world.nodes import Taint
from sim.world.twin import Twin
from sim.world.world import World
from spillway.main import _run
from tests.sim.wire_server import WireServer

ROOT = Path(__file__).resolve().parents[2]
_STUB = """\
#!/bin/sh
if [ -f "{folder}/fails" ] && [ "$1" != version ]; then
    cat "{folder}/fails" >&2
    exit "$(cat "{folder}/code")"
fi
case "$*" in
    version) echo v3.274.1 ;;
    *"stack export"*) cat "{folder}/state.json" ;;
    *) echo "the stub does not know: $*" >&2; exit 1 ;;
esac
"""


@dataclass(frozen=True)
class Answer:
    """How one command ended."""

    code: int
    out: str
    err: str

    def document(self) -> dict[str, object]:
        """Standard output as the one JSON document that it must be."""
        found: dict[str, object] = json.loads(self.out)
        return found


@dataclass(frozen=True)
class Site:
    """A project folder, its world, and the hands to spoil both."""

    folder: Path
    world: World
    capture: pytest.CaptureFixture[str]

    def run(self, *arguments: str) -> Answer:
        """Run one command in this process."""
        self.capture.readouterr()
        code = _run(list(arguments))
        found = self.capture.readouterr()
        return Answer(int(code), found.out, found.err)

    def pulumi_fails(self, text: str, code: int) -> None:
        """From now on every call of the engine's CLI fails like this."""
        (self.folder / "fails").write_text(text)
        (self.folder / "code").write_text(str(code))

    @property
    def stack_file(self) -> Path:
        """The file of the only burst stack."""
        return self.folder / "stacks" / "Pulumi.burst-aws.yaml"


def make_site(
    folder: Path, server: WireServer, monkeypatch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]
) -> Site:
    """The example company, its AWS side only, with nothing rented."""
    shutil.copytree(ROOT / "stacks", folder / "stacks")
    (folder / "Pulumi.yaml").write_text("name: spillway\nruntime: python\n")
    catalog = read_catalog(folder / "stacks" / "catalog.yaml")
    world = World(catalog, seed=1)
    world.advance_to(600.0)
    _write_state(folder / "state.json", catalog, world)
    stub = folder / "bin" / "pulumi"
    stub.parent.mkdir()
    stub.write_text(_STUB.format(folder=folder))
    stub.chmod(0o755)
    server.show(world)
    for name, value in _environment(folder, server, world).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(folder)
    return Site(folder, world, capture)


def _write_state(path: Path, catalog: Catalog, world: World) -> None:
    resources = []
    for row in catalog.cloud_pools(Provider.AWS):
        group = world.groups.create(_spec(row))
        outputs = {
            "nodeGroupName": row.pool,
            "scalingConfig": {"desiredSize": 0},
            "resources": [{"autoscalingGroups": [{"name": group.scaling_group_id}]}],
        }
        urn = f"urn:pulumi:burst-aws::spillway::{EKS_POOL.type}::{row.pool}"
        resources.append({"urn": urn, "type": EKS_POOL.type, "outputs": outputs})
    path.write_text(json.dumps({"deployment": {"resources": resources}}))


def _spec(row: PoolRow) -> GroupSpec:
    return GroupSpec(
        provider=row.provider,
        cluster=row.cluster,
        name=row.pool,
        region=row.region,
        zones=row.zones,
        instance_types=row.instance_types,
        is_spot=row.is_preemptible,
        minimum=0,
        maximum=int(row.quota),
        desired=0,
        labels=row.node_labels(),
        taints=tuple(Taint(*taint) for taint in row.node_taints()),
    )


def _environment(folder: Path, server: WireServer, world: World) -> dict[str, str]:
    tokens = Twin(Clock(world.ground.origin, speed=0), world).tokens
    clusters = {}
    for cluster in ("idc-gpu", "cloud-gpu-b"):
        (folder / f"token-{cluster}").write_text(tokens[cluster])
        clusters[cluster] = {"url": f"{server.url}/k8s/{cluster}", "token_file": str(folder / f"token-{cluster}")}
    (folder / "clusters.json").write_text(json.dumps(clusters))
    return {
        "SPILLWAY_PROJECT_DIR": str(folder),
        "SPILLWAY_PULUMI": str(folder / "bin" / "pulumi"),
        "SPILLWAY_STACKS": "burst-aws",
        "SPILLWAY_LEDGER": f"sqlite:///{folder}/ledger.db",
        "SPILLWAY_PROMETHEUS_URL": f"{server.url}/prometheus",
        "SPILLWAY_CLUSTERS": str(folder / "clusters.json"),
        "SPILLWAY_CLOCK_URL": f"{server.url}/twin/clock",
        "SPILLWAY_AWS_ENDPOINT": server.url,
        "PULUMI_CONFIG_PASSPHRASE": "canary-4711",
        "PULUMI_BACKEND_URL": f"file://{folder}",
        "PULUMI_HOME": str(folder / "home"),
        "AWS_ACCESS_KEY_ID": "twin",
        "AWS_SECRET_ACCESS_KEY": "twin",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
