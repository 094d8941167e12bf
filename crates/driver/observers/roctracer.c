// libroctracer64.so.4, where the real one is absent: starting and stopping a trace that nothing writes, as CuPy asks.
#include <stdint.h>

uint32_t roctracer_version_major(void) { return 4; }
uint32_t roctracer_version_minor(void) { return 1; }
void roctracer_start(void) {}
void roctracer_stop(void) {}
