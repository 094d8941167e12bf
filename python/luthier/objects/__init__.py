"""Reading: code objects, kernels, the loader of the host's; where insertions go."""
