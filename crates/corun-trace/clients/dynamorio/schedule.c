#include "schedule.h"

enum { QUOTA = 1 << 14 };

static struct {
    void *lock;
    bool keeps_code;
    bool only_counts;
    uint64_t parts; /* not read yet */
    uint64_t begin; /* of the part that is recorded, or comes next */
    uint64_t end;
    uint64_t part; /* its number */
    uint64_t remaining;
    bool records;
} schedule;

/* After the last part comes one that never begins. */
static void
next_part(void)
{
    uint64_t from = schedule.end;
    schedule.begin = schedule.end = UINT64_MAX;
    if (schedule.parts > 0) {
        schedule.parts--;
        schedule.begin = channel_read_word();
        schedule.end = channel_read_word();
    }
    schedule.remaining = schedule.begin - from;
}

static void
next_phase(void)
{
    schedule.records = !schedule.records;
    if (schedule.records) {
        schedule.remaining = schedule.end - schedule.begin;
    } else {
        schedule.part++;
        next_part();
    }
}

void
schedule_begin(void)
{
    schedule.lock = dr_mutex_create();
    schedule.keeps_code = channel_read_word() != 0;
    schedule.parts = channel_read_word();
    schedule.only_counts = schedule.parts == 0;
    next_part();
    if (schedule.remaining == 0)
        next_phase();
}

bool
schedule_is_whole(void)
{
    return schedule.part == 0 && schedule.begin == 0 && schedule.end == UINT64_MAX;
}

bool
schedule_only_counts(void)
{
    return schedule.only_counts;
}

bool
schedule_keeps_code(void)
{
    return schedule.keeps_code;
}

bool
schedule_instruments(void)
{
    return schedule.keeps_code || schedule.records;
}

static void
announce(struct stream *stream, uint64_t part)
{
    stream->part = part;
    stream_mark(stream, CHANNEL_EXECUTED | part << CHANNEL_STRETCH, stream_executed(stream));
}

/* Of a thread whose block asked in the phase that goes on. */
static void
turn(struct stream *stream)
{
    if (!schedule.records) {
        stream_divert(stream);
    } else if (stream_is_diverted(stream) || stream->part != schedule.part) {
        stream_return(stream);
        announce(stream, schedule.part);
    }
}

void
schedule_ask(struct stream *stream, bool is_recorded)
{
    int64_t left = stream_left(stream);
    bool has_changed = false;
    uint64_t begun = UINT64_MAX;
    dr_mutex_lock(schedule.lock);
    do {
        uint64_t quota = QUOTA;
        if (schedule.remaining == 0 && left < 0) {
            next_phase();
            has_changed = true;
            if (schedule.records)
                begun = schedule.part;
        }
        if (has_changed) /* The next block shall ask again. */
            quota = -left;
        quota = MIN(quota, schedule.remaining);
        schedule.remaining -= quota;
        left += quota;
        stream->taken += quota;
    } while (left < 0);
    dr_mutex_unlock(schedule.lock);
    stream_leave(stream, left);
    stream_relieve(stream);
    if (schedule.keeps_code) {
        if (begun != UINT64_MAX) { /* In this block, which may be all of it. */
            stream_return(stream);
            announce(stream, begun);
        } else if (!has_changed) {
            turn(stream);
        }
        return;
    }
    if (has_changed)
        dr_unlink_flush_region(NULL, ~(size_t)0);
    if (!is_recorded && !schedule.records)
        stream_park(stream);
}

void
schedule_report(struct stream *stream)
{
    announce(stream, schedule.part);
}
