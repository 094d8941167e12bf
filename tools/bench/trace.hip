// Loads and stores of each lane, by all lanes of a wave and by a quarter of them.
#define KERNEL extern "C" __attribute__((global)) void

KERNEL full(volatile unsigned *data, unsigned n) {
    unsigned lane = __builtin_amdgcn_workitem_id_x();
    for (unsigned k = 0; k < n; k++) data[lane] = data[lane + 64] + k;
}

KERNEL quarter(volatile unsigned *data, unsigned n) {
    unsigned lane = __builtin_amdgcn_workitem_id_x();
    if (lane & 3) return;
    for (unsigned k = 0; k < n; k++) data[lane] = data[lane + 64] + k;
}
