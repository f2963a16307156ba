/* What DynamoRIO's extensions need of a C library: the client is linked with none, so that nothing of the
 * program's own is loaded a second time. */
#include <stddef.h>

size_t
strlen(const char *text)
{
    size_t length = 0;
    while (text[length] != '\0')
        length++;
    return length;
}

int
strcmp(const char *one, const char *other)
{
    while (*one != '\0' && *one == *other)
        one++, other++;
    return (unsigned char)*one - (unsigned char)*other;
}

char *
strncpy(char *to, const char *from, size_t size)
{
    size_t i = 0;
    for (; i < size && from[i] != '\0'; i++)
        to[i] = from[i];
    for (; i < size; i++)
        to[i] = '\0';
    return to;
}
