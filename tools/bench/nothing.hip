// What a launch costs by itself.
extern "C" __attribute__((global)) void nothing(unsigned *) {}
