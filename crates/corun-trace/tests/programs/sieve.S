/* The sieve of Eratosthenes up to 2000: strides that grow. */
#include "truth.h"
        begin
        mov esi, 2
1:      cmp byte ptr [rbx+rsi], 0
        jne 3f
        mov edi, esi
        imul edi, edi
2:      cmp edi, 2000
        jae 3f
        mov byte ptr [rbx+rdi], 1
        add edi, esi
        jmp 2b
3:      inc esi
        cmp esi, 45
        jne 1b

        xor ecx, ecx
        mov esi, 2
4:      cmp byte ptr [rbx+rsi], 1
        sbb edx, edx
        sub ecx, edx
        inc esi
        cmp esi, 2000
        jne 4b
        cmp ecx, 303
        jne wrong
        mov eax, 231
        xor edi, edi
        syscall
wrong:  end 1
