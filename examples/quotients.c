/* Cycles of a 64-bit division by the bits of its quotient, one after the other and independent ones:
 *
 *     gcc -O2 -o quotients examples/quotients.c && ./quotients
 *
 * A chain of multiplications of three cycles tells how long a cycle is. The least of many runs counts; what
 * else runs on the machine only adds. */
#include <stdint.h>
#include <stdio.h>
#include <x86intrin.h>

enum { RUNS = 300, ROUNDS = 200 };

static double least(double one, double other) { return one < other ? one : other; }

static double cycle(void) {
    double best = 1e9;
    for (int run = 0; run < RUNS; run++) {
        uint64_t begin = __rdtsc(), value = 3;
        for (int round = 0; round < ROUNDS; round++)
            __asm__ volatile("imul %0, %0\nimul %0, %0\nimul %0, %0\nimul %0, %0" : "+r"(value));
        best = least(best, (__rdtsc() - begin) / (12.0 * ROUNDS));
    }
    return best;
}

/* The two logical operations between quotient and next dividend take a cycle each. */
static double chained(uint64_t dividend, uint64_t divisor) {
    double best = 1e9;
    for (int run = 0; run < RUNS; run++) {
        uint64_t begin = __rdtsc(), low = dividend, high = 0;
        for (int round = 0; round < ROUNDS; round++)
            __asm__ volatile("div %2\nand $0, %%eax\nand $0, %%edx\nor %3, %%rax"
                             : "+&a"(low), "+&d"(high) : "r"(divisor), "r"(dividend) : "cc");
        best = least(best, (__rdtsc() - begin) / (double)ROUNDS);
    }
    return best;
}

static double independent(uint64_t dividend, uint64_t divisor) {
    double best = 1e9;
    for (int run = 0; run < RUNS; run++) {
        uint64_t begin = __rdtsc();
        for (int round = 0; round < ROUNDS; round++) {
            uint64_t low, high;
            __asm__ volatile("mov %3, %%rax\nxor %%edx, %%edx\ndiv %2\n"
                             "mov %3, %%rax\nxor %%edx, %%edx\ndiv %2"
                             : "=&a"(low), "=&d"(high) : "r"(divisor), "r"(dividend) : "cc");
        }
        best = least(best, (__rdtsc() - begin) / (2.0 * ROUNDS));
    }
    return best;
}

int main(void) {
    puts("quotient bits, cycles of a chain, cycles of independent ones");
    for (int bits = 1; bits <= 62; bits++) {
        uint64_t divisor = 3, quotient = 1ull << (bits - 1), dividend = quotient * divisor + 1;
        double unit = cycle();
        printf("%d,%.2f,%.2f\n", bits, chained(dividend, divisor) / unit - 2, independent(dividend, divisor) / unit);
    }
}
