"""A plugin over gRPC, as the engine calls it, on a twin behind HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from google.protobuf import empty_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from sim.providers import wire
from sim.providers.schema import load_schema, sdk_version
from sim.providers.servicer import Plugin
from tests.engine.twin_thread import ServedTwin, twin_thread
from tests.engine.workbench import ROOT

ROLE = "aws:iam/role:Role"
VPC = "aws:ec2/vpc:Vpc"
BGP = "alicloud:vpc/bgpGroup:BgpGroup"
VBR = "alicloud:expressconnect/virtualBorderRouter:VirtualBorderRouter"


@pytest.fixture(scope="module")
def served() -> Iterator[ServedTwin]:
    with twin_thread(ROOT / "stacks" / "catalog.yaml") as twin:
        yield twin


@pytest.fixture(autouse=True)
def on_twin(served: ServedTwin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPILLWAY_TWIN_URL", served.url)
    monkeypatch.setenv("SPILLWAY_TWIN_TOKEN", served.twin.token)


class Engine:
    """Calls one plugin the way the engine does."""

    def __init__(self, stub: provider_pb2_grpc.ResourceProviderStub) -> None:
        self.stub = stub

    def configure(self, **config: Any) -> None:
        self.stub.Configure(provider_pb2.ConfigureRequest(args=wire.write(config), acceptSecrets=True))

    def check(self, token: str, inputs: dict[str, Any]) -> dict[str, Any]:
        request = provider_pb2.CheckRequest(urn=urn(token), news=wire.write(inputs), randomSeed=b"seed")
        answer = self.stub.Check(request)
        assert not answer.failures, answer.failures
        return wire.read(answer.inputs)[0]

    def create(
        self, token: str, inputs: dict[str, Any], *, preview: bool = False, secret: frozenset[str] = frozenset()
    ) -> provider_pb2.CreateResponse:
        properties = wire.write(inputs, secret)
        answer: provider_pb2.CreateResponse = self.stub.Create(
            provider_pb2.CreateRequest(urn=urn(token), properties=properties, preview=preview)
        )
        return answer

    def diff(self, token: str, old: dict[str, Any], state: dict[str, Any], new: dict[str, Any]) -> list[str]:
        request = provider_pb2.DiffRequest(
            urn=urn(token), old_inputs=wire.write(old), olds=wire.write(state), news=wire.write(new)
        )
        return list(self.stub.Diff(request).diffs)


def urn(token: str) -> str:
    return f"urn:pulumi:s::p::spillway:aws:Holder${token}::probe"


@pytest.fixture(scope="module", params=["aws", "alicloud"])
def any_engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    yield from plugged(str(request.param))


@pytest.fixture
def aws(served: ServedTwin) -> Iterator[Engine]:
    for engine in plugged("aws"):
        engine.configure(region="us-east-1", defaultTags='{"tags":{"owner":"spillway"}}')
        yield engine


@pytest.fixture
def alicloud(served: ServedTwin) -> Iterator[Engine]:
    for engine in plugged("alicloud"):
        engine.configure(region="cn-shanghai")
        yield engine


def plugged(provider: str) -> Iterator[Engine]:
    server = grpc.server(ThreadPoolExecutor(4))
    plugin = Plugin(provider, sdk_version(provider), load_schema)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(plugin, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield Engine(provider_pb2_grpc.ResourceProviderStub(channel))
    server.stop(grace=None).wait()


def test_it_answers_the_calls_before_the_first_resource(any_engine: Engine) -> None:
    stub = any_engine.stub

    assert stub.Handshake(provider_pb2.ProviderHandshakeRequest()).accept_secrets
    assert stub.Attach(plugin_pb2.PluginAttach(address="127.0.0.1:1")) == empty_pb2.Empty()
    version = stub.GetPluginInfo(empty_pb2.Empty()).version
    assert version in (sdk_version("aws"), sdk_version("alicloud"))
    assert stub.Cancel(empty_pb2.Empty()) == empty_pb2.Empty()


def test_preview_of_a_new_resource_knows_inputs_and_tags_only(aws: Engine) -> None:
    inputs = aws.check(VPC, {"cidrBlock": "10.65.0.0/16", "tags": {"Name": "n"}})

    answer = aws.create(VPC, inputs, preview=True)

    properties, _ = wire.read(answer.properties)
    assert properties["cidrBlock"] == "10.65.0.0/16"
    assert properties["arn"] is wire.UNKNOWN
    assert properties["tagsAll"] == {"owner": "spillway", "Name": "n"}
    assert not answer.id


def test_life_of_a_resource(aws: Engine, served: ServedTwin) -> None:
    inputs = aws.check(VPC, {"cidrBlock": "10.66.0.0/16"})
    made = aws.create(VPC, inputs)
    state, _ = wire.read(made.properties)
    kept = served.control.store.find(VPC, made.id)

    assert kept
    assert kept.inputs["__allTags"] == {"owner": "spillway"}
    assert state["arn"].endswith(made.id)
    assert state["region"] == "us-east-1"
    request = provider_pb2.ReadRequest(id=made.id, urn=urn(VPC), inputs=wire.write(inputs))
    seen = aws.stub.Read(request)
    assert wire.read(seen.inputs)[0] == inputs
    assert wire.read(seen.properties)[0] == state
    renamed = {**inputs, "tags": {"Name": "new"}}
    update = provider_pb2.UpdateRequest(
        id=made.id, urn=urn(VPC), olds=made.properties, news=wire.write(renamed), old_inputs=wire.write(inputs)
    )
    assert wire.read(aws.stub.Update(update).properties)[0]["tagsAll"] == {"owner": "spillway", "Name": "new"}
    delete = provider_pb2.DeleteRequest(id=made.id, urn=urn(VPC))
    aws.stub.Delete(delete)
    aws.stub.Delete(delete)
    gone = aws.stub.Read(request)
    assert gone.id == ""
    assert served.control.store.find(VPC, made.id) is None


def test_preview_of_an_update_keeps_what_is_known(aws: Engine) -> None:
    inputs = aws.check(VPC, {"cidrBlock": "10.67.0.0/16"})
    made = aws.create(VPC, inputs)
    request = provider_pb2.UpdateRequest(
        id=made.id, urn=urn(VPC), olds=made.properties, news=wire.write(inputs), preview=True
    )

    properties, _ = wire.read(aws.stub.Update(request).properties)

    assert properties == wire.read(made.properties)[0]


def test_import_by_id_alone_brings_inputs(aws: Engine, served: ServedTwin) -> None:
    made = aws.create(VPC, {"cidrBlock": "10.68.0.0/16"})

    seen = aws.stub.Read(provider_pb2.ReadRequest(id=made.id, urn=urn(VPC)))

    assert wire.read(seen.inputs)[0] == {"cidrBlock": "10.68.0.0/16"}


def test_other_default_tags_are_a_difference(aws: Engine) -> None:
    inputs = {"cidrBlock": "10.65.0.0/16"}

    assert aws.diff(VPC, inputs, {**inputs, "tagsAll": {"owner": "spillway"}}, inputs) == []
    assert aws.diff(VPC, inputs, {**inputs, "tagsAll": {"owner": "somebody"}}, inputs) == ["tagsAll"]


def test_secret_input_stays_secret_in_the_outputs(alicloud: Engine, served: ServedTwin) -> None:
    router = alicloud.create(
        VBR,
        {
            "physicalConnectionId": "pc-1",
            "vlanId": 7,
            "localGatewayIp": "10.0.0.1",
            "peerGatewayIp": "10.0.0.2",
            "peeringSubnetMask": "255.255.255.252",
        },
    ).id
    made = alicloud.create(
        BGP, {"routerId": router, "peerAsn": 65010, "authKey": "canary"}, secret=frozenset({"authKey"})
    )

    properties, secret = wire.read(made.properties)
    kept = served.control.store.find(BGP, made.id)
    assert secret == {"authKey"}
    assert properties["authKey"] == "canary"
    assert kept
    assert kept.inputs["authKey"] == "canary"


def test_refusal_of_the_cloud_arrives_with_its_code(aws: Engine) -> None:
    inputs = {"vpcId": "vpc-gone", "cidrBlock": "10.65.0.0/20"}

    with pytest.raises(grpc.RpcError) as caught:
        aws.create("aws:ec2/subnet:Subnet", inputs)

    assert "creating probe: api error InvalidVpcID.NotFound" in str(caught.value)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, "Missing region"),
        ({"region": "us-east-1", "allowedAccountIds": '["12345678912"]'}, "not an account id of 12 digits"),
        ({"region": "us-east-1", "allowedAcountIds": "[]"}, "did you mean 'allowedAccountIds'"),
        ({"region": "us-east-1", "defaultTags": '{"tags":["a"]}'}, "expected an object"),
        ({"region": wire.UNKNOWN}, ""),
    ],
)
def test_providers_own_configuration_is_checked(aws: Engine, config: dict[str, Any], expected: str) -> None:
    answer = aws.stub.CheckConfig(provider_pb2.CheckRequest(news=wire.write(config)))

    reasons = [failure.reason for failure in answer.failures]
    assert any(expected in reason for reason in reasons) if expected else not reasons


def test_provider_of_another_account_is_refused(aws: Engine) -> None:
    with pytest.raises(grpc.RpcError, match="AWS account ID not allowed: 012345678912"):
        aws.configure(region="us-east-1", allowedAccountIds='["112345678912"]')


def test_only_another_region_replaces_a_provider(aws: Engine) -> None:
    def diff(**new: Any) -> provider_pb2.DiffResponse:
        old = wire.write({"region": "us-east-1"})
        answer: provider_pb2.DiffResponse = aws.stub.DiffConfig(
            provider_pb2.DiffRequest(old_inputs=old, olds=old, news=wire.write(new))
        )
        return answer

    assert list(diff(region="us-west-2").replaces) == ["region"]
    assert list(diff(region="us-east-1", defaultTags="{}").replaces) == []
    assert diff(region="us-east-1").changes == provider_pb2.DiffResponse.DIFF_NONE


def test_data_sources(aws: Engine, alicloud: Engine) -> None:
    def ask(engine: Engine, name: str) -> dict[str, Any]:
        answer = engine.stub.Invoke(provider_pb2.InvokeRequest(tok=name))
        return wire.read(getattr(answer, "return"))[0]

    assert ask(aws, "aws:index/getCallerIdentity:getCallerIdentity")["accountId"] == "012345678912"
    assert ask(aws, "aws:index/getRegion:getRegion")["region"] == "us-east-1"
    assert ask(alicloud, "alicloud:index/getAccount:getAccount")["id"]
    with pytest.raises(grpc.RpcError, match="does not answer the data source"):
        ask(aws, "aws:ec2/getAmi:getAmi")


def test_type_that_the_twin_does_not_act_out_says_so(aws: Engine) -> None:
    with pytest.raises(grpc.RpcError, match="does not act out aws:s3/bucket:Bucket"):
        aws.check("aws:s3/bucket:Bucket", {})


def test_wrong_token_is_told_apart_from_a_missing_twin(aws: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPILLWAY_TWIN_TOKEN", "wrong")

    with pytest.raises(grpc.RpcError, match="TwinUnauthorized"):
        aws.create(ROLE, {"name": "r", "assumeRolePolicy": "{}"})
