#include "schedule.h"

enum { QUOTA = 1 << 14 };

static struct {
    void *lock;
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
schedule_has_gaps(void)
{
    return !schedule_is_whole() && !schedule_only_counts();
}

static void
announce(struct stream *stream, uint64_t part)
{
    stream->part = part;
    stream_mark(stream, CHANNEL_EXECUTED | part << CHANNEL_STRETCH, stream_executed(stream));
}

void
schedule_ask(struct stream *stream)
{
    int64_t left = stream_left(stream);
    bool has_changed = false, has_begun = false;
    dr_mutex_lock(schedule.lock);
    do {
        uint64_t quota = QUOTA;
        if (schedule.remaining == 0 && left < 0) {
            next_phase();
            has_changed = true;
            has_begun |= schedule.records;
        }
        if (has_changed) /* The next block shall ask again. */
            quota = -left;
        quota = MIN(quota, schedule.remaining);
        schedule.remaining -= quota;
        left += quota;
        stream->taken += quota;
    } while (left < 0);
    bool records = schedule.records;
    uint64_t part = schedule.part - (has_begun && !records); /* of which this block may be all */
    dr_mutex_unlock(schedule.lock);
    stream_leave(stream, left, records);
    stream_relieve(stream);
    if (has_changed ? has_begun : records) {
        if (stream_is_diverted(stream) || stream->part != part) {
            stream_return(stream);
            announce(stream, part);
        }
    } else if (!has_changed) {
        stream_divert(stream);
    }
}

void
schedule_report(struct stream *stream)
{
    announce(stream, schedule.part);
}
