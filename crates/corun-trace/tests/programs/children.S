/* A child by fork, which is not stepped; then the program replaces itself. */
#include "truth.h"
        .global _start
        .text
_start: mov r15, rsp
        cmp qword ptr [rsp], 1
        jne second
        mov eax, 57
        syscall
        test eax, eax
        jz child
        mov edi, eax
        lea rsi, [field]
        xor edx, edx
        xor r10d, r10d
        mov eax, 61
        syscall
        cmp dword ptr [field], 0x300
        jne wrong
        mov eax, 59
        lea rdi, [itself]
        lea rsi, [words]
        xor edx, edx
        syscall
        jmp wrong
child:  mov eax, 231
        mov edi, 3
        syscall
second: mov eax, 231
        mov edi, 7
        syscall
        .data
words:  .quad itself, itself, 0
itself: .asciz "/proc/self/exe"
        .text
wrong:  end 1
