#include "process.h"

#include <linux/sched.h>
#include <sys/syscall.h>

static bool
is_ours(const char *variable)
{
    const char *prefix = "DYNAMORIO_";
    for (int i = 0; prefix[i] != '\0'; i++) {
        if (variable[i] != prefix[i])
            return false;
    }
    return true;
}

/* The stack holds the number of arguments, the arguments, a null, the environment, a null, and pairs up to
 * one that begins with a null (the auxiliary vector, which has to follow at once). */
void
hide_environment(uint64_t *stack)
{
    uint64_t *from = stack + 1 + stack[0] + 1, *to = from;
    for (; *from != 0; from++) {
        if (!is_ours((const char *)*from))
            *to++ = *from;
    }
    *to++ = *from++;
    bool is_last;
    do {
        is_last = from[0] == 0;
        to[0] = from[0];
        to[1] = from[1];
        from += 2;
        to += 2;
    } while (!is_last);
}

bool
makes_process(void *drcontext, int number)
{
    uint64 flags = 0;
    size_t read;
    switch (number) {
    case SYS_fork:
    case SYS_vfork: return true;
    case SYS_clone: flags = dr_syscall_get_param(drcontext, 0); break;
    case SYS_clone3:
        if (!dr_safe_read((void *)dr_syscall_get_param(drcontext, 0), sizeof(flags), &flags, &read))
            return false;
        break;
    default: return false;
    }
    return (flags & CLONE_THREAD) == 0;
}

bool
replaces_program(int number)
{
    return number == SYS_execve || number == SYS_execveat;
}
