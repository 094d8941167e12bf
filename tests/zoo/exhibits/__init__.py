"""The exhibits of the zoo: published bugs of GPU kernels and compilers, made again."""
