"""Entry point: read the inputs once, build the layer that the stack names, export what it gives."""

from __future__ import annotations

import pulumi

from contract.problems import InvalidInput
from contract.stack_config import FoundationConfig
from infra.config import Inputs, read_inputs
from infra.layers import Outputs
from infra.problems import ProgramProblem


def main() -> None:
    try:
        inputs = read_inputs()
    except InvalidInput as error:
        raise ProgramProblem(str(error)) from error
    for name, value in build(inputs).items():
        pulumi.export(name, value)


def build(inputs: Inputs) -> Outputs:
    # Imported here: a burst stack must not pay for what only a foundation needs.
    if isinstance(inputs.config, FoundationConfig):
        from infra.layers.foundation import build_foundation

        return build_foundation(inputs, inputs.config)
    from infra.layers.burst import build_burst

    return build_burst(inputs, inputs.config)


if __name__ == "__main__":
    main()
