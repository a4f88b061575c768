"""The cases of any API server, on the twin's face."""

from __future__ import annotations

import pytest

from tests.sim.kube.cases import CASES, Case
from tests.sim.kube.cluster_under_test import ClusterUnderTest


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_twin_is_like_a_real_api_server(case: Case, cluster: ClusterUnderTest) -> None:
    case(cluster)
