"""The one error of set-up: what happened, why, and what to do next."""


class SetupFailed(Exception):
    """A step that cannot go on."""

    def __init__(self, what: str, *, why: str, fix: str) -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.fix = fix

    def render(self) -> str:
        """The message as the person sees it."""
        return "\n".join([f"error: {self.what}", *_indented("why", self.why), *_indented("next", self.fix)])


def no_toolchain(minimum: str, *, offline: bool) -> SetupFailed:
    """Neither a Pulumi CLI nor a Go to build one."""
    tried = "the installer was skipped (SPILLWAY_OFFLINE)" if offline else "its installer did not answer"
    return SetupFailed(
        "no Pulumi CLI, and no Go to build one",
        why=f"neither `pulumi` nor `go` is on PATH, and {tried}",
        fix=(
            "do one of the two, then run: make setup\n"
            f"1. install Pulumi {minimum} or newer (https://www.pulumi.com/docs/install/)\n"
            "2. install Go 1.26 or newer (https://go.dev/doc/install); "
            "set-up then builds the CLI, about 4 minutes, once"
        ),
    )


def _indented(label: str, text: str) -> list[str]:
    first, *rest = text.splitlines() or [""]
    margin = " " * (len(label) + 4)
    return [f"  {label}: {first}", *(margin + line for line in rest)]
