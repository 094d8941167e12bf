// What a load brings is used before it has arrived.
KERNEL planted(u32 *out) {
    u32 value;
    u64 at = (u64)(out + local_x());
    asm volatile("global_load_dword %0, %1, off\n v_add_u32 %0, 1, %0" : "=&v"(value) : "v"(at)); // planted: missing-wait
    out[local_x()] = value;
}
