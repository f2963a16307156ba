/* Handlers: of a signal that the program sends itself, of a fault and of a trap in the middle of a block.
   The handler steps over what faulted. */
#include "truth.h"
        .macro handle signal, handler
        writes 8, action
        mov qword ptr [action], offset \handler
        mov eax, 13
        mov edi, \signal
        lea rsi, [action]
        xor edx, edx
        mov r10d, 8
        syscall
        .endm

        begin
        handle 10, counts
        handle 11, skips
        handle 5, counts
        mov eax, 39
        syscall
        mov edi, eax
        mov esi, 10
        mov eax, 62
        syscall
        nop
        nop
        xor ecx, ecx
        inc ecx
faults: mov rax, [0x10]
        inc ecx
        nop
        int3
        nop
        cmp byte ptr [field], 2
        jne wrong
        cmp byte ptr [field+1], 1
        jne wrong
        mov eax, 231
        xor edi, edi
        syscall
wrong:  end 1

        .text
counts: inc byte ptr [field]
        ret
skips:  inc byte ptr [field+1]
        add qword ptr [rdx+168], 8
        ret
restores:
        mov eax, 15
        syscall

        /* the kernel's sigaction: SA_RESTORER and SA_SIGINFO */
        .data
action: .quad 0, 0x04000004, restores, 0
