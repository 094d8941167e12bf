// A HIP library that is a tool itself: a mark, hooks that are reached from kernels which nobody launches, variables.
struct dim3 {
    unsigned x, y, z;
};
extern "C" int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, void *);

extern "C" {
__attribute__((managed)) char __luthier_reserved;
__attribute__((managed)) unsigned long counter = 41;
__attribute__((device)) unsigned long more = 7;
__attribute__((device, noinline, used)) void bump() { counter = counter + more; }
__attribute__((global)) void wrapper_of_bump() { bump(); }
}
