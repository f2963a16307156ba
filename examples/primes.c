/* Counts the primes below a number by trial division, with one 64-bit division an iteration:
 *
 *     gcc -O2 -o primes examples/primes.c && ./primes 2000 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    uint64_t end = count > 1 ? strtoull(arguments[1], 0, 10) : 100000, primes = 0;
    for (uint64_t number = 2; number < end; number++) {
        int is_prime = 1;
        for (uint64_t divisor = 2; divisor < number; divisor++)
            if (number % divisor == 0) {
                is_prime = 0;
                break;
            }
        primes += is_prime;
    }
    printf("%lu\n", primes);
}
