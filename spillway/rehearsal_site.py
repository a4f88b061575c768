"""A copy of the example company that lives on a twin: stacks, state, plugins, and the agent's environment.

Nothing of it touches the checkout's own stacks, nor a person's Pulumi home.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agent.errors import BadSettings
from sim.client import TwinAddress
from sim.providers.install import install_plugins

ROOT = Path(__file__).resolve().parents[1]
PASSPHRASE = "twin"  # noqa: S105 - guards nothing but the twin's make-believe secrets
BURST_STACKS = ("burst-alicloud", "burst-aws")
_PROJECT = """\
name: spillway
main: {main}
stackConfigDir: stacks
runtime:
  name: python
  options:
    toolchain: pip
    virtualenv: {venv}
"""


@dataclass(frozen=True, slots=True)
class Site:
    """The folder of one rehearsal."""

    home: Path

    @property
    def project(self) -> Path:
        """The Pulumi project."""
        return self.home / "project"

    @property
    def ledger(self) -> Path:
        """The agent's ledger."""
        return self.home / "ledger.db"

    @property
    def stacks(self) -> Path:
        """The copied stack files, catalogue and policy."""
        return self.project / "stacks"


def make_site(home: Path) -> Site:
    """A fresh site; what stood in the folder before is removed."""
    if home.exists():
        shutil.rmtree(home)
    site = Site(home.resolve())
    shutil.copytree(ROOT / "stacks", site.stacks)
    project = _PROJECT.format(main=ROOT / "infra", venv=sys.prefix)
    (site.project / "Pulumi.yaml").write_text(project, encoding="utf-8")
    (site.home / "state").mkdir()
    install_plugins(site.home / "pulumi-home")
    return site


def site_environment(site: Site, address: TwinAddress) -> dict[str, str]:
    """What an agent, or a person's CLI, must have set to work on this site."""
    clusters = {}
    for cluster, token in address.tokens.items():
        file = site.home / f"token-{cluster}"
        file.touch(mode=0o600)
        file.write_text(token, encoding="utf-8")
        clusters[cluster] = {"url": address.kubernetes(cluster), "token_file": str(file)}
    clusters_file = site.home / "clusters.json"
    clusters_file.write_text(json.dumps(clusters, indent=2), encoding="utf-8")
    host = address.url.removeprefix("http://")
    return {
        "SPILLWAY_PROJECT_DIR": str(site.project),
        "SPILLWAY_TOOLCHAIN": str(ROOT / ".spillway" / "toolchain.json"),
        "SPILLWAY_LEDGER": f"sqlite:///{site.ledger}",
        "SPILLWAY_PROMETHEUS_URL": address.prometheus,
        "SPILLWAY_CLUSTERS": str(clusters_file),
        "SPILLWAY_CLOCK_URL": f"{address.url}/twin/clock",
        "SPILLWAY_AWS_ENDPOINT": address.url,
        "SPILLWAY_ALICLOUD_ENDPOINT": host,
        "SPILLWAY_TWIN_URL": address.url,
        "SPILLWAY_TWIN_TOKEN": address.token,
        "PULUMI_HOME": str(site.home / "pulumi-home"),
        "PULUMI_BACKEND_URL": f"file://{site.home / 'state'}",
        "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "AWS_ACCESS_KEY_ID": "twin",
        "AWS_SECRET_ACCESS_KEY": "twin",
        "AWS_EC2_METADATA_DISABLED": "true",
        # Alibaba's SDK would send even calls to this machine through a proxy.
        "HTTP_PROXY": "",
        "http_proxy": "",
        "ALIBABA_CLOUD_ACCESS_KEY_ID": "twin",
        "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "twin",
    }


def enter(own: Mapping[str, str]) -> dict[str, str]:
    """Put the site's variables into this process, and give its whole environment.

    The clouds' SDKs look for credentials in the process's environment by themselves, so that a copy
    would not do.
    """
    os.environ.update(own)
    return dict(os.environ)


def check_toolchain() -> None:
    """Raises BadSettings when set-up has not been run."""
    if not (ROOT / ".spillway" / "toolchain.json").is_file():
        raise BadSettings("the Pulumi CLI is not set up", target="toolchain", hint="run 'make setup'")
