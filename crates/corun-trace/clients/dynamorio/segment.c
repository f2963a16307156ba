/* DynamoRIO would let the kernel set the register that it finds its own storage by, and crash. It replaces
 * each use of GS by a program with a base of its own, though, so that only this has to be set. */
#include "segment.h"

#include <asm/prctl.h>
#include <sys/syscall.h>

/* Where DynamoRIO keeps the program's base: what the code that loads it reads from. */
static opnd_t
place_of_base(void *drcontext)
{
    instrlist_t *list = instrlist_create(drcontext);
    opnd_t place = opnd_create_null();
    if (dr_insert_get_seg_base(drcontext, list, NULL, DR_SEG_GS, DR_REG_XAX))
        place = instr_get_src(instrlist_first(list), 0);
    instrlist_clear_and_destroy(drcontext, list);
    return place;
}

bool
sets_segment_base(void *drcontext, int number, reg_id_t segment)
{
    if (number != SYS_arch_prctl || dr_syscall_get_param(drcontext, 0) != ARCH_SET_GS)
        return false;
    opnd_t place = place_of_base(drcontext);
    if (!opnd_is_far_base_disp(place) || opnd_get_segment(place) != segment)
        return false;
    byte *storage = dr_get_dr_segment_base(segment);
    *(reg_t *)(storage + opnd_get_disp(place)) = dr_syscall_get_param(drcontext, 1);
    dr_syscall_set_result(drcontext, 0);
    return true;
}
