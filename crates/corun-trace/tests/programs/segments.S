/* A base of GS that the program sets itself, and 32-bit addresses added to a base. */
#include "truth.h"
        begin
        mov eax, 158
        mov edi, 0x1001
        lea rsi, [field+512]
        syscall
        mov rcx, -4
        reads 4, field+512
        mov eax, gs:[0]
        writes 8, field+512-32
        mov gs:[rcx*8], rax
        lea edx, [rcx+12]
        updates 4, field+512+8
        add dword ptr gs:[edx], eax
        mov eax, 158
        mov edi, 0x1002
        lea rsi, [field+256]
        syscall
        mov edx, 8
        updates 4, field+256+8
        add dword ptr fs:[edx], eax
        end
