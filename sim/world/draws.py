"""Chance, seeded: one stream of numbers for each thing that is left to chance.

A stream depends on the seed and its own key only, so that another call elsewhere changes nothing
here. Must not keep a stream that two things share.
"""

from __future__ import annotations

import base64
import hashlib
from random import Random


class Draws:
    """Streams and tokens from one seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def stream(self, *key: object) -> Random:
        """A fresh stream for `key`; the same key always starts the same stream."""
        return Random(":".join(map(str, (self.seed, *key))))

    def token(self, length: int, *key: object) -> str:
        """Small letters and digits, always the same for one key (32 symbols, as base32)."""
        text = ":".join(map(str, (self.seed, *key)))
        digest = hashlib.blake2b(text.encode(), digest_size=40).digest()
        return base64.b32encode(digest).decode().lower()[:length]

    def hexadecimal(self, length: int, *key: object) -> str:
        """Like token, in hexadecimal digits; up to 64."""
        text = ":".join(map(str, (self.seed, *key)))
        return hashlib.blake2b(text.encode(), digest_size=32).hexdigest()[:length]
