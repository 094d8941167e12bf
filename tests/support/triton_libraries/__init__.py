"""Operators of libraries of Triton kernels, each with inputs and with what torch on the CPU makes of them."""
