"""The digital twin: clouds, clusters and a workload that the shipped agent meets unchanged.

It may know the contract's vocabulary and third-party libraries; it must know nothing of the agent
or the Pulumi program, so that it cannot share their mistakes.
"""
