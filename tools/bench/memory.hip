// What memory costs: copies in words of each width, and a stencil whose rows begin anywhere.
#define KERNEL extern "C" __attribute__((global)) void
#define I (__builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x())
typedef float v2 __attribute__((ext_vector_type(2)));
typedef float v4 __attribute__((ext_vector_type(4)));

KERNEL copy1(float *to, const float *from) { to[I] = from[I]; }
KERNEL copy2(v2 *to, const v2 *from) { to[I] = from[I]; }
KERNEL copy4(v4 *to, const v4 *from) { to[I] = from[I]; }
// Each lane has a row of four of its own, a kilobyte from the next.
KERNEL rows4(v4 *to, const v4 *from) {
    unsigned at = (I % 1024) * 64 + I / 1024;
    to[at] = from[at];
}
KERNEL stencil(float *to, const float *from) {
    unsigned at = I + 256;
    to[at] = 0.5f * from[at] + 0.125f * (from[at - 1] + from[at + 1] + from[at - 256] + from[at + 256]);
}
