// What workgroups see of each other's loads and stores. Each role of a test is a workgroup, each lane a test of its own. Roles
// do not wait for one another: what they store are counts that only grow, so that each load says which stores it came after,
// and every round of a role is compared with every round of the others.
#include "forms.h"

// -DREORDERED: each role does the second of its accesses first, as memory must not.
#ifdef REORDERED
#define IN_ORDER(first, fence, second) second, first
#else
#define IN_ORDER(first, fence, second) first, fence, second
#endif
#define FENCE(order) __builtin_amdgcn_fence(order, "agent")

template <class T> DEVICE T cell(u32 count) { return T(count | u64(count) << 32); }
template <> DEVICE quad cell<quad>(u32 count) { return quad(count); }
// The count in a cell, or more than there are if its parts differ.
template <class T> DEVICE u32 count(T value) { return value == cell<T>(u32(value)) ? u32(value) : ~0u; }
template <> DEVICE u32 count<quad>(quad v) { return v.x == v.y && v.x == v.z && v.x == v.w ? v.x : ~0u; }

// All roles begin at the same time, if there are as many workers.
DEVICE void begin(u32 *arrived, u32 roles) {
    if (roles == 0 || local_x() != 0) return;
    __hip_atomic_fetch_add(arrived, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    while (__hip_atomic_load(arrived, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) < roles);
}

template <class Form, class T> struct Test {
    u8 *cells;
    u32 *seen;
    u32 rounds;

    // A lane's cells of the two locations.
    DEVICE u32 x() { return local_x() * sizeof(T); }
    DEVICE u32 y() { return 2048 + local_x() * sizeof(T); }
    DEVICE u32 load(u32 at) { return count<T>(Form::template load<T>(cells, at)); }
    DEVICE void store(u32 at, u32 n) { Form::template store<T>(cells, at, cell<T>(n)); }
    // What a role has seen in a round, `which` of two loads.
    DEVICE void note(u32 which, u32 n, u32 found) {
        seen[((group_x() * 2 + which) * rounds + n - 1) * block_x() + local_x()] = found;
    }
    DEVICE void note_both(u32 n, u32 first, u32 second) { note(0, n, first), note(1, n, second); }

    DEVICE void message_passing() {
        for (u32 n = 1; n <= rounds; n++)
            if (group_x() == 0) {
                IN_ORDER(store(x(), n), FENCE(__ATOMIC_RELEASE), store(y(), n));
            } else {
                u32 flag, data;
                IN_ORDER(flag = load(y()), FENCE(__ATOMIC_ACQUIRE), data = load(x()));
                note_both(n, flag, data);
            }
    }

    DEVICE void store_buffering() {
        u32 mine = group_x() == 0 ? x() : y(), other = group_x() == 0 ? y() : x();
        for (u32 n = 1; n <= rounds; n++) {
            u32 found;
            IN_ORDER(store(mine, n), FENCE(__ATOMIC_SEQ_CST), found = load(other));
            note(0, n, found);
        }
    }

    DEVICE void load_buffering() {
        u32 mine = group_x() == 0 ? x() : y(), other = group_x() == 0 ? y() : x();
        for (u32 n = 1; n <= rounds; n++) {
            u32 found;
            IN_ORDER(found = load(other), FENCE(__ATOMIC_ACQ_REL), store(mine, n));
            note(0, n, found);
        }
    }

    // Independent reads of independent writes.
    DEVICE void two_readers() {
        u32 role = group_x(), first = role == 2 ? x() : y(), second = role == 2 ? y() : x();
        for (u32 n = 1; n <= rounds; n++)
            if (role < 2) {
                store(role == 0 ? x() : y(), n);
            } else {
                u32 found, later;
                IN_ORDER(found = load(first), FENCE(__ATOMIC_SEQ_CST), later = load(second));
                note_both(n, found, later);
            }
    }

    // Two stores to one location, a load of what was stored last; two loads in a row.
    DEVICE void coherence() {
        for (u32 n = 1; n <= rounds; n++)
            if (group_x() == 0) {
                IN_ORDER(store(x(), 2 * n - 1), void(), store(x(), 2 * n));
                note(0, n, load(x()));
            } else {
                u32 found, later;
                IN_ORDER(found = load(x()), void(), later = load(x()));
                note_both(n, found, later);
            }
    }
};

#define CASE(test, name, Form, T)                                                                            \
    KERNEL test##_##name(u8 *cells, u32 *seen, u32 rounds, u32 *arrived, u32 roles) {                          \
        begin(arrived, roles);                                                                               \
        barrier();                                                                                           \
        Test<Form, T>{cells, seen, rounds}.test();                                                           \
    }
#define WIDTHS(test, name, Form)                                                                             \
    CASE(test, name##_16, Form, u16) CASE(test, name##_32, Form, u32) CASE(test, name##_64, Form, u64) CASE(test, name##_128, Form, quad)
#define FORMS(test) WIDTHS(test, global, Global) WIDTHS(test, flat, Flat) WIDTHS(test, buffer, Buffer)

FORMS(message_passing)
FORMS(store_buffering)
FORMS(load_buffering)
FORMS(two_readers)
FORMS(coherence)
