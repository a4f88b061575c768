"""The dedicated lines: both ends of each as one component."""
