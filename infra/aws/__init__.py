"""Components on AWS. Each file imports its SDK inside its constructor: see layers.burst."""
