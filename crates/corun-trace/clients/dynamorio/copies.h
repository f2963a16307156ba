/* The two copies of a block of which only some executions store entries.
 *
 * Code stays as it is from part to part: to make it again at both ends of each takes a tenth of a second of a large program.
 * A block begins with a branch to one of its copies:
 *
 *       count the block; if its thread records, go to second
 *       the instructions, as they are
 *       go to end
 *   second:
 *       the instructions, and what stores an entry
 *   end:
 *       the last instruction, if it leaves the block
 */
#ifndef CORUN_COPIES_H
#define CORUN_COPIES_H

#include "dr_api.h"

struct copies {
    instr_t *begin; /* of the first copy; NULL if there are no copies */
    instr_t *second; /* a label */
    instr_t *end; /* a label */
    instr_t *last; /* that follows the end; NULL if the block goes on with what comes after it */
};

/* Makes two copies of the instructions of a block. The second one has the instructions that were there. */
void copies_make(void *drcontext, instrlist_t *list, struct copies *copies);

#endif
