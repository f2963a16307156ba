/* Written against DynamoRIO's core alone: its extension for this is under the LGPL, and is not linked. Only
 * `lea` and `mov` are inserted, so that no flag has to be saved. */
#include "address.h"

struct place {
    void *drcontext;
    instrlist_t *list;
    instr_t *where;
};

static void
insert(const struct place *place, instr_t *instruction)
{
    instr_set_translation(instruction, instr_get_app_pc(place->where));
    instrlist_meta_preinsert(place->list, place->where, instruction);
}

static void
insert_lea(const struct place *place, reg_id_t to, reg_id_t base, reg_id_t index, int scale, int displacement)
{
    opnd_t sum = opnd_create_base_disp(base, index, scale, displacement, OPSZ_lea);
    insert(place, INSTR_CREATE_lea(place->drcontext, opnd_create_reg(to), sum));
}

/* Whether the segment has a base of its own in 64-bit mode. */
static bool
has_base(reg_id_t segment)
{
    return segment == DR_SEG_FS || segment == DR_SEG_GS;
}

/* The offset within the segment. */
static void
insert_offset(const struct place *place, opnd_t operand, reg_id_t to, reg_id_t scratch)
{
    if (!opnd_is_base_disp(operand)) {
        opnd_t constant = OPND_CREATE_INTPTR(opnd_get_addr(operand));
        insert(place, INSTR_CREATE_mov_imm(place->drcontext, opnd_create_reg(to), constant));
        return;
    }
    reg_id_t index = opnd_get_index(operand);
    int scale = opnd_get_scale(operand);
    /* `xlat` adds the lowest byte of RAX, which no address that `lea` can encode does. */
    if (index == DR_REG_AL) {
        insert(place, INSTR_CREATE_movzx(place->drcontext, opnd_create_reg(reg_64_to_32(scratch)),
                                         opnd_create_reg(index)));
        index = scratch;
        scale = 1;
    }
    insert_lea(place, to, opnd_get_base(operand), index, scale, opnd_get_disp(operand));
}

bool
insert_address(void *drcontext, instrlist_t *list, instr_t *where, opnd_t operand, reg_id_t address,
               reg_id_t scratch)
{
    struct place place = { drcontext, list, where };
    reg_id_t segment =
        opnd_is_far_memory_reference(operand) ? opnd_get_segment(operand) : DR_REG_NULL;
    insert_offset(&place, operand, address, scratch);
    if (!has_base(segment))
        return true;
    if (!dr_insert_get_seg_base(drcontext, list, where, segment, scratch))
        return false;
    insert_lea(&place, address, address, scratch, 1, 0);
    return true;
}
