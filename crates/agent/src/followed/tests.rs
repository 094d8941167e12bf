use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// A packet whose own signal is 100 and its number.
fn under(number: u64, theirs: u64) -> Under {
    let [agent, ours, theirs] = [1, 100 + number, theirs].map(Handle);
    Under { launch: Some((0, number)), agent, ours, theirs, late: false }
}

fn followed(number: u64) -> (Followed, Place) {
    let followed = Followed::default();
    let place = followed.add(0, under(number, 0));
    (followed, place)
}

fn no(_: &Under) {
    panic!("it is told twice");
}

fn number(under: &Under) -> u64 {
    under.launch.expect("a launch").1
}

#[test]
fn a_launch_that_the_runtime_speaks_of_is_told_once() {
    let ((followed, place), told) = (followed(7), AtomicUsize::new(0));
    followed.heard(
        place,
        |_| true,
        |under| {
            assert_eq!((number(under), followed.signal()), (7, None));
            told.fetch_add(1, Ordering::Relaxed);
        },
    );
    followed.heard(place, |_| true, no);
    followed.found(|_| true, |_| true, None, no);
    assert_eq!(told.into_inner(), 1);
    assert_eq!([followed.signal(), followed.signal()], [Some(Handle(107)), None]);
}

#[test]
fn a_signal_is_not_used_again_before_the_runtime_has_spoken_of_it() {
    let ((followed, place), told) = (followed(7), AtomicUsize::new(0));
    followed.found(|_| false, |_| true, None, no);
    let tell = |_: &Under| {
        told.fetch_add(1, Ordering::Relaxed);
    };
    followed.found(|_| true, |_| true, None, tell);
    assert_eq!((told.into_inner(), followed.is_empty(), followed.signal()), (1, true, None));
    followed.heard(place, |_| true, no);
    assert_eq!([followed.signal(), followed.signal()], [Some(Handle(107)), None]);
}

#[test]
fn a_signal_of_which_the_runtime_speaks_too_early_is_used_once_the_end_is_told() {
    let (followed, place) = followed(7);
    let tell = |_: &Under| {
        followed.heard(place, |_| true, no);
        assert_eq!(followed.signal(), None);
    };
    followed.found(|_| true, |_| true, None, tell);
    assert_eq!([followed.signal(), followed.signal()], [Some(Handle(107)), None]);
}

#[test]
fn nothing_is_looked_at_after_the_end() {
    let (followed, _) = followed(7);
    followed.end(false);
    followed.found(|_| panic!("a signal is looked at"), |_| true, None, no);
    followed.begin();
    followed.found(|under| number(under) == 7, |_| true, None, |_| {});
    followed.end(true);
    assert_eq!((followed.is_empty(), followed.signal()), (true, None));
}

#[test]
fn those_in_front_of_what_the_application_waits_for_are_told_first() {
    let followed = Followed::default();
    let mut places = Vec::new();
    // In two queues; 5 has a signal of the application's, and 3 is not over.
    for (number, queue, theirs) in [(1, 6, 0), (2, 7, 0), (3, 6, 0), (4, 6, 0), (5, 6, 9), (6, 6, 0)] {
        places.push(followed.add(queue, under(number, theirs)));
    }
    let told = RefCell::new(Vec::new());
    let tell = |under: &Under| told.borrow_mut().push(number(under));
    followed.heard(places[4], |under| number(under) != 3, tell);
    assert_eq!(told.take(), [1, 4, 5]);
    // The application waits for no signal of packet 6, so its end tells nothing of packet 3.
    followed.heard(places[5], |_| true, tell);
    assert_eq!(told.take(), [6]);
    assert_eq!([places[0], places[2], places[4]].map(|place| followed.is_told(place)), [true, false, true]);
    assert_eq!([6, 7, 8].map(|queue| followed.has_of(queue)), [true, true, false]);
    // 1 and 4 were not heard of yet, so their signals are not used again.
    let signals: Vec<u64> = std::iter::from_fn(|| followed.signal()).map(|signal| signal.0).collect();
    assert_eq!(signals, [106, 105]);
    followed.found(|under| number(under) == 2, |_| true, None, tell);
    followed.found(|_| true, |_| true, None, tell);
    assert_eq!(told.take(), [2, 3]);
}

/// Another thread has taken the one in front, and is about to tell of it.
#[test]
fn what_another_thread_tells_of_is_waited_for() {
    let followed = Followed::default();
    let (first, last) = (followed.add(6, under(1, 0)), followed.add(6, under(2, 9)));
    let told = Mutex::new(Vec::new());
    let tell = |under: &Under| told.lock().unwrap().push(number(under));
    std::thread::scope(|threads| {
        let (began, begins) = std::sync::mpsc::channel();
        let (go, goes) = std::sync::mpsc::channel::<()>();
        let (followed, tell) = (&followed, &tell);
        threads.spawn(move || {
            let slow = |under: &Under| {
                began.send(()).unwrap();
                goes.recv().unwrap();
                tell(under);
            };
            followed.heard(first, |_| true, slow);
        });
        begins.recv().unwrap();
        assert!(followed.has_of(6) && !followed.is_told(first));
        let waiting = threads.spawn(move || followed.heard(last, |_| true, tell));
        std::thread::sleep(Duration::from_millis(50));
        assert!(!waiting.is_finished() && told.lock().unwrap().is_empty());
        go.send(()).unwrap();
    });
    assert_eq!(*told.lock().unwrap(), [1, 2]);
    assert!(followed.is_told(last) && !followed.has_of(6));
}

#[test]
fn a_thread_that_has_failed_is_not_waited_for() {
    let followed = Followed::default();
    let (first, last) = (followed.add(6, under(1, 0)), followed.add(6, under(2, 9)));
    let fails = || followed.heard(first, |_| true, |_| panic!("on purpose"));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(fails)).is_err());
    let told = AtomicUsize::new(0);
    followed.heard(
        last,
        |_| true,
        |_| {
            told.fetch_add(1, Ordering::Relaxed);
        },
    );
    assert_eq!((told.into_inner(), followed.is_told(first)), (1, true));
}
