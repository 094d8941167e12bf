"""Kernels in Triton and Gluon, each with its inputs and with what NumPy makes of them."""
