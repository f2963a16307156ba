/* String instructions: alone and repeated, upwards and downwards, none, few and many iterations. */
#include "truth.h"
#define OTHER field+1024
        .macro both
        lea rsi, [field+512]
        lea rdi, [OTHER+512]
        .endm

        begin
        both
        reads 1, field+512
        writes 1, OTHER+512
        movsb
        reads 2, field+513
        writes 2, OTHER+513
        movsw
        reads 4, field+515
        writes 4, OTHER+515
        movsd
        reads 8, field+519
        writes 8, OTHER+519
        movsq
        reads 1, field+527
        lodsb
        reads 8, field+528
        lodsq
        writes 4, OTHER+527
        stosd
        reads 2, OTHER+531
        scasw
        reads 8, field+536
        reads 8, OTHER+533
        cmpsq

        both
        mov ecx, 5
        .irp i, 0, 1, 2, 3, 4
        reads 1, field+512+\i
        writes 1, OTHER+512+\i
        .endr
        rep movsb
        both
        mov ecx, 3
        .irp i, 0, 1, 2
        writes 8, OTHER+512+8*\i
        .endr
        rep stosq
        mov ecx, 2
        reads 4, field+512
        reads 4, field+516
        rep lodsd
        /* none, none of 32 bits, and one */
        xor ecx, ecx
        rep movsb
        both
        movabs rcx, 0x500000000
        addr32 rep stosb
        mov ecx, 1
        writes 2, OTHER+512
        rep stosw

        std
        both
        mov ecx, 3
        .irp i, 0, 1, 2
        reads 4, field+512-4*\i
        writes 4, OTHER+512-4*\i
        .endr
        rep movsd
        reads 8, field+500
        lodsq
        cld

        /* 32-bit addresses and counter; what lies above is cleared */
        both
        movabs rcx, 0x700000002
        writes 1, OTHER+512
        writes 1, OTHER+513
        addr32 rep stosb

        /* until different, until equal, and to the end */
        writes 1, field+514
        mov byte ptr [field+514], 9
        lea rsi, [field+512]
        lea rdi, [OTHER+700]
        mov ecx, 100
        .irp i, 0, 1, 2
        reads 1, field+512+\i
        reads 1, OTHER+700+\i
        .endr
        repe cmpsb
        lea rdi, [field+512]
        mov ecx, 100
        mov al, 9
        .irp i, 0, 1, 2
        reads 1, field+512+\i
        .endr
        repne scasb
        mov ecx, 2
        xor eax, eax
        reads 8, field+515
        reads 8, field+523
        repe scasq
        xor ecx, ecx
        repe cmpsb

        /* more iterations than one page holds */
        lea rdi, [field+4000]
        mov ecx, 100
        .set i, 0
        .rept 100
        writes 4, field+4000+i
        .set i, i+4
        .endr
        rep stosd
        end
