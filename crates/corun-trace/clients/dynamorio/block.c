/* An entry holds as few words as possible: what is the same in each execution goes into the block's
 * description. Operands whose base register did not change since another one share its word, and an
 * address that does not depend on registers needs none. */
#include "block.h"

#include <stddef.h>
#include <string.h>

#include "hashtable.h"
#include "stream.h"

enum {
    CHUNK = 1 << 12,
    MAX_CHUNKS = 1 << 12,
    MAX_BYTES = 15 * MAX_BLOCK_INSTRUCTIONS,
};

static struct {
    void *lock;
    hashtable_t newest; /* by address: the number */
    struct known_block *chunks[MAX_CHUNKS];
    uint32_t count; /* of which the first has number 1 */
} blocks;

/* The word that a register was stored in, and how much it has grown since. */
struct held {
    uint32_t word;
    int64_t grown;
};

struct layout {
    struct plan *plan;
    struct held held[DR_NUM_GPR_REGS];
    uint8_t counts[MAX_BLOCK_INSTRUCTIONS];
    struct channel_operand operands[MAX_BLOCK_OPERANDS];
    uint32_t operand_count;
    byte code[MAX_BYTES];
};

void
blocks_begin(void)
{
    blocks.lock = dr_mutex_create();
    hashtable_init(&blocks.newest, 16, HASH_INTPTR, false);
}

const struct known_block *
block_of(uint64_t number)
{
    if (number == 0 || number > blocks.count)
        return NULL;
    return &blocks.chunks[number / CHUNK][number % CHUNK];
}

static bool
is_general(reg_id_t reg)
{
    return reg >= DR_REG_START_64 && reg <= DR_REG_STOP_64;
}

static struct held *
held_of(struct layout *layout, reg_id_t reg)
{
    return &layout->held[reg - DR_REG_START_64];
}

static uint32_t
add_record(struct layout *layout, instr_t *instruction, opnd_t operand, enum form form, reg_id_t base,
           uint32_t words)
{
    struct plan *plan = layout->plan;
    uint32_t word = plan->words;
    plan->records[plan->recorded++] =
        (struct record){ instruction, operand, form, base, word };
    plan->words += words;
    return word;
}

static void
add_operand(struct layout *layout, instr_t *instruction, opnd_t operand, enum form form)
{
    struct channel_operand *description = &layout->operands[layout->operand_count++];
    *description = (struct channel_operand){ 0 };
    if (form == FORM_REPEATED) {
        description->word = add_record(layout, instruction, operand, form, DR_REG_NULL, 2);
    } else if (form == FORM_LANES) {
        description->word = add_record(layout, instruction, operand, form, DR_REG_NULL, 1 + MAX_LANES);
    } else if (form == FORM_BIT) {
        description->word = add_record(layout, instruction, operand, form, DR_REG_NULL, 1);
    } else if (opnd_is_near_rel_addr(operand) || opnd_is_near_abs_addr(operand)) {
        description->addend = (uint64_t)opnd_get_addr(operand);
    } else if (opnd_is_near_base_disp(operand) && is_general(opnd_get_base(operand)) &&
               opnd_get_index(operand) == DR_REG_NULL) {
        struct held *held = held_of(layout, opnd_get_base(operand));
        if (held->word == 0) {
            held->word =
                add_record(layout, instruction, operand, form, opnd_get_base(operand), 1);
            held->grown = 0;
        }
        description->word = held->word;
        description->addend = held->grown + opnd_get_disp(operand);
    } else {
        description->word = add_record(layout, instruction, operand, form, DR_REG_NULL, 1);
    }
}

void
add_register(struct registers *registers, reg_id_t reg)
{
    if (reg_is_gpr(reg))
        registers->used[reg_to_pointer_sized(reg) - DR_REG_START_64] = true;
}

static bool
leaves_one(const struct registers *registers)
{
    for (reg_id_t reg = DR_REG_START_64; reg <= DR_REG_STOP_64; reg++) {
        if (reg != DR_REG_RSP && !registers->used[reg - DR_REG_START_64])
            return true;
    }
    return false;
}

static void
add_registers_of(struct registers *registers, instr_t *instruction, bool only_in_addresses)
{
    for (int i = 0; i < instr_num_srcs(instruction) + instr_num_dsts(instruction); i++) {
        opnd_t operand = i < instr_num_srcs(instruction)
            ? instr_get_src(instruction, i)
            : instr_get_dst(instruction, i - instr_num_srcs(instruction));
        for (int j = 0; j < opnd_num_regs_used(operand); j++) {
            if (!only_in_addresses || opnd_is_memory_reference(operand))
                add_register(registers, opnd_get_reg_used(operand, j));
        }
    }
}

/* Which registers not to take for the entry's place: those that the block uses; if it uses all, those in
 * its addresses; else none. */
static struct registers
avoided_registers(instrlist_t *instructions)
{
    struct registers used = { 0 }, in_addresses = { 0 };
    for (instr_t *instruction = instrlist_first_app(instructions); instruction != NULL;
         instruction = instr_get_next_app(instruction)) {
        add_registers_of(&used, instruction, false);
        add_registers_of(&in_addresses, instruction, true);
    }
    if (leaves_one(&used))
        return used;
    return leaves_one(&in_addresses) ? in_addresses : (struct registers){ 0 };
}

/* By how much an instruction moves a register, if that is always the same. */
static bool
moves_by(instr_t *instruction, reg_id_t reg, int64_t *distance)
{
    int opcode = instr_get_opcode(instruction);
    if (reg == DR_REG_RSP) {
        opnd_t pushed = instr_num_dsts(instruction) > 1 ? instr_get_dst(instruction, 1) : opnd_create_null();
        switch (opcode) {
        case OP_push:
        case OP_push_imm:
            *distance = -(int64_t)opnd_size_in_bytes(opnd_get_size(pushed));
            return opnd_is_memory_reference(pushed);
        case OP_call:
        case OP_call_ind: *distance = -8; return true;
        case OP_pop:
            *distance = 8;
            return opnd_is_reg(instr_get_dst(instruction, 0)) &&
                opnd_get_size(instr_get_dst(instruction, 0)) == OPSZ_8 &&
                opnd_get_reg(instr_get_dst(instruction, 0)) != DR_REG_RSP;
        }
    }
    if ((opcode == OP_add || opcode == OP_sub) && instr_num_dsts(instruction) == 1 &&
        opnd_is_reg(instr_get_dst(instruction, 0)) &&
        opnd_get_reg(instr_get_dst(instruction, 0)) == reg) {
        opnd_t by = instr_get_src(instruction, 0);
        if (!opnd_is_immed_int(by))
            return false;
        *distance = opcode == OP_add ? opnd_get_immed_int(by) : -opnd_get_immed_int(by);
        return true;
    }
    return false;
}

/* Forgets the registers that an instruction changes, or follows their change. */
static void
follow(struct layout *layout, instr_t *instruction)
{
    for (reg_id_t reg = DR_REG_START_64; reg <= DR_REG_STOP_64; reg++) {
        struct held *held = held_of(layout, reg);
        int64_t distance;
        if (held->word == 0 || !instr_writes_to_reg(instruction, reg, DR_QUERY_INCLUDE_ALL))
            continue;
        if (moves_by(instruction, reg, &distance))
            held->grown += distance;
        else
            held->word = 0;
    }
}

static uint64_t
fingerprint(const byte *code, uint32_t size)
{
    uint64_t value = 0xcbf29ce484222325; /* FNV-1a */
    for (uint32_t i = 0; i < size; i++)
        value = (value ^ code[i]) * 0x100000001b3;
    return value;
}

static void
announce(const struct layout *layout, const struct known_block *block)
{
    struct channel_block head = { (uint64_t)block->start, block->bytes, block->words,
                                  block->instructions, layout->operand_count };
    byte code[MAX_BYTES + MAX_BLOCK_INSTRUCTIONS];
    memcpy(code, layout->code, block->bytes);
    memcpy(code + block->bytes, layout->counts, block->instructions);
    channel_define(&head, sizeof(head), code, block->bytes + block->instructions,
                   layout->operands, layout->operand_count * sizeof(layout->operands[0]));
}

static uint32_t
remember(const struct layout *layout, const struct known_block *block)
{
    dr_mutex_lock(blocks.lock);
    uint32_t newest = (uint32_t)(ptr_uint_t)hashtable_lookup(&blocks.newest, block->start);
    for (uint32_t next = newest; next != 0;) {
        const struct known_block *other = block_of(next);
        if (other->bytes == block->bytes && other->fingerprint == block->fingerprint) {
            dr_mutex_unlock(blocks.lock);
            return next;
        }
        next = other->older;
    }
    uint32_t number = ++blocks.count;
    DR_ASSERT(number / CHUNK < MAX_CHUNKS);
    struct known_block **chunk = &blocks.chunks[number / CHUNK];
    if (*chunk == NULL)
        *chunk = dr_global_alloc(CHUNK * sizeof(struct known_block));
    (*chunk)[number % CHUNK] = *block;
    (*chunk)[number % CHUNK].older = newest;
    hashtable_add_replace(&blocks.newest, block->start, (void *)(ptr_uint_t)number);
    announce(layout, block);
    dr_mutex_unlock(blocks.lock);
    return number;
}

/* Whether it is locked, or exchanges with memory. */
static bool
is_atomic(instr_t *instruction, int memory_operands)
{
    return instr_get_prefix_flag(instruction, PREFIX_LOCK) ||
        (instr_get_opcode(instruction) == OP_xchg && memory_operands > 0);
}

static bool
lay_out(struct layout *layout, instrlist_t *instructions, struct known_block *block)
{
    struct plan *plan = layout->plan;
    plan->words = 1;
    plan->avoided = avoided_registers(instructions);
    for (instr_t *instruction = instrlist_first_app(instructions); instruction != NULL;
         instruction = instr_get_next_app(instruction)) {
        opnd_t operands[MAX_OPERANDS];
        int count = memory_operands(instruction, operands);
        if (layout->operand_count + count > MAX_BLOCK_OPERANDS)
            return false;
        for (int i = 0; i < count; i++)
            add_operand(layout, instruction, operands[i], operand_form(instruction));
        layout->counts[plan->instructions++] = count;
        plan->is_atomic |= is_atomic(instruction, count);
        follow(layout, instruction);
        if (plan->first == NULL) {
            plan->first = instruction;
            block->start = instr_get_app_pc(instruction);
        }
        plan->last = instruction;
        block->bytes += instr_length(dr_get_current_drcontext(), instruction);
    }
    if (plan->first == NULL || block->bytes > MAX_BYTES)
        return false;
    size_t read;
    if (!dr_safe_read(block->start, block->bytes, layout->code, &read))
        return false;
    block->words = plan->words;
    block->instructions = plan->instructions;
    block->fingerprint = fingerprint(layout->code, block->bytes);
    return true;
}

struct plan *
plan_create(void *drcontext, instrlist_t *instructions)
{
    struct layout *layout = dr_thread_alloc(drcontext, sizeof(*layout));
    struct plan *plan = dr_thread_alloc(drcontext, sizeof(*plan));
    struct known_block block = { 0 };
    memset(layout, 0, offsetof(struct layout, operands));
    memset(plan, 0, offsetof(struct plan, records));
    layout->operand_count = 0;
    layout->plan = plan;
    bool is_laid_out = lay_out(layout, instructions, &block);
    if (is_laid_out)
        plan->number = remember(layout, &block);
    dr_thread_free(drcontext, layout, sizeof(*layout));
    if (!is_laid_out) {
        plan_free(drcontext, plan);
        return NULL;
    }
    return plan;
}

void
plan_free(void *drcontext, struct plan *plan)
{
    dr_thread_free(drcontext, plan, sizeof(*plan));
}
