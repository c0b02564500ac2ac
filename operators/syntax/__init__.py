"""Syntax trees and edits of them: what the operators without a model are made of.

`parse` gives a `Tree`; a `Kind` of edit proposes an `Edit` for it; `applied` makes the new source.
"""

from .edit import Edit, Kind, applied
from .tree import Tree, parse

__all__ = ["Edit", "Kind", "Tree", "applied", "parse"]
