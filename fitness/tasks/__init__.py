"""The shipped problems; each is a `fitness.Task`.

Rows of a matrix: `Softmax`, `RowSum`, `LayerNorm`, `RmsNorm`, `RmsNormBackward`, `GeluBias`, `SwiGlu`,
`CrossEntropy`, `PrefixSum`. Movement: `Transpose`, `TruncateEvents`. Products: `Matmul`, `Conv1d`,
`Conv1dFloat16`, `Stencil2d`, `FactorisationMachine`, `Attention`, `Pffn`. Search: `Bucketize`,
`MultiBucketize`, `MapId`. Seeds stand in ``seeds/``, one file a task and language. A task of your own is a
file like these, see CONTRIBUTING.md.
"""

from .attention import Attention
from .bucketize import Bucketize
from .conv1d import Conv1d, Conv1dFloat16
from .cross_entropy import CrossEntropy
from .factorisation_machine import FactorisationMachine
from .gelu_bias import GeluBias
from .layer_norm import LayerNorm
from .map_id import MapId
from .matmul import Matmul
from .multi_bucketize import MultiBucketize
from .pffn import Pffn
from .prefix_sum import PrefixSum
from .rms_norm import RmsNorm
from .rms_norm_backward import RmsNormBackward
from .row_sum import RowSum
from .softmax import Softmax
from .stencil2d import Stencil2d
from .swiglu import SwiGlu
from .tensor_task import TensorTask
from .transpose import Transpose
from .truncate_events import TruncateEvents

__all__ = [
    "TensorTask",
    "Softmax",
    "RowSum",
    "LayerNorm",
    "RmsNorm",
    "RmsNormBackward",
    "GeluBias",
    "SwiGlu",
    "CrossEntropy",
    "PrefixSum",
    "Transpose",
    "TruncateEvents",
    "Matmul",
    "Conv1d",
    "Conv1dFloat16",
    "Stencil2d",
    "FactorisationMachine",
    "Attention",
    "Pffn",
    "Bucketize",
    "MultiBucketize",
    "MapId",
]
