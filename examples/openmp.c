/* A loop that OpenMP divides: no thread needs another one, so that it takes as many threads as there are cores.
 *
 *     gcc -O2 -fopenmp -o openmp examples/openmp.c
 *     corun threads --env OMP_NUM_THREADS={workers} ./openmp */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 64 };

int main(int count, char **arguments) {
    long numbers = count > 1 ? atol(arguments[1]) : 2000000;
    uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (long number = 0; number < numbers; number++) {
        uint64_t value = (uint64_t)number;
        for (int round = 0; round < ROUNDS; round++)
            value = value * 6364136223846793005u + 1442695040888963407u;
        sum += value >> 33;
    }
    printf("%lu\n", (unsigned long)sum);
}
