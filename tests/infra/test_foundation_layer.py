"""The foundation: both clouds' networks, clusters, registries and lines, wired to one address plan."""

from __future__ import annotations

from ipaddress import IPv4Network as Net
from itertools import combinations
from typing import Any

import pytest

from contract.stack_outputs import FoundationOutput
from infra.problems import ProgramProblem
from tests.infra.recorder import SECRET, Recorder, run_program, stack_values


@pytest.fixture(scope="module")
def built() -> Recorder:
    values = stack_values("foundation")
    values["spillway:alicloud"]["link"]["bgp_key"] = "canary-ali"
    values["spillway:aws"]["link"]["bgp_key"] = "canary-aws"
    return run_program("foundation", values, secret_keys=("spillway:alicloud", "spillway:aws"))


def test_every_output_of_the_contract_is_exported(built: Recorder) -> None:
    assert set(built.outputs) == {output.value for output in FoundationOutput}


def test_clusters_have_no_public_endpoint(built: Recorder) -> None:
    eks = built.one("aws:eks/cluster:Cluster")["vpcConfig"]
    ack = built.one("alicloud:cs/managedKubernetes:ManagedKubernetes")

    assert (eks["endpointPrivateAccess"], eks["endpointPublicAccess"]) == (True, False)
    assert (ack["slbInternetEnabled"], ack["newNatGateway"]) == (False, False)
    assert ack["skipSetCertificateAuthority"] is True


def test_subnets_lie_in_their_network_and_apart(built: Recorder) -> None:
    for vpc, subnets in (
        ("aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet"),
        ("alicloud:vpc/network:Network", "alicloud:vpc/switch:Switch"),
    ):
        outer = Net(built.one(vpc)["cidrBlock"])
        inner = [Net(item["cidrBlock"]) for item in built.of_type(subnets).values()]
        assert all(block.subnet_of(outer) for block in inner)
        assert not any(one.overlaps(two) for one, two in combinations(inner, 2))


def test_cluster_uses_the_planned_services(built: Recorder) -> None:
    addresses = built.outputs["addresses"]
    eks = built.one("aws:eks/cluster:Cluster")["kubernetesNetworkConfig"]
    ack = built.one("alicloud:cs/managedKubernetes:ManagedKubernetes")

    assert eks["serviceIpv4Cidr"] == addresses["aws.services"]
    assert ack["serviceCidr"] == addresses["alicloud.services"]


def test_alibaba_end_of_the_line_fits_the_routers_end(built: Recorder) -> None:
    router = built.one("alicloud:expressconnect/virtualBorderRouter:VirtualBorderRouter")
    group = built.one("alicloud:vpc/bgpGroup:BgpGroup")
    peer = built.one("alicloud:vpc/bgpPeer:BgpPeer")
    own = built.outputs["links"]["alicloud"]

    assert router["peerGatewayIp"] == peer["peerIpAddress"] == own["localAddress"].partition("/")[0]
    assert router["localGatewayIp"] == own["peerAddress"]
    assert (router["vlanId"], own["vlan"]) == (1201, 1201)
    assert (group["peerAsn"], group["localAsn"]) == (own["localAsn"], own["peerAsn"])
    assert peer["enableBfd"] is True
    assert router["minRxInterval"] == own["bfd"]["intervalMs"]


def test_aws_end_of_the_line_fits_the_routers_end(built: Recorder) -> None:
    interface = built.one("aws:directconnect/privateVirtualInterface:PrivateVirtualInterface")
    gateway = built.one("aws:directconnect/gateway:Gateway")
    own = built.outputs["links"]["aws"]

    assert interface["customerAddress"] == own["localAddress"]
    assert interface["amazonAddress"].partition("/")[0] == own["peerAddress"]
    assert interface["bgpAsnLong"] == str(own["localAsn"])
    assert gateway["amazonSideAsn"] == str(own["peerAsn"])
    association = built.one("aws:directconnect/gatewayAssociation:GatewayAssociation")
    assert association["allowedPrefixes"] == own["expect"] == [built.outputs["addresses"]["aws.vpc"]]


def test_both_attachments_exchange_routes(built: Recorder) -> None:
    for relation in ("Association", "Propagation"):
        token = f"alicloud:cen/transitRouterRouteTable{relation}:TransitRouterRouteTable{relation}"
        assert set(built.of_type(token)) == {"link-alicloud-vpc", "link-alicloud-vbr"}


@pytest.mark.parametrize(
    ("token", "name", "canary"),
    [
        ("alicloud:vpc/bgpGroup:BgpGroup", "authKey", "canary-ali"),
        ("aws:directconnect/privateVirtualInterface:PrivateVirtualInterface", "bgpAuthKey", "canary-aws"),
    ],
)
def test_bgp_key_travels_as_a_secret(built: Recorder, token: str, name: str, canary: str) -> None:
    value = built.one(token)[name]

    assert SECRET in value
    assert canary in str(value)
    shown = [str(item.inputs) for item in built.resources if item.typ != token]
    assert not any(canary in text and SECRET not in text for text in shown)


def test_nodes_reach_what_they_need_without_internet(built: Recorder) -> None:
    endpoints = built.of_type("aws:ec2/vpcEndpoint:VpcEndpoint")

    services = {item["serviceName"].removeprefix("com.amazonaws.us-east-1.") for item in endpoints.values()}
    assert services == {"s3", "ec2", "ecr.api", "ecr.dkr", "eks", "sts"}
    assert not built.of_type("aws:ec2/internetGateway:InternetGateway")
    assert not built.of_type("aws:ec2/natGateway:NatGateway")


def test_providers_are_explicit_and_guarded(built: Recorder) -> None:
    aws = built.one("pulumi:providers:aws")
    alicloud = built.one("pulumi:providers:alicloud")

    assert aws["allowedAccountIds"] == '["012345678912"]'
    assert alicloud["region"] == "cn-shanghai"
    owned = [item for item in built.resources if item.typ.startswith(("aws:", "alicloud:"))]
    assert all(item.provider and "default_" not in item.provider for item in owned)


def test_tags_name_owner_and_department(built: Recorder) -> None:
    expected = {"owner": "spillway", "department": "shared", "spillway-stack": "foundation"}

    assert built.one("alicloud:cs/managedKubernetes:ManagedKubernetes")["tags"] == expected
    assert '"department": "shared"' in built.one("pulumi:providers:aws")["defaultTags"]


def test_one_cloud_alone_is_a_whole_foundation() -> None:
    values = stack_values("foundation")
    del values["spillway:aws"]
    values["spillway:addresses"] = {}

    built = run_program("foundation", values)

    assert FoundationOutput.ACK_CLUSTER_ID.value in built.outputs
    assert FoundationOutput.EKS_CLUSTER_NAME.value not in built.outputs
    assert list(built.outputs["links"]) == ["alicloud"]


def test_overlap_with_the_owner_names_both_blocks() -> None:
    values: dict[str, Any] = stack_values("foundation")
    values["spillway:onprem"]["ranges"].append("10.64.128.0/17")

    with pytest.raises(ProgramProblem) as caught:
        run_program("foundation", values)

    assert "'alicloud.vpc' 10.64.0.0/16" in str(caught.value)
    assert "10.64.128.0/17" in str(caught.value)


def test_block_that_is_not_pinned_yet_is_shown_as_it_goes_into_the_file(caplog: pytest.LogCaptureFixture) -> None:
    values = stack_values("foundation")
    del values["spillway:addresses"]["alicloud.services"]

    built = run_program("foundation", values)

    assert f"alicloud.services: {built.outputs['addresses']['alicloud.services']}" in caplog.text
    assert "alicloud.vpc" not in caplog.text


def test_session_without_a_password_of_ours_is_pointed_out(caplog: pytest.LogCaptureFixture) -> None:
    run_program("foundation", stack_values("foundation"))

    assert "pulumi config set --secret --path 'spillway:aws.link.bgp_key'" in caplog.text
