/* Code that works out the address of a memory operand while the program runs. */
#ifndef CORUN_ADDRESS_H
#define CORUN_ADDRESS_H

#include "dr_api.h"

/* Inserts before `where` what leaves the operand's address in `address`. The operand's registers must hold the
 * program's values there, and neither `address` nor `scratch` may be one of them. Flags stay as they are. False
 * if the base of the operand's segment cannot be had. Gathers, scatters and bit strings are not meant. */
bool insert_address(void *drcontext, instrlist_t *list, instr_t *where, opnd_t operand, reg_id_t address,
                    reg_id_t scratch);

#endif
