/* How a client inside a traced program hands what it sees to corun, which is another process.
 *
 * There are no names in the file system: corun keeps four files open, and the client opens them again
 * through /proc/PID/fd. src/tracer/channel.rs is the other end.
 *
 *   buffers   shared memory; buffer n lies at n * (CHANNEL_BUFFER + CHANNEL_PAGE), the page after it is
 *             the guard that a client may protect to notice that the buffer is full
 *   code      what to record, in words that each client reads in its own way; then each block once, before
 *             it is first executed: a struct channel_block, the block's bytes, the number of memory
 *             operands of each instruction (a byte each), a struct channel_operand for each memory
 *             operand
 *   full      a pipe of struct channel_message
 *   free      a pipe of buffer numbers (uint32_t), of buffers that hold zeros; a client that finds none
 *             waits for corun
 *
 * A buffer holds entries of 64-bit words. The first word of an entry says what it is:
 *
 *   block     the block's number, from 1; `words` words in all (see channel_block)
 *   cut short the block's number | CHANNEL_CUT; the words of the block, then the address of the first
 *             instruction that was not executed
 *   marker    enum channel_marker | CHANNEL_MARKER; then its place among all markers; then a value
 *
 * None begins with 0, so that corun finds the entries in a buffer that a killed client did not hand over.
 */
#ifndef CORUN_CHANNEL_H
#define CORUN_CHANNEL_H

#include <stdint.h>

enum {
    CHANNEL_PAGE = 4096,
    CHANNEL_BUFFER = 1 << 20,
    CHANNEL_MARKER_WORDS = 3,
    CHANNEL_STRETCH = 8,
};

#define CHANNEL_CUT (1ULL << 62)
#define CHANNEL_MARKER (1ULL << 63)

/* What a marker says; its value follows in brackets. */
enum channel_marker {
    CHANNEL_SYSTEM_CALL = 1, /* the call's number */
    CHANNEL_SIGNAL = 2,      /* the signal's number */
    CHANNEL_FORKED = 3,      /* the child's process id */
    CHANNEL_REPLACED = 4,    /* 0: the process becomes another program */
    CHANNEL_ENDED = 5,       /* 0: the thread has ended */
    CHANNEL_SKIPPED = 6,     /* instructions of the thread that were not recorded */
    CHANNEL_EXECUTED = 7,    /* instructions of the thread up to and with the block that follows, if one does;
                                with the number of the interval << CHANNEL_STRETCH */
    CHANNEL_ATOMIC = 8,      /* 0: the block that follows has an atomic instruction; only while there are several
                                threads */
};

enum channel_kind {
    CHANNEL_THREAD = 1, /* a thread begins; the next buffers of this `thread` are its own */
    CHANNEL_FULL = 2,   /* a buffer to read, up to `bytes` */
    CHANNEL_IMAGE = 3,  /* a program begins: block numbers start at 1 again; `thread` is its process */
    CHANNEL_TAKEN = 4,  /* a thread begins to fill a buffer */
    CHANNEL_EXEC = 5,   /* a thread is about to make its process another program, if the kernel lets it */
};

struct channel_message {
    uint32_t kind;
    uint32_t thread; /* its number in the kernel */
    uint32_t buffer;
    uint32_t bytes;
};

struct channel_block {
    uint64_t address;
    uint32_t bytes;
    uint32_t words; /* of its entry, with the first */
    uint32_t instructions;
    uint32_t operands;
};

/* Where the values of an operand come from. One address: the word plus `addend`, or `addend` alone if
 * `word` is 0. A `rep` instruction: two words from `word` on. Lanes: their number in `word`, then their
 * addresses. */
struct channel_operand {
    uint64_t addend;
    uint32_t word;
    uint32_t reserved;
};

#endif
