"""Tools that tests of the agent share."""

from __future__ import annotations

import luthier as lt


class Waves(lt.Tool):
    """Waves of each kernel."""

    count = lt.Counter()

    @lt.hook
    def bump(count: lt.counter):
        count += 1

    def on_kernel(self, kernel):
        kernel.insert_at_entry(self.bump, self.count)

    def on_exit(self, report):
        report.result = int(self.count)
