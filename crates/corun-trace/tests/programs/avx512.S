/* Vectors of 64 bytes, mask registers, and the registers above the sixteenth. */
#include "truth.h"
        begin
        reads 64, indices
        vmovdqu32 zmm20, [indices]
        reads 64, wide
        vmovdqu64 zmm3, [wide]
        writes 64, field
        vmovdqu8 [rbx], zmm20
        writes 64, field+64
        vmovntdq [rbx+64], zmm20
        mov eax, 0xa401
        kmovw k1, eax
        kxnorw k2, k2, k2
        reads 64, field
        vmovdqu32 zmm5{k1}{z}, [rbx]
        writes 64, field
        vmovdqu32 [rbx]{k1}, zmm5
        reads 4, field+4
        vpaddd zmm5, zmm5, dword ptr [rbx+4]{1to16}
        reads 8, field+8
        vaddpd zmm5, zmm5, qword ptr [rbx+8]{1to8}
        writes 64, field
        vpcompressd [rbx]{k1}, zmm5
        reads 64, field
        vpexpandd zmm5{k1}, [rbx]
        writes 32, field
        vpmovdw [rbx], zmm5
        writes 2, field
        kmovw [rbx], k1
        reads 2, field
        kmovw k3, [rbx]

        .irp lane, 0, 10, 13, 15
        reads 4, field+4*(\lane*3-16)
        .endr
        vpgatherdd zmm5{k1}, [rbx+zmm20*4]
        vpgatherdd zmm5{k1}, [rbx+zmm20*4]
        mov eax, 0x9
        kmovw k1, eax
        .irp index, 7, 28
        writes 8, field+8*\index+64
        .endr
        vscatterqpd [rbx+zmm3*8+64]{k1}, zmm5
        .irp lane, 0, 1, 2, 3, 4, 5, 6, 7
        reads 8, field+256+\lane*3-16
        .endr
        vgatherdpd zmm5{k2}, [rbx+ymm20+256]
        kxnorw k2, k2, k2
        .irp index, 7, 14, 21, 28
        writes 4, field+\index
        .endr
        vpscatterqd [rbx+ymm3]{k2}, xmm20
        jmp over
        .data
        .balign 64
indices: .irp lane, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        .long \lane*3-16
        .endr
wide:   .quad 7, 14, 21, 28, 35, 42, 49, 56
        .text
over:   end
