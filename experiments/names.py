"""The import names of this distribution are common words; this makes sure that they are ours."""

from __future__ import annotations

from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

DISTRIBUTION = "kernelwright"
PACKAGES = ("conf", "evolve", "experiments", "fitness", "llm", "operators")


def check_import_names() -> None:
    """Refuses to go on with a stranger's package under one of our names.

    Six distributions on the public index use these import names, and no installer warns when one
    overwrites another.

    Raises:
        ImportError: A name resolves to another place than this copy, or another distribution
            claims it; the message names both.
    """
    home = Path(__file__).resolve().parent.parent
    owners = packages_distributions()
    for name in PACKAGES:
        expected = home / name / "__init__.py"
        spec = find_spec(name)
        origin = Path(spec.origin).resolve() if spec and spec.origin else None
        strangers = sorted(set(owners.get(name, ())) - {DISTRIBUTION})
        if origin != expected or strangers:
            claim = f", also claimed by the distribution {', '.join(strangers)}" if strangers else ""
            raise ImportError(
                f"the import name {name!r} should be {expected.parent}, but is {origin}{claim}; "
                f"install {DISTRIBUTION} into a fresh environment of its own"
            )
