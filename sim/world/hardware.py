"""What a machine has: GPUs, their model and memory, processors; by instance type.

The twin believes this table, not its caller. AWS from ../shared data (Karpenter's generated list);
Alibaba GPU counts and sizes from the public price lists, GPU memory from the family's page. Must
hold no price: prices stand in the catalogue.
"""

from __future__ import annotations

from dataclasses import dataclass

from contract.catalog import GpuModel, PoolRow, Provider


@dataclass(frozen=True, slots=True)
class Machine:
    """One instance type."""

    name: str
    gpus: int
    gpu_model: GpuModel
    gpu_memory_gib: int
    vcpus: int
    memory_gib: int

    @property
    def product(self) -> str:
        """The name that NVIDIA's driver gives the card, with spaces as DCGM shows it."""
        return _PRODUCTS.get((self.gpu_model, self.gpu_memory_gib), f"NVIDIA {self.gpu_model}")


_PRODUCTS = {
    (GpuModel.A100, 40): "NVIDIA A100-SXM4-40GB",
    (GpuModel.A100, 80): "NVIDIA A100-SXM4-80GB",
    (GpuModel.A800, 80): "NVIDIA A800-SXM4-80GB",
    (GpuModel.H100, 80): "NVIDIA H100 80GB HBM3",
    (GpuModel.T4, 16): "Tesla T4",
    (GpuModel.V100, 16): "Tesla V100-SXM2-16GB",
    (GpuModel.V100, 32): "Tesla V100-SXM2-32GB",
}
_A, _H, _L = GpuModel.A100, GpuModel.H100, GpuModel.L4
_AWS = (
    Machine("p4d.24xlarge", 8, _A, 40, 96, 1152),
    Machine("p4de.24xlarge", 8, _A, 80, 96, 1152),
    Machine("p5.4xlarge", 1, _H, 80, 16, 256),
    Machine("p5.48xlarge", 8, _H, 80, 192, 2048),
    Machine("p5e.48xlarge", 8, GpuModel.H200, 141, 192, 2048),
    Machine("p5en.48xlarge", 8, GpuModel.H200, 141, 192, 2048),
    Machine("p3.2xlarge", 1, GpuModel.V100, 16, 8, 61),
    Machine("p3.8xlarge", 4, GpuModel.V100, 16, 32, 244),
    Machine("p3.16xlarge", 8, GpuModel.V100, 16, 64, 488),
    Machine("p3dn.24xlarge", 8, GpuModel.V100, 32, 96, 768),
    Machine("g4dn.xlarge", 1, GpuModel.T4, 16, 4, 16),
    Machine("g4dn.12xlarge", 4, GpuModel.T4, 16, 48, 192),
    Machine("g4dn.metal", 8, GpuModel.T4, 16, 96, 384),
    Machine("g6.xlarge", 1, _L, 24, 4, 16),
    Machine("g6.2xlarge", 1, _L, 24, 8, 32),
    Machine("g6.4xlarge", 1, _L, 24, 16, 64),
    Machine("g6.8xlarge", 1, _L, 24, 32, 128),
    Machine("g6.12xlarge", 4, _L, 24, 48, 192),
    Machine("g6.16xlarge", 1, _L, 24, 64, 256),
    Machine("g6.24xlarge", 4, _L, 24, 96, 384),
    Machine("g6.48xlarge", 8, _L, 24, 192, 768),
    Machine("g6e.xlarge", 1, GpuModel.L40S, 48, 4, 32),
    Machine("g6e.12xlarge", 4, GpuModel.L40S, 48, 48, 384),
    Machine("g6e.24xlarge", 4, GpuModel.L40S, 48, 96, 768),
    Machine("g6e.48xlarge", 8, GpuModel.L40S, 48, 192, 1536),
)
_ALICLOUD = (
    Machine("ecs.gn6i-c4g1.xlarge", 1, GpuModel.T4, 16, 4, 15),
    Machine("ecs.gn6i-c24g1.24xlarge", 4, GpuModel.T4, 16, 96, 372),
    Machine("ecs.gn6v-c8g1.2xlarge", 1, GpuModel.V100, 16, 8, 32),
    Machine("ecs.gn6v-c8g1.16xlarge", 8, GpuModel.V100, 16, 64, 256),
    Machine("ecs.gn6e-c12g1.24xlarge", 8, GpuModel.V100, 32, 96, 736),
    Machine("ecs.gn7i-c8g1.2xlarge", 1, GpuModel.A10, 24, 8, 30),
    Machine("ecs.gn7i-c16g1.4xlarge", 1, GpuModel.A10, 24, 16, 60),
    Machine("ecs.gn7i-c32g1.8xlarge", 1, GpuModel.A10, 24, 32, 188),
    Machine("ecs.gn7i-c32g1.16xlarge", 2, GpuModel.A10, 24, 64, 376),
    Machine("ecs.gn7i-c32g1.32xlarge", 4, GpuModel.A10, 24, 128, 752),
    Machine("ecs.ebmgn7ix.32xlarge", 8, GpuModel.A10, 24, 128, 512),
    Machine("ecs.gn7e-c16g1.4xlarge", 1, _A, 80, 16, 125),
    Machine("ecs.gn7e-c16g1.8xlarge", 2, _A, 80, 32, 250),
    Machine("ecs.gn7e-c16g1.16xlarge", 4, _A, 80, 64, 500),
    Machine("ecs.gn7e-c16g1.32xlarge", 8, _A, 80, 128, 1000),
    Machine("ecs.ebmgn7e.32xlarge", 8, _A, 80, 128, 1024),
    Machine("ecs.ebmgn7ex.32xlarge", 8, _A, 80, 128, 1024),
    Machine("ecs.gn8is.2xlarge", 1, GpuModel.L20, 48, 8, 64),
    Machine("ecs.gn8is-8x.32xlarge", 8, GpuModel.L20, 48, 128, 1024),
    Machine("ecs.ebmgn8is.32xlarge", 8, GpuModel.L20, 48, 128, 1024),
    Machine("ecs.gn8v.4xlarge", 1, GpuModel.H20, 96, 16, 96),
    Machine("ecs.gn8v.6xlarge", 1, GpuModel.H20, 96, 24, 128),
    Machine("ecs.gn8v-2x.8xlarge", 2, GpuModel.H20, 96, 32, 192),
    Machine("ecs.gn8v-4x.24xlarge", 4, GpuModel.H20, 96, 96, 512),
    Machine("ecs.gn8v-8x.48xlarge", 8, GpuModel.H20, 96, 192, 1024),
    Machine("ecs.ebmgn8v.48xlarge", 8, GpuModel.H20, 96, 192, 1024),
)
_MACHINES = {
    Provider.AWS: {machine.name: machine for machine in _AWS},
    Provider.ALICLOUD: {machine.name: machine for machine in _ALICLOUD},
}


def rented_machine(provider: Provider, instance_type: str) -> Machine | None:
    """The machine that a cloud sells under this name; None when it sells none."""
    return _MACHINES.get(provider, {}).get(instance_type)


def owned_machine(row: PoolRow) -> Machine:
    """An on-prem machine has what its row says."""
    gpus = int(row.gpus_per_node)
    return Machine(row.instance_types[0], gpus, row.gpu_model, int(row.gpu_memory), 16 * gpus, 128 * gpus)
