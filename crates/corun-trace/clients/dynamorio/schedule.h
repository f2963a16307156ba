/* Which intervals of the run are recorded. Counts are of all threads together: each thread takes a quota
 * of instructions, and asks again when it has used it up. A block in which it does so is executed in the copy that stores
 * an entry, which is thrown away in a gap. */
#ifndef CORUN_SCHEDULE_H
#define CORUN_SCHEDULE_H

#include "stream.h"

/* Reads the parts of the run to record, before the first block is announced: their number, then the begin and the end
 * of each. */
void schedule_begin(void);

/* Whether everything is recorded, so that nothing need be counted. */
bool schedule_is_whole(void);

/* Whether no part is recorded: no thread asks, and what is left of its quota falls below 0. */
bool schedule_only_counts(void);

/* Whether some of the run is recorded, and some is not. */
bool schedule_has_gaps(void);

/* A place of the thread's quota is used up, or what its part has of it, in the block that begins. */
void schedule_ask(struct stream *stream);

/* Reports to corun what the thread has executed. */
void schedule_report(struct stream *stream);

#endif
