"""What a node shows when its cloud is about to take it back (R7.5), as the tools of each cloud write it.

- EKS: aws-node-termination-handler, where it runs with `taintNode: true`, puts the taint `.../spot-itn`. Its value
  is the event's id and tells no time; AWS gives two minutes. A value that is a unix time is when it was put.
- ACK: ack-node-problem-detector sets the condition InstanceExpired to True; Alibaba Cloud gives five minutes.
- Anywhere: our annotation `spillway.dev/reclaim-at` with a time in RFC 3339, for other tools and for people.

A taint of Karpenter (`karpenter.sh/disrupted`) is no notice: it comes before a consolidation too, and Karpenter
brings its own replacement. A notice whose time means nothing is still a notice.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from agent.cluster_access import Json
from agent.core.readings import ReclaimNotice
from contract import labels

_AWS_GIVES = timedelta(minutes=2)
_ALICLOUD_GIVES = timedelta(minutes=5)
# Unix times have ten digits from 2001 to 2286.
_UNIX_DIGITS = 10


def reclaim_notice(node: Json) -> ReclaimNotice | None:
    """The notice on a v1 Node, the first that tells its time before one that does not; None without any."""
    found = [*_annotated(node), *_tainted(node), *_expired(node)]
    return min(found, key=lambda notice: notice.at is None, default=None)


def _annotated(node: Json) -> Iterator[ReclaimNotice]:
    text = str((node["metadata"].get("annotations") or {}).get(labels.RECLAIM_AT) or "")
    if text:
        yield ReclaimNotice(at=_time(text), within=_AWS_GIVES)


def _tainted(node: Json) -> Iterator[ReclaimNotice]:
    for taint in (node.get("spec") or {}).get("taints") or ():
        if taint.get("key") == labels.AWS_SPOT_TAINT:
            put = _time(taint.get("timeAdded")) or _unix(str(taint.get("value") or ""))
            yield ReclaimNotice(at=put and put + _AWS_GIVES, within=_AWS_GIVES)


def _expired(node: Json) -> Iterator[ReclaimNotice]:
    for condition in (node.get("status") or {}).get("conditions") or ():
        if condition.get("type") == labels.ACK_SPOT_CONDITION and condition.get("status") == "True":
            since = _time(condition.get("lastTransitionTime"))
            yield ReclaimNotice(at=since and since + _ALICLOUD_GIVES, within=_ALICLOUD_GIVES)


def _time(text: object) -> datetime | None:
    """A time with its zone; None for anything else."""
    try:
        at = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return at.astimezone(UTC) if at.tzinfo else None


def _unix(text: str) -> datetime | None:
    is_time = text.isascii() and text.isdecimal() and len(text) == _UNIX_DIGITS
    return datetime.fromtimestamp(int(text), UTC) if is_time else None
