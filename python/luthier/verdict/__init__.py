"""What strict mode's findings come to: which count, how they are told, and what a command's status is.

The findings are data (:class:`luthier.findings.Finding`). A :class:`Policy` has the user's suppressions, baseline and
``--fail-on``; what it makes of findings is a :class:`Verdict`. Text, JSON, SARIF, annotations and JUnit are views of the
verdict (:mod:`.formats`), and so is the exit status.
"""

from __future__ import annotations

from .baseline import Baseline
from .formats import FORMATS, render
from .policy import Judged, Policy, Standing, Verdict
from .suppressions import Rule, Suppressions

__all__ = ["FORMATS", "Baseline", "Judged", "Policy", "Rule", "Standing", "Suppressions", "Verdict", "render"]
