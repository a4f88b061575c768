"""How an API server says no: metav1 Status bodies with the real reasons, codes and texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]


class ApiError(Exception):
    """An answer that is an error. `body` is a Status; None means a plain text."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(f"{code} {reason}: {message}")
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.headers = dict(headers or {})

    @property
    def body(self) -> Json:
        """The Status object."""
        status: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code,
        }
        if self.details is not None:
            status["details"] = dict(self.details)
        return status


def success(details: Mapping[str, Any] | None = None, code: int = 200) -> Json:
    """The Status of a deletion or an eviction that was accepted."""
    status: Json = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if code != 200:
        status["code"] = code
    if details:
        status["details"] = dict(details)
    return status


def unauthorized() -> ApiError:
    """No token, or one that this cluster does not know."""
    return ApiError(401, "Unauthorized", "Unauthorized")


def not_found_path() -> ApiError:
    """A path of no served group: the real server answers in plain text."""
    return ApiError(404, "", "404 page not found")


def not_served() -> ApiError:
    """A served group, but no such resource in it."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def not_found(resource: str, group: str, name: str) -> ApiError:
    """No object of that name."""
    details = {"name": name, "kind": resource.partition(".")[0]}
    if group:
        details["group"] = group
    return ApiError(404, "NotFound", f'{resource} "{name}" not found', details)


def already_exists(resource: str, name: str) -> ApiError:
    """An object of that name exists."""
    details = {"name": name, "kind": resource.partition(".")[0]}
    return ApiError(409, "AlreadyExists", f'{resource} "{name}" already exists', details)


def conflict(resource: str, name: str) -> ApiError:
    """The caller's resourceVersion is not the latest."""
    message = (
        f'Operation cannot be fulfilled on {resource} "{name}": the object has been modified;'
        " please apply your changes to the latest version and try again"
    )
    details = {"name": name, "kind": resource.partition(".")[0]}
    return ApiError(409, "Conflict", message, details)


def expired() -> ApiError:
    """A watch or a page from a version that is no longer kept."""
    return ApiError(410, "Expired", "too old resource version")


def bad_request(message: str) -> ApiError:
    """The request cannot be read."""
    return ApiError(400, "BadRequest", message)


def invalid(kind: str, name: str, field: str, message: str) -> ApiError:
    """The object is readable and not allowed."""
    cause = {"reason": "FieldValueInvalid", "message": message, "field": field}
    details = {"name": name, "kind": kind, "causes": [cause]}
    return ApiError(422, "Invalid", f'{kind} "{name}" is invalid: {field}: {message}', details)


def not_allowed() -> ApiError:
    """The verb is not served on this resource."""
    message = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", message, {})


def unsupported_patch(content_type: str) -> ApiError:
    """A kind of patch that the twin does not know, such as server-side apply."""
    message = (
        f"the body of the request was in an unknown format ({content_type}) - accepted media types"
        " include: application/json-patch+json, application/merge-patch+json,"
        " application/strategic-merge-patch+json"
    )
    return ApiError(415, "UnsupportedMediaType", message, {})


def over_budget(budget: str, needed: int, healthy: int) -> ApiError:
    """An eviction that a PodDisruptionBudget forbids now."""
    cause = {
        "reason": "DisruptionBudget",
        "message": (f"The disruption budget {budget} needs {needed} healthy pods and has {healthy} currently"),
    }
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    return ApiError(429, "TooManyRequests", message, {"causes": [cause]}, {"Retry-After": "10"})


def too_many_requests() -> ApiError:
    """The server sheds load."""
    message = "The server has received too many requests and has asked us to try again later"
    return ApiError(429, "TooManyRequests", message, {"retryAfterSeconds": 1}, {"Retry-After": "1"})


def unavailable() -> ApiError:
    """The server is up in name only."""
    message = "the server is currently unable to handle the request"
    return ApiError(503, "ServiceUnavailable", message, {})
