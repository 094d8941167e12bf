// A loop of dependent vector arithmetic: what the emulator's speed is measured with.
extern "C" __attribute__((global)) void valu(float *out, unsigned rounds) {
    unsigned lane = __builtin_amdgcn_workitem_id_x();
    float a = lane, b = lane * 0.5f, c = 1.0f, d = 2.0f;
    unsigned x = lane, y = lane * 7;
#pragma unroll 16
    for (unsigned i = 0; i < rounds; i++) {
        a = a * 0.999f + b;
        b = b * 0.998f + c;
        c = c * 0.997f + d;
        d = d * 0.996f + a;
        x = x * 5 + y;
        y = (y << 3) ^ x;
    }
    out[lane] = a + b + c + d + (float)(x ^ y);
}
