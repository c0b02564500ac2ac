"""Where evaluations run: one after the other, on this machine's cores and devices, on a Ray cluster."""

from .cluster import connected
from .local import Local
from .ray import Ray
from .serial import Serial

__all__ = ["Local", "Ray", "Serial", "connected"]
