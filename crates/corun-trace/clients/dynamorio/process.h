/* What a program would see of the tracer, and what it does with processes. */
#ifndef CORUN_PROCESS_H
#define CORUN_PROCESS_H

#include <stdint.h>

#include "dr_api.h"

/* Takes DynamoRIO's variables out of the environment that the kernel left on the stack, before the first
 * instruction of the program. */
void hide_environment(uint64_t *stack);

/* Whether a system call that is about to be made will make a new process. */
bool makes_process(void *drcontext, int number);

/* Whether it replaces the program. */
bool replaces_program(int number);

#endif
