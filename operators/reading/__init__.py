"""Reading answers: from what a model said to a kernel's source.

`read_answer` is the door; `Outcome` is the closed list of how it can end, `Reading` what it returns.
"""

from .outcome import Outcome, Reading
from .reader import LONGEST_ANSWER, Mode, read_answer

__all__ = ["Outcome", "Reading", "Mode", "LONGEST_ANSWER", "read_answer"]
