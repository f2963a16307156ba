/* What a program states about itself: which memory each of its instructions will touch, by symbols and
   not by running it. A statement stands before its instruction, once for each access, in order.

   The section .truth holds four numbers a statement: what it says, where the instruction lies, the
   address, the size in bytes. */

        .intel_syntax noprefix

.macro statement meaning, size, address:vararg
777:    .pushsection .truth, "a"
        .quad \meaning, 777b, \address, \size
        .popsection
.endm

.macro reads size, address:vararg
        statement 0, \size, \address
.endm

.macro writes size, address:vararg
        statement 1, \size, \address
.endm

.macro updates size, address:vararg
        statement 2, \size, \address
.endm

.macro prefetches address:vararg
        statement 3, 1, \address
.endm

/* How many instructions are executed in all. */
.macro instructions count
        statement 4, 0, \count
.endm

/* Every program begins on a stack whose addresses are known, and has memory to touch. */
.macro begin
        .global _start
        .text
_start: lea rsp, [stack]
        lea rbx, [field]
.endm

.macro end code=0
        mov eax, 231
        mov edi, \code
        syscall
        .bss
        .balign 4096
        .skip 16384
stack:  .skip 4096
field:  .skip 8192
        .section .note.GNU-stack, "", @progbits
.endm
