#include "computed.h"

#include "stream.h"

enum { DIRECTION_FLAG = 1 << 10 };

static bool
has_wide_index(int opcode)
{
    switch (opcode) {
    case OP_vgatherqpd:
    case OP_vgatherqps:
    case OP_vpgatherqd:
    case OP_vpgatherqq:
    case OP_vscatterqpd:
    case OP_vscatterqps:
    case OP_vpscatterqd:
    case OP_vpscatterqq: return true;
    default: return false;
    }
}

static bool
has_wide_lanes(int opcode)
{
    switch (opcode) {
    case OP_vgatherdpd:
    case OP_vgatherqpd:
    case OP_vpgatherdq:
    case OP_vpgatherqq:
    case OP_vscatterdpd:
    case OP_vscatterqpd:
    case OP_vpscatterdq:
    case OP_vpscatterqq: return true;
    default: return false;
    }
}

static const dr_zmm_t *
simd_value(reg_id_t reg, const dr_mcontext_t *context)
{
    if (reg >= DR_REG_START_ZMM && reg <= DR_REG_STOP_ZMM)
        return &context->simd[reg - DR_REG_START_ZMM];
    if (reg >= DR_REG_START_YMM && reg <= DR_REG_STOP_YMM)
        return &context->simd[reg - DR_REG_START_YMM];
    return &context->simd[reg - DR_REG_START_XMM];
}

/* The registers of a gather or scatter: which holds the data, which the mask. */
static void
find_registers(instr_t *instruction, reg_id_t *data, reg_id_t *mask)
{
    *data = *mask = DR_REG_NULL;
    bool is_gather = instr_is_gather(instruction);
    for (int i = 0; i < instr_num_srcs(instruction); i++) {
        opnd_t source = instr_get_src(instruction, i);
        if (!opnd_is_reg(source))
            continue;
        if (reg_is_opmask(opnd_get_reg(source)) || is_gather)
            *mask = opnd_get_reg(source);
        else
            *data = opnd_get_reg(source);
    }
    if (is_gather)
        *data = opnd_get_reg(instr_get_dst(instruction, 0));
}

/* DynamoRIO's decoder does not scale the short displacements of all scatters. */
static int64_t
displacement(instr_t *instruction, opnd_t operand, uint lane_size)
{
    const byte *code = instr_get_raw_bits(instruction);
    while (*code == 0x67 || *code == 0x64 || *code == 0x65)
        code++;
    bool is_short = code[0] == 0x62 && code[5] >> 6 == 1;
    return is_short ? (int8_t)code[7] * (int64_t)lane_size : opnd_get_disp(operand);
}

uint32_t
lane_addresses(instr_t *instruction, opnd_t operand, const dr_mcontext_t *context,
               uint64_t addresses[MAX_LANES])
{
    int opcode = instr_get_opcode(instruction);
    uint lane_size = has_wide_lanes(opcode) ? 8 : 4;
    uint index_size = has_wide_index(opcode) ? 8 : 4;
    reg_id_t data, mask, index = opnd_get_index(operand);
    find_registers(instruction, &data, &mask);
    uint lanes = opnd_size_in_bytes(reg_get_size(data)) / lane_size;
    lanes = MIN(lanes, opnd_size_in_bytes(reg_get_size(index)) / index_size);
    const dr_zmm_t *indices = simd_value(index, context);
    reg_id_t base_register = opnd_get_base(operand);
    uint64_t base = displacement(instruction, operand, lane_size);
    if (base_register != DR_REG_NULL)
        base += reg_get_value(base_register, (dr_mcontext_t *)context);
    uint32_t count = 0;
    for (uint lane = 0; lane < lanes; lane++) {
        bool is_selected = reg_is_opmask(mask)
            ? (context->opmask[mask - DR_REG_START_OPMASK] >> lane & 1) != 0
            : (simd_value(mask, context)->u32[(lane + 1) * lane_size / 4 - 1] >> 31) != 0;
        int64_t value = index_size == 8 ? (int64_t)indices->u64[lane] : (int32_t)indices->u32[lane];
        if (is_selected)
            addresses[count++] = base + value * opnd_get_scale(operand);
    }
    return count;
}

static bool
compares(int opcode)
{
    return opcode == OP_rep_cmps || opcode == OP_repne_cmps || opcode == OP_rep_scas ||
        opcode == OP_repne_scas;
}

/* The first `size` bytes of the register RAX, or of memory; false if they cannot be read. */
static bool
load(uint64_t address, uint size, uint64_t *value)
{
    size_t read;
    *value = 0;
    return dr_safe_read((void *)address, size, value, &read) && read == size;
}

static bool
reads_register(instr_t *instruction, reg_id_t reg)
{
    for (int i = 0; i < instr_num_srcs(instruction); i++) {
        opnd_t source = instr_get_src(instruction, i);
        if (opnd_is_reg(source) && opnd_get_reg(source) == reg)
            return true;
    }
    return false;
}

uint64_t
iterations(instr_t *instruction, const dr_mcontext_t *context)
{
    int opcode = instr_get_opcode(instruction);
    uint64_t most = reads_register(instruction, DR_REG_RCX) ? context->rcx : (uint32_t)context->rcx;
    if (!compares(opcode))
        return most;
    bool scans = opcode == OP_rep_scas || opcode == OP_repne_scas;
    bool until_equal = opcode == OP_repne_scas || opcode == OP_repne_cmps;
    opnd_t memory = instr_get_src(instruction, 0);
    uint size = opnd_size_in_bytes(opnd_get_size(memory));
    int64_t step = (context->xflags & DIRECTION_FLAG) != 0 ? -(int64_t)size : size;
    uint64_t wanted = size == 8 ? context->rax : context->rax & ((1ULL << 8 * size) - 1);
    for (uint64_t done = 0; done < most; done++) {
        uint64_t left = wanted, right;
        if (!load(context->rdi + done * step, size, &right) ||
            (!scans && !load(context->rsi + done * step, size, &left)))
            return done;
        if ((left == right) == until_equal)
            return done + 1;
    }
    return most;
}

uint64_t
bit_address(instr_t *instruction, opnd_t operand, const dr_mcontext_t *context)
{
    int size = opnd_size_in_bytes(opnd_get_size(operand));
    int64_t bit = 0;
    for (int i = 0; i < instr_num_srcs(instruction); i++) {
        opnd_t source = instr_get_src(instruction, i);
        if (opnd_is_reg(source))
            bit = reg_get_value(opnd_get_reg(source), (dr_mcontext_t *)context);
    }
    if (size < 8)
        bit = size == 4 ? (int32_t)bit : (int16_t)bit;
    int64_t element = (bit - (bit & (8 * size - 1))) / (8 * size);
    return (uint64_t)opnd_compute_address(operand, (dr_mcontext_t *)context) + element * size;
}
