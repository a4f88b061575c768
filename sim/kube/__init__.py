"""The Kubernetes face: one API server per cluster, over the world's nodes and pods.

The official client must work on it unchanged. Holds no rule of the world.
"""
