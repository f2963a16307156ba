/* Vectors of 16 and 32 bytes: whole, masked, gathered. */
#include "truth.h"
        begin
        reads 32, ones
        vmovdqu ymm1, [ones]
        reads 32, indices
        vmovdqu ymm2, [indices]
        reads 32, some
        vmovdqu ymm3, [some]
        writes 32, field
        vmovdqa [rbx], ymm1
        writes 32, field+64
        vmovntdq [rbx+64], ymm1
        reads 4, field
        vbroadcastss ymm4, [rbx]
        reads 16, field
        vbroadcasti128 ymm4, [rbx]
        reads 16, field+16
        vinserti128 ymm4, ymm4, [rbx+16], 1
        writes 16, field+48
        vextracti128 [rbx+48], ymm4, 1
        reads 16, field
        vpmovzxbw ymm4, [rbx]
        reads 1, field+3
        pinsrb xmm5, [rbx+3], 2
        writes 1, field+5
        pextrb [rbx+5], xmm5, 2
        reads 32, field
        vpaddd ymm5, ymm1, [rbx]
        /* masked: one operand, whatever the mask */
        reads 32, field
        vpmaskmovd ymm5, ymm3, [rbx]
        writes 32, field
        vpmaskmovd [rbx], ymm3, ymm5
        reads 32, field
        vmaskmovpd ymm5, ymm3, [rbx]
        lea rdi, [field+256]
        writes 16, field+256
        maskmovdqu xmm5, xmm1

        /* gathers: only the lanes that the mask names; it is cleared */
        .irp index, 1, -2, 30, 4, 50, 6, 70, 8
        reads 4, field+4*\index
        .endr
        vpgatherdd ymm5, [rbx+ymm2*4], ymm1
        .irp index, -2, 4, 8
        reads 4, field+4*\index+16
        .endr
        vgatherdps ymm5, [rbx+ymm2*4+16], ymm3
        vpgatherdd ymm5, [rbx+ymm2*4], ymm3
        vpcmpeqd ymm1, ymm1, ymm1
        .irp index, 1, -2, 30, 4
        reads 8, field+8*\index
        .endr
        vgatherdpd ymm5, [rbx+xmm2*8], ymm1
        reads 32, wide
        vmovdqu ymm12, [wide]
        vpcmpeqd ymm1, ymm1, ymm1
        .irp index, 3, -40, 500, 6
        reads 4, field+\index
        .endr
        vpgatherqd xmm5, [rbx+ymm12], xmm1
        vpcmpeqd xmm1, xmm1, xmm1
        .irp index, 3, -40
        reads 8, 2*(\index)+field
        .endr
        vpgatherqq xmm5, [xmm12*2+field], xmm1
        jmp over
        .data
        .balign 32
ones:   .fill 8, 4, -1
indices: .long 1, -2, 30, 4, 50, 6, 70, 8
some:   .long 0, -1, 0x7fffffff, 0x80000000, 1, 0, 2, -5
wide:   .quad 3, -40, 500, 6
        .text
over:   end
