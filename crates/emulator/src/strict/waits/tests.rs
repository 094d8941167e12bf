use super::*;
use crate::strict::operations::{ASYNC, OWN_ORDER, SCALAR, TENSOR};

fn load(waits: &mut Waits, reg: Reg, counters: Counters, unordered: bool) {
    waits.pending[reg.index()] += 1;
    waits.any = true;
    waits.counting |= counters;
    let mut loaded = Loaded::default();
    loaded.add(reg, 1);
    let needs = counters;
    waits.in_flight.push_back(InFlight {
        loaded,
        filled: !0,
        counters,
        needs,
        unordered,
        order: 0,
        access: 0,
        seq: 0,
        stream: 0,
    });
}

fn both(loads: u32, lds: u32) -> Wait {
    Wait::of(LOADS, loads).and(Wait::of(LDS, lds))
}

#[test]
fn vector_memory_completes_in_order() {
    let mut w = Waits::default();
    load(&mut w, Reg::vgpr(1), LOADS, false);
    load(&mut w, Reg::vgpr(2), LOADS, false);
    w.wait(&both(1, 15));
    assert_eq!((w.pending[Reg::vgpr(1).index()], w.pending[Reg::vgpr(2).index()]), (0, 1));
    w.wait(&both(0, 15));
    assert!(!w.any);
}

#[test]
fn scalar_loads_are_only_done_at_zero() {
    let mut w = Waits::default();
    load(&mut w, Reg::vgpr(1), LDS, false);
    load(&mut w, Reg::sgpr(1), LDS, true);
    w.wait(&both(63, 1));
    assert_eq!((w.pending[Reg::vgpr(1).index()], w.pending[Reg::sgpr(1).index()]), (1, 1));
    w.wait(&both(63, 0));
    assert!(!w.any);
}

#[test]
fn an_access_to_lds_counts_where_it_went_nowhere_too() {
    let flat = |w: &mut Waits, in_order| {
        load(w, Reg::vgpr(1), LOADS, false);
        load(w, Reg::vgpr(2), LOADS | LDS, false);
        w.flat_lanes(false, true, in_order);
        load(w, Reg::vgpr(3), LOADS, false);
    };
    for (in_order, left) in [(true, [0, 1, 1]), (false, [1, 1, 1])] {
        let mut w = Waits::default();
        flat(&mut w, in_order);
        w.wait(&Wait::of(LOADS, 2));
        assert_eq!([1, 2, 3].map(|n| w.pending[Reg::vgpr(n).index()]), left, "in order: {in_order}");
        w.wait(&Wait::of(LDS, 0));
        assert_eq!(w.pending[Reg::vgpr(2).index()], 0);
        w.wait(&Wait::of(LOADS, 0));
        assert!(w.in_flight.is_empty() && !w.any);
    }
}

/// Of two loads and two stores, one may remain: the adversary keeps the last of either kind, whichever is asked for.
#[test]
fn asynchronous_loads_and_stores_have_an_order_each() {
    let mut w = Waits::default();
    for (n, order) in [(1, 0), (2, OWN_ORDER), (3, 0), (4, OWN_ORDER)] {
        load(&mut w, Reg::vgpr(n), ASYNC, false);
        w.in_flight.back_mut().unwrap().order = order;
    }
    let pending = |w: &Waits| [1, 2, 3, 4].map(|n| w.pending[Reg::vgpr(n).index()]);
    w.wait(&Wait::of(ASYNC, 2));
    assert_eq!(pending(&w), [1, 1, 1, 1]);
    w.wait(&Wait::of(ASYNC, 1));
    assert_eq!(pending(&w), [0, 0, 1, 1]);
    w.wait(&Wait::of(TENSOR, 0));
    assert_eq!(pending(&w), [0, 0, 1, 1]);
    w.wait(&Wait::of(ASYNC, 0));
    assert!(!w.any);
}

/// They complete in any order, so that only a wait for zero ends any: but the same registers need no second record.
#[test]
fn scalar_loads_without_end_are_remembered_once_for_each_register() {
    let mut w = Waits::default();
    for n in 0..100_000u32 {
        w.make_room(LDS, &[63; COUNTERS]);
        load(&mut w, Reg::sgpr((n % 90) as u16), LDS, true);
        if w.in_flight.len() > w.room {
            w.forget_repeats();
        }
    }
    assert!(w.in_flight.len() <= 2 * MANY, "{}", w.in_flight.len());
    assert!((0..90).all(|n| w.pending[Reg::sgpr(n).index()] > 0));
    w.wait(&Wait::of(LDS, 0));
    assert!(!w.any && w.pending.iter().all(|&n| n == 0));
}

/// The oldest operation of each order is done when one more is issued than there is room for, whatever that is; what
/// has no order never is.
#[test]
fn a_full_counter_lets_the_oldest_be_done_first() {
    const MOST: u16 = 15;
    let (first, scalar) = (Reg::vgpr(200).index(), Reg::sgpr(9).index());
    // How many DS operations follow the first, the number behind which a scalar load comes, and whether the first is there.
    for (behind, with_scalar, left) in [
        (MOST - 1, None, 1),
        (MOST, None, 0),
        (MOST - 2, Some(MOST - 2), 1),
        (MOST - 1, Some(MOST - 1), 0),
        (MOST - 1, Some(3), 1),
        (MOST, Some(3), 0),
    ] {
        let mut w = Waits::default();
        let mut issue = |reg, unordered| {
            w.make_room(LDS, &[MOST as u8; COUNTERS]);
            load(&mut w, reg, LDS, unordered);
        };
        issue(Reg::vgpr(200), false);
        for n in 0..=behind {
            if with_scalar == Some(n) {
                issue(Reg::sgpr(9), true);
            }
            if n < behind {
                issue(Reg::vgpr(n), false);
            }
        }
        let found = (w.pending[first], w.pending[scalar]);
        assert_eq!(found, (left, u8::from(with_scalar.is_some())), "{behind} behind, {with_scalar:?}");
    }
    // Asynchronous stores make room for loads, but say nothing of them.
    let mut w = Waits::default();
    for order in [0].into_iter().chain([OWN_ORDER; 62]) {
        w.make_room(ASYNC, &[63; COUNTERS]);
        load(&mut w, Reg::vgpr(7), ASYNC, false);
        w.in_flight.back_mut().unwrap().order = order;
    }
    w.make_room(ASYNC, &[63; COUNTERS]);
    assert_eq!(w.pending[Reg::vgpr(7).index()], 63);
}

#[test]
fn a_wait_for_one_counter_leaves_the_others() {
    let mut w = Waits::default();
    load(&mut w, Reg::vgpr(1), LOADS, false);
    load(&mut w, Reg::sgpr(1), SCALAR, true);
    w.wait(&Wait::of(STORES, 0));
    assert_eq!((w.pending[Reg::vgpr(1).index()], w.pending[Reg::sgpr(1).index()]), (1, 1));
    w.wait(&Wait::of(SCALAR, 0));
    assert_eq!((w.pending[Reg::vgpr(1).index()], w.pending[Reg::sgpr(1).index()]), (1, 0));
}
