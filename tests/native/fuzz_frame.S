// SPDX-License-Identifier: MIT
/*
 * What surrounds the generated programs: runs them one after the other, each FZ_INPUTS times. Each starts with registers,
 * flags, vectors and data filled from its seed and the number of the run, and jumps to fz_finish, which writes everything to
 * stdout:
 *
 *   8 number, 128 registers (rax rcx rdx rbx rsp rbp rsi rdi r8-r15), 8 flags,
 *   2048 vector registers (64 bytes each), 64 mask registers, 128 x87 registers, 1024 data,
 *   384 stack, 8 mxcsr (fields in fuzz.py)
 *
 * The generated file defines fz_first, fz_count, fz_seeds, fz_programs, and FZ_AVX512, FZ_AVX, FZ_GS as the
 * processor and the options have it. FS and GS bases lie within the data, at 512. With FZ_STORM each
 * program is run FZ_ROUNDS times while a timer sends signals, whose handler spoils what it may.
 *
 * All below the line is there once a thread, with fz_ replaced by fz0_, fz1_, ...: every thread has its own programs and data. The
 * records of all threads come mixed; each is one write.
 */
#define SYS_write 1
#define SYS_rt_sigaction 13
#define SYS_rt_sigreturn 15
#define SYS_clone 56
#define SYS_exit 60
#define SYS_sigaltstack 131
#define SYS_arch_prctl 158
#define SYS_gettid 186
#define SYS_timer_create 222
#define SYS_timer_settime 223
#define SYS_exit_group 231
#define SIGALRM 14
#define CLONE_THREAD_FLAGS 0x50f00 /* VM, FS, FILES, SIGHAND, THREAD, SYSVSEM */
#define ARCH_SET_GS 0x1001
#define ARCH_SET_FS 0x1002

    .text
    .globl _start
_start:
    mov all_threads(%rip), %rbx
    lea all_starts(%rip), %r12
    lea all_stacks(%rip), %r13
1:  dec %rbx
    jz fz0_begin
    mov $SYS_clone, %eax
    mov $CLONE_THREAD_FLAGS, %edi
    mov (%r13,%rbx,8), %rsi
    xor %edx, %edx
    xor %r10d, %r10d
    xor %r8d, %r8d
    syscall
    test %rax, %rax
    jg 1b
    js all_broken
    jmp *(%r12,%rbx,8)

all_broken:
    mov $3, %edi
    mov $SYS_exit_group, %eax
    syscall

// A thread.
.ident "a thread"
.macro fz_each_vector op:req
.ifdef FZ_AVX512
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        \op\()_512 \n
    .endr
    .irp n,0,1,2,3,4,5,6,7
        \op\()_mask \n
    .endr
.else
    .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    .ifdef FZ_AVX
        \op\()_256 \n
    .else
        \op\()_128 \n
    .endif
    .endr
.endif
.endm
.macro fz_load_512 n
    vmovdqu64 fz_vectors+\n*64(%rip), %zmm\n
.endm
.macro fz_load_256 n
    vmovdqu fz_vectors+\n*64(%rip), %ymm\n
.endm
.macro fz_load_128 n
    movdqu fz_vectors+\n*64(%rip), %xmm\n
.endm
.macro fz_load_mask n
    kmovq fz_masks+\n*8(%rip), %k\n
.endm
.macro fz_store_512 n
    vmovdqu64 %zmm\n, fz_vectors+\n*64(%rip)
.endm
.macro fz_store_256 n
    vmovdqu %ymm\n, fz_vectors+\n*64(%rip)
.endm
.macro fz_store_128 n
    movdqu %xmm\n, fz_vectors+\n*64(%rip)
.endm
.macro fz_store_mask n
    kmovq %k\n, fz_masks+\n*8(%rip)
.endm
.macro fz_each_register op:req
    \op rcx, 8
    \op rdx, 16
    \op rbx, 24
    \op rbp, 40
    \op rsi, 48
    \op rdi, 56
    \op r8, 64
    \op r9, 72
    \op r10, 80
    \op r11, 88
    \op r12, 96
    \op r13, 104
    \op r14, 112
    \op r15, 120
.endm
.macro fz_load reg, at
    mov fz_registers+\at(%rip), %\reg
.endm
.macro fz_store reg, at
    mov %\reg, fz_registers+\at(%rip)
.endm

    .text
fz_begin:
    movq $0, fz_index(%rip)
    mov $SYS_arch_prctl, %eax
    mov $ARCH_SET_FS, %edi
    lea fz_data+512(%rip), %rsi
    syscall
.ifdef FZ_GS
    mov $SYS_arch_prctl, %eax
    mov $ARCH_SET_GS, %edi
    lea fz_data+512(%rip), %rsi
    syscall
.endif
.ifdef FZ_STORM
    mov $SYS_sigaltstack, %eax
    lea fz_altstack(%rip), %rdi
    xor %esi, %esi
    syscall
    mov $SYS_rt_sigaction, %eax
    mov $SIGALRM, %edi
    lea fz_action(%rip), %rsi
    xor %edx, %edx
    mov $8, %r10d
    syscall
    mov $SYS_gettid, %eax
    syscall
    mov %eax, fz_event+16(%rip)
    mov $SYS_timer_create, %eax
    mov $1, %edi
    lea fz_event(%rip), %rsi
    lea fz_timer_id(%rip), %rdx
    syscall
    mov $SYS_timer_settime, %eax
    mov fz_timer_id(%rip), %edi
    xor %esi, %esi
    lea fz_timer(%rip), %rdx
    xor %r10d, %r10d
    syscall
.endif

fz_next:
.ifdef FZ_STORM
    movl $FZ_ROUNDS, fz_round(%rip)
.endif
fz_again:
    mov fz_index(%rip), %rbx
    mov %rbx, %rax
    xor %edx, %edx
    divq fz_count(%rip)             // the run, and the program in rdx
    cmp $FZ_INPUTS, %rax
    jae fz_quit
    lea fz_programs(%rip), %rcx
    mov (%rcx,%rdx,8), %rcx
    mov %rcx, fz_target(%rip)
    lea fz_seeds(%rip), %rcx
    imul $0x3779b97, %rax, %rax
    add (%rcx,%rdx,8), %rax
    lea fz_dump(%rip), %rdi
    mov $(fz_dump_end - fz_dump) / 8, %ecx
    mov $6364136223846793005, %r8
    mov $1442695040888963407, %r9
1:  imul %r8, %rax
    add %r9, %rax
    mov %rax, %rdx
    shr $29, %rdx
    xor %rax, %rdx
    mov %rdx, (%rdi)
    add $8, %rdi
    dec %ecx
    jnz 1b
    add fz_first(%rip), %rbx
    mov %rbx, fz_dump(%rip)
    lea fz_stack_top - 128(%rip), %rdi
    mov $384 / 8, %ecx
    rep stosq
    fninit
    movl $0x1f80, fz_mxcsr(%rip)
    ldmxcsr fz_mxcsr(%rip)
    fz_each_vector fz_load
    mov fz_flags(%rip), %rax
    and $0x8d5, %rax
    lea fz_private_top(%rip), %rsp
    push %rax
    popf
    mov fz_registers(%rip), %rax
    fz_each_register fz_load
    lea fz_stack_top(%rip), %rsp
    jmp *fz_target(%rip)

fz_finish:
    mov %rsp, fz_registers+32(%rip)
    lea fz_private_top(%rip), %rsp
    pushf
    popq fz_flags(%rip)
    cld
    mov %rax, fz_registers(%rip)
    fz_each_register fz_store
    fz_each_vector fz_store
    movl $0, fz_mxcsr+4(%rip)
    stmxcsr fz_mxcsr(%rip)
    fxsave64 fz_fx(%rip)
    lea fz_fx+32(%rip), %rsi        // the registers; not where the last instruction was
    lea fz_x87(%rip), %rdi
    mov $128 / 8, %ecx
    rep movsq
    movzwl fz_fx(%rip), %eax        // control and status words
    movzwl fz_fx+2(%rip), %edx
    shl $16, %edx
    or %edx, %eax
    mov %eax, fz_x87+12(%rip)
    lea fz_stack_top - 128(%rip), %rsi
    lea fz_window(%rip), %rdi
    mov $384 / 8, %ecx
    rep movsq
.ifdef FZ_STORM
    decl fz_round(%rip)
    jnz fz_again
.endif
    lea fz_dump(%rip), %rsi
    mov $fz_dump_end - fz_dump, %edx
    mov $SYS_write, %eax
    mov $1, %edi
    syscall
    cmp $fz_dump_end - fz_dump, %rax
    jne all_broken
    incq fz_index(%rip)
    jmp fz_next

fz_quit:
    xor %edi, %edi
    lock decq all_running(%rip)
    mov $SYS_exit, %eax
    mov $SYS_exit_group, %ecx
    cmovz %ecx, %eax
    syscall
    ud2

fz_handler:
    incq fz_ticks(%rip)
    mov $16, %ecx
1:  imul $77, %rcx, %rax
    movq %rax, %xmm3
    xor %rax, %rdi
    dec %ecx
    jnz 1b
    stc
    pcmpeqd %xmm7, %xmm7
    mov %rax, %r12
    mov %rcx, %r13
    ret
fz_restorer:
    mov $SYS_rt_sigreturn, %eax
    syscall

    .data
    .balign 8
fz_action: .quad fz_handler, 0x1c000000, fz_restorer, 0   // on the other stack, restarting, with restorer
fz_timer: .quad 0, 200000, 0, 200000
fz_event: .quad 0
    .long SIGALRM, 4, 0, 0           // to this thread
    .skip 40
fz_timer_id: .quad 0
fz_altstack: .quad fz_signal_stack, 0, 65536
fz_ticks: .quad 0
fz_round: .quad 0
fz_index: .quad 0
fz_target: .quad 0

    .bss
    .balign 64
    .skip 48
fz_dump: .skip 8
fz_registers: .skip 128
fz_flags: .skip 8
    .balign 64
fz_vectors: .skip 2048
fz_masks: .skip 64
fz_x87: .skip 128
fz_data: .skip 1024
fz_window: .skip 384
fz_mxcsr: .skip 8
fz_dump_end:
    .balign 64
fz_fx: .skip 512
fz_area: .skip 512
fz_signal_stack: .skip 65536
    .skip 4096
fz_private_top: .skip 64
    .skip 65536
fz_stack_top: .skip 256
    .skip 4096
fz_pivot: .skip 256
