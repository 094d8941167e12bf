//! What is answered and not implemented: features that a GPU may lack, so callers know what the answer means.

use crate::abi::Status;

macro_rules! not_supported {
    ($($(#[$doc:meta])* $name:ident)*) => {
        $(
            $(#[$doc])*
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> Status {
                Status::NotSupported
            }
        )*
    };
}

not_supported! {
    /// Shared virtual memory with pages that move: `SVMAPISupported` is 0.
    hsaKmtSVMSetAttr
    hsaKmtSVMGetAttr
    /// Buffers of graphics APIs: there are no graphics.
    hsaKmtMapGraphicHandle
    hsaKmtUnmapGraphicHandle
    /// Debuggers.
    hsaKmtDbgRegister
    hsaKmtDbgUnregister
    hsaKmtDbgWavefrontControl
    hsaKmtDbgAddressWatch
    hsaKmtDbgEnable
    hsaKmtDbgDisable
    hsaKmtDbgGetDeviceData
    hsaKmtDbgGetQueueData
    hsaKmtDebugTrapIoctl
    hsaKmtGetKernelDebugTrapVersionInfo
    hsaKmtCheckRuntimeDebugSupport
    hsaKmtGetQueueInfo
    hsaKmtReportQueue
    /// Performance counters and sampling.
    hsaKmtPmcGetCounterProperties
    hsaKmtPmcRegisterTrace
    hsaKmtPmcUnregisterTrace
    hsaKmtPmcAcquireTraceAccess
    hsaKmtPmcReleaseTraceAccess
    hsaKmtPmcStartTrace
    hsaKmtPmcQueryTrace
    hsaKmtPmcStopTrace
    hsaKmtSPMAcquire
    hsaKmtSPMRelease
    hsaKmtSPMSetDestBuffer
    hsaKmtPcSamplingQueryCapabilities
    hsaKmtPcSamplingCreate
    hsaKmtPcSamplingDestroy
    hsaKmtPcSamplingStart
    hsaKmtPcSamplingStop
    hsaKmtPcSamplingSupport
    /// Messages of the kernel's driver.
    hsaKmtOpenSMI
    /// Device memory under AddressSanitizer, which the real library has in builds of its own.
    hsaKmtReplaceAsanHeaderPage
    hsaKmtReturnAsanHeaderPage
    /// Files that a GPU reads by itself.
    hsaKmtAisReadWriteFile
}
