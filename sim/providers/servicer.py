"""The gRPC face of a plugin: translates the engine's calls to Resources and back, nothing more.

`stubs.mount` must have run before this module is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NoReturn, TypeVar

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from sim.providers import data_sources, provider_config, wire
from sim.providers.checking import Failure
from sim.providers.cloud_client import CloudClient, CloudRefused, TwinAbsent
from sim.providers.diffing import Change, Differences
from sim.providers.resources import Resources, Target, UnknownType
from sim.providers.schema import Schema

T = TypeVar("T")
_Context = grpc.ServicerContext
_KINDS = {
    (Change.ADD, False): provider_pb2.PropertyDiff.ADD,
    (Change.ADD, True): provider_pb2.PropertyDiff.ADD_REPLACE,
    (Change.DELETE, False): provider_pb2.PropertyDiff.DELETE,
    (Change.DELETE, True): provider_pb2.PropertyDiff.DELETE_REPLACE,
    (Change.UPDATE, False): provider_pb2.PropertyDiff.UPDATE,
    (Change.UPDATE, True): provider_pb2.PropertyDiff.UPDATE_REPLACE,
}


class Plugin(provider_pb2_grpc.ResourceProviderServicer):
    """One provider of the twin."""

    def __init__(self, provider: str, version: str, load: Callable[[str], Schema]) -> None:
        self._provider = provider
        self._version = version
        self._load = load
        self._resources: Resources | None = None

    @property
    def resources(self) -> Resources:
        """The provider's resources; the schema is read at the first call that needs it."""
        if self._resources is None:
            self._resources = Resources(self._provider, self._load(self._provider))
        return self._resources

    def Handshake(
        self, request: provider_pb2.ProviderHandshakeRequest, context: _Context
    ) -> provider_pb2.ProviderHandshakeResponse:
        return provider_pb2.ProviderHandshakeResponse(accept_secrets=True)

    def Attach(self, request: plugin_pb2.PluginAttach, context: _Context) -> empty_pb2.Empty:
        return empty_pb2.Empty()

    def GetPluginInfo(self, request: empty_pb2.Empty, context: _Context) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=self._version)

    def Cancel(self, request: empty_pb2.Empty, context: _Context) -> empty_pb2.Empty:
        return empty_pb2.Empty()

    def CheckConfig(self, request: provider_pb2.CheckRequest, context: _Context) -> provider_pb2.CheckResponse:
        news, _ = wire.read(request.news)
        failures = provider_config.check(self.resources.schema, news)
        return provider_pb2.CheckResponse(inputs=request.news, failures=_failures(failures))

    def DiffConfig(self, request: provider_pb2.DiffRequest, context: _Context) -> provider_pb2.DiffResponse:
        olds, _ = wire.read(request.old_inputs)
        news, _ = wire.read(request.news)
        changed = [name for name in {**olds, **news} if olds.get(name) != news.get(name)]
        moved = ["region"] if "region" in changed else []
        response = provider_pb2.DiffResponse
        changes = response.DIFF_SOME if changed else response.DIFF_NONE
        return response(changes=changes, diffs=changed, replaces=moved)

    def Configure(self, request: provider_pb2.ConfigureRequest, context: _Context) -> provider_pb2.ConfigureResponse:
        given, _ = wire.read(request.args)
        config = provider_config.parse(self.resources.schema, given)
        self.resources.config = config
        # Asked even when no account is set, so that a missing twin shows at the first preview.
        account = self._answer(context, lambda: CloudClient.from_environment().call("account", {}))
        own = str(account[self._provider])
        if config.accounts and own not in config.accounts:
            allowed = ", ".join(config.accounts)
            _abort(context, f"AWS account ID not allowed: {own}; allowed: {allowed}")
        return provider_pb2.ConfigureResponse(acceptSecrets=True, supportsPreview=True)

    def Check(self, request: provider_pb2.CheckRequest, context: _Context) -> provider_pb2.CheckResponse:
        olds, _ = wire.read(request.olds)
        news, secret = wire.read(request.news)
        target = _target(request.urn, request.type)
        seed = bytes(request.randomSeed)
        inputs, failures = self._answer(context, lambda: self.resources.check(target, olds, news, seed))
        return provider_pb2.CheckResponse(inputs=wire.write(inputs, secret), failures=_failures(failures))

    def Diff(self, request: provider_pb2.DiffRequest, context: _Context) -> provider_pb2.DiffResponse:
        olds, _ = wire.read(request.old_inputs)
        states, _ = wire.read(request.olds)
        news, _ = wire.read(request.news)
        target = _target(request.urn, request.type)
        ignored = frozenset(request.ignoreChanges)
        found = self._answer(context, lambda: self.resources.compare(target, olds, states, news, ignored))
        return _diff_response(found)

    def Create(self, request: provider_pb2.CreateRequest, context: _Context) -> provider_pb2.CreateResponse:
        inputs, secret = wire.read(request.properties)
        target = _target(request.urn, request.type)
        if request.preview:
            outputs = self._answer(context, lambda: self.resources.foresee(target, inputs, None))
            return provider_pb2.CreateResponse(properties=wire.write(outputs, secret))
        own_id, outputs = self._answer(
            context, lambda: self.resources.create(target, inputs), f"creating {target.name}"
        )
        return provider_pb2.CreateResponse(id=own_id, properties=wire.write(outputs, secret))

    def Read(self, request: provider_pb2.ReadRequest, context: _Context) -> provider_pb2.ReadResponse:
        inputs, secret = wire.read(request.inputs)
        target = _target(request.urn, request.type)
        found = self._answer(
            context,
            lambda: self.resources.read(target, request.id, inputs),
            f"reading {target.name} ({request.id})",
        )
        if found is None:
            return provider_pb2.ReadResponse()
        seen, outputs = found
        return provider_pb2.ReadResponse(
            id=request.id, inputs=wire.write(seen, secret), properties=wire.write(outputs, secret)
        )

    def Update(self, request: provider_pb2.UpdateRequest, context: _Context) -> provider_pb2.UpdateResponse:
        inputs, secret = wire.read(request.news)
        states, _ = wire.read(request.olds)
        target = _target(request.urn, request.type)
        if request.preview:
            outputs = self._answer(context, lambda: self.resources.foresee(target, inputs, states))
        else:
            outputs = self._answer(
                context,
                lambda: self.resources.update(target, request.id, inputs),
                f"updating {target.name} ({request.id})",
            )
        return provider_pb2.UpdateResponse(properties=wire.write(outputs, secret))

    def Delete(self, request: provider_pb2.DeleteRequest, context: _Context) -> empty_pb2.Empty:
        target = _target(request.urn, request.type)
        self._answer(
            context,
            lambda: self.resources.delete(target, request.id, request.timeout),
            f"deleting {target.name} ({request.id})",
        )
        return empty_pb2.Empty()

    def Invoke(self, request: provider_pb2.InvokeRequest, context: _Context) -> provider_pb2.InvokeResponse:
        config = self.resources.config
        result = self._answer(context, lambda: data_sources.answer(request.tok, config))
        response = provider_pb2.InvokeResponse()
        getattr(response, "return").CopyFrom(wire.write(result))
        return response

    def _answer(self, context: _Context, work: Callable[[], T], doing: str = "") -> T:
        """Run, with every error that a person can act on turned into one line of Pulumi's."""
        prefix = f"{doing}: " if doing else ""
        try:
            return work()
        except CloudRefused as refused:
            _abort(context, prefix + self._cloud_words(refused))
        except (TwinAbsent, UnknownType, data_sources.UnknownDataSource) as error:
            _abort(context, prefix + str(error))

    def _cloud_words(self, refused: CloudRefused) -> str:
        if self._provider == "aws":
            return f"api error {refused.code}: {refused.message}"
        return f"SDKError: Code: {refused.code} Message: {refused.message}"


def _abort(context: _Context, message: str) -> NoReturn:
    context.abort(grpc.StatusCode.UNKNOWN, message)
    raise AssertionError("abort raises")


def _target(urn: str, type_name: str) -> Target:
    return Target(urn=urn, type=type_name or urn.split("::")[2].rpartition("$")[2])


def _failures(failures: Iterable[Failure]) -> list[provider_pb2.CheckFailure]:
    return [provider_pb2.CheckFailure(property=item.property, reason=item.reason) for item in failures]


def _diff_response(found: Differences) -> provider_pb2.DiffResponse:
    response = provider_pb2.DiffResponse
    return response(
        changes=response.DIFF_SOME if found.items else response.DIFF_NONE,
        diffs=found.names,
        replaces=found.replaces,
        deleteBeforeReplace=found.delete_first,
        hasDetailedDiff=True,
        detailedDiff={
            item.path: provider_pb2.PropertyDiff(kind=_KINDS[item.change, item.is_replacing], inputDiff=True)
            for item in found.items
        },
    )
