"""Where evaluations run: one after the other, on this machine's cores, on several devices."""

from .local import Local
from .serial import Serial

__all__ = ["Local", "Serial"]
