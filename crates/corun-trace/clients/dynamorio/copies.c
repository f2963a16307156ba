#include "copies.h"

#include "drmgr.h"
#include "drreg.h"

/* DynamoRIO wants such an instruction once, at the end of a block. */
static bool
is_always_last(instr_t *instruction)
{
    return instr_is_cti(instruction) || instr_is_syscall(instruction) || instr_is_interrupt(instruction);
}

/* Puts all instructions of a list before those of another one. */
static void
move_before(void *drcontext, instrlist_t *list, instrlist_t *moved)
{
    instr_t *first = instrlist_first(moved);
    if (first != NULL)
        instrlist_prepend(list, first);
    instrlist_init(moved);
    instrlist_destroy(drcontext, moved);
}

void
copies_make(void *drcontext, instrlist_t *list, struct copies *copies)
{
    instrlist_t *first = instrlist_clone(drcontext, list);
    instr_t *last = instrlist_last(list);
    copies->last = is_always_last(last) ? last : NULL;
    copies->second = INSTR_CREATE_label(drcontext);
    copies->end = INSTR_CREATE_label(drcontext);
    if (copies->last != NULL) {
        instr_t *other = instrlist_last(first);
        instrlist_remove(first, other);
        instr_destroy(drcontext, other);
        instrlist_meta_preinsert(list, last, copies->end);
    } else {
        instrlist_meta_postinsert(list, last, copies->end);
    }
    instrlist_meta_preinsert(list, instrlist_first(list), copies->second);
    instr_t *skip = INSTR_CREATE_jmp(drcontext, opnd_create_instr(copies->end));
    instrlist_meta_preinsert(list, copies->second, skip);
    move_before(drcontext, list, first);
    copies->begin = instrlist_first(list);
    /* Registers are the program's at the begin of each copy, and are restored at its end. */
    drreg_set_bb_properties(drcontext, DRREG_IGNORE_CONTROL_FLOW);
    drreg_set_bb_properties(drcontext, DRREG_USER_RESTORES_AT_BB_END);
}
