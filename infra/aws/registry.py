"""The image registry on AWS: the repository that the on-prem Harbor pushes to."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from infra.naming import Kind, cloud_name


@dataclass(frozen=True, slots=True, kw_only=True)
class EcrRegistryArgs:
    """The repository's name."""

    repository: str


class EcrRegistry(pulumi.ComponentResource):
    """One repository. Tags cannot be moved, so that the same tag is the same image on every side."""

    address: pulumi.Output[str]

    def __init__(self, name: str, args: EcrRegistryArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("spillway:aws:EcrRegistry", name, None, opts)
        from pulumi_aws import ecr

        repository = ecr.Repository(
            name,
            name=cloud_name(Kind.ECR_REPOSITORY, args.repository),
            image_tag_mutability="IMMUTABLE",
            image_scanning_configuration=ecr.RepositoryImageScanningConfigurationArgs(scan_on_push=True),
            opts=pulumi.ResourceOptions(parent=self, protect=True),
        )
        self.address = repository.repository_url
        self.register_outputs({"address": self.address})
