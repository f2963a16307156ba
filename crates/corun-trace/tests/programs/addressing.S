/* Every way to form an address. */
#include "truth.h"
        begin
        reads 8, field
        mov rax, [rbx]
        reads 4, field+8
        mov eax, [rbx+8]
        writes 2, field-2
        mov [rbx-2], ax
        writes 1, field+0x200
        mov byte ptr [rbx+0x200], 7

        mov rcx, 5
        reads 8, field+5
        mov rax, [rbx+rcx]
        reads 8, field+10
        mov rax, [rbx+rcx*2]
        reads 8, field+20+4
        mov rax, [rbx+rcx*4+4]
        reads 8, field+40+0x100
        mov rax, [rbx+rcx*8+0x100]
        mov rcx, -3
        reads 8, field-24
        mov rax, [rbx+rcx*8]
        mov rcx, 2
        reads 8, field+16
        mov rax, [rcx*8+field]
        reads 8, field+24
        mov rax, [rip+field+24]
        reads 8, field+32
        mov rax, qword ptr ds:[field+32]
        reads 8, field+40
        movabs rax, [field+40]

        /* registers whose encodings are special */
        reads 8, stack
        mov rax, [rsp]
        reads 8, stack+16
        mov rax, [rsp+rcx*8]
        lea rbp, [field]
        reads 8, field
        mov rax, [rbp]
        lea r12, [field+64]
        reads 8, field+64
        mov rax, [r12]
        lea r13, [field+72]
        reads 8, field+72
        mov rax, [r13]
        mov r14, 3
        reads 8, field+72+24
        mov rax, [r13+r14*8]

        /* 32-bit addresses: what lies above does not count, and sums wrap around */
        movabs rdx, 0xdead000000000000
        or rdx, rbx
        movabs rcx, 0xbeef00000000fffe
        or rcx, 0xffffffffffff0000
        reads 4, field+8-2*4
        mov eax, [edx+ecx*4+8]
        reads 4, field+48
        mov eax, [eip+field+48]

        /* a segment with a base */
        mov eax, 158
        mov edi, 0x1002
        lea rsi, [field+256]
        syscall
        mov rcx, -4
        reads 8, field+256+16
        mov rax, fs:[16]
        writes 8, field+256-32
        mov fs:[rcx*8], rax

        /* reading, writing, both, neither */
        updates 4, field
        add [rbx], eax
        updates 1, field
        not byte ptr [rbx]
        updates 8, field
        shl qword ptr [rbx], 3
        updates 2, field
        inc word ptr [rbx]
        reads 8, field
        cmp [rbx], rax
        reads 4, field
        test dword ptr [rbx], 1
        reads 1, field
        movzx eax, byte ptr [rbx]
        reads 4, field
        movsxd rax, dword ptr [rbx]
        cmp eax, eax
        reads 8, field
        cmovne rax, [rbx]
        writes 1, field
        sete [rbx]
        reads 8, field
        imul rax, [rbx], 3
        writes 8, field
        movnti [rbx], rax
        lea rax, [rbx+rcx*8]
        nop dword ptr [rbx+8]
        mov eax, 9
        reads 1, field+9
        xlatb
        reads 8, field+128
        fld qword ptr [rbx+128]
        writes 10, field+128
        fstp tbyte ptr [rbx+128]
        reads 16, field+128
        movups xmm0, [rbx+128]
        writes 16, field+160
        movaps [rbx+160], xmm0
        reads 4, field+4
        cvtsi2ss xmm0, dword ptr [rbx+4]
        end
