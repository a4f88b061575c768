"""From a decision to the edit of stack files: only the digits of `spillway:desired` change.

The edit works on the text, so that comments, order, quoting and every other key stay byte for byte
(I01, I03); it is checked by reading the result back. Writing it to disk is the shell's business.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from agent.core.decision import Decision, PoolChange
from contract.fields import Findings
from contract.problems import InvalidInput, Problem
from contract.stack_config import DESIRED
from contract.units import Nodes
from contract.yaml_document import parse_document

_SIZE = re.compile(r"\s*:\s*(?:!!int\s+)?(\d+)(?=[\s,}#]|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigChange:
    """What one stack's file shall say, and what it must say now for the change to be valid."""

    stack: str
    changes: tuple[PoolChange, ...]

    def sizes_before(self) -> dict[str, Nodes]:
        """Pool sizes that the decision was made on."""
        return {change.pool: change.before for change in self.changes}

    def sizes_after(self) -> dict[str, Nodes]:
        """Pool sizes that the decision asks for."""
        return {change.pool: change.after for change in self.changes}


def config_changes(decision: Decision) -> tuple[ConfigChange, ...]:
    """The decision, stack by stack, in the order in which its pools were chosen."""
    by_stack: dict[str, list[PoolChange]] = {}
    for change in decision.changes:
        by_stack.setdefault(change.stack, []).append(change)
    return tuple(ConfigChange(stack=stack, changes=tuple(changes)) for stack, changes in by_stack.items())


def edit_desired(text: str, file: str, change: ConfigChange) -> str:
    """The stack file's text with the new sizes. Raises InvalidInput when it is not what it was.

    `file` is the name for errors.
    """
    value, findings = parse_document(text, file)
    now = desired_sizes(value, findings)
    lines = text.splitlines(keepends=True)
    for pool, before in change.sizes_before().items():
        if now.get(pool) != before:
            what = f"is {now.get(pool, 'absent')}, the decision was made on {before}"
            findings.add(("config", DESIRED, pool), what, "decide again on the new size")
    findings.raise_if_any()
    # From the end to the start: an edit moves what stands behind it on the same line.
    places = sorted(
        ((findings.positions["config", DESIRED, pool], pool) for pool in change.sizes_after()), reverse=True
    )
    for (row, column), pool in places:
        lines[row - 1] = _replace_size(lines[row - 1], column - 1, pool, int(change.sizes_after()[pool]), file)
    edited = "".join(lines)
    _check_only_desired_differs(value, edited, file, {**now, **change.sizes_after()})
    return edited


def desired_sizes(value: object, findings: Findings) -> Mapping[str, Nodes]:
    """`spillway:desired` of a stack document; raises InvalidInput when it has none."""
    config = value.get("config") if isinstance(value, dict) else None
    desired = config.get(DESIRED) if isinstance(config, dict) else None
    if not isinstance(desired, dict):
        findings.add(
            ("config", DESIRED),
            "is missing: this is no burst stack",
            f"add '{DESIRED}:' with a size for each pool",
        )
        desired = {}
    for pool, size in desired.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            findings.add(
                ("config", DESIRED, pool),
                f"{size!r} is not a number of nodes",
                "write a plain number",
            )
    findings.raise_if_any()
    return MappingProxyType({str(pool): Nodes(size) for pool, size in desired.items()})


def _replace_size(line: str, column: int, pool: str, size: int, file: str) -> str:
    start = line.find(pool, column)
    key_end = start + len(pool)
    if line[key_end : key_end + 1] in "\"'":
        key_end += 1
    found = _SIZE.match(line, key_end) if start >= 0 else None
    if not found:
        problem = Problem(
            file=file,
            where=f"config.{DESIRED}.{pool}",
            message="its size does not stand beside its name as plain digits",
            fix=f"write '{pool}: 0' on one line",
        )
        raise InvalidInput([problem])
    return line[: found.start(1)] + str(size) + line[found.end(1) :]


def _check_only_desired_differs(before: object, edited: str, file: str, wanted: Mapping[str, Nodes]) -> None:
    after, findings = parse_document(edited, file)
    sizes = desired_sizes(after, findings)
    if dict(sizes) != dict(wanted) or _without_desired(before) != _without_desired(after):
        findings.add(
            (),
            "the edit would change more than the desired sizes",
            "mend the file by hand; please report this",
        )
        findings.raise_if_any()


def _without_desired(value: Any) -> object:
    """The rest of a document that has desired sizes."""
    config = {key: item for key, item in value["config"].items() if key != DESIRED}
    return {**value, "config": config}
