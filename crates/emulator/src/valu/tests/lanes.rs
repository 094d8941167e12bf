//! Moves, selection and the operations between lanes and scalars.

use super::{Bench, DEFAULT, MASK, RESULT, SOURCES};
use crate::registers::Row;

fn numbered(bench: &mut Bench) {
    for lane in 0..64 {
        bench.set(0, lane, 100 + lane as u64);
        bench.set(1, lane, 200 + lane as u64);
    }
}

#[test]
fn writes_respect_exec() {
    let mut bench = Bench::new(DEFAULT);
    numbered(&mut bench);
    *bench.wave.row_mut(RESULT) = Row([7; 64]);
    bench.wave.set_exec(0x8000_0000_0000_0005);
    bench.run("v_mov_b32");
    for lane in 0..64 {
        let on = [0, 2, 63].contains(&lane);
        assert_eq!(bench.get32(lane), if on { 100 + lane as u32 } else { 7 });
    }
}

#[test]
fn cndmask_selects_by_mask() {
    let mut bench = Bench::new(DEFAULT);
    numbered(&mut bench);
    let mask = 0x0123_4567_89ab_cdef;
    bench.wave.set_s64(MASK, mask);
    bench.run("v_cndmask_b32");
    for lane in 0..64 {
        let want = if mask >> lane & 1 != 0 { 200 } else { 100 } + lane as u32;
        assert_eq!(bench.get32(lane), want);
    }
}

#[test]
fn swap_exchanges_active_lanes() {
    let mut bench = Bench::new(DEFAULT);
    numbered(&mut bench);
    (bench.op.dst, bench.op.src[2]) = (SOURCES[0], SOURCES[1]);
    bench.wave.set_exec(1 << 9);
    bench.run("v_swap_b32");
    assert_eq!((bench.wave.row(SOURCES[0]).0[9], bench.wave.row(SOURCES[1]).0[9]), (209, 109));
    assert_eq!((bench.wave.row(SOURCES[0]).0[8], bench.wave.row(SOURCES[1]).0[8]), (108, 208));
}

#[test]
fn lanes_and_scalars() {
    let mut bench = Bench::new(DEFAULT);
    numbered(&mut bench);
    bench.op.sdst = 30;
    for (exec, want) in [(!0u64, 100), (0xff00, 108), (1 << 63, 163), (0, 100)] {
        bench.wave.set_exec(exec);
        bench.run("v_readfirstlane_b32");
        assert_eq!(bench.wave.s[30], want, "EXEC {exec:#x}");
    }
    // EXEC is still zero: the others do not look at it. The lane is taken modulo 64.
    bench.op.src[1] = 31;
    bench.wave.s[31] = 64 + 17;
    bench.run("v_readlane_b32");
    assert_eq!(bench.wave.s[30], 117);
    bench.wave.s[32] = 0xcafe;
    bench.op.src = [32, 31, 0];
    bench.run("v_writelane_b32");
    assert_eq!((bench.get32(17), bench.get32(16)), (0xcafe, 0));
}

#[test]
fn mbcnt_counts_lower_lanes() {
    let mask = 0xf0f0_1234_8001_ffffu64;
    let mut bench = Bench::new(DEFAULT);
    for lane in 0..64 {
        bench.set(0, lane, mask & 0xffff_ffff);
        bench.set(1, lane, 10);
    }
    bench.run("v_mbcnt_lo_u32_b32");
    let low = *bench.wave.row(RESULT);
    for lane in 0..64 {
        bench.set(0, lane, mask >> 32);
        bench.set(1, lane, low.0[lane].into());
    }
    bench.run("v_mbcnt_hi_u32_b32");
    for lane in 0..64 {
        assert_eq!(bench.get32(lane), 10 + (mask & ((1u64 << lane) - 1)).count_ones());
    }
}
