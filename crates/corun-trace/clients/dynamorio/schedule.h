/* Which intervals of the run are recorded. Counts are of all threads together: each thread takes a quota
 * of instructions, and asks again when it has used it up. */
#ifndef CORUN_SCHEDULE_H
#define CORUN_SCHEDULE_H

#include "stream.h"

/* Reads the parts of the run to record, before the first block is announced: whether code keeps its stores in
 * between, their number, then the begin and the end of each. */
void schedule_begin(void);

/* Whether everything is recorded, so that nothing need be counted. */
bool schedule_is_whole(void);

/* Whether no part is recorded: no thread asks, and what is left of its quota falls below 0. */
bool schedule_only_counts(void);

/* Whether code stays as it is from part to part: entries are written all the time, and those that nobody
 * wants go into memory of the thread's own. If not, code is made anew at both ends of a part, and in
 * between nothing is written. */
bool schedule_keeps_code(void);

/* Whether code that is instrumented now is to store entries. */
bool schedule_instruments(void);

/* A place of a quota is used up in a block that is recorded or only counted. */
void schedule_ask(struct stream *stream, bool is_recorded);

/* Reports to corun what the thread has executed: before the first entry of an interval, and at its end. */
void schedule_report(struct stream *stream);

#endif
