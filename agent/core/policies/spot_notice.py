"""R7.5: a spot node got its notice. Its replacement is ordered now, once; and its place goes with it.

Both clouds keep a pool at its desired size and would replace the node themselves once it is gone, one
machine too many. So the size goes back by one as soon as the node is empty or gone, unless the cloud
was faster. A node without work needs no replacement.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from agent.core.decision import Action, Evidence, PoolChange, Proposal, Reason, ReasonCode
from agent.core.market import offers
from agent.core.memory import Memory
from agent.core.policies.floors import doomed
from agent.core.policies.grow_by import blindness, closed_pools, more
from agent.core.policy import Policy
from agent.core.rules.placement import PlacementRules
from agent.core.snapshot import NodeView, PoolState, Snapshot, Unknown
from contract.catalog import PoolRow
from contract.units import Nodes

NAME = "spot_notice"
_NO_NOTICE = Proposal(
    policy=NAME,
    action=Action.HOLD,
    reason=Reason(code=ReasonCode.OFF, text="no cloud gave notice for a node"),
)


def propose(snapshot: Snapshot, policy: Policy, memory: Memory) -> Proposal:
    """Order replacements of busy nodes under notice, else take back the places of those replaced, else hold."""
    noticed = _noticed(snapshot)
    if not noticed and not memory.replaced:
        return _NO_NOTICE
    evidence = (Evidence(name="nodes under notice", seen=str(len(noticed)), wanted="one or more", met=bool(noticed)),)
    new = [node for node in noticed if node.gpus_used and node.instance_id not in memory.replaced]
    blind = blindness(snapshot) if new else None
    changes = () if blind else _replacements(new, snapshot, policy, memory)
    if changes:
        names = ", ".join(instance for change in changes for instance in change.replaces)
        reason = Reason(code=ReasonCode.RECLAIMED, text=f"their cloud takes back {names}: replaced now")
        return Proposal(policy=NAME, action=Action.GROW, reason=reason, evidence=evidence, changes=changes)
    if places := _places(snapshot, memory):
        names = ", ".join(instance for change in places for instance in change.replaces)
        reason = Reason(code=ReasonCode.RECLAIMED, text=f"{names} was replaced: its own place is not filled again")
        return Proposal(policy=NAME, action=Action.SHRINK, reason=reason, evidence=evidence, changes=places)
    return Proposal(policy=NAME, action=Action.HOLD, reason=blind or _why_hold(new, noticed), evidence=evidence)


def _why_hold(new: Sequence[NodeView], noticed: Sequence[NodeView]) -> Reason:
    if new:
        names = ", ".join(node.name for node in new)
        return Reason(code=ReasonCode.NOTHING_FITS, text=f"no open pool has room for the replacement of {names}")
    text = f"the {len(noticed)} nodes under notice are replaced, or have no work"
    return Reason(code=ReasonCode.NOTHING_TO_DO, text=text)


def _noticed(snapshot: Snapshot) -> list[NodeView]:
    """First to go first."""
    nodes = [
        (node.reclaim_at, node.instance_id, node)
        for state in snapshot.pools
        for node in state.nodes()
        if node.reclaim_at is not None and doomed(node)
    ]
    return [node for _, _, node in sorted(nodes, key=lambda item: item[:2])]


def _replacements(
    nodes: Iterable[NodeView], snapshot: Snapshot, policy: Policy, memory: Memory
) -> tuple[PoolChange, ...]:
    """One new node each, in the same pool if it is open and has room, else in the cheapest that is no smaller."""
    rules = policy.placement
    market = offers(snapshot, closed_pools(snapshot, memory), rules, memory.failures)
    chosen: dict[str, PoolChange] = {}
    for node in nodes:
        row = snapshot.catalog.pools[node.pool]
        for offer in sorted(market, key=lambda offer: offer.row.pool != node.pool):
            before = chosen.get(offer.row.pool) or more(offer.state, 0)
            if not offer.closed and _can_stand_in(offer.row, row, rules) and before.delta < offer.room:
                after = Nodes(before.after + 1)
                chosen[offer.row.pool] = replace(before, after=after, replaces=(*before.replaces, node.instance_id))
                break
    return tuple(chosen.values())


def _can_stand_in(row: PoolRow, lost: PoolRow, rules: PlacementRules) -> bool:
    """Whatever ran on the lost node could run there: as many GPUs and as large, the same kinds, data no farther off."""
    is_as_large = row.gpus_per_node >= lost.gpus_per_node and row.gpu_memory >= lost.gpu_memory
    is_as_near = lost.site not in rules.link_only_sites or row.site in rules.link_only_sites
    return is_as_large and is_as_near and set(lost.hosts) <= set(row.hosts)


def _places(snapshot: Snapshot, memory: Memory) -> tuple[PoolChange, ...]:
    """Of each pool the places of replaced nodes: by name while they stand empty, as a missing order once they went."""
    now = snapshot.taken_at
    states = [
        state
        for state in snapshot.pools
        if state.pool in memory.replaced.values()
        and not isinstance(state.observed, Unknown)
        and state.is_settled
        and memory.refused_until.get(state.pool, now) <= now
    ]
    return tuple(change for state in states if (change := _place(state, memory)))


def _place(state: PoolState, memory: Memory) -> PoolChange | None:
    ours = [instance for instance, pool in memory.replaced.items() if pool == state.pool]
    standing = {node.instance_id: node for node in state.nodes() if doomed(node)}
    empty = tuple(instance for instance in ours if instance in standing and standing[instance].is_empty)
    if empty:
        return replace(more(state, -len(empty)), victims=empty, replaces=empty)
    gone = [instance for instance in ours if instance not in standing]
    short = min(len(gone), state.configured - state.standing)
    return replace(more(state, -short), replaces=tuple(gone[:short])) if short > 0 else None
