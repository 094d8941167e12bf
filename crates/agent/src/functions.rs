//! The functions that can be wrapped. Written by tools/api-signatures.

use crate::calls::{Function, function};

/// The core table, in its order: new ones are added at the end.
pub static CORE: [Function; 125] = [
    function::<0, 0>("hsa_init"),
    function::<1, 0>("hsa_shut_down"),
    function::<2, 0>("hsa_system_get_info"),
    function::<3, 0>("hsa_system_extension_supported"),
    function::<4, 0>("hsa_system_get_extension_table"),
    function::<5, 0>("hsa_iterate_agents"),
    function::<6, 0>("hsa_agent_get_info"),
    function::<7, 2>("hsa_queue_create"),
    function::<8, 0>("hsa_soft_queue_create"),
    function::<9, 0>("hsa_queue_destroy"),
    function::<10, 0>("hsa_queue_inactivate"),
    function::<11, 0>("hsa_queue_load_read_index_scacquire"),
    function::<12, 0>("hsa_queue_load_read_index_relaxed"),
    function::<13, 0>("hsa_queue_load_write_index_scacquire"),
    function::<14, 0>("hsa_queue_load_write_index_relaxed"),
    function::<15, 0>("hsa_queue_store_write_index_relaxed"),
    function::<16, 0>("hsa_queue_store_write_index_screlease"),
    function::<17, 0>("hsa_queue_cas_write_index_scacq_screl"),
    function::<18, 0>("hsa_queue_cas_write_index_scacquire"),
    function::<19, 0>("hsa_queue_cas_write_index_relaxed"),
    function::<20, 0>("hsa_queue_cas_write_index_screlease"),
    function::<21, 0>("hsa_queue_add_write_index_scacq_screl"),
    function::<22, 0>("hsa_queue_add_write_index_scacquire"),
    function::<23, 0>("hsa_queue_add_write_index_relaxed"),
    function::<24, 0>("hsa_queue_add_write_index_screlease"),
    function::<25, 0>("hsa_queue_store_read_index_relaxed"),
    function::<26, 0>("hsa_queue_store_read_index_screlease"),
    function::<27, 0>("hsa_agent_iterate_regions"),
    function::<28, 0>("hsa_region_get_info"),
    function::<29, 0>("hsa_agent_get_exception_policies"),
    function::<30, 0>("hsa_agent_extension_supported"),
    function::<31, 0>("hsa_memory_register"),
    function::<32, 0>("hsa_memory_deregister"),
    function::<33, 0>("hsa_memory_allocate"),
    function::<34, 0>("hsa_memory_free"),
    function::<35, 0>("hsa_memory_copy"),
    function::<36, 0>("hsa_memory_assign_agent"),
    function::<37, 0>("hsa_signal_create"),
    function::<38, 0>("hsa_signal_destroy"),
    function::<39, 0>("hsa_signal_load_relaxed"),
    function::<40, 0>("hsa_signal_load_scacquire"),
    function::<41, 0>("hsa_signal_store_relaxed"),
    function::<42, 0>("hsa_signal_store_screlease"),
    function::<43, 0>("hsa_signal_wait_relaxed"),
    function::<44, 0>("hsa_signal_wait_scacquire"),
    function::<45, 0>("hsa_signal_and_relaxed"),
    function::<46, 0>("hsa_signal_and_scacquire"),
    function::<47, 0>("hsa_signal_and_screlease"),
    function::<48, 0>("hsa_signal_and_scacq_screl"),
    function::<49, 0>("hsa_signal_or_relaxed"),
    function::<50, 0>("hsa_signal_or_scacquire"),
    function::<51, 0>("hsa_signal_or_screlease"),
    function::<52, 0>("hsa_signal_or_scacq_screl"),
    function::<53, 0>("hsa_signal_xor_relaxed"),
    function::<54, 0>("hsa_signal_xor_scacquire"),
    function::<55, 0>("hsa_signal_xor_screlease"),
    function::<56, 0>("hsa_signal_xor_scacq_screl"),
    function::<57, 0>("hsa_signal_exchange_relaxed"),
    function::<58, 0>("hsa_signal_exchange_scacquire"),
    function::<59, 0>("hsa_signal_exchange_screlease"),
    function::<60, 0>("hsa_signal_exchange_scacq_screl"),
    function::<61, 0>("hsa_signal_add_relaxed"),
    function::<62, 0>("hsa_signal_add_scacquire"),
    function::<63, 0>("hsa_signal_add_screlease"),
    function::<64, 0>("hsa_signal_add_scacq_screl"),
    function::<65, 0>("hsa_signal_subtract_relaxed"),
    function::<66, 0>("hsa_signal_subtract_scacquire"),
    function::<67, 0>("hsa_signal_subtract_screlease"),
    function::<68, 0>("hsa_signal_subtract_scacq_screl"),
    function::<69, 0>("hsa_signal_cas_relaxed"),
    function::<70, 0>("hsa_signal_cas_scacquire"),
    function::<71, 0>("hsa_signal_cas_screlease"),
    function::<72, 0>("hsa_signal_cas_scacq_screl"),
    function::<73, 0>("hsa_isa_from_name"),
    function::<74, 0>("hsa_isa_get_info"),
    function::<75, 0>("hsa_isa_compatible"),
    function::<76, 0>("hsa_code_object_serialize"),
    function::<77, 0>("hsa_code_object_deserialize"),
    function::<78, 0>("hsa_code_object_destroy"),
    function::<79, 0>("hsa_code_object_get_info"),
    function::<80, 0>("hsa_code_object_get_symbol"),
    function::<81, 0>("hsa_code_symbol_get_info"),
    function::<82, 0>("hsa_code_object_iterate_symbols"),
    function::<83, 0>("hsa_executable_create"),
    function::<84, 0>("hsa_executable_destroy"),
    function::<85, 0>("hsa_executable_load_code_object"),
    function::<86, 0>("hsa_executable_freeze"),
    function::<87, 0>("hsa_executable_get_info"),
    function::<88, 0>("hsa_executable_global_variable_define"),
    function::<89, 0>("hsa_executable_agent_global_variable_define"),
    function::<90, 0>("hsa_executable_readonly_variable_define"),
    function::<91, 0>("hsa_executable_validate"),
    function::<92, 0>("hsa_executable_get_symbol"),
    function::<93, 0>("hsa_executable_symbol_get_info"),
    function::<94, 0>("hsa_executable_iterate_symbols"),
    function::<95, 0>("hsa_status_string"),
    function::<96, 0>("hsa_extension_get_name"),
    function::<97, 0>("hsa_system_major_extension_supported"),
    function::<98, 0>("hsa_system_get_major_extension_table"),
    function::<99, 0>("hsa_agent_major_extension_supported"),
    function::<100, 0>("hsa_cache_get_info"),
    function::<101, 0>("hsa_agent_iterate_caches"),
    function::<102, 0>("hsa_signal_silent_store_relaxed"),
    function::<103, 0>("hsa_signal_silent_store_screlease"),
    function::<104, 0>("hsa_signal_group_create"),
    function::<105, 0>("hsa_signal_group_destroy"),
    function::<106, 0>("hsa_signal_group_wait_any_scacquire"),
    function::<107, 0>("hsa_signal_group_wait_any_relaxed"),
    function::<108, 0>("hsa_agent_iterate_isas"),
    function::<109, 0>("hsa_isa_get_info_alt"),
    function::<110, 0>("hsa_isa_get_exception_policies"),
    function::<111, 0>("hsa_isa_get_round_method"),
    function::<112, 0>("hsa_wavefront_get_info"),
    function::<113, 0>("hsa_isa_iterate_wavefronts"),
    function::<114, 0>("hsa_code_object_get_symbol_from_name"),
    function::<115, 0>("hsa_code_object_reader_create_from_file"),
    function::<116, 0>("hsa_code_object_reader_create_from_memory"),
    function::<117, 0>("hsa_code_object_reader_destroy"),
    function::<118, 0>("hsa_executable_create_alt"),
    function::<119, 0>("hsa_executable_load_program_code_object"),
    function::<120, 0>("hsa_executable_load_agent_code_object"),
    function::<121, 0>("hsa_executable_validate_alt"),
    function::<122, 0>("hsa_executable_get_symbol_by_name"),
    function::<123, 0>("hsa_executable_iterate_agent_symbols"),
    function::<124, 0>("hsa_executable_iterate_program_symbols"),
];

/// The table of AMD's extensions, likewise.
pub static AMD: [Function; 48] = [
    function::<125, 0>("hsa_amd_coherency_get_type"),
    function::<126, 0>("hsa_amd_coherency_set_type"),
    function::<127, 0>("hsa_amd_profiling_set_profiler_enabled"),
    function::<128, 0>("hsa_amd_profiling_async_copy_enable"),
    function::<129, 0>("hsa_amd_profiling_get_dispatch_time"),
    function::<130, 0>("hsa_amd_profiling_get_async_copy_time"),
    function::<131, 0>("hsa_amd_profiling_convert_tick_to_system_domain"),
    function::<132, 0>("hsa_amd_signal_async_handler"),
    function::<133, 0>("hsa_amd_async_function"),
    function::<134, 1>("hsa_amd_signal_wait_any"),
    function::<135, 0>("hsa_amd_queue_cu_set_mask"),
    function::<136, 0>("hsa_amd_memory_pool_get_info"),
    function::<137, 0>("hsa_amd_agent_iterate_memory_pools"),
    function::<138, 0>("hsa_amd_memory_pool_allocate"),
    function::<139, 0>("hsa_amd_memory_pool_free"),
    function::<140, 2>("hsa_amd_memory_async_copy"),
    function::<141, 0>("hsa_amd_agent_memory_pool_get_info"),
    function::<142, 0>("hsa_amd_agents_allow_access"),
    function::<143, 0>("hsa_amd_memory_pool_can_migrate"),
    function::<144, 0>("hsa_amd_memory_migrate"),
    function::<145, 0>("hsa_amd_memory_lock"),
    function::<146, 0>("hsa_amd_memory_unlock"),
    function::<147, 0>("hsa_amd_memory_fill"),
    function::<148, 2>("hsa_amd_interop_map_buffer"),
    function::<149, 0>("hsa_amd_interop_unmap_buffer"),
    function::<150, 0>("hsa_amd_image_create"),
    function::<151, 0>("hsa_amd_pointer_info"),
    function::<152, 0>("hsa_amd_pointer_info_set_userdata"),
    function::<153, 0>("hsa_amd_ipc_memory_create"),
    function::<154, 0>("hsa_amd_ipc_memory_attach"),
    function::<155, 0>("hsa_amd_ipc_memory_detach"),
    function::<156, 0>("hsa_amd_signal_create"),
    function::<157, 0>("hsa_amd_ipc_signal_create"),
    function::<158, 0>("hsa_amd_ipc_signal_attach"),
    function::<159, 0>("hsa_amd_register_system_event_handler"),
    function::<160, 2>("hsa_amd_queue_intercept_create"),
    function::<161, 0>("hsa_amd_queue_intercept_register"),
    function::<162, 0>("hsa_amd_queue_set_priority"),
    function::<163, 4>("hsa_amd_memory_async_copy_rect"),
    function::<164, 0>("hsa_amd_runtime_queue_create_register"),
    function::<165, 1>("hsa_amd_memory_lock_to_pool"),
    function::<166, 0>("hsa_amd_register_deallocation_callback"),
    function::<167, 0>("hsa_amd_deregister_deallocation_callback"),
    function::<168, 0>("hsa_amd_signal_value_pointer"),
    function::<169, 0>("hsa_amd_svm_attributes_set"),
    function::<170, 0>("hsa_amd_svm_attributes_get"),
    function::<171, 0>("hsa_amd_svm_prefetch_async"),
    function::<172, 0>("hsa_amd_queue_cu_get_mask"),
];

/// The table of images, likewise.
pub static IMAGE: [Function; 13] = [
    function::<173, 0>("hsa_ext_image_get_capability"),
    function::<174, 0>("hsa_ext_image_data_get_info"),
    function::<175, 0>("hsa_ext_image_create"),
    function::<176, 0>("hsa_ext_image_import"),
    function::<177, 0>("hsa_ext_image_export"),
    function::<178, 0>("hsa_ext_image_copy"),
    function::<179, 0>("hsa_ext_image_clear"),
    function::<180, 0>("hsa_ext_image_destroy"),
    function::<181, 0>("hsa_ext_sampler_create"),
    function::<182, 0>("hsa_ext_sampler_destroy"),
    function::<183, 0>("hsa_ext_image_get_capability_with_layout"),
    function::<184, 1>("hsa_ext_image_data_get_info_with_layout"),
    function::<185, 2>("hsa_ext_image_create_with_layout"),
];

crate::calls::exported! {
    pub static HIP: [Function; 378];
    186, 0, __hipGetPCH, "__hipGetPCH";
    187, 0, __hipPopCallConfiguration, "__hipPopCallConfiguration";
    188, 0, __hipPushCallConfiguration, "__hipPushCallConfiguration";
    189, 0, __hipRegisterFatBinary, "__hipRegisterFatBinary";
    190, 4, __hipRegisterFunction, "__hipRegisterFunction";
    191, 0, __hipRegisterManagedVar, "__hipRegisterManagedVar";
    192, 0, __hipRegisterSurface, "__hipRegisterSurface";
    193, 1, __hipRegisterTexture, "__hipRegisterTexture";
    194, 2, __hipRegisterVar, "__hipRegisterVar";
    195, 0, __hipUnregisterFatBinary, "__hipUnregisterFatBinary";
    196, 0, hipArray3DCreate, "hipArray3DCreate";
    197, 0, hipArrayCreate, "hipArrayCreate";
    198, 0, hipArrayDestroy, "hipArrayDestroy";
    199, 0, hipBindTexture, "hipBindTexture";
    200, 1, hipBindTexture2D, "hipBindTexture2D";
    201, 0, hipBindTextureToArray, "hipBindTextureToArray";
    202, 0, hipBindTextureToMipmappedArray, "hipBindTextureToMipmappedArray";
    203, 0, hipChooseDevice, "hipChooseDevice";
    204, 0, hipConfigureCall, "hipConfigureCall";
    205, 0, hipCreateTextureObject, "hipCreateTextureObject";
    206, 0, hipCtxCreate, "hipCtxCreate";
    207, 0, hipCtxDestroy, "hipCtxDestroy";
    208, 0, hipCtxDisablePeerAccess, "hipCtxDisablePeerAccess";
    209, 0, hipCtxEnablePeerAccess, "hipCtxEnablePeerAccess";
    210, 0, hipCtxGetApiVersion, "hipCtxGetApiVersion";
    211, 0, hipCtxGetCacheConfig, "hipCtxGetCacheConfig";
    212, 0, hipCtxGetCurrent, "hipCtxGetCurrent";
    213, 0, hipCtxGetDevice, "hipCtxGetDevice";
    214, 0, hipCtxGetFlags, "hipCtxGetFlags";
    215, 0, hipCtxGetSharedMemConfig, "hipCtxGetSharedMemConfig";
    216, 0, hipCtxPopCurrent, "hipCtxPopCurrent";
    217, 0, hipCtxPushCurrent, "hipCtxPushCurrent";
    218, 0, hipCtxSetCacheConfig, "hipCtxSetCacheConfig";
    219, 0, hipCtxSetCurrent, "hipCtxSetCurrent";
    220, 0, hipCtxSetSharedMemConfig, "hipCtxSetSharedMemConfig";
    221, 0, hipCtxSynchronize, "hipCtxSynchronize";
    222, 0, hipDestroyExternalMemory, "hipDestroyExternalMemory";
    223, 0, hipDestroyExternalSemaphore, "hipDestroyExternalSemaphore";
    224, 0, hipDestroyTextureObject, "hipDestroyTextureObject";
    225, 0, hipDeviceCanAccessPeer, "hipDeviceCanAccessPeer";
    226, 0, hipDeviceComputeCapability, "hipDeviceComputeCapability";
    227, 0, hipDeviceDisablePeerAccess, "hipDeviceDisablePeerAccess";
    228, 0, hipDeviceEnablePeerAccess, "hipDeviceEnablePeerAccess";
    229, 0, hipDeviceGet, "hipDeviceGet";
    230, 0, hipDeviceGetAttribute, "hipDeviceGetAttribute";
    231, 0, hipDeviceGetByPCIBusId, "hipDeviceGetByPCIBusId";
    232, 0, hipDeviceGetCacheConfig, "hipDeviceGetCacheConfig";
    233, 0, hipDeviceGetDefaultMemPool, "hipDeviceGetDefaultMemPool";
    234, 0, hipDeviceGetLimit, "hipDeviceGetLimit";
    235, 0, hipDeviceGetMemPool, "hipDeviceGetMemPool";
    236, 0, hipDeviceGetName, "hipDeviceGetName";
    237, 0, hipDeviceGetP2PAttribute, "hipDeviceGetP2PAttribute";
    238, 0, hipDeviceGetPCIBusId, "hipDeviceGetPCIBusId";
    239, 0, hipDeviceGetSharedMemConfig, "hipDeviceGetSharedMemConfig";
    240, 0, hipDeviceGetStreamPriorityRange, "hipDeviceGetStreamPriorityRange";
    241, 0, hipDeviceGetUuid, "hipDeviceGetUuid";
    242, 0, hipDevicePrimaryCtxGetState, "hipDevicePrimaryCtxGetState";
    243, 0, hipDevicePrimaryCtxRelease, "hipDevicePrimaryCtxRelease";
    244, 0, hipDevicePrimaryCtxReset, "hipDevicePrimaryCtxReset";
    245, 0, hipDevicePrimaryCtxRetain, "hipDevicePrimaryCtxRetain";
    246, 0, hipDevicePrimaryCtxSetFlags, "hipDevicePrimaryCtxSetFlags";
    247, 0, hipDeviceReset, "hipDeviceReset";
    248, 0, hipDeviceSetCacheConfig, "hipDeviceSetCacheConfig";
    249, 0, hipDeviceSetMemPool, "hipDeviceSetMemPool";
    250, 0, hipDeviceSetSharedMemConfig, "hipDeviceSetSharedMemConfig";
    251, 0, hipDeviceSynchronize, "hipDeviceSynchronize";
    252, 0, hipDeviceTotalMem, "hipDeviceTotalMem";
    253, 0, hipDriverGetVersion, "hipDriverGetVersion";
    254, 0, hipDrvMemcpy2DUnaligned, "hipDrvMemcpy2DUnaligned";
    255, 0, hipDrvMemcpy3D, "hipDrvMemcpy3D";
    256, 0, hipDrvMemcpy3DAsync, "hipDrvMemcpy3DAsync";
    257, 0, hipDrvPointerGetAttributes, "hipDrvPointerGetAttributes";
    258, 0, hipEventCreate, "hipEventCreate";
    259, 0, hipEventCreateWithFlags, "hipEventCreateWithFlags";
    260, 0, hipEventDestroy, "hipEventDestroy";
    261, 0, hipEventElapsedTime, "hipEventElapsedTime";
    262, 0, hipEventQuery, "hipEventQuery";
    263, 0, hipEventRecord, "hipEventRecord";
    264, 0, hipEventSynchronize, "hipEventSynchronize";
    265, 0, hipExtGetLinkTypeAndHopCount, "hipExtGetLinkTypeAndHopCount";
    266, 5, hipExtLaunchKernel, "hipExtLaunchKernel";
    267, 0, hipExtLaunchMultiKernelMultiDevice, "hipExtLaunchMultiKernelMultiDevice";
    268, 0, hipExtMallocWithFlags, "hipExtMallocWithFlags";
    269, 0, hipExtStreamCreateWithCUMask, "hipExtStreamCreateWithCUMask";
    270, 0, hipExtStreamGetCUMask, "hipExtStreamGetCUMask";
    271, 0, hipExternalMemoryGetMappedBuffer, "hipExternalMemoryGetMappedBuffer";
    272, 0, hipFree, "hipFree";
    273, 0, hipFreeArray, "hipFreeArray";
    274, 0, hipFreeAsync, "hipFreeAsync";
    275, 0, hipFreeHost, "hipFreeHost";
    276, 0, hipFreeMipmappedArray, "hipFreeMipmappedArray";
    277, 0, hipFuncGetAttribute, "hipFuncGetAttribute";
    278, 0, hipFuncGetAttributes, "hipFuncGetAttributes";
    279, 0, hipFuncSetAttribute, "hipFuncSetAttribute";
    280, 0, hipFuncSetCacheConfig, "hipFuncSetCacheConfig";
    281, 0, hipFuncSetSharedMemConfig, "hipFuncSetSharedMemConfig";
    282, 0, hipGLGetDevices, "hipGLGetDevices";
    283, 0, hipGetChannelDesc, "hipGetChannelDesc";
    284, 0, hipGetDevice, "hipGetDevice";
    285, 0, hipGetDeviceCount, "hipGetDeviceCount";
    286, 0, hipGetDeviceFlags, "hipGetDeviceFlags";
    287, 0, hipGetDeviceProperties, "hipGetDeviceProperties";
    288, 0, hipGetErrorName, "hipGetErrorName";
    289, 0, hipGetErrorString, "hipGetErrorString";
    290, 0, hipGetLastError, "hipGetLastError";
    291, 0, hipGetMipmappedArrayLevel, "hipGetMipmappedArrayLevel";
    292, 0, hipGetSymbolAddress, "hipGetSymbolAddress";
    293, 0, hipGetSymbolSize, "hipGetSymbolSize";
    294, 0, hipGetTextureAlignmentOffset, "hipGetTextureAlignmentOffset";
    295, 0, hipGetTextureObjectResourceDesc, "hipGetTextureObjectResourceDesc";
    296, 0, hipGetTextureObjectResourceViewDesc, "hipGetTextureObjectResourceViewDesc";
    297, 0, hipGetTextureObjectTextureDesc, "hipGetTextureObjectTextureDesc";
    298, 0, hipGetTextureReference, "hipGetTextureReference";
    299, 0, hipGraphAddChildGraphNode, "hipGraphAddChildGraphNode";
    300, 0, hipGraphAddDependencies, "hipGraphAddDependencies";
    301, 0, hipGraphAddEmptyNode, "hipGraphAddEmptyNode";
    302, 0, hipGraphAddEventRecordNode, "hipGraphAddEventRecordNode";
    303, 0, hipGraphAddEventWaitNode, "hipGraphAddEventWaitNode";
    304, 0, hipGraphAddHostNode, "hipGraphAddHostNode";
    305, 0, hipGraphAddKernelNode, "hipGraphAddKernelNode";
    306, 0, hipGraphAddMemcpyNode, "hipGraphAddMemcpyNode";
    307, 2, hipGraphAddMemcpyNode1D, "hipGraphAddMemcpyNode1D";
    308, 3, hipGraphAddMemcpyNodeFromSymbol, "hipGraphAddMemcpyNodeFromSymbol";
    309, 3, hipGraphAddMemcpyNodeToSymbol, "hipGraphAddMemcpyNodeToSymbol";
    310, 0, hipGraphAddMemsetNode, "hipGraphAddMemsetNode";
    311, 0, hipGraphChildGraphNodeGetGraph, "hipGraphChildGraphNodeGetGraph";
    312, 0, hipGraphClone, "hipGraphClone";
    313, 0, hipGraphCreate, "hipGraphCreate";
    314, 0, hipGraphDestroy, "hipGraphDestroy";
    315, 0, hipGraphDestroyNode, "hipGraphDestroyNode";
    316, 0, hipGraphEventRecordNodeGetEvent, "hipGraphEventRecordNodeGetEvent";
    317, 0, hipGraphEventRecordNodeSetEvent, "hipGraphEventRecordNodeSetEvent";
    318, 0, hipGraphEventWaitNodeGetEvent, "hipGraphEventWaitNodeGetEvent";
    319, 0, hipGraphEventWaitNodeSetEvent, "hipGraphEventWaitNodeSetEvent";
    320, 0, hipGraphExecChildGraphNodeSetParams, "hipGraphExecChildGraphNodeSetParams";
    321, 0, hipGraphExecDestroy, "hipGraphExecDestroy";
    322, 0, hipGraphExecEventRecordNodeSetEvent, "hipGraphExecEventRecordNodeSetEvent";
    323, 0, hipGraphExecEventWaitNodeSetEvent, "hipGraphExecEventWaitNodeSetEvent";
    324, 0, hipGraphExecHostNodeSetParams, "hipGraphExecHostNodeSetParams";
    325, 0, hipGraphExecKernelNodeSetParams, "hipGraphExecKernelNodeSetParams";
    326, 0, hipGraphExecMemcpyNodeSetParams, "hipGraphExecMemcpyNodeSetParams";
    327, 0, hipGraphExecMemcpyNodeSetParams1D, "hipGraphExecMemcpyNodeSetParams1D";
    328, 1, hipGraphExecMemcpyNodeSetParamsFromSymbol, "hipGraphExecMemcpyNodeSetParamsFromSymbol";
    329, 1, hipGraphExecMemcpyNodeSetParamsToSymbol, "hipGraphExecMemcpyNodeSetParamsToSymbol";
    330, 0, hipGraphExecMemsetNodeSetParams, "hipGraphExecMemsetNodeSetParams";
    331, 0, hipGraphExecUpdate, "hipGraphExecUpdate";
    332, 0, hipGraphGetEdges, "hipGraphGetEdges";
    333, 0, hipGraphGetNodes, "hipGraphGetNodes";
    334, 0, hipGraphGetRootNodes, "hipGraphGetRootNodes";
    335, 0, hipGraphHostNodeGetParams, "hipGraphHostNodeGetParams";
    336, 0, hipGraphHostNodeSetParams, "hipGraphHostNodeSetParams";
    337, 0, hipGraphInstantiate, "hipGraphInstantiate";
    338, 0, hipGraphInstantiateWithFlags, "hipGraphInstantiateWithFlags";
    339, 0, hipGraphKernelNodeGetAttribute, "hipGraphKernelNodeGetAttribute";
    340, 0, hipGraphKernelNodeGetParams, "hipGraphKernelNodeGetParams";
    341, 0, hipGraphKernelNodeSetAttribute, "hipGraphKernelNodeSetAttribute";
    342, 0, hipGraphKernelNodeSetParams, "hipGraphKernelNodeSetParams";
    343, 0, hipGraphLaunch, "hipGraphLaunch";
    344, 0, hipGraphMemcpyNodeGetParams, "hipGraphMemcpyNodeGetParams";
    345, 0, hipGraphMemcpyNodeSetParams, "hipGraphMemcpyNodeSetParams";
    346, 0, hipGraphMemcpyNodeSetParams1D, "hipGraphMemcpyNodeSetParams1D";
    347, 0, hipGraphMemcpyNodeSetParamsFromSymbol, "hipGraphMemcpyNodeSetParamsFromSymbol";
    348, 0, hipGraphMemcpyNodeSetParamsToSymbol, "hipGraphMemcpyNodeSetParamsToSymbol";
    349, 0, hipGraphMemsetNodeGetParams, "hipGraphMemsetNodeGetParams";
    350, 0, hipGraphMemsetNodeSetParams, "hipGraphMemsetNodeSetParams";
    351, 0, hipGraphNodeFindInClone, "hipGraphNodeFindInClone";
    352, 0, hipGraphNodeGetDependencies, "hipGraphNodeGetDependencies";
    353, 0, hipGraphNodeGetDependentNodes, "hipGraphNodeGetDependentNodes";
    354, 0, hipGraphNodeGetType, "hipGraphNodeGetType";
    355, 0, hipGraphRemoveDependencies, "hipGraphRemoveDependencies";
    356, 0, hipGraphicsGLRegisterBuffer, "hipGraphicsGLRegisterBuffer";
    357, 0, hipGraphicsGLRegisterImage, "hipGraphicsGLRegisterImage";
    358, 0, hipGraphicsMapResources, "hipGraphicsMapResources";
    359, 0, hipGraphicsResourceGetMappedPointer, "hipGraphicsResourceGetMappedPointer";
    360, 0, hipGraphicsSubResourceGetMappedArray, "hipGraphicsSubResourceGetMappedArray";
    361, 0, hipGraphicsUnmapResources, "hipGraphicsUnmapResources";
    362, 0, hipGraphicsUnregisterResource, "hipGraphicsUnregisterResource";
    363, 0, hipHostAlloc, "hipHostAlloc";
    364, 0, hipHostFree, "hipHostFree";
    365, 0, hipHostGetDevicePointer, "hipHostGetDevicePointer";
    366, 0, hipHostGetFlags, "hipHostGetFlags";
    367, 0, hipHostMalloc, "hipHostMalloc";
    368, 0, hipHostRegister, "hipHostRegister";
    369, 0, hipHostUnregister, "hipHostUnregister";
    370, 0, hipImportExternalMemory, "hipImportExternalMemory";
    371, 0, hipImportExternalSemaphore, "hipImportExternalSemaphore";
    372, 0, hipInit, "hipInit";
    373, 0, hipIpcCloseMemHandle, "hipIpcCloseMemHandle";
    374, 0, hipIpcGetEventHandle, "hipIpcGetEventHandle";
    375, 0, hipIpcGetMemHandle, "hipIpcGetMemHandle";
    376, 8, hipIpcOpenEventHandle, "hipIpcOpenEventHandle";
    377, 8, hipIpcOpenMemHandle, "hipIpcOpenMemHandle";
    378, 0, hipLaunchByPtr, "hipLaunchByPtr";
    379, 2, hipLaunchCooperativeKernel, "hipLaunchCooperativeKernel";
    380, 0, hipLaunchCooperativeKernelMultiDevice, "hipLaunchCooperativeKernelMultiDevice";
    381, 2, hipLaunchCooperativeKernel_spt, "hipLaunchCooperativeKernel_spt";
    382, 0, hipLaunchHostFunc, "hipLaunchHostFunc";
    383, 2, hipLaunchKernel, "hipLaunchKernel";
    384, 2, hipLaunchKernel_spt, "hipLaunchKernel_spt";
    385, 0, hipMalloc, "hipMalloc";
    386, 3, hipMalloc3D, "hipMalloc3D";
    387, 3, hipMalloc3DArray, "hipMalloc3DArray";
    388, 0, hipMallocArray, "hipMallocArray";
    389, 0, hipMallocAsync, "hipMallocAsync";
    390, 0, hipMallocFromPoolAsync, "hipMallocFromPoolAsync";
    391, 0, hipMallocHost, "hipMallocHost";
    392, 0, hipMallocManaged, "hipMallocManaged";
    393, 3, hipMallocMipmappedArray, "hipMallocMipmappedArray";
    394, 0, hipMallocPitch, "hipMallocPitch";
    395, 0, hipMemAddressFree, "hipMemAddressFree";
    396, 0, hipMemAddressReserve, "hipMemAddressReserve";
    397, 0, hipMemAdvise, "hipMemAdvise";
    398, 0, hipMemAllocHost, "hipMemAllocHost";
    399, 0, hipMemAllocPitch, "hipMemAllocPitch";
    400, 0, hipMemCreate, "hipMemCreate";
    401, 0, hipMemExportToShareableHandle, "hipMemExportToShareableHandle";
    402, 0, hipMemGetAccess, "hipMemGetAccess";
    403, 0, hipMemGetAddressRange, "hipMemGetAddressRange";
    404, 0, hipMemGetAllocationGranularity, "hipMemGetAllocationGranularity";
    405, 0, hipMemGetAllocationPropertiesFromHandle, "hipMemGetAllocationPropertiesFromHandle";
    406, 0, hipMemGetInfo, "hipMemGetInfo";
    407, 0, hipMemImportFromShareableHandle, "hipMemImportFromShareableHandle";
    408, 0, hipMemMap, "hipMemMap";
    409, 0, hipMemMapArrayAsync, "hipMemMapArrayAsync";
    410, 0, hipMemPoolCreate, "hipMemPoolCreate";
    411, 0, hipMemPoolDestroy, "hipMemPoolDestroy";
    412, 0, hipMemPoolExportPointer, "hipMemPoolExportPointer";
    413, 0, hipMemPoolExportToShareableHandle, "hipMemPoolExportToShareableHandle";
    414, 0, hipMemPoolGetAccess, "hipMemPoolGetAccess";
    415, 0, hipMemPoolGetAttribute, "hipMemPoolGetAttribute";
    416, 0, hipMemPoolImportFromShareableHandle, "hipMemPoolImportFromShareableHandle";
    417, 0, hipMemPoolImportPointer, "hipMemPoolImportPointer";
    418, 0, hipMemPoolSetAccess, "hipMemPoolSetAccess";
    419, 0, hipMemPoolSetAttribute, "hipMemPoolSetAttribute";
    420, 0, hipMemPoolTrimTo, "hipMemPoolTrimTo";
    421, 0, hipMemPrefetchAsync, "hipMemPrefetchAsync";
    422, 0, hipMemPtrGetInfo, "hipMemPtrGetInfo";
    423, 0, hipMemRangeGetAttribute, "hipMemRangeGetAttribute";
    424, 0, hipMemRangeGetAttributes, "hipMemRangeGetAttributes";
    425, 0, hipMemRelease, "hipMemRelease";
    426, 0, hipMemRetainAllocationHandle, "hipMemRetainAllocationHandle";
    427, 0, hipMemSetAccess, "hipMemSetAccess";
    428, 0, hipMemUnmap, "hipMemUnmap";
    429, 0, hipMemcpy, "hipMemcpy";
    430, 1, hipMemcpy2D, "hipMemcpy2D";
    431, 2, hipMemcpy2DAsync, "hipMemcpy2DAsync";
    432, 2, hipMemcpy2DFromArray, "hipMemcpy2DFromArray";
    433, 3, hipMemcpy2DFromArrayAsync, "hipMemcpy2DFromArrayAsync";
    434, 2, hipMemcpy2DFromArray_spt, "hipMemcpy2DFromArray_spt";
    435, 2, hipMemcpy2DToArray, "hipMemcpy2DToArray";
    436, 3, hipMemcpy2DToArrayAsync, "hipMemcpy2DToArrayAsync";
    437, 2, hipMemcpy2DToArray_spt, "hipMemcpy2DToArray_spt";
    438, 1, hipMemcpy2D_spt, "hipMemcpy2D_spt";
    439, 0, hipMemcpy3D, "hipMemcpy3D";
    440, 0, hipMemcpy3DAsync, "hipMemcpy3DAsync";
    441, 0, hipMemcpy3D_spt, "hipMemcpy3D_spt";
    442, 0, hipMemcpyAsync, "hipMemcpyAsync";
    443, 0, hipMemcpyAsync_spt, "hipMemcpyAsync_spt";
    444, 0, hipMemcpyAtoH, "hipMemcpyAtoH";
    445, 0, hipMemcpyDtoD, "hipMemcpyDtoD";
    446, 0, hipMemcpyDtoDAsync, "hipMemcpyDtoDAsync";
    447, 0, hipMemcpyDtoH, "hipMemcpyDtoH";
    448, 0, hipMemcpyDtoHAsync, "hipMemcpyDtoHAsync";
    449, 0, hipMemcpyFromArray, "hipMemcpyFromArray";
    450, 0, hipMemcpyFromSymbol, "hipMemcpyFromSymbol";
    451, 0, hipMemcpyFromSymbolAsync, "hipMemcpyFromSymbolAsync";
    452, 0, hipMemcpyFromSymbol_spt, "hipMemcpyFromSymbol_spt";
    453, 0, hipMemcpyHtoA, "hipMemcpyHtoA";
    454, 0, hipMemcpyHtoD, "hipMemcpyHtoD";
    455, 0, hipMemcpyHtoDAsync, "hipMemcpyHtoDAsync";
    456, 0, hipMemcpyParam2D, "hipMemcpyParam2D";
    457, 0, hipMemcpyParam2DAsync, "hipMemcpyParam2DAsync";
    458, 0, hipMemcpyPeer, "hipMemcpyPeer";
    459, 0, hipMemcpyPeerAsync, "hipMemcpyPeerAsync";
    460, 0, hipMemcpyToArray, "hipMemcpyToArray";
    461, 0, hipMemcpyToSymbol, "hipMemcpyToSymbol";
    462, 0, hipMemcpyToSymbolAsync, "hipMemcpyToSymbolAsync";
    463, 0, hipMemcpyToSymbol_spt, "hipMemcpyToSymbol_spt";
    464, 0, hipMemcpyWithStream, "hipMemcpyWithStream";
    465, 0, hipMemcpy_spt, "hipMemcpy_spt";
    466, 0, hipMemset, "hipMemset";
    467, 0, hipMemset2D, "hipMemset2D";
    468, 0, hipMemset2DAsync, "hipMemset2DAsync";
    469, 0, hipMemset2D_spt, "hipMemset2D_spt";
    470, 7, hipMemset3D, "hipMemset3D";
    471, 7, hipMemset3DAsync, "hipMemset3DAsync";
    472, 7, hipMemset3D_spt, "hipMemset3D_spt";
    473, 0, hipMemsetAsync, "hipMemsetAsync";
    474, 0, hipMemsetD16, "hipMemsetD16";
    475, 0, hipMemsetD16Async, "hipMemsetD16Async";
    476, 0, hipMemsetD32, "hipMemsetD32";
    477, 0, hipMemsetD32Async, "hipMemsetD32Async";
    478, 0, hipMemsetD8, "hipMemsetD8";
    479, 0, hipMemsetD8Async, "hipMemsetD8Async";
    480, 0, hipMemset_spt, "hipMemset_spt";
    481, 0, hipMipmappedArrayCreate, "hipMipmappedArrayCreate";
    482, 0, hipMipmappedArrayDestroy, "hipMipmappedArrayDestroy";
    483, 0, hipMipmappedArrayGetLevel, "hipMipmappedArrayGetLevel";
    484, 0, hipModuleGetFunction, "hipModuleGetFunction";
    485, 0, hipModuleGetGlobal, "hipModuleGetGlobal";
    486, 0, hipModuleGetTexRef, "hipModuleGetTexRef";
    487, 5, hipModuleLaunchKernel, "hipModuleLaunchKernel";
    488, 0, hipModuleLoad, "hipModuleLoad";
    489, 0, hipModuleLoadData, "hipModuleLoadData";
    490, 0, hipModuleLoadDataEx, "hipModuleLoadDataEx";
    491, 0, hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor";
    492, 0, hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, "hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags";
    493, 0, hipModuleOccupancyMaxPotentialBlockSize, "hipModuleOccupancyMaxPotentialBlockSize";
    494, 0, hipModuleOccupancyMaxPotentialBlockSizeWithFlags, "hipModuleOccupancyMaxPotentialBlockSizeWithFlags";
    495, 0, hipModuleUnload, "hipModuleUnload";
    496, 0, hipOccupancyMaxActiveBlocksPerMultiprocessor, "hipOccupancyMaxActiveBlocksPerMultiprocessor";
    497, 0, hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, "hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags";
    498, 0, hipOccupancyMaxPotentialBlockSize, "hipOccupancyMaxPotentialBlockSize";
    499, 0, hipPeekAtLastError, "hipPeekAtLastError";
    500, 0, hipPointerGetAttribute, "hipPointerGetAttribute";
    501, 0, hipPointerGetAttributes, "hipPointerGetAttributes";
    502, 0, hipProfilerStart, "hipProfilerStart";
    503, 0, hipProfilerStop, "hipProfilerStop";
    504, 0, hipRuntimeGetVersion, "hipRuntimeGetVersion";
    505, 0, hipSetDevice, "hipSetDevice";
    506, 0, hipSetDeviceFlags, "hipSetDeviceFlags";
    507, 0, hipSetupArgument, "hipSetupArgument";
    508, 0, hipSignalExternalSemaphoresAsync, "hipSignalExternalSemaphoresAsync";
    509, 0, hipStreamAddCallback, "hipStreamAddCallback";
    510, 0, hipStreamAttachMemAsync, "hipStreamAttachMemAsync";
    511, 0, hipStreamBeginCapture, "hipStreamBeginCapture";
    512, 0, hipStreamCreate, "hipStreamCreate";
    513, 0, hipStreamCreateWithFlags, "hipStreamCreateWithFlags";
    514, 0, hipStreamCreateWithPriority, "hipStreamCreateWithPriority";
    515, 0, hipStreamDestroy, "hipStreamDestroy";
    516, 0, hipStreamEndCapture, "hipStreamEndCapture";
    517, 0, hipStreamGetCaptureInfo, "hipStreamGetCaptureInfo";
    518, 0, hipStreamGetCaptureInfo_v2, "hipStreamGetCaptureInfo_v2";
    519, 0, hipStreamGetFlags, "hipStreamGetFlags";
    520, 0, hipStreamGetFlags_spt, "hipStreamGetFlags_spt";
    521, 0, hipStreamGetPriority, "hipStreamGetPriority";
    522, 0, hipStreamGetPriority_spt, "hipStreamGetPriority_spt";
    523, 0, hipStreamIsCapturing, "hipStreamIsCapturing";
    524, 0, hipStreamQuery, "hipStreamQuery";
    525, 0, hipStreamQuery_spt, "hipStreamQuery_spt";
    526, 0, hipStreamSynchronize, "hipStreamSynchronize";
    527, 0, hipStreamSynchronize_spt, "hipStreamSynchronize_spt";
    528, 0, hipStreamUpdateCaptureDependencies, "hipStreamUpdateCaptureDependencies";
    529, 0, hipStreamWaitEvent, "hipStreamWaitEvent";
    530, 0, hipStreamWaitEvent_spt, "hipStreamWaitEvent_spt";
    531, 0, hipStreamWaitValue32, "hipStreamWaitValue32";
    532, 0, hipStreamWaitValue64, "hipStreamWaitValue64";
    533, 0, hipStreamWriteValue32, "hipStreamWriteValue32";
    534, 0, hipStreamWriteValue64, "hipStreamWriteValue64";
    535, 0, hipTexObjectCreate, "hipTexObjectCreate";
    536, 0, hipTexObjectDestroy, "hipTexObjectDestroy";
    537, 0, hipTexObjectGetResourceDesc, "hipTexObjectGetResourceDesc";
    538, 0, hipTexObjectGetResourceViewDesc, "hipTexObjectGetResourceViewDesc";
    539, 0, hipTexObjectGetTextureDesc, "hipTexObjectGetTextureDesc";
    540, 0, hipTexRefGetAddress, "hipTexRefGetAddress";
    541, 0, hipTexRefGetAddressMode, "hipTexRefGetAddressMode";
    542, 0, hipTexRefGetFilterMode, "hipTexRefGetFilterMode";
    543, 0, hipTexRefGetFlags, "hipTexRefGetFlags";
    544, 0, hipTexRefGetFormat, "hipTexRefGetFormat";
    545, 0, hipTexRefGetMaxAnisotropy, "hipTexRefGetMaxAnisotropy";
    546, 0, hipTexRefGetMipMappedArray, "hipTexRefGetMipMappedArray";
    547, 0, hipTexRefGetMipmapFilterMode, "hipTexRefGetMipmapFilterMode";
    548, 0, hipTexRefGetMipmapLevelBias, "hipTexRefGetMipmapLevelBias";
    549, 0, hipTexRefGetMipmapLevelClamp, "hipTexRefGetMipmapLevelClamp";
    550, 0, hipTexRefSetAddress, "hipTexRefSetAddress";
    551, 0, hipTexRefSetAddress2D, "hipTexRefSetAddress2D";
    552, 0, hipTexRefSetAddressMode, "hipTexRefSetAddressMode";
    553, 0, hipTexRefSetArray, "hipTexRefSetArray";
    554, 0, hipTexRefSetBorderColor, "hipTexRefSetBorderColor";
    555, 0, hipTexRefSetFilterMode, "hipTexRefSetFilterMode";
    556, 0, hipTexRefSetFlags, "hipTexRefSetFlags";
    557, 0, hipTexRefSetFormat, "hipTexRefSetFormat";
    558, 0, hipTexRefSetMaxAnisotropy, "hipTexRefSetMaxAnisotropy";
    559, 0, hipTexRefSetMipmapFilterMode, "hipTexRefSetMipmapFilterMode";
    560, 0, hipTexRefSetMipmappedArray, "hipTexRefSetMipmappedArray";
    561, 0, hipThreadExchangeStreamCaptureMode, "hipThreadExchangeStreamCaptureMode";
    562, 0, hipUnbindTexture, "hipUnbindTexture";
    563, 0, hipWaitExternalSemaphoresAsync, "hipWaitExternalSemaphoresAsync";
}
