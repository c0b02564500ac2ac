"""The shipped problems, one a file; each is a `fitness.Task`.

Rows of a matrix: `Softmax`, `RowSum`, `LayerNorm`, `GeluBias`, `PrefixSum`. Movement: `Transpose`.
Products: `Matmul`, `Conv1d`, `Stencil2d`. Search: `Bucketize`. Seeds stand in ``seeds/``, one file a
task and language. A task of your own is a file like these, see CONTRIBUTING.md.
"""

from .bucketize import Bucketize
from .conv1d import Conv1d
from .gelu_bias import GeluBias
from .layer_norm import LayerNorm
from .matmul import Matmul
from .prefix_sum import PrefixSum
from .row_sum import RowSum
from .softmax import Softmax
from .stencil2d import Stencil2d
from .tensor_task import TensorTask
from .transpose import Transpose

__all__ = [
    "TensorTask",
    "Softmax",
    "RowSum",
    "LayerNorm",
    "GeluBias",
    "PrefixSum",
    "Transpose",
    "Matmul",
    "Conv1d",
    "Stencil2d",
    "Bucketize",
]
