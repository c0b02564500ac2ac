"""The pages of ``experiments.browse``: all runs below a folder, read as they grow, and never written to.

- `Root` opens files below one folder and no others; `GrowingFile` gives out whole lines once.
- `Recording` is one run; of long records it keeps only the places. `JournalIndex` keeps the journal's.
- `Collection` finds and summarises runs; `filtering` is the language in which they are chosen.
- `application` makes the pages, with `figures` and `lineage_tree`; `listening` offers them to this machine alone.
"""

from .collection import Collection
from .pages import application
from .recording import Recording
from .server import listening

__all__ = ["Collection", "Recording", "application", "listening"]
