/* A list of 100 links, each 13 places after the one before, followed 20 times. */
#include "truth.h"
        begin
        xor ecx, ecx
        mov esi, 100
1:      mov edi, ecx
        add edi, 13
        cmp edi, 101
        jb 2f
        sub edi, 101
2:      lea rdx, [rbx+rdi*8]
        mov [rbx+rcx*8], rdx
        mov ecx, edi
        dec esi
        jnz 1b

        mov esi, 20
3:      mov rax, rbx
        mov ecx, 100
4:      mov rax, [rax]
        dec ecx
        jnz 4b
        dec esi
        jnz 3b
        end
