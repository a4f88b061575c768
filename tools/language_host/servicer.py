"""The gRPC face of the language host: translates the engine's requests, nothing more.

`stubs.mount` must have run before this module is imported.
"""

import json
import platform
from pathlib import Path

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, plugin_pb2

from tools.language_host import program

EXECUTOR = "pulumi-language-python-exec"
VERSION = "1.0.0"


class PythonHost(language_pb2_grpc.LanguageRuntimeServicer):
    """Answers the calls that updates make; every other call stays unimplemented."""

    def __init__(self, engine: str, executor: Path) -> None:
        self._engine = engine
        self._executor = executor
        self._programs = program.Programs()

    def close(self) -> None:
        """End what is running."""
        self._programs.close()

    def Handshake(
        self, request: language_pb2.LanguageHandshakeRequest, context: grpc.ServicerContext
    ) -> language_pb2.LanguageHandshakeResponse:
        self._engine = request.engine_address or self._engine
        return language_pb2.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=VERSION)

    def GetRequiredPackages(
        self, request: language_pb2.GetRequiredPackagesRequest, context: grpc.ServicerContext
    ) -> language_pb2.GetRequiredPackagesResponse:
        """None: an installed SDK that the program does not use must not demand its plugin."""
        return language_pb2.GetRequiredPackagesResponse()

    def About(self, request: language_pb2.AboutRequest, context: grpc.ServicerContext) -> language_pb2.AboutResponse:
        info = request.info
        python = program.interpreter(_virtualenv(info), Path(info.root_directory))
        return language_pb2.AboutResponse(executable=python, version=platform.python_version())

    def Run(self, request: language_pb2.RunRequest, context: grpc.ServicerContext) -> language_pb2.RunResponse:
        try:
            invocation = self._invocation(request)
        except program.InterpreterMissing as error:
            return language_pb2.RunResponse(error=str(error))
        outcome = self._programs.run(invocation)
        return language_pb2.RunResponse(error=outcome.error, bail=outcome.bail)

    def Cancel(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> empty_pb2.Empty:
        self.close()
        return empty_pb2.Empty()

    def _invocation(self, request: language_pb2.RunRequest) -> program.Invocation:
        info = request.info
        python = program.interpreter(_virtualenv(info), Path(info.root_directory))
        flags = {
            "monitor": request.monitor_address,
            "engine": self._engine,
            "project": request.project,
            "stack": request.stack,
            "pwd": request.pwd or info.program_directory,
            "dry_run": "true" if request.dryRun else "",
            "parallel": str(request.parallel),
            "organization": request.organization,
            "root_directory": info.root_directory,
        }
        given = [part for key, value in flags.items() if value for part in (f"--{key}", value)]
        overlay = {
            "PULUMI_CONFIG": json.dumps(dict(request.config)),
            "PULUMI_CONFIG_SECRET_KEYS": json.dumps(list(request.configSecretKeys)),
        }
        return program.Invocation(
            [python, "-u", str(self._executor), *given, _entry_point(request), *request.args],
            program.environment(python, overlay),
        )


def _entry_point(request: language_pb2.RunRequest) -> str:
    return request.info.entry_point or request.program or "."


def _virtualenv(info: language_pb2.ProgramInfo) -> str:
    value = info.options.fields.get("virtualenv")
    return value.string_value if value else ""
