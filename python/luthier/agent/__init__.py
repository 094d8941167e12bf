"""Programs that run as they are, with their kernels instrumented: the controller's side.

In the program's process is Luthier's agent, a library that ROCr loads (crates/agent). It connects to the controller here,
tells what is loaded and launched, and takes instrumented code objects back.

- :mod:`.wire`: messages between the two
- :mod:`.shared`: memory that both have, for the tools' variables
- :mod:`.loaded`: one loaded code object, and the tools that watch it
- :mod:`.process`: one process of the program
- :mod:`.controller`: all of them, and the program's start and end
"""
