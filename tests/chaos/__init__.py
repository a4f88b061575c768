"""The whole tick on the world with a hostile Pulumi, cloud and cluster in between; many seeds."""
