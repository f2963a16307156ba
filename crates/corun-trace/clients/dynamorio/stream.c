#include "stream.h"

#include <string.h>

enum { MAX_BUFFERS = 1 << 14 };

/* What no block and no run can count up to 0. */
#define FAR_BELOW (-(1LL << 62))

static struct {
    file_t buffers;
    file_t code;
    uint64_t words_read;
    file_t full;
    file_t free;
    uint64_t *mapped[MAX_BUFFERS];
    uint64_t order;
} channel;

static file_t
open_descriptor(unsigned process, unsigned descriptor, uint flags)
{
    char path[64];
    dr_snprintf(path, sizeof(path), "/proc/%u/fd/%u", process, descriptor);
    return dr_open_file(path, flags);
}

bool
channel_open(const char *text)
{
    unsigned process, buffers, code, full, free;
    if (dr_sscanf(text, "%u,%u,%u,%u,%u", &process, &buffers, &code, &full, &free) != 5)
        return false;
    channel.buffers = open_descriptor(process, buffers, DR_FILE_READ | DR_FILE_WRITE_APPEND);
    channel.code = open_descriptor(process, code, DR_FILE_READ | DR_FILE_WRITE_APPEND);
    channel.words_read = 0;
    channel.full = open_descriptor(process, full, DR_FILE_WRITE_APPEND);
    channel.free = open_descriptor(process, free, DR_FILE_READ);
    return channel.buffers != INVALID_FILE && channel.code != INVALID_FILE &&
        channel.full != INVALID_FILE && channel.free != INVALID_FILE;
}

uint64_t
channel_read_word(void)
{
    uint64_t word = 0;
    dr_file_seek(channel.code, channel.words_read++ * sizeof(word), DR_SEEK_SET);
    dr_read_file(channel.code, &word, sizeof(word));
    return word;
}

static void
write_all(file_t file, const void *bytes, size_t size)
{
    const char *from = bytes;
    while (size > 0) {
        ssize_t written = dr_write_file(file, from, size);
        if (written > 0) {
            from += written;
            size -= written;
        }
    }
}

void
channel_define(const void *head, size_t head_bytes, const void *code, size_t code_bytes,
               const void *operands, size_t operand_bytes)
{
    write_all(channel.code, head, head_bytes);
    write_all(channel.code, code, code_bytes);
    write_all(channel.code, operands, operand_bytes);
}

void
channel_send(enum channel_kind kind, uint32_t thread, uint32_t buffer, uint32_t bytes)
{
    struct channel_message message = { kind, thread, buffer, bytes };
    write_all(channel.full, &message, sizeof(message));
}

static void
set_memory(struct stream *stream, uint64_t *start)
{
    stream->start = start;
    stream->limit = start + CHANNEL_BUFFER / sizeof(uint64_t);
    stream->slots->next = start;
    stream->slots->entry = NULL;
}

/* Waits for a free buffer; each is mapped once and kept. */
static void
take_buffer(struct stream *stream)
{
    uint32_t number;
    while (dr_read_file(channel.free, &number, sizeof(number)) != sizeof(number)) { }
    DR_ASSERT(number < MAX_BUFFERS);
    if (channel.mapped[number] == NULL) {
        size_t size = CHANNEL_BUFFER + CHANNEL_PAGE;
        void *memory = dr_map_file(channel.buffers, &size, (uint64)number * size, NULL,
                                   DR_MEMPROT_READ | DR_MEMPROT_WRITE, 0);
        DR_ASSERT(memory != NULL);
        dr_memory_protect((byte *)memory + CHANNEL_BUFFER, CHANNEL_PAGE, DR_MEMPROT_NONE);
        channel.mapped[number] = memory;
    }
    stream->buffer = number;
    channel_send(CHANNEL_TAKEN, stream->thread, number, 0);
    set_memory(stream, channel.mapped[number]);
}

static uint64_t *
memory_of_its_own(void)
{
    byte *memory = dr_raw_mem_alloc(CHANNEL_BUFFER + CHANNEL_PAGE, DR_MEMPROT_READ | DR_MEMPROT_WRITE, NULL);
    dr_memory_protect(memory + CHANNEL_BUFFER, CHANNEL_PAGE, DR_MEMPROT_NONE);
    return (uint64_t *)memory;
}

void
stream_begin(struct stream *stream, struct stream_slots *slots, uint32_t thread, bool discarded)
{
    stream->slots = slots;
    stream->thread = thread;
    stream->discarded = discarded;
    stream->kept.start = stream->kept.next = stream->elsewhere = NULL;
    stream->part = 0;
    stream->taken = 0;
    stream_leave(stream, 0, false);
    if (discarded) {
        set_memory(stream, memory_of_its_own());
        return;
    }
    channel_send(CHANNEL_THREAD, thread, 0, 0);
    take_buffer(stream);
}

void
stream_hand_over(struct stream *stream, size_t words)
{
    uint64_t *begun = stream->slots->next;
    uint32_t full = stream->buffer, bytes = (byte *)begun - (byte *)stream->start;
    size_t written = MIN(words, (size_t)(stream->limit - begun));
    bool is_wanted = !stream->discarded && !stream_is_diverted(stream);
    if (!is_wanted)
        set_memory(stream, stream->start);
    else
        take_buffer(stream);
    memmove(stream->start, begun, written * sizeof(uint64_t));
    if (words > 0)
        stream->slots->entry = stream->start;
    if (is_wanted)
        channel_send(CHANNEL_FULL, stream->thread, full, bytes);
}

void
stream_end(struct stream *stream)
{
    stream_return(stream);
    uint32_t bytes = (byte *)stream->slots->next - (byte *)stream->start;
    if (stream->elsewhere != NULL)
        dr_raw_mem_free(stream->elsewhere, CHANNEL_BUFFER + CHANNEL_PAGE);
    if (stream->discarded)
        dr_raw_mem_free(stream->start, CHANNEL_BUFFER + CHANNEL_PAGE);
    else
        channel_send(CHANNEL_FULL, stream->thread, stream->buffer, bytes);
}

void
stream_relieve(struct stream *stream)
{
    size_t room = stream->limit - stream->slots->next;
    if (room * sizeof(uint64_t) < CHANNEL_BUFFER / 2)
        stream_hand_over(stream, 0);
}

void
stream_reserve(struct stream *stream, size_t words)
{
    if (stream->slots->next + words > stream->limit)
        stream_hand_over(stream, 0);
}

void
stream_mark(struct stream *stream, uint64_t marker, uint64_t value)
{
    if (stream_is_diverted(stream))
        return;
    stream_reserve(stream, CHANNEL_MARKER_WORDS);
    uint64_t *entry = stream->slots->next;
    entry[0] = CHANNEL_MARKER | marker;
    entry[1] = __atomic_fetch_add(&channel.order, 1, __ATOMIC_SEQ_CST);
    entry[2] = value;
    stream->slots->next = entry + CHANNEL_MARKER_WORDS;
}

void
stream_divert(struct stream *stream)
{
    if (stream_is_diverted(stream) || stream->discarded)
        return;
    if (stream->elsewhere == NULL)
        stream->elsewhere = memory_of_its_own();
    stream->kept.start = stream->start;
    stream->kept.next = stream->slots->next;
    set_memory(stream, stream->elsewhere);
}

void
stream_return(struct stream *stream)
{
    if (!stream_is_diverted(stream))
        return;
    set_memory(stream, stream->kept.start);
    stream->slots->next = stream->kept.next;
    stream->kept.start = NULL;
}

int64_t
stream_left(const struct stream *stream)
{
    int64_t left = 0;
    for (int i = 0; i < COUNTERS; i++)
        left += stream->slots->left[i];
    return stream->records ? stream->slots->quota : left;
}

void
stream_leave(struct stream *stream, int64_t left, bool records)
{
    struct stream_slots *slots = stream->slots;
    int64_t share = records ? FAR_BELOW : left / COUNTERS;
    for (int i = 0; i < COUNTERS; i++)
        slots->left[i] = share;
    if (!records)
        slots->left[0] += left % COUNTERS;
    slots->quota = records ? left : 0;
    stream->records = records;
}

void
stream_uncount(struct stream *stream, int64_t instructions)
{
    *(stream->records ? &stream->slots->quota : &stream->slots->left[0]) += instructions;
}

uint64_t
stream_executed(const struct stream *stream)
{
    return stream->taken - stream_left(stream);
}

bool
stream_is_diverted(const struct stream *stream)
{
    return stream->kept.start != NULL;
}

bool
stream_is_guard(const struct stream *stream, const void *address)
{
    const byte *limit = (const byte *)stream->limit;
    return (const byte *)address >= limit && (const byte *)address < limit + CHANNEL_PAGE;
}
