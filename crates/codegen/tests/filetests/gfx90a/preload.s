//! count before all counter
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.amdhsa_code_object_version 5
.text
.protected k
.globl k
.p2align 8
.type k,@function
k:
  s_load_dword s2, s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_branch .Lstart
  .p2align 8
.Lstart:
  v_mov_b32_e32 v0, s2
  global_store_dword v[0:1], v0, off
  s_endpgm
.size k, .-k
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
  .amdhsa_user_sgpr_kernarg_preload_length 1
  .amdhsa_user_sgpr_kernarg_preload_offset 0
  .amdhsa_user_sgpr_count 3
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx90a
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 256
    .args: []
...
.end_amdgpu_metadata

//| k.instrumented:
//| 0x3000          s_branch 65  -> 0x3108
//| 0x3004          s_nop 0
//| 0x3008          s_nop 0
//| 0x3100          s_mov_b64 s[4:5], 0
//| 0x3104          s_branch 191  -> 0x3404
//| 0x3108          s_mov_b64 s[4:5], 0
//| 0x310c          s_add_u32 s4, s4, 1
//| 0x3110          s_addc_u32 s5, s5, 0
//| 0x3114  0x1500  s_load_dword s2, s[0:1], 0x0
//| 0x311c          s_add_u32 s4, s4, 1
//| 0x3120          s_addc_u32 s5, s5, 0
//| 0x3124  0x1508  s_waitcnt lgkmcnt(0)
//| 0x3128          s_add_u32 s4, s4, 1
//| 0x312c          s_addc_u32 s5, s5, 0
//| 0x3130  0x150c  s_branch 180  -> 0x3404
//| 0x3134          s_add_u32 s4, s4, 1
//| 0x3138          s_addc_u32 s5, s5, 0
//| 0x313c  0x1510  s_nop 0
//| 0x3140          s_add_u32 s4, s4, 1
//| 0x3144          s_addc_u32 s5, s5, 0
//| 0x3148  0x1514  s_nop 0
//| 0x314c          s_add_u32 s4, s4, 1
//| 0x3150          s_addc_u32 s5, s5, 0
//| 0x3154  0x1518  s_nop 0
//| 0x3158          s_add_u32 s4, s4, 1
//| 0x315c          s_addc_u32 s5, s5, 0
//| 0x3160  0x151c  s_nop 0
//| 0x3164          s_add_u32 s4, s4, 1
//| 0x3168          s_addc_u32 s5, s5, 0
//| 0x316c  0x1520  s_nop 0
//| 0x3170          s_add_u32 s4, s4, 1
//| 0x3174          s_addc_u32 s5, s5, 0
//| 0x3178  0x1524  s_nop 0
//| 0x317c          s_add_u32 s4, s4, 1
//| 0x3180          s_addc_u32 s5, s5, 0
//| 0x3184  0x1528  s_nop 0
//| 0x3188          s_add_u32 s4, s4, 1
//| 0x318c          s_addc_u32 s5, s5, 0
//| 0x3190  0x152c  s_nop 0
//| 0x3194          s_add_u32 s4, s4, 1
//| 0x3198          s_addc_u32 s5, s5, 0
//| 0x319c  0x1530  s_nop 0
//| 0x31a0          s_add_u32 s4, s4, 1
//| 0x31a4          s_addc_u32 s5, s5, 0
//| 0x31a8  0x1534  s_nop 0
//| 0x31ac          s_add_u32 s4, s4, 1
//| 0x31b0          s_addc_u32 s5, s5, 0
//| 0x31b4  0x1538  s_nop 0
//| 0x31b8          s_add_u32 s4, s4, 1
//| 0x31bc          s_addc_u32 s5, s5, 0
//| 0x31c0  0x153c  s_nop 0
//| 0x31c4          s_add_u32 s4, s4, 1
//| 0x31c8          s_addc_u32 s5, s5, 0
//| 0x31cc  0x1540  s_nop 0
//| 0x31d0          s_add_u32 s4, s4, 1
//| 0x31d4          s_addc_u32 s5, s5, 0
//| 0x31d8  0x1544  s_nop 0
//| 0x31dc          s_add_u32 s4, s4, 1
//| 0x31e0          s_addc_u32 s5, s5, 0
//| 0x31e4  0x1548  s_nop 0
//| 0x31e8          s_add_u32 s4, s4, 1
//| 0x31ec          s_addc_u32 s5, s5, 0
//| 0x31f0  0x154c  s_nop 0
//| 0x31f4          s_add_u32 s4, s4, 1
//| 0x31f8          s_addc_u32 s5, s5, 0
//| 0x31fc  0x1550  s_nop 0
//| 0x3200          s_add_u32 s4, s4, 1
//| 0x3204          s_addc_u32 s5, s5, 0
//| 0x3208  0x1554  s_nop 0
//| 0x320c          s_add_u32 s4, s4, 1
//| 0x3210          s_addc_u32 s5, s5, 0
//| 0x3214  0x1558  s_nop 0
//| 0x3218          s_add_u32 s4, s4, 1
//| 0x321c          s_addc_u32 s5, s5, 0
//| 0x3220  0x155c  s_nop 0
//| 0x3224          s_add_u32 s4, s4, 1
//| 0x3228          s_addc_u32 s5, s5, 0
//| 0x322c  0x1560  s_nop 0
//| 0x3230          s_add_u32 s4, s4, 1
//| 0x3234          s_addc_u32 s5, s5, 0
//| 0x3238  0x1564  s_nop 0
//| 0x323c          s_add_u32 s4, s4, 1
//| 0x3240          s_addc_u32 s5, s5, 0
//| 0x3244  0x1568  s_nop 0
//| 0x3248          s_add_u32 s4, s4, 1
//| 0x324c          s_addc_u32 s5, s5, 0
//| 0x3250  0x156c  s_nop 0
//| 0x3254          s_add_u32 s4, s4, 1
//| 0x3258          s_addc_u32 s5, s5, 0
//| 0x325c  0x1570  s_nop 0
//| 0x3260          s_add_u32 s4, s4, 1
//| 0x3264          s_addc_u32 s5, s5, 0
//| 0x3268  0x1574  s_nop 0
//| 0x326c          s_add_u32 s4, s4, 1
//| 0x3270          s_addc_u32 s5, s5, 0
//| 0x3274  0x1578  s_nop 0
//| 0x3278          s_add_u32 s4, s4, 1
//| 0x327c          s_addc_u32 s5, s5, 0
//| 0x3280  0x157c  s_nop 0
//| 0x3284          s_add_u32 s4, s4, 1
//| 0x3288          s_addc_u32 s5, s5, 0
//| 0x328c  0x1580  s_nop 0
//| 0x3290          s_add_u32 s4, s4, 1
//| 0x3294          s_addc_u32 s5, s5, 0
//| 0x3298  0x1584  s_nop 0
//| 0x329c          s_add_u32 s4, s4, 1
//| 0x32a0          s_addc_u32 s5, s5, 0
//| 0x32a4  0x1588  s_nop 0
//| 0x32a8          s_add_u32 s4, s4, 1
//| 0x32ac          s_addc_u32 s5, s5, 0
//| 0x32b0  0x158c  s_nop 0
//| 0x32b4          s_add_u32 s4, s4, 1
//| 0x32b8          s_addc_u32 s5, s5, 0
//| 0x32bc  0x1590  s_nop 0
//| 0x32c0          s_add_u32 s4, s4, 1
//| 0x32c4          s_addc_u32 s5, s5, 0
//| 0x32c8  0x1594  s_nop 0
//| 0x32cc          s_add_u32 s4, s4, 1
//| 0x32d0          s_addc_u32 s5, s5, 0
//| 0x32d4  0x1598  s_nop 0
//| 0x32d8          s_add_u32 s4, s4, 1
//| 0x32dc          s_addc_u32 s5, s5, 0
//| 0x32e0  0x159c  s_nop 0
//| 0x32e4          s_add_u32 s4, s4, 1
//| 0x32e8          s_addc_u32 s5, s5, 0
//| 0x32ec  0x15a0  s_nop 0
//| 0x32f0          s_add_u32 s4, s4, 1
//| 0x32f4          s_addc_u32 s5, s5, 0
//| 0x32f8  0x15a4  s_nop 0
//| 0x32fc          s_add_u32 s4, s4, 1
//| 0x3300          s_addc_u32 s5, s5, 0
//| 0x3304  0x15a8  s_nop 0
//| 0x3308          s_add_u32 s4, s4, 1
//| 0x330c          s_addc_u32 s5, s5, 0
//| 0x3310  0x15ac  s_nop 0
//| 0x3314          s_add_u32 s4, s4, 1
//| 0x3318          s_addc_u32 s5, s5, 0
//| 0x331c  0x15b0  s_nop 0
//| 0x3320          s_add_u32 s4, s4, 1
//| 0x3324          s_addc_u32 s5, s5, 0
//| 0x3328  0x15b4  s_nop 0
//| 0x332c          s_add_u32 s4, s4, 1
//| 0x3330          s_addc_u32 s5, s5, 0
//| 0x3334  0x15b8  s_nop 0
//| 0x3338          s_add_u32 s4, s4, 1
//| 0x333c          s_addc_u32 s5, s5, 0
//| 0x3340  0x15bc  s_nop 0
//| 0x3344          s_add_u32 s4, s4, 1
//| 0x3348          s_addc_u32 s5, s5, 0
//| 0x334c  0x15c0  s_nop 0
//| 0x3350          s_add_u32 s4, s4, 1
//| 0x3354          s_addc_u32 s5, s5, 0
//| 0x3358  0x15c4  s_nop 0
//| 0x335c          s_add_u32 s4, s4, 1
//| 0x3360          s_addc_u32 s5, s5, 0
//| 0x3364  0x15c8  s_nop 0
//| 0x3368          s_add_u32 s4, s4, 1
//| 0x336c          s_addc_u32 s5, s5, 0
//| 0x3370  0x15cc  s_nop 0
//| 0x3374          s_add_u32 s4, s4, 1
//| 0x3378          s_addc_u32 s5, s5, 0
//| 0x337c  0x15d0  s_nop 0
//| 0x3380          s_add_u32 s4, s4, 1
//| 0x3384          s_addc_u32 s5, s5, 0
//| 0x3388  0x15d4  s_nop 0
//| 0x338c          s_add_u32 s4, s4, 1
//| 0x3390          s_addc_u32 s5, s5, 0
//| 0x3394  0x15d8  s_nop 0
//| 0x3398          s_add_u32 s4, s4, 1
//| 0x339c          s_addc_u32 s5, s5, 0
//| 0x33a0  0x15dc  s_nop 0
//| 0x33a4          s_add_u32 s4, s4, 1
//| 0x33a8          s_addc_u32 s5, s5, 0
//| 0x33ac  0x15e0  s_nop 0
//| 0x33b0          s_add_u32 s4, s4, 1
//| 0x33b4          s_addc_u32 s5, s5, 0
//| 0x33b8  0x15e4  s_nop 0
//| 0x33bc          s_add_u32 s4, s4, 1
//| 0x33c0          s_addc_u32 s5, s5, 0
//| 0x33c4  0x15e8  s_nop 0
//| 0x33c8          s_add_u32 s4, s4, 1
//| 0x33cc          s_addc_u32 s5, s5, 0
//| 0x33d0  0x15ec  s_nop 0
//| 0x33d4          s_add_u32 s4, s4, 1
//| 0x33d8          s_addc_u32 s5, s5, 0
//| 0x33dc  0x15f0  s_nop 0
//| 0x33e0          s_add_u32 s4, s4, 1
//| 0x33e4          s_addc_u32 s5, s5, 0
//| 0x33e8  0x15f4  s_nop 0
//| 0x33ec          s_add_u32 s4, s4, 1
//| 0x33f0          s_addc_u32 s5, s5, 0
//| 0x33f4  0x15f8  s_nop 0
//| 0x33f8          s_add_u32 s4, s4, 1
//| 0x33fc          s_addc_u32 s5, s5, 0
//| 0x3400  0x15fc  s_nop 0
//| 0x3404          s_add_u32 s4, s4, 1
//| 0x3408          s_addc_u32 s5, s5, 0
//| 0x340c  0x1600  v_mov_b32_e32 v0, s2
//| 0x3410          s_add_u32 s4, s4, 1
//| 0x3414          s_addc_u32 s5, s5, 0
//| 0x3418  0x1604  global_store_dword v[0:1], v0, off
//| 0x3420          s_add_u32 s4, s4, 1
//| 0x3424          s_addc_u32 s5, s5, 0
//| 0x3428          s_mov_b64 s[2:3], exec
//| 0x342c          s_mov_b64 exec, 1
//| 0x3430          v_mov_b32_e32 v2, 0
//| 0x3434          v_mov_b32_e32 v0, s4
//| 0x3438          v_mov_b32_e32 v1, s5
//| 0x343c          s_getpc_b64 s[0:1]
//| 0x3440          s_add_u32 s0, s0, 0xbc0
//| 0x3448          s_addc_u32 s1, s1, lit(0x0)
//| 0x3450          global_atomic_add_x2 v2, v[0:1], s[0:1]
//| 0x3458          s_mov_b64 exec, s[2:3]
//| 0x345c  0x160c  s_endpgm
//| k: 24 to 24 SGPRs, 8 to 8 VGPRs, 8 to 8 waves
