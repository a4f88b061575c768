"""Changes that a kill or a slow cloud left open: finish them, take them back, or see that they are done.

Safe to run at every tick and from the start again at any point: sizes are absolute, so that nothing
can be bought twice (R10.1).
"""

from __future__ import annotations

from agent.carry_out import Actuators, check_preview
from agent.core.config_change import ConfigChange, desired_sizes
from agent.core.decision import PoolChange
from agent.core.snapshot import NodePhase, PoolState, Snapshot, Unknown
from agent.errors import SpillwayError
from agent.ports import ChangeState, StoredChange
from contract.yaml_document import parse_document


def resume_killed(hands: Actuators) -> tuple[str, ...]:
    """Deal with every change that was begun and never ended; says what was done.

    Raises StackLocked, PendingOperations, and what preview and apply raise: then it stays open.
    """
    return tuple(
        _resume(change, hands) for change in hands.ledger.open_changes() if change.state is ChangeState.STARTED
    )


def verify_shrinks(snapshot: Snapshot, hands: Actuators) -> tuple[str, ...]:
    """For applied shrinks whose nodes are gone: record who went, end the protection of the others."""
    said = []
    for change in hands.ledger.open_changes():
        if change.state is not ChangeState.APPLIED or not _are_gone(change, snapshot):
            continue
        try:
            _unprotect(change, snapshot, hands)
        except SpillwayError as error:
            said.append(f"change {change.id} of {change.stack} stays open: {error}")
            continue
        detail = f"gone: {', '.join(victim for victims in change.victims.values() for victim in victims)}"
        hands.ledger.end(change.id, ChangeState.VERIFIED, detail, hands.clock.now())
        said.append(f"change {change.id} of {change.stack}: {detail}")
    return tuple(said)


def _resume(stored: StoredChange, hands: Actuators) -> str:
    done = hands.stacks.recover(stored.stack)
    text = hands.stacks.read_file(stored.stack)
    value, findings = parse_document(text, f"Pulumi.{stored.stack}.yaml")
    sizes = desired_sizes(value, findings)
    now = {pool: sizes.get(pool) for pool in stored.after}
    if now == dict(stored.after):
        state, detail = ChangeState.APPLIED, _finish(stored, text, hands)
    elif now == dict(stored.before):
        state, detail = ChangeState.WITHDRAWN, "killed before its file was replaced; nothing was bought or returned"
    else:
        state, detail = ChangeState.WITHDRAWN, "its file was edited since by somebody else; left as it is"
    hands.ledger.end(stored.id, state, "; ".join((*done, detail)), hands.clock.now())
    return f"change {stored.id} of {stored.stack}: {'; '.join((*done, detail))}"


def _finish(stored: StoredChange, text: str, hands: Actuators) -> str:
    applied = {pool: binding.applied for pool, binding in hands.stacks.bindings(stored.stack).items()}
    waiting = tuple(
        PoolChange(pool=pool, stack=stored.stack, before=stored.before[pool], after=after)
        for pool, after in stored.after.items()
        if applied.get(pool) != after
    )
    if not waiting:
        return "was applied before the kill"
    check_preview(ConfigChange(stack=stored.stack, changes=waiting), text, hands.stacks)
    hands.stacks.apply(stored.stack, f"finish change {stored.id} after a kill")
    return "applied after a kill"


def _are_gone(change: StoredChange, snapshot: Snapshot) -> bool:
    """Seen to be gone; an unknown pool is not gone."""
    for pool, victims in change.victims.items():
        state = snapshot.pool(pool)
        if isinstance(state.observed, Unknown) or any(node.instance_id in victims for node in state.nodes()):
            return False
    return True


def _unprotect(change: StoredChange, snapshot: Snapshot, hands: Actuators) -> None:
    bindings = hands.stacks.bindings(change.stack)
    for pool in change.victims:
        staying = _present(snapshot.pool(pool))
        if staying and pool in bindings:
            provider = snapshot.catalog.pools[pool].provider
            hands.clouds[provider].set_protection(bindings[pool], staying, protected=False)


def _present(state: PoolState) -> list[str]:
    return [node.instance_id for node in state.nodes() if node.phase is not NodePhase.GONE]
