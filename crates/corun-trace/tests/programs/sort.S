/* Insertion sort of 64 numbers of a generator: branches that depend on data. */
#include "truth.h"
        begin
        mov eax, 12345
        xor ecx, ecx
1:      imul eax, eax, 1103515245
        add eax, 12345
        mov [rbx+rcx*4], eax
        inc ecx
        cmp ecx, 64
        jne 1b

        mov ecx, 1
2:      mov eax, [rbx+rcx*4]
        mov edx, ecx
3:      mov esi, [rbx+rdx*4-4]
        cmp esi, eax
        jbe 4f
        mov [rbx+rdx*4], esi
        dec edx
        jnz 3b
4:      mov [rbx+rdx*4], eax
        inc ecx
        cmp ecx, 64
        jne 2b

        mov ecx, 1
5:      mov eax, [rbx+rcx*4-4]
        cmp eax, [rbx+rcx*4]
        ja wrong
        inc ecx
        cmp ecx, 64
        jne 5b
        mov eax, 231
        xor edi, edi
        syscall
wrong:  end 1
