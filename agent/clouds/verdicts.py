"""What a cloud's refusal means to the agent: try later, other rights are needed, or the call itself is wrong."""

from __future__ import annotations

from dataclasses import dataclass

from agent.errors import CloudRefused, CloudUnavailable, NotAuthorised

CloudError = CloudUnavailable | CloudRefused | NotAuthorised

_LATER = "nothing to do; the next tick asks again"
_TOO_MANY = 429
_SERVER_FAULT = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A cloud's own words and its HTTP status."""

    code: str
    message: str
    status: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The codes of one cloud that are not the call's own fault, as beginnings; `rights` is the hint for those."""

    unauthorised: tuple[str, ...]
    transient: tuple[str, ...]
    rights: str


def verdict(refusal: Refusal, words: Vocabulary, target: str) -> CloudError:
    """The error to raise for a refusal; its code stays in the text."""
    what = f"{refusal.code}: {refusal.message}"
    if refusal.code.startswith(words.unauthorised):
        return NotAuthorised(what, target=target, hint=words.rights)
    if refusal.code.startswith(words.transient) or refusal.status == _TOO_MANY or refusal.status >= _SERVER_FAULT:
        return CloudUnavailable(what, target=target, hint=_LATER)
    hint = "compare the stack's outputs with the cloud: 'pulumi refresh' brings them up to date"
    return CloudRefused(what, target=target, hint=hint)


def no_answer(error: Exception, target: str) -> CloudUnavailable:
    """The cloud cannot be reached, or what came back is no answer of its."""
    why = getattr(error, "message", "") or f"{type(error).__name__}: {error}"
    hint = "check the network, the endpoint and HTTP_PROXY; the next tick asks again"
    return CloudUnavailable(f"gave no usable answer: {why}", target=target, hint=hint)


def no_group(pool: str, name: str, target: str) -> CloudRefused:
    """The scaling group behind a pool is not there, or was never named."""
    what = f"pool {pool} has no scaling group {name!r}"
    hint = "somebody deleted it, or the stack's outputs are old: run 'pulumi refresh' on the burst stack"
    return CloudRefused(what, target=target, hint=hint)
