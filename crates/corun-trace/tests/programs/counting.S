/* Loops whose instructions can be counted by hand. */
#include "truth.h"
        begin
        instructions 2 + 1+2*1000 + 1+100*(3+3) + 1 + 2+100*6 + 3
        mov ecx, 1000
1:      dec ecx
        jnz 1b
        mov edx, 100
2:      call 3f
        dec edx
        jnz 2b
        jmp 4f
3:      nop
        nop
        ret
4:      mov edx, 100
        mov esi, 0
5:      mov ecx, 50
        lea rdi, [field]
        rep stosb
        pause
        dec edx
        jnz 5b
        end
