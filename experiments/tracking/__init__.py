"""Where the figures of a run go while it runs, beside its own records: one class a file.

`CsvTracker` writes a table, `MlflowTracker` to MLflow, `TensorboardTracker` event files; `Tracker` is what they have in
common, and `figures` says what all of them are given.
"""

from .beginning import begun
from .csv_tracker import CsvTracker
from .mlflow_tracker import MlflowTracker
from .tensorboard_tracker import TensorboardTracker
from .tracker import Tracker, figures

__all__ = ["Tracker", "begun", "CsvTracker", "MlflowTracker", "TensorboardTracker", "figures"]
