/* An interpreter of 8 steps, 200 times: indirect jumps and calls through tables. */
#include "truth.h"
        begin
        mov ebp, 200
        xor r12d, r12d
1:      lea rsi, [steps]
2:      movzx eax, byte ptr [rsi]
        inc rsi
        jmp [jumps+rax*8]
adds:   add r12d, 3
        jmp 2b
halves: shr r12d
        jmp 2b
calls:  movzx eax, byte ptr [rsi]
        inc rsi
        call [functions+rax*8]
        jmp 2b
ends:   dec ebp
        jnz 1b
        end

        .text
first:  inc r13
        ret
second: xor r13, r12
        ret

        .data
jumps:  .quad adds, halves, calls, ends
functions:
        .quad first, second
steps:  .byte 0, 0, 2, 0, 1, 2, 1, 0, 0, 3
