/* Instructions that read and write at once, and those that address bits. */
#include "truth.h"
        begin
        updates 8, field
        xchg [rbx], rax
        updates 4, field
        lock xadd [rbx], eax
        updates 1, field
        lock inc byte ptr [rbx]
        /* taken, then not */
        xor eax, eax
        writes 8, field
        mov [rbx], rax
        mov ecx, 7
        updates 8, field
        lock cmpxchg [rbx], rcx
        xor eax, eax
        updates 8, field
        lock cmpxchg [rbx], rcx
        updates 8, field+64
        lock cmpxchg8b [rbx+64]
        xor eax, eax
        xor edx, edx
        updates 16, field+128
        lock cmpxchg16b [rbx+128]
        mov eax, 1
        updates 16, field+128
        lock cmpxchg16b [rbx+128]

        reads 4, field
        bt dword ptr [rbx], 37
        mov eax, 70
        reads 4, field+8
        bt [rbx], eax
        reads 8, field+8
        bt [rbx], rax
        reads 2, field+8
        bt [rbx], ax
        mov rax, -1
        updates 8, field-8
        bts [rbx], rax
        updates 4, field-4
        btr [rbx], eax
        updates 2, field-2
        lock btc [rbx], ax
        mov rax, -65
        updates 8, field-16
        btc [rbx], rax
        movabs rax, 0x100000020
        reads 4, field+4
        bt [rbx], eax
        mov rcx, 3
        mov eax, 64
        reads 4, field+24+8
        bt [rbx+rcx*8], eax
        updates 4, field+8
        lock bts [ebx], eax
        end
