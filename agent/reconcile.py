"""Bringing every open change to an end, whatever left it open: a kill, a time limit, a cloud that was away.

Safe to run at every tick and to be killed at any point. It buys nothing: a change that the state does
not hold is taken back, and the next decision starts from what is true now (R10.1). Until a change is
ended, its pools are held: no policy touches them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.carry_out import Actuators
from agent.core.config_change import ConfigChange, desired_sizes, edit_desired
from agent.core.decision import PoolChange
from agent.core.snapshot import NodeView, PoolState, Snapshot, Unknown
from agent.errors import SpillwayError
from agent.ports import ChangeState, StoredChange
from contract.problems import InvalidInput
from contract.units import Nodes
from contract.yaml_document import parse_document


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """What was ended or cannot be yet (`said`); pools whose change is still open, with the reason (`held`)."""

    said: tuple[str, ...]
    held: dict[str, str]
    is_touched: bool


def reconcile(snapshot: Snapshot, hands: Actuators) -> Reconciled:
    """Take every open change as far as it goes. Never raises but LedgerBroken: one stack must not stop another."""
    said: list[str] = []
    held: dict[str, str] = {}
    is_touched = False
    still_open = hands.ledger.open_changes()
    for change in still_open:
        others = [other for other in still_open if other.id != change.id]
        try:
            state, detail = _take_on(change, others, snapshot, hands)
        except (SpillwayError, InvalidInput) as error:
            state, detail = None, str(error)
        if state is None:
            held |= dict.fromkeys(change.after, f"change {change.id} is still open: {detail}")
            # Nodes on their way out are the usual case, and not worth a word at each tick.
            if change.state is not ChangeState.APPLIED:
                said.append(f"change {change.id} of {change.stack} is still open: {detail}")
        else:
            hands.ledger.end(change.id, state, detail, hands.clock.now())
            is_touched = True
            said.append(f"change {change.id} of {change.stack} {state}: {detail}")
    return Reconciled(said=tuple(said), held=held, is_touched=is_touched)


def hold_pools(snapshot: Snapshot, held: dict[str, str]) -> Snapshot:
    """The snapshot with the pools of open changes marked, so that no policy touches them."""
    pools = tuple(replace(pool, held=held.get(pool.pool, "")) for pool in snapshot.pools)
    return replace(snapshot, pools=pools)


def _take_on(
    change: StoredChange, others: Sequence[StoredChange], snapshot: Snapshot, hands: Actuators
) -> tuple[ChangeState | None, str]:
    """The final state of a change and how it came to that; None with the reason while it is open."""
    if change.state is ChangeState.APPLIED:
        return _verify(change, others, snapshot, hands)
    done = hands.stacks.recover(change.stack)
    applied = {pool: binding.applied for pool, binding in hands.stacks.bindings(change.stack).items()}
    file = _settle_file(change, applied, hands)
    if all(applied.get(pool) == size for pool, size in change.after.items()):
        if change.victims:
            # As after any applied shrink: the nodes are still to be seen gone.
            hands.ledger.end(change.id, ChangeState.APPLIED, "found applied", hands.clock.now())
            return None, "its nodes are leaving"
        return ChangeState.APPLIED, "; ".join((*done, "found applied"))
    if not _release(change, others, snapshot, hands):
        return None, "its nodes cannot be read, so that they cannot be let work again"
    return ChangeState.WITHDRAWN, "; ".join((*done, file, "to be decided anew"))


def _verify(
    change: StoredChange, others: Sequence[StoredChange], snapshot: Snapshot, hands: Actuators
) -> tuple[ChangeState | None, str]:
    """A shrink is over when its nodes are seen to be gone and no more machines stand than are configured."""
    for pool, victims in change.victims.items():
        state = snapshot.find(pool)
        if state is None:
            continue
        if isinstance(state.observed, Unknown):
            return None, f"{pool} cannot be read: {state.observed.why}"
        if any(node.instance_id in victims for node in state.nodes()):
            return None, f"nodes of {pool} are still leaving"
        if state.standing > state.configured:
            return None, f"{state.standing} machines of {pool} stand, {state.configured} are configured"
    _unprotect(change, others, snapshot, hands)
    gone = [victim for victims in change.victims.values() for victim in victims]
    return ChangeState.VERIFIED, f"gone: {', '.join(gone) or 'an order that was never filled'}"


def _settle_file(change: StoredChange, applied: dict[str, Nodes], hands: Actuators) -> str:
    """Let the file say what the state holds, so that no later `up` buys by surprise; a person's edit stays."""
    file = f"Pulumi.{change.stack}.yaml"
    text = hands.stacks.read_file(change.stack)
    sizes = desired_sizes(*parse_document(text, file))
    ours = {pool: size for pool, size in change.after.items() if sizes.get(pool) == size}
    back = tuple(
        PoolChange(pool=pool, stack=change.stack, before=size, after=applied[pool])
        for pool, size in ours.items()
        if pool in applied and applied[pool] != size
    )
    if not back:
        return "its file is as the state or as somebody left it"
    edited = edit_desired(text, file, ConfigChange(stack=change.stack, changes=back))
    hands.stacks.replace_file(change.stack, text, edited)
    return "its file was set back to what the state holds"


def _release(change: StoredChange, others: Sequence[StoredChange], snapshot: Snapshot, hands: Actuators) -> bool:
    """Let work onto the nodes that stay after all. False while they cannot be read."""
    for pool, victims in change.victims.items():
        state = snapshot.find(pool)
        if state is None or isinstance(state.observed, Unknown):
            return False
        gate = hands.gates[snapshot.row(state).cluster]
        for node in _named(state, victims):
            gate.uncordon(node.name)
    _unprotect(change, others, snapshot, hands)
    return True


def _unprotect(change: StoredChange, others: Sequence[StoredChange], snapshot: Snapshot, hands: Actuators) -> None:
    """End the protection of what stays, unless another open change of the pool relies on it."""
    bindings = hands.stacks.bindings(change.stack)
    for pool in change.victims:
        state = snapshot.find(pool)
        if state is None or pool not in bindings or any(pool in other.victims for other in others):
            continue
        staying = [node.instance_id for node in state.nodes()]
        if staying:
            hands.clouds[snapshot.row(state).provider].set_protection(bindings[pool], staying, protected=False)


def _named(state: PoolState, victims: Sequence[str]) -> list[NodeView]:
    return [node for node in state.nodes() if node.instance_id in victims and node.has_joined]
