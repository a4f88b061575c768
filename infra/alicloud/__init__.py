"""Components on Alibaba Cloud. Each file imports its SDK inside its constructor: see layers.burst."""
