//! A copying kernel is tried on memory of the driver's before the driver stands in for it: both must leave the same bytes.

use luthier_emulator::Packet;

use super::kind::{Kind, Shape};
use super::{Blit, carry_out, packet_with};
use crate::abi::Status;
use crate::memory::Memory;
use crate::queue::Queue;
use crate::queue::blit::plan::Plan;
use crate::queue::launch::Launch;

/// Where things lie in the memory of a trial: packet, arguments, pattern, source, destination.
const ARGUMENTS: usize = 256;
const PATTERN: usize = 0x800;
const SOURCE: usize = 0x1000;
const DESTINATION: usize = 0x4000;
const END: usize = 0x7000;

/// Arguments by their offsets, and the grid.
type Case = (&'static [(usize, Value)], [u32; 3]);

#[derive(Clone, Copy)]
enum Value {
    Number(u64),
    /// The address of something in the memory of the trial.
    At(usize),
    /// Two of four bytes.
    Two(u32, u32),
    /// One of four bytes, and the work-items of a workgroup along x.
    AndWorkgroup(u32),
}

use Value::{AndWorkgroup, At, Number as N, Two};

const COPY: &[Case] = &[
    (&[(0, At(SOURCE)), (8, At(DESTINATION)), (16, N(8)), (24, N(4)), (32, N(301)), (40, N(3))], [512, 1, 1]),
    (&[(0, At(SOURCE)), (8, At(DESTINATION)), (16, N(5)), (24, N(6)), (32, N(300)), (40, N(8))], [512, 1, 1]),
    (&[(0, At(SOURCE)), (8, At(DESTINATION)), (16, N(0)), (24, N(0)), (32, N(257)), (40, N(0))], [512, 1, 1]),
];
const COPY_ALIGNED: &[Case] = &[
    (&[(0, At(SOURCE)), (8, At(DESTINATION)), (16, N(3)), (24, N(5)), (32, N(300)), (40, N(16))], [512, 1, 1]),
    (&[(0, At(SOURCE)), (8, At(DESTINATION)), (16, N(3)), (24, N(5)), (32, N(300)), (40, N(4))], [512, 1, 1]),
];
/// Pitches of rows and slices, where the box begins; its sizes, and the unit.
const RECT: &[Case] = &[
    (
        &[
            (0, At(SOURCE)),
            (8, At(DESTINATION)),
            (32, N(50)),
            (40, N(700)),
            (48, N(11)),
            (64, N(61)),
            (72, N(750)),
            (80, N(7)),
            (96, N(43)),
            (104, N(9)),
            (112, N(3)),
            (120, N(1)),
        ],
        [64, 16, 4],
    ),
    (
        &[
            (0, At(SOURCE)),
            (8, At(DESTINATION)),
            (32, N(21)),
            (40, N(160)),
            (48, N(2)),
            (64, N(18)),
            (72, N(130)),
            (80, N(3)),
            (96, N(17)),
            (104, N(5)),
            (112, N(2)),
            (120, N(16)),
        ],
        [64, 16, 4],
    ),
];
/// A pointer for elements of 8, 4, 2 and 1 bytes.
const FILL: &[Case] = &[
    (&[(24, At(DESTINATION)), (32, At(PATTERN)), (40, N(2)), (48, N(3)), (56, N(100))], [256, 1, 1]),
    (&[(16, At(DESTINATION)), (32, At(PATTERN)), (40, N(4)), (48, N(1)), (56, N(129))], [256, 1, 1]),
    (&[(8, At(DESTINATION)), (32, At(PATTERN)), (40, N(1)), (48, N(5)), (56, N(255))], [256, 1, 1]),
    (&[(0, At(DESTINATION)), (32, At(PATTERN)), (40, N(3)), (48, N(9)), (56, N(77))], [256, 1, 1]),
];
const FILL_2D: &[Case] = &[
    (
        &[(24, At(DESTINATION)), (32, At(PATTERN)), (40, N(1)), (48, N(3)), (56, N(20)), (64, N(9)), (72, N(31))],
        [256, 16, 1],
    ),
    (
        &[(16, At(DESTINATION)), (32, At(PATTERN)), (40, N(1)), (48, N(1)), (56, N(30)), (64, N(9)), (72, N(33))],
        [256, 16, 1],
    ),
    (
        &[(8, At(DESTINATION)), (32, At(PATTERN)), (40, N(1)), (48, N(5)), (56, N(41)), (64, N(7)), (72, N(41))],
        [256, 16, 1],
    ),
    (
        &[(0, At(DESTINATION)), (32, At(PATTERN)), (40, N(1)), (48, N(9)), (56, N(50)), (64, N(8)), (72, N(77))],
        [256, 16, 1],
    ),
];

/// More words than work-items, fewer, and without a rest.
const STEPPED: &[Case] = &[
    (
        &[
            (0, At(SOURCE)),
            (8, At(DESTINATION)),
            (16, N(9603)),
            (24, Two(3, 16)),
            (32, At(DESTINATION + 9600)),
            (40, AndWorkgroup(512)),
        ],
        [512, 1, 1],
    ),
    (
        &[
            (0, At(SOURCE)),
            (8, At(DESTINATION)),
            (16, N(2401)),
            (24, Two(1, 4)),
            (32, At(DESTINATION + 2400)),
            (40, AndWorkgroup(256)),
        ],
        [256, 1, 1],
    ),
    (
        &[
            (0, At(SOURCE)),
            (8, At(DESTINATION)),
            (16, N(400)),
            (24, Two(0, 4)),
            (32, At(DESTINATION + 400)),
            (40, AndWorkgroup(256)),
        ],
        [256, 1, 1],
    ),
];
/// Elements of 16, 8, 4, 2 and 1 bytes.
const STEPPED_FILL: &[Case] = &[
    (
        &[
            (0, At(DESTINATION)),
            (8, At(PATTERN)),
            (16, Two(1, 16)),
            (24, At(DESTINATION + 9600)),
            (32, AndWorkgroup(512)),
        ],
        [512, 1, 1],
    ),
    (
        &[
            (0, At(DESTINATION)),
            (8, At(PATTERN)),
            (16, Two(2, 8)),
            (24, At(DESTINATION + 6400)),
            (32, AndWorkgroup(512)),
        ],
        [256, 1, 1],
    ),
    (
        &[
            (0, At(DESTINATION + 4)),
            (8, At(PATTERN)),
            (16, Two(1, 4)),
            (24, At(DESTINATION + 404)),
            (32, AndWorkgroup(256)),
        ],
        [256, 1, 1],
    ),
    (
        &[
            (0, At(DESTINATION + 2)),
            (8, At(PATTERN)),
            (16, Two(3, 2)),
            (24, At(DESTINATION + 2400)),
            (32, AndWorkgroup(768)),
        ],
        [256, 1, 1],
    ),
    (
        &[
            (0, At(DESTINATION + 1)),
            (8, At(PATTERN)),
            (16, Two(1, 1)),
            (24, At(DESTINATION + 600)),
            (32, AndWorkgroup(256)),
        ],
        [256, 1, 1],
    ),
];

fn cases(kind: Kind) -> &'static [Case] {
    match kind {
        Kind::Linear => COPY,
        Kind::LinearAligned => COPY_ALIGNED,
        Kind::Rect | Kind::RectAligned => RECT,
        Kind::Fill => FILL,
        Kind::Fill2D => FILL_2D,
        Kind::Stepped => STEPPED,
        Kind::SteppedFill => STEPPED_FILL,
    }
}

/// Memory for a trial, which goes with this.
struct Ground<'a>(&'a Memory, u64);

impl<'a> Ground<'a> {
    fn new(memory: &'a Memory) -> Result<Ground<'a>, Status> {
        memory.allocate_for_all(END as u64).map(|start| Ground(memory, start))
    }

    fn bytes(&self) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.1 as usize)
    }

    /// Bytes that differ everywhere, from `from` on.
    fn sow(&self, from: usize) {
        let mut state = 0x9e37_79b9_u32;
        for at in from..END {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // SAFETY: the block is ours, and of that size.
            unsafe { self.bytes().add(at).write((state >> 24) as u8) };
        }
    }

    fn put(&self, at: usize, bytes: &[u8]) {
        // SAFETY: as above; what is put there is shorter than its place.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.bytes().add(at), bytes.len()) };
    }

    fn harvest(&self) -> Vec<u8> {
        // SAFETY: as above, and nothing runs.
        let all = unsafe { std::slice::from_raw_parts(self.bytes(), END) };
        all[PATTERN..].to_vec()
    }
}

impl Drop for Ground<'_> {
    fn drop(&mut self) {
        self.0.free(self.1).unwrap_or(());
    }
}

/// Whether the kernel of this launch does what the driver would do, in all cases.
pub fn agrees(queue: &Queue, blit: &Blit, packet: &luthier_abi::Packet, launch: &Launch) -> bool {
    let gpu = &queue.gpu;
    let size = blit.offsets.bytes;
    let Ok(given) = gpu.view.resolve(launch.packet.kernarg, size as u64, false) else { return false };
    // SAFETY: resolved; the program leaves arguments alone until the kernel has ended.
    let given = unsafe { std::slice::from_raw_parts(given, size) }.to_vec();
    let Ok(ground) = Ground::new(&gpu.view.memory) else { return false };
    cases(blit.kind).iter().all(|(values, grid)| {
        let shape = Shape { grid: *grid, workgroup: launch.packet.workgroup };
        let Some(arguments) = filled_in(&given, blit, values, ground.1, &shape) else { return false };
        let Some(plan) = Plan::of(blit.kind, &arguments, &shape) else { return false };
        let prepare = || {
            ground.sow(PATTERN);
            ground.put(ARGUMENTS, &arguments);
            ground.put(0, &packet_with(packet, *grid, ground.1 + ARGUMENTS as u64).0);
        };
        prepare();
        let tried = Packet {
            grid: *grid,
            packet: ground.1,
            kernarg: ground.1 + ARGUMENTS as u64,
            stop: Default::default(),
            ..launch.packet.clone()
        };
        queue.begin(&tried.stop);
        let pin = gpu.view.memory.pin();
        let ran = gpu.device.run_packet(&tried, || gpu.codes.identify(gpu, launch.object)).is_ok();
        drop(pin);
        let theirs = ground.harvest();
        prepare();
        ran && carry_out(&gpu.view, &plan).is_some() && theirs == ground.harvest()
    })
}

/// The arguments of a launch with those of a case, and with what hidden ones say of its size; the other hidden ones stay.
fn filled_in(given: &[u8], blit: &Blit, values: &[(usize, Value)], ground: u64, shape: &Shape) -> Option<Vec<u8>> {
    let (kind, mut arguments) = (blit.kind, given.to_vec());
    arguments.get_mut(..kind.bytes())?.fill(0);
    for &(at, value) in values.iter().filter(|(at, _)| *at < kind.bytes()) {
        let value = match value {
            N(number) => number,
            At(place) => ground + place as u64,
            Two(low, high) => u64::from(low) | u64::from(high) << 32,
            AndWorkgroup(low) => u64::from(low) | u64::from(shape.workgroup[0]) << 32,
        };
        // The last argument has only four bytes if nothing is behind it.
        let room = arguments.get_mut(at..)?;
        let len = room.len().min(8);
        room[..len].copy_from_slice(&value.to_le_bytes()[..len]);
    }
    blit.offsets.fill_in(&mut arguments, shape);
    Some(arguments)
}
