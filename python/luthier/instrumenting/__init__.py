"""From tools to an instrumented code object: variables, arguments of hooks, the plan."""
