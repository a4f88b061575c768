"""What each stack holds, in order. A layer wires components; it holds no resource of its own."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi

Outputs = Mapping[str, pulumi.Input[object]]
