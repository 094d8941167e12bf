//! What the packet processor is told: a launch, its geometry, its packet and its arguments.
//!
//! Source: LLVM "User Guide for AMDGPU Backend", Kernel Dispatch, Initial Kernel Execution State, and the metadata's
//! hidden arguments.

use luthier_abi::{Axis, Hidden, Packet, Queue, packet};
use luthier_isa::Generation;
use luthier_loader::entry::has_ids_in_ttmps;
use luthier_loader::{EntryState, Kernel, KernelDescriptor};
use zerocopy::FromZeros;

use crate::error::EmuError;
use crate::facts::Facts;
use crate::memory::{PRIVATE_BASE, SHARED_BASE};
use crate::op::Op;

/// Scratch for a work-item of a kernel whose stack size is not known when it is compiled.
const DYNAMIC_STACK: u32 = 16 << 10;

/// Everything that the waves of a launch share.
#[derive(Clone, Debug)]
pub struct Dispatch {
    pub descriptor: KernelDescriptor,
    /// What its waves start with.
    pub entry_state: EntryState,
    pub facts: Facts,
    pub grid: [u32; 3],
    pub workgroup: [u32; 3],
    /// Workgroups of a cluster.
    pub cluster: [u32; 3],
    pub entry: u64,
    pub packet: u64,
    pub queue: u64,
    pub kernarg: u64,
    pub kernarg_bytes: Vec<u8>,
    pub lds: u32,
    /// Bytes of scratch of a work-item.
    pub private: u32,
}

/// Scratch of one work-item, as the descriptor and the metadata say, in whole 16-byte units.
pub fn private_size(kernel: &Kernel) -> u32 {
    let fixed = kernel.descriptor.private_segment_fixed_size();
    let dynamic =
        kernel.descriptor.uses_dynamic_stack() || kernel.metadata().is_some_and(|m| m.uses_dynamic_stack == Some(true));
    fixed.saturating_add(if dynamic { DYNAMIC_STACK } else { 0 }).checked_next_multiple_of(16).unwrap_or(u32::MAX)
}

/// Refuses what the hardware would refuse.
pub fn check_geometry(
    kernel: &Kernel,
    grid: [u32; 3],
    workgroup: [u32; 3],
    lds: u32,
    facts: &Facts,
) -> Result<(), EmuError> {
    let refuse = |what, value: String, why: &str| Err(EmuError::Geometry { what, value, why: why.into() });
    if grid.contains(&0) {
        return refuse("a grid", format!("{grid:?} work-items"), "every dimension must be at least 1");
    }
    if workgroup.contains(&0) {
        return refuse("a workgroup", format!("{workgroup:?} work-items"), "every dimension must be at least 1");
    }
    // What ROCr's HSA_ISA_INFO_GRID_MAX_SIZE says.
    if grid.iter().try_fold(1u64, |items, &n| items.checked_mul(n.into())).is_none() {
        return refuse("a grid", format!("{grid:?} work-items"), "a grid has less than 2^64 of them");
    }
    let items = workgroup.iter().map(|&n| u64::from(n)).product::<u64>();
    let most = kernel.metadata().and_then(|m| m.max_flat_workgroup_size).unwrap_or(1024).min(1024);
    if items > most {
        let why = format!("kernel {} takes at most {most} work-items in a workgroup", kernel.name);
        return refuse("a workgroup", format!("{workgroup:?} work-items"), &why);
    }
    if let Some(required) = kernel.metadata().and_then(|m| m.reqd_workgroup_size.clone())
        && required.iter().zip(workgroup).any(|(&want, have)| want != u64::from(have))
    {
        let why = format!("kernel {} requires {required:?}", kernel.name);
        return refuse("a workgroup", format!("{workgroup:?} work-items"), &why);
    }
    if lds > facts.lds {
        return refuse("LDS", format!("{lds} bytes"), &format!("a workgroup has at most {} bytes", facts.lds));
    }
    let (scratch, most) = (private_size(kernel), facts.wave_scratch() / u64::from(facts.lanes(&kernel.descriptor)));
    let most = most & !15;
    if u64::from(scratch) > most {
        let why = format!("a work-item of kernel {} has at most {most} bytes", kernel.name);
        return refuse("scratch", format!("{scratch} bytes"), &why);
    }
    Ok(())
}

/// Workgroups of a cluster that the hardware's masks of them have room for.
const MOST_IN_CLUSTER: u64 = 16;

/// The workgroups of a cluster: as asked for, or else as the kernel demands, or one. Refuses what a packet cannot ask for:
/// those of clusters count clusters, so there is no part of one, nor of a workgroup.
pub fn cluster(
    kernel: &Kernel,
    wanted: Option<[u32; 3]>,
    grid: [u32; 3],
    workgroup: [u32; 3],
    facts: &Facts,
) -> Result<[u32; 3], EmuError> {
    let demanded = kernel.metadata().and_then(|m| m.cluster_dims.clone()).filter(|dims| dims.iter().any(|&n| n != 0));
    let demanded = demanded.map(|dims| -> [u32; 3] {
        std::array::from_fn(|i| dims.get(i).map_or(1, |&n| n.clamp(1, u64::from(u32::MAX)) as u32))
    });
    let Some(cluster) = wanted.or(demanded).filter(|dims| *dims != [1; 3] || demanded.is_some()) else {
        return Ok([1; 3]);
    };
    let refuse =
        |why: String| Err(EmuError::Geometry { what: "a cluster", value: format!("{cluster:?} workgroups"), why });
    if demanded.is_some_and(|demanded| demanded != cluster) {
        return refuse(format!("kernel {} requires {:?}", kernel.name, demanded.unwrap_or_default()));
    }
    if cluster == [1; 3] {
        return Ok(cluster);
    }
    if !facts.has_clusters() {
        return refuse("this processor has no clusters".into());
    }
    if cluster.contains(&0) {
        return refuse("every dimension must be at least 1".into());
    }
    if cluster.iter().map(|&n| u64::from(n)).product::<u64>() > MOST_IN_CLUSTER {
        return refuse(format!("a cluster has at most {MOST_IN_CLUSTER}"));
    }
    if (0..3).any(|i| !u64::from(grid[i]).is_multiple_of(u64::from(cluster[i]) * u64::from(workgroup[i]))) {
        return refuse(format!(
            "a grid of {grid:?} work-items is no whole number of them, in workgroups of {workgroup:?}"
        ));
    }
    Ok(cluster)
}

/// Refuses workgroups, or clusters of several, whose numbers would not fit where the kernel reads them.
pub fn check_numbers(grid: [u32; 3], workgroup: [u32; 3], cluster: [u32; 3], facts: &Facts) -> Result<(), EmuError> {
    let counts: [u32; 3] = std::array::from_fn(|i| grid[i].div_ceil(workgroup[i]) / cluster[i]);
    if !has_ids_in_ttmps(facts.generation()) || counts[1..].iter().all(|&n| n <= 1 << 16) {
        return Ok(());
    }
    let of = if cluster == [1; 3] { "workgroups" } else { "clusters" };
    Err(EmuError::Geometry {
        what: "a grid",
        value: format!("{counts:?} {of}"),
        why: format!("{} numbers them with 16 bits in y and in z, 65536 at most", facts.target.name()),
    })
}

/// What hidden arguments point to; 0 for what a launch does not have.
#[derive(Clone, Copy, Debug)]
pub struct Pointers {
    pub queue: u64,
    /// Where the workgroups of a cooperative launch meet; see [`grid_sync`].
    pub sync: u64,
    /// See [`crate::hostcall`].
    pub calls: u64,
    /// What the device library keeps of its heap.
    pub heap: u64,
    /// Where the kernel prints.
    pub prints: u64,
}

/// Whether a kernel has a hidden argument.
pub fn has_hidden(kernel: &Kernel, hidden: Hidden) -> bool {
    kernel.metadata().is_some_and(|m| m.args.iter().any(|arg| arg.value_kind.as_deref() == Some(hidden.name())))
}

/// The kernarg segment: the explicit arguments as given, the hidden ones as the metadata asks. A hidden argument that
/// lies within the given bytes keeps what was given. Pointers to services that the device does not have (queues to enqueue
/// to) are null.
pub fn kernarg_segment(
    kernel: &Kernel,
    given: &[u8],
    grid: [u32; 3],
    workgroup: [u32; 3],
    dynamic_lds: u32,
    pointers: Pointers,
) -> Result<Vec<u8>, EmuError> {
    let metadata = kernel.metadata();
    let end = |a: &luthier_loader::ArgMetadata| a.offset.unwrap_or(0).saturating_add(a.size.unwrap_or(0));
    let explicit = metadata.map(|m| m.explicit_args().map(end).max().unwrap_or(0));
    let all = metadata.and_then(|m| m.args.iter().map(end).max()).unwrap_or(0);
    let size = u64::from(kernel.descriptor.kernarg_size())
        .max(metadata.and_then(|m| m.kernarg_segment_size).unwrap_or(0))
        .max(all)
        .min(1 << 20) as usize;
    if let Some(wanted) = explicit
        .filter(|&wanted| (given.len() as u64) < wanted || given.len() > size.max(wanted as usize).next_multiple_of(8))
    {
        return Err(EmuError::Arguments { kernel: kernel.name.clone(), given: given.len(), wanted: wanted as usize });
    }
    let mut bytes = given.to_vec();
    bytes.resize(size.max(given.len()), 0);
    for arg in metadata.into_iter().flat_map(|m| &m.args).filter(|a| a.is_hidden()) {
        let (Some(kind), Some(offset), Some(size)) = (&arg.value_kind, arg.offset, arg.size) else { continue };
        let of = |of: fn(u32, u32) -> u32, axis: Axis| u64::from(of(grid[axis.index()], workgroup[axis.index()]));
        let value = match Hidden::of(kind) {
            Some(Hidden::BlockCount(axis)) => of(|grid, workgroup| grid / workgroup, axis),
            Some(Hidden::GroupSize(axis)) => of(|_, workgroup| workgroup, axis),
            Some(Hidden::Remainder(axis)) => of(|grid, workgroup| grid % workgroup, axis),
            Some(Hidden::GridDims) => packet::dimensions(grid).into(),
            Some(Hidden::DynamicLds) => u64::from(dynamic_lds),
            Some(Hidden::PrivateBase) => PRIVATE_BASE >> 32,
            Some(Hidden::SharedBase) => SHARED_BASE >> 32,
            Some(Hidden::Queue) => pointers.queue,
            Some(Hidden::MultigridSync) => pointers.sync,
            Some(Hidden::HostcallBuffer) => pointers.calls,
            Some(Hidden::Heap) => pointers.heap,
            Some(Hidden::PrintfBuffer) => pointers.prints,
            Some(Hidden::GlobalOffset(_) | Hidden::DefaultQueue | Hidden::CompletionAction | Hidden::None) | None => 0,
        };
        let (offset, size) = (offset as usize, (size as usize).min(8));
        if offset >= given.len()
            && let Some(slot) = bytes.get_mut(offset..offset + size)
        {
            slot.copy_from_slice(&value.to_le_bytes()[..size]);
        }
    }
    Ok(bytes)
}

/// Where the workgroups of a cooperative launch meet: what AMD's device library (`__ockl_grid_sync`,
/// `__ockl_multi_grid_sync`) expects behind the hidden argument. Counters are at 32, of this grid, whose workgroups are
/// counted at 40, and at `all`, to which the word at 0 leads, of all grids together. There is one, number 0 (at 8) of 1 (at
/// 12), with no work-items in those before it (at 16), and the number of all (at 24).
pub fn grid_sync(all: u64, grid: [u32; 3], workgroup: [u32; 3]) -> [u8; 64] {
    let mut sync = [0; 64];
    let mut put = |at: usize, bytes: &[u8]| sync[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &all.to_le_bytes());
    put(12, &1u32.to_le_bytes());
    put(24, &grid.iter().fold(1u64, |items, &n| items.saturating_mul(n.into())).to_le_bytes());
    let groups = (0..3).fold(1u32, |groups, i| groups.saturating_mul(grid[i].div_ceil(workgroup[i])));
    put(40, &groups.to_le_bytes());
    sync
}

/// The AQL packet that launches it.
pub fn packet(d: &Dispatch, descriptor_address: u64) -> Packet {
    let mut made = Packet([0; packet::SIZE]);
    let workgroup = d.workgroup.map(|n| n as u16);
    if d.cluster == [1; 3] {
        made.write(packet::Dispatch {
            header: u16::from(packet::kind::DISPATCH) | packet::SYSTEM_FENCES,
            setup: packet::dimensions(d.grid),
            workgroup,
            grid: d.grid,
            private: d.private,
            group: d.lds,
            kernel_object: descriptor_address,
            kernarg: d.kernarg,
            ..packet::Dispatch::default()
        });
    } else {
        let [x, y, z] = d.clusters();
        made.write(packet::ClusterDispatch {
            header: u16::from(packet::kind::VENDOR) | packet::SYSTEM_FENCES,
            format: packet::format::CLUSTER_DISPATCH,
            setup: packet::dimensions(d.grid) as u8,
            workgroup,
            clusters_x: x,
            clusters_yz: [y as u16, z as u16],
            cluster: d.cluster.map(|n| n as u8),
            private: d.private,
            group: d.lds,
            kernel_object: descriptor_address,
            kernarg: d.kernarg,
            ..packet::ClusterDispatch::default()
        });
    }
    made
}

/// An `amd_queue_t` with what kernels read of it: the apertures.
pub fn queue() -> Queue {
    let mut queue = Queue::new_zeroed();
    queue.group_aperture_high = (SHARED_BASE >> 32) as u32;
    queue.private_aperture_high = (PRIVATE_BASE >> 32) as u32;
    queue
}

impl Dispatch {
    pub fn groups(&self) -> [u32; 3] {
        std::array::from_fn(|i| self.grid[i].div_ceil(self.workgroup[i]))
    }
    /// Workgroups of a cluster, all of them.
    pub fn cluster_size(&self) -> u32 {
        self.cluster.iter().product()
    }
    pub fn clusters(&self) -> [u32; 3] {
        let groups = self.groups();
        std::array::from_fn(|i| groups[i] / self.cluster[i])
    }
    /// The workgroup with this rank in the cluster with this number, x fastest in both.
    pub fn group_in_cluster(&self, number: u64, rank: u32) -> [u32; 3] {
        let (at, within) = (place_of(number, self.clusters()), place_of(rank.into(), self.cluster));
        std::array::from_fn(|i| at[i].wrapping_mul(self.cluster[i]).wrapping_add(within[i]))
    }
    /// The number of a workgroup in the grid, x fastest.
    pub fn group_number(&self, id: [u32; 3]) -> u64 {
        number_of(id, self.groups())
    }
    /// The workgroup with a number.
    pub fn group_id(&self, number: u64) -> [u32; 3] {
        place_of(number, self.groups())
    }
    /// The work-items of a workgroup: fewer than asked for at the grid's edges.
    pub fn group_size(&self, id: [u32; 3]) -> [u32; 3] {
        std::array::from_fn(|i| self.workgroup[i].min(self.grid[i] - id[i] * self.workgroup[i]))
    }
    /// Bytes of scratch of a wave.
    pub fn wave_scratch(&self) -> u64 {
        u64::from(self.private) * u64::from(self.lanes())
    }
    /// Lanes of a wave.
    pub fn lanes(&self) -> u32 {
        self.facts.lanes(&self.descriptor)
    }
    /// Waves of a workgroup of `items` work-items.
    pub fn waves(&self, items: u32) -> u32 {
        items.div_ceil(self.lanes())
    }
    /// Waves of the grid; those of workgroups at its edges are fewer.
    pub fn all_waves(&self) -> u64 {
        let groups = self.groups();
        // Each dimension has whole workgroups and perhaps one at the edge: eight kinds at the most.
        let kinds = |i: usize| {
            let (whole, rest) = (self.grid[i] / self.workgroup[i], self.grid[i] % self.workgroup[i]);
            [(u64::from(whole), self.workgroup[i]), (u64::from(groups[i] - whole), rest)]
        };
        let mut all = 0;
        for (nx, x) in kinds(0) {
            for (ny, y) in kinds(1) {
                for (nz, z) in kinds(2) {
                    all += nx * ny * nz * u64::from(self.waves(x * y * z));
                }
            }
        }
        all
    }
    /// Whether the processor moves bytes between memory and LDS while a wave goes on: RDNA3 and RDNA4 cannot.
    pub fn has_engines(&self) -> bool {
        !matches!(self.facts.generation(), Generation::Gfx11 | Generation::Gfx12)
    }
    /// Work-items in one of the waves of a workgroup of `items`.
    pub fn wave_items(&self, items: u32, number: u32) -> u32 {
        (items - number * self.lanes()).min(self.lanes())
    }
}

/// The number of a place in a box, x fastest.
pub(crate) fn number_of(place: [u32; 3], size: [u32; 3]) -> u64 {
    let ([x, y, _], place) = (size.map(u64::from), place.map(u64::from));
    place[0] + x * (place[1] + y * place[2])
}

/// The place with this number in a box, x fastest.
pub(crate) fn place_of(number: u64, size: [u32; 3]) -> [u32; 3] {
    let [x, y, _] = size.map(|n| u64::from(n.max(1)));
    [(number % x) as u32, (number / x % y) as u32, (number / x / y) as u32]
}

/// A micro-op is 48 bytes or less: four in three cache lines.
const _: () = assert!(size_of::<Op>() <= 48);
