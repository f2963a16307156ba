/* Operands whose accesses depend on more than an address: each is worked out when it is about to run. */
#ifndef CORUN_COMPUTED_H
#define CORUN_COMPUTED_H

#include <stdint.h>

#include "operands.h"

/* The lanes of a gather or scatter that its mask selects: writes their addresses, lowest lane first, and
 * returns their number. */
uint32_t lane_addresses(instr_t *instruction, opnd_t operand, const dr_mcontext_t *context,
                        uint64_t addresses[MAX_LANES]);

/* How many iterations a `rep` instruction will make. */
uint64_t iterations(instr_t *instruction, const dr_mcontext_t *context);

/* Where the bit lies that a register selects, which may be far from the operand. */
uint64_t bit_address(instr_t *instruction, opnd_t operand, const dr_mcontext_t *context);

#endif
