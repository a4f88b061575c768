"""The long-running service: senses, decides, acts through Pulumi, records. See docs/architecture.md."""
