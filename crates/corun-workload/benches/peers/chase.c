/* The pointer chase as a C programmer writes it. */

#include <stdint.h>

void **chase(void **pointer, uint64_t loads)
{
    while (loads--)
        pointer = *pointer;
    return pointer;
}
