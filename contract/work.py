"""Vocabulary of work: tier, kind and data class of a task; the values are those of pod labels and traces.

Only names and their order; what follows from them is the policy's and the placement's business.
"""

from __future__ import annotations

from enum import StrEnum


class Tier(StrEnum):
    """The five tiers of R6.1, most urgent first: the order of the members is the order of service."""

    PRODUCTION_CORE = "production-core"
    PRODUCTION = "production"
    CUSTOMER_SERVICE = "customer-service"
    RESEARCH = "research"
    EXPLORATION = "exploration"

    @property
    def rank(self) -> int:
        """0 for the most urgent."""
        return _RANKS[self]


_RANKS = {tier: rank for rank, tier in enumerate(Tier)}


class WorkKind(StrEnum):
    """What a task does, in the words of the decision matrix (R6.3) and of the catalogue's `hosts`."""

    PRETRAINING = "pretraining"
    INFERENCE = "inference"
    FINETUNING = "finetuning"
    HPO = "hpo"
    PREPROCESSING = "preprocessing"
    OTHER = "other"


class DataClass(StrEnum):
    """How far a task's data may travel (R6.4): anywhere, read over the link only, or nowhere."""

    OPEN = "open"
    LINK_ONLY = "link-only"
    SENSITIVE = "sensitive"
