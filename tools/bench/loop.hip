// A short loop: what coming back to a block costs.
extern "C" __attribute__((global)) void loop(unsigned *out, unsigned rounds) {
    unsigned lane = __builtin_amdgcn_workitem_id_x(), x = lane;
#pragma unroll 1
    for (unsigned i = 0; i < rounds; i++) x = (x << 3) ^ (x + lane);
    out[lane] = x;
}
