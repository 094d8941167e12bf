"""Programs that run as they are, with their kernels instrumented: the controller's side.

In the program's process is Luthier's agent, a library that ROCr loads (crates/agent). It connects to the controller here,
tells what is loaded, launched and called, and takes instrumented code objects back.

- :mod:`.wire`: messages between the two
- :mod:`.shared`: memory that both have, for the tools' variables
- :mod:`.functions`: functions of HSA and HIP that can be wrapped
- :mod:`.calls`, :mod:`.events`, :mod:`.launches`: what tools hear of
- :mod:`.selection`: which launches are instrumented
- :mod:`.modules`: HIP libraries that are tools themselves
- :mod:`.loaded`: one loaded code object, and the tools that watch it
- :mod:`.app`, :mod:`.process`: one process of the program, as tools see it, and what its agent says
- :mod:`.controller`: all of them, and the program's start and end
"""
