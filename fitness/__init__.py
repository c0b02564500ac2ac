"""From a kernel to its evaluation: what can be built, checked and timed, and with what result.

The nouns: `Kernel` is the source text, `Task` the problem with its reference and tolerance,
`Workload` one size of it, `Target` the hardware, `Language` how a source is built, `Evaluation`
the record with its closed `Status`. Members live in the sub-packages `tasks`, `languages`,
`targets` and `executors`; `spaces` has recorded tuning spaces, which are searched by look-up.
"""

from .baselines import BASELINES
from .errors import (
    FitnessError,
    MachineError,
    SandboxError,
    TargetError,
    TargetLost,
    TargetUnavailable,
    TaskError,
    ToolchainError,
)
from .evaluation import Baseline, Calibration, Duel, Evaluation, Measurement, Status
from .evaluator import Evaluator
from .executor import Executor
from .kernel import Kernel, read_source
from .language import Build, Language, Need
from .restricted import Restricted
from .target import Peak, Target
from .task import Cost, Task, TensorSpec, Workload

__all__ = [
    "Kernel",
    "read_source",
    "Task",
    "TensorSpec",
    "Workload",
    "Cost",
    "Restricted",
    "Target",
    "Peak",
    "Language",
    "Build",
    "Need",
    "Evaluator",
    "Evaluation",
    "Measurement",
    "Baseline",
    "BASELINES",
    "Status",
    "Duel",
    "Calibration",
    "Executor",
    "FitnessError",
    "MachineError",
    "SandboxError",
    "TargetError",
    "TargetLost",
    "TargetUnavailable",
    "TaskError",
    "ToolchainError",
]
