/* Three threads made by clone, each with a stack and a count of its own; the first waits for the others
   by the word that the kernel clears at their end. */
#include "truth.h"
        .macro start number
        mov dword ptr [alive+4*\number], 1
        mov eax, 56
        mov edi, 0x250f00
        lea rsi, [stack-4096*(\number+1)]
        lea r10, [alive+4*\number]
        syscall
        test eax, eax
        jz works
        .endm
        .macro join number
1:      mov edx, [alive+4*\number]
        test edx, edx
        jz 2f
        mov eax, 202
        lea rdi, [alive+4*\number]
        xor esi, esi
        xor r10d, r10d
        syscall
        jmp 1b
2:
        .endm

        begin
        start 0
        start 1
        join 0
        join 1
        cmp dword ptr [field], 1000
        jne wrong
        mov eax, 231
        xor edi, edi
        syscall
works:  mov ecx, 500
3:      lock inc dword ptr [field]
        push rcx
        pop rcx
        dec ecx
        jnz 3b
        mov eax, 60
        xor edi, edi
        syscall
        .bss
alive:  .skip 8
        .text
wrong:  end 1
