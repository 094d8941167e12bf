//! Where a kernel's arguments are, for hooks that look for them: one place for all kernels that may run the hook.

use luthier_loader::entry::implicit_offset;
use luthier_loader::{CodeObject, Kernel, lines};

use crate::plan::{Arg, Rejection};

/// Bytes from the start of the kernel's arguments.
///
/// # Errors
/// A kernel has no such argument, or not where another one has it.
pub fn offset(object: &CodeObject, kernels: &[&Kernel], arg: &Arg) -> Result<u64, Rejection> {
    let mut offsets = kernels.iter().map(|kernel| of_kernel(object, kernel, arg));
    let first = offsets.next().ok_or(Rejection::SlotWithoutKernel)??;
    for other in offsets {
        if other? != first {
            let what = match arg {
                Arg::KernelArgument { name, .. } => format!("the argument {name}"),
                _ => "hidden arguments".to_owned(),
            };
            return Err(Rejection::ArgumentsDiffer { what });
        }
    }
    Ok(first)
}

fn of_kernel(object: &CodeObject, kernel: &Kernel, arg: &Arg) -> Result<u64, Rejection> {
    let named = || kernel.name.clone();
    let Arg::KernelArgument { name, size } = arg else {
        let version = object.version().into();
        return implicit_offset(kernel, version).ok_or_else(|| Rejection::NoHidden { kernel: named() });
    };
    let missing = || Rejection::NoKernelArgument { kernel: named(), name: name.clone(), size: *size };
    let metadata = kernel.metadata().ok_or_else(missing)?;
    let all: Vec<_> = metadata.explicit_args().collect();
    let number = all.iter().position(|a| a.name.as_ref() == Some(name)).or_else(|| {
        // What the metadata do not name, DWARF may: it has the same parameters.
        let declared = lines::parameters(object, kernel.entry).ok()??;
        (declared.len() == all.len()).then(|| declared.iter().position(|p| p.name.as_ref() == Some(name)))?
    });
    let found = number.map(|n| all[n]).filter(|a| a.size == Some(u64::from(*size)));
    found.and_then(|a| a.offset).ok_or_else(missing)
}
