/* Stops itself again and again, and is continued by a child, which it kills then. A signal that continues
   takes back one that stops and was not seen yet, so that once would not do. */
#include "truth.h"
        begin
        mov eax, 39
        syscall
        mov ebp, eax
        mov eax, 57
        syscall
        test eax, eax
        jz child
        mov ebx, eax
        mov r12d, 32
again:  mov edi, ebp
        mov esi, 19
        mov eax, 62
        syscall
        dec r12d
        jnz again
        mov edi, ebx
        mov esi, 9
        mov eax, 62
        syscall
        mov eax, 231
        xor edi, edi
        syscall
child:  mov edi, ebp
        mov esi, 18
        mov eax, 62
        syscall
        jmp child
        end
