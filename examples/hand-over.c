/* Two threads on two CPUs that work and then need the other one: the loops of docs/siblings.md.
 *
 *   cc -O2 -pthread -o hand-over examples/hand-over.c
 *   ./hand-over count|mutex|spin-lock|turns ROUNDS WORK
 *
 * prints nanoseconds a round, of which each is WORK additions and multiplications and one hand-over. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LINE = 128, BUSY = 2 };

static _Alignas(LINE) atomic_long count;
static _Alignas(LINE) pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(LINE) pthread_spinlock_t spin_lock;
static _Alignas(LINE) atomic_int turn;
static _Alignas(LINE) long guarded;

static void
count_up(int own)
{
    (void)own;
    atomic_fetch_add(&count, 1);
}

static void
in_mutex(int own)
{
    (void)own;
    pthread_mutex_lock(&mutex);
    guarded++;
    pthread_mutex_unlock(&mutex);
}

static void
in_spin_lock(int own)
{
    (void)own;
    pthread_spin_lock(&spin_lock);
    guarded++;
    pthread_spin_unlock(&spin_lock);
}

static void
take_turn(int own)
{
    int expected = own;
    while (!atomic_compare_exchange_strong(&turn, &expected, BUSY)) {
        expected = own;
        __builtin_ia32_pause();
    }
    guarded++;
    atomic_exchange(&turn, 1 - own);
}

static const struct {
    const char *name;
    void (*meet)(int own);
} meetings[] = {
    { "count", count_up }, { "mutex", in_mutex }, { "spin-lock", in_spin_lock }, { "turns", take_turn },
};

static void (*meet)(int own);
static long rounds, work;

static void *
run(void *number)
{
    int own = (int)(long)number;
    volatile long kept = 1;
    cpu_set_t cpu;
    CPU_ZERO(&cpu);
    CPU_SET(own, &cpu);
    pthread_setaffinity_np(pthread_self(), sizeof(cpu), &cpu);
    for (long round = 0; round < rounds; round++) {
        long value = kept;
        for (long step = 0; step < work; step++)
            value = value * 3 + 1;
        kept = value;
        meet(own);
    }
    return NULL;
}

int
main(int argc, char **argv)
{
    for (size_t i = 0; argc == 4 && i < sizeof(meetings) / sizeof(meetings[0]); i++)
        if (strcmp(argv[1], meetings[i].name) == 0)
            meet = meetings[i].meet;
    if (meet == NULL || (rounds = atol(argv[2])) < 1 || (work = atol(argv[3])) < 0) {
        fprintf(stderr, "usage: %s count|mutex|spin-lock|turns ROUNDS WORK\n", argv[0]);
        return 2;
    }
    pthread_spin_init(&spin_lock, PTHREAD_PROCESS_PRIVATE);
    struct timespec begin, end;
    pthread_t threads[2];
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (long own = 0; own < 2; own++)
        pthread_create(&threads[own], NULL, run, (void *)own);
    for (int own = 0; own < 2; own++)
        pthread_join(threads[own], NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double nanoseconds = (end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec);
    printf("%.1f ns a round\n", nanoseconds / rounds);
    return 0;
}
