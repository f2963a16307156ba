/* Writes beside code that was executed, from blocks that use every register before and after. */
#include "truth.h"
        begin
        mov eax, 10
        mov edi, offset patch
        mov esi, 4096
        mov edx, 7
        syscall
        mov ebp, 3
again:  jmp patch
        .balign 4096
patch:  nop
        jmp next
        .balign 4096
next:   mov eax, 1
        mov ebx, 2
        mov ecx, 4
        mov edx, 8
        mov esi, 16
        mov edi, 32
        mov r8d, 64
        mov r9d, 128
        mov r10d, 256
        mov r11d, 512
        mov r12d, 1024
        mov r13d, 2048
        mov r14d, 4096
        mov r15d, 8192
        jmp write
write:  add eax, ebx
        add eax, ecx
        mov dword ptr [patch+64], eax
        adc eax, edx
        add eax, esi
        add eax, edi
        add eax, r8d
        add eax, r9d
        add eax, r10d
        add eax, r11d
        add eax, r12d
        add eax, r13d
        add eax, r14d
        add eax, r15d
        sub eax, ebx
        sub eax, ecx
        sub eax, edx
        cmp eax, 16383 - 14
        jne wrong
        dec ebp
        jnz again
        mov eax, 231
        xor edi, edi
        syscall
wrong:  end 1
