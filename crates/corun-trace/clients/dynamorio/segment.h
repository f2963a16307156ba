/* The base of the segment GS, which DynamoRIO needs for itself. */
#ifndef CORUN_SEGMENT_H
#define CORUN_SEGMENT_H

#include "dr_api.h"

/* Does what a system call that is about to be made would do, if that is to set the program's base of GS,
 * and says so. `segment` is that of DynamoRIO's own storage. */
bool sets_segment_base(void *drcontext, int number, reg_id_t segment);

#endif
