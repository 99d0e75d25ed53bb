// SPDX-License-Identifier: MIT
/*
 * Every form of memory operand, once, at addresses that can be told from the symbols. What follows
 * "#=" are the addresses of the instruction, in the order in which they are recorded; instructions are
 * run in the order of their lines.
 */
        .globl _start
        .text
        .type _start, @function
_start:
        lea     top(%rip), %rsp
        lea     data(%rip), %rbx
        lea     other(%rip), %rdi
        mov     $3, %ecx
        mov     $-2, %r9

        # operands
        mov     (%rbx), %rax                    #= data
        mov     %rax, 8(%rbx)                   #= data+8
        mov     0x400(%rbx), %eax               #= data+0x400
        mov     -8(%rdi), %al                   #= other-8
        mov     (%rbx,%rcx,8), %rdx             #= data+24
        mov     %rdx, 16(%rbx,%rcx,4)           #= data+28
        mov     data(,%rcx,4), %edx             #= data+12
        mov     data(,%r9,8), %edx              #= data-16
        mov     data, %edx                      #= data
        mov     data+4(%rip), %edx              #= data+4
        mov     %edx, other(%rip)               #= other
        mov     %rbx, %r12
        mov     %rbx, %r13
        mov     (%r12), %rdx                    #= data
        mov     (%r13), %rdx                    #= data
        mov     8(%r12,%r9,2), %rdx             #= data+4
        mov     (%r13,%rcx,1), %dl              #= data+3
        addl    $1, 4(%rbx)                     #= data+4
        lock xaddl %edx, 8(%rbx)                #= data+8
        cmpxchg %rdx, 16(%rbx)                  #= data+16
        xchg    %rdx, 24(%rbx)                  #= data+24
        cmp     $1, %rsp
        cmove   32(%rbx), %rdx                  #= data+32
        lea     40(%rbx), %rdx
        nopw    0(%rax,%rax,1)
        prefetcht0 48(%rbx)                     #= data+48
        bt      %ecx, 56(%rbx)                  #= data+56
        mov     (%esp), %eax                    #= top
        mov     4(%ebx,%ecx,2), %eax            #= data+10
        movabs  data+64, %eax                   #= data+64
        mov     $5, %eax
        xlat                                    #= data+5
        movups  64(%rbx), %xmm1                 #= data+64
        movups  %xmm1, 80(%rbx)                 #= data+80
        fldl    96(%rbx)                        #= data+96
        fstpl   104(%rbx)                       #= data+104
        fnstenv 128(%rbx)                       #= data+128
        fxsave  512(%rbx)                       #= data+512

        # the stack
        push    %rax                            #= top-8
        push    $5                              #= top-16
        push    8(%rbx)                         #= data+8 top-24
        push    8(%rsp)                         #= top-16 top-32
        pop     %rax                            #= top-32
        pop     16(%rbx)                        #= top-24 data+16
        pop     (%rsp)                          #= top-16 top-8
        pushfq                                  #= top-16
        popfq                                   #= top-16
        pushw   %ax                             #= top-10
        popw    %ax                             #= top-10
        pop     %rax                            #= top-8
        push    %rsp                            #= top-8
        pop     %rsp                            #= top-8
        enter   $16, $0                         #= top-8
        leave                                   #= top-8
        mov     -8(%rsp), %rax                  #= top-8

        # calls
        call    1f                              #= top-8
1:      pop     %rax                            #= top-8
        lea     2f(%rip), %rax
        mov     %rax, pointer(%rip)             #= pointer
        jmp     *pointer(%rip)                  #= pointer
2:      lea     3f(%rip), %rax
        mov     %rax, pointer                   #= pointer
        call    *pointer                        #= pointer top-8
3:      lea     4f(%rip), %rax
        mov     %rax, (%rsp)                    #= top-8
        ret                                     #= top-8
4:      lea     5f(%rip), %rax
        sub     $16, %rsp
        mov     %rax, (%rsp)                    #= top-16
        ret     $8                              #= top-16
5:      lea     6f(%rip), %rax
        call    *%rax                           #= top-8
6:      pop     %rax                            #= top-8

        # strings
        lea     data(%rip), %rsi
        lea     other(%rip), %rdi
        cld
        movsb                                   #= data other
        movsq                                   #= data+1 other+1
        cmpsl                                   #= data+9 other+9
        stosw                                   #= other+13
        lodsl                                   #= data+13
        scasb                                   #= other+15
        mov     $10, %ecx
        rep movsb                               #= data+17 other+16
        rep stosb                               #= other+26
        mov     $4, %ecx
        repe cmpsb                              #= data+27 other+26

        # segments
        mov     $158, %eax                      # arch_prctl
        mov     $0x1002, %edi                   # ARCH_SET_FS
        lea     local(%rip), %rsi
        syscall
        mov     $158, %eax
        mov     $0x1001, %edi                   # ARCH_SET_GS
        lea     other(%rip), %rsi
        syscall
        mov     $8, %ecx
        mov     %fs:8, %rax                     #= local+8
        mov     %fs:0, %eax                     #= local
        mov     %rax, %fs:(%rcx)                #= local+8
        mov     %fs:4(%rcx,%rcx,2), %rax        #= local+28
        mov     %fs:-8(%ecx), %rax              #= local
        mov     %gs:8, %rax                     #= other+8
        mov     %rax, %gs:4(%rcx)               #= other+12
        mov     %gs:(%rcx,%rcx,4), %rax         #= other+40
        lea     data(%rip), %rsi
        sub     $local, %rsi
        lea     other(%rip), %rdi
        movsb   %fs:(%rsi), %es:(%rdi)          #= data other

        # an instruction that uses what nothing is known of, and one that uses nearly everything
        cmpxchg16b (%rbx)                       #= data
        xor     %ecx, %ecx
        xgetbv

        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size   _start, . - _start

        .data
        .balign 64
        .skip   64
data:   .skip   2048
        .balign 64
other:  .skip   64
local:  .quad   local
        .skip   64
pointer:
        .quad   0
        .skip   256
top:    .skip   64
