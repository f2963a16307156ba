/* A thread's entries on their way to corun: where the next one goes, and what happens when the buffer
 * is full. */
#ifndef CORUN_STREAM_H
#define CORUN_STREAM_H

#include "../channel.h"
#include "dr_api.h"

#define MIN(a, b) ((a) < (b) ? (a) : (b))

enum { COUNTERS = 4 };

/* What instrumented code reads and writes, in thread-local storage. */
struct stream_slots {
    uint64_t *next;  /* where the next entry begins */
    uint64_t *entry; /* where the entry of the block being executed begins */
    uint64_t scratch; /* what a register holds while flags are saved in it */
    int64_t left[COUNTERS]; /* instructions of the thread's quota, see schedule.h, in a gap; in several places, since an
                               addition waits for the one before it to the same place; below 0 while it records */
    int64_t quota;   /* the same while it records; 0 in a gap */
};

struct stream {
    struct stream_slots *slots;
    uint32_t thread;
    uint32_t buffer;
    uint64_t *start;
    uint64_t *limit; /* the guard page */
    struct {
        uint64_t *start, *next; /* of the buffer, while entries go elsewhere */
    } kept;
    uint64_t *elsewhere; /* where discarded entries go */
    bool records;       /* else it is in a gap */
    uint64_t part;      /* of the schedule, that corun was last notified of */
    uint64_t taken;     /* quotas of instructions, together */
    bool makes_process; /* the system call that it is in */
    bool discarded;     /* belongs to a process that is not traced */
};

/* Opens the channel that the text names: the numbers of the files as PID,BUFFERS,CODE,FULL,FREE. */
bool channel_open(const char *text);

/* The next word that corun left for the client. */
uint64_t channel_read_word(void);

/* Reports a block to corun: the three parts one after the other. */
void channel_define(const void *head, size_t head_bytes, const void *code, size_t code_bytes,
                    const void *operands, size_t operand_bytes);

void channel_send(enum channel_kind kind, uint32_t thread, uint32_t buffer, uint32_t bytes);

/* Begins the stream of a thread, or one whose entries are discarded. */
void stream_begin(struct stream *stream, struct stream_slots *slots, uint32_t thread, bool discarded);

/* Hands over what is complete. An entry of so many words that is not, 0 if there is none, moves to the new
 * buffer as far as it was written. */
void stream_hand_over(struct stream *stream, size_t words);

void stream_end(struct stream *stream);

/* Nothing while the stream is diverted. */
void stream_mark(struct stream *stream, uint64_t marker, uint64_t value);

/* Lets entries go to a buffer that is not read, until `stream_return`. */
void stream_divert(struct stream *stream);

void stream_return(struct stream *stream);

/* Instructions that are left of the thread's quota, below 0 if it has executed more. */
int64_t stream_left(const struct stream *stream);

/* Changes what is left, and whether the thread records. In a gap every place gets an equal share. */
void stream_leave(struct stream *stream, int64_t left, bool records);

/* Takes back instructions that were counted and are not executed. */
void stream_uncount(struct stream *stream, int64_t instructions);

/* Instructions that the thread has executed. */
uint64_t stream_executed(const struct stream *stream);

bool stream_is_diverted(const struct stream *stream);

/* Hands over between two blocks what fills most of a buffer: cheaper than the fault of a full one, after which
 * DynamoRIO translates the block again. */
void stream_relieve(struct stream *stream);

/* Makes sure that so many words fit after `slots->next`. */
void stream_reserve(struct stream *stream, size_t words);

bool stream_is_guard(const struct stream *stream, const void *address);

#endif
