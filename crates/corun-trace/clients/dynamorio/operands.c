/* The memory operands that both decoders must agree on: reads, then writes; a read and a write of one
 * place are one. What DynamoRIO's decoder sees otherwise than src/operands.rs is put right here. */
#include "operands.h"

static bool
is_same_place(opnd_t one, opnd_t other)
{
    opnd_set_size(&one, OPSZ_8);
    opnd_set_size(&other, OPSZ_8);
    return opnd_same(one, other);
}

static int
add(opnd_t operand, opnd_t operands[MAX_OPERANDS], int count)
{
    if (!opnd_is_memory_reference(operand) || count == MAX_OPERANDS)
        return count;
    for (int i = 0; i < count; i++) {
        if (is_same_place(operand, operands[i]))
            return count;
    }
    operands[count] = operand;
    return count + 1;
}

/* Instructions whose operand in memory is an address only. */
static bool
touches_nothing(instr_t *instr)
{
    switch (instr_get_opcode(instr)) {
    case OP_lea:
    case OP_nop:
    case OP_nop_modrm: return true;
    default: return false;
    }
}

/* `enter` copies the frame pointers of the functions around it, then pushes its own. */
static int
operands_of_enter(instr_t *instr, opnd_t operands[MAX_OPERANDS])
{
    int count = 0, level = 0;
    for (int i = 0; i < instr_num_srcs(instr); i++) {
        opnd_t source = instr_get_src(instr, i);
        if (opnd_is_immed_int(source) && opnd_get_size(source) == OPSZ_1)
            level = opnd_get_immed_int(source) & 31;
    }
    for (int i = 1; i < level; i++)
        operands[count++] = OPND_CREATE_MEM64(DR_REG_RBP, -8 * i);
    for (int i = 1; i <= (level == 0 ? 1 : level + 1); i++)
        operands[count++] = OPND_CREATE_MEM64(DR_REG_RSP, -8 * i);
    return count;
}

int
memory_operands(instr_t *instr, opnd_t operands[MAX_OPERANDS])
{
    int count = 0;
    if (touches_nothing(instr))
        return 0;
    if (instr_get_opcode(instr) == OP_enter)
        return operands_of_enter(instr, operands);
    for (int i = 0; i < instr_num_srcs(instr); i++)
        count = add(instr_get_src(instr, i), operands, count);
    for (int i = 0; i < instr_num_dsts(instr); i++) {
        opnd_t destination = instr_get_dst(instr, i);
        if (instr_get_opcode(instr) == OP_pop && opnd_is_base_disp(destination) &&
            opnd_get_base(destination) == DR_REG_RSP)
            /* The address is worked out with the stack pointer of afterwards. */
            opnd_set_disp(&destination, opnd_get_disp(destination) +
                                            (int)opnd_size_in_bytes(opnd_get_size(destination)));
        count = add(destination, operands, count);
    }
    return count;
}

static bool
selects_bit_by_register(instr_t *instr)
{
    for (int i = 0; i < instr_num_srcs(instr); i++) {
        if (opnd_is_immed(instr_get_src(instr, i)))
            return false;
    }
    return true;
}

enum form
operand_form(instr_t *instr)
{
    switch (instr_get_opcode(instr)) {
    case OP_bt:
    case OP_bts:
    case OP_btr:
    case OP_btc: return selects_bit_by_register(instr) ? FORM_BIT : FORM_SINGLE;
    case OP_rep_ins:
    case OP_rep_outs:
    case OP_rep_movs:
    case OP_rep_stos:
    case OP_rep_lods:
    case OP_rep_cmps:
    case OP_repne_cmps:
    case OP_rep_scas:
    case OP_repne_scas: return FORM_REPEATED;
    default: return instr_is_gather(instr) || instr_is_scatter(instr) ? FORM_LANES : FORM_SINGLE;
    }
}
