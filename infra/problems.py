"""Errors of the program: Pulumi shows a RunError as one diagnostic, without a stack trace."""

from __future__ import annotations

import pulumi


class ProgramProblem(pulumi.RunError):
    """The stack cannot be built as configured; the message says what to change."""
