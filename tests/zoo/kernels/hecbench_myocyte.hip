// Two blocks run two models side by side. The second one's last result goes to the first one's array instead of `com`.
KERNEL exhibit(const float *init, float *final, float *com) {
    if (local_x() != 0) return;
    if (group_x() == 0)
        for (u32 k = 0; k < 46; k++) final[k] = init[k] * 2; // found: memory-race
    else {
        for (u32 k = 46; k < 91; k++) final[k] = init[k] * 3;
        for (u32 k = 0; k < 3; k++)
#ifdef MENDED
            com[k] = init[k] * 5;
#else
            final[k] = init[k] * 5; // found: memory-race
#endif
    }
}
