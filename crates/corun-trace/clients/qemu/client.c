/* The QEMU client (a TCG plugin): stores a block's number and then each of its accesses, as they happen.
 *
 * QEMU reports no operands, only accesses, in pieces of up to 8 bytes and a `rep` iteration at a time;
 * src/tracer/qemu brings them into the form of all tracers. An entry is
 *
 *   block     the block's number, | QEMU_CONTINUED if it goes on with the `rep` instruction executed last
 *   access    QEMU_ACCESS | index of the instruction << 16 | 1 << 8 if it stores | log2 of the bytes;
 *             then the address
 *   marker    as channel.h says, but that an interval begins with the instructions skipped before it << 1
 *             | 1 if it counts, and a thread ends with those skipped at last
 *
 * A block's bytes in the code file end up to 15 bytes late: QEMU does not report the length of an
 * instruction that crosses a page.
 */
#define _GNU_SOURCE
#include "../channel.h"
#include "plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The version of the interface; a QEMU takes what lies between its oldest and its own. */
__attribute__((visibility("default"))) int qemu_plugin_version = QEMU_PLUGIN_VERSION;

#define QEMU_CONTINUED (1ULL << 60)
#define QEMU_ACCESS (1ULL << 61)

enum {
    MAX_BUFFERS = 1 << 14,
    MAX_CODE = 1 << 16,
    LONGEST_INSTRUCTION = 15,
    /* Instructions after which a thread polls where the whole run is. */
    GRANT = 1 << 16,
    /* The program should not meet our descriptors. */
    FIRST_DESCRIPTOR = 512,
};

struct block {
    uint64_t number;
    uint64_t address;
    uint32_t instructions;
    bool begins_with_rep; /* and so is nothing else */
    bool is_atomic;       /* one of its instructions is */
    uint64_t rep;         /* where the `rep` instruction lies that it ends in, or 0 */
};

/* What to record of the run, in instructions of all threads. */
struct interval {
    uint64_t begin;
    uint64_t end;
    uint64_t is_counted;
};

struct stream {
    uint64_t *next;
    uint64_t *limit;
    int64_t left; /* instructions until the thread polls where the whole run is */
    bool is_recording;
    bool has_begun;
    uint32_t buffer;
    uint32_t thread;
    uint64_t rep; /* of the last block */
    uint64_t *start;
    uint64_t skipped;
    int64_t granted;
    struct stream *following;
};

static __thread struct stream stream __attribute__((tls_model("initial-exec")));

static struct {
    char files[4][64];
    int buffers, code, full, free;
    uint64_t *mapped[MAX_BUFFERS];
    uint64_t order;
    uint64_t blocks;
    const struct interval *intervals;
    uint64_t count, current;
    uint64_t position;
    unsigned threads;
    struct stream *streams;
    bool is_detached; /* in a child, which is not traced */
    pthread_mutex_t lock;
} channel = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* --- The channel ---------------------------------------------------------------------------------- */

static void
fail(const char *what)
{
    fprintf(stderr, "corun: the tracing client cannot %s: %s\n", what, strerror(errno));
    _exit(127);
}

static int
open_file(int file, int flags)
{
    int low = open(channel.files[file], flags | O_CLOEXEC);
    int high = low < 0 ? low : fcntl(low, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
    if (high < 0)
        fail("open its channel");
    close(low);
    return high;
}

static void
open_files(void)
{
    channel.buffers = open_file(0, O_RDWR);
    channel.code = open_file(1, O_RDWR | O_APPEND);
    channel.full = open_file(2, O_WRONLY);
    channel.free = open_file(3, O_RDONLY);
}

/* All of it; the program may have closed every descriptor that it found. */
static void
move_all(int *descriptor, void *bytes, size_t size, bool is_reading)
{
    char *at = bytes;
    while (size > 0) {
        ssize_t moved = is_reading ? read(*descriptor, at, size) : write(*descriptor, at, size);
        if (moved > 0) {
            at += moved;
            size -= moved;
        } else if (moved == 0) {
            _exit(127); /* corun is gone */
        } else if (errno == EBADF) {
            open_files();
        } else if (errno != EINTR) {
            fail("reach corun");
        }
    }
}

static void
send_message(enum channel_kind kind, uint32_t thread, uint32_t buffer, uint32_t bytes)
{
    struct channel_message message = { kind, thread, buffer, bytes };
    move_all(&channel.full, &message, sizeof(message), false);
}

static void
take_buffer(struct stream *s)
{
    move_all(&channel.free, &s->buffer, sizeof(s->buffer), true);
    uint64_t **mapped = &channel.mapped[s->buffer % MAX_BUFFERS];
    if (*mapped == NULL) {
        off_t offset = (off_t)s->buffer * (CHANNEL_BUFFER + CHANNEL_PAGE);
        void *memory;
        while ((memory = mmap(NULL, CHANNEL_BUFFER, PROT_READ | PROT_WRITE, MAP_SHARED,
                              channel.buffers, offset)) == MAP_FAILED) {
            if (errno != EBADF)
                fail("map a buffer");
            open_files();
        }
        *mapped = memory;
    }
    send_message(CHANNEL_TAKEN, s->thread, s->buffer, 0);
    s->start = s->next = *mapped;
    s->limit = *mapped + CHANNEL_BUFFER / sizeof(uint64_t);
}

static void
hand_over(struct stream *s)
{
    uint32_t bytes = (uint32_t)((char *)s->next - (char *)s->start);
    send_message(CHANNEL_FULL, s->thread, s->buffer, bytes);
}

static void
reserve(struct stream *s, size_t words)
{
    if (s->next + words > s->limit) {
        hand_over(s);
        take_buffer(s);
    }
}

static void
mark(struct stream *s, enum channel_marker marker, uint64_t value)
{
    reserve(s, CHANNEL_MARKER_WORDS);
    s->next[0] = CHANNEL_MARKER | (uint64_t)marker;
    s->next[1] = __atomic_fetch_add(&channel.order, 1, __ATOMIC_SEQ_CST);
    s->next[2] = value;
    s->next += CHANNEL_MARKER_WORDS;
}

/* --- Threads -------------------------------------------------------------------------------------- */

static void
begin_stream(struct stream *s)
{
    s->has_begun = true;
    s->thread = (uint32_t)syscall(SYS_gettid);
    send_message(CHANNEL_THREAD, s->thread, 0, 0);
    take_buffer(s);
    s->following = channel.streams;
    channel.streams = s;
    channel.threads++;
}

static void
end_stream(struct stream *s)
{
    struct stream **link = &channel.streams;
    while (*link != NULL && *link != s)
        link = &(*link)->following;
    if (*link == NULL)
        return;
    *link = s->following;
    channel.threads--;
    mark(s, CHANNEL_ENDED, s->skipped);
    hand_over(s);
    s->is_recording = false;
}

/* The thread has used up what it was granted: where is the run now, and is it recorded there? */
static void
poll_position(struct stream *s)
{
    pthread_mutex_lock(&channel.lock);
    if (channel.is_detached) {
        s->is_recording = false;
        s->left = INT64_MAX;
        pthread_mutex_unlock(&channel.lock);
        return;
    }
    if (!s->has_begun)
        begin_stream(s);
    uint64_t used = (uint64_t)(s->granted - s->left);
    channel.position += used;
    uint64_t before = channel.current;
    while (channel.current < channel.count &&
           channel.position >= channel.intervals[channel.current].end)
        channel.current++;
    uint64_t until = UINT64_MAX;
    bool is_inside = false;
    if (channel.current < channel.count) {
        const struct interval *interval = &channel.intervals[channel.current];
        is_inside = channel.position >= interval->begin;
        until = is_inside ? interval->end : interval->begin;
        if (is_inside && (!s->is_recording || before != channel.current)) {
            mark(s, CHANNEL_SKIPPED, s->skipped << 1 | interval->is_counted);
            s->skipped = 0;
        }
    }
    s->is_recording = is_inside;
    uint64_t ahead = until - channel.position;
    s->granted = s->left = ahead < GRANT ? (int64_t)ahead : GRANT;
    pthread_mutex_unlock(&channel.lock);
}

static void
after_fork(void)
{
    pthread_mutex_init(&channel.lock, NULL);
    channel.is_detached = true;
    stream.is_recording = false;
    stream.left = INT64_MAX;
}

/* --- What QEMU reports ---------------------------------------------------------------------------- */

static void
on_block(unsigned cpu, void *data)
{
    const struct block *block = data;
    struct stream *s = &stream;
    bool is_continued = block->begins_with_rep && s->rep == block->address;
    if (s->left <= 0)
        poll_position(s);
    s->rep = block->rep;
    s->left -= block->instructions - is_continued;
    if (!s->is_recording) {
        s->skipped += block->instructions - is_continued;
        return;
    }
    if (block->is_atomic && __atomic_load_n(&channel.threads, __ATOMIC_RELAXED) > 1)
        mark(s, CHANNEL_ATOMIC, 0);
    reserve(s, 1);
    *s->next++ = is_continued ? block->number | QEMU_CONTINUED : block->number;
}

static void
on_access(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
    struct stream *s = &stream;
    if (!s->is_recording)
        return;
    reserve(s, 2);
    s->next[0] = QEMU_ACCESS | (uint64_t)(uintptr_t)data << 16 |
        (uint64_t)qemu_plugin_mem_is_store(info) << 8 | qemu_plugin_mem_size_shift(info);
    s->next[1] = address;
    s->next += 2;
}

/* What stands before the opcode of an instruction: how many bytes, and what of it matters. */
struct prefixes {
    size_t size;
    bool has_rep, has_lock;
};

static struct prefixes
prefixes_of(const uint8_t *bytes, size_t size)
{
    struct prefixes found = { 0 };
    for (; found.size < size && found.size < LONGEST_INSTRUCTION; found.size++) {
        uint8_t byte = bytes[found.size];
        bool is_rep = byte == 0xf2 || byte == 0xf3, is_lock = byte == 0xf0;
        bool is_segment = (byte & 0xe7) == 0x26 || byte == 0x64 || byte == 0x65;
        bool is_size = byte == 0x66 || byte == 0x67, is_rex = (byte & 0xf0) == 0x40;
        if (!is_rep && !is_lock && !is_segment && !is_size && !is_rex)
            break;
        found.has_rep |= is_rep;
        found.has_lock |= is_lock;
    }
    return found;
}

/* The length of the `rep` string instruction that begins these bytes; 0 if another does. */
static size_t
rep_string(const uint8_t *bytes, size_t size)
{
    struct prefixes before = prefixes_of(bytes, size);
    uint8_t opcode = before.size < size ? bytes[before.size] : 0;
    bool is_string = (opcode >= 0xa4 && opcode <= 0xa7) || (opcode >= 0xaa && opcode <= 0xaf);
    return before.has_rep && is_string ? before.size + 1 : 0;
}

/* Whether the instruction that begins these bytes is locked, or exchanges with memory. */
static bool
is_atomic(const uint8_t *bytes, size_t size)
{
    struct prefixes before = prefixes_of(bytes, size);
    const uint8_t *rest = bytes + before.size;
    bool is_exchange = before.size + 1 < size && (rest[0] == 0x86 || rest[0] == 0x87);
    return before.has_lock || (is_exchange && rest[1] < 0xc0);
}

/* What can be read of the code from `from` on. */
static size_t
read_code(const void *from, uint8_t *to, size_t size)
{
    struct iovec here = { to, size }, there = { (void *)from, size };
    struct iovec pieces[2] = { there, { 0 } };
    /* Each page is read or refused by itself. */
    size_t first = 4096 - ((uintptr_t)from & 4095);
    size_t count = 1;
    if (first < size) {
        pieces[0].iov_len = first;
        pieces[1] = (struct iovec){ (char *)from + first, size - first };
        count = 2;
    }
    ssize_t got = process_vm_readv(getpid(), &here, 1, pieces, count, 0);
    return got < 0 ? 0 : (size_t)got;
}

static bool
is_on_two_pages(uint64_t address, size_t size)
{
    return (address ^ (address + size - 1)) >= CHANNEL_PAGE;
}

static void
on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    static uint8_t code[MAX_CODE];
    size_t count = qemu_plugin_tb_n_insns(tb);
    struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, 0);
    struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, count - 1);
    struct block *block = calloc(1, sizeof(*block));
    if (block == NULL || channel.is_detached)
        return;

    pthread_mutex_lock(&channel.lock);
    size_t to_last = qemu_plugin_insn_vaddr(last) - qemu_plugin_insn_vaddr(first);
    size_t size = to_last + LONGEST_INSTRUCTION;
    if (size > MAX_CODE)
        size = MAX_CODE;
    size = read_code(qemu_plugin_insn_haddr(first), code, size);
    block->number = ++channel.blocks;
    block->address = qemu_plugin_insn_vaddr(first);
    block->instructions = (uint32_t)count;
    size_t rep = to_last < size ? rep_string(code + to_last, size - to_last) : 0;
    /* One that crosses a page is translated again as a block of its own, unless it is the first. */
    bool is_taken_back = count > 1 && is_on_two_pages(block->address, to_last + rep);
    if (rep != 0 && !is_taken_back)
        block->rep = qemu_plugin_insn_vaddr(last);
    block->begins_with_rep = block->rep == block->address;
    for (size_t i = 0; i < count && !block->is_atomic; i++) {
        size_t from = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, i)) - block->address;
        block->is_atomic = from < size && is_atomic(code + from, size - from);
    }
    struct channel_block description = { block->address, (uint32_t)size, 1, (uint32_t)count, 0 };
    move_all(&channel.code, &description, sizeof(description), false);
    move_all(&channel.code, code, size, false);
    pthread_mutex_unlock(&channel.lock);

    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, block);
    for (size_t i = 0; i < count; i++)
        qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), on_access,
                                         QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                         (void *)(uintptr_t)i);
}

static void
on_system_call(qemu_plugin_id_t id, unsigned cpu, int64_t number, uint64_t a1, uint64_t a2,
               uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
    struct stream *s = &stream;
    bool is_exec = number == SYS_execve || number == SYS_execveat;
    if (is_exec && s->has_begun && !channel.is_detached)
        send_message(CHANNEL_EXEC, s->thread, 0, 0);
    if (!s->is_recording)
        return;
    mark(s, CHANNEL_SYSTEM_CALL, (uint64_t)number);
    /* What comes after may be another program, or nothing. */
    if (is_exec) {
        hand_over(s);
        take_buffer(s);
    }
}

static void
on_thread_end(qemu_plugin_id_t id, unsigned cpu)
{
    if (!stream.has_begun || channel.is_detached)
        return;
    pthread_mutex_lock(&channel.lock);
    end_stream(&stream);
    pthread_mutex_unlock(&channel.lock);
}

static void
on_end(qemu_plugin_id_t id, void *data)
{
    if (channel.is_detached)
        return;
    pthread_mutex_lock(&channel.lock);
    while (channel.streams != NULL)
        end_stream(channel.streams);
    channel.is_detached = true;
    pthread_mutex_unlock(&channel.lock);
}

/* What corun left for us: the number of intervals, then each. */
static bool
read_intervals(void)
{
    move_all(&channel.code, &channel.count, sizeof(channel.count), true);
    struct interval *intervals = calloc(channel.count + 1, sizeof(*intervals));
    if (intervals == NULL)
        return false;
    move_all(&channel.code, intervals, channel.count * sizeof(*intervals), true);
    channel.intervals = intervals;
    return true;
}

static bool
read_files(const char *text)
{
    unsigned process, files[4];
    if (sscanf(text, "%u:%u:%u:%u:%u", &process, &files[0], &files[1], &files[2], &files[3]) != 5)
        return false;
    for (int i = 0; i < 4; i++)
        snprintf(channel.files[i], sizeof(channel.files[i]), "/proc/%u/fd/%u", process, files[i]);
    return true;
}

__attribute__((visibility("default"))) int
qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc, char **argv)
{
    static const char channel_is[] = "channel=";
    if (argc < 1 || strncmp(argv[0], channel_is, strlen(channel_is)) != 0 ||
        !read_files(argv[0] + strlen(channel_is)))
        return -1;
    open_files();
    if (!read_intervals())
        return -1;
    send_message(CHANNEL_IMAGE, (uint32_t)getpid(), 0, 0);
    pthread_atfork(NULL, NULL, after_fork);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_vcpu_syscall_cb(id, on_system_call);
    qemu_plugin_register_vcpu_exit_cb(id, on_thread_end);
    qemu_plugin_register_atexit_cb(id, on_end, NULL);
    return 0;
}
