/* The 15th number of Fibonacci by calls of itself. */
#include "truth.h"
        begin
        mov edi, 15
        call fib
        cmp eax, 610
        jne wrong
        mov eax, 231
        xor edi, edi
        syscall
fib:    mov eax, edi
        cmp edi, 2
        jb 1f
        push rdi
        dec edi
        call fib
        pop rdi
        push rax
        lea edi, [rdi-2]
        call fib
        pop rdx
        add eax, edx
1:      ret
wrong:  end 1
