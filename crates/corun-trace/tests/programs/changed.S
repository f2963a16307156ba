/* Code that rewrites itself: the same address, other instructions. */
#include "truth.h"
        begin
        mov eax, 10
        mov edi, offset patch
        and edi, -4096
        mov esi, 4096
        mov edx, 7
        syscall
        mov ebp, 2
again:  jmp patch
        .balign 4096
patch:  inc ebx
        nop
        jmp next
next:   mov word ptr [patch], 0xcbff
        dec ebp
        jnz again
        cmp ebx, offset field
        jne wrong
        mov eax, 231
        xor edi, edi
        syscall
wrong:  end 1
