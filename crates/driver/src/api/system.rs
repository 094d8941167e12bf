//! The machine: opening, topology, clocks.

use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use libc::{c_char, c_int, c_void};

use super::newer::has_newer_structures;
use super::{guard, put, with};
use crate::abi::{
    CacheProperties, ClockCounters, LinkProperties, MemoryProperties, NodeProperties, Status, SystemProperties,
    TileConfig, Version, newer,
};
use crate::config::Config;
use crate::told::{Size, Told};
use crate::{clock, state, sysfs};

/// The kernel interface that we stand for: for ROCm 7 the first that can reserve addresses and map memory there.
const VERSION: Version = Version { major: 1, minor: 8 };
const NEWER_VERSION: Version = Version { major: 1, minor: 15 };
/// GB_ADDR_CONFIG, by which images are laid out in tiles: one pipe and one bank, as the emulator has it.
const ADDRESS_CONFIG: u32 = 0;

#[unsafe(no_mangle)]
pub extern "C" fn hsaKmtOpenKFD() -> Status {
    guard(state::open)
}

#[unsafe(no_mangle)]
pub extern "C" fn hsaKmtCloseKFD() -> Status {
    guard(state::close)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtGetVersion(version: *mut Version) -> Status {
    // SAFETY: hsakmt.h's contract, here and below.
    with(|_| unsafe { put(version, if has_newer_structures() { NEWER_VERSION } else { VERSION }) })
}

/// There is no debugger that could attach: errors come by the queue's own signal.
#[unsafe(no_mangle)]
pub extern "C" fn hsaKmtRuntimeEnable(_debug: *mut c_void, _ttmps: bool) -> Status {
    Status::NotSupported
}

#[unsafe(no_mangle)]
pub extern "C" fn hsaKmtRuntimeDisable() -> Status {
    Status::Success
}

/// None: there are no core dumps.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtGetRuntimeCapabilities(mask: *mut u32) -> Status {
    // SAFETY: as above.
    with(|_| unsafe { put(mask, 0) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtAcquireSystemProperties(properties: *mut SystemProperties) -> Status {
    with(|s| {
        let found = SystemProperties { nodes: s.config.nodes(), ..Default::default() };
        // SAFETY: as above.
        unsafe { put(properties, found) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn hsaKmtReleaseSystemProperties() -> Status {
    with(|_| Ok(()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtGetNodeProperties(node: u32, properties: *mut NodeProperties) -> Status {
    with(|s| {
        if node >= s.config.nodes() {
            return Err(Status::InvalidNode);
        }
        let found = s.config.node(node);
        // SAFETY: as above.
        unsafe {
            if has_newer_structures() { put(properties.cast(), newer::node(&found)) } else { put(properties, found) }
        }
    })
}

/// Writes as much of a node's list as there is room for.
///
/// # Safety
/// `to` has room for `count`.
unsafe fn fill<T>(node: u32, nodes: u32, to: *mut T, count: u32, found: Vec<T>) -> Result<(), Status> {
    if node >= nodes {
        return Err(Status::InvalidNode);
    }
    if to.is_null() && count != 0 {
        return Err(Status::InvalidParameter);
    }
    for (i, one) in found.into_iter().enumerate().take(count as usize) {
        // SAFETY: the caller's promise.
        unsafe { to.add(i).write_unaligned(one) };
    }
    Ok(())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtGetNodeMemoryProperties(node: u32, count: u32, to: *mut MemoryProperties) -> Status {
    // SAFETY: as above, and below.
    with(|s| unsafe { fill(node, s.config.nodes(), to, count, s.config.memories(node)) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtGetNodeCacheProperties(
    node: u32,
    _processor: u32,
    count: u32,
    to: *mut CacheProperties,
) -> Status {
    // SAFETY: as above.
    with(|s| unsafe { fill(node, s.config.nodes(), to, count, s.config.caches(node)) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtGetNodeIoLinkProperties(node: u32, count: u32, to: *mut LinkProperties) -> Status {
    with(|s| {
        let (nodes, found) = (s.config.nodes(), s.config.links(node));
        // SAFETY: as above.
        unsafe {
            if has_newer_structures() {
                fill(node, nodes, to.cast(), count, found.iter().map(newer::link).collect())
            } else {
                fill(node, nodes, to, count, found)
            }
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtGetClockCounters(node: u32, counters: *mut ClockCounters) -> Status {
    with(|s| {
        if node >= s.config.nodes() {
            return Err(Status::InvalidNode);
        }
        let now = clock::nanoseconds();
        // SAFETY: as above.
        unsafe { put(counters, ClockCounters { gpu: now, cpu: now, system: now, frequency: clock::FREQUENCY }) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtGetTileConfig(node: u32, config: *mut TileConfig) -> Status {
    with(|s| {
        s.gpu(node)?;
        if config.is_null() {
            return Err(Status::InvalidParameter);
        }
        // SAFETY: as above. There are no tables of tiles since gfx9.
        unsafe {
            (&raw mut (*config).tiles).write_unaligned(0);
            (&raw mut (*config).macro_tiles).write_unaligned(0);
            (&raw mut (*config).address_config).write_unaligned(ADDRESS_CONFIG);
            (&raw mut (*config).banks).write_unaligned(16);
            (&raw mut (*config).ranks).write_unaligned(1);
        }
        Ok(())
    })
}

/// Traps stop a launch by themselves; no handler's code runs.
#[unsafe(no_mangle)]
pub extern "C" fn hsaKmtSetTrapHandler(
    node: u32,
    _code: *mut c_void,
    _size: u64,
    _buffer: *mut c_void,
    _len: u64,
) -> Status {
    with(|s| s.gpu(node).map(|_| ()))
}

/// Caches are coherent, whatever the policy.
#[unsafe(no_mangle)]
pub extern "C" fn hsaKmtSetMemoryPolicy(
    node: u32,
    _policy: u32,
    _other: u32,
    _address: *mut c_void,
    _size: u64,
) -> Status {
    with(|s| s.gpu(node).map(|_| ()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtGetXNACKMode(enabled: *mut i32) -> Status {
    // SAFETY: as above.
    with(|_| unsafe { put(enabled, 0) })
}

/// Pages are never fetched on demand.
#[unsafe(no_mangle)]
pub extern "C" fn hsaKmtSetXNACKMode(enable: i32) -> Status {
    if enable == 0 { Status::Success } else { Status::NotSupported }
}

/// What lines `NAME=VALUE` ask for.
fn wanted(variables: &str) -> Result<Config, String> {
    Config::read(|name| {
        let mut pairs = variables.lines().filter_map(|line| line.split_once('='));
        pairs.find(|(known, value)| *known == name && !value.is_empty()).map(|(_, value)| value.to_owned())
    })
}

/// Not hsakmt.h's, but for `luthier trace`: null if there can be the GPUs that lines `NAME=VALUE` ask for, or why not. The text
/// is the caller's for good.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn luthierCheckVariables(variables: *const c_char) -> *const c_char {
    // SAFETY: the caller's text.
    why_not(wanted(&unsafe { CStr::from_ptr(variables) }.to_string_lossy()))
}

/// Not hsakmt.h's, but for `luthier trace`: as `luthierCheckVariables`, of lines `--option VALUE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn luthierCheckOptions(options: *const c_char) -> *const c_char {
    // SAFETY: the caller's text.
    let options = unsafe { CStr::from_ptr(options) }.to_string_lossy();
    why_not(Config::read_told(Told::Options, |name| {
        let option = Size::ALL.into_iter().find(|size| size.variable() == name)?.option();
        let mut pairs = options.lines().filter_map(|line| line.split_once(' '));
        pairs.find(|(known, _)| *known == option).map(|(_, value)| value.to_owned())
    }))
}

/// Null, or an error's text, which is the caller's for good.
fn why_not(wanted: Result<Config, String>) -> *const c_char {
    let text = wanted.err().and_then(|text| CString::new(text).ok());
    text.map_or(std::ptr::null(), |text| text.into_raw().cast_const())
}

/// Not hsakmt.h's, but for `luthier trace`: writes the machine's files ([`sysfs`]) into a folder, for the GPUs that variables ask
/// for, given as lines `NAME=VALUE`. 0, or an error of the system's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn luthierTopology(folder: *const c_char, variables: *const c_char) -> c_int {
    if folder.is_null() || variables.is_null() {
        return libc::EINVAL;
    }
    // SAFETY: the caller's texts.
    let (folder, variables) = unsafe { (CStr::from_ptr(folder), CStr::from_ptr(variables)) };
    let Ok(config) = wanted(&variables.to_string_lossy()) else { return libc::EINVAL };
    let folder = Path::new(std::ffi::OsStr::from_bytes(folder.to_bytes()));
    match sysfs::write(&config, folder) {
        Ok(()) => 0,
        Err(error) => error.raw_os_error().unwrap_or(libc::EIO),
    }
}
