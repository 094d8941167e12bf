//! Packets that are put into rings by hand. Their layouts are those of ROCr's sdma_registers.h and amd_hsa headers.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::{Duration, Instant};

use super::*;
use crate::config::Config;
use crate::events::Events;
use crate::memory::Memory;

const RING: u64 = 4096;

/// A GPU, a queue of it, and a page that both of us use.
struct Bench {
    queues: Queues,
    resource: QueueResource,
    memory: Arc<Memory>,
    ring: u64,
    page: u64,
}

impl Bench {
    fn new(kind: u32) -> Bench {
        let config = Config::read(|name| (name == "LUTHIER_MOCK").then(|| "gfx90a".into())).expect("possible");
        let memory = Arc::new(Memory::new(config, None));
        let room = |size| memory.allocate_for_all(size).expect("room");
        let (ring, page, amd) = (room(RING), room(1 << 16), room(4096));
        let gpu =
            Arc::new(Gpu::new(&memory, &Arc::new(Events::new(room(4096 * 8))), &Arc::default(), &Arc::default(), 1));
        let mut resource = QueueResource { id: 0, doorbell: 0, write: amd + 56, read: amd + 128, error_reason: 0 };
        // SAFETY: the memory is ours, and nothing runs yet.
        unsafe {
            pointer::<u32>(amd + std::mem::offset_of!(luthier_abi::Queue, size) as u64).write((RING / PACKET) as u32)
        };
        let queues = Queues::default();
        queues.create(&gpu, kind, ring, RING, &mut resource).expect("possible");
        Bench { queues, resource, memory, ring, page }
    }

    fn atomic(&self, at: u64) -> &AtomicU64 {
        // SAFETY: memory of ours, or an index of the queue's.
        unsafe { &*pointer::<AtomicU64>(at) }
    }

    fn words(&self, at: u64, count: usize) -> Vec<u32> {
        let places = (0..count as u64).map(|i| pointer::<AtomicU32>(self.page + at + 4 * i));
        // SAFETY: the page is ours.
        places.map(|place| unsafe { &*place }.load(SeqCst)).collect()
    }

    fn put(&self, at: u64, words: &[u32]) {
        for (i, word) in words.iter().enumerate() {
            // SAFETY: the page is ours.
            unsafe { (*pointer::<AtomicU32>(self.page + at + 4 * i as u64)).store(*word, SeqCst) };
        }
    }

    /// Appends words to the ring of a copy queue.
    fn submit(&self, words: &[u32]) {
        let write = self.atomic(self.resource.write);
        let from = write.load(SeqCst);
        for (i, word) in words.iter().enumerate() {
            let at = self.ring + (from + 4 * i as u64) % RING;
            // SAFETY: the ring has that place, and the queue does not read it yet.
            unsafe { (*pointer::<AtomicU32>(at)).store(*word, SeqCst) };
        }
        write.store(from + 4 * words.len() as u64, SeqCst);
        look();
    }

    fn is_done(&self) -> bool {
        self.atomic(self.resource.read).load(SeqCst) == self.atomic(self.resource.write).load(SeqCst)
    }

    fn wait(&self) {
        let start = Instant::now();
        while !self.is_done() {
            assert!(start.elapsed() < Duration::from_secs(100), "the queue does not go on");
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    fn at(&self, offset: u64) -> [u32; 2] {
        [(self.page + offset) as u32, ((self.page + offset) >> 32) as u32]
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.queues.destroy(self.resource.id).expect("is there");
        self.memory.free(self.page).expect("is there");
    }
}

fn pointer<T>(at: u64) -> *mut T {
    std::ptr::with_exposed_provenance_mut(at as usize)
}

#[test]
fn copy_queue_copies_writes_fills_and_counts() {
    let bench = Bench::new(queue_type::SDMA);
    let numbers: Vec<u32> = (0..64).map(|i| i * 77).collect();
    bench.put(0, &numbers);
    let ([from, from_high], [to, to_high]) = (bench.at(0), bench.at(1024));
    bench.submit(&[1, 255, 0, from, from_high, to, to_high]);
    let [at, high] = bench.at(2048);
    bench.submit(&[2, at, high, 2, 11, 22, 33]);
    bench.submit(&[2 << 16, 0, 0]);
    let [at, high] = bench.at(3072);
    bench.submit(&[11 | 2 << 30, at, high, 0xabcd, 28]);
    let [at, high] = bench.at(4096);
    bench.put(4096, &[5, 0]);
    bench.submit(&[10 | 0x2f << 25, at, high, u32::MAX, u32::MAX, 0, 0, 0]);
    let [at, high] = bench.at(4104);
    bench.submit(&[13 | 2 << 8, at, high]);
    let [at, high] = bench.at(4112);
    bench.submit(&[5, at, high, 0x1234]);
    bench.wait();
    assert_eq!(bench.words(1024, 65), [numbers, vec![0]].concat());
    assert_eq!(bench.words(2048, 4), [11, 22, 33, 0]);
    assert_eq!(bench.words(3072, 9), [vec![0xabcd; 8], vec![0]].concat());
    assert_eq!((bench.words(4096, 2), bench.words(4112, 1)), (vec![4, 0], vec![0x1234]));
    assert_ne!(bench.words(4104, 2), [0, 0]);
}

#[test]
fn copy_queue_copies_a_box_between_two_pitches() {
    let bench = Bench::new(queue_type::SDMA);
    let numbers: Vec<u32> = (0..400).collect();
    bench.put(0, &numbers);
    let ([from, from_high], [to, to_high]) = (bench.at(0), bench.at(8192));
    // Words: 5 of each of 3 rows in 2 slices, from (2, 1, 1) in rows of 10 and slices of 60 to (1, 0, 0) in 7 and 21.
    let (source, target) = ([2 | 1 << 16, 1 | 9 << 13, 59], [1, 6 << 13, 20]);
    let head = [1 | 4 << 8 | 2 << 29, from, from_high];
    bench.submit(&[&head[..], &source, &[to, to_high], &target, &[4 | 2 << 16, 1]].concat());
    bench.wait();
    let mut expected = vec![0; 42];
    for (z, y, x) in (0..2).flat_map(|z| (0..3).flat_map(move |y| (0..5).map(move |x| (z, y, x)))) {
        expected[z * 21 + y * 7 + 1 + x] = numbers[(z + 1) * 60 + (y + 1) * 10 + 2 + x];
    }
    assert_eq!(bench.words(8192, 42), expected);
}

#[test]
fn copy_queue_polls_until_its_condition_holds() {
    let bench = Bench::new(queue_type::SDMA);
    let ([at, high], [to, to_high]) = (bench.at(0), bench.at(64));
    // Until the low four bits of the word at `at` are 3 or more.
    bench.submit(&[8 | 5 << 28 | 1 << 31, at, high, 3, 15, 0]);
    bench.submit(&[5, to, to_high, 9]);
    bench.put(0, &[0xf2]);
    std::thread::sleep(Duration::from_millis(20));
    assert!(!bench.is_done() && bench.words(64, 1) == [0]);
    bench.put(0, &[7]);
    bench.wait();
    assert_eq!(bench.words(64, 1), [9]);
}

#[test]
fn packet_processor_runs_pm4_buffers_and_completes_signals() {
    let bench = Bench::new(queue_type::AQL);
    let [to, to_high] = bench.at(512);
    let write_data = [3 << 30 | 4 << 16 | 0x37 << 8, 5 << 8, to, to_high, 77, 88];
    bench.put(256, &[&[2 << 30, 3 << 30 | 1 << 16 | 0x10 << 8, 0, 0][..], &write_data].concat());
    // SAFETY: the page is ours, and zero: a signal without an event.
    let signal = unsafe { &*pointer::<luthier_abi::Signal>(bench.page + 1024) };
    signal.value.store(1, SeqCst);
    let [buffer, buffer_high] = bench.at(256);
    let mut words = [0; 16];
    words[..5].copy_from_slice(&[1 << 16, 3 << 30 | 2 << 16 | 0x3f << 8, buffer, buffer_high, 10]);
    words[14..].copy_from_slice(&bench.at(1024));
    for (i, word) in words.iter().enumerate() {
        // SAFETY: the ring is ours, and the queue does not read this packet yet.
        unsafe { (*pointer::<AtomicU32>(bench.ring + 4 * i as u64)).store(*word, SeqCst) };
    }
    bench.atomic(bench.resource.write).store(1, SeqCst);
    look();
    bench.wait();
    let start = Instant::now();
    while signal.value.load(SeqCst) != 0 {
        assert!(start.elapsed() < Duration::from_secs(100), "the signal is not completed");
        std::thread::yield_now();
    }
    assert_eq!(bench.words(512, 3), [77, 88, 0]);
}
