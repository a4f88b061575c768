"""Equal nodes on-prem, and which of them take a job: whole gangs, first fit or best fit, in constant time.

Free GPUs are kept as one bit mask per level, so that a question costs a few integer operations whatever
the number of nodes. Knows nothing of time, queues or policies.
"""

from __future__ import annotations

# (node, GPUs) for each node that a job holds.
Shares = tuple[tuple[int, int], ...]


class Rack:
    """`nodes` nodes of `per_node` GPUs. A gang above one node takes whole nodes and one more for the rest."""

    def __init__(self, nodes: int, per_node: int = 8, *, best_fit: bool = False) -> None:
        self.per_node = per_node
        self._best_fit = best_fit
        self._free = [per_node] * nodes
        # _having[g]: the nodes with at least g GPUs free, a bit each.
        self._having = [(1 << nodes) - 1] * (per_node + 1) + [0]

    def free(self) -> list[int]:
        """Free GPUs, node by node."""
        return self._free[:]

    def fits(self, gpus: int) -> bool:
        """Whether a job of so many GPUs could start now."""
        if gpus <= self.per_node:
            return self._having[gpus] != 0
        whole, rest = divmod(gpus, self.per_node)
        spare = self._having[self.per_node].bit_count() - whole
        if spare < 0:
            return False
        return rest == 0 or spare > 0 or self._having[rest] != self._having[self.per_node]

    def take(self, gpus: int) -> Shares:
        """Place a job that fits (ask first); gives its nodes."""
        if gpus <= self.per_node:
            node = self._pick(gpus, 0)
            self._set(node, self._free[node] - gpus)
            return ((node, gpus),)
        whole, rest = divmod(gpus, self.per_node)
        shares, taken = [], 0
        for _ in range(whole):
            node = self._pick(self.per_node, taken)
            taken |= 1 << node
            shares.append((node, self.per_node))
        if rest:
            shares.append((self._pick(rest, taken), rest))
        for node, count in shares:
            self._set(node, self._free[node] - count)
        return tuple(shares)

    def give(self, shares: Shares) -> None:
        """A job ended."""
        for node, count in shares:
            self._set(node, self._free[node] + count)

    def _pick(self, gpus: int, taken: int) -> int:
        if not self._best_fit:
            mask = self._having[gpus] & ~taken
            return (mask & -mask).bit_length() - 1
        for level in range(gpus, self.per_node + 1):
            if mask := self._having[level] & ~self._having[level + 1] & ~taken:
                return (mask & -mask).bit_length() - 1
        raise ValueError(f"no node has {gpus} free GPUs")

    def _set(self, node: int, free: int) -> None:
        before, bit = self._free[node], 1 << node
        for level in range(free + 1, before + 1):
            self._having[level] ^= bit
        for level in range(before + 1, free + 1):
            self._having[level] ^= bit
        self._free[node] = free
