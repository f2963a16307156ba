/* Two matrices of 12 by 12 doubles, multiplied by SSE2 in the C order: rows, columns, sums. */
#include "truth.h"
        begin
        xor ecx, ecx
1:      lea eax, [rcx-70]
        cvtsi2sd xmm0, eax
        movsd [rbx+rcx*8], xmm0
        inc ecx
        cmp ecx, 288
        jne 1b

        lea r8, [rbx]
        lea r10, [rbx+288*8]
        mov r11d, 12
2:      xor ecx, ecx
3:      xorpd xmm0, xmm0
        lea r9, [rbx+144*8+rcx*8]
        xor edx, edx
4:      movsd xmm1, [r8+rdx*8]
        mulsd xmm1, [r9]
        addsd xmm0, xmm1
        add r9, 12*8
        inc edx
        cmp edx, 12
        jne 4b
        movsd [r10], xmm0
        add r10, 8
        inc ecx
        cmp ecx, 12
        jne 3b
        add r8, 12*8
        dec r11d
        jnz 2b
        end
