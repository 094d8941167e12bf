use super::*;

fn relation(order: &Order, earlier: AccessId, later: AccessId) -> Relation {
    order.relation(order.get(earlier).unwrap(), order.get(later).unwrap())
}

#[test]
fn a_barrier_orders_what_was_waited_for() {
    let mut order = Order::new(2, false);
    let (waited, not) = (order.begin(0, 0, false), order.begin(0, 4, false));
    let other = order.begin(1, 8, false);
    assert_eq!(relation(&order, waited, other), Relation::Unordered);
    order.finish(waited);
    assert_eq!(relation(&order, waited, other), Relation::Unordered);
    order.barrier();
    assert_eq!(relation(&order, waited, other), Relation::Ordered);
    assert_eq!(relation(&order, not, other), Relation::NotWaitedFor);
    order.finish(not);
    assert_eq!(relation(&order, not, other), Relation::NotWaitedFor);
    order.finish(other);
    order.barrier();
    assert!(order.get(waited).is_none());
}

#[test]
fn a_signal_orders_what_was_done_before_it() {
    let mut order = Order::new(3, false);
    let before = order.begin(0, 0, false);
    order.finish(before);
    order.arrive(0, 1, false);
    let between = order.begin(0, 4, false);
    order.finish(between);
    order.arrive(1, 1, true);
    let others = [1, 2].map(|wave| order.begin(wave, 8, false));
    let relation = |order: &Order, id, wave: usize| relation(order, id, others[wave - 1]);
    assert_eq!(relation(&order, before, 1), Relation::Unordered);
    order.pass(1, 1);
    assert_eq!(relation(&order, before, 1), Relation::Ordered);
    assert_eq!(relation(&order, between, 1), Relation::Unordered);
    // Who has no part in it learns nothing, and the next round brings what was between.
    assert_eq!(relation(&order, before, 2), Relation::Unordered);
    order.arrive(0, 1, false);
    order.arrive(1, 1, true);
    order.pass(1, 1);
    assert_eq!(relation(&order, between, 1), Relation::Ordered);
    order.forget_ordered();
    assert!(order.get(before).is_some());
    order.pass(2, 1);
    order.forget_ordered();
    assert!(order.get(before).is_none() && order.get(between).is_none());
}

#[test]
fn a_signal_reaches_all_who_pass_its_key() {
    let mut order = Order::new(3, false);
    let [first, second] = [0, 1].map(|wave| {
        let access = order.begin(wave, 0, false);
        order.finish(access);
        order.signal(wave, 7, None);
        access
    });
    let late = order.begin(0, 4, false);
    order.finish(late);
    let other = order.begin(2, 8, false);
    order.pass(2, 6);
    assert_eq!(relation(&order, first, other), Relation::Unordered);
    order.pass(2, 7);
    let relations = [first, second, late].map(|access| relation(&order, access, other));
    assert_eq!(relations, [Relation::Ordered, Relation::Ordered, Relation::Unordered]);
    // A round that is over tells no wave anything.
    order.signal(0, 8, Some(7));
    order.pass(1, 7);
    let other = order.begin(1, 12, false);
    assert_eq!(relation(&order, first, other), Relation::Unordered);
}

#[test]
fn a_lock_orders_what_it_guards() {
    let mut order = Order::new(2, false);
    order.atomic(0, 64, true);
    let guarded = order.begin(0, 0, false);
    order.finish(guarded);
    order.atomic(0, 64, false);
    let other = order.begin(1, 8, false);
    assert_eq!(relation(&order, guarded, other), Relation::Unordered);
    order.atomic(1, 64, true);
    assert_eq!(relation(&order, guarded, other), Relation::Ordered);
}

/// What a wave and another one know of an engine's access: before the wait, behind it, and behind a barrier.
#[test]
fn an_engine_is_waited_for() {
    let mut order = Order::new(2, true);
    let stored = order.begin(0, 0, false);
    let early = order.begin_engine(0, Engine::Tensor, 4, false, true);
    assert_eq!(relation(&order, stored, early), Relation::NotWaitedFor);
    order.finish(stored);
    let [first, second] = [8, 12].map(|pc| order.begin_engine(0, Engine::Tensor, pc, false, true));
    assert_eq!(relation(&order, stored, first), Relation::Ordered);
    assert_eq!(relation(&order, first, second), Relation::Ordered);
    let loads = [16, 20].map(|pc| order.begin_engine(0, Engine::Loads, pc, false, true));
    assert_eq!(relation(&order, loads[0], loads[1]), Relation::NotWaitedFor);
    assert_eq!(relation(&order, first, loads[0]), Relation::NotWaitedFor);
    let (own, other) = (order.begin(0, 24, false), order.begin(1, 24, false));
    assert_eq!(relation(&order, first, own), Relation::NotWaitedFor);
    assert_eq!(relation(&order, first, other), Relation::Unordered);
    order.finish(first);
    assert_eq!(relation(&order, first, own), Relation::Ordered);
    assert_eq!(relation(&order, second, own), Relation::NotWaitedFor);
    order.barrier();
    assert_eq!(relation(&order, first, other), Relation::Ordered);
    assert_eq!(relation(&order, second, other), Relation::NotWaitedFor);
}

/// The last arrival tells what all have done who arrived, to those who look.
#[test]
fn a_barrier_in_lds_tells_what_engines_did() {
    let mut order = Order::new(2, true);
    let tile = order.begin_engine(0, Engine::Tensor, 0, false, true);
    let knows = order.knowledge(0, Some(Engine::Tensor));
    let readers = [0, 1].map(|wave| order.begin(wave, 8, false));
    order.arrive_in_lds(64, &knows, false);
    assert!([0, 1].map(|wave| order.look(wave, 64, 8)) == [true, true] && !order.look(0, 72, 8));
    assert_eq!(relation(&order, tile, readers[0]), Relation::NotWaitedFor);
    assert_eq!(relation(&order, tile, readers[1]), Relation::Unordered);
    let knows = order.knowledge(1, None);
    order.arrive_in_lds(64, &knows, true);
    assert!(order.look(0, 64, 4));
    assert_eq!(relation(&order, tile, readers[0]), Relation::Ordered);
    assert_eq!(relation(&order, tile, readers[1]), Relation::Unordered);
    assert!(order.look(1, 68, 4));
    assert_eq!(relation(&order, tile, readers[1]), Relation::Ordered);
}
