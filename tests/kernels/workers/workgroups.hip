// What libraries build of single accesses: locks, sums that pass from workgroup to workgroup, lists that shrink.
#include "forms.h"

#define RELAXED __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT
#define ADD(p, n) __hip_atomic_fetch_add(p, n, RELAXED)

// Each workgroup takes a ticket, waits until it is called, and changes what the lock protects.
template <class T> DEVICE void ticket_lock(T *next, T *called, T *shared, u32 rounds) {
    if (local_x() != 0) return;
    for (u32 n = 0; n < rounds; n++) {
        T ticket = ADD(next, T(1));
        while (__hip_atomic_load(called, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != ticket) __builtin_amdgcn_s_sleep(1);
        // Plain accesses: a sum, and a number that ought to be the ticket's.
        shared[0] += ticket;
        shared[1] += shared[2] != ticket;
        shared[2] = ticket + 1;
        __hip_atomic_store(called, ticket + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    }
}
KERNEL ticket_lock_32(u32 *next, u32 *called, u32 *shared, u32 rounds) { ticket_lock(next, called, shared, rounds); }
KERNEL ticket_lock_64(u64 *next, u64 *called, u64 *shared, u32 rounds) { ticket_lock(next, called, shared, rounds); }

// A workgroup's state: whether there is nothing yet, its own sum, or the sum of all workgroups up to it; and that sum.
enum Flag : u32 { EMPTY, PARTIAL, COMPLETE };

struct Packed64 {
    typedef u64 Word;
    typedef u32 Sum;
    static DEVICE Word pack(Flag flag, Sum sum) { return u64(flag) << 32 | sum; }
    static DEVICE Flag flag(Word word) { return Flag(word >> 32); }
    static DEVICE Sum sum(Word word) { return u32(word); }
};

struct Packed128 {
    typedef quad Word;
    typedef u64 Sum;
    static DEVICE Word pack(Flag flag, Sum sum) { return quad{u32(sum), u32(sum >> 32), ~u32(sum), flag}; }
    static DEVICE Flag flag(Word word) { return Flag(word.w); }
    // A sum whose parts do not belong together is none.
    static DEVICE Sum sum(Word word) { return word.z == ~word.x ? word.x | u64(word.y) << 32 : 0xbad; }
};

// An inclusive scan in one pass. Each workgroup of 64 adds up its own numbers, then looks back at those before it, 64 at a
// time, which may have any of the three states.
template <class Packed, class Form> DEVICE void scan(const typename Packed::Sum *in, typename Packed::Sum *out, u8 *states, u32 *tickets) {
    typedef typename Packed::Word Word;
    typedef typename Packed::Sum Sum;
    LDS Sum sums[64], before;
    LDS u32 number, flags[64];
    u32 lane = local_x();
    if (lane == 0) number = ADD(tickets, 1u);
    barrier();
    u32 block = number;
    auto inclusive = [&] {
        for (u32 step = 1; step < 64; step *= 2) {
            Sum other = lane >= step ? sums[lane - step] : 0;
            barrier();
            sums[lane] += other;
            barrier();
        }
    };
    sums[lane] = in[64 * block + lane];
    barrier();
    inclusive();
    Sum mine = sums[lane], all = sums[63];
    barrier();
    if (lane == 0) {
        Form::template store<Word>(states, block * sizeof(Word), Packed::pack(block == 0 ? COMPLETE : PARTIAL, all));
        before = 0;
    }
    barrier();
    for (u32 end = block; end > 0; end = end > 64 ? end - 64 : 0) {
        Word word = Packed::pack(COMPLETE, 0);
        if (lane < end) {
            do word = Form::template load<Word>(states, (end - 1 - lane) * sizeof(Word));
            while (Packed::flag(word) == EMPTY && (__builtin_amdgcn_s_sleep(1), true));
        }
        flags[lane] = Packed::flag(word);
        sums[lane] = Packed::sum(word);
        barrier();
        u32 last = 0;
        while (last < 63 && flags[last] != COMPLETE) last++;
        bool ends = flags[last] == COMPLETE;
        inclusive();
        if (lane == 0) before += sums[last];
        barrier();
        if (ends) break;
    }
    if (lane == 0 && block != 0) Form::template store<Word>(states, block * sizeof(Word), Packed::pack(COMPLETE, before + all));
    out[64 * block + lane] = before + mine;
}
#define SCAN(name, Packed, Form)                                                                                          \
    KERNEL name(const Packed::Sum *in, Packed::Sum *out, u8 *states, u32 *tickets) { scan<Packed, Form>(in, out, states, tickets); }
SCAN(scan_global_64, Packed64, Global)
SCAN(scan_flat_64, Packed64, Flat)
SCAN(scan_buffer_64, Packed64, Buffer)
SCAN(scan_global_128, Packed128, Global)
SCAN(scan_flat_128, Packed128, Flat)
SCAN(scan_buffer_128, Packed128, Buffer)

// The distance of each node to the end of its list (Wyllie's algorithm, in place): a node is the number of the next one and
// the distance to it in one word, which others may shorten at any time.
KERNEL list_ranks(u64 *nodes, u32 count, u32 end) {
    for (u32 i = global_x(); i < count; i += __builtin_amdgcn_grid_size_x())
        for (;;) {
            u64 node = __hip_atomic_load(nodes + i, RELAXED);
            if (u32(node) == end) break;
            u64 next = __hip_atomic_load(nodes + u32(node), RELAXED);
            __hip_atomic_store(nodes + i, (node >> 32 << 32) + next, RELAXED);
        }
}
