"""Where set-up keeps things. Paths only: nothing here touches the disk."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CLI_MODULE = Path("tools") / "pulumi-cli"


@dataclass(frozen=True)
class Places:
    """The checkout and the cache outside it."""

    root: Path
    cache: Path

    @property
    def lock(self) -> Path:
        return self.root / "requirements.lock"

    @property
    def project(self) -> Path:
        return self.root / "pyproject.toml"

    @property
    def venv(self) -> Path:
        return self.root / ".venv"

    @property
    def python(self) -> Path:
        return self.venv / "bin" / "python"

    @property
    def cli_module(self) -> Path:
        return self.root / CLI_MODULE

    @property
    def work(self) -> Path:
        """What set-up and a default run write inside the checkout; ignored by git."""
        return self.root / ".spillway"

    @property
    def bin(self) -> Path:
        return self.work / "bin"

    @property
    def toolchain_file(self) -> Path:
        return self.work / "toolchain.json"


def find(root: Path, environment: Mapping[str, str]) -> Places:
    """Places for a checkout; SPILLWAY_CACHE wins, then XDG_CACHE_HOME, then ~/.cache."""
    given = environment.get("SPILLWAY_CACHE")
    if given:
        return Places(root, Path(given).expanduser().absolute())
    user_cache = environment.get("XDG_CACHE_HOME") or "~/.cache"
    return Places(root, Path(user_cache).expanduser().absolute() / "spillway")
