"""What of a kernel's source matters: a model that only retells the kernel it was shown has proposed nothing."""

from __future__ import annotations

import ast
from dataclasses import replace

from evolve.novelty import normalised
from fitness import Kernel


class _Essential(ast.NodeTransformer):
    """Drops docstrings, and what would run only if the file were a program."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else node

    def visit_If(self, node: ast.If) -> ast.AST | None:
        names = {each.id for each in ast.walk(node.test) if isinstance(each, ast.Name)}
        return None if "__name__" in names else self.generic_visit(node)


def essence_of(kernel: Kernel) -> str:
    """Returns a digest that remarks, layout, local names, docstrings and examples of use do not change."""
    return normalised(replace(kernel, source=_without_decoration(kernel.source)))[:16]


def _without_decoration(source: str) -> str:
    """Returns Python without what `_Essential` drops; any other text as it is."""
    try:
        return ast.unparse(_Essential().visit(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
