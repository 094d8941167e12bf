"""What Triton finds by the entry point ``triton.backends``: a driver that is active when a mock device is installed. The
compiler beside it compiles nothing; Triton's own AMD back end does."""
