"""The world: on-prem halls, rented groups, jobs, money, faults, moved by one agenda.

The entry for all who use the twin in one process, such as the baseline "burst at once":

    world = World(catalog, jobs, seed=7)
    group = world.groups.create(GroupSpec(...))     # may raise CloudRefusal
    world.advance_to(3600.0)                        # virtual seconds since the origin
    world.groups.set_desired(group.group_id, 4)
    world.results().cloud_cost

Each part has its own file; here they are only put together. Must not speak any wire format, nor
ask the machine for the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from contract.catalog import Catalog, PoolRow
from sim.world import node_names as named
from sim.world.agenda import Agenda
from sim.world.bays import Bays
from sim.world.bill import Bill, make_bill
from sim.world.dispatch import Dispatcher
from sim.world.draws import Draws
from sim.world.faults import Fault, FaultPlan
from sim.world.fleet import Fleet
from sim.world.gpu_use import UseMeter
from sim.world.ground import Ground, Journal
from sim.world.hardware import owned_machine
from sim.world.nodes import LossCause, Node, NodeEdit, Phase
from sim.world.results import Results, make_results
from sim.world.scaling_groups import ScalingGroups
from sim.world.spot import SpotReclaim
from sim.world.timeline import Timeline
from sim.world.workload import Job

DEFAULT_ORIGIN = datetime(2026, 11, 30, tzinfo=UTC)


class World:
    """One world. `groups` and `dispatcher` are its handles; all times are virtual seconds."""

    def __init__(
        self,
        catalog: Catalog,
        jobs: Sequence[Job] = (),
        *,
        seed: int = 0,
        origin: datetime = DEFAULT_ORIGIN,
    ) -> None:
        draws = Draws(seed)
        agenda = Agenda()
        self.ground = Ground(catalog, origin, agenda, draws, FaultPlan(draws), Journal())
        self.fleet = Fleet(self.ground)
        self._bays = Bays(catalog)
        self._meter = UseMeter(agenda)
        self.dispatcher = Dispatcher(self.ground, self._bays, self._meter)
        self.fleet.arrivals.append(self._meter.added)
        # Jobs must leave a node before its capacity is counted away, groups refill it last.
        self.fleet.followers += [self._bays.follow, self.dispatcher.follow, self._meter.moved]
        self.groups = ScalingGroups(self.ground, self.fleet)
        self._spot = SpotReclaim(self.ground, self.fleet)
        for row in catalog.onprem_pools():
            self._install(row)
        self.dispatcher.expect(jobs)
        self.timeline = Timeline(self.ground, self.fleet, self.dispatcher)

    @property
    def now_s(self) -> float:
        """Virtual seconds since the origin."""
        return self.ground.now_s

    @property
    def is_done(self) -> bool:
        """Whether every job has finished."""
        return self.dispatcher.is_done

    def advance_to(self, at_s: float) -> None:
        """Let everything happen that is due up to `at_s`. Time never runs backwards."""
        self.ground.agenda.run_until(at_s)

    def arm(self, faults: Sequence[Fault]) -> None:
        """Add faults to the plan; they act from now on."""
        self.ground.faults.arm(faults)
        self._spot.plan(faults)

    def edit_node(self, node: Node, edit: NodeEdit) -> None:
        """Put a node's labels, annotations, taints and cordon as a client of its API wants them."""
        node.labels = dict(edit.labels)
        node.annotations = dict(edit.annotations)
        node.taints = list(edit.taints)
        node.is_unschedulable = edit.is_unschedulable
        self.fleet.touch(node)
        self.dispatcher.schedule()

    def delete_node_object(self, node: Node) -> None:
        """The Kubernetes object goes with its pods; the machine stays, and so does its price."""
        self.fleet.drop_object(node)
        self.dispatcher.clear(node, LossCause.NODE_DELETED)

    def bill(self) -> Bill:
        """What the rented machines cost up to now."""
        return make_bill(self.ground.catalog, self.fleet.all_time, self.now_s)

    def results(self) -> Results:
        """The figures of the whole run up to now."""
        return make_results(self.dispatcher, self._meter, self.fleet, self.bill())

    def clusters(self) -> tuple[str, ...]:
        """Names of all clusters, the home cluster first."""
        rows = self.ground.catalog.pools.values()
        return tuple(dict.fromkeys((self.dispatcher.home_cluster, *(row.cluster for row in rows))))

    def _install(self, row: PoolRow) -> None:
        machine = owned_machine(row)
        for number in range(1, int(row.quota) + 1):
            name = f"{row.pool}-{number:02d}"
            zone = row.zones[(number - 1) % len(row.zones)]
            labels = named.cloud_labels(row, machine, zone, name) | named.gpu_labels(machine)
            node = Node(
                name=name,
                instance_id=name,
                provider_id=f"onprem://{row.site}/{name}",
                address=named.private_address(self.ground.draws, row.provider, 0, name),
                row=row,
                machine=machine,
                zone=zone,
                group_id=None,
                is_spot=False,
                ordered_s=0.0,
                labels=labels | row.node_labels(),
                has_object=True,
                phase=Phase.GPU_READY,
            )
            self.fleet.add(node)
            self._bays.add(node)
