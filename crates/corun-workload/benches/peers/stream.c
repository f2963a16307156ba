/* The four kernels of STREAM as a C programmer writes them; with -DNONTEMPORAL, with stores past the
   caches and the widest vectors that the compiler was given. */

#include <stddef.h>

#define SCALAR 3.0

#ifndef NONTEMPORAL

#define KERNEL(name, expression)                                                        \
    void name(double *restrict a, const double *restrict b, const double *restrict c,   \
              size_t count)                                                             \
    {                                                                                   \
        (void)c;                                                                        \
        for (size_t i = 0; i < count; i++)                                              \
            a[i] = (expression);                                                        \
    }

KERNEL(copy, b[i])
KERNEL(scale, SCALAR * b[i])
KERNEL(add, b[i] + c[i])
KERNEL(triad, b[i] + SCALAR * c[i])

#else

#include <immintrin.h>

#if defined(__AVX512F__)
#define LANES 8
#define OP(name) _mm512_##name##_pd
#elif defined(__AVX__)
#define LANES 4
#define OP(name) _mm256_##name##_pd
#else
#define LANES 2
#define OP(name) _mm_##name##_pd
#endif

#define B OP(load)(b + i)
#define C OP(load)(c + i)
#define S OP(set1)(SCALAR)

/* The arrays are aligned, and hold whole vectors. */
#define KERNEL(name, expression)                                                        \
    void name(double *restrict a, const double *restrict b, const double *restrict c,   \
              size_t count)                                                             \
    {                                                                                   \
        (void)c;                                                                        \
        for (size_t i = 0; i < count; i += LANES)                                       \
            OP(stream)(a + i, (expression));                                            \
        _mm_sfence();                                                                   \
    }

KERNEL(copy, B)
KERNEL(scale, OP(mul)(S, B))
KERNEL(add, OP(add)(B, C))
KERNEL(triad, OP(add)(B, OP(mul)(S, C)))

#endif
