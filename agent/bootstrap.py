"""The only place that builds adapters and hands them over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

from agent.act.node_gate import KubernetesGate
from agent.act.pulumi_stack import PulumiSettings, PulumiStacks, ignore
from agent.carry_out import Actuators
from agent.clouds.alicloud import AlicloudPools
from agent.clouds.aws import AwsPools
from agent.cluster_access import ClusterEndpoint
from agent.core.costing import node_cost
from agent.core.policy import Policy, parse_policy
from agent.core.rules.contradictions import unknown_pools
from agent.errors import BadSettings, NotAuthorised, NothingRecorded
from agent.ledger.claim import claimed
from agent.ledger.store import SqlLedger, sqlite_url
from agent.loop import Agent
from agent.ports import Clock, CloudReader
from agent.sense.clock import HttpClock, SystemClock
from agent.sense.ended_pods import KubernetesEnded
from agent.sense.kubernetes import KubernetesReader
from agent.sense.prometheus import PrometheusEndpoint, PrometheusUse
from agent.sense.rounds import Rounds, Sources
from agent.settings import Settings
from contract.catalog import Catalog, Provider, read_catalog
from contract.yaml_document import read_document

_RECHECK_EMPTY = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wired:
    """An agent ready to tick, and what the shell around it needs to see."""

    agent: Agent
    catalog: Catalog
    policy: Policy
    ledger: SqlLedger
    stacks: PulumiStacks
    clock: Clock
    ledger_file: Path | None
    project_file: Path
    is_rehearsal: bool
    tick_seconds: float | None


def build(settings: Settings, on_progress: Callable[[str], object] = ignore) -> Wired:
    """Read the files, open the ledger, connect everything. Raises InvalidInput and errors of agent.errors.

    `on_progress` gets a line for each step of a `pulumi up`.
    """
    catalog = read_catalog(settings.project_dir / "stacks" / "catalog.yaml")
    policy = read_policy(settings.project_dir / "stacks" / "policy.yaml", catalog)
    clock = clock_at(settings.clock_url)
    ledger = open_ledger(settings.ledger_url)
    stacks = _pulumi(settings, on_progress)
    endpoints = _endpoints(settings)
    clouds = _clouds(settings, catalog)
    sources = Sources(
        clock=clock,
        metrics=PrometheusUse(PrometheusEndpoint(url=settings.prometheus_url, query=settings.use_query)),
        clusters={name: KubernetesReader(endpoint) for name, endpoint in endpoints.items()},
        clouds=clouds,
        stacks=stacks,
        stack_names=settings.stacks,
        ended={name: KubernetesEnded(endpoint) for name, endpoint in endpoints.items()},
    )
    hands = Actuators(
        clock=clock,
        stacks=stacks,
        gates={name: KubernetesGate(endpoint) for name, endpoint in endpoints.items()},
        clouds=clouds,
        ledger=ledger,
    )
    sensor = Rounds(sources, catalog, policy.sampling.use_signal, _RECHECK_EMPTY)
    return Wired(
        agent=Agent(sensor=sensor, hands=hands, policy=policy),
        catalog=catalog,
        policy=policy,
        ledger=ledger,
        stacks=stacks,
        clock=clock,
        ledger_file=_ledger_file(settings.ledger_url),
        is_rehearsal=settings.clock_url is not None,
        project_file=settings.project_dir / ".spillway" / "agent",
        tick_seconds=settings.tick_seconds,
    )


def read_policy(path: Path, catalog: Catalog) -> Policy:
    """The policy file, checked against the catalogue too. Raises InvalidInput."""
    value, findings = read_document(path)
    policy = parse_policy(value, findings)
    ceiling = policy.limits.max_cost_per_hour
    where = ("limits", "max_cost_per_hour")
    if ceiling.currency != catalog.home_currency and ceiling.currency not in catalog.rates:
        findings.add(where, f"the catalogue has no rate for {ceiling.currency}", f"write it in {catalog.home_currency}")
    for found in unknown_pools(policy, catalog):
        findings.add((found.key,), found.says, found.fix)
    findings.raise_if_any()
    cheapest = min((node_cost(catalog, row) for row in catalog.cloud_pools()), default=None)
    if cheapest and catalog.in_home_currency(ceiling) < cheapest:
        findings.add(where, f"is below the cheapest node, {cheapest} an hour: nothing could ever be bought", "raise it")
    findings.raise_if_any()
    return policy


def open_ledger(name: str, *, must_exist: bool = False) -> SqlLedger:
    """A ledger by file or SQLAlchemy URL. With `must_exist` a missing file is NothingRecorded, not made."""
    path = _ledger_file(name)
    if path is None:
        return SqlLedger(name)
    if must_exist and not path.is_file():
        hint = "run 'spillway demo' or 'spillway run' first, or name another file"
        raise NothingRecorded("there is no ledger", target=str(path), hint=hint)
    return SqlLedger(sqlite_url(path))


def clock_at(url: str | None) -> Clock:
    """The clock at an address, or the machine's: whoever gives the agent a time must go by the same."""
    return HttpClock(url) if url else SystemClock()


def only_agent(wired: Wired) -> AbstractContextManager[None]:
    """While it lasts no second agent of this machine works on the same ledger or project.

    Raises AgentRunning on entry.
    """
    return claimed([file for file in (wired.ledger_file, wired.project_file) if file])


def _ledger_file(name: str) -> Path | None:
    """The file of a SQLite ledger; None for a database server."""
    if "://" in name and not name.startswith("sqlite:///"):
        return None
    return Path(name.removeprefix("sqlite:///"))


def _pulumi(settings: Settings, on_progress: Callable[[str], object]) -> PulumiStacks:
    return PulumiStacks(
        PulumiSettings(
            project_dir=settings.project_dir,
            project="spillway",
            stacks_dir=settings.project_dir / "stacks",
            binary=settings.pulumi,
            home=settings.pulumi_home,
            backend_url=settings.backend_url,
            environment=settings.environment,
            limit_seconds=settings.pulumi_limit_seconds,
        ),
        on_progress,
    )


def _endpoints(settings: Settings) -> dict[str, ClusterEndpoint]:
    return {
        name: ClusterEndpoint(
            name=name, url=cluster.url, token=partial(read_token, name, cluster.token_file), ca_file=cluster.ca_file
        )
        for name, cluster in settings.clusters.items()
    }


def read_token(cluster: str, file: Path) -> str:
    """A cluster's token, read at each call because projected ones are renewed in place. Raises NotAuthorised."""
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError as error:
        hint = f"put the cluster's token into {file}"
        raise NotAuthorised(f"its token cannot be read: {error}", target=f"cluster {cluster}", hint=hint) from error


def _clouds(settings: Settings, catalog: Catalog) -> dict[Provider, CloudReader]:
    """One reader a cloud whose pools stand in the catalogue; credentials come from the cloud SDK's own chain."""
    clouds: dict[Provider, CloudReader] = {}
    makers: Mapping[Provider, Callable[[str, str | None], CloudReader]] = {
        Provider.AWS: AwsPools,
        Provider.ALICLOUD: AlicloudPools,
    }
    for provider, maker in makers.items():
        regions = {row.region for row in catalog.cloud_pools(provider)}
        if len(regions) > 1:
            hint = "run one agent a region, or keep one region in the catalogue"
            raise BadSettings(f"has pools in {sorted(regions)}", target=str(provider), hint=hint)
        for region in regions:
            clouds[provider] = maker(region, settings.endpoints.get(provider))
    return clouds
