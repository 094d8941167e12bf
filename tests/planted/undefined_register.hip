// Nothing sets the register that decides which lanes store.
KERNEL planted(u32 *out) {
    u32 never;
    asm volatile("; %0 = never set" : "=v"(never));
    if (never) // planted: undefined-register
        out[local_x()] = 1;
}
