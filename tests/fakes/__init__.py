"""One small real implementation a port; failures are set as fields."""
