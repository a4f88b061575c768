"""The door of AWS: credentials and outages, then the call of its service; errors in each protocol's own form."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from contract.catalog import Provider
from sim.wire import autoscaling, ec2
from sim.wire.call import INVALID_KEY, Call, strike_down, strike_throttle
from sim.wire.xml_answers import Value, document
from sim.world.group_spec import Group
from sim.world.refusals import CloudRefusal

Json = dict[str, Any]
Answer = dict[str, Value]
_AUTOSCALING = "http://autoscaling.amazonaws.com/doc/2011-01-01/"
_EC2 = "http://ec2.amazonaws.com/doc/2016-11-15/"
_DOWN = "Service is unable to handle request."


def answer_query(call: Call) -> Response:
    """Auto Scaling or EC2, by the service that the signature names."""
    return _answer_ec2(call) if call.credential.service == "ec2" else _answer_autoscaling(call)


def _answer_autoscaling(call: Call) -> Response:
    request_id = _request_id(call)
    try:
        _admit(call)
        handler = autoscaling.ACTIONS.get(call.action)
        if handler is None:
            raise CloudRefusal("InvalidAction", f"Could not find operation {call.action} for version 2011-01-01")
        result = handler(call)
    except CloudRefusal as refusal:
        side = "Receiver" if refusal.http_status >= 500 else "Sender"
        error = {"Type": side, "Code": refusal.code, "Message": refusal.message}
        body = document("ErrorResponse", _AUTOSCALING, {"Error": error, "RequestId": request_id})
        return Response(body, refusal.http_status, media_type="text/xml")
    parts: Answer = {f"{call.action}Result": result, "ResponseMetadata": {"RequestId": request_id}}
    return Response(document(f"{call.action}Response", _AUTOSCALING, parts), media_type="text/xml")


def _answer_ec2(call: Call) -> Response:
    request_id = _request_id(call)
    try:
        _admit(call)
        if call.action != "DescribeInstances":
            raise CloudRefusal("InvalidAction", f"The action {call.action} is not valid for this web service.")
        result = ec2.describe_instances(call)
    except CloudRefusal as refusal:
        errors = {"Error": {"Code": refusal.code, "Message": refusal.message}}
        body = document("Response", _EC2, {"Errors": errors, "RequestID": request_id})
        return Response(body, refusal.http_status, media_type="text/xml")
    body = document(f"{call.action}Response", _EC2, {"requestId": request_id, **result}, item="item")
    return Response(body, media_type="text/xml")


def list_node_groups(call: Call) -> Response:
    """EKS ListNodegroups."""
    try:
        _admit(call)
        groups = _node_groups(call)
        strike_throttle(call, Provider.AWS, groups)
    except CloudRefusal as refusal:
        return _eks_error(refusal)
    return _json({"nodegroups": [group.spec.name for group in groups]})


def describe_node_group(call: Call) -> Response:
    """EKS DescribeNodegroup."""
    try:
        _admit(call)
        name = call.path["group"]
        group = next((group for group in _node_groups(call) if group.spec.name == name), None)
        if group is None:
            raise CloudRefusal("ResourceNotFoundException", f"No node group found for name: {name}.", 404)
        strike_throttle(call, Provider.AWS, [group])
    except CloudRefusal as refusal:
        return _eks_error(refusal)
    return _json({"nodegroup": _node_group(call, group)})


def _node_groups(call: Call) -> list[Group]:
    cluster = call.path["cluster"]
    groups = [group for group in call.groups(Provider.AWS, call.credential.region) if group.spec.cluster == cluster]
    if not groups:
        raise CloudRefusal("ResourceNotFoundException", f"No cluster found for name: {cluster}.", 404)
    return groups


def _node_group(call: Call, group: Group) -> Json:
    spec = group.spec
    return {
        "nodegroupName": spec.name,
        "clusterName": spec.cluster,
        "status": "DELETING" if group.is_deleting else "ACTIVE",
        "createdAt": call.world.ground.time(group.created_s).timestamp(),
        "capacityType": "SPOT" if spec.is_spot else "ON_DEMAND",
        "instanceTypes": list(spec.instance_types),
        "scalingConfig": {"minSize": spec.minimum, "maxSize": spec.maximum, "desiredSize": group.desired},
        "labels": dict(spec.labels),
        "taints": [{"key": item.key, "value": item.value, "effect": item.effect.eks} for item in spec.taints],
        "resources": {"autoScalingGroups": [{"name": group.scaling_group_id}]},
        "health": {"issues": []},
    }


def _admit(call: Call) -> None:
    """Any key opens but the one that is known to be invalid."""
    service, key = call.credential.service, call.credential.key
    strike_down(call, Provider.AWS, _DOWN)
    if not key:
        raise CloudRefusal("MissingAuthenticationToken", "Missing Authentication Token", 403)
    if key != INVALID_KEY:
        return
    if service == "ec2":
        raise CloudRefusal("AuthFailure", "AWS was not able to validate the provided access credentials", 401)
    code = "UnrecognizedClientException" if service == "eks" else "InvalidClientTokenId"
    raise CloudRefusal(code, "The security token included in the request is invalid.", 403)


def _eks_error(refusal: CloudRefusal) -> Response:
    headers = {"x-amzn-errortype": refusal.code}
    return Response(
        json.dumps({"message": refusal.message}), refusal.http_status, headers, media_type="application/json"
    )


def _json(document: Json) -> Response:
    return Response(json.dumps(document), media_type="application/json")


def _request_id(call: Call) -> str:
    return call.world.ground.draws.token(36, "request", call.action, call.world.now_s)
