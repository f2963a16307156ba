/* Everything that pushes and pops, calls and returns. The flags that are pushed must be the program's. */
#include "truth.h"
        begin
        writes 8, stack-8
        push rax
        writes 8, stack-16
        push 5
        writes 8, stack-24
        push 0x12345
        reads 8, field
        writes 8, stack-32
        push qword ptr [rbx]
        reads 8, stack-24
        writes 8, stack-40
        push qword ptr [rsp+8]
        writes 2, stack-42
        push ax
        reads 2, stack-42
        pop ax
        reads 8, stack-40
        writes 8, stack-32+8
        pop qword ptr [rsp+8]
        reads 8, stack-32
        writes 8, field+8
        pop qword ptr [rbx+8]
        reads 8, stack-24
        pop rsp
        lea rsp, [stack-16]
        reads 8, stack-16
        pop rdx
        reads 8, stack-8
        pop rdx

        writes 8, stack-8
        pushfq
        reads 8, stack-8
        pop rax
        writes 8, stack-8
        push rax
        reads 8, stack-8
        popfq
        bt eax, 8
        jc shown
        writes 2, stack-2
        pushfw
        reads 2, stack-2
        popfw

        lea rbp, [field+512]
        writes 8, stack-8
        enter 32, 0
        reads 8, stack-8
        leave
        writes 8, stack-8
        writes 8, stack-16
        enter 8, 1
        reads 8, stack-8
        leave
        reads 8, field+512-8
        writes 8, stack-8
        writes 8, stack-16
        writes 8, stack-24
        enter 8, 2
        reads 8, stack-8
        leave

        /* each call continues after itself, each return where the stack says */
        writes 8, stack-8
        call 1f
1:      writes 8, stack-8
        mov qword ptr [rsp], offset 2f
        reads 8, stack-8
        ret
2:      lea rax, [3f]
        writes 8, stack-8
        call rax
3:      writes 8, field+16
        mov qword ptr [rbx+16], offset 4f
        reads 8, field+16
        writes 8, stack-16
        call [rbx+16]
4:      writes 8, stack-16
        mov qword ptr [rsp], offset 5f
        reads 8, stack-16
        ret 8
5:      writes 8, field+24
        mov qword ptr [rbx+24], offset 6f
        reads 8, field+24
        jmp [rbx+24]
shown:  mov eax, 231
        mov edi, 1
        syscall
6:      end
