/* What is recorded of a block: the layout of its entry, worked out once, when DynamoRIO meets the block. */
#ifndef CORUN_BLOCK_H
#define CORUN_BLOCK_H

#include "../channel.h"
#include "copies.h"
#include "operands.h"

enum {
    MAX_BLOCK_INSTRUCTIONS = 256,
    MAX_BLOCK_OPERANDS = 4 * MAX_BLOCK_INSTRUCTIONS,
};

/* One operand that something must be stored for when its instruction is about to run. */
struct record {
    instr_t *instruction;
    opnd_t operand;
    enum form form;
    reg_id_t base; /* store this register, else the operand's whole address */
    uint32_t word;
};

/* A set of general registers. */
struct registers {
    bool used[DR_NUM_GPR_REGS];
};

void add_register(struct registers *registers, reg_id_t reg);

/* A block as it is being instrumented. */
struct plan {
    uint32_t number;
    uint32_t words;
    uint32_t instructions;
    uint32_t recorded;
    bool is_atomic;   /* one of its instructions is */
    instr_t *first;
    instr_t *last;
    struct registers avoided; /* for the entry's place: the block uses them */
    reg_id_t entry; /* the register that holds the entry's place */
    struct copies copies;
    bool flags_are_live; /* where the block begins, and the register that they are saved in */
    bool scratch_is_live;
    struct record records[MAX_BLOCK_OPERANDS];
};

/* What remains known of each block. */
struct known_block {
    app_pc start;
    uint32_t bytes;
    uint32_t words;
    uint32_t instructions;
    uint32_t older; /* the block that had this address before, if it is not this number */
    uint64_t fingerprint;
};

void blocks_begin(void);

/* The plan of the instructions; the block is announced to corun if it is new. NULL if its code cannot be
 * read. Freed with `plan_free`. */
struct plan *plan_create(void *drcontext, instrlist_t *instructions);

void plan_free(void *drcontext, struct plan *plan);

/* NULL if no block has this number. */
const struct known_block *block_of(uint64_t number);

#endif
