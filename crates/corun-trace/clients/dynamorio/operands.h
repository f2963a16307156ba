/* Which memory operands an instruction has, in the order of src/operands.rs. */
#ifndef CORUN_OPERANDS_H
#define CORUN_OPERANDS_H

#include "dr_api.h"

enum {
    MAX_OPERANDS = 64,
    MAX_LANES = 16,
};

enum form { FORM_SINGLE, FORM_LANES, FORM_REPEATED, FORM_BIT };

/* Fills `operands` and returns how many there are. */
int memory_operands(instr_t *instr, opnd_t operands[MAX_OPERANDS]);

enum form operand_form(instr_t *instr);

#endif
