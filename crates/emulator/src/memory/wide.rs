//! Sixteen bytes of memory, read or written at once.
//!
//! Intel (manual, volume 3, "Guaranteed atomic operations") and AMD (manual, volume 2, "Access atomicity") promise that an
//! aligned move of sixteen bytes is whole on every processor that has AVX. One without AVX has `cmpxchg16b`, which writes
//! what it has read: memory that kernels may not write is read in halves then, since no kernel changes it. Hosts of other
//! kinds move halves.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

/// Four words.
pub type Quad = [u32; 4];

/// What the host has: not known yet, or one of the others.
const UNKNOWN: u8 = 0;
const AVX: u8 = 1;
const EXCHANGE: u8 = 2;
const HALVES: u8 = 3;

#[inline(always)]
fn means() -> u8 {
    static MEANS: AtomicU8 = AtomicU8::new(UNKNOWN);
    match MEANS.load(Relaxed) {
        UNKNOWN => {
            let found = found();
            MEANS.store(found, Relaxed);
            found
        }
        known => known,
    }
}

/// `LUTHIER_EMULATOR_SIMD=base` says that there is no AVX (to test the rest).
#[cold]
fn found() -> u8 {
    #[cfg(target_arch = "x86_64")]
    {
        let is_base = crate::environment::word(crate::level::VARIABLE) == "base";
        if is_x86_feature_detected!("avx") && !is_base {
            return AVX;
        }
        if is_x86_feature_detected!("cmpxchg16b") {
            return EXCHANGE;
        }
    }
    HALVES
}

/// The four words at an aligned place. `writable`: a kernel may write there.
///
/// # Safety
/// Sixteen bytes are there, all threads access them atomically, and the place is a multiple of sixteen.
#[inline(always)]
pub unsafe fn load(at: *const u8, writable: bool) -> Quad {
    debug_assert!(at.addr().is_multiple_of(16));
    match means() {
        // SAFETY: the caller's promises, and `means` says what the processor has.
        #[cfg(target_arch = "x86_64")]
        AVX => unsafe { x86::load(at) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        EXCHANGE if writable => words(unsafe { x86::exchange(at, 0, 0) }),
        // SAFETY: as above.
        _ => unsafe { load_halves(at) },
    }
}

/// Stores four words at an aligned place.
///
/// # Safety
/// As [`load`], and the bytes may be written.
#[inline(always)]
pub unsafe fn store(at: *const u8, value: Quad) {
    debug_assert!(at.addr().is_multiple_of(16));
    match means() {
        // SAFETY: the caller's promises, and `means` says what the processor has.
        #[cfg(target_arch = "x86_64")]
        AVX => unsafe { x86::store(at, value) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        EXCHANGE => unsafe { x86::swap(at, number(value)) },
        // SAFETY: as above.
        _ => unsafe { store_halves(at, value) },
    }
}

/// Columns of four rows.
#[inline(always)]
pub fn transposed(rows: &[Quad; 4]) -> [Quad; 4] {
    #[cfg(target_arch = "x86_64")]
    {
        x86::transposed(rows)
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::array::from_fn(|k| rows.map(|row| row[k]))
}

#[cfg(target_arch = "x86_64")]
fn words(value: u128) -> Quad {
    std::array::from_fn(|k| (value >> (32 * k)) as u32)
}

#[cfg(target_arch = "x86_64")]
fn number(words: Quad) -> u128 {
    words.iter().rev().fold(0, |all, &word| all << 32 | u128::from(word))
}

/// # Safety
/// As [`load`].
#[cold]
unsafe fn load_halves(at: *const u8) -> Quad {
    let mut out = [0; 4];
    for (k, pair) in out.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        // SAFETY: eight of the sixteen bytes, which are aligned.
        let half = unsafe { &*at.add(8 * k).cast::<AtomicU64>() }.load(Relaxed);
        *pair = [half as u32, (half >> 32) as u32];
    }
    out
}

/// # Safety
/// As [`store`].
#[cold]
unsafe fn store_halves(at: *const u8, value: Quad) {
    for (k, [low, high]) in value.as_chunks::<2>().0.iter().enumerate() {
        let half = u64::from(*low) | u64::from(*high) << 32;
        // SAFETY: eight of the sixteen bytes, which are aligned.
        unsafe { &*at.add(8 * k).cast::<AtomicU64>() }.store(half, Relaxed);
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::asm;
    use std::arch::x86_64::{__m128i, _mm_unpackhi_epi32, _mm_unpackhi_epi64, _mm_unpacklo_epi32, _mm_unpacklo_epi64};

    use super::Quad;

    // A vector load that the compiler knows of might be split or done twice: it does not take other threads' stores into account.

    /// # Safety
    /// As [`super::load`]; the processor has AVX.
    #[inline(always)]
    pub unsafe fn load(at: *const u8) -> Quad {
        let out: __m128i;
        // SAFETY: reads sixteen bytes that are there.
        unsafe {
            asm!("vmovdqa {out}, xmmword ptr [{at}]", at = in(reg) at, out = lateout(xmm_reg) out, options(nostack, preserves_flags, readonly));
            std::mem::transmute(out)
        }
    }

    /// # Safety
    /// As [`super::store`]; the processor has AVX.
    #[inline(always)]
    pub unsafe fn store(at: *const u8, value: Quad) {
        // SAFETY: writes sixteen bytes that are there.
        unsafe {
            let value: __m128i = std::mem::transmute(value);
            asm!("vmovdqa xmmword ptr [{at}], {value}", at = in(reg) at, value = in(xmm_reg) value, options(nostack, preserves_flags));
        }
    }

    #[inline(always)]
    pub fn transposed(rows: &[Quad; 4]) -> [Quad; 4] {
        // SAFETY: SSE2 is part of x86_64; sixteen bytes each.
        unsafe {
            let [a, b, c, d]: [__m128i; 4] = std::mem::transmute(*rows);
            let (low, high) = (_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
            let (other_low, other_high) = (_mm_unpacklo_epi32(c, d), _mm_unpackhi_epi32(c, d));
            std::mem::transmute([
                _mm_unpacklo_epi64(low, other_low),
                _mm_unpackhi_epi64(low, other_low),
                _mm_unpacklo_epi64(high, other_high),
                _mm_unpackhi_epi64(high, other_high),
            ])
        }
    }

    /// Writes `new` if `old` is there; what was there.
    ///
    /// # Safety
    /// As [`super::store`]; the processor has `cmpxchg16b`.
    #[cold]
    pub unsafe fn exchange(at: *const u8, old: u128, new: u128) -> u128 {
        let (mut low, mut high) = (old as u64, (old >> 64) as u64);
        // SAFETY: sixteen aligned bytes that may be written. RBX is the compiler's, and has what it had afterwards.
        unsafe {
            asm!(
                "xchg {new_low}, rbx",
                "lock cmpxchg16b xmmword ptr [rdi]",
                "mov rbx, {new_low}",
                in("rdi") at,
                new_low = inout(reg) new as u64 => _,
                in("rcx") (new >> 64) as u64,
                inout("rax") low,
                inout("rdx") high,
                options(nostack),
            );
        }
        u128::from(low) | u128::from(high) << 64
    }

    /// # Safety
    /// As [`exchange`].
    #[cold]
    pub unsafe fn swap(at: *const u8, new: u128) {
        let mut old = 0;
        loop {
            // SAFETY: the caller's promises.
            match unsafe { exchange(at, old, new) } {
                found if found == old => return,
                found => old = found,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::AtomicBool;

    use super::*;

    /// A value that says by each of its words which one it is.
    fn value(n: u32) -> Quad {
        [n, !n, n.rotate_left(8), n ^ 0x5555_5555]
    }

    #[repr(align(16))]
    struct Place([AtomicU64; 2]);

    /// How sixteen bytes are loaded and stored.
    struct Way {
        load: unsafe fn(*const u8) -> Quad,
        store: unsafe fn(*const u8, Quad),
    }

    impl Way {
        fn load(&self, place: &Place) -> Quad {
            // SAFETY: sixteen aligned bytes, which the tests' threads access in one way alone.
            unsafe { (self.load)(place.0.as_ptr().cast()) }
        }
        fn store(&self, place: &Place, value: Quad) {
            // SAFETY: as above.
            unsafe { (self.store)(place.0.as_ptr().cast(), value) }
        }
        /// Two threads store while this one loads: whether what it loads was stored as a whole.
        fn is_whole(&self, loads: u32) -> bool {
            let (place, over, begun) =
                (&Place([const { AtomicU64::new(0) }; 2]), AtomicBool::new(false), Barrier::new(3));
            self.store(place, value(0));
            std::thread::scope(|scope| {
                for first in 0..2 {
                    let (over, begun) = (&over, &begun);
                    scope.spawn(move || {
                        begun.wait();
                        (0..).take_while(|_| !over.load(Relaxed)).for_each(|n| self.store(place, value(2 * n + first)));
                    });
                }
                begun.wait();
                let is_whole = (0..loads).map(|_| self.load(place)).all(|found| found == value(found[0]));
                over.store(true, Relaxed);
                is_whole
            })
        }
    }

    /// # Safety
    /// As [`load`].
    unsafe fn load_shared(at: *const u8) -> Quad {
        // SAFETY: the caller's promises.
        unsafe { load(at, true) }
    }

    #[test]
    fn sixteen_bytes_are_moved_at_once() {
        assert!(Way { load: load_shared, store }.is_whole(1_000_000));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn processors_without_avx_move_sixteen_bytes_at_once_too() {
        /// # Safety
        /// As [`load`].
        unsafe fn load(at: *const u8) -> Quad {
            // SAFETY: the caller's promises; the test asks for the instruction.
            words(unsafe { x86::exchange(at, 0, 0) })
        }
        /// # Safety
        /// As [`store`].
        unsafe fn store(at: *const u8, value: Quad) {
            // SAFETY: as above.
            unsafe { x86::swap(at, number(value)) }
        }
        assert!(is_x86_feature_detected!("cmpxchg16b"));
        assert!(Way { load, store }.is_whole(500_000));
    }

    #[test]
    fn rows_become_columns() {
        let rows = std::array::from_fn(|row| std::array::from_fn(|k| (10 * row + k) as u32));
        assert_eq!(transposed(&rows), std::array::from_fn(|k| rows.map(|row: Quad| row[k])));
    }

    #[test]
    fn halves_are_the_same_bytes() {
        let place = Place([const { AtomicU64::new(7) }; 2]);
        let at = place.0.as_ptr().cast();
        // SAFETY: sixteen aligned bytes.
        unsafe {
            store_halves(at, value(3));
            assert_eq!((load_halves(at), load(at, false)), (value(3), value(3)));
            store(at, value(4));
            assert_eq!(load_halves(at), value(4));
        }
    }
}
