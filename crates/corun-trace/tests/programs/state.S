/* The state of the core, and hints. */
#include "truth.h"
        begin
        writes 512, field
        fxsave [rbx]
        reads 512, field
        fxrstor [rbx]
        mov eax, 7
        xor edx, edx
        updates 0, field+1024
        xsave [rbx+1024]
        reads 0, field+1024
        xrstor [rbx+1024]
        writes 4, field
        stmxcsr [rbx]
        reads 4, field
        ldmxcsr [rbx]
        writes 2, field
        fnstcw [rbx]
        reads 2, field
        fldcw [rbx]
        prefetches field+64
        prefetcht0 [rbx+64]
        mov ecx, 3
        prefetches field+12
        prefetchnta [rbx+rcx*4]
        prefetches field+128
        prefetcht1 [rip+field+128]
        prefetches field+128
        prefetchw [ebx+128]
        lfence
        mfence
        end
