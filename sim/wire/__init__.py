"""The clouds' own APIs over HTTP, for the few calls that the agent and a person make with the official SDKs.

AWS: Auto Scaling, EC2 and EKS; Alibaba: ESS and CS. Only translation: the rules of groups stand in
sim.world.scaling_groups. Signatures are not checked, credentials only for being there.
"""
