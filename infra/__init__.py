"""The Pulumi program: declares the platform that a stack file asks for and decides nothing."""
